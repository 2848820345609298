"""The guards of a program with written control: what its blocks read, on any path, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from tests.staging.in_turns import stays_staged


class Item:
    def __init__(self) -> None:
        self.k = 1.0


class Scaling:
    """An object that is called, and whose class is the user's."""

    def __init__(self) -> None:
        self.k = 1.0

    def __call__(self, x):
        if x > 100.0:
            return x * self.k
        return x


TABLE = {"a": 1.0}
FIRST, SECOND = np.array([1.0, 2.0]), np.array([3.0, 4.0])
ARRAYS = [np.array([1.0]), np.array([2.0])]
PAIRS = [(Item(), 1.0), (Item(), 2.0)]
SCALING = Scaling()
LOW, HIGH = (5.0,), (2000.0,)


@pytest.fixture(autouse=True)
def _as_before():
    TABLE["a"] = 1.0


def scaled_by_a_default(x, k=TABLE):
    if x > 1000.0:
        return x * k["a"]
    return x


def in_a_branch(x):
    if x > 100.0:
        x = x * TABLE["a"]
    return x


def in_a_loop(x):
    while x < 10.0:
        x = x * 2.0 + TABLE["a"]
    return x


def bound_in_a_branch(x):
    w = FIRST
    if x > 100.0:
        w = SECOND
    return np.sum(x * w)


def carried(x):
    w = FIRST
    while x < 10.0:
        x, w = x + w[0], w + SECOND
    return x


def gone_over(x):
    for w in ARRAYS:
        if x > 1.0:
            x = x + w[0]
    return x


def unpacked(x):
    for item, w in PAIRS:
        if x > 1.0:
            x = x + w * item.k
    return x


def called(x):
    if x > 3.0:
        x = scaled_by_a_default(x) + 1.0
    return x


def called_object(x):
    if x > 2.0:
        x = x + 1.0
    return SCALING(x)


def differentiated(x):
    def square(y):
        if y > 100.0:
            return y * y * TABLE["a"]
        return y * y

    return grad(square)(x)


def chosen(x):
    return x * (TABLE["a"] if x > 100.0 else 2.0)


def both(x):
    return x if x > 100.0 and TABLE["a"] < 2.0 else -x


def calling_itself(x, n=5.0):
    if n <= 0.0:
        return x * TABLE["a"]
    return np.sin(calling_itself(x + TABLE["a"], n - 1.0)) * scaled_by_a_default(x)


def handed_down(x, w=FIRST):
    """Arrays from outside are arguments of the calls inside, and an answer."""
    if x < 1.0:
        return FIRST
    return handed_down(x * 0.5, SECOND) * w


def calling_itself_under_a_test(x):
    return calling_itself(x) if x > 100.0 else x


def handed_down_under_a_test(x):
    return handed_down(x) if x > 100.0 else np.ones(2) * x


def more_rounds():
    calling_itself.__defaults__ = (calling_itself.__defaults__[0] + 1.0,)


def table():
    TABLE["a"] += 4.0


def arrays():
    for array in (FIRST, SECOND, *ARRAYS):
        array += 1.0


@pytest.mark.parametrize(
    ("f", "change"),
    [
        (in_a_branch, table),
        (calling_itself, table),
        (calling_itself, lambda: setattr(scaled_by_a_default, "__defaults__", ({"a": TABLE["a"] + 2.0},))),
        (handed_down, arrays),
        (calling_itself_under_a_test, table),
        (calling_itself_under_a_test, more_rounds),
        (handed_down_under_a_test, lambda: SECOND.__iadd__(1.0)),
        (grad(calling_itself), table),
        (in_a_loop, table),
        (bound_in_a_branch, arrays),
        (carried, arrays),
        (gone_over, arrays),
        (unpacked, lambda: setattr(PAIRS[1][0], "k", PAIRS[1][0].k + 1.0)),
        (called, table),
        (called, lambda: setattr(scaled_by_a_default, "__defaults__", ({"a": TABLE["a"] + 2.0},))),
        (called_object, lambda: setattr(SCALING, "k", SCALING.k + 1.0)),
        (called_object, lambda: setattr(Scaling, "__call__", lambda self, x, k=TABLE["a"]: x * k)),
        (differentiated, table),
        (grad(in_a_branch), table),
        (grad(grad(in_a_loop)), table),
        (chosen, table),
        (both, table),
    ],
)  # fmt: skip
def test_what_a_block_reads_is_compared(f, change):
    """Also where only a path that was not taken has read it."""
    stays_staged(f, LOW, LOW, LOW, change, HIGH, LOW, change, LOW, HIGH, ways=1)


def places(f, *calls):
    """How many things a call compares, and the bytes of them, once the function is staged."""
    g = staged(f)
    for args in [*calls, *calls, *calls]:
        assert g(*args) == f(*args)
    (way,), (signature,) = [way for s in g._calls._signatures.values() for way in s.ways], g._calls._signatures.values()
    assert way.has_control
    guards = signature.guards
    counts = {name: len(known) for name, known in vars(guards).items()}
    parts = sum(len(parts) for _, parts, _ in [*guards._parts.values(), *guards._dicts.values()])
    return counts, parts, sum(array.nbytes for array, _, _ in guards._arrays.values())


def program(objects, numbers, array):
    def f(x):
        while x < 10.0:
            x = x * 2.0 + objects[1].k
        if x > 100.0:
            x = x + numbers[7] * array[1]
        return x

    return f


def test_a_program_with_control_compares_what_it_reads_of_much():
    objects, numbers, array = [Item() for _ in range(4000)], {i: float(i) for i in range(30_000)}, np.ones(1_000_000)
    little = places(program(objects[:2], {7: 7.0}, np.ones(2)), LOW, HIGH)
    assert places(program(objects, numbers, array), LOW, HIGH) == little


def test_what_a_program_with_control_does_not_read_may_change():
    objects = [Item() for _ in range(10)]
    f = program(objects, {7: 7.0}, np.ones(2))
    stays_staged(f, *[LOW, HIGH, lambda: setattr(objects[0], "k", objects[0].k + 1.0)] * 4, ways=1)
