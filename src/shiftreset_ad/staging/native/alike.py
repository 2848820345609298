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
from shiftreset_ad.staging.native.tables import word_at

FEWEST = 3  # parts that share a function: to read a word takes a little time for each slot
SLOT = re.compile(r"(%\w+) = getelementptr i64, ptr %frame, i64 (\d+)$", re.MULTILINE)
ARGUMENTS = "ptr noalias %frame, ptr noalias %memory"
SHARED = "%words"  # the argument with the words of a call


def part(number: int, lines: list[str]) -> str:
    """A part of a program as a function."""
    return function(f"i64 @part{number}({ARGUMENTS}) noinline", lines)


def with_alike(parts: list[str], words: list[int]) -> tuple[list[str], list[str]]:
    """The functions of these parts, and the call of each part. The words that they need are added."""
    alike: dict[str, list[int]] = defaultdict(list)
    for number, text in enumerate(parts):
        _, _, body = text.partition("\n")
        alike[SLOT.sub(r"\1", body)].append(number)
    functions, calls = [], [""] * len(parts)
    for numbers in alike.values():
        first = parts[numbers[0]]
        is_shared = len(numbers) >= FEWEST and SLOT.search(first) is not None
        functions += [_by_words(first)] if is_shared else [parts[number] for number in numbers]
        for number in numbers:
            calls[number] = f"@part{number}(ptr %frame, ptr %memory)"
            if is_shared:
                calls[number] = f"@part{numbers[0]}(ptr %frame, ptr %memory, {word_at(len(words))})"
                words += [int(slot) for _, slot in SLOT.findall(parts[number])]
    return functions, calls


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
