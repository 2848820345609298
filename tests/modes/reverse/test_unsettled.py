"""Adjoints of which a part counts."""

from types import SimpleNamespace

import numpy as np
import pytest

from shiftreset_ad.modes.reverse.unsettled import add_at_masked
from shiftreset_ad.rules.masked import Masked


@pytest.mark.parametrize(("mask", "counted"), [(True, [True, True]), (np.array([True, False]), [True, False])])
def test_a_contribution_to_a_row_counts_where_its_mask_says(mask, counted):
    x = SimpleNamespace(primal=np.zeros((2, 2)), adjoint=Masked(np.zeros((2, 2)), np.zeros((2, 2), bool)), owns=False)
    given = x.adjoint
    add_at_masked(x, 0, np.array([1.0, 2.0]), mask)
    assert x.adjoint.values.tolist() == [[1.0, 2.0], [0.0, 0.0]]
    assert x.adjoint.mask.tolist() == [counted, [False, False]]
    assert not given.values.any()
    assert x.owns
