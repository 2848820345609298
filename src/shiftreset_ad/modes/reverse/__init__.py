"""Reverse mode: numbers whose operations capture the rest of the program, and go back.

*   `backpropagation`: the story, an operation, its capture, and the way back; `single`: with a single operand;
*   `number`: `NumR`; `elementwise`: its elementwise operations and `x[i]`;
*   `answers`: what the answer of an operation becomes; `borders`: where values enter a program, and leave it;
*   `adjoints`: where contributions are added up; `unsettled`: adjoints of which only a part counts;
*   `choices`: maximum and its kin;
*   `writing`: `x[i] = v`, and its undoing; `memory`: adjoints of numbers that share memory;
*   `shells`: what operations hold of large numbers; `sparing`: which elements an elementwise operation holds;
*   `kept`: constants that the way back needs; `recording`: a way back that runs any number of times;
*   `collector`: Python's collector, while many operations wait.

This file puts the class together from what these modules define.
"""

from shiftreset_ad.modes.reverse import backpropagation, elementwise, single, writing
from shiftreset_ad.modes.reverse.answers import together
from shiftreset_ad.modes.reverse.number import NumR
from shiftreset_ad.numbers.installing import install_operators

__all__ = ["NumR"]

install_operators(NumR, elementwise.make_operation)
NumR.__getitem__ = elementwise.getitem  # type: ignore[method-assign,assignment]
NumR.taken = elementwise.taken_item  # type: ignore[method-assign,assignment]
NumR.write = writing.write  # type: ignore[method-assign,assignment]
NumR.linearized = staticmethod(backpropagation.operation)  # type: ignore[method-assign,assignment]
NumR.carried = single.operation_on_one  # type: ignore[method-assign,assignment]
NumR.jointly_linearized = staticmethod(together)  # type: ignore[method-assign]
