"""What is handed over for a staged test: which blocks, with which state; and what is asked instead, and why."""

import math
from array import array
from types import SimpleNamespace

import numpy as np
import pytest

from tests.staging.front.random_programs import function_from
from tests.staging.front.stand_in import written


def check(f, *args, which=None):
    """The stand-in and the session, if `f` gives for symbols what it gives for numbers."""
    answer, session, stand_in = written(f, *args, which=which)
    expected = f(*args)
    np.testing.assert_allclose(answer, expected)
    return stand_in, [refusal.reason for refusal in (*session.refusals.values(), *session.asked.values())]


def handed_over(f, *args, which=None):
    """What is handed over, if nothing is asked."""
    stand_in, reasons = check(f, *args, which=which)
    assert (stand_in.questions, reasons) == (0, [])
    return stand_in.handed_over


def reason(f, *args, which=None):
    """The one reason why something is asked."""
    stand_in, reasons = check(f, *args, which=which)
    assert stand_in.questions
    (found,) = reasons
    return found


def test_a_loop_carries_what_lives_on():
    def newton(a):
        x, rounds = a, 0
        while abs(x * x - a) > 1e-12:
            better = (x + a / x) / 2
            x = better
            rounds += 1
        return x, rounds

    assert handed_over(newton, 2.0) == ["while_loop of 2"]


def test_a_round_under_a_flag_is_handed_over_after_the_first_one():
    def newton(a):
        x = a
        for _ in range(100):
            better = (x + a / x) / 2
            if abs(better - x) < 1e-10:
                return better
            x = better
        return math.nan

    assert [handed_over(newton, a)[:3] for a in (2.0, 50.0)] == [["cond", "cond", "while_loop of 4"]] * 2


def test_a_range_of_staged_length_is_one_loop():
    def power(x, n):
        y = 1.0
        for _ in range(n):
            y = y * x
        return y

    assert [handed_over(power, 2.0, n) for n in (0, 1, 9)] == [["while_loop of 2"]] * 3


def test_ranges_have_the_lengths_of_python():
    for step in (1, 2, 3, -1, -2, -3):
        loop = f"    for i in range(start, stop, {step}):\n        s = s + i\n"
        f = function_from(f"def f(start, stop):\n    s = 0\n{loop}    return s\n")
        for start in range(-4, 5):
            for stop in range(-4, 5):
                handed_over(f, start, stop)


def test_a_branch_joins_what_lives_on():
    def f(x, y):
        if x > y:
            z = x - y
            w = 2 * z
        else:
            w = x if y > 0 else 2 * x
            z = -w
        return z

    for x, y in ((3.0, 1.0), (1.0, 2.0), (-1.0, 2.0), (-3.0, -2.0)):
        assert handed_over(f, x, y) == ["cond"] * 2


def test_a_return_under_a_test_takes_the_rest_with_it():
    def f(x):
        if x > 2:
            return x
        y = x * x
        if y > 1:
            if x < 0:
                return -y
        else:
            y = y + 1
        return y / 2

    for x in (3.0, -2.0, 1.5, 0.5):
        assert handed_over(f, x) == ["cond"] * 3


def test_functions_that_are_called_are_written_down_too():
    def soft(x, cut):
        return x - cut if x > cut else 0.0 * x

    class Model:
        def __init__(self, cut):
            self.cut = cut

        def step(self, x):
            return soft(x, self.cut) + (1.0 if x > 5 else 2.0)

        def __call__(self, x):
            return self.step(x)

    model = Model(1.0)

    def f(x):
        inner = lambda y: model(y) if y > 0 else -y  # noqa: E731
        return model.step(x) + inner(x)

    for x in (3.0, -1.0, 9.0):
        assert handed_over(f, x) == ["cond"] * 5


def test_an_inner_function_sees_the_state_of_the_round():
    def f(x):
        def half():
            return x / 2

        def shrink():
            nonlocal x
            x = half() - 1
            return x

        rounds = 0
        while shrink() > 1:
            rounds += 1
            x = x if rounds < 3 else half()
        return x, rounds

    assert handed_over(f, 100.0) == ["while_loop of 3", *["cond"] * 4]


def test_the_elements_of_comprehensions_are_written_down():
    def f(x):
        clipped = [y if y > 0 else 0.0 * y for y in (x, -x)]
        return sum(clipped) + sum(2 * y if y > x else y for y in clipped)

    assert handed_over(f, 3.0) == ["cond"] * 4


def test_arrays_and_lists_are_gone_over_by_a_staged_index():
    def first_above(xs, y):
        found = -1.0
        for x in xs:
            if x > y:
                found = x
                break
        return found

    xs = [1.0, 4.0, 2.0, 8.0]
    for y in (0.0, 3.0, 5.0, 9.0):
        for over in (xs, np.array(xs)):
            assert "while_loop of 3" in handed_over(first_above, over, y)
            assert "while_loop of 3" in handed_over(first_above, over, y, which={1})


def test_a_variable_without_a_value_is_asked_for_until_it_has_one():
    def f(x):
        while x > 1:
            half = x / 2
            x = half - 0.1
        return half

    assert "'half' has no value before the loop" in reason(f, 100.0)
    stand_in, _ = check(f, 100.0)
    assert (stand_in.questions, stand_in.handed_over) == (1, ["while_loop of 2"])

    def g(x):
        if x > 1:
            half = x / 2
        return x if x < 1 else half

    assert "'half' has a value in one branch only" in reason(g, 3.0)


def effects():
    kept, table, holder = [], {"n": 0}, type("Holder", (), {"n": 0})()
    zeros = np.zeros(2)
    holder.n = 0

    def note(x):
        kept.append(1)
        return x

    def by_append(x):
        while x > 1:
            kept.append(2)
            x = x / 2
        return x

    def by_function(x):
        return note(x) if x > 1 else x

    def by_item(x):
        if x > 1:
            table["n"] += 1
        return x

    def by_attribute(x):
        if x > 1:
            holder.n += 1
        return x

    def by_array(x):
        if x > 1:
            zeros[0] += 1.0
        return x

    space = SimpleNamespace(n=0, counts=array("d", [0.0]))

    class Counting:
        @property
        def half(self):
            holder.n += 1
            return 0.5

    counting = Counting()

    def by_namespace(x):
        if x > 1:
            space.n += 1
        return x

    def by_compact_array(x):
        if x > 1:
            space.counts[0] += 1.0
        return x

    def by_property(x):
        return x * counting.half if x > 1 else x

    return [by_namespace, by_compact_array, by_property, by_append, by_function, by_item, by_attribute, by_array]


@pytest.mark.parametrize("f", effects(), ids=lambda f: f.__name__)
def test_a_block_with_an_effect_is_asked(f):
    found = reason(f, 3.0)
    assert "which is seen outside of the block" in found or "for its effect" in found


def test_what_a_branch_does_that_is_not_reached_is_taken_back_or_not_done():
    kept, table, printed = [0], {"a": 1, "b": 2}, []
    values = {1, 2}

    def f(x):
        if x > 1:
            kept.append(1)
        y = kept.pop() if x > 2 else 1
        y += table.pop("a") if x > 2 else 0
        y += values.pop() if x > 2 else 0
        while x > 1:
            printed.append(x)
            x = x - 1
        return x * y

    check(f, 0.5)
    assert (kept, list(table.items()), values, printed) == ([0], [("a", 1), ("b", 2)], {1, 2}, [])


def recursion(x):
    return x if x < 1 else recursion(x / 2) + 1


def with_two_ends(x, y):
    if x < 1:
        return x * y
    if x > 8:
        return with_two_ends(x / 4, y=y + 1) * 2
    rest = with_two_ends(x - 1, y)
    return rest - with_two_ends(rest / 8, x)


def is_even(n):
    return 1.0 if n == 0 else is_odd(n - 1)


def is_odd(n):
    return 0.0 if n == 0 else is_even(n - 1)


class Halving:
    def __init__(self, rate):
        self.rate = rate

    def go(self, x):
        return x if x < 1 else self.go(x * self.rate) + 1


def test_a_function_that_calls_itself_is_a_function():
    assert handed_over(recursion, 5.0) == ["function", "cond"]
    assert handed_over(with_two_ends, 20.0, 3.0) == ["function", "cond", "cond"]
    assert handed_over(is_even, 5) == ["function", "cond", "cond"]
    assert handed_over(Halving(0.5).go, 9.0) == ["function", "cond"]


def test_a_function_that_calls_itself_on_plain_values_goes_its_way():
    assert handed_over(lambda x, n: recursion(n) * x, 5.0, 3.0, which={0}) == []


def with_another_closure(x):
    def inner(y):
        return x if y < 1 else with_another_closure(y / 2) + 1

    return inner(x)


def test_a_function_of_other_variables_is_another_function():
    stand_in, reasons = check(with_another_closure, 3.0)
    assert stand_in.questions
    assert "in which other variables are seen" in reasons[0]
    assert "the function calls itself under this test" in reasons[1]


def jumps_at_last(x):
    for _ in range(3):
        try:
            x = x + 1
        finally:
            if x > 2:
                break  # noqa: B012
    return x


def over_iterator(x):
    for y in iter([1.0, 2.0, 3.0]):
        if y > x:
            break
        x = x + y
    return x


def over_unlike(x):
    for y in [1.0, 2, np.float32(3.0)]:
        if y > x:
            break
        x = x + y
    return x


def binds(x):
    return y + 1 if x > 0 and (y := x * x) > 1 else x


def deletes(x):
    y = x
    if x > 0:
        del y
        y = x * x
    return y


class Base:
    def go(self, x):
        return x


class Derived(Base):
    def go(self, x):
        if x > 0:
            x = super().go(x) + 1
        return x


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (jumps_at_last, "leaves a `finally`, or a `match` with patterns"),
        (over_iterator, "the loop goes over an iterator, a list_iterator"),
        (over_unlike, "the items of the loop are of different types or shapes"),
        (binds, "binds a variable by `:=`"),
        (deletes, "deletes a variable"),
        (Derived().go, r"uses `super()`"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_what_cannot_be_written_down_is_asked_with_its_reason(f, said):
    assert said in reason(f, 1.5)


def test_the_reason_has_the_line():
    _, session, _ = written(binds, 1.5)
    (refusal,) = session.asked.values()
    assert str(refusal).endswith(f"({__file__}:{binds.__code__.co_firstlineno + 1})")


def test_a_loop_whose_test_waits_for_an_effect_is_given_up_after_one_round():
    """Its body is recorded once. So the test would never change, and the loop would have no end."""

    class Clock:
        def __init__(self, value):
            self.value, self.ticks = value, []

    def f(x, n):
        clock = Clock(x)
        while len(clock.ticks) < n:
            clock.value = clock.value - 0.1 * clock.value**2
            clock.ticks.append(0)
        return clock.value

    def g(x, n):
        clock = Clock(x)
        for _ in range(n):
            clock.ticks.append(clock.value)
            clock.value = clock.value - 0.1 * clock.value**2
        return clock.value

    for function in (f, g):
        given_up = []
        answer, session, stand_in = written(function, 0.5, 50, given_up=given_up)
        assert answer == function(0.5, 50)
        assert stand_in.questions
        assert [0 < refused.carried_out < 5 for refused in given_up] == [True]
        assert all(
            "'clock', or a list in it, has another length" in refusal.reason for refusal in session.refusals.values()
        )
