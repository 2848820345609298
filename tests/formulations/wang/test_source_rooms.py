"""What the four source transformations have in common: Wang et al. 2019, Fig. 4, 9, 10 and 11."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import shiftreset_ad
from shiftreset_ad.formulations.language import (
    App,
    Const,
    Lam,
    Left,
    Primitive,
    Reset,
    Right,
    Shift,
    Var,
    evaluate,
    free_variables,
    parse,
    run,
    show,
)
from shiftreset_ad.formulations.language.grammar import PRIMITIVES
from shiftreset_ad.formulations.language.sources import subterms
from shiftreset_ad.formulations.overloading import COMPARISONS, Overloaded
from shiftreset_ad.formulations.wang import source_cps, source_forward, source_meta, source_shift_reset
from shiftreset_ad.formulations.wang.cps import direct
from tests.formulations.random_terms import programs
from tests.formulations.wang.source_cases import PROGRAMS, STRUCTURES, chain, chain_slope, program

ROOMS = [source_forward, source_shift_reset, source_meta, source_cps]
AGAIN = [source_forward, source_meta, source_cps]  # their output is of their source language
rooms = pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.__name__.rpartition(".")[2])
again = pytest.mark.parametrize("room", AGAIN, ids=lambda room: room.__name__.rpartition(".")[2])


@rooms
@pytest.mark.parametrize("case", PROGRAMS)
def test_gradient(room, case):
    text, x = PROGRAMS[case]
    f = program(text)
    expected = shiftreset_ad.grad(evaluate(f))(x)
    assert room.grad(f)(x) == pytest.approx(expected, rel=1e-12)
    transformed = room.transform(f)
    assert not free_variables(transformed)
    for value in (evaluate(transformed)(x), run(App(transformed, Const(x)))):
        assert value == pytest.approx(expected, rel=1e-12)
    if "numbers" not in text:  # a boolean constant has no text
        assert parse(show(transformed)) == transformed


@rooms
@pytest.mark.parametrize("case", PROGRAMS)
def test_finite_differences(room, case):
    text, x = PROGRAMS[case]
    f = evaluate(program(text))
    assert room.grad(program(text))(x) == pytest.approx((f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rel=1e-6, abs=1e-8)


@rooms
@pytest.mark.parametrize("case", STRUCTURES)
def test_structured_argument(room, case):
    text, x = STRUCTURES[case]
    f = parse(text)
    expected = shiftreset_ad.grad(evaluate(f))(x)
    assert same(room.grad(f)(x), expected)
    assert same(evaluate(room.transform(f, like=x))(x), expected)


def same(a, b):
    """Whether two structures are, with floats that are close."""
    if isinstance(a, (tuple, Left, Right)):
        parts = (a, b) if isinstance(a, tuple) else ((a.value,), (b.value,))
        return type(a) is type(b) and all(map(same, *parts))
    return a == b if a is None else a == pytest.approx(b, rel=1e-12)


PRODUCT = "fun l -> let rec f l = case l of nil -> 1.0 | cell -> fst cell * f (snd cell) in f l"


@rooms
def test_list_as_argument(room):
    x = Right((2.0, Right((3.0, Right((4.0, Left(())))))))
    assert room.grad(parse(PRODUCT))(x) == Right((12.0, Right((8.0, Right((6.0, Left(())))))))
    transformed = room.transform(parse(PRODUCT), like=x)
    assert evaluate(transformed)(x) == room.grad(parse(PRODUCT))(x)
    with pytest.raises(TypeError, match="fst"):
        evaluate(transformed)(Right((2.0, Left(()))))  # has another structure


@rooms
def test_long_list_as_argument(room):
    n = 200
    x = Left(())
    for _ in range(n):
        x = Right((1.0, x))
    if room is source_forward:
        assert room.jvp(parse(PRODUCT))(x, x) == n
        return
    gradient = room.grad(parse(PRODUCT))(x)
    for _ in range(n):
        head, gradient = gradient.value
        assert head == 1.0
    assert gradient == Left(())


@rooms
def test_integer_in_the_argument_is_a_constant(room):
    assert room.grad(parse("fun p -> fst p * fst p * snd p"))((2.0, 3)) == (12.0, None)


# Primitives


def applied(function, *others):
    return Lam("x", Primitive(function, (Var("x"), *map(Const, (1.5, 0.6)[: function.nin - 1]))))


def applied_second(function):
    return Lam("x", Primitive(function, (Const(0.8), Var("x"))))


@rooms
@pytest.mark.parametrize(
    "function", [f for f in PRIMITIVES.values() if f not in COMPARISONS], ids=lambda function: function.__name__
)
def test_primitive(room, function):
    x = 1.7 if function is np.arccosh else 0.3
    terms = [applied(function)]
    if function is np.ldexp:
        terms = [Lam("x", Primitive(function, (Var("x"), Const(2))))]
    elif function.nin == 2:
        terms += [applied_second(function), Lam("x", Primitive(function, (Var("x"), 2.0 * Var("x"))))]
    for f in terms:
        expected = shiftreset_ad.grad(evaluate(f))(x)
        assert room.grad(f)(x) == pytest.approx(expected, rel=1e-12)
        if function is not np.ldexp:  # its integer is a float in text
            assert evaluate(parse(show(room.transform(f))))(x) == pytest.approx(expected, rel=1e-12)


@rooms
def test_predicates_look_at_primals(room):
    f = parse("fun x -> if isnan x then 1.0 else if isfinite x then x * x else 2.0")
    assert [room.grad(f)(x) for x in (np.nan, 3.0, np.inf)] == [0.0, 6.0, 0.0]


# Higher order


@again
def test_second_and_third_derivatives_by_the_same_transformation(room):
    f = parse("fun x -> let y = sin x in (if x < 1.0 then y * x else y) * x")  # x^2 sin x
    x = 0.7
    derivatives = [
        2 * x * np.sin(x) + x**2 * np.cos(x),
        2 * np.sin(x) + 4 * x * np.cos(x) - x**2 * np.sin(x),
        6 * np.cos(x) - 6 * x * np.sin(x) - x**2 * np.cos(x),
    ]
    for expected in derivatives:
        f = room.transform(f)
        assert run(App(f, Const(x))) == pytest.approx(expected, rel=1e-12)


@again
def test_second_derivatives_with_memory_and_recursion(room):
    text = "fun x -> let r = ref x in let rec f n = if n < 1.0 then !r else (r := !r * x; f (n - 1.0)) in f 3.0"
    second = room.transform(room.transform(parse(text)))
    assert run(App(second, Const(1.3))) == pytest.approx(12 * 1.3**2, rel=1e-12)


@pytest.mark.parametrize("outer", ROOMS, ids=lambda room: room.__name__.rpartition(".")[2])
@pytest.mark.parametrize("inner", AGAIN, ids=lambda room: room.__name__.rpartition(".")[2])
def test_one_mode_over_another(outer, inner):
    """Forward over reverse, reverse over forward, and so on."""
    f = parse("fun x -> exp (sin x) * x")
    s, c, e, x = np.sin(0.7), np.cos(0.7), np.exp(np.sin(0.7)), 0.7
    assert run(App(outer.transform(inner.transform(f)), Const(x))) == pytest.approx(
        e * (2 * c + x * c * c - x * s), rel=1e-12
    )


@rooms
def test_hessian_of_a_function_of_two(room):
    f = parse("fun p -> fst p * fst p * sin (snd p)")
    gradient = source_cps.transform(f, like=(1.0, 1.0))
    x, y = 1.5, 0.4
    rows = [room.grad(Lam("p", part(App(gradient, Var("p")))))((x, y)) for part in (parse_fst, parse_snd)]
    expected = [[2 * np.sin(y), 2 * x * np.cos(y)], [2 * x * np.cos(y), -(x**2) * np.sin(y)]]
    np.testing.assert_allclose(rows, expected, rtol=1e-12)


def parse_fst(term):
    return App(parse("fun p -> fst p"), term)


def parse_snd(term):
    return App(parse("fun p -> snd p"), term)


@rooms
def test_shift_and_reset_in_the_source(room):
    once = source_shift_reset.transform(parse("fun x -> x * x * x"))
    with pytest.raises(TypeError, match=r"shift or reset in the program.*wang\.cps\.direct"):
        room.transform(once)
    with pytest.raises(TypeError, match=r"grad: .*wang\.cps\.direct"):
        room.grad(once)(1.0)
    twice = room.transform(direct(once))
    assert run(App(twice, Const(2.0))) == pytest.approx(12.0)


@pytest.mark.parametrize("room", [source_forward, source_meta, source_cps])
def test_output_is_of_the_source_language(room):
    output = room.transform(program(PROGRAMS["a counter"][0]))
    assert not any(isinstance(term, (Shift, Reset)) for term in subterms(output))


@rooms
def test_numbers_of_other_derivatives(room):
    f = parse("fun x -> let y = x * x in sin y * y")
    expected = shiftreset_ad.grad(shiftreset_ad.grad(evaluate(f)))(0.7)
    assert shiftreset_ad.grad(room.grad(f))(0.7) == pytest.approx(expected, rel=1e-12)
    assert shiftreset_ad.jvp(room.grad(f), (0.7,), (1.0,))[1] == pytest.approx(expected, rel=1e-12)


class Counted(Overloaded):
    """A number that counts the operations it takes part in."""

    count = 0

    def __init__(self, primal):
        self.primal = primal

    def operate(self, function, *operands):
        Counted.count += 1
        return Counted(function(*(x.primal if isinstance(x, Counted) else x for x in operands)))


@rooms
def test_cost_is_linear(room):
    costs = []
    for n in (10, 20, 40):
        Counted.count = 0
        assert room.grad(chain(n))(Counted(0.5)).primal == pytest.approx(chain_slope(n, 0.5))
        costs.append(Counted.count)
    assert costs[2] - costs[1] == 2 * (costs[1] - costs[0]) <= 200


# Errors


@rooms
def test_errors(room):
    with pytest.raises(TypeError, match=r"grad: expected a term for a function.*got 3.0.*parse"):
        room.grad(3.0)(1.0)
    with pytest.raises(TypeError, match="transform: expected a term"):
        room.transform(lambda x: x)
    with pytest.raises(NameError, match="transform: y, z are free"):
        room.transform(parse("fun x -> x * y * z"))
    with pytest.raises(TypeError, match="application"):
        room.grad(parse("3.0"))(1.0)
    for text in ("(x, x)", "()", "fun y -> x", "ref x", "x < 2.0", "inl x", "(3.0, ref 1.0)", "((), x)", "(2.0, ())"):
        with pytest.raises(TypeError, match="grad: the function must answer with a real number"):
            room.grad(parse(f"fun x -> {text}"))(1.0)
    with pytest.raises(TypeError, match="grad: the argument has no floating-point number"):
        room.grad(parse("fun x -> x"))(3)
    for x in ([1.0], (1.0, 2.0, 3.0), {"a": 1.0}, (1.0, np.ones(2)), (1.0, len)):
        with pytest.raises(TypeError, match=r"grad: the argument of a source transformation is made of real numbers"):
            room.grad(parse("fun x -> 1.0"))(x)
    for constant in (len, np.ones(2), [1.0], (1.0, 2.0, 3.0), 1j):
        with pytest.raises(TypeError, match="a constant of a source transformation is made of real numbers"):
            room.transform(Lam("x", App(Lam("y", Var("x")), Const(constant))))
    with pytest.raises(NotImplementedError, match="gcd: formulations differentiate elementwise functions only"):
        room.transform(Lam("x", Primitive(np.gcd, (Var("x"), Var("x")))))


@settings(max_examples=40, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs())
def test_random_programs(case):
    f, x = case
    with np.errstate(all="ignore"):
        first, *others = (room.grad(f)(x) for room in ROOMS)
        assert all(same(other, first) or not np.isfinite(np.ravel(first)).all() for other in others)
