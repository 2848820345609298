"""Answers of steps are those of the function: their identity, the memory they share, their layout and attributes."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import grad, hvp, jacobian, jvp, linearize, staged, vjp
from tests.staging.in_turns import is_refused, stays_staged

X = np.array([1.0, 2.0, 3.0])
OUTER, OUTER_LIST = np.ones(3), [1.0, 2.0]
READ_ONLY = np.ones(3)
READ_ONLY.flags.writeable = False


@dataclass
class Doubled:
    a: float

    def __post_init__(self) -> None:
        self.b = self.a * 2


@dataclass
class Scaled:
    a: float

    def __post_init__(self) -> None:
        self.a = self.a * 2


class Pair(namedtuple("Pair", "a b")):
    pass


def tagged(x: Any) -> Any:
    pair = Pair(x, x * 2)
    pair.tag = 3.0
    return pair


def read_only_constant(x: Any) -> Any:
    a = np.ones(3)
    a.flags.writeable = False
    return x, a


@pytest.mark.parametrize(
    ("f", "pick"),
    [
        (lambda p: p, lambda answer, p: answer is p),
        (lambda p: (p["a"], 1.0), lambda answer, p: answer[0] is p["a"]),
        (lambda p: {**p, "w": p["w"] * 2}, lambda answer, p: answer["a"] is p["a"] and answer["w"] == 4.0),
        (lambda p: (p["a"], p["w"] * 2, p), lambda answer, p: answer[0] is p["a"] and answer[2] is p),
    ],
)
def test_a_structure_among_the_arguments_is_returned_itself(f, pick):
    g = staged(f)
    for _ in range(4):
        p = {"a": [1.0, 2.0], "w": 2.0}
        assert pick(g(p), p)
    assert len(g.sources) == 1


@pytest.mark.parametrize(
    ("f", "reason", "pick"),
    [
        (lambda x: (x, OUTER[1:]), "a view of an array", lambda answer: answer[1].base is OUTER),
        (
            lambda x: (x, np.broadcast_arrays(x, OUTER)[1]),
            "a view of an array",
            lambda answer: answer[1] is OUTER or np.shares_memory(answer[1], OUTER),
        ),
        (lambda x: (y := [x * 2], y), "it returns a list twice", lambda answer: answer[0] is answer[1]),
        (read_only_constant, "that cannot be written to", lambda answer: not answer[1].flags.writeable),
        (tagged, "a Pair in its answer has 'tag'", lambda answer: answer.tag == 3.0),
        (Doubled, "a Doubled in its answer has 'b'", lambda answer: answer.b == answer.a * 2),
    ],
)
def test_an_answer_that_steps_cannot_give_is_given_by_the_function(f, reason, pick):
    is_refused(f, reason, (2.0,), (3.0,))
    g = staged(f)
    with pytest.warns(UserWarning, match="it runs as it is"):
        assert all(pick(g(float(k))) for k in range(4))


@pytest.mark.parametrize(
    "outer", [OUTER, READ_ONLY, OUTER_LIST, {"a": OUTER}], ids=["array", "constant", "list", "dict"]
)
def test_what_comes_from_outside_is_returned_itself(outer):
    g = staged(lambda x: (x * 2, outer, {"again": outer}))
    for k in range(4):
        double, same, structure = g(float(k))
        assert double == 2.0 * k
        assert same is outer
        assert structure["again"] is outer
    assert len(g.sources) == 1


def test_what_a_dataclass_computes_from_its_fields():
    stays_staged(lambda x: Doubled(x).b, (1.0,), (2.0,), (3.0,))
    stays_staged(lambda x: Scaled(x), (1.0,), (2.0,), (3.0,))
    is_refused(lambda p: p.a * p.b, "a Doubled among its arguments has 'b'", (Doubled(1.0),), (Doubled(2.0),))


@pytest.mark.parametrize(
    "f", [lambda x: np.zeros(4) * np.sum(x), lambda x: np.ones((2, 3)).T, np.round, lambda x: np.zeros_like(x)]
)
@pytest.mark.parametrize("x", [X, np.ones((2, 3)), np.asfortranarray(np.ones((2, 3)))], ids=lambda x: str(x.strides))
def test_the_layout_of_a_jacobian_of_zeros(f, x):
    stays_staged(jacobian(f), *[(x,)] * 4)


TURNED = {
    "a constant cotangent": lambda x: np.sum(np.transpose(x) * 2.0),
    "of numbers": lambda x: np.sum(np.sin(np.transpose(x)) ** 2),
    "columns": lambda x: np.sum(np.swapaxes(x, 0, 1)[1:] ** 3),
    "in the order of Fortran": lambda x: np.sum(np.copy(x, order="F") ** 2),
}


@pytest.mark.parametrize("f", TURNED.values(), ids=TURNED)
@pytest.mark.parametrize("x", [np.ones((2, 3)), np.asfortranarray(np.ones((2, 3)))], ids=lambda x: str(x.strides))
def test_derivatives_lie_in_the_order_of_c(f, x):
    def turned(x):
        return np.transpose(np.sin(x))

    calls = [(x * k,) for k in (1.0, 2.0, 3.0, 4.0)]
    v = np.asfortranarray(np.full((2, 3), 0.5))
    stays_staged(grad(f), *calls)
    stays_staged(lambda x: hvp(f, (x,), (v,)), *calls)
    stays_staged(lambda x: jvp(turned, (x,), (v,)), *calls)
    stays_staged(lambda x: vjp(turned, x)[1](v.T), *calls)
    stays_staged(lambda x: linearize(turned, x)[1](v), *calls)


@pytest.mark.parametrize("f", [lambda x: x[1:], lambda x: np.broadcast_to(x[:1], (3,)), lambda x: (x, x * 2)])
def test_read_only_arguments(f):
    stays_staged(f, *[(READ_ONLY,)] * 4, (X,), (READ_ONLY,))


def test_powers_of_numpys_scalars_to_the_last_bit():
    rng, base = np.random.default_rng(0), np.float64(2.7)
    points = [(np.float64(x),) for x in rng.uniform(0.1, 5.0, 300)]
    stays_staged(lambda x: base**x + 1.7**x + x**3 + x**0.37, *points)
    stays_staged(lambda x: np.power(base, x), *points)


def test_a_keyword_that_is_called_self():
    stays_staged(lambda self: self * 2, *[{"self": x} for x in (1.0, 2.0, 3.0)])
