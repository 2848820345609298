"""Plain arrays of integers and of truths that the program makes: flags, counts, and choices that it keeps."""

import numpy as np
import pytest

from shiftreset_ad import grad, staged, value
from tests.staging.front.agreement import ids
from tests.staging.native.natively import needs_native

ROWS = [np.random.default_rng(seed).normal(size=8) * 3.0 for seed in range(7)]


def counts(v):
    found = np.zeros(4, int)
    for x in v:
        found[int(value(x)) % 4] += 1
    return np.sum(v * v) * found[0] + found[1]


def visited(v):
    seen, i, total = np.zeros(8, bool), 0, 0.0
    for _ in range(8):
        if seen[i]:
            break
        seen[i] = True
        total = total + v[i] ** 2
        i = int(value(abs(v[i]))) % 8
    return total


def flags(v):
    is_large = np.zeros(8, bool)
    for i in range(8):
        if v[i] > 1.0:
            is_large[i] = True
    return np.sum(np.where(is_large, v * v, v))


def parents(v):
    parent = np.arange(8)
    for i in range(7):
        if v[i] > v[i + 1]:
            parent[i + 1] = parent[i]
    return np.sum(v[parent] * v)


def ranks(v):
    order = np.zeros(8, int)
    for i in range(8):
        rank = 0
        for j in range(8):
            if v[j] < v[i]:
                rank += 1
        order[rank] = i
    return np.sum(v[order][:3] ** 2)


def choices(v):
    best, chosen = 0.0 * v[0], np.zeros(9, int)
    for i in range(1, 9):
        a, b = best + v[i - 1], best * 0.5 + 0.5
        if a > b:
            best = a
            chosen[i] = 1
        else:
            best = b
            chosen[i] = 2
    return best * chosen[8] + np.sum(chosen)


def counted(dtype):
    """A loop whose end the values decide, which writes to an array of this dtype."""

    def in_a_loop(v):
        steps, x, i = np.zeros(6, dtype), v[0], 0
        while i < 5 and x < 4.0:
            steps[i] += 2
            x = x + abs(v[i])
            i += 1
        return x * steps[1] + np.sum(steps)

    return in_a_loop


def of_plain_floats_in_a_branch(v):
    weights = np.zeros(8)
    for i in range(7):
        if v[i] > v[i + 1]:
            weights[i + 1] = 2.0
    return np.sum(v * weights)


PROGRAMS = [
    *(counts, visited, flags, parents, ranks, choices),
    *(counted(int), of_plain_floats_in_a_branch),
]


@pytest.mark.parametrize("f", PROGRAMS, **ids)
@pytest.mark.parametrize("mode", [lambda f: f, grad], ids=["value", "gradient"])
def test_one_record_serves_all_paths(f, mode):
    f = mode(f)
    g = staged(f)
    for v in (*ROWS, *ROWS[::-1]):
        np.testing.assert_allclose(g(v), f(v), rtol=1e-12)
    assert len(g.sources) == 1


@needs_native
@pytest.mark.parametrize("f", [counts, visited, flags, parents, ranks], **ids)
def test_it_is_native_code(f):
    g = staged(grad(f))
    for v in ROWS:
        g(v)
    assert [way.is_native for way in g._calls.ways] == [True]


@pytest.mark.parametrize("dtype", [int, np.int8, np.uint8, bool, np.int32])
def test_the_answer_has_the_type_and_the_elements_of_the_array(dtype):
    def f(v):
        a = np.zeros(3, dtype)
        a[int(abs(v[0])) % 3] = 1
        a[int(abs(v[1])) % 3] += 1
        if v[2] > 0.0:
            a[0] = v[3] > 0.0
        return a

    g = staged(f)
    for v in ROWS:
        found, wanted = g(v), f(v)
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == wanted.dtype
        assert found.flags.writeable


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_a_count_that_wraps_around():
    def f(v):
        a = np.full(2, 250, np.uint8)
        a[int(abs(v[0])) % 2] += np.uint8(int(abs(v[1])) % 5 + 4)
        return a

    g = staged(f)
    for v in ROWS:
        np.testing.assert_array_equal(g(v), f(v))


@pytest.mark.parametrize("dtype", [np.float32, np.int16, complex])
def test_an_array_without_native_code_in_a_loop(dtype):
    """The loop is written down, and runs by NumPy. An error inside had it recorded path by path."""
    f = counted(dtype)
    g = staged(f)
    for v in ROWS:
        np.testing.assert_allclose(g(v), f(v), rtol=1e-6)
    assert len(g.sources) == 1
