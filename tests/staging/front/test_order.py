"""`min`, `max` and `sorted` of whatever Python's functions take: one record serves all orders."""

from collections import deque

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from tests.staging.native.natively import needs_native

ROWS = [np.random.default_rng(seed).normal(size=5) * 3.0 for seed in range(6)]


def window(v):
    last, total = deque(maxlen=3), 0.0
    for x in v:
        last.append(x)
        total = total + max(last) * sum(last) - min(last)
    return total


def squared(x):
    return x * x


PROGRAMS = {
    "a window": window,
    "a deque": lambda v: max(deque([v[0], v[1], v[2]], 2)) * v[3],
    "values": lambda v: max({"a": v[0], "b": v[1]}.values()) * v[3],
    "map": lambda v: max(map(abs, [v[0], v[1]])) * v[3],
    "map of a function": lambda v: min(map(squared, [v[0], v[1]])) * v[3],
    "filter": lambda v: max(filter(None, [v[0], v[1]])) * v[3],
    "zip": lambda v: max(zip([v[0], v[1]], [v[2], v[3]], strict=True))[1],
    "reversed": lambda v: max(reversed([v[0], v[1]])) * v[3],
    "an iterator": lambda v: max(iter([v[0], v[1]])) * v[3],
    "an array": lambda v: max(v) * min(v[:3]),
    "the place": lambda v: max(enumerate(v), key=lambda pair: pair[1])[0] * v[3],
    "the place in a list": lambda v: min(enumerate([v[0], v[1], v[2]]), key=lambda pair: pair[1])[1] * v[3],
    "sorted": lambda v: sorted(deque([v[0], v[1], v[2]]))[1] * v[3],
    "sorted array": lambda v: sorted(v, reverse=True)[1] * v[3],
    "sorted map": lambda v: sorted(map(abs, v))[1] * v[3],
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("mode", [lambda f: f, grad], ids=["value", "gradient"])
def test_one_record_serves_all_orders(name, mode):
    f = mode(PROGRAMS[name])
    g = staged(f)
    for v in (*ROWS, ROWS[0] * 0.0 + 1.0):
        np.testing.assert_allclose(g(v), f(v), rtol=1e-12)
    assert len(g.sources) == 1


@needs_native
@pytest.mark.parametrize("name", ["a window", "values", "map", "an array", "the place"])
def test_it_is_native_code(name):
    g = staged(grad(PROGRAMS[name]))
    for v in ROWS:
        g(v)
    assert [way.is_native for way in g._calls.ways] == [True]


def test_an_iterator_is_used_up_once():
    def f(v):
        parts = map(abs, [v[0], v[1], v[2]])
        first = next(parts)
        return max(parts) * first, list(parts)

    g = staged(f)
    for v in ROWS:
        assert repr(g(v)) == repr(f(v))


def test_an_iterator_with_an_option_that_python_takes_itself():
    g = staged(lambda v: sorted(map(abs, v), reverse=1)[0] * v[3])
    for v in ROWS:
        assert g(v) == max(map(abs, v)) * v[3]


def test_rows_have_no_order():
    g = staged(lambda v: max(np.stack([v, v * 2.0])))
    with pytest.raises(ValueError, match="ambiguous"):
        g(ROWS[0])


def test_an_array_of_no_elements_raises_the_error_of_python():
    g = staged(lambda v: max(v[:0]))
    with pytest.raises(ValueError, match="empty"):
        g(ROWS[0])
