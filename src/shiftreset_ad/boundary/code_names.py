"""The names in the code of a function: its global variables, and the attributes of whatever it has."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from functools import cache
from types import CodeType

READS_VARIABLE = {"LOAD_GLOBAL", "LOAD_NAME"}
READS_ATTRIBUTE = {"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"}
# Code that has one of these may read a variable whose name is only a word in the code.
BY_WORD = {"globals", "vars", "eval", "exec"}


@cache
def names_in(code: CodeType) -> frozenset[str]:
    """The names of the global variables and attributes that this code, and the functions in it, read or assign to."""
    return frozenset(code.co_names).union(*map(names_in, _inner(code)))


@cache
def global_names(code: CodeType) -> frozenset[str]:
    """The names of the global variables that this code reads, and the functions in it."""
    names = _arguments(code, READS_VARIABLE)
    if names & BY_WORD:
        names.update(_words(code))
    return frozenset(names).union(*map(global_names, _inner(code)))


@cache
def attribute_names(code: CodeType) -> frozenset[str]:
    """The names of the attributes that this code reads, and the functions in it; words, too, for `getattr`."""
    return frozenset(_arguments(code, READS_ATTRIBUTE)).union(_words(code), *map(attribute_names, _inner(code)))


@cache
def imported_names(code: CodeType) -> frozenset[str]:
    """The names of the modules that this code imports, and the functions in it."""
    return frozenset(_arguments(code, {"IMPORT_NAME"})).union(*map(imported_names, _inner(code)))


def _arguments(code: CodeType, operations: set[str]) -> set[str]:
    return {instruction.argval for instruction in dis.get_instructions(code) if instruction.opname in operations}


def _inner(code: CodeType) -> Iterator[CodeType]:
    return (constant for constant in code.co_consts if isinstance(constant, CodeType))


def _words(code: CodeType) -> Iterator[str]:
    for constant in code.co_consts:
        for word in constant if isinstance(constant, tuple) else (constant,):  # `case Point(x=0)` has a tuple of names
            if isinstance(word, str) and word.isidentifier():
                yield word
