"""Writes to lists at an index that depends on the arguments: all items become values of the steps, or it is asked."""

import warnings

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from tests.staging.front import tables
from tests.staging.front.test_places import answers, ids
from tests.staging.native.natively import needs_native

POINTS = ((0.7, 5), (1.3, 9), (1.1, 1), (0.6, 0))


@needs_native
@pytest.mark.parametrize("f", tables.WRITTEN, **ids)
def test_one_record_serves_all_indices(f):
    for g, first in ((f, 3), (f, 0), (grad(f), 3), (grad(grad(f)), 0)):
        compiled = answers(g, first, POINTS)
        assert len(compiled.sources) == 1
        assert compiled.report().count("as native code") == 1


@pytest.mark.parametrize("f", tables.ASKED, **ids)
def test_what_may_be_wrong_is_asked(f):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for g, first in ((f, 0), (grad(f), 3)):
            assert len(answers(g, first, POINTS).sources) != 1


def test_an_index_beyond_the_end_is_the_error_of_python():
    for g in (tables.beyond_the_end, grad(tables.beyond_the_end)):
        compiled = answers(g, 0, ((0.7, 3), (0.7, 4)))
        for _ in range(2):
            with pytest.raises(IndexError, match="list assignment index out of range"):
                compiled(0.7, 5)
        assert compiled(0.5, 4) == g(0.5, 4)


def test_integers_that_no_float_holds_stay_integers():
    def f(x, n):
        table = [2**60 + 1, 2**60 + 3, 0]
        table[n % 3] = x
        return float((table[(n + 1) % 3] - 2**60) * x)

    answers(f, 0, ((0.7, 1), (0.7, 2), (0.7, 3)))


def test_integers_that_are_long():
    def f(x, n):
        c = [1] * 3
        for i in range(20 * n):
            c[i % 3] = c[(i + 1) % 3] * 10
        return x * float(c[0])

    for first in (0, 1, 5):
        answers(f, first, POINTS)


def test_a_list_from_outside_is_seen_after_the_call():
    kept = [0.0, 0.0, 0.0]

    def f(x, n):
        kept[n % 3] = x
        return kept[0] + x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = staged(f)
        for x, n in ((1.0, 0), (2.0, 1), (3.0, 2), (4.0, 0)):
            before = list(kept)
            expected, after = f(x, n), list(kept)
            kept[:] = before
            assert (compiled(x, n), kept) == (expected, after)


def test_what_was_never_touched_is_not_zero():
    """The derivative of the square root is infinite at zero, and the item is not read."""

    def f(x, n):
        i = 0
        while i < n:
            i = i + 1
        return [np.sqrt(x), np.sqrt(x * 0.0)][i] * x

    compiled = staged(grad(f))
    with np.errstate(divide="ignore"):
        for x in (1.0, 1.0, 2.0, 3.0):
            assert compiled(x, 0) == pytest.approx(grad(f)(x, 0))


def written_ahead(x, n):
    a, s = [x, 1.0, 2.0, 3.0], 0.0
    for v in a:
        if s > n:
            break
        a[3] = a[3] + v
        s += v
    return s + 10 * a[3]


def written_ahead_of_a_reversed_list(x, n):
    a, s = [x, 1.0, 2.0, 3.0], 0.0
    for i, v in enumerate(reversed(a)):
        if s > n:
            break
        a[1] = a[i] + v
        s += v
    return s + 10 * a[1]


def written_ahead_at_an_index(x, n):
    a, b, s = [x, 1.0, 2.0, 3.0], [0.5, 0.1, 0.2, 0.3], 0.0
    for i, (v, w) in enumerate(zip(a, b, strict=True)):
        if s > n:
            break
        a[(i + 1) % 4] += v * x
        b[3] = v
        s += v + w
    return s + 10 * sum(a)


@pytest.mark.parametrize("f", [written_ahead, written_ahead_of_a_reversed_list, written_ahead_at_an_index], **ids)
def test_a_loop_goes_over_what_is_in_the_list_in_each_round(f):
    for g, first in ((f, 3), (f, 0), (grad(f), 3), (grad(grad(f)), 0)):
        compiled = answers(g, first, POINTS)
        assert len(compiled.sources) == 1 or f is written_ahead_at_an_index
