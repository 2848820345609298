"""What the rooms of Wang et al. 2019 are tested by: the paper's examples, structures, functions, errors, deep programs.

Each `check_...` takes a room's `grad`; those of rooms in explicit CPS are checked on terms.
"""

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce

import numpy as np
import optree
import pytest
from hypothesis import HealthCheck, Phase, assume, given, note, settings

import shiftreset_ad
from shiftreset_ad.formulations.language import Primitive, Var, evaluate, parse, show
from shiftreset_ad.formulations.language.terms import Const, Lam
from shiftreset_ad.formulations.overloading import Overloaded
from shiftreset_ad.rules import ELEMENTWISE
from tests.formulations.random_terms import programs

# The paper's examples, and a few more, as Python functions and as terms, with points and derivatives


def conditional(x):
    return -1.0 * x * x if x > 0.0 else x * x


def loop(x):
    while x > 1.0:
        x = x * 0.5
    return x


def tree(x, node=((None, 3.0, None), 5.0, None)):
    """At a node, the product of both subtrees and the number of the node; x where there is none."""
    return x if node is None else tree(x, node[0]) * tree(x, node[2]) * node[1]


def compose(*functions):
    return lambda x: reduce(lambda y, f: f(y), functions, x)


def several_uses(x):
    y1 = 2.0 * x
    y2 = x * x
    y3 = y2 * x
    return y1 + y3


EXAMPLES = {
    "2.1, 2x + x^3": (lambda x: 2.0 * x + x * x * x, "fun x -> 2.0 * x + x * x * x", 3.0, 29.0),
    "3, nodes with several uses": (
        several_uses,
        "fun x -> let y1 = 2.0 * x in let y2 = x * x in let y3 = y2 * x in y1 + y3",
        0.5,
        2.75,
    ),
    "4.2, conditional, one branch": (conditional, "fun x -> if x > 0.0 then -1.0 * x * x else x * x", 3.0, -6.0),
    "4.2, conditional, the other": (conditional, "fun x -> if x > 0.0 then -1.0 * x * x else x * x", -3.0, -6.0),
    "4.3, loop": (loop, "fun x -> let rec f x = if x > 1.0 then f (x * 0.5) else x in f x", 5.0, 0.125),
    "4.4, tree": (
        tree,
        "fun x -> let rec fold t = case t of empty -> x | node -> "
        "fold (fst node) * fold (snd (snd node)) * fst (snd node) in "
        "fold (inr (inr (inl (), (3.0, inl ())), (5.0, inl ())))",
        2.0,
        180.0,
    ),
    "higher-order functions": (
        lambda a: compose(lambda x: a * x, lambda x: a * x, np.sin)(0.1),
        "fun a -> let f = fun x -> a * x in let twice = fun g -> fun x -> g (g x) in sin (twice f 0.1)",
        3.0,
        np.cos(0.9) * 0.6,
    ),
    "a constant": (lambda x: 3.0, "fun x -> 3.0", 2.0, 0.0),
    "an integer": (lambda x: 3, "fun x -> 3.0", 2.0, 0.0),
    "the argument": (lambda x: x, "fun x -> x", 2.0, 1.0),
    "shadowed names": (lambda x: (lambda x: x * x)(x * x), "fun x -> let x = x * x in x * x", 2.0, 32.0),
    "a result that is not used": (lambda x: (np.exp(x), x * x)[1], "fun x -> let y = exp x in x * x", 3.0, 6.0),
}
# The supplement: RelayCPS.scala, and shiftCPS.scala with its second derivatives.
SUPPLEMENT = {
    "x": (lambda x: x, 1.0, 0.0),
    "x + x": (lambda x: x + x, 2.0, 0.0),
    "x * x": (lambda x: x * x, 10.0, 2.0),
    "x + x + x": (lambda x: x + x + x, 3.0, 0.0),
    "x * x * x": (lambda x: x * x * x, 75.0, 30.0),
    "x + x + x + x": (lambda x: x + x + x + x, 4.0, 0.0),
    "x * x * x * x": (lambda x: x * x * x * x, 500.0, 300.0),
    "x + x * x + x": (lambda x: x + x * x + x, 12.0, 2.0),
    "x + x + x * x * x": (lambda x: x + x + x * x * x, 77.0, 30.0),
}
examples = pytest.mark.parametrize("example", EXAMPLES)
supplement = pytest.mark.parametrize("example", SUPPLEMENT)


def check_example(grad, example):
    f, term, x, expected = EXAMPLES[example]
    assert grad(f)(x) == pytest.approx(expected)
    assert grad(parse(term))(x) == pytest.approx(expected)


def check_example_as_term(grad, example):
    _, term, x, expected = EXAMPLES[example]
    assert grad(parse(term))(x) == pytest.approx(expected)


def check_supplement(grad, example):
    f, expected, _ = SUPPLEMENT[example]
    assert grad(f)(5.0) == expected


# Structures


@dataclass
class Point:
    x: float
    y: list
    name: str = "p"


def of_point(p):
    return p.x * p.y[0] + np.sin(p.y[1]) * p.x * p.y[0]


def check_structures(grad):
    found = grad(of_point)(Point(1.5, [2.0, 0.3]))
    assert found.name is None
    assert (found.x, *found.y) == pytest.approx((2 + 2 * np.sin(0.3), 1.5 + 1.5 * np.sin(0.3), 3 * np.cos(0.3)))
    nested = grad(lambda x: x["a"][0] * x["b"] + x["b"] * x["n"])({"a": (2.0, 7.0), "b": 3.0, "n": 4})
    assert nested == {"a": (3.0, 0.0), "b": 6.0, "n": None}


# Every function of the table, alone and inside others, against the library

FUNCTIONS = [
    f for f in ELEMENTWISE if getattr(np, f.__name__, None) is f and isinstance(f, np.ufunc) and f is not np.ldexp
]


def term_of(function):
    """fun x -> function (x * x), or of x * x and 1.3 + x"""
    x = Var("x")
    return Lam("x", Primitive(function, (x * x, Const(1.3) + x)[: function.nin]))


def check_functions(grad, second=None):
    assert len(FUNCTIONS) > 40
    for function in FUNCTIONS:
        term = term_of(function)
        with np.errstate(all="ignore"):
            for x in (0.37, 1.63):
                expected = shiftreset_ad.grad(evaluate(term))(x)
                np.testing.assert_allclose(grad(term)(x), expected, rtol=1e-12, err_msg=function.__name__)
                if second is not None:
                    expected = shiftreset_ad.grad(shiftreset_ad.grad(evaluate(term)))(x)
                    np.testing.assert_allclose(second(term)(x), expected, rtol=1e-9, err_msg=function.__name__)


# Random programs, against the library


def check_random_programs(grad, number=60):
    compared = []

    @settings(
        max_examples=number,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate,),  # to shrink may take minutes, and is done by the agreement of all rooms
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def check(case):
        program, x = case
        note(f"{show(program)}\nat {x}")
        with np.errstate(all="ignore"):
            expected = optree.tree_leaves(shiftreset_ad.grad(evaluate(program))(x))
            assume(all(abs(e) < 1e6 for e in expected))
            found = optree.tree_leaves(grad(program)(x))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        compared.append(program)

    check()
    assert len(compared) > number / 2


# Nesting


def check_nesting(grad):
    """The programs of section 2.4, and of the supplement (highOrder.scala), which confuse levels without tags."""
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert grad(lambda x: x * grad(lambda y: y + x)(1.0))(1.0) == 1.0
    assert grad(lambda x: x * grad(lambda y: x * y)(2.0))(3.0) == 6.0
    assert grad(lambda x: grad(lambda y: x * y * y)(x))(3.0) == 12.0
    assert grad(lambda x: grad(lambda y: x * x)(x) + x)(3.0) == 1.0  # constant in y
    assert grad(lambda x: x * grad(lambda y: x * x)(x))(3.0) == 0.0
    should_be_two = []

    def outer(x):
        should_be_two.append(grad(grad(lambda y: x * y * y))(1.0))
        return x * x * x

    assert grad(grad(outer))(1.0) == 6.0
    assert should_be_two[0].primal.primal == 2.0


def check_third_order(grad):
    cube = lambda x: x * x * x  # noqa: E731
    orders = grad(cube), grad(grad(cube)), grad(grad(grad(cube))), grad(grad(grad(grad(cube))))
    assert [f(4.0) for f in orders] == [48.0, 24.0, 6.0, 0.0]

    def nested(grad):
        """Three levels that all meet in one product."""
        return grad(lambda x: x * grad(lambda y: np.sin(x * y) * grad(lambda z: x * y * z * z)(y))(x))

    assert nested(grad)(0.7) == pytest.approx(nested(shiftreset_ad.grad)(0.7), rel=1e-12)
    assert nested(grad)(0.7) == pytest.approx(nested(finite)(0.7), rel=1e-2)
    third, expected = (g(g(g(lambda x: np.exp(np.sin(x)) / x))) for g in (grad, shiftreset_ad.grad))
    assert third(0.9) == pytest.approx(expected(0.9), rel=1e-11)


def finite(f, h=1e-3):
    return lambda x: (f(x + h) - f(x - h)) / (2 * h)


def check_hessian(hessian_times):
    """H f [3, 4] x [7, 8] = [52, 85] for f = 2 x^2 + 3 x y + 4 y^2, which is of Pearlmutter and Siskind 2008."""
    f = lambda p: 2.0 * p[0] * p[0] + 3.0 * p[0] * p[1] + 4.0 * p[1] * p[1]  # noqa: E731
    assert hessian_times(f)((3.0, 4.0), (7.0, 8.0)) == (52.0, 85.0)
    assert hessian_times(f)([3.0, 4.0], [0.0, 1.0]) == [3.0, 8.0]


def check_with_the_library(grad):
    """A room inside the library's derivative, which has numbers of its own for primals."""
    f = lambda x: np.sin(x) * x * x  # noqa: E731
    second = shiftreset_ad.grad(shiftreset_ad.grad(f))
    assert shiftreset_ad.grad(grad(f))(0.7) == pytest.approx(second(0.7), rel=1e-12)
    along = shiftreset_ad.jvp(grad(f), (0.7,), (1.0,))[1]
    assert along == pytest.approx(second(0.7), rel=1e-12)


def check_unused_result_of_infinite_slope(grad):
    """As in the paper, an adjoint that nobody has added to is 0.0; the library tells such a zero from others."""
    f = lambda x: (np.sqrt(x[0]), x[0] * x[1])[1]  # noqa: E731
    with np.errstate(all="ignore"):
        assert np.isnan(grad(f)((0.0, 2.0))[0])
        assert shiftreset_ad.grad(f)((0.0, 2.0)) == (2.0, 0.0)


# Deep programs


def deep(times):
    def f(x):
        y = x
        for _ in range(times):
            y = np.sin(y) * x + 0.5
        return y

    return f


def check_deep(grad, times=1000):
    assert grad(deep(times))(1.1) == pytest.approx(shiftreset_ad.grad(deep(times))(1.1), rel=1e-10)


@contextmanager
def deep_stack(limit):
    """What nests on Python's stack by its nature may do so for a while."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


# Numbers that are no floats


class Counted(Overloaded):
    """A number that counts its operations."""

    __slots__ = ("counts", "primal")

    def __init__(self, primal, counts):
        self.primal, self.counts = primal, counts

    def operate(self, function, *operands):
        self.counts.append(function)
        return Counted(function(*(x.primal if isinstance(x, Counted) else x for x in operands)), self.counts)


def operations(grad, f, x=1.1):
    """How many operations the gradient takes, and its value."""
    counts = []
    found = grad(f)(Counted(x, counts))
    return len(counts), found.primal


def check_counted(grad, at=(50, 100, 200)):
    """Numbers that are no floats; the work grows with the program, and within a constant factor of it."""
    for times in at:
        work, found = operations(grad, deep(times))
        assert found == pytest.approx(shiftreset_ad.grad(deep(times))(1.1), rel=1e-12)
        assert 3 * times <= work <= 7 * 3 * times
    small, large = (operations(grad, deep(times))[0] for times in (100, 200))
    assert large - small == operations(grad, deep(300))[0] - large  # linear


# Errors


def check_errors(grad):
    for result in ((1.0, 2.0), None, "1.0", [3.0], True):
        with pytest.raises(TypeError, match="grad: the function must return one number"):
            grad(lambda x, result=result: result)(1.0)
    with pytest.raises(TypeError, match=r"grad: the argument 3 has no floating-point number in it; write 3\.0 for 3"):
        grad(lambda x: x * x)(3)
    check_errors_of_terms(grad)
    with pytest.raises(NotImplementedError, match="spacing: formulations differentiate elementwise functions only"):
        grad(lambda x: np.spacing(x * x))(1.0)
    with pytest.raises(ZeroDivisionError, match="mine"):
        grad(raising)(1.0)
    assert grad(caught)(3.0) == 6.0


def check_errors_of_terms(grad):
    with pytest.raises(TypeError, match="grad: the function must return one number"):
        grad(parse("fun x -> (x, x)"))(1.0)
    with pytest.raises(NameError, match="the variable y is free"):
        grad(parse("fun x -> x * y"))(1.0)
    with pytest.raises(NameError, match="the variable y is free"):
        grad(parse("y"))(1.0)
    with pytest.raises(TypeError, match="grad: expected a function"):
        grad(parse("2.0 * 3.0"))
    with pytest.raises(TypeError, match="grad: expected a function"):
        grad(3.0)


def raising(x):
    y = x * x
    raise ZeroDivisionError(f"mine, with {y.primal}")


def caught(x):
    """A program that catches what an operation raises goes on as if there were no derivative."""
    y = x * x
    try:
        y = np.spacing(y)
    except NotImplementedError:
        return y


# Programs with control of their own

ONE_SHOT = {
    "reset (x * (shift k in x * k (x * x)))": 4 * 1.5**3,  # x * (x * x^2)
    "x * reset (x + (shift k in k x * x))": 6 * 1.5**2,  # x * (2x * x)
    "x * reset (x * (shift k in x * x))": 3 * 1.5**2,  # k is dropped
}
MANY_SHOT = {"reset (x * (shift k in k x + k (x * x)))": 2 * 1.5 + 3 * 1.5**2}


def check_control_in_the_program(grad, programs=ONE_SHOT):
    for body, expected in programs.items():
        assert grad(parse(f"fun x -> {body}"))(1.5) == pytest.approx(expected), body
