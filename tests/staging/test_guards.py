"""Guards see each change of what they guard, in whatever way they compare."""

from functools import partial

import pytest

from shiftreset_ad.staging.seen import guards
from shiftreset_ad.staging.seen.at_once import in_c
from shiftreset_ad.staging.seen.guards import Guards
from shiftreset_ad.staging.seen.parts import contents_of_slots


def outer(is_filled=False):
    x = 1.5
    if is_filled:
        empty = None

    def f(y=2.0, *, z=3.0):
        return x, empty, y, z

    return f


def guards_on(f, entries):
    found = Guards()
    for cell, name in zip(f.__closure__, f.__code__.co_freevars, strict=True):
        found.cell(cell, name)
    for key in (*entries, "missing"):
        found.entry(entries, key, key)
    found.function(f)
    return found


def other_cell(f, entries):
    f.__closure__[f.__code__.co_freevars.index("x")].cell_contents = 2.5


def no_empty_cell(f, entries):
    f.__closure__[f.__code__.co_freevars.index("empty")].cell_contents = 2.5


def other_entry(f, entries):
    entries["a"] = [1]


def no_entry(f, entries):
    del entries["b"]


def new_entry(f, entries):
    entries["missing"] = 1


def other_defaults(f, entries):
    f.__defaults__ = (2.5,)


def other_keywords(f, entries):
    f.__kwdefaults__ = {"z": 3.5}


def written_keywords(f, entries):
    f.__kwdefaults__["z"] = 3.5


def other_code(f, entries):
    f.__code__ = outer().__code__.replace(co_name="g")


CHANGES = {
    other_cell: "x",
    no_empty_cell: "empty",
    other_entry: "a",
    no_entry: "b",
    new_entry: "missing",
    other_defaults: "f",
    other_keywords: "f",
    written_keywords: "f",
    other_code: "f",
}


@pytest.mark.parametrize("most", [0, 100])
@pytest.mark.parametrize("change", CHANGES)
def test_each_change_is_seen(change, most, monkeypatch):
    monkeypatch.setattr(guards, "MANY", most)  # with none at once, places are looked at one after another
    f, entries = outer(), {"a": [], "b": 1.5}
    found = guards_on(f, entries)
    changed = found.comparison()
    assert changed() is found.changed() is None
    change(f, entries)
    assert changed() == found.changed() == CHANGES[change]


@pytest.mark.parametrize("most", [0, 100])
def test_an_equal_float_is_no_change_and_another_zero_is_one(most, monkeypatch):
    monkeypatch.setattr(guards, "MANY", most)
    entries = {"a": 0.0, "b": [1]}
    found = Guards()
    found.entry(entries, "a", "a")
    changed = found.comparison()
    entries["a"] = float("0.0")
    assert changed() is None
    entries["a"] = -0.0
    assert changed() == "a"
    entries["a"] = float("nan")
    found.entry(entries, "a", "a")
    changed = found.comparison()
    entries["a"] = float("nan")
    assert changed() is None
    entries["a"] = -float("nan")
    assert changed() == "a"
    entries["a"] = 0.0
    found.entry(entries, "a", "a")
    found.contents(entries["b"], "b")
    entries["a"] = 0.0
    changed = found.comparison()
    assert changed() is None
    entries["b"].append(2)
    assert changed() == "b"


def test_no_guards_see_nothing():
    assert Guards().comparison()() is None


class Slotted:
    __slots__ = ("x",)


class Shadowed(Slotted):
    __slots__ = ()
    x = property(lambda self: 2.0)


def test_a_slot_that_a_class_hides_is_not_compared_in_c():
    for x, is_found in ((Slotted(), True), (Shadowed(), False)):
        Slotted.x.__set__(x, 1.0)
        found = in_c(partial(contents_of_slots, x, [Slotted.x]), [1.0])
        assert found == (("slots", [(x, "x", 1.0)]) if is_found else None)
