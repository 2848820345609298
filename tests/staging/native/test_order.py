"""Elementwise steps of one shape come together, and each step after those that it needs."""

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import grad, staged, zeros
from shiftreset_ad.staging.native import order
from shiftreset_ad.staging.native.order import in_order
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.steps.trace import Trace
from shiftreset_ad.staging.steps.values import Staged
from tests.staging.native.natively import check, check_control, native, needs_native

pytestmark = needs_native
RNG = np.random.default_rng(0)
A, V = RNG.normal(size=(30, 20)), RNG.normal(size=20)


def by_turns(x, v):
    """Steps of two shapes in turns, each of which needs only those of its own shape."""
    for i in range(5):
        x = x * 0.5 + float(i)
        v = v * v - 0.25
    return x, v


def ordered(f, *args):
    """The steps before, those in the other order, and what a step needs."""
    trace = Trace()
    outputs = list(f(*[Staged(trace, trace.place_for(arg)) for arg in args]))
    left = Eliminated(trace, outputs)
    return left.steps, in_order(trace, left).steps, left


def test_steps_of_one_shape_share_a_loop():
    code = check(by_turns, (A, V), (-A, 0.5 * V))
    assert code.text.count("phi i64") == 2  # that of the matrix has one index, as its elements lie one after another


@pytest.mark.parametrize("farthest", [1, 3, 7, 200])
def test_each_step_comes_after_those_that_it_needs(monkeypatch, farthest):
    monkeypatch.setattr(order, "FARTHEST", farthest)

    def f(x, v):
        y = x @ v
        z = np.sum(x * v, axis=0) + v * y[0]
        return grad(lambda v: np.sum(np.tanh(x * v)) * np.sum(v * z))(v), x * y[:, None], z

    before, after, left = ordered(f, A, V)
    assert sorted(map(id, before)) == sorted(map(id, after))
    known = {0, 1}
    for step in after:
        assert known.issuperset(left.operands(step))
        known.add(step.place)
    check(f, (A, V), (-A, V * V))


def test_steps_that_ask_stay_where_they_are():
    def f(x, v):
        y = x * 2.0
        if np.sum(v) > -1e9:
            v = v + 1.0
        return y + 1.0, v * 2.0

    before, after, _ = ordered(f, A, V)
    where = [step.is_question for step in before].index(True)
    assert after[where] is before[where]
    assert set(map(id, before[:where])) == set(map(id, after[:where]))


def test_a_program_that_writes_keeps_its_order():
    def f(x, v):
        buffer = zeros(20)
        buffer[:] = v * 2.0
        y = x * buffer
        buffer[3:] += 1.0
        return y + buffer, buffer * v

    g = staged(lambda x, v: f(x, v))
    for _ in range(3):
        for found, expected in zip(g(A, V), f(A, V), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert "no native code" not in g.llvm[0]


def test_derivatives_in_another_order():
    f = lambda x: np.sum(np.exp(-x * x) * np.mean(x, axis=0) + x[:1] * np.sum(x * x, axis=1)[:, None])  # noqa: E731
    check_control(grad(f), (A,), (-A,))
    check_control(lambda x: sr.hvp(f, (x,), (x,)), (A,), (-A,))


def test_nothing_to_do():
    assert native(lambda x: x[0] + 1.0, V).entry()(V)[0] == V[0] + 1.0
