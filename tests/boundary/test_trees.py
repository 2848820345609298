"""Structured arguments: what goes in comes back as a gradient of the same structure, shapes and dtypes."""

from __future__ import annotations

import collections
import dataclasses
import enum
import pathlib
import threading
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

from shiftreset_ad import grad, value, value_and_grad
from shiftreset_ad.boundary.trees import flatten, map_leaves

X = np.array([1.5, -0.5, 2.0])


class Line(NamedTuple):
    slope: Any
    offset: Any


@dataclass
class Layer:
    weight: Any
    bias: Any = 0.0


@dataclass(frozen=True)
class Frozen:
    weight: Any
    layers: Any


@dataclass(slots=True)
class Slotted:
    weight: Any
    bias: Any


@dataclass(frozen=True, slots=True)
class FrozenSlotted:
    weight: Any


@dataclass
class Checked:
    """Its __post_init__ holds of values, and of no derivative."""

    deviation: float
    precision: float = field(init=False)
    calls: dataclasses.InitVar[list[int] | None] = None

    def __post_init__(self, calls: list[int] | None) -> None:
        if self.deviation <= 0:
            raise ValueError("a deviation is positive")
        self.precision = 1 / self.deviation**2


@dataclass
class Derived(Layer):
    scale: Any = 1.0


class Undecorated(Layer):
    """A subclass of a dataclass, with its fields."""


def test_a_tuple_a_list_and_a_dict() -> None:
    tree = (2.0, [X, {"b": np.float32(3.0), "a": 4.0}], ())
    gradient = grad(lambda t: t[0] * np.sum(t[1][0] ** 2) + t[1][1]["b"] ** 2 * t[1][1]["a"])(tree)
    assert type(gradient) is tuple
    assert type(gradient[1]) is list
    assert gradient[2] == ()
    assert gradient[0] == np.sum(X**2)
    np.testing.assert_array_equal(gradient[1][0], 4.0 * X)
    assert gradient[1][1] == {"a": 9.0, "b": 24.0}
    assert list(gradient[1][1]) == ["b", "a"]
    assert [type(g) for g in gradient[1][1].values()] == [np.float32, float]


def test_none_is_a_structure_without_leaves() -> None:
    assert grad(lambda t: t[0] ** 2 if t[1] is None else 0.0)((3.0, None)) == (6.0, None)
    assert grad(lambda x: 5.0)(None) is None
    assert grad(lambda t, n: t**2, (0, 1))(3.0, None) == (6.0, None)


def test_dicts_of_every_kind() -> None:
    ordered = collections.OrderedDict([("z", 2.0), ("a", 3.0)])
    gradient = grad(lambda d: d["z"] ** 2 * d["a"])(ordered)
    assert type(gradient) is collections.OrderedDict
    assert list(gradient.items()) == [("z", 12.0), ("a", 4.0)]

    defaulting = collections.defaultdict(float, {"a": 2.0})
    gradient = grad(lambda d: d["a"] ** 2 + d["absent"])(defaulting)
    assert gradient == {"a": 4.0}
    assert gradient.default_factory is float
    assert grad(lambda d: d[1] * d[2])({2: 5.0, 1: 7.0}) == {2: 7.0, 1: 5.0}
    assert grad(lambda d: d[1] * d["one"])({1: 5.0, "one": 7.0}) == {1: 7.0, "one": 5.0}


def test_a_deque() -> None:
    gradient = grad(lambda d: d[0] * d[1])(collections.deque([2.0, 3.0], maxlen=2))
    assert gradient == collections.deque([3.0, 2.0])
    assert gradient.maxlen == 2


def test_a_named_tuple() -> None:
    gradient = grad(lambda line: line.slope * 3.0 + np.sum(line.offset))(Line(2.0, X))
    assert type(gradient) is Line
    assert gradient.slope == 3.0
    np.testing.assert_array_equal(gradient.offset, [1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("instance", "f", "expected"),
    [
        (Layer(2.0, 3.0), lambda t: t.weight**2 * t.bias, Layer(12.0, 4.0)),
        (Slotted(2.0, [3.0]), lambda t: t.weight * t.bias[0], Slotted(3.0, [2.0])),
        (FrozenSlotted((2.0, 3.0)), lambda t: t.weight[0] * t.weight[1], FrozenSlotted((3.0, 2.0))),
        (
            Frozen(2.0, [Layer(3.0, None), Layer(4.0, 5.0)]),
            lambda t: t.weight * t.layers[0].weight * t.layers[1].bias,
            Frozen(15.0, [Layer(10.0, None), Layer(0.0, 6.0)]),
        ),
        (Derived(2.0, 3.0, 4.0), lambda t: t.weight * t.scale, Derived(4.0, 0.0, 2.0)),
        (Undecorated(2.0, 3.0), lambda t: t.weight * t.bias, Undecorated(3.0, 2.0)),
    ],
    ids=lambda given: type(given).__name__,
)
def test_dataclasses(instance: Any, f: Any, expected: Any) -> None:
    gradient = grad(f)(instance)
    assert type(gradient) is type(expected)
    assert gradient == expected


def test_a_dataclass_is_not_rebuilt_by_its_init() -> None:
    gradient = grad(lambda c: -3.0 * c.deviation + c.precision)(Checked(2.0))
    assert (gradient.deviation, gradient.precision) == (-3.0, 1.0)
    gradient = grad(lambda deviation: Checked(deviation).precision)(2.0)
    assert gradient == -0.25


def test_a_frozen_dataclass_stays_frozen() -> None:
    def f(t: Frozen) -> Any:
        with pytest.raises(dataclasses.FrozenInstanceError):
            t.weight = 1.0  # type: ignore[misc]
        return t.weight * 2

    assert grad(f)(Frozen(2.0, [])) == Frozen(2.0, [])


def test_a_class_that_is_a_dataclass_is_no_structure() -> None:
    with pytest.raises(TypeError, match="is of type type, which cannot be differentiated"):
        grad(lambda t: 1.0)(Layer)


def test_a_dataclass_made_in_many_threads_at_once() -> None:
    """The first of them registers it, and the others find it there."""
    for _ in range(20):

        @dataclass
        class Local:
            weight: float

        start = threading.Barrier(8)
        found: list[Any] = []

        def work(kind: Any = Local, start: Any = start, found: Any = found) -> None:
            start.wait()
            found.append(grad(lambda t: t.weight**2)(kind(3.0)).weight)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [6.0] * 8


def test_a_user_registered_type_is_taken_as_registered() -> None:
    import optree

    class Pair:
        def __init__(self, left: Any, right: Any) -> None:
            self.left, self.right = left, right

    optree.register_pytree_node(
        Pair, lambda p: ((p.left, p.right), None, None), lambda _, c: Pair(*c), namespace="shiftreset_ad"
    )
    gradient = grad(lambda p: p.left * p.right)(Pair(2.0, 3.0))
    assert (gradient.left, gradient.right) == (3.0, 2.0)


def test_leaves_keep_type_shape_and_dtype() -> None:
    tree = {
        "float": 2.0,
        "float64": np.float64(2.0),
        "float32": np.float32(2.0),
        "float16": np.float16(2.0),
        "longdouble": np.longdouble(2.0),
        "0d": np.array(2.0),
        "0d32": np.array(2.0, np.float32),
        "empty": np.zeros((0, 3)),
        "vector32": X.astype(np.float32),
        "big endian": X.astype(">f8"),
        "fortran": np.asfortranarray(np.outer(X, X)),
        "view": np.outer(X, X)[::2, ::-1],
        "read only": np.broadcast_to(2.0, (2, 2)),
    }

    def check(gradient: Any, expected: float) -> None:
        assert gradient.keys() == tree.keys()
        for name, leaf in tree.items():
            assert type(gradient[name]) is type(leaf), name
            assert np.shape(gradient[name]) == np.shape(leaf)
            assert np.result_type(gradient[name]) == np.result_type(leaf)
            np.testing.assert_array_equal(gradient[name], np.full(np.shape(leaf), expected))

    check(grad(lambda t: sum(np.sum(leaf * 3.0) for leaf in t.values()))(tree), 3.0)
    check(grad(lambda t: t["float"] * 0.0)(tree), 0.0)
    check(grad(lambda t: 7.0)(tree), 0.0)
    check(grad(lambda t: 7)(tree), 0.0)


def test_map_leaves_and_value() -> None:
    assert map_leaves(lambda leaf: leaf + 1, {"a": (1, None)}) == {"a": (2, None)}
    seen: list[Any] = []
    x = X.copy()
    grad(lambda t: seen.append(value({"a": [t, 2 * t, "text"], "b": Layer(t, 1)})) or np.sum(t))(x)
    plain = seen[0]
    np.testing.assert_array_equal(plain["a"][1], 2 * X)
    assert plain["a"][2] == "text"
    assert type(plain["b"].weight) is np.ndarray
    with pytest.raises(ValueError, match="read-only"):
        plain["a"][0][0] = 99.0
    assert value(3.0) == 3.0
    assert value("text") == "text"
    array = value(X)
    assert array is X


def test_flatten_gives_the_leaves_in_the_order_of_the_structure() -> None:
    leaves, _ = flatten((1, [2, Layer(3, (4, None))], {"b": 6, "a": 5}))
    assert leaves == [1, 2, 3, 4, 5, 6]


def test_leaves_that_have_no_derivative_pass_through() -> None:
    tree = {"x": 3.0, "n": 2, "name": "cube", "flag": True, "f": np.sin, "ints": np.arange(3), "layer": Layer(X, 7)}

    def f(t: Any) -> Any:
        assert (type(t["n"]), t["name"], t["flag"], t["f"]) == (int, "cube", True, np.sin)
        assert t["ints"] is tree["ints"]
        assert t["layer"].bias == 7
        return t["x"] ** t["n"] + np.sum(t["layer"].weight * t["ints"])

    gradient = grad(f)(tree)
    assert gradient["x"] == 6.0
    np.testing.assert_array_equal(gradient["layer"].weight, [0.0, 1.0, 2.0])
    for name in ("n", "name", "flag", "f", "ints"):
        assert gradient[name] is None
    assert gradient["layer"].bias is None
    assert grad(lambda t: t[0] * t[1])([2.0, 3]) == [3, None]
    assert grad(lambda z: abs(z["z"]) ** 2)({"z": 3.0 + 4.0j}) == {"z": 6.0 - 8.0j}


def test_gradients_of_gradients_keep_structure() -> None:
    tree = {"a": 2.0, "b": [X, Line(3.0, None)]}

    def f(t: Any) -> Any:
        return t["a"] ** 3 * t["b"][1].slope * np.sum(t["b"][0] ** 2)

    def norm(t: Any) -> Any:
        gradient, inner = grad(f)(t), value_and_grad(f)(t)
        assert type(inner[1]["b"][1]) is Line
        return gradient["a"] + np.sum(gradient["b"][0]) + inner[1]["b"][1].slope + inner[0]

    found = grad(norm)(tree)
    a, x, s = 2.0, X, 3.0
    xx, sx = np.sum(x * x), np.sum(x)
    # norm = 3a^2 s xx + 2 a^3 s sx + a^3 xx + a^3 s xx
    assert found["a"] == pytest.approx(6 * a * s * xx + 6 * a**2 * s * sx + 3 * a**2 * xx + 3 * a**2 * s * xx)
    expected = 6 * a**2 * s * x + 2 * a**3 * s + 2 * a**3 * x + 2 * a**3 * s * x
    np.testing.assert_allclose(found["b"][0], expected)
    assert found["b"][1].slope == pytest.approx(3 * a**2 * xx + 2 * a**3 * sx + a**3 * xx)
    assert found["b"][1].offset is None


def test_aux_may_be_any_structure() -> None:
    def f(x: Any) -> Any:
        return x**2, {"twice": 2 * x, "more": [Layer(x, "text"), None, 5, Line(X, x * 3)]}

    gradient, aux = grad(f, has_aux=True)(3.0)
    assert gradient == 6.0
    assert aux["twice"] == 6.0
    assert type(aux["twice"]) is float
    assert aux["more"][0] == Layer(3.0, "text")
    assert aux["more"][1:3] == [None, 5]
    assert aux["more"][3].offset == 9.0
    assert aux["more"][3].slope is X
    assert value_and_grad(f, has_aux=True)(3.0)[0][0] == 9.0


def test_aux_of_an_inner_derivative_belongs_to_the_outer_one() -> None:
    def f(x: Any) -> Any:
        gradient, aux = grad(lambda y: (y**2 * x, [y * x]), has_aux=True)(x)  # 2 x^2, x^2
        return gradient + 10 * aux[0]

    assert grad(f)(3.0) == 4 * 3.0 + 20 * 3.0


def test_what_never_has_a_derivative_stays_as_it_is():
    class Kind(enum.Enum):
        LINEAR = 1

    constants = [3, True, "text", b"bytes", slice(1, 2), range(3), Kind.LINEAR, pathlib.Path("file"), np.sin, float]
    seen = []

    def f(parameters):
        seen.extend(parameters["constants"])
        return parameters["x"] ** 2

    found = grad(f)({"x": 3.0, "constants": constants})
    assert found == {"x": 6.0, "constants": [None] * len(constants)}
    assert seen == constants
