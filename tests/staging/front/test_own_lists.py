"""A variable may be bound to another list in a loop or a branch, if its lists have no other names."""

import ast
import builtins
from contextlib import suppress

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from shiftreset_ad.staging.front.own_lists import OwnLists
from tests.staging.front.agreement import POINTS, agree, ids, require_bits_of_the_steps, require_one_record
from tests.staging.native.natively import needs_native

KEPT = []


def in_a_branch(x, n):
    out = [x]
    if x > 1.0:
        out = [*out, x * x, n * x]
    return sum(out)


def in_both_branches(x, n):
    out = [x]
    if x * n > 2.0:
        out = [x, x * x, 1.0]
    elif n > 0:
        out = out + [x]  # noqa: RUF005
    return sum(out) * len(out)


def in_rounds(x, n):
    out = [x]
    for _ in range(n):
        out = out + [np.sin(out[-1])]  # noqa: RUF005
    return sum(out)


def in_rounds_of_rounds(x, n):
    found: list[float] = []
    while len(found) < n:
        row = [x]
        while row[-1] < 2.0:
            row = [*row, row[-1] * 1.5, row[-1] * 1.6]
        found = [*found, sum(row) / len(row)]
        x = x * 0.9
    return sum(v * v for v in found) + x


def started_again(x, n):
    out, total = [], 0.0
    for k in range(n):
        out.append(x + k)
        if len(out) * x > 2.0:
            total, out = total + sum(out), []
    return total + sum(out)


def started_again_with_items(x, n):
    out, sums = [x], []
    for k in range(2 * n):
        out = out + [x * k]  # noqa: RUF005
        if sum(out) > 3.0:
            sums.append(max(out))
            if k % 2:
                out = [x, 0.5]
            else:
                out = []
    return sum(sums) + len(out) * x


def a_stack(x, n):
    waiting, total = [x * n], 0.0
    while waiting:
        v = waiting.pop()
        if v > 1.0:
            waiting = [*waiting, v * 0.4, v * 0.3]
        else:
            total = total + v * v
    return total


def before_and_after(x, n):
    out = []
    out = [x]
    out = out + [x * 2.0]  # noqa: RUF005
    for k in range(n):
        if x > 0.3 * k:
            out = out + [x * k]  # noqa: RUF005
    out = [*out, 7.0]
    return out[-1] * out[1] + len(out) * sum(out)


def after_another_loop(x, n):
    """The list of the second loop is one that the first loop has handed on."""
    pair = [x, 1.0]
    for _ in range(n):
        pair = [pair[1] * 0.5, pair[0] + x]
    while sum(pair) < 4.0:
        pair = [*pair, 0.5 + x]
    return sum(v * v for v in pair)


def of_a_function(x, n):
    def path(v):
        out = [v]
        while True:
            if out[-1] > 3.0:
                break
            out = out + [out[-1] * 1.5]  # noqa: RUF005
        return out

    found = path(x)
    return sum(found) * len(found) * n


PROGRAMS = (
    *(in_a_branch, in_both_branches, in_rounds, in_rounds_of_rounds, started_again, started_again_with_items, a_stack),
    *(before_and_after, after_another_loop, of_a_function),
)


@pytest.mark.parametrize("f", PROGRAMS, **ids)
def test_it_is_written_down_once(f, monkeypatch):
    require_one_record(f, monkeypatch)


@needs_native
@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("f", PROGRAMS, **ids)
def test_native_code_has_the_bits_of_the_steps(f, monkeypatch):
    require_bits_of_the_steps(f, monkeypatch)


# Programs in which a list may have another name: to change the list would be another program


def kept_under_another_name(x, n):
    out, kept = [x], []
    for k in range(n):
        kept = out
        out = out + [x * k]  # noqa: RUF005
    return sum(out) - len(kept)


def kept_in_a_list(x, n):
    out, rows = [x], []
    for k in range(n):
        rows.append(out)
        out = out + [x * k]  # noqa: RUF005
    return sum(len(row) for row in rows) * x


def while_it_is_gone_over(x, n):
    out = [x, x * n, 0.5]
    for v in out:
        if v > 0.6:
            out = out + [v * 0.5]  # noqa: RUF005
    return sum(out)


def by_an_iterator(x, n):
    out = [x, 0.5]
    rest = iter(out)
    if x > 1.0:
        out = out + [x]  # noqa: RUF005
    return sum(rest) + sum(out)


def the_longer_one_of_two(x, n):
    out, other = [x], [0.5]
    for _ in range(n):
        found = max(out, other)
        out = out + [x]  # noqa: RUF005
    return sum(out) * x if n == 0 else sum(found) * x


def the_start_of_a_sum(x, n):
    out = [x]
    first = sum([], out)
    if x > 1.0:
        out = out + [x]  # noqa: RUF005
    return len(first) * sum(out)


def before_an_end(x, n):
    def found(v):
        out = [v]
        try:
            return out
        finally:
            if v > 1.0:
                out = out + [v]  # noqa: RUF005

    return sum(found(x)) * n


def seen_by_a_function(x, n):
    out = [x]
    lists = []

    def note():
        lists.append(out)

    for k in range(n):
        note()
        out = out + [x * k]  # noqa: RUF005
    return sum(len(v) for v in lists) * x


def of_the_caller(x, n):
    def longer(out):
        if x > 1.0:
            out = out + [x]  # noqa: RUF005
        return sum(out)

    given = [x * n]
    return longer(given) * len(given)


def emptied_before_it_is_read(x, n):
    out, total = [x], 0.0
    for k in range(n):
        if x > 1.0:
            out, total = [x * k], total + sum(out)
        else:
            out.append(x)
    return total + sum(out)


def by_a_function_that_keeps_it(x, n):
    def len(v):  # noqa: A001
        KEPT.append(v)
        return builtins.len(v)

    KEPT.clear()
    out = [x]
    if x > 1.0 and len(out) > 0:
        out = out + [x]  # noqa: RUF005
    found = sum(map(builtins.len, KEPT))
    KEPT.clear()
    return sum(out) * x + found


def both_lists(x, n):
    out = [x]
    pair = out, 1.0
    if x > 1.0:
        out = []
    return sum(pair[0]) + sum(out)


def turned(x, n):
    """The list is copied before the other items of the display change it."""
    q = [x, 1.0, 2.0]
    for _ in range(n):
        q = [*q, q.pop(0)]
    if x > 1.0:
        q = [*q, q.pop(0)]
    return sum((i + 1) * v for i, v in enumerate(q))


def looked_at_by_an_earlier_target(x, n):
    counts, run = [0.0] * 8, []
    for k in range(n):
        run = run + [x]  # noqa: RUF005
        if x * k > 3.0:
            counts[len(run)], run = counts[len(run)] + 1.0, []
    return sum(i * c for i, c in enumerate(counts)) * x


def written_to_by_an_earlier_target(x, n):
    out = [x, x * n]
    if x > 1.0:
        out[0], out = 5.0, [x, x * x, 1.0]
    return sum(out) * len(out)


def captured_by_a_pattern(x, n):
    p, out = ([x], 1), [1.0]
    match p:
        case ([_] as out, 1):
            pass
    if x > 1.0:
        out = []
    return sum(out) + 10.0 * sum(p[0])


def captured_by_a_star(x, n):
    p, out = [x, x * n, 1.0], [1.0]
    match p:
        case [_, *out]:
            pass
    if x > 1.0:
        out = [*out, x]
    return sum(out) + 10.0 * sum(p)


def kept_by_an_error(x, n):
    def need(v):
        if len(v) < 2:
            raise ValueError(v)
        return v[1]

    out = [x]
    try:
        return need(out)
    except ValueError as error:
        short = error.args[0]
    if x > 1.0:
        out = out + [x, x]  # noqa: RUF005
    return sum(out) + 100.0 * len(short)


def kept_in_what_is_suppressed(x, n):
    kept = []

    def keep(v):
        kept.append(v)
        raise ValueError

    out = [x]
    with suppress(ValueError):
        return keep(out)
    if x > 1.0:
        out = [*out, x, x]
    return sum(out) + 100.0 * sum(map(len, kept))


def added_up_with_an_array(x, n):
    out = [x, x]
    out += np.array([x * 2.0, x])
    if x > 1.0:
        out = [*out, 3.0]
    return sum(out) + len(out)


def given_to_a_function_by_numpy(x, n):
    kept = []

    def keep(_, v):
        kept.append(v)
        return 1.0

    out = [x]
    np.apply_along_axis(keep, 0, np.array([1.0, 2.0]), out)
    if x > 1.0:
        out = out + [x]  # noqa: RUF005
    return sum(out) + 10.0 * sum(map(len, kept))


def of_long_integers(x, n):
    out = [n]
    if x > 1.0:
        out = [x, x]
    if x > 1.2:
        out = [2**60 + 1]
    return (out[0] - (2**60 if x > 1.2 else 0)) * x


WITH_OTHER_NAMES = (
    *(turned, looked_at_by_an_earlier_target, written_to_by_an_earlier_target, captured_by_a_pattern),
    *(captured_by_a_star, kept_by_an_error, kept_in_what_is_suppressed, added_up_with_an_array),
    *(given_to_a_function_by_numpy, of_long_integers),
    *(kept_under_another_name, kept_in_a_list, while_it_is_gone_over, by_an_iterator, the_longer_one_of_two),
    *(the_start_of_a_sum, before_an_end, seen_by_a_function, of_the_caller, emptied_before_it_is_read),
    *(by_a_function_that_keeps_it, both_lists),
)


@pytest.mark.slow_but_every(3)
@pytest.mark.filterwarnings("ignore::shiftreset_ad.staging.StagingWarning")
@pytest.mark.parametrize("f", WITH_OTHER_NAMES, **ids)
@pytest.mark.parametrize("points", [POINTS, POINTS[::-1], ((0.5, 2), (0.6, 2), (0.7, 2), (3.1, 5), (2.5, 4), (0.6, 2))])
def test_a_list_with_another_name_stays_as_it_is(f, points):
    agree(f, points)
    agree(grad(f), points)


def keeping(v):
    KEPT.append(v)
    return builtins.len(v)


def test_a_function_that_is_another_one_later(monkeypatch):
    """The code is rewritten while `len` is Python's, and then it keeps what it is given."""

    def f(x, n):
        out = [x]
        KEPT.clear()
        for k in range(n):
            if x > 0.2 * k and len(out) > 0:
                out = out + [x * k]  # noqa: RUF005
        found = sum(map(builtins.len, KEPT))
        KEPT.clear()
        return sum(out) + found * x

    agree(f)
    monkeypatch.setitem(globals(), "len", keeping)
    assert agree(f).sources
    assert agree(grad(f)).sources


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("out = []; out.append(x); return out", {"out"}),
        ("out = []; out = out + [x]; return sum(out), len(out)", {"out"}),
        ("out: list = [x]; out = [*out, x]; y = out[0] + max(out); return y", {"out"}),
        ("out = [v for v in xs if v]; out += [x]; return np.array(out)", {"out"}),
        ("out, n = [], 0; return [v for v in out if v] + [n] + list(zip(out, xs))", {"out"}),
        ("out, n = [], 0; return [(v, w) for v, w in zip(out, xs)]", {"out"}),
        ("out = []; y = out; return y", set()),
        ("out = []; f(out); return x", set()),
        ("out = []; y = [out]; return y", set()),
        ("out = []; y = f(*out); return y", set()),
        ("out = []; y = out or x; return y", set()),
        ("out = []; y = 1 if out and x else 2; return y", {"out"}),
        ("out = []; out = f(x); return out", set()),
        ("out = []; del out; return x", set()),
        ("out = []; g = lambda: out; return g", set()),
        ("out = []; y = xs.index(out); return y", set()),
        ("out = []; y = out.append; y(x); return x", set()),
        ("out = []; y = x in out; return y", {"out"}),
        ("out = []; y = out in xs; return y", set()),
        ("out = []; y = locals(); return y", set()),
        ("out = []; y = sorted(out, key=f)[0]; return y", {"out"}),
        ("out = []; y = sum(xs, out); return y", set()),
        ("out = []; y = max(out, xs); return y", set()),
        ("out = []; y = (v for v in out); return y", set()),
        ("out = []; y = np.array(out); return y", {"out"}),
        ("out = []; y = np.piecewise(x, x, f, out); return y", set()),
        ("out = []; out += xs; return out", set()),
        ("out = []; out += [x]; return out", {"out"}),
        ("out = []; out = [*out, out.pop()]; return out", {"out"}),
        ("out = []; import math as out; return x", set()),
        ("out = []\ntry:\n    return f(out)\nexcept ValueError:\n    pass", set()),
        ("out = []\ntry:\n    return x, out\nexcept ValueError:\n    pass", {"out"}),
        ("out = []\ntry:\n    pass\nexcept ValueError as out:\n    pass", set()),
        ("out = []\nmatch xs:\n    case [*out]:\n        pass", set()),
        ("out = []\ndef out():\n    pass", set()),
        ("out = []; y = other.array(out); return y", set()),
        ("np = xs; out = []; y = np.array(out); return y", set()),
        ("len = xs; out = []; y = len(out); return y", set()),
        ("out = []; y = len(out); return y", {"out"}),
        ("global out; out = []; return out", set()),
        ("xs = []; return xs", set()),
        ("out, y = [], out; return out", set()),
        ("*out, y = xs; out = []; return y", set()),
        ("for out in xs: out = []", set()),
        ("for v in out: out = []", set()),
        ("out = []\nfor v in out: y = v\nreturn y", {"out"}),
        ("out = []\ntry:\n    return out\nfinally:\n    out = []", set()),
    ],
)
def test_which_lists_have_no_other_names(text, names):
    function = ast.parse("def f(x, xs):\n    " + text.replace("\n", "\n    ")).body[0]
    own = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    found = OwnLists(function.body, own - {"x", "xs"}, own | {"x", "xs"}, {"np": np, "other": builtins, "f": staged})
    if any(isinstance(node, ast.Global) for node in function.body):
        found.names -= {"out"}  # a global variable is none of the function's own
    assert found.names & {"out", "xs"} == names
