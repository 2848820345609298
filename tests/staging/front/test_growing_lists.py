"""A list may grow and shrink in both branches of a staged test; the report says where its length depends on values."""

from collections import deque

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from tests.staging.front.agreement import POINTS, ids, require_bits_of_the_steps, require_one_record
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
]


@pytest.mark.parametrize("f", PROGRAMS, **ids)
def test_it_is_written_down_once(f, monkeypatch):
    require_one_record(f, monkeypatch)


@needs_native
@pytest.mark.parametrize("f", [appended, in_rounds], **ids)
def test_native_code_has_the_bits_of_the_steps(f, monkeypatch):
    require_bits_of_the_steps(f, monkeypatch)


def grows_in_rounds(x, n):
    out = [x]
    for _ in range(n):
        out.append(np.sin(out[-1]))
    return sum(out)


def shrinks_in_rounds(x, n):
    out = [x, 2.0 * x, x * x, 1.0]
    while out[-1] < 1.5:
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


def bound_anew_in_rounds(x, n):
    out = [x]
    for _ in range(n):
        out += [np.sin(out[-1])]
    return sum(out)


def bound_anew_in_a_branch(x, n):
    out = [x]
    if x > 1.0:
        out = [*out, x * x]
    return sum(out)


REASONS = {
    bound_anew_in_rounds: "'out', or a list in it, has another length after each round",
    bound_anew_in_a_branch: "'out', or a list in it, has other lengths in the two branches",
    grows_in_rounds: "'out', or a list in it, has another length after each round",
    shrinks_in_rounds: "'out', or a list in it, has another length after each round",
    grows_in_a_branch: "'out', or a list in it, has other lengths in the two branches",
    grows_more_in_a_branch: "'out', or a list in it, has other lengths in the two branches",
}


@pytest.mark.parametrize("f", REASONS, **ids)
def test_a_length_that_depends_on_values_is_asked_and_the_report_says_why(f):
    for mode in (lambda f: f, grad):
        compiled, points = staged(mode(f)), [(x, n) for x, n in POINTS if x > 0.8 or f is not shrinks_in_rounds]
        for x, n in points:
            assert compiled(x, n) == pytest.approx(mode(f)(x, n), rel=1e-12)
        assert len(compiled.sources) > 1 or f is shrinks_in_rounds
        assert f"Why tests are asked, and not written down:\n  {REASONS[f]}" in compiled.report()


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
