"""What holds for each of the paper's constructions."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import optree
import pytest

import shiftreset_ad
from shiftreset_ad.formulations.krawiec import (
    array_backed,
    arrays,
    delta,
    dense,
    duals,
    fusion,
    monadic,
    sharing,
    source_duals,
    source_sharing,
    structured,
)
from shiftreset_ad.formulations.language import evaluate, parse

OVERLOADED = (duals, dense, delta, sharing, array_backed, structured, arrays, fusion)
TRANSLATIONS = (source_duals, source_sharing, monadic)
each = pytest.mark.parametrize("room", OVERLOADED, ids=lambda room: room.__name__.rpartition(".")[2])
each_translation = pytest.mark.parametrize("room", TRANSLATIONS, ids=lambda room: room.__name__.rpartition(".")[2])
each_at_all = pytest.mark.parametrize(
    "room", OVERLOADED + TRANSLATIONS, ids=lambda room: room.__name__.rpartition(".")[2]
)


def assert_same(found, expected, tolerance=1e-12):
    assert optree.tree_structure(found) == optree.tree_structure(expected)
    np.testing.assert_allclose(optree.tree_leaves(found), optree.tree_leaves(expected), rtol=tolerance, atol=1e-14)


TERMS = {
    "a product": ("fun x -> x * x", 3.0),
    "a constant": ("fun x -> 3.0", 3.0),
    "the argument": ("fun x -> x", 3.0),
    "pairs": ("fun x -> fst x * snd x + sin (fst x)", (1.5, -0.5)),
    "an unused input": ("fun x -> fst (snd x) * fst (snd x)", (1.0, (2.0, 3.0))),
    "shadowing": ("fun x -> let x = x * x in let x = x * x in x", 1.5),
    "names of the translation": (
        "fun return -> let bind = return * return in let deltaLet = bind * return in "
        "let add = fun scale -> scale * deltaLet in let zero = add bind in let v = zero * return in v + zero",
        1.2,
    ),
    "names of the duals": ("fun y -> let p = y * y in let x = p * y in let x_dot = x * p in x_dot * x + y", 1.2),
    "higher order": ("fun x -> let twice = fun f -> fun y -> f (f y) in twice (twice (fun y -> y * x)) x", 1.1),
    "a function in a pair": ("fun x -> let p = (fun y -> y * x, x) in (fst p) (snd p)", 1.5),
    "a sum": ("fun x -> case (if x < 1.0 then inl x else inr (x, 2.0)) of y -> y | z -> fst z * snd z * x", 1.5),
    "the other side": ("fun x -> case (if x < 1.0 then inl x else inr (x, 2.0)) of y -> y * y | z -> fst z", 0.5),
    "recursion": ("fun x -> let rec f n = if n < 1.0 then 1.0 else x * f (n - 1.0) in f 4.0", 1.5),
    "functions of two": ("fun x -> arctan2 x (2.0 + x) - 1.0 / (1.0 + exp x) - hypot x 2.0", 0.7),
    "a reference": ("fun x -> let r = ref x in r := !r * x; r := !r * x; !r", 1.5),
    "order of evaluation": ("fun x -> let r = ref x in !r * (r := x * x; !r) + !r", 1.5),
    "a counter": ("fun x -> let r = ref 1.0 in let f = fun y -> r := !r * y; !r in f x + f x + f x", 1.5),
}


@each_at_all
@pytest.mark.parametrize("case", TERMS)
def test_terms(room, case):
    text, x = TERMS[case]
    assert_same(room.grad(parse(text))(x), shiftreset_ad.grad(evaluate(parse(text)))(x))


@each
@pytest.mark.parametrize("case", TERMS)
def test_the_same_program_in_python(room, case):
    text, x = TERMS[case]
    assert_same(room.grad(evaluate(parse(text)))(x), room.grad(parse(text))(x), 0.0)


@dataclass
class Point:
    x: float
    y: float
    name: str


@each
def test_structured_argument(room):
    def f(p):
        return p["point"].x * np.sin(p["point"].y) + p["weights"][0] * p["weights"][1][0]

    p = {"point": Point(2.0, 3.0, "p"), "weights": [4.0, (5.0, 6)]}
    gradient = room.grad(f)(p)
    assert gradient == {"point": Point(np.sin(3.0), 2.0 * np.cos(3.0), None), "weights": [5.0, (4.0, None)]}


@each
def test_against_finite_differences(room):
    def f(x):
        return np.exp(x[0] / x[1]) * np.sqrt(x[1]) - np.tanh(x[0] * x[1]) ** 2.0 / x[1]

    x, h = (0.7, 1.3), 1e-6
    differences = (
        (f((x[0] + h, x[1])) - f((x[0] - h, x[1]))) / (2 * h),
        (f((x[0], x[1] + h)) - f((x[0], x[1] - h))) / (2 * h),
    )
    assert_same(room.grad(f)(x), differences, 1e-8)


# Figure 14: new primitives. The paper adds sin, cos and atan2 by their partial derivatives; here the table has them.


@each
def test_sin_cos_and_atan2(room):
    assert room.grad(lambda x: np.sin(x))(0.3) == pytest.approx(np.cos(0.3))
    assert room.grad(lambda x: np.cos(x))(0.3) == pytest.approx(-np.sin(0.3))
    a, b = room.grad(lambda x: np.arctan2(x[0], x[1]))((0.3, -0.4))
    assert (a, b) == pytest.approx((-0.4 / 0.25, -0.3 / 0.25))


@each_translation
def test_sin_cos_and_atan2_in_a_term(room):
    assert room.grad(parse("fun x -> sin x"))(0.3) == pytest.approx(np.cos(0.3))
    assert room.grad(parse("fun x -> cos x"))(0.3) == pytest.approx(-np.sin(0.3))
    assert room.grad(parse("fun x -> arctan2 (fst x) (snd x)"))((0.3, -0.4)) == pytest.approx((-1.6, -1.2))


POINTS = (0.3, 0.4)
SMOOTH = [np.exp2, np.log1p, np.tan, np.arcsin, np.sinh, np.cbrt, np.reciprocal, np.expm1, np.absolute, np.square]


@each
@pytest.mark.parametrize("function", SMOOTH, ids=lambda function: function.__name__)
def test_any_function_of_the_table(room, function):
    assert room.grad(function)(0.3) == pytest.approx(shiftreset_ad.grad(function)(0.3), rel=1e-13)


@each
@pytest.mark.parametrize(
    "function", [np.power, np.hypot, np.maximum, np.logaddexp, np.divide], ids=lambda f: f.__name__
)
def test_any_function_of_two(room, function):
    f = lambda x: function(x[0], x[1])  # noqa: E731
    assert_same(room.grad(f)(POINTS), shiftreset_ad.grad(f)(POINTS))


# Higher order


@each
def test_third_order(room):
    third = room.grad(room.grad(room.grad(lambda x: np.sin(x) * x)))
    assert third(0.5) == pytest.approx(-3 * np.sin(0.5) - 0.5 * np.cos(0.5))


@each
def test_perturbations_are_not_confused(room):
    grad = room.grad
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert grad(lambda x: x * grad(lambda y: x * y * y)(x))(3.0) == pytest.approx(54.0)

    assert grad(lambda x: x * grad(lambda y: x * x)(1.0))(3.0) == 0.0  # a constant to the inner derivative

    def nested(x):  # x * d/dy (y * d/dz (x * y * z**2) at y) at x = 6 x**4
        return x * grad(lambda y: y * grad(lambda z: x * y * z * z)(y))(x)

    assert nested(1.5) == pytest.approx(6 * 1.5**4)
    assert grad(nested)(1.5) == pytest.approx(24 * 1.5**3)
    assert grad(grad(nested))(1.5) == pytest.approx(72 * 1.5**2)


@each
def test_hessian_of_a_structure(room):
    def along(x):
        gradient = room.grad(lambda x: x["a"] * x["a"] * x["b"])(x)
        return gradient["a"] * 2.0 + gradient["b"] * 3.0

    assert room.grad(along)({"a": 5.0, "b": 7.0}) == {"a": 2 * 2 * 7.0 + 3 * 2 * 5.0, "b": 2 * 2 * 5.0}


@each
def test_second_order_of_functions_that_look_at_their_operands(room):
    second = room.grad(room.grad(lambda x: np.power(x, 3.0) + np.hypot(x, 1.0) + np.absolute(x)))
    assert second(2.0) == pytest.approx(12.0 + 5.0**-1.5)


# Any numbers as primals


@each_at_all
def test_inside_a_derivative_of_the_library(room):
    program = parse("fun x -> let y = x * x in y * sin y")
    assert shiftreset_ad.grad(room.grad(program))(0.8) == pytest.approx(
        shiftreset_ad.grad(shiftreset_ad.grad(evaluate(program)))(0.8)
    )


# Errors


@each_at_all
@pytest.mark.parametrize("result", ["(x, x)", "inl x", "()", "fun y -> x"])
def test_result_that_is_no_number(room, result):
    with pytest.raises(TypeError, match=r"grad: .* (a|one) number"):
        room.grad(parse(f"fun x -> {result}"))(1.0)


@each_at_all
def test_free_variable(room):
    with pytest.raises(NameError, match="y"):
        room.grad(parse("fun x -> x * y"))(1.0)


@each_at_all
def test_what_is_no_function(room):
    with pytest.raises(TypeError, match=r"grad: .*function.*3\.0"):
        room.grad(3.0)(1.0)


@each_translation
def test_python_function_in_a_room_for_terms(room):
    with pytest.raises(TypeError, match="takes a term"):
        room.grad(lambda x: x)


@each
def test_number_that_has_left_its_derivative(room):
    kept = SimpleNamespace()

    def f(x):
        def g(y):
            kept.number = y * x
            return kept.number

        return room.grad(g)(x) * 0.0 + kept.number

    with pytest.raises(ValueError, match="inner derivative"):
        room.grad(f)(2.0)


@each
def test_state_is_clean_after_an_error(room):
    def fails(x):
        room.grad(lambda y: y * x)(2.0)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        room.grad(fails)(1.0)
    assert room.grad(lambda x: x * x)(3.0) == 6.0


@each
def test_function_that_the_table_does_not_have(room):
    with pytest.raises(NotImplementedError, match="spacing"):
        room.grad(np.spacing)(1.0)


@each
def test_branches_go_by_the_value(room):
    assert room.grad(lambda x: x * x if x > 1.0 else 3.0 * x)(2.0) == 4.0
    assert room.grad(lambda x: x * x if x > 1.0 else 3.0 * x)(0.5) == 3.0
    assert room.grad(lambda x: 2 if x > 1.0 else x)(2.0) == 0.0
