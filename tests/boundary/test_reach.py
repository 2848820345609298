"""What functions read elsewhere: each change of it by the program is seen, and no other."""

from __future__ import annotations

import sys
from array import array
from collections import defaultdict, deque
from collections.abc import Callable
from functools import cached_property, lru_cache, partial, wraps
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from shiftreset_ad import ControlError, custom_vjp
from shiftreset_ad.boundary.contents import KNOWN, ReadContents
from shiftreset_ad.boundary.reach import Reach

module = ModuleType("settings_of_the_user")
Change = Callable[[], Any]


class Layer:
    scale = 1.0
    weights = np.ones(2)

    def __init__(self) -> None:
        self.array = np.ones(2)
        self.number = 1.0
        self.list = [1.0]
        self.nested = [np.ones(2)]

    def __call__(self) -> Any:
        return self.array

    def __getitem__(self, i: int) -> Any:
        return self.array[i]

    def __add__(self, other: Any) -> Any:
        return self.number + other

    def method(self) -> Any:
        return self.array

    @property
    def doubled(self) -> Any:
        return 2.0 * self.number

    @cached_property
    def cached(self) -> Any:
        return self.number

    @classmethod
    def of_class(cls) -> Any:
        return cls.scale

    @staticmethod
    def static() -> Any:
        return g.number


class Slotted:
    __slots__ = ("array", "empty", "number")

    def __init__(self) -> None:
        self.array = np.ones(2)
        self.number = 1.0


class Point(NamedTuple):
    x: Any
    y: Any


class Globals:
    """The global variables of this module that tests change, as they are at first."""

    def __init__(self) -> None:
        self.ARRAY = np.ones(2)
        self.NUMBER = 1.0
        self.LIST = [1.0, 2.0]
        self.ARRAYS = [np.ones(2)]
        self.TABLE = {"a": np.ones(2), "b": 1.0}
        self.DEFAULTS = defaultdict(float, b=1.0)
        self.LINE = deque([1.0])
        self.SET = {1.0}
        self.PAIR = (np.ones(2), 1.0)
        self.POINT = Point(np.ones(2), 1.0)
        self.RECORDS = np.ones(2, dtype=[("a", float)])
        self.MIXED = np.ones(2, dtype=[("a", float), ("b", np.int32)])
        self.WORDS = np.array(["one", "two"])
        self.OBJECTS = np.empty(2, dtype=object)
        self.OBJECTS[:] = [[1.0], [2.0]]
        self.COMPLEX = np.ones(2, complex)
        self.BUFFER = array("d", [1.0])
        self.BYTES = bytearray(b"\1")
        self.VIEW = memoryview(bytearray(b"\1"))
        self.g = Layer()
        self.slotted = Slotted()
        self.layers = [Layer()]


ARRAY: Any = None
NUMBER: Any = None
LIST: Any = None
ARRAYS: Any = None
TABLE: Any = None
DEFAULTS: Any = None
LINE: Any = None
SET: Any = None
PAIR: Any = None
POINT: Any = None
RECORDS: Any = None
MIXED: Any = None
WORDS: Any = None
OBJECTS: Any = None
COMPLEX: Any = None
BUFFER: Any = None
BYTES: Any = None
VIEW: Any = None
g: Any = None
slotted: Any = None
layers: Any = None


@pytest.fixture(autouse=True)
def fresh_globals() -> None:
    globals().update(vars(Globals()))
    globals().update(helper=helper_of_the_array, closing=closing_over(np.ones(2)))
    module.NUMBER, module.ARRAY = 1.0, np.ones(2)
    sys.modules[module.__name__] = module
    Layer.scale, Layer.weights = 1.0, np.ones(2)


def helper_of_the_array() -> Any:
    return ARRAY


helper: Any = helper_of_the_array


def closing_over(held: Any) -> Callable[[], Any]:
    return lambda: held


closing: Any = None


@wraps(helper_of_the_array)
def wrapped() -> Any:
    return helper_of_the_array()


@lru_cache
def remembering() -> Any:
    return NUMBER


@custom_vjp
def ruled() -> Any:
    return NUMBER


applied = partial(helper_of_the_array)


def importing() -> Any:
    import settings_of_the_user  # type: ignore[import-not-found]

    return settings_of_the_user.NUMBER


def matching() -> Any:
    match g:
        case Layer(number=number):
            return number


def set_global(**values: Any) -> Change:
    return lambda: globals().update(values)


def fill(x: Callable[[], Any]) -> Change:
    def change() -> None:
        x()[...] = 5.0

    return change


def put(x: Callable[[], Any], key: Any, value: Any) -> Change:
    return lambda: x().__setitem__(key, value)


def assign(x: Callable[[], Any], name: str, value: Any) -> Change:
    return lambda: setattr(x(), name, value)


FIVES = np.full(2, 5.0)
CHANGES: dict[str, tuple[Callable[[], Any], Change, str]] = {
    "an array": (lambda: ARRAY, fill(lambda: ARRAY), "the array 'ARRAY'"),
    "an array, by a view": (lambda: ARRAY, fill(lambda: ARRAY[1:]), "the array 'ARRAY'"),
    "another array": (lambda: ARRAY, set_global(ARRAY=FIVES), "the global variable 'ARRAY'"),
    "records": (lambda: RECORDS["a"], fill(lambda: RECORDS["a"]), "the array 'RECORDS'"),
    "records of several types": (lambda: MIXED["a"], fill(lambda: MIXED["a"]), "the array 'MIXED'"),
    "an array of words": (lambda: len(WORDS[0]), put(lambda: WORDS, 0, "a"), "the array 'WORDS'"),
    "complex numbers": (lambda: COMPLEX, fill(lambda: COMPLEX), "the array 'COMPLEX'"),
    "an array of objects": (lambda: OBJECTS[0], put(lambda: OBJECTS, 0, (5.0,)), "the array 'OBJECTS'"),
    "a list in an array": (lambda: OBJECTS[0][0], put(lambda: OBJECTS[0], 0, 5.0), "the list 'OBJECTS'"),
    "array.array": (lambda: BUFFER[0], put(lambda: BUFFER, 0, 5.0), "the array 'BUFFER'"),
    "bytearray": (lambda: BYTES[0], put(lambda: BYTES, 0, 5), "the array 'BYTES'"),
    "memoryview": (lambda: VIEW[0], put(lambda: VIEW, 0, 5), "the array 'VIEW'"),
    "a number": (lambda: NUMBER, set_global(NUMBER=5.0), "the global variable 'NUMBER'"),
    "the sign of a zero": (lambda: NUMBER, set_global(NUMBER=True), "the global variable 'NUMBER'"),
    "a list": (lambda: LIST[0], put(lambda: LIST, 0, 5.0), "the list 'LIST'"),
    "another list": (lambda: LIST[0], set_global(LIST=[5.0]), "the global variable 'LIST'"),
    "a shorter list": (lambda: LIST[-1], lambda: LIST.pop(), "the list 'LIST'"),
    "an array in a list": (lambda: ARRAYS[0], fill(lambda: ARRAYS[0]), "the array 'ARRAYS'"),
    "another array in a list": (lambda: ARRAYS[0], put(lambda: ARRAYS, 0, FIVES), "the list 'ARRAYS'"),
    "an array in a dict": (lambda: TABLE["a"], fill(lambda: TABLE["a"]), "the array 'TABLE'"),
    "an entry": (lambda: TABLE["b"], put(lambda: TABLE, "b", 5.0), "the dict 'TABLE'"),
    "an entry with a default": (lambda: DEFAULTS["b"], put(lambda: DEFAULTS, "b", 5.0), "the dict 'DEFAULTS'"),
    "a deque": (lambda: LINE[0], put(lambda: LINE, 0, 5.0), "the list 'LINE'"),
    "a set": (lambda: max(SET), lambda: SET.add(5.0), "the set 'SET'"),
    "an array in a tuple": (lambda: PAIR[0], fill(lambda: PAIR[0]), "the array 'PAIR'"),
    "an array in a named tuple": (lambda: POINT.x, fill(lambda: POINT.x), "the array 'POINT'"),
    "an attribute": (lambda: g.number, assign(lambda: g, "number", 5.0), "the attribute 'number' of 'g'"),
    "by name": (lambda: getattr(g, "number"), assign(lambda: g, "number", 5.0), "'number' of 'g'"),  # noqa: B009
    "by pattern": (matching, assign(lambda: g, "number", 5.0), "'number' of 'g'"),
    "by name of a variable": (lambda: globals()["NUMBER"], set_global(NUMBER=5.0), "'NUMBER'"),
    "an array in an attribute": (lambda: g.array, fill(lambda: g.array), "the array 'array' of 'g'"),
    "a list in an attribute": (lambda: g.list[0], put(lambda: g.list, 0, 5.0), "the list 'list' of 'g'"),
    "an array in a list in an attribute": (lambda: g.nested[0], fill(lambda: g.nested[0]), "'nested' of 'g'"),
    "an object in a list": (lambda: layers[0].array, fill(lambda: layers[0].array), "'array' of 'layers'"),
    "another object": (lambda: g.array, set_global(g=Layer()), "the global variable 'g'"),
    "a method": (lambda: g.method(), fill(lambda: g.array), "the array 'array' of 'g'"),
    "a call": (lambda: g(), fill(lambda: g.array), "the array 'array' of 'g'"),
    "an item": (lambda: g[0], fill(lambda: g.array), "the array 'array' of 'g'"),
    "an operator": (lambda: g + 1.0, assign(lambda: g, "number", 5.0), "'number' of 'g'"),
    "a property": (lambda: g.doubled, assign(lambda: g, "number", 5.0), "'number' of 'g'"),
    "a cached property": (lambda: g.cached, assign(lambda: g, "number", 5.0), "'number' of 'g'"),
    "a class method": (lambda: g.of_class(), assign(lambda: Layer, "scale", 5.0), "'scale' of 'Layer'"),
    "a static method": (lambda: Layer.static(), assign(lambda: g, "number", 5.0), "'number' of 'g'"),
    "an attribute of the class": (lambda: g.scale, assign(lambda: Layer, "scale", 5.0), "'scale' of 'Layer'"),
    "in place of the class's": (lambda: g.scale, assign(lambda: g, "scale", 5.0), "'scale' of 'g'"),
    "an array of the class": (lambda: Layer.weights, fill(lambda: Layer.weights), "'weights' of 'Layer'"),
    "another method": (lambda: g.method(), assign(lambda: Layer, "method", lambda self: 5.0), "'method' of 'Layer'"),
    "a slot": (lambda: slotted.number, assign(lambda: slotted, "number", 5.0), "'number' of 'slotted'"),
    "an array in a slot": (lambda: slotted.array, fill(lambda: slotted.array), "'array' of 'slotted'"),
    "a module": (lambda: module.NUMBER, assign(lambda: module, "NUMBER", 5.0), "'NUMBER' of 'module'"),
    "an array of a module": (lambda: module.ARRAY, fill(lambda: module.ARRAY), "the array 'ARRAY' of 'module'"),
    "a module that is imported": (importing, assign(lambda: module, "NUMBER", 5.0), "'NUMBER'"),
    "a function": (lambda: helper(), fill(lambda: ARRAY), "the array 'ARRAY'"),
    "another function": (lambda: helper(), set_global(helper=lambda: 5.0), "the global variable 'helper'"),
    "a function in a function": (lambda: (lambda: helper())(), fill(lambda: ARRAY), "the array 'ARRAY'"),
    "what a function closes over": (lambda: closing(), fill(lambda: closing()), "the array 'held'"),
    "a wrapped function": (lambda: wrapped(), fill(lambda: ARRAY), "the array 'ARRAY'"),
    "a function that remembers": (lambda: remembering(), set_global(NUMBER=5.0), "'NUMBER'"),
    "a function with rules": (lambda: ruled(), set_global(NUMBER=5.0), "'NUMBER'"),
    "a partial function": (lambda: applied(), fill(lambda: ARRAY), "the array 'ARRAY'"),
    "a comprehension": (lambda: [NUMBER for _ in range(2)], set_global(NUMBER=5.0), "'NUMBER'"),
}


def watch_of(read: Callable[[], Any]) -> ReadContents:
    return ReadContents(Reach([read]).contents(), "it reads", "meanwhile")  # type: ignore[list-item]


@pytest.mark.parametrize("name", CHANGES)
def test_what_the_program_changes_is_seen(name: str) -> None:
    read, change, what = CHANGES[name]
    watch = watch_of(read)
    watch.run(read)
    watch.run(read)
    change()
    for _ in range(2):
        with pytest.raises(ControlError, match=f"it reads .*{what}.*, which the program has changed meanwhile"):
            watch.run(read)
    later = watch_of(read)
    later.run(read)
    later.run(read)


@pytest.mark.parametrize("name", CHANGES)
def test_what_the_function_changes_itself_is_its_own(name: str) -> None:
    read, change, _ = CHANGES[name]
    watch = watch_of(read)
    watch.run(change)
    watch.run(read)


def other() -> None:
    ARRAY.shape  # noqa: B018


def number() -> Any:
    return NUMBER


@pytest.mark.parametrize(
    ("read", "change"),
    [
        pytest.param(number, fill(lambda: ARRAY), id="another variable"),
        pytest.param(other, set_global(NUMBER=5.0, shape=3), id="a variable with the name of an attribute"),
        pytest.param(lambda: g.number, assign(lambda: g, "list", [5.0]), id="another attribute"),
        pytest.param(lambda: LIST[0], lambda: LIST.append(5.0), id="a longer list"),
        pytest.param(lambda: TABLE["a"], put(lambda: TABLE, "new", 5.0), id="a new entry"),
        pytest.param(lambda: ARRAY, fill(lambda: np.copy(ARRAY)), id="a copy"),
        pytest.param(number, set_global(NUMBER=float("1.0")), id="an equal number"),
        pytest.param(lambda: np.sin(1.0), assign(lambda: np, "added_by_a_test", 5.0), id="an installed module"),
    ],
)
def test_what_it_does_not_read_does_not_matter(read: Callable[[], Any], change: Change) -> None:
    watch = watch_of(read)
    watch.run(read)
    change()
    watch.run(read)
    vars(np).pop("added_by_a_test", None)
    globals().pop("shape", None)


def test_arrays_that_cannot_be_written_to_are_not_copied() -> None:
    ARRAY.flags.writeable = False
    assert [x.described for x in Reach([lambda: ARRAY]).contents()] == ["the global variable {}"]  # type: ignore[list-item]


def test_contents_are_known_as_long_as_somebody_watches() -> None:
    def read() -> Any:
        return ARRAY, LIST

    first = Reach([read]).contents()
    assert {id(x) for x in Reach([read]).contents()} == {id(x) for x in first}
    count = len(KNOWN)
    del first
    assert len(KNOWN) == count - 3


def test_a_list_that_holds_itself() -> None:
    LIST.append(LIST)
    watch = watch_of(lambda: LIST)
    watch.run(lambda: None)
    LIST[0] = 5.0
    with pytest.raises(ControlError, match="the list 'LIST'"):
        watch.run(lambda: None)
