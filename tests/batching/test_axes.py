"""Rows of every kind of elements: a boolean of a row differs from row to row, and so does a string."""

import numpy as np
import pytest

from shiftreset_ad import grad, staged, vmap

W = np.array([1.0, -2.0, 3.0])
TRUTHS = np.array([False, True, False, True])


@pytest.mark.parametrize(
    "f",
    [
        lambda b: b,
        lambda b: b * 2.5,
        lambda b: ~b,
        lambda b: 1.0 if b else 2.0,
        lambda b: np.where(b, 3.0, np.arange(2.0)),
        lambda b: W * b if b else 2.0 * W,
    ],
)
def test_booleans_differ_from_row_to_row(f):
    expected = np.stack([f(b) for b in TRUTHS])
    for of_rows in (vmap(f), staged(vmap(f)), staged(lambda b: vmap(lambda k: vmap(f)(b))(np.arange(2))[0])):
        for _ in range(3):
            np.testing.assert_array_equal(of_rows(TRUTHS), expected)
            np.testing.assert_array_equal(of_rows(~TRUTHS), np.stack([f(b) for b in ~TRUTHS]))
        assert of_rows(TRUTHS).dtype == expected.dtype


def test_a_boolean_beside_other_rows():
    f = vmap(grad(lambda w, b, x: np.sum(w * x) * b), (None, 0, 0))
    xs = np.arange(8.0).reshape(4, 2)
    for _ in range(3):
        np.testing.assert_array_equal(f(np.ones(2), TRUTHS, xs), xs * TRUTHS[:, None])


@pytest.mark.parametrize(
    "rows",
    [
        np.array(["a", "abc", "ab"]),
        np.array([1, 2**70, 3], object),
        np.array(["2020", "2021", "2023"], "datetime64[Y]"),
        np.array([b"a", b"abc", b"ab"]),
    ],
)
def test_rows_that_are_no_numbers_go_row_by_row(rows):
    f = vmap(lambda name, x: x * len(str(name)))
    xs = np.arange(3.0)
    for _ in range(2):
        np.testing.assert_array_equal(f(rows, xs), [x * len(str(name)) for name, x in zip(rows, xs, strict=True)])
    np.testing.assert_array_equal(
        staged(lambda xs: f(rows, xs))(xs), [x * len(str(name)) for name, x in zip(rows, xs, strict=True)]
    )
