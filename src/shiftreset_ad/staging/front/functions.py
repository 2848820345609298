"""The functions of the user's in their rewritten form.

A rewritten function has the cells, the globals and the defaults of the function itself. Functions that it calls are
rewritten when they are called, if they are the user's own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial, wraps
from inspect import CO_GENERATOR
from operator import is_
from types import CodeType, FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

from shiftreset_ad.boundary.closed_over import Composite
from shiftreset_ad.boundary.derived import Derived
from shiftreset_ad.boundary.tracebacks import trimming
from shiftreset_ad.control.frames import is_the_users, module_of, outwards
from shiftreset_ad.staging.front.blocks import LATER, Place
from shiftreset_ad.staging.front.operators import ObjectRewriter
from shiftreset_ad.staging.front.recursion import recursion
from shiftreset_ad.staging.front.refusals import A_SOLVER_IN_A_SOLVER, Refusal, RefusedError
from shiftreset_ad.staging.front.rewriting import Rewriter, rewritten_code
from shiftreset_ad.staging.front.session import current
from shiftreset_ad.staging.front.users import is_of_the_user
from shiftreset_ad.staging.steps.unwatched import unwatched

TRIMMED = trimming(lambda: None).__code__  # of a function of ours that trims the tracebacks of another one
RUNNING = f"{__package__}.running"  # the module that rewritten code calls
# Of the code, of its globals, whether operators of objects are looked into, and of loops over generators; whether a
# generator stops.
Key = tuple[int, int, bool, frozenset[Place], bool | None]

_codes: dict[Key, tuple[CodeType, dict[str, Any], CodeType | str]] = {}
_original_codes: dict[int, tuple[CodeType, CodeType]] = {}  # by the ids of rewritten ones
_originals: WeakKeyDictionary[Callable[..., Any], FunctionType] = WeakKeyDictionary()


class Transparent:
    """A callable that does what `__wrapped__` does: in a recording, this is called."""

    __slots__ = ()
    __wrapped__: Any


def rewritten(f: Any) -> Any:
    """A function in its rewritten form; the function itself if it is not Python's, or cannot be rewritten.

    A derivative becomes the derivative of the rewritten function, and a function with rules has rewritten rules.
    """
    return with_forms(f, form_of)


def original(x: Any) -> Any:
    """The function of which this is the rewritten form, or its code if this is code; anything else is itself."""
    if type(x) is CodeType:
        _, code = _original_codes.get(id(x), (x, x))
        return code
    return _originals.get(x, x) if type(x) is FunctionType else x


def is_called_by_python(code: CodeType) -> bool:
    """Whether this is the code of a method that Python has called by itself: it is not rewritten."""
    of, _, _ = code.co_qualname.rpartition(".")
    is_method = bool(of) and not of.endswith("<locals>") and not code.co_flags & LATER
    return is_method and not any(x is sys.modules[RUNNING] for x in code.co_consts)


def refusal_of(f: FunctionType) -> str | None:
    """Why a function cannot be rewritten; None if it can."""
    found = _code_of(f)
    return found if isinstance(found, str) else None


def with_forms(f: Any, form_of: Callable[[FunctionType], Callable[..., Any]]) -> Any:
    """A function with another form of the Python functions in it."""
    kind = type(f)
    if kind is FunctionType:
        return form_of(f)
    if kind is MethodType:
        function = with_forms(f.__func__, form_of)
        return f if function is f.__func__ else MethodType(function, f.__self__)
    if kind is partial:
        function = with_forms(f.func, form_of)
        return f if function is f.func else partial(function, *f.args, **f.keywords)
    if isinstance(f, Transparent):
        return with_forms(f.__wrapped__, form_of)
    if isinstance(f, Derived):
        function = with_forms(f.__wrapped__, form_of)
        return f if function is f.__wrapped__ else f.of(function)
    if isinstance(f, Composite):
        held = f.held()
        forms = {name: with_forms(part, form_of) for name, part in held.items()}
        if all(map(is_, held.values(), forms.values())):
            return f
        composite = f.copied()
        composite.made_of(forms)
        return composite
    owner = next((base for base in kind.__mro__ if "__call__" in vars(base)), object)
    call = vars(owner).get("__call__")
    if type(call) is FunctionType and is_of_the_user(module_of(owner)):
        function = form_of(call)
        return f if function is call else MethodType(function, f)
    return f


def form_if_users(f: FunctionType) -> Callable[..., Any]:
    if f.__code__ is TRIMMED:
        return trimming(partial(_solved, vars(f)["__wrapped__"]))
    return called_form(f) if is_of_the_user(f.__module__, f.__code__.co_filename) else f


def _solved(f: FunctionType, *args: Any, **kwargs: Any) -> Any:
    """The answer of a solver of ours. In the function of another solver, it is not written down."""
    session = current()
    if session is None:
        return f(*args, **kwargs)
    if session.is_solving:
        line = next(filter(is_the_users, outwards(sys._getframe())))
        refusal = Refusal(line.f_code.co_filename, line.f_lineno, A_SOLVER_IN_A_SOLVER)
        session.refusals[A_SOLVER_IN_A_SOLVER] = refusal  # from here on, none is followed
        session.control.refuse(A_SOLVER_IN_A_SOLVER)
    if session.active:
        session.look_into_objects()  # the properties of a result, before a long recording finds that they are needed
    session.is_solving = True
    try:
        return form_if_users(f)(*args, **kwargs)
    finally:
        session.is_solving = False


def called_form(f: FunctionType) -> Callable[..., Any]:
    """The form of a function that is called now. A function that calls itself is written down as a function."""
    session, form = current(), form_of(f)
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


def form_of(f: FunctionType) -> FunctionType:
    code = _code_of(f)
    return f if isinstance(code, str) or code is f.__code__ else _with_code(f, code)


def visiting_form(f: FunctionType, stops: bool) -> FunctionType:
    """A generator in the form that calls the body of a loop (`generators`); any other function is itself."""
    if not f.__code__.co_flags & CO_GENERATOR or not is_of_the_user(f.__module__, f.__code__.co_filename):
        return f
    code = _code_of(f, stops)
    return f if isinstance(code, str) else _with_code(f, code)


def makes_a_generator(f: Any) -> bool:
    """Whether this is a generator function of the user's, or a method, that has a form which calls."""
    return with_forms(f, partial(visiting_form, stops=False)) is not f


def _with_code(f: FunctionType, code: CodeType) -> FunctionType:
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    closure = tuple([cells[name] for name in code.co_freevars])
    found = FunctionType(code, f.__globals__, f.__name__, f.__defaults__, closure)
    found.__kwdefaults__, found.__dict__, found.__qualname__ = f.__kwdefaults__, f.__dict__, f.__qualname__
    found.__doc__, found.__module__, found.__annotations__ = f.__doc__, f.__module__, f.__annotations__
    _originals[found] = f
    return found


def _code_of(f: FunctionType, stops: bool | None = None) -> CodeType | str:
    """The rewritten code of a function, of a generator if it `stops` or not. An inner function may have it already."""
    this, session = sys.modules[RUNNING], current()
    if any(x is this for x in f.__code__.co_consts):
        return f.__code__
    visited = frozenset[Place]() if session is None else session.visited_in(f.__code__)
    key = id(f.__code__), id(f.__globals__), session is not None and session.looks_into_objects, visited, stops
    if key not in _codes:
        # The first two are kept, so that no others get their ids.
        _codes[key] = f.__code__, f.__globals__, _rewritten_code(f, key[2], visited, stops)
    return _codes[key][2]


@unwatched
def _rewritten_code(
    f: FunctionType, looks_into_objects: bool, visited: frozenset[Place], stops: bool | None
) -> CodeType | str:
    """The code of a function, rewritten, or why it cannot be rewritten."""
    kind = ObjectRewriter if looks_into_objects else Rewriter
    try:
        found = rewritten_code(f, sys.modules[RUNNING], kind, visited, stops)
    except RefusedError as error:
        return f"{error}"  # the error itself would keep the variables of its callers
    _original_codes[id(found)] = found, f.__code__
    return found
