"""Values added at constant indices to zeros, as native code: the bits of `scatter`, and no passes for nothing."""

import numpy as np
import pytest

from shiftreset_ad.rules.indexing import scatter
from shiftreset_ad.staging.native.llvm import double
from tests.staging.native.natively import check, native, needs_native

pytestmark = needs_native

ROW = np.array([1e16, 1.0, -0.0, 3.0])
ZERO = f"store double {double(0.0)}"

# The indices of the values x, x + 1, -x and so on, in an array of shape (3, 4)
INDICES = {
    "all rows": [0, 1, 2],
    "rows twice": [0, 1, 0, 2, 1, 0],
    "some rows": [2, 0],
    "one row only": [1, 1, 1],
    "slices": [slice(0, 1), slice(1, 3)],
    "overlapping rows and slices": [slice(0, 2), 1, slice(1, 3), 0],
    "an empty slice": [slice(1, 1), 0, 2, 1],
    "an ellipsis": [(Ellipsis, slice(0, 4)), 2],
    "from the last": [-1, 0, 2, 1],
    "another order": [2, slice(None, None, -1), 0],
}


def scattered(indices):
    def f(x):
        values = [(x + float(i)) * (-1.0) ** i for i in range(len(indices))]
        return scatter(values, indices, (3, 4), np.dtype(np.float64))

    return f


@pytest.mark.parametrize("indices", INDICES.values(), ids=INDICES)
def test_it_has_the_bits_of_zeros_to_which_values_are_added(indices):
    check(scattered(indices), (ROW,), (-ROW,), (ROW[::-1] * 1.0,))


@pytest.mark.parametrize(
    "indices", [[(Ellipsis, j) for j in (1, 0, 2, 0, 3, 2, 0)], [(i, j) for i in (2, 0) for j in (1, 3)]]
)
def test_columns_and_single_elements(indices):
    def f(x):
        return scatter([x[i % 3] * (1e16 if i == 1 else 1.0) for i in range(len(indices))], indices, (3, 4), x.dtype)

    check(f, (ROW[:3],), (-ROW[:3],), (ROW[1:] + 0.5,))


def test_minus_zero_becomes_zero_as_it_is_added_to_zero():
    entry = native(scattered([0, 1, 2]), ROW).entry()
    assert not np.signbit(entry(-np.zeros(4))[0][0]).any()


@pytest.mark.parametrize(("name", "has_zeros"), [("all rows", False), ("rows twice", False), ("some rows", True)])
def test_zeros_are_written_only_where_no_value_comes(name, has_zeros):
    assert (ZERO in native(scattered(INDICES[name]), ROW).text) == has_zeros
