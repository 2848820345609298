"""What rewritten code calls, and the functions in their rewritten form.

A rewritten function has the cells, the globals and the defaults of the function itself. Functions that it calls are
rewritten when they are called, if they are the user's own.
"""

from __future__ import annotations

import operator
import sys
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial, wraps
from operator import is_
from types import BuiltinFunctionType, CodeType, FunctionType, GeneratorType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from shiftreset_ad.boundary.closed_over import Composite
from shiftreset_ad.boundary.derived import Derived
from shiftreset_ad.control.frames import is_ours
from shiftreset_ad.staging.front.indices import slice_of
from shiftreset_ad.staging.front.items import writable
from shiftreset_ad.staging.front.numbers import IN_ORDER, OF_PYTHONS, array_of, has_staged_number, of_numbers
from shiftreset_ad.staging.front.recursion import recursion
from shiftreset_ad.staging.front.refusals import CALLS_FOR_EFFECT, MAY_ACT, RefusedError
from shiftreset_ad.staging.front.rewriting import rewritten_code
from shiftreset_ad.staging.front.sequences import counting, sequence_of
from shiftreset_ad.staging.front.session import changing, current, is_staged, negated, told_apart
from shiftreset_ad.staging.front.truths import JOINS, joined, lasting, may_be_joined
from shiftreset_ad.staging.front.users import is_of_the_user, may_act
from shiftreset_ad.staging.front.versions import Item, augmented, has_array, is_array, is_in_block, item_written
from shiftreset_ad.staging.steps.functions import OF_NUMBERS
from shiftreset_ad.staging.steps.unwatched import unwatched

__all__ = [
    "Item",
    "augmented",
    "called",
    "called_for_its_effect",
    "called_without_effects",
    "changing",
    "counted",
    "has_array",
    "is_array",
    "is_in_block",
    "is_staged",
    "item_written",
    "lasting",
    "negated",
    "original",
    "refusal_of",
    "rewritten",
    "slice_of",
    "told_apart",
    "writable",
]

CHANGED_BY_METHODS = {list, dict, set, deque}
READING = {"copy", "count", "get", "index", "items", "keys", "values"}
OF_IDENTITY = {id, operator.is_, operator.is_not}
CALLING = {map, filter, sorted, min, max}  # functions of Python's that call functions
OF_THE_FRONT = CALLING | OF_IDENTITY | OF_PYTHONS.keys() | JOINS.keys()

_codes: dict[tuple[int, int], tuple[CodeType, dict[str, Any], CodeType | str]] = {}
_original_codes: dict[int, tuple[CodeType, CodeType]] = {}  # by the ids of rewritten ones
_originals: WeakKeyDictionary[Callable[..., Any], FunctionType] = WeakKeyDictionary()


def rewritten(f: Any) -> Any:
    """A function in its rewritten form; the function itself if it is not Python's, or cannot be rewritten.

    A derivative becomes the derivative of the rewritten function, and a function with rules has rewritten rules.
    """
    return _with(f, _form_of)


def original(x: Any) -> Any:
    """The function of which this is the rewritten form, or its code if this is code; anything else is itself."""
    if type(x) is CodeType:
        _, code = _original_codes.get(id(x), (x, x))
        return code
    return _originals.get(x, x) if type(x) is FunctionType else x


def entered(f: Any, *args: Any, **kwargs: Any) -> Any:
    """The answer of a function, called in its rewritten form."""
    answer, session = _with(f, _called_form)(*args, **kwargs), current()
    if session is not None:
        session.require_own_names(answer)
    return answer


def refusal_of(f: FunctionType) -> str | None:
    """Why a function cannot be rewritten; None if it can."""
    found = _code_of(f)
    return found if isinstance(found, str) else None


def called(f: Any) -> Any:
    """What to call for a function that the user's code calls.

    A block that is written down runs although the program may never reach it. So it calls no function that may act.
    """
    session = current()
    if session is not None and session.active and may_act(f):
        session.refuse(session.active[-1], MAY_ACT.format(name=getattr(f, "__name__", type(f).__name__)))
    if type(f) is BuiltinFunctionType and type(f.__self__) in CHANGED_BY_METHODS and f.__name__ not in READING:
        changing(f.__self__)
    if (type(f) is FunctionType and is_ours(f.__code__)) or (
        type(f) in (type, BuiltinFunctionType) and f in OF_THE_FRONT
    ):
        return f if session is None else partial(_given_rewritten, f)
    if type(f) in (type, BuiltinFunctionType) and f in OF_NUMBERS:
        return f if session is None else partial(of_numbers, f)
    if f is np.array or f is np.asarray:
        return f if session is None else partial(array_of, f)
    return _with(f, _form_if_users)


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
    return f is setattr or f == object.__setattr__ or type(getattr(f, "__self__", None)) in CHANGED_BY_METHODS


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
    if f in IN_ORDER and not kwargs:
        values = args if len(args) > 1 else args[0]
        if type(values) is GeneratorType:
            args = (values := list(values),)
        if type(values) in (list, tuple) and any(map(is_staged, values)):
            return _called_form(IN_ORDER[f])(values)
    if f in OF_PYTHONS and has_staged_number([*args, *kwargs.values()]):
        return _called_form(OF_PYTHONS[f])(*args, **kwargs)
    return f(*map(_rewritten_argument, args), **{name: _rewritten_argument(arg) for name, arg in kwargs.items()})


def _rewritten_argument(x: Any) -> Any:
    """An argument, in another form if it is a function of the user's, or one of Python's on numbers."""
    if type(x) in (type, BuiltinFunctionType) and x in OF_NUMBERS:
        return partial(of_numbers, x)
    return _with(x, _form_if_users) if callable(x) else x


def _with(f: Any, form_of: Callable[[FunctionType], Callable[..., Any]]) -> Any:
    """A function with another form of the Python functions in it."""
    kind = type(f)
    if kind is FunctionType:
        return form_of(f)
    if kind is MethodType:
        function = _with(f.__func__, form_of)
        return f if function is f.__func__ else MethodType(function, f.__self__)
    if kind is partial:
        function = _with(f.func, form_of)
        return f if function is f.func else partial(function, *f.args, **f.keywords)
    if isinstance(f, Derived):
        function = _with(f.__wrapped__, form_of)
        return f if function is f.__wrapped__ else f.of(function)
    if isinstance(f, Composite):
        held = f.held()
        forms = {name: _with(part, form_of) for name, part in held.items()}
        if all(map(is_, held.values(), forms.values())):
            return f
        composite = f.copied()
        composite.made_of(forms)
        return composite
    call = kind.__dict__.get("__call__")
    if type(call) is FunctionType and is_of_the_user(kind.__module__):
        return MethodType(form_of(call), f)
    return f


def _form_if_users(f: FunctionType) -> Callable[..., Any]:
    return _called_form(f) if is_of_the_user(f.__module__, f.__code__.co_filename) else f


def _called_form(f: FunctionType) -> Callable[..., Any]:
    """The form of a function that is called now. A function that calls itself is written down as a function."""
    session, form = current(), _form_of(f)
    if session is None:
        return form
    session.called.add(form.__code__)
    if form.__code__ not in session.recursive:
        return form
    site = recursion(form.__code__, session.recursive[form.__code__])

    @wraps(form)
    def written(*args: Any, **kwargs: Any) -> Any:
        return site.answer(session, form, args, kwargs)

    _originals[written] = f
    return written


def _form_of(f: FunctionType) -> FunctionType:
    code = _code_of(f)
    if isinstance(code, str) or code is f.__code__:
        return f
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    closure = tuple([cells[name] for name in code.co_freevars])
    found = FunctionType(code, f.__globals__, f.__name__, f.__defaults__, closure)
    found.__kwdefaults__, found.__dict__, found.__qualname__ = f.__kwdefaults__, f.__dict__, f.__qualname__
    found.__doc__, found.__module__, found.__annotations__ = f.__doc__, f.__module__, f.__annotations__
    _originals[found] = f
    return found


def counted(f: Any) -> Any:
    """What to call for the `range`, `zip`, `enumerate` or `reversed` of a `for` loop."""
    session = current()
    if session is None or not any(f is kind for kind in (range, zip, enumerate, reversed)):
        return called(f)
    return partial(counting, session.control) if f is range else partial(sequence_of, session.control, f)


def _code_of(f: FunctionType) -> CodeType | str:
    """The rewritten code of a function. An inner function of a rewritten one has it already."""
    this = sys.modules[__name__]
    if any(x is this for x in f.__code__.co_consts):
        return f.__code__
    key = id(f.__code__), id(f.__globals__)
    if key not in _codes:
        # The first two are kept, so that no others get their ids.
        _codes[key] = f.__code__, f.__globals__, _rewritten_code(f)
    return _codes[key][2]


@unwatched
def _rewritten_code(f: FunctionType) -> CodeType | str:
    """The code of a function, rewritten, or why it cannot be rewritten."""
    try:
        found = rewritten_code(f, sys.modules[__name__])
    except RefusedError as error:
        return f"{error}"  # the error itself would keep the variables of its callers
    _original_codes[id(found)] = found, f.__code__
    return found
