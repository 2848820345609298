"""Random programs: rewritten code does on plain values what the program does, and on staged values gives its values."""

import math
import random
import traceback
from contextlib import contextmanager

import pytest

from shiftreset_ad.staging.front.functions import refusal_of, rewritten
from tests.staging.front.random_programs import Programs, function_from
from tests.staging.front.stand_in import written

ARGUMENTS = (
    [1, 2, 3.0, -1, 3, [1.0, 2.5, -1.0]],
    [0, 60, 2.5, 7, 1, [0.0, 3.0, 8.0]],
    [5, 5, 5.0, 5, 0, [4.0, 4.0, 0.5]],
)


def outcome(f, log, arguments):
    """The value or the error, the lines of the error, and what was logged."""
    log.clear()
    arguments = [list(x) if isinstance(x, list) else x for x in arguments]
    try:
        result = f(*arguments)
    except Exception as error:
        lines = [(line.filename, line.lineno, line.name) for line in traceback.extract_tb(error.__traceback__)[1:]]
        result = type(error), str(error), lines
    return repr(result), repr(log), repr(arguments)


def program(seed, is_pure):
    rng = random.Random(seed)
    log = []

    @contextmanager
    def manager(x):
        log.append(("enter", x))
        yield
        log.append(("exit", x))

    def items(xs):
        for x in xs:
            log.append(x)
            yield x

    text = Programs(rng, is_pure).text()
    return text, function_from(text, log=log.append, manager=manager, items=items), log


def check_plain(seed):
    text, f, log = program(seed, is_pure=False)
    assert refusal_of(f) is None, text
    for arguments in ARGUMENTS:
        assert outcome(rewritten(f), log, arguments) == outcome(f, log, arguments), f"{arguments}\n{text}"


def close(x, y):
    if isinstance(x, tuple):
        return isinstance(y, tuple) and all(map(close, x, y))
    return x is y if x is None else math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9)


def check_staged(seed):
    text, f, _ = program(seed, is_pure=True)
    for arguments in ARGUMENTS:
        try:
            expected = f(*arguments)
        except Exception:
            continue
        answer, _, stand_in = written(f, *arguments)
        assert close(answer, expected), f"{arguments}\n{text}\n{answer} {expected}\n{stand_in.handed_over}"


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize("first", range(0, 200, 50))
def test_plain_values_go_pythons_way(first):
    for seed in range(first, first + 50):
        check_plain(seed)


@pytest.mark.slow_but_every(4)
@pytest.mark.parametrize("first", range(0, 100, 25))
def test_staged_values_give_the_values_of_python(first):
    for seed in range(first, first + 25):
        check_staged(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1200, 100))
def test_many_programs(first):
    for seed in range(first, first + 100):
        check_plain(seed)
        check_staged(seed)
