"""The kinds of values that loops carry."""

import numpy as np
import pytest

from shiftreset_ad.modes.forward.number import NumF
from shiftreset_ad.modes.reverse.number import NumR, ReverseTag
from shiftreset_ad.modes.series.expansion import Expansion
from shiftreset_ad.modes.series.number import Series
from shiftreset_ad.modes.stacks.number import Stack
from shiftreset_ad.numbers.number import ZERO
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.staging.control.kinds import PLAIN, Kind, join, kind_of, parts_as, parts_of, with_parts, zeros


@pytest.fixture
def tags():
    older, newer = ReverseTag(), Tag.around([])
    yield older, newer
    newer.finish()


def test_the_kind_of_a_number_has_the_kinds_of_its_parts(tags):
    older, newer = tags
    x = NumF(NumR(2.0, ZERO, older), 1.0, newer)
    assert kind_of(x) == Kind(NumF, newer, (Kind(NumR, older, (PLAIN,)), PLAIN))
    assert kind_of(x).width == 2
    assert kind_of(3.0) == PLAIN


def test_the_join_has_the_levels_of_both(tags):
    older, newer = tags
    a, b = kind_of(NumF(2.0, 1.0, newer)), kind_of(NumR(2.0, ZERO, older))
    joined = Kind(NumF, newer, (Kind(NumR, older, (PLAIN,)), PLAIN))
    assert join(a, b) == join(b, a) == joined
    assert join(joined, a) == joined
    assert join(PLAIN, b) == b
    assert join(PLAIN, PLAIN) == PLAIN


def test_a_constant_is_lifted(tags):
    _, newer = tags
    value, tangent = parts_as(np.array([1.0, 2.0]), kind_of(NumF(np.ones(2), np.ones(2), newer)))
    np.testing.assert_array_equal([value, tangent], [[1.0, 2.0], [0.0, 0.0]])
    (rows,) = parts_as(np.array([1.0, 2.0]), kind_of(Stack(np.ones((3, 2)), newer)))
    np.testing.assert_array_equal(rows, [[1.0, 2.0]] * 3)


def test_a_series_has_all_its_coefficients():
    tag = Expansion.around([])
    tag.order = 3
    try:
        x = Series([2.0, 1.0], tag)
        assert parts_of(x) == [2.0, 1.0, 0.0, 0.0]
        assert with_parts(kind_of(x), [5.0, 6.0, 7.0, 8.0]).coefficients == [5.0, 6.0, 7.0, 8.0]
    finally:
        tag.finish()


@pytest.mark.parametrize("like", [2.0, np.float32(2.0), np.ones(3, np.float32), 1j, np.ones((2, 1))])
def test_zeros_have_the_shape_and_the_precision(like):
    found = zeros(like)
    assert np.shape(found) == np.shape(like)
    assert np.result_type(found) == np.result_type(like)
    assert not np.any(found)
