"""Builders of target terms, with the normalisation of the wavy underline."""

import numpy as np

from shiftreset_ad.formulations.language import (
    App,
    Assign,
    Const,
    Deref,
    Lam,
    Let,
    Names,
    Pair,
    Var,
    answer_of,
    distinct,
    evaluate,
    parse,
)
from shiftreset_ad.formulations.language.wavy import (
    EFFECTS,
    MEMORY,
    Hat,
    evaluates,
    immediately,
    let_all,
    slopes,
    times,
    wavy_lam,
    wavy_let,
)

X, Y, K = Var("x"), Var("y"), Var("k")


def test_eta_contracts_a_call_of_a_variable_only():
    assert wavy_lam("y", App(K, Y)) == K
    assert wavy_lam("y", App(Y, Y)) == Lam("y", App(Y, Y))
    assert wavy_lam("y", App(K, X)) == Lam("y", App(K, X))
    assert wavy_lam("y", Y) == Lam("y", Y)
    call = App(App(K, X), Y)  # would be evaluated earlier, and once
    assert wavy_lam("y", call) == Lam("y", call)


def test_let_of_a_variable_is_that_variable():
    names = Names(K)
    k, let_k = wavy_let(names, "k", K)
    assert (k, let_k(App(k, X))) == (K, App(K, X))
    k, let_k = wavy_let(names, "k", Lam("y", Y))
    assert k == Var("k1")
    assert let_k(App(k, X)) == Let("k1", Lam("y", Y), App(k, X))


def test_hats():
    names = Names(parse("fun x -> x1"))
    first, second = Hat.fresh(names, "x"), Hat.fresh(names, "x")
    assert [first.primal, second.primal] == [Var("x2"), Var("x3")]
    term = let_all([first, second], [Pair(Const(2.0), Const(3.0)), first.whole], first.primal * second.prime)
    assert evaluate(term) == 6.0
    assert evaluate(distinct(term)) == 6.0


def test_slopes_leave_out_constants_and_zeros():
    names = Names()
    hats = [Hat.fresh(names, "a"), Hat.fresh(names, "b")]

    def found(function, *operands):
        return [(hat.primal.name, str(slope)) for hat, slope in slopes(function, Y, operands, hats)]

    assert found(np.add, X, X) == [("a", "1.0"), ("b", "1.0")]
    assert found(np.power, X, Const(2.0)) == [("a", "a + a")]
    assert found(np.multiply, Const(2.0), X) == [("b", "2.0")]
    assert found(np.copysign, X, X)[0][0] == "a"
    assert len(found(np.copysign, X, X)) == 1
    assert found(np.floor_divide, X, X) == []
    assert times(X, Const(1.0)) == X
    assert str(times(X, Y)) == "x * y"


def test_what_the_evaluation_of_a_term_comes_upon():
    assert evaluates(parse("(1.0, !r)"), *MEMORY)
    assert evaluates(Assign(X, Y), *MEMORY)
    assert not evaluates(parse("fun y -> !y"), *MEMORY)
    assert not evaluates(parse("(x, ref 0.0)"), *MEMORY)
    assert evaluates(parse("(x, ref 0.0)"), *EFFECTS)
    assert evaluates(parse("fst (f x)"), *EFFECTS)
    assert not evaluates(parse("fst x + snd (x, fun y -> f y)"), *EFFECTS)


def test_an_answer_that_is_there():
    assert answer_of(immediately(Deref(X))) == Deref(X)
