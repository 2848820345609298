"""Staged values have all that floats, NumPy's scalars and its arrays have, and answer as these do."""

import copy
import math
import operator
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest

from shiftreset_ad import StagingWarning, staged
from shiftreset_ad.staging.steps.interface import METHODS, OF_THE_LAYOUT, PARTS, QUESTIONS
from shiftreset_ad.staging.steps.trace import Trace, UnstageableError
from shiftreset_ad.staging.steps.values import Staged

A = np.array([[1.5, -2.0, 0.25], [0.0, 3.0, -1.0]])
V = np.array([2.0, -0.5, 4.0])
OF_ALL_KINDS = [1.75, 2.5 + 1.0j, np.float64(1.75), np.float32(1.75), np.complex64(1.0 + 2.0j), V, A, np.array(2.5)]
OF_ALL_KINDS += [np.array([1, 2, 3]), np.array([True, False]), A.astype(np.float32), A.T, A[:, ::2]]


def assert_same(found, expected):
    assert type(found) is type(expected), (found, expected)
    if isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for x, y in zip(found, expected, strict=True):
            assert_same(x, y)
        return
    if isinstance(expected, np.ndarray | np.generic):
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)
    if isinstance(expected, np.ndarray | float | np.inexact) and np.asarray(expected).dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def outcome(f, *args):
    """What a function returns, or the error that it raises."""
    try:
        return f(*args)
    except Exception as error:
        return error


def check(f, *points, ways=1):
    """That a function is staged, in so many ways, and answers what it answers itself."""
    g = staged(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error", StagingWarning)
        for args in points + points:
            assert_same(g(*args), f(*args))
    assert len(g.sources) == ways, g.sources
    return g


def check_outcome(f, *points):
    """That a function does what it does itself, staged or not."""
    g = staged(f)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=StagingWarning)
        warnings.filterwarnings("error", "(?s).*(something else|it raises)", StagingWarning)
        for args in points + points:
            found, expected = outcome(g, *args), outcome(f, *args)
            if isinstance(expected, Exception):
                assert type(found) is type(expected), (found, expected)
                assert str(found) == str(expected)
            else:
                assert_same(found, expected)


# Attributes and methods

WITHOUT_ARGUMENTS = [
    *("all", "any", "argmax", "argmin", "argsort", "conj", "conjugate", "copy", "cumprod", "cumsum", "diagonal"),
    *("flatten", "item", "max", "mean", "min", "nonzero", "prod", "ravel", "round", "squeeze", "std", "sum", "tolist"),
    *("trace", "transpose", "var", "byteswap", "view", *QUESTIONS),
]


@pytest.mark.parametrize("x", OF_ALL_KINDS, ids=lambda x: f"{type(x).__name__} {x!r:.20}")
def test_attributes_and_methods_without_arguments(x):
    for name in (*OF_THE_LAYOUT, *PARTS):
        if name not in ("dtype", "device"):
            check_outcome(operator.attrgetter(name), (x,))
    for name in WITHOUT_ARGUMENTS:
        if not (name == "to_bytes" or (name == "dumps" and not isinstance(x, float))):
            check_outcome(lambda x, name=name: getattr(x, name)(), (x,))


@pytest.mark.parametrize("x", OF_ALL_KINDS, ids=lambda x: f"{type(x).__name__} {x!r:.20}")
def test_values_have_what_their_plain_values_have(x):
    trace = Trace()
    value = Staged(trace, trace.place_for(x))
    for name in dir(x):
        if not name.startswith("_"):
            try:
                getattr(value, name)
            except ValueError:
                assert name == "mT"  # which only matrices have
            except UnstageableError:
                assert name in ("base", "ctypes", "data", "flags", "dump", "tofile", "from_number", "fromhex")
    for name in {*dir(np.ndarray), *dir(float)} - set(dir(x)):
        assert name.startswith("__") or name in ("item", "tolist", "flat") or not hasattr(value, name), name


METHOD_CALLS = [
    lambda x: x.astype(np.float32),
    lambda x: x.astype(int),
    lambda x: x.argpartition(1),
    lambda x: x.choose([x * 1.0, x * 2.0]),
    lambda x: x.clip(-1, 1),
    lambda x: x.clip(min=0.0),
    lambda x: x.compress([True, False, True], axis=-1),
    lambda x: x.compress([True, False], axis=0),
    lambda x: x.copy("F"),
    lambda x: x.cumsum(axis=0),
    lambda x: x.dot(x.T),
    lambda x: x.flatten("F"),
    lambda x: x.getfield(np.int8),
    lambda x: x.item(0),
    lambda x: x.max(axis=0, keepdims=True),
    lambda x: x.mean(0),
    lambda x: x.repeat(2),
    lambda x: x.repeat([1, 2, 0], axis=-1),
    lambda x: x.reshape(-1, 1),
    lambda x: x.reshape((-1,)),
    lambda x: x.reshape((1, -1), order="F"),
    lambda x: x.round(1),
    lambda x: x.searchsorted(1.0),
    lambda x: x.std(ddof=1),
    lambda x: x.sum(axis=-1),
    lambda x: x.sum(0, keepdims=True),
    lambda x: x.swapaxes(0, -1),
    lambda x: x.take([0, 1, 1]),
    lambda x: x.take(7, mode="wrap"),
    lambda x: x.transpose(1, 0),
    lambda x: x.transpose((1, 0)),
    lambda x: x.view(np.uint8),
    lambda x: x.to_device("cpu"),
    lambda x: x.is_integer(),
    lambda x: x.as_integer_ratio(),
    lambda x: list(x.flat),
    lambda x: list(x),
    lambda x: [*reversed(x)],
    lambda x: len(x),
    lambda x: 3.0 in x,
    lambda x: copy.copy(x),
    lambda x: copy.deepcopy([x, x])[0],
    lambda x: pickle.loads(pickle.dumps(x)),
    lambda x: hasattr(x, "shape"),
    lambda x: getattr(x, "dtype", None) is None,
    lambda x: x.nothing_of_the_kind,
]


@pytest.mark.parametrize("f", METHOD_CALLS)
def test_methods_with_arguments(f):
    for x in OF_ALL_KINDS:
        check_outcome(f, (x,), (x + x,)) if np.asarray(x).dtype.kind != "b" else check_outcome(f, (x,))


# Operators

OPERATORS = [
    *(
        operator.add,
        operator.sub,
        operator.mul,
        operator.truediv,
        operator.floordiv,
        operator.mod,
        operator.pow,
        divmod,
    ),
    *(operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, operator.matmul),
    *(operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift),
]
OTHERS = [2, 2.0, True, 0.5, -3, 1j, Fraction(1, 3), np.float64(1.5), np.float32(1.5), np.int64(2), V, [1.0, 2.0, 3.0]]
OTHERS += [None, "text", (1, 2, 3), np.bool_(True), np.array([1, 2, 3]), 2**70]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("operate", OPERATORS, ids=lambda operate: operate.__name__)
def test_operators_with_constants_on_either_side(operate):
    for x in (1.75, np.float64(1.75), np.float32(-1.75), V, np.array([1, 2, 3]), np.array([True, False, True])):
        for other in OTHERS:
            check_outcome(lambda x, other=other: operate(x, other), (x,))
            if not (
                type(other) is complex and operate in (operator.eq, operator.ne)
            ):  # for Python, x == 1j is the same as 1j == x
                check_outcome(lambda x, other=other: operate(other, x), (x,))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_operators_of_two_values():
    values = [1.75, np.float64(1.75), np.float32(-1.75), V, np.array([1, 2, 3]), np.array(2.0), 1.0 - 1j]
    for operate in OPERATORS:
        for x in values:
            for y in values:
                check_outcome(operate, (x, y))


@pytest.mark.parametrize("x", OF_ALL_KINDS, ids=lambda x: f"{type(x).__name__} {x!r:.20}")
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
def test_builtins(x):
    of_one = [abs, operator.neg, operator.pos, operator.invert, round, int, float, complex, bool, len, hash, repr, str]
    of_one += [format, sorted, sum, max, min, list, tuple, math.sqrt, math.floor, math.ceil, math.trunc, math.exp]
    of_one += [operator.index, range, math.isfinite, np.isscalar, np.asarray, np.array, np.float64, np.iterable]
    of_one += [lambda x: round(x, 1), lambda x: f"{x:.2f}", lambda x: pow(x, 2, 3), lambda x: -1 < x < 2, enumerate]
    for f in of_one:
        if f is not np.isscalar and f is not enumerate:
            check_outcome(f, (x,), (x,))


def test_other_answers_of_a_question_are_other_ways():
    def f(x):
        return x * 2.0 if (x > 0.0).__bool__() and (x < 1.0).__bool__() else -x

    check(f, (0.5,), (2.0,), (-1.0,), (0.25,), ways=3)
    check(lambda x: x[x[0].__int__()] * 1.0, (np.array([0.0, 1.0, 2.0]),), (np.array([2.0, 1.0, 5.0]),), ways=2)
    check(lambda x: {1.0: 2.0, 3.0: 4.0}.get(x, 0.0) * x, (1.0,), (3.0,), (5.0,), ways=3)
    check(lambda x: float(f"{x:.0f}") + x, (1.25,), (1.2,), (7.0,), ways=2)
    check(lambda x: np.fromiter([x, 1.0], float) * x, (1.25,), (7.0,), ways=2)
    check(lambda x: np.array_str(x) == "[1. 2.]", (np.array([1.0, 2.0]),), (np.array([1.0, 3.0]),), ways=2)
    check(lambda x: float(str(x)) * x, (0.0,), (-0.0,), ways=2)
    check(lambda x, y: x in y, (1.0, V), (2.0, V), (2.0, 2 * V), ways=2)


def test_arrays_of_scalars_that_numpy_makes_without_asking():
    for x in (1.75, np.float64(1.75), np.float32(1.75), np.array(1.5)):
        check_outcome(lambda x: np.array([x, 2.0]), (x,))
        check_outcome(lambda x: np.array([[x], [x * x]]), (x,))
        check_outcome(lambda x: np.asarray([x, np.float32(1.0)]), (x,))
        check_outcome(lambda x: np.stack([x, x * 2, 1.0]), (x,), (x + x,))
        check_outcome(lambda x: np.full(3, x), (x,), (x + x,))
        check_outcome(lambda x: np.linspace(0.0, x, 4), (x,), (x + x,))
        check_outcome(lambda x: np.arange(0.0, x, 0.5), (x,), (x + x,))


# Errors that the program catches are questions, too


def fallback(x):
    try:
        return 1.0 / x
    except ZeroDivisionError:
        return x - 1.0


def is_definite(a):
    try:
        np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return False
    return True


def as_whole(x):
    try:
        return int(x)
    except ValueError:
        return -1


def checked(x):
    try:
        1.0 / x
    except ZeroDivisionError:
        return -1.0
    return x * 2.0


def strict(x):
    with np.errstate(all="raise"):
        try:
            np.log(x)
        except FloatingPointError:
            return x * 0.0
    return x * 2.0


def element(x, i):
    try:
        x[i.astype(int)]
    except IndexError:
        return x * 0.0
    return x


@pytest.mark.parametrize(
    ("f", "points"),
    [
        (fallback, [(2.0,), (0.0,), (4.0,)]),
        (checked, [(2.0,), (0.0,), (4.0,)]),
        (checked, [(0.0,), (4.0,), (3.0,)]),
        (is_definite, [(np.eye(2),), (-np.eye(2),), (2.0 * np.eye(2),)]),
        (as_whole, [(np.nan,), (2.5,), (3.5,), (np.nan,)]),
        (strict, [(V * V,), (V * 0.0,), (V * V + 1.0,)]),
        (strict, [(V * 0.0,), (V * V,), (V * V + 1.0,)]),
        (element, [(V, np.array([0.0, 1.0])), (V, np.array([0.0, 9.0])), (V, np.array([1.0, 2.0]))]),
    ],
)
def test_errors_that_the_program_catches(f, points):
    check_outcome(f, *[tuple(point) for point in points])


# Functions

SQUARE = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
FUNCTIONS = [
    lambda x: np.einsum("ij,jk->ik", x, x),
    lambda x: np.einsum("ii->i", x),
    lambda x: np.linalg.eigh(x),
    lambda x: np.linalg.eigh(x).eigenvalues * 2.0,
    lambda x: np.linalg.svd(x)[1],
    lambda x: np.linalg.slogdet(x),
    lambda x: np.linalg.norm(x),
    lambda x: np.linalg.norm(x, axis=0),
    lambda x: np.linalg.norm(x, 1),
    lambda x: np.linalg.solve(x, x[0]),
    lambda x: np.linalg.lstsq(x, x[0], rcond=None)[0],
    lambda x: np.linalg.eig(x)[0],
    lambda x: np.linalg.matrix_rank(x) * x,
    lambda x: np.fft.fft(x),
    lambda x: np.fft.irfft(np.fft.rfft(x)),
    lambda x: np.apply_along_axis(np.cumsum, 0, x),
    lambda x: np.piecewise(x, [x > 0.5, x <= 0.5], [np.sin, 0.0]),
    lambda x: np.select([x > 1.0, x > 0.3], [x, -x], 0.5),
    lambda x: np.histogram(x, bins=3, range=(0.0, 5.0)),
    lambda x: np.interp(x, [0.0, 1.0, 5.0], [0.0, 2.0, 3.0]),
    lambda x: np.polyfit(x[0], x[1], 1),
    lambda x: np.polyval([1.0, 2.0], x),
    lambda x: np.gradient(x),
    lambda x: np.gradient(x[0]),
    lambda x: np.split(x, 3),
    lambda x: np.array_split(x, 2),
    lambda x: np.meshgrid(x[0], x[1]),
    lambda x: np.broadcast_arrays(x, x[0]),
    lambda x: np.unique_all(x),
    lambda x: np.unique(x),
    lambda x: np.nonzero(x > 0.75),
    lambda x: np.where(x > 0.75),
    lambda x: np.where(x > 0.75, x, -x),
    lambda x: x[x > 0.75],
    lambda x: x[np.argmax(x, axis=0)],
    lambda x: x[np.array([0, 2]), np.argmin(x[:2], axis=1)],
    lambda x: np.stack([x[0, 0], x[1, 1]]),
    lambda x: np.concatenate([x, x], axis=1),
    lambda x: np.block([[x, x], [x, x]]),
    lambda x: np.add.reduce(x),
    lambda x: np.add.reduce(x, axis=None),
    lambda x: np.multiply.accumulate(x, axis=1),
    lambda x: np.add.reduceat(x, [0, 2]),
    lambda x: np.subtract.outer(x[0], x[1]),
    lambda x: np.add(x, 1, dtype=np.float32, casting="same_kind"),
    lambda x: np.sum(x, where=x > 1.0),
    lambda x: np.max(x, axis=0, initial=0.0),
    lambda x: np.max(x, 1),
    lambda x: np.sum(x, 1, None, None, True),
    lambda x: np.mean(x, axis=(0, 1), keepdims=True),
    lambda x: np.clip(x, 0.5, None),
    lambda x: np.clip(x, a_min=0.5, a_max=2.0),
    lambda x: np.transpose(x, axes=(1, 0)),
    lambda x: np.expand_dims(x, (0, 2)),
    lambda x: np.reshape(x, (3, -1), order="F"),
    lambda x: np.zeros_like(x) + x,
    lambda x: np.diag(x),
    lambda x: np.diag(x[0], 1),
    lambda x: np.take(x, [0, 5], mode="clip"),
    lambda x: np.tile(x, (2, 1)),
    lambda x: np.roll(x, 1, axis=0),
    lambda x: np.percentile(x, 30.0),
    lambda x: np.median(x, axis=0),
    lambda x: np.cov(x),
    lambda x: np.trapezoid(x, axis=0),
    lambda x: np.vectorize(lambda t: t * 2.0)(x),
    lambda x: [t * 1.0 for t in np.nditer(x)],
    lambda x: [t * 1.0 for _, t in np.ndenumerate(x)],
    lambda x: [x[i] for i in np.ndindex(x.shape)],
    lambda x: np.array_equal(x, x.T),
    lambda x: np.allclose(x, x.T) * x,
    lambda x: np.count_nonzero(x > 0.5),
    lambda x: np.trim_zeros(np.where(x[0] > 1.0, x[0], 0.0)),
    lambda x: np.repeat(x[0], np.array([1, 2, 1])),
    lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=0),
    lambda x: np.nan_to_num(x),
    lambda x: np.linspace(x[0], x[1], 3),
    lambda x: np.modf(x),
    lambda x: np.frexp(x)[0],
    lambda x: np.asarray(x)[0] * x,
    lambda x: np.result_type(x) == np.float64,
    lambda x: np.shape(x),
    lambda x: divmod(x, 0.75),
    lambda x: x[..., None, 1:],
    lambda x: x[[0, 2]],
    lambda x: x[:, ::-1],
    lambda x: np.real(x),
    lambda x: np.imag(x),
    lambda x: np.linalg.inv(x) @ x,
]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_functions(f):
    check_outcome(f, (SQUARE,), (SQUARE * 1.5,), (SQUARE + np.eye(3),), (-SQUARE,), (np.zeros((3, 3)),))


STAGED_IN_ONE_WAY = [
    lambda x: np.einsum("ij,jk->ik", x, x),
    lambda x: np.linalg.eigh(x),
    lambda x: np.histogram(x, bins=3, range=(0.0, 5.0)),
    lambda x: np.meshgrid(x[0], x[1]),
    lambda x: np.where(x > 0.75, x, -x),
    lambda x: x[np.argmax(x, axis=0)],
    lambda x: np.stack([x[0, 0], x[1, 1]]),
    lambda x: np.select([x > 1.0, x > 0.3], [x, -x], 0.5),
    lambda x: (np.diff(x, axis=0) ** 2).sum(),
    lambda x: [part.sum() for part in np.split(x, 3)],
    lambda x: sum(x[0]) * x,
    lambda x: np.apply_along_axis(np.cumsum, 0, x),
]


@pytest.mark.parametrize("f", STAGED_IN_ONE_WAY)
def test_functions_that_ask_for_nothing_go_one_way(f):
    check(f, (SQUARE,), (SQUARE * 1.5,), (SQUARE + np.eye(3),))


# Shapes that depend on values


SHAPES_BY_VALUES = [
    lambda x: x[: np.argmax(x)],
    lambda x: x[np.argmin(x) : np.argmax(x)],
    lambda x: len(np.nonzero(x > 1.0)[0]) * 1.0,
    lambda x: np.nonzero(x > 1.0)[0].size + x,
    lambda x: x[[x[0] > 1.0, x[1] > 1.0, x[2] > 1.0]],
    lambda x: len(np.unique(x)) * x,
    lambda x: np.repeat(x, x.astype(int) % 3),
    lambda x: np.diag(x, np.argmax(x)),
    lambda x: np.tile(x, np.argmax(x) + 1),
    lambda x: np.split(x, [np.argmax(x)]),
    lambda x: np.array_split(x, np.argmax(x) + 1),
    lambda x: len(np.array_split(x, np.argmax(x) + 1)) * x,
    lambda x: np.sum(x.reshape(1, 3), axis=np.argmax(x) % 2),
    lambda x: np.array_split(x, x[np.argmax(x)]),
    lambda x: len(np.array_split(x, x[np.argmax(x)])) * x,
    lambda x: np.roll(x, x[0]),
    lambda x: np.tile(x, np.argmax(x) + 1).size * x,
    lambda x: np.diag(x, np.argmax(x)).shape[0] * x,
    lambda x: len(np.expand_dims(x, np.argmax(x) % 2)) * x,
    lambda x: np.size(x[None], np.argmax(x) % 2) * x,
    lambda x: x.compress(x > 1.0),
    lambda x: np.linspace(0.0, 1.0, np.argmax(x) + 1),
    lambda x: np.polymul(np.where(x > 1.0, x, 0.0), [1.0, 2.0]),
    lambda x: np.linalg.lstsq(np.outer(x, x), x, rcond=None)[1].size * x,
]


@pytest.mark.parametrize("f", SHAPES_BY_VALUES)
def test_shapes_that_depend_on_values(f):
    points = [[1.5, 0.5, 2.5], [0.5, 0.25, 0.125], [3.0, 3.0, 1.0], [0.0, 5.0, 1.25], [2.5, 0.5, 1.5]]
    check_outcome(f, *[(np.array(point),) for point in points])


def test_python_floats_change_their_type():
    check_outcome(lambda x: x**0.5, (4.0,), (-4.0,), (9.0,))
    check_outcome(lambda x: math.floor(x) ** -1, (4.5,), (-4.0,))
    check_outcome(lambda x: isinstance((x**0.5).real, complex), (4.0,), (-4.0,))


# Writing


WRITING = [
    lambda x: operator.setitem(x, 0, 1.0),
    lambda x: operator.iadd(x, 1.0),
    lambda x: x.fill(0.0),
    lambda x: x.sort(),
    lambda x: x.partition(1),
    lambda x: x.put(0, 1.0),
    lambda x: x.resize(3),
    lambda x: x.setfield(1.0, float),
    lambda x: x.setflags(write=False),
    lambda x: x.byteswap(True),
    lambda x: x.byteswap(inplace=True),
    lambda x: setattr(x, "shape", (3, 1)),
    lambda x: setattr(x, "real", 0.0),
    lambda x: operator.setitem(x.flat, 0, 1.0),
    lambda x: setattr(x, "flat", 1.0),
    lambda x: x.data,
    lambda x: x.base,
    lambda x: x.flags,
    lambda x: x.ctypes,
    lambda x: x.tofile("nowhere"),
    lambda x: np.sum(np.eye(3), 0, None, x),
    lambda x: x.cumsum(0, None, x),
    lambda x: np.add(x, 1.0, x),
    lambda x: np.add(V, 1.0, out=x),
    lambda x: np.add.at(x, [0], 1.0),
    lambda x: np.copyto(x, 1.0),
    lambda x: np.put(x, 0, 1.0),
    lambda x: np.putmask(x, x > 0.0, 1.0),
    lambda x: np.place(x, x > 0.0, [1.0]),
    lambda x: np.put_along_axis(x, np.array([0]), 1.0, 0),
    lambda x: np.nan_to_num(x, copy=False),
    lambda x: np.nan_to_num(x, False),
    lambda x: np.median(x, overwrite_input=True),
    lambda x: np.percentile(x, 50.0, None, None, True),
    lambda x: np.save("nowhere", x),
    lambda x: np.clip(x, 0.0, 1.0, x),
    lambda x: np.concatenate([x[:1], x[1:]], 0, x),
]


@pytest.mark.parametrize("write", WRITING)
def test_writing_to_an_argument_is_refused(write):
    trace = Trace()
    x = Staged(trace, trace.place_for(V.copy()))
    with pytest.raises(
        UnstageableError, match=r"make a new array|Write x\[i\] = v|not staged|Write to a copy|writes to a file"
    ):
        write(x)
    np.testing.assert_array_equal(trace.values[0], V)
    assert trace.refusal is not None


def test_a_refusal_that_is_caught_is_one():
    def f(x):
        y = x * 1.0
        try:
            y.setflags(write=False)
        except Exception:
            return y
        return y * 2.0

    g = staged(f)
    with pytest.warns(StagingWarning, match="setflags"):
        np.testing.assert_array_equal(g(V), f(V))
    np.testing.assert_array_equal(g(V), f(V))


def test_what_is_asked_for_cannot_be_written_to_in_place_of_the_value():
    def f(x):
        y = x * 1.0
        z = np.asarray(y)
        z += 1.0
        return y

    g = staged(f)
    with pytest.warns(StagingWarning, match="read-only"):
        np.testing.assert_array_equal(g(V), f(V))
    np.testing.assert_array_equal(g(2.0 * V), f(2.0 * V))
    check(lambda x: np.array(x) * x, (V,))


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_constants_of_other_kinds_are_refused():
    for other in (np.ma.array([1.0, 2.0, 3.0]), np.array([1, None, 2.0]), object(), np.matrix([1.0, 2.0, 3.0])):
        check_outcome(lambda x, other=other: type(x + other), (V,))
    check_outcome(lambda x: np.array([Fraction(1, 2), 1, 2]) * x, (V,))
    check_outcome(lambda x: np.frompyfunc(abs, 1, 1)(x), (V,))


def test_warnings_that_are_made_errors():
    def f(x):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                y = np.log(x)
            except RuntimeWarning:
                y = x
        return y

    g = staged(f)
    with pytest.warns(StagingWarning, match="errors of warnings"):
        g(V * V)
    for x in (V * V, V * 0.0, V * V):
        np.testing.assert_array_equal(g(x), f(x))


def test_values_of_a_function_that_has_returned():
    kept = []

    def f(x):
        kept.append(x)
        return x * 2.0

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StagingWarning)
        staged(f)(V)
    left = [x for x in kept if type(x) is Staged]
    assert all("has returned" in repr(x) for x in left)


def test_all_methods_are_known():
    assert {*METHODS, *QUESTIONS, *OF_THE_LAYOUT, *PARTS} <= {*dir(np.ndarray), *dir(np.float64), *dir(1)}
