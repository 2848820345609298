"""Solvers of `optimize` in staged functions: their rounds are loops, and one record serves all that they are given."""

import math

import numpy as np
import pytest

from shiftreset_ad import StagingWarning, grad, jvp, optimize, staged
from shiftreset_ad.boundary import trees
from shiftreset_ad.optimize import (
    LBFGS,
    Box,
    Iterate,
    NotConvergedError,
    argmin,
    fixed_point,
    linear_solve,
    maximize,
    minimax,
    minimize,
    reason,
    root,
)
from tests.staging.native.natively import needs_native

START = np.array([0.1, 0.8, -0.7])
STARTS = [START, START * 1.4, START * 1.8, START * 2.2]
PARAMETERS = [1.1, 1.3, 1.7, 0.9]
A = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.2]])
B = np.array([1.0, -1.0, 0.5])
OTHERS = pytest.mark.slow  # a record takes some seconds
K = 1.0

pytestmark = pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value", "ignore:overflow")


def steep(x):
    return np.sum((x - 1.0) ** 4) + 0.5 * np.sum(np.exp(x))


def bowl(x):
    return np.sum((x - 1.0) ** 2) + np.sum(x) ** 2


def game(x, y):
    return (x - 1.0) ** 2 + x * y - y * y


def told(result):
    return result.x, result.value, result.residual, result.rounds, result.converged, result.ending.reason


def minimized(f, x, method, **options):
    return told(minimize(f, x, method=method, **options))


OF_A_START = {
    "bfgs": lambda x: minimized(steep, x, "bfgs"),
    "newton-cg": lambda x: minimized(steep, x, "newton-cg"),
    "adam": lambda x: minimized(bowl, x, "adam", rounds=50),
    "iteration": lambda x: fixed_point(lambda y: np.cos(0.5 * y), x, method="iteration"),
    "anderson": lambda x: fixed_point(lambda y: np.cos(0.5 * y), x),
    "a linear equation": lambda x: linear_solve(lambda y: 3.0 * y + np.sum(y), x),
    "extragradient": lambda x: minimax(game, x[0], x[1]).x,
}
SLOW_OF_A_START = {
    "l-bfgs": lambda x: minimized(steep, x, "l-bfgs"),
    "a short memory": lambda x: minimized(steep, x, LBFGS(memory=2)),
    "armijo": lambda x: minimized(steep, x, "armijo"),
    "gradient-descent": lambda x: minimized(bowl, x, "gradient-descent"),
    "projected-gradient": lambda x: minimized(steep, x, "projected-gradient"),
    "mirror-descent": lambda x: minimized(steep, x, "mirror-descent", rounds=60),
    "momentum": lambda x: minimized(bowl, x, "momentum", rounds=60),
    "a box": lambda x: told(minimize(bowl, x, constraint=Box(-0.2, 0.3))),
    "a maximum": lambda x: maximize(lambda y: -steep(y), x).value,
    "a float": lambda x: argmin(lambda y: (y - 3.0) ** 4 + y, x[0]),
    "a structure": lambda x: argmin(lambda t: (t["a"] - 1.0) ** 2 + np.sum((t["b"] + 2.0) ** 4), {"a": x[0], "b": x}),
    "a root": lambda x: root(lambda y: y**3 + y - 5.0, x),
    "a root by anderson": lambda x: root(lambda y: 0.3 * np.cos(y) - y, x, method="anderson"),
    "optimistic": lambda x: minimax(game, x[0], x[1], method="optimistic").y,
    "follow-the-ridge": lambda x: minimax(game, x[0], x[1], method="follow-the-ridge").value,
    "a definite linear equation": lambda x: linear_solve(lambda y: 3.0 * y + np.sum(y), x, definite=True),
    "a function that falls without end": lambda x: minimized(lambda y: np.sum(y), x, "l-bfgs"),
    "too few rounds": lambda x: minimized(steep, x, "bfgs", rounds=2),
    "a value that is not finite": lambda x: minimized(lambda y: np.sum(np.sqrt(y)), x, "bfgs"),
}
OF_A_PARAMETER = {
    "the derivative of a root": grad(lambda p: fixed_point(lambda x: 0.5 * (x + p / x), 1.0, method="iteration")),
    "the derivative of rounds": grad(
        lambda p: minimize(lambda x: (x - p) ** 2 + p * x**4, 0.0, method="armijo", derivative="unrolled", rounds=30).x
    ),
}
SLOW_OF_A_PARAMETER = {
    "the derivative of a minimum": grad(lambda p: argmin(lambda x: (x - p**2) ** 2 + 0.1 * x**4, 0.0)),
    "the derivative of an array": grad(
        lambda p: np.sum(argmin(lambda x: np.sum((x - p) ** 2) + p * np.sum(x**4), np.zeros(3)))
    ),
    "the derivative of a value": grad(
        lambda p: minimize(lambda x: np.sum((x - p) ** 4) + p * np.sum(x * x), np.zeros(3)).value
    ),
    "the derivative of the rounds of l-bfgs": grad(
        lambda p: np.sum(argmin(lambda x: np.sum((x - p) ** 2) + p * np.sum(x**4), np.zeros(3), derivative="unrolled"))
    ),
    "forward": lambda p: jvp(lambda q: argmin(lambda x: (x - q**2) ** 2 + 0.1 * x**4, 0.0), (p,), (1.0,))[1],
    "the derivative of a root by products": grad(lambda p: root(lambda x: x**3 - p, 1.0)),
    "the derivative of a fixed point": grad(lambda p: np.sum(fixed_point(lambda x: 0.1 * p * A @ x + B, np.zeros(3)))),
    "the derivative of a linear equation": grad(lambda p: np.sum(linear_solve(lambda x: A @ x + p * x, p**2 * B))),
    "the derivative of a saddle point": grad(
        lambda p: minimax(lambda x, y: x**2 + p * x * y - y**2 + p * x, 0.5, 0.5).x
    ),
    "second derivatives": grad(grad(lambda p: root(lambda x: x**3 - p, 1.0))),
    "further arguments": lambda p: argmin(lambda x, a, b: (x - a) ** 2 * b + x**4, 0.0, (p, 2.0 * p)),
}


def with_marks(fast, slow):
    return [*fast.items(), *[pytest.param(*item, marks=OTHERS) for item in slow.items()]]


def check(f, points, exact):
    """A staged function answers as the function itself at all points, by one record."""
    g = staged(f)
    for point in points:
        found, expected = trees.flatten(g(point))[0], trees.flatten(f(point))[0]
        for x, y in zip(found, expected, strict=True):
            assert np.array_equal(x, y, equal_nan=True) if exact else np.allclose(x, y, rtol=1e-9), point
    assert len(g._calls.ways) == 1
    return g


@pytest.mark.parametrize(("name", "f"), with_marks(OF_A_START, SLOW_OF_A_START))
def test_one_record_serves_all_starts(name, f):
    check(f, STARTS, exact=True)


@pytest.mark.parametrize(("name", "f"), with_marks(OF_A_PARAMETER, SLOW_OF_A_PARAMETER))
def test_one_record_serves_all_parameters(name, f):
    check(f, PARAMETERS, exact=False)


@needs_native
@pytest.mark.parametrize(
    "name", ["bfgs", "newton-cg", *[pytest.param(name, marks=OTHERS) for name in ("l-bfgs", "projected-gradient")]]
)
def test_the_rounds_are_native_code(name):
    g = check({**OF_A_START, **SLOW_OF_A_START}[name], STARTS, exact=True)
    assert [way.is_native for way in g._calls.ways] == [True]


@needs_native
@OTHERS
def test_the_derivative_of_a_solution_is_native_code():
    g = check(SLOW_OF_A_PARAMETER["the derivative of a minimum"], PARAMETERS, exact=False)
    assert [way.is_native for way in g._calls.ways] == [True]


def test_a_float_stays_a_float():
    def f(x):
        return fixed_point(lambda y: np.cos(0.5 * y), x, method="iteration")

    g = check(f, [0.3, 0.5, 0.9], exact=True)
    assert type(g(0.4)) is type(f(0.4)) is float


def test_derivatives_of_a_descent_that_is_staged():
    """Solvers in a loop of the user's, whose rounds are in the record as well."""

    def descended(p):
        for _ in range(3):
            p = p - 0.1 * grad(
                lambda q: (fixed_point(lambda x: 0.5 * (x + q / x), 1.0, method="iteration") - 2.0) ** 2
            )(p)
        return p

    check(descended, PARAMETERS, exact=False)


def test_what_does_not_converge_raises_as_it_does_otherwise():
    def f(x):
        return argmin(lambda y: y * y * K, x[0], method="bfgs", rounds=3)

    def falling(x):
        return argmin(lambda y: x[0] * y, 1.0, method="bfgs")

    g, h = staged(f), staged(falling)
    for x in (STARTS[0], STARTS[1]):
        assert g(x) == f(x)
        with pytest.raises(NotConvergedError, match="falls without end") as raised:
            h(x)
        assert not raised.value.result.converged


def test_a_callback_is_called_in_each_round():
    rounds = []

    def f(x):
        return minimize(steep, x, method="bfgs", callback=lambda result: rounds.append(result.rounds)).x

    def called(f, x):
        rounds.clear()
        return f(x).tolist(), rounds.copy()

    g = staged(f)
    with pytest.warns(StagingWarning, match="it changes 'rounds'"):
        found = [called(g, x) for x in STARTS]
    assert found == [called(f, x) for x in STARTS]


def test_what_a_function_reads_is_seen():
    global K

    def f(x):
        return fixed_point(lambda y: np.cos(0.5 * K * y), x, method="iteration")

    g = staged(f)
    for k in (0.7, 0.7, 0.5, 0.5, 0.7):
        K = k
        assert np.array_equal(g(START), f(START))


def test_a_solver_in_a_solver_has_a_record_for_each_path():
    def f(p):
        return minimize(lambda x: maximize(lambda y: x * y * p - y**2 + (x - p) ** 2, 0.0).value, 0.5).x

    g = staged(f)
    for p in (1.1, 1.1, 1.3):
        assert g(p) == f(p)
    assert "a solver runs in the function of another solver" in g.report()


def in_rounds(x):
    while x > 1.0:
        x = fixed_point(lambda y: np.cos(0.5 * y), x, method="iteration", tolerance=1e-3) * x * 0.7
    return x


def in_a_branch(x):
    if x > 1.5:
        return argmin(lambda y: (y - x) ** 2 + x * y**4, 0.0, method="bfgs")
    return x * 2.0


def saddle(x):
    return minimax(lambda y, z: (y - x) ** 2 + y * z - z * z, 1.0, 1.0).x


def saddle_in_rounds(x):
    rounds = 0
    while x * x > 0.01 and rounds < 3:
        x = x - saddle(x)
        rounds += 1
    return x


def root_for_some_rows(x):
    total = 0.0
    for row in A:
        if row[0] * x > 0.3:
            total += np.sum(root(lambda y, z: y**3 + y - z * x, np.zeros(3), (row,)))
    return total


class Fitted:
    def __init__(self, weights):
        self.weights, self.count = weights, 0

    def fit(self, target):
        before = self.weights
        if before[0] > 0.2:
            self.weights = argmin(lambda w: np.sum((w - target) ** 2) + 0.1 * np.sum((w - before) ** 2), before)
            self.count += 1
        else:
            self.weights = before + 0.3


def in_a_method(x):
    fitted = Fitted(x * B)
    for row in A:
        fitted.fit(row)
    return np.sum(fitted.weights) * x + fitted.count


IN_A_BLOCK = {
    "rounds": in_rounds,
    "a branch": in_a_branch,
    "rounds, with derivatives": grad(in_rounds),
    "a saddle point in rounds": saddle_in_rounds,
}
SLOW_IN_A_BLOCK = {
    "a branch, with derivatives": grad(in_a_branch),
    "a saddle point in rounds, with derivatives": grad(lambda x: saddle_in_rounds(np.float64(1.0) * x)),
    "rows": root_for_some_rows,
    "rows, with derivatives": grad(root_for_some_rows),
    "a method": in_a_method,
    "a method, with derivatives": grad(in_a_method),
}


@pytest.mark.parametrize(("name", "f"), with_marks(IN_A_BLOCK, SLOW_IN_A_BLOCK))
def test_a_solver_in_a_loop_or_a_branch_that_values_decide_is_in_the_record(name, f):
    check(f, [0.7, 1.7, 1.2, 3.0, 0.1, 2.2], exact=False)


@OTHERS
@pytest.mark.parametrize("method", ["extragradient", "optimistic"])
def test_the_tests_of_a_saddle_point_in_rounds_are_not_asked(method):
    """The types differ from round to round here, so there are several records. All have the rounds of the solver."""

    def f(x):
        rounds = 0
        while x * x > 0.01 and rounds < 3:
            x = x - found(x)
            rounds += 1
        return x

    def found(x):
        return minimax(lambda y, z: (y - x) ** 2 + y * z - z * z, 1.0, 1.0, method=method).x

    g = staged(grad(f))
    for x in (0.7, 0.7, 3.0):
        assert g(x) == pytest.approx(grad(f)(x), rel=1e-9)
    assert "has a value in one branch only" not in g.report()


def test_a_solver_in_a_branch_that_finds_nothing_raises_where_it_is_reached():
    def f(x):
        if x > 1.0:
            x = argmin(lambda y: y if x > 3.0 else (y - x) ** 2, 0.0)
        return x * 2.0

    g = check(f, [0.5, 0.5, 0.5, 2.0], exact=True)
    with pytest.raises(NotConvergedError, match="the answer needs a solution"):
        g(4.0)
    assert g(2.0) == f(2.0)


TOO_FAR = reason("the point is too far away: the residual is {residual:.1f}")


class Careful:
    """A method of the user's own, which ends by a reason."""

    def __call__(self, objective, x):
        for _ in range(200):
            value, gradient = objective.value_and_gradient(x)
            yield Iterate(x, value, gradient, TOO_FAR if np.max(np.abs(x)) > 3.0 else 0)
            x = x - 0.1 * gradient


def test_a_method_of_the_users_own():
    def f(x):
        return told(minimize(bowl, x, method=Careful()))

    check(f, [*STARTS, 10.0 * START], exact=True)
    assert f(START)[-2]
    assert minimize(bowl, 10.0 * START, method=Careful()).message == "the point is too far away: the residual is 22.0"


class Trying:
    """A generator that cannot be carried out by calls, as it yields in a `try`."""

    def __call__(self, n):
        for k in range(n):
            try:
                yield k
            finally:
                pass


def test_an_object_that_makes_a_generator_which_cannot_be_followed():
    def f(x):
        for k in Trying()(4):
            x = x * 1.5 + k
        while x > 1.0:
            x = x * 0.7
        return x

    check(f, [0.3, 5.0, 20.0, 0.3], exact=True)


def test_precision_is_kept():
    def f(x):
        return optimize.argmin(lambda y: np.sum((y - x) ** 4), np.zeros(3, np.float32), method="bfgs")

    g = staged(f)
    for x in STARTS:
        found = g(x.astype(np.float32))
        assert found.dtype == np.float32
        assert np.allclose(found, f(x.astype(np.float32)), atol=1e-6)


def test_the_length_of_a_vector_has_one_record():
    from shiftreset_ad.optimize.vectors import norm

    g = staged(norm)
    for scale in (1.0, 1e-310, 1e200, math.inf, math.nan, 0.0, 1.7e308):
        assert np.array_equal(g(START * scale), norm(START * scale), equal_nan=True)
    assert len(g._calls.ways) == 1
