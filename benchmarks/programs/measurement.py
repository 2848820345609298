"""What a program costs in each library: seconds of the processor, and bytes at the peak."""

from __future__ import annotations

import time
from dataclasses import dataclass

from benchmarks.programs.agreement import check_agreement, check_slope
from benchmarks.programs.catalogue import program
from benchmarks.programs.libraries import LIBRARIES
from benchmarks.timing import best_of


@dataclass
class Row:
    """The figures of a program, by library."""

    program: str
    seconds: dict[str, float]
    peaks: dict[str, int]


def measured(name: str, libraries: list[str], rounds: int, small: bool) -> Row:
    """The figures of a program, after the libraries have been found to agree.

    The time is that of the processor, in all threads, so that others who share the machine disturb it less.
    """
    subject = program(name, small)
    prepared = {library: LIBRARIES[library](subject) for library in libraries}
    check_agreement(prepared)
    check_slope(subject, prepared[libraries[0]])
    derivatives = {library: each.derivative for library, each in prepared.items()}
    seconds = best_of(rounds, derivatives, time.process_time)
    return Row(name, seconds, {library: each.peak() for library, each in prepared.items() if each.peak})
