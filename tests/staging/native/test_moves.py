"""Where elements go: each source's, found by a look at all elements once."""

import numpy as np
import pytest

from shiftreset_ad.staging.native.moves import SOURCE, by_source, part_of

RNG = np.random.default_rng(0)


def offsets(shape):
    return np.arange(int(np.prod(shape))).reshape(shape) * 8


@pytest.mark.parametrize("shape", [(), (7,), (4, 6), (3, 1, 5)])
@pytest.mark.parametrize("sources", [1, 2, 5])
def test_each_element_goes_where_it_should(shape, sources):
    for _ in range(20):
        of = RNG.integers(0, sources, size=shape)
        found, to = RNG.permutation(offsets(shape).ravel()).reshape(shape) + of * SOURCE, offsets(shape)
        pairs = set()
        for source, where, target in by_source(found, to):
            assert where.shape == target.shape
            pairs |= {(source, int(x % SOURCE), int(y)) for x, y in zip(where.flat, target.flat, strict=True)}
        expected = zip(of.flat, (found % SOURCE).flat, to.flat, strict=True)
        assert pairs == {(int(source), int(x), int(y)) for source, x, y in expected}


def test_a_box_stays_a_box():
    rows = np.stack([offsets(4) + i * SOURCE for i in range(3)])
    found = {source: (where.shape, target.shape) for source, where, target in by_source(rows, offsets((3, 4)))}
    assert found == dict.fromkeys(range(3), ((1, 4), (1, 4)))
    assert all(part_of(target % SOURCE).layout is not None for _, _, target in by_source(rows, offsets((3, 4))))


def test_what_is_no_box_is_one_element_after_another():
    corner = np.array([[0, SOURCE], [16, 24]])  # of two sources, the first in three corners of the square
    found = {source: where.shape for source, where, _ in by_source(corner, offsets((2, 2)))}
    assert found == {0: (3,), 1: (1, 1)}
