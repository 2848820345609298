"""What errors about arguments and results tell a program to do is done here: the wrong program raises it."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree
import pytest

from shiftreset_ad import (
    ControlError,
    checkpoint,
    elementwise_grad,
    grad,
    jacobian,
    jvp,
    reset,
    shift,
    value_and_grad,
    vjp,
)
from tests.remedies import not_done, require_remedies

X = np.array([0.3, 0.7])
CUBES = 3.0 * X**2  # the gradient of the sum of the cubes, by each right program
Z = X + 0.5j


def cubes(x: Any) -> Any:
    return x**3


def total(x: Any) -> Any:
    return np.sum(x**3)


def by_vjp(f: Any, x: Any = X) -> Any:
    y, pullback = vjp(f, x)
    return pullback(np.ones_like(y))[0]


class Pair:
    """A class that optree does not know."""

    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y


class KnownPair(Pair):
    """One that it does."""


optree.register_pytree_node(
    KnownPair,
    lambda pair: ((pair.x, pair.y), None),  # type: ignore[arg-type, return-value]
    lambda _, parts: KnownPair(*parts),
    namespace="shiftreset_ad",
)


def of_a_pair(kind: Any) -> Any:
    _, pullback = vjp(lambda x: kind(x**3, x), X)
    return pullback(KnownPair(np.ones(2), None))[0]


def resumed(is_inside: bool) -> Any:
    kept: list[Any] = []

    def inner() -> Any:
        return jvp(lambda x: x * shift(lambda k: kept.append(k) or 0.0), (2.0,), (1.0,))[1]

    def f(y: Any) -> Any:
        if is_inside:
            reset(inner)
        return kept.pop()(np.sum(y**3))

    reset(inner)
    if is_inside:
        kept.clear()
    return grad(f)(X)


def appending(is_new: bool) -> Any:
    def f(xs: Any) -> Any:
        if is_new:
            return [*xs, xs[0] ** 2]
        xs.append(xs[0] ** 2)
        return xs

    def h(x: Any) -> Any:
        first, second = checkpoint(f)([x])
        return np.sum(first * second)

    return grad(h)(X)


# The wrong program, what the error says, and programs that do what it says.
PROGRAMS: dict[str, tuple[Any, str, tuple[Any, ...]]] = {
    "no function": (
        lambda: grad(total(X))(X),
        "which cannot be called; give it a function",
        (lambda: grad(total)(X),),
    ),
    "by name": (
        lambda: grad(total)(x=X),
        "pass the arguments to differentiate by position",
        (lambda: grad(total)(X),),
    ),
    "nothing to differentiate": (
        lambda: jacobian(lambda x: 3)(X),
        "return one (is a return statement missing, or an integer to be converted by float(y)?)",
        (lambda: jacobian(total)(X), lambda: CUBES + jacobian(lambda x: float(3))(X)),
    ),
    "not element by element": (
        lambda: elementwise_grad(lambda x: np.sum(cubes(x)))(X),
        "; use jacobian, or vjp, and grad where it is one scalar",
        (lambda: jacobian(total)(X), lambda: by_vjp(total), lambda: grad(total)(X)),
    ),
    "derivatives that are not nested": (
        lambda: resumed(False),
        "keep the continuation inside the derivative around it",
        (lambda: resumed(True),),
    ),
    "an array": (
        lambda: grad(cubes)(X),
        "reduce the result, with numpy.sum say, or use jacobian or vjp",
        (lambda: grad(total)(X), lambda: np.diag(jacobian(cubes)(X)), lambda: by_vjp(cubes)),
    ),
    "a pair": (
        lambda: grad(lambda x: (total(x), x))(X),
        "return one number, with has_aux=True for more beside it, or use jacobian or vjp",
        (
            lambda: grad(total)(X),
            lambda: value_and_grad(lambda x: (total(x), x), has_aux=True)(X)[1],
            lambda: jacobian(lambda x: (total(x), x))(X)[0],
            lambda: vjp(lambda x: (total(x), x), X)[1]((1.0, None))[0],
        ),
    ),
    "a real argument of a holomorphic function": (
        lambda: grad(total, holomorphic=True)(X),
        "convert it: complex(x), x.astype(complex)",
        (
            lambda: np.real(grad(total, holomorphic=True)(X.astype(complex))),
            lambda: np.real([grad(cubes, holomorphic=True)(complex(x)) for x in X]),
        ),
    ),
    "a complex result": (
        lambda: grad(lambda x: total(x + 0j))(X),
        "return its real part, or its absolute value, or give holomorphic=True",
        (
            lambda: grad(lambda x: np.real(total(x + 0j)))(X),
            lambda: grad(lambda x: np.abs(total(x + 0j)))(X),
            lambda: np.real(grad(lambda x: total(x + 0j), holomorphic=True)(X + 0j)),
        ),
    ),
    "a Jacobian by complex numbers": (
        lambda: jacobian(cubes)(X + 0j),
        "the complex derivative of a holomorphic function, and use jvp or vjp for any other function",
        (
            lambda: np.real(np.diag(jacobian(cubes, holomorphic=True)(X + 0j))),
            lambda: np.real(jvp(cubes, (X + 0j,), (np.ones(2) + 0j,))[1]),
            lambda: np.real(by_vjp(cubes, X + 0j)),
        ),
    ),
    "a list that is changed": (
        lambda: appending(False),
        "and it has numbers in it that are being differentiated. Make a new object, and return",
        (lambda: appending(True),),
    ),
    "an argument of another type": (
        lambda: grad(lambda name, x: total(x))("x", X),
        "pass floats, arrays of floats, or structures of them, or choose other arguments by argnums",
        (
            lambda: grad(lambda name, x: total(x), argnums=1)("x", X),
            lambda: grad(lambda given: total(given["x"]))({"name": "x", "x": X})["x"],
        ),
    ),
    "integers": (
        lambda: grad(total)(np.array([1, 2])),
        "which has no derivative; convert it: float(x), x.astype(float)",
        (
            lambda: grad(total)(np.array([1, 2]).astype(float)) * CUBES / [3.0, 12.0],
            lambda: grad(cubes)(float(1)) * CUBES / 3.0,
        ),
    ),
    "a result of an unknown class": (
        lambda: of_a_pair(Pair),
        "return floats, arrays, or structures of them, and register a class of your own with optree",
        (
            lambda: of_a_pair(KnownPair),
            lambda: vjp(lambda x: {"cubes": x**3, "more": [x, 1.0]}, X)[1]({"cubes": np.ones(2), "more": [None, None]})[
                0
            ],
        ),
    ),
    "a tangent of a string": (
        lambda: jvp(lambda given: total(given["x"]), ({"name": "x", "x": X},), ({"name": 1.0, "x": X},)),
        "which has no derivative; give None",
        (lambda: along_units(lambda d: ({"name": None, "x": d},)),),
    ),
    "a complex tangent": (
        lambda: jvp(total, (X,), (Z,)),
        "is complex, and belongs to a real number; give its real part",
        (lambda: [jvp(total, (X,), (np.real(d + 0.5j),))[1] for d in np.eye(2)],),
    ),
}


def along_units(tangents: Any) -> Any:
    return [jvp(lambda given: total(given["x"]), ({"name": "x", "x": X},), tangents(d))[1] for d in np.eye(2)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_errors_say(name: str) -> None:
    wrong, said, rights = PROGRAMS[name]
    require_remedies(wrong, said, rights, CUBES, (TypeError, ValueError, ControlError))


def test_each_message_has_a_program() -> None:
    of_graphs = "Install Graphviz, or use the text, {}.dot"  # done in `test_graphviz.py`
    assert not_done("boundary", [of_graphs, *(said for _, said, _ in PROGRAMS.values())]) == []
