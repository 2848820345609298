"""Steps on arrays of known shapes have NumPy's bits, and NumPy's layouts."""

import warnings

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import grad, hvp, staged
from shiftreset_ad.boundary import trees
from shiftreset_ad.rules.indexing import scatter
from shiftreset_ad.staging.native import memory, slots
from shiftreset_ad.staging.native.compiled import _are_same, _is_same
from shiftreset_ad.staging.native.llvm import LARGEST, NoNativeFormError
from tests.staging.native.natively import calls_pay, has_gate, native, native_and_steps, needs_native

pytestmark = needs_native

RNG = np.random.default_rng(0)
A, B, C = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 5)), RNG.normal(size=(37, 29))
V, W, S = RNG.normal(size=3), RNG.normal(size=5), RNG.normal(size=(2, 3, 4))
F = np.asfortranarray(A)
POSITIONS = np.array([0, 2, 2])
INTEGERS = np.arange(3)


def check(f, *args):
    """That native code agrees with the function, for these arguments and others."""
    entry = native(f, *args).entry()
    for factor in (1.0, 1.3, -0.7):
        given = [x * factor if isinstance(x, np.ndarray) and x.dtype == np.float64 else x for x in args]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = trees.flatten(f(*given))[0]
        found = entry(*given)
        if found is None:
            assert factor < 0  # it warns, or compares with NaN
        else:
            assert len(found) == len(expected)
            assert all(map(_is_same, found, expected)), (found, expected)


def centred(x):
    return x - np.sum(x, axis=-1, keepdims=True)


ELEMENTWISE = {
    "arithmetic": (lambda x: x + x * 2.0 - 1.0 / x, A),
    "broadcasting a row": (lambda x, v: x * v + v, A, V),
    "broadcasting a column": (lambda x, v: x * v[:, None] + v[:, None], B, V),
    "an outer product": (lambda v, w: v[:, None] * w + 1.0, V, W),
    "numbers": (lambda x, s, n: x * s + n - s / n, A, 2.5, 3),
    "numbers of steps before": (lambda x: x * np.sin(x[0, 0]) + x[1, 1], A),
    "other orders": (lambda x, y: x.T * 2.0 + y.T, A, F),
    "one Fortran order": (lambda x: x * 2.0 + x, F),
    "two orders": (lambda x, y: x + y, A, F),
    "powers": (lambda x: x**2 + x**1 + x**-1 + abs(x) ** 0.5, A),
    "other powers": (lambda x: x**3 + x**3.0, A),
    "comparisons": (lambda x: (x > 0) * x + np.where(x < 0.5, x, -2.0 * x), A),
    "logic": (lambda x: np.where((x > 0) & ~(x > 1) | (x < -1), x, 0.0), A),
    "truths": (lambda x: (x > 0, np.isnan(x), x == x), A),
    "filled": (lambda x: np.zeros_like(x) + np.ones_like(x) * x, A),
    "constants": (lambda x: x + A * 2.0, A),
    "constant integers": (lambda x: x * INTEGERS + (x > INTEGERS), A),
    "a constant in another order": (lambda x: x * F, A),
    "a long row": (lambda x: x * x * x - 2.0 * x * x, RNG.normal(size=1003)),
    "one element": (lambda x: x * x + 1.0, np.ones((1, 1))),
    "three axes": (lambda x: x * x.transpose(0, 1, 2) + x[:, :1], S),
    "strides": (lambda x: x[:, ::2] * x[:, 1::2], S),
    "reversed": (lambda x: x[::-1] * x[:, ::-1], A),
}
OTHERS = {
    "functions": (lambda x: np.exp(x) * np.tanh(x) + np.sin(x), A),
    "functions of views": (lambda x: np.exp(x.T) + np.cos(x[:, ::2].T)[:1], A),
    "functions of broadcast rows": (lambda x, v: np.arctan2(x, v) + np.maximum(x, 0.1), A, V),
    "a long function": (np.exp, RNG.normal(size=1003)),
    "sum": (lambda x: np.sum(x * x), C),
    "sums": (lambda x: (np.sum(x, axis=0), np.sum(x, axis=1), x.sum(axis=(0, 1)), np.sum(x, 0)), C),
    "sums of other orders": (lambda x: (np.sum(x.T * 2.0), np.max(x.T), np.mean(np.exp(x.T)), np.prod(x.T)), A),
    "sums of strided vectors": (lambda x: (np.sum(x[:, 1]), np.max(x[3]), np.mean(x[5, ::2]), np.prod(x[::9, 0])), C),
    "sums of three axes": (lambda x: (np.sum(x, axis=(0, 1)), np.sum(x, axis=(1, 2)), np.sum(x, axis=-1)), S),
    "sums that keep axes": (lambda x: (centred(x), np.sum(x, axis=0, keepdims=True) * 2.0), C),
    "means": (lambda x: (np.mean(x), x.mean(axis=0), x.mean(axis=1)), C),
    "extremes": (lambda x: (np.max(x), np.min(x, axis=0), np.max(x, axis=1), x.min()), C),
    "products of elements": (lambda x: (np.prod(x), np.prod(x, axis=0)), A),
    "sums of one": (lambda x: (np.sum(x[:1], axis=0), np.max(x[:1]), np.max(x[:, :1] * 1.0, axis=1)), A),
    "matrix products": (lambda x, y, v, w: (x @ y, x @ v, v @ y, v @ v, y @ w), A, B, V, W),
    "transposed products": (lambda x, y: (y.T @ x.T, x.T @ x, x @ x.T), A, B),
    "large products": (lambda x: (x @ x.T, x.T @ x), C),
    "elements": (lambda x: x[1, 2] * x[0] + x[-1, -1], A),
    "elements of steps": (lambda x: (x * 2.0)[1, 2] - (x @ B)[0, 0], A),
    "positions": (lambda x: (x[POSITIONS], x[:, [0, 2]] * 1.0, x[POSITIONS, POSITIONS]), A),
    "a constant mask": (lambda x: x[INTEGERS > 0], V),
    "stacks": (lambda x, y: (np.stack([x[0], y[1], x[0]]), np.stack([x, y], axis=-1)), A, 2.0 * A),
    "stacked numbers": (lambda x: np.stack([x[0, 0], x[1, 1] * 2.0, x[0, 1], 3.0]), A),
    "joins of nothing": (
        lambda x, v: (np.concatenate([x, np.zeros((4, 0))], axis=1), np.append(v, []), np.stack([v])),
        A,
        V,
    ),
    "joins": (lambda x, v: (np.concatenate([x, v[None]], axis=0), np.concatenate([x, x * 2.0], axis=1)), A, V),
    "reshapes": (lambda x: (x.reshape(2, 6) * 1.5, np.ravel(x.T * 2.0), (x + 1.0).reshape(-1)), A),
    "copies": (lambda x: ((x * 2.0).copy(), np.copy(x.T), x.flatten()), A),
    "along axes": (
        lambda x: (
            np.take_along_axis(x * 2.0, np.array([[1], [0], [-1], [2]]), axis=1) + 1.0,
            np.take_along_axis((x * 2.0).T, indices=np.argsort(np.cos(np.arange(12.0).reshape(3, 4)), 0), axis=0),
            np.take_along_axis(x + 1.0, np.array([3, 0, 3]), None) * 2.0,
        ),
        A,
    ),
    "rolls": (lambda x: (np.roll(x, 1, axis=0) - x, np.flip(x, 1) + x, np.repeat(x, 2, axis=1), np.tile(x, 2)), A),
    "views of steps": (lambda x: (x * 2.0).T[1:] + (x * 3.0).T[:-1], A),
    "spread numbers": (lambda x: np.broadcast_to(x[0, 0] * 2.0, (2, 3)) * 1.0, A),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name):
    check(*ELEMENTWISE[name])


@pytest.mark.parametrize("name", OTHERS)
def test_other_steps(name):
    check(*OTHERS[name])


@pytest.mark.parametrize("name", [*ELEMENTWISE, *OTHERS])
@pytest.mark.parametrize("length", [1, 2])
def test_in_many_parts(monkeypatch, name, length):
    monkeypatch.setattr(slots, "STEPS_OF_A_PART", length)
    check(*(ELEMENTWISE | OTHERS)[name])


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def network(p):
    w, b, u = p[:15].reshape(3, 5), p[15:20], p[20:25]
    return np.mean((np.tanh(A @ w + b) @ u - 1.0) ** 2)


DERIVATIVES = {
    "gradient": (grad(rosenbrock), W),
    "Hessian times a vector": (lambda x: hvp(rosenbrock, (x,), (W,)), W),
    "gradient of a network": (grad(network), RNG.normal(size=25)),
    "second derivative of a network": (lambda p: hvp(network, (p,), (p,)), RNG.normal(size=25)),
    "Hessian": (sr.hessian(lambda x: x[0] * x[1] ** 2 + np.sin(x[2])), V),
    "Jacobian": (sr.jacobian(lambda x: np.sin(x) * x[0]), V),
    "elements in a loop": (grad(lambda x: sum(x[i] * x[i + 1] for i in range(4))), W),
    "norm": (grad(lambda x: np.sqrt(np.sum(x * x))), W),
    "forward": (lambda x: sr.jvp(lambda x: np.tanh(x) @ x, (x,), (x,)), V),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name):
    check(*DERIVATIVES[name])


@pytest.mark.parametrize("shape", [(1,), (2,), (7,), (8,), (9,), (129,), (1000,), (3, 1), (1, 3), (17, 5), (5, 17)])
def test_sums_have_numpys_order(shape):
    x = RNG.normal(size=shape) * 10.0 ** RNG.integers(-8, 8, size=shape)
    check(lambda x: [np.sum(x), *(np.sum(x, axis=axis) for axis in range(len(shape)))], x)


@pytest.mark.parametrize("m", [1, 2, 5, 16, 33])
@pytest.mark.parametrize("k", [1, 3, 8])
@pytest.mark.parametrize("n", [1, 4, 31])
def test_products_of_matrices(m, k, n):
    x, y, z = RNG.normal(size=(m, k)), RNG.normal(size=(k, n)), RNG.normal(size=(n, k))
    check(lambda x, y, z: (x @ y, x @ z.T, y.T @ x.T, x[0] @ y, x @ y[:, 0], x[::-1] @ y), x, y, z)


def test_values_at_indices_are_added():
    def f(x, v):
        indices = [slice(0, 3), slice(None, None, 2), 1, (Ellipsis, slice(1, 4))]
        return scatter([v, x[0], v[0], v], indices, (5,), np.dtype(np.float64))

    check(f, np.ones((4, 3)), V)
    check(lambda v: scatter([v], [POSITIONS[[0, 1]]], (4,), np.dtype(np.float64)), V[:2])


def test_memory_is_used_again():
    def f(x):
        for _ in range(30):
            x = np.sin(x) @ B[:, :3]
        return x

    code = native(f, A)
    offsets = {line.split()[-1] for line in code.text.splitlines() if "ptr %memory, i64" in line}
    assert len(offsets) <= 3
    check(f, A)


def test_elementwise_steps_share_a_loop():
    code = native(lambda x: x * x + 2.0 * x - 1.0 / (1.0 + x * x), A)
    assert code.text.count("phi i64") == 1


def test_warnings_leave():
    entry = native(lambda x: np.log(x) / x, np.ones(3)).entry()
    assert entry(np.ones(3)) is not None
    assert entry(np.zeros(3)) is None
    assert entry(-np.ones(3)) is None


# The entry


def test_arrays_of_another_layout_leave():
    entry = native(lambda x: x * 2.0, A).entry()
    unaligned = np.frombuffer(bytearray(A.nbytes + 1), np.float64, A.size, 1).reshape(A.shape)
    others = [A.T, A[:, :2], A.astype(np.float32), A > 0, A.tolist(), F, np.ones(12), 1.0, A.astype(">f8"), unaligned]
    for x in (*others, A.view(type("Array", (np.ndarray,), {}))):
        assert entry(x) is None
    assert np.array_equal(entry(A + 1)[0], (A + 1) * 2.0)


def test_answers_are_new_arrays():
    f = staged(lambda x: (x * 2.0, x.T + 1.0, x > 0))
    known = [f(A) for _ in range(5)]
    for one, answers in enumerate(known):
        for x in answers:
            assert x.base is None or one < 2
            x[...] = 0
    assert [type(x) for x in f(A)] == [np.ndarray] * 3
    assert np.array_equal(f(A)[0], A * 2.0)
    assert f(A)[1].strides == (A.T + 1.0).strides


def test_the_shortcut_of_arrays():
    f = staged(lambda x, y: x * 2.0 if x is y else x * y)
    for _ in range(4):
        assert np.array_equal(f(V, W[:3]), V * W[:3])
    assert has_gate(f)
    assert np.array_equal(f(V, V), V * 2.0)
    assert np.array_equal(f(A, 2 * A), A * (2 * A))
    assert np.array_equal(f(V, W[:3]), V * W[:3])
    assert "no native code" not in "".join(f.llvm)


def test_arguments_may_be_written_to_between_calls():
    x, f = np.ones(3), staged(lambda x: x[::-1] * 2.0)
    for k in range(5):
        x[:] = [k, 1, 2]
        assert np.array_equal(f(x), [4.0, 2.0, 2.0 * k])


@pytest.mark.parametrize(
    ("f", "x", "reason"),
    [
        (lambda x: x * 2.0, np.ones(LARGEST + 1), "an array of float64, of shape"),
        (lambda x: x * 2.0, np.ones(3, np.float32), "float32"),
        (lambda x: np.sort(x), V, r"numpy\.sort of arrays has no native form"),
        (lambda x: np.sum(x, where=V > 0), V, "options"),
        (lambda x: np.sum(x > 0), V, "int64"),
        (lambda x: x.T[1:], A, "a view"),
        (lambda x: (lambda y: (y, y))(x * 2.0), V, "share memory"),
        (lambda x: np.sum(x[np.argmax(x) :: 2]), V, "by these values"),
        (lambda x: x[np.argmax(x) :], V, "a view of an argument"),
        (lambda x: np.sum(x, axis=(0, 2)), S, "along these axes"),
        (lambda x: np.where(x > 0), V, "numpy.where"),
        (lambda x: np.exp(x[::-1]), V, r"numpy\.exp of a reversed array"),
    ],
)
def test_what_has_no_native_form_has_a_reason(f, x, reason):
    with pytest.raises(NoNativeFormError, match=reason):
        native(f, x)


def test_a_view_that_depends_on_values_is_refused():
    f = staged(np.trim_zeros)
    for x in (V, V, V, V * [0.0, 1.0, 0.0], V * 0.0):
        assert np.array_equal(f(x), np.trim_zeros(x))
    with pytest.raises(NoNativeFormError, match="trim_zeros gives a view that may depend on values"):
        native(lambda x: np.trim_zeros(x) * 2.0, V)


def test_an_index_that_is_an_argument():
    for f in (
        lambda x, i: x[i] * 2.0,
        lambda x, i: x[1, i] * 2.0,
        lambda x, i: x[i, i - 1] * 2.0,
        lambda x, i: x[..., i] * 2.0,
        lambda x, i: x[None, i, 1:] * 2.0,
        lambda x, i: (x @ x.T)[i, ::2] * 2.0,
        lambda x, i: np.sum(x[:, i]),
    ):
        code, steps = native_and_steps(f, A, 1)
        entry = code.entry()
        for i in (1, 0, -1, -2):
            assert _are_same(entry(A, i), steps([A, i]))
            assert np.array_equal(entry(A, i)[0], f(A, i))
        for i in (len(A), -len(A) - 1, 2**62, -(2**63)):
            assert entry(A, i) is None or i in range(-3, 3)


def test_the_way_back_from_an_index_that_is_an_argument():
    for f in (lambda x, i: x[i, 1] * x[1, i], lambda x, i: np.sum(np.sin(x[i]) * x[0]), lambda x, i: x[:, i] @ x[:, 0]):
        for g in (grad(f), grad(lambda x, i, f=f: np.sum(grad(f)(x, i) * x))):
            code, steps = native_and_steps(g, A, 1)
            entry = code.entry()
            for i in (1, 0, -1, -2):
                assert _are_same(entry(A, i), steps([A, i]))
                np.testing.assert_allclose(entry(A, i)[0], g(A, i), rtol=1e-12)


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (lambda x, i: x[i::2] * 2.0, "by these values"),
        (lambda x, i: x[: 3 : i + 1] * 2.0, "by these values"),
        (lambda x, i: x[i > 0] * 2.0, "by these values"),
        (lambda x, i: x[[i, 0]] * 2.0, "by these values"),
    ],
)
def test_other_indices_that_are_values_are_refused(f, reason):
    """The number of elements, or the type, would depend on values."""
    with calls_pay(False), pytest.raises(NoNativeFormError, match=reason):
        native(f, A, 1)
    g = staged(f)
    for i in (1, 1, 1, 0, 1):
        assert np.array_equal(g(A, i), f(A, i))


@pytest.mark.parametrize("constant", [np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3).T, np.array([True])])
def test_a_constant_array_is_answered(constant):
    """Each call gives a copy, to which the user may write."""
    f = staged(lambda x: [x * 2.0, constant, grad(lambda x: 3.0)(x)])
    for factor in (1.0, 2.0, 3.0, 4.0, 5.0):
        doubled, found, zeros = f(V * factor)
        assert np.array_equal(doubled, V * factor * 2.0)
        assert np.array_equal(found, constant)
        assert not zeros.any()
        for x in (doubled, found, zeros):
            x[...] = 7.0
    assert "no native code" not in f.llvm[0]
    code, steps = native_and_steps(lambda x: [x * 2.0, constant * 1.0], V)
    assert _are_same(code.entry()(V), steps([V]))


def test_a_constant_that_is_answered_twice_is_refused():
    constant = np.arange(3.0)
    with pytest.raises(NoNativeFormError, match="share memory"):
        native(lambda x: [x * 2.0, constant, constant], V)


def test_much_memory_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "MOST", 1000)
    with pytest.raises(NoNativeFormError, match="much memory"):
        native(lambda x: np.exp(x) * 2.0, np.ones(1000))


def test_single_truth_values_of_an_array():
    def f(x):
        found = (x > 0.5).copy()
        return np.where(found[0] | ~found[-1], x, 2.0 * x), np.where(found[::-1].copy(), x, 0.0)

    for x in (V, V - 1.0, V * 100.0):
        check(f, x)


def test_a_view_along_an_axis_of_one_element_has_its_strides():
    """NumPy takes it for contiguous, but its strides are others than those of a new array."""
    for f, x in (
        (lambda x: np.sin(x)[::-1], np.array([0.3])),
        (lambda x: (2.0 * x)[::2], np.array([0.3])),
        (lambda x: (2.0 * x)[:, ::-1], np.array([[0.3], [0.2]])),
    ):
        (answer,) = native(f, x).entry()(x)
        assert answer.strides == f(x).strides
        np.testing.assert_array_equal(answer, f(x))


@pytest.mark.parametrize("length", [*range(1, 24), 31, 33])
def test_divisions_in_loops_of_few_rounds_raise_no_flag(length):
    """Native code would leave all calls: LLVM carries out such loops in longer vectors, whose rest is zeros."""

    def f(*xs):
        total = sum(xs)
        return [1.0 / x for x in xs], [x / total for x in xs], [total / (x * x + total) for x in xs]

    xs = [RNG.uniform(1.0, 2.0, size=length) for _ in range(6)]
    assert native(f, *xs).entry()(*xs) is not None
    rows = [np.stack([x, x + 1.0, x + 2.0], axis=1) for x in xs]
    assert native(f, *rows).entry()(*rows) is not None


BACKWARDS = {
    "product": lambda x: x * x[::-1],
    "root": lambda x: np.sqrt(1.0 + x[::-1] * x[::-1]),
    "product and root": lambda x: (lambda y: (y, np.sqrt(1.0 + y * y)))(x * x[::-1]),
    "kept": lambda x: (lambda y: (y, y * x + 1.0))(x[::-1] * 2.0),
    "several": lambda x: (x[::-1] + x, x[::-1] * x - x, np.abs(x[::-1])),
    "choice": lambda x: np.where(x[::-1] > x, x, -x),
}


@pytest.mark.parametrize("name", BACKWARDS)
def test_loops_that_read_backwards(name):
    """LLVM 22 ends the process if it makes vectors of some of them: of a product, for example, from 28 elements on."""
    f = BACKWARDS[name]
    slope = grad(lambda x: np.sum(f(x)[0] if isinstance(f(x), tuple) else f(x)))
    for length in (*range(2, 40, 3), *range(28, 48, 4), 11, 12, 1000):
        x = RNG.uniform(1.0, 2.0, size=length)
        check(f, x)
        np.testing.assert_allclose(native(slope, x).entry()(x)[0], slope(x), rtol=1e-13)


def test_a_part_of_an_array_of_truth_values_at_an_index_that_is_a_value():
    def f(x, i):
        return np.where((x > 0.0)[:, i], x[:, i], 0.5), (x.T > 0.0)[i], (x > 0.0)[1:, i][::-1]

    assert not native(f, A, 1).by_python
    for i in (1, 2, 0, -1):
        check(f, A, i)


PARTS = {
    "split": lambda x: np.split(x, 4),
    "array_split": lambda x: np.array_split(x, 3, axis=1),
    "split at": lambda x: np.split(x, [1, 3], axis=-1),
    "hsplit": lambda x: np.hsplit(x, 2),
    "vsplit": lambda x: np.vsplit(x, 2),
    "dsplit": lambda x: np.dsplit(x[:, :, None] * np.ones(4), 2),
    "unstack": lambda x: np.unstack(x, axis=1) if hasattr(np, "unstack") else list(x.T),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_are_steps(name):
    """The function that gives a list of them would be a call of Python."""

    def f(x):
        return [(i + 1.0) * part for i, part in enumerate(PARTS[name](np.sin(x)))]

    x = RNG.normal(size=(4, 4))
    code = native(f, x)
    assert not code.by_python
    check(f, x)


def test_parts_at_a_position_that_is_a_value():
    f = staged(lambda x, i: [2.0 * part for part in np.split(x, [i])])
    for i in (1, 2, 1, 3, 0):
        for found, part in zip(f(V, i), np.split(V, [i]), strict=True):
            np.testing.assert_array_equal(found, 2.0 * part)


# Large arrays

LARGE = RNG.normal(size=(450, 300)) * 0.1


def test_products_with_large_matrices():
    def f(a, x, y):
        return a @ x, y @ a, a.T @ y, np.outer(y, x), np.stack([y, 2.0 * y]).T @ np.stack([x, -x])

    check(f, LARGE, LARGE[0], LARGE[:, 1].copy())


def test_steps_on_large_arrays():
    def f(a):
        b = np.tanh(a) * a + a[:1]
        return np.sum(b), np.sum(b, axis=0), np.mean(b, axis=1), np.max(b), b.T[::2].copy(), np.concatenate([b[1:], b])

    check(f, LARGE)


def test_the_gradient_of_a_large_matrix_that_is_read_many_times():
    def loss(a, x):
        total = 0.0
        for i in range(3):
            x = np.tanh(a @ x)[:300] * (i + 1.0)
            total = total + x @ x
        return total

    check(grad(loss), LARGE, LARGE[0])


VIEWS = {
    "ravel": np.ravel,
    "reshape": lambda x: np.reshape(x, (1, 1)),
    "expand_dims": lambda x: np.expand_dims(x, 0),
    "broadcast_to": lambda x: np.broadcast_to(x, (3,)),
    "atleast_1d": np.atleast_1d,
    "newaxis": lambda x: x[None],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_views_of_an_array_without_axes(view):
    """Native code takes such an array as a number, and not by the address of its element."""
    compiled = staged(lambda x: view(x) * 2.0)
    for k in (1.0, 2.0, 3.0, -4.0):
        np.testing.assert_array_equal(compiled(np.array(k)), view(np.array(k)) * 2.0)
    assert "as native code" in compiled.report()


def test_blocks_that_are_not_needed_any_more_are_found_without_a_look_at_all(monkeypatch):
    """A look at each block after each step takes a time that grows with the square of the program."""
    looks = []
    is_needed_after = memory.ArrayBlocks.is_needed_after
    monkeypatch.setattr(
        memory.ArrayBlocks, "is_needed_after", lambda *given: looks.append(0) or is_needed_after(*given)
    )
    counts = []
    for rounds in (50, 100):
        looks.clear()

        def f(x, rounds=rounds):
            made = [x]
            for _ in range(rounds):
                made.append(np.sort(made[-1] * 1.5))  # no sum of steps: each array lies in memory until the end
            return sum(made[::-1])

        with calls_pay():
            native(f, np.linspace(0.0, 1.0, 16)).entry()
        counts.append(len(looks))
    assert counts[1] < 2.5 * counts[0] + 50


def test_elements_along_an_axis_at_constant_indices_are_no_call_of_python():
    g = staged(lambda x: np.take_along_axis(np.exp(x), np.array([[1], [0], [-1], [2]]), axis=1) + 1.0)
    for _ in range(4):
        g(A)
    assert "as native code:" in g.report()
