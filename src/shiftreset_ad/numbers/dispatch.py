"""From a function that the program calls to its rule, and from the rule to the kind of number that carries it out.

Each kind of number carries out operations by these hooks of `Number`:

*   `operations[function]`, the elementwise operations, made from their partial derivatives;
*   `structured(rule, args, kwargs)`, for a structured operation; most kinds carry it out by
    `linearized(tag, answer, active)`, with the linear map of each active operand,
    and `frozen(constant, tag)`, for a plain array that the linear maps need later;
*   `constant(function, args, kwargs)`, for a function whose answer has no derivative;
*   `write(index, item)`, for writing in place.

An operation belongs to the newest of its numbers, and the kind of this number carries it out. Older numbers are
constants to it.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from shiftreset_ad.array_api.libraries import has_foreign, is_sparse
from shiftreset_ad.array_api.standard import adopted
from shiftreset_ad.numbers.forms import FORMS, LINEAR_IN_FIRST, NEW, OF_FIRST, new_form, takes_lists
from shiftreset_ad.numbers.number import SCALARS, Number, has_number, in_memory, newest, numbers_in
from shiftreset_ad.numbers.tags import watcher
from shiftreset_ad.rules import COMPOSITE, CONSTANT, ELEMENTWISE, RESTATED, STRUCTURED, Elementwise, Structured
from shiftreset_ad.rules.building import OBJECT, OF_LISTS, SEQUENCES, array
from shiftreset_ad.rules.late import enter_tables_of_imported_libraries, library_of, public_name
from shiftreset_ad.rules.numpy.ufunc_methods import definition_of

# Functions that make an array like a number, or write to a number. `new_arrays` defines them.
ON_ARRAYS: dict[Callable[..., Any], Callable[..., Any]] = {}

UNUSUAL: Any = object()


def has_array(x: Any) -> bool:
    """Whether a number holds an array of NumPy, which can be written to, and no scalar."""
    return isinstance(in_memory(x), np.ndarray)


def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a NumPy function that has numbers among its arguments, by its rule.

    NotImplementedError if it has no rule, TypeError if its rule does not take these arguments.
    """
    return call_with(function, args, kwargs)


def call_with(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`call`, with the arguments as they came."""
    answer = call_usual(function, args, kwargs)
    return call_unusual(function, args, kwargs) if answer is NotImplemented else answer


def call_usual(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The answer of a function by its rule, if its arguments can be taken as they are; otherwise NotImplemented."""
    if kwargs and ("out" in kwargs or not SCALARS.issuperset(map(type, kwargs.values()))):
        return NotImplemented
    rule = STRUCTURED.get(function)
    if rule is None:
        known = RESTATING.get(function)
        if known is None and function in RESTATED:
            known = restating(function)
        if known is None or len(args) > known[0]:
            return _compose_usual(function, args, kwargs)
        _, restate, rule = known
        try:
            restated = restate(*args, **kwargs) if kwargs else restate(*args)
        except TypeError:
            _require_supported(function, COMPOSITE[function], args, kwargs)
            raise
        if restated is None:
            return _compose_usual(function, args, kwargs)
        args, kwargs = restated, {}
    count = len(args)
    if count == 1:  # without `map`, which takes twice as long
        form = FORMS.get((rule, type(args[0])), NEW)
    elif count == 2:
        form = FORMS.get((rule, type(args[0]), type(args[1])), NEW)
    elif count == 3:
        form = FORMS.get((rule, type(args[0]), type(args[1]), type(args[2])), NEW)
    else:
        form = FORMS.get((rule, *map(type, args)), NEW)
    if form is NEW:
        form = new_form(rule, args)
    number = None if form is None else form.newest(args)
    if number is None:
        form, number = None, newest_of_usual(args, rule)
        is_usual = number is not None and number is not UNUSUAL and len(args) <= len(rule.parameters)
        if not is_usual or (number is args[0] and function in OF_LISTS):
            return NotImplemented
    try:
        return number.structured(rule, args, kwargs, form)
    except TypeError:
        _require_supported(function, rule.differentiate, args, kwargs)
        raise


def restating(function: Callable[..., Any]) -> Any:
    """How a call of `function` is restated: up to so many arguments, by this function, for this rule."""
    ours, restate = RESTATED[function]
    RESTATING[function] = found = position_of_out(function), restate, STRUCTURED[ours]
    return found


# By the functions that have been met
RESTATING: dict[Callable[..., Any], Any] = {}


def _compose_usual(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`call_usual` of a composite function."""
    definition = COMPOSITE.get(function)
    is_usual = definition is not None and function not in ON_ARRAYS and len(args) <= position_of_out(function)
    if not is_usual or newest_of_usual(args, None) is UNUSUAL:
        return NotImplemented
    return _composed(function, definition, args, kwargs)


def call_unusual(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The answer to any call."""
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
    return _composed(function, definition, args, kwargs)


def _composed(function: Callable[..., Any], definition: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The answer by a definition by other functions."""
    watch = watcher.get()
    try:
        return definition(*args, **kwargs) if watch is None else watch.composite(definition, args, kwargs)
    except TypeError:
        _require_supported(function, definition, args, kwargs)
        raise


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a ufunc that is no elementwise operation, or that has options, or call a method of a ufunc."""
    if method == "__call__" and not kwargs:
        return call(ufunc, *inputs)
    name = name_of(ufunc) if method == "__call__" else f"{name_of(ufunc)}.{method}"
    options = {option: given for option, given in kwargs.items() if option != "out"}
    if has_rule_by_now(ufunc) and ufunc in CONSTANT:
        return newest(numbers_in(inputs)).constant(getattr(ufunc, method), inputs, options)
    if method == "__call__":
        if options:
            raise TypeError(
                f"{name}: {', '.join(options)} cannot be given with a number that is being differentiated, and where= "
                "only with out=. Use numpy.where to choose, and x.astype to convert"
            )
        return ufunc(*inputs)
    definition = definition_of(ufunc, method)
    if definition is not None:
        return definition(*adopted(inputs), **options)
    raise _no_rule(name)


# The kinds of numbers, and how each makes an elementwise operation from the rule and the function.
KINDS: dict[type[Number], Callable[[Elementwise, Callable[..., Any]], Callable[..., Any]]] = {}


def has_rule_by_now(function: Callable[..., Any]) -> bool:
    """Whether `function` has a rule, maybe only since the program imported its library."""
    if not _is_in_a_table(function):
        enter_tables_of_imported_libraries()
    if function in ELEMENTWISE:
        for kind, operation in KINDS.items():
            if function not in kind.operations:
                kind.operations[function] = operation(ELEMENTWISE[function], function)
    return _is_in_a_table(function)


def _is_in_a_table(function: Callable[..., Any]) -> bool:
    return function in ELEMENTWISE or function in STRUCTURED or function in COMPOSITE or function in CONSTANT


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function for the user."""
    function = next((known for known, (ours, _) in RESTATED.items() if ours is function), function)
    if isinstance(function, np.ufunc):
        return f"{library_of(function)}.{public_name(function)}"
    module = getattr(function, "__module__", "") or ""
    return f"{module}.{getattr(function, '__name__', function)}".removeprefix("builtins.")


def newest_of_usual(args: Sequence[Any], rule: Structured | None) -> Any:
    """The newest number among arguments, None if there is none, and UNUSUAL if one has to be looked at more closely.

    With a rule, a number may only be an operand, or a part of a list that is an operand of a function of lists.
    """
    found = None
    for place, arg in enumerate(args):
        kind = type(arg)
        if kind is np.ndarray:
            if arg.dtype is OBJECT:
                return UNUSUAL
        elif kind not in SCALARS:
            if issubclass(kind, Number):
                number = arg
            elif kind in SEQUENCES and SCALARS.issuperset(map(type, arg)):
                continue
            elif kind in SEQUENCES and rule is not None and takes_lists(rule.function):
                number = newest_of_usual(arg, None)
                if number is None:
                    continue
            else:
                return UNUSUAL
            if number is UNUSUAL or (rule is not None and place not in rule.places):
                return UNUSUAL
            if found is None or number.tag.serial > found.tag.serial:
                found = number
    return found


@cache
def position_of_out(function: Callable[..., Any]) -> float:
    """The place of `out` among the positional arguments of a NumPy function; infinite if it has none."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # older releases have no signatures of functions in C
        parameters = {}.values()
    names = [parameter.name for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY]
    return names.index("out") if "out" in names else math.inf


def _call_structured(rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    args, kwargs = _by_position(rule, args, kwargs)
    if len(args) > len(rule.parameters):  # such as a positional `out`
        raise TypeError(f"{name_of(rule.function)}: too many positional arguments")
    if any(map(has_foreign, (*args, *kwargs.values()))):
        args, kwargs = adopted(args), {name: adopted(arg) for name, arg in kwargs.items()}
    numbers: list[Number] = []
    for name, arg in itertools.chain(zip(rule.parameters, args, strict=False), kwargs.items()):
        found = numbers_in(arg)
        if found and name not in rule.operands:
            raise TypeError(
                f"{name_of(rule.function)}: argument {name!r} is a number that is being differentiated, and the "
                "function has no derivative in it. Give it shiftreset_ad.value(x) where a constant is meant"
            )
        numbers += found
    if not numbers:  # NumPy has looked into a generator
        raise TypeError(f"{name_of(rule.function)}: the arrays must be given as a sequence, such as a list")
    args = tuple([with_arrays(rule.function, arg) for arg in args])
    kwargs = {name: with_arrays(rule.function, arg) for name, arg in kwargs.items()}
    is_alone = len(numbers) == 1 and rule.has_one_operand and not rule.keeps_constants and numbers[0] is args[0]
    form = (LINEAR_IN_FIRST if 0 in rule.linear_places else OF_FIRST) if is_alone else None
    return newest(numbers).structured(rule, args, kwargs, form)


def _by_position(
    rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same arguments, by position as far as possible."""
    kwargs = dict(kwargs)
    while len(args) < len(rule.parameters) and rule.parameters[len(args)] in kwargs:
        args = (*args, kwargs.pop(rule.parameters[len(args)]))
    if rule.function in OF_LISTS and issubclass(type(args[0]), Number):
        args = (list(args[0]), *args[1:])  # an array gives its rows
    return args, kwargs


def with_arrays(function: Callable[..., Any], arg: Any) -> Any:
    """An argument with a list of numbers put together as one array, if `function` takes an array."""
    if not isinstance(arg, SEQUENCES) or function is np.block:
        return arg
    if not takes_lists(function):
        return array(arg) if has_number(arg) else arg
    if any(type(element) in SEQUENCES for element in arg):
        return [array(x) if isinstance(x, SEQUENCES) and has_number(x) else x for x in arg]
    return arg


def _no_rule(name: str) -> NotImplementedError:
    if name.endswith(" (vectorized)"):
        return NotImplementedError(
            f"{name}: a function made by numpy.frompyfunc cannot take numbers that are being differentiated. Write "
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
    if any(map(is_sparse, (*args, *kwargs.values()))):
        raise TypeError(
            f"{name_of(function)}: NumPy's functions take no sparse array of SciPy's. Use S @ x for numpy.dot(S, x), "
            "and S.toarray() for the sparse S in any other function"
        )
    signature = inspect.signature(definition)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(
            f"{name_of(function)}: {error}. With numbers that are being differentiated, "
            f"it takes {', '.join(signature.parameters)}"
        ) from None
