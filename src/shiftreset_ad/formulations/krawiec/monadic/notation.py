"""Delta terms as text, as Krawiec et al. 2022 print them in Fig. 12.

The names of inputs are given. The bindings that follow are x1, x2, ... in their order.
"""

from __future__ import annotations

from collections.abc import Sequence

from shiftreset_ad.formulations.krawiec.monadic.delta import Add, Delta, DeltaId, Let, Scale, Var, Zero


def lines(delta: Delta, inputs: Sequence[str]) -> list[str]:
    """The lines of a Delta term, a line for each of its outermost bindings.

    >>> from shiftreset_ad.formulations.language.discrete import Integer
    >>> lines(Let(Integer(2), Scale(1.5, Var(Integer(1))), Var(Integer(2))), ["v"])
    ['Let x1 = Scale 1.5 (Var v) in', 'Var x1']
    """
    printed = []
    while isinstance(delta, Let):
        printed.append(f"Let {name(delta.uid, inputs)} = {text(delta.bound, inputs)} in")
        delta = delta.body
    return [*printed, text(delta, inputs)]


def text(delta: Delta, inputs: Sequence[str]) -> str:
    """A Delta term in one line; numbers have two decimals, without zeros at the end."""

    def operand(delta: Delta) -> str:
        return "Zero" if isinstance(delta, Zero) else f"({text(delta, inputs)})"

    match delta:
        case Scale(by, scaled):
            number = f"{by:.2f}".rstrip("0").rstrip(".")
            number = "-1.0" if number == "-1" else number
            return f"Scale {f'({number})' if by < 0 else number} {operand(scaled)}"
        case Add(left, right):
            return f"Add {operand(left)} {operand(right)}"
        case Var(uid):
            return f"Var {name(uid, inputs)}"
        case Let(uid, bound, body):
            return f"Let {name(uid, inputs)} = {text(bound, inputs)} in {text(body, inputs)}"
    return "Zero"


def name(uid: DeltaId, inputs: Sequence[str]) -> str:
    """The name of an input, or x1, x2, ..."""
    i = uid.value - 1
    return inputs[i] if i < len(inputs) else f"x{i - len(inputs) + 1}"
