"""A block runs rewritten code alone: no other code of the user's, as nobody sees what this code calls.

Such code is a method that Python calls by itself, a generator, or a function without source. It could act, delete a
file for example, although the program may never reach the block. Operators, constructors and properties have a
rewritten form (`objects.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import CodeType, FrameType, ModuleType
from typing import Any, NoReturn

from shiftreset_ad.rules.stand_ins import recorder
from shiftreset_ad.staging.front.users import is_of_the_user

NEVER = None, None


def only_rewritten(
    running: ModuleType, control: Any, refuse: Callable[[CodeType], NoReturn]
) -> AbstractContextManager[None]:
    """Refuse when other code of the user's is entered inside the block, and not that of `control`.

    The watch over the run tells of it, so where the watch pauses, this pauses, too. A block in such a block takes over
    from it: what the inner one allows, the outer one would allow.
    """
    known: dict[int, tuple[CodeType, Any]] = {}  # what may be entered, by its id, as to hash a piece of code takes time
    of_control = type(control).__module__

    def enters(frame: FrameType) -> None:
        code = frame.f_code
        _, with_globals = known.get(id(code), NEVER)
        if with_globals is not frame.f_globals:
            module = frame.f_globals.get("__name__")
            is_rewritten = any(x is running for x in code.co_consts)
            if not is_rewritten and module != of_control and _is_of_the_user(module, code):
                refuse(code)
            known[id(code)] = code, frame.f_globals

    asking: AbstractContextManager[None] = recorder.watch.asking(enters)
    return asking


def _is_of_the_user(module: Any, code: CodeType) -> bool:
    if code.co_filename == "<string>" and (code.co_name.startswith("__") or str(module).startswith("namedtuple_")):
        return False  # a method that Python has made, of a dataclass or of a named tuple
    return is_of_the_user(module, code.co_filename)
