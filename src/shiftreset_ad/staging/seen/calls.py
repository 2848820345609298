"""What a call reads of its arguments, by the function that is called; and calls that no steps can stand for."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import Any, NoReturn

from shiftreset_ad.control.frames import module_of
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.staging.front.effects import GROWING
from shiftreset_ad.staging.seen.parts import CONTAINERS, is_key, is_made_by_python, is_of_the_front
from shiftreset_ad.staging.seen.reads import WITH_KEYS, Reads
from shiftreset_ad.staging.seen.stack import IS_BELOW, NOTHING, Unknown, may_be_staged
from shiftreset_ad.staging.steps.values import Staged

CLOCKS = {time.time, time.time_ns, time.perf_counter, time.perf_counter_ns, time.monotonic, time.process_time}
# They look at a container, and not at what is in it.
OF_STRUCTURE = {len, zip, enumerate, reversed, list, tuple, iter, next, isinstance, issubclass, callable, range}
OF_TYPE = (type, isinstance, hasattr, callable)  # they look at the type of their first argument
WITHOUT_VALUES = {len, isinstance, issubclass, callable, hasattr, range, id, str, repr, dir, vars, globals, locals}
OF_CONTAINERS = {"keys", "values", "items", "copy", "index", "count"}
LATER = 0x20 | 0x80 | 0x200  # flags of the code of generators and coroutines

Answer = tuple[Any, CodeType | None]  # the answer of a call if it is known, and the code that will give it


class Calls:
    """Looks at the calls of a run before they are carried out."""

    def __init__(self, reads: Reads, refuse: Callable[[str], NoReturn]) -> None:
        self._reads = reads
        self._refuse = refuse

    def look_at(self, callee: Any, args: list[Any], frame: FrameType) -> Answer:
        """Look at a call. An argument may be unknown, and then it may be several."""
        kind = type(callee)
        if kind is partial and type(callee.func) is FunctionType and is_of_the_front(callee.func):
            return self._of_the_front(callee.func, [*callee.args, *args], frame)
        if kind is FunctionType and is_of_the_front(callee):
            return self._of_the_front(callee, args, frame)
        if kind is FunctionType:
            return self._of_function(callee, args)
        if kind is MethodType:
            return self.look_at(callee.__func__, [callee.__self__, *args], frame)
        if issubclass(kind, type):
            return self._of_class(callee, args, frame)
        if kind is BuiltinFunctionType:
            return self._of_builtin(callee, args, frame)
        if is_made_by_python(kind) and self._reads.is_users(kind) and callable(callee):
            self._reads.class_of(callee)
            if type(call := kind.__call__) is FunctionType:
                return Unknown(args, True), call.__code__
        self._reads.use(callee)
        return self._hands_over(args), None

    def asks_for_type(self, below: list[Any]) -> bool:
        """Whether the next value is the first argument of a function that looks at its type, by the stack below it."""
        place, callee = below if IS_BELOW else below[::-1]
        return place is NOTHING and any(callee is function for function in OF_TYPE)

    def item(self, holder: Any, key: Any) -> Answer | None:
        """Look at the reading of an item. None if the holder or the key is unknown."""
        if type(holder) is Unknown or type(key) is Unknown:
            self._reads.structure(holder)
            self._reads.use(key)
            return None
        return self._reads.item(holder, key)

    def require_known_attribute(self, x: Staged, name: str) -> None:
        """Refuse special attributes that tell a staged value from its plain value."""
        if name.startswith("__") and hasattr(type(x), name) != hasattr(type(x.inside), name):
            self._refuse(f"it asks for x.{name}. Use NumPy's functions on x")

    def require_known_instance(self, x: Any, kinds: Any) -> None:
        """Refuse the question whether a value is of an abstract class, if staged values are, too."""
        abstract = [kind for kind in (kinds if type(kinds) is tuple else (kinds,)) if type(kind) is not type]
        if not abstract or not may_be_staged(x) or issubclass(type(x), Number):  # a number answers as its value
            return
        if type(x) is not Staged or any(isinstance(x.inside, kind) != issubclass(Staged, kind) for kind in abstract):
            self._refuse(
                "it asks whether an expression is of an abstract class. Give it a name, x, and write isinstance(x, ...)"
            )

    def _hands_over(self, args: list[Any]) -> Unknown:
        for x in args:
            self._reads.use(x)
        return Unknown((), True)

    def _of_function(self, function: FunctionType, args: list[Any]) -> Answer:
        code, function = function.__code__, self._reads.original(function)
        if function is os.getenv:
            self._reads.use(os.environ)
        if self._reads.is_users(function):
            self._reads.called(function)
            return Unknown(args, True), None if code.co_flags & LATER else code
        if self._reads.is_outside(function):
            self._reads.use(function)
        if function.__module__ == "inspect" and function.__name__ in ("currentframe", "stack"):
            self._refuse("it looks at the frames of the program")
        return self._hands_over(args), code

    def _of_the_front(self, function: FunctionType, args: list[Any], frame: FrameType) -> Answer:
        """What rewritten code calls reads what the code as it was would read."""
        name = function.__name__
        if name in ("called", "called_for_its_effect", "called_without_effects", "counted", "counted_in_a_fold"):
            self._looks_up(args[0])
        elif name == "called_to_make":
            self._looks_up(args[1])
        elif name == "made_by":
            self.look_at(args[0], args[2:], frame)
        elif name in ("_given_rewritten", "_joined"):
            self.look_at(args[0], args[1:], frame)
        elif name == "lasting":
            self._reads.structure(args[0])
            return Unknown([args[0]], True), None
        elif name in ("changing", "told_apart", "writable", "hashed"):
            return args[0], None
        elif name == "sequence_of":
            self.look_at(args[1], args[2:], frame)
        elif name == "items":
            self._reads.structure(args[1])
            return Unknown([args[1]], True), None
        elif name in ("item", "item_at"):
            self.item(*args[-2:])
        elif name in ("operated", "operated_alone", "compared", "contained", "augmented_object"):
            self._operates(args[1:])
        elif name in ("truth_of", "iterated") and not is_made_by_python(type(args[0])):
            return args[0], None
        elif name in ("truth_of", "iterated", "assigned", "has_setter"):
            self._operates([x for x in args[:2] if is_made_by_python(type(x))])
        elif name == "attribute":
            return self._getattr(getattr, args)
        elif name == "constructed":
            self._of_class(args[0], args[1:], frame)
        elif name == "of_list":
            self.look_at(args[0], args[1:], frame)
        elif name in ("of_object", "not_told_apart"):
            self.look_at(args[1], args[2:], frame)
        elif name in ("item_written", "augmented"):
            return self._hands_over(args), function.__code__
        return Unknown(args, True), function.__code__

    def _operates(self, operands: list[Any]) -> None:
        for x in operands:
            self._reads.use(x)
            if is_made_by_python(type(x)):
                self._reads.class_of(x)

    def _looks_up(self, callee: Any) -> None:
        """A function is looked up that is going to be called, and that stands for other functions."""
        kind = type(callee)
        if is_made_by_python(kind) and self._reads.is_users(kind):
            self._reads.class_of(callee)
        elif not issubclass(kind, FunctionType | BuiltinFunctionType | MethodType | type):
            self._reads.use(callee)

    def _of_class(self, kind: Any, args: list[Any], frame: FrameType) -> Answer:
        if kind is type and len(args) == 1:
            return self._type_of(args[0]), None
        if kind is super:
            return self._super(args, frame), None
        if kind in OF_STRUCTURE:
            for x in args:
                self._reads.structure(x)
            return Unknown(args), None
        self._reads.whole_class(kind)
        if not self._reads.is_users(kind) or type(kind.__init__) is not FunctionType:
            self._hands_over(args)
            return Unknown(args, True), None
        return Unknown(args), None

    def _type_of(self, x: Any) -> Any:
        if type(x) is Staged or (type(x) is Unknown and x.may_be_staged):
            self._refuse("it asks for the type of an expression by type(...). Give it a name, x, and write type(x)")
        if module_of(type(x)) == GROWING:
            self._refuse("it asks for the type of a list whose length depends on the arguments. Use isinstance(...)")
        if type(x) is Unknown:
            return Unknown()
        self._reads.kind(x)
        return type(x)

    def _super(self, args: list[Any], frame: FrameType) -> Any:
        names = frame.f_code.co_varnames
        kind, x = args if len(args) == 2 else (frame.f_locals.get("__class__"), frame.f_locals.get(names[0]))
        return super(kind, x) if isinstance(kind, type) and x is not None else Unknown([x])

    def _of_builtin(self, function: Any, args: list[Any], frame: FrameType) -> Answer:
        owner = function.__self__
        if function in CLOCKS:
            self._refuse(f"it looks at the clock, by {function.__name__!r}. Make the time an argument")
        if function in (warnings.warn, warnings.warn_explicit):
            self._refuse("it warns. Warn outside")
        if function is id and may_be_staged(args[0]):
            self._refuse("it asks for id(...) of a value. Compare by ==")
        if function in (isinstance, issubclass) and len(args) == 2:
            self.require_known_instance(*args)
        if (function is getattr or function is hasattr) and len(args) > 1 and type(args[1]) is str:
            return self._getattr(function, args)
        if function is sys._getframe:
            self._refuse("it looks at the frames of the program")
        if function is __import__ and type(args[0]) is str:
            return sys.modules.get(args[0].partition(".")[0], Unknown()), None
        if function is eval or function is exec:
            return Unknown((), True), None  # the code that they run is watched
        if function is globals:
            return self._reads.met(frame.f_globals, "globals()"), None
        if function in (locals, vars) and not args:
            return self._hands_over([*frame.f_locals.values()]), None
        if function is vars and len(args) == 1:
            return self._reads.attribute(args[0], "__dict__")
        if function in OF_STRUCTURE:
            for x in args:
                self._reads.structure(x)
            return (Unknown() if function in WITHOUT_VALUES else Unknown(args, True)), None
        if isinstance(owner, ModuleType) or owner is None:
            return (
                Unknown() if function in WITHOUT_VALUES and not self._hands_over(args) else self._hands_over(args)
            ), None
        return self._of_method(function, owner, args)

    def _getattr(self, function: Any, args: list[Any]) -> Answer:
        x, name = args[:2]
        if type(x) is Staged:
            self.require_known_attribute(x, name)
        value, code = self._reads.attribute(x, name)
        if function is hasattr:
            return Unknown(), None
        return (Unknown(args[2:], value.may_be_staged) if type(value) is Unknown else value), code

    def _of_method(self, method: Any, owner: Any, args: list[Any]) -> Answer:
        if type(owner) in WITH_KEYS and method.__name__ in ("get", "__getitem__") and args and is_key(args[0]):
            value, _ = self._reads.item(owner, args[0])
            return (Unknown(args[1:]) if type(value) is Unknown else value), None
        if type(owner) in CONTAINERS and method.__name__ in OF_CONTAINERS:
            self._reads.structure(owner)
            self._hands_over(args)
            return Unknown([owner]), None
        self._reads.use(owner)
        return self._hands_over(args), None
