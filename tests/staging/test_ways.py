"""Which of the known ways a call may still take, after a question of one of them has another answer."""

from types import SimpleNamespace

import numpy as np
import pytest

from shiftreset_ad import staged
from shiftreset_ad.staging.ways import may_go_on


def way(*asked, carries_zeros=False):
    """A way with these questions, each with its place and its answer."""
    sites, answers = [site for site, _ in asked], [answer for _, answer in asked]
    return SimpleNamespace(sites=sites, answers=answers, carries_zeros=carries_zeros)


FIRST = way(("a", True), ("b", 1), ("c", 2.0))


@pytest.mark.parametrize(
    ("other", "question", "expected"),
    [
        (way(("a", True), ("b", 2), ("c", 2.0)), 1, True),
        (way(("a", True), ("b", 1), ("c", 2.0)), 1, False),
        (way(("a", False), ("b", 2)), 1, False),
        (way(("a", False)), 0, True),
        (way(("a", True)), 0, False),
        (way(("a", False), ("b", 2), carries_zeros=True), 1, True),  # it may ask something else at "a"
        (way(("a", True)), 1, True),
        (way(), 2, True),
        (way(("x", True), ("b", 1)), 1, True),
        (way(("a", True), ("x", 1)), 1, True),
        (way(("a", True), ("b", True)), 1, True),
        (way(("a", True), ("b", 1), ("c", 2)), 2, True),
        (way(("a", False), ("x", 1)), 2, False),
    ],
)
def test_what_is_left(other, question, expected):
    assert may_go_on(FIRST, other, question) is expected


def shortest(w, end):
    n = len(w)
    d, done = [0.0] + [9.0] * (n - 1), [False] * n
    while True:
        u, best = -1, 9.0
        for i in range(n):
            if not done[i] and d[i] < best:
                u, best = i, d[i]
        if u == end:
            break
        done[u] = True
        for v in range(n):
            if d[u] + w[u, v] < d[v]:
                d[v] = d[u] + w[u, v]
    return d[end]


def weights(seed):
    w = np.random.default_rng(seed).random((5, 5))
    w[w < 0.4] = 0.0
    return w


def test_records_whose_questions_are_others_are_tried():
    """Some of these records ask what others have written down."""
    f = staged(shortest)
    for seed in (1, 3, 1, 3, 1, 3, 1, 3):
        assert f(weights(seed), 4) == shortest(weights(seed), 4)
    assert len(f.sources) <= 2
