"""`vmap`: axes, structures, branches, writes, closures, nesting, errors, and what runs row by row."""

import pickle
import sys
import warnings
from collections import namedtuple
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shiftreset_ad as sr
from shiftreset_ad import (
    StagingWarning,
    custom_vjp,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    staged,
    stop_gradient,
    value,
    value_and_grad,
    vmap,
    while_loop,
)
from tests.batching.writers import heat, powers
from tests.peaks import peak_of

RNG = np.random.default_rng(0)
X, W, V = RNG.normal(size=(5, 3)), RNG.normal(size=3), RNG.normal(size=(5, 3))
Pair = namedtuple("Pair", "left right")


def loss(w, x):
    return np.tanh(w @ x) ** 2 + np.sum(np.where(x > 0, np.sqrt(np.abs(x)), x) * w)


def stacked(f, *rows):
    return np.stack([f(*row) for row in zip(*rows, strict=True)])


def is_all_at_once(f):
    return "called row by row: nothing" in f.report()


@pytest.fixture
def at_once(monkeypatch):
    """Rows must not go one by one, whatever `report` says."""

    def refuse(*args):
        raise AssertionError("the rows went one by one")

    monkeypatch.setattr(sys.modules["shiftreset_ad.batching.vmap"], "stack_of", refuse)


# Axes and structures


@given(st.integers(-2, 1), st.integers(-2, 1))
def test_rows_may_lie_along_any_axis(i, j):
    found = vmap(lambda x: np.cumsum(x) * 2.0, i, j)(X)
    rows = np.moveaxis(X, i, 0)
    assert np.array_equal(found, np.moveaxis(stacked(lambda x: np.cumsum(x) * 2.0, rows), 0, j))
    assert found.dtype == float


def test_structures_have_an_axis_for_each_part_or_one_for_all():
    def f(p, x, shift=0.0):
        return {"sum": p["a"] @ x + p["b"], "pair": Pair(x * 2.0, shift)}

    p = {"a": W, "b": np.arange(5.0)}
    found = vmap(f, ({"a": None, "b": 0}, 1))(p, X.T, shift=np.arange(5.0))
    assert np.allclose(found["sum"], X @ W + p["b"])
    assert np.array_equal(found["pair"].left, 2.0 * X)
    assert np.array_equal(found["pair"].right, np.arange(5.0))
    out = vmap(f, ({"a": None, "b": 0}, 1), {"sum": 0, "pair": Pair(1, None)})(p, X.T)
    assert np.array_equal(out["pair"].left, 2.0 * X.T)
    assert out["pair"].right == 0.0


def test_a_value_that_all_rows_share_is_repeated():
    found = vmap(lambda x: (x, 3.0, np.arange(2)))(np.arange(4.0))
    assert np.array_equal(found[1], np.full(4, 3.0))
    assert np.array_equal(found[2], np.tile(np.arange(2), (4, 1)))
    found[2][0, 0] = 7
    assert found[2][1, 0] == 0


def test_answers_share_no_memory_with_arguments():
    x = X.copy()
    found = vmap(lambda x: (x, x.T, x[::-1], np.sin(x)[1:], *(2.0 * x,) * 2))(x)
    for k, leaf in enumerate(found):
        leaf[...] = k
    assert np.array_equal(x, X)
    assert [leaf[0, 0] for leaf in found] == list(range(6))


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int64, bool])
def test_dtypes_are_those_of_a_row(dtype):
    x = np.arange(6).reshape(3, 2).astype(dtype)
    found, expected = vmap(lambda x: x + x * 1)(x), stacked(lambda x: x + x * 1, x)
    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected)


def test_no_rows_give_no_answers():
    assert vmap(lambda x: np.sum(x))(np.zeros((0, 3))).shape == (0,)
    assert vmap(grad(lambda x: np.sum(x**2)))(np.zeros((0, 3))).shape == (0, 3)


def test_one_row():
    assert np.allclose(vmap(grad(loss), (None, 0))(W, X[:1]), stacked(lambda x: grad(loss)(W, x), X[:1]))


# Branches and loops


def absolute(x):
    return x if x > 0 else -2.0 * x


def newton_sqrt(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = (x + a / x) / 2
    return x


def test_rows_that_take_another_branch_are_recorded_for_themselves():
    x = np.array([1.0, -1.0, 2.0, -3.0])
    f = vmap(absolute)
    assert np.array_equal(f(x), [1.0, 2.0, 2.0, 6.0])
    assert "in 2 ways" in f.report()
    assert np.array_equal(vmap(grad(absolute))(x), [1.0, -2.0, 1.0, -2.0])
    assert np.array_equal(grad(lambda x: np.sum(f(x) * x))(x), [2.0, 4.0, 4.0, 12.0])
    assert "in 2 ways" in f.report()


def test_rows_may_take_another_number_of_rounds():
    a = np.array([1.0, 2.0, 3.0, 100.0, 1e4, 2.0])
    assert np.allclose(vmap(newton_sqrt)(a), np.sqrt(a))
    assert np.allclose(vmap(grad(newton_sqrt))(a), stacked(grad(newton_sqrt), a))


@pytest.mark.slow
def test_many_ways_end_row_by_row_and_later_calls_use_those_that_are_known():
    def steps(x):
        total = 0.0
        while x > 0:
            total, x = total + x, x - 1.0
        return total

    f = vmap(steps)
    with pytest.warns(StagingWarning, match="row by row for now, as its rows take more than 32 ways"):
        found = f(np.arange(60.0))
    assert np.array_equal(found, [steps(x) for x in np.arange(60.0)])
    assert "runs for all rows at once, in 32 ways" in f.report()
    assert "What takes another way runs row by row for now, as its rows" in f.report()
    assert np.array_equal(f(np.arange(20.0)), [steps(x) for x in np.arange(20.0)])
    assert np.array_equal(f(np.arange(40.0, 60.0)), [steps(x) for x in np.arange(40.0, 60.0)])
    assert "in 32 ways" in f.report()


def test_an_index_that_differs_from_row_to_row():
    table, places = RNG.normal(size=(4, 3)), np.array([3, 0, 0, 2])
    f = vmap(lambda t, i: np.sum(np.take(t, i, 0) ** 2), (None, 0))
    assert np.allclose(f(table, places), np.sum(table[places] ** 2, 1))
    g = vmap(grad(lambda t, i: np.sum(np.take(t, i, 0) ** 2)), (None, 0))
    assert np.allclose(g(table, places), stacked(lambda i: grad(lambda t: np.sum(t[i] ** 2))(table), places))
    assert is_all_at_once(g)


@pytest.mark.parametrize("times", [1, 2])
def test_gradients_in_a_large_matrix_are_computed_all_at_once(times):
    """The outer products that the matrix gets from each use of it are held, and summed later."""
    w, rows = RNG.normal(size=(64, 64)) / 8.0, RNG.normal(size=(3, 64))

    def f(w, x):
        for _ in range(times):
            x = np.tanh(w @ x)
        return np.sum(x)

    g = vmap(grad(f), (None, 0))
    np.testing.assert_allclose(g(w, rows), stacked(lambda x: grad(f)(w, x), rows), rtol=1e-12, atol=1e-15)
    assert is_all_at_once(g)


def test_written_down_loops_run_row_by_row():
    def f(x):
        return while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, 1.0))[1]

    with pytest.warns(StagingWarning, match="row by row"):
        found = vmap(f)(np.arange(3.0))
    assert np.array_equal(found, np.arange(3.0) ** 3)


# Writing in place


@pytest.mark.parametrize("f", [heat, powers])
def test_each_row_writes_to_its_own_memory(f):
    u = RNG.normal(size=(6, 5))
    batched = vmap(f)
    assert np.allclose(batched(u), stacked(f, u))
    assert is_all_at_once(batched)
    assert np.allclose(vmap(grad(f))(u), stacked(grad(f), u))
    assert np.allclose(grad(lambda u: np.sum(vmap(f)(u)))(u), stacked(grad(f), u))


def test_a_function_that_writes_to_its_argument_writes_to_a_copy():
    def f(u):
        u[0] = 5.0
        return np.sum(u)

    x, batched = X.copy(), vmap(f)
    found = [batched(x)]
    with pytest.warns(StagingWarning, match="row by row"):  # the first call might have filled a cache
        found.append(batched(x))
    assert np.allclose(found, 5.0 + np.sum(X[:, 1:], 1))
    assert np.array_equal(x, X)


# Products and decompositions

MATRICES = RNG.normal(size=(5, 3, 3))


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(
    "f",
    [
        lambda x, m: x @ x,
        lambda x, m: m @ x,
        lambda x, m: x @ m,
        lambda x, m: m @ m,
        lambda x, m: np.dot(m, x),
        lambda x, m: np.dot(x, m),
        lambda x, m: np.inner(x, x),
        lambda x, m: np.matmul(np.stack([m, m]), m) @ x,
        lambda x, m: np.linalg.svd(m)[1],
        lambda x, m: np.linalg.eigh(m + m.T)[0] * x,
        lambda x, m: np.linalg.solve(m, x) @ x,
    ],
)
def test_products_and_decompositions_of_each_row_are_computed_at_once(f):
    def total(x, m):
        return np.sum(f(x, m) * 1.5)

    np.testing.assert_allclose(vmap(f)(X, MATRICES), stacked(f, X, MATRICES), rtol=1e-9)
    np.testing.assert_allclose(vmap(grad(total))(X, MATRICES), stacked(grad(total), X, MATRICES), rtol=1e-9)
    around = grad(lambda x: np.sum(vmap(total)(x, MATRICES)))(X)
    np.testing.assert_allclose(around, stacked(grad(total), X, MATRICES), rtol=1e-9)


def test_the_report_says_that_the_steps_have_raised(monkeypatch):
    f = vmap(lambda x: np.tanh(x) @ x)

    def raises(*args):
        raise KeyError("a way is wrong")

    monkeypatch.setattr("shiftreset_ad.batching.products._product", raises)
    np.testing.assert_allclose(f(X), np.sum(np.tanh(X) * X, 1))
    assert "run row by row, as the steps for all rows have raised KeyError: 'a way is wrong'" in f.report()


# Every mix with derivatives


def test_gradients_for_each_row():
    f = vmap(grad(loss), (None, 0))
    assert np.allclose(f(W, X), stacked(lambda x: grad(loss)(W, x), X))
    assert is_all_at_once(f)


def test_the_gradient_of_a_sum_over_rows_in_what_the_function_closes_over():
    def total(w):
        return np.mean(vmap(lambda x: loss(w, x))(X))

    assert np.allclose(grad(total)(W), grad(lambda w: sum(loss(w, x) for x in X) / 5)(W))
    assert np.allclose(hessian(total)(W), hessian(lambda w: sum(loss(w, x) for x in X) / 5)(W))


@pytest.mark.parametrize("order", ["vmap of hessian", "hessian of vmap", "grad of vmap of grad", "jvp of vmap of grad"])
def test_second_order_in_any_nesting(order):
    each = stacked(lambda x: hessian(loss)(W, x), X)
    if order == "vmap of hessian":
        assert np.allclose(vmap(hessian(loss), (None, 0))(W, X), each)
    elif order == "hessian of vmap":
        found = hessian(lambda w: np.sum(vmap(loss, (None, 0))(w, X)))(W)
        assert np.allclose(found, each.sum(0))
    elif order == "grad of vmap of grad":
        found = grad(lambda w: np.sum(vmap(grad(loss), (None, 0))(w, X) * V))(W)
        assert np.allclose(found, np.einsum("kij,kj->i", each, V))
    else:
        found = jvp(lambda w: vmap(grad(loss), (None, 0))(w, X), (W,), (V[0],))[1]
        assert np.allclose(found, each @ V[0])


def test_products_with_hessians_and_jacobians_for_each_row():
    along = vmap(lambda x, v: hvp(lambda x: loss(W, x), (x,), (v,)))
    assert np.allclose(along(X, V), stacked(lambda x, v: hvp(lambda x: loss(W, x), (x,), (v,)), X, V))
    jacobians = vmap(jacobian(lambda x: np.tanh(np.outer(x, W))))
    assert np.allclose(jacobians(X), stacked(jacobian(lambda x: np.tanh(np.outer(x, W))), X))
    both = vmap(value_and_grad(loss), (None, 0))(W, X)
    assert np.allclose(both[0], [loss(W, x) for x in X])


def test_inside_itself():
    def kernel(x, y):
        return np.exp(-np.sum((x - y) ** 2))

    gram = vmap(vmap(kernel, (None, 0)), (0, None))
    expected = np.array([[kernel(x, y) for y in V] for x in X])
    assert np.allclose(gram(X, V), expected)
    both = vmap(vmap(grad(kernel), (None, 0)), (0, None))
    assert np.allclose(both(X, V), [[grad(kernel)(x, y) for y in V] for x in X])
    assert np.allclose(
        grad(lambda x: np.sum(gram(x, V) ** 2))(X),
        grad(lambda x: sum(kernel(a, b) ** 2 for a in x for b in V))(X),
    )


def test_inside_a_staged_function():
    f = staged(lambda w: np.sum(vmap(grad(loss), (None, 0))(w, X)))
    for w in (W, 2.0 * W, W - 1.0):
        assert np.allclose(f(w), np.sum(stacked(lambda x, w=w: grad(loss)(w, x), X)))


def test_rules_of_the_user_count_in_a_derivative_around():
    @custom_vjp
    def clipped(x):
        return x * x

    clipped.defvjp(lambda x: (x * x, x), lambda x, y_bar: (10.0 * y_bar * x,))
    x = np.arange(1.0, 4.0)
    assert np.array_equal(vmap(grad(clipped))(x), 10.0 * x)
    assert np.array_equal(grad(lambda x: np.sum(vmap(clipped)(x)))(x), 10.0 * x)
    assert np.array_equal(vmap(clipped)(x), x * x)


@pytest.mark.parametrize("constant", [stop_gradient, value])
def test_constants_stay_constants_in_a_derivative_around(constant):
    x = np.arange(1.0, 4.0)
    f = vmap(lambda x: x * constant(x))
    assert np.array_equal(f(x), x * x)
    assert np.array_equal(grad(lambda x: np.sum(f(x)))(x), x)
    assert np.array_equal(vmap(grad(lambda x: x * constant(x)))(x), x)


def test_a_conversion_raises_in_a_derivative_as_in_a_loop():
    f = vmap(lambda x: x * float(x))
    x = np.arange(1.0, 4.0)
    assert np.array_equal(f(x), x * x)
    with pytest.raises(TypeError, match="float"):
        grad(lambda x: np.sum(f(x)))(x)


def test_rows_of_numbers_and_shared_numbers_in_the_same_call():
    f = vmap(loss, (None, 0))
    w_bar, x_bar = grad(lambda w, x: np.sum(f(w, x) ** 2), argnums=(0, 1))(W, X)
    expected = grad(lambda w, x: sum(loss(w, x[k]) ** 2 for k in range(5)), argnums=(0, 1))(W, X)
    assert np.allclose(w_bar, expected[0])
    assert np.allclose(x_bar, expected[1])


# What cannot be recorded


def test_random_draws_differ_from_row_to_row():
    rng = np.random.default_rng(1)
    f = vmap(lambda x: x + rng.normal())
    found = [f(np.zeros(4))]
    with pytest.warns(StagingWarning, match="random"):
        found.append(f(np.zeros(4)))
    found.append(f(np.zeros(4)))
    assert len(set(np.ravel(found))) == 12


@pytest.mark.filterwarnings("ignore:.*row by row::")
def test_an_effect_happens_once_for_each_row():
    seen = []

    def f(x):
        seen.append(1)
        return x

    batched = vmap(f)
    for _ in range(4):
        seen.clear()
        batched(np.zeros(4))
        assert len(seen) == 4


@pytest.mark.filterwarnings("ignore:.*row by row::")
def test_a_function_with_an_effect_has_the_derivatives_of_all_rows():
    seen = []

    def f(x):
        seen.append(1)
        return x * x

    x, batched = np.arange(1.0, 5.0), vmap(f)
    for _ in range(3):
        assert np.array_equal(grad(lambda x: np.sum(batched(x)))(x), 2.0 * x)


def test_a_variable_that_the_function_reads_may_change():
    scale = [2.0]
    f = vmap(lambda x: x * scale[0])
    assert np.array_equal(f(np.ones(3)), np.full(3, 2.0))
    assert np.array_equal(f(np.ones(3)), np.full(3, 2.0))
    scale[0] = 5.0
    assert np.array_equal(f(np.ones(3)), np.full(3, 5.0))


def test_an_error_in_some_row_is_the_functions_own():
    def f(x):
        if x > 2.0:
            raise KeyError("too large")
        return x

    with pytest.raises(KeyError, match="too large"):
        vmap(f)(np.arange(5.0))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        vmap(lambda x: 1.0 / x)(np.array([1.0, 2.0, 0.0]))


# Wrong calls


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: vmap(3), TypeError, "vmap: the function is 3, which cannot be called"),
        (lambda: vmap(np.sum)(np.array(3.0)), ValueError, "argument 0 has no axes, and in_axes names axis 0"),
        (lambda: vmap(np.sum)([1.0]), TypeError, r"argument 0\[0\] is a float, which has no rows"),
        (lambda: vmap(np.sum)("rows"), TypeError, "in_axes=None"),
        (lambda: vmap(np.sum, 2)(X), ValueError, "axis 2"),
        (lambda: vmap(np.add)(X, X[:2]), ValueError, "argument 0 has 5, and argument 1 has 2"),
        (lambda: vmap(np.add, (0,))(X, X), ValueError, "1 entries"),
        (lambda: vmap(np.add, None)(X, X), ValueError, "in_axes is None for all"),
        (lambda: vmap(np.sum, "0")(X), TypeError, "in_axes"),
        (
            lambda: vmap(np.sum, 0, 1)(X),
            ValueError,
            "has 1 axis, and out_axes names axis 1 of it. Give one from -1 to 0",
        ),
        (lambda: vmap(np.sum, 0, (0, 0))(X), ValueError, r"out_axes must be .* got array"),
        (lambda: vmap(np.sum)(), ValueError, "no argument was given"),
        (lambda: vmap(np.sum, 0, None)(X), ValueError, "out_axes is None"),
        (lambda: vmap(lambda x: "text")(X), TypeError, "returns a str"),
        (lambda: vmap(lambda p: p["a"], ({"b": 0},))({"a": X}), ValueError, "in_axes"),
    ],
)
def test_a_wrong_call_says_what_to_give(call, error, words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StagingWarning)
        with pytest.raises(error, match=words):
            call()


def test_shapes_that_differ_from_row_to_row_are_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StagingWarning)
        with pytest.raises(ValueError, match="same shape"):
            vmap(lambda x: x[x > 0])(np.array([[1.0, -1.0], [1.0, 2.0]]))


# As a function


def test_it_has_the_name_of_the_function_and_can_be_pickled():
    f = vmap(loss, (None, 0))
    assert repr(f) == "<vmap(loss)>"
    assert f.__wrapped__ is loss
    again = pickle.loads(pickle.dumps(f))
    assert np.array_equal(again(W, X), f(W, X))


def test_as_a_method():
    class Model:
        w = W

        @vmap
        def called(self, x):
            return x

    assert callable(Model().called)


def test_a_known_program_runs_no_code_of_the_user():
    f = vmap(lambda x: np.sum(np.sin(x)))
    f(X), f(X)
    run = []
    sys.setprofile(lambda frame, event, arg: run.append(frame.f_code.co_filename))
    try:
        f(X)
    finally:
        sys.setprofile(None)
    assert __file__ not in [file for file in run if file != __file__ or run.count(file) > 1]


def test_many_rows_cost_no_calls_for_each(monkeypatch):
    f = vmap(grad(loss), (None, 0))
    f(W, X)
    f(W, X)

    def refuse(*args):
        raise AssertionError("a function was called for one row")

    monkeypatch.setattr("shiftreset_ad.batching.steps.row", refuse)
    assert f(W, np.tile(X, (200, 1))).shape == (1000, 3)


# Layouts: whether a reshape is a view or a copy depends on them, and so what is written


def writes_to_a_reshape(x):
    a = x * x
    np.reshape(a, -1)[:] += 1.0
    return a


def writes_to_a_reshape_of_a_constant(x):
    a = sr.zeros((3, 2)).T
    b = a.reshape(-1)
    b[0] = x[0, 0]
    return a + b.reshape(a.shape)


def writes_to_a_reshape_of_a_sorted_array(x):
    a = np.sort(x, axis=0)
    a.reshape(-1)[::2] = 5.0
    return a


@pytest.mark.parametrize("axes", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
@pytest.mark.parametrize("in_axes", [0, 1, -1])
@pytest.mark.parametrize(
    "f", [writes_to_a_reshape, writes_to_a_reshape_of_a_constant, writes_to_a_reshape_of_a_sorted_array]
)
def test_views_are_those_of_each_row(f, in_axes, axes):
    sizes = np.insert([2, 3], in_axes % 3, 4)
    x = np.random.default_rng(0).normal(size=sizes[list(axes)]).transpose(np.argsort(axes))
    rows = np.moveaxis(x, in_axes, 0)
    expected = np.stack([f(np.copy(row)) for row in rows])
    assert np.array_equal(vmap(f, in_axes)(x), expected)

    def gradient(call):
        return grad(lambda x: np.sum(np.sin(call(x)) * np.moveaxis(x, in_axes, 0)))(x)

    around = gradient(vmap(f, in_axes))
    np.testing.assert_allclose(around, gradient(lambda x: np.stack([f(row) for row in np.moveaxis(x, in_axes, 0)])))
    inside = vmap(grad(lambda x: np.sum(np.sin(f(x)) * x)), in_axes, in_axes)(x)
    np.testing.assert_allclose(inside, around)


def test_a_copy_for_each_row_lies_as_what_all_rows_share():
    def f(w, x):
        a = w * 1.0
        np.reshape(a, -1)[:] += x
        return a

    w, x = np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.array([1.0, 2.0])
    assert np.array_equal(f(w, 1.0), w)  # the reshape is a copy
    assert np.array_equal(vmap(f, (None, 0))(w, x), np.stack([w, w]))


@pytest.mark.parametrize("place", [slice(None), (slice(None), 0), (0,)])
def test_first_axes_of_size_1_are_left_out_when_an_item_is_written(place):
    def f(x):
        a = x * 2.0
        a[place] = np.reshape(np.sin(x[place]), (1, 1, *np.shape(x[place])))
        return a

    x = np.random.default_rng(0).normal(size=(4, 3, 2))
    expected = np.stack([f(row) for row in x])
    assert np.array_equal(vmap(f)(x), expected)
    found = grad(lambda x: np.sum(vmap(f)(x) ** 2))(x)
    np.testing.assert_allclose(found, np.stack([grad(lambda x: np.sum(f(x) ** 2))(row) for row in x]))
    in_directions = sr.jacfwd(f)(x[0])
    np.testing.assert_allclose(in_directions, sr.jacrev(f)(x[0]))


@pytest.mark.parametrize("is_recorded", [True, False])
def test_rows_must_return_the_same_structure(is_recorded):
    def f(x):
        y = x if is_recorded else x + 0.0 * np.random.default_rng().normal()
        return (y,) if x > 0 else [y]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sr.StagingWarning)
        with pytest.raises(ValueError, match="Return the same structure for all"):
            vmap(f)(np.array([1.0, -1.0]))


def test_values_that_no_later_step_needs_are_freed():
    def f(x):
        for _ in range(30):
            x = np.tanh(x)
        return x

    def g(x):  # as often as the steps, with one value that is needed to the end
        first = np.tanh(x)
        for _ in range(28):
            x = np.tanh(x)
        return x * first

    x = np.ones((20, 5000))
    for program in (vmap(f), vmap(g)):
        np.testing.assert_array_equal(program(x), program.__wrapped__(x))
        assert peak_of(lambda program=program: program(x)) < 5 * x.nbytes


# Attributes


@pytest.mark.parametrize(
    ("name", "is_complex"),
    [("T", False), ("mT", False), ("real", False), *[(name, True) for name in ("T", "mT", "real", "imag")]],
)
def test_attributes_of_arrays_are_those_of_all_rows(name, is_complex):
    x = RNG.normal(size=(5, 3, 2)) + (1j * RNG.normal(size=(5, 3, 2)) if is_complex else 0.0)
    weights = np.arange(6.0).reshape(3, 2)
    weights = weights.T if name in ("T", "mT") else weights

    def f(x):
        return np.real(np.sum(np.sin(getattr(x * 2.0, name)) * weights))

    def g(x):
        return grad(f)(x) if not is_complex or name in ("real", "imag") else np.conj(grad(f)(x))

    for function in (f, g):
        batched = vmap(function)
        np.testing.assert_allclose(batched(x), stacked(function, x), rtol=1e-12)
        assert is_all_at_once(batched)
    np.testing.assert_allclose(grad(lambda x: np.sum(vmap(f)(x)))(x), stacked(grad(f), x), rtol=1e-12)


def test_a_transposed_view_is_written_to_in_each_row():
    def f(x):
        y = sr.zeros((2, 3))
        y.T[1:] = np.sin(np.stack([x[:2], x[1:]]))
        return np.sum(y**2 * x)

    np.testing.assert_allclose(vmap(f)(X), stacked(f, X), rtol=1e-12)
    np.testing.assert_allclose(vmap(grad(f))(X), stacked(grad(f), X), rtol=1e-12)
    np.testing.assert_allclose(grad(lambda x: np.sum(vmap(f)(x)))(X), stacked(grad(f), X), rtol=1e-12)


# Memory of numbers


@pytest.mark.parametrize(
    "g", [lambda r: (r, r), lambda r: (r[::-1], r), lambda r: (r.copy(), 2.0 * r), lambda r: (np.sin(r),) * 2]
)
def test_answers_that_are_numbers_share_no_memory_with_arguments_and_each_other(g):
    """`f` writes to an answer, and then reads the arguments and the other answer."""

    def written(rows_of, x):
        y, z = rows_of(x)
        y[0] = 0.0
        return np.sum(x**2) + np.sum(y**3) * np.sum(np.cos(z))

    def by_loop(x):
        return tuple([np.stack(part) for part in zip(*map(g, x), strict=True)])

    def f(x):
        return written(vmap(g), x.copy())

    def expected(x):
        return written(by_loop, x.copy())

    for operator in (grad, hessian, lambda f: lambda x: jvp(f, (x,), (2.0 * x,)), lambda f: jacobian(grad(f))):
        for found, wanted in zip(operator(f)(X), operator(expected)(X), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


class Scaled:
    """A function that holds a number where no variable of a function has it."""

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        y = sr.zeros(2)
        y[0] = np.sum(x) * self.scale
        y[1] = y[0] * x[0]
        return y


@pytest.mark.parametrize("of_rows", [lambda f: vmap(f), lambda f: lambda xs: vmap(vmap(f))(xs[None])[0]])
@pytest.mark.parametrize("make", [Scaled, lambda scale: partial(Scaled.__call__, Scaled(scale))])
def test_a_number_in_an_object_is_written_to_an_array_of_zeros(of_rows, make):
    xs = np.arange(1.0, 7.0).reshape(3, 2)

    def total(scale, each):
        return np.sum(each(make(scale))(xs) ** 2)

    def by_loop(f):
        return lambda xs: np.stack([f(x) for x in xs])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StagingWarning)
        for _ in range(2):
            np.testing.assert_allclose(grad(total)(2.0, of_rows), grad(total)(2.0, by_loop))
            np.testing.assert_allclose(hessian(total)(2.0, of_rows), hessian(total)(2.0, by_loop))


def test_an_error_of_the_function_is_raised_inside_a_derivative():
    def f(x):
        raise LookupError("none here")

    with pytest.raises(LookupError, match="none here"):
        grad(lambda x: np.sum(vmap(f)(x)))(np.ones(2))
