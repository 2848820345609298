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


def with_a_name(c, f):
    """The function keeps the array, which the text of its steps needs only once."""
    twice = f * 2.0
    return twice + c


FUNCTIONS = {
    "an array with a name": with_a_name,
    "an order of Fortran": lambda c, f: f * 2.0 + c,
    "from the right": lambda c, f: c + f * 2.0,
    "several": lambda c, f: (f * 2.0 + c, c * 2.0 + f, np.sum(f * 2.0 + c, axis=0)),
    "in a part of an expression": lambda c, f: ((f * 2.0 + c) * f + c) - f,
    "a view": lambda c, f: (f * 2.0 + c).T,
    "three axes": lambda c, f: (f.reshape(3, LARGE // 4, 4).transpose(1, 0, 2) * 2.0 + c.reshape(-1, 3, 4)) * 1.5,
    "a view of three axes": lambda c, f: (f.reshape(3, LARGE // 4, 4) * 2.0 + c.reshape(3, -1, 4)).transpose(2, 0, 1),
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
            assert (one.strides, one.flags.writeable) == (other.strides, other.flags.writeable)
    assert "in 1 way" in g.report()


def staged_array(shape):
    trace = Trace()
    x = Staged(trace, trace.place_for(np.ones(shape)))
    return x, x + 1.0


OF_THREE_AXES = np.ones((3, 2, 4)).transpose(1, 0, 2)
WANTED = {
    "C": np.ones((2, 3, 4)),
    "Fortran": np.asfortranarray(np.ones((2, 3, 4))),
    "a view": OF_THREE_AXES,
    "an order without a name": OF_THREE_AXES.copy(order="K"),
}


@pytest.mark.parametrize("name", WANTED)
def test_an_answer_gets_the_order_of_another_array(name):
    wanted = WANTED[name]
    for given in WANTED.values():
        _, y = staged_array((2, 3, 4))
        (first,) = laid_out_as([y], [given], [])
        (found,) = laid_out_as([first * 2.0], [wanted], [])
        assert found.inside.strides == wanted.strides
        assert found.inside.flags.owndata or not wanted.flags.owndata
        assert (found.inside == 4.0).all()


def test_what_shares_memory_or_has_gaps_stays():
    x, y = staged_array((2, 3))
    wanted = np.asfortranarray(np.ones((2, 3)))
    assert laid_out_as([y], [np.ones((2, 3))], [])[0] is y
    assert laid_out_as([y], [np.ones((3, 2, 4))[:, :, 0].T], [])[0] is y
    assert [one is y for one in laid_out_as([y, y], [wanted, wanted], [])] == [True, True]
    assert laid_out_as([x], [wanted], [x.inside])[0] is x  # an argument
    assert laid_out_as([2.0], [wanted], []) == [2.0]
