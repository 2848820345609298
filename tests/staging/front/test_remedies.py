"""What a refusal of the front end says is done here: the wrong function is asked, and the right one is written down."""

import os
from pathlib import Path

import numpy as np
import pytest

from tests.staging.front.stand_in import written

HERE = Path(__file__).parent
total = 0.0
MOST = 30_000
many = [[float(i)] for i in range(MOST)]


class Base:
    def go(self, x):
        return x + 1


class ByImplicitSuper(Base):
    def go(self, x):
        return super().go(x) if x > 0 else x


class ByName(Base):
    def go(self, x):
        return Base.go(self, x) if x > 0 else x


def assigning_to_a_global(x):
    global total
    if x > 0:
        total = x
    return x


def returning_the_value(x):
    return (x, x) if x > 0 else (x, 0.0 * x)


def without_a_value_before(x):
    while x > 1:
        y = x / 2
        x = y - 0.1
    return y


def with_a_value_before(x):
    y = x
    while x > 1:
        y = x / 2
        x = y - 0.1
    return y


def with_a_value_in_one_branch(x):
    if x > 1:
        y = x / 2
    return y if x > 1 else x


def with_a_value_in_both_branches(x):
    if x > 1:
        y = x / 2
    else:
        y = x
    return y if x > 1 else x


def first_of(items):
    def f(x):
        for y in items:
            if y > x:
                x = y
                break
        return x

    return f


def changing(x):
    kept = [0.0]
    if x > 0:
        kept[0] = x
    return kept[0]


def choosing(x):
    kept = [x if x > 0 else 0.0]
    return kept[0]


def calling(x):
    kept = []
    while x > 1:
        x = x / 2
        kept.append(1)
    return x + len(kept)


def counting(x):
    count = 0
    while x > 1:
        x = x / 2
        count = count + 1
    return x + count


def acting(x):
    return x * len(os.listdir(HERE)) if x > 2 else x


def acting_before(x):
    count = len(os.listdir(HERE))
    return x * count if x > 2 else x


def seeing_much(x):
    return x * len(many) if x > 0 else x


def seeing_little(x):
    return x * MOST if x > 0 else x


PROGRAMS = [
    (ByImplicitSuper().go, "a block under this test uses `super()`. Write `Base.f(self)`", ByName().go),
    (
        assigning_to_a_global,
        "a block under this test assigns to the global variable {name!r}. Return the value",
        returning_the_value,
    ),
    (
        without_a_value_before,
        "the variable {name!r} has no value before the loop. Give it one before the loop",
        with_a_value_before,
    ),
    (
        with_a_value_in_one_branch,
        "the variable {name!r} has a value in one branch only. Give it one in both branches",
        with_a_value_in_both_branches,
    ),
    (
        first_of([1.0, np.float32(2.0), 3]),
        "the items of the loop are of different types or shapes. Make an array of them",
        first_of(np.array([1.0, 2.0, 3.0])),
    ),
    (
        changing,
        "a block under this test changes {name!r}, which is seen outside of the block. Return the value instead",
        choosing,
    ),
    (
        calling,
        "a block under this test calls {name!r} for its effect. Return the value, and call it outside",
        counting,
    ),
    (
        acting,
        "a block under this test calls {name!r}, which may act on other things than its arguments. "
        "Call it before the test",
        acting_before,
    ),
    (
        seeing_much,
        "a block under this test sees too many objects to watch them all. Give it what it needs as arguments",
        seeing_little,
    ),
]


def test_a_block_that_is_never_reached_does_nothing(tmp_path):
    path = tmp_path / "kept"
    path.write_text("kept")

    def f(x):
        gone = path.unlink() if x > 100.0 else None
        size = os.remove(path) if x > 200.0 else 0.0
        return x if gone is None and size is not None else 0.0

    for x in (1.0, 2.0, 3.0):
        assert written(f, x)[0] == x
    assert path.read_text() == "kept"


@pytest.mark.parametrize(("wrong", "said", "right"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_what_a_refusal_says_is_done(wrong, said, right):
    answer, session, stand_in = written(wrong, 1.5)
    reasons = [refusal.reason for refusal in (*session.refusals.values(), *session.asked.values())]
    beginning, _, end = said.partition("{name!r}")
    assert stand_in.questions
    assert any(reason.startswith(beginning) and reason.endswith(end) for reason in reasons), reasons
    assert answer == wrong(1.5)
    answer, session, stand_in = written(right, 1.5)
    assert (stand_in.questions, session.refusals, session.asked) == (0, {}, {})
    assert answer == right(1.5)
