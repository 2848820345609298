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


def counted(monkeypatch, owner, name):
    """A mock that counts the calls of a method. A mock is no code of the user's, which blocks would refuse."""
    mock = Mock(side_effect=getattr(owner, name))
    monkeypatch.setattr(owner, name, partialmethod(mock))
    return mock


@pytest.mark.parametrize("operator", [grad, lambda f: lambda x: jvp(f, (x,), (1.0,))[1]])
def test_the_attempts_at_branches_in_branches_grow_with_their_depth(monkeypatch, operator):
    written = counted(monkeypatch, writing.ForkWay, "write")
    counts = []
    for depth in (4, 8):
        written.reset_mock()
        slope = operator(nested(depth))
        assert staged(slope)(2.0) == slope(2.0)
        counts.append(written.call_count)
    few, many = counts
    assert many <= 4 * few  # and not 16 times


def one(x, n):
    return x if n < 1.0 else 0.5 * one(np.sin(x), n - 1.0) + x


def two(x, n):
    return x if n < 1.0 else two(one(x, n), n - 1.0) * 0.9


def three(x, n):
    return x if n < 1.0 else np.cos(three(two(x, n), n - 1.0))


def test_the_attempts_at_functions_in_functions_grow_with_their_depth(monkeypatch):
    written = counted(monkeypatch, activations._Body, "results")
    counts = []
    for f in (one, two, three):
        written.reset_mock()
        slope = grad(f)
        replayed = staged(slope)
        for n in (3.0, 2.0, 4.0):
            assert replayed(0.7, n) == pytest.approx(slope(0.7, n), rel=1e-13)
        assert "new frame" in replayed.ir[0]
        counts.append(written.call_count)
    assert counts[-1] <= 40  # and not 63


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
