"""Derivatives through solutions: implicit, unrolled and analytic ones agree, to first and second order."""

from functools import partial

import numpy as np
import pytest

from shiftreset_ad import (
    ControlError,
    checkpoint,
    derivative,
    grad,
    hessian,
    jacfwd,
    jacobian,
    jvp,
    linearize,
    vjp,
    zeros,
)
from shiftreset_ad.optimize import (
    LBFGS,
    Box,
    NotConvergedError,
    Simplex,
    argmin,
    fixed_point,
    linear_solve,
    maximize,
    minimax,
    minimize,
    root,
)
from shiftreset_ad.testing import check_grads
from tests.optimize.problems import PROBLEMS, A, B

WAYS = ("implicit", "unrolled")
each_problem = pytest.mark.parametrize("name", PROBLEMS)
each_way = pytest.mark.parametrize("way", WAYS)


def total(f, *options):
    """The weighted sum of what a function returns."""
    return lambda p: np.sum(np.asarray(B)[: np.size(y)] * y) if np.shape(y := f(p, *options)) else y


@each_way
@each_problem
def test_a_solution_has_its_derivatives(name, way):
    problem = PROBLEMS[name]
    found, answer, p = total(problem.found, way), total(problem.answer), problem.p
    lag = problem.lag if way == "unrolled" else 1.0
    assert found(p) == pytest.approx(answer(p), abs=1e-7)
    assert grad(found)(p) == pytest.approx(grad(answer)(p), abs=2e-6 * lag)
    assert jvp(found, (p,), (1.0,))[1] == pytest.approx(grad(answer)(p), abs=2e-6 * lag)
    assert jvp(grad(found), (p,), (1.0,))[1] == pytest.approx(grad(grad(answer))(p), abs=2e-5 * lag)


@each_problem
def test_every_mix_of_modes_gives_the_second_derivative(name):
    problem = PROBLEMS[name]
    found, answer, p = total(problem.found, "implicit"), total(problem.answer), problem.p
    expected = pytest.approx(grad(grad(answer))(p), abs=2e-6)
    assert grad(grad(found))(p) == expected
    assert grad(lambda p: jvp(found, (p,), (1.0,))[1])(p) == expected
    assert jvp(lambda p: jvp(found, (p,), (1.0,))[1], (p,), (1.0,))[1] == expected
    assert derivative(found, 2)(p) == expected


@pytest.mark.parametrize("name", ["a quartic", "a box", "a cube root", "linear equations", "a fixed point"])
def test_the_third_derivative(name):
    problem = PROBLEMS[name]
    found, answer, p = total(problem.found, "implicit"), total(problem.answer), problem.p
    expected = pytest.approx(derivative(answer, 3)(p), rel=1e-5, abs=1e-5)
    assert grad(grad(grad(found)))(p) == expected
    assert derivative(found, 3)(p) == expected


def test_jacobians_and_hessians_in_many_parameters():
    def found(p):
        return argmin(lambda x: np.sum(x**4) / 4 + 0.5 * x @ A @ x - p @ x, np.zeros(3))

    x = found(B)
    inverse = np.linalg.inv(A + np.diag(3 * x**2))
    np.testing.assert_allclose(jacobian(found)(B), inverse, rtol=1e-7)
    np.testing.assert_allclose(jacfwd(found)(B), inverse, rtol=1e-7)
    expected = np.einsum("ij,jk,jl->ikl", inverse, inverse, -6 * x[:, None] * inverse)
    np.testing.assert_allclose(jacfwd(jacobian(found))(B), expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(hessian(lambda p: found(p) @ B)(B), np.einsum("i,ijk->jk", B, expected), rtol=1e-6)


def test_the_solver_runs_once_for_all_orders():
    runs = []

    def found(p):
        method = LBFGS()

        def counted(objective, x):
            runs.append(1)
            return method(objective, x)

        return argmin(lambda x: (x - p**3) ** 2, 0.0, method=counted)

    assert grad(grad(found))(2.0) == pytest.approx(12.0)
    assert len(runs) == 1
    jacfwd(lambda p: found(p[0] * p[1]))(np.ones(2))
    assert len(runs) == 2


def test_the_start_has_no_derivative_unless_the_rounds_have():
    def found(start, way):
        return minimize(lambda x: (x - 3.0) ** 2, start, rounds=3, tolerance=1.0, method="momentum", derivative=way).x

    assert grad(lambda s: argmin(lambda x: (x - s) ** 2, s))(2.0) == pytest.approx(1.0)
    assert grad(lambda s: found(s, "implicit"))(2.9) == 0.0
    # Two steps of gradient descent with momentum, at a rate of 0.01: each is linear.
    assert (
        0.9
        < grad(lambda s: minimize(lambda x: x**2, s, rounds=2, method="momentum", derivative="unrolled").x)(1.0)
        < 1.0
    )


def test_arguments_are_found_as_closures_are():
    assert grad(lambda p: argmin(lambda x, q, scale: (x - q["a"]) ** 2 * scale, 0.0, ({"a": p**2}, 3)))(
        3.0
    ) == pytest.approx(6.0)
    assert grad(lambda p: root(lambda x, q: x - q, 0.0, p**2))(3.0) == pytest.approx(6.0)
    shift = 2.0

    def bound(x, p=1.0):
        return (x - p * shift) ** 2

    class Model:
        def __init__(self, p):
            self.p = p

        def loss(self, x, p):
            return (x - p) ** 2

    assert grad(lambda p: argmin(lambda x: bound(x, p), 0.0))(1.0) == pytest.approx(2.0)
    assert grad(lambda p: argmin(Model(0.0).loss, 0.0, (p,)))(1.0) == pytest.approx(1.0)


def test_a_number_that_cannot_be_found_is_an_error():
    class Model:
        def loss(self, x):
            return (x - self.p) ** 2

    def through_an_attribute(p, method):
        model = Model()
        model.p = p
        return argmin(lambda x: model.loss(x), 0.0, method=method)

    for method in ("l-bfgs", "BFGS", "Nelder-Mead"):
        with pytest.raises(TypeError, match=r"argmin.*in an attribute of an object. Pass it by args"):
            grad(partial(through_an_attribute, method=method))(2.0)

    def unrolled(p):
        model = Model()
        model.p = p
        return argmin(model.loss, 0.0, derivative="unrolled")

    assert grad(unrolled)(2.0) == pytest.approx(1.0)


def test_an_array_that_is_written_to_after_the_call_counts_as_it_was():
    data, twice = np.array([1.0, 2.0]), np.array([2.0, 4.0])
    y, pull = vjp(lambda p: argmin(lambda x: np.sum((x - p * data) ** 2), np.zeros(2)), 3.0)
    value, pull_value = vjp(lambda p: minimize(lambda x: x**2 + p * np.sum(data), 0.0).value, 3.0)
    data[:] = 0.0
    np.testing.assert_allclose(y, [3.0, 6.0])
    assert pull(np.ones(2))[0] == pytest.approx(3.0)
    assert (value, pull_value(1.0)[0]) == (9.0, 3.0)

    _, push = linearize(lambda p: argmin(lambda x: np.sum((x - p * twice) ** 2), np.zeros(2)), 3.0)
    twice *= 0.0
    np.testing.assert_allclose(push(1.0), [2.0, 4.0])


GLOBAL = np.array([1.0, 2.0])


def loss_of_the_global(x, p):
    return np.sum((x - p * GLOBAL) ** 2)


class Reader:
    def __init__(self):
        self.data = np.array([1.0, 2.0])
        self.scale = 1.0
        self.evaluations = 0

    def loss(self, x, p):
        self.evaluations += 1
        return np.sum((x - p * self.scale * self.data) ** 2)


def test_what_the_function_reads_elsewhere_must_not_change():
    """It would be silently wrong: the function runs again on the way back, with what is there by then."""
    reader, settings = Reader(), {"scale": 1.0}

    def write_to_the_global():
        GLOBAL[0] = 5.0

    def write_to_the_attribute():
        reader.data[0] = 5.0

    def bind_the_attribute():
        reader.scale = 5.0

    def set_the_item():
        settings["scale"] = 5.0

    def nearest(loss, p):
        return argmin(lambda x: loss(x, p), np.zeros(2))

    for loss, change, message in (
        (lambda x, p: loss_of_the_global(x, p), write_to_the_global, "the array 'GLOBAL'"),
        (lambda x, p: reader.loss(x, p), write_to_the_attribute, "the array 'data' of 'reader'"),
        (lambda x, p: reader.loss(x, p), bind_the_attribute, "the attribute 'scale' of 'reader'"),
        (lambda x, p: np.sum((x - p * settings["scale"]) ** 2), set_the_item, "the dict 'settings'"),
    ):
        found = partial(nearest, loss)
        x, pull = vjp(found, 2.0)
        assert pull(np.ones(2))[0] == pytest.approx(np.sum(x) / 2.0)
        assert grad(grad(lambda p, found=found: found(p)[0] ** 2))(2.0) == pytest.approx(x[0] ** 2 / 2.0)
        change()
        with pytest.raises(ControlError, match=f"argmin.*{message}"):
            pull(np.ones(2))
    GLOBAL[0] = 1.0


def test_a_counter_in_an_attribute_counts():
    reader = Reader()

    def worst(x):
        return maximize(lambda y: x * np.sum(y) - reader.loss(y, x), np.ones(2)).value

    def best(p):
        return argmin(lambda x: worst(x) + (x - p) ** 2, 0.5, derivative="unrolled", tolerance=1e-6)

    assert grad(best)(1.0) > 0.0
    assert reader.evaluations > 10


def test_a_counter_in_the_function_counts():
    count = 0

    def found(p):
        def f(x):
            nonlocal count
            count += 1
            return (x - p) ** 2

        return argmin(f, 0.0)

    assert grad(found)(2.0) == pytest.approx(1.0)
    assert count > 2


def test_a_list_of_the_points_that_were_tried():
    history = []

    def found(p):
        def f(x):
            history.append(x)
            return np.sum((x - p**2) ** 2)

        return argmin(f, np.zeros(2))

    for p in (2.0, 3.0):
        np.testing.assert_allclose(jacobian(found)(p), 2 * p)
        assert grad(grad(lambda p: found(p)[0]))(p) == pytest.approx(2.0)
    assert len(history) > 4


def test_a_complex_parameter():
    def found(p, way):
        return argmin(lambda x: (x - (p * p).real) ** 2, 0.0, derivative=way)

    for way in WAYS:
        assert grad(lambda p, way=way: found(p, way))(1 + 2j) == pytest.approx(2 + 4j)


def test_inside_a_checkpoint():
    found = checkpoint(lambda p: argmin(lambda x: (x - p**2) ** 2, 0.0))
    assert grad(found)(3.0) == pytest.approx(6.0)
    assert grad(grad(found))(3.0) == pytest.approx(2.0)


CHECKED = {
    "free": lambda p: argmin(lambda x: np.sum(x**4) / 4 + x @ x - p @ x, np.zeros(2), tolerance=1e-12),
    "a box": lambda p: argmin(
        lambda x: np.sum(x**4) / 4 + x @ x - p @ x + x[0] * x[1],
        np.zeros(2),
        tolerance=1e-12,
        constraint=Box(-1.0, np.array([0.1, 9.0]) * p[1]),
    ),
    "a game": lambda p: (lambda saddle: (saddle.x, saddle.y, saddle.value))(
        minimax(lambda x, y: x**4 / 4 + x**2 - p[0] * x + x * y * p[1] - y * y * 3, 0.0, 0.0, tolerance=1e-12)
    ),
    "a root": lambda p: root(lambda q: (q[0] + np.sin(q[1]) * p[0], q[1] ** 3 - q[0] * p[1] - 2), (0.0, 1.0)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKED)
def test_all_mixes_of_modes_against_values(name):
    check_grads(CHECKED[name], (np.array([1.0, 2.0]),), order=2)


# What has no derivative says so


def test_no_implicit_derivative_where_the_solver_has_not_converged():
    def found(p, **options):
        return minimize(lambda x: x**4 + p * x, 10.0, rounds=2, **options)

    assert not found(1.0).converged
    with pytest.raises(
        NotConvergedError, match=r"minimize.*an implicit derivative needs a solution.*2 rounds"
    ) as raised:
        grad(lambda p: found(p).value)(1.0)
    assert raised.value.result.rounds == 2
    assert np.isfinite(grad(lambda p: found(p, derivative="unrolled").value)(1.0))


def test_no_derivative_of_rounds_where_there_are_none():
    for solve in (
        lambda p, **way: argmin(lambda x: (x - p) ** 2, 2.0, **way),
        lambda p, **way: root(lambda x: x - p, 2.0, **way),
        lambda p, **way: fixed_point(lambda x: 0.5 * (x + p), 2.0, **way),
    ):
        assert grad(solve)(2.0) == pytest.approx(1.0)
        with pytest.raises(NotConvergedError, match=r"no rounds whose derivative could be taken. Give another start"):
            grad(lambda p, solve=solve: solve(p, derivative="unrolled"))(2.0)


def test_answers_without_a_result_are_refused():
    with pytest.raises(NotConvergedError, match="argmin"):
        argmin(lambda x: -x, 0.0)
    with pytest.raises(NotConvergedError, match="root"):
        root(lambda x: x * x + 1.0, 1.0)
    with pytest.raises(NotConvergedError, match=r"fixed_point.*none was found in 50 rounds"):
        fixed_point(lambda x: x + 1.0, 0.0, rounds=50, method="iteration")


def test_a_minimum_that_is_not_isolated_has_no_derivative():
    def found(p):
        return argmin(lambda x: (x[0] + x[1] - p) ** 4 + (x[0] + x[1] - p) ** 2 + 0.0 * p * x[0], np.array([1.0, 0.0]))

    np.testing.assert_allclose(jacobian(found)(3.0), [0.5, 0.5], atol=1e-6)  # the least change, as descent makes it
    with pytest.raises(np.linalg.LinAlgError, match=r"argmin.*not isolated.*1e-6"):
        grad(lambda p: argmin(lambda x: (x[0] - p) ** 2, np.zeros(2))[1])(1.0)


def test_a_start_at_a_maximum_has_no_derivative_as_a_minimum():
    def found(p, start):
        return argmin(lambda x: np.cos(x - p), start)

    with pytest.raises(
        np.linalg.LinAlgError, match=r"argmin.*a minimum has no negative curvature, so give another start"
    ):
        grad(lambda p: found(p, 0.0))(0.0)
    assert grad(lambda p: found(p, 0.1))(0.0) == pytest.approx(1.0)


def test_linear_equations_without_a_solution():
    with pytest.raises(np.linalg.LinAlgError, match="linear_solve"):
        linear_solve(lambda x: np.array([1.0, 1.0]) * (x[0] + x[1]), np.array([1.0, 2.0]))


# Constraints


def test_a_bound_that_is_not_reached_changes_nothing():
    def found(p, **options):
        return argmin(lambda x: np.sum((x - p * B) ** 2) + x @ A @ x, np.zeros(3), **options)

    boxed = {"constraint": Box(-10.0, 10.0), "tolerance": 1e-10}
    np.testing.assert_allclose(jacobian(lambda p: found(p, **boxed))(1.0), jacobian(found)(1.0), atol=1e-7)


def test_scipys_solution_has_the_derivatives_of_ours():
    def found(p, method):
        return argmin(lambda x: np.sum((x - p * B) ** 2), np.ones(3), constraint=Box(0.0, p + 1.0), method=method)

    np.testing.assert_allclose(jacobian(lambda p: found(p, "L-BFGS-B"))(1.3), [1.0, 1.0, 1.0], atol=1e-7)
    np.testing.assert_allclose(found(1.3, "L-BFGS-B"), found(1.3, None), atol=1e-7)


def test_a_projection_of_the_users_own():
    def unit(x, radius):
        return radius * x / np.sqrt(x @ x)

    def found(radius):
        return argmin(lambda x: np.sum((x - B) ** 2), np.ones(3), constraint=lambda x: unit(x, radius))

    direction = B / np.sqrt(B @ B)
    np.testing.assert_allclose(found(2.0), 2 * direction, atol=1e-7)
    np.testing.assert_allclose(jacobian(found)(2.0), direction, atol=1e-6)


def test_weights_in_a_structure():
    weights = argmin(
        lambda w: (w["a"] - 0.2) ** 2 + np.sum((w["b"] - 1.0) ** 2), {"a": 0.5, "b": np.ones(2)}, constraint=Simplex()
    )
    assert weights["a"] == 0.0
    np.testing.assert_allclose(weights["b"], [0.5, 0.5])


def test_the_envelope_needs_no_linear_equation(monkeypatch):
    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr("shiftreset_ad.optimize.implicit.by_conjugate_gradients", refuse)
    assert grad(lambda p: maximize(lambda x: p * x - x * x, 0.0).value)(4.0) == pytest.approx(2.0)


def test_a_function_that_writes_to_zeros():
    """The solver runs on plain values, so the array holds plain values, too."""

    def least(p):
        def f(x):
            parts = zeros(2)
            parts[0] = x - p
            parts[1] = x * x
            return np.sum(parts * parts)

        return argmin(f, 0.0)

    check_grads(least, (1.3,), 2)
