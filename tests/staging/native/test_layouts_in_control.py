"""Arrays that come out of branches and rounds in several layouts, as native code: the bits and strides of the steps."""

import numpy as np
import pytest

from shiftreset_ad import cond, fori_loop, grad, hessian, jacfwd, jacrev, jvp, scan, staged
from shiftreset_ad.staging.native import control
from shiftreset_ad.staging.native.llvm import NoNativeFormError
from shiftreset_ad.staging.native.seen_layouts import SeenLayouts
from tests.staging.native.natively import native, native_and_steps, needs_native
from tests.staging.native.test_control_of_arrays import check

pytestmark = needs_native

X = np.array([0.5, -1.25, 2.0])
SQUARES = np.random.default_rng(4).normal(size=(4, 3, 3))
LONG = np.random.default_rng(3).normal(size=40)


def rows(x):
    return np.stack([x, x * 2.0, x * 3.0])


def of_two_layouts(x):
    """A matrix in the order of C for a positive first element, and otherwise in that of Fortran."""
    return cond(x[0] > 0.0, lambda: rows(x), lambda: rows(x).T * 1.0)


def turning(x, n):
    """A matrix whose layout changes in each round."""
    return fori_loop(0, n, lambda i, y: y.T * 0.5 + x, rows(x))


def first(matrices):
    """An element of each matrix."""
    return sum(matrix[0, 1] * matrix[2, 0] for matrix in matrices)


NOT_SEEN = [
    lambda x: of_two_layouts(x)[0, 1] * of_two_layouts(x)[2, 0],
    lambda x: (of_two_layouts(x) * 2.0 + np.sqrt(np.abs(of_two_layouts(x))))[0, 1],
    lambda x: np.copy(of_two_layouts(x) * x, order="C"),
    lambda x: (of_two_layouts(x) ** 2).copy(order="C"),
    lambda x: np.sum(np.where(of_two_layouts(x) > 0.0, of_two_layouts(x), 0.0)[0] * 2.0),
    lambda x: cond(x[0] > 0.0, lambda: np.broadcast_to(x, (3, 3)), lambda: rows(x))[1, 2] * 2.0,
    lambda x: cond(x[0] > 0.0, lambda: rows(x)[:, ::2], lambda: rows(x)[:, 1:])[1, 1] * 2.0,
    grad(lambda x: (of_two_layouts(x) * of_two_layouts(x))[0, 1]),
    grad(lambda x: first([of_two_layouts(x), of_two_layouts(x * x)])),
]
SEEN = [
    of_two_layouts,
    lambda x: of_two_layouts(x) * np.ones((3, 3)) + 1.0,  # in the order of C, whatever the branch
    lambda x: np.sum(of_two_layouts(x)),
    lambda x: np.exp(of_two_layouts(x))[0, 1],
    lambda x: (of_two_layouts(x) @ x)[0],
    lambda x: np.ravel(of_two_layouts(x) * 1.0, order="C") + np.sum(of_two_layouts(x) * 0.0),
    lambda x: np.reshape(of_two_layouts(x), 9)[:3] * np.linalg.norm(of_two_layouts(x)),
]


@pytest.mark.parametrize("f", NOT_SEEN)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_both_branches_are_answered_where_nobody_sees_the_layout(f, sign):
    check(f, (sign * X,), (-sign * X,), (0.5 * X,), (-0.25 * X,))


@pytest.mark.parametrize("f", SEEN)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_native_code_leaves_in_the_other_branch_where_the_layout_is_seen(f, sign):
    check(f, (sign * X,), (-sign * X,), (0.5 * sign * X,), leaves=1)


@pytest.mark.parametrize("f", [*NOT_SEEN, *SEEN])
def test_a_staged_function_has_the_strides_of_the_function(f, monkeypatch):
    for is_native in ("1", "0"):
        monkeypatch.setenv("SHIFTRESET_AD_NATIVE", is_native)
        g = staged(f)
        for x in (X, -X, X, -X, 0.5 * X, -0.5 * X):
            answer, expected = g(x), f(x)
            assert np.array_equal(answer, expected)
            assert np.shape(answer) == np.shape(expected)
            assert getattr(answer, "strides", ()) == getattr(expected, "strides", ())


def test_a_sum_in_the_order_of_memory_is_not_mistaken():
    """Two branches with the same elements in two layouts, whose sums differ in the last bits."""
    square = LONG[:36].reshape(6, 6)
    f = lambda x, s: np.sum(cond(s > 0.0, lambda: x * 1.0, lambda: (x.T * 1.0).T[:, :]) * 1e3)  # noqa: E731
    g = staged(f)
    for s in (1.0, 1.0, 1.0, -1.0, 1.0, -1.0):
        assert g(square, s) == f(square, s)


def test_a_copy_has_the_layout_of_its_own_in_either_branch():
    square = LONG[:36].reshape(6, 6)
    f = lambda x, s: np.ravel(cond(s > 0.0, lambda: x * 1e3, lambda: (x.T.copy() * 1e3).T).copy(), order="K") * 2.0  # noqa: E731
    g = staged(f)
    for s in (1.0, 1.0, 1.0, -1.0, 1.0, -1.0):
        np.testing.assert_array_equal(g(square, s), f(square, s))


LOOPS = [
    lambda x, n: turning(x, n)[0, 1],
    lambda x, n: (turning(x, n) * 2.0)[0, 1] + turning(x, n)[1, 0],
    lambda x, n: np.copy(turning(x, n) * 1.5, order="C"),
    lambda x, n: fori_loop(0, n, lambda i, y: y.T, rows(x))[0, 1],
    lambda x, n: first(fori_loop(0, n, lambda i, s: (s[1].T, s[0] * 0.5), (rows(x), rows(x) + 1.0))),
    lambda x, n: fori_loop(0, n, lambda i, y: cond(i % 2 == 0, lambda: y.T * 0.5, lambda: y + x), rows(x))[0, 2],
    lambda x, n: jvp(lambda x: turning(x, n)[0, 1], (x,), (x * 0.3,))[1],
    lambda x, n: jacfwd(lambda x: np.copy(turning(x, n), order="C"))(x),
    grad(lambda x, n: first([fori_loop(0, n, lambda i, y: y.T * y, rows(x))])),
]


@pytest.mark.parametrize("f", LOOPS)
@pytest.mark.parametrize("at_first", [1, 2])
def test_a_round_may_change_the_layout_where_nobody_sees_it(f, at_first):
    check(f, *[(X, n) for n in (at_first, 0, 1, 2, 3, 4)])


@pytest.mark.parametrize(
    "f",
    [
        turning,
        lambda x, n: np.sum(turning(x, n)),
        lambda x, n: fori_loop(0, n, lambda i, y: y.T * np.sum(y), rows(x))[0, 1],
        lambda x, n: fori_loop(0, n, lambda i, y: (y @ y.T).T, rows(x))[0, 1],
        grad(lambda x, n: turning(x, n)[0, 1]),  # sums of columns
    ],
)
def test_a_loop_whose_layout_is_seen_is_refused(f):
    with pytest.raises(NoNativeFormError, match="another layout"):
        native(f, X, 1)
    g = staged(f)
    for n in (1, 1, 1, 0, 2, 3):
        np.testing.assert_allclose(g(X, n), f(X, n), rtol=1e-12)


@pytest.mark.parametrize(
    "derivative",
    [
        jacrev(lambda x, n: fori_loop(0, n, lambda i, y: SQUARES[0] @ np.tanh(y), x)),
        jacfwd(lambda x, n: fori_loop(0, n, lambda i, y: SQUARES[0] @ np.tanh(y), x)),
        jacrev(lambda x, n: fori_loop(0, n, lambda i, y: SQUARES[0] @ y @ SQUARES[1].T, rows(x))),
        jacfwd(lambda x, n: fori_loop(0, n, lambda i, y: np.inner(SQUARES[0], y), rows(x))),
        jacrev(lambda x, n: scan(lambda y, a: (a @ np.tanh(y), y), n * x, SQUARES)[1]),
        hessian(lambda x, n: np.sum(fori_loop(0, n, lambda i, y: SQUARES[0] @ np.tanh(y), x) ** 2)),
    ],
)
def test_the_rows_of_a_jacobian_keep_their_layout(derivative):
    check(derivative, *[(X, n) for n in (2, 0, 1, 3)])


def test_without_the_guard_it_would_be_wrong(monkeypatch):
    """A test of the tests: native code that takes any layout for the one that was recorded has other elements."""
    monkeypatch.setattr(control, "lie_alike", lambda x, y: True)
    monkeypatch.setattr("shiftreset_ad.staging.native.joins.lie_alike", lambda x, y: True)
    code, _ = native_and_steps(of_two_layouts, X)
    found = code.entry()(-X)
    assert found is None or not np.array_equal(found[0], of_two_layouts(-X))


def test_a_sum_would_differ_if_its_layout_were_not_seen(monkeypatch):
    monkeypatch.setattr(SeenLayouts, "is_seen", lambda self, *places: False)
    x = np.random.default_rng(0).normal(size=12)
    f = lambda x: np.sum(cond(x[0] > 0.0, lambda: np.outer(x, x), lambda: np.outer(x, x + 1.0).T))  # noqa: E731
    code, steps = native_and_steps(f, np.abs(x))
    differ = [code.entry()(-np.abs(x) * s) != steps([-np.abs(x) * s]) for s in np.linspace(0.5, 2.0, 20)]
    assert any(differ)


def test_poses_with_and_without_a_rotation_are_native():
    """GradBench's hand tracking: the derivative of both branches comes in one layout."""

    def turned(turn, points):
        angle = np.sqrt(np.sum(turn * turn))
        matrix = cond(angle < 1e-4, lambda: np.eye(3), lambda: np.eye(3) * np.cos(angle) + np.outer(turn, turn))
        return points @ matrix

    f = lambda turn, points: jacfwd(turned)(turn, points)  # noqa: E731
    points = np.arange(12.0).reshape(4, 3)
    check(f, (X, points), (np.zeros(3) + 1e-6, points), (0.1 * X, points))
