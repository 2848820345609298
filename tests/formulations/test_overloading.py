"""Python's syntax for numbers, and the table of partial derivatives, as the formulations see them."""

import dataclasses
import inspect

import numpy as np
import pytest

from shiftreset_ad.formulations import ROOMS
from shiftreset_ad.formulations.language import Term
from shiftreset_ad.formulations.language.symbols import Symbol
from shiftreset_ad.formulations.overloading import STEPS, Overloaded, answer_and_partials, partials
from shiftreset_ad.rules import ELEMENTWISE


class Logged(Overloaded):
    """A number that keeps the functions it has gone through."""

    def __init__(self, primal, log=()):
        self.primal, self.log = primal, log

    def operate(self, function, *operands):
        primals = [x.primal if isinstance(x, Logged) else x for x in operands]
        return Logged(function(*primals), (*self.log, function))


@pytest.mark.parametrize(
    ("expression", "function", "value"),
    [
        (lambda x: x + 2.0, np.add, 5.0),
        (lambda x: 2.0 + x, np.add, 5.0),
        (lambda x: x - 2.0, np.subtract, 1.0),
        (lambda x: 2.0 - x, np.subtract, -1.0),
        (lambda x: x * 2.0, np.multiply, 6.0),
        (lambda x: 2.0 * x, np.multiply, 6.0),
        (lambda x: x / 2.0, np.divide, 1.5),
        (lambda x: 6.0 / x, np.divide, 2.0),
        (lambda x: x % 2.0, np.remainder, 1.0),
        (lambda x: 5.0 % x, np.remainder, 2.0),
        (lambda x: x**2, np.power, 9.0),
        (lambda x: 2.0**x, np.power, 8.0),
        (lambda x: -x, np.negative, -3.0),
        (lambda x: +x, np.positive, 3.0),
        (lambda x: abs(x), np.absolute, 3.0),
        (lambda x: np.sin(x), np.sin, np.sin(3.0)),
        (lambda x: np.arctan2(1.0, x), np.arctan2, np.arctan2(1.0, 3.0)),
        (lambda x: np.float64(2.0) * x, np.multiply, 6.0),
    ],
)
def test_operators_and_functions_are_operations(expression, function, value):
    y = expression(Logged(3.0))
    assert y.primal == value
    assert y.log == (function,)


def test_questions_about_a_number_are_answered_by_its_primal():
    x, y = Logged(2.0), Logged(3.0)
    assert x < y
    assert x <= y
    assert y > x
    assert y >= 3.0
    assert not x > 3.0
    assert x == 2.0
    assert x == Logged(2.0)
    assert x != y
    assert np.equal(x, 2.0)
    assert np.isfinite(x)
    assert np.floor(Logged(2.5)) == np.trunc(2.5) == 2.0
    assert np.sign(Logged(-2.5)) == -1.0
    assert Logged(5.0) // 2.0 == 5.0 // Logged(2.0) == 2.0
    assert x
    assert not Logged(0.0)
    assert np.where(x < y, x, y) is x
    assert np.where(x > y, x, y) is y
    assert Logged(Logged(2.0)) < Logged(3.0)
    assert len({x, Logged(2.0)}) == 2  # two numbers, though equal


def test_what_a_formulation_does_not_have_is_an_error():
    x = Logged(2.0)
    for wrong in (lambda: np.add.reduce(x), lambda: np.sin(x, where=True), lambda: np.add(x, 1.0, out=np.zeros(1))):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(TypeError):
        np.concatenate([x, x])
    with pytest.raises(TypeError):
        float(x)
    with pytest.raises(NotImplementedError, match=r"Overloaded\.operate: the subclass has to say"):
        Overloaded().operate(np.sin, x)


FUNCTIONS = [f for f in ELEMENTWISE if getattr(np, f.__name__, None) is f and isinstance(f, np.ufunc)]
POINTS = [(0.3, 0.7), (1.3, -0.7), (0.5, 2.0), (2.0, 2.0), (-1.5, 2.0), (-0.4, -1.0), (0.0, 1.0), (0.0, 0.0)]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("point", POINTS, ids=str)
@np.errstate(all="ignore")
def test_the_table_takes_numbers_and_gives_the_same_as_for_floats(function, point):
    """So that formulations nest: primals may be numbers of an outer derivative."""
    xs = (point[0], 3) if function is np.ldexp else point[: function.nin]
    y, slopes = answer_and_partials(function, *xs)
    numbers = (Logged(point[0]), 3) if function is np.ldexp else tuple(map(Logged, xs))
    z, slopes_of_numbers = answer_and_partials(function, *numbers)
    assert z.primal == y or np.isnan([z.primal, y]).all()
    primals = [x.primal if isinstance(x, Logged) else x for x in slopes_of_numbers]
    np.testing.assert_array_equal(primals, slopes)


@np.errstate(all="ignore")
def is_defined(function, point):
    return np.isfinite(function(*((point[0], 3) if function is np.ldexp else point[: function.nin])))


# The last is for arccosh.
INSIDE = [(0.3, 0.7), (0.45, 2.3), (-0.6, 1.9), (1.7, -0.8)]
DEFINED = [pytest.param(f, x, id=f"{f.__name__}-{x}") for f in FUNCTIONS for x in INSIDE if is_defined(f, x)]


@pytest.mark.parametrize(("function", "point"), DEFINED)
@np.errstate(all="ignore")
def test_partial_derivatives_are_those_of_finite_differences(function, point):
    xs = [point[0], 3] if function is np.ldexp else list(point[: function.nin])
    _, slopes = answer_and_partials(function, *xs)
    h, compared = 1e-6, 0
    for i, slope in enumerate(slopes):
        if isinstance(xs[i], int):
            continue
        ends = [function(*xs[:i], xs[i] + step, *xs[i + 1 :]) for step in (-h, h)]
        if np.isfinite(ends).all():  # not those of a power of a negative number, in its exponent
            assert (ends[1] - ends[0]) / (2 * h) == pytest.approx(slope, rel=1e-6, abs=1e-8)
            compared += 1
    assert compared


@pytest.mark.parametrize("function", sorted(STEPS, key=lambda f: f.__name__), ids=lambda f: f.__name__)
def test_the_derivative_of_a_step_is_zero(function):
    assert partials(function, 1.0, *(1.5, 1.0)[: function.nin]) == [0.0] * function.nin


def test_infinite_slopes_are_answers_and_no_warnings():
    assert partials(np.sqrt, np.float64(0.0), np.float64(0.0)) == [np.inf]
    assert partials(np.log, -np.inf, 0.0) == [np.inf]
    assert partials(np.power, 4.0, -2.0, 2)[0] == -4.0


@pytest.mark.parametrize("function", [np.matmul, np.sum, len], ids=lambda f: f.__name__)
def test_what_is_not_elementwise_is_an_error_that_names_the_remedy(function):
    with pytest.raises(NotImplementedError, match=rf"{function.__name__}: .*elementwise.*use shiftreset_ad\.grad"):
        partials(function, 1.0, 1.0)


def numbers_of_rooms():
    for room in ROOMS:
        room.module  # noqa: B018 (imported, so that its classes are there)
    waiting = [Overloaded]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if (
            kind.__module__.startswith("shiftreset_ad")
            and not issubclass(kind, (Term, Symbol))
            and kind is not Overloaded
        ):
            yield kind


def test_the_numbers_of_all_rooms_compare_by_value_and_are_no_structures():
    kinds = list(numbers_of_rooms())
    assert len(kinds) > 8
    for kind in kinds:
        assert kind.__eq__ is Overloaded.__eq__, kind
        assert not dataclasses.is_dataclass(kind), kind
        assert not inspect.isabstract(kind), kind
