"""Arrays that attributes, items and parameters hold, and to which blocks write: carried, or the test is asked."""

import warnings

import numpy as np
import pytest

from shiftreset_ad import grad, jvp, staged
from shiftreset_ad.staging.native import machine
from tests.staging.front import held_arrays as programs
from tests.staging.native.natively import needs_native

XS = np.array([0.7, 1.1, 0.4, 0.9]), np.array([1.3, 0.6, 0.8, 0.5])
COUNTS = (3, 3, 0, 5, 1, 4)
ids = {"ids": lambda f: getattr(f, "__name__", "")}


def first(f):
    return lambda x, n: grad(f)(x, n)


def along(f):
    return lambda x, n: jvp(lambda y: f(y, n), (x,), (0.5 * np.ones(4),))


def second(f):
    return lambda x, n: grad(lambda y: np.sum(0.5 * grad(f)(y, n)))(x)


def agree(f, counts=COUNTS):
    """The staged function after calls with these counts, where it has answered as the function does."""
    compiled = staged(f)
    for i, n in enumerate(counts):
        np.testing.assert_allclose(compiled(XS[i % 2], n), f(XS[i % 2], n), rtol=1e-12, atol=1e-14)
    return compiled


def by_numpy(monkeypatch):
    monkeypatch.setattr(machine, "unfit", lambda: "not here")


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize("f", programs.WRITTEN, **ids)
def test_one_record_serves_all_counts(f, monkeypatch):
    by_numpy(monkeypatch)
    compiled = staged(f)
    for i, n in enumerate(COUNTS):
        assert compiled(XS[i % 2], n) == f(XS[i % 2], n)  # to the bit
    assert len(compiled.sources) == 1
    for mode in (first, along, second):
        assert len(agree(mode(f), COUNTS[:4]).sources) == 1


@pytest.mark.slow_but_every(3)
@needs_native
@pytest.mark.parametrize("f", programs.WRITTEN, **ids)
def test_native_code_has_the_bits_of_the_steps(f, monkeypatch):
    compiled = agree(grad(f))
    assert len(compiled.sources) == 1
    natively = [compiled(XS[i % 2], n) for i, n in enumerate(COUNTS)]
    by_numpy(monkeypatch)
    in_steps = agree(grad(f))
    for expected, (i, n) in zip(natively, enumerate(COUNTS), strict=True):
        np.testing.assert_array_equal(in_steps(XS[i % 2], n), expected)


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("f", programs.ASKED, **ids)
def test_what_may_be_wrong_is_asked(f, monkeypatch):
    by_numpy(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree(grad(f), COUNTS[:4])
        asked = agree(f, (0, *range(20)))
        assert len(asked.sources) != 1
        assert programs.ASKED[f] in asked.report()


def test_an_array_of_an_argument_or_a_global_is_left_as_python_leaves_it():
    class State:
        def __init__(self):
            self.u = np.array([1.0, 2.0])

    shared = State()

    def f(state, x, n):
        for _ in range(n):
            state.u *= x
            shared.u[0] += x
        return np.sum(state.u) + shared.u[0]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = staged(f)
        for n in (3, 3, 2, 0, 5):
            one, other, before = State(), State(), shared.u.copy()
            expected, after = f(one, 1.1, n), shared.u.copy()
            shared.u[:] = before
            assert compiled(other, 1.1, n) == expected
            np.testing.assert_array_equal(one.u, other.u)
            np.testing.assert_array_equal(shared.u, after)
