"""Random programs in plain Python are right when they are staged, and most of them are not refused."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.staging.programs.run import counterexamples
from tests.staging.programs.shrinking import as_script, shrunk

SHARES, SHARE = 6, 10


@pytest.mark.slow_but_every(6)
@pytest.mark.parametrize("share", range(SHARES))
def test_small_programs(share: int) -> None:
    counts: Counter[str] = Counter()
    for seed, text, wrong in counterexamples(share * SHARE, SHARE, counts, is_small=True):
        pytest.fail(f"seed {seed}\n{as_script(*shrunk(text, seed, wrong))}")
    assert counts["refused"] <= 1, counts


@pytest.mark.slow
@pytest.mark.parametrize("share", range(4))
def test_many_programs(share: int) -> None:
    counts: Counter[str] = Counter()
    for seed, text, wrong in counterexamples(1000 + share * SHARE, SHARE, counts):
        pytest.fail(f"seed {seed}\n{as_script(*shrunk(text, seed, wrong))}")
    assert counts["checks"] >= SHARE
