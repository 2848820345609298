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
    """Most programs are small, as more of them can be looked at. Those without arrays become native code."""
    rng = random.Random(seed)
    statements, depth = rng.choice(((2, 2), (2, 3), (3, 2), (5, 3)))
    return Writer(rng, statements, depth, has_arrays=rng.random() < 0.7).text()


def routes_of(seed: int) -> list[str]:
    """Two routes: a program is looked at by value or gradient, and by one more."""
    names = list(ROUTES)
    return [names[seed % 2], names[2 + seed % (len(names) - 2)]]


def counterexamples(start: int, programs: int, counts: Counter[str]) -> Iterator[tuple[int, str, Wrong]]:
    """Those of the seeds from `start` on."""
    for seed in range(start, start + programs):
        counts["programs"] += 1
        try:
            check(text_of(seed), seed, routes_of(seed), counts)
        except Unsuitable:
            counts["takes too long"] += 1
        except Wrong as wrong:
            counts[f"another {wrong.kind}"] += 1
            yield seed, text_of(seed), wrong


def examine(start: int, programs: int, shrinks: bool = True) -> tuple[Counter[str], Sequence[str]]:
    """What was counted, and a program for each counterexample."""
    counts: Counter[str] = Counter()
    scripts = []
    for seed, text, wrong in counterexamples(start, programs, counts):
        small = shrunk(text, seed, wrong) if shrinks else (text, wrong)
        scripts.append(f"# seed {seed}\n{as_script(*small)}")
    return counts, scripts
