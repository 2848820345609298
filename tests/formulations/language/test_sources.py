"""What a source transformation begins with: its program, its constants, its argument."""

import numpy as np
import pytest

from shiftreset_ad.formulations.language import Cell, Const, Left, Names, Pair, Right, Var, evaluate, parse
from shiftreset_ad.formulations.language.sources import Argument, checked, is_real, literal, source, subterms


def test_source_has_distinct_names():
    assert str(source("grad", parse("fun x -> let x = x in x"))) == "fun x -> let x1 = x in x1"


def test_errors_name_the_transformation_and_the_remedy():
    with pytest.raises(TypeError, match=r"jvp: expected a term for a function.*language\.parse"):
        source("jvp", abs)
    with pytest.raises(NameError, match=r"jvp: y is free in the term; bind it by let"):
        source("jvp", parse("fun x -> y"))
    for text in ("reset x", "shift k in x", "fun y -> reset y"):
        with pytest.raises(TypeError, match=r"jvp: there is shift or reset in the program.*wang\.cps\.direct"):
            source("jvp", parse(f"fun x -> {text}"))
    assert source("cps", parse("reset 1.0"), with_control=True) == parse("reset 1.0")


def test_subterms():
    assert len(list(subterms(parse("fun x -> x + 1.0")))) == 4


@pytest.mark.parametrize("value", [1.0, np.float32(1.0), 2, np.int64(2)])
def test_real_numbers(value):
    assert is_real(value)
    assert literal(value, lambda c: Pair(c, Const(0.0))) == Pair(Const(value), Const(0.0))


@pytest.mark.parametrize("value", [True, np.True_, "x", None, ()])
def test_values_that_are_no_real_numbers(value):
    assert not is_real(value)
    assert literal(value, lambda c: Pair(c, c)) == Const(value)


def test_structured_constants_are_spelled_out():
    value = (1.0, Left((True, Right(2.0))))
    assert evaluate(literal(value, lambda c: 10.0 * c)) == (10.0, Left((True, Right(20.0))))
    deep = Left(())
    for _ in range(3000):
        deep = Right((1.0, deep))
    assert literal(deep, lambda c: c).value.first == Const(1.0)


@pytest.mark.parametrize("value", [len, Cell(1.0), np.ones(2), [1.0], (1.0, 2.0, 3.0), 1j])
def test_values_that_cannot_be_looked_into(value):
    for value_inside in (value, (1.0, value), Left(value)):
        with pytest.raises(TypeError, match="made of real numbers"):
            literal(value_inside, lambda c: c)
        with pytest.raises(TypeError, match="grad: the argument of a source transformation is made of real numbers"):
            Argument("grad", (1.0, value_inside), "x", Names())


def test_an_answer_that_is_no_dual():
    for dual in ((1.0, 2.0), (1.0, Cell(0.0))):
        assert evaluate(checked("jvp", Const(dual))) is dual
    for other in (1.0, (), (1.0, ()), ((1.0, 0.0), (2.0, 0.0)), Left((1.0, 0.0))):
        with pytest.raises(TypeError, match="jvp: the function must answer with a real number"):
            evaluate(checked("jvp", Const(other)))


def test_argument():
    example = (1.0, Left((2, Right((3.0, ("name", ()))))))
    argument = Argument("grad", example, "x", Names(used=["x"]))
    assert len(argument.reals) == 2
    doubled = argument.let(argument.dual([10.0 * real for real in argument.reals], lambda n: Pair(n, Const(0.0))))
    assert evaluate(doubled, {"x": example}) == (10.0, Left(((2, 0.0), Right((30.0, ("name", ()))))))
    derivative = argument.let(argument.derivative(argument.reals))
    assert evaluate(derivative, {"x": example}) == (1.0, Left((None, Right((3.0, (None, ()))))))
    with pytest.raises(TypeError):
        evaluate(derivative, {"x": (1.0, Right(2.0))})


def test_argument_that_is_a_number_has_nothing_to_bind():
    argument = Argument("grad", 1.0, "x", Names())
    assert argument.reals == [Var("x")]
    assert argument.let(Var("y")) == Var("y")


@pytest.mark.parametrize("example", [3, (), True, (1, Left(()))])
def test_argument_without_floats(example):
    with pytest.raises(TypeError, match="grad: the argument has no floating-point number"):
        Argument("grad", example, "x", Names())


def test_outlines_are_those_of_the_structure():
    def outline(example):
        return Argument("jvp", example, "x", Names()).outline

    assert outline((1.0, 2)) == outline((3.0, "a"))
    assert outline((1.0, 2.0)) != outline((1.0, (2.0, 3.0)))
    assert outline(Left(1.0)) != outline(Right(1.0))
