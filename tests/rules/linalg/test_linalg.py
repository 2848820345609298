from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shiftreset_ad as sr
from shiftreset_ad import grad, jvp
from shiftreset_ad.rules import STRUCTURED
from shiftreset_ad.rules.linalg import solving
from shiftreset_ad.rules.linalg.determinants import adjugate_of_singular, log_of_det, sign_of_det
from shiftreset_ad.rules.linalg.norms import length, nuclear_norm, p_norm, polar_factor
from shiftreset_ad.rules.linalg.pseudoinverses import least_squares, pseudoinverse
from tests.rules.linalg.matrices import check_complex, check_linalg, hermitian, regular, sizes, stacks
from tests.rules.three_ways import check, examples, generators

INF, NAN = np.inf, np.nan
few = settings(examples, max_examples=10)
la = np.linalg


def check_both(f, *xs, generator):
    check_linalg(f, *xs, generator=generator)
    check_complex(f, *xs, generator=generator)


def slogdet(a):
    result = la.slogdet(a)
    assert type(result) is type(la.slogdet(np.eye(1)))
    return result


OF_SQUARE = {
    la.inv: la.inv,
    la.det: la.det,
    la.slogdet: slogdet,
    sign_of_det: la.slogdet,
    log_of_det: la.slogdet,
    la.matrix_power: lambda a: la.matrix_power(a, -2) + la.matrix_power(a, 5),
    la.cond: lambda a: la.cond(a) + la.cond(a, 1) + la.cond(a, "fro"),
}


@pytest.mark.parametrize("function", OF_SQUARE, ids=lambda f: f.__name__)
@few
@given(stack=stacks, size=sizes, generator=generators)
def test_of_square_matrices(function, stack, size, generator):
    if size == 0 and function is la.cond:
        return
    check_both(OF_SQUARE[function], regular(generator, *stack, size, size), generator=generator)


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 3, 4, 7, np.int64(2)])
def test_matrix_power(n):
    generator = np.random.default_rng(0)
    check_linalg(lambda a: la.matrix_power(a, n), regular(generator, 2, 3, 3), generator=generator)


@few
@given(stack=stacks, size=sizes, columns=st.none() | sizes, broadcast=st.booleans(), generator=generators)
def test_solve(stack, size, columns, broadcast, generator):
    """A vector only where `b` has one dimension, as NumPy 2 has it."""
    shape = (size,) if columns is None else (*(() if broadcast else stack), size, columns)
    a, b = regular(generator, *stack, size, size), generator.normal(size=shape)
    check_both(la.solve, a, b, generator=generator)
    check(lambda b: la.solve(a, b), b, generator=generator, dtypes=False)
    check(lambda a: la.solve(a, b), a, generator=generator, dtypes=False)


def test_solve_with_stacks_that_broadcast():
    generator = np.random.default_rng(0)
    for stack_a, stack_b in [((), (2,)), ((2, 1), (1, 3)), ((1,), (2,))]:
        a, b = regular(generator, *stack_a, 3, 3), generator.normal(size=(*stack_b, 3, 2))
        check_linalg(la.solve, a, b, generator=generator)
    check(lambda b: la.solve([[2.0, 1.0], [0.0, 1.0]], b), np.ones(2), generator=generator, dtypes=False)
    check(lambda a: la.solve(a, [1.0, 2.0]), regular(generator, 2, 2), generator=generator, dtypes=False)


@pytest.mark.parametrize(
    ("shape_a", "shape_b", "axes"), [((2, 3, 6), (2, 3), None), ((2, 6, 3), (2, 3), (1,)), ((2, 2), (2,), None)]
)
def test_tensorsolve(shape_a, shape_b, axes):
    generator = np.random.default_rng(0)
    a, b = generator.normal(size=shape_a), generator.normal(size=shape_b)
    check_both(lambda a, b: la.tensorsolve(a, b, axes), a, b, generator=generator)


@pytest.mark.parametrize(("shape", "ind"), [((2, 3, 3, 2), 2), ((4, 2, 2), 1), ((2, 2, 4), 2)])
def test_tensorinv(shape, ind):
    generator = np.random.default_rng(0)
    check_both(lambda a: la.tensorinv(a, ind), generator.normal(size=shape), generator=generator)


# Pseudoinverses and least squares

RECTANGULAR = [(3, 3), (4, 2), (2, 4), (1, 3), (0, 2), (2, 0), (2, 3, 2), (1, 2, 2, 4)]


@pytest.mark.parametrize("shape", RECTANGULAR)
def test_pinv(shape):
    generator = np.random.default_rng(0)
    check_both(la.pinv, regular(generator, *shape), generator=generator)


@pytest.mark.parametrize(
    "options",
    [{"rcond": 0.6}, {"rtol": 0.6}, {"rtol": None}, {"rcond": np.array([0.6, 1e-15])}, {"hermitian": True}],
    ids=repr,
)
def test_options_of_pinv(options):
    """A cutoff that takes singular values for zero which are not is differentiated, too."""
    generator = np.random.default_rng(0)
    a = regular(generator, 2, 3, 3)
    if "hermitian" in options:
        check_both(lambda a: la.pinv(hermitian(a), **options), a, generator=generator)
    check_both(lambda a: la.pinv(a, **options), a, generator=generator)


def test_pinv_of_constant_rank():
    """Along directions that keep the rank, and to the second order along them (Golub and Pereyra)."""
    generator = np.random.default_rng(0)
    left, right = generator.normal(size=(4, 2)), generator.normal(size=(2, 3))
    check(lambda x, y: la.pinv(x @ y), left, right, generator=generator, dtypes=False)
    b = generator.normal(size=(4, 2))
    check(lambda x, y, b: la.lstsq(x @ y, b)[0], left, right, b, generator=generator, dtypes=False)


@pytest.mark.parametrize("vector", [True, False])
@pytest.mark.parametrize("shape", [(5, 3), (3, 3), (2, 4), (3, 0), (0, 2)])
def test_lstsq(shape, vector):
    generator = np.random.default_rng(0)
    a, b = regular(generator, *shape), generator.normal(size=shape[:1] if vector else (shape[0], 2))
    check_both(lambda a, b: la.lstsq(a, b)[:2], a, b, generator=generator)
    check(lambda b: la.lstsq(a, b)[0], b, generator=generator, dtypes=False)
    check(lambda a: la.lstsq(a, b)[1], a, generator=generator, dtypes=False)


def test_all_results_of_lstsq():
    generator = np.random.default_rng(0)
    a, b = regular(generator, 5, 3), generator.normal(size=(5, 2))
    check(lambda a, b: la.lstsq(a, b), a, b, generator=generator, dtypes=False)
    check(lambda a, b: la.lstsq(a, b, rcond=0.5), a, b, generator=generator, dtypes=False)
    check(lambda b: la.lstsq(a.tolist(), b)[0], b[:, 0], generator=generator, dtypes=False)

    def rank(a):
        found = la.lstsq(a, b)[2]
        assert found == 3
        assert isinstance(found, int | np.integer)
        return np.sum(a)

    np.testing.assert_array_equal(grad(rank)(a), np.ones((5, 3)))


# Determinants at singular matrices

SINGULAR = {
    "rank 2": np.diag([1.0, 2.0, 0.0]),
    "rank 2 turned": regular(np.random.default_rng(0), 3, 2) @ regular(np.random.default_rng(1), 2, 3),
    "rank 1": np.ones((3, 3)),
    "rank 0": np.zeros((3, 3)),
    "equal singular values": np.diag([2.0, 2.0, 0.0]),
    "in a stack": np.stack([np.diag([1.0, 2.0, 0.0]), np.diag([1.0, 2.0, 3.0]), np.ones((3, 3))]),
    "1 x 1": np.zeros((1, 1)),
}


def cofactors(a):
    """By definition."""
    if a.ndim > 2:
        return np.stack([cofactors(part) for part in a])
    size = len(a)
    minor = lambda i, j: la.det(np.delete(np.delete(a, i, 0), j, 1))  # noqa: E731
    return np.array([[(-1) ** (i + j) * minor(i, j) for j in range(size)] for i in range(size)])


@pytest.mark.parametrize("name", SINGULAR)
def test_det_of_singular_matrices(name):
    generator = np.random.default_rng(0)
    a = SINGULAR[name]
    np.testing.assert_allclose(grad(lambda a: np.sum(la.det(a)))(a), cofactors(a), atol=1e-14)
    np.testing.assert_allclose(np.swapaxes(adjugate_of_singular(a), -1, -2), cofactors(a), atol=1e-14)
    check(la.det, a, generator=generator, dtypes=False)
    check_complex(la.det, a, generator=generator)


@pytest.mark.parametrize("rank", range(5))
@pytest.mark.parametrize("dtype", [float, complex])
def test_det_of_singular_matrices_to_any_order(rank, dtype):
    """det(A + t E) is a polynomial in t, whose coefficients come from its values."""
    generator, n = np.random.default_rng(rank), 4
    a, direction = generator.normal(size=(n, rank)) @ generator.normal(size=(rank, n)), generator.normal(size=(n, n))
    a, direction = a.astype(dtype), direction * (1.0 if dtype is float else 1.0 - 0.5j)

    def f(t):
        return np.real(la.det(a + t * direction) * (1.0 + 0.25j))

    times = np.cos(np.arange(n + 1.0))
    expected = la.solve(np.vander(times, increasing=True), [f(t) for t in times])
    np.testing.assert_allclose(sr.taylor(f, 0.0, n), expected, atol=1e-11)
    for third in (grad(grad(grad(f))), lambda t: jvp(grad(grad(f)), (t,), (1.0,))[1]):
        np.testing.assert_allclose(third(0.0), 6.0 * expected[3], atol=1e-11)


def test_the_third_derivative_of_a_cube():
    for t in (0.0, 1.0):
        assert sr.derivative(lambda t: la.det(t * np.eye(3)), n=3)(t) == pytest.approx(6.0)


def test_det_of_nearly_singular_matrices():
    for small in (1e-4, 1e-9, 1e-17):
        a = np.diag([1.0, 2.0, small])
        np.testing.assert_allclose(grad(la.det)(a), np.diag([2 * small, small, 2.0]), rtol=1e-14)


def test_det_with_nan_and_infinities():
    with np.errstate(invalid="ignore"):
        assert np.isnan(grad(la.det)(np.full((2, 2), NAN))).all()
        assert not np.isfinite(grad(la.det)(np.diag([INF, 1.0]))).all()


def test_slogdet_of_singular_matrices():
    """The logarithm has an infinite slope at zero, and no direction where the adjugate is zero."""
    np.testing.assert_array_equal(grad(lambda a: la.slogdet(a)[1])(np.diag([1.0, 0.0])), [[NAN, NAN], [NAN, INF]])
    assert la.slogdet(np.zeros((2, 2)) + 0j)[0] == 0
    np.testing.assert_array_equal(
        grad(lambda z: np.real(la.slogdet(z)[0]))(np.zeros((2, 2), complex)), np.zeros((2, 2))
    )


def test_the_sign_of_a_real_determinant_is_constant():
    def f(a):
        sign = la.slogdet(a).sign
        assert type(sign) is np.float64
        return sign * np.sum(a)

    np.testing.assert_array_equal(grad(f)(-np.eye(3)), -np.ones((3, 3)))


def test_singular_matrices_raise_as_in_numpy():
    for call in (la.inv, lambda a: la.solve(a, np.ones(2)), lambda a: la.matrix_power(a, -1)):
        with pytest.raises(la.LinAlgError, match="Singular matrix"):
            grad(lambda a, call=call: np.sum(call(a)))(np.zeros((2, 2)))
        assert grad(lambda x: x * x)(3.0) == 6.0


# Norms

VECTOR_ORDERS = [None, 2, 1, 0, INF, -INF, 3, 2.5, 0.5, -1, -2, np.float64(1.5)]
MATRIX_ORDERS = [None, "fro", "f", "nuc", 2, -2, 1, -1, INF, -INF]


def check_norm(f, shape):
    """In all precisions: vectors need no LAPACK."""
    generator = np.random.default_rng(0)
    x = generator.permutation(np.linspace(-1.0, 1.3, int(np.prod(shape)))).reshape(shape)
    check(f, x, generator=generator)
    check_complex(f, x, generator=generator)


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("order", VECTOR_ORDERS)
def test_norms_of_vectors(order, keepdims):
    check_norm(lambda x: la.norm(x, order, keepdims=keepdims), (4,))
    for axis in (0, -1, (1,)):
        check_norm(lambda x, axis=axis: la.norm(x, order, axis, keepdims), (3, 2))
    if order is not None:
        for axis in (None, 1, (0, -1), (2, 0)):
            check_norm(lambda x, axis=axis: la.vector_norm(x, axis=axis, keepdims=keepdims, ord=order), (2, 3, 2))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("order", MATRIX_ORDERS)
@pytest.mark.parametrize(
    ("shape", "axis"), [((3, 2), None), ((2, 3), (1, 0)), ((2, 3, 4), (0, -1)), ((4, 2, 3), (2, 0))]
)
def test_norms_of_matrices(order, keepdims, shape, axis):
    generator = np.random.default_rng(0)
    x = generator.normal(size=shape)
    check_both(lambda x: la.norm(x, order, axis, keepdims), x, generator=generator)
    if axis is None and order is not None:
        check_both(lambda x: la.matrix_norm(x, ord=order, keepdims=keepdims), x, generator=generator)


def test_norms_of_any_array_and_of_scalars():
    check_norm(la.norm, (2, 3, 2))
    check_norm(lambda x: la.norm(x, keepdims=True), (2, 1, 3))
    assert grad(la.norm)(np.array(-2.0)) == -1.0
    assert grad(la.norm)(-2.0) == -1.0


def check_zero_derivatives(f, x):
    """Those of the first and of the second order."""
    with np.errstate(divide="ignore"):  # NumPy's, of negative orders
        np.testing.assert_array_equal(grad(f)(x), np.zeros(x.shape))
        twice = grad(lambda x: np.real(np.sum(grad(f)(x) * (1.0 + x))))(x)
    np.testing.assert_array_equal(twice, np.zeros(x.shape))


@pytest.mark.parametrize("x", [np.zeros(3), np.zeros(3, complex), np.zeros((2, 3))], ids=repr)
@pytest.mark.parametrize("order", VECTOR_ORDERS)
def test_norms_of_vectors_at_zero(order, x):
    """The subgradient of least length, and derivatives of zero of every order."""
    check_zero_derivatives(lambda x: np.sum(la.norm(x, order, -1)), x)


@pytest.mark.filterwarnings("ignore:numpy.linalg.svd. some singular values coincide:RuntimeWarning")
@pytest.mark.parametrize("order", MATRIX_ORDERS)
def test_norms_of_matrices_at_zero(order):
    check_zero_derivatives(lambda x: la.norm(x, order), np.zeros((2, 3)))
    check_zero_derivatives(lambda x: np.sum(la.norm(x, order, (0, 1))), np.zeros((2, 2, 2), complex))


@pytest.mark.parametrize(
    ("order", "expected"),
    [(None, [0.6, 0, 0.8]), (1, [1, 0, 1]), (3, None), (1.5, None), (0.5, None), (-1, [0, 0, 0]), (INF, [0, 0, 1])],
)
def test_norms_of_vectors_with_a_zero(order, expected):
    x = np.array([3.0, 0.0, 4.0])
    with np.errstate(divide="ignore"):  # NumPy's, of the negative order
        found = grad(lambda x: la.norm(x, order))(x)
        assert np.isfinite(sr.hessian(lambda x: la.norm(x, order))(x)).all()
    if expected is None:
        expected = np.insert(grad(lambda x: la.norm(x, order))(x[[0, 2]]), 1, 0.0)
    np.testing.assert_allclose(found, expected, atol=1e-15)


def test_a_norm_where_the_other_branch_is_taken():
    def f(x):
        return np.where(la.norm(x) > 0, la.norm(x), 0.0)

    np.testing.assert_array_equal(grad(f)(np.zeros(2)), [0.0, 0.0])


def test_ties_of_norms_share_equally():
    np.testing.assert_array_equal(grad(lambda x: la.norm(x, INF))(np.array([2.0, -2.0, 1.0])), [0.5, -0.5, 0.0])
    np.testing.assert_allclose(grad(lambda a: la.norm(a, 2))(3 * np.eye(2)), np.eye(2) / 2, atol=1e-15)
    np.testing.assert_array_equal(grad(lambda a: la.norm(a, 1))(np.eye(2)), np.eye(2) / 2)
    np.testing.assert_allclose(grad(la.cond)(np.eye(3)), np.zeros((3, 3)), atol=1e-15)


def test_norms_of_singular_values():
    """Equal ones, and such that are zero, which have no part in it."""
    generator = np.random.default_rng(0)
    check(lambda a: la.norm(a, "nuc"), np.eye(3), generator=generator, dtypes=False)
    check(lambda a: la.norm(a, "nuc"), np.diag([2.0, 2.0, 1.0])[:, :2], generator=generator, dtypes=False)
    check_complex(lambda a: la.norm(a, "nuc"), np.eye(2, 3), generator=generator)
    np.testing.assert_allclose(grad(lambda a: la.norm(a, "nuc"))(np.diag([2.0, 0.0])), np.diag([1.0, 0.0]), atol=1e-15)
    np.testing.assert_array_equal(sr.hessian(lambda a: la.norm(a, "nuc"))(np.zeros((2, 2))), np.zeros((2, 2, 2, 2)))


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, INF, -INF, "fro", "nuc"])
def test_cond(p):
    generator = np.random.default_rng(0)
    check_both(lambda a: la.cond(a, p), regular(generator, 2, 3, 3), generator=generator)


@pytest.mark.parametrize("p", [None, 2, 1, INF, "fro"])
def test_cond_of_singular_matrices(p):
    def f(a):
        y = la.cond(a, p)
        np.testing.assert_array_equal(sr.value(y), la.cond(sr.value(a), p))
        return np.sum(y)

    for a in (np.diag([1.0, 0.0]), np.zeros((2, 2))):
        assert not np.isfinite(grad(f)(a)).all()
    stack = np.stack([np.diag([1.0, 0.0]), np.diag([2.0, 1.0])])
    found = grad(f)(stack)
    assert not np.isfinite(found[0]).all()
    np.testing.assert_allclose(found[1], grad(f)(stack[1]))


# Products

PRODUCTS = {
    np.vdot: [(np.vdot, (2, 3), (3, 2)), (np.vdot, (), ())],
    np.kron: [(np.kron, a, b) for a, b in [((2, 3), (3, 2)), ((2,), (2, 1, 3)), ((), (2,)), ((0, 2), (2,)), ((), ())]],
    np.cross: [
        (np.cross, (3,), (3,)),
        (np.cross, (2, 3), (3,)),
        (lambda a, b: np.cross(a, b, axis=0), (3, 2), (3, 2)),
        (lambda a, b: np.cross(a, b, 0, 1, 0), (3, 2), (2, 3)),
    ],
    la.cross: [(la.cross, (2, 3), (2, 3)), (lambda a, b: la.cross(a, b, axis=0), (3, 2), (3, 2))],
    la.outer: [(la.outer, (2,), (3,))],
    la.matmul: [(la.matmul, (2, 3), (3,)), (la.matmul, (4, 2, 3), (3, 2))],
    la.tensordot: [(la.tensordot, (2, 3, 2), (3, 2, 2)), (lambda a, b: la.tensordot(a, b, axes=1), (2, 3), (3, 2))],
    la.vecdot: [(la.vecdot, (2, 3), (3,)), (lambda a, b: la.vecdot(a, b, axis=0), (2, 3), (2, 1))],
    la.trace: [(la.trace, (2, 3, 4)), (lambda a: la.trace(a, offset=1), (3, 3))],
    la.diagonal: [(la.diagonal, (2, 3, 4)), (lambda a: la.diagonal(a, offset=-1), (3, 3))],
    la.matrix_transpose: [(la.matrix_transpose, (2, 3, 4))],
    la.multi_dot: [
        (lambda *xs: la.multi_dot(xs), *shapes)
        for shapes in [
            [(2, 3), (3, 4)],
            [(2, 3), (3, 4), (4, 1)],
            [(3,), (3, 4), (4, 2), (2,)],
            [(2, 3), (3, 1), (1, 4), (4, 2), (2,)],
        ]
    ],
}


@pytest.mark.parametrize(("function", "place"), [(f, i) for f, calls in PRODUCTS.items() for i in range(len(calls))])
def test_products(function, place):
    call, *shapes = PRODUCTS[function][place]
    generator = np.random.default_rng(0)
    xs = [generator.uniform(0.3, 1.0, shape) for shape in shapes]
    check(call, *xs, generator=generator)
    check_complex(call, *xs, generator=generator)


@pytest.mark.parametrize(
    ("call", "others"),
    [
        (lambda x: np.vdot([1.0, 2.0], x), [0.5, 0.5]),
        (lambda x: np.kron([1.0, 2.0], x), [0.5, 0.5]),
        (lambda x: np.cross([1.0, 2.0, 3.0], x), [0.5, 0.5, 0.5]),
        (lambda x: la.outer([1.0, 2.0], x), [0.5, 0.5]),
        (lambda x: la.matmul([[1.0, 2.0]], x), [0.5, 0.5]),
        (lambda x: la.multi_dot([[1.0, 2.0], [[1.0, 0.0], [1.0, 1.0]], x]), [0.5, 0.5]),
    ],
)
def test_products_with_lists(call, others):
    check(call, np.array(others), generator=np.random.default_rng(0), dtypes=False)


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors:DeprecationWarning")
@pytest.mark.parametrize(("a", "b"), [(2, 2), (2, 3), (3, 2)])
def test_cross_of_plane_vectors(a, b):
    """As long as NumPy takes them."""
    generator = np.random.default_rng(0)
    xs = generator.normal(size=(2, a)), generator.normal(size=b)
    try:
        np.cross(*xs)
    except ValueError:
        with pytest.raises(ValueError, match="3-dimensional vectors"):
            grad(lambda a: np.sum(np.cross(a, xs[1])))(xs[0])
    else:
        check(np.cross, *xs, generator=generator, dtypes=False)


def test_the_rank_is_constant():
    def f(a):
        assert la.matrix_rank(a) == 2
        return np.sum(a * la.matrix_rank(a))

    np.testing.assert_array_equal(grad(f)(np.eye(2)), 2 * np.ones((2, 2)))


def test_a_jacobian_goes_through_all_of_it():
    """Many directions at once."""
    generator = np.random.default_rng(0)
    a = regular(generator, 3, 3)

    def f(a):
        return (
            la.solve(a, np.ones(3)) * la.det(a) + la.pinv(a) @ la.inv(a)[0] + la.norm(a, "nuc") + la.lstsq(a, a[0])[0]
        )

    np.testing.assert_allclose(sr.jacobian(f)(a), np.stack([grad(lambda a, i=i: f(a)[i])(a) for i in range(3)]))
    np.testing.assert_allclose(sr.hessian(la.det)(a), sr.jacobian(grad(la.det))(a), atol=1e-12)


def test_taylor_coefficients():
    """Of det, inv and the norm of a matrix along a line, against those of closed forms."""
    order = 5

    def f(t):
        a = np.eye(2) + t * np.array([[1.0, 2.0], [3.0, 4.0]])
        return la.det(a), la.inv(a)[0, 0] * la.det(a), la.norm(a) ** 2, la.solve(a, np.ones(2))[0] * la.det(a)

    series = sr.taylor(f, 0.0, order=order)
    for found, expected in zip(series, ([1, 5, -2], [1, 4, 0], [2, 10, 30], [1, 2, 0]), strict=True):
        np.testing.assert_allclose(np.ravel(found), [*expected, 0, 0, 0], atol=1e-12)


# Arrays of every kind, and errors


@pytest.mark.parametrize("lay", [np.asfortranarray, lambda a: a[::-1, ::-1], lambda a: a.T, lambda a: a.astype(">f8")])
def test_layouts_in_memory(lay):
    a = lay(regular(np.random.default_rng(0), 3, 3))
    for f in (la.det, la.norm, lambda a: np.sum(la.inv(a)), lambda a: la.norm(a, 2), lambda a: la.slogdet(a)[1]):
        np.testing.assert_allclose(grad(f)(a), grad(f)(np.array(a, float)))


EMPTY = {
    "det": (la.det, (0, 0)),
    "slogdet": (lambda a: la.slogdet(a)[1], (0, 0)),
    "inv": (la.inv, (2, 0, 0)),
    "pinv": (la.pinv, (0, 3)),
    "norm": (la.norm, (0,)),
    "norm inf": (lambda a: la.norm(a, INF), (0,)),
    "norm 3": (lambda a: la.norm(a, 3), (0,)),
    "nuc": (lambda a: la.norm(a, "nuc"), (0, 2)),
    "spectral": (lambda a: la.norm(a, 2), (2, 0)),
    "no matrices": (la.det, (0, 2, 2)),
    "power": (lambda a: la.matrix_power(a, 0), (0, 0)),
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty(name):
    f, shape = EMPTY[name]
    check(f, np.zeros(shape), generator=np.random.default_rng(0), dtypes=False)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: la.inv(a),
        lambda a: la.det(a),
        lambda a: la.slogdet(a)[1],
        lambda a: la.matrix_power(a, 2),
        lambda a: la.solve(a, np.ones(2)),
        lambda a: la.solve(np.eye(2), a),
        lambda a: la.cond(a, 1),
        lambda a: la.norm(a, "nuclear"),
        lambda a: la.norm(a, 3),
        lambda a: la.norm(a, 2, 2),
        lambda a: la.norm(a, "fro", 0),
        lambda a: la.norm(a, axis=(0, 0)),
        lambda a: la.norm(a[None, ...], 2),
        lambda a: la.pinv(a[0]),
        lambda a: la.pinv(a, rcond=1e-3, rtol=1e-3),
        lambda a: la.lstsq(a, np.ones(2))[0],
        lambda a: la.tensorsolve(a, np.ones(3)),
        lambda a: la.tensorinv(a, 0),
        lambda a: la.multi_dot([a]),
        lambda a: la.multi_dot([a, a[None], a]),
        lambda a: la.outer(a, a),
        lambda a: la.cross(a[:, :1], a[:, :1]),
        lambda a: np.cross(a[:, :1], a),
        lambda a: la.cond(a[:, :0]),
        lambda a: la.trace(a[0]),
    ],
)
def test_what_numpy_does_not_take_raises_as_there(call):
    x = np.ones((3, 2))
    with pytest.raises(Exception) as expected:  # noqa: PT011 (whatever NumPy says)
        call(x)
    with pytest.raises(type(expected.value)):
        grad(lambda a: np.sum(call(a)))(x)
    assert grad(lambda x: x * x)(3.0) == 6.0


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble])
def test_precisions_that_lapack_does_not_have(dtype):
    with pytest.raises(TypeError, match="unsupported in linalg"):
        grad(la.det)(np.eye(2, dtype=dtype))


def test_unsupported_arguments_are_named():
    with pytest.raises(TypeError, match="exponent must be an integer"):
        grad(lambda a: np.sum(la.matrix_power(a, 0.5)))(np.eye(2))


CASES = {
    **dict.fromkeys(OF_SQUARE, test_of_square_matrices),
    la.solve: test_solve,
    la.tensorsolve: test_tensorsolve,
    la.tensorinv: test_tensorinv,
    **dict.fromkeys((la.pinv, pseudoinverse), test_pinv),
    **dict.fromkeys((la.lstsq, least_squares), test_lstsq),
    **dict.fromkeys((la.norm, la.vector_norm, length, p_norm), test_norms_of_vectors),
    **dict.fromkeys((la.matrix_norm, nuclear_norm, polar_factor), test_norms_of_matrices),
    **PRODUCTS,
}


def count_calls(monkeypatch, name):
    """A list that gets an entry for each call of a function of numpy.linalg by the library."""
    calls, function = [], getattr(la, name)
    monkeypatch.setattr(la, name, lambda *args: calls.append(args) or function(*args))
    return calls


@pytest.mark.parametrize("dtype", [float, complex])
def test_slogdet_factorizes_once(monkeypatch, dtype):
    slogdet, a = la.slogdet, np.array([[2.0, 1.0], [0.5, 3.0]], dtype)
    calls = count_calls(monkeypatch, "slogdet")
    gradient = grad(lambda a: slogdet(a)[1])(a)
    assert len(calls) == 1
    np.testing.assert_allclose(gradient, la.inv(a).T)


@pytest.mark.parametrize("shapes", [((2, 2), (2,)), ((2, 2), (2, 3)), ((3, 2, 2), (2, 1)), ((2, 2), (3, 2, 4))])
def test_solve_solves_once_on_the_way_back_for_both_operands(monkeypatch, shapes):
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=shape) for shape in shapes)
    solve = la.solve

    def f(a, b):
        return np.sum(solve(a, b) ** 2)

    expected = grad(lambda a: f(a, b))(a), grad(lambda b: f(a, b))(b)
    calls = []
    monkeypatch.setattr(solving, "solved", lambda *args: calls.append(args) or solve(*args))
    for found, one in zip(grad(f, (0, 1))(a, b), expected, strict=True):
        np.testing.assert_array_equal(found, one)
    assert len(calls) == 2  # there and back


def test_the_way_back_of_solve_knows_no_old_cotangent():
    """Also if the same array, with other elements in it, is the cotangent of each way back."""
    rng = np.random.default_rng(0)
    a, b, y_bar = rng.normal(size=(3, 3)), rng.normal(size=3), np.ones(3)
    _, pullback = sr.vjp(la.solve, a, b)
    first = pullback(y_bar)
    y_bar *= 2.0
    for once, twice in zip(first, pullback(y_bar), strict=True):
        np.testing.assert_allclose(twice, 2.0 * once)


def test_a_solution_for_one_cotangent_is_not_taken_for_another():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 3)), rng.normal(size=3)
    _, map_of = STRUCTURED[la.solve].differentiate(a, b)
    of_a, of_b = map_of(0), map_of(1)
    of_a.pullback(np.ones(3))
    np.testing.assert_allclose(of_b.pullback(np.arange(3.0)), la.solve(a.T, np.arange(3.0)))


def test_solve_of_a_number_and_itself():
    a = np.array([[2.0, 1.0], [0.5, 3.0]])
    np.testing.assert_allclose(grad(lambda a: np.sum(la.solve(a, a @ a) ** 2))(a), 2 * a)
    np.testing.assert_allclose(grad(lambda a: np.sum(la.solve(a, a)))(a), 0.0, atol=1e-15)
