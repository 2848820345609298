"""Whether a plain array has changed: bit by bit, in any layout, of few elements and of many."""

from __future__ import annotations

import numpy as np
import pytest

from shiftreset_ad.numbers.plain_arrays import SMALL, is_read_only, same


@pytest.mark.parametrize("size", [1, 6, SMALL, SMALL + 2])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.float16, np.float32, np.float64, complex, np.longdouble, ">f8"])
def test_an_array_is_the_same_until_an_element_changes(size, dtype):
    array = (np.arange(size) % 2).astype(dtype)
    copy = array.copy()
    assert same(array, copy)
    assert same(array[::-1], copy[::-1].copy())
    assert not same(array, copy[:0])
    array[size // 2] = 1 - array[size // 2]
    assert not same(array, copy)


@pytest.mark.parametrize("rows", [2, SMALL])
def test_the_layout_does_not_matter(rows):
    array = np.arange(3.0 * rows).reshape(rows, 3)
    assert same(array, array.copy("F"))
    assert same(array.T, array.T.copy("C"))
    assert not same(array, array.copy("F")[::-1])
    assert not same(array, array.T)


@pytest.mark.parametrize("size", [1, SMALL + 1])
def test_zeros_of_other_signs_differ_and_nan_is_the_same(size):
    zeros = np.zeros(size)
    assert not same(zeros, -zeros)
    assert same(zeros * np.nan, zeros * np.nan)


@pytest.mark.parametrize("size", [2, SMALL + 2])
@pytest.mark.parametrize("dtype", ["U3", "S3", "V3", [("a", "f8"), ("b", "i4")], "M8[s]", np.dtypes.StringDType()])
def test_an_array_without_numbers(size, dtype):
    array = np.zeros(size, dtype) if dtype != "M8[s]" else np.zeros(size, "i8").view(dtype)
    array[:] = np.array([b"abc"] * size, "V3") if dtype == "V3" else array
    copy = array.copy()
    assert same(array, copy)
    array[size // 2] = (1.0, 2) if isinstance(dtype, list) else b"xyz" if dtype in ("S3", "V3") else "1999"
    assert not same(array, copy)


def test_an_array_that_numpy_would_warn_about_can_be_written_to():
    """Nobody is warned, as nothing is written."""
    repeated, _ = np.broadcast_arrays(np.ones((1, 600)), np.ones((2, 1)))
    assert not is_read_only(repeated)
    repeated.flags.writeable = False
    assert not is_read_only(repeated)  # its base can be
