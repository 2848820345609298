"""Random programs of NumPy's users have NumPy's values, and one derivative by every route."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.fuzzing.routes import ROUTES
from tests.fuzzing.run import counterexamples
from tests.fuzzing.shrinking import as_script, shrunk

SHARES, USUAL_SHARES, SHARE = 8, 1, 20  # the others are slow tests


@pytest.mark.parametrize(
    "share", [pytest.param(i, marks=pytest.mark.slow) if i >= USUAL_SHARES else i for i in range(SHARES)]
)
def test_random_programs(share: int) -> None:
    counts: Counter[str] = Counter()
    for seed, program, wrong in counterexamples(share * SHARE, SHARE, counts):
        pytest.fail(f"seed {seed}\n{as_script(*shrunk(program, wrong))}")
    assert counts["grad"] >= 0.9 * SHARE, "most programs have derivatives"


def test_there_are_many_routes() -> None:
    assert len(ROUTES) >= 20
