"""NumPy's reactions to floating-point errors on the way back."""

import warnings

import numpy as np
import pytest

from shiftreset_ad import grad
from shiftreset_ad.numbers import floating_errors
from shiftreset_ad.numbers.floating_errors import without_warnings


@pytest.mark.parametrize("is_known", [True, False])
def test_warnings_are_off_and_every_other_reaction_is_kept(is_known, monkeypatch):
    """Whether or not NumPy's variable is found."""
    assert floating_errors.REACTIONS is not None
    if not is_known:
        monkeypatch.setattr(floating_errors, "REACTIONS", None)
    with np.errstate(divide="warn", over="raise", under="print", invalid="call", call=print):
        before, inside = np.geterr(), without_warnings(np.geterr)
        assert inside == before | {"divide": "ignore"}
        assert without_warnings(np.geterrcall) is print
        assert np.geterr() == before


def test_what_the_program_sets_between_two_ways_back_holds_for_the_second():
    f = grad(lambda x: np.sum(np.sqrt(x)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(np.zeros(1)) == np.inf
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            f(np.zeros(1))
        assert f(np.zeros(1)) == np.inf
