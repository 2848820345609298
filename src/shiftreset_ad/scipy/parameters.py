"""What the functions that a SciPy solver calls depend on: numbers in their arguments and in what they close over."""

from __future__ import annotations

from typing import Any

from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.optimize.parameters import Parameters
from shiftreset_ad.scipy.forwarding import operand


def parameters_of(operator: str, roots: dict[str, Any], *operands: Any) -> Parameters | None:
    """The parameters of functions and arguments; None if nothing is being differentiated, neither they nor `operands`.

    Plain arrays that the functions read are kept as they are now, as a derivative runs the functions again later.
    """
    parameters = Parameters(operator, roots, is_kept=any(map(has_number, operands)))
    return parameters if parameters.is_kept else None


def require_plain(operator: str, answer: Any) -> None:
    """Raise TypeError if the answer of a function for plain parameters depends on a number all the same."""
    if has_number(operand(answer)):
        raise TypeError(
            f"{operator}: the function depends on a number that is being differentiated, but the number is neither in "
            "args nor in the closure of the function: it is, for example, in a global variable or in an attribute of "
            "an object. Pass it by args"
        )
