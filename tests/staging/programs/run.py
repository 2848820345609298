"""Many programs, one after another."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence

from tests.staging.programs.check import Unsuitable, Wrong, check
from tests.staging.programs.generation import Writer
from tests.staging.programs.routes import ROUTES
from tests.staging.programs.shrinking import as_script, shrunk


def text_of(seed: int) -> str:
    return Writer(random.Random(seed)).text()


def routes_of(seed: int) -> list[str]:
    """Two routes: a program is looked at by value or gradient, and by one more."""
    names = list(ROUTES)
    return [names[seed % 2], names[2 + seed % (len(names) - 2)]]


def counterexamples(start: int, programs: int, counts: Counter[str]) -> Iterator[tuple[int, str, Wrong]]:
    """Those of the seeds from `start` on."""
    for seed in range(start, start + programs):
        counts["programs"] += 1
        for route in routes_of(seed):
            try:
                check(text_of(seed), seed, route, counts)
            except Unsuitable:
                counts["takes too long"] += 1
            except Wrong as wrong:
                counts[f"another {wrong.kind}"] += 1
                yield seed, text_of(seed), wrong
                break


def examine(start: int, programs: int, shrinks: bool = True) -> tuple[Counter[str], Sequence[str]]:
    """What was counted, and a program for each counterexample."""
    counts: Counter[str] = Counter()
    scripts = []
    for seed, text, wrong in counterexamples(start, programs, counts):
        small = shrunk(text, seed, wrong) if shrinks else (text, wrong)
        scripts.append(f"# seed {seed}\n{as_script(*small)}")
    return counts, scripts
