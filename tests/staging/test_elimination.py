"""Elimination takes time with the number of steps, however deep the loops are."""

import numpy as np
import pytest

from shiftreset_ad import staged, value_and_grad, while_loop
from shiftreset_ad.staging.python import elimination
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.steps.blocks import has_several_layouts


def descended(depth, x):
    """A loop in a loop in a loop, and so on."""
    if depth == 0:
        return x * 0.5
    return while_loop(lambda x: x > 1.0, lambda x: descended(depth - 1, x) * 0.9, x)


@pytest.mark.parametrize("derivative", [lambda f: f, value_and_grad])
def test_loops_in_loops_are_gone_through_a_few_times(derivative, monkeypatch):
    blocks = 0
    with_steps = Eliminated._with_steps

    def counted(self, block, wanted):
        nonlocal blocks
        blocks += 1
        return with_steps(self, block, wanted)

    monkeypatch.setattr(Eliminated, "_with_steps", counted)
    counts = []
    for depth in (3, 6):
        f = derivative(lambda x, depth=depth: descended(depth, x))
        blocks, g = 0, staged(f)
        assert g(5.0) == f(5.0)
        counts.append(blocks)
        assert g(9.0) == f(9.0)
    assert counts[1] < 4 * counts[0]


def test_the_layouts_of_all_steps_are_compared_once(monkeypatch):
    calls = 0

    def counted(steps):
        nonlocal calls
        calls += 1
        return has_several_layouts(steps)

    def f(x):
        while np.sum(x) > 1.0:
            x = x * 0.5
        for _ in range(20):
            x = np.copy(x) * 0.5 + x
        return x

    monkeypatch.setattr(elimination, "has_several_layouts", counted)
    g = staged(f)
    for x in (np.ones(3), np.full(3, 5.0)):
        assert np.array_equal(g(x), f(x))
    assert calls == 1
    assert g._calls.ways[0].source.count("copy") == 0
