"""What each instruction reads from outside, and what it learns of staged values that no value can tell.

An instruction is looked at before Python carries it out. A value that it hands to code that is not watched is read with
all that can be reached from it. An instruction that is not known here does this with the whole stack.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType, ModuleType
from typing import Any, NoReturn

from numpy import ndarray

from shiftreset_ad.array_api import Wrapped
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.staging.seen.calls import Calls
from shiftreset_ad.staging.seen.parts import (
    CONTAINERS,
    PLAIN,
    count_of,
    disassembled,
    is_key,
    is_made_by_python,
    is_read_as_a_tuple,
)
from shiftreset_ad.staging.seen.reads import WITH_KEYS, Reads
from shiftreset_ad.staging.seen.stack import (
    NOTHING,
    OF_STAGED,
    FrameStack,
    Instruction,
    Unknown,
    instructions_of,
    may_be_staged,
)
from shiftreset_ad.staging.steps.values import SCALARS, Staged

OF_PATTERNS = 1 << 5 | 1 << 6  # the flags of classes that `match` takes for sequences, and for mappings
OF_INTEGERS: dict[str, Callable[[int, int], int]] = {
    "+": int.__add__,
    "-": int.__sub__,
    "*": int.__mul__,
}
# They move values, or make a new container of them, and look at none.
QUIET = (
    *("LOAD_", "STORE_FAST", "STORE_DEREF", "STORE_NAME", "STORE_GLOBAL", "POP_TOP", "POP_EXCEPT", "RETURN_", "RAISE"),
    *("RERAISE", "BUILD_", "LIST_APPEND", "LIST_TO", "SET_ADD", "SET_FUNCTION", "MAP_ADD", "MAKE_", "COPY", "SWAP"),
    *("DELETE_FAST", "DELETE_NAME", "DELETE_GLOBAL", "DELETE_DEREF", "JUMP_FORWARD", "JUMP_BACKWARD", "NOP", "RESUME"),
    *("KW_NAMES", "PRECALL", "END_", "CHECK_E", "WITH_EXCEPT", "PUSH_EXC", "YIELD", "SEND", "FOR_ITER", "SETUP_ANN"),
    *("CALL_INTRINSIC", "CLEANUP_THROW", "ASYNC_GEN_WRAP", "PREP_RERAISE", "GET_A"),
)
USING = (
    "BEFORE_",
    "BINARY_",
    "UNARY_",
    "COMPARE_OP",
    "FORMAT_",
    "CONVERT_VALUE",
    "STORE_SLICE",
    "PRINT_EXPR",
    "IMPORT_STAR",
)


# A variable of a comprehension cannot be read if the function has another one of this name in a cell. From 3.13 on,
# CPython takes it for the cell that inner functions see, and the process would end. Where variables are put back, 3.12
# gives it the value of what the function sees from outside; in the body of a class it loses the value.
HAS_INLINE_COMPREHENSIONS = sys.version_info >= (3, 12)
ITERATOR = ".0"  # a variable of a comprehension that has no name in the source
LOSES_VALUES = sys.version_info[:2] == (3, 12)
# Up to 3.12, Python shows copies of variables. A trace function has them put back, and `sys.monitoring` has not.
SHOWS_COPIES = sys.version_info[:2] == (3, 12)
_hidden: dict[int, tuple[CodeType, frozenset[str]]] = {}


def hidden_in(code: CodeType) -> frozenset[str]:
    """The variables of comprehensions that cannot be read while the code is watched."""
    of_a_class = LOSES_VALUES and not code.co_flags & CO_OPTIMIZED
    in_cells = code.co_freevars if LOSES_VALUES else code.co_cellvars
    if not HAS_INLINE_COMPREHENSIONS or not (of_a_class or in_cells):
        return frozenset()
    if id(code) not in _hidden:
        cleared = {step.argval for step in disassembled(code) if step.opname == "LOAD_FAST_AND_CLEAR"}
        _hidden[id(code)] = code, frozenset(cleared - {ITERATOR} if of_a_class else cleared.intersection(in_cells))
    return _hidden[id(code)][1]


def are_inputs(*values: Staged) -> bool:
    """Whether these are arguments: which of them are the same array belongs to the key of a call."""
    return all(x._place < x._trace.inputs for x in values)


class Watched:
    """A frame that is watched: its stack, and the code of the function whose answer it waits for."""

    __slots__ = ("code", "expects", "frame", "hidden", "late", "looks", "replaced", "stack")

    def __init__(self, frame: FrameType) -> None:
        self.frame = frame
        self.code = code = frame.f_code
        self.hidden = hidden_in(code)
        self.stack = FrameStack(code)
        self.looks = looks_at(code)
        self.expects: CodeType | None = None
        self.late: str | None = None  # the variable whose value is on top of the stack
        self.replaced: dict[str, Any] = {}

    def variable(self, name: str) -> Any:
        """The value of a local variable, or of one that is closed over."""
        return self.frame.f_locals.get(name, Unknown())

    def show_plain(self, name: str) -> None:
        """For the next instruction alone, a variable has the plain value of its staged one."""
        self.replaced[name] = x = self.frame.f_locals[name]
        self._show({name: x.inside})

    def show_again(self) -> None:
        """Have the staged values in the variables again."""
        self._show(self.replaced)
        self.replaced.clear()

    def _show(self, values: Mapping[str, Any]) -> None:
        self.frame.f_locals.update(values)
        if SHOWS_COPIES:
            ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(self.frame), 0)


class Instructions:
    """Looks at the instructions of a run before they are carried out."""

    def __init__(self, reads: Reads, refuse: Callable[[str], NoReturn]) -> None:
        self._reads = reads
        self._refuse = refuse
        self._calls = Calls(reads, refuse)

    def before(self, watched: Watched, offset: int) -> None:
        """Look at the instruction that comes next in a frame, at this place of its code."""
        if watched.replaced:
            watched.show_again()
        instruction = watched.stack.at(offset)
        if instruction is None:
            return
        if watched.late is not None:
            watched.stack.correct(watched.variable(watched.late))
            watched.late = None
        watched.expects = None
        look = watched.looks[offset]
        if look is not None:
            look(self, watched, instruction)

    def _use(self, operands: list[Any]) -> None:
        for x in operands:
            self._reads.use(x)
            if is_made_by_python(type(x)):
                self._reads.class_of(x)

    def _using(self, watched: Watched, instruction: Instruction) -> None:
        self._use(watched.stack.operands())

    def _using_all(self, watched: Watched, instruction: Instruction) -> None:
        self._use(watched.stack.all())

    # Variables

    def _constant(self, watched: Watched, instruction: Instruction) -> None:
        watched.stack.give(instruction.value)

    def _variable(self, watched: Watched, instruction: Instruction) -> None:
        names = instruction.value if type(instruction.value) is tuple else (instruction.value,)
        if watched.hidden and instruction.name != "LOAD_DEREF":
            self._require_shown(watched, names)
        shown = watched.frame.f_locals
        values = [shown[name] if name in shown else Unknown() for name in names]
        if (
            type(values[0]) is Staged
            and self._calls.asks_for_type(watched.stack.top(2))
            and watched.stack.next_goes_to_call(len(values))
        ):
            watched.show_plain(names[0])
            values[0] = values[0].inside
        watched.stack.give(*values)

    def _store_and_load(self, watched: Watched, instruction: Instruction) -> None:
        stored, loaded = instruction.value
        self._require_shown(watched, (stored, loaded))
        watched.stack.give(watched.variable(loaded))
        watched.late = loaded if stored == loaded else None  # it has its value after the instruction

    def _comprehension(self, watched: Watched, instruction: Instruction) -> None:
        if LOSES_VALUES:
            self._require_shown(watched, (instruction.value,))

    def _require_shown(self, watched: Watched, names: Sequence[str]) -> None:
        for name in names:
            if name in watched.hidden:
                self._refuse(
                    f"{name!r} is a variable of a comprehension that this version of Python does not show: another "
                    f"function or the body of a class sees a {name!r}, too. Give the variable another name"
                )

    def _nothing(self, watched: Watched, instruction: Instruction) -> None:
        watched.stack.give(NOTHING)

    def _global(self, watched: Watched, instruction: Instruction) -> None:
        frame, name = watched.frame, instruction.value
        if instruction.name == "LOAD_NAME" and (space := frame.f_locals) is not frame.f_globals and name in space:
            watched.stack.give(self._reads.name_in(space, name))
            return
        value = self._reads.variable(frame.f_globals, frame.f_builtins, name)
        is_called = instruction.name == "LOAD_GLOBAL" and instruction.arg & 1
        (watched.stack.give_function if is_called else watched.stack.give)(value)

    def _import(self, watched: Watched, instruction: Instruction) -> None:
        level, names = watched.stack.top(2)
        frame, absolute = watched.frame, instruction.value
        if level:
            package = frame.f_globals.get("__package__") or frame.f_globals["__name__"].rpartition(".")[0]
            absolute = importlib.util.resolve_name("." * level + absolute, package)
        self._reads.guards.entry(sys.modules, absolute, absolute)
        watched.stack.give(sys.modules.get(absolute if names else absolute.partition(".")[0], Unknown()))

    def _import_from(self, watched: Watched, instruction: Instruction) -> None:
        module = watched.stack.top(1)[0]
        value, watched.expects = self._reads.attribute(module, instruction.value)
        if type(value) is Unknown and isinstance(module, ModuleType):
            value = sys.modules.get(f"{module.__name__}.{instruction.value}", value)
        watched.stack.give(module, value)

    # Attributes and elements

    def _attribute(self, watched: Watched, instruction: Instruction) -> None:
        x, name = watched.stack.top(1)[0], instruction.value
        if type(x) is Staged:
            self._calls.require_known_attribute(x, name)
        value, watched.expects = self._reads.attribute(x, name)
        is_called = instruction.name == "LOAD_METHOD" or (sys.version_info >= (3, 12) and instruction.arg & 1)
        (watched.stack.give_function if is_called else watched.stack.give)(value)

    def _of_super(self, watched: Watched, instruction: Instruction) -> None:
        _, kind, x = watched.stack.top(3)
        value = self._reads.of_super(kind, x, instruction.value)
        (watched.stack.give_function if instruction.arg & 1 else watched.stack.give)(value)

    def _item(self, watched: Watched, instruction: Instruction) -> None:
        found = self._calls.item(*watched.stack.top(2))
        if found is not None:
            value, watched.expects = found
            watched.stack.give(value)

    def _contains(self, watched: Watched, instruction: Instruction) -> None:
        key, holder = watched.stack.top(2)
        if type(holder) in WITH_KEYS and is_key(key):
            self._reads.item(holder, key)
        elif is_key(key):
            self._reads.structure(holder)
        else:
            self._use([key, holder])

    def _store_attribute(self, watched: Watched, instruction: Instruction) -> None:
        x = watched.stack.top(1)[0]
        if is_made_by_python(type(x)) and not issubclass(type(x), OF_STAGED):
            self._reads.class_of(x)

    def _store_item(self, watched: Watched, instruction: Instruction) -> None:
        x = watched.stack.top(2)[0]
        if is_made_by_python(type(x)):
            self._reads.class_of(x)

    # Containers

    def _structure(self, watched: Watched, instruction: Instruction) -> None:
        self._reads.structure(watched.stack.top(1)[0])

    def _unpack(self, watched: Watched, instruction: Instruction) -> None:
        x = watched.stack.top(1)[0]
        self._reads.structure(x)
        if (type(x) is list or is_read_as_a_tuple(type(x))) and len(x) == instruction.arg:
            watched.stack.give(*reversed(x))

    def _branch(self, watched: Watched, instruction: Instruction) -> None:
        x = watched.stack.top(1)[0]
        kind = type(x)
        if kind in PLAIN or kind in (Unknown, Staged) or "NONE" in instruction.name:
            return
        if kind in CONTAINERS:
            if self._reads.is_outside(x):
                self._reads.guards.parts((id(x), "length"), partial(count_of, x), self._reads.name_of(x))
        elif self._reads.is_users(kind) and not issubclass(kind, CONTAINERS):
            self._reads.class_of(x)
        else:
            self._use([x])

    # What no value can tell

    def _is(self, watched: Watched, instruction: Instruction) -> None:
        x, y = watched.stack.top(2)
        if type(x) is Staged and type(y) is Staged and type(x.inside) is type(y.inside) is ndarray and are_inputs(x, y):
            return
        for one, other in ((x, y), (y, x)):
            if may_be_staged(one):
                self._same(one, other)

    def _same(self, x: Any, other: Any) -> None:
        """Refuse to tell whether a staged value is the same object as `other`, if it may be."""
        kind = type(other)
        if kind is Unknown or issubclass(kind, (*SCALARS, ndarray, Number, Wrapped)):
            self._refuse("it asks whether a value is the same object as another one, by `is`. Compare by ==")

    def _match_kind(self, watched: Watched, instruction: Instruction) -> None:
        """`match` asks for a flag of the class: NumPy's arrays are sequences to it from some version on."""
        subject = watched.stack.top(1)[0]
        if type(subject) is Staged and (type(subject.inside).__flags__ ^ Staged.__flags__) & OF_PATTERNS:
            self._refuse("it matches a value with a pattern of a sequence. Match x.shape, or write x[0]")
        self._reads.structure(subject)

    def _match_class(self, watched: Watched, instruction: Instruction) -> None:
        subject, kind, _ = watched.stack.top(3)
        self._calls.require_known_instance(subject, kind)
        self._use([subject])

    # Calls

    def _call(self, watched: Watched, instruction: Instruction) -> None:
        operands = watched.stack.operands()
        if instruction.name == "CALL_KW":
            operands.pop()
        callee, *rest = [x for x in operands[:2] if x is not NOTHING]
        answer, watched.expects = self._calls.look_at(callee, [*rest, *operands[2:]], watched.frame)
        watched.stack.give(answer)

    def _binary(self, watched: Watched, instruction: Instruction) -> None:
        x, y = watched.stack.top(2)
        if type(x) is int and type(y) is int and instruction.symbol in OF_INTEGERS:
            watched.stack.give(OF_INTEGERS[instruction.symbol](x, y))
        elif self._reads.is_harmless(x) and self._reads.is_harmless(y):  # so is the answer
            watched.stack.give(Unknown((), may_be_staged(x) or may_be_staged(y)))
        else:
            self._use([x, y])


Look = Callable[[Instructions, Watched, Instruction], None]
LOOKS: dict[str, Look] = {
    **dict.fromkeys(("LOAD_CONST", "LOAD_SMALL_INT"), Instructions._constant),
    **dict.fromkeys(("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_LOAD_FAST", "LOAD_DEREF"), Instructions._variable),
    "STORE_FAST_LOAD_FAST": Instructions._store_and_load,
    "LOAD_FAST_AND_CLEAR": Instructions._comprehension,
    "PUSH_NULL": Instructions._nothing,
    **dict.fromkeys(("LOAD_GLOBAL", "LOAD_NAME"), Instructions._global),
    "IMPORT_NAME": Instructions._import,
    "IMPORT_FROM": Instructions._import_from,
    **dict.fromkeys(("LOAD_ATTR", "LOAD_METHOD"), Instructions._attribute),
    "LOAD_SUPER_ATTR": Instructions._of_super,
    "BINARY_SUBSCR": Instructions._item,
    "CONTAINS_OP": Instructions._contains,
    **dict.fromkeys(("STORE_ATTR", "DELETE_ATTR"), Instructions._store_attribute),
    **dict.fromkeys(("STORE_SUBSCR", "DELETE_SUBSCR"), Instructions._store_item),
    **dict.fromkeys(("GET_ITER", "GET_YIELD_FROM_ITER", "GET_LEN", "UNPACK_EX"), Instructions._structure),
    **dict.fromkeys(("LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE"), Instructions._structure),
    **dict.fromkeys(("MATCH_SEQUENCE", "MATCH_MAPPING"), Instructions._match_kind),
    "UNPACK_SEQUENCE": Instructions._unpack,
    **dict.fromkeys(("TO_BOOL", "UNARY_NOT"), Instructions._branch),
    "IS_OP": Instructions._is,
    "MATCH_CLASS": Instructions._match_class,
    **dict.fromkeys(("CALL", "CALL_KW", "CALL_FUNCTION_EX"), Instructions._call),
    "BINARY_OP": Instructions._binary,
}


@lru_cache(256)
def looks_at(code: CodeType) -> dict[int, Look | None]:
    """How to look at each instruction of a piece of code; None for one that looks at nothing."""
    return {offset: manner(instruction.name) for offset, instruction in instructions_of(code).items()}


def manner(name: str) -> Look | None:
    """How to look at instructions of this name."""
    if name in LOOKS:
        return LOOKS[name]
    if name.startswith(("POP_JUMP", "JUMP_IF")):
        return Instructions._branch
    if name.startswith(USING):
        return Instructions._using
    return None if name.startswith(QUIET) else Instructions._using_all
