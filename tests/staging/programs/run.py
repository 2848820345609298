"""Many programs, one after another."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence

from tests.staging.programs.check import CALLS, Unsuitable, Wrong, check
from tests.staging.programs.generation import Writer
from tests.staging.programs.routes import ROUTES
from tests.staging.programs.shrinking import as_script, shrunk

SIZES = (2, 2), (2, 3), (3, 2), (5, 3)  # statements, and how deep they are nested
SMALLEST = (SIZES[0],)
FEW_CALLS = (0, 0, 1, 2, None, 0, 2)  # recorded, replayed, compiled, native; and again in another world


def text_of(seed: int, is_small: bool = False) -> str:
    """Most programs are small, as more of them can be looked at. Those without arrays become native code."""
    rng = random.Random(seed)
    statements, depth = rng.choice(SMALLEST if is_small else SIZES)
    return Writer(rng, statements, depth, has_arrays=rng.random() < 0.7).text()


def routes_of(seed: int, is_small: bool = False) -> list[str]:
    """Two routes: a program is looked at by value or gradient, and by one more. One route for a small program."""
    names = list(ROUTES)
    return [names[seed % len(names)]] if is_small else [names[seed % 2], names[2 + seed % (len(names) - 2)]]


def counterexamples(
    start: int, programs: int, counts: Counter[str], is_small: bool = False
) -> Iterator[tuple[int, str, Wrong]]:
    """Those of the seeds from `start` on. Small programs are called at few points, by one route."""
    for seed in range(start, start + programs):
        counts["programs"] += 1
        text = text_of(seed, is_small)
        try:
            check(text, seed, routes_of(seed, is_small), counts, FEW_CALLS if is_small else CALLS)
        except Unsuitable:
            counts["takes too long"] += 1
        except Wrong as wrong:
            counts[f"another {wrong.kind}"] += 1
            yield seed, text, wrong


def examine(
    start: int, programs: int, shrinks: bool = True, is_small: bool = False
) -> tuple[Counter[str], Sequence[str]]:
    """What was counted, and a program for each counterexample."""
    counts: Counter[str] = Counter()
    scripts = []
    for seed, text, wrong in counterexamples(start, programs, counts, is_small):
        small = shrunk(text, seed, wrong) if shrinks else (text, wrong)
        scripts.append(f"# seed {seed}\n{as_script(*small)}")
    return counts, scripts
