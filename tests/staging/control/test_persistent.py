"""Persistent arrays: each version has its elements, whichever is asked for; a recorded loop keeps no copies."""

import operator
import random
import sys

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from shiftreset_ad.rules.indexing import replaced, scatter
from shiftreset_ad.staging.control.persistent import Scattered, Version, answered, answered_lazily, has_lazy, plain
from shiftreset_ad.staging.steps import trace
from tests.peaks import peak_of

INDICES = [0, -1, 3, (slice(1, 3),), slice(None, None, 2), ..., np.array([0, 2])]


@pytest.mark.parametrize("seed", range(20))
def test_each_version_has_its_elements(seed):
    """Versions make a tree, and are asked for in any order."""
    chooser = random.Random(seed)
    first = np.arange(6.0)
    versions, arrays = [Version(first.copy())], [first]
    for _ in range(60):
        i = chooser.randrange(len(versions))
        if chooser.random() < 0.5:
            index, item = chooser.choice(INDICES), chooser.gauss(0, 1)
            versions.append(versions[i].with_item(index, item))
            arrays.append(arrays[i].copy())
            arrays[-1][index] = item
        else:
            np.testing.assert_array_equal(versions[i].now(), arrays[i])
    for i in chooser.sample(range(len(versions)), len(versions)):
        np.testing.assert_array_equal(versions[i].now(), arrays[i])
    for version, array in zip(versions, arrays, strict=True):
        np.testing.assert_array_equal(version.own(), array)


def test_who_keeps_a_version_has_memory_of_its_own():
    one = Version(np.arange(40.0))
    kept = one.own()
    other = one.with_item(0, 7.0)
    assert kept[0] == 0.0
    assert other.now()[0] == 7.0
    kept[1] = 5.0  # a write is seen in the version, and in those that are made of it from then on
    assert one.now()[1] == 5.0
    assert answered_lazily(replaced, [[9.0, one], 2]).now()[1] == 5.0
    assert other.now()[1] == 1.0


def test_two_versions_of_one_array_are_both_right_in_a_step():
    one = Version(np.arange(40.0))
    other = one.with_item(3, -1.0)
    assert answered(np.subtract, [one, other], {})[3] == 4.0
    (total,) = [answered(np.stack, [[one, other]], {})]
    np.testing.assert_array_equal(total[:, 3], [3.0, -1.0])


def test_a_part_of_a_version_is_a_copy():
    one = Version(np.arange(40.0))
    part = answered(np.ndarray.__getitem__, [one, slice(0, 2)], {})
    read = answered(operator.getitem, [one, slice(0, 2)], {})
    one.with_item(0, 7.0)
    assert part[0] == read[0] == 0.0


def test_what_is_scattered_is_added_to_a_version():
    x = np.linspace(0.0, 1.0, 40)
    added = answered_lazily(scatter, [[1.5, 2.5, 3.5], [3, 3, -1], (40,), np.dtype(float)])
    assert type(added) is Scattered
    expected = x + scatter([1.5, 2.5, 3.5], [3, 3, -1], (40,), float)
    for args in ([x, added], [added, x], [Version(x.copy()), added]):
        found = answered_lazily(np.add, args)
        assert type(found) is Version
        np.testing.assert_allclose(found.now(), expected, rtol=1e-15)
    assert answered_lazily(np.add, [np.ones((2, 40)), added]) is None
    assert answered_lazily(np.add, [added, added]) is None
    np.testing.assert_array_equal(answered(np.add, [added, added], {}), 2 * added.own())
    np.testing.assert_array_equal(plain([added])[0], added.own())


def test_small_arrays_and_arrays_that_are_scattered_are_not_lazy():
    assert answered_lazily(replaced, [[1.0, np.zeros(3)], 0]) is None
    assert answered_lazily(scatter, [[np.ones(40)], [...], (40,), np.dtype(float)]) is None
    assert not has_lazy([1.0, [np.zeros(40)], (2, 3)])
    assert has_lazy([1.0, [0.0, Version(np.zeros(40))]])


def recurrence(x, n):
    y = x * 1.0
    for i in range(1, n):
        y[i] = y[i - 1] * x[i] + 0.5 * np.sin(x[i])
    return np.sum(y * y)


@pytest.mark.slow
def test_the_record_of_a_long_loop_keeps_few_elements_of_each_round():
    """With six copies of the array in each round it would take 300 MB."""
    n, x = 2500, np.linspace(0.1, 0.9, 2500)
    g = staged(grad(recurrence))
    assert peak_of(lambda: g(x, n)) < 60e6
    assert len(g.sources) == 1
    np.testing.assert_allclose(g(x, n), grad(recurrence)(x, n), rtol=1e-9)


def test_a_run_that_asks_is_not_recorded_to_its_end_if_its_loops_can_be_written_down(monkeypatch):
    monkeypatch.setattr(sys.modules["shiftreset_ad.staging.forms"], "PATIENCE", 200)
    counts = []
    close = trace.Trace.close

    def counted(self):
        counts.append(len(self.steps))
        close(self)

    monkeypatch.setattr(trace.Trace, "close", counted)
    g = staged(recurrence)
    x = np.linspace(0.1, 0.9, 100)
    np.testing.assert_allclose(g(x, 100), recurrence(x, 100), rtol=1e-12)
    assert len(g.sources) == 1
    assert max(counts) <= 200
    assert "for i in range(1, n):" in g.report()

    def asks(x, n):  # without a loop that can be written down
        for i in iter(range(int(n))):
            x = np.sin(x) + i
        return np.sum(x)

    counts.clear()
    h = staged(asks)
    np.testing.assert_allclose(h(x, 150), asks(x, 150), rtol=1e-12)
    assert len(h.sources) == 1
    assert max(counts) > 300
