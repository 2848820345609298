"""Loops whose count is plain: where they would have very many steps, the rest of the rounds is written down as one."""

import ctypes
import os
import warnings

import numpy as np
import pytest

from shiftreset_ad import custom_vjp, grad, hvp, jvp, staged, value_and_grad, zeros
from shiftreset_ad.staging import forms
from shiftreset_ad.staging.front import long_loops
from shiftreset_ad.staging.front.folds import ADDS_ONE_BY_ONE
from shiftreset_ad.staging.native import machine
from tests.staging.front.agreement import by_numpy

LONG = 1_500  # rounds
FEW = 250  # steps, of a record with a loop
X = np.linspace(-1.0, 2.0, 5)
TABLE = [0.5 + 0.001 * i for i in range(LONG)]
ROWS = [np.array([0.001 * i, 1.0, -0.5, 0.1, 0.2]) for i in range(LONG)]
DATA = np.cos(np.arange(4.0 * LONG)).reshape(LONG, 4)


def descent(x):
    for _ in range(LONG):
        x = x - 0.01 * grad(lambda x: np.sum((x * x - 1.0) ** 2))(x)
    return x


def with_an_index(x):
    for i in range(3, 3 * LONG, 3):
        x = x * 0.99 + 0.001 * i - (i % 7) // 2 * 0.1
    return x


def downwards(x):
    for i in range(LONG, 0, -1):
        x = x * 0.99 + i**0.5 * 0.001
    return x


def of_a_momentum(x):
    """The first round has another kind of state than the others."""
    velocity = None
    for i in range(1, LONG):
        slope = np.cos(x)
        velocity = slope if velocity is None else 0.9 * velocity + slope
        x = x - 0.01 * velocity / (1.0 - 0.9**i)
    return x


def over_a_list(x):
    for a in TABLE:
        x = np.sin(x) * a
    return x


def over_a_list_of_arrays(x):
    for row in ROWS:
        x = np.tanh(x * row + 0.1)
    return x


def over_an_array(x):
    for row in DATA:
        x = np.tanh(x + row[0] * row[1])
    return x


def over_pairs(x):
    for i, (a, row) in enumerate(zip(TABLE, ROWS, strict=True)):
        x = np.tanh(x * a + row) + 1e-4 * i
    return x


def from_the_end(x):
    for a in reversed(TABLE):
        x = np.sin(x) * a
    return x


def in_batches(x):
    for i in range(0, LONG, 4):
        batch = DATA[i : i + 4]
        x = x - 0.1 * np.sum((batch @ x[:4]) @ batch) * x * 0.01
    return x


def with_jumps(x):
    for i in range(2 * LONG):
        if i % 3 == 1:
            continue
        x = x * 0.999 + 0.01
        if i == LONG:
            break
    else:
        x = x + 100.0
    return x


def with_a_return(x):
    for i in range(LONG):
        x = np.sin(x) + 0.1
        if i == 900:
            return x * 2.0
    return x


def that_depends_on_values(x):
    for i in range(LONG):
        x = x * 0.9 + 1.0 if np.sum(x) < 3.0 else x * 0.5
        if i == 700:
            x = x + 0.25
    return x


def in_place(x):
    y = zeros(LONG) + 0.0
    y[0] = x[0]
    for i in range(1, LONG):
        y[i] = y[i - 1] * 0.9 + x[i % 5]
    return y[:5] * np.sum(y)


def in_a_loop(x):
    for _ in range(30):
        for i in range(30):
            x = np.sin(x) + 0.001 * i
        x = x * 1.01
    return x


def counted_while(x):
    i = 0
    while i < LONG:
        x = np.sin(x) + 0.001 * i
        i += 1
    return x


def endless_while(x):
    i = 0
    while True:
        x = np.sin(x) + 0.1
        i += 1
        if i == LONG:
            break
    return x


def two_whiles(x):
    i = np.int64(0)
    while i < LONG:
        x = np.sin(x) + 0.1
        i += 1
        if i > LONG - 5:
            continue
        x = x * 1.01
    else:
        x = x + 1.0
    while i > 0:
        x = np.cos(x) * 1.1
        i -= 1
    return x


def while_in_a_for(x):
    for _ in range(LONG):
        k = 3
        while k:
            x = np.sin(x) + 0.1
            k -= 1
    return x


PROGRAMS = [
    *(descent, with_an_index, downwards, of_a_momentum, over_a_list, over_a_list_of_arrays, over_an_array, over_pairs),
    *(from_the_end, in_batches, with_jumps, with_a_return, that_depends_on_values, in_place, in_a_loop, counted_while),
    *(endless_while, two_whiles, while_in_a_for),
]
MODES = {
    "value": lambda f: f,
    "reverse": lambda f: grad(lambda x: np.sum(f(x) * np.cos(np.arange(5.0)))),
    "forward": lambda f: lambda x: jvp(f, (x,), (np.sin(np.arange(5.0)),))[1],
    "forward over reverse": lambda f: lambda x: hvp(lambda x: np.sum(f(x) * np.cos(np.arange(5.0))), (x,), (X,)),
}


def steps_of(f):
    """The number of steps of the only record."""
    (ir,) = f.ir
    return ir.count("\n")


@pytest.mark.slow_but_every(5)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", PROGRAMS)
def test_a_long_loop_is_written_down_once(f, mode):
    g = MODES[mode](f)
    h = staged(g)
    for x in (X, X, X, 0.5 * X, X[::-1].copy()):
        np.testing.assert_allclose(h(x), g(x), rtol=1e-9, atol=1e-12)
    assert steps_of(h) < FEW * (1 if mode == "value" else 4)


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("f", PROGRAMS)
def test_the_steps_by_numpy_are_right_without_native_code(f, monkeypatch):
    by_numpy(monkeypatch)
    h = staged(f)
    for x in (X, X, X, 0.5 * X):
        np.testing.assert_allclose(h(x), f(x), rtol=1e-12)
    assert steps_of(h) < FEW


@pytest.mark.parametrize("f", [with_an_index, downwards, that_depends_on_values, in_place, counted_while])
def test_the_bits_are_those_of_the_function(f):
    h = staged(f)
    for _ in range(4):
        assert np.array_equal(h(X), f(X))


@pytest.mark.skipif(machine.unfit() is not None, reason=f"{machine.unfit()}")
@pytest.mark.parametrize("f", [descent, over_a_list, over_a_list_of_arrays, over_an_array, in_batches, counted_while])
def test_a_long_loop_is_native_code(f):
    h = staged(f)
    for _ in range(3):
        h(X)
    assert "as native code:" in h.report()


def test_a_long_sum_is_a_loop():
    def f(w):
        return sum((np.sin(w * a) - i) ** 2 for i, a in enumerate(TABLE)) + sum(a * a for a in TABLE)

    h, slope = staged(f), staged(grad(f))
    for w in (0.5, 0.5, 0.5, 1.5):
        assert h(w) == f(w)
        assert slope(w) == pytest.approx(grad(f)(w), rel=1e-9)
    assert (steps_of(h) < FEW) == ADDS_ONE_BY_ONE


@custom_vjp
def root(a):
    x = a
    for _ in range(LONG):
        x = x - 0.1 * (x * x - a)
    return x


def root_backward(x, g):
    y = 0.0 * g
    for _ in range(LONG):
        y = y + 0.1 * (g - 2.0 * x * y)
    return (y,)


root.defvjp(lambda a: (root(a),) * 2, root_backward)


def along(a):
    return jvp(root, (a,), (1.5,))[1]


@pytest.mark.parametrize("f", [grad(root), along], ids=["reverse", "forward"])
def test_rules_with_long_loops(f, monkeypatch):
    """In forward mode the rule for the way back is transposed: the loop carries a direction without a value."""
    by_numpy(monkeypatch)
    h = staged(f)
    for a in (2.0, 2.0, 2.0, 1.5):
        assert h(a) == pytest.approx(f(a), rel=1e-9)
    assert steps_of(h) < FEW


def test_a_short_loop_is_recorded_round_by_round():
    def f(x):
        for i in range(100):
            x = np.sin(x) * (1.0 + 0.001 * i)
        return x

    h = staged(f)
    for _ in range(3):
        assert np.array_equal(h(X), f(X))
    assert steps_of(h) == 200


def test_a_short_loop_that_is_entered_often_is_long():
    def f(x):
        rng = np.random.default_rng(3)  # which no loop may change in the record
        for _ in range(40):
            scale = 1.0 + 0.001 * rng.normal()
            for i in range(30):
                x = np.sin(x) * scale + 0.001 * i
        return x

    h = staged(f)
    for _ in range(4):
        assert np.array_equal(h(X), f(X))
    assert steps_of(h) < 2 * long_loops.MOST_STEPS < 40 * 30 * 3


# What a written loop cannot have: then each round is recorded


def over_unlike_items(x):
    items = [1.0] * LONG
    items[650] = np.ones(5)
    for item in items:
        x = x * 0.99 + item * 0.01
    return x


def bound_late(x):
    for i in range(LONG):
        x = x * 0.99
        if i == 900:
            y = x
    return x + y


def of_shapes(x):
    for i in range(1, LONG):
        x = x * 0.99 + np.sum(np.ones(i % 3 + 1)) * x * 0.0001
    return x


def of_a_stack(x):
    todo = list(range(LONG))
    while todo:
        x = x * 0.999 + 0.001 * todo.pop()
    return x


class Countdown:
    def __init__(self, count):
        self.left = count

    def goes_on(self):
        self.left -= 1
        return self.left > 0


def of_an_object(x):
    countdown = Countdown(LONG)
    while countdown.goes_on():
        x = x * 0.999 + 0.001
    return x


def of_a_dict(x):
    for key, a in {f"{i}": a for i, a in enumerate(TABLE[:500])}.items():
        x = np.sin(x * a) + len(key)
    return x


def over_what_it_changes(x):
    items = [0.1, 0.2, 0.3]
    for a in items:
        x = x * 0.999 + a
        if len(items) < LONG:
            items.append(a + 0.001)
    return x


def of_iterators(x):
    items = iter(TABLE)
    for _ in range(LONG // 2):
        x = x * next(items) + next(items)
    return x


def of_random_numbers(x):
    rng = np.random.default_rng(3)
    for _ in range(LONG):
        x = x * 0.99 + 0.01 * rng.normal()
    return x


def of_closures(x):
    made = []
    for i in range(400):
        x = x * 0.99 + 0.001 * i
        made.append(lambda: i)  # noqa: B023 (Python's own late binding)
    return x + made[0]() + made[-1]()


def of_kinds(x):
    k = 0
    for i in range(LONG):
        x = x * 0.99 + k
        if i > 700:
            k = k + 0.5
    return x


OTHERS = [
    *(over_unlike_items, bound_late, of_shapes, of_a_stack, of_an_object, of_a_dict, over_what_it_changes),
    *(of_iterators, of_random_numbers, of_closures, of_kinds),
]


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize("f", OTHERS)
def test_other_loops_are_right(f):
    h, slope = staged(f), staged(grad(lambda x: np.sum(f(x) ** 2)))
    for x in (X, X, X, 0.5 * X):
        assert np.array_equal(h(x), f(x))
        np.testing.assert_allclose(slope(x), grad(lambda x: np.sum(f(x) ** 2))(x), rtol=1e-9)


def test_what_a_loop_gathers_is_a_list():
    def f(x):
        values = []
        for _ in range(LONG):
            value, slope = value_and_grad(lambda x: np.sum(np.cos(x)))(x)
            x = x - 0.1 * slope
            values.append(value)
        return x, values

    h = staged(f)
    for _ in range(4):
        (x, values), (x_of_f, of_f) = h(X), f(X)
        assert np.array_equal(x, x_of_f)
        assert values == of_f
        assert set(map(type, values)) == set(map(type, of_f))


def test_kinds_are_those_of_the_function():
    def f(x):
        k, even = 0, True
        for i in range(LONG):
            x = x * 0.99
            k += i
            even = not even
        return x, k, even, i

    h = staged(f)
    for _ in range(4):
        assert [(type(a), a) for a in h(0.5)] == [(type(a), a) for a in f(0.5)]


# What is plain in the program stays what it is


def int_of_a_late_round(x):
    z = 0.5
    for i in range(LONG):
        x = x * 0.99 + i
        if i == 1200:
            z = 5
    return x, z


def index_that_is_returned(x):
    for i in range(LONG):
        x = x * 0.99 + i
        if i == 1200:
            return i
    return x


def swapped(x):
    a, b = 0, 1.0
    for i in range(LONG + 1):
        x = x * 0.99 + i
        a, b = b, a
    return x, a, b


def list_of_two_types(x):
    found = [0]
    for i in range(LONG):
        x = x * 0.99
        found.append(i if i % 2 else 0.5 * i)
    return x, found


def list_that_begins_with_an_int(x):
    found = [0]
    for _ in range(LONG):
        x = x * 0.99
        found.append(x)
    return x, found


def from_the_front(x):
    found = []
    for i in range(LONG):
        x = x * 0.99 + i
        found.insert(0, x)
    return x, found[:3]


def large_integers(x):
    p, fibonacci, q = 1, 1, 1
    for i in range(LONG):
        p, q, fibonacci = p * 3, (q * 6364136223846793005 + 1) % 2**64, fibonacci + q
        x = x * 0.99 + p % 7 + q / 2**64 + i
    return x, p % 1000, q, fibonacci


EXACT = [
    *(int_of_a_late_round, index_that_is_returned, swapped, list_of_two_types, list_that_begins_with_an_int),
    *(from_the_front, large_integers),
]


def with_types(x):
    return [with_types(part) for part in x] if isinstance(x, tuple | list) else (type(x), x)


@pytest.mark.parametrize("f", EXACT)
def test_types_and_integers_are_those_of_the_program(f):
    h = staged(f)
    for _ in range(5):
        assert with_types(h(0.5)) == with_types(f(0.5))


def test_native_code_need_not_leave_integers_of_more_than_64_bits_to_numpy():
    def f(x):
        p = 1
        for _ in range(LONG):
            p = p * 3
            x = x * 0.99 + p % 7
        return x

    h = staged(f)
    for _ in range(5):
        assert h(0.5) == f(0.5)
    assert "left" not in h.report()


def test_an_argument_that_a_branch_takes_keeps_its_bits():
    def f(x, k):
        z = 0.5
        for i in range(LONG):
            x = x * 0.99 + i
            if i == 1200:
                z = k
        return x + z % 2

    h = staged(f)
    for k in (3, 3, 3, 3, 2**53 + 1, 2**53 + 2):
        assert h(1.0, k) == f(1.0, k)


@pytest.mark.skipif(machine.unfit() is not None, reason=f"{machine.unfit()}")
def test_what_has_native_code_round_by_round_alone_is_recorded_so():
    def f(x):
        a = np.arange(5.0)
        for i in range(LONG):
            a = np.roll(a, i)
            x = x * 0.99 + a[0]
        return x

    h = staged(f)
    for _ in range(4):
        assert h(0.5) == f(0.5)
    assert "as native code:" in h.report()
    assert steps_of(h) > LONG


NUMBERS = (ctypes.c_double * 3)()


def test_a_branch_that_is_never_taken_writes_nothing():
    def f(x):
        for i in range(LONG):
            x = x * 0.99 + i
            if i < 0:
                NUMBERS[0] = 1.0
            if i < -1:
                os.environ["SHIFTRESET_AD_TEST"] = "1"
        return x

    h = staged(f)
    for _ in range(4):
        assert h(0.5) == f(0.5)
    assert list(NUMBERS) == [0.0, 0.0, 0.0]
    assert "SHIFTRESET_AD_TEST" not in os.environ


def test_a_loop_without_end_in_a_branch_that_is_never_taken(monkeypatch):
    monkeypatch.setattr(long_loops, "MOST_ROUNDS_IN_A_BLOCK", 1_000)

    def f(x):
        for i in range(LONG):
            x = x * 0.99 + i
            if i < 0:
                while True:
                    pass
        return x

    h = staged(f)
    for _ in range(4):
        assert h(0.5) == f(0.5)


def test_warnings_that_the_program_suppresses():
    def f(x):
        for i in range(LONG):
            with np.errstate(all="ignore"):
                x = x * 0.99 + np.float64(1.0) / (i - 650)
        return x

    h = staged(f)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(4):
            assert h(0.5) == f(0.5)
    assert not caught


@pytest.mark.filterwarnings("ignore:staged.*which others see")
def test_effects_are_as_often_as_without_staging():
    seen = []

    def f(x):
        for i in range(LONG):
            x = x * 0.99
            if i == 800:
                seen.append(i)
        return x

    h = staged(f)
    for calls in range(1, 5):
        assert h(0.5) == pytest.approx(0.5 * 0.99**LONG)
        assert len(seen) == calls


def test_an_error_of_a_late_round_is_raised_each_time():
    def f(x):
        for i in range(1_000):
            x = x * 1.01
            if i > 800 and x > 3000.0:
                raise ValueError(f"too large in round {i}")
        return x

    h = staged(f)
    for x in (0.1, 0.1, 0.1, 0.5, 0.1, 0.5):
        if x == 0.1:
            assert h(x) == f(x)
            continue
        with pytest.raises(ValueError, match="too large in round 874"):
            h(x)


def test_what_the_loop_goes_over_is_compared():
    items = [0.5] * LONG

    def f(x):
        for a in items:
            x = np.sin(x) * a + 0.5
        return x

    h = staged(f)
    for i in (0, 0, 0, 700, 999):
        items[i] = items[i] * 0.9
        assert h(0.5) == f(0.5)
    items.append(2.0)
    assert h(0.5) == f(0.5)


def test_the_first_steps_tell_how_long_a_loop_is(monkeypatch):
    """A loop whose rounds become longer is written down when the rest has become too long."""
    monkeypatch.setattr(forms, "PATIENCE", 20)
    monkeypatch.setattr(long_loops, "MOST_STEPS", 60)

    def f(x):
        for i in range(20):
            for _ in range(i):
                x = np.sin(x)
        return x

    h = staged(f)
    for _ in range(3):
        assert np.array_equal(h(X), f(X))
    assert steps_of(h) < 100
