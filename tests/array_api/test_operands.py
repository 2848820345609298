"""Numbers over arrays of other libraries beside constants of every kind."""

from __future__ import annotations

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad.array_api import Standard
from tests.array_api.libraries import Library, assert_same

X = np.linspace(0.5, 2.0, 6).reshape(2, 3)
ROW = np.array([0.5, -1.0, 2.0])

CONSTANTS = {
    "an array of the library": ROW,
    "a float": 2.5,
    "an integer": 3,
    "a scalar of NumPy": np.float64(2.5),
    "integers": np.array([1, -2, 3]),
    "booleans": np.array([True, False, True]),
}
PROGRAMS = {
    "operators": lambda x, c: c * x + x * c - c / x - x / (c + 4) + c - x + (x - c) ** 2 + (c > x) * x,
    "functions": lambda x, c: np.multiply(c, x) * np.add(x, c) + np.maximum(c, x) + np.where(x > c, x, c),
    "products": lambda x, c: np.dot(x, c) * np.inner(x, c) + np.tensordot(x, c, np.ndim(c)),
}


@pytest.mark.parametrize("mode", ["grad", "jvp", "hessian"])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("constant", CONSTANTS)
def test_constants(constant, program, mode, library):
    """Of the library or of NumPy, on either side; the result is the library's."""
    f = PROGRAMS[program]

    def derivative(x, c):
        def scalar(x):
            return np.sum(f(x, c) ** 2)

        if mode == "jvp":
            return sr.jvp(lambda x: f(x, c), (x,), (x,))
        return getattr(sr, mode)(scalar)(x)

    c = CONSTANTS[constant]
    expected = derivative(X, c)
    assert_same(library, derivative(library.array(X), c), expected)
    # An array of array_api_strict refuses everything to its right that it does not know.
    if isinstance(c, np.ndarray) and (program, library.name) != ("operators", "array_api_strict"):
        assert_same(library, derivative(library.array(X), library.array(c)), expected)


def test_constants_of_the_library_to_the_right(library):
    def f(x):
        row = library.array(ROW)
        return np.sum(x * row + x @ row[:, None] + (x - row) / row - x**row * (x > row))

    def plain(x):
        return np.sum(x * ROW + x @ ROW[:, None] + (x - ROW) / ROW - x**ROW * (x > ROW))

    assert_same(library, sr.value_and_grad(f)(library.array(X)), sr.value_and_grad(plain)(X))


def test_constants_of_the_library_in_lists(library):
    def f(x, row):
        return np.sum(np.stack([x[0], row]) @ np.concatenate([row, x[1]])[:3] * np.stack([row, row, x[1]])[:, 0][:2])

    assert_same(library, sr.grad(lambda x: f(x, library.array(ROW)))(library.array(X)), sr.grad(lambda x: f(x, ROW))(X))


def test_numbers_over_floats_and_over_numpy_beside_arrays_of_the_library(library):
    """Each derivative is of the kind of its argument."""

    def product(x, row):
        """CuPy's own `matmul`, which answers where its array is the first, takes no number."""
        return np.matmul(row, x.T) if library.name == "cupy" else np.matmul(x, row)

    def f(scale, row, x):
        return np.sum(np.sin(scale * x) * row + row[1] * product(x, row)[0])

    expected = sr.grad(f, argnums=(0, 1, 2))(0.5, ROW, X)
    scale_bar, row_bar, x_bar = sr.grad(f, argnums=(0, 1, 2))(0.5, ROW, library.array(X))
    assert type(scale_bar) is float
    assert type(row_bar) is np.ndarray
    assert_same(library, (scale_bar, x_bar), (expected[0], expected[2]))
    np.testing.assert_allclose(row_bar, expected[1])
    x = library.array(X)
    scale_bar, row_bar = sr.grad(lambda scale, row: f(scale, row, x), argnums=(0, 1))(0.5, ROW)
    assert scale_bar == pytest.approx(expected[0])
    np.testing.assert_allclose(row_bar, expected[1])


def test_the_result_is_the_librarys_where_only_a_constant_is(library):
    value, slope = sr.value_and_grad(lambda a: np.sum(a * library.array(ROW)))(2.0)
    assert_same(library, value, np.float64(3.0))
    assert slope == 1.5
    assert_same(library, sr.jvp(lambda a: a * library.array(ROW), (2.0,), (1.0,)), (2 * ROW, ROW))


# Precision


@pytest.mark.parametrize(
    ("f", "dtype"),
    [
        (lambda x: x * 2, np.float32),
        (lambda x: x * 2.5, np.float32),
        (lambda x: 1 / x, np.float32),
        (lambda x: x * np.float64(2.5), np.float32),
        (lambda x: x * np.arange(3), np.float32),
        (lambda x: x * np.array([True, False, True]), np.float32),
        (lambda x: x * ROW, np.float64),
        (lambda x: x * 1j, np.complex64),
        (lambda x: x * (ROW + 1j), np.complex128),
        (lambda x: np.where(x > 1.0, x, 0.0), np.float32),
        (lambda x: np.max(x, axis=1), np.float32),
        (lambda x: np.std(x, axis=1), np.float32),
        (lambda x: np.logaddexp(x, 1), np.float32),
        (lambda x: np.sum(x > 1.0) * x, np.float32),
        (lambda x: np.mean(x > 1.0) * x, np.float64),
        (lambda x: x.astype(np.float64) * x, np.float64),
    ],
)
def test_dtypes(f, dtype, library):
    """Among arrays those of floating-point numbers decide, and Python's numbers and NumPy's scalars follow."""
    x = X.astype(np.float32)
    value, slope = sr.jvp(f, (library.array(x),), (library.array(x),))
    assert library.plain(value).dtype == library.plain(slope).dtype == dtype
    gradient = library.plain(sr.grad(lambda x: np.sum(np.real(f(x))))(library.array(x)))
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, sr.grad(lambda x: np.sum(np.real(f(x))))(x), rtol=1e-5, atol=1e-6)


def test_ties_lose_no_precision(library):
    """A third is a third in double precision, where PyTorch divides integers in single precision."""
    x = np.ones(3)
    np.testing.assert_array_equal(library.plain(sr.grad(np.max)(library.array(x))), x / 3)


# Arrays that change later


def test_a_buffer_that_is_used_again(library):
    """Operations need the array as it was."""

    def f(x, buffer, write):
        total = 0.0
        for k in range(3):
            write(buffer, k + 1.0)
            total = total + np.sum(x * buffer) + np.sum(np.where(buffer > 1.5, x, 0.0)) + x @ buffer + np.dot(x, buffer)
        return total

    def write(buffer, value):
        buffer[...] = value

    expected = sr.grad(lambda x: f(x, np.zeros(3), write))(ROW)
    np.testing.assert_array_equal(expected, [20.0, 20.0, 20.0])
    assert_same(library, sr.grad(lambda x: f(x, library.array(np.zeros(3)), write))(library.array(ROW)), expected)


def test_an_index_that_is_used_again(library):
    def f(x):
        index = library.array(np.array([0, 1]))
        y = x[index]
        index[...] = 2
        return np.sum(y) + np.sum(np.take(x, index))

    assert_same(library, sr.grad(f)(library.array(ROW)), np.array([1.0, 1.0, 2.0]))


def test_an_argument_that_is_written_to_has_its_old_value(library):
    x = library.array(ROW)

    def f(number):
        y = np.sum(number**2)
        x[...] = 0.0
        return y + np.sum(number**3)

    assert_same(library, sr.grad(f)(x), 2 * ROW + 3 * ROW**2)


def test_a_large_constant_is_copied_once(library):
    copies = []
    x, large = library.array(ROW), library.array(np.ones((2000, 3)))

    def f(x):
        for _ in range(5):
            y = np.matmul(large, x)
        copies.extend(x.tag.copies)
        return np.sum(y)

    assert_same(library, sr.grad(f)(x), np.full(3, 2000.0))
    assert len(copies) == 1


# Questions about values


def test_questions(library):
    def f(x):
        y = np.sum(x)
        assert y.shape == ()
        assert (x.shape, x.ndim, x.size, len(x)) == ((2, 3), 2, 6, 2)
        assert x.dtype == np.float64
        assert y > 7.0
        assert not y < 7.0
        assert 7 <= y <= 8
        assert np.any(x > 1.0)
        assert not np.all(x > 1.0)
        assert int(np.argmax(x)) == 5
        assert float(sr.value(y)) == 7.5
        assert round(y) == 8
        assert f"{y:.1f}" == "7.5"
        assert [float(sr.value(part)) for part in x[0]] == pytest.approx([0.5, 0.8, 1.1])
        assert x.item(1, 2).shape == ()
        assert isinstance(x > 1.0, Standard)
        assert "Standard" in repr(x)
        assert (x > 1.0).tolist() == (X > 1.0).tolist()
        return y * x.item(5) if y > 0 else -y

    np.testing.assert_allclose(library.plain(sr.grad(f)(library.array(X))), [[2, 2, 2], [2, 2, 9.5]])


def test_no_silent_constants(library):
    for lose in (float, lambda y: np.asarray(y, float), complex, lambda y: np.zeros(1).__setitem__(0, y)):
        with pytest.raises(TypeError, match="differentiated"):
            sr.grad(lambda x, lose=lose: lose(np.sum(x)))(library.array(X))


def test_no_silent_conversion_to_numpy(library):
    said = f"numpy.asarray, .* of {library.name}: the array is not silently turned into a NumPy array"
    with pytest.raises(TypeError, match=said):
        sr.grad(lambda x: np.sum(np.asarray(sr.value(x))) * np.sum(x))(library.array(X))


# Errors


def test_functions_that_the_standard_does_not_have(library):
    for function in (np.cbrt, np.i0, np.heaviside):
        with pytest.raises(
            NotImplementedError, match=f"numpy.{function.__name__}: the array belongs to {library.name}"
        ):
            sr.grad(lambda x, f=function: np.sum(f(x, x) if f is np.heaviside else f(x)))(library.array(X))


def test_writing_is_refused(library):
    def item(x):
        x[0] = 1.0

    def sum_in_place(x):
        y = x * 2
        y += x

    def out(x):
        mask = x > 1.0
        np.multiply(mask, 2, out=mask)

    def constant(x):
        (x > 1.0)[0] = True

    for write, error in ((item, TypeError), (sum_in_place, TypeError), (out, TypeError), (constant, TypeError)):
        with pytest.raises(error, match=r"cannot write to an array|out cannot be given|in place"):
            sr.grad(write)(library.array(X))


def test_scalars_are_rebound(library):
    def f(x):
        total = np.sum(x)
        total += 1.0
        total *= x[0, 0]
        return total

    assert_same(library, sr.grad(f)(library.array(X)), sr.grad(f)(X))


def test_integers_are_refused(library):
    with pytest.raises(TypeError, match="is an integer or a boolean"):
        sr.grad(np.sum)(library.array(np.arange(3)))


def test_a_result_that_is_no_scalar(library):
    with pytest.raises(TypeError, match="returned an array of shape"):
        sr.grad(np.sin)(library.array(X))


def test_two_libraries():
    strict, torch = Library("array_api_strict"), Library("torch")
    with pytest.raises(TypeError, match="arrays of two libraries"):
        sr.grad(lambda x: np.sum(x * torch.array(X)))(strict.array(X))
    both = sr.grad(lambda x, y: np.sum(x**2) * 1.0 + 0.0 * float(sr.value(np.sum(y))), argnums=(0, 1))
    x_bar, y_bar = both(strict.array(X), torch.array(X))
    np.testing.assert_allclose(strict.plain(x_bar), 2 * X)
    np.testing.assert_allclose(torch.plain(y_bar), 0 * X)
