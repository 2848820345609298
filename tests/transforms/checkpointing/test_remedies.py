"""What errors of checkpoints tell a program to write is done here: the wrong program raises it, the other is right."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import (
    ControlError,
    EscapedNumberError,
    checkpoint,
    checkpointed_loop,
    fuse,
    grad,
    jacobian,
    linearize,
    value,
    vjp,
)
from tests.remedies import not_done, require_remedies

X = np.array([0.3, 0.7])
CUBES = 3.0 * X**2
STEPS = 4


def of_cubes(program: Any) -> Any:
    """The gradient of the sum of the cubes, as the program computes it."""
    return grad(lambda x: np.sum(program(x)))(X)


# Checkpoints


def with_a_buffer(is_inside: bool, is_copied: bool = False) -> Any:
    outside = np.empty(2)

    def f(x: Any) -> Any:
        buffer = np.empty(2) if is_inside else outside.copy() if is_copied else outside
        np.multiply([1.0, 1.0], 3.0, out=buffer)
        return x**3 + x - x * buffer / 3.0

    return of_cubes(checkpoint(f))


def left_elsewhere(how: str) -> Any:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append(value(x * x) if how == "value" else x * x)
        return (x, x * x) if how == "returned" else x

    def h(x: Any) -> Any:
        if how == "returned":
            y, square = checkpoint(f)(x)
            return y * square
        y = checkpoint(f)(x)
        return y * y * y + 0.0 * seen[-1]

    return of_cubes(h)


def random_factor(is_outside: bool) -> Any:
    generator = np.random.default_rng(0)

    def h(x: Any) -> Any:
        if is_outside:
            factor = generator.random()
            return checkpoint(lambda x, factor: x**3 * factor)(x, factor) / factor
        return checkpoint(lambda x: x**3 * generator.random())(x)

    return of_cubes(h)


def held(is_argument: bool) -> Any:
    def h(x: Any) -> Any:
        model = SimpleNamespace(square=x * x)
        if is_argument:
            return checkpoint(lambda x, square: x * square)(x, model.square)
        return checkpoint(lambda x: x * model.square)(x)

    return of_cubes(h)


def pulled_back(is_inside: bool, operator: Any) -> Any:
    """The pullback of a function that closes over a number."""

    def h(x: Any) -> Any:
        square = x * x
        if is_inside:
            return checkpoint(lambda u: linear_map(operator, square, u)(u))(x)
        linear = linear_map(operator, square, x)
        return checkpoint(lambda u: linear(u))(x)

    return of_cubes(h)


def linear_map(operator: Any, square: Any, at: Any) -> Any:
    _, linear = operator(lambda u: square * u, at)

    def mapped(u: Any) -> Any:
        answer = linear(u)
        return answer[0] if isinstance(answer, tuple) else answer

    return mapped


POWER = 3.0


def of_a_global(how: str) -> Any:
    def with_power(power: float) -> Any:
        return lambda x: x**power

    def h(x: Any) -> Any:
        global POWER
        POWER = 3.0
        if how == "argument":
            y = checkpoint(lambda x, power: x**power)(x, POWER)
        else:
            y = checkpoint(with_power(POWER) if how == "closure" else lambda x: x**POWER)(x)
        POWER = 4.0
        return y

    return of_cubes(h)


# Fusion


def fused(operator: Any) -> Any:
    def h(x: Any) -> Any:
        cubes = 0.0

        def f(x: Any) -> Any:
            nonlocal cubes
            cubes = x**3
            return np.sum(x)

        total = operator(f)(x)
        return cubes + 0.0 * total

    return of_cubes(h)


# Loops


def counted(is_state: bool) -> Any:
    def h(x: Any) -> Any:
        power = 1

        def assigning(k: int, y: Any) -> Any:
            nonlocal power
            power += 1
            return y * x if power < 4 else y

        def keeping(k: int, state: Any) -> Any:
            y, power = state
            return (y * x if power < 3 else y), power + 1

        if is_state:
            return checkpointed_loop(keeping, (x, 1), STEPS, 2)[0]
        return checkpointed_loop(assigning, x, STEPS, 2)

    return of_cubes(h)


PROGRAMS: dict[str, tuple[Any, str, tuple[Any, ...]]] = {
    "a buffer": (
        lambda: with_a_buffer(False),
        "Write to a copy, y = x.copy(), or make the array inside of the function",
        (lambda: with_a_buffer(True), lambda: with_a_buffer(False, True)),
    ),
    "a number left elsewhere": (
        lambda: left_elsewhere("number"),
        "Return it from the function, or keep its plain value with shiftreset_ad.value(x)",
        (lambda: left_elsewhere("returned"), lambda: left_elsewhere("value")),
    ),
    "random numbers": (
        lambda: random_factor(False),
        "draw random numbers outside of it, and pass them as arguments",
        (lambda: random_factor(True),),
    ),
    "a global variable that changes": (
        lambda: of_a_global("global"),
        "Make it an argument, or let the function close over it",
        (lambda: of_a_global("argument"), lambda: of_a_global("closure")),
    ),
    "a number in an object": (lambda: held(False), "Pass it as an argument", (lambda: held(True),)),
    "a pullback": (
        lambda: pulled_back(False, vjp),
        "A pullback of vjp and a linear map of linearize hold such numbers too: make them inside",
        (lambda: pulled_back(True, vjp),),
    ),
    "a linear map": (
        lambda: pulled_back(False, linearize),
        "make them inside the function",
        (lambda: pulled_back(True, linearize),),
    ),
    "a fused function that assigns": (
        lambda: fused(fuse),
        "and so has more than one result; use checkpoint",
        (lambda: fused(checkpoint),),
    ),
    "a fused function to an array": (
        lambda: of_cubes(fuse(lambda x: x**3)),
        "use checkpoint for any other value, or jacobian for the derivatives themselves",
        (lambda: of_cubes(checkpoint(lambda x: x**3)), lambda: np.diag(jacobian(lambda x: x**3)(X))),
    ),
    "a step that assigns": (lambda: counted(False), "make it a part of the state", (lambda: counted(True),)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_errors_say(name: str) -> None:
    wrong, said, rights = PROGRAMS[name]
    require_remedies(wrong, said, rights, CUBES, (TypeError, ValueError, ControlError, EscapedNumberError))


def test_each_message_has_a_program() -> None:
    assert not_done("transforms/checkpointing", [said for _, said, _ in PROGRAMS.values()]) == []
