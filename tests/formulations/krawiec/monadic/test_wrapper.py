"""Fig. 4, 10 and 16: the wrappers F and R as closed terms of any first-order type, and the criteria of Fig. 2."""

import pytest

from shiftreset_ad.formulations.krawiec import source_duals, structured
from shiftreset_ad.formulations.krawiec.monadic.monad import CONSTANTS, TYPES
from shiftreset_ad.formulations.krawiec.monadic.translation import of_type
from shiftreset_ad.formulations.krawiec.monadic.wrapper import init_vars, init_zeros, look_up, reverse, vjp
from shiftreset_ad.formulations.language import Const, Fst, Lam, Left, Right, Var, call, evaluate, parse, run
from shiftreset_ad.formulations.language.checker import infer
from shiftreset_ad.formulations.language.discrete import Integer
from shiftreset_ad.formulations.language.types import INTEGER, REAL, STRING, UNIT, either, function, product

SUM = either(REAL, product(REAL, REAL))
# A main expression, its type, an argument, a change of the argument, and a change of the result.
CASES = {
    "R to R": ("fun x -> x * sin x", function(REAL, REAL), 1.5, 2.0, 3.0),
    "pairs": (
        "fun x -> (fst x * snd x, (sin (fst x), 2.0))",
        function(product(REAL, REAL), product(REAL, product(REAL, REAL))),
        (1.5, -0.5),
        (1.0, 2.0),
        (0.5, (0.25, 3.0)),
    ),
    "a sum as the argument": (
        "fun x -> case x of y -> y * y | z -> fst z * sin (snd z)",
        function(SUM, REAL),
        Right((1.5, 0.5)),
        Right((1.0, 2.0)),
        2.0,
    ),
    "a sum as the result": (
        "fun x -> if x < 1.0 then inl (x * x) else inr (x, 3.0 * x)",
        function(REAL, SUM),
        2.0,
        1.0,
        Right((2.0, 5.0)),
    ),
    "a discrete part": (
        "fun x -> (snd x, fst x * fst x)",
        function(product(REAL, INTEGER), product(INTEGER, REAL)),
        (3.0, Integer(4)),
        (1.0, Integer(4)),
        (Integer(4), 2.0),
    ),
    "a string": (
        "fun x -> (snd x, 2.0 * fst x)",
        function(product(REAL, STRING), product(STRING, REAL)),
        (3.0, "name"),
        (1.0, "name"),
        ("name", 2.0),
    ),
    "a constant": ("fun x -> (3.0, ())", function(REAL, product(REAL, UNIT)), 1.0, 2.0, (5.0, ())),
}


def numbers(value):
    match value:
        case Left(part) | Right(part):
            return numbers(part)
        case tuple():
            return [x for part in value for x in numbers(part)]
    return [float(value)] if isinstance(value, float) else []


def dot(a, b):
    return sum(x * y for x, y in zip(numbers(a), numbers(b), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_types_of_the_wrappers(name):
    """F{e} : S * dS -> dT, and R{e} : S * dT -> dS, where dA is A."""
    program, t, *_ = CASES[name]
    source, target = t.parts
    for term, context, expected in (
        (source_duals.forward(parse(program), t), {}, function(product(source, source), target)),
        (reverse(parse(program), t), TYPES, function(product(source, target), source)),
    ):
        assert infer(term, context, expected) == expected


@pytest.mark.parametrize("name", CASES)
def test_fig_2_and_lemma_1(name):
    """Lemma 1, of the two wrappers: dt . F{e}(s, ds) = R{e}(s, dt) . ds."""
    program, t, s, ds, dt = CASES[name]
    e = parse(program)
    pushed = call(run(source_duals.forward(e, t)), (s, ds), lambda y: y)
    pulled = vjp(e, t)(s, dt)
    assert dot(dt, pushed) == pytest.approx(dot(pulled, ds), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("a discrete part", "a string")])
def test_the_reverse_derivative_is_that_of_the_room_structured(name):
    program, t, s, _, dt = CASES[name]
    _, pullback = structured.vjp(evaluate(parse(program)))(s)
    assert numbers(vjp(parse(program), t)(s, dt)) == pytest.approx(numbers(pullback(dt)))


def test_a_sum_keeps_its_shape():
    program, t, s, *_ = CASES["a sum as the argument"]
    assert isinstance(vjp(parse(program), t)(s, 1.0), Right)
    program, t, s, *_ = CASES["a sum as the result"]
    with pytest.raises(TypeError, match="fst: expected a pair"):
        vjp(parse(program), t)(s, Left(1.0))


def test_polytypic_functions_of_fig_16():
    s = product(REAL, either(INTEGER, product(REAL, REAL)))
    for term, expected in (
        (init_vars(s), function(product(s, INTEGER), product(of_type(s), INTEGER))),
        (init_zeros(s), function(s, of_type(s))),
        (look_up(s), function(product(TYPES["emptyMap"], of_type(s)), s)),
    ):
        assert infer(term, TYPES, expected) == expected


def test_names_are_given_from_left_to_right():
    s = product(product(REAL, REAL), either(INTEGER, REAL))
    dual, last = call(run(init_vars(s), CONSTANTS), (((1.0, 2.0), Right(3.0)), Integer(0)), lambda y: y)
    (a, b), c = dual
    assert [a[1].uid, b[1].uid, c.value[1].uid, last] == [Integer(1), Integer(2), Integer(3), Integer(3)]
    _, last = call(run(init_vars(s), CONSTANTS), (((1.0, 2.0), Left(Integer(7))), Integer(0)), lambda y: y)
    assert last == Integer(2)  # the number of names depends on the value, too


def test_main_expressions_that_are_not_first_order():
    with pytest.raises(TypeError, match="first-order types"):
        reverse(Lam("f", Var("f")(Const(1.0)) + 1.0))
    with pytest.raises(TypeError, match="first-order types"):
        source_duals.forward(parse("fun x -> fun y -> x * y"))
    assert vjp(Lam("x", Fst(Var("x")) * 2.0))((1.0, ()), 1.0) == (2.0, ())
