"""Partial derivatives as terms have the values that the table has."""

import numpy as np
import pytest

from shiftreset_ad.formulations.language import Const, Var, evaluate, free_variables, parse, partial_terms, show
from shiftreset_ad.formulations.language.grammar import INFIX, PRIMITIVES
from shiftreset_ad.formulations.overloading import COMPARISONS, answer_and_partials

FUNCTIONS = [f for f in [*PRIMITIVES.values(), *(f for f, _ in INFIX.values()), np.negative] if f not in COMPARISONS]
POINTS = [(0.3, 0.7), (1.3, -0.7), (2.0, 2.0), (0.5, 3.0), (-0.6, 2.0), (-1.5, -1.5), (0.0, 0.0), (0.0, 1.0)]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("point", POINTS, ids=str)
@np.errstate(all="ignore")
def test_a_partial_derivative_as_a_term_has_the_value_that_the_table_has(function, point):
    xs = point[: function.nin]
    if function is np.ldexp:
        xs = (point[0], 3)
    names = ["a", "b"][: function.nin]
    y, slopes = answer_and_partials(function, *xs)
    terms = partial_terms(function, Var("y"), *map(Var, names))
    environment = dict(zip(names, map(np.float64, xs), strict=True)) | {"y": y}
    if function is np.ldexp:
        environment["b"] = 3
    np.testing.assert_array_equal([evaluate(term, environment) for term in terms], slopes)
    for term in terms:
        assert free_variables(term) <= {"y", *names}
        assert parse(show(term)) == term


@pytest.mark.parametrize(
    "function", [f for f in FUNCTIONS if f.nin == 2 and f is not np.ldexp], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("constant", [2.0, 0.0, -1.5])
@np.errstate(all="ignore")
def test_operands_may_be_constants(function, constant):
    x = 0.7
    for xs, terms in (((x, constant), (Var("x"), Const(constant))), ((constant, x), (Const(constant), Var("x")))):
        y, slopes = answer_and_partials(function, *map(np.float64, xs))
        environment = {"x": np.float64(x), "y": y}
        values = [evaluate(term, environment) for term in partial_terms(function, Var("y"), *terms)]
        np.testing.assert_array_equal(values, slopes)


@pytest.mark.parametrize(
    ("function", "texts"),
    [
        (np.multiply, ["b", "a"]),
        (np.divide, ["1.0 / b", "-y / b"]),
        (np.sin, ["cos a"]),
        (np.exp, ["y"]),
        (np.sqrt, ["0.5 / y"]),
        (np.add, ["1.0", "1.0"]),
        (np.sign, ["0.0"]),
        (np.maximum, [f"if {p} == {q} then 0.5 else if {p} == y then 1.0 else 0.0" for p, q in ("ab", "ba")]),
    ],
)
def test_the_terms_are_those_of_the_textbooks(function, texts):
    terms = (
        partial_terms(function, Var("y"), Var("a"), Var("b"))
        if function.nin == 2
        else partial_terms(function, Var("y"), Var("a"))
    )
    assert [show(term) for term in terms] == texts


def test_a_square_has_the_simple_derivative():
    by_base, _ = partial_terms(np.power, Var("y"), Var("a"), Const(2.0))
    assert show(by_base) == "a + a"


@pytest.mark.parametrize("function", [np.less, np.matmul, np.isnan, np.sum], ids=lambda f: f.__name__)
def test_what_has_no_derivative_as_a_term_is_an_error(function):
    with pytest.raises(NotImplementedError, match=f"{function.__name__}: "):
        partial_terms(function, Var("y"), Var("a"))


def test_a_rule_that_looks_at_its_operands_is_an_error(monkeypatch):
    from shiftreset_ad.rules import ELEMENTWISE
    from shiftreset_ad.rules.table import elementwise

    monkeypatch.setitem(ELEMENTWISE, np.sin, ELEMENTWISE[np.sin])
    elementwise(np.sin, lambda y, x: 1.0 if x > 0 else 2.0)
    with pytest.raises(NotImplementedError, match="sin: its derivative is not a term of the core language"):
        partial_terms(np.sin, Var("y"), Var("a"))
