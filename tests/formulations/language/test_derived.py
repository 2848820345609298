"""The derived constructs mean what they stand for, on both interpreters."""

import numpy as np
import pytest

from shiftreset_ad.formulations.language import (
    FALSE,
    TRUE,
    Const,
    Deref,
    Lam,
    Let,
    Ref,
    Var,
    add_to,
    branch,
    evaluate,
    free_variables,
    if_then_else,
    leaf,
    let_pair,
    letrec,
    list_of,
    parse,
    repeat,
    run,
    sequence,
    unary,
)

x, y, r = map(Var, "xyr")
INTERPRETERS = pytest.mark.parametrize("interpret", [evaluate, run])


@INTERPRETERS
def test_conditionals_are_cases_of_sums_of_units(interpret):
    assert interpret(if_then_else(TRUE, Const(1.0), Const(2.0))) == 1.0
    assert interpret(if_then_else(FALSE, Const(1.0), Const(2.0))) == 2.0
    assert interpret(parse("1.0 < 2.0")) == interpret(TRUE)
    assert interpret(parse("2.0 < 1.0")) == interpret(FALSE)
    # Only one branch is run.
    assert interpret(if_then_else(x < 1.0, x, Var("unbound")), {"x": 0.0}) == 0.0


@INTERPRETERS
def test_sequences_and_increments(interpret):
    program = Let("r", Ref(x), sequence(add_to(r, Const(2.0)), add_to(r, Deref(r)), Deref(r)))
    assert interpret(program, {"x": 1.0}) == 6.0
    assert sequence(x) == x


@INTERPRETERS
def test_pairs_are_taken_apart(interpret):
    assert interpret(let_pair("x", "y", parse("(x + 1.0, 10.0)"), x * y), {"x": 2.0}) == 30.0
    assert interpret(let_pair("x", "x", parse("(1.0, 2.0)"), x)) == 2.0
    assert interpret(let_pair("pair", "y", parse("(pair, 2.0)"), parse("pair * y")), {"pair": 3.0}) == 6.0


FACTORIAL = "let rec factorial n = if n < 1.0 then 1.0 else n * factorial (n - 1.0) in factorial 5.0"
POWER = "let rec power' n = if n < 1.0 then 1.0 else x * power' (n - 1.0) in power' 3.0"
SHADOWED = "let rec f f = f + 1.0 in f 2.0"


@INTERPRETERS
@pytest.mark.parametrize(("text", "value"), [(FACTORIAL, 120.0), (POWER, 8.0), (SHADOWED, 3.0)])
def test_recursive_functions(interpret, text, value):
    assert interpret(parse(text), {"x": 2.0}) == value


@INTERPRETERS
def test_a_recursive_function_is_seen_in_its_body_and_after_it_only(interpret):
    term = letrec("f", "n", parse("g n"), parse("f 1.0 + f 2.0"))
    assert free_variables(term) == {"g"}
    assert interpret(term, {"g": np.negative, "f": None}) == -3.0


@INTERPRETERS
@pytest.mark.parametrize("times", [0, 1, 5, 300])
def test_a_loop_runs_as_often_as_it_says(interpret, times):
    term = repeat(times, Lam("x", x + y), Const(1.0))
    assert free_variables(term) == {"y"}
    assert interpret(term, {"y": 0.5}) == 1.0 + 0.5 * times


@INTERPRETERS
def test_a_loop_captures_no_names(interpret):
    term = repeat(3, parse("fun x -> x * step + loop + state + rest"), parse("step + loop"))
    step, loop, state, rest = 2.0, 3.0, 5.0, 7.0
    value = step + loop
    for _ in range(3):
        value = value * step + loop + state + rest
    assert interpret(term, {"step": step, "loop": loop, "state": state, "rest": rest}) == value


def _as_text(n):
    return "inl ()" if n == 0 else f"inr ({_as_text(n - 1)})"


@pytest.mark.parametrize("n", [0, 1, 3])
def test_numbers_in_unary(n):
    assert unary(n) == parse(_as_text(n))


@INTERPRETERS
def test_lists_are_folded(interpret):
    total = "let rec sum list = case list of _ -> 0.0 | cons -> fst cons + sum (snd cons) in sum"
    assert interpret(parse(total)(list_of(x, y, x * y)), {"x": 2.0, "y": 3.0}) == 11.0
    assert interpret(parse(total)(list_of())) == 0.0
    assert list_of() == parse("inl ()")
    assert list_of(x, y) == parse("inr (x, inr (y, inl ()))")


@INTERPRETERS
def test_trees_are_folded(interpret):
    """The product of the leaves of a tree, which is a sum of a leaf and of a pair of trees, as in Fig. 3."""
    product = "let rec product tree = case tree of x -> x | b -> product (fst b) * product (snd b) in product"
    tree = branch(branch(leaf(x), leaf(y)), leaf(x + y))
    assert interpret(parse(product)(tree), {"x": 2.0, "y": 3.0}) == 30.0
    as_printed = parse("inr (inl 5.0, inl 6.0)")
    assert as_printed == branch(leaf(Const(5.0)), leaf(Const(6.0)))
    assert interpret(parse(product)(as_printed), {}) == 30.0
