"""Elements at arrays of integers, read, written and added to, have NumPy's bits; so have the derivatives."""

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad.staging.native.compiled import _is_same
from shiftreset_ad.staging.native.llvm import NoNativeFormError
from tests.staging.native.natively import calls_pay, native, native_and_steps, needs_native

pytestmark = needs_native

RNG = np.random.default_rng(0)
X, V = RNG.normal(size=(5, 4, 3)), RNG.normal(size=300)
ROW, COLUMN, ROWS = np.array([0, -1, 3, 3]), np.array([2, 1, -4, 0]), np.array([[0, 4], [1, 1], [-5, 2]])
MANY = RNG.integers(0, 300, 500)
MASK = X[..., 0] > 0


def agrees(f, *args):
    """That native code has the bits of the steps, and is right."""
    code, steps = native_and_steps(f, *args)
    found, by_numpy = code.entry()(*args), steps(list(args))
    assert len(found) == len(by_numpy)
    assert all(map(_is_same, found, by_numpy)), (found, by_numpy)
    for one, another in zip(found, sr.boundary.trees.flatten(f(*args))[0], strict=True):
        np.testing.assert_allclose(one, another, rtol=1e-12, atol=1e-12)


OF_TWO_SHAPES = "arrays of two shapes"
READ = {
    "rows": lambda x, i, j, rows: x[i],
    "rows, by an array of two axes": lambda x, i, j, rows: x[rows],
    "the second axis": lambda x, i, j, rows: x[:, j],
    "two arrays": lambda x, i, j, rows: x[i, j],
    "two arrays apart": lambda x, i, j, rows: x[i, :, j % 3],
    "an array and an integer": lambda x, i, j, rows: x[i, 2],
    "an array and an integer apart": lambda x, i, j, rows: x[0, :, i % 3],
    "a slice and a new axis": lambda x, i, j, rows: x[1:, None, j],
    "an ellipsis": lambda x, i, j, rows: x[..., i % 3],
    "of a transposed array": lambda x, i, j, rows: x.T[..., i],
    OF_TWO_SHAPES: lambda x, i, j, rows: x[rows[:, :1], i[:2]],
}


@pytest.mark.parametrize("name", READ)
def test_elements_at_constant_arrays(name):
    f = READ[name]
    agrees(lambda x: f(x * 2.0, ROW, COLUMN, ROWS).reshape(-1) * 1.0, X)
    if name != OF_TWO_SHAPES:
        agrees(lambda x: sr.grad(lambda x: np.sum(np.sin(f(x, ROW, COLUMN, ROWS)) * f(x, ROW, COLUMN, ROWS)))(x), X)


@pytest.mark.parametrize("name", [name for name in READ if "apart" not in name and "ellipsis" not in name])
def test_elements_at_arrays_that_are_arguments(name):
    f = READ[name]
    agrees(lambda x, i, j, rows: f(x * 2.0, i, j, rows).reshape(-1) * 1.0, X, ROW, COLUMN, ROWS)
    if name != OF_TWO_SHAPES:
        agrees(lambda x, i, j, rows: sr.grad(lambda x: np.sum(np.sin(f(x, i, j, rows))))(x), X, ROW, COLUMN, ROWS)


def test_the_order_in_which_numpy_adds_at_arrays_of_two_shapes_is_not_known():
    with calls_pay(False), pytest.raises(NoNativeFormError, match="in another order than that of C"):
        native(
            lambda x, i, j, rows: sr.grad(lambda x: np.sum(np.sin(READ[OF_TWO_SHAPES](x, i, j, rows))))(x),
            X,
            ROW,
            COLUMN,
            ROWS,
        )


def test_the_arrays_may_be_views_and_have_other_numbers_in_later_calls():
    def f(x, pairs):
        first, second = pairs
        return sr.grad(lambda x: np.sum(x[first] * x[:, second][0]))(x)

    pairs = np.stack((ROW, COLUMN % 4))
    entry, steps = (code := native_and_steps(f, X[:, :, 0].copy(), pairs))[0].entry(), code[1]
    for shift in range(4):
        args = [X[:, :, 0].copy(), np.stack(((ROW + shift) % 5, (COLUMN + shift) % 4))]
        assert all(map(_is_same, entry(*args), steps(args)))


@pytest.mark.parametrize(("index", "is_in"), [(4, True), (-5, True), (5, False), (-6, False), (2**62, False)])
def test_native_code_leaves_if_an_index_is_not_in_the_array(index, is_in):
    entry = native(lambda x, i: x[i] * 2.0, X, ROW).entry()
    given = np.array([0, 1, index, 2])
    found = entry(X, given)
    if is_in:
        assert np.array_equal(found[0], X[given] * 2.0)
    else:
        assert found is None
        with pytest.raises(IndexError):
            sr.staged(lambda x, i: x[i] * 2.0)(X, given)


def test_what_is_added_twice_is_added_in_order():
    agrees(lambda v: sr.grad(lambda v: np.sum(np.exp(v[MANY]) * V[MANY]))(v), V)
    agrees(lambda v, many: sr.grad(lambda v: np.sum(np.exp(v[many]) * V[MANY]))(v), V, MANY)
    agrees(lambda v, many: sr.hvp(lambda v: np.sum(np.exp(v[many]) * v[many]), (v,), (V,)), V, MANY)


def test_many_single_elements_are_moved():
    order = RNG.permutation(300)
    agrees(lambda v: np.concatenate((v[order], v[::-1], np.repeat(v, 2)))[1:], V)
    agrees(lambda v: np.repeat(v, np.arange(300) % 3), V)


def test_elements_at_a_constant_mask():
    agrees(lambda x: x[MASK] * 2.0, X)
    agrees(lambda x: sr.grad(lambda x: np.sum(np.sin(x[MASK])))(x), X)


def written(x, v):
    y = x[:4, :3] * 0.0
    y[:, [0, 1, 2], [1, 2, 0]] = v
    y[:, range(3), range(3)] = np.exp(x[:4, 0])
    y[0, [2, 0]] = 1.5
    return np.sum(y * y * y)


def test_writes_at_arrays_and_their_derivatives():
    v = RNG.normal(size=(4, 3))
    agrees(written, X, v)
    agrees(lambda x, v: sr.grad(written, argnums=(0, 1))(x, v), X, v)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda x, i: x[i.T[::-1]], (V, np.asfortranarray(ROWS))),  # a reversed array of integers
        (lambda x, i: sr.grad(lambda x: np.sum(x[i] ** 2))(x), (V, np.asfortranarray(ROWS))),
    ],
)
def test_an_order_that_is_not_known_is_refused_or_right(f, args):
    try:
        agrees(f, *args)
    except NoNativeFormError as error:
        assert "order" in str(error) or "reversed" in str(error) or "view" in str(error)  # noqa: PT017


def test_a_write_to_a_position_that_is_there_twice_is_refused():
    def f(x):
        y = x * 1.0
        y[[0, 0]] = x[:2]
        return y

    with pytest.raises(NoNativeFormError, match="at these positions"):
        native(f, X)


INTEGERS = {
    "are handed on": lambda x, i: (x[i[1:]], i[::1] * 1.0),
    "are compared": lambda x, i: np.where(i > 1, x[i, 0, 0], 0.0),
    "are converted": lambda x, i: x[0, 0, 0] * i.astype(float) + i / 2.0,
    "are copied": lambda x, i: x[i.copy().reshape(2, 2)],
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_of_an_array(name):
    agrees(INTEGERS[name], X, ROW)


@pytest.mark.parametrize("f", [lambda i: i + i, lambda i: -i, lambda i: i * 2, lambda i: i**2, lambda i: np.sum(i)])
def test_arithmetic_on_integers_of_an_array_is_refused_as_it_wraps(f):
    with calls_pay(False), pytest.raises(NoNativeFormError):
        native(lambda x, i: x[0] * f(i)[0] if f(i).shape else x[0] * f(i), X, ROW)


def test_a_loop_may_carry_integers_and_index_by_them():
    def f(x, i, n):
        def body(_, state):
            i, total = state
            return i[::-1].copy(), total + np.sum(x[i] * x[i])

        return sr.fori_loop(0, n, body, (i, 0.0 * x[0, 0, 0]))[1]

    for n in (0, 1, 5):
        agrees(lambda x, i, n: sr.grad(f)(x, i, n), X, ROW, n)
