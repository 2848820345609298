"""A gate answers a call by native code if nothing is in the way, and has the function of Python's called otherwise."""

import collections
import contextlib
import copy
import gc
import inspect
import itertools
import pickle
import signal
import sys
import threading
import weakref
from types import ModuleType

import greenlet
import numpy as np
import optree
import pytest

import shiftreset_ad as sr
from shiftreset_ad import grad, jvp, staged, vmap
from shiftreset_ad.boundary import trees
from shiftreset_ad.staging import shortcuts
from shiftreset_ad.staging.native import gate
from shiftreset_ad.staging.seen.keys import is_dead
from shiftreset_ad.staging.shortcuts import MOST_ARRAYS, MOST_GATES
from tests.staging.in_threads import require_same_in_threads
from tests.staging.native.natively import has_gate, is_passed, needs_native, settled

pytestmark = needs_native
X, Y = np.linspace(0.1, 1.0, 5), np.linspace(-1.0, 1.0, 5)
factor = 2.0


# What the function sees


def square(x):
    return x * x


class Scale:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return self.by * x


class Twice(Scale):
    def __call__(self, x):
        return 2.0 * self.by * x


class Point:
    __slots__ = ("by", "to")

    def __init__(self, by):
        self.by = by


class Base:
    def of(self, x):
        return 2.0 * x


class Scaled:
    """An object without a place for weak references."""

    __slots__ = ("by",)

    def __init__(self, by):
        self.by = by

    def of(self, x):
        return self.by * x


def changes():
    """Functions of a number, with a change of what they see, and the value of 3.0 after it."""
    by = 2.0

    def closing(x):
        return by * x

    def put_in_cell():
        nonlocal by
        by = 3.0

    def remove_cell():
        nonlocal by
        del by

    def globally(x):
        return factor * x

    def in_functions(x):
        return square(x) * helper(x)

    def helper(x, by=2.0, *, more=1.0):
        return by * x * more

    signed = np.zeros(())
    table, empty, options = {"by": 2.0, 7: 3.0}, {}, {}

    def in_a_dict(x):
        return table["by"] * x + table[7] + empty.get("more", 0.0)

    point, points, coefficients, sizes = Point(2.0), [Point(2.0), Point(3.0)], [2.0, 3.0], {"a": 2.0, "b": 3.0}
    module, shaped = ModuleType("a_module_of_the_users"), np.zeros((2, 3))
    module.by = 2.0
    shaped.setflags(write=False)  # so that its elements need not be compared

    def polynomial(x):
        return x * sum(c for c in coefficients)

    def by_the_module(x):
        return module.by * x * len(vars(module)) / len(vars(module))

    scale, items, data, rows = Scale(2.0), [2.0, 3.0], np.array([[2.0, 3.0, 4.0]]), np.array([0.0, 1.0, 2.0])

    def of_an_array(x):
        return float(data.sum()) * x + data.shape[0]

    def in_place(array, **attributes):
        for name, value in attributes.items():
            setattr(array, name, value)

    class Child(Base):
        pass

    class Parent(Base):
        def of(self, x):
            return x

    child = Child()

    return {
        "a variable that is closed over": (closing, put_in_cell, 9.0),
        "a variable without a value": (closing, remove_cell, NameError),
        "a global": (globally, lambda: globals().update(factor=3.0), 9.0),
        "a global that is gone": (globally, lambda: globals().pop("factor"), NameError),
        "a function that is replaced": (in_functions, lambda: globals().update(square=lambda x: x), 18.0),
        "the code of a function": (in_functions, lambda: setattr(square, "__code__", (lambda x: x).__code__), 18.0),
        "its defaults": (in_functions, lambda: setattr(helper, "__defaults__", (1.0,)), 27.0),
        "its defaults of keywords": (in_functions, lambda: setattr(helper, "__kwdefaults__", {"more": 2.0}), 108.0),
        "no defaults": (in_functions, lambda: setattr(helper, "__defaults__", None), TypeError),
        "an entry": (in_a_dict, lambda: table.update(by=1.0), 6.0),
        "an entry under a number": (in_a_dict, lambda: table.update({7: 1.0}), 7.0),
        "an entry that is gone": (in_a_dict, lambda: table.pop("by"), KeyError),
        "an entry that was not there": (in_a_dict, lambda: empty.update(more=1.0), 10.0),
        "an empty dictionary": (lambda x: x + sum(options.values()), lambda: options.update(by=1.0), 4.0),
        "an attribute": (lambda x: scale(x), lambda: setattr(scale, "by", 3.0), 9.0),
        "another dictionary": (lambda x: scale(x), lambda: setattr(scale, "__dict__", {"by": 3.0}), 9.0),
        "another class": (lambda x: scale(x), lambda: setattr(scale, "__class__", Twice), 12.0),
        "another class to inherit from": (lambda x: child.of(x), lambda: setattr(Child, "__bases__", (Parent,)), 3.0),
        "an element": (lambda x: items[0] * x + items[1], lambda: items.__setitem__(0, 1.0), 6.0),
        "a shorter list": (lambda x: items[0] * x + items[1], items.pop, IndexError),
        "no list": (lambda x: items[0] * x + items[1], items.clear, IndexError),
        "an element of an array": (of_an_array, lambda: data.__setitem__((0, 1), 4.0), 31.0),
        "a zero with another sign": (lambda x: np.copysign(x, signed), lambda: np.negative(signed, signed), -3.0),
        "another shape of an array": (of_an_array, lambda: in_place(data, shape=(3, 1)), 30.0),
        "a shorter array": (lambda x: x * rows.sum(), lambda: rows.resize(2, refcheck=False), 3.0),
        "another dtype of an array": (of_an_array, lambda: in_place(data, dtype=np.int64), None),
        "an item of a list": (polynomial, lambda: coefficients.__setitem__(1, 1.0), 9.0),
        "an item more": (polynomial, lambda: coefficients.append(1.0), 18.0),
        "an item less": (polynomial, lambda: coefficients.pop(), 6.0),
        "a value of a dictionary": (lambda x: x * sum(sizes.values()), lambda: sizes.update(a=1.0), 12.0),
        "an entry more": (lambda x: x * sum(sizes.values()), lambda: sizes.update(c=1.0), 18.0),
        "an entry less": (lambda x: x * sum(sizes.values()), lambda: sizes.pop("a"), 9.0),
        "another key": (lambda x: x * ("a" in [*sizes]), lambda: (sizes.pop("a"), sizes.update(c=2.0)), 0.0),
        "another order": (
            lambda x: x - next(iter(sizes.values())),
            lambda: sizes.update(a=sizes.pop("a")),
            0.0,
        ),
        "a slot": (lambda x: point.by * x, lambda: setattr(point, "by", 3.0), 9.0),
        "an empty slot": (lambda x: point.by * x, lambda: delattr(point, "by"), AttributeError),
        "a slot that was empty": (lambda x: getattr(point, "to", 2.0) * x, lambda: setattr(point, "to", 3.0), 9.0),
        "a slot of an object in a list": (
            lambda x: x * sum(p.by for p in points),
            lambda: setattr(points[1], "by", 1.0),
            9.0,
        ),
        "a list that has become empty": (lambda x: 2.0 * x if points else x, points.clear, 3.0),
        "a dictionary that has become empty": (lambda x: 2.0 * x if sizes else x, sizes.clear, 3.0),
        "a length": (lambda x: x * len(shaped), lambda: in_place(shaped, shape=(3, 2)), 9.0),
        "fewer axes": (lambda x: x * shaped.ndim, lambda: in_place(shaped, shape=(6,)), 3.0),
        "a type": (lambda x: x * shaped.dtype.itemsize, lambda: in_place(shaped, dtype=np.float32), 12.0),
        "a name of a module": (by_the_module, lambda: setattr(module, "by", 3.0), 9.0),
        "a name more": (by_the_module, lambda: setattr(module, "more", 3.0), 6.0),
        "an attribute of the class": (lambda x: scale(x), lambda: setattr(Scale, "__call__", lambda _, x: x), 3.0),
    }


@pytest.fixture
def restored():
    """What the changes change is as it was afterwards."""
    of_module, of_class, code = dict(globals()), Scale.__call__, square.__code__
    yield
    globals().update(of_module)
    Scale.__call__, square.__code__ = of_class, code


@pytest.mark.filterwarnings("ignore:Setting the .* on a NumPy array:DeprecationWarning")
@pytest.mark.parametrize("name", changes())
def test_a_change_of_what_the_function_sees_is_seen(name, restored):
    f, change, expected = changes()[name]
    compiled = settled(f, 3.0)
    assert is_passed(compiled, 3.0)
    change()
    for _ in range(5):
        if expected is None or isinstance(expected, float):
            assert compiled(3.0) == f(3.0) == (f(3.0) if expected is None else expected)
        else:
            with pytest.raises(expected):
                compiled(3.0)


@pytest.mark.parametrize("name", changes())
def test_what_the_function_sees_is_compared_in_c(name, restored):
    f, _, _ = changes()[name]
    assert settled(f, 3.0).__call__.__self__.seen.others is None


def test_a_value_that_nobody_can_tell_apart_is_no_change(restored):
    compiled = settled(lambda x: factor * x, 3.0)
    globals()["factor"] = float("2")
    assert is_passed(compiled, 3.0)
    globals()["factor"] = -0.0
    assert str(compiled(0.0)) == "-0.0"


def test_an_error_of_a_comparison_goes_to_the_caller():
    class Key(str):
        __slots__ = ()

        def __eq__(self, other):
            raise RuntimeError("compared")

        __hash__ = str.__hash__

    table = {}
    compiled = settled(lambda x: table.get("by", 2.0) * x, 3.0)
    table[Key("by")] = 1.0
    for _ in range(2):
        with pytest.raises(RuntimeError, match="compared"):
            compiled(3.0)


# Where the call is


def test_a_call_inside_a_derivative_is_that_of_the_function():
    f = settled(lambda x: x * x, 3.0)
    assert grad(lambda x: x * f(3.0) + f(x))(2.0) == 9.0 + 4.0
    assert jvp(lambda x: x * f(3.0) + f(x), (2.0,), (1.0,)) == (22.0, 13.0)
    np.testing.assert_array_equal(vmap(lambda x: x * f(3.0))(X), X * 9.0)
    assert has_gate(f)


@pytest.mark.parametrize(
    "operator", [grad, lambda f: lambda x: jvp(f, (x,), (1.0,)), lambda f: lambda x: sr.taylor(f, x, 2)]
)
def test_no_gate_answers_inside_a_derivative(operator):
    f, passed = settled(lambda x: x * x, 3.0), []

    def g(x):
        passed.append(is_passed(f, 3.0))
        return x * x

    operator(g)(2.0)
    assert passed == [False]
    with sr.debug():
        assert not is_passed(f, 3.0)
    assert is_passed(f, 3.0)


def test_what_a_staged_function_sees_is_seen_by_the_function_that_is_recorded(restored):
    f = settled(lambda x: factor * x, 2.0)
    g = staged(lambda x: x + f(2.0))
    assert [g(1.0) for _ in range(4)] == [5.0] * 4
    globals()["factor"] = 3.0
    assert [g(1.0) for _ in range(4)] == [7.0] * 4


def test_a_call_beside_a_derivative_in_another_thread_passes_no_number_on():
    """The other thread is inside forward mode and inside reverse mode."""
    f, found = settled(lambda x: x * x, 3.0), []

    def in_another_thread(x):
        thread = threading.Thread(target=lambda: found.append(f(3.0)))
        thread.start()
        thread.join()
        return x * x

    assert jvp(in_another_thread, (2.0,), (1.0,)) == (4.0, 4.0)
    assert grad(in_another_thread)(2.0) == 4.0
    assert found == [9.0, 9.0]


def test_a_call_in_a_greenlet_of_the_users_is_answered():
    f = settled(lambda x: x * x, 3.0)
    assert greenlet.greenlet(lambda: (f(3.0), is_passed(f, 3.0))).switch() == (9.0, False)


def test_a_call_while_another_function_is_recorded_is_recorded_too():
    f = settled(lambda x: x * x, 3.0)
    g = staged(lambda x: f(x) + f(2.0))
    assert [g(x) for x in (3.0, 3.0, 3.0, 4.0)] == [13.0, 13.0, 13.0, 20.0]


def test_debug_sees_the_operations():
    f = settled(grad(lambda x: np.sqrt(x) * x), 3.0)
    with sr.debug(), pytest.raises(FloatingPointError), np.errstate(divide="ignore", invalid="ignore"):
        f(0.0)


def test_other_reactions_to_errors_are_asked_for():
    f = settled(lambda x: np.exp(x), 3.0)
    with np.errstate(under="ignore"):  # another object, and the same reactions
        assert is_passed(f, 3.0)
    with np.errstate(under="raise"):
        assert not is_passed(f, 3.0)
        with pytest.raises(FloatingPointError, match="underflow"):
            f(-1e4)
    with np.errstate(over="ignore"):
        assert f(1e4) == np.inf
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert f(1e4) == np.inf


# The arguments


class Model:
    def __init__(self, weight):
        self.weight = weight

    @staged
    def at(self, x, scale=1.0):
        return self.weight * x * scale


def test_a_method_has_a_gate_for_each_object():
    models = [Model(2.0), Model(3.0)]
    for _ in range(6):
        assert [model.at(5.0) for model in models] == [10.0, 15.0]
    assert all(is_passed(Model.at, model, 5.0) for model in models)
    models[0].weight = 4.0
    for _ in range(6):
        assert [model.at(5.0) for model in models] == [20.0, 15.0]


def test_an_object_is_not_kept_alive_and_another_one_in_its_place_is_another_one():
    gc.disable()
    try:
        seen = set()
        for weight in map(float, range(30)):
            model = Model(weight)
            seen.add(id(model))
            assert [model.at(5.0) for _ in range(4)] == [5.0 * weight] * 4
            reference = weakref.ref(model)
            del model
            assert reference() is None
        assert len(seen) < 30
    finally:
        gc.enable()


def test_an_object_that_goes_while_a_gate_is_made_has_none(monkeypatch):
    """The collector may come at any time. Otherwise another object at the same address would be taken for this one."""
    make, objects = gate.built, [Scale(1.0)]

    def built(items):
        made = make(items)
        objects.clear()
        return made

    f, other = staged(lambda scale, x: scale.by * x), Scale(2.0)
    for _ in range(2):
        assert [f(x, 3.0) for x in (*objects, other)] == [3.0, 6.0]
    f(objects[0], 3.0)
    assert is_passed(f, objects[0], 3.0)
    monkeypatch.setattr(gate, "built", built)
    assert f(other, 3.0) == 6.0
    monkeypatch.undo()
    assert not objects
    items = f.__call__.__self__
    while isinstance(items, gate.Items):
        assert not any(map(is_dead, items.key[1]))
        items = items.otherwise
    assert f(other, 3.0) == 6.0


class Kind:
    __slots__ = ("__weakref__",)


class OtherKind:
    __slots__ = ("__weakref__",)


def test_a_gate_that_somebody_keeps_knows_its_object_only():
    f = staged(lambda m, x: x * 2.0 if isinstance(m, Kind) else x * 5.0)
    for _ in range(40):
        kind = Kind()
        for _ in range(4):
            f(kind, 3.0)
        kept, address = f.__call__, id(kind)
        del kind
        assert kept(None, 3.0) == 15.0
        others = [OtherKind() for _ in range(30)]
        assert [kept(x, 3.0) for x in others if id(x) == address] in ([], [15.0])


class Hidden:
    """A class whose objects show no dictionary from some time on."""

    is_open, by, shown = True, 2.0, {}

    @property
    def __dict__(self):
        if Hidden.is_open:
            return Hidden.shown
        raise AttributeError("hidden")


def test_a_property_in_place_of_the_dictionary():
    hidden = Hidden()
    f = staged(lambda x: hidden.by * x)
    try:
        assert [f(3.0) for _ in range(5)] == [6.0] * 5
        Hidden.is_open = False
        assert [f(3.0) for _ in range(5)] == [6.0] * 5
    finally:
        Hidden.is_open = True


def test_dicts_whose_leaves_are_in_their_own_order():
    f = staged(lambda d, *, c, b: d["b"] * 10.0 + d["a"] + 100.0 * b + 1000.0 * c)
    with optree.dict_insertion_ordered(True, namespace=trees.NAMESPACE):
        assert [f({"b": 2.0, "a": 1.0}, c=3.0, b=4.0) for _ in range(6)] == [3421.0] * 6
        assert is_passed(f, {"b": 5.0, "a": 1.0}, c=3.0, b=4.0)
    assert [f({"b": 2.0, "a": 1.0}, c=3.0, b=4.0) for _ in range(6)] == [3421.0] * 6


def test_a_structure_that_refuses_placeholders_is_answered():
    class Box:
        def __init__(self, content):
            if type(content) is not float:
                raise ValueError("not a float")
            self.content = content

    optree.register_pytree_node(
        Box, lambda x: ((x.content,), None, None), lambda _, x: Box(*x), namespace=trees.NAMESPACE
    )
    try:
        f = staged(lambda x: Box(x * 2.0))
        assert [f(x).content for x in (1.0, 2.0, 3.0, 4.0, 5.0)] == [2.0, 4.0, 6.0, 8.0, 10.0]
    finally:
        optree.unregister_pytree_node(Box, namespace=trees.NAMESPACE)


def test_a_position_beyond_all_integers_of_c():
    items, table = [1.0], {1: [2.0]}

    def f(x):
        try:
            v = items[2**64]
        except IndexError:
            v = 3.0
        return v * x * len(items) * table.get(5, 2.0) * sum(table[1])

    compiled = staged(f)
    assert [compiled(2.0) for _ in range(50)] == [f(2.0)] * 50


def test_an_object_without_weak_references_is_told_from_others():
    def f(scaled, x):
        return scaled.of(x)

    first, other = Scaled(2.0), Scaled(3.0)
    compiled = settled(f, first, 5.0)
    assert is_passed(compiled, first, 5.0)
    assert [compiled(other, 5.0) for _ in range(5)] == [15.0] * 5
    assert compiled(first, 5.0) == 10.0


@pytest.mark.parametrize("flag", [True, None, "yes"])
def test_constants_are_told_from_others(flag):
    compiled = settled(lambda x, flag: x * 2.0 if flag in (True, "yes") else x, 3.0, flag)
    assert is_passed(compiled, 3.0, flag)
    for other in (True, False, None, "yes", "no", "".join(["y", "es"]), 1, 1.0):
        for _ in range(4):
            assert compiled(3.0, other) == (6.0 if other in (True, "yes") else 3.0)


def test_keys_are_told_apart():
    def f(p):
        return p["a"] - p.get("b", 10.0) + sum(100.0 * i * p[key] for i, key in enumerate(p))

    compiled = settled(f, {"a": 1.0, "b": 2.0})
    assert is_passed(compiled, {"a": 3.0, "b": 4.0})
    for other in (
        {"b": 2.0, "a": 1.0},
        {"a": 1.0, "c": 2.0},
        {"c": 2.0, "a": 1.0},
        {"a": 1.0},
        {"a": 1.0, "".join("b"): 2.0},
    ):
        for _ in range(4):
            assert compiled(other) == f(other)


def test_names_of_arguments_are_told_apart():
    def f(x, y=2.0, *more, a=1.0, b=10.0):
        return x + 100.0 * y + 1000.0 * a + 10000.0 * b + sum(more)

    calls = [
        *(((1.0,), {"y": 3.0}), ((1.0,), {"a": 3.0}), ((1.0, 3.0), {}), ((1.0,), {"a": 3.0, "b": 4.0})),
        *(((1.0,), {"b": 4.0, "a": 3.0}), ((1.0, 2.0, 5.0), {"b": 2.0}), ((), {"x": 1.0, "y": 5.0}), ((1.0,), {})),
    ]
    compiled = staged(f)
    for _ in range(4):
        for args, kwargs in calls:
            assert compiled(*args, **kwargs) == f(*args, **kwargs)
    for args, kwargs in calls:
        one = settled(f, *args, **kwargs)
        assert is_passed(one, *args, **kwargs)
        for others, other_kwargs in calls:
            assert one(*others, **other_kwargs) == f(*others, **other_kwargs)
            assert (others, [*other_kwargs]) == (args, [*kwargs]) or not is_passed(one, *others, **other_kwargs)


def test_wrong_arguments_raise_the_error_of_the_function():
    compiled = settled(lambda x, *, y: x * y, 1.0, y=2.0)
    for _ in range(3):
        with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'y'"):
            compiled(1.0)
        with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
            compiled(1.0, y=2.0, z=3.0)
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
            compiled(y=2.0)


def of_four(a, s, b, c, d):
    alike = [i for i, (x, y) in enumerate([(a, b), (a, c), (a, d), (b, c), (b, d), (c, d)]) if x is y]
    return np.sum(a * b + c * d) * s + float(sum(10.0**i for i in alike))


@pytest.mark.parametrize("first", [(0, 1, 2, 3), (0, 0, 1, 1), (0, 1, 1, 0), (0, 0, 0, 0), (0, 1, 2, 2)])
def test_the_same_arrays_are_one(first):
    arrays = [X + i for i in range(4)]
    for place in (lambda *args: args, lambda a, *args: ([a], *args), lambda *args: ({"all": args},)):

        def f(*args):
            return of_four(*(args[0]["all"] if len(args) == 1 else (args[0][0], *args[1:])))

        def call(which, f=f, place=place):
            a, b, c, d = (arrays[i] for i in which)
            return f(*place(a, 2.0, b, c, d))

        g = of_four if place(1, 2) == (1, 2) else f
        a, b, c, d = (arrays[i] for i in first)
        compiled = settled(g, *place(a, 2.0, b, c, d))
        assert is_passed(compiled, *place(a, 2.0, b, c, d))
        for which in itertools.product(range(4), repeat=4):
            assert call(which, compiled) == call(which, g)


def test_the_same_number_may_be_given_twice():
    number = 7.0
    assert is_passed(settled(lambda x, y: x * y, 2.0, 3.0), number, number)


def test_there_is_a_gate_for_each_of_a_few_kinds_of_calls():
    f = staged(lambda x: np.sum(x * x))
    arrays = [np.arange(n + 1.0) for n in range(MOST_GATES + 3)]
    for _ in range(4):
        for x in arrays[:MOST_GATES]:
            assert f(x) == np.sum(x * x)
    assert [is_passed(f, x) for x in arrays] == [True] * MOST_GATES + [False] * 3
    for _ in range(4):
        for x in arrays:
            assert f(x) == np.sum(x * x)
    assert len(f._calls._shortcuts._items) <= MOST_GATES


def test_there_is_a_gate_for_each_of_a_few_ways():
    def f(x, words=("less", "more")):
        return x * 2.0 if words[int(x > 3.0)] == "less" else x

    compiled = staged(f)
    for _ in range(5):
        assert [compiled(x) for x in (2.0, 5.0)] == [4.0, 5.0]
    assert all(is_passed(compiled, x) for x in (2.0, 5.0))


def test_a_call_of_another_kind_that_is_not_recorded_leaves_the_gates(monkeypatch):
    f = settled(lambda x: np.sum(x * x), X)
    monkeypatch.setattr(type(f._calls._patience), "allows", lambda _: False)
    assert f(X[:3]) == np.sum(X[:3] * X[:3])
    assert is_passed(f, X)


def test_gates_behind_one_another_count_as_one_call(monkeypatch):
    """A call that none of them answers goes as deep as a call without gates."""

    def f(x, n):
        return x * 2.0 if n == 0 else s(x, n - 1)

    s = staged(f)
    for _ in range(5):
        for k in range(1, MOST_GATES + 1):
            s(np.ones(k), 0)
    assert len(s._calls._shortcuts._items) == MOST_GATES
    monkeypatch.setattr(type(s._calls._patience), "allows", lambda _: False)
    before, depth = sys.getrecursionlimit(), len(inspect.stack())
    try:
        sys.setrecursionlimit(depth + 5 * 150 + 100)
        assert s(3.0, 150) == 6.0
    finally:
        sys.setrecursionlimit(before)


def test_gates_that_are_of_no_use_are_made_ever_more_rarely(monkeypatch):
    made = []
    monkeypatch.setattr(shortcuts, "items_for", lambda *_: made.append(1))
    f = staged(lambda x: x * x)
    for _ in range(1000):
        f(2.0)
    assert 5 < len(made) < 15


def test_calls_with_many_leaves(monkeypatch):
    """More numbers than the stack should hold, or more arrays than should be compared, have no gate."""
    monkeypatch.setattr(shortcuts, "most_leaves", lambda: 1000)
    for count, expected in ((600, True), (1000, True), (1001, False)):
        f = staged(lambda xs: xs[0] * xs[-1])
        for _ in range(5):
            assert f([2.0] * count) == 4.0
        assert has_gate(f) is expected
    for count in (MOST_ARRAYS, MOST_ARRAYS + 1):
        f, arrays = staged(lambda xs: xs[0] * xs[-1]), [np.array([2.0, i]) for i in range(count)]
        for _ in range(5):
            assert f(arrays)[0] == 4.0
        assert has_gate(f) is (count == MOST_ARRAYS)


def test_a_gate_has_room_for_many_numbers():
    f, xs = staged(lambda xs: sum(xs) / len(xs)), [0.5 * i for i in range(3000)]
    for _ in range(4):
        assert f(xs) == sum(xs) / len(xs)
    assert is_passed(f, xs[::-1])
    assert shortcuts.most_leaves() > 10_000


def test_deep_structures_are_taken_apart():
    def nested(x, depth=60):
        return x if depth == 0 else ([nested(x, depth - 1)] if depth % 2 else {"it": nested(x, depth - 1)})

    def innermost(x):
        while not isinstance(x, float):
            x = x[0] if isinstance(x, list) else x["it"]
        return x

    compiled = staged(lambda x: innermost(x) * 2.0)
    for _ in range(4):
        assert compiled(nested(3.0)) == 6.0
    assert is_passed(compiled, nested(4.0))


# The answers


ANSWERS = {
    "a number": lambda x: x * 2.0,
    "a tuple": lambda x: (x * 2.0, np.sin(x)),
    "a list": lambda x: [x * 2.0, x],
    "a tuple of one": lambda x: (x * 2.0,),
    "nothing": lambda x: (),
    "a dict": lambda x: {"b": x * 2.0, "a": [x, (x,)]},
    "with a constant": lambda x: (x * 2.0, 3.0, None),
    "an array": lambda x: np.array([1.0, 2.0]) * x,
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_have_the_structure_of_the_function(name):
    f = ANSWERS[name]
    compiled = staged(f)
    for x in (1.0, 2.0, 3.0, 4.0, 5.0):
        found, expected = compiled(x), f(x)
        assert repr(found) == repr(expected)
    assert has_gate(compiled)


@pytest.mark.parametrize(
    ("f", "args", "kwargs"),
    [
        (lambda x: x * 2.0, (3.5,), {}),
        (lambda x, y: (x + y, x * y), (X, Y), {}),
        (lambda p, flag, scale: {"w": p["w"] * scale, "b": p["b"]}, ({"w": X, "b": 0.25}, True), {"scale": 1.25}),
        (grad(lambda p: np.sum(p[0] * p[1][0])), ([X, (Y, 2.5)],), {}),
        (lambda m, x: m.weight * x, (Model(2.5), 3.5), {}),
        (lambda x: np.array([1.0]) / x, (2.5,), {}),
    ],
)
def test_calls_keep_nothing(f, args, kwargs):
    """Neither the leaves, nor what the gate has, nor what it makes, whether it answers or not."""
    compiled = settled(f, *args, **kwargs)
    leaves = [x for x in (*args, *kwargs.values(), X, Y, None, True, compiled._calls) if not isinstance(x, float)]
    items = [*next(iter(compiled._calls._shortcuts._items.values()))]
    unlike = [(), (*args, 1.0), tuple("text" for _ in args)]
    for call, given in ((args, kwargs), (args, {**kwargs, "unknown": 1.0}), *[(x, kwargs) for x in unlike]):

        def often(call=call, given=given):
            for _ in range(400):
                with contextlib.suppress(TypeError, AttributeError):
                    compiled.__call__(*call, **given)

        often()
        before = [sys.getrefcount(x) for x in (*leaves, *items)]
        often()
        after = [sys.getrefcount(x) for x in (*leaves, *items)]
        assert max(map(abs, np.subtract(after, before))) < 200  # other things come and go, too


def test_an_interrupt_goes_to_the_caller():
    def long(x):
        while x < 1e9:
            x = x + 1.0
        return x

    f = settled(long, 1e9 - 5.0)
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError("now")))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(TimeoutError, match="now"):
            f(0.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    assert f(1e9 - 3.0) == 1e9


# The staged function is an object as before


def test_a_staged_function_goes_when_nobody_has_it():
    gc.disable()
    try:
        for calls in range(6):
            f = staged(lambda x: x * x)
            for _ in range(calls):
                f(3.0)
            reference = weakref.ref(f)
            del f
            assert reference() is None
    finally:
        gc.enable()


def test_a_staged_function_with_a_gate_is_one_to_python():
    f = settled(square, 3.0)
    assert callable(f)
    assert str(inspect.signature(f)) == "(x)"
    assert repr(f) == "<staged(square)>"
    assert copy.copy(f)(3.0) == pickle.loads(pickle.dumps(f))(3.0) == f.__call__(3.0) == 9.0
    assert f.__name__ == "square"


@pytest.mark.parametrize("count", [0, 1, 2, 1000, 1001])
def test_so_many_answers(count, monkeypatch):
    monkeypatch.setattr(shortcuts, "most_leaves", lambda: 1000)
    f = staged(lambda x: [x * float(i) for i in range(count)])
    for _ in range(5):
        assert f(2.0) == [2.0 * i for i in range(count)]
    assert has_gate(f) is (count <= 1000)


def test_answers_are_kept_by_nobody_else():
    """Each answer has as many references as one of the function itself."""
    constant, other = "constant" * 3, np.arange(3.0)
    functions = [
        lambda x: x * 2.0,
        lambda x: (x * 2.0, [x * 3.0, constant]),
        lambda x: {"a": x * 2.0, "b": other},
        lambda x: collections.deque([x * 2.0, constant]),
        lambda x: 1.0 / x,
    ]
    for f in functions:
        compiled, argument = settled(f, 3.0), 4.5
        counts = []
        for _ in range(8):
            for x in (argument, np.float64(4.5), 0.0):
                with contextlib.suppress(ZeroDivisionError):
                    compiled(x)
            counts.append([sys.getrefcount(kept) for kept in (constant, other, argument)])
        assert counts[5] == counts[6] == counts[7]
        answers = [optree.tree_leaves(g(argument)) for g in (compiled, f)]
        found, expected = ([sys.getrefcount(leaf) for leaf in leaves if type(leaf) is float] for leaves in answers)
        assert found == expected != []


def test_a_function_that_is_given_up_has_no_gate():
    numbers = itertools.count()
    f = staged(lambda x, y: x * y)
    for _ in range(4):
        f(2.0, 3.0)
    assert has_gate(f)
    with pytest.warns(sr.StagingWarning, match="from here on"):
        f._calls._given_up("there is a reason", next(numbers))
    assert not has_gate(f)
    assert f(2.0, 3.0) == 6.0


def test_threads_call_one_gate():
    f = settled(lambda p: np.sum(p["x"] * p["y"]), {"x": X, "y": Y})
    require_same_in_threads(lambda: f({"x": X.copy(), "y": Y.copy()}), [()] * 5, times=100)
