"""What a program costs in each library: seconds, and bytes at the peak."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass

from benchmarks.programs.agreement import check_agreement, check_slope
from benchmarks.programs.catalogue import program
from benchmarks.programs.libraries import LIBRARIES, Prepared
from benchmarks.timing import best_of

ON_NUMPY = "shiftreset_ad", "staged", "autograd"  # the others have allocators that tracemalloc does not see


@dataclass
class Row:
    """The figures of a program, by library."""

    program: str
    seconds: dict[str, float]
    peaks: dict[str, float]


def measured(name: str, libraries: list[str], rounds: int, small: bool) -> Row:
    """The figures of a program, after the libraries have been found to agree."""
    subject = program(name, small)
    prepared = {library: LIBRARIES[library](subject) for library in libraries}
    check_agreement(prepared)
    check_slope(subject, prepared[libraries[0]])
    peaks = {library: peak_of(prepared[library]) for library in libraries if library in ON_NUMPY}
    return Row(name, best_of(rounds, {library: each.derivative for library, each in prepared.items()}), peaks)


def peak_of(prepared: Prepared) -> int:
    """The most bytes that a derivative holds at a time, with its result."""
    prepared.derivative()
    tracemalloc.start()
    prepared.derivative()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak
