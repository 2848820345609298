"""Checks of programs of a number and a count: one record serves all calls, with the answers that Python gives."""

import sys

import pytest

from shiftreset_ad import grad, jvp, staged
from shiftreset_ad.staging.native import machine

POINTS = ((0.7, 3), (1.3, 3), (0.7, 0), (1.3, 5), (0.7, 1), (1.3, 2))
ids = {"ids": lambda f: getattr(f, "__name__", "")}


def by_numpy(monkeypatch):
    """No native code from here on."""
    monkeypatch.setattr(machine, "unfit", lambda: "not here")


def along(f):
    return lambda x, n: jvp(lambda y: f(y, n), (x,), (0.5,))


def agree(f, points=POINTS):
    """The staged function after calls at these points, where it has answered as the function does."""
    compiled = staged(f)
    for x, n in points:
        assert compiled(x, n) == pytest.approx(f(x, n), rel=1e-12)
    return compiled


def require_one_record(f, monkeypatch):
    by_numpy(monkeypatch)
    compiled = staged(f)
    for x, n in POINTS:
        # To the bit; but from Python 3.12 on `sum` keeps the rounding errors of floats, and not those of staged ones.
        assert compiled(x, n) == (f(x, n) if sys.version_info < (3, 12) else pytest.approx(f(x, n), rel=1e-14))
    assert len(compiled.sources) == 1
    for mode in (grad, along, lambda f: grad(grad(f))):
        assert len(agree(mode(f), POINTS[:4]).sources) == 1


def require_bits_of_the_steps(f, monkeypatch):
    """Native code answers with the bits of the steps by NumPy."""
    compiled = agree(grad(f))
    assert len(compiled.sources) == 1
    natively = [compiled(x, n) for x, n in POINTS]
    by_numpy(monkeypatch)
    in_steps = agree(grad(f))
    assert [in_steps(x, n) for x, n in POINTS] == natively
