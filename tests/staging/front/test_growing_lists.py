"""A list may grow and shrink in branches and in loops, in any way that a list of Python's may."""

import copy
import math
from collections import deque

import numpy as np
import pytest

from shiftreset_ad import grad, hessian, jacfwd, staged, taylor, zeros
from shiftreset_ad.staging.native.compiled import NONE
from tests.staging.front.agreement import POINTS, agree, ids, require_bits_of_the_steps, require_one_record
from tests.staging.native.natively import needs_native

FACTORS = (0.5, -1.2, 2.0, 0.1)


def appended(x, n):
    out = []
    for k in range(4):
        if x > 0.4 * k:
            out.append(x * k)
        else:
            out.append(-x)
    return np.sum(np.array(out) ** 2)


def appended_by_other_names(x, n):
    out = [x]
    other = out
    for k in range(3):
        if out[-1] > 1.0:
            out.append(out[-1] * 0.5)
        else:
            other.append(other[-1] + 0.3 * k)
    return sum(v * (i + 1) for i, v in enumerate(other))


def appended_in_inner_branches(x, n):
    out = []
    for f in FACTORS:
        if f * x > 0.0:
            if f * x > 1.0:
                out.append(f)
            else:
                out += [f * x]
        else:
            out.extend([f * x * x])
    return sum(out)


def pushed_and_popped(x, n):
    stack = [x, 2.0, x * x]
    for _ in range(2):
        if stack[-1] > 1.0:
            stack.append(stack.pop() + stack.pop() * 0.5)
        else:
            last = stack.pop()
            stack[-1] = stack[-1] * last
    return sum(stack)


def inserted(x, n):
    out = [1.0, x]
    if x > 1.0:
        out.insert(0, x * x)
    else:
        out.insert(1, -x)
    return sum(v * i for i, v in enumerate(out))


def in_rounds(x, n):
    total = 0.0
    for _ in range(n):
        out = [x]
        for f in FACTORS:
            if f * x > total:
                out.append(f * x)
            else:
                out.append(total)
        total = total + 0.1 * sum(out)
    return total


def of_a_deque(x, n):
    waiting = deque([x])
    for k in range(3):
        if x > 0.5 * k:
            waiting.appendleft(x * k)
        else:
            waiting.append(x + k)
    return sum(v * (i + 1) for i, v in enumerate(waiting))


def of_pairs(x, n):
    pairs = []
    for k in range(3):
        if x > 0.5 * k:
            pairs.append((x, np.array([x, 1.0])))
        else:
            pairs.append((x * x, np.array([k, x])))
    return sum(a * b[0] + b[1] for a, b in pairs)


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y


class Path:
    def __init__(self):
        self.points = []

    def add(self, x, y):
        self.points.append(Point(x, y))


def of_objects(x, n):
    path = Path()
    for k in range(3):
        if x > 0.5 * k:
            path.add(x * k, 1.0)
        else:
            path.add(-x, x * x)
    return sum(point.x * point.y for point in path.points)


def grows_in_rounds(x, n):
    out = [x]
    for _ in range(n):
        out.append(np.sin(out[-1]))
    return sum(out)


def shrinks_in_rounds(x, n):
    out = [x, 2.0 * x, x * x, 1.0]
    while len(out) > 1 and out[-1] < 1.5:
        out.pop()
    return out[-1]


def grows_in_a_branch(x, n):
    out = []
    for f in FACTORS:
        if f * x > 0.5:
            out.append(f * x)
        total = sum(out)
    return total


def grows_more_in_a_branch(x, n):
    out = [x]
    if x > 1.0:
        out.append(x)
        out.append(x * x)
    else:
        out.append(2.0)
    return sum(out)


def extended_in_rounds(x, n):
    out = [x]
    for _ in range(n):
        out += [np.sin(out[-1])]
    return sum(out)


def newtons_path(x, n):
    path = [x]
    while abs(path[-1] ** 2 - x) > 1e-9:
        path.append(path[-1] - (path[-1] ** 2 - x) / (2.0 * path[-1]))
    return sum(path) * len(path)


def adaptive_steps(x, n):
    t, y, times, values = 0.0, x, [], []
    while t < 1.0:
        h = 0.2 / (1.0 + abs(y))
        t, y = t + h, y + h * np.sin(y)
        times.append(t)
        values.append(y)
    total = 0.0
    for t, y in zip(times, values):  # noqa: B905 (as the user would write it)
        total = total + t * y
    return total


def leaves_of_a_tree(x, n):
    waiting, total = [x * n], 0.0
    while waiting:
        v = waiting.pop()
        if v > 0.5:
            waiting.append(v * 0.5)
            waiting.append(v * 0.3)
        else:
            total = total + v * v
    return total


def breadth_first(x, n):
    waiting, total = [x * n], 0.0
    while len(waiting) > 0:
        v = waiting.pop(0)
        total = total * 0.9 + v
        if v > 0.5:
            waiting += [v * 0.5, v * 0.3]
    return total


def filtered(x, n):
    found = [np.sin(x * k) for k in range(6) if np.sin(x * k) > 0.3]
    return sum(v * v for v in found) + len(found)


def pairs(x, n):
    path = [(0.0, x)]
    while path[-1][1] < 10.0:
        t, y = path[-1]
        path.append((t + 0.5, y * 1.7))
    return sum(t * y for t, y in path)


def arrays(x, n):
    path = [np.stack([x, 0.5])]
    for _ in range(n):
        path.append(path[-1] * 1.5 + 0.1)
    total = 0.0
    for v in path:
        total = total + np.sum(v * v)
    return total


def filtered_in_many_rounds(x, n):
    found = []
    for k in range(30):
        if x * k > 5.0:
            break
        if k % 2:
            continue
        if np.sin(x * k) > 0.0:
            found.append(np.sin(x * k))
    return sum(found) + x


def grown_while_it_is_gone_over(x, n):
    found, total = [x], 0.0
    for v in found:
        total = total + v
        if v > 0.2:
            found.append(v * 0.7)
    return total


def state_in_adaptive_steps(x, n):
    y, t = np.stack([x, 0.0]), 0.0
    states, times = [y], [t]
    while t < 2.0:
        h = 0.3 / (1.0 + 0.01 * np.sum(y * y))
        y, t = y + h * np.stack([y[1], -np.sin(y[0])]), t + h
        states.append(y)
        times.append(t)
    return sum(y[0] * t for y, t in zip(states, times, strict=True))


def integers(x, n):
    powers = [1]
    while powers[-1] * x < 50.0:
        powers.append(powers[-1] * 3)
    return x * powers[-1] + powers[len(powers) // 2]


def numbered_items(x, n):
    path = [(x, 1, True)]
    while path[-1][0] < 10.0 and path[-1][1] < 20:
        v, count, is_odd = path[-1]
        path.append((v * 1.3, count + 1, not is_odd))
    return sum(v * count for v, count, is_odd in path if is_odd)


def of_two_types(x, n):
    found = [0]
    for k in range(n):
        found.append(x * k)
        found.append(np.float64(k) * x)
    return max(found) - min(found) + found[len(found) - 1] + 0.0 * x


def backwards_and_numbered(x, n):
    found = []
    while len(found) < n or x < 0.5:
        x = x * 1.3
        found.append(x)
    total = 0.0
    for i, v in enumerate(found):
        total = total + i * v
    for v in reversed(found):
        total = total * 0.5 + v
    return total


def written_to(x, n):
    found = [x, x * x]
    while found[-1] < 20.0:
        found.append(found[-1] + 0.5 * found[-2] + 0.1)
    found[0], found[-1] = found[-1], found[0]
    found[len(found) // 2] += x
    found[n % len(found)] *= 2.0
    return sum(v * i for i, v in enumerate(found))


def emptied(x, n):
    found, total = [], 0.0
    for k in range(n):
        found.append(x + k)
        if len(found) > 2:
            total = total + sum(found)
            found.clear()
    return total + sum(found)


def of_a_helper(x, n):
    def push(items, v):
        items.append(v)
        return len(items)

    found, count = [], 0
    while count < n:
        count = push(found, x * (count + 1))
    return sum(found) + x


def of_a_class(x, n):
    path = Path()
    for k in range(n):
        if x > 0.3 * k:
            path.points.append(x * k)
    return sum(path.points) - len(path.points) + x


def in_a_dict(x, n):
    found = {"low": [], "high": []}
    for k in range(n):
        if x * k < 2.0:
            found["low"].append(x * k)
        else:
            found["high"].append(x - k)
    return sum(found["low"]) - sum(found["high"]) + x


def rows(x, n):
    table = []
    for k in range(3):
        row, y = [], x + k
        while y < 5.0:
            y = y * 1.4
            row.append(y)
        table.append(row)
    return sum(sum(row) * len(row) for row in table)


def with_two_names(x, n):
    found = other = [x]
    while found[-1] < 10.0:
        other.append(found[-1] * 1.5)
    return sum(found) * len(other)


def until_an_error(x, n):
    waiting, total = [x, float(n)], 0.0
    while True:
        try:
            v = waiting.pop()
        except IndexError:
            break
        total = total + v * v
    return total


PROGRAMS = [
    appended,
    appended_by_other_names,
    appended_in_inner_branches,
    pushed_and_popped,
    inserted,
    in_rounds,
    of_a_deque,
    of_pairs,
    of_objects,
    grows_in_rounds,
    shrinks_in_rounds,
    grows_in_a_branch,
    grows_more_in_a_branch,
    extended_in_rounds,
    newtons_path,
    adaptive_steps,
    leaves_of_a_tree,
    breadth_first,
    filtered,
    pairs,
    arrays,
    filtered_in_many_rounds,
    grown_while_it_is_gone_over,
    state_in_adaptive_steps,
    integers,
    numbered_items,
    of_two_types,
    backwards_and_numbered,
    written_to,
    emptied,
    of_a_helper,
    of_a_class,
    in_a_dict,
    rows,
    with_two_names,
]


@pytest.mark.parametrize("f", PROGRAMS, **ids)
def test_it_is_written_down_once(f, monkeypatch):
    require_one_record(f, monkeypatch)


@needs_native
@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("f", [f for f in PROGRAMS if f not in (of_a_deque, of_pairs, of_objects, inserted)], **ids)
def test_native_code_has_the_bits_of_the_steps(f, monkeypatch):
    compiled = agree(f)
    assert not [text for text in compiled.llvm if text.startswith(NONE)]
    require_bits_of_the_steps(f, monkeypatch)


def bound_anew_in_a_branch(x, n):
    out = first = [x]
    if x > 1.0:
        out = [*out, x * x]
    return sum(out) * len(first)


def bound_anew_in_rounds(x, n):
    out = first = [x]
    for _ in range(n):
        out = out + [np.sin(out[-1])]  # noqa: RUF005 (another way to write it)
    return sum(out) * len(first)


def started_again(x, n):
    out, kept = [], None
    for k in range(n):
        out.append(x + k)
        if len(out) * x > 2.0:
            kept, out = out, []
    return sum(out) + (0.0 if kept is None else sum(kept))


def of_several_kinds(x, n):
    out = [x]
    for _ in range(n):
        out.append((x, out[-1]))
    return len(out) * x


def whose_type_is_asked(x, n):
    out = [x]
    for _ in range(n):
        out.append(out[-1] * 0.5)
    return sum(out) if type(out) is list else 0.0


def whose_item_is_written_to(x, n):
    out = [np.stack([x, 1.0])]
    for _ in range(n):
        out.append(out[-1] * 0.5)
    out[-1][0] = x * x
    return np.sum(out[-1])


def whose_item_has_another_name(x, n):
    v = np.stack([x, 1.0])
    out = []
    for _ in range(n):
        out.append(v)  # noqa: PERF401
    v[1] = x * x
    return sum(np.sum(v) for v in out) + x


def of_one_array_that_rounds_write_to(x, n):
    v, out = zeros(2), []
    for k in range(n):
        v[0] = x * k
        out.append(v)
    return sum(np.sum(v) for v in out) + x


def of_arrays_of_which_the_last_is_written_to(x, n):
    v = np.stack([x, 1.0])
    out = [v]
    for _ in range(n):
        v = v * 1.5
        out.append(v)
    v[1] = 7.0
    return sum(np.sum(v) for v in out)


REASONS = {
    of_one_array_that_rounds_write_to: "a loop or a branch writes to an array, which may be one of them",
    of_arrays_of_which_the_last_is_written_to: "may have another name, as an item of a list",
    bound_anew_in_rounds: "'out' is bound to another list under this test or in this loop",
    bound_anew_in_a_branch: "'out', or a list in it, has other lengths in the two branches",
    started_again: "'out', or a list in it, has other lengths in the two branches",
    of_several_kinds: "items of several kinds are appended to the list",
    whose_type_is_asked: "it asks for the type of a list whose length depends on the arguments",
    whose_item_is_written_to: "may have another name, as an item of a list",
    whose_item_has_another_name: "'out', or a list in it, has another length after each round",
}


@pytest.mark.parametrize("f", REASONS, **ids)
def test_what_cannot_be_written_down_is_asked_and_the_report_says_why(f):
    for mode in (lambda f: f, grad):
        compiled = agree(mode(f))
        assert len(compiled.sources) > 1
        assert REASONS[f] in compiled.report()


# What else the program does with such a list asks for its length, or its items

ASKING = {
    "a slice": lambda items: sum(items[1:]),
    "a copy": lambda items: sum(items.copy()) + sum(copy.copy(items)) + sum(copy.deepcopy(items)),
    "a product": lambda items: len(items * 2) + len(2 * items),
    "a sum": lambda items: sum(items + [1.0]) + sum([1.0] + items),  # noqa: RUF005
    "sorted": lambda items: sorted(items)[0] - sorted(items, reverse=True)[0],
    "an array": lambda items: np.sum(np.array(items)) + np.mean(items) + np.sum(np.exp(items)),
    "unpacked": lambda items: sum([*items]) + max(*items, 1.0),
    "a tuple": lambda items: sum(tuple(items)) + len(set(items)),
    "matched": lambda items: matched(items),
    "a text": lambda items: 1.0 * len(f"{[1.0 for _ in items]}"),
    "an iterator": lambda items: next(iter(items)) + next(reversed(items)),
    "a map": lambda items: sum(map(np.sin, items)) + sum(filter(None, items)),
}
CHANGING = {
    "insert": lambda items: items.insert(1, 0.5),
    "delete": lambda items: items.__delitem__(0),
    "a slice": lambda items: items.__setitem__(slice(0, 1), [2.0, 3.0]),
    "pop": lambda items: items.pop(len(items) // 2),
    "reverse": lambda items: items.reverse(),
    "sort": lambda items: items.sort(),
    "sort by a key": lambda items: items.sort(key=lambda v: -v, reverse=True),
    "repeat": lambda items: items.__imul__(2),
    "a generator that looks at it": lambda items: items.extend(items[-1] * k for k in range(3)),
    "itself": lambda items: items.extend(items),
}


def matched(items):
    match items:
        case [one]:
            return one
        case [one, *others]:
            return one + len(others)
    return -1.0


def grown(x, n):
    items = [x]
    for _ in range(n):
        items.append(items[-1] * 0.5 + 1.0)
    return items


@pytest.mark.parametrize("look", ASKING.values(), ids=ASKING)
def test_whatever_python_does_with_a_list_has_its_answer(look):
    agree(grad(lambda x, n: look(grown(x, n)) + x))


@pytest.mark.parametrize("change", CHANGING.values(), ids=CHANGING)
def test_a_list_that_is_changed_in_any_way_goes_on_growing(change):
    def f(x, n):
        items = [x]
        for _ in range(n + 1):
            items.append(items[-1] * 0.5 + 1.0)
        change(items)
        for _ in range(n):
            items.append(items[0] * 0.5)
        return sum(v * (i + 1) for i, v in enumerate(items))

    agree(grad(f))


COMPARING = {
    "index": lambda items: items.index(items[-1]),
    "count": lambda items: items.count(items[0]),
    "in": lambda items: items[0] in items,
    "remove": lambda items: items.remove(items[0]),
    "==": lambda items: items == list(items),
    "!=": lambda items: items != [items[0]],
    "<": lambda items: items < [items[0]],
}


@pytest.mark.parametrize("name", COMPARING)
def test_items_that_are_compared_are_those_of_python(name):
    """NaN is equal to itself there."""

    def f(x, n):
        items = [x, x - x]
        for _ in range(n):
            items.append(items[-1] * 0.5 + 1.0)
        return 1.0 if COMPARING[name](items) else 0.0

    compiled = agree(f, [*POINTS, (math.inf, 3), (math.inf, 2), (math.inf, 3)])
    assert f"compared by {name!r}" in compiled.report()


MESSAGES = {
    "pop from empty list": lambda items, n: items.pop(),
    "list index out of range": lambda items, n: items[n],
    "list assignment index out of range": lambda items, n: items.__setitem__(-1 - n, 1.0),
}


@pytest.mark.parametrize("message", MESSAGES)
def test_the_message_of_an_index_error_is_pythons(message):
    def f(x, n):
        items = []
        for _ in range(n):
            items.append(x)  # noqa: PERF401
        for _ in range(n):
            items.pop()
        try:
            MESSAGES[message](items, n)
        except IndexError as error:
            return x * len(str(error))
        return x

    for x, n in POINTS:
        assert agree(f, [(x, n)] * 4)(x, n) == x * len(message)


def test_a_list_that_shrinks_while_it_is_gone_over_backwards():
    def f(x, n):
        items, total = [x], 0.0
        for _ in range(n):
            items.append(items[-1] * 0.5)
        for v in reversed(items):
            total = total + v
            if len(items) > 2:
                items.pop()
                items.pop()
        return total

    agree(f)
    agree(grad(f))


@pytest.mark.parametrize("mode", [jacfwd, hessian, lambda f: lambda x, n: taylor(lambda y: f(y, n), x, 3)])
def test_derivatives_of_other_kinds(mode):
    compiled = staged(mode(newtons_path))
    for x, n in POINTS:
        np.testing.assert_allclose(compiled(x, n), mode(newtons_path)(x, n), rtol=1e-12)


def test_a_list_is_returned_as_a_list():
    compiled = staged(lambda x, n: {"path": grown(x, n), "count": n})
    for x, n in POINTS:
        answer = compiled(x, n)
        assert answer == {"path": grown(x, n), "count": n}
        assert type(answer["path"]) is list


def test_an_index_that_there_is_not_raises_pythons_error():
    def f(x, n):
        items = [x]
        for _ in range(n):
            items.append(x)  # noqa: PERF401
        return items[n - 3]

    compiled = agree(f, [(0.5, 3), (0.7, 4), (0.5, 3)])
    for _ in range(3):
        with pytest.raises(IndexError, match="list index out of range"):
            compiled(0.5, 0)
    assert compiled(0.5, 2) == 0.5


def test_the_place_after_the_last_item_has_none():
    def f(x, n):
        items = [x]
        for _ in range(n):
            items.append(x)  # noqa: PERF401
        return items[3]

    compiled = agree(f, [(0.5, 3), (0.7, 4), (0.5, 3), (0.5, 5)])
    for _ in range(3):
        with pytest.raises(IndexError, match="list index out of range"):
            compiled(0.5, 2)


def test_an_array_of_a_list_that_changes_later_has_changed_in_the_list():
    def made_in_rounds(x, n):
        last, out = np.stack([x, 1.0]), []
        for _ in range(n):
            last = last * 1.5
            out.append(last)
        last[1] = 7.0
        return sum(np.sum(v) for v in out) + x

    def plain(x, n):
        v = np.ones(2)
        out = [v]
        for _ in range(n):
            out.append(out[-1] * x)
        v[0] = 5.0
        return sum(np.sum(v) for v in out)

    for f in (made_in_rounds, plain):
        agree(f)
        agree(grad(lambda x, n, f=f: f(x, n) + x))


def test_a_list_may_have_any_length_and_gets_more_room_as_it_grows():
    def f(x, n):
        items = [x]
        for _ in range(n):
            items.append(items[-1] * 0.999)
        total = 0.0
        for v in items:
            total = total + v
        return total

    compiled = staged(grad(f))
    for n in (3, 60, 63, 64, 500, 4000, 3, 700, 63):
        assert compiled(0.5, n) == pytest.approx(grad(f)(0.5, n), rel=1e-12)
        assert compiled(0.7, n) == pytest.approx(grad(f)(0.7, n), rel=1e-12)
    assert len(compiled.sources) <= 4  # for 64 items, 512 and 4,096


def test_a_list_from_outside_is_not_changed_by_a_branch_that_is_not_taken():
    log = []

    def f(x):
        if x > 1.0:
            log.append(1.0)
        else:
            log.append(2.0)
        return x * log[-1]

    compiled = staged(f)
    with pytest.warns(UserWarning, match="changes"):
        assert [compiled(x) for x in (2.0, 0.5, 2.0)] == [2.0, 1.0, 2.0]
    assert len(log) == 3
