"""Reductions along any axes, searches, comparisons, products of stacks, and functions of SciPy, have NumPy's bits."""

import warnings

import numpy as np
import pytest
from scipy import special

import shiftreset_ad as sr
from shiftreset_ad.staging.native.compiled import _is_same
from shiftreset_ad.staging.native.llvm import NoNativeFormError
from tests.staging.native.natively import native, native_and_steps, needs_native
from tests.staging.native.test_positions import agrees

pytestmark = needs_native

RNG = np.random.default_rng(0)
S, LONG = RNG.normal(size=(3, 4, 5)), RNG.normal(size=(3, 300, 7))
ORDERS = {"C": S, "F": np.asfortranarray(S), "of axes": S.transpose(1, 2, 0).copy().transpose(2, 0, 1), "long": LONG}
AXES = [0, 1, 2, (0, 1), (1, 2), (0, 1, 2), None]
REDUCTIONS = [np.sum, np.mean, np.max, np.min, np.prod]


@pytest.mark.slow_but_every(10)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("f", REDUCTIONS)
def test_reductions_along_axes(f, order):
    x, answered = ORDERS[order], 0
    for axis in AXES:
        for keepdims in (False, True):
            try:
                code, steps = native_and_steps(
                    lambda x, a=axis, k=keepdims: np.reshape(f(x, axis=a, keepdims=k), -1) * 1.0, x
                )
            except NoNativeFormError as error:
                assert "along these axes" in str(error) or "a view" in str(error)  # noqa: PT017
                continue
            answered += 1
            for given in (x, -x, x * 0.0, np.where(x > 1, np.inf, x)):
                given = given.copy("K")
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    expected = steps([given])
                if (found := code.entry()(given)) is not None:
                    assert all(map(_is_same, found, expected)), (axis, keepdims, found, expected)
    assert answered >= 10


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_derivative_of_a_sum_along_an_axis(axis):
    for x in ORDERS.values():
        agrees(lambda x: sr.grad(lambda x: np.sum(np.sum(x * x, axis=axis) ** 2))(x), x)


@pytest.mark.parametrize("f", [np.argmin, np.argmax])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, None])
def test_searches(f, axis):
    nan = S.copy()
    nan[1, 2, 3] = nan[1, 0, 3] = np.nan
    ties, zeros = np.round(S), np.array([0.0, -0.0, 0.0] * 20).reshape(3, 4, 5)
    with np.errstate(all="ignore"):
        entry = native(lambda x: f(x, axis=axis) * 1.0, S).entry()
    for x in (S, nan, ties, -ties, zeros, np.full_like(S, np.inf), np.full_like(S, -np.inf)):
        assert np.array_equal(entry(x)[0], f(x, axis=axis))


def test_the_row_that_is_nearest():
    """As in k-means, where the gradient adds at the rows that were found."""

    def cost(points, centres):
        distances = np.sum((points[:, None] - sr.value(centres)) ** 2, axis=2)
        errors = points - centres[np.argmin(distances, axis=1)]
        return np.sum(errors * errors)

    agrees(lambda p, c: sr.grad(cost, argnums=(0, 1))(p, c), RNG.normal(size=(50, 2)), RNG.normal(size=(4, 2)))


@pytest.mark.parametrize("is_nan_equal", [False, True])
def test_two_arrays_are_compared(is_nan_equal):
    def f(x, y):
        return np.where(np.array_equal(x, y, equal_nan=is_nan_equal), 1.0, 2.0) * x[0]

    entry = native(
        lambda x, y: (x * 1.0, bool(np.array_equal(x, y, equal_nan=is_nan_equal)))[0], np.ones(5), np.ones(5)
    )
    entry, x = entry.entry(), np.arange(5.0)
    nan = np.where(x == 2, np.nan, x)
    assert entry(x, x + 0.0) is not None
    assert type(entry(x, np.where(x == 4, 7.0, x))) is int  # the number of the question
    assert type(entry(np.zeros(5), -np.zeros(5))) is list
    assert type(entry(nan, nan)) is (list if is_nan_equal else int)
    assert type(entry(nan, x)) is type(entry(x, nan)) is int


STACKS = {
    "a stack and a matrix": ((4, 2, 3), (3, 5)),
    "a matrix and a stack": ((2, 3), (4, 3, 5)),
    "two stacks": ((4, 2, 3), (4, 3, 5)),
    "stacks of other lengths": ((4, 1, 2, 3), (2, 3, 5)),
    "a stack and a vector": ((4, 2, 3), (3,)),
    "a vector and a stack": ((3,), (4, 3, 5)),
    "columns": ((4, 2, 3), (4, 3, 1)),
    "numbers": ((4, 1, 1), (4, 1, 1)),
}


@pytest.mark.parametrize("name", STACKS)
def test_products_of_stacks(name):
    a, b = (RNG.normal(size=shape) for shape in STACKS[name])
    agrees(lambda a, b: a @ b, a, b)
    agrees(lambda a, b: np.sin(a) @ (b * 2.0), a, b)
    if a.ndim > 2:
        agrees(lambda a, b: np.swapaxes(a, -1, -2).copy() @ np.swapaxes(a, -1, -2).swapaxes(-1, -2), a, b)
    try:
        agrees(lambda a, b: sr.grad(lambda a, b: np.sum((a @ b) ** 2), argnums=(0, 1))(a, b), a, b)
    except NoNativeFormError as error:
        assert "along these axes" in str(error) or "tensordot" in str(error)  # noqa: PT017


CONTRACTIONS = {
    "matrices": ((3, 4), (4, 5), 1),
    "two axes": ((3, 4, 5), (4, 5, 2), 2),
    "axes in another order": ((3, 4, 5), (5, 3, 2), ([2, 0], [0, 1])),
    "axes from the end": ((2, 4, 5), (3, 4), (-2, 1)),
    "of transposed arrays": ((3, 4), (5, 4), (1, 1)),
}


@pytest.mark.parametrize("name", CONTRACTIONS)
def test_sums_over_axes_of_two_arrays(name):
    of_a, of_b, axes = CONTRACTIONS[name]
    a, b = RNG.normal(size=of_a), RNG.normal(size=of_b)
    agrees(lambda a, b: np.tensordot(a, b, axes), a, b)
    agrees(lambda a, b: np.tensordot(a, b, axes=axes) * 2.0, np.asfortranarray(a), np.asfortranarray(b))
    agrees(lambda a, b: sr.grad(lambda a, b: np.sum(np.tensordot(a, b, axes) ** 2), argnums=(0, 1))(a, b), a, b)


def test_an_array_with_itself():
    agrees(lambda a: np.tensordot(a, a, (0, 0)) + np.tensordot(a, a.T, 1)[0, 0], RNG.normal(size=(30, 20)))
    agrees(lambda a: np.tensordot(a[::2], a[::2, ::3], (0, 0)), RNG.normal(size=(30, 20)))
    agrees(lambda a: np.tensordot(np.broadcast_to(a[0], (5, 20)), a.T[:, 3:], 1), RNG.normal(size=(30, 20)))
    agrees(lambda a: np.tensordot(a.T[:, ::-1], a, 1), RNG.normal(size=(30, 20)))
    with pytest.raises(NoNativeFormError, match="tensordot"):  # where NumPy's product has other bits than `@`
        native(lambda a: np.tensordot(a, a, ([0, 1], [0, 1])) * a[0, 0], RNG.normal(size=(3, 4)))


def test_outer_products():
    v, w = RNG.normal(size=6), RNG.normal(size=4)
    agrees(lambda v, w: np.outer(v[::2], w) * 2.0, v, w)
    agrees(lambda v, w: np.outer(v.reshape(2, 3), w), v, w)
    agrees(lambda v, w: sr.grad(lambda v, w: np.sum(np.outer(v, w) ** 2), argnums=(0, 1))(v, w), v, w)


def test_an_array_of_numbers():
    agrees(lambda x: sr.array([[x[0], 1.0], [x[1] * x[0], x[0] - x[1]]]) @ x, RNG.normal(size=2))


@pytest.mark.parametrize("f", [special.expit, special.log_expit, special.erf, special.ndtr, special.gammaln])
def test_functions_of_scipy(f):
    x = np.array([-800.0, -40.0, -1.5, -0.0, 0.0, 0.3, 2.0, 40.0, 800.0])
    for point in (x, x[2:7].reshape(5, 1)):
        code, steps = native_and_steps(lambda x: f(x), x[2:7] if point.ndim > 1 else x)
        found = code.entry()(point.ravel())
        assert found is None or all(map(_is_same, found, steps([point.ravel()])))
    code = native(lambda x: f(x) * 2.0, 0.3).entry()
    for number in (0.3, 1.7, 25.0):
        assert code(number) == [f(number) * 2.0]
    agrees(lambda x: sr.grad(lambda x: np.sum(f(x) * x))(x), np.array([0.3, 1.2, 2.5]))


def test_an_error_that_scipy_is_asked_for_is_raised():
    f, x, pole = sr.staged(lambda x: np.sum(special.gammaln(x) * x)), np.array([1.5, 2.5]), np.array([-1.0, 2.0])
    for _ in range(3):
        f(x)
    assert "no native code" not in f.llvm[0]
    assert f(pole) == -np.inf
    with special.errstate(all="raise"), pytest.raises(special.SpecialFunctionError):
        f(pole)
    assert f(x) == np.sum(special.gammaln(x) * x)
