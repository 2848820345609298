"""A block runs rewritten code alone: no other code of the user's, as nobody sees what this code calls.

Such code is a method that Python calls by itself, a generator, or a function without source. It could act, delete a
file for example, although the program may never reach the block. Operators, constructors and properties have a
rewritten form (`objects.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, ModuleType
from typing import Any, NoReturn

from shiftreset_ad.staging.front.users import is_of_the_user
from shiftreset_ad.staging.steps.unwatched import watching

NEVER = None, None


@contextmanager
def only_rewritten(running: ModuleType, control: Any, refuse: Callable[[CodeType], NoReturn]) -> Iterator[None]:
    """Refuse when other code of the user's is entered inside the block, and not that of `control`.

    A debugger's trace function goes on. Where the watch pauses, this pauses, too.
    """
    outer: Any = sys.gettrace()
    may_pause = outer is not None and outer is watching.by
    of_control = type(control).__module__

    known: dict[int, tuple[CodeType, Any]] = {}  # what may be entered, by its id: to hash a piece of code takes time

    def entered(frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        _, with_globals = known.get(id(code), NEVER)
        if with_globals is not frame.f_globals:
            module = frame.f_globals.get("__name__")
            is_rewritten = any(x is running for x in code.co_consts)
            if not is_rewritten and module != of_control and _is_of_the_user(module, code):
                refuse(code)
            known[id(code)] = code, frame.f_globals
        return None if outer is None else outer(frame, event, arg)

    if may_pause:
        watching.by = entered
    sys.settrace(entered)
    try:
        yield
    finally:
        if may_pause:
            watching.by = outer
        sys.settrace(outer)


def _is_of_the_user(module: Any, code: CodeType) -> bool:
    if code.co_filename == "<string>" and (code.co_name.startswith("__") or str(module).startswith("namedtuple_")):
        return False  # a method that Python has made, of a dataclass or of a named tuple
    return is_of_the_user(module, code.co_filename)
