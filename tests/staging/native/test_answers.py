"""Large answers are made before the steps run, which write to them; nobody else has their memory."""

import gc
import sys
import tracemalloc

import numpy as np
import pytest

from shiftreset_ad import grad
from tests.staging.native.natively import check, native, needs_native

pytestmark = needs_native
X = np.random.default_rng(0).normal(size=(40, 30))
CASES = {
    "one": lambda x: x * 2.0,
    "several": lambda x: (x * 2.0, np.exp(x), x @ x.T, np.sum(x * x), x.T @ x),
    "that others read": lambda x: (lambda y: (y, y * y, np.sum(y, axis=0), y[1:] + y[:-1]))(x * 2.0),
    "in another order": lambda x: (np.exp(x.T), x.T * 2.0 + x.T),
    "booleans": lambda x: (x > 0.0, (x.T > 1.0) | (x.T < -1.0)),
    "small and large": lambda x: (x[0] * 2.0, x * x, x[0, 0] + 1.0),
    "a gradient": grad(lambda x: np.sum(np.tanh(x) @ x.T)),
}


def made_before(code):
    return code.text.count("label %use_new")


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    assert made_before(check(CASES[name], (X,), (-X,), (0.1 * X,)))


def test_answers_are_new_in_each_call():
    entry = native(CASES["several"], X).entry()
    first, second = entry(X), entry(X)
    assert not any(np.shares_memory(x, y) for x in first[:3] for y in second[:3])
    assert all(sys.getrefcount(x) == sys.getrefcount(y) for x, y in zip(first[:3], second[:3], strict=True))
    kept = first[0].copy()
    first[1][:] = 0.0
    entry(2.0 * X)
    np.testing.assert_array_equal(first[0], kept)


def test_small_answers_are_copied():
    assert not made_before(native(lambda x: x * 2.0, X[0]))


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize(
    ("f", "other"),
    [
        (lambda x: (x * 2.0, np.log(x)), -np.ones((40, 30))),  # leaves, as NumPy would warn
        (lambda x: ((x * 2.0).T, np.log(x)[:, 1]), -np.ones((40, 30))),
        (lambda x: x * 2.0 if np.sum(x) > 0.0 else x, -np.ones((40, 30))),  # another answer to a question
    ],
)
def test_nothing_is_left_of_a_call_that_leaves(f, other):
    entry = native(f, np.ones((40, 30))).entry()
    assert type(entry(np.ones((40, 30)))) is list
    assert type(entry(other)) is not list
    tracemalloc.start()
    try:
        entry(other)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(50):
            entry(other)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < other.nbytes
    finally:
        tracemalloc.stop()
