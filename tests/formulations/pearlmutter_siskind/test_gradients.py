"""`grad`, on the programs of the papers and on others, against closed forms and the library's own."""

import itertools

import numpy as np
import optree
import pytest
from hypothesis import assume, given, settings

import shiftreset_ad
from shiftreset_ad.formulations.language import (
    Const,
    Lam,
    Left,
    Let,
    Right,
    Term,
    Var,
    evaluate,
    if_then_else,
    parse,
    repeat,
)
from shiftreset_ad.formulations.language.types import REAL, product
from shiftreset_ad.formulations.overloading import Overloaded
from shiftreset_ad.formulations.pearlmutter_siskind import call, grad, program, run
from shiftreset_ad.formulations.structures import Structure
from tests.formulations.random_terms import programs

# Of the example programs in the authors' distribution: basics.vlad, bug-a.vlad, marble.vlad.
ITS_OWN = [
    ("gradient (fun x -> x) 7.0", 1.0),
    ("gradient (fun x -> 3.0) 7.0", 0.0),
    ("gradient (fun x -> x + x) 7.0", 2.0),
    ("gradient (fun x -> gradient (fun y -> x + y) 3.0) 7.0", 0.0),
    ("gradient (fun x -> x * gradient (fun y -> x + y) 3.0) 7.0", 1.0),
    ("gradient (fun x -> x * gradient (fun y -> x + y) (2.0 * x)) 7.0", 1.0),
    ("gradient (fun x -> x * gradient (fun y -> x * y) 3.0) 7.0", 14.0),
    ("gradient (fun y -> gradient (fun x -> x * (x * y)) (y * 2.0)) 2.0", 16.0),
    ("let g = fun b -> fun c -> b in gradient (fun a -> g 1.0 1.0) 4.0", 0.0),
    ("let g = fun b -> fun c -> b in gradient (fun a -> g a 1.0) 4.0", 1.0),
    ("let g = fun b -> fun c -> b in let h = fun p -> p 1.0 + p 1.0 in gradient (fun a -> h (g a)) 4.0", 2.0),
    (
        """let f = fun x -> fun w -> sin (x * w + sqrt w) in
           let marble = fun f -> fun w -> f 0.0 w + gradient (fun x -> f x w) 0.0 in
           gradient (marble f) 3.0""",
        -1.061695367731588,
    ),
]


@pytest.mark.parametrize(("text", "value"), ITS_OWN)
def test_examples_of_the_authors(text, value):
    assert run(program(text)) == pytest.approx(value, rel=1e-14)


PROGRAMS = [
    ("fun x -> 2.0 * x + x * x * x", 3.0),
    ("fun x -> let x = x * x in let x = x * x in sin x / x", 1.1),
    ("fun x -> let f = fun y -> x * y in let g = fun y -> f (f y) * x in g (f x)", 1.2),
    ("fun x -> let compose = fun f -> fun g -> fun y -> f (g y) in compose (fun y -> y * x) (fun y -> y * y) x", 1.5),
    ("fun p -> fst (fst p) * snd p + sin (snd (fst p))", ((1.0, 2.0), 3.0)),
    ("fun p -> case fst p of a -> a * snd p | b -> fst b * snd b * snd p", (Left(2.0), 3.0)),
    ("fun p -> case fst p of a -> a * snd p | b -> fst b * snd b * snd p", (Right((2.0, 5.0)), 3.0)),
    ("fun p -> if fst p < snd p then fst p * snd p else fst p / snd p", (2.0, 3.0)),
    ("fun p -> if fst p < snd p then fst p * snd p else fst p / snd p", (3.0, 2.0)),
    ("fun x -> (if x < 1.0 then fun y -> x else fun y -> x * y) (x * x)", 1.5),
    ("fun x -> let rec f n = if n < 1.0 then 1.0 else x * f (n - 1.0) in f 5.0", 1.5),
    ("fun x -> maximum x 2.0 * power x 3.0 + absolute (x - 5.0)", 2.5),
    ("fun x -> 3.0", 1.0),
]


@pytest.mark.parametrize(("text", "x"), PROGRAMS)
def test_programs(text, x):
    term = parse(text)
    found, expected = grad(term)(x), shiftreset_ad.grad(evaluate(term))(x)
    assert Structure(found).is_like(Structure(expected))
    assert Structure(found).numbers == pytest.approx(Structure(expected).numbers, rel=1e-12)


@pytest.mark.slow
@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(programs(memory=False))
def test_random_programs(case):
    term, x = case
    with np.errstate(all="ignore"):
        expected = optree.tree_leaves(shiftreset_ad.grad(evaluate(term))(x))
        assume(np.all(np.isfinite(expected)) and np.max(np.abs(expected)) < 1e6)
        assert optree.tree_leaves(grad(term)(x)) == pytest.approx(expected, rel=1e-8, abs=1e-8)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(programs(arguments=(product(REAL, REAL),), size=12, memory=False))
def test_random_programs_with_a_derivative_in_a_derivative(case):
    """d/dx x (d/dy f(x, y))(x): reverse over reverse, by J of a program with J in it."""
    term, (x, _) = case
    f = evaluate(term)
    nested = Let("f", term, program("fun x -> x * gradient (fun y -> f (x, y)) x"))
    library = shiftreset_ad.grad
    with np.errstate(all="ignore"):
        expected = library(lambda x: x * library(lambda y: f((x, y)))(x))(x)
        assume(np.isfinite(expected) and abs(expected) < 1e6)
        assert grad(nested)(x) == pytest.approx(expected, rel=1e-7, abs=1e-7)


def test_higher_orders():
    f = parse("fun x -> sin x * x")
    derivative, expected = f, evaluate(f)
    for _ in range(4):
        derivative, expected = grad(derivative), shiftreset_ad.grad(expected)
        assert derivative(0.5) == pytest.approx(expected(0.5), rel=1e-12)


def test_a_nested_derivative_to_the_third_order():
    text = "fun x -> x * gradient (fun y -> x * y * y * sin x) (x * x)"
    inner = lambda x: x * shiftreset_ad.grad(lambda y: x * y * y * np.sin(x))(x * x)  # noqa: E731
    found, expected = program(text), inner
    for _ in range(3):
        found, expected = grad(found), shiftreset_ad.grad(expected)
        assert found(0.7) == pytest.approx(expected(0.7), rel=1e-11)


def test_j_of_j_and_of_gradient():
    """J applies to the gradient, to itself, and to backpropagators."""
    assert run(parse("(fst (J J (J 3.0)))")) == 3.0
    assert run(program("let g = fst (J gradient (J (fun x -> x * x * x))) in snd (snd (g 2.0) 1.0)")) == 12.0
    text = """
        let (y, back) = J (fun x -> x * x * x) 2.0 in
        let (share, back_of_back) = J back (J 10.0) in
        (snd share, snd (back_of_back ((), 1.0)))
    """
    assert run(parse(text)) == (120.0, 12.0)


def test_the_gradient_of_a_function_as_to_another_function():
    """The sensitivity of a function is the list of those of its environment."""
    text = "let a = 3.0 in let b = 5.0 in gradient (fun f -> f 2.0 * 10.0) (fun x -> a * x + b)"
    assert run(program(text)) == (20.0, (10.0, ()))


@pytest.mark.slow
def test_the_recursion_of_a_thousand_rounds():
    loop = "fun x -> let rec f s = let (n, y) = s in if n < 1.0 then y else f (n - 1.0, sin (x * y)) in f (1000.0, x)"
    term = parse(loop)
    assert grad(term)(1.4) == pytest.approx(shiftreset_ad.grad(lambda x: iterated(x, 1000))(1.4), rel=1e-10)
    product = parse("fun x -> let rec f n = if n < 1.0 then 1.0 else x * f (n - 1.0) in f 1000.0")
    assert grad(product)(0.99) == pytest.approx(1000 * 0.99**999)
    twice = parse(loop.replace("1000", "100"))
    library = shiftreset_ad.grad(shiftreset_ad.grad(lambda x: iterated(x, 100)))
    assert grad(grad(twice))(1.4) == pytest.approx(library(1.4), rel=1e-9)


def iterated(x, times):
    y = x
    for _ in range(times):
        y = np.sin(x * y)
    return y


@pytest.mark.slow
def test_loops_that_are_unrolled_and_very_deep_terms():
    x = Var("x")
    assert grad(Lam("x", repeat(100, Lam("y", x * Var("y")), x)))(1.01) == pytest.approx(101 * 1.01**100)
    deep: Term = x
    for i in range(1000):
        deep = np.sin(deep) * x if i % 2 else deep + x
    assert grad(Lam("x", deep))(0.5) == pytest.approx(shiftreset_ad.grad(deep_in_python)(0.5))
    branches: Term = Const(2.0)
    for _ in range(300):
        branches = if_then_else(x < 0.0, Const(0.0), branches * x)
    assert grad(Lam("x", branches))(1.0) == 600.0


def deep_in_python(x):
    deep = x
    for i in range(1000):
        deep = np.sin(deep) * x if i % 2 else deep + x
    return deep


def test_functions_that_use_one_another_cost_no_more_than_they_are():
    """Each has two of the others in its environment: one by one, the parts of their sensitivities would be 2**40."""
    layers = itertools.accumulate(
        range(2, 60), lambda text, i: f"{text} let f{i} = fun y -> f{i - 1} y + f{i - 2} y in", initial=""
    )
    *_, text = layers
    term = parse(f"fun x -> let f0 = fun y -> y * x in let f1 = fun y -> f0 (f0 y) in {text} f4 x")
    library = shiftreset_ad.grad(evaluate(term))
    assert grad(term)(1.1) == pytest.approx(library(1.1))
    assert grad(grad(term))(1.1) == pytest.approx(shiftreset_ad.grad(library)(1.1))


# Numbers and structures


class Counting(Overloaded):
    """A number that counts its operations."""

    operations = 0

    def __init__(self, primal):
        self.primal = primal

    def operate(self, function, *operands):
        Counting.operations += 1
        return Counting(function(*(x.primal if isinstance(x, Counting) else x for x in operands)))


def test_any_numbers_go_through():
    Counting.operations = 0
    slope = grad(parse("fun x -> x * x * x"))(Counting(2.0))
    assert isinstance(slope, Counting)
    assert slope.primal == 12.0
    assert Counting.operations > 4
    assert shiftreset_ad.grad(lambda x: grad(parse("fun x -> x * x * x"))(x))(2.0) == 12.0
    assert type(grad(parse("fun x -> x * x"))(np.float32(2.0))) is np.float32


def test_what_is_no_real_number_has_none():
    assert grad(parse("fun p -> fst p * fst (snd p)"))((2.0, (3, ()))) == (3.0, (None, ()))


def test_infinite_slopes():
    with np.errstate(all="ignore"):
        assert grad(parse("fun x -> sqrt x"))(0.0) == np.inf
        assert np.isnan(grad(parse("fun x -> x + fst (0.0, sqrt x)"))(0.0))
    assert grad(parse("fun x -> let y = sqrt x in x"))(0.0) == 1.0


# Errors


def test_what_is_no_term_is_refused():
    for f in (lambda x: x, 3.0, np.sin, None):
        with pytest.raises(TypeError, match=r"grad: expected a term for a function; got .*language\.parse"):
            grad(f)
    with pytest.raises(TypeError, match="expected a term for a function"):
        grad(Const(1.0))


@pytest.mark.parametrize("body", ["(x, x)", "fun y -> x", "()", "inl x", "x < 1.0"])
def test_a_result_that_is_no_number_is_refused(body):
    with pytest.raises(TypeError, match="grad: the function must return one number"):
        grad(parse(f"fun x -> {body}"))(2.0)


@pytest.mark.parametrize("x", [[1.0], {"a": 1.0}, (1.0, 2.0, 3.0), (1.0, [2.0])])
def test_an_argument_that_the_language_does_not_have_is_refused(x):
    with pytest.raises(TypeError, match="no value of this language"):
        grad(parse("fun x -> 1.0"))(x)


@pytest.mark.parametrize("x", [3, (), (1, ())])
def test_an_argument_without_real_numbers_is_refused(x):
    with pytest.raises(TypeError, match="floating-point"):
        grad(parse("fun x -> 1.0"))(x)


def test_free_variables_and_references_are_refused():
    with pytest.raises(NameError, match="y is free"):
        grad(parse("fun x -> x * y"))
    with pytest.raises(TypeError, match=r"ref.*references"):
        grad(parse("fun x -> let r = ref x in !r"))


def test_after_an_error_all_is_as_before():
    f = run(parse("fun p -> fst p * fst (snd p)"))
    with pytest.raises(TypeError, match="fst: expected a pair"):
        grad(f)((1.0, 2.0))
    assert grad(f)((1.0, (2.0, 3.0))) == (2.0, (1.0, 0.0))
    assert call(f, (1.0, (2.0, 3.0))) == 2.0
