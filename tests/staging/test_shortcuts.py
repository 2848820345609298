"""Calls like one before go to the native code without a key."""

import sys
from collections import OrderedDict, namedtuple
from itertools import count

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from shiftreset_ad.staging.native.structure_forms import form_of
from tests.staging.native.natively import has_gate, needs_native

pytestmark = needs_native
Pair = namedtuple("Pair", "w b")
X, Y = np.linspace(0.1, 1.0, 5), np.linspace(-1.0, 1.0, 5)


class Name(str):
    """A key that is equal to a string, and no string to `type`."""

    __slots__ = ()


def loss(parameters, x, scale=1.0, kind="sum", twice=False, offset=None):
    total = np.sum(np.tanh(parameters["w"] * x) * scale) + parameters["inner"][0] * sum(parameters["inner"][1])
    total = total * 2.0 if twice else total
    total = total if offset is None else total + offset
    order = float(list(parameters).index("w"))
    of_a_list = 10.0 if type(parameters["inner"][1]) is list else 0.0
    of_a_dict = 20.0 if type(parameters) is dict else 0.0
    return (total if kind == "sum" else total * total) + order + of_a_list + of_a_dict


def of_one_array(parameters, x, **options):
    """The only one of these functions that asks which array an argument is."""
    return loss(parameters, x, **options) + (100.0 if x is parameters["w"] else 0.0)


def parameters(w=X, **more):
    return {"w": w, "inner": (0.5, [0.25, 2.0]), **more}


def settled(f, *calls):
    """The staged function after calls, which have left it a shortcut."""
    compiled = staged(f)
    for _ in range(4):
        for args, kwargs in calls:
            compiled(*args, **kwargs)
    assert has_gate(compiled)
    return compiled


def test_a_call_with_structures_makes_no_key(monkeypatch):
    slope = grad(loss)
    args, kwargs = (parameters(), Y), {"kind": "product", "offset": 0.5, "twice": True}
    compiled = settled(slope, (args, kwargs))
    expected = slope(*args, **kwargs)

    def no_key(*_):
        raise AssertionError("a key is made")

    monkeypatch.setattr(sys.modules[staged.__module__], "StagedCall", no_key)
    found = compiled(*args, **kwargs)
    assert found.keys() == expected.keys()
    assert np.array_equal(found["w"], expected["w"])
    assert found["inner"] == expected["inner"]
    assert type(found["inner"]) is tuple
    compiled(parameters(X * 2.0), Y + 1.0, **kwargs)


OTHERS = {
    "other values": ((parameters(X + 1.0), Y), {}),
    "another order of keys": (({"inner": (0.5, [0.25, 2.0]), "w": X}, Y), {}),
    "another key": ((parameters(more=1.0), Y), {}),
    "a longer list": (({"w": X, "inner": (0.5, [0.25, 2.0, 3.0])}, Y), {}),
    "a tuple": (({"w": X, "inner": (0.5, (0.25, 2.0))}, Y), {}),
    "a named tuple": (({"w": X, "inner": Pair(0.5, [0.25, 2.0])}, Y), {}),
    "another class of dict": ((OrderedDict(parameters()), Y), {}),
    "another class of key": (({Name("w"): X, "inner": (0.5, [0.25, 2.0])}, Y), {}),
    "an integer": (({"w": X, "inner": (2, [0.25, 2.0])}, Y), {}),
    "a boolean": (({"w": X, "inner": (True, [0.25, 2.0])}, Y), {}),
    "an array in place of a float": (({"w": X, "inner": (np.array(0.5), [0.25, 2.0])}, Y), {}),
    "another shape": ((parameters(X[:1]), Y), {}),
    "other strides": ((parameters(np.repeat(X, 2)[::2]), Y), {}),
    "one array twice": ((parameters(Y), Y), {}),
    "another string": ((parameters(), Y), {"kind": "product"}),
    "the same string by a keyword": ((parameters(), Y), {"kind": "sum"}),
    "a boolean by a keyword": ((parameters(), Y), {"twice": True}),
    "an integer for a boolean": ((parameters(), Y), {"twice": 1}),
    "a number in place of None": ((parameters(), Y), {"offset": 3.0}),
    "None by a keyword": ((parameters(), Y), {"offset": None}),
    "several keywords": ((parameters(), Y), {"offset": 3.0, "scale": 2.0}),
    "several keywords in another order": ((parameters(), Y), {"scale": 2.0, "offset": 3.0}),
}


@pytest.mark.parametrize(
    "first", ["other values", "a boolean by a keyword", "several keywords", "another string", "None by a keyword"]
)
@pytest.mark.parametrize("then", OTHERS)
def test_another_call_gets_its_own_answer(first, then):
    args, kwargs = OTHERS[first]
    compiled = settled(of_one_array, (args, kwargs))
    for _ in range(3):
        for other_args, other_kwargs in (OTHERS[then], (args, kwargs)):
            found, expected = compiled(*other_args, **other_kwargs), of_one_array(*other_args, **other_kwargs)
            assert found == pytest.approx(expected, rel=1e-14)
            assert type(found) is type(expected)


def test_the_places_of_leaves_are_in_the_order_of_sorted_keys():
    x = {"b": Pair(1.0, "name"), "a": [2.0, (3.0, None)], "c": "name"}
    expected = dict, ("b", "a", "c"), (Pair, None, 2, ("name",)), (list, None, 0, (tuple, None, 1, (None,))), ("name",)
    assert form_of(x, count()) == expected


@pytest.mark.parametrize("x", [{1: 2.0}, OrderedDict(a=1.0), {"a": slice(2)}, b"name", np.str_("name")])
def test_other_structures_have_no_form(x):
    with pytest.raises(TypeError, match="is not compared by its identity"):
        form_of(x, count())


def test_a_call_with_another_number_of_arguments_is_that_of_the_function():
    compiled = settled(lambda x, y=X, *more: np.sum(x * y) + sum(more), ((X, Y), {}))
    assert compiled(X) == np.sum(X * X)
    assert compiled(X, Y, 2.0) == np.sum(X * Y) + 2.0
    for _ in range(2):
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            compiled()
