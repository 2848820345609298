"""A `return` in a loop, with assignments before it: their variables have no value in rounds without the `return`."""

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from tests.staging.native.natively import needs_native


def crossing(v, height):
    """Where a falling body crosses the axis."""
    x, y, fall = 0.0, height, 0.0
    while True:
        x, y = x + 0.1 * v, y + 0.1 * fall
        if y <= 0.0:
            t = y / fall
            at = x - t * v
            return at * at
        fall = fall - 0.1


def counted(x):
    """The assignments change what the loop carries, and are carried out once."""
    n = 0
    while x < 100.0:
        x = x * 1.5
        n = n + 1
        if x > 20.0:
            x += 1.0
            n, m = n * 10, n
            n += m
            return x + n
    return x


def nested(x):
    for i in range(5):
        y = x * i
        while y < 10.0:
            y = y + x
            if y > 6.0 + i:
                z = y * x
                w = z + i
                return w - y
    return x


def with_list(x):
    """A list that is written to stays in its place."""
    found = [0.0]
    while x < 10.0:
        x = x * 2.0
        if x > 5.0:
            found[0] = x
            y = found[0] * 3.0
            return y + x
    return x


def of_one_branch(x):
    while x < 50.0:
        x = x * 1.7
        if x > 30.0:
            y = x * 2.0
            return y + x
        if x > 20.0:
            z = x * 3.0
            if z > 70.0:
                w = z + 1.0
                return w * z
    return -x


def with_else(x):
    for i in range(4):
        x = x * 1.5
        if x > 12.0:
            y = x - i
            return y + x
    else:
        x = x + 100.0
    return x


ONE_RECORD = (counted, nested, with_else)
POINTS = (0.5, 1.0, 1.5, 3.0, 7.0, 19.0, 60.0)


@needs_native
@pytest.mark.parametrize("f", [counted, nested, of_one_branch, with_else, with_list], ids=lambda f: f.__name__)
def test_answers(f):
    compiled, slope = staged(f), staged(grad(f))
    for x in (*POINTS, *reversed(POINTS)):
        assert compiled(x) == f(x)
        assert slope(x) == pytest.approx(grad(f)(x), rel=1e-14)
    if f in ONE_RECORD:  # the others ask, as they change a list, or have another variable with no value
        assert len(compiled.sources) == len(slope.sources) == 1


@needs_native
def test_one_record():
    compiled, slope = staged(crossing), staged(grad(crossing))
    for v, height in ((1.0, 1.0), (2.0, 0.5), (-1.0, 3.0), (1.0, 1.0)):
        assert compiled(v, height) == crossing(v, height)
        assert slope(v, height) == pytest.approx(grad(crossing)(v, height), rel=1e-13)
    for f in (compiled, slope):
        assert len(f.sources) == 1
        assert "while " in f.sources[0]
        assert "as native code" in f.report()


def test_arrays():
    def f(x):
        while True:
            x = x * 1.25
            if x[0] > 3.0:
                y = np.sin(x)
                z, _ = y * x, y
                return np.sum(z)

    compiled = staged(grad(f))
    for k in (1.0, 0.3, 5.0):
        np.testing.assert_allclose(compiled(k * np.ones(3)), grad(f)(k * np.ones(3)), rtol=1e-14)
    assert len(compiled.sources) == 1
