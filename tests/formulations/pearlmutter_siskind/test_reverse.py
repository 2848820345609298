"""The transform of lambda terms."""

import numpy as np
import pytest

from shiftreset_ad.formulations import language
from shiftreset_ad.formulations.language import Const, Lam, Let, Pair, Var, evaluate, free_variables, parse, show
from shiftreset_ad.formulations.pearlmutter_siskind import J, Procedure, call, run, transform, zero


def test_the_transform_of_the_worked_example():
    """Section 3: f = fun a -> ((fun b -> fun c -> b) a) 1."""
    assert show(transform(parse("fun a -> ((fun b -> fun c -> b) a) 1.0"))) == (
        "fun a' ->\n"
        "  let t1' =\n"
        "    fun b' ->\n"
        "      let t' =\n"
        "        fun c' ->\n"
        "          let back =\n"
        "            fun b_sens ->\n"
        "              let environment = () in\n"
        "              let environment1 = (b_sens, environment) in\n"
        "              let c = J_inverse c' in\n"
        "              let c_sens = zero c in let sensitivities = (environment1, c_sens) in sensitivities\n"
        "          in\n"
        "          let answer = (b', back) in answer\n"
        "      in\n"
        "      let back =\n"
        "        fun t_sens ->\n"
        "          let b_sens = fst t_sens in\n"
        "          let environment = () in let sensitivities = (environment, b_sens) in sensitivities\n"
        "      in\n"
        "      let answer = (t', back) in answer\n"
        "  in\n"
        "  let both = t1' a' in\n"
        "  let t2' = fst both in\n"
        "  let t2_back = snd both in\n"
        "  let t3' = 1.0 in\n"
        "  let both1 = t2' t3' in\n"
        "  let t4' = fst both1 in\n"
        "  let t4_back = snd both1 in\n"
        "  let back =\n"
        "    fun t4_sens ->\n"
        "      let both2 = t4_back t4_sens in\n"
        "      let t2_sens = fst both2 in\n"
        "      let t3_sens = snd both2 in\n"
        "      let both3 = t2_back t2_sens in\n"
        "      let t1_sens = fst both3 in\n"
        "      let a_sens = snd both3 in\n"
        "      let environment = () in let sensitivities = (environment, a_sens) in sensitivities\n"
        "  in\n"
        "  let answer = (t4', back) in answer"
    )


def test_the_worked_example_step_by_step():
    """The sensitivity goes from the call of k to its environment, and from there to a."""
    g = run(parse("fun b -> fun c -> b"))
    k, k_back = call(J(g), 3.0)
    y, y_back = call(k, 1.0)
    assert y == 3.0
    assert call(y_back, 1.0) == ((1.0, ()), 0.0)  # of k, which has b in its environment, and of c
    assert call(k_back, (1.0, ())) == ((), 1.0)  # of g, which has nothing, and of b
    f = run(parse("fun a -> ((fun b -> fun c -> b) a) 1.0"))
    y, back = call(J(f), 3.0)
    assert (y, call(back, 1.0)) == (3.0, ((), 1.0))


def test_a_variable_that_is_used_twice_gets_the_sum():
    assert show(transform(parse("fun x -> (x, x)"))) == (
        "fun x' ->\n"
        "  let t' = (x', x') in\n"
        "  let back =\n"
        "    fun t_sens ->\n"
        "      let x_sens = fst t_sens in\n"
        "      let x_sens1 = snd t_sens in\n"
        "      let both = (x_sens, x_sens1) in\n"
        "      let x_sens2 = plus both in\n"
        "      let environment = () in let sensitivities = (environment, x_sens2) in sensitivities\n"
        "  in\n"
        "  let answer = (t', back) in answer"
    )


def test_what_is_not_used_is_not_gone_back_through():
    assert "sin'" in show(transform(parse("fun x -> let y = sin x in x")))
    assert "y_back " not in show(transform(parse("fun x -> let y = sin x in x"))).partition("fun x_sens")[2]
    _, back = call(J(run(parse("fun x -> let y = sqrt x in 2.0 * x"))), 0.0)
    assert call(back, 1.0) == ((), 2.0)
    _, back = call(J(run(parse("fun x -> let p = (sqrt x, x) in snd p"))), 0.0)
    with np.errstate(all="ignore"):
        assert np.isnan(call(back, 1.0)[1])  # zero times infinity: what is in a structure is gone back through


def test_free_variables_get_a_prime_and_are_in_the_environment():
    term = transform(parse("fun x -> a * x + f a"))
    assert free_variables(term) == {"a'", "f'"}
    program = Lam("a'", Lam("f'", term))
    image = call(call(run(program), 2.0), J(run(parse("fun y -> y * y"))))
    y, back = call(image, 5.0)
    assert (y, call(back, 1.0)) == (14.0, ((5.0 + 4.0, ((), ())), 2.0))


PROGRAMS = [
    ("fun x -> x * x * sin x", 1.5),
    ("fun x -> let y = x * x in let z = y * y in z + exp z / y", 0.7),
    ("fun p -> fst p * snd p + arctan2 (fst p) 2.0", (1.5, -0.5)),
    ("fun x -> let y = x in 3.0", 2.0),
]


@pytest.mark.parametrize(("text", "x"), PROGRAMS)
def test_all_interpreters_run_the_transform_of_a_program_without_functions(text, x):
    """What `zero` must look into are then no functions."""
    f = transform(parse(text))
    y, back = call(run(f), x)
    expected = y, call(back, 1.0)
    y, back = evaluate(f)(x)
    assert (y, back(1.0)) == expected
    body = Let("r", f(Const(x)), Pair(parse("fst r"), parse("(snd r) 1.0")))
    assert language.run(body) == expected
    np.testing.assert_equal(evaluate(parse(text))(x), y)


def test_the_transform_can_be_transformed():
    twice = transform(transform(parse("fun x -> x * x")))
    assert free_variables(twice) == set()
    answer, back_of_both = call(run(twice), 3.0)
    y, back = answer
    assert y == 9.0
    assert call(back_of_both, (1.0, zero(back))) == ((), 6.0)
    (environment, slope), back_of_slope = call(back, 1.0)
    assert (environment, slope) == ((), 6.0)
    back_sens, s_sens = call(back_of_slope, ((), 1.0))  # of the backpropagator, and of its argument
    assert s_sens == 6.0
    assert call(back_of_both, (0.0, back_sens)) == ((), 2.0)  # the second derivative


def test_transformed_names_do_not_meet():
    """x' of the program that is transformed is not the x' that x becomes."""
    image = run(parse("fun x -> let x' = x * x in let x_sens = x' + x in (fun x'' -> x_sens * x * x'') x'"))
    image = J(J(J(image)))
    waiting = [image.procedure]
    for procedure in waiting:
        bound = [procedure.parameter, *(name for name, _ in procedure.bindings)]
        assert len(bound) == len(set(bound))
        waiting += [binding for _, binding in procedure.bindings if isinstance(binding, Procedure)]
    assert len(waiting) > 10


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match=r"expected a function, fun x -> \.\.\.; got 1\.0"):
        transform(Const(1.0))
    with pytest.raises(TypeError, match="references"):
        transform(parse("fun x -> !x"))
    assert isinstance(transform(Lam("x", Var("x"))), Lam)
