"""Writes in place in native code: the bits of the NumPy steps, and undone on the way back."""

import operator

import numpy as np
import pytest

from shiftreset_ad import grad, hvp, jvp, staged
from shiftreset_ad.staging.native.llvm import NoNativeFormError
from tests.staging.native.natively import answered_as_by_steps, check, check_control, native, needs_native

pytestmark = needs_native

X = np.array([0.5, -1.25, 2.0, -0.0, 0.75])
POINTS = [(X,), (X * 3.0 + 0.1,), (np.array([np.inf, 1.0, -0.0, 0.0, 2.0]),)]


def elements(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i] * x[i - 1]
    return np.sum(y * y)


def recurrence(x):
    y = x.copy()
    for i in range(1, len(x)):
        y[i] += y[i - 1] * x[i]
    return np.sum(y)


def overwritten(x):
    """Each write destroys what the product of the round before needs on the way back."""
    y = x * 1.0
    for _ in range(3):
        y[1] = y[0] * y[1]
        y[0] = y[1] * y[1] + 0.5
    return y[0] * y[1]


def overlapping(x):
    y = x * 2.0
    y[1:] = y[:-1]
    y[:-1] += y[1:] * x[1:]
    y[::-1] = y
    return np.sum(y * x)


def all_operators(x):
    y = x + 1.0
    y += x
    y *= 2
    y -= x[::-1]
    y[:2] /= 3.0
    y[-1:] *= y[0]
    return np.sum(y * y)


def through_views(x):
    y = np.zeros_like(x)
    view = y[1:]
    inner = view[::2]
    inner += x[0]
    view[1] = x[1] * y[1]
    y[...] = y + x
    return np.sum(view * inner[0])


def rows(x):
    y = np.zeros_like(np.stack([x, x, x], 1))
    y[0] = x[:3]
    y[1:, 1] = x[1:] * y[0, 2]
    y.T[2] += 1.5
    y[:, None, 0] *= x[:, None]
    return np.sum(y * y)


def read_before_and_after(x):
    """A value that was read before a write stays what it was."""
    y = x * x
    before, whole = y[1], y + 1.0
    y[1] = before * 3.0
    return before * y[1] + np.sum(whole * y)


PROGRAMS = [
    *(elements, recurrence, overwritten, overlapping, all_operators, through_views, rows),
    read_before_and_after,
]


@pytest.mark.parametrize("f", PROGRAMS)
def test_value_gradient_and_second_order(f):
    finite = POINTS[:2]
    check(f, *finite)
    check_control(grad(f), *finite)
    check_control(lambda x: hvp(f, (x,), (x * 0.5 + 1.0,)), *finite)
    check(lambda x: jvp(f, (x,), (x + 1.0,)), *finite)


@pytest.mark.parametrize("f", PROGRAMS)
def test_staged_derivatives_are_native(f):
    derivative = grad(f)
    g = staged(derivative)
    for x in (X, X + 0.25, X * 0.5, X - 2.0):
        np.testing.assert_allclose(g(x), derivative(x), rtol=1e-14)
    assert "as native code" in g.report()


def test_infinite_elements_are_written_or_the_steps_warn():
    check(elements, *POINTS)
    check_control(overwritten, (X,), (np.array([0.0, np.inf, 1.0, 1.0, 1.0]),), leaves=1)  # 0 * inf


def test_at_an_index_that_is_a_value():
    def f(x, i):
        y = x * 2.0
        y[i] = x[i] * 3.0
        y[i] += y[i - 1]
        return np.sum(y * x)

    points = [(X, 1), (X, 0), (X, 4), (X, -3)]
    check(f, *points)
    check(grad(f), *points)
    assert native(f, *points[0]).entry()(X, 5) is None


def test_rows_at_an_index_that_is_a_value():
    def f(x, i):
        y = np.stack([x, x * x, x + 1.0])
        y[i] = y[i] * x
        y[i, 1:] = y[0, :-1]
        return np.sum(y * y[2])

    check(f, (X, 1), (X, 0), (X, 2))
    with pytest.raises(NoNativeFormError, match="a view that native code copies"):  # the adjoint of a row is a view
        native(grad(f), X, 1)
    by_steps = staged(grad(f))
    for i in (1, 0, 2, 1):
        np.testing.assert_allclose(by_steps(X, i), grad(f)(X, i), rtol=1e-13)


def test_many_writes_in_several_functions_of_llvm():
    def f(x):
        y = x.copy()
        for i in range(120):
            y[i % 5] = y[i % 5] * 0.5 + y[(i + 1) % 5] * x[i % 3]
        return np.sum(y)

    check(f, (X,), (X + 0.5,))
    check(grad(f), (X,), (X + 0.5,))


def test_an_answer_has_been_written_to():
    def f(x):
        y = x * 2.0
        y[0] = 7.0
        return y

    check(f, (X,), (X + 1.0,))


def without_dimensions(x):
    y = x * 2.0
    z = y[..., 0]
    y[0] = 5.0
    return z + y[0]


def in_a_view_at_a_value(x, i):
    y = np.stack([x, x])
    y[i] *= x  # Python writes to the view y[i], and then to y
    return np.sum(y)


def by_a_mask(x):
    y = x * 2.0
    y[x > 0.0] = 5.0
    return np.sum(y)


def by_copyto(x):
    y = x * 2.0
    np.copyto(y, x)
    return np.sum(y)


def to_integers(x):
    y = (x * 2.0).astype(int)
    y[0] = 5
    return np.sum(y) * 1.0


@pytest.mark.parametrize(
    ("f", "args", "reason"),
    [
        (without_dimensions, (X,), "a view that native code copies"),
        (in_a_view_at_a_value, (X, 1), "a view that native code copies"),
        (by_a_mask, (X,), "has no native form"),
        (by_copyto, (X,), r"numpy\.copyto writes, and has no native form"),
        (to_integers, (X,), "astype"),
    ],
)
def test_the_rest_is_refused_and_answered_by_the_steps(f, args, reason):
    with pytest.raises(NoNativeFormError, match=reason):
        native(f, *args)
    g = staged(f)
    for _ in range(3):
        np.testing.assert_array_equal(g(*args), f(*args))


def random_program(seed):
    """A program that writes to arrays and to their views, at constant indices; with odd seeds, at values, too."""
    random = np.random.default_rng(seed)
    operators = [operator.setitem, operator.iadd, operator.isub, operator.imul]
    indices = [0, -1, 2, slice(None), slice(1, None), slice(None, -1), slice(None, None, 2), slice(None, None, -1)]
    plan = [
        (
            operators[random.integers(4)],
            indices[random.integers(8)],
            indices[random.integers(8)],
            random.integers(3, size=2),
        )
        for _ in range(random.integers(3, 12))
    ]

    def f(x, i):
        i = i if seed % 2 else 1
        y = [x * 0.5, np.zeros_like(x), x.copy()]
        for k, (function, index, other, (a, b)) in enumerate(plan):
            part = y[b][other] if k % 2 else y[b][i] * 0.25
            if np.shape(part) not in ((), np.shape(y[a][index])):
                part = x[i]
            if function is not operator.setitem:
                y[a][index] = function(y[a][index], part)
            else:
                y[a][i - 1 if np.shape(part) == () else index] = part
        return np.sum(y[0] * y[1] + y[2] * np.tanh(y[0]))

    return f


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize("seed", range(30))
def test_random_programs(seed):
    f = random_program(seed)
    points = [(X, 1), (X + 0.3, 0), (X * 0.1, 3)]
    check(f, *points)
    for derivative in (grad(f), lambda x, i: hvp(lambda x: f(x, i), (x,), (x + 1.0,))):
        # Which elements an adjoint has is a value if an index is one, and a slice asks whether it has any.
        reasons = ("gives an array of bool, of shape ()",) if seed % 2 else ()
        answered = answered_as_by_steps(derivative, points, reasons)
        assert answered == 3 if not seed % 2 else answered != 0
