"""What the machine can that Python cannot: continuations many times over, programs in explicit CPS, and any depth."""

import numpy as np
import pytest
from hypothesis import given, settings

from shiftreset_ad.formulations.language import Left, Right, call, list_of, parse, run
from tests.formulations.language.term_strategies import SETTINGS, programs

MULTI_SHOT = [
    ("reset (1.0 + (shift k in k (k 10.0)))", 12.0),
    ("reset (2.0 * (shift k in k 3.0 + k 4.0))", 14.0),
    # Danvy and Filinski 1990: non-determinism, every choice in turn.
    ("reset (let x = shift k in k 1.0 + k 2.0 in let y = shift k in k 10.0 + k 20.0 in x * y)", 90.0),
    ("let k = reset (10.0 * (shift k in k)) in k 1.0 + k 2.0", 30.0),
    ("let r = ref 0.0 in reset (r := !r + (shift k in k 1.0; k 2.0; 0.0)); !r", 2.0),
    ("let twice = fun f -> fun x -> f (f x) in reset (1.0 + (shift k in twice (twice k) 0.0))", 4.0),
]


@pytest.mark.parametrize(("text", "value"), MULTI_SHOT)
def test_a_continuation_may_be_called_any_number_of_times(text, value):
    assert run(parse(text)) == value


def test_a_list_of_all_choices():
    """Every pair of a bit and a bit, as the textbooks' `amb` gives them."""
    program = parse(
        """
        let rec append lists =
          case fst lists of
            _ -> snd lists
          | cons -> inr (fst cons, append (snd cons, snd lists))
        in
        reset (let x = shift k in append (k 0.0, k 1.0) in
               let y = shift k in append (k 0.0, k 1.0) in
               inr ((x, y), inl ()))
        """
    )
    bits = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)]
    expected = Left(())
    for pair in reversed(bits):
        expected = Right((pair, expected))
    assert run(program) == expected
    assert run(list_of(*(parse(str(pair)) for pair in bits))) == expected


def test_an_operation_in_explicit_cps_is_handed_the_rest_of_the_program():
    seen = []

    def operate(function, operands, rest):
        answer = rest(function(*operands))
        seen.append((function.__name__, operands, answer))
        return answer + 100.0

    result = run(parse("let x = 2.0 * 3.0 in (if x < 7.0 then x + 1.0 else x) - 4.0"), {}, lambda y: y, operate)
    assert result == 303.0
    assert seen == [("subtract", (7.0, 4.0), 3.0), ("add", (6.0, 1.0), 103.0), ("multiply", (2.0, 3.0), 203.0)]


def test_the_rest_may_be_left_or_run_again():
    def both_signs(function, operands, rest):
        y = function(*operands)
        return rest(y) + rest(-y) if function is np.sqrt else rest(y)

    assert run(parse("sqrt 4.0 + 10.0"), k=lambda y: [float(y)], operate=both_signs) == [12.0, 8.0]
    assert run(parse("sqrt 4.0 + 10.0"), operate=lambda function, operands, rest: "left") == "left"


def test_call_hands_the_value_of_a_function_to_a_continuation():
    f = run(parse("fun p -> fst p * snd p"))
    assert call(f, (2.0, 3.0), lambda y: -y) == -6.0
    trace = []

    def operate(function, operands, rest):
        trace.append(operands)
        return rest(function(*operands))

    assert call(f, (2.0, 3.0), lambda y: [y], operate) == [6.0]
    assert trace == [(2.0, 3.0)]
    assert call(np.sin, 0.0, lambda y: y) == 0.0


@pytest.mark.slow
@settings(SETTINGS, max_examples=120)
@given(programs())
def test_explicit_cps_computes_the_same(program):
    try:
        value = run(program)
    except TypeError:  # a shift without a reset
        with pytest.raises(TypeError, match="no reset"):
            run(program, operate=lambda function, operands, rest: rest(function(*operands)))
        return
    assert run(program, operate=lambda function, operands, rest: rest(function(*operands))) == value
    assert run(program, k=lambda y: ("done", y)) == ("done", value)


def test_no_program_is_too_deep():
    sums = "let rec sum n = if n < 0.5 then 0.0 else n + sum (n - 1.0) in reset (1.0 + (shift k in k (sum 4000.0)))"
    assert run(parse(sums)) == 1 + 4_000 * 4_001 / 2
    term = parse("1.0")
    for _ in range(4_000):
        term = term + 1.0
    assert run(term) == 4_001


def test_functions_of_the_machine_are_no_pairs():
    with pytest.raises(TypeError, match="fst: expected a pair"):
        run(parse("reset (1.0 + (shift k in fst k))"))
