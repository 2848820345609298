"""Loops and branches that are carried out twice are in the steps once."""

import numpy as np
import pytest

from shiftreset_ad import checkpoint, grad, hessian, jacfwd, jvp, staged, value
from tests.staging.front.agreement import by_numpy, ids
from tests.staging.front.requirements import PROGRAMS as WITH_ERRORS
from tests.staging.front.test_own_lists import PROGRAMS as OF_LISTS
from tests.staging.native.natively import needs_native

POINTS = ((0.7, 3), (1.3, 3), (0.4, 5), (1.3, 1))


def root(x):
    y = x
    while abs(y * y - x) > 1e-9:
        y = 0.5 * (y + x / y)
    return y


def multiple(x):
    """The way back needs no value of a round, but one visit for each."""
    y = x
    while y < 9.0:
        y = y + x
    return y


def of_a_branch(x):
    return x * x * x * 0.5 if x > 1.0 else -x


def loops(compiled):
    (text,) = compiled.ir
    return text.count("while (")


def branches(compiled):
    (text,) = compiled.ir
    return text.count("= if %")


def require_agreement(f, points=POINTS):
    compiled = staged(f)
    for point in points:
        found, expected = compiled(*point), f(*point)
        assert np.allclose(found, expected, rtol=1e-12, atol=1e-13), (found, expected)
    return compiled


@pytest.fixture(params=[pytest.param(True, marks=needs_native), False], ids=["natively", "by NumPy"], autouse=True)
def natively(request, monkeypatch):
    if not request.param:
        by_numpy(monkeypatch)


def test_a_loop_that_is_carried_out_twice():
    compiled = require_agreement(lambda x, n: root(x) * n + root(x))
    assert loops(compiled) == 1


def test_what_is_made_of_its_answer_is_repeated_too():
    compiled = require_agreement(lambda x, n: root(root(x) + n) - 2.0 * root(root(x) + n))
    assert loops(compiled) == 2


def test_a_derivative_on_which_the_loop_does_not_depend():
    """As in a descent inside a descent: the end of the inner one is a constant to the outer one."""

    def cost(x, n):
        return (x - value(root(value(x))) * n) ** 2

    compiled = require_agreement(lambda x, n: cost(x, n) + jvp(lambda y: cost(y, n), (x,), (1.0,))[1])
    assert loops(compiled) == 1
    compiled = require_agreement(lambda x, n: cost(x, n) + grad(cost)(x, n))
    assert loops(compiled) == 1


def test_tangents_that_a_loop_carries_for_nothing_are_left_out_first():
    def least(f, y):
        cost, lower = f(y), f(y * 0.5)
        while lower < cost:
            y, cost = y * 0.5, lower
            lower = f(y * 0.5)
        return y

    def game(x, n):
        return x * x - least(lambda y: y * y + x * x, n + 0.0) * x

    compiled = require_agreement(lambda x, n: game(x, n) + jvp(lambda y: game(y, n), (x,), (1.0,))[1], POINTS[:1])
    assert loops(compiled) == 1


def of_another_number(x):
    return root(x + 1e-9)


def of_another_constant(x, tolerance=1e-7):
    y = x
    while abs(y * y - x) > tolerance:
        y = 0.5 * (y + x / y)
    return y


def of_other_operands(x):
    y = x
    while abs(y * y - x) > 1e-9:
        y = 0.5 * (x / y + y)
    return y


def of_another_start(x):
    y = x + 1.0
    while abs(y * y - x) > 1e-9:
        y = 0.5 * (y + x / y)
    return y


def of_fewer_rounds(x):
    y, k = x, 0
    while abs(y * y - x) > 1e-9 and k < 2:
        y, k = 0.5 * (y + x / y), k + 1
    return y


def of_another_answer(x):
    y, before = x, x
    while abs(y * y - x) > 1e-9:
        before, y = y, 0.5 * (y + x / y)
    return before


OTHERS = (of_another_number, of_another_constant, of_other_operands, of_another_start, of_fewer_rounds)


@pytest.mark.parametrize("other", [*OTHERS, of_another_answer], **ids)
def test_loops_that_differ_are_two(other):
    assert loops(require_agreement(lambda x, n: root(x) + other(x) * n)) == 2


def test_loops_that_hand_on_other_values_are_two():
    """All their steps are the same."""

    def as_fibonacci(x):
        a, b = x, 2.0 * x
        while b < 9.0:
            c = a + b
            a, b = b, c
        return b

    def doubling(x):
        a, b = x, 2.0 * x
        while b < 9.0:
            c = a + b
            a, b = c, c
        return b

    assert loops(require_agreement(lambda x, n: as_fibonacci(x) + doubling(x) * n)) == 2


def test_rounds_that_the_way_back_visits_stay():
    """The ways back through both loops have adjoints of their own."""
    for f, count in (
        (lambda x, n: root(x) * root(x) * n, 2),
        (lambda x, n: root(x) ** 2 + root(x * n) * root(x), 3),
        (lambda x, n: multiple(x) * multiple(x) * n, 2),
    ):
        assert loops(require_agreement(grad(f))) == count
        require_agreement(grad(grad(f)))
        require_agreement(jacfwd(grad(f)))


def test_a_branch_that_is_carried_out_twice():
    def f(x, n):
        return of_a_branch(x) * n + of_a_branch(x) * of_a_branch(x + n) + root(x) + root(x + 1.0)

    compiled = require_agreement(f)
    assert branches(compiled) == 2
    for mode in (grad, lambda f: grad(grad(f)), hessian):
        assert len(require_agreement(mode(f)).ir) == 1


def test_a_loop_in_a_branch_and_before_it():
    """What was computed before a branch is known in it, and what was computed in it is not known behind it."""

    def f(x, n):
        before = root(x) if n > 10 else 0.0
        y = root(x + 1.0)
        z = root(x + 1.0) * 3.0 if x > 1.0 else 1.0
        return before + y * z + root(x)

    assert loops(require_agreement(f)) == 3


def test_arrays_that_the_user_gets_are_two():
    def path(x, n):
        y = np.stack([x, 1.0])
        for _ in range(n):
            y = np.sin(y) + 0.5
        return y

    compiled = staged(lambda x, n: (path(x, n), path(x, n), path(x, n) * 2.0))
    for _ in range(4):
        a, b, _ = compiled(0.7, 3)
    assert a is not b
    assert not np.shares_memory(a, b)
    assert np.array_equal(a, path(0.7, 3))
    assert np.array_equal(a, b)


def test_what_is_computed_again_on_purpose_stays():
    def f(x, n):
        return np.sum(checkpoint(lambda y: rounds(y, n))(x * np.ones(3)))

    def rounds(y, n):
        for _ in range(n):
            y = np.tanh(y) * 1.1
        return y

    require_agreement(grad(f))


def test_errors_that_both_would_raise():
    def checked(x, n):
        for k in range(n):
            assert x < 50.0, k
            x = x * x + 0.1
        return x

    compiled = require_agreement(lambda x, n: checked(x, n) + checked(x, n) * n, ((0.7, 3), (0.2, 5), (1.1, 2)))
    with pytest.raises(AssertionError):
        compiled(9.0, 5)


@pytest.mark.slow_but_every(4)
@pytest.mark.parametrize("f", [*WITH_ERRORS, *OF_LISTS], **ids)
def test_a_function_with_its_derivatives(f):
    """The value, a tangent and a gradient have loops in common, and loops that differ by what is carried."""

    def whole(x, n):
        other = f(x, n) * jvp(lambda y: f(y, n), (x,), (1.0,))[0] + 0.0
        return other + f(x, n) + jvp(lambda y: f(y, n), (x,), (1.0,))[1] * grad(f)(x, n)

    require_agreement(whole, POINTS[:3])
    require_agreement(grad(whole), POINTS[:2])
