"""The expressions that stand for steps in Python source, and the names of the constants in them."""

from __future__ import annotations

import builtins
import math
import operator
from collections import Counter
from collections.abc import Mapping
from keyword import iskeyword
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.python.idle import like
from shiftreset_ad.staging.python.lowering import lowered
from shiftreset_ad.staging.steps.functions import INFIX, PREFIX, Attribute, Method
from shiftreset_ad.staging.steps.trace import NOTHING, Step, Trace, identical
from shiftreset_ad.staging.steps.values import Staged, is_staged

LARGEST = 2**63  # integers from this size on are constants with a name


class Expressions:
    """Expressions in terms of the variables of values. `names` are the constants of the source."""

    def __init__(self, trace: Trace, left: Eliminated) -> None:
        self.trace = trace
        self.left = left
        self.names: dict[str, Any] = {"errstate": np.errstate, "is_same": is_same, "ndarray": ndarray}
        self.errors: Any = trace.errors
        self.variables: dict[int, str] = {}
        self.parts: dict[int, tuple[str, bool]] = {}  # expressions for the next line; does it need no parentheses?
        self.read: Counter[int] = Counter()  # how often the line has each of them
        self._named: dict[int, str] = {}

    def expression(self, step: Step) -> tuple[str, bool]:
        """The expression for a step, and whether it needs no parentheses inside another expression."""
        function, args, kwargs = lowered(step, self.trace)
        if not kwargs and len(args) == 2 and function in INFIX:
            return f"{self.operand(args[0])} {INFIX[function]} {self.operand(args[1])}", False
        if not kwargs and len(args) == 1 and function in PREFIX:
            return f"{PREFIX[function]}{self.operand(args[0])}", False
        return self.look_up_or_call(function, args, kwargs), True

    def look_up_or_call(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        if function is operator.getitem:
            return f"{self.operand(args[0])}[{self.argument(args[1])}]"
        if type(function) is Attribute:
            return f"{self.operand(args[0])}.{function.__name__}"
        options = [option(name, self.argument(arg)) for name, arg in kwargs.items()]
        if type(function) is Method:
            given = [self.argument(arg) for arg in args[1:]]
            return f"{self.operand(args[0])}.{function.__name__}({', '.join(given + options)})"
        given = [self.argument(arg) for arg in args]
        return f"{self.constant(function)}({', '.join(given + options)})"

    def operand(self, x: Any) -> str:
        """An expression for an argument, in parentheses where they are needed."""
        is_whole = True
        if type(x) is Staged:
            _, is_whole = self.parts.get(self.left.place(x), ("", True))
        return self.argument(x) if is_whole else f"({self.argument(x)})"

    def argument(self, x: Any) -> str:
        """An expression for an argument between commas."""
        kind = type(x)
        if kind is Staged:
            place = self.left.place(x)
            if x._place in self.left.fixed:
                return self.argument(x.inside)
            if place in self.parts:
                self.read[place] += 1
                return self.parts[place][0]
            return self.variables[place]
        if kind is not float and kind is not int and is_staged(x):
            if kind is slice:
                return f"slice({self.argument(x.start)}, {self.argument(x.stop)}, {self.argument(x.step)})"
            parts = "".join([f"{self.argument(part)}, " for part in x])
            return f"({parts})" if kind is tuple else f"[{parts}]"
        if x is None or kind is bool:
            return repr(x)
        if (kind is float and math.isfinite(x)) or (kind is int and abs(x) < LARGEST):
            return repr(x) if math.copysign(1.0, x) > 0.0 else f"({x!r})"
        return self.constant(x)

    def constant(self, x: Any) -> str:
        """The name of a constant."""
        name = self._named.get(id(x))
        if name is None:
            readable = readable_name(x)
            name = readable if readable.isidentifier() and readable not in self.names else f"c{len(self._named)}"
            self._named[id(x)] = name
            self.names[name] = x
        return name

    def likeness(self, name: str, answer: Any) -> str:
        """The test whether the value of a variable has the type, the shape and the dtype of this answer."""
        kind = type(answer)
        if kind is ndarray:
            of_its_type = f"type({name}) is ndarray and {name}.shape == {answer.shape}"
        else:
            of_its_type = f"type({name}) is {self.constant(kind)}"
        if isinstance(answer, tuple | list):
            return f"{of_its_type} and len({name}) == {len(answer)}"
        if isinstance(answer, ndarray | np.generic):
            of_its_type += f" and {name}.dtype == {self.constant(answer.dtype)}"
        if kind is ndarray:
            of_its_type += f" and {name}.strides == {answer.strides}"
        return of_its_type

    def test(self, expression: str, expected: Any) -> str:
        """The test whether the answer to a question is the same as before."""
        if expected is None or expected is True or expected is False:
            return f"({expression}) is {expected}"
        return f"is_same({expression}, {self.constant(expected)})"


def asked(step: Step, expected: Any) -> Step:
    """A question without its arguments, which would keep the whole trace alive."""
    known = Step(step.place, step.function, (), NOTHING, None)
    known.site, known.expected = step.site, expected
    return known


def known_of(answer: Any) -> Any:
    """What the program knows of the answer of a step that is open-ended."""
    return (type(answer), len(answer)) if isinstance(answer, tuple | list) else like(answer)


def reactions(errors: Mapping[str, str]) -> str:
    """Reactions to floating-point errors, as options of `errstate`."""
    alike = set(errors.values())
    given = {"all": alike.pop()} if len(alike) == 1 else errors
    return ", ".join(f"{name}={reaction!r}" for name, reaction in given.items())


def readable_name(x: Any) -> str:
    """The name of a function in the source; "" for anything else, and for a name that could be a variable."""
    own = getattr(x, "__name__", "") if callable(x) else ""
    of_ufunc = getattr(x, "__self__", None)
    name = f"{of_ufunc.__name__}_{own}" if isinstance(of_ufunc, np.ufunc) else own
    return "" if iskeyword(name) or getattr(builtins, name, x) is not x or name[1:].isdigit() else name


def option(name: str, expression: str) -> str:
    """An option in a call. Its name may be no identifier."""
    return f"{name}={expression}" if name.isidentifier() and not iskeyword(name) else f"**{{{name!r}: {expression}}}"


def is_same(x: Any, expected: Any) -> bool:
    """Whether the answer to a question is the same: NaN equals NaN, and 0.0 differs from -0.0."""
    if type(x) is not type(expected):
        return False
    if isinstance(x, ndarray | np.generic | float | complex):
        return identical(x, expected)
    return bool(x == expected)
