"""Give a kind of number its operators, from the table of elementwise rules."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.numbers.dispatch import KINDS
from shiftreset_ad.numbers.number import ZERO, Number
from shiftreset_ad.numbers.writing import in_place
from shiftreset_ad.rules import ELEMENTWISE, Elementwise

# For each of Python's operators, the elementwise function that has the rule, and the function that computes the value.
# The second function keeps Python's behaviour for floats, such as ZeroDivisionError.
BINARY_OPERATORS: dict[str, tuple[str, np.ufunc, Callable[[Any, Any], Any]]] = {
    "add": ("+", np.add, operator.add),
    "sub": ("-", np.subtract, operator.sub),
    "mul": ("*", np.multiply, operator.mul),
    "truediv": ("/", np.divide, operator.truediv),
    "mod": ("%", np.remainder, operator.mod),
    "pow": ("**", np.power, operator.pow),
}


UNARY_OPERATORS: dict[str, tuple[np.ufunc, Callable[[Any], Any]]] = {
    "neg": (np.negative, operator.neg),
    "pos": (np.positive, operator.pos),
    "abs": (np.absolute, operator.abs),
}


def install_operators(
    kind: type[Number], make_operation: Callable[[Elementwise, Callable[..., Any]], Callable[..., Any]]
) -> None:
    """Give a class of numbers its operations, which `make_operation(rule, function)` makes from the rule's partials.

    The operations are the methods themselves, so an operator costs one Python frame.
    """

    def reflected(operate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        return lambda self, other: operate(other, self)

    KINDS[kind] = make_operation
    kind.operations = {function: make_operation(rule, function) for function, rule in ELEMENTWISE.items()}
    for name, (symbol, ufunc, python_operator) in BINARY_OPERATORS.items():
        operate = make_operation(ELEMENTWISE[ufunc], python_operator)
        setattr(kind, f"__{name}__", operate)
        setattr(kind, f"__r{name}__", reflected(operate))
        setattr(kind, f"__i{name}__", in_place(operate, symbol))

    def added_to(self: Number, other: Any) -> Any:
        return self if other is ZERO else operate_sum(other, self)  # the first contribution to an adjoint

    operate_sum = make_operation(ELEMENTWISE[np.add], operator.add)
    kind.__radd__ = added_to  # type: ignore[attr-defined]
    for name, (ufunc, python_function) in UNARY_OPERATORS.items():
        setattr(kind, f"__{name}__", make_operation(ELEMENTWISE[ufunc], python_function))
