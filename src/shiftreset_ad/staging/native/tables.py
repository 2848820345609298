"""Calls in a table: straight code that does nothing but call loops is data, which takes no time to compile.

A record of the table is a call: the number of a function, and words that say where the arrays lie. `carry_out` goes
from record to record. The function makes addresses of the words, and calls the loop. All calls of a loop with arguments
of the same kinds share it. The words are no part of the text: the code finds them by the name of their address.
"""

from __future__ import annotations

import re
from typing import Any

from shiftreset_ad.staging.native.llvm import function

CONSTANTS = "constants"  # the name of the addresses of the constant arrays, one after another
WORDS = "words"  # the name of the address of the words of all tables, one after another
CONSTANT = "@constant"
MOST_WORDS = 2**12  # of a record; its first word has its function and its length
LARGEST = 2**31  # each word is less
FEWEST = 8  # records of a table
CALL, STORE, LOAD = "call void @", "store double ", "load ptr"
STEPS = {"getelementptr i8": 1, "getelementptr i64": 8}  # bytes
ADDRESSES = {*STEPS, LOAD}  # what makes addresses
OF_MEMORY = "getelementptr i8, ptr %memory, i64 "
NAME = re.compile(r"%\w+")
FUNCTIONS = "@functions_of_records"
CARRY_OUT = function(
    "void @carry_out(ptr %frame, ptr %memory, ptr %table, ptr %end) noinline",
    [
        "  br label %next",
        "next:",
        "  %record = phi ptr [%table, %0], [%following, %next]",
        "  %word = load i32, ptr %record",
        f"  %number = udiv i32 %word, {MOST_WORDS}",
        f"  %length = urem i32 %word, {MOST_WORDS}",
        f"  %at = getelementptr ptr, ptr {FUNCTIONS}, i32 %number",
        "  %function = load ptr, ptr %at",
        "  %words = getelementptr i32, ptr %record, i32 1",
        "  %following = getelementptr i32, ptr %record, i32 %length",
        "  call void %function(ptr %frame, ptr %memory, ptr %words)",
        "  %is_over = icmp eq ptr %following, %end",
        "  br i1 %is_over, label %over, label %next",
        "over:",
        "  ret void",
    ],
)


# An address: so many bytes behind the beginning of the "memory", of the "frame", or of an array: its base, these bytes,
# and a number. An array has its address in a "slot" of the frame with this number, or it is the "constant" with it.
Address = tuple[str, int, int]
KNOWN = {"%memory": ("memory", 0, 0), "%frame": ("frame", 0, 0)}
# A call, or a store of a number: the body of the function that carries it out, and the words that it reads.
Record = tuple[str, list[int]]
# A line of a function: its text, the name of the address that it makes, or "", and the record that it is, or None.
Line = tuple[str, str, Record | None]  # tuples, as there are many of them


class Tables:
    """The tables of a program, one for each run of calls. Their `words` lie one after another."""

    __slots__ = ("_bodies", "functions", "words")

    def __init__(self) -> None:
        self.functions: dict[str, int] = {}  # the numbers of the functions of records, by their bodies
        self.words: list[int] = []
        self._bodies: dict[tuple[Any, ...], str] = {}

    def with_tables(self, text: str) -> str:
        """A function with its calls in tables, where at least a few follow one another."""
        if text.count(CALL) < FEWEST:
            return text
        head, *lines, end = text.split("\n")
        known: dict[str, Address] = dict(KNOWN)
        left: list[Line] = []
        run: list[Line] = []
        for line in lines:
            name, is_made, instruction = line[2:].partition(" = ")
            if is_made and (address := _address_of(instruction, known)) is not None:
                known[name] = address
                run.append((line, name, None))
            elif not is_made and (record := _record_of(name, known, self._bodies)) is not None:
                run.append((line, "", record))
            else:
                left += [*self._in_table(run), (line, "", None)]
                run = []
        return "\n".join([head, *_needed([*left, *self._in_table(run)]), end])

    def _in_table(self, run: list[Line]) -> list[Line]:
        """Lines with one call in place of those that are records."""
        records = [record for _, _, record in run if record is not None]
        if len(records) < FEWEST:
            return run
        words, start = self.words, len(self.words)
        for body, of_record in records:
            number = self.functions.setdefault(body, len(self.functions))
            words.append(number * MOST_WORDS + len(of_record) + 1)
            words += of_record
        call = f"  call {call_of(start, len(words))}"
        return [*[line for line in run if line[2] is None], (call, "", None)]

    def definitions(self) -> list[str]:
        """What the functions with tables need."""
        if not self.functions:
            return []
        names = ", ".join([f"ptr @of_record{number}" for number in self.functions.values()])
        return [
            f"@{CONSTANTS} = external constant ptr",
            f"{FUNCTIONS} = private constant [{len(self.functions)} x ptr] [{names}]",
            *[
                function(f"void @of_record{number}(ptr %frame, ptr %memory, ptr %words)", [body, "  ret void"])
                for body, number in self.functions.items()
            ],
            CARRY_OUT,
        ]


def word_at(number: int) -> str:
    """The address of a word."""
    return f"ptr getelementptr (i32, ptr @{WORDS}, i64 {number})"


def call_of(start: int, end: int) -> str:
    """The call that carries out the records with these words."""
    return f"void @carry_out(ptr %frame, ptr %memory, {word_at(start)}, {word_at(end)})"


def _needed(lines: list[Line]) -> list[str]:
    """The lines without those that make addresses which no line needs any more."""
    needed: set[str] = set()
    found = []
    for text, name, _ in reversed(lines):
        if not name or name in needed:
            needed.update(NAME.findall(text))
            found.append(text)
    return found[::-1]


def _address_of(instruction: str, known: dict[str, Address]) -> Address | None:
    """The address that an instruction makes; None if it is none that a record can have."""
    if instruction.startswith(OF_MEMORY):  # most of them, for speed
        place = instruction[len(OF_MEMORY) :]
        return ("memory", int(place), 0) if place.isdigit() else None
    kind, *args = instruction.split(", ")
    if kind not in ADDRESSES:
        return None
    of = args[0].removeprefix("ptr ")
    if (found := known.get(of) or _constant(of)) is None:
        return None
    base, offset, number = found
    if kind == LOAD:
        return ("slot", 0, offset) if base == "frame" else None
    place = args[1].removeprefix("i64 ")
    return (base, offset + STEPS[kind] * int(place), number) if place.isdigit() else None


def _record_of(line: str, known: dict[str, Address], bodies: dict[tuple[Any, ...], str]) -> Record | None:
    """The record for a line; None if a table cannot have it. `bodies` are those of lines of the same kind."""
    if line.startswith(CALL):
        instruction, _, rest = line.removesuffix(")").partition("(")
    elif line.startswith(STORE):
        instruction, _, rest = line.partition(" ")
    else:
        return None
    words: list[int] = []
    kind: list[Any] = [instruction]
    for arg in rest.split(", ") if rest else []:
        form, _, text = arg.partition(" ")
        address = known.get(text) or _constant(text)
        if address is None and text[0] == "%":
            return None
        if address is None or text == "%frame":
            kind.append(arg)  # which is the same in all calls of a function
            continue
        base, offset, number = address
        if base == "memory":
            kind.append((form, base, False))
            words.append(offset)
            continue
        if base == "frame":  # the slot is changed, so an address in it is not what it was when it was read
            return None
        kind.append((form, base, offset > 0))
        if offset:
            words += [number, offset]
        else:
            words.append(number)
    if len(words) >= MOST_WORDS - 1 or (words and not 0 <= min(words) <= max(words) < LARGEST):
        return None
    key = tuple(kind)
    if key not in bodies:
        bodies[key] = _body(instruction, kind[1:])
    return bodies[key], words


def _body(instruction: str, args: list[Any]) -> str:
    """The body of a function that makes addresses of words, and calls a loop, or stores a number."""
    lines: list[str] = []
    given: list[str] = []
    count = 0  # of the words
    for arg in args:
        if isinstance(arg, str):
            given.append(arg)
            continue
        form, base, has_offset = arg
        name = f"%x{count}"
        words = [f"{name}_{i}" for i in range(1 + has_offset)]
        for i, word in enumerate(words, count):
            lines.append(f"  {word}_at = getelementptr i32, ptr %words, i32 {i}")
            lines.append(f"  {word} = load i32, ptr {word}_at")
        count += len(words)
        lines += _made(name, base, words)
        given.append(f"{form} {name}")
    both = ", ".join(given)
    return "\n".join(
        [*lines, f"  {instruction}({both})" if instruction.startswith(CALL) else f"  {instruction} {both}"]
    )


def _made(name: str, base: str, words: list[str]) -> list[str]:
    """The lines that make an address of words."""
    if base == "memory":
        return [f"  {name} = getelementptr i8, ptr %memory, i32 {words[0]}"]
    table = "i8, ptr %frame" if base == "slot" else f"ptr, ptr @{CONSTANTS}"
    start = name if len(words) == 1 else f"{name}_start"
    lines = [f"  {name}_of = getelementptr {table}, i32 {words[0]}", f"  {start} = load ptr, ptr {name}_of"]
    return lines if len(words) == 1 else [*lines, f"  {name} = getelementptr i8, ptr {start}, i32 {words[1]}"]


def _constant(text: str) -> Address | None:
    """The address of a constant array with this name; None if it is the name of something else."""
    return ("constant", 0, int(text.removeprefix(CONSTANT))) if text.startswith(CONSTANT) else None
