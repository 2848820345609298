"""The minimum of maxima that the libraries are timed on: all ways of this library reach the same point."""

from pathlib import Path

import numpy as np
import pytest

from shiftreset_ad import grad, staged

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def min_max(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return __import__("min_max")


def ours(min_max, whole):
    return min_max.Library(min_max.all_arguments(grad), lambda x: x, np.sum, min_max.looped, whole)


def known(x, interactions, rate, outer, inner):
    """The same by hand: the reply is a x + b after the ascent, so each step of the first player is linear."""
    shrink = (1.0 - 2.0 * rate) ** inner
    a, b = interactions * (1.0 - shrink) / 2.0, shrink * x
    for _ in range(outer):
        slope = 2.0 * x + interactions * (2.0 * a * x + b) - 2.0 * a * (a * x + b)
        x = x - rate * slope
    return x


@pytest.mark.parametrize("way", ["plain", "staged"])
def test_the_first_player_ends_where_the_formula_says(min_max, way):
    library = ours(min_max, {"plain": min_max.as_it_is, "staged": staged}[way])
    steps = (min_max.RATE, min_max.OUTER, min_max.INNER)
    found = min_max.saddle(library, min_max.of_scalars(library), 1.0, 2)(1.0, 1.0)
    np.testing.assert_allclose(found, known(np.ones(2), np.array([1.0, 0.5]), *steps), rtol=1e-12)

    start = np.linspace(0.5, 1.5, 5)
    (found,) = min_max.saddle(library, min_max.of_arrays(library), start, 1)(start)
    np.testing.assert_allclose(found, known(start, 0.5, *steps), rtol=1e-12)
