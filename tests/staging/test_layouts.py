"""An answer lies in memory as that of the function does, also where NumPy uses the memory of a temporary again."""

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from shiftreset_ad.staging.layouts import laid_out_as
from shiftreset_ad.staging.native import machine
from shiftreset_ad.staging.steps.trace import Trace
from shiftreset_ad.staging.steps.values import Staged

RNG = np.random.default_rng(0)
LARGE = 12_000  # columns of three floats: more than the 256 KB from which NumPy uses the memory of a temporary again
C, F = RNG.normal(size=(3, LARGE)), RNG.normal(size=(LARGE, 3)).T
FUNCTIONS = {
    "an order of Fortran": lambda c, f: f * 2.0 + c,
    "from the right": lambda c, f: c + f * 2.0,
    "several": lambda c, f: (f * 2.0 + c, c * 2.0 + f, np.sum(f * 2.0 + c, axis=0)),
    "in a part of an expression": lambda c, f: ((f * 2.0 + c) * f + c) - f,
    "a gradient": grad(lambda c, f: np.sum((f * c + c * 2.0) * (np.cross(f, c, axis=0) + f * 2.0))),
}


@pytest.mark.parametrize("has_native", [True, False])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_large_answer_has_the_layout_of_the_function(name, has_native, monkeypatch):
    if not has_native:
        monkeypatch.setattr(machine, "unfit", lambda: "not here")
    f = FUNCTIONS[name]
    g = staged(f)
    for factor in (1.0, 1.0, 1.0, 0.5, 2.0):
        found, expected = g(factor * C, F), f(factor * C, F)
        found, expected = [x if isinstance(x, tuple) else (x,) for x in (found, expected)]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
            assert (one.strides, one.flags.owndata) == (other.strides, other.flags.owndata)
    assert "in 1 way" in g.report()


def test_what_shares_memory_or_has_another_order_stays():
    trace = Trace()
    x = Staged(trace, trace.place_for(np.ones((2, 3))))
    y = x + 1.0
    wanted = np.asfortranarray(np.ones((2, 3)))
    (moved,) = laid_out_as([y], [wanted], [])
    assert moved.inside.strides == wanted.strides
    assert laid_out_as([y], [np.ones((2, 3))], [])[0] is y
    assert laid_out_as([y], [np.ones((3, 2)).T], [])[0] is y  # a view
    assert laid_out_as([y], [np.ones((2, 3, 2)).transpose(1, 0, 2).copy(order="K")[..., 0]], [])[0] is y
    assert [one is y for one in laid_out_as([y, y], [wanted, wanted], [])] == [True, True]
    assert laid_out_as([x], [wanted], [x.inside])[0] is x  # an argument
    assert laid_out_as([2.0], [wanted], []) == [2.0]
