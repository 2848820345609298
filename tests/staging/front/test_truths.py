"""`any`, `all`, `min` and `max` of staged values: the items are joined, and no more are taken than Python takes."""

import itertools
import math

import numpy as np
import pytest

from shiftreset_ad import grad, staged, zeros
from tests.staging.native.natively import needs_native

POINTS = (0.3, 0.7, 1.1, 1.9, 3.2)


def looped(step):
    def f(x):
        total = 0.0
        while x < 4.0:
            total, x = total + step(x), x * 1.25 + 0.1
        return total

    return f


STEPS = {
    "any of a generator expression": lambda x: 1.0 if any(v > 2 for v in (x, 1.0)) else 0.0,
    "all of a list": lambda x: 1.0 if all([x > 1, x < 3]) else 0.5,
    "numbers": lambda x: 1.0 * any([x - x, 0.0]) + x * all((x, 2.0)),
    "not a number": lambda x: 1.0 * any((x * math.nan,)),
    "a plain item decides": lambda x: 1.0 * any([x > 2, True]) + 2.0 * all([x > 2, False]),
    "no items": lambda x: x * any([]) + x * all(()),
    "functions of numbers": lambda x: 1.0 * all(math.sqrt(abs(v)) > 0.5 and np.sin(v) < 0.9 for v in [x, -x]),
    "an item that may have no answer": lambda x: 1.0 * any(d == 0.0 or 1.0 / d > 2 for d in (x - x, x)),
    "plain filters": lambda x: 1.0 * any(v > 2 for v in (x, 3.0, 2.0 * x) if v is not None),
    "a dict": lambda x: sum(x for _ in range(2)) if any(k * x > 2.0 for k in {1.0: 0, 2.0: 1}) else x,
    "greatest and least": lambda x: max(abs(v) for v in (x, -2.0, x * x - 3)) - min(v for v in (x, 2.0)),
    "floats of NumPy's": lambda x: float(any(v > 2 for v in (np.float64(x), np.float64(1.0)))),
}


@needs_native
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_a_loop_is_written_down_once(step):
    f = looped(step)
    compiled = staged(f)
    for x in (*POINTS, *reversed(POINTS)):
        found, expected = compiled(x), f(x)
        assert found == expected
        assert type(found) is type(expected)
    assert len(compiled.sources) == 1
    assert "as native code" in compiled.report()


def test_they_answer_a_truth():
    for f in (lambda x: any([x > 1.0]), lambda x: all(v > 1.0 for v in (x, 2.0)), lambda x: any([x])):
        compiled = staged(f)
        for x in (0.5, 1.5, np.float64(2.0), 0.0):
            assert compiled(x) is f(x)


def test_a_descent_ends_by_all_of_its_parts():
    def found(start):
        x, y = start
        while any(abs(g) > 1e-10 for g in (x * x - 2.0, y * y - 3.0)):
            x, y = 0.5 * (x + 2.0 / x), 0.5 * (y + 3.0 / y)
        return x * y

    for f in (found, grad(found)):
        compiled = staged(f)
        for start in ((1.0, 2.0), (3.0, 0.5), (50.0, 1.0)):
            np.testing.assert_allclose(compiled(start), f(start), rtol=1e-12, atol=1e-12)
        assert len(compiled.sources) == 1


# Python takes no item behind the one that decides. What sees this is right, and is asked.


def appending(x):
    seen = []
    any((seen.append(v) or v > 2) for v in (x, 3.0 * x, 5.0 * x))
    return sum(seen)


def writing(x):
    seen = zeros(4)
    found = any((np.put(seen, k, x) or k * x > 2) for k in range(4))
    return np.sum(seen) + found


def writing_by_an_option(x):
    seen = np.zeros(1)
    found = any(np.add(seen, 1.0, seen)[0] * x > 2 for _ in range(4))
    return x * seen[0] + found + any(np.add(seen, 1.0, out=seen)[0] * x > 5 for _ in range(4)) + seen[0]


def looking(x):
    seen = []

    def look(v):
        seen.append(v)
        return v > 2

    return sum(seen) if any(look(v) for v in (x, 3.0 * x, 5.0 * x)) else 2.0 * sum(seen)


def going_on(x):
    items = iter([x, 3.0 * x, 5.0 * x, 7.0 * x])
    return any(v > 2 for v in items) + sum(items)


def going_on_with_a_generator(x):
    items = (v for v in [x, 3.0 * x, 5.0 * x, 7.0 * x])
    return all(v < 2 for v in items if v > 0) + sum(items)


def going_on_with_what_is_any(x):
    items = iter([x - x, x - 1.0, 5.0 * x, 7.0 * x])
    return any(items) + sum(items)


def generating(x):
    seen = []

    def items():
        for v in (x, 2.0 * x, 3.0 * x):
            seen.append(v)
            yield v > 2

    return any(items()) + sum(seen)


def without_end(x):
    return x * any(k * x > 5 for k in itertools.count()) + any(k > 5 for k in itertools.count())


def raising(x):
    return 1.0 * all(math.sqrt(v) > 0.1 for v in (x - 1.0, x - 2.0))


@pytest.mark.parametrize(
    "f",
    [
        appending,
        writing,
        writing_by_an_option,
        looking,
        going_on,
        going_on_with_a_generator,
        going_on_with_what_is_any,
        generating,
        without_end,
        raising,
    ],
    ids=lambda f: f.__name__,
)
def test_no_item_too_many_is_taken(f):
    def answer(g, x):
        try:
            return g(x)
        except ValueError as error:
            return str(error)

    compiled = staged(f)
    for x in (0.1, 0.2, 0.9, 3.0, 0.3, 0.5, 1.005, 0.1):
        found, expected = answer(compiled, x), answer(f, x)
        is_near = type(expected) is float and abs(found - expected) <= 1e-14  # `sum` of Python 3.12 is more precise
        assert is_near or found == expected


def test_very_many_items():
    def f(x):
        return any([x > 1.0] * 3000) + all([x < 2.0] * 1500)

    compiled = staged(f)
    for x in (0.5, 1.5, 2.5, 0.5):
        assert compiled(x) == f(x)
