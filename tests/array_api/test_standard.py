"""`Standard`: NumPy's functions on arrays of other libraries, where no number is."""

from __future__ import annotations

import copy
import operator
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays, basic_indices, integer_array_indices

import shiftreset_ad as sr
from shiftreset_ad.array_api import Standard
from shiftreset_ad.array_api import libraries as foreign
from shiftreset_ad.array_api.standard import adopted, standard
from shiftreset_ad.rules.indexing import scatter
from tests.array_api.libraries import Library
from tests.rules.three_ways import examples

X = np.linspace(-1.0, 1.4, 6).reshape(2, 3)
N = np.array([[3, 0, 2], [1, 5, 4]])
M = X > 0.2


def assert_as_numpy(found, expected):
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for part, plain in zip(found, expected, strict=True):
            assert_as_numpy(part, plain)
        return
    if isinstance(expected, str):
        assert found == expected
        return
    if isinstance(found, Standard):
        found = found.to_numpy()
    assert np.shape(found) == np.shape(expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(found, expected, rtol=1e-12)


# Indices


@st.composite
def indices(draw):
    shape = draw(array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=4))
    kinds = [basic_indices(shape, allow_newaxis=True), st.just(...), st.just(None), st.just((None, ..., None))]
    if shape:
        whole = arrays(bool, shape)
        first = arrays(bool, shape[:1])
        some = integer_array_indices(shape, result_shape=array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
        one = arrays(np.int64, array_shapes(max_dims=2), elements=st.integers(-shape[-1], shape[-1] - 1))
        last = one.map(lambda places: (..., places))
        all_before = one.map(lambda places: (*[slice(None)] * (len(shape) - 1), places))
        kinds += [whole, first, some, last, all_before, one.map(lambda places: (*[0] * (len(shape) - 1), places))]
    return shape, draw(st.one_of(kinds))


def in_library(library, index):
    if isinstance(index, tuple):
        return tuple(in_library(library, part) for part in index)
    return library.array(index) if isinstance(index, np.ndarray) else index


@examples
@given(case=indices())
def test_parts(library, case):
    """By NumPy's arrays and by those of the library; and the transpose, which adds up what is there twice."""
    shape, index = case
    x = np.arange(1.0, np.prod(shape) + 1).reshape(shape)
    wrapped = standard(library.array(x))
    expected = x[index]
    weights = np.linspace(1.0, 2.0, np.size(expected)).reshape(np.shape(expected))
    summed = scatter([weights, 2 * weights], [index, index], shape, np.float64)
    for given_index in (index, in_library(library, index)):
        part = wrapped[given_index]
        assert part.shape == np.shape(expected)
        np.testing.assert_array_equal(part.to_numpy(), expected)
        values = [standard(library.array(weights)), 2 * weights]
        found = scatter(values, [given_index, given_index], shape, np.float64)
        np.testing.assert_allclose(found.to_numpy(), summed, rtol=1e-14)


@pytest.mark.parametrize(
    "index", [3, -4, (0, 3), (0, 0, 0), (..., ...), [5], np.array([[0], [-3]]), (slice(None), [3])]
)
def test_bounds(index, library):
    with pytest.raises(IndexError):
        X[index]
    with pytest.raises(IndexError):
        standard(library.array(X))[index]


def test_contributions_to_one_place_are_summed_in_pairs(library):
    """So that the rounding grows with the logarithm of their number."""
    values = np.full(100_000, 0.1, np.float32)
    places = np.zeros(100_000, int)
    found = scatter([standard(library.array(values))], [places], (2,), np.float32).to_numpy()
    np.testing.assert_allclose(found, [10_000, 0], rtol=1e-6)


def test_infinities_and_nans_stay_in_their_place(library):
    values = np.array([np.inf, 1.0, np.nan, 2.0, -np.inf, 3.0])
    found = scatter([standard(library.array(values))], [np.array([0, 1, 2, 1, 3, 1])], (5,), np.float64)
    np.testing.assert_array_equal(found.to_numpy(), [np.inf, 6.0, np.nan, -np.inf, 0.0])


# Functions without a derivative

CONSTANT = {
    **{
        name: (lambda x, name=name: getattr(np, name)(x))
        for name in (
            *("floor", "ceil", "trunc", "rint", "round", "sign", "isnan", "isinf", "isfinite", "signbit", "fabs"),
            *("exp2", "degrees", "radians", "argmax", "argmin", "argsort", "nonzero", "flatnonzero", "argwhere"),
            *(
                "count_nonzero",
                "any",
                "all",
                "shape",
                "ndim",
                "size",
                "iscomplexobj",
                "isrealobj",
                "iscomplex",
                "isreal",
            ),
            *("zeros_like", "ones_like", "copy", "ravel", "imag", "angle", "logical_not", "conj", "positive", "var"),
        )
    },
    **{
        name: (lambda x, name=name: getattr(np, name)(x[0], x[1, 0]))
        for name in (
            *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or"),
            *("logical_xor", "floor_divide", "nextafter", "fmax", "fmin", "isclose", "float_power", "remainder"),
        )
    },
    "round to digits": lambda x: (np.round(x * 10, 1), np.round(x * 100, -1)),
    "argmax, axis": lambda x: (np.argmax(x, axis=1, keepdims=True), np.argmin(x, axis=-1)),
    "argsort, axis": lambda x: np.argsort(-x, axis=0),
    "searchsorted": lambda x: (
        np.searchsorted(np.sort(x[0]), x),
        np.searchsorted(np.array([0.0, 1.0]), x, side="right"),
    ),
    "any, axis": lambda x: (np.any(x > 1, axis=1), np.all(x, axis=(0, 1), keepdims=True), np.count_nonzero(x, axis=0)),
    "allclose": lambda x: (
        np.allclose(x, x + 1e-12),
        np.allclose(x, 2 * x),
        np.array_equal(x, x),
        np.array_equiv(x, 1),
    ),
    "array_equal": lambda x: (np.array_equal(x, x[0]), np.array_equal(x / x, x / x, equal_nan=True)),
    "reduce": lambda x: (np.add.reduce(x), np.maximum.reduce(x, axis=1), np.logical_or.reduce(x > 1, axis=None)),
    "initial": lambda x: (np.max(x, initial=9.0), np.min(x[:0], axis=0, initial=3.0), np.sum(x, axis=0, initial=2.0)),
    "where": lambda x: (np.sum(x, axis=0, where=x > 0), np.prod(x, where=x > 0), np.max(x, initial=0.0, where=x < 0)),
    "integers": lambda x: np.where(x > 0, 1, 2) // 2 + np.sum(x > 0) - np.argmax(x) % 2,
    "booleans": lambda x: ((x > 0) & (x < 1)) | ~(x > 0.5) ^ (x < -0.5),
    "sums of booleans": lambda x: (np.sum(x > 0, axis=0), np.mean(x > 0), np.cumsum(x > 0), np.prod(x > 0, axis=1)),
    "arithmetic of booleans": lambda x: ((x > 0) * (x < 1), (x > 0) + (x < 1), 1.0 - (x > 0), (x > 0) / 2),
    "fractions": lambda x: np.argsort(x) / np.array([3, 7, 9]),
    "full_like": lambda x: (
        np.full_like(x, 2, dtype=int),
        np.full_like(x, 0.5, shape=(2,)),
        np.zeros_like(x, dtype=bool),
    ),
    "choose": lambda x: (np.take(x, [1, 1], axis=1), np.take(x, 4), np.take_along_axis(x, np.argsort(x, 0), 0)),
    "types": lambda x: (np.result_type(x, 1.0).name, np.can_cast(x, np.float32), x.astype(np.int64)),
    "orders": lambda x: (np.reshape(x, (3, 2), order="F"), np.ravel(x, order="F"), x.reshape(3, 2), x.transpose()),
    "extraction": lambda x: np.extract(x > 0, x),
    "rotation": lambda x: tuple(np.rot90(x, k) for k in range(5)),
    "diagonals": lambda x: (np.diagonal(x, 1), np.diag(x[0], -1), np.trace(x, 1), np.tril(x), np.triu(x, 1)),
    "linspace": lambda x: (np.linspace(x[0], x[1], 4), np.linspace(x[0, 0], 1.0, 3, endpoint=False, axis=-1)),
    "einsum": lambda x: (np.einsum("ij,kj->ik", x, x), np.einsum("ij->j", x), np.einsum("ii", x[:, :2])),
    "norms": lambda x: (np.linalg.norm(x), np.linalg.norm(x, 1), np.linalg.norm(x, axis=0), np.linalg.cond(x)),
    "ranks": lambda x: (np.linalg.matrix_rank(x), np.linalg.matrix_rank(x, tol=10.0)),
    "unique": lambda x: (
        np.unique(np.round(x)),
        np.unique(np.array([[np.nan, 1.0], [1.0, np.nan]]) * x[0, 0] ** 0, True, True, True),
        np.unique(np.array([np.nan, 1.0, np.nan]) * x[0, 0] ** 0, equal_nan=False),
        np.unique_all(np.round(x)),
        np.unique_counts(np.round(x)),
        np.unique_inverse(np.round(x)),
        np.unique_values(x[:0]),
    ),
    "methods": lambda x: (
        x.sum(axis=0),
        x.mean(),
        x.max(axis=1),
        x.argmax(),
        (x > 0).any(),
        x.T,
        x.mT,
        x.real,
        x.clip(0, 1),
    ),
}


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@pytest.mark.parametrize("name", CONSTANT)
def test_constant_functions(name, library):
    x = X.copy()
    x[0, 1] = 0.0
    assert_as_numpy(CONSTANT[name](standard(library.array(x))), CONSTANT[name](x))


@pytest.mark.parametrize("name", ["floor", "argsort", "nonzero", "signbit"])
def test_constant_functions_of_numbers(name, library):
    """Their answers are constants, inside a derivative; to its caller they are arrays of the library."""

    def f(x):
        return np.sum(x), getattr(np, name)(x)

    _, aux = sr.grad(f, has_aux=True)(library.array(X))
    expected = getattr(np, name)(X)
    for found, plain in zip(*((aux, expected) if isinstance(expected, tuple) else ([aux], [expected])), strict=True):
        np.testing.assert_array_equal(library.plain(found), plain)


def test_bitwise_functions(library):
    n, m = standard(library.array(N)), standard(library.array(M))
    for f in (
        lambda n, m: n & 1 | n ^ 2,
        lambda n, m: ~n << 2 >> 1,
        lambda n, m: np.bitwise_and(m, ~m),
        lambda n, m: m & np.array([True, False, True]),
        lambda n, m: (np.sum(n), np.max(n), np.cumsum(n, axis=1), np.mean(n, axis=0), np.sort(n)),
        lambda n, m: (n % 2 == 0, n // 2, -n, abs(n - 3), n**2, n * 2.0, n / 2, np.sqrt(n)),
        lambda n, m: (np.where(m, n, 0), np.where(m), m.all(), n[m], n[n[0]][:, 0] if n.max() < 2 else n[:, n[0] % 3]),
    ):
        assert_as_numpy(f(n, m), f(N, M))


@pytest.mark.parametrize("x", [np.array(2.0), np.array([3]), np.array(True)], ids=["float", "shape", "bool"])
def test_an_index_is_a_scalar_of_integers(x, library):
    with pytest.raises(TypeError, match="only integer scalar arrays can be converted to a scalar index"):
        operator.index(standard(library.array(x)))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_comparisons_with_a_scalar_are_in_the_precision_of_the_array(dtype, library):
    x = np.array([0.1, 0.25, -3.0], dtype)
    try:
        array = standard(library.array(x))
    except (AttributeError, TypeError):
        pytest.skip("the library has no such dtype")
    for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        for scalar in (0.1, -3, 0.25):
            assert_as_numpy(compare(array, scalar), compare(x, scalar))


def test_systems_are_solved_in_batches_of_one_shape(monkeypatch):
    """CuPy takes no others."""
    linalg = pytest.importorskip("array_api_strict").linalg
    solve = linalg.solve

    def of_one_shape(a, b):
        assert a.shape[:-2] == b.shape[:-2]
        return solve(a, b)

    monkeypatch.setattr(linalg, "solve", of_one_shape)
    library, a = Library("array_api_strict"), np.array([[[2.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [3.0, 1.0]]])
    for b in (np.array([1.0, -2.0]), np.array([[1.0], [-2.0]]), np.arange(12.0).reshape(3, 2, 2, 1)):
        expected = np.linalg.solve(a, b)
        assert_as_numpy(np.linalg.solve(standard(library.array(a)), standard(library.array(b))), expected)


def test_scalars(library):
    x = standard(library.array(np.array(2.5)))
    n, m = standard(library.array(np.array(3))), standard(library.array(np.array(True)))
    assert (float(x), int(n), bool(m), complex(x), n.__index__(), x.item(), n.item(), m.item()) == (
        *(2.5, 3, True, 2.5 + 0j, 3, 2.5, 3, True),
    )
    assert (round(x), round(x, 1), x.__trunc__(), x.__floor__(), x.__ceil__(), x.is_integer()) == (
        2,
        2.5,
        2,
        2,
        3,
        False,
    )
    assert (hash(x), f"{x:.2f}", x.tolist()) == (hash(2.5), "2.50", 2.5)
    assert copy.deepcopy(x) is copy.copy(x) is x
    with pytest.raises(TypeError, match="unsized"):
        len(x)
    rows = standard(library.array(X))
    assert len(rows) == 2
    assert 0.44 not in rows
    assert rows.item(1, 2) == rows.item((1, 2)) == rows.item(5) == 1.4
    for wrong, error in (
        (lambda: hash(rows), TypeError),
        (lambda: rows.item(), ValueError),
        (lambda: bool(rows), Exception),
    ):
        with pytest.raises(error):
            wrong()


def test_what_is_wrapped(library):
    x = library.array(X)
    assert foreign.is_foreign(x)
    assert foreign.MET
    for plain in (X, 1.0, np.float64(1.0), [1], "x", np, None, np.ma.array([1.0]), standard(x)):
        assert not foreign.is_foreign(plain)
        assert adopted(plain) is plain
    first, (second, third) = adopted((x, [x, 1]))
    assert isinstance(first, Standard)
    assert isinstance(second, Standard)
    assert third == 1
    assert first.__array_namespace__() is np
    np.testing.assert_array_equal(np.asarray(standard(library.array(N))), N)


def test_options_that_the_standard_does_not_have(library):
    x = standard(library.array(X))
    with pytest.raises(TypeError, match="where cannot be given with an array of"):
        np.add(x, 1.0, where=M)
    with pytest.raises(NotImplementedError, match="the array belongs to"):
        np.add.accumulate(x)
    with pytest.raises(ValueError, match="does not have an identity"):
        np.max(x, where=M)
    with pytest.raises(TypeError, match="no dtype"):
        x.astype(np.longdouble)
    with pytest.raises(TypeError, match=r"no dtype|cannot be converted"):
        x * np.ones(3, np.longdouble)


def test_numpy_alone_needs_no_other_package():
    """`array_api_compat` is imported when the first array of another library is met."""
    program = """
import sys
sys.modules["array_api_compat"] = None
import numpy as np, shiftreset_ad as sr
assert sr.grad(lambda x: np.sum(np.sin(x) @ x))(np.ones(3)).shape == (3,)
assert not {"torch", "array_api_strict", "jax"} & set(sys.modules)
class Foreign:
    shape = (2,)
    def __array_namespace__(self, api_version=None): ...
try:
    sr.grad(np.sum)(Foreign())
except ImportError as error:
    assert "pip install array-api-compat" in str(error), error
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


# Operators that go straight to the library


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.int64, np.bool_])
def test_operators_with_scalars_and_arrays_are_those_of_numpy(name, dtype, library):
    """Also with the scalar on the left, and of a dtype that goes the long way."""
    if (name, dtype) == ("sub", np.bool_):  # which NumPy refuses
        return
    operate = getattr(operator, name)
    plain, scalars = np.array([1, 3, 2], dtype), (2, 0.5) if np.dtype(dtype).kind in "fc" else (2,)
    x = standard(library.array(plain))
    for found, expected in (
        (operate(x, x), operate(plain, plain)),
        *((operate(x, c), operate(plain, c)) for c in scalars),
        *((operate(c, x), operate(c, plain)) for c in scalars),
    ):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-6)


def test_an_integer_that_the_library_has_no_room_for_is_converted(library):
    x = standard(library.array(np.array([1.0, 2.0])))
    np.testing.assert_array_equal((x * 2**40).to_numpy(), np.array([1.0, 2.0]) * 2**40)
    np.testing.assert_array_equal((2**31 - x).to_numpy(), 2.0**31 - np.array([1.0, 2.0]))


def test_arrays_of_cupy_are_known_by_their_class():
    """Those of CuPy have no `__array_namespace__`; array_api_compat knows them by their class, too."""
    kind = type("ndarray", (), {"__module__": "cupy"})
    other = type("ndarray", (), {"__module__": "elsewhere"})
    try:
        assert foreign.is_foreign(kind())
        assert not foreign.is_foreign(other())
    finally:
        foreign.MET.discard(kind)
        foreign._others.discard(other)


@pytest.mark.parametrize(("count", "size"), [(3, 4), (12, 4), (12, 400)], ids=["few", "many", "many large"])
def test_contributions_to_slices_add_up(count, size, library):
    """By writing to parts of zeros, or by positions: slices that overlap, with new axes, and in one dimension less."""
    x = np.linspace(0.1, 1.0, size + count)

    def f(x):
        parts = sum(np.sin(x[i : i + size]) * (i + 1.0) for i in range(count))
        return np.sum(parts) + np.sum(x[None, :size, None] ** 2) + np.sum(x[-1] * x[1:])

    found = sr.value_and_grad(f)(library.array(x))
    for ours, expected in zip(found, sr.value_and_grad(f)(x), strict=True):
        np.testing.assert_allclose(library.plain(ours), expected, rtol=1e-10)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32])
def test_small_integers_as_positions_in_a_large_array(dtype, library):
    x = np.linspace(0.0, 1.0, 600).reshape(2, 300)
    index = np.array([100, -100, 0, 100]).astype(dtype) if dtype is not np.uint8 else np.array([200, 0], dtype)
    wrapped = standard(library.array(x))
    for places in (index, library.array(index)):
        np.testing.assert_array_equal(wrapped[:, places].to_numpy(), x[:, index])
        np.testing.assert_array_equal(wrapped[1, places].to_numpy(), x[1, index])
        np.testing.assert_array_equal(np.take(wrapped, places, axis=1).to_numpy(), np.take(x, index, axis=1))
        found = sr.grad(lambda x, places=places: np.sum(x[:, places] ** 2))(library.array(x))
        np.testing.assert_allclose(library.plain(found), sr.grad(lambda x: np.sum(x[:, index] ** 2))(x), rtol=1e-12)
