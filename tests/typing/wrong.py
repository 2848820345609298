"""Calls that are wrong: each line that is marked fails to check, and no other does. They are not run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import shiftreset_ad as ad
from shiftreset_ad.testing import check_grads

Vector = NDArray[np.float64]


def power(x: float, n: int = 2) -> float:
    return x**n


def squares(x: Vector) -> Vector:
    return x * x


def product(x: float, y: float) -> float:
    return x * y


def noted(x: float) -> tuple[float, str]:
    return x * x, "a note"


def listed(x: float) -> list[float]:
    return [x]


def no_argument() -> float:
    return 1.0


def gradients(v: Vector) -> None:
    ad.grad(3.0)  # error: no function
    ad.grad(no_argument)  # error: nothing to differentiate with respect to
    ad.grad(listed)  # error: the gradient of a list
    ad.grad(noted)  # error: the gradient of a pair, without has_aux
    ad.grad(power, has_aux=True)  # error: no pair
    ad.grad(lambda x: [x, x])  # error: the gradient of a list
    ad.grad(lambda x: "text")  # error: the gradient of a string
    ad.grad(power, argnums="x")  # error: arguments have numbers, not names
    ad.grad(power, order=2)  # error: no such option
    ad.grad(power)("text")  # error: the argument of another type
    ad.grad(power)(v)  # error: the argument of another type
    ad.grad(power)(3.0, 2, 1)  # error: an argument too many
    ad.grad(power)(3.0, m=2)  # error: no such argument
    ad.grad(power)()  # error: no argument
    ad.grad(power)(x=3.0)  # error: by name
    ad.grad(power, argnums=1)("text", 2)  # error: the argument of another type
    ad.grad(ad.grad(power))("text")  # error: the argument of another type
    ad.grad(power)(3.0).shape  # error: the gradient is a float
    ad.value_and_grad(listed)  # error: the gradient of a list
    ad.value_and_grad(power)("text")  # error: the argument of another type
    value, gradient, more = ad.value_and_grad(power)(3.0)  # error: a pair
    text: str = ad.grad(noted, has_aux=True)(3.0)  # error: a pair
    ad.grad_closure(listed)  # error: the gradient of a list


def products(v: Vector) -> None:
    ad.vjp(product, 3.0)  # error: an argument is missing
    ad.vjp(product, 3.0, "text")  # error: the argument of another type
    ad.vjp(product, 3.0, 2.0, 1.0)  # error: an argument too many
    ad.vjp(lambda x, y: x * y, 3.0)  # error: an argument is missing
    ad.vjp(power, 3.0, n=2)  # error: by name
    ad.vjp(product, 3.0, 2.0)[1]()  # error: no cotangent
    ad.vjp(product, 3.0, 2.0)[1](1.0, 1.0)  # error: one result, two cotangents
    y, pullback, aux = ad.vjp(product, 3.0, 2.0)  # error: a pair
    ad.vjp(product, 3.0, 2.0, has_aux=True)  # error: no pair
    ad.jvp(power, 3.0, 1.0)  # error: no tuples
    ad.jvp(product, (3.0,), (1.0,))  # error: an argument is missing
    ad.jvp(product, (3.0, "text"), (1.0, None))  # error: the argument of another type
    ad.jvp(product, (3.0, 2.0))  # error: no tangents
    ad.linearize(product, 3.0)  # error: an argument is missing
    ad.hvp(squares, v, v)  # error: no tuples
    ad.hvp(listed, (3.0,), (1.0,))  # error: the Hessian of a list


def jacobians(v: Vector) -> None:
    ad.jacobian(v)  # error: no function
    ad.jacobian(squares)("text")  # error: the argument of another type
    ad.jacobian(squares)(v, v)  # error: an argument too many
    ad.jacobian(squares, has_aux=True)  # error: no pair
    ad.jacrev(squares)(3.0)  # error: the argument of another type
    ad.jacfwd(squares)(3.0)  # error: the argument of another type
    ad.hessian(power)(v)  # error: the argument of another type
    ad.value_and_jacobian(squares)(3.0)  # error: the argument of another type
    ad.elementwise_grad(squares)(3.0)  # error: the argument of another type


def series(v: Vector) -> None:
    ad.derivative(power, 1.5)  # error: the order is an integer
    ad.derivative(power)("text")  # error: the argument of another type
    ad.taylor(power, 3.0)  # error: no order
    ad.taylor(squares, 3.0, 2)  # error: the argument of another type


def constants(v: Vector) -> None:
    text: str = ad.stop_gradient(3.0)  # error: a float
    other: str = ad.value(v)  # error: an array
    ad.lift(v)  # error: like what?
    ad.zeros("text")  # error: no shape


@ad.checkpoint
def rerun(x: float, *, n: int = 2) -> float:
    return x**n


@ad.staged
def step(x: Vector, rate: float = 0.1) -> Vector:
    return x * rate


def decorated(v: Vector) -> None:
    rerun("text")  # error: the argument of another type
    rerun(3.0, 2)  # error: an argument too many
    ad.fuse(listed)  # error: no scalar
    step(v, rates=0.5)  # error: no such argument
    step("text")  # error: the argument of another type
    step.source  # error: no such attribute
    ad.checkpointed_loop(lambda k: k, 1.0, 10, snapshots=3)  # error: the step has two arguments
    ad.checkpointed_loop(lambda k, y: 2.0 * y, 1.0, 10)  # error: no number of snapshots


@ad.custom_vjp
def cube(x: float) -> float:
    return x**3


@ad.custom_jvp(nondiff_argnums=1)
def raised(x: float, n: int) -> float:
    return x**n


@ad.custom_vjp(nondiff="n")  # error: no such option
def misnamed(x: float, n: int) -> float:
    return x**n


def text_and_zero(primals: tuple[float], tangents: tuple[float]) -> tuple[str, float]:
    return "text", 0.0


def rules() -> None:
    cube("text")  # error: the argument of another type
    cube(3.0, 2.0)  # error: an argument too many
    cube.defvjp(lambda x: (cube(x), x))  # error: the way back is missing
    cube.defvjp(lambda x: "text", lambda x, y_bar: (y_bar,))  # error: no pair of the value and the residuals
    cube.defvjp(lambda x: (cube(x), x), lambda x, y_bar: 3.0)  # error: no tuple of cotangents
    raised.defjvp(text_and_zero)  # error: a value of another type
    raised.defjvps(3.0)  # error: no function


def control() -> None:
    ad.reset(3.0)  # error: no function
    ad.reset(lambda x: x)  # error: the body has no argument
    ad.shift(lambda: 3.0)  # error: neither a handler of k nor a generator
    ad.shift(lambda k: k(3), "prompt")  # error: no prompt


def checks() -> None:
    check_grads(power, (3.0,))  # error: no order
    check_grads(power, 3.0, order=1)  # error: no tuple
    check_grads(power, (3.0,), order=1, modes=("forward",))  # error: no such mode
    with ad.debug("on"):  # error: a switch
        pass
