"""Many programs, one after another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.fuzzing.check import Unsuitable, Wrong, check
from tests.fuzzing.generation import random_program
from tests.fuzzing.programs import Program
from tests.fuzzing.shrinking import as_script, shrunk


def counterexamples(start: int, programs: int, counts: Counter[str]) -> Iterator[tuple[int, Program, Wrong]]:
    """Those of the seeds from `start` on; all thresholds are at their least for every other seed."""
    for seed in range(start, start + programs):
        program = random_program(seed)
        counts["programs"] += 1
        try:
            check(program, least=bool(seed % 2), counts=counts)
        except Unsuitable:
            pass
        except Wrong as wrong:
            yield seed, program, wrong


def examine(start: int, programs: int) -> tuple[Counter[str], list[str]]:
    """How often each route was compared, and a program for each counterexample."""
    counts: Counter[str] = Counter()
    scripts = [
        f"# seed {seed}\n{as_script(*shrunk(program, wrong))}"
        for seed, program, wrong in counterexamples(start, programs, counts)
    ]
    return counts, scripts
