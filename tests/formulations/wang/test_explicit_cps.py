"""Reverse mode in explicit CPS: Wang et al. 2019, section 3.1, Fig. 7."""

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad.formulations.language import list_of, parse
from shiftreset_ad.formulations.language.terms import Const
from shiftreset_ad.formulations.wang.explicit_cps import NumR0, grad, operate
from tests.formulations.wang import cases
from tests.formulations.wang.cases import examples


@examples
def test_examples_of_the_paper(example):
    cases.check_example_as_term(grad, example)


@pytest.mark.parametrize(
    "check",
    [
        cases.check_functions,
        cases.check_random_programs,
        cases.check_errors_of_terms,
        cases.check_control_in_the_program,
    ],
)
def test_of_every_room(check):
    check(grad)


def test_a_term_may_call_its_continuations_many_times():
    cases.check_control_in_the_program(grad, cases.MANY_SHOT)


# The paper's examples in Python, in CPS


def add(a, b, k):
    return operate(np.add, (a, b), k)


def multiply(a, b, k):
    return operate(np.multiply, (a, b), k)


def polynomial(x, k):
    """2x + x^3: each intermediate result is named by a continuation."""
    multiply(2.0, x, lambda y1: multiply(x, x, lambda y2: multiply(y2, x, lambda y3: add(y1, y3, k))))


def conditional(x, k):
    """IF of 4.2: both branches go on with the same k."""
    if x > 0.0:
        multiply(-1.0, x, lambda y: multiply(y, x, k))
    else:
        multiply(x, x, k)


def loop(x, k):
    """WHILE of 4.3: a loop is a function that is its own continuation."""
    if x > 1.0:
        multiply(x, 0.5, lambda y: loop(y, k))
    else:
        k(x)


def tree(x, node, k):
    """TREE of 4.4: the second subtree is folded in the continuation of the first."""
    if node is None:
        k(x)
    else:
        left, value, right = node
        tree(x, left, lambda a: tree(x, right, lambda b: multiply(a, b, lambda y: multiply(y, value, k))))


def test_fig_7_polynomial():
    for x in (-2.0, 0.0, 0.5, 3.0):
        assert grad(polynomial)(x) == 2 + 3 * x * x


def test_control_flow_in_cps():
    assert (grad(conditional)(3.0), grad(conditional)(-3.0), grad(conditional)(0.0)) == (-6.0, -6.0, 0.0)
    assert grad(loop)(5.0) == 0.125
    assert grad(lambda x, k: tree(x, ((None, 3.0, None), 5.0, None), k))(2.0) == 180.0


def test_the_rest_of_the_program_runs_before_adjoints_are_accumulated():
    trail = []

    def f(x, k):
        def there(name, y, k):
            trail.append(f"there {name}")
            k(y)
            trail.append(f"back {name}, {y.adjoint}")

        multiply(x, x, lambda y: there("y", y, lambda y: multiply(y, 3.0, lambda z: there("z", z, k))))

    assert grad(f)(2.0) == 12.0
    assert trail == ["there y", "there z", "back z, 1.0", "back y, 3.0"]


def test_structures():
    def f(p, k):
        multiply(p["a"], p["b"][0], lambda y: operate(np.sin, (p["b"][1],), lambda z: multiply(y, z, k)))

    found = grad(f)({"a": 1.5, "b": [2.0, 0.3], "name": "p"})
    assert found["name"] is None
    assert (found["a"], *found["b"]) == pytest.approx((2 * np.sin(0.3), 1.5 * np.sin(0.3), 3 * np.cos(0.3)))


def test_constants_are_operated_on_without_a_derivative():
    assert grad(lambda x, k: multiply(2.0, 3.0, lambda six: multiply(six, x, k)))(1.0) == 6.0
    assert grad(lambda x, k: k(3.0))(1.0) == 0.0
    assert grad(parse("(let y = 2.0 * 3.0 in fun x -> x * y)"))(1.0) == 6.0


def test_deep():
    f = cases.deep(1000)
    term = "fun x -> let rec f n = if n < 1.0 then x else sin (f (n - 1.0)) * x + 0.5 in f 1000.0"
    with cases.deep_stack(60_000):
        assert grad(parse(term))(1.1) == pytest.approx(shiftreset_ad.grad(f)(1.1), rel=1e-10)


def test_without_a_deeper_stack_it_is_a_recursion_error_and_nothing_is_left_behind():
    term = parse("fun x -> let rec f n = if n < 1.0 then x else sin (f (n - 1.0)) * x + 0.5 in f 1000.0")
    with (
        pytest.raises(RecursionError, match=r"sys\.setrecursionlimit, or use the room `prompts`"),
        cases.deep_stack(1000),
    ):
        grad(term)(1.1)
    assert grad(polynomial)(3.0) == 29.0


def test_numbers_that_are_no_floats():
    counts = []
    found = grad(polynomial)(cases.Counted(3.0, counts))
    assert found.primal == 29.0
    assert counts.count(np.multiply) >= 3


def test_the_library_differentiates_the_room():
    assert shiftreset_ad.grad(grad(polynomial))(3.0) == 18.0


def test_data_structures_of_the_language():
    """The loop over a list of the supplement (shiftCPS.scala, FormalReverse2.scala): 5 * 6 * x."""
    product = parse("fun l -> fun x -> let rec f l = case l of e -> x | c -> fst c * f (snd c) in f l")
    assert grad(product(list_of(Const(5.0), Const(6.0))))(2.0) == 30.0


# What it refuses


def test_operators_are_refused():
    with pytest.raises(TypeError, match=r"multiply: in explicit CPS, write operate\(multiply, operands, k\)"):
        grad(lambda x, k: k(x * x))(3.0)
    with pytest.raises(TypeError, match="sin: in explicit CPS"):
        grad(lambda x, k: k(np.sin(x)))(3.0)


def test_the_result_goes_to_k_once():
    with pytest.raises(TypeError, match=r"grad: f\(x, k\) must hand its result to k once; it called k 0 times"):
        grad(lambda x, k: x)(3.0)
    with pytest.raises(TypeError, match="it called k 2 times"):
        grad(lambda x, k: (k(x), k(x)))(3.0)
    with pytest.raises(TypeError, match="grad: the function must return one number"):
        grad(lambda x, k: k((x, x)))(3.0)
    with pytest.raises(TypeError, match=r"write 3\.0 for 3"):
        grad(lambda x, k: k(x))(3)
    with pytest.raises(NotImplementedError, match="spacing"):
        grad(lambda x, k: operate(np.spacing, (x,), k))(3.0)


def test_derivatives_do_not_nest_and_are_not_confused():
    inner = lambda x: grad(lambda y, k: add(x, y, k))(1.0)  # noqa: E731
    with pytest.raises(TypeError, match="add: operands of two derivatives; to nest them, use the room `prompts`"):
        grad(lambda x, k: multiply(x, inner(x), k))(1.0)
    with pytest.raises(TypeError, match="multiply: in explicit CPS"):
        grad(lambda x, k: k(grad(lambda y, k: multiply(y, y, k))(x)))(1.0)
    independent = lambda x, k: multiply(x, grad(polynomial)(3.0), k)  # noqa: E731
    assert grad(independent)(1.0) == 29.0
    assert grad(lambda x, k: k(grad(lambda y, k: k(x))(1.0)))(1.0) == 0.0


def test_a_number_compares_by_its_primal():
    assert NumR0(2.0, 0.0, None) < NumR0(3.0, 0.0, None)
