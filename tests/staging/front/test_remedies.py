"""What a refusal of the front end says is done here: the wrong function is asked, and the right one is written down."""

import os
import sys
from heapq import heappush
from pathlib import Path

import numpy as np
import pytest

from shiftreset_ad import custom_jvp, staged, zeros
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


def none_in_one_branch(x):
    v = None
    if x > 1.0:
        v = x * x
    return x if v is None else v


def with_a_value_before_the_branch(x):
    v = 0.0
    if x > 1.0:
        v = x * x
    return x if v == 0.0 else v


def scaled(k):
    def f(x):
        return x if x < 1 else scaled(k + 1.0)(x / 2) * k

    return f


def scaled_by_an_argument(x, k=1.0):
    return x if x < 1 else scaled_by_an_argument(x / 2, k + 1.0) * k


def told_apart(x):
    first = last = [x, 1.0]
    if x > 1:
        last = [x * 2.0, 3.0]
    return x if last is first else last[0]


def told_apart_by_numbers(x):
    first = last = [x, 1.0]
    if x > 1:
        last = [x * 2.0, 3.0]
    return x if last[1] == first[1] else last[0]


def with_two_names(x):
    first = second = [x, 1.0]
    if x > 1:
        second = [x * 2.0, 3.0]
    first[0] = 5.0
    return first[0] + second[0]


def with_a_new_list(x):
    first, second = [x, 1.0], [x, 1.0]
    if x > 1:
        second = [x * 2.0, 3.0]
    first = [5.0, first[1]]
    return first[0] + second[0]


def first_of(items):
    def f(x):
        for y in items:
            if y > x:
                x = y
                break
        return x

    return f


def changing(x):
    signs = set()
    if x > 0:
        signs.add(1)
    return x * len(signs)


def choosing(x):
    return x * (1 if x > 0 else 0)


def growing_in_a_branch(x):
    kept = list((0.0,))  # noqa: C410 (the wrong way)
    if x > 0:
        kept.append(x)
    return kept[-1]


def growing_from_a_display(x):
    kept = [0.0]
    if x > 0:
        kept.append(x)
    return kept[-1]


def growing_in_both_branches(x):
    kept = list((0.0,))  # noqa: C410 (the wrong way)
    if x > 0:
        kept.append(x)
    else:
        kept.append(0.0)
    return kept[-1]


def growing_in_rounds(x):
    halves = list((x,))  # noqa: C410 (the wrong way)
    while halves[-1] > 1:
        halves.append(halves[-1] / 2)
    return halves[-1]


def growing_from_a_display_in_rounds(x):
    halves = [x]
    while halves[-1] > 1:
        halves.append(halves[-1] / 2)
    return halves[-1]


def carrying_the_last(x):
    half = x
    while half > 1:
        half = half / 2
    return half


def growing_by_items_of_two_kinds(x):
    halves = [x]
    while halves[-1] > 1:
        halves.extend([None, halves[-1] / 2])
    return halves[-1]


def growing_by_items_of_one_kind(x):
    halves = [x]
    while halves[-1] > 1:
        halves.extend([0.0, halves[-1] / 2])
    return halves[-1]


def writing_to_an_item(x):
    v, halves = zeros(2), [x]
    found = []
    while halves[-1] > 1:
        halves.append(halves[-1] / 2)
        v[0] = halves[-1]
        found.append(v)
    return sum(found, zeros(2))[0]


def making_new_items(x):
    halves = [x]
    found = []
    while halves[-1] > 1:
        halves.append(halves[-1] / 2)
        found.append(np.stack([halves[-1], 0.0]))
    return sum(found, zeros(2))[0]


def comparing_items(x):
    halves = [x]
    while halves[-1] > 1:
        halves.append(halves[-1] / 2)
    return 1.0 if x * 0.25 in halves else 0.0


def comparing_one_by_one(x):
    halves = [x]
    while halves[-1] > 1:
        halves.append(halves[-1] / 2)
    return 1.0 if any(v == x * 0.25 for v in halves) else 0.0


def binding_another_list(x):
    halves = first = [x]
    while halves[-1] > 1:
        halves = halves + [halves[-1] / 2]  # noqa: RUF005 (the wrong way)
    return halves[-1] * len(first)


def looking_at_the_type(x):
    halves = [x]
    while halves[-1] > 1:
        halves.append(halves[-1] / 2)
    return halves[-1] if type(halves) is list else 0.0


def looking_for_an_instance(x):
    halves = [x]
    while halves[-1] > 1:
        halves.append(halves[-1] / 2)
    return halves[-1] if isinstance(halves, list) else 0.0


def filtering(x):
    return np.prod(tuple(v * x for v in (1.0, -2.0) if v * x > 0))


def filtering_where_it_is_added_up(x):
    return sum([v * x for v in (1.0, -2.0) if v * x > 0])


def filtering_in_a_list(x):
    return [v * x for v in (1.0, -2.0) if v * x > 0][-1]


def greatest_integer(x):
    return max(k for k in (1, 2, 3) if k < x + 2)


def greatest_float(x):
    return max(float(k) for k in (1, 2, 3) if k < x + 2)


class Mean:
    pass


def without_an_attribute(x):
    mean = Mean()
    if x > 1:
        mean.value = x / 2
    return mean.value if x > 1 else x


def with_an_attribute(x):
    mean = Mean()
    mean.value = x
    if x > 1:
        mean.value = x / 2
    return mean.value


def calling(x):
    kept = []
    while x > 1:
        x = x / 2
        heappush(kept, 1)
    return x + len(kept)


def counting(x):
    count = 0
    while x > 1:
        x = x / 2
        count = count + 1
    return x + count


class Rates:
    def __getattr__(self, name):
        return 0.5


rates = Rates()


def entering(x):
    return x * rates.rate if x > 2 else x


def entering_before(x):
    rate = rates.rate
    return x * rate if x > 2 else x


def acting(x):
    return x * len(os.listdir(HERE)) if x > 2 else x


def acting_before(x):
    count = len(os.listdir(HERE))
    return x * count if x > 2 else x


def seeing_much(x):
    return x * len(many) if x > 0 else x


def seeing_little(x):
    return x * MOST if x > 0 else x


IN_A_BRANCH = (
    "{name!r}, or a list in it, has other lengths in the two branches, so its length depends on the arguments. Make "
    "the list by `[...]`, with items of one kind, or let it grow in both, or carry what is needed of it, such as its "
    "sum"
)
IN_ROUNDS = (
    "{name!r}, or a list in it, has another length after each round, which depends on the arguments. Make the list by "
    "`[...]`, with items of one kind, or carry what is needed of the list, such as its sum or its last item, or write "
    "to an array of shiftreset_ad.zeros"
)
FILTER = (
    "this filter decides how many items the comprehension has. Give the comprehension to sum, len, any, all, min or "
    "max where it stands, or make it a list, `[... for ...]`, or let each item be `x if ... else 0.0`"
)


# The stand-in has no arrays for lists that grow
def returning_a_text(x):
    with np.errstate(all="ignore"):
        if x > 1:
            return "large", x
        y = x * 2
    return "small", y


def returned_text(x):
    return returning_a_text(x)[1]


def returning_numbers(x):
    with np.errstate(all="ignore"):
        if x > 1:
            return x
        y = x * 2
    return y * 1.0


OF_JUMPS = [
    (
        returned_text,
        "a `return` under this test is in a `with` or a `try`, and returns no structure of numbers and arrays. Return "
        "it after the statement",
        returning_numbers,
    ),
]
OF_LISTS = [
    (growing_in_a_branch, IN_A_BRANCH, growing_from_a_display),
    (growing_in_rounds, IN_ROUNDS, growing_from_a_display_in_rounds),
    (
        growing_by_items_of_two_kinds,
        "items of several kinds are appended to the list. Let all of them be floats, or arrays of one shape",
        growing_by_items_of_one_kind,
    ),
    (
        writing_to_an_item,
        "arrays are appended to the list, and a loop or a branch writes to an array, which may be one of them. Make "
        "new arrays instead",
        making_new_items,
    ),
    (
        comparing_items,
        "the items of a list whose length depends on the arguments are compared by {name!r}, for which an item is "
        "equal to itself, even if it is NaN. Compare them one by one",
        comparing_one_by_one,
    ),
    (
        binding_another_list,
        "{name!r} is bound to another list under this test or in this loop, and its length depends on the arguments. "
        "Change the list itself, by append, pop or clear",
        growing_from_a_display_in_rounds,
    ),
    (
        looking_at_the_type,
        "it asks for the type of a list whose length depends on the arguments. Use isinstance(...)",
        looking_for_an_instance,
    ),
    (filtering, FILTER, filtering_in_a_list),
]
PROGRAMS = [
    (
        scaled(1.0),
        "the function calls a copy of itself, in which other variables are seen. Give them as arguments",
        scaled_by_an_argument,
    ),
    (
        told_apart,
        "a list, a dict or an object that is carried through this test, or read at an index that depends on the "
        "arguments, may be the same object as another one: the program asks which one it is, as by `is`, or returns "
        "both. Compare what is in them, or return a copy",
        told_apart_by_numbers,
    ),
    (
        with_two_names,
        "a list, a dict, an object or an array that is carried through this test, or read at an index that depends on "
        "the arguments, changes afterwards, and may have another name. Make a new one",
        with_a_new_list,
    ),
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
        none_in_one_branch,
        "{name!r} is None in one branch only. Give it a value of one kind in both branches, or before",
        with_a_value_before_the_branch,
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
    (growing_in_a_branch, IN_A_BRANCH, growing_in_both_branches),
    (growing_in_rounds, IN_ROUNDS, carrying_the_last),
    (filtering, FILTER, filtering_where_it_is_added_up),
    (
        greatest_integer,
        "the least or greatest of items that a filter leaves is looked for among floats alone. Make floats of them",
        greatest_float,
    ),
    (
        without_an_attribute,
        "{name!r} has no value before this test, and gets one under it. Give it a value before",
        with_an_attribute,
    ),
    (
        calling,
        "a block under this test calls {name!r} for its effect. Return the value, and call it outside",
        counting,
    ),
    (
        entering,
        "a block under this test runs {name!r}, which is not looked into and may be there for its effect. "
        "Use it before the test",
        entering_before,
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


class Removing:
    """All that it does removes a file."""

    def __init__(self, path, at_once=False):
        self.path = path
        if at_once:
            self.removed()

    def removed(self):
        os.remove(self.path)
        return 1.0

    @property
    def half(self):
        return self.removed() / 2

    def __getitem__(self, i):
        return self.removed()

    def __add__(self, x):
        return self.removed() + x

    def __call__(self):
        return self.removed()

    def __iter__(self):
        yield self.removed()


def removed(path):
    os.remove(path)
    return 1.0


def removing_parts(path):
    yield removed(path)


ACTS = {
    "a method of a library": lambda path: path.unlink(),
    "a function of a library": lambda path: os.remove(path),
    "open": lambda path: open(path, "w").close(),
    "numpy.save": lambda path: np.save(path, np.ones(2)),
    "a method of an array": lambda path: np.ones(2).tofile(path),
    "a function": lambda path: removed(path),
    "a function in a comprehension": lambda path: [removed(path) for path in [path]],
    "a function given to another": lambda path: list(map(removed, [path])),
    "a generator": lambda path: sum(removing_parts(path)),
    "a constructor": lambda path: Removing(path, True),
    "a method": lambda path: Removing(path).removed(),
    "code without source": lambda path: eval("removed")(path),
    "a custom rule": lambda path: RULED(path),
}
OF_OBJECTS = {
    "an attribute": lambda x: x.half,
    "an item": lambda x: x[0],
    "an operator": lambda x: x + 1.0,
    "a call": lambda x: x(),
    "an iterator": lambda x: list(x),
}
RULED = custom_jvp(removed)


@pytest.mark.parametrize("name", [*ACTS, *OF_OBJECTS])
def test_a_block_that_is_never_reached_does_nothing(name, tmp_path):
    path = tmp_path / "kept"
    path.write_bytes(b"kept")
    act, x = (ACTS[name], path) if name in ACTS else (OF_OBJECTS[name], Removing(path))

    def choice(y):
        return y if (act(x) if y > 100.0 else None) is None else 0.0

    def branch(y):
        if y > 100.0:
            act(x)
        return y

    def loop(y):
        while y > 100.0:
            y = y - 1.0 if act(x) else y
        return y

    for f in (choice, branch, loop):
        g = staged(f)
        for y in (1.0, 2.0, 3.0):
            assert written(f, y)[0] == y
            assert g(y) == y
    assert path.read_bytes() == b"kept"


def test_a_tracer_goes_on(tmp_path):
    """A block is watched by a trace function; that of a debugger is called, too, and is there afterwards."""
    entered = []

    def tracer(frame, event, arg):
        entered.append(frame.f_code.co_name)

    def f(x):
        return helper(x) if x > 1.0 else x

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        answer, session, _ = written(f, 1.5)
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)
    assert (answer, session.refusals) == (3.0, {})
    assert "helper" in entered


def helper(x):
    return x * 2.0


@pytest.mark.parametrize(("wrong", "said", "right"), [*OF_LISTS, *OF_JUMPS], ids=lambda x: getattr(x, "__name__", ""))
def test_what_a_refusal_of_a_list_or_of_a_jump_says_is_done(wrong, said, right):
    asked, written_down = staged(wrong), staged(right)
    for x in (1.5, 0.5, 5.0, 9.0, -1.0):
        assert asked(x) == pytest.approx(wrong(x), rel=1e-15)
        assert written_down(x) == pytest.approx(right(x), rel=1e-15)
    assert said.rpartition("{name!r}")[-1] in asked.report()
    assert len(asked.sources) > 1
    assert len(written_down.sources) == 1


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
