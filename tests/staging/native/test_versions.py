"""Writes in loops and branches, natively: the bits of the NumPy steps."""

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from shiftreset_ad.staging.native import machine
from tests.staging.control.test_versions import MODES, POINTS, WRITTEN_DOWN, bound_before_it_is_written
from tests.staging.native.natively import needs_native

pytestmark = needs_native

# One of them writes to an array that the round has made, which is a write like those outside of blocks.
NATIVE = [program for program in WRITTEN_DOWN if program is not bound_before_it_is_written]


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("mode", ["value", "reverse", "reverse in reverse", "forward"])
@pytest.mark.parametrize("program", NATIVE)
def test_native_code_has_the_bits_of_the_steps(program, mode, monkeypatch):
    f = MODES[mode](program)
    g = staged(f)
    natively = [np.asarray(g(x, n)) for _ in range(3) for x, n in POINTS][-len(POINTS) :]
    assert all(code.startswith("@") or "define" in code for code in g.llvm)
    monkeypatch.setattr(machine, "unfit", lambda: "it is switched off")
    h = staged(f)
    by_steps = [np.asarray(h(x, n)) for _ in range(3) for x, n in POINTS][-len(POINTS) :]
    assert "no native code" in h.llvm[0]
    assert [x.tobytes() for x in natively] == [x.tobytes() for x in by_steps]


def test_an_index_outside_of_the_array_raises_what_python_raises():
    def f(x, n):
        b, i = x * np.ones(3), 0
        while i < n:
            b[i] = x * i
            i = i + 1
        return np.sum(b * b)

    g = staged(grad(f))
    for _ in range(3):
        for n in (2, 3, 1):
            assert g(0.7, n) == pytest.approx(grad(f)(0.7, n), rel=1e-12)
    with pytest.raises(IndexError):
        g(0.7, 5)
    assert g(0.7, 3) == pytest.approx(grad(f)(0.7, 3), rel=1e-12)
