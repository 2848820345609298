"""Lemma 1: <y_bar, J x_dot> = <J^T y_bar, x_dot>, forward mode against each reverse mode, on random programs."""

import numpy as np
import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

from shiftreset_ad.formulations.krawiec import (
    array_backed,
    arrays,
    delta,
    dense,
    duals,
    fusion,
    sharing,
    source_duals,
    source_sharing,
    structured,
)
from shiftreset_ad.formulations.language import Fst, Lam, Let, Snd, Var

UNARY = (np.sin, np.cos, np.tanh, np.negative, np.arctan, np.square)
BINARY = (
    np.add,
    np.subtract,
    np.multiply,
    lambda a, b: a / (2.0 + np.sin(b)),
    lambda a, b: np.arctan2(a, 1.5 + np.cos(b)),
)

numbers = st.integers(-20, 20).map(lambda n: n / 8 + 0.01)


@st.composite
def programs(draw):
    """Straight-line programs, `x -> y` of tuples: each operation takes any of the numbers before it."""
    inputs, length = draw(st.integers(1, 3)), draw(st.integers(1, 12))
    operations = []
    for n in range(inputs, inputs + length):
        function = draw(st.sampled_from(UNARY + BINARY))
        arity = 1 if function in UNARY else 2
        operations.append((function, draw(st.tuples(*[st.integers(0, n - 1)] * arity))))
    outputs = draw(st.lists(st.integers(0, inputs + length - 1), min_size=1, max_size=3))
    vectors = [tuple(draw(numbers) for _ in range(n)) for n in (inputs, inputs, len(outputs))]
    return Program(operations, outputs), *vectors


class Program:
    def __init__(self, operations, outputs):
        self.operations, self.outputs = operations, outputs

    def __call__(self, x):
        values = list(x)
        for function, operands in self.operations:
            values.append(function(*(values[i] for i in operands)))
            assume(values[-1] < 1e3 and values[-1] > -1e3)  # more says more about rounding than about derivatives
        return tuple(values[i] for i in self.outputs)

    def as_term(self, inputs, y_bar):
        """The same as a term for x -> <y_bar, y>, where x is (x0, (x1, x2)) for three inputs."""
        names = [f"v{i}" for i in range(inputs + len(self.operations))]
        body = dot(y_bar, [Var(names[i]) for i in self.outputs])
        for name, (function, operands) in reversed(list(zip(names[inputs:], self.operations, strict=True))):
            body = Let(name, function(*(Var(names[i]) for i in operands)), body)
        parts = [Var("x")]
        while len(parts) < inputs:
            parts[-1:] = [Fst(parts[-1]), Snd(parts[-1])]
        for name, part in zip(names[:inputs], parts, strict=True):
            body = Let(name, part, body)
        return Lam("x", body)

    def __repr__(self):
        return f"{self.operations} to {self.outputs}"


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def transposed(room):
    """J^T y_bar at x."""
    if room is structured:
        return lambda f, x, y_bar: structured.vjp(f)(x)[1](y_bar)
    return lambda f, x, y_bar: room.grad(lambda x: dot(y_bar, f(x)))(x)


@pytest.mark.parametrize(
    "room", [dense, delta, sharing, array_backed, structured, arrays, fusion], ids=lambda room: room.__name__
)
@settings(max_examples=80, derandomize=True, database=None, deadline=None)
@given(case=programs())
def test_lemma_1(room, case):
    program, x, x_dot, y_bar = case
    note(repr(program))
    left = dot(y_bar, duals.jvp(program)(x, x_dot))
    right = dot(transposed(room)(program, x, y_bar), x_dot)
    assert left == pytest.approx(right, rel=1e-9, abs=1e-9)


def in_pairs(x):
    return x[0] if len(x) == 1 else (x[0], in_pairs(x[1:]))


def flat(x):
    return (x[0], *flat(x[1])) if isinstance(x, tuple) else (x,)


@settings(max_examples=40, derandomize=True, database=None, deadline=None)
@given(case=programs())
def test_lemma_1_of_the_translations(case):
    program, x, x_dot, y_bar = case
    term = program.as_term(len(x), y_bar)
    note(str(term))
    left = source_duals.jvp(term)(in_pairs(x), in_pairs(x_dot))
    right = dot(flat(source_sharing.grad(term)(in_pairs(x))), x_dot)
    assert left == pytest.approx(right, rel=1e-9, abs=1e-9)
    assert left == pytest.approx(dot(y_bar, duals.jvp(program)(x, x_dot)), rel=1e-9, abs=1e-9)
