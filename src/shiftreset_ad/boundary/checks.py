"""Checks of the arguments of a derivative operator, and of what the function returns. The errors name the remedy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from shiftreset_ad.array_api import Wrapped
from shiftreset_ad.array_api.standard import adopted
from shiftreset_ad.boundary import trees
from shiftreset_ad.control import ControlError
from shiftreset_ad.numbers.number import Number, is_double
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.broadcasting import dtype_of, is_complex, shape_of

NUMERIC = (float, int, complex, np.ndarray, np.generic, Wrapped)


def named(operator: str, f: Callable[..., Any]) -> str:
    """The name of a derivative, for errors and tracebacks; TypeError if `f` cannot be called."""
    if not callable(f):
        raise TypeError(f"{operator}: the function is {f!r:.60}, which cannot be called; give it a function")
    return f"{operator}({getattr(f, '__name__', type(f).__name__)})"


def arguments_at(operator: str, argnums: int | Sequence[int], args: Sequence[Any]) -> list[int]:
    """The positions that `argnums` names; TypeError if one was not given, or is named twice."""
    if type(argnums) is int and 0 <= argnums < len(args):  # the usual case, for speed
        return [argnums]
    is_sequence = type(argnums) is tuple or isinstance(argnums, Sequence)
    positions: list[Any] = list(argnums) if is_sequence else [argnums]  # type: ignore[arg-type]
    for i in positions:
        if not isinstance(i, int) or isinstance(i, bool):
            raise TypeError(f"{operator}: argnums must be an integer or a tuple of integers, and is {argnums!r:.60}")
        if not -len(args) <= i < len(args):
            raise TypeError(
                f"{operator}: argnums names argument {i}, and {len(args)} positional arguments were given; "
                "pass the arguments to differentiate by position"
            )
    found = [i % len(args) for i in positions]
    if len(set(found)) < len(found):
        raise TypeError(f"{operator}: argnums={tuple(positions)} names an argument twice")
    return found


def require_complex(operator: str, numbers: Sequence[Any]) -> None:
    """Raise TypeError, for a holomorphic derivative, unless all these numbers are complex."""
    for number in numbers:
        if dtype_of(number).kind != "c":
            raise TypeError(
                f"{operator}: with holomorphic=True every argument and result must be complex, and one has dtype "
                f"{dtype_of(number)}; convert it: complex(x), x.astype(complex)"
            )


def require_real(operator: str, what: str, numbers: Sequence[Any]) -> None:
    """Raise TypeError if one of these numbers is complex."""
    for number in numbers:
        if dtype_of(number).kind == "c":
            raise TypeError(
                f"{operator}: {what} is complex; give holomorphic=True for the complex derivative of a holomorphic "
                "function, and use jvp or vjp for any other function"
            )


def require_derivative(operator: str, answers: Sequence[Any]) -> None:
    """Raise TypeError if the result has no floating-point number in it."""
    if not answers:
        raise TypeError(
            f"{operator}: the function returned nothing that has a derivative: no float, no array of floats; return "
            "one (is a return statement missing, or an integer to be converted by float(y)?)"
        )


def require_shape(operator: str, numbers: Sequence[Any], shape: tuple[int, ...]) -> None:
    """Raise ValueError unless the result is one number of this shape."""
    shapes = [shape_of(number) for number in numbers]
    if shapes != [shape]:
        raise ValueError(
            f"{operator}: the function works element by element on an argument of shape {shape}, and it returned "
            f"{len(numbers)} arrays, of shapes {shapes}; use jacobian, or vjp, and grad where it is one scalar"
        )


def value_and_aux(operator: str, result: Any, has_aux: bool) -> tuple[Any, Any]:
    """The value that the function returned, and with `has_aux` the second part; TypeError if there is none."""
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise TypeError(
            f"{operator}: with has_aux=True the function must return (value, aux), and it returned {result!r:.80}"
        )
    value, aux = result
    return value, aux


def require_usable(operator: str, answer: Number, tag: Tag) -> None:
    """Raise ControlError if a number that the function returned belongs to a finished or a later call."""
    if answer.tag is not tag and not answer.tag.is_open:
        answer.tag.closed(None, None)  # raises what any operation on the number raises
    if answer.tag.serial > tag.serial:
        raise ControlError(
            f"{operator}: the function returned a number of a later derivative, which is still running, as a "
            "continuation was captured in one derivative and resumed in a later derivative. Neither of these "
            "derivatives is inside the other; keep the continuation inside the derivative around it"
        )


def require_all_usable(operator: str, leaves: Sequence[Any], tag: Tag) -> None:
    """`require_usable` for the numbers among the leaves of a result."""
    for leaf in leaves:
        if isinstance(leaf, Number):
            require_usable(operator, leaf, tag)


def scalar_and_aux(operator: str, has_aux: bool, holomorphic: bool, result: Any, tag: Tag) -> tuple[Any, Any]:
    """The scalar that the function returned, and with `has_aux` the second part; TypeError for anything else."""
    answer, aux = value_and_aux(operator, result, has_aux)
    if isinstance(answer, Number):
        require_usable(operator, answer, tag)
    elif not isinstance(answer := adopted(answer), NUMERIC) or dtype_of(answer).kind not in "fiubc":
        raise TypeError(
            f"{operator}: the function returned {_described(answer)}, and a gradient is of a scalar; "
            "return one number, with has_aux=True for more beside it, or use jacobian or vjp"
        )
    if is_double(answer) and not holomorphic:  # the usual case, for speed
        return answer, aux
    if shape_of(answer) != ():
        raise TypeError(
            f"{operator}: the function returned an array of shape {shape_of(answer)}, and a gradient is of a scalar; "
            "reduce the result, with numpy.sum say, or use jacobian or vjp"
        )
    if holomorphic:
        require_complex(operator, [answer])
    elif is_complex(answer):
        raise TypeError(
            f"{operator}: the function returned a complex number; return its real part, or its absolute value, "
            "or give holomorphic=True for the complex derivative of a holomorphic function"
        )
    return answer, aux


def _described(answer: Any) -> str:
    if answer is None:
        return "None (is a return statement missing?)"
    if type(answer).__module__.partition(".")[0] == "xarray":
        return f"a {type(answer).__name__}, whose number is y.data"
    return f"a {type(answer).__name__}" + (f" of dtype {answer.dtype}" if isinstance(answer, np.ndarray) else "")


def without_level(tree: Any, tag: Tag, primal: Callable[[Any], Primal] = attrgetter("primal")) -> Any:
    """A structure with the numbers of this tag replaced by their primals, as the call of the tag has ended."""
    return trees.map_leaves(lambda x: primal(x) if isinstance(x, Number) and x.tag is tag else x, tree)
