"""What the user's code reads when the library calls it, on a way back for example, is guarded as any other read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftreset_ad import Handler, checkpoint, custom_jvp, custom_vjp, grad, handling, hessian, jacobian, jvp, staged

SCALES = {"now": 2.0}


@custom_vjp
def pulled(x):
    return x * x


pulled.defvjp(lambda x: (x * x, x), lambda x, y_bar: (SCALES["now"] * x * y_bar,))


@custom_jvp
def pushed(x):
    return x * x


@pushed.defjvp
def _(primals, tangents):
    (x,), (x_dot,) = primals, tangents
    return x * x, SCALES["now"] * x * x_dot


@checkpoint
def run_again(x):
    return x * np.sin(x) * SCALES["now"]


class Scaled:
    """A number-like object, which multiplies by its own code."""

    __array_ufunc__ = None

    def __mul__(self, other: Any) -> Any:
        return other * SCALES["now"]

    __rmul__ = __mul__


class Dispatching:
    """An object that answers NumPy's functions by its own code."""

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return SCALES["now"]


class GoesBackOnSmallScales(Handler):
    def back(self, step: Any, resume: Any) -> None:
        if SCALES["now"] < 3.0:
            resume()


def with_a_handler(x):
    with handling(GoesBackOnSmallScales()):
        return grad(lambda x: x * x)(x)


def by_a_callback(x):
    return np.apply_along_axis(lambda row: np.sum(row * row) * SCALES["now"], 0, x * np.ones(3))


PROGRAMS = {
    "a pullback": grad(pulled),
    "a pullback under another derivative": grad(grad(lambda x: pulled(x) * x)),
    "a pullback in a Hessian": lambda x: hessian(lambda v: np.sum(pulled(v) * v))(x * np.ones(2)),
    "a pullback in a Jacobian": lambda x: jacobian(lambda v: pulled(v) * v)(x * np.ones(2)),
    "a pushforward": lambda x: jvp(pushed, (x,), (1.0,)),
    "the pullback of a pushforward": grad(pushed),
    "a function that runs again": grad(run_again),
    "a function that runs again in a function": lambda x: grad(lambda x: run_again(x) * x)(x),
    "an operator of a class": grad(lambda x: (x * x) * Scaled()),
    "an operator of a class on the left": grad(lambda x: Scaled() * (x * x)),
    "a function of NumPy's": grad(lambda x: x * x * np.linalg.norm(Dispatching())),
    "a callback": by_a_callback,
    "a callback in a derivative": grad(by_a_callback),
    "a handler": with_a_handler,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_read_in_code_that_the_library_calls(name, monkeypatch):
    program = PROGRAMS[name]
    before = program(3.0)
    f = staged(program)
    for _ in range(4):
        np.testing.assert_array_equal(f(3.0), before)
    monkeypatch.setitem(SCALES, "now", 5.0)
    after = program(3.0)
    assert not np.array_equal(after, before)
    np.testing.assert_array_equal(f(3.0), after)
