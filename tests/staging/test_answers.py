"""Answers of steps are those of the function: their identity, the memory they share, their layout and attributes."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import grad, hvp, jacobian, jvp, linearize, staged, vjp, zeros
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


def chosen(u: Any, v: Any, x: float) -> Any:
    return u if x > 0.0 else v


def scaled_while_it_is_small(u: Any, v: Any, x: float) -> Any:
    while x < 1.0:
        if x > 0.0:
            u = u * 2.0
        x = x + 0.5
    return u


def chosen_part(u: Any, v: Any, x: float) -> Any:
    y = u[::2] if x > 0.0 else v[1::2]
    return y[::-1], v


@pytest.mark.parametrize("f", [chosen, scaled_while_it_is_small, chosen_part])
@pytest.mark.parametrize("order", [1, -1])
def test_a_branch_answers_what_it_was_given_itself(f, order):
    g = staged(f)
    for x in (0.5, -0.5, 2.0, 0.25, -1.5, 3.0, -0.25):
        u, v = np.arange(4.0)[::order], np.arange(4.0, 8.0)[::order]
        found, wanted = g(u, v, x), f(u, v, x)
        for one, other in zip(parts(found), parts(wanted), strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.strides == other.strides
            assert [one is u, one is v, np.shares_memory(one, u), np.shares_memory(one, v)] == [
                *(other is u, other is v, np.shares_memory(other, u), np.shares_memory(other, v))
            ]
    assert not g._calls._is_given_up
    assert any("if " in source for source in g.sources)


def parts(answer: Any) -> tuple[Any, ...]:
    return answer if type(answer) is tuple else (answer,)


def test_a_branch_answers_an_array_from_outside_itself():
    g = staged(lambda u, x: OUTER if x > 0.0 else u)
    for x in (-1.0, -2.0, 1.0, 2.0, 3.0, -1.0):
        assert g(X, x) is (OUTER if x > 0.0 else X)
    assert not g._calls._is_given_up


def with_views_of_constants(x: float) -> Any:
    a, b = zeros(6), np.arange(6.0).reshape(2, 3)
    first = a if x > 0.0 else b[0]
    return x * 2.0, a[::-1], a, first[::-2], b.T


OUTSIDE = np.arange(3.0)


def part_of_an_array_from_outside(x: Any) -> Any:
    z = OUTSIDE if x[0] > 0.0 else x * 2.0
    return z[1:]


def test_a_view_of_an_array_from_outside_is_answered_by_the_function():
    """It is known at run time only, and the steps of the other branch stay."""
    g = staged(part_of_an_array_from_outside)
    for x in (-1.0, 1.0, -2.0, 2.0):
        answer = g(np.full(3, x))
        assert np.shares_memory(answer, OUTSIDE) == (x > 0.0)
        np.testing.assert_array_equal(answer, [1.0, 2.0] if x > 0.0 else [2.0 * x, 2.0 * x])
    assert len(g.sources) == 1


def doubled(n: int) -> Any:
    a = np.ones(3)
    for _ in range(n):
        a = a * 2.0
    return a


def test_a_loop_without_rounds_answers_a_copy_of_a_constant():
    g = staged(doubled)
    assert g(2).tolist() == [4.0] * 3
    g(0)[:] = 7.0
    assert g(0).tolist() == [1.0] * 3
    assert len(g.sources) == 1


def test_copies_of_constants_lie_in_memory_as_the_constants_and_share_it():
    g = staged(with_views_of_constants)
    for x in (1.0, -1.0, 2.0, -2.0, 3.0, 1.0, 1.0):
        found, wanted = g(x), with_views_of_constants(x)
        for one, other in zip(found[1:], wanted[1:], strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.strides == other.strides
            assert one.flags.writeable
        assert np.shares_memory(found[1], found[2])
        assert np.shares_memory(found[3], found[1]) == (x > 0.0)
        found[2][:] = 7.0
        assert found[1][0] == 7.0
    assert not g._calls._is_given_up


@pytest.mark.parametrize("kind", [int, np.int64])
def test_an_integer_that_is_a_float_on_another_path_is_a_float(kind):
    g = staged(lambda x, n: n if x > 1.0 else x)
    answers = [g(x, kind(2)) for x in (0.5, 2.0, 0.25, 3.0, 4.0)]
    assert answers == [0.5, 2, 0.25, 2, 2]
    assert not g._calls._is_given_up


def integers_or(u: Any, n: int) -> Any:
    return np.array([1, 2]) if n > 1 else u


def integers_after_a_round(u: Any, n: int) -> Any:
    for i in range(3):
        if i < n - 1:
            return np.stack([i for _ in u])
    return u


def integers_until_a_round(u: Any, n: int) -> Any:
    y = np.zeros(2, int)
    for _ in range(n):
        y = y + u
    return y


@pytest.mark.slow
@pytest.mark.parametrize("f", [integers_or, integers_after_a_round, integers_until_a_round])
@pytest.mark.parametrize("calls", [(2, 2, 0, 2, 2), (0, 0, 2, 0, 2, 2)])
def test_an_array_keeps_its_dtype_on_another_path(f, calls):
    u = np.array([0.5, 1.5])
    stays_staged(f, *[(u, n) for n in calls])
