"""What attempts to write control down have found out serves the next attempts, so their number does not multiply."""

from functools import partialmethod
from unittest.mock import Mock

import numpy as np
import pytest

from shiftreset_ad import cond, grad, jvp, staged
from shiftreset_ad.staging.control import activations, writing
from shiftreset_ad.staging.steps.attempts import Attempts


def nested(depth):
    """Branches in branches, so deep."""

    def branches(x, depth):
        if depth == 0:
            return np.sin(x)
        return cond(x > 0.1 * depth, lambda: branches(x * 0.9, depth - 1), lambda: x * x)

    return lambda x: branches(x, depth)


def counted(monkeypatch, way):
    """How often a step of this way is written: the calls of a mock, which is no code of the user's."""
    write = Mock(side_effect=way.write)
    monkeypatch.setattr(way, "write", partialmethod(write))
    return write


@pytest.mark.parametrize("operator", [grad, lambda f: lambda x: jvp(f, (x,), (1.0,))[1]])
def test_the_attempts_at_branches_in_branches_grow_with_their_depth(monkeypatch, operator):
    written = counted(monkeypatch, writing.ForkWay)
    counts = []
    for depth in (4, 8):
        written.reset_mock()
        slope = operator(nested(depth))
        assert staged(slope)(2.0) == slope(2.0)
        counts.append(written.call_count)
    few, many = counts
    assert many <= 4 * few  # and not 16 times


def down(x, depth):
    if depth < 1:
        return x
    return 0.5 * up(np.sin(x), depth - 1) + x


def up(x, depth):
    if depth < 1:
        return x * x
    return across(0.9 * x, depth - 1) - x


def across(x, depth):
    if depth < 1:
        return x * 0.5
    return down(np.cos(x), depth - 1)


def test_functions_that_call_one_another_are_written_down_a_few_times(monkeypatch):
    written = counted(monkeypatch, activations.CallWay)
    slope = grad(lambda x, depth: down(x, depth))
    replayed = staged(slope)
    for depth in (5.0, 4.0, 7.0):
        assert replayed(0.7, depth) == pytest.approx(slope(0.7, depth), rel=1e-14)
    assert 0 < written.call_count < 100


def test_what_was_found_is_known_by_its_path_and_by_what_was_given():
    attempts = Attempts()
    outer = attempts.path()
    with attempts.within(outer, 0):
        inner = attempts.path()
        attempts.keep(inner, "given", "found")
        assert attempts.found(inner, "given") == "found"
        assert attempts.found(inner, "other") is None
    with attempts.within(outer, 0):  # another attempt
        assert attempts.path() == inner
        assert attempts.path() != inner
    with attempts.within(outer, 1):
        assert attempts.found(attempts.path(), "given") is None
    attempts.keep(outer, "given", "found")  # nothing is around it that could try it again
    assert attempts.found(outer, "given") is None
    assert attempts.path() == (2,)
