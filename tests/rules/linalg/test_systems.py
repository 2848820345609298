"""`solve` and `inv` of plain arrays by NumPy's functions in C: the same bits, and the same errors."""

import warnings

import numpy as np
import pytest

from shiftreset_ad import grad, hvp
from shiftreset_ad.rules.linalg import systems

SHAPES = [(0, None), (1, None), (2, None), (7, None), (33, None), (2, 2), (2, 0), (5, 3), (33, 4)]


def operands(n, columns):
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, n)) + n * np.eye(n), rng.normal(size=(n,) if columns is None else (n, columns))


@pytest.mark.parametrize(("n", "columns"), SHAPES)
@pytest.mark.parametrize("layout", [lambda a: a, np.asfortranarray, lambda a: a.T, lambda a: a[::-1, ::-1]])
def test_a_solution_has_the_bits_of_numpy(n, columns, layout):
    a, b = operands(n, columns)
    a = layout(a)
    for found, expected in ((systems.solved(a, b), np.linalg.solve(a, b)), (systems.inverse(a), np.linalg.inv(a))):
        assert type(found) is np.ndarray
        assert (found.dtype, found.strides, found.tobytes()) == (expected.dtype, expected.strides, expected.tobytes())


def test_the_functions_in_c_are_found_in_this_version_of_numpy(monkeypatch):
    """Otherwise NumPy's own functions would be called, which take longer."""
    monkeypatch.setattr(systems, "SOLVE", None)
    monkeypatch.setattr(systems, "INV", None)
    a, b = operands(3, 2)
    systems.solved(a, b), systems.solved(a, b[:, 0]), systems.inverse(a)


def test_a_numpy_without_these_parts_goes_the_long_way(monkeypatch):
    a, b = operands(3, 2)
    expected = systems.solved(a, b), systems.inverse(a)
    monkeypatch.setattr(systems, "HAS_PARTS", False)
    monkeypatch.setattr(systems, "IN_C", None)
    for found, one in zip((systems.solved(a, b), systems.inverse(a)), expected, strict=True):
        np.testing.assert_array_equal(found, one)


@pytest.mark.parametrize("kind", [np.float32, np.complex128, np.int64, ">f8"])
def test_any_other_type_is_numpys(kind):
    a, b = operands(3, 2)
    a = np.rint(3 * a).astype(kind)
    for found, expected in ((systems.solved(a, b), np.linalg.solve(a, b)), (systems.inverse(a), np.linalg.inv(a))):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("invalid", ["ignore", "warn", "raise"])
def test_a_singular_matrix_is_numpys_error_whatever_the_program_does_with_floating_point_errors(invalid):
    singular, b = np.ones((2, 2)), np.ones(2)
    with np.errstate(invalid=invalid), warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        before = np.geterr(), np.geterrcall()
        for program in (
            lambda: systems.solved(singular, b),
            lambda: systems.inverse(singular),
            lambda: grad(lambda x: np.sum(np.linalg.solve(singular, x)))(b),
            lambda: grad(lambda x: np.sum(np.linalg.inv(x)))(singular),
            lambda: hvp(lambda x: np.sum(np.linalg.solve(singular, x * x)), (b,), (b,)),
        ):
            with pytest.raises(np.linalg.LinAlgError, match=r"^Singular matrix$"):
                program()
        assert (np.geterr(), np.geterrcall()) == before
    assert not found


def test_nan_and_infinite_elements_are_no_errors():
    a = np.array([[np.nan, 1.0], [0.0, 2.0]])
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(systems.solved(a, np.ones(2)), np.linalg.solve(a, np.ones(2)))
        a, b = np.eye(2) * 1e-300, np.full(2, 1e300)
        np.testing.assert_array_equal(systems.solved(a, b), np.linalg.solve(a, b))


@pytest.mark.parametrize(("a", "b"), [((2, 3), (2,)), ((2, 2), (3,)), ((2, 2), ()), ((3,), (3,)), ((3, 3), (2, 2))])
def test_shapes_that_do_not_fit_are_numpys_errors(a, b):
    a, b = np.ones(a), np.ones(b)
    with pytest.raises((ValueError, np.linalg.LinAlgError)) as of_numpy:
        np.linalg.solve(a, b)
    with pytest.raises(of_numpy.type) as found:
        systems.solved(a, b)
    assert str(found.value) == str(of_numpy.value)
