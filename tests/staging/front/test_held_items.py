"""Arrays that are items of growing lists, in programs whose loops and branches write to arrays.

A record has copies of the items. Where the program may write to an item itself, Python's answer must come all the same.
"""

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from tests.staging.front.agreement import POINTS, agree, by_numpy, ids


class Holder:
    def __init__(self, w):
        self.w = w
        self.kept = None


def total(out):
    result = 0.0
    for k, v in enumerate(out):
        result = result + np.sum(v) * (k + 1)
    return result


def start(x):
    return np.stack([x, 2.0 * x])


# No array that is written to is an item


def orthonormal(x, n):
    a = np.stack([np.stack([x, 1.0, 2.0 * x]), np.stack([2.0, x * x, 4.0]), np.stack([x, 1.0, 2.0 * x])])
    basis, r = [], np.zeros_like(a)
    for j in range(3):
        v = a[j].copy()
        for i, q in enumerate(basis):
            r[i, j] = q @ a[j]
            v = v - r[i, j] * q
        size = np.sqrt(v @ v)
        if size < 0.1 * n:
            continue
        r[j, j] = size
        basis.append(v / size)
    return np.sum(r) + len(basis)


def counted_beside(x, n):
    out, seen = [], np.zeros_like(start(x))
    for k in range(n):
        v = start(x) * k
        if v[0] > 1.0:
            out.append(v)
            seen[0] += 1.0
        seen[1] += x * k
    return total(out) + seen @ seen


def read_beside(x, n):
    out, sums = [start(x)], np.zeros_like(start(x))
    while len(out) < n:
        out.append(out[-1] * 0.5)
        sums[0] += out[-1][1]
        if sums[0] > x:
            sums[1] = sums[0]
    return total(out) + sums @ sums


FREE = (orthonormal, counted_beside, read_beside)


@pytest.mark.parametrize("f", FREE, **ids)
def test_other_arrays_may_be_written_to(f, monkeypatch):
    assert len(agree(f).sources) == 1
    assert len(agree(grad(f)).sources) == 1
    by_numpy(monkeypatch)
    assert len(agree(grad(f)).sources) == 1


# An item is written to in a later round, in a branch, or after them


def in_the_next_round(x, n):
    w, out = start(x), []
    for k in range(n):
        w[0] = x * k
        if x < 1.0:
            out.append(w)
        w[1] += 1.0
    return total(out) + w @ w


def as_it_was_read(x, n):
    out, q = [start(x)], start(x)
    for k in range(n):
        q[0] += k * x
        out.append(q * 0.5)
        q = out[-1]
    return total(out) + q @ q


def as_a_branch_chose_it(x, n):
    out = [start(x), start(x) * 3.0]
    for _ in range(n):
        out.append(out[-1] * 0.5)
    if x * n > 2.0:
        q = out[-1]
    else:
        q = start(x)
    if n > 1:
        q[0] = 7.0 * x
    return total(out) + q @ q


def of_an_attribute(x, n):
    holder, out = Holder(start(x)), []
    for k in range(n):
        holder.w[0] += x * k
        if k > 1:
            out.append(holder.w)
    return total(out) + holder.w @ holder.w


def kept_in_an_attribute(x, n):
    holder, out = Holder(start(x)), [start(x)]
    for k in range(n):
        if holder.kept is not None:
            holder.kept[0] = x * k
        out.append(out[-1] * 0.5)
        holder.kept = out[-1]
    return total(out)


def kept_in_a_tuple(x, n):
    out, pair = [start(x)], (start(x), 0.0)
    for k in range(n):
        pair[0][1] += x * k
        out.append(out[-1] * 0.5)
        pair = (out[-1], x)
    return total(out) + pair[1]


def kept_in_a_list(x, n):
    out, last = [start(x)], [start(x)]
    for k in range(n):
        last[0][1] += x * k
        out.append(out[-1] * 0.5)
        last[0] = out[-1]
    return total(out)


def a_view(x, n):
    q, out = np.zeros_like(np.stack([start(x)] * 3)), []
    for k in range(n):
        q[k % 3] = start(x) * k
        if x < 1.0:
            out.append(q[k % 3])
    return total(out) + np.sum(q)


def by_another_view(x, n):
    w, out = start(x), []
    for k in range(n):
        w[0] = x * k
        if x < 1.0:
            out.append(np.reshape(w, (2,)))
        else:
            out.append(w[:])
    return total(out) + w @ w


def in_pairs(x, n):
    w, out = start(x), []
    for k in range(n):
        if k * x > 1.0:
            out.append((w, x))
        w[0] += x * k
    return total([v * y for v, y in out])


def popped(x, n):
    out, found = [start(x)], 0.0
    for k in range(n):
        out.append(out[-1] * 1.5)
        if k * x > 1.0:
            q = out.pop()
            q[0] = x
            found = found + q @ q
    return total(out) + found


def of_two_lists(x, n):
    first, second = [start(x)], []
    for k in range(n):
        first.append(first[-1] * 0.5)
        if k * x > 1.0:
            second.append(first[-1])
        first[-1][0] = x * k
    return total(first) + total(second)


def exchanged(x, n):
    u, w, out = start(x), start(x) * 2.0, []
    for k in range(n):
        if x * k < 2.0:
            out.append(u)
        u, w = w, u
        w[0] += x
    return total(out) + u @ w


def later(x, n):
    """The array is handed on by a loop before it is appended, and written to after it."""
    w, out = start(x), []
    for k in range(n):
        w = w * (0.5 * x + k)
    for k in range(n):
        if k > 1:
            out.append(w)  # noqa: PERF401
    if x > 1.0:
        w[0] = 5.0
    return total(out) + w @ w


def after_both(x, n):
    w, out = start(x), []
    for k in range(n):
        w = w * 1.1
        if k * x > 1.0:
            out.append(w)
    w[1] = 7.0 * x
    return total(out) + w @ w


def by_an_inner_function(x, n):
    w, out = start(x), []

    def step(k):
        nonlocal w
        w[0] += k * x
        if k > 1:
            w = w * 0.5
        out.append(w)

    for k in range(n):
        step(k)
    return total(out) + w @ w


def exchanged_under_other_names(x, n):
    """The second array is appended in the second round, and written to by another name."""
    u, w, out = start(x), start(x) * 2.0, []
    first, second = u, w
    for _ in range(n):
        out.append(u)
        u, w = w, u
    first[0] = 5.0 * x
    second[1] = 7.0 * x
    return total(out) + u @ w


def exchanged_in_branches(x, n):
    u, w, out = start(x), start(x) * 2.0, []
    second = w
    if x * n > 1.0:
        out.append(u)
        u, w = w, u
    if x * n > 2.0:
        out.append(u)
        u, w = w, u
    second[1] = 7.0 * x
    return total(out) + u @ w


def after_an_earlier_loop(x, n):
    u, w, out = start(x), start(x) * 2.0, []
    for k in range(n):
        w = w * (0.5 * x + k)
    second = w
    for _ in range(n):
        out.append(u)
        u, w = w, u
    second[1] = 7.0 * x
    return total(out) + u @ w


SHARED = [
    *(exchanged_under_other_names, exchanged_in_branches, after_an_earlier_loop),
    *(in_the_next_round, as_it_was_read, as_a_branch_chose_it, of_an_attribute, kept_in_an_attribute, kept_in_a_tuple),
    *(kept_in_a_list, a_view, by_another_view, in_pairs, popped, of_two_lists, exchanged, later, after_both),
    by_an_inner_function,
]


@pytest.mark.slow_but_every(3)
@pytest.mark.filterwarnings("ignore::shiftreset_ad.staging.StagingWarning")
@pytest.mark.parametrize("points", [POINTS, POINTS[::-1], ((0.5, 2), (0.6, 2), (0.7, 2), (3.1, 5), (2.5, 4), (0.6, 2))])
@pytest.mark.parametrize("mode", [lambda f: f, grad], ids=["plain", "grad"])
@pytest.mark.parametrize("f", SHARED, **ids)
def test_a_write_to_an_item_is_seen_in_the_list(f, mode, points):
    agree(mode(f), points)


@pytest.mark.parametrize("f", [in_the_next_round, as_it_was_read, a_view, exchanged], **ids)
def test_a_record_of_a_list_does_not_miss_it(f):
    compiled = staged(f)
    for x in (0.5, 0.9, 1.5):
        for n in range(6):
            assert compiled(x, n) == pytest.approx(f(x, n), rel=1e-12)
