"""Sums of products."""

import numpy as np
import pytest

from shiftreset_ad.formulations.wang.staged.algebra import is_small, simplified
from shiftreset_ad.formulations.wang.staged.code import DOUBLE, REF, Constant, Operation, Read, Symbol
from shiftreset_ad.formulations.wang.staged.printing import Writer

A, B, D = Symbol("a", DOUBLE), Symbol("b", DOUBLE), Symbol("d", REF)
TWO, ZERO = Constant(2.0), Constant(0.0)


def plus(a, b):
    return Operation(np.add, (a, b))


def minus(a, b):
    return Operation(np.subtract, (a, b))


def times(a, b):
    return Operation(np.multiply, (a, b))


def negative(a):
    return Operation(np.negative, (a,))


def sine(a):
    return Operation(np.sin, (a,))


def text(expression):
    names = {A: "a", B: "b", D: "d"}
    applied = "{0.__name__}({1[0]})".format
    return Writer(names, read=lambda cell: f"!{cell}", field=str, applied=applied).text(expression)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (plus(A, A), "2.0 * a"),
        (plus(times(A, B), times(B, A)), "2.0 * a * b"),
        (minus(A, A), "0.0"),
        (minus(B, times(TWO, A)), "b - 2.0 * a"),
        (plus(times(A, A), A), "a * a + a"),
        (negative(negative(A)), "a"),
        (times(negative(A), B), "-a * b"),
        (times(Constant(-1.0), times(A, TWO)), "-2.0 * a"),
        (times(Read(D), A), "a * !d"),  # adjoints last
        (times(plus(A, B), B), "(a + b) * b"),  # not multiplied out
        (times(ZERO, sine(A)), "0.0"),
        (times(TWO, Constant(3.0)), "6.0"),
        (sine(plus(A, A)), "sin(2.0 * a)"),
        (plus(sine(A), sine(A)), "2.0 * sin(a)"),
        (Operation(np.divide, (A, times(A, B))), "a / (a * b)"),
        (minus(A, minus(A, B)), "b"),
        (plus(ZERO, A), "a"),
    ],
)
def test_like_terms_meet(expression, expected):
    assert text(simplified(expression)) == expected
    assert text(simplified(simplified(expression))) == expected


def test_small_expressions():
    assert is_small(times(A, B))
    assert is_small(times(TWO, times(A, Read(D))))
    assert is_small(ZERO)
    assert not is_small(times(A, times(B, B)))
    assert not is_small(plus(A, B))
    assert not is_small(sine(A))
