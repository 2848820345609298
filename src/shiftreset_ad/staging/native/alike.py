"""Parts of a program that are alike share a function, so that LLVM compiles them once.

A program that goes round after round has the same steps again and again, and its parts begin at the same steps of a
round (`slots.parts_of`). What differs are the slots of the frame, where a part finds and leaves its numbers. These are
words of a table, which the function reads.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import count

from shiftreset_ad.staging.native.llvm import function
from shiftreset_ad.staging.native.tables import call_of, word_at

FEWEST = 3  # parts that share a function: to read a word takes a little time for each slot
SLOT = re.compile(r"(%\w+) = getelementptr i64, ptr %frame, i64 (\d+)$", re.MULTILINE)
# A body that is a table
TABLE = re.compile(r"  call void @carry_out\(.* i64 (\d+)\), .* i64 (\d+)\)\)\n  ret i64 0\n}")
ARGUMENTS = "ptr noalias %frame, ptr noalias %memory"
SHARED = "%words"  # the argument with the words of a call


def part(number: int, lines: list[str]) -> str:
    """A part of a program as a function."""
    return function(f"i64 @part{number}({ARGUMENTS}) noinline", lines)


def with_alike(parts: list[str], words: list[int]) -> tuple[list[str], list[str]]:
    """The functions of these parts, and their calls. The words that they need are added.

    A part that is a table, and nothing else, has no function. Tables that follow one another are one.
    """
    alike: dict[str, list[int]] = defaultdict(list)
    for number, text in enumerate(parts):
        _, _, body = text.partition("\n")
        alike[SLOT.sub(r"\1", body)].append(number)
    functions, calls = [], [""] * len(parts)
    tables: dict[int, tuple[int, int]] = {}  # where the words of a table begin and end
    for body, numbers in alike.items():
        if (table := TABLE.fullmatch(body)) is not None:
            tables.update((number, (int(table[1]), int(table[2]))) for number in numbers)
            continue
        first = parts[numbers[0]]
        is_shared = len(numbers) >= FEWEST and SLOT.search(first) is not None
        functions += [_by_words(first)] if is_shared else [parts[number] for number in numbers]
        for number in numbers:
            calls[number] = f"i64 @part{number}(ptr %frame, ptr %memory)"
            if is_shared:
                calls[number] = f"i64 @part{numbers[0]}(ptr %frame, ptr %memory, {word_at(len(words))})"
                words += [int(slot) for _, slot in SLOT.findall(parts[number])]
    return functions, _with_tables(calls, tables)


def _with_tables(calls: list[str], tables: dict[int, tuple[int, int]]) -> list[str]:
    """The calls with those of the tables among them, of which several that follow one another are one."""
    found = []
    for number, call in enumerate(calls):
        if number not in tables:
            found.append(call)
            continue
        start, end = tables[number]
        if number - 1 in tables and tables[number - 1][1] == start:
            found.pop()
            start = tables[number - 1][0]
            tables[number] = start, end
        found.append(call_of(start, end))
    return found


def _by_words(part: str) -> str:
    """A part that finds the numbers of its slots in words."""
    numbers = count()

    def by_word(match: re.Match[str]) -> str:
        name = match[1]
        return (
            f"{name}_at = getelementptr i32, ptr {SHARED}, i64 {next(numbers)}\n"
            f"  {name}_slot = load i32, ptr {name}_at\n"
            f"  {name} = getelementptr i64, ptr %frame, i32 {name}_slot"
        )

    return SLOT.sub(by_word, part.replace(ARGUMENTS, f"{ARGUMENTS}, ptr noalias {SHARED}", 1))
