"""Random programs for all rows at once: in every way of `routes`, the answer is that of a loop over the rows."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

import shiftreset_ad as sr
from tests.batching.routes import WAYS
from tests.fuzzing.generation import random_program
from tests.fuzzing.routes import elements, total

SIZES = (1.0, 0.99, 1.02, 1.0)
WAYS_AT_A_TIME = 5  # that are looked at for a program


def answer(f: Callable[[], Any]) -> Any:
    """What a call answers, or the type of its error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return f()
        except Exception as error:
            return type(error)


def difference(found: Any, expected: Any) -> str:
    """How two answers differ; an empty string if they do not."""
    if isinstance(found, type):
        return f"it raised {found.__name__}"
    if isinstance(expected, list):
        if len(found) != len(expected):
            return f"it has {len(found)} parts, and not {len(expected)}"
        return next(filter(None, map(difference, found, expected)), "")
    found, expected = np.asarray(found), np.asarray(expected)
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return f"it is {found.dtype} {found.shape}, and not {expected.dtype} {expected.shape}"
    scale = np.max(np.abs(expected)[np.isfinite(expected)], initial=1.0)
    close = 1e-7 if expected.dtype in (np.float64, np.complex128) else 2e-3
    if np.allclose(found, expected, rtol=close, atol=close * scale, equal_nan=True):
        return ""
    return f"it is {found}, and not {expected}"


def look_at(seed: int, counts: Counter[str], ways: Iterable[str] | None = None) -> Iterator[str]:
    """What is wrong with the program of this seed, in words, by these ways or by some."""
    program = random_program(seed)
    f = program.function(sr, np.float32)
    x, _ = program.point(np.float32)
    rows = np.stack([x * size for size in SIZES]).astype(np.asarray(x).dtype)
    counts["programs"] += 1
    for name in random.Random(seed).sample(list(WAYS), WAYS_AT_A_TIME) if ways is None else ways:
        batched, loop = WAYS[name](lambda x: total(elements(f(x))), f, rows)
        expected = answer(loop)
        if isinstance(expected, type):  # the program has no such derivative at some row
            counts["a loop raises an error"] += 1
            continue
        counts[name] += 1
        if wrong := difference(answer(batched), expected):
            yield f"# seed {seed}, {name}: {wrong}\n{program.source}# x = {program.x}"


def examine(start: int, programs: int) -> tuple[Counter[str], list[str]]:
    """How often each way was compared, and a text for each counterexample."""
    counts: Counter[str] = Counter()
    return counts, [text for seed in range(start, start + programs) for text in look_at(seed, counts)]
