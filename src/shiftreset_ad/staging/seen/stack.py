"""The values on the stack of a frame, as far as the instructions of its code tell them.

Python shows the variables of a frame, but not its stack. So each instruction is looked at before it is carried out, and
what it puts on the stack is noted: a value, or an `Unknown` with the values that it may have been made of.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterable
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

from shiftreset_ad.array_api import Wrapped
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.staging.seen.parts import disassembled


class Unknown:
    """A value that is not known. It may have parts of the values that it was made of."""

    __slots__ = ("may_be_staged", "of")

    def __init__(self, of: Iterable[Any] = (), is_made_of_staged: bool = False) -> None:
        self.of: list[Any] = []
        for x in of:
            if x is not NOTHING:
                self.of.append(x)
                is_made_of_staged = is_made_of_staged or may_be_staged(x)
        self.may_be_staged = is_made_of_staged


OF_STAGED = (Wrapped, Number)
NOTHING: Any = object()  # the empty place beside a function that is called
JUMPS = {*dis.hasjrel, *dis.hasjabs}
IS_BELOW = sys.version_info < (3, 13)  # whether the place is below the function


def may_be_staged(x: Any) -> bool:
    """Whether a value on the stack may be a staged one, or may have one in it."""
    return x.may_be_staged if type(x) is Unknown else issubclass(type(x), OF_STAGED)


class Instruction(NamedTuple):
    """An instruction, with its arguments, the place of the next one, and what it does to the stack."""

    name: str
    arg: int
    value: Any
    symbol: str
    following: int
    gives: int  # so many values, with those that it leaves there
    longer: int  # by so many values the stack is longer afterwards
    longer_by_jump: int
    is_usual: bool  # whether it takes values, and gives others


class ErrorRange(NamedTuple):
    """Where a frame goes on after an error in a range of its instructions, and how long its stack is then."""

    start: int
    end: int
    target: int
    depth: int


@lru_cache(256)
def instructions_of(code: CodeType) -> dict[int, Instruction]:
    """The instructions by their places. One with a prefix has the place of the prefix, too."""
    found: dict[int, Instruction] = {}
    instructions = disassembled(code)
    prefixes: list[int] = []
    for i, x in enumerate(instructions):
        if x.opname == "EXTENDED_ARG":
            prefixes.append(x.offset)
            continue
        following = instructions[i + 1].offset if i + 1 < len(instructions) else -1
        known = x.opname, x.arg or 0, x.argval, x.argrepr, following
        longer = effect(x, False)
        longer_by_jump = effect(x, True) if x.opcode in JUMPS else longer
        found[x.offset] = Instruction(*known, gives(x), longer, longer_by_jump, x.opname not in UNUSUAL)
        found.update(dict.fromkeys(prefixes, found[x.offset]))
        prefixes.clear()
    return found


@lru_cache(256)
def handlers_of(code: CodeType) -> list[ErrorRange]:
    """The table of exceptions of a piece of code, which has its numbers in groups of six bits."""
    found, numbers = [], iter(code.co_exceptiontable)

    def number(first: int) -> int:
        value = first & 63
        while first & 64:
            first = next(numbers)
            value = value << 6 | first & 63
        return value

    for first in numbers:
        start, length, target = number(first) * 2, number(next(numbers)) * 2, number(next(numbers)) * 2
        flags = number(next(numbers))
        found.append(ErrorRange(start, start + length, target, (flags >> 1) + (flags & 1) + 1))
    return found


class FrameStack:
    """The stack of a frame before the instruction that comes next."""

    __slots__ = ("_code", "_instruction", "_instructions", "_offset", "_pushed", "_returned", "_values", "raised")

    def __init__(self, code: CodeType) -> None:
        self._code = code
        self._instructions = instructions_of(code)
        self._values: list[Any] = []
        self._instruction: Instruction | None = None
        self._offset = 0
        self._pushed: list[Any] | None = None
        self._returned: list[Any] = []
        self.raised = False

    def at(self, offset: int) -> Instruction | None:
        """The instruction that comes next, with the stack as it is before it. None if it is known already."""
        instruction, before = self._instructions[offset], self._instruction
        if before is instruction and offset > self._offset:
            return None  # the event of its prefix has come before
        if before is not None and not (self.raised and self._unwind(offset)):
            following = before.following
            jumped = offset != following and instruction is not self._instructions.get(following)
            if before.is_usual and not self._returned:  # for speed
                self._push(before, jumped)
            else:
                self._carry_out(before, instruction, jumped)
        self.raised = False
        self._instruction, self._offset, self._pushed = instruction, offset, None
        if self._returned:
            self._returned = []
        return instruction

    def top(self, count: int) -> list[Any]:
        """The topmost values, the top last."""
        values = self._values
        if 0 < count <= len(values):
            return values[-count:]
        return [Unknown((), True)] * (count - len(values)) + values if count else []

    def operands(self) -> list[Any]:
        """The values that the next instruction takes, if it gives one value, or none."""
        instruction = self._instruction
        if instruction is None:
            return []
        return self.top(max(0, instruction.gives - instruction.longer))

    def next_goes_to_call(self, count: int) -> bool:
        """Whether the first of the next `count` values goes to a call as it is, as the first argument."""
        instruction = self._instruction
        while instruction is not None:
            instruction = self._instructions.get(instruction.following)
            if instruction is None or not instruction.name.startswith(TO_CALL):
                return False
            if instruction.name == "CALL":
                return instruction.arg == count
            if instruction.gives - instruction.longer >= count:
                return False
            count += instruction.longer
        return False

    def all(self) -> list[Any]:
        """All values."""
        return list(self._values)

    def give(self, *values: Any) -> None:
        """Say what the next instruction puts on the stack."""
        self._pushed = list(values)

    def give_function(self, value: Any) -> None:
        """Say that the next instruction puts a function there, to be called."""
        self.give(NOTHING, value) if IS_BELOW else self.give(value, NOTHING)

    def correct(self, value: Any) -> None:
        """Say what is on top, now that it can be known."""
        self._values[-1:] = [value]

    def returned(self, value: Any, is_answer: bool) -> None:
        """A function returns this value to the instruction. If it is not the answer, the answer may come from it."""
        self._returned.append(value)
        if is_answer and self._pushed:
            self._pushed = [x if x is NOTHING else value for x in self._pushed]

    def _unwind(self, offset: int) -> bool:
        """Go to the handler of an error, if the frame goes on there."""
        for handler in handlers_of(self._code):
            if handler.target == offset and handler.start <= self._offset < handler.end:
                kept = handler.depth - 1
                del self._values[kept:]
                self._values += [Unknown() for _ in range(handler.depth - len(self._values))]
                return True
        return False

    def _carry_out(self, instruction: Instruction, following: Instruction, jumped: bool) -> None:
        if instruction.name in MOVING:
            self._move(instruction, is_over=jumped and following.name != "END_FOR")
            return
        taken, pushed = self._push(instruction, jumped)
        if returned := self._returned:
            for value in pushed:
                if type(value) is Unknown:
                    value.of += returned
                    value.may_be_staged |= any(map(may_be_staged, returned))
        if instruction.name in EXTENDS and type(container := self.top(instruction.arg)[0]) is Unknown:
            container.of += taken

    def _push(self, instruction: Instruction, jumped: bool) -> tuple[list[Any], list[Any]]:
        """Take the values that an instruction takes, and put there what it gives."""
        values, pushed = self._values, self._pushed
        net = instruction.longer_by_jump if jumped else instruction.longer
        count = instruction.gives if pushed is None else len(pushed)
        if instruction.name == "SEND":  # in Python 3.11, what sends the last value is gone afterwards
            count += net
        taken = []
        if count > net:
            taken = self.top(count - net)
            del values[net - count :]
        if pushed is None:
            pushed = [Unknown(taken) for _ in range(count)] if count else []
        values += pushed
        return taken, pushed

    def _move(self, instruction: Instruction, is_over: bool) -> None:
        """Carry out an instruction that copies values, or swaps them, or gives the next item of an iterator."""
        arg, values = instruction.arg, self._values
        if instruction.name == "COPY":
            values.append(self.top(arg)[0])
        elif instruction.name == "SWAP":
            swapped = self.top(arg)
            swapped[0], swapped[-1] = swapped[-1], swapped[0]
            values[-arg:] = swapped
        elif is_over:
            del values[-1:]
        else:
            values.append(Unknown(self.top(1), True))


# Instructions that may come between an argument and its call.
TO_CALL = (
    "LOAD_FAST",
    "LOAD_DEREF",
    "LOAD_GLOBAL",
    "LOAD_ATTR",
    "LOAD_CONST",
    "BUILD_TUPLE",
    "BINARY_OP",
    "CALL",
    "PRECALL",
)
# Instructions that give no value.
NONE = (
    "STORE_",
    "POP_",
    "DELETE_",
    "RETURN_",
    "RAISE",
    "RERAISE",
    "LIST_",
    "SET_",
    "MAP_ADD",
    "DICT_",
    "END_FOR",
    "IMPORT_STAR",
)
NONE_AT_ALL = {"NOP", "RESUME", "MAKE_CELL", "COPY_FREE_VARS", "KW_NAMES", "PRECALL", "SETUP_ANNOTATIONS"}
MOVING = {"COPY", "SWAP", "FOR_ITER"}
EXTENDS = {"LIST_APPEND", "LIST_EXTEND", "SET_ADD", "SET_UPDATE", "MAP_ADD", "DICT_UPDATE", "DICT_MERGE"}
UNUSUAL = {*MOVING, *EXTENDS}
# Instructions that give more than one value, or leave some of their operands where they are.
SEVERAL = {
    **dict.fromkeys(("BEFORE_WITH", "BEFORE_ASYNC_WITH", "GET_LEN", "MATCH_MAPPING", "MATCH_SEQUENCE", "SEND"), 2),
    **dict.fromkeys(("IMPORT_FROM", "PUSH_EXC_INFO", "CHECK_EXC_MATCH", "CHECK_EG_MATCH", "GET_ANEXT"), 2),
    **dict.fromkeys(("LIST_TO_TUPLE", "SET_FUNCTION_ATTRIBUTE"), 1),
    "MATCH_KEYS": 3,
}


def gives(instruction: dis.Instruction) -> int:
    """How many values an instruction puts on the stack, with those that it leaves there."""
    name, arg = instruction.opname, instruction.arg or 0
    if name in SEVERAL:
        return SEVERAL[name]
    if name == "UNPACK_SEQUENCE":
        return arg
    if name == "UNPACK_EX":
        return (arg & 0xFF) + 1 + (arg >> 8)
    return 0 if name.startswith(NONE) or name in NONE_AT_ALL or "JUMP" in name else 1


def effect(instruction: dis.Instruction, jump: bool) -> int:
    """By how many values the stack is longer after an instruction."""
    if instruction.opname in ("PRECALL", "CALL"):  # Python 3.11 divides a call in two
        return -((instruction.arg or 0) + 1) if instruction.opname == "CALL" else 0
    has_argument = instruction.opcode >= dis.HAVE_ARGUMENT
    return dis.stack_effect(instruction.opcode, instruction.arg if has_argument else None, jump=jump)
