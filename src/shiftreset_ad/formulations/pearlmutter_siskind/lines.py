"""Programs as they are printed in section 3 of Pearlmutter and Siskind 2008: lines that give values to variables.

    x1 = sin x0                   a definition
    x0_sens := 0.0                an assignment
    x0_sens +:= x1_sens           an assignment of a sum; (+):= if values may be structures
    (a, b) (+)= x_back x_sens     a new definition of a and of b: each is the sum of the old value and of a part
    g = fun b -> let ... in b     a function, with lines of its own

Lines that have no such functions run by `run`; `walk` runs those that have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from shiftreset_ad.formulations.language.interpreter import evaluate
from shiftreset_ad.formulations.language.names import free_variables, with_children
from shiftreset_ad.formulations.language.printer import show
from shiftreset_ad.formulations.language.terms import Term, Var

Pattern: TypeAlias = "str | tuple[Pattern, ...] | list[Pattern] | Function"  # a tuple is a pair
Variables: TypeAlias = dict[str, Any]
Annotation: TypeAlias = Callable[[object, str], str]


class Line(NamedTuple):
    """left = right; or another sign"""

    left: Pattern
    sign: str
    right: Term | Function

    def __str__(self) -> str:
        return _line(self, _plain, "")


@dataclass(eq=False)
class Function:
    """fun parameter -> let lines in result; it is the transform of `origin`, if it has one."""

    parameter: str
    lines: Sequence[Line]
    result: Pattern
    origin: Function | None = None

    def __str__(self) -> str:
        return text(self)


def bind(pattern: Pattern, sign: str, value: Any, variables: Variables, plus: Callable[[Any, Any], Any]) -> None:
    """Give a value, or a sum with it, to the variables of a pattern."""
    if isinstance(pattern, str):
        variables[pattern] = plus(variables[pattern], value) if "+" in sign else value
        return
    assert not isinstance(pattern, Function), "a function is no variable"
    for part, of_part in zip(pattern, value, strict=True):
        bind(part, sign, of_part, variables, plus)


def run(lines: Sequence[Line], variables: Mapping[str, Any], plus: Callable[[Any, Any], Any]) -> Variables:
    """The variables after these lines, none of which is a function with lines of its own."""
    found = dict(variables)
    for line in lines:
        assert isinstance(line.right, Term)
        bind(line.left, line.sign, evaluate(line.right, found), found, plus)
    return found


def text(function: Function, annotation: Annotation | None = None, indent: str = "") -> str:
    """The text of a function; `annotation` says what stands for a variable at the line, or function, where it is."""
    of, deeper = annotation or _plain, indent + "  "
    head = f"fun {of(function, function.parameter)} ->\n{deeper}"
    result = _pattern(function.result, lambda name: of(function.lines, name), of, deeper)
    if not function.lines:
        return head + result
    lines = f";\n{deeper}    ".join(_line(line, of, deeper + "    ") for line in function.lines)
    return f"{head}let {lines}\n{deeper}in {result}"


def _line(line: Line, of: Annotation, indent: str) -> str:
    def name_at_line(name: str) -> str:
        return of(line, name)

    right = (
        text(line.right, of, indent) if isinstance(line.right, Function) else show(_renamed(line.right, name_at_line))
    )
    return f"{_pattern(line.left, name_at_line, of, indent)} {line.sign} {right}"


def _pattern(pattern: Pattern, name: Callable[[str], str], of: Annotation, indent: str) -> str:
    match pattern:
        case str():
            return name(pattern)
        case Function():
            return text(pattern, of, indent)
    parts = ", ".join(_pattern(part, name, of, indent) for part in pattern)
    return f"[{parts}]" if isinstance(pattern, list) else f"({parts})"


def _renamed(term: Term, name: Callable[[str], str]) -> Term:
    if isinstance(term, Var):
        return Var(name(term.name))
    return with_children(term, lambda part: _renamed(part, name))


def _plain(_: object, name: str) -> str:
    return name


def unbound(function: Function, bound: Set[str] = frozenset()) -> set[str]:
    """The variables that a function uses and that nothing binds.

    >>> sorted(unbound(Function("x", [Line("y", "(+)=", Var("z"))], ("x", "y"))))
    ['y', 'z']
    """
    known, found = {*bound, function.parameter}, set()
    for line in function.lines:
        right = line.right
        found |= unbound(right, known) if isinstance(right, Function) else free_variables(right) - known
        if "+" in line.sign:
            found |= names(line.left) - known
        known |= names(line.left)
    return found | _unbound_in_result(function.result, known)


def _unbound_in_result(pattern: Pattern, known: Set[str]) -> set[str]:
    match pattern:
        case str():
            return {pattern} - known
        case Function():
            return unbound(pattern, known)
    return set().union(*(_unbound_in_result(part, known) for part in pattern))


def names(pattern: Pattern) -> set[str]:
    """The variables of a pattern.

    >>> sorted(names(("x", ["y", "z"])))
    ['x', 'y', 'z']
    """
    if isinstance(pattern, str):
        return {pattern}
    assert not isinstance(pattern, Function), "a function is no variable"
    return set().union(*map(names, pattern))
