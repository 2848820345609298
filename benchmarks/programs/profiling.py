"""Where the time of a derivative goes, by function."""

from __future__ import annotations

import pstats
import time
from cProfile import Profile

from benchmarks.programs.catalogue import program
from benchmarks.programs.libraries import LIBRARIES

SECONDS = 2.0
FUNCTIONS = 30


def profile(name: str, library: str, small: bool) -> None:
    """Print the functions that take most of the time themselves, over about two seconds."""
    derivative = LIBRARIES[library](program(name, small)).derivative
    for _ in range(3):  # to stage or to compile it
        derivative()
    seen = Profile(time.process_time)  # not what others who share the machine take
    end = time.process_time() + SECONDS
    with seen:
        while time.process_time() < end:
            derivative()
    pstats.Stats(seen).sort_stats("tottime").print_stats(FUNCTIONS)
