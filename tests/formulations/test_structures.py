"""Structured arguments."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from shiftreset_ad import grad
from shiftreset_ad.formulations.language import Cell, Left, Right
from shiftreset_ad.formulations.overloading import Overloaded
from shiftreset_ad.formulations.structures import Structure


class Wrapped(Overloaded):
    def __init__(self, primal):
        self.primal = primal


@dataclass(frozen=True)
class Point:
    x: float
    label: str
    rest: tuple


class Interval(NamedTuple):
    low: float
    high: float


CASES = [
    (2.0, [2.0], -2.0, -2.0),
    ((1.0, [2.0, 3.0]), [1.0, 2.0, 3.0], (-1.0, [-2.0, -3.0]), (-1.0, [-2.0, -3.0])),
    (
        {"b": 1.0, "a": (2.0, "name", 7)},
        None,
        {"b": -1.0, "a": (-2.0, "name", 7)},
        {"b": -1.0, "a": (-2.0, None, None)},
    ),
    (Point(1.0, "p", (2.0, ())), [1.0, 2.0], Point(-1.0, "p", (-2.0, ())), Point(-1.0, None, (-2.0, ()))),
    (Interval(1.0, 2.0), [1.0, 2.0], Interval(-1.0, -2.0), Interval(-1.0, -2.0)),
    (Left((1.0, Right(2.0))), [1.0, 2.0], Left((-1.0, Right(-2.0))), Left((-1.0, Right(-2.0)))),
    ((np.float32(1.5), True, 3), [1.5], (-1.5, True, 3), (-1.5, None, None)),
]


@pytest.mark.parametrize(("tree", "numbers", "with_others", "derivative"), CASES, ids=lambda x: str(x)[:30])
def test_numbers_are_taken_out_and_others_put_in(tree, numbers, with_others, derivative):
    structure = Structure(tree)
    if numbers is not None:
        assert structure.numbers == numbers
    others = [-x for x in structure.numbers]
    assert structure.with_numbers(others) == with_others
    assert structure.derivative(others) == derivative
    assert structure.with_numbers(structure.numbers) == tree


def test_numbers_of_other_derivatives_are_numbers():
    x = Wrapped(2.0)
    structure = Structure([x, (1.0, x)])
    assert structure.numbers[0] is structure.numbers[2] is x
    assert grad(lambda y: Structure([y, 1.0]).numbers[0] * 3.0)(2.0) == 3.0


def test_a_reference_in_an_argument_is_made_anew():
    cell = Cell(1.0)
    other = Structure((cell, "r")).with_numbers([5.0])
    assert (cell.content, other[0].content, other[1]) == (1.0, 5.0, "r")


@pytest.mark.parametrize("tree", ["x", (), [1, 2], None], ids=str)
def test_an_argument_without_numbers_is_an_error_that_names_the_remedy(tree):
    with pytest.raises(TypeError, match=r"grad: the argument .* has no floating-point number in it; write 3\.0 for 3"):
        Structure(tree)


@pytest.mark.parametrize("numbers", [[], [1.0], [1.0, 2.0, 3.0]])
def test_as_many_numbers_are_put_in_as_were_taken_out(numbers):
    with pytest.raises(ValueError, match="zip"):
        Structure((1.0, 2.0)).with_numbers(numbers)
