"""Sums in pairs: the same order for terms that come in any order."""

import random

import numpy as np
import pytest

from shiftreset_ad.executors.reduction import Pairs, added, in_groups, in_pairs


@pytest.mark.parametrize("count", range(1, 20))
def test_the_order_does_not_depend_on_who_comes_first(count):
    terms = [f"{place}" for place in range(count)]
    expected = in_pairs(*terms, add="({} {})".format)
    for seed in range(5):
        order, total = list(range(count)), Pairs(count, "({} {})".format)
        random.Random(seed).shuffle(order)
        for place in order:
            total.take(place, terms[place])
        assert total.answer == expected
    assert sorted(expected.replace("(", "").replace(")", "").split(), key=int) == terms


@pytest.mark.parametrize("count", [*range(1, 40), 63, 64, 65, 511, 512, 513, 1000])
def test_groups_are_added_in_the_same_order(count):
    terms, tasks = [f"{place}" for place in range(count)], []

    def add(*terms):
        tasks.append(len(terms))
        return in_pairs(*terms, add="({} {})".format)

    assert in_groups(terms, add) == in_pairs(*terms, add="({} {})".format)
    assert len(tasks) <= count / 7 + 3
    assert all(2 <= size <= 8 for size in tasks)


def test_few_terms_wait():
    total, most = Pairs(1024, lambda a, b: a + b), 0
    for place in range(1024):
        total.take(place, 1)
        most = max(most, len(total._waiting))
    assert (total.answer, most) == (1024, 10)


def test_structures_are_added_leaf_by_leaf():
    found = added((1.0, {"w": np.ones(2), "n": None}), (2.0, {"w": np.arange(2.0), "n": None}))
    assert found[0] == 3.0
    np.testing.assert_array_equal(found[1]["w"], [1.0, 2.0])
    with pytest.raises(ValueError, match="different structures"):
        added((1.0, 2.0), (1.0, (2.0,)))
