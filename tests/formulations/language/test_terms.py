"""Terms as values: how they are written in Python, compared, hashed, and taken apart."""

import pickle

import numpy as np
import pytest
from hypothesis import given

from shiftreset_ad.formulations.language import (
    App,
    Case,
    Const,
    Lam,
    Let,
    Pair,
    Primitive,
    Var,
    children,
    free_variables,
    parse,
    show,
    with_children,
)
from tests.formulations.language.term_strategies import SETTINGS, TERMS

x, y = Var("x"), Var("y")


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (x + y, "x + y"),
        (2.0 - x, "2.0 - x"),
        (x / 2.0, "x / 2.0"),
        (-x, "-x"),
        (abs(x), "absolute x"),
        (x**y, "power x y"),
        (x % y, "remainder x y"),
        (x // 2.0, "floor_divide x 2.0"),
        (np.arctan2(1.0, x), "arctan2 1.0 x"),
        (x < y, "x < y"),
        (x >= 1.0, "x >= 1.0"),
        (np.equal(x, y), "x == y"),
        (np.sign(x), "sign x"),
        (x(y), "x y"),
    ],
)
def test_python_operators_and_numpy_functions_write_terms(term, text):
    assert term == parse(text)


@SETTINGS
@given(TERMS, TERMS)
def test_terms_are_equal_if_they_are_built_alike(a, b):
    def rebuilt(term):
        return with_children(term, rebuilt)

    assert rebuilt(a) == a
    assert hash(rebuilt(a)) == hash(a)
    assert pickle.loads(pickle.dumps(a)) == a
    assert (a == b) == (show(a) == show(b)) or "-0.0" in show(Pair(a, b))
    assert (a != b) is not (a == b)
    assert Pair(a, b) != Pair(Pair(a, b), b)


def test_terms_that_differ_in_a_name_a_number_or_the_shape_are_different():
    terms = [x, y, Const(()), Const(1.0), Const(2.0), Lam("x", x), Lam("y", x), x + y, y + x, x - y, x(y), Pair(x, y)]
    terms += [Let("x", x, y), Let("y", x, y), Case(x, "x", x, "y", y), Case(x, "y", x, "x", y)]
    terms += [App(App(x, x), y), App(x, App(x, y))]
    for i, a in enumerate(terms):
        assert [a == b for b in terms] == [i == j for j in range(len(terms))]
    assert len({*terms, *terms}) == len(terms)
    assert x != "x"


def test_a_term_has_no_truth_value():
    with pytest.raises(TypeError, match="a term has no truth value"):
        bool(x < y)


def test_terms_are_immutable():
    with pytest.raises(AttributeError):
        x.name = "z"


def test_children_are_the_parts_from_left_to_right():
    assert children(Case(x, "a", y, "b", Const(()))) == (x, y, Const(()))
    assert children(Primitive(np.add, (x, y))) == (x, y)
    assert children(Lam("z", x)) == (x,)
    assert children(x) == children(Const(1.0)) == ()


def test_with_children_changes_each_part_once():
    term = parse("case x of a -> a + x | b -> (x, x)")
    changed = with_children(term, lambda part: Lam("z", part))
    assert changed == parse("case (fun z -> x) of a -> (fun z -> a + x) | b -> fun z -> (x, x)")
    assert with_children(x, lambda part: y) == x


def test_deep_terms_are_compared_and_hashed():
    def deep(end):
        for _ in range(4_000):
            end = np.sin(end)
        return end

    assert deep(x) == deep(x)
    assert deep(x) != deep(y)
    assert hash(deep(x)) == hash(deep(x))
    assert free_variables(deep(x)) == {"x"}
