"""The primitives of the language, and their transforms, which are code of the language themselves.

An operator `+` is the procedure `fun p -> fst p + snd p`; its transform is written here, and not derived. The partial
derivatives of arithmetic are in the library's table. In the texts, `s` is the sensitivity of the answer. A
backpropagator returns the sensitivities of its environment, which is empty, and of its argument: `((), ...)`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache, reduce
from typing import Any

from shiftreset_ad.formulations.language.anf import to_anf
from shiftreset_ad.formulations.language.derived import UNIT
from shiftreset_ad.formulations.language.parser import parse
from shiftreset_ad.formulations.language.symbols import partial_terms
from shiftreset_ad.formulations.language.terms import (
    Const,
    Fst,
    Lam,
    Let,
    Pair,
    Primitive,
    Snd,
    Term,
    Var,
)
from shiftreset_ad.formulations.language.values import require_pair
from shiftreset_ad.formulations.overloading import COMPARISONS
from shiftreset_ad.formulations.pearlmutter_siskind import bundles, values
from shiftreset_ad.formulations.pearlmutter_siskind.procedures import procedure
from shiftreset_ad.formulations.pearlmutter_siskind.values import Basic, Closure


def closure(name: str, term: Term) -> Closure:
    """The closure of a term whose free variables are all names of `BASIS`."""
    function = to_anf(term)
    assert isinstance(function, Lam)
    code = procedure(function, BASIS)
    code.name = name
    return Closure(code)


def basic(name: str, function: Callable[[Any], Any], transformed: str, forward: str) -> Basic:
    """A primitive, and the texts of its reverse and of its forward transform."""
    return Basic(
        name,
        function,
        lambda: closure(f"{name}'", parse(transformed)),
        lambda: closure(f"{name} on bundles", parse(forward)),
    )


# The polytypic operations. J and J_inverse are linear, and each undoes the other, also on the way back. The operations
# of forward mode are linear, too: they only put numbers together, and take them apart.

J = basic(
    "J",
    values.J,
    "fun x -> (J x, fun s -> ((), J_inverse s))",
    "fun x -> bundle (J (primal x), tangent x)",
)
J_INVERSE = basic(
    "J_inverse",
    values.J_inverse,
    "fun x -> (J_inverse x, fun s -> ((), J s))",
    "fun x -> bundle (J_inverse (primal x), tangent x)",
)
ZERO = basic(
    "zero",
    values.zero,
    "fun x -> (J (zero (J_inverse x)), fun s -> ((), zero (J_inverse x)))",
    "fun x -> J_forward (zero (primal x))",
)
PLUS = basic(
    "plus",
    lambda both: values.plus(*require_pair(both, "plus")),
    "fun p -> (plus p, fun s -> ((), (s, s)))",
    "fun p -> plus p",
)
J_FORWARD = basic(
    "J_forward",
    bundles.J_forward,
    "fun x -> (J (J_forward (J_inverse x)), fun s -> ((), primal s))",
    "fun x -> bundle (J_forward (primal x), J_forward (tangent x))",
)
BUNDLE = basic(
    "bundle",
    lambda both: bundles.bundle(*require_pair(both, "bundle")),
    "fun p -> (J (bundle (J_inverse p)), fun s -> ((), (primal s, tangent s)))",
    "fun p -> bundle (bundle (primal p), bundle (tangent p))",
)
PRIMAL = basic(
    "primal",
    bundles.primal,
    "fun x -> (J (primal (J_inverse x)), fun s -> ((), J_forward s))",
    "fun x -> bundle (primal (primal x), primal (tangent x))",
)
TANGENT = basic(
    "tangent",
    bundles.tangent,
    "fun x -> (J (tangent (J_inverse x)), fun s -> ((), bundle (zero s, s)))",
    "fun x -> bundle (tangent (primal x), tangent (tangent x))",
)

BASIS = {primitive.name: primitive for primitive in (J, J_INVERSE, ZERO, PLUS, J_FORWARD, BUNDLE, PRIMAL, TANGENT)}

OPERATORS = {
    "fst": (
        "fun p -> fst p",
        "fun p -> (fst p, fun s -> ((), (s, zero (J_inverse (snd p)))))",
    ),
    "snd": (
        "fun p -> snd p",
        "fun p -> (snd p, fun s -> ((), (zero (J_inverse (fst p)), s)))",
    ),
    "inl": (
        "fun v -> inl v",
        "fun v -> (inl v, fun s -> ((), case s of v -> v | v -> v))",
    ),
    "inr": (
        "fun v -> inr v",
        "fun v -> (inr v, fun s -> ((), case s of v -> v | v -> v))",
    ),
    # It takes a value and two functions, and calls one of them: in A-normal form, branches are functions.
    "case": (
        "fun p -> let (f, g) = snd p in case fst p of v -> f v | w -> g w",
        """
        fun p ->
          let (f, g) = snd p in
          case fst p of
            v ->
              let (y, back) = f v in
              (y, fun s -> let (f_sens, v_sens) = back s in ((), (inl v_sens, (f_sens, zero (J_inverse g)))))
          | w ->
              let (y, back) = g w in
              (y, fun s -> let (g_sens, w_sens) = back s in ((), (inr w_sens, (zero (J_inverse f), g_sens))))
        """,
    ),
}


def operator_of(binding: Term) -> Closure:
    """The function that a construct applies to its operands."""
    if isinstance(binding, Primitive):
        return arithmetic(binding.function, len(binding.operands))
    return construct(type(binding).__name__.lower())


@cache
def construct(name: str) -> Closure:
    """`fst`, `inl`, `case` and their kin."""
    operator, transformed = map(parse, OPERATORS[name])
    return with_image(name, operator, transformed)


@cache
def arithmetic(function: Callable[..., Any], arity: int) -> Closure:
    """An elementwise function of the table, or a comparison."""
    operands = [Var(f"x{i + 1}") for i in range(arity)]
    y, s = Var("y"), Var("s")
    if function in COMPARISONS:
        shares: list[Term] = [Const(values.ZERO) for _ in operands]
    else:
        shares = [s * slope for slope in partial_terms(function, y, *operands)]
    answer = Primitive(function, tuple(operands))
    backpropagator = Lam("s", Pair(UNIT, tuple_of(*shares)))
    transformed = taking(operands, Let("y", answer, Pair(y, backpropagator)))
    return with_image(function.__name__, taking(operands, answer), transformed)


@cache
def forward_arithmetic(function: Callable[..., Any], constants: tuple[float | None, ...]) -> Closure:
    """An elementwise function of the table on bundles. Its operands that are constants are not in its argument.

    A constant exponent has a simpler derivative, which a negative number has, too.
    """
    operands = [Var(f"x{i + 1}") if c is None else Const(c) for i, c in enumerate(constants)]
    bundled = [Var(f"x{i + 1}_bundle") for i, c in enumerate(constants) if c is None]
    answer: Term = Primitive(function, tuple(operands))
    if function not in COMPARISONS:
        slopes = partial_terms(function, Var("y"), *operands)
        shares = [slope * Var(f"x{i + 1}_dot") for i, slope in enumerate(slopes) if constants[i] is None]
        y_dot = reduce(operator.add, shares)
        answer = Let("y", answer, Pair(Var("y"), y_dot))
    for i, c in reversed(list(enumerate(constants))):
        if c is None:
            both = Var(f"x{i + 1}_bundle")
            answer = Let(f"x{i + 1}", Fst(both), Let(f"x{i + 1}_dot", Snd(both), answer))
    return closure(f"{function.__name__} on bundles", taking(bundled, answer))


def with_image(name: str, operator: Term, transformed: Term) -> Closure:
    """The operator, with this transform."""
    original, image = closure(name, operator), closure(f"{name}'", transformed)
    original.procedure.image = image.procedure
    image.procedure.origin = original.procedure
    return original


def taking(operands: list[Var], body: Term) -> Lam:
    """fun p -> body, with the operands in p: x1, (x1, x2), (x1, (x2, x3))."""
    *firsts, last = operands
    rest: Term = Var("p")
    lets: list[tuple[str, Term]] = []
    for operand in firsts:
        lets.append((operand.name, Fst(rest)))
        rest = Snd(rest)
    lets.append((last.name, rest))
    for name, part in reversed(lets):
        body = Let(name, part, body)
    return Lam("p", body)


def tuple_of(first: Term, *rest: Term) -> Term:
    """Operands as one argument."""
    return Pair(first, tuple_of(*rest)) if rest else first
