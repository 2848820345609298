"""Methods that Python calls by itself meet staged values: truths, `in`, iteration, setters, `__post_init__`."""

import math
from dataclasses import dataclass

import pytest

from shiftreset_ad import grad, staged
from tests.staging.front.agreement import POINTS, agree, by_numpy, ids, require_bits_of_the_steps, require_one_record
from tests.staging.native.natively import needs_native

FACTORS = (0.5, -1.2, 2.0, 0.1)


@dataclass
class Bounded:
    x: float
    y: float = 0.0

    def __post_init__(self):
        self.y = 2.0 * self.x if self.x > 1.0 else self.x - 1.0


@dataclass(frozen=True)
class Frozen:
    x: float

    def __post_init__(self):
        if self.x > 2.0:
            object.__setattr__(self, "x", 2.0)


class Limited:
    def __init__(self, v):
        self._v, self.sets = v, 0.0

    @property
    def v(self):
        return self._v

    @v.setter
    def v(self, new):
        self.sets += 1.0
        self._v = new if new < 2.0 else 2.0


class Positive:
    def __init__(self, v):
        self.v = v

    def __bool__(self):
        return self.v > 1.0


class Large(Positive):
    def __bool__(self):
        if self.v > 1.0:
            return self.v * self.v > 1.5
        return False


class Interval:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def __contains__(self, x):
        return self.low < x < self.high


class Box:
    def __init__(self, *items):
        self.items = items

    def __iter__(self):
        return iter(self.items if self.items[0] > 0.0 else self.items[::-1])

    def __len__(self):
        return len(self.items)


def post_init(x, n):
    b = Bounded(x)
    return b.x * b.y


def post_init_in_rounds(x, n):
    b = Bounded(x)
    for _ in range(n):
        b = Bounded(b.y * 0.4)
    return b.x * b.y


def post_init_of_a_frozen_one(x, n):
    b = Frozen(x)
    for _ in range(n):
        b = Frozen(b.x * 1.4)
    return b.x * x


def setter(x, n):
    limited = Limited(x)
    limited.v = 3.0 * x
    return limited.v * x + limited.sets


def setter_in_rounds(x, n):
    limited = Limited(x)
    for _ in range(n):
        limited.v *= 1.3
        limited.v = limited.v + 0.1 * x
    return limited.v * x + limited.sets


def truth(x, n):
    return x * x if Positive(x) else 3.0 * x


def truth_that_is_negated(x, n):
    return x * x if not Positive(x) else 3.0 * x


def truth_of_a_loop(x, n):
    p = Positive(3.0 * x)
    while p:
        p = Positive(p.v * 0.5)
    return p.v * x


def truth_with_a_branch(x, n):
    total = x
    for k in range(n):
        total = total * 1.1 if Large(total) else total + k
    return total


def truths_together(x, n):
    return x * x if Positive(x) and not Positive(0.8 * x) else 3.0 * x


def in_an_object(x, n):
    interval = Interval(0.5, 1.0)
    while x not in interval:
        x = x * 0.7 if x > 1.0 else x + 0.3
    return x * x if x in Interval(0.6, 0.8) else x


def iterated(x, n):
    total = 0.0
    for v in Box(x, 2.0, x * x):
        total = total + v if v > 1.0 else total * v
    return total + len(Box(x))


def iterated_in_rounds(x, n):
    box, total = Box(x, 2.0, x * x), 0.0
    for _ in range(n):
        for v in box:
            total = total * 0.5 + v
    return total


def in_a_tuple(x, n):
    return x * x if x in (0.7, 5.0) else x


def in_sets_and_ranges(x, n):
    total = x
    for k in range(n):
        if k in {0, 2, 4} or k in range(7, 1, -3):
            total = total * x
        if k not in [1, 2] and k in {0: "a", 3: "b"}:
            total = total + k
    return total


def extremes_of_tuples(x, n):
    a, i = min((x, 1.0), (0.9, 2.0))
    best = max((v * x, k) for k, v in enumerate(FACTORS))
    return a * i + best[0] * (best[1] + 1)


def ties_of_tuples(x, n):
    least = min([(x * 0.0, 2.0 * x), (0.0, x), (0.0, 3.0)])
    return least[1] * x


def sorted_tuples(x, n):
    found = sorted(((v * x, k) for k, v in enumerate(FACTORS)), reverse=x > 100.0)
    return sum(a * i * (k + 1) for k, (a, i) in enumerate(found))


PROGRAMS = [
    *(post_init, post_init_in_rounds, post_init_of_a_frozen_one, setter, setter_in_rounds, truth),
    *(
        truth_that_is_negated,
        truth_of_a_loop,
        truth_with_a_branch,
        truths_together,
        in_an_object,
        iterated_in_rounds,
        in_a_tuple,
    ),
    *(in_sets_and_ranges, extremes_of_tuples, ties_of_tuples),
]


@pytest.mark.parametrize("f", PROGRAMS, **ids)
def test_it_is_written_down_once(f, monkeypatch):
    require_one_record(f, monkeypatch)


@pytest.mark.parametrize("f", [iterated, sorted_tuples], **ids)
def test_it_is_right(f):
    for mode in (lambda f: f, grad, lambda f: grad(grad(f))):
        agree(mode(f))


@needs_native
@pytest.mark.parametrize("f", [post_init_in_rounds, setter_in_rounds, truth_of_a_loop, in_sets_and_ranges], **ids)
def test_native_code_has_the_bits_of_the_steps(f, monkeypatch):
    require_bits_of_the_steps(f, monkeypatch)


def test_tuples_with_nan_are_put_in_order_by_python(monkeypatch):
    def f(x):
        return max([(x, 1.0), (x, 2.0), (0.5, 3.0)])[1] + sorted([(x, 1.0), (0.5, 2.0)])[0][1]

    by_numpy(monkeypatch)
    compiled = staged(f)
    for x in (0.3, 0.7, math.nan, 0.3, math.nan):
        assert compiled(x) == f(x)


def test_nan_is_found_by_its_identity():
    nan = math.nan

    def f(x):
        return 1.0 if x in (nan, 0.5) else 2.0

    compiled = staged(f)
    with pytest.warns(UserWarning, match="runs as it is"):
        assert [compiled(x) for x in (0.3, 0.5, nan, 0.3, nan, float("nan"))] == [2.0, 1.0, 1.0, 2.0, 1.0, 2.0]


def test_what_is_equal_is_found():
    def f(x, n):
        return x in (1, 2.5, True), n in (1.0, 2), n in {False, 5}, n in range(0), x in range(3), n not in [n + 1, n]

    compiled = staged(f)
    for x, n in ((1.0, 1), (2.5, 2), (0.0, 0), (2.0, 5), (1.0, 1), (0.3, True)):
        assert compiled(x, n) == f(x, n)


def test_wrong_truths_raise_pythons_errors():
    class Wrong:
        def __init__(self, v):
            self.v = v

        def __bool__(self):
            return self.v

    def f(x):
        return x if Wrong(x) else 2.0 * x

    with pytest.raises(TypeError, match="__bool__ should return bool"):
        staged(f)(1.0)


# What these methods read is compared before each call

LIMIT = {"most": 2.0}
ALLOWED = [1, 3]


class Guarded:
    def __init__(self, v):
        self.v = v

    def __bool__(self):
        return self.v > LIMIT["most"]

    def __contains__(self, x):
        return self.v * x > LIMIT["most"]

    @property
    def twice(self):
        return 2.0 * self.v

    @twice.setter
    def twice(self, new):
        self.v = new if new < LIMIT["most"] else LIMIT["most"]


def by_a_truth(x, n):
    return x if Guarded(x) else -x


def by_membership(x, n):
    return x if x in Guarded(2.0) else -x


def by_a_setter(x, n):
    guarded = Guarded(x)
    guarded.twice = 2.0 * x
    return guarded.v


def by_a_list(x, n):
    return x if n in ALLOWED else -x


@pytest.mark.parametrize("f", [by_a_truth, by_membership, by_a_setter, by_a_list], **ids)
def test_what_changes_outside_is_seen(f, monkeypatch):
    compiled = staged(f)
    for most, allowed in ((2.0, [1, 3]), (1.0, [1, 2]), (0.5, [5, 3, 0]), (2.0, [1, 3])):
        monkeypatch.setitem(LIMIT, "most", most)
        ALLOWED[:] = allowed
        for x, n in POINTS:
            assert compiled(x, n) == f(x, n)
    monkeypatch.setattr(Guarded, "__bool__", lambda self: True)
    monkeypatch.setattr(Guarded, "__contains__", lambda self, x: False)
    monkeypatch.setattr(Guarded, "twice", property(lambda self: 0.0, lambda self, new: None))
    for x, n in POINTS:
        assert compiled(x, n) == f(x, n)
