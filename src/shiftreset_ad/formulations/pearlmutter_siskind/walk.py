"""A walk through a transformed program writes the value of each variable beside it, as the slides of its authors do.

    x3_sens: 1        a number
    x2_sens: [1]      a list: the sensitivity of a function, with an entry for each of its free variables
    x2': fun c'       a function

The slides of Pearlmutter and Siskind, NJPLS 2005, are named "Free Variables": Bug I to XIV, Correct Operation I to IX.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftreset_ad.formulations.language.interpreter import evaluate
from shiftreset_ad.formulations.language.terms import Term
from shiftreset_ad.formulations.pearlmutter_siskind.as_printed import CONSTANTS, Version, free_of, transformed
from shiftreset_ad.formulations.pearlmutter_siskind.lines import Function, Pattern, Variables, bind, text


class Walk:
    """Runs of a transform of one function: `values` has the variables at each line where a run came by."""

    def __init__(self, function: Function, version: Version) -> None:
        self.version = version
        self.function = transformed(function, version)
        self.values: dict[int, Variables] = {}

    def __call__(self, x: float, sensitivity: float) -> tuple[Any, Any]:
        """The answer for `x`, and what its backpropagator returns.

        >>> from shiftreset_ad.formulations.pearlmutter_siskind.as_printed import example
        >>> Walk(example(), Version.ZEROS)(4.0, 1.0), Walk(example(), Version.CORRECT)(4.0, 1.0)
        ((4.0, 0.0), (4.0, ([], 1.0)))
        """
        environment = {f"{name}'": value for name, value in CONSTANTS.items()}
        y, backpropagator = Closure(self, self.function, environment)(x)
        return y, backpropagator(sensitivity)

    def zero(self, value: Any) -> Any:
        """The sensitivity to start with. Before the third version, functions have no sensitivities: they get []."""
        if not isinstance(value, Closure):
            return 0.0
        free = free_of(value.function, CONSTANTS) if self.version is Version.CORRECT else []
        return [self.zero(value.environment[name]) for name in free]

    def annotated(self) -> str:
        """The program, with the values of the last run."""
        return text(self.function, self._annotation)

    def _annotation(self, place: object, name: str) -> str:
        at = self.values.get(id(place), {})
        return f"{name}: {shown(at[name])}" if name in at else name


class Closure:
    """A function with lines, in an environment."""

    def __init__(self, walk: Walk, function: Function, environment: Mapping[str, Any]) -> None:
        self.walk, self.function, self.environment = walk, function, environment

    def __call__(self, argument: Any) -> Any:
        function, values = self.function, self.walk.values
        variables = {**self.environment, function.parameter: argument}
        values[id(function)] = dict(variables)
        for line in function.lines:
            bind(line.left, line.sign, self._value(line.right, variables), variables, plus)
            values[id(line)] = dict(variables)
        values[id(function.lines)] = dict(variables)
        return self._result(function.result, variables)

    def _value(self, right: Term | Function, variables: Variables) -> Any:
        if isinstance(right, Function):
            return Closure(self.walk, right, variables)
        return evaluate(right, {**variables, "zero": self.walk.zero, "J_inverse": j_inverse})

    def _result(self, pattern: Pattern, variables: Variables) -> Any:
        match pattern:
            case str():
                return variables[pattern]
            case Function():
                return Closure(self.walk, pattern, variables)
        return type(pattern)(self._result(part, variables) for part in pattern)


def j_inverse(value: Any) -> Any:
    """The value that a transformed value stands for."""
    if not isinstance(value, Closure):
        return value
    origin = value.function.origin
    assert origin is not None, "only transformed functions are undone"
    return Closure(value.walk, origin, {name: j_inverse(value.environment[f"{name}'"]) for name in free_of(origin)})


def plus(a: Any, b: Any) -> Any:
    """The sum of two sensitivities: numbers, or lists of them."""
    return [plus(p, q) for p, q in zip(a, b, strict=True)] if isinstance(a, list) else a + b


def shown(value: Any) -> str:
    """The value beside a variable."""
    match value:
        case Closure():
            return f"fun {value.function.parameter}"
        case list():
            return f"[{', '.join(map(shown, value))}]"
    return f"{value:g}"
