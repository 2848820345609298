"""A procedure is a lambda term in A-normal form, as a list of bindings. The interpreter runs it; `J` transforms it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

from shiftreset_ad.formulations.language.names import free_variables, with_children
from shiftreset_ad.formulations.language.recursion import Recursion, answer_of
from shiftreset_ad.formulations.language.terms import (
    App,
    Assign,
    Case,
    Const,
    Deref,
    Lam,
    Let,
    Ref,
    Reset,
    Shift,
    Term,
    Var,
    children,
)

# A lambda term, or a construct applied to variables; constants, such as `J`, may be in the places of variables.
Binding: TypeAlias = "Term | Procedure"


@dataclass(eq=False)
class Procedure:
    """fun parameter -> let name = binding in ... in result

    `free` are the free variables in order: the values of a closure, and its sensitivity, have this order.
    """

    parameter: str
    bindings: list[tuple[str, Binding]]
    result: str
    origin: Procedure | None = None  # this is the reverse transform of `origin`
    name: str = ""  # of a primitive
    primal: Procedure | None = None  # this is the forward transform of `primal`
    free: tuple[str, ...] = field(init=False)
    # They are set to the transforms of `reverse` and `forward`: `J` and its transform need each other.
    transform: ClassVar[Callable[[Procedure], Procedure]]
    forward_transform: ClassVar[Callable[[Procedure], Procedure]]

    def __post_init__(self) -> None:
        bound = {self.parameter, *(name for name, _ in self.bindings)}
        used = [name for _, binding in self.bindings for name in variables_of(binding)]
        self.free = tuple(name for name in dict.fromkeys([*used, self.result]) if name not in bound)

    @cached_property
    def image(self) -> Procedure:
        """The reverse transform of this lambda term."""
        for procedure in self._inside("image"):
            _ = procedure.image
        return self.transform()

    @cached_property
    def forward(self) -> Procedure:
        """The forward transform of this lambda term."""
        for procedure in self._inside("forward"):
            _ = procedure.forward
        return self.forward_transform()

    def _inside(self, known: str) -> Iterable[Procedure]:
        """The lambda terms inside of which this is not known yet; the innermost first, so calls do not nest."""
        inside = [self]
        for procedure in inside:
            inside += [b for _, b in procedure.bindings if isinstance(b, Procedure) and known not in vars(b)]
        return reversed(inside[1:])

    @property
    def term(self) -> Lam:
        """The lambda term in the core language."""
        return answer_of(_term(self))


def _term(procedure: Procedure) -> Recursion[Lam]:
    body: Term = Var(procedure.result)
    for name, binding in reversed(procedure.bindings):
        body = Let(name, (yield _term(binding)) if isinstance(binding, Procedure) else binding, body)
    return Lam(procedure.parameter, body)


def variables_of(binding: Binding) -> tuple[str, ...]:
    """The variables that a binding uses."""
    if isinstance(binding, Procedure):
        return binding.free
    return tuple(operand.name for operand in operands_of(binding) if isinstance(operand, Var))


def operands_of(binding: Term) -> tuple[Term, ...]:
    """The operands of a construct, from left to right; for a `case`, its scrutinee and its two functions."""
    match binding:
        case Case(scrutinee, _, App(on_left), _, App(on_right)):
            return scrutinee, on_left, on_right
    return children(binding)


def procedure(function: Lam, constants: Mapping[str, Any]) -> Procedure:
    """A lambda term in A-normal form as a procedure; `constants` replace free variables with their names.

    Raises TypeError for a construct that the transform does not cover.
    """
    free = free_variables(function) & constants.keys()
    return answer_of(_procedure(function, {name: Const(constants[name]) for name in free}))


def _procedure(function: Lam, constants: Mapping[str, Const]) -> Recursion[Procedure]:
    bindings: list[tuple[str, Binding]] = []
    body: Term = function.body
    while isinstance(body, Let):
        bindings.append((body.name, (yield _binding(body.value, constants))))
        body = body.body
    assert isinstance(body, Var), "the term is not in A-normal form"
    if body.name in constants:
        bindings.append((body.name, constants[body.name]))
    return Procedure(function.parameter, bindings, body.name)


def _binding(binding: Term, constants: Mapping[str, Const]) -> Recursion[Binding]:
    match binding:
        case Lam():
            inner: Procedure = yield _procedure(binding, constants)
            return inner
        case Ref() | Deref() | Assign() | Shift() | Reset():
            raise TypeError(
                f"the program has {type(binding).__name__.lower()} in it; the transform of Pearlmutter and Siskind is "
                "for programs without references, shift and reset: use a formulation of Wang et al. for this program"
            )
    return _with_constants(binding, constants)


def _with_constants(binding: Term, constants: Mapping[str, Const]) -> Term:
    if isinstance(binding, Var):
        return constants.get(binding.name, binding)
    return with_children(binding, lambda child: _with_constants(child, constants))
