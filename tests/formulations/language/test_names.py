"""Free variables, renaming, and Barendregt's convention."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftreset_ad.formulations.language import (
    Case,
    Lam,
    Let,
    Names,
    Shift,
    Term,
    Var,
    children,
    distinct,
    evaluate,
    free_variables,
    letrec,
    parse,
    renamed,
    run,
    show,
)
from shiftreset_ad.formulations.language.grammar import KEYWORDS
from shiftreset_ad.formulations.language.names import names_in
from tests.formulations.language.term_strategies import NAMES, SETTINGS, TERMS, programs


def binders(term):
    """Every binding occurrence of a name."""
    match term:
        case Lam(name) | Shift(name) | Let(name):
            own = [name]
        case Case(_, left_name, _, right_name, _):
            own = [left_name, right_name]
        case _:
            own = []
    return own + [name for child in children(term) for name in binders(child)]


def nameless(term, scope=()):
    """The term with numbers for bound variables (de Bruijn): the same for terms that differ in bound names only."""

    def under(name, body):
        return nameless(body, (name, *scope))

    match term:
        case Var(name):
            return scope.index(name) if name in scope else name
        case Lam(name, body) | Shift(name, body):
            return type(term), under(name, body)
        case Let(name, value, body):
            return Let, nameless(value, scope), under(name, body)
        case Case(scrutinee, left_name, left, right_name, right):
            return Case, nameless(scrutinee, scope), under(left_name, left), under(right_name, right)
    parts = children(term)
    fields = (getattr(term, name) for name in term.__match_args__)
    return (
        type(term),
        *(x for x in fields if not isinstance(x, Term) and x != parts),
        *(nameless(x, scope) for x in parts),
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("fun x -> x y", {"y"}),
        ("let x = x in x", {"x"}),
        ("let x = y in x", {"y"}),
        ("x; fun x -> x", {"x"}),
        ("case x of x -> x | y -> y z", {"x", "z"}),
        ("case 1.0 of a -> b | b -> a", {"a", "b"}),
        ("reset (shift k in k y)", {"y"}),
        ("r := !s + ref t", {"r", "s", "t"}),
        ("let rec f n = f m in f g", {"m", "g"}),
        ("arctan2 a b", {"a", "b"}),
    ],
)
def test_free_variables(text, names):
    assert free_variables(parse(text)) == names


@pytest.mark.parametrize(
    ("text", "new", "expected"),
    [
        ("x + y", {"x": "a"}, "a + y"),
        ("x + y", {"x": "y", "y": "x"}, "y + x"),
        ("x (fun x -> x)", {"x": "a"}, "a (fun x -> x)"),
        ("let x = x in x", {"x": "a"}, "let x = a in x"),
        ("case x of x -> x | y -> x", {"x": "a"}, "case a of x -> x | y -> a"),
        ("shift x in x; y", {"x": "a", "y": "b"}, "shift x in x; b"),
    ],
)
def test_free_variables_are_renamed_and_bound_ones_are_not(text, new, expected):
    assert renamed(parse(text), new) == parse(expected)


@SETTINGS
@given(TERMS)
def test_distinct_terms_have_other_names_and_nothing_else(term):
    other = distinct(term)
    names = [name for name in binders(other) if name != "_"]
    assert len(set(names)) == len(names)
    assert free_variables(other) == free_variables(term)
    assert not set(names) & free_variables(term)
    assert not set(names) & KEYWORDS
    assert nameless(other) == nameless(term)
    assert parse(show(other)) == other


@SETTINGS
@given(TERMS, NAMES)
def test_what_is_renamed_and_renamed_back_is_the_same(term, name):
    fresh = Names(term).fresh(name)
    assert fresh not in names_in(term)
    assert renamed(renamed(term, {name: fresh}), {fresh: name}) == term
    assert free_variables(renamed(term, {name: fresh})) == {fresh if x == name else x for x in free_variables(term)}


@pytest.mark.slow
@settings(SETTINGS, max_examples=120)
@given(programs())
def test_distinct_programs_compute_the_same(program):
    assert run(distinct(program)) == run(program)


@pytest.mark.parametrize(
    "text",
    [
        "fun y -> fun y -> y + x",
        "let y = x in let x = 2.0 in y + x",
        "let x = x + 1.0 in let x = x * x in x",
        "(fun x1 -> fun x -> x1 + x) x 3.0",
        "case inl x of x -> case inr x of y -> y | x -> x * x | x -> x",
    ],
)
def test_no_variable_is_captured(text):
    term = parse(text)
    apply = (lambda f: f(3.0)(5.0)) if text.startswith("fun") else float
    assert apply(evaluate(distinct(term), {"x": 7.0})) == apply(evaluate(term, {"x": 7.0}))


def test_derived_constructs_do_not_capture_the_names_they_make():
    term = letrec("f", "n", parse("if n < 1.0 then f1 else f (n - 1.0)"), parse("f 2.0"))
    assert free_variables(term) == {"f1"}
    assert evaluate(term, {"f1": 5.0}) == 5.0


@pytest.mark.slow
@given(TERMS, st.sampled_from(["x", "x1", "x'", "log1", "exp2_", "_", "12"]))
@SETTINGS
def test_fresh_names_are_new_and_can_be_read(term, like):
    names = Names(term, used={"q"})
    fresh = [names.fresh(like) for _ in range(3)]
    assert len(set(fresh)) == 3
    assert not set(fresh) & (names_in(term) | {"q"})
    assert [parse(name) for name in fresh] == [Var(name) for name in fresh]


def test_deep_terms_are_renamed():
    term = Var("x")
    for i in range(2_000):
        term = Let("x", Var("x") + 1.0, term) if i % 2 else Lam("x", term)(Var("x") + 1.0)
    assert free_variables(term) == {"x"}
    assert free_variables(renamed(term, {"x": "y"})) == {"y"}
    assert len(names_in(distinct(term)) - {"x"}) == 2_000
