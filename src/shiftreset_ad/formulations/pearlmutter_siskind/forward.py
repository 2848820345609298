"""The forward transform of a lambda term in A-normal form: the same code on bundles.

Pearlmutter and Siskind 2008 have it in section 2 for programs of steps, and say that their language has it, too. A
variable stands for a bundle, and keeps its name. Functions, pairs and `case` stay as they are. A constant becomes its
bundle with the tangent zero, and an arithmetic operation becomes a call of the same operation on bundles:

    fun x -> let c = 2.0 in let y = x * c in y      becomes      fun x -> let c = (2.0, 0.0) in let y = times_2 x in y

The code that comes out has no new constructs. So each of the two transforms can be applied to what the other has made.
A constant exponent is known here where the program has it. In code that reverse J has made it is a variable, and
the derivative of this code needs the slope by the exponent: for a negative number this is NaN.
"""

from __future__ import annotations

from shiftreset_ad.formulations.language.names import Names, with_children
from shiftreset_ad.formulations.language.terms import App, Const, Pair, Primitive, Term, Var
from shiftreset_ad.formulations.language.values import answer
from shiftreset_ad.formulations.pearlmutter_siskind.bundles import J_forward
from shiftreset_ad.formulations.pearlmutter_siskind.primitives import forward_arithmetic
from shiftreset_ad.formulations.pearlmutter_siskind.procedures import Binding, Procedure
from shiftreset_ad.formulations.structures import NUMBERS


def forward_transform(procedure: Procedure) -> Procedure:
    """The procedure on bundles."""
    constants = {name: b.value for name, b in procedure.bindings if isinstance(b, Const) and _is_number(b)}
    names = Names(used={procedure.parameter, *procedure.free, *(name for name, _ in procedure.bindings)})
    bindings: list[tuple[str, Binding]] = []
    for name, binding in procedure.bindings:
        match binding:
            case Procedure():
                bindings.append((name, binding.forward))
            case Primitive():
                bindings += _operation(name, binding, constants, names)
            case _:
                bindings.append((name, _on_bundles(binding)))
    name = f"{procedure.name} on bundles" if procedure.name else ""
    image = Procedure(procedure.parameter, bindings, procedure.result, name=name, primal=procedure)
    image.free = procedure.free  # the order of the values in a closure
    return image


def _operation(name: str, binding: Primitive, constants: dict[str, float], names: Names) -> list[tuple[str, Binding]]:
    """An operation as a call; its constants are part of the function that is called."""
    known = tuple(_known(operand, constants) for operand in binding.operands)
    if None not in known:
        return [(name, Const(J_forward(answer(binding, *known))))]
    *firsts, argument = [operand for operand, constant in zip(binding.operands, known, strict=True) if constant is None]
    bindings: list[tuple[str, Binding]] = []
    for operand in reversed(firsts):
        operands = names.fresh("operands")
        bindings.append((operands, Pair(operand, argument)))
        argument = Var(operands)
    return [*bindings, (name, App(Const(forward_arithmetic(binding.function, known)), argument))]


def _known(operand: Term, constants: dict[str, float]) -> float | None:
    if isinstance(operand, Var):
        return constants.get(operand.name)
    assert isinstance(operand, Const)
    return operand.value  # type: ignore[no-any-return]


def _is_number(constant: Const) -> bool:
    return isinstance(constant.value, NUMBERS)


def _on_bundles(binding: Term) -> Term:
    if isinstance(binding, Const):
        return Const(J_forward(binding.value))
    return with_children(binding, _on_bundles)
