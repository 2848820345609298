"""What a program costs in each library: seconds of the processor, in the first call and later, and bytes."""

from __future__ import annotations

import time
from dataclasses import dataclass

from benchmarks.programs.agreement import check_agreement, check_slope
from benchmarks.programs.catalogue import program
from benchmarks.programs.libraries import LIBRARIES
from benchmarks.timing import best_of, duration


@dataclass
class Row:
    """The figures of a program, by library."""

    program: str
    seconds: dict[str, float]
    first_seconds: dict[str, float]
    peaks: dict[str, int]


def measured(name: str, libraries: list[str], rounds: int, small: bool, read_only: bool = False) -> Row:
    """The figures of a program, after the libraries have been found to agree.

    The time is that of the processor, in all threads, so that others who share the machine disturb it less.
    """
    subject = program(name, small, read_only)
    prepared = {library: LIBRARIES[library](subject) for library in libraries if library not in subject.without}
    derivatives = {library: each.derivative for library, each in prepared.items()}
    first_seconds = {library: duration(derivative, 1, time.process_time) for library, derivative in derivatives.items()}
    if prepared:
        check_agreement(prepared)
        check_slope(subject, next(iter(prepared.values())))
    seconds = best_of(rounds, derivatives, time.process_time)
    peaks = {library: each.peak() for library, each in prepared.items() if each.peak}
    return Row(name, seconds, first_seconds, peaks)
