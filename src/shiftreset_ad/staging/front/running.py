"""What rewritten code calls."""

from __future__ import annotations

import operator
import sys
from collections import deque
from collections.abc import Iterable
from functools import partial
from types import BuiltinFunctionType, FunctionType, GeneratorType
from typing import Any

import numpy as np

from shiftreset_ad.control.frames import is_followed, is_ours
from shiftreset_ad.staging.front.buffers import MakingSite, making, written_to
from shiftreset_ad.staging.front.functions import (
    called_form,
    form_if_users,
    makes_a_generator,
    visiting_form,
    with_forms,
)
from shiftreset_ad.staging.front.generators import VISIT, LoopOverCall
from shiftreset_ad.staging.front.growing import GrowingList, by_numpy, without_growing
from shiftreset_ad.staging.front.indices import slice_of
from shiftreset_ad.staging.front.instances import hashed, may_tell_apart, not_told_apart
from shiftreset_ad.staging.front.items import writable, writable_rows
from shiftreset_ad.staging.front.membership import contained
from shiftreset_ad.staging.front.numbers import (
    IN_ORDER,
    IN_SORTED_ORDER,
    IS_LESS,
    MOST_SORTED,
    OF_PYTHONS,
    TOTAL,
    VISITED_ALL,
    array_of,
    decide_the_order,
    has_staged_number,
    in_order,
    in_order_by_parts,
    is_staged_row,
    least_of_floats,
    of_numbers,
)
from shiftreset_ad.staging.front.objects import (
    OF_ONE,
    assigned,
    attribute,
    augmented_object,
    compared,
    constructor,
    has_setter,
    item_at,
    iterated,
    of_object,
    operated,
    operated_alone,
    summed,
    truth_of,
)
from shiftreset_ad.staging.front.refusals import A_SOLVER_IN_A_SOLVER, CALLS_FOR_EFFECT, MAY_ACT
from shiftreset_ad.staging.front.sequences import OF_SEQUENCES, counting, sequence_of
from shiftreset_ad.staging.front.session import changing, current, is_staged, negated, told_apart
from shiftreset_ad.staging.front.stacking import JOINING
from shiftreset_ad.staging.front.truths import JOINS, joined, lasting, may_be_joined
from shiftreset_ad.staging.front.users import is_object, may_act
from shiftreset_ad.staging.front.versions import (
    Item,
    attribute_of,
    augmented,
    has_array,
    is_array,
    is_in_block,
    item_of,
    item_written,
)
from shiftreset_ad.staging.seen.parts import VIEWS
from shiftreset_ad.staging.steps.functions import OF_NUMBERS

__all__ = [
    "Item",
    "assigned",
    "attribute",
    "attribute_of",
    "augmented",
    "augmented_object",
    "called",
    "called_for_its_effect",
    "called_to_make",
    "called_without_effects",
    "changing",
    "compared",
    "contained",
    "counted",
    "has_array",
    "has_setter",
    "hashed",
    "is_array",
    "is_in_block",
    "is_object",
    "is_staged",
    "item_at",
    "item_of",
    "item_written",
    "iterated",
    "lasting",
    "looped_over",
    "negated",
    "operated",
    "operated_alone",
    "slice_of",
    "told_apart",
    "truth_of",
    "visiting",
    "writable",
    "writable_rows",
    "written_to",
]

USED_UP = {GeneratorType, map, filter, zip, enumerate, reversed, type(reversed([])), type(iter([]))}
PUT_IN_ORDER = {list, tuple, range, deque, *VIEWS, *USED_UP}  # what `min`, `max` and `sorted` read before they begin
CHANGED_BY_METHODS = {list, dict, set, deque}
READING = {"copy", "count", "get", "index", "items", "keys", "values"}
OF_IDENTITY = {id, operator.is_, operator.is_not}
OF_LISTS = {len, list, sum}
DISPATCHED = type(np.stack)  # NumPy's functions that ask their arguments
CALLING = {map, filter, sorted, min, max}  # functions of Python's that call functions
OF_THE_FRONT = CALLING | OF_IDENTITY | OF_PYTHONS.keys() | JOINS.keys()


def entered(f: Any, *args: Any, **kwargs: Any) -> Any:
    """The answer of a function, called in its rewritten form."""
    answer, session = with_forms(f, called_form)(*args, **kwargs), current()
    if session is not None:
        answer = without_growing(answer) if session.growing else answer
        session.require_own_names(answer)
    return answer


def called(f: Any) -> Any:
    """What to call for a function that the user's code calls.

    A block that is written down runs although the program may never reach it. So it calls no function that may act.
    """
    session = current()
    if session is not None and session.active and may_act(f):
        session.refuse(session.active[-1], MAY_ACT.format(name=getattr(f, "__name__", type(f).__name__)))
    if type(f) is BuiltinFunctionType and type(f.__self__) in CHANGED_BY_METHODS and f.__name__ not in READING:
        changing(f.__self__)
    if session is not None and (construct := constructor(f)) is not None:
        return construct
    if session is not None and session.looks_into_objects:
        if type(f) in (type, BuiltinFunctionType) and f in OF_ONE:
            return partial(of_object, f, partial(of_numbers, f) if f in OF_NUMBERS else f)
        if f is sum:
            return summed
        if may_tell_apart(f):
            return partial(not_told_apart, f, _called(f, session))
    return _called(f, session)


def _called(f: Any, session: Any) -> Any:
    if session is not None and session.growing and type(f) in (type, BuiltinFunctionType) and f in OF_LISTS:
        return partial(of_list, f)
    if type(f) is BuiltinFunctionType and f.__name__ == "sort" and type(f.__self__) is list and session is not None:
        return partial(_sort, f.__self__)
    is_solver = type(f) is FunctionType and is_followed(f.__module__)
    if is_solver and session is not None and A_SOLVER_IN_A_SOLVER not in session.refusals:
        return with_forms(f, form_if_users)
    if (type(f) is FunctionType and is_ours(f.__code__)) or (
        type(f) in (type, BuiltinFunctionType) and f in OF_THE_FRONT
    ):
        return f if session is None else partial(_given_rewritten, f)
    if type(f) in (type, BuiltinFunctionType) and f in OF_NUMBERS:
        return f if session is None else partial(of_numbers, f)
    if f is np.array or f is np.asarray:
        return f if session is None else partial(array_of, f)
    if session is not None and session.growing and type(f) is DISPATCHED and f in JOINING:
        return partial(by_numpy, f)  # NumPy would look at each item of a list for its functions
    return with_forms(f, form_if_users)


def of_list(f: Any, *args: Any, **kwargs: Any) -> Any:
    """The answer of a function that Python has for lists, among others; it does not know of growing ones."""
    if not args or type(args[0]) is not GrowingList:
        return f(*args, **kwargs)
    if f is list:
        return args[0].copy()
    return args[0].length if f is len else called_form(TOTAL)(*args, **kwargs)


def called_to_make(site: MakingSite, f: Any) -> Any:
    """What to call for a function that may make an array, by its name."""
    return making(site, f, called(f))


def called_for_its_effect(f: Any) -> Any:
    """What to call for a function whose answer is not used. In a block that is written down it is not called.

    The program may never reach the block. A function of the user's is called, as its own calls come here, too, and so
    is a function that changes what the site looks at.
    """
    found, session = called(f), current()
    if found is f and session is not None and session.active and not changes_what_is_seen(f):
        session.refuse(session.active[-1], CALLS_FOR_EFFECT.format(name=getattr(f, "__name__", type(f).__name__)))
    return found


def changes_what_is_seen(f: Any) -> bool:
    """Whether a function does no more than change a list, a dict, a set or an attribute, as a statement might."""
    if type(f) is FunctionType:
        return any(x is sys.modules[__name__] for x in f.__code__.co_consts)  # it is rewritten already
    if type(f) is partial and f.func is _sort:
        return True
    owner = type(getattr(f, "__self__", None))
    return f is setattr or f == object.__setattr__ or owner is GrowingList or owner in CHANGED_BY_METHODS


def called_without_effects(f: Any) -> Any:
    """What to call for a function whose argument is a generator expression without effects."""
    return partial(_joined, f) if type(f) is BuiltinFunctionType and f in JOINS else called(f)


def _joined(f: Any, items: Iterable[Any]) -> Any:
    """The answer of `any` or `all`."""
    session = current()
    return f(items) if session is None or not may_be_joined(items) else joined(f, items, session)


def _given_rewritten(f: Any, *args: Any, **kwargs: Any) -> Any:
    """The answer of a library's function, which calls functions among its arguments."""
    if f in OF_IDENTITY:
        return f(*map(told_apart, args))
    if f in JOINS and len(args) == 1 and type(args[0]) in (list, tuple):
        return _joined(f, args[0])
    if f in IN_ORDER or f is sorted:
        return _ordered(f, args, kwargs)
    if f in OF_PYTHONS and has_staged_number([*args, *kwargs.values()]):
        return called_form(OF_PYTHONS[f])(*args, **kwargs)
    form = _called_argument if f in CALLING else _rewritten_argument
    return f(*map(form, args), **{name: form(arg) for name, arg in kwargs.items()})


def _ordered(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The answer of `min`, `max` or `sorted`."""
    options = {"reverse"} if f is sorted else {"default"}
    items: Any = args[0] if len(args) == 1 else args
    if type(items) is GrowingList and not kwargs and f is not sorted:
        return called_form(IN_ORDER[f])(items, items, operator.lt)
    values = list(items) if type(items) in PUT_IN_ORDER or is_staged_row(items) else []
    is_usual = kwargs.keys() <= {"key"} | (options if len(args) == 1 else set())
    key, is_reversed = _called_argument(kwargs.get("key")), kwargs.get("reverse", False)
    if not values or not is_usual or type(is_reversed) is not bool or (f is sorted and len(args) != 1):
        again = (values,) if type(items) in USED_UP else tuple(map(_rewritten_argument, args))
        return f(*again, **{name: _called_argument(arg) for name, arg in kwargs.items()})
    keys = values if key is None else [key(x) for x in values]
    if f is not sorted and key is None and (found := least_of_floats(f, values)) is not None:
        return found
    is_written, less = decide_the_order(keys), operator.lt
    if not is_written and (by_parts := in_order_by_parts(keys)) is not None:
        is_written, keys, less = True, by_parts, called_form(IS_LESS)
    if f is not sorted:
        form = called_form(IN_ORDER[f])
        return form(values, keys, less) if is_written else values[f(_places(keys), key=keys.__getitem__)]
    if is_written and len(values) <= MOST_SORTED:
        keys = in_order(keys) if less is operator.lt else keys
        return called_form(IN_SORTED_ORDER)(values, keys, less, is_reversed)
    return [values[i] for i in sorted(_places(keys), key=keys.__getitem__, reverse=is_reversed)]


def _places(x: list[Any]) -> range:
    return range(len(x))


def _sort(items: list[Any], **kwargs: Any) -> None:
    """`items.sort(...)`."""
    session = current()
    if session is not None and session.control.has_staged(items):
        items[:] = _ordered(sorted, (items,), kwargs)
    else:
        items.sort(**kwargs)


def _rewritten_argument(x: Any) -> Any:
    """An argument, in another form if it is a function of the user's, or one of Python's on numbers."""
    if type(x) in (type, BuiltinFunctionType) and x in OF_NUMBERS:
        return partial(of_numbers, x)
    return with_forms(x, form_if_users) if callable(x) else x


def _called_argument(x: Any) -> Any:
    """An argument that is called if it can be called. It may be a class of the user's, whose objects are made here."""
    construct = constructor(x)
    return _rewritten_argument(x) if construct is None else construct


def looped_over(site: LoopOverCall, f: Any, around: Any = enumerate) -> Any:
    """A function whose answer a loop goes over, perhaps by `enumerate`. If it makes a generator, the loop is noted."""
    session = current()
    if session is not None and around is enumerate and makes_a_generator(f):
        session.visits(site)
    return f


def visiting(f: Any, visit: Any, stops: bool) -> Any:
    """What to call for a generator function, so that it calls `visit` for each item that it would yield."""
    form = with_forms(f, partial(visiting_form, stops=stops))
    return partial(_visit_all, called(f), visit) if form is f else partial(form, **{VISIT: visit})


def _visit_all(f: Any, visit: Any, *args: Any, **kwargs: Any) -> None:
    """Call `visit` for all that is in the answer of a function that makes no generator after all."""
    called_form(VISITED_ALL)(f(*args, **kwargs), visit)


def counted(f: Any, around: Any = zip) -> Any:
    """What to call for the `range`, the `zip`, or the like, of a `for` loop, or of a comprehension.

    It may be an argument of the function `around` it, which must be one of these, too.
    """
    session = current()
    if session is None or not all(any(x is kind for kind in (range, *OF_SEQUENCES)) for x in (f, around)):
        return called(f)
    return partial(counting, session.control) if f is range else partial(sequence_of, session.control, f)
