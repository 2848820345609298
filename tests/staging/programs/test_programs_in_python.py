"""Random programs in plain Python are right when they are staged, and most of them are not refused."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.staging.programs.check import Unsuitable, Wrong, check
from tests.staging.programs.generation import Writer
from tests.staging.programs.routes import ROUTES
from tests.staging.programs.run import counterexamples
from tests.staging.programs.shrinking import as_script, shrunk

FEW_CALLS = (0, 0, 1, None, 0, 2)
SHARES, SHARE = 6, 10


@pytest.mark.slow_but_every(6)
@pytest.mark.parametrize("share", range(SHARES))
def test_small_programs(share: int) -> None:
    counts: Counter[str] = Counter()
    for seed in range(share * SHARE, (share + 1) * SHARE):
        text = Writer(random.Random(seed), statements=2, depth=2).text()
        try:
            check(text, seed, [list(ROUTES)[seed % len(ROUTES)]], counts, FEW_CALLS)
        except Unsuitable:
            pass
        except Wrong as wrong:
            pytest.fail(f"seed {seed}\n{as_script(*shrunk(text, seed, wrong))}")
    assert counts["refused"] <= 1, counts


@pytest.mark.slow
@pytest.mark.parametrize("share", range(4))
def test_many_programs(share: int) -> None:
    counts: Counter[str] = Counter()
    for seed, text, wrong in counterexamples(1000 + share * SHARE, SHARE, counts):
        pytest.fail(f"seed {seed}\n{as_script(*shrunk(text, seed, wrong))}")
    assert counts["checks"] >= SHARE
