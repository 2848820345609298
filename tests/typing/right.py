"""Calls of the public functions as they are meant: both checkers accept them, and agree on the types. They run, too."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import shiftreset_ad as ad
from shiftreset_ad.testing import check_grads, check_jvp, check_vjp

Vector = NDArray[np.float64]
Parameters = dict[str, Vector]


def vector() -> Vector:
    return np.ones(3)


def power(x: float, n: int = 2) -> float:
    return x**n


def norm(x: Vector) -> float:
    total: float = np.sum(x * x)
    return total


def squares(x: Vector) -> Vector:
    return x * x


def product(x: float, y: float) -> float:
    return x * y


def noted(x: float) -> tuple[float, str]:
    return x * x, "a note"


def loss(w: Parameters, x: Vector) -> float:
    return norm(w["weights"] * x)


def gradients() -> None:
    v = vector()
    assert_type(ad.grad(power)(3.0), float)
    assert_type(ad.grad(power)(3.0, 2), float)
    assert_type(ad.grad(power)(3.0, n=2), float)
    assert_type(ad.grad(ad.grad(power))(3.0, n=3), float)
    assert_type(ad.grad(norm)(v), Vector)
    assert_type(ad.grad(loss)({"weights": v}, v), Parameters)
    assert_type(ad.grad(loss, argnums=1)({"weights": v}, v), Any)
    assert_type(ad.grad(product, (0, 1))(1.0, 2.0), Any)
    assert_type(ad.grad(noted, has_aux=True)(3.0), tuple[float, str])
    assert_type(ad.value_and_grad(power)(3.0), tuple[float, float])
    assert_type(ad.value_and_grad(loss)({"weights": v}, v), tuple[float, Parameters])
    assert_type(ad.value_and_grad(noted, has_aux=True)(3.0), tuple[tuple[float, str], float])
    assert_type(ad.value_and_grad(loss, 1)({"weights": v}, v), tuple[float, Any])
    ad.grad(lambda x: x * x)(3.0)
    ad.grad(ad.grad(lambda x: x**3))(3.0)
    ad.grad(lambda x, y: np.sum(x * y), argnums=(0, 1))(v, v)
    ad.grad(lambda z: z * z, holomorphic=True)(1.0 + 1.0j)
    ad.grad(np.sin)(1.0)
    ad.grad(ad.grad(np.sin))(1.0)
    ad.grad(ad.stop_gradient)(1.0)


@ad.grad
def slope(x: float) -> float:
    return x * x


class Model:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __call__(self, x: float) -> float:
        return self.scale * x

    @ad.checkpoint
    def checkpointed(self, x: float) -> float:
        return self.scale * x

    @ad.staged
    def staged(self, x: float) -> float:
        return self.scale * x

    @ad.custom_vjp
    def custom(self, x: float) -> float:
        return self.scale * x


def objects() -> None:
    assert_type(slope(3.0), float)
    model = Model(2.0)
    assert_type(ad.grad(model)(3.0), float)
    assert_type(ad.grad(model.__call__)(3.0), float)
    assert_type(ad.grad(model.checkpointed)(3.0), float)
    assert_type(model.staged(3.0), float)
    assert_type(model.custom(3.0), float)
    assert_type(Model.staged(model, 3.0), float)


def optima() -> None:
    v = vector()
    assert_type(ad.optimize.argmin(norm, v), Vector)
    assert_type(ad.optimize.argmax(lambda x: -x * x, 3.0), float)
    assert_type(ad.optimize.root(squares, v, tolerance=0.1), Vector)
    assert_type(ad.optimize.linear_solve(lambda x: 2.0 * x, v, definite=True), Vector)
    result = ad.optimize.minimize(norm, v, method="projected-gradient", constraint=ad.optimize.Box(-1.0, 1.0))
    assert_type(result.converged, bool)
    assert_type(ad.optimize.minimax(product, 1.0, 1.0, rounds=3).residual, float)
    optimizer = ad.optimize.adam(ad.optimize.cosine_decay(0.1, 10))
    assert_type(optimizer.step(v, v, optimizer.init(v))[0], Vector)


def products() -> None:
    v = vector()
    y, pullback = ad.vjp(product, 3.0, 2.0)
    assert_type(y, float)
    assert_type(pullback(1.0), tuple[float, float])
    pullback(None)
    z, of_z, note = ad.vjp(noted, 3.0, has_aux=True)
    assert_type(z, float)
    assert_type(of_z(1.0), tuple[float])
    assert_type(note, str)
    assert_type(ad.vjp(squares, v)[1](v), tuple[Vector])
    ad.vjp(lambda x, y: np.sin(x) * y, 3.0, v)[1](v)

    assert_type(ad.jvp(product, (3.0, 2.0), (1.0, None)), tuple[float, float])
    assert_type(ad.jvp(squares, (v,), (v,)), tuple[Vector, Vector])
    assert_type(ad.jvp(noted, (3.0,), (1.0,), has_aux=True), tuple[float, float, str])
    ad.jvp(product, [3.0, 2.0], [1.0, None])
    ad.jvp(np.sin, (v,), (v,))

    y, pushforward = ad.linearize(product, 3.0, 2.0)
    assert_type(y, float)
    assert_type(pushforward(1.0, None), float)

    assert_type(ad.hvp(norm, (v,), (v,)), Vector)
    assert_type(ad.hvp(product, (3.0, 2.0), (1.0, None)), tuple[float, float])


def jacobians() -> None:
    v = vector()
    ad.jacobian(squares)(v) @ v
    ad.jacrev(squares)(v) @ v
    ad.jacfwd(lambda x: x * x)(v) @ v
    ad.hessian(norm)(v) @ v
    ad.jacobian(product, argnums=(0, 1))(3.0, 2.0)
    assert_type(ad.jacobian(noted, has_aux=True)(3.0), tuple[Any, str])
    assert_type(ad.value_and_jacobian(squares)(v), tuple[Vector, Any])
    assert_type(ad.value_and_jacobian(noted, has_aux=True)(3.0), tuple[tuple[float, str], Any])
    assert_type(ad.elementwise_grad(squares)(v), Vector)
    ad.elementwise_grad(np.tanh)(v)
    ad.jacobian(np.tanh)(v)


def series() -> None:
    assert_type(ad.derivative(power, 3)(2.0), float)
    assert_type(ad.derivative(power)(2.0, n=3), float)
    ad.derivative(np.sin, 2)(1.0)
    ad.derivative(lambda x: x**5, 3)(2.0)
    ad.taylor(lambda x: 1 / x, 1.0, 4)[0]
    ad.taylor(squares, np.ones(3), 2, direction=np.ones(3))


def closures() -> None:
    w = 3.0
    assert_type(ad.grad_closure(lambda: w * w)(), dict[str, Any])

    def scaled(x: float) -> float:
        return w * x

    assert_type(ad.grad_closure(scaled)(2.0), dict[str, Any])
    assert_type(ad.value_and_grad_closure(scaled)(x=2.0), tuple[float, dict[str, Any]])


def constants() -> None:
    v = vector()
    assert_type(ad.value(power(3.0)), float)
    assert_type(ad.stop_gradient(v), Vector)
    assert_type(ad.lift(v, like=3.0), Vector)
    assert_type(ad.zeros_like({"a": v}), dict[str, Vector])
    assert_type(ad.is_differentiable(v), bool)
    ad.zeros(3)[0] = 1.0
    ad.array([[1.0, 2.0], [3.0, 4.0]]).sum()


@ad.checkpoint
def rerun(x: float, *, n: int = 2) -> float:
    return x**n


@ad.fuse
def fused(x: float, y: float) -> float:
    return x * y


@ad.staged
def step(x: Vector, rate: float = 0.1) -> Vector:
    return x - rate * ad.grad(norm)(x)


def decorated() -> None:
    v = vector()
    assert_type(ad.grad(rerun)(3.0, n=3), float)
    assert_type(ad.grad(fused)(3.0, 2.0), float)
    assert_type(step(v, rate=0.5), Vector)
    assert_type(step.sources, list[str])
    assert_type(ad.checkpointed_loop(lambda k, y: 2.0 * y, 1.0, 10, snapshots=3), float)
    ad.checkpoint(np.sin)(v)
    ad.staged(np.sin)(v)
    ad.checkpoint(lambda x: x * x)(3.0)


@ad.custom_vjp
def cube(x: float) -> float:
    return x**3


cube.defvjp(lambda x: (cube(x), x), lambda x, y_bar: (3.0 * x**2 * y_bar,))


@ad.custom_jvp(nondiff_argnums=1)
def raised(x: float, n: int) -> float:
    return x**n


@raised.defjvp
def raised_jvp(n: int, primals: tuple[float], tangents: tuple[float]) -> tuple[float, float]:
    (x,), (x_dot,) = primals, tangents
    return raised(x, n), n * raised(x, n - 1) * x_dot


@ad.custom_derivative(nondiff_argnames=("n",))
def either(x: float, n: int) -> float:
    return x**n


either.defjvps(lambda x_dot, y, x, n: n * x ** (n - 1) * x_dot)


def rules() -> None:
    assert_type(cube(2.0), float)
    assert_type(ad.grad(cube)(2.0), float)
    assert_type(raised(2.0, n=3), float)
    assert_type(ad.grad(raised)(2.0, 3), float)
    assert_type(raised_jvp(3, (2.0,), (1.0,)), tuple[float, float])
    assert_type(ad.grad(either)(2.0, 3), float)


def control() -> None:
    ad.reset(lambda: 2 * ad.shift(lambda k: k(3) + 1))

    def handler() -> Generator[int, int, int]:
        answer = yield 3
        return answer + 1

    prompt = ad.Prompt()
    ad.reset(lambda: 2 * ad.shift(handler, prompt), prompt)


def checks() -> None:
    v = vector()
    with ad.debug():
        ad.grad(norm)(v)
    check_grads(product, (3.0, 2.0), order=2, modes=["rev"])
    check_jvp(np.sin, lambda x, x_dot: (np.sin(x[0]), np.cos(x[0]) * x_dot[0]), (0.5,))
    check_vjp(np.sin, lambda x: (np.sin(x), lambda y_bar: (np.cos(x) * y_bar,)), (0.5,))


EXAMPLES: list[Callable[[], None]] = [
    *(gradients, objects, optima, products, jacobians, series, closures, constants, decorated, rules, control, checks)
]
