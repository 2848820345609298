"""From a function that the program calls to its rule, and from the rule to the kind of number that carries it out.

What becomes of an operation is for the kind of number to say, by the hooks of `Number`:

*   `operations[function]`, the elementwise operations, made from their partial derivatives;
*   `linearized(tag, answer, active)`, for a structured operation, with the linear map of each active operand;
*   `take_over(y)`, for an operation in place;
*   `frozen(constant, tag)`, for a plain array that the linear maps will look at again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from shiftreset_ad.rules import COMPOSITE, CONSTANT, ELEMENTWISE, STRUCTURED, LinearMap, Structured
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.tags import Tag

REDUCTIONS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
}


SEQUENCES = (list, tuple)


class Number:
    """A float or an array that is being differentiated: a `primal` one level below, and the `tag` of its level."""

    __slots__ = ()

    primal: Any
    tag: Tag
    operations: ClassVar[dict[Callable[..., Any], Callable[..., Any]]]

    @staticmethod
    def linearized(tag: Tag, answer: Any, active: list[tuple[Any, LinearMap]]) -> Any:
        """The number for the `answer` of an operation that has this linear map for each `active` operand."""
        raise NotImplementedError

    @staticmethod
    def frozen(constant: Any, tag: Tag) -> Any:
        """A constant operand, an array or a list of some, as it is to be kept for a later use of the linear maps."""
        return constant

    def take_over(self, y: Any) -> None:
        """Have the value and the derivative of `y` from here on, a number of the same tag that nothing else has."""
        raise NotImplementedError


def value(x: Any) -> Any:
    """The plain value of a number at any level of nesting; anything else is returned as it is."""
    while isinstance(x, Number):
        x = x.primal
    return x


def is_open(x: Any) -> bool:
    """Whether some level of the number `x` is still being differentiated."""
    while isinstance(x, Number):
        if x.tag.is_open:
            return True
        x = x.primal
    return False


def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a NumPy function that has numbers among its arguments, by its rule.

    `NotImplementedError` if it has none, `TypeError` if it has one that does not take these arguments.
    """
    if kwargs.pop("out", None) is not None:
        raise _not_into_existing(name_of(function))
    if function in CONSTANT:
        return _call_constant(function, args, kwargs)
    structured = STRUCTURED.get(function)
    definition = structured.differentiate if structured else COMPOSITE.get(function)
    if definition is None:
        raise _no_rule(name_of(function))
    try:
        return _call_structured(structured, args, kwargs) if structured else definition(*args, **kwargs)
    except TypeError:
        _require_supported(function, definition, args, kwargs)
        raise


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a ufunc, or a method of one, in any other way than the plain one."""
    name = name_of(ufunc) if method == "__call__" else f"{name_of(ufunc)}.{method}"
    if method == "at" or kwargs.get("out") is not None:
        raise _not_into_existing(name)
    options = {option: given for option, given in kwargs.items() if option != "out"}
    if ufunc in CONSTANT:
        return _call_constant(getattr(ufunc, method), inputs, options)
    if method == "__call__":
        if options:
            raise TypeError(
                f"{name}: {', '.join(options)} cannot be given with a number that is being differentiated. "
                "Use numpy.where to choose, and x.astype to convert"
            )
        return call(ufunc, *inputs)
    if method == "reduce" and ufunc in REDUCTIONS:
        return call(REDUCTIONS[ufunc], *inputs, **{"axis": 0, **options})
    if method == "accumulate" and ufunc is np.add:
        return call(np.cumsum, *inputs, **{"axis": 0, **options})
    if method == "outer" and ufunc in ELEMENTWISE and not options:
        a, b = inputs
        return ufunc(np.reshape(a, shape_of(a) + (1,) * len(shape_of(b))), b)
    raise _no_rule(name)


def has_number(argument: Any) -> bool:
    """Whether there is a number in an argument: itself, or in a list or tuple, nested or not."""
    return isinstance(argument, Number) or (isinstance(argument, SEQUENCES) and any(map(has_number, argument)))


def numbers_in(argument: Any) -> list[Number]:
    """The numbers in an argument."""
    if isinstance(argument, Number):
        return [argument]
    return [number for part in argument for number in numbers_in(part)] if isinstance(argument, SEQUENCES) else []


def name_of(function: Callable[..., Any]) -> str:
    """The name that a user knows a function by."""
    if isinstance(function, np.ufunc):
        return f"numpy.{function.__name__}"
    module = getattr(function, "__module__", "") or ""
    return f"{module}.{getattr(function, '__name__', function)}".removeprefix("builtins.")


def _call_constant(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return function(*map(_values, args), **{name: _values(arg) for name, arg in kwargs.items()})


def _call_structured(rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = dict(zip(rule.parameters, args, strict=False), **kwargs)
    operands = [given.pop(name, None) for name in rule.operands]
    for name, arg in given.items():
        if has_number(arg):
            raise TypeError(
                f"{name_of(rule.function)}: argument {name!r} is a number that is being differentiated, and the "
                "function has no derivative in it. Give it shiftreset_ad.value(x) where a constant is meant"
            )
    number = max(numbers_in(operands), key=lambda number: number.tag.serial)  # the operation belongs to the newest tag
    tag = number.tag

    def below(name: str, arg: Any) -> Any:
        arg = _one_level_below(arg, tag)
        return number.frozen(arg, tag) if name in rule.kept else arg

    answer, maps = rule.differentiate(
        *[below(name, arg) for name, arg in zip(rule.parameters, args, strict=False)],
        *args[len(rule.parameters) :],
        **{name: below(name, arg) for name, arg in kwargs.items()},
    )
    active: list[tuple[Number, LinearMap]] = []
    for arg, linear_map in zip(operands, maps, strict=True):
        _pair(arg, linear_map, tag, active)
    return number.linearized(tag, answer, active)


def _one_level_below(arg: Any, tag: Tag) -> Any:
    """An argument as it is for the rule: numbers with this tag replaced by their primals."""
    if isinstance(arg, Number):
        return arg.primal if arg.tag is tag else arg
    if isinstance(arg, SEQUENCES) and has_number(arg):
        return [_one_level_below(part, tag) for part in arg]
    return arg


def _pair(arg: Any, linear_map: Any, tag: Tag, active: list[tuple[Number, LinearMap]]) -> None:
    """Find the numbers with this tag in an operand, and the linear map of each."""
    if isinstance(arg, Number):
        if arg.tag is tag:
            active.append((arg, linear_map))
    elif isinstance(arg, SEQUENCES) and has_number(arg):
        if isinstance(linear_map, LinearMap):
            raise TypeError(
                "a list of numbers that are being differentiated was given for an array. "
                "Use numpy.stack([x, y]) to build an array from numbers"
            )
        for part, part_map in zip(arg, linear_map, strict=True):
            _pair(part, part_map, tag, active)


def _values(arg: Any) -> Any:
    """An argument with every number in it, in nested lists and tuples too, replaced by its plain value."""
    if isinstance(arg, SEQUENCES) and has_number(arg):
        return [_values(part) for part in arg]
    return value(arg)


def _no_rule(name: str) -> NotImplementedError:
    return NotImplementedError(
        f"{name} has no derivative rule here. Write it with functions that have one, "
        "or give it shiftreset_ad.value(x) where a constant is meant"
    )


def _not_into_existing(name: str) -> TypeError:
    return TypeError(
        f"{name}: the result cannot be written into an existing array (by out=, or an operator such as +=), as a "
        "number that is being differentiated does not fit in there. Make a new array: y = f(x) for f(x, out=y), "
        "y = y + x for y += x"
    )


def _require_supported(
    function: Callable[..., Any], definition: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raise TypeError if the rule of `function` does not take these arguments."""
    signature = inspect.signature(definition)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(
            f"{name_of(function)}: {error}. With numbers that are being differentiated, "
            f"it takes {', '.join(signature.parameters)}"
        ) from None
