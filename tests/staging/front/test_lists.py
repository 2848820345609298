"""Lists of staged lengths: by a comprehension, by `[x] * n`, and by a slice of the list that a variable has."""

import math

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from shiftreset_ad.staging.native.compiled import NONE
from tests.staging.front.agreement import POINTS, agree, ids, require_bits_of_the_steps, require_one_record
from tests.staging.native.natively import needs_native

MORE_POINTS = (*POINTS, (0.4, 7), (2.0, 4), (1.1, 0))


def of_a_range(x, n):
    xs = [x * k for k in range(n)]
    return sum(v * v for v in xs) + len(xs) * x


def of_a_list_that_grows(x, n):
    xs = [x]
    for _ in range(n):
        xs.append(xs[-1] * 0.5)
    ys = [v * v for v in xs]
    return sum([a * b for a, b in zip(xs, ys, strict=False)]) + ys[-1]


def of_two_loops(x, n):
    xs = [x + j * k for k in range(n) for j in range(k)]
    return sum(xs) + len(xs) * x


def of_ranges_together(x, n):
    ys = [x / (k + j + 1) for j, k in enumerate(reversed(range(n)))]
    total = x
    for a, k in zip(ys, range(1, n), strict=False):
        total = total * k + a
    return total


def of_arrays(x, n):
    total = x
    for u in [np.stack([x, x * k]) for k in range(n)]:
        total = total + u @ u
    return total


def as_an_argument(x, n):
    return max([np.sin(x * k) for k in range(n + 1)]) + len([v for v in (1.0, 2.0, -1.0) if v * x > n - 3]) * x


def answered(x, n):
    def items(y):
        return [y * k for k in range(n)]

    return sum(items(x)) * len(items(2.0)) + x


def repeated(x, n):
    al = [0.0] * n
    for i in range(n):
        al[i] = x * i
    return sum(a * a for a in al) + x


def repeated_numbers(x, n):
    h = [x] * (n - 1)
    h.append(2.0 * x)
    return sum(h) * len(h) + h[0]


def repeated_pairs(x, n):
    h, total = [(x, 2.0)] * n, x
    for a, b in h:
        total = total * a + b
    return total


def repeated_for_each_round(x, n):
    pairs, total = [], x
    for k in range(n):
        pairs.append((x * k, x))
        if len(pairs) > 3:
            pairs.pop(0)
        al = [0.0] * len(pairs)
        for i in range(len(pairs) - 1, -1, -1):
            al[i] = pairs[i][0] * pairs[i][1]
            total = total + al[i]
        for i in range(len(pairs)):
            total = total + al[i] * pairs[i][1]
    return total


def without_the_first(x, n):
    h = []
    for i in range(n):
        h.append(x / (i + 1))
        if len(h) > 3:
            h = h[1:]
    return sum(a * a for a in h) + x


def the_last_ones(x, n):
    h = []
    for i in range(n):
        h.append(np.stack([x / (i + 1), x]))
        h = h[-3:]
    total = x
    for a in h:
        total = total + a @ a
    return total


def without_ends(x, n):
    h = [x]
    while x > 0.3:
        h.append(x)
        x = x * 0.7
        if n > 3:
            h = h[:-1]
        elif n > 1:
            h = h[1:-1]
        h = h + [x * x]  # noqa: RUF005
    return sum(h) * len(h) + x


def between_staged_ends(x, n):
    h = [x] * (n + 1)
    h.append(2.0 * x)
    while len(h) > 2:
        h = h[n - 1 : 4]
        h = h[1:]
    return sum(h) * len(h) + x * (1 + len(h))


def without_an_item(x, n):
    h = [x] * (n + 1)
    h = h[n:2]
    return len(h) * x + x * x


def by_one_loop(x, n):
    """The same loop lets the list grow, and writes to its array, or shrink."""

    def change(out, most, grows):
        while len(out) < most if grows else len(out) > most:
            if grows:
                out.append(x * len(out))
            else:
                out.pop()

    out = [x]
    change(out, n + 2, True)
    change(out, 1 + n // 2, False)
    return sum(out) * len(out)


def from_the_end(x, n):
    h = []
    for i in range(n):
        h.append(x / (i + 1))  # noqa: PERF401
    total = x
    for i, (a, b) in enumerate(zip(h[::-1], h, strict=False)):
        total = total * 0.5 + a * b * i
    return total


def from_the_end_after_some_are_left_out(x, n):
    h = [x, 2.0 * x]
    for i in range(n):
        h.append(np.stack([x, x / (i + 1)])[1])
        h.pop(0)
    other = h[::-1]
    other.append(x * n)
    return sum(v * k for k, v in enumerate(other)) + len(h) * x


def the_first_ones(x, n):
    h = [x]
    for i in range(n):
        h.append(h[-1] * 0.7 + i)
    first = h[:3]
    first.append(x)
    for a in h[1 : n - 1]:
        x = x + a
    return sum(first) * len(h[-2:]) + x + h[0]


def copied_in_rounds(x, n):
    h, total = [x], 0.0
    for i in range(n):
        before = list(h)
        h.append(h[-1] * x + i)
        before[0] = total
        total = total + sum(before) + len(h[:]) + sum(h.copy())
    return total + h[0]


def put_together(x, n):
    h = [x]
    for i in range(n):
        h.append(h[-1] * x + i)
    longer = h + [x, 2.0]  # noqa: RUF005
    longer[0] = 5.0
    return sum(longer) * len(longer) + sum(h)


def arrays_from_the_end(x, n):
    h = [np.stack([x, 1.0])]
    for i in range(n):
        q = np.stack([x, x])
        for a in h[::-1]:
            q = q * 0.5 + a
        if q[0] > 1.0:
            h.append(q * (i + 1))
        if len(h) > 3:
            h.pop(0)
    return sum(a @ a for a in h)


PROGRAMS = [
    *(from_the_end, from_the_end_after_some_are_left_out, the_first_ones, copied_in_rounds, put_together),
    *(arrays_from_the_end, without_an_item),
    *(of_a_range, of_a_list_that_grows, of_two_loops, of_ranges_together, of_arrays, as_an_argument, answered),
    *(repeated, repeated_numbers, repeated_pairs, repeated_for_each_round),
    *(without_the_first, the_last_ones, without_ends, between_staged_ends),
]


@pytest.mark.parametrize("f", PROGRAMS, **ids)
def test_it_is_written_down_once(f, monkeypatch):
    require_one_record(f, monkeypatch)


@pytest.mark.parametrize("f", PROGRAMS, **ids)
def test_it_holds_for_other_lengths(f):
    compiled = agree(grad(f), (*MORE_POINTS, *MORE_POINTS))
    assert len(compiled.sources) == 1
    assert "(it left" not in compiled.report()  # no call has run by the function itself, as a step had raised an error


@needs_native
@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("f", PROGRAMS, **ids)
def test_native_code_has_the_bits_of_the_steps(f, monkeypatch):
    require_bits_of_the_steps(f, monkeypatch)


@needs_native
def test_a_repeated_list_gets_as_much_room_as_it_needs():
    compiled = agree(grad(repeated), ((0.5, 3), (0.5, 200), (0.6, 100), (0.7, 513), (0.8, 512), (0.1, 0)))
    assert len(compiled.sources) == 3  # for 64 items, 512 and 4,096
    assert not [text for text in compiled.llvm if text.startswith(NONE)]


# What nobody can write down is asked


def kept_under_another_name(x, n):
    h = [x, 2.0 * x]
    for i in range(n):
        other = h
        h = h[1:]
        h.append(x * i)
        other.append(x)
    return sum(h) + sum(other) if n else x


def kept_by_a_function(x, n):
    h, kept = [x, 2.0 * x], []
    for i in range(n):
        keep(kept, h)
        h = h[-1:]
        h.append(x * i)
    return sum(h) + sum(map(len, kept)) * x


def keep(kept, h):
    kept.append(h)


def of_nothing(x, n):
    h = [None] * n
    return len(h) * x + (x if h == [None, None, None] else 0.0)


def one_array_many_times(x, n):
    row = np.zeros_like(np.stack([x, x]))
    rows = [row] * n
    for i in range(n):
        rows[i][0] += x * (i + 1)
    return sum(r @ r for r in rows) + row @ row


def of_tuples_repeated(x, n):
    rows = [[x] * 2 for _ in range(n)]
    for i in range(n):
        rows[i][0] = x * i
    return sum(sum(row) for row in rows)


def by_a_step(x, n):
    h = [x, 2.0, 3.0 * x]
    for _ in range(n):
        h = h[::-1]
        h.append(x)
    return sum(v * k for k, v in enumerate(h))


def by_steps_of_two(x, n):
    h = [x]
    for i in range(n):
        h.append(h[-1] * 0.7 + i)
    return sum(h[::2]) + sum(h[3:0:-1])


def with_tuples(x, n):
    h = [x]
    for i in range(n):
        h.append(h[-1] * 0.7 + i)
    return sum(tuple(h)) + sum([1.0, *h]) + sum([x] + h + h) + sum(2 * h)  # noqa: RUF005


def bound_to_a_copy(x, n):
    h = [x]
    for i in range(n):
        h.append(h[-1] * 0.7 + i)
        h = h[::-1]
    return sum(v * k for k, v in enumerate(h))


def by_a_number_of_numpy(x, n):
    return sum([x] * np.int64(n)) + x


def of_objects(x, n):
    names = [f"{k}" for k in range(n)]
    return x * len("".join(names))


ASKED = [
    *(kept_under_another_name, kept_by_a_function, of_nothing, one_array_many_times, of_tuples_repeated, by_a_step),
    *(by_a_number_of_numpy, of_objects, by_steps_of_two, with_tuples, bound_to_a_copy),
]


@pytest.mark.filterwarnings("ignore::shiftreset_ad.staging.StagingWarning")
@pytest.mark.parametrize("points", [POINTS, POINTS[::-1], ((0.5, 2), (0.6, 2), (0.7, 2), (3.1, 5), (2.5, 4), (0.6, 2))])
@pytest.mark.parametrize("mode", [lambda f: f, grad], ids=["plain", "grad"])
@pytest.mark.parametrize("f", ASKED, **ids)
def test_what_cannot_be_written_down_has_pythons_answer(f, mode, points):
    agree(mode(f), points)


def test_an_error_is_pythons():
    compiled = staged(lambda x, n: [x] * n)
    for n in (2, 3, -1, 0):
        assert compiled(2.0, n) == [2.0] * n
    with pytest.raises(TypeError, match="can't multiply sequence by non-int of type 'float'"):
        compiled(2.0, 1.5)
    assert math.isnan(compiled(math.nan, 1)[0])


def made_in_each_round(x, n):
    total = 0.0
    for k in range(n):
        out, al = [x + k], [0.0] * k
        while out[-1] > 1.0:
            out.append(out[-1] * 0.5)
        for i in range(k):
            al[i] = x * i
        total = total + sum(out) * sum(al) + out[0]
    return total


@needs_native
def test_a_list_that_is_made_in_a_block_is_native_code():
    compiled = agree(made_in_each_round)
    assert len(compiled.sources) == 1
    assert not [text for text in compiled.llvm if text.startswith(NONE)]


def test_a_loop_that_writes_to_a_list_or_not():
    assert len(agree(by_one_loop, MORE_POINTS).sources) == 1
    agree(grad(by_one_loop), MORE_POINTS)
