"""Which digits of the particle are rounding: the published program, on dual numbers of its own, in 50 digits.

The dual numbers have the authors' rules, and nothing of this library. In floats they give the answer that is recorded
in the Stalingrad distribution, and in decimals the answer without rounding. `examples/nested_modes.py` has both.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from tests.test_examples import EXAMPLES

STALINGRAD = 0.20719187464861197  # recorded in examples/automatic/particle.vlad
WITHOUT_ROUNDING = Decimal("0.20719187464861093669262276620685548691987182773526")


class Dual:
    """A number with a perturbation; the newer of two perturbations has the greater `level`."""

    levels = 0

    def __init__(self, level: int, primal: Any, perturbation: Any) -> None:
        self.level, self.primal, self.perturbation = level, primal, perturbation


def level_of(x: Any) -> int:
    return x.level if isinstance(x, Dual) else 0


def plain(x: Any) -> Any:
    return plain(x.primal) if isinstance(x, Dual) else x


def lifted(function: Callable[..., Any], *partials: Callable[..., Any]) -> Callable[..., Any]:
    """A function of plain numbers as a function of dual numbers."""

    def operate(*xs: Any) -> Any:
        level = max(map(level_of, xs))
        if not level:
            return function(*xs)
        primals = [x.primal if level_of(x) == level else x for x in xs]
        shares = [
            product(partial(*primals), x.perturbation)
            for x, partial in zip(xs, partials, strict=True)
            if level_of(x) == level
        ]
        return Dual(level, operate(*primals), shares[0] if len(shares) == 1 else plus(*shares))

    return operate


plus = lifted(lambda a, b: a + b, lambda a, b: 1, lambda a, b: 1)
minus = lifted(lambda a, b: a - b, lambda a, b: 1, lambda a, b: -1)
product = lifted(lambda a, b: a * b, lambda a, b: b, lambda a, b: a)
quotient = lifted(lambda a, b: a / b, lambda a, b: quotient(1, b), lambda a, b: minus(0, quotient(a, product(b, b))))
root = lifted(
    lambda x: x.sqrt() if isinstance(x, Decimal) else math.sqrt(x), lambda x: quotient(1, product(2, root(x)))
)


def gradient(f: Callable[[list[Any]], Any]) -> Callable[[list[Any]], list[Any]]:
    def gradient_of_f(x: list[Any]) -> list[Any]:
        Dual.levels += 1
        level = Dual.levels
        answers = [f([Dual(level, a, 1) if i == j else a for j, a in enumerate(x)]) for i in range(len(x))]
        Dual.levels -= 1
        return [y.perturbation if level_of(y) == level else 0 for y in answers]

    return gradient_of_f


def each(operate: Callable[..., Any], u: list[Any], v: list[Any]) -> list[Any]:
    return [operate(a, b) for a, b in zip(u, v, strict=True)]


def scaled(factor: Any, x: list[Any]) -> list[Any]:
    return [product(factor, a) for a in x]


def magnitude(x: list[Any]) -> Any:
    total: Any = 0
    for a in reversed(x):
        total = plus(product(a, a), total)
    return root(total)


def square_of_landing(w: Any, number: Callable[[float], Any]) -> Any:
    charges = [[number(10.0), minus(number(10.0), w)], [number(10.0), number(0.0)]]

    def potential(x: list[Any]) -> Any:
        near, far = (quotient(number(1.0), magnitude(each(minus, charge, x))) for charge in charges)
        return plus(near, far)

    x, velocity, step = [number(0.0), number(8.0)], [number(0.75), number(0.0)], number(0.1)
    while True:
        acceleration = scaled(-1, gradient(potential)(x))
        there = each(plus, x, scaled(step, velocity))
        if plain(there[1]) <= 0:
            end = quotient(minus(0, x[1]), velocity[1])
            landing = each(plus, x, scaled(end, velocity))[0]
            return product(landing, landing)
        x, velocity = there, each(plus, velocity, scaled(step, acceleration))


def particle(number: Callable[[float], Any]) -> Any:
    """The published descent, in numbers that `number` makes of the constants of the program."""
    small, step, successes, x = number(1e-5), number(1e-5), 0, [number(0.0)]

    def f(x: list[Any]) -> Any:
        return square_of_landing(x[0], number)

    f_x, slope = f(x), gradient(f)(x)
    while magnitude(slope) > small:
        if successes == 10:
            step, successes = 2 * step, 0
        there = each(minus, x, scaled(step, slope))
        if magnitude(each(minus, x, there)) <= small:
            break
        f_there = f(there)
        if f_there < f_x:
            x, f_x, slope, successes = there, f_there, gradient(f)(there), successes + 1
        else:
            step, successes = step / 2, 0
    return x[0]


@pytest.mark.slow
def test_the_last_digits_of_the_particle_are_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    with decimal.localcontext(prec=50):
        assert abs(particle(Decimal) - WITHOUT_ROUNDING) < Decimal("1e-45")
    assert particle(float) == pytest.approx(STALINGRAD, rel=2e-15)
    monkeypatch.syspath_prepend(EXAMPLES)
    nested_modes = __import__("nested_modes")
    exact = float(WITHOUT_ROUNDING)
    rounding = abs(nested_modes.KNOWN["particle"] - exact)
    for outer, inner in ("ff", "rr"):
        found = nested_modes.particle(nested_modes.MODES[outer], nested_modes.MODES[inner])
        assert abs(found - exact) <= rounding
