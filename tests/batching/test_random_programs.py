"""Random programs for all rows at once: their values, and derivatives inside and around, are those of a loop."""

import warnings

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import grad, vmap
from tests.fuzzing.generation import random_program
from tests.fuzzing.routes import elements, total

SIZES = (1.0, 0.99, 1.02, 1.0)


def answer(f):
    """What a call answers, or the type of its error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return f()
        except Exception as error:
            return type(error)


def require_same(name, seed, found, expected, source):
    assert isinstance(found, type) == isinstance(expected, type), (name, seed, found, expected, source)
    if isinstance(found, type):
        return
    assert found.shape == expected.shape, (name, seed, source)
    scale = np.max(np.abs(expected)[np.isfinite(expected)], initial=1.0)
    close = 1e-7 if expected.dtype in (np.float64, np.complex128) else 1e-3
    np.testing.assert_allclose(found, expected, rtol=close, atol=close * scale, err_msg=f"{name}, {seed}\n{source}")


def look_at(seed):
    """Compare a program for all rows with a loop. How many answers were compared."""
    program = random_program(seed)
    f = program.function(sr, np.float32)
    x, _ = program.point(np.float32)

    def of_row(x):
        return total(elements(f(x)))

    rows = np.stack([x * size for size in SIZES]).astype(np.asarray(x).dtype)
    numbers = range(len(rows))
    gradient = answer(lambda: np.stack([grad(of_row)(rows[k]) for k in numbers]))
    cases = {
        "values": (lambda: vmap(of_row)(rows), lambda: np.stack([of_row(rows[k]) for k in numbers])),
        "gradient inside": (lambda: vmap(grad(of_row))(rows), lambda: gradient),
        "gradient around": (lambda: grad(lambda rows: np.sum(vmap(of_row)(rows)))(rows), lambda: gradient),
    }
    compared = 0
    for name, (batched, loop) in cases.items():
        expected = answer(loop)
        if isinstance(expected, type):
            continue  # the program has no such derivative at some row
        require_same(name, seed, answer(batched), expected, program.source)
        compared += 1
    return compared


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("start", range(0, 60, 20))
def test_random_programs(start):
    assert sum(look_at(seed) for seed in range(start, start + 20)) > 30


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1400, 1550, 50))
def test_many_random_programs(start):
    assert sum(look_at(seed) for seed in range(start, start + 50)) > 80
