"""All derivatives of a number, and only those that are asked for."""

from itertools import islice

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad.formulations.krawiec.towers import Tower, tower, triple
from shiftreset_ad.formulations.language import parse

FUNCTIONS = {
    "a polynomial": (lambda x: 2.0 * x + x * x * x, 1.5),
    "exp": (np.exp, 0.3),
    "a product": (lambda x: np.sin(x * x) * np.exp(-x), 0.7),
    "a quotient": (lambda x: (x + 1.0) / (x * x + 1.0), 0.4),
    "a power of a negative number": (lambda x: x**3, -2.0),
    "a function of two": (lambda x: np.arctan2(x, 2.0 + x), 0.7),
    "a loop": (lambda x: [y := x, *(y := y * x - 1.0 / y for _ in range(3))][-1], 1.3),
    "a branch": (lambda x: x * x if x > 1.0 else np.sqrt(x), 0.25),
    "a constant": (lambda x: 3.0, 2.0),
    "the argument itself": (lambda x: x, 2.0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_derivatives_agree_with_the_library(name):
    f, x = FUNCTIONS[name]
    found = list(islice(tower(f)(x), 5))
    for n in range(5):
        assert found[n] == pytest.approx(f(x), rel=1e-9, abs=1e-12), n
        f = shiftreset_ad.grad(f)


def test_triples():
    assert triple(lambda x: x * x * x)(2.0) == (8.0, 12.0, 12.0)
    assert triple(parse("fun x -> x * x"))(3.0) == (9.0, 6.0, 2.0)


def test_a_tower_is_lazy():
    """An operation that has no derivative is an error when the derivative is asked for, and not before."""
    y = tower(lambda x: np.spacing(x) + x)(2.0)
    assert y.primal == np.spacing(2.0) + 2.0
    with pytest.raises(NotImplementedError):
        _ = y.derivative


def test_a_derivative_is_computed_once():
    y = tower(lambda x: np.sin(x * x))(0.5)
    assert isinstance(y, Tower)
    assert y.derivative is y.derivative
    assert y.derivative.derivative is y.derivative.derivative


def test_a_tower_has_no_end():
    assert list(islice(tower(np.sin)(0.0), 9)) == pytest.approx([0.0, 1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0])
    assert list(islice(tower(lambda x: x)(2.0), 5)) == [2.0, 1.0, 0.0, 0.0, 0.0]


def test_towers_do_not_nest():
    """Without the error, the inner derivative would take the outer number for its own: 2, and not 1."""
    with pytest.raises(TypeError, match="numbers of two calls"):
        tower(lambda x: x * tower(lambda y: x + y)(1.0).derivative)(1.0)


def test_a_result_that_is_not_a_number():
    with pytest.raises(TypeError, match="tower: the function must return one number"):
        tower(lambda x: (x, x))(1.0)
