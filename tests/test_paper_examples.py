"""The examples of the papers, named by paper and section, against their closed forms.

Wang et al.: Demystifying Differentiable Programming: Shift/Reset the Penultimate Backpropagator. ICFP 2019.
Pearlmutter and Siskind: Reverse-Mode AD in a Functional Framework: Lambda the Ultimate Backpropagator. TOPLAS 2008.
Krawiec et al.: Provably Correct, Asymptotically Efficient, Higher-Order Reverse-Mode AD. POPL 2022.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from shiftreset_ad import NumR, Prompt, grad, reset, shift, value_and_grad

# Wang et al.


@pytest.mark.parametrize("x", [-1.5, 0.0, 1.0, 3.0, 7.25])
def test_wang_2019_section_2_1_polynomial(x: float) -> None:
    """f(x) = 2x + x^3, of which the gradient is 2 + 3x^2."""
    f = lambda x: 2 * x + x * x * x  # noqa: E731
    assert value_and_grad(f)(x) == (2 * x + x**3, 2 + 3 * x**2)
    assert grad(grad(f))(x) == 6 * x
    assert grad(grad(grad(f)))(x) == 6.0
    assert grad(grad(grad(grad(f))))(x) == 0.0


def test_wang_2019_section_2_4_perturbation_confusion() -> None:
    """grad(x => x * grad(y => x + y)(1))(1) is 1; where the levels are confused it is 2."""
    should_be_one = grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0)
    assert should_be_one == 1.0


def test_wang_2019_section_2_4_perturbation_confusion_of_products() -> None:
    """d/dx (x d/dy (x y)) = 2x, at levels that share a number."""
    assert grad(lambda x: x * grad(lambda y: x * y)(2.0))(3.0) == 6.0
    assert grad(lambda x: grad(lambda y: x * y * y)(x))(3.0) == 4 * 3.0


def test_wang_2019_section_3_nodes_with_several_uses() -> None:
    """y1 = 2x, y2 = x x, y3 = y2 x, y4 = y1 + y3: every use of a node adds to its adjoint."""

    def f(x: Any) -> Any:
        y1 = 2.0 * x
        y2 = x * x
        y3 = y2 * x
        return y1 + y3

    assert grad(f)(0.5) == 2 + 3 * 0.5**2


def test_wang_2019_section_3_2_the_operators_of_the_paper() -> None:
    """Fig. 8, in the words of this library's `shift` and `reset` alone."""

    class Number:
        def __init__(self, x: float, d: float = 0.0) -> None:
            self.x, self.d = x, d

        def __add__(self, that: Number) -> Any:
            def handler(k: Callable[[Number], None]) -> None:
                y = Number(self.x + that.x)
                k(y)
                self.d += y.d
                that.d += y.d

            return shift(handler)

        def __mul__(self, that: Number) -> Any:
            def handler(k: Callable[[Number], None]) -> None:
                y = Number(self.x * that.x)
                k(y)
                self.d += that.x * y.d
                that.d += self.x * y.d

            return shift(handler)

    def gradient(f: Callable[[Number], Number], x: float) -> float:
        z = Number(x)

        def body() -> None:
            f(z).d = 1.0

        reset(body)
        return z.d

    f = lambda x: x + x + x * x * x  # noqa: E731
    for x in (-2.0, 0.0, 0.5, 3.0):
        assert gradient(f, x) == grad(f)(x) == 2 + 3 * x * x


def test_wang_2019_section_3_the_continuation_goes_there_and_back_again() -> None:
    """The captures are in the order of the program, and the resumed handlers in the opposite order."""
    prompt, trail = Prompt(), []

    def node(name: str) -> str:
        def handler() -> Any:
            trail.append(f"there {name}")
            yield name
            trail.append(f"back {name}")

        return str(shift(handler, prompt))

    reset(lambda: [node(name) for name in "abc"], prompt)
    assert trail == ["there a", "there b", "there c", "back c", "back b", "back a"]


@pytest.mark.parametrize("x", [0.5, 3.0, -2.0, 100.0])
def test_wang_2019_section_4_without_staging_conditional_loop_and_recursion(x: float) -> None:
    """The programs of 4.2, 4.3 and 4.4, by the control flow of Python: there is nothing to stage or to unroll."""

    def conditional(x: Any) -> Any:
        return -1.0 * x * x if x > 0.0 else x * x

    def loop(x: Any) -> Any:
        while x > 1:
            x = x * 0.5
        return x

    def tree(x: Any, node: Any) -> Any:
        return x if node is None else tree(x, node[0]) * tree(x, node[2]) * node[1]

    halvings = 0
    while x * 0.5**halvings > 1:
        halvings += 1
    assert grad(conditional)(x) == -2.0 * abs(x)
    assert grad(loop)(x) == 0.5**halvings
    assert grad(tree)(x, ((None, 3.0, None), 5.0, None)) == pytest.approx(3 * x**2 * 15.0)


def test_higher_order_functions_as_in_wang_2019() -> None:
    """Functional style: folds, maps and functions that return functions are differentiated through."""

    def compose(*functions: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def composed(x: Any) -> Any:
            for function in functions:
                x = function(x)
            return x

        return composed

    scaled = lambda a: lambda x: a * x  # noqa: E731
    f = compose(scaled(2.0), np.sin, scaled(3.0), np.exp)
    x = 0.3
    assert grad(f)(x) == pytest.approx(np.exp(3 * np.sin(2 * x)) * 3 * np.cos(2 * x) * 2)
    assert grad(lambda a: compose(scaled(a), scaled(a))(x))(5.0) == pytest.approx(2 * 5 * x)


# Pearlmutter and Siskind


def test_pearlmutter_siskind_slides_fan_out() -> None:
    """x_n = x_(n-1) + x_(n-1): the derivative is 2^n, and test_linear_time counts what it costs."""

    def f(x: Any) -> Any:
        for _ in range(100):
            x = x + x
        return x

    assert value_and_grad(f)(3.0) == (3 * 2.0**100, 2.0**100)


def test_pearlmutter_siskind_2008_section_3_free_variables() -> None:
    """(lambda a. (lambda b. lambda c. b) a) 1: the derivative in a goes through the closure's free variable."""
    assert grad(lambda a: (lambda b: lambda c: b)(a)(0.0))(1.0) == 1.0
    assert grad(lambda a: (lambda b: lambda c: c)(a)(0.0))(1.0) == 0.0
    assert grad(lambda a: (lambda b: lambda c: b * c)(a)(a))(3.0) == 6.0


def test_a_function_as_the_value_of_a_closure() -> None:
    """The derivative of x => (the derivative of y => x y at y) in x, for closures made inside derivatives."""
    make = lambda x: grad(lambda y: x * y * y)  # noqa: E731
    assert grad(lambda x: make(x)(5.0))(2.0) == 10.0
    assert grad(lambda x: make(x)(x))(2.0) == 8.0


def test_pearlmutter_siskind_2008_section_4_church_data() -> None:
    """Data structures made of closures alone carry derivatives like any other."""
    pair = lambda a, b: lambda choose: choose(a, b)  # noqa: E731
    first = lambda p: p(lambda a, b: a)  # noqa: E731
    second = lambda p: p(lambda a, b: b)  # noqa: E731
    twice = lambda f: lambda x: f(f(x))  # noqa: E731
    swap = lambda p: pair(second(p), first(p))  # noqa: E731
    assert grad(lambda x: first(swap(pair(3.0 * x, x * x))))(2.0) == 4.0
    assert grad(lambda x: second(twice(swap)(pair(3.0 * x, x * x))))(2.0) == 4.0
    assert grad(lambda x: twice(twice(lambda y: y * y))(x))(1.1) == pytest.approx(16 * 1.1**15)


def test_pearlmutter_siskind_2008_section_5_a_hessian_times_a_vector() -> None:
    """H f [3, 4] x [7, 8] = [52, 85] for f = 2 x^2 + 3 x y + 4 y^2, by the gradient of a gradient."""

    def f(p: Any) -> Any:
        x, y = p
        return 2 * x * x + 3 * x * y + 4 * y * y

    def hessian_times(v: Any) -> Callable[[Any], Any]:
        return grad(lambda p: sum(g * w for g, w in zip(grad(f)(p), v, strict=True)))

    assert hessian_times((7.0, 8.0))((3.0, 4.0)) == (52.0, 85.0)
    assert hessian_times([7.0, 8.0])([3.0, 4.0]) == [52.0, 85.0]
    found = grad(lambda p: np.sum(grad(f)(p) * np.array([7.0, 8.0])))(np.array([3.0, 4.0]))
    np.testing.assert_array_equal(found, [52.0, 85.0])


def test_pearlmutter_siskind_2008_section_5_argmin_inside_argmax() -> None:
    """The saddle point of s^2 + t^2 - u^2 - v^2: a gradient through a minimisation that itself uses gradients."""

    def argmin(f: Callable[[Any], Any], start: Any, steps: int) -> Any:
        place = start
        for _ in range(steps):
            slope = grad(f)(place)
            place = place - 0.3 * slope
        return place

    def payoff(p: Any, q: Any) -> Any:
        return p[0] ** 2 + p[1] ** 2 - q[0] ** 2 - q[1] ** 2

    def worst(p: Any) -> Any:
        q = argmin(lambda q: -payoff(p, q), np.array([0.5, -0.5]), 20)
        return payoff(p, q)

    place = argmin(worst, np.array([1.0, -2.0]), 20)
    np.testing.assert_allclose(place, [0.0, 0.0], atol=1e-6)


def test_a_derivative_through_an_argmin() -> None:
    """argmin_y (y - a x)^2 + y^2 = a x / 2, with the minimisation unrolled: its derivative is a / 2."""

    def best(x: Any) -> Any:
        y = 0.0
        for _ in range(60):
            y = y - 0.2 * grad(lambda y: (y - 3.0 * x) ** 2 + y * y)(y)
        return y

    found, slope = value_and_grad(best)(2.0)
    assert found == pytest.approx(3.0, abs=1e-9)
    assert slope == pytest.approx(1.5, abs=1e-9)
    assert grad(grad(best))(2.0) == pytest.approx(0.0, abs=1e-9)


# Krawiec et al.


class Quaternion(NamedTuple):
    w: Any
    x: Any
    y: Any
    z: Any


@dataclass(frozen=True)
class Vector:
    x: Any
    y: Any
    z: Any


def q_to_vector(q: Quaternion) -> Vector:
    return Vector(q.x, q.y, q.z)


def dot(p: Vector, q: Vector) -> Any:
    return p.x * q.x + p.y * q.y + p.z * q.z


def plus(p: Vector, q: Vector) -> Vector:
    return Vector(p.x + q.x, p.y + q.y, p.z + q.z)


def scale(k: Any, v: Vector) -> Vector:
    return Vector(k * v.x, k * v.y, k * v.z)


def cross(a: Vector, b: Vector) -> Vector:
    return Vector(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


def norm(v: Vector) -> Any:
    return np.sqrt(dot(v, v))


def rotate(v: Vector, q: Quaternion) -> Vector:
    """The program of Fig. 12: u = 2 (q_vec . v) q_vec, plus (w^2 - |q_vec|^2) v, plus 2 w (q_vec x v)."""
    u, s = q_to_vector(q), q.w
    return plus(plus(scale(2.0 * dot(u, v), u), scale(s * s - dot(u, u), v)), scale(2.0 * s, cross(u, v)))


def rotation_gradient(v: Any, q: Any, c: Any) -> tuple[Any, Any]:
    """The gradient of c . rotate(v, q) in closed form, as matrices acting on c."""
    (vx, vy, vz), (w, x, y, z) = v, q
    by_v = np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )
    by_q = 2 * np.array(
        [
            [w * vx - z * vy + y * vz, x * vx + y * vy + z * vz, -y * vx + x * vy + w * vz, -z * vx - w * vy + x * vz],
            [z * vx + w * vy - x * vz, y * vx - x * vy - w * vz, x * vx + y * vy + z * vz, w * vx - z * vy + y * vz],
            [-y * vx + x * vy + w * vz, z * vx + w * vy - x * vz, -w * vx + z * vy - y * vz, x * vx + y * vy + z * vz],
        ]
    )
    return c @ by_v, c @ by_q


# Inputs of our own: the figure's are in tests/formulations/krawiec/monadic/test_fig_12.py.
V, Q = (1.1, -2.3, 0.7), (0.9, 0.2, -0.6, 0.4)


@pytest.mark.parametrize("c", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.3, -1.2, 2.1)], ids=str)
def test_krawiec_2022_fig_12_rotation_by_a_quaternion(c: tuple[float, ...]) -> None:
    """All seven entries of the gradient of a component of the rotated vector, from one run."""
    by_v, by_q = grad(lambda v, q: dot(Vector(*c), rotate(v, q)), (0, 1))(Vector(*V), Quaternion(*Q))
    assert type(by_v) is Vector
    assert type(by_q) is Quaternion
    expected_v, expected_q = rotation_gradient(V, Q, np.array(c))
    np.testing.assert_allclose([by_v.x, by_v.y, by_v.z], expected_v, rtol=0, atol=1e-12)
    np.testing.assert_allclose(by_q, expected_q, rtol=0, atol=1e-12)


def test_krawiec_2022_fig_12_rotation_of_arrays() -> None:
    """The same with NumPy's own products, on arrays."""

    def rotated(v: Any, q: Any) -> Any:
        u = q[1:]
        crossed = np.stack([u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]])
        return 2.0 * (u @ v) * u + (q[0] ** 2 - u @ u) * v + 2.0 * q[0] * crossed

    c = np.array([0.3, -1.2, 2.1])
    found = grad(lambda v, q: c @ rotated(v, q), (0, 1))(np.array(V), np.array(Q))
    for one, expected in zip(found, rotation_gradient(V, Q, c), strict=True):
        np.testing.assert_allclose(one, expected, rtol=0, atol=1e-12)


def test_krawiec_2022_fig_12_a_unit_quaternion_keeps_the_length() -> None:
    """And so the length of the rotated vector has no derivative along the sphere of unit quaternions."""
    length = np.sqrt(sum(part * part for part in Q))
    unit = Quaternion(*(part / length for part in Q))
    found, by_q = value_and_grad(lambda q: norm(rotate(Vector(*V), q)))(unit)
    assert found == pytest.approx(np.sqrt(sum(part * part for part in V)), abs=1e-12)
    np.testing.assert_allclose(by_q, 2 * found * np.array(unit), rtol=0, atol=1e-12)


def test_krawiec_2022_section_5_3_sharing() -> None:
    """An answer used twice is one node: y = sin x, y * y has the derivative 2 sin x cos x."""

    def f(x: Any) -> Any:
        y = np.sin(x)
        return y * y

    assert grad(f)(0.7) == pytest.approx(np.sin(2 * 0.7), abs=1e-15)


def test_the_numbers_are_the_papers_own() -> None:
    """A `NumR` has the fields of the paper's: the value, the adjoint, and the tag that keeps levels apart."""
    seen: list[NumR] = []
    grad(lambda x: seen.append(x) or x * x)(3.0)
    assert (seen[0].primal, seen[0].adjoint, seen[0].tag.level) == (3.0, 6.0, 1)
