"""From a function that the program calls to its rule, and from the rule to the kind of number that carries it out.

What becomes of an operation is for the kind of number to say, by the hooks of `Number`:

*   `operations[function]`, the elementwise operations, made from their partial derivatives;
*   `structured(rule, args, kwargs)`, for a structured operation; unless a kind has its own way, this comes down to
    `linearized(tag, answer, active)`, with the linear map of each active operand,
    and `frozen(constant, tag)`, for a plain array that the linear maps will look at again;
*   `constant(function, args, kwargs)`, for a function whose answer has no derivative;
*   `write(index, item)`, for writing in place.

An operation belongs to the newest of its numbers, and is for the kind of that one; the others are constants to it.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, ClassVar

import numpy as np

from shiftreset_ad.array_api.libraries import has_foreign
from shiftreset_ad.array_api.standard import adopted
from shiftreset_ad.numbers.tags import Tag, watcher
from shiftreset_ad.rules import COMPOSITE, CONSTANT, ELEMENTWISE, STRUCTURED, Elementwise, LinearMap, Structured
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.building import OF_LISTS, array
from shiftreset_ad.rules.late import enter_tables_of_imported_libraries, library_of, public_name
from shiftreset_ad.rules.numpy.ufunc_methods import definition_of
from shiftreset_ad.rules.stand_ins import Wrapped
from shiftreset_ad.rules.table import StagedValue, is_staged

# Functions that make an array like a number, or write to a number: `buffers` has their definitions.
ON_ARRAYS: dict[Callable[..., Any], Callable[..., Any]] = {}

SEQUENCES = (list, tuple)
WITHOUT_NUMBERS = {np.ndarray, int, float, bool, str, slice, type(None)}


class Number:
    """A float or an array that is being differentiated: a `primal` one level below, and the `tag` of its level."""

    __slots__ = ()

    primal: Any
    tag: Tag
    operations: ClassVar[dict[Callable[..., Any], Callable[..., Any]]]

    @property
    def inside(self) -> Any:
        """What the number holds, one level below."""
        return self.primal

    @staticmethod
    def linearized(tag: Tag, answer: Any, active: list[tuple[Any, LinearMap]]) -> Any:
        """The number for the `answer` of an operation that has this linear map for each `active` operand."""
        raise NotImplementedError

    @staticmethod
    def frozen(constant: Any, tag: Tag) -> Any:
        """A constant operand, an array or a list of some, as it is to be kept for a later use of the linear maps."""
        return constant

    def lifted(self, constant: Any) -> Any:
        """A constant float or array as a number of the same derivative, with derivative zero."""
        raise NotImplementedError

    def structured(self, rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Carry out a structured operation whose newest operand is this number."""
        return by_linear_maps(self, rule, args, kwargs)

    def constant(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function whose answer has no derivative; the newest number among the arguments is this one."""
        return function(
            *(map_numbers(value, arg) for arg in args),
            **{name: map_numbers(value, arg) for name, arg in kwargs.items()},
        )

    def taken(self, index: Any) -> Any:
        """A copy of the part `index`."""
        raise NotImplementedError

    def write(self, index: Any, item: Any) -> None:
        """Have the value and the derivative of `item`, a number that is not newer or a constant, in the part `index`.

        The memory of the array is written to, and so all views of it. No position may be in `index` twice.
        """
        raise NotImplementedError


def value(x: Any) -> Any:
    """The plain value of a number at any level of nesting; anything else is returned as it is."""
    while isinstance(x, Number):
        x = x.primal
    return x


def is_double(x: Any) -> bool:
    """Whether `x` is a scalar in double precision, or a number whose value is one."""
    kind = type(x)
    if kind is float or kind is np.float64:
        return True
    if not isinstance(x, Number):
        return False
    try:
        return is_double(x.primal)
    except TypeError:  # it has no single value
        return False


def levels_of(x: Any) -> Iterator[Number]:
    """`x` and what is inside of it, as long as these are numbers."""
    while isinstance(x, Number):
        yield x
        x = x.inside


def tags_of(x: Any) -> set[Any]:
    """The tags of all levels of a number; none of anything else. What is staged counts as one more, the oldest."""
    tags: set[Any] = set()
    while isinstance(x, Number):
        tags.add(x.tag)
        x = x.inside
    if is_staged(x):
        tags.add(StagedValue)
    return tags


def innermost(x: Any) -> Any:
    """What a number holds at its oldest level: a float or an array, of a stack the array of its rows."""
    while isinstance(x, Number):
        x = x.inside
    return x


def in_memory(x: Any) -> Any:
    """What a number holds at its oldest level, as it lies in memory: only its type and layout may be looked at."""
    while isinstance(x, Number):
        x = x.inside
    return x.inside if issubclass(type(x), Wrapped) else x


def is_view(y: Any, x: Any) -> bool:
    """Whether the array that `y` is or holds lies in the memory of the one that `x` is or holds, as a view does."""
    if type(y) is not np.ndarray and type(y := in_memory(y)) is not np.ndarray:
        return False
    base = y.base
    if base is None:
        return False
    if type(x) is not np.ndarray:
        x = in_memory(x)
    return base is x or (type(x) is np.ndarray and base is x.base)


def put(array: Any, index: Any, item: Any) -> None:
    """Write to a part of an array or number, of which the caller knows that it may be written to."""
    if isinstance(array, Number):
        array.write(index, item)
    else:
        array[index] = item


def taken(array: Any, index: Any) -> Any:
    """A part of an array or number, and no view of it."""
    part = array.taken(index) if isinstance(array, Number) else array[index]
    if type(part) is np.ndarray:
        return part.copy() if part.base is not None else part
    return np.copy(part) if is_staged(part) else part


def with_levels_of(array: Any, *xs: Any) -> Any:
    """An array, which is used up, as a number of all the levels that these have, so that they can be written to it."""
    for x in xs:
        if not isinstance(x, (Number, StagedValue)):
            continue
        oldest = innermost(x)
        if is_staged(oldest) and type(innermost(array)) is np.ndarray:
            array = oldest.adopt(array) if type(array) is np.ndarray else array + oldest.adopt(zeros_alike(array))
        known, levels = tags_of(array), list(levels_of(x))
        if all(number.tag in known for number in levels):
            continue
        lifted = np.zeros(shape_of(array), dtype_of(array)) if known else array
        for number in reversed(levels):
            lifted = number.lifted(lifted)
        array = array + lifted if known else lifted
    return array


def zeros_alike(x: Any) -> Any:
    """A plain array of zeros that lies in memory as the array of `x` does, so that what is a view there is one here."""
    return np.zeros_like(innermost(x), dtype_of(x), subok=False)


def is_open(x: Any) -> bool:
    """Whether some level of the number `x` is still being differentiated."""
    return any(number.tag.is_open for number in levels_of(x))


def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a NumPy function that has numbers among its arguments, by its rule.

    `NotImplementedError` if it has none, `TypeError` if it has one that does not take these arguments.
    """
    return call_with(function, args, kwargs)


def call_with(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`call`, with the arguments as they came."""
    if kwargs:
        kwargs.pop("out", None)
    rule = STRUCTURED.get(function)
    if rule is not None:
        try:
            return _call_structured(rule, args, kwargs)
        except TypeError:
            _require_supported(function, rule.differentiate, args, kwargs)
            raise
    if has_foreign(args) or (kwargs and has_foreign(tuple(kwargs.values()))):
        return call(function, *adopted(args), **{name: adopted(arg) for name, arg in kwargs.items()})
    if function in CONSTANT:
        return newest(numbers_in([*args, *kwargs.values()])).constant(function, args, kwargs)
    definition = ON_ARRAYS.get(function) or COMPOSITE.get(function)
    if definition is None:
        if has_rule_by_now(function):
            return function(*args, **kwargs)
        raise _no_rule(name_of(function))
    args = tuple([with_arrays(function, arg) if type(arg) in SEQUENCES else arg for arg in args])
    watch = watcher.get()
    try:
        return definition(*args, **kwargs) if watch is None else watch.composite(definition, args, kwargs)
    except TypeError:
        _require_supported(function, definition, args, kwargs)
        raise


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a ufunc that is no elementwise operation, or with options, or a method of one."""
    if method == "__call__" and not kwargs:
        return call(ufunc, *inputs)
    name = name_of(ufunc) if method == "__call__" else f"{name_of(ufunc)}.{method}"
    options = {option: given for option, given in kwargs.items() if option != "out"}
    if has_rule_by_now(ufunc) and ufunc in CONSTANT:
        return newest(numbers_in(inputs)).constant(getattr(ufunc, method), inputs, options)
    if method == "__call__":
        if options:
            raise TypeError(
                f"{name}: {', '.join(options)} cannot be given with a number that is being differentiated, where= only "
                "with out=. Use numpy.where to choose, and x.astype to convert"
            )
        return ufunc(*inputs)
    definition = definition_of(ufunc, method)
    if definition is not None:
        return definition(*adopted(inputs), **options)
    raise _no_rule(name)


# The kinds of numbers, and how each makes an elementwise operation from the rule and the function.
KINDS: dict[type[Number], Callable[[Elementwise, Callable[..., Any]], Callable[..., Any]]] = {}


def has_rule_by_now(function: Callable[..., Any]) -> bool:
    """Whether `function` has a rule, or has got one as its library has been imported meanwhile."""
    if not _is_in_a_table(function):
        enter_tables_of_imported_libraries()
    if function in ELEMENTWISE:
        for kind, operation in KINDS.items():
            if function not in kind.operations:
                kind.operations[function] = operation(ELEMENTWISE[function], function)
    return _is_in_a_table(function)


def _is_in_a_table(function: Callable[..., Any]) -> bool:
    return function in ELEMENTWISE or function in STRUCTURED or function in COMPOSITE or function in CONSTANT


def has_number(argument: Any) -> bool:
    """Whether there is a number in an argument: itself, or in a list or tuple, nested or not."""
    return isinstance(argument, Number) or (isinstance(argument, SEQUENCES) and any(map(has_number, argument)))


def numbers_in(argument: Any) -> list[Number]:
    """The numbers in an argument."""
    if isinstance(argument, Number):
        return [argument]
    return [number for part in argument for number in numbers_in(part)] if isinstance(argument, SEQUENCES) else []


def map_numbers(function: Callable[[Any], Any], arg: Any) -> Any:
    """An argument with `function` applied to every number in it, in nested lists and tuples too, which become lists."""
    if isinstance(arg, Number):
        return function(arg)
    return [map_numbers(function, part) for part in arg] if has_number(arg) else arg


def name_of(function: Callable[..., Any]) -> str:
    """The name that a user knows a function by."""
    if isinstance(function, np.ufunc):
        return f"{library_of(function)}.{public_name(function)}"
    module = getattr(function, "__module__", "") or ""
    return f"{module}.{getattr(function, '__name__', function)}".removeprefix("builtins.")


def _call_structured(rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) > len(rule.parameters):  # such as an `out` without its name
        raise TypeError(f"{name_of(rule.function)}: too many positional arguments")
    numbers: list[Number] = []
    lists_for_arrays = False
    given = zip(rule.parameters, args, strict=False)
    for name, arg in itertools.chain(given, kwargs.items()) if kwargs else given:
        kind = type(arg)
        if kind in WITHOUT_NUMBERS:
            continue
        if issubclass(kind, Number):
            numbers.append(arg)
        elif kind in SEQUENCES and WITHOUT_NUMBERS.issuperset(map(type, arg)):
            continue
        elif has_foreign(arg):
            return _call_structured(rule, adopted(args), {name: adopted(arg) for name, arg in kwargs.items()})
        elif found := numbers_in(arg):
            numbers += found
            lists_for_arrays = lists_for_arrays or not takes_lists(rule.function)
        else:
            continue
        if name not in rule.operands:
            raise TypeError(
                f"{name_of(rule.function)}: argument {name!r} is a number that is being differentiated, and the "
                "function has no derivative in it. Give it shiftreset_ad.value(x) where a constant is meant"
            )
    if lists_for_arrays:
        args = tuple(with_arrays(rule.function, arg) for arg in args)
        kwargs = {name: with_arrays(rule.function, arg) for name, arg in kwargs.items()}
        return _call_structured(rule, args, kwargs)
    return newest(numbers).structured(rule, args, kwargs)


def with_arrays(function: Callable[..., Any], arg: Any) -> Any:
    """An argument with numbers in a list put together as one array, where `function` takes an array."""
    if not isinstance(arg, SEQUENCES) or function is np.block:
        return arg
    if not takes_lists(function):
        return array(arg) if has_number(arg) else arg
    if any(type(part) in SEQUENCES for part in arg):
        return [array(part) if isinstance(part, SEQUENCES) and has_number(part) else part for part in arg]
    return arg


@cache
def takes_lists(function: Callable[..., Any]) -> bool:
    """Whether `function` takes a list as a list, and not as an array: one of ours takes what rules give it."""
    return function in OF_LISTS or getattr(function, "__module__", "").startswith("shiftreset_ad")


def newest(numbers: list[Number]) -> Number:
    """The number that an operation on these belongs to."""
    first = numbers[0]
    for number in numbers:
        if number.tag.serial > first.tag.serial:
            first = number
    return first


def operands_of(rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The operands of a structured operation, in the rule's order, as they were given."""
    given = dict(zip(rule.parameters, args, strict=False), **kwargs)
    return [given.get(name) for name in rule.operands]


def by_linear_maps(number: Number, rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Carry out a structured operation by its linear maps, for the numbers among its operands that have this tag."""
    tag = number.tag
    if args and args[0] is number and rule.operands == rule.parameters[:1]:  # the usual case, for speed
        answer, (linear_map,) = rule.differentiate(number.primal, *args[1:], **kwargs)
        return number.linearized(tag, answer, [(number, linear_map)])

    def below(name: str, arg: Any) -> Any:
        if type(arg) not in WITHOUT_NUMBERS:
            if isinstance(arg, Number) and arg.tag is tag:
                return arg.primal
            arg = one_level_below(arg, tag)
        return number.frozen(arg, tag) if name in rule.kept else arg

    values = [below(name, arg) for name, arg in zip(rule.parameters, args, strict=False)]
    named_values = {name: below(name, arg) for name, arg in kwargs.items()} if kwargs else {}
    answer, maps = rule.differentiate(*values, *args[len(values) :], **named_values)
    active: list[tuple[Number, LinearMap]] = []
    # The operands of a rule without other parameters before them are the first arguments.
    in_order = rule.operands == rule.parameters[: len(rule.operands)] and len(args) >= len(maps)
    operands = args[: len(maps)] if in_order else operands_of(rule, args, kwargs)
    for arg, linear_map in zip(operands, maps, strict=True):
        if type(arg) not in WITHOUT_NUMBERS:
            _pair(arg, linear_map, tag, active)
    return number.linearized(tag, answer, active)


def is_linear_in_list(rule: Structured, args: tuple[Any, ...]) -> bool:
    """Whether this is a function that is linear in a list of arrays, given as its first argument, all together.

    A map for each part would make an answer of full size for each, and so take O(n^2) for n parts.
    """
    return rule.linear and type(args[0]) is list and rule.operands == rule.parameters[:1]


def one_level_below(arg: Any, tag: Tag) -> Any:
    """An argument as it is for the rule: numbers with this tag replaced by their primals."""
    return map_numbers(lambda x: x.primal if x.tag is tag else x, arg)


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


def _no_rule(name: str) -> NotImplementedError:
    if name.endswith(" (vectorized)"):
        return NotImplementedError(
            f"{name}: what numpy.frompyfunc makes cannot take numbers that are being differentiated. Write "
            "shiftreset_ad.array([f(v) for v in x])"
        )
    return NotImplementedError(
        f"{name} has no derivative rule here. Write it with functions that have one, "
        "or give it shiftreset_ad.value(x) where a constant is meant"
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
