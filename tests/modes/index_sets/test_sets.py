"""Sets with numbers: equal sets have one number."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftreset_ad.modes.index_sets.sets import Sets


def shown(sets, numbers):
    return [sorted(sets.members[i]) for i in np.ravel(numbers)]


def test_a_union_is_broadcast():
    sets = Sets()
    a = sets.single(0, 3)
    both = sets.union(a[:, None], a[None, :])
    assert both.shape == (3, 3)
    assert shown(sets, both[0]) == [[0], [0, 1], [0, 2]]
    np.testing.assert_array_equal(both, both.T)
    np.testing.assert_array_equal(np.diagonal(both), a)


def test_the_union_with_the_empty_set_and_with_itself_is_the_set():
    sets = Sets()
    a = sets.single(0, 2)
    np.testing.assert_array_equal(sets.union(a, np.zeros(2, np.int64)), a)
    np.testing.assert_array_equal(sets.union(np.zeros(2, np.int64), a), a)
    np.testing.assert_array_equal(sets.union(a, a), a)
    assert len(sets.members) == 3


def test_a_union_along_the_first_axis():
    sets = Sets()
    a = np.reshape(sets.single(0, 6), (3, 2))
    assert shown(sets, sets.union_along_first(a)) == [[0, 2, 4], [1, 3, 5]]
    assert shown(sets, sets.union_along_first(a.reshape(-1))) == [[0, 1, 2, 3, 4, 5]]
    assert shown(sets, sets.union_along_first(a[:0])) == [[], []]
    assert sets.union_along_first(a.reshape(-1)[:0]) == 0


def test_a_position_may_be_there_twice():
    sets = Sets()
    target = np.zeros(3, np.int64)
    sets.add_into(target, np.array([2, 0, 2, 2]), sets.single(0, 4))
    assert shown(sets, target) == [[1], [], [0, 2, 3]]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12))
@settings(deadline=None, derandomize=True, database=None)
def test_unions_are_those_of_python(pairs):
    sets, known = Sets(), [frozenset({i}) for i in range(5)]
    numbers = sets.single(0, 5)
    for i, j in pairs:
        numbers[i] = sets.union(numbers[i], numbers[j])
        known[i] |= known[j]
    assert shown(sets, numbers) == [sorted(members) for members in known]
    members, ends = sets.rows(numbers)
    assert [members[a:b].tolist() for a, b in pairwise(ends)] == list(map(sorted, known))
