"""The ways to the derivatives of a program, each of them a short program of a user.

`several` is the vector of all elements that the program returns, and `f` one number that is made of it; `x` and `v` are
the argument and a direction. Routes are told apart by what they answer: the gradient of `f`, its slope along `v`, the
gradient of this slope, which is the Hessian times `v`, or the curvature along `v`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import shiftreset_ad as sr


def elements(arrays: list[Any]) -> Any:
    """All elements, those of complex arrays by their two parts."""
    real = [np.ravel(np.real(a)) for a in arrays]
    return np.concatenate([*real, *(np.ravel(np.imag(a)) for a in arrays if np.iscomplexobj(a))])


def total(y: Any) -> Any:
    """A number that depends on all elements, on each in another way."""
    return np.sum(weights(y) * np.sin(y))


def weights(y: Any) -> Any:
    return np.cos(np.arange(np.size(y)) + 0.5)


def cotangent(y: Any) -> Any:
    """The gradient of `total`."""
    return weights(y) * np.cos(y)


def dot(a: Any, b: Any) -> Any:
    return np.sum(np.real(a * b))


def along_line(x: Any, t: Any, v: Any) -> Any:
    """The point x + t v: as an array, where `x` has no dimensions, too."""
    return x + t * v if np.shape(x) else np.copy(x + t * v)


class Route(NamedTuple):
    name: str
    answers: str
    function: Callable[..., Any]
    order: int
    only_real: bool
    share: float  # of the programs


ROUTES: dict[str, Route] = {}


def route(answers: str, only_real: bool = False, share: float = 1.0) -> Callable[[Any], Any]:
    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        order = 1 if answers in ("gradient", "slope") else 2
        ROUTES[function.__name__] = Route(function.__name__, answers, function, order, only_real, share)
        return function

    return enter


# Gradients and slopes


@route("gradient")
def grad(f, several, x, v):
    return sr.grad(f)(x)


@route("gradient")
def vjp_twice(f, several, x, v):
    _, pullback = sr.vjp(f, x)
    pullback(-3.0)
    return pullback(1.0)[0]


@route("gradient")
def vjp_of_several_after_the_argument_is_overwritten(f, several, x, v):
    x = x.copy("K")
    y, pullback = sr.vjp(several, x)
    x[...] = 99.0
    y_bar = cotangent(y)
    y[...] = 99.0
    pullback(y_bar)
    return pullback(y_bar)[0]


@route("slope")
def jvp(f, several, x, v):
    return sr.jvp(f, (x,), (v,))[1]


@route("slope")
def jvp_of_several(f, several, x, v):
    y, y_dot = sr.jvp(several, (x,), (v,))
    return dot(cotangent(y), y_dot)


@route("slope")
def linearize_twice(f, several, x, v):
    x = x.copy("K")
    _, linear = sr.linearize(f, x)
    x[...] = 99.0
    linear(-v)
    return linear(v)


@route("slope")
def linearize_of_several(f, several, x, v):
    y, linear = sr.linearize(several, x)
    return dot(cotangent(y), linear(v))


@route("gradient", only_real=True)
def jacrev(f, several, x, v):
    return np.tensordot(cotangent(several(x)), sr.jacrev(several)(x), 1)


@route("gradient", only_real=True)
def jacfwd(f, several, x, v):
    return np.tensordot(cotangent(several(x)), sr.jacfwd(several)(x), 1)


@route("gradient", only_real=True)
def jacobian(f, several, x, v):
    return np.tensordot(cotangent(several(x)), sr.jacobian(several)(x), 1)


@route("gradient", only_real=True)
def value_and_jacobian(f, several, x, v):
    y, matrix = sr.value_and_jacobian(several)(x)
    return np.tensordot(cotangent(y), matrix, 1)


@route("gradient", only_real=True)
def jacobian_of_a_part(f, several, x, v):
    y = several(x)
    return sr.jacobian(lambda x: total(several(x))[None] + np.zeros(1))(x)[0] + 0.0 * np.sum(y)


@route("gradient")
def checkpoint(f, several, x, v):
    return sr.grad(sr.checkpoint(f))(x)


@route("slope")
def checkpoint_linearized(f, several, x, v):
    return sr.linearize(sr.checkpoint(f), x)[1](v)


@route("gradient")
def fuse(f, several, x, v):
    return sr.grad(sr.fuse(f))(x)


@route("gradient")
def grad_closure(f, several, x, v):
    return sr.grad_closure(lambda: f(x))()["x"]


@route("slope")
def derivative_along_a_line(f, several, x, v):
    return sr.derivative(lambda t: f(along_line(x, t, v)))(0.0)


@route("slope")
def elementwise_grad(f, several, x, v):
    return sr.elementwise_grad(lambda t: f(along_line(x, t, v)))(0.0)


@route("gradient", share=0.3)
def debug(f, several, x, v):
    with sr.debug():
        return sr.grad(f)(x)


@route("gradient")
def custom_vjp(f, several, x, v):
    rule = sr.custom_vjp(f)
    rule.defvjp(lambda x: sr.vjp(f, x), lambda pullback, y_bar: pullback(y_bar))
    return sr.grad(rule)(x)


@route("gradient")
def custom_jvp_transposed(f, several, x, v):
    rule = sr.custom_jvp(f)
    rule.defjvp(lambda primals, tangents: sr.jvp(f, primals, tangents))
    return sr.grad(rule)(x)


@route("slope")
def custom_vjp_transposed(f, several, x, v):
    rule = sr.custom_vjp(f)
    rule.defvjp(lambda x: sr.vjp(f, x), lambda pullback, y_bar: pullback(y_bar))
    return sr.jvp(rule, (x,), (v,))[1]


# Derivatives of pullbacks and of linear maps


@route("gradient")
def jvp_of_pullback(f, several, x, v):
    y, pullback = sr.vjp(several, x)
    return sr.jvp(pullback, (y,), (cotangent(y),))[1][0]


@route("slope")
def vjp_of_pullback(f, several, x, v):
    y, pullback = sr.vjp(several, x)
    return dot(cotangent(y), sr.vjp(pullback, y)[1]((v,))[0])


@route("slope")
def jvp_of_linear_map(f, several, x, v):
    y, linear = sr.linearize(several, x)
    return dot(cotangent(y), sr.jvp(linear, (0.5 * v,), (v,))[1])


@route("gradient")
def vjp_of_linear_map(f, several, x, v):
    y, linear = sr.linearize(several, x)
    return sr.vjp(linear, 0.5 * v)[1](cotangent(y))[0]


# Second order


@route("hessian times v")
def forward_over_reverse(f, several, x, v):
    return sr.jvp(sr.grad(f), (x,), (v,))[1]


@route("hessian times v")
def reverse_over_reverse(f, several, x, v):
    return sr.grad(lambda x: dot(sr.grad(f)(x), v))(x)


@route("hessian times v")
def reverse_over_forward(f, several, x, v):
    return sr.grad(lambda x: sr.jvp(f, (x,), (v,))[1])(x)


@route("curvature")
def forward_over_forward(f, several, x, v):
    return sr.jvp(lambda x: sr.jvp(f, (x,), (v,))[1], (x,), (v,))[1]


@route("hessian times v")
def hvp(f, several, x, v):
    return sr.hvp(f, (x,), (v,))


@route("hessian times v", only_real=True)
def hessian(f, several, x, v):
    return np.tensordot(sr.hessian(f)(x), v, x.ndim)


@route("hessian times v", only_real=True, share=0.4)
def jacrev_of_gradient(f, several, x, v):
    return np.tensordot(sr.jacrev(sr.grad(f))(x), v, x.ndim)


@route("hessian times v", share=0.4)
def linearize_of_gradient(f, several, x, v):
    return sr.linearize(sr.grad(f), x)[1](v)


@route("hessian times v", share=0.4)
def pullback_of_pullback(f, several, x, v):
    def slope(x):
        y, pullback = sr.vjp(several, x)
        return dot(pullback(cotangent(y))[0], v)

    return sr.grad(slope)(x)


@route("hessian times v", share=0.4)
def gradient_of_linear_map(f, several, x, v):
    def slope(x):
        y, linear = sr.linearize(several, x)
        return dot(cotangent(y), linear(v))

    return sr.vjp(slope, x)[1](1.0)[0]


@route("hessian times v", share=0.4)
def forward_over_checkpoint(f, several, x, v):
    return sr.jvp(sr.grad(sr.checkpoint(f)), (x,), (v,))[1]


@route("hessian times v", share=0.4)
def reverse_over_custom_vjp(f, several, x, v):
    rule = sr.custom_vjp(f)
    rule.defvjp(lambda x: sr.vjp(f, x), lambda pullback, y_bar: pullback(y_bar))
    return sr.grad(lambda x: dot(sr.grad(rule)(x), v))(x)


@route("curvature")
def taylor(f, several, x, v):
    return 2.0 * sr.taylor(lambda t: f(along_line(x, t, v)), 0.0, 2)[2]


@route("curvature", share=0.4)
def second_derivative_along_a_line(f, several, x, v):
    return sr.derivative(sr.derivative(lambda t: f(along_line(x, t, v))))(0.0)


@route("curvature", share=0.4)
def jacfwd_of_jacrev_along_a_line(f, several, x, v):
    return sr.jacfwd(sr.jacrev(lambda t: f(along_line(x, t, v))))(0.0)


# Staged, which writes a function down: it is called thrice, with other arguments in between


@route("gradient", share=0.12)
def staged(f, several, x, v):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sr.StagingWarning)
        gradient = sr.staged(sr.grad(f))
        gradient(x)
        gradient(x + 1e-3 * v)
        return gradient(x)


@route("hessian times v", share=0.06)
def staged_hvp(f, several, x, v):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sr.StagingWarning)
        along = sr.staged(lambda x, v: sr.hvp(f, (x,), (v,)))
        along(x, v)
        along(x, 0.5 * v)
        return along(x, v)
