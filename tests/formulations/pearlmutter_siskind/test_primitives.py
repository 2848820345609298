"""The transformed primitives, one by one."""

import numpy as np
import pytest

from shiftreset_ad.formulations.language import Const, Lam, Left, Primitive, Right, Var, parse, show
from shiftreset_ad.formulations.language.grammar import INFIX, PRIMITIVES
from shiftreset_ad.formulations.overloading import COMPARISONS, answer_and_partials
from shiftreset_ad.formulations.pearlmutter_siskind import BASIS, J, J_inverse, call, grad, run, zero
from shiftreset_ad.formulations.pearlmutter_siskind.primitives import OPERATORS, arithmetic, construct

FUNCTIONS = [f for f in [*PRIMITIVES.values(), *(f for f, _ in INFIX.values()), np.negative] if f not in COMPARISONS]


def there_and_back(function, argument, sensitivity):
    y, back = call(J(function), J(argument))
    environment, x_sens = call(back, sensitivity)
    assert environment == zero(function)
    return y, x_sens


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@np.errstate(all="ignore")
def test_arithmetic_has_the_slopes_of_the_table(function):
    for xs in [(0.3, 0.7), (1.3, -0.7), (2.0, 2.0), (0.0, 1.0)]:
        xs = (xs[0], 3) if function is np.ldexp else xs[: function.nin]
        y, slopes = answer_and_partials(function, *xs)
        answer, shares = there_and_back(arithmetic(function, len(xs)), xs if len(xs) == 2 else xs[0], 10.0)
        np.testing.assert_equal(answer, y)
        np.testing.assert_array_equal(shares if len(xs) == 2 else [shares], [10.0 * slope for slope in slopes])


def test_the_transform_of_the_sine():
    assert show(J(arithmetic(np.sin, 1)).procedure.term, width=60) == (
        "fun p ->\n"
        "  let y = sin p in\n"
        "  let t4 =\n"
        "    fun s ->\n"
        "      let t = () in\n"
        "      let t1 = cos p in let t2 = s * t1 in let t3 = (t, t2) in t3\n"
        "  in\n"
        "  let t5 = (y, t4) in t5"
    )
    assert repr(arithmetic(np.multiply, 2)) == "multiply"
    assert repr(J(arithmetic(np.multiply, 2))) == "multiply'"
    assert repr(J(J(arithmetic(np.multiply, 2)))) == "multiply''"


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@np.errstate(all="ignore")
def test_transformed_arithmetic_can_be_transformed_again(function):
    """The second derivative is the slope of the first."""
    if function.nin == 2:
        f = Lam("x", Primitive(function, (Var("x"), Const(3 if function is np.ldexp else 0.7))))
    else:
        f = Lam("x", Primitive(function, (Var("x"),)))
    x, h = (1.7 if function is np.arccosh else 0.37), 1e-6
    slope = (grad(f)(x + h) - grad(f)(x - h)) / (2 * h)
    assert grad(grad(f))(x) == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_comparisons():
    y, x_sens = there_and_back(arithmetic(np.less, 2), (1.0, 2.0), Left(()))
    assert (y, x_sens) == (Left(()), (0.0, 0.0))


def test_pairs_and_sums():
    p = (1.0, (2.0, Left(3.0)))
    assert there_and_back(construct("fst"), p, 10.0) == (1.0, (10.0, (0.0, Left(0.0))))
    assert there_and_back(construct("snd"), p, (5.0, Left(6.0))) == ((2.0, Left(3.0)), (0.0, (5.0, Left(6.0))))
    assert there_and_back(construct("inl"), 1.0, Left(10.0)) == (Left(1.0), 10.0)
    assert there_and_back(construct("inr"), 1.0, Right(10.0)) == (Right(1.0), 10.0)


def test_case_goes_back_through_the_branch_that_was_taken():
    f = run(parse("let a = 2.0 in fun x -> x * a"))
    g = run(parse("let b = 5.0 in let c = 7.0 in fun x -> fst x * b + c"))
    y, (scrutinee, (f_sens, g_sens)) = there_and_back(construct("case"), (Left(3.0), (f, g)), 1.0)
    assert (y, scrutinee, f_sens, g_sens) == (6.0, Left(2.0), (3.0, ()), (0.0, (0.0, ())))
    y, (scrutinee, (f_sens, g_sens)) = there_and_back(construct("case"), (Right((3.0, 4.0)), (f, g)), 1.0)
    assert (y, scrutinee, f_sens, g_sens) == (22.0, Right((5.0, 0.0)), (0.0, ()), (3.0, (1.0, ())))


def test_the_polytypic_operations():
    """J, J_inverse, zero and plus are functions that J applies to."""
    f = run(parse("let a = 2.0 in fun x -> x * a"))
    assert there_and_back(BASIS["J"], 3.0, 10.0) == (3.0, 10.0)
    image, sensitivity = there_and_back(BASIS["J"], f, (10.0, ()))
    assert (image, sensitivity) == (J(J(f)), (10.0, ()))
    assert there_and_back(BASIS["J_inverse"], J(f), (10.0, ())) == (J(f), (10.0, ()))
    assert there_and_back(BASIS["zero"], f, (10.0, ())) == ((0.0, ()), (0.0, ()))
    assert there_and_back(BASIS["plus"], ((1.0, 2.0), (3.0, 4.0)), (10.0, 20.0)) == (
        (4.0, 6.0),
        ((10.0, 20.0), (10.0, 20.0)),
    )


@pytest.mark.parametrize("name", BASIS)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_primitives_are_transformed_any_number_of_times(name, order):
    image = BASIS[name]
    for _ in range(order):
        image = J(image)
    assert repr(image) == name + "'" * order
    for _ in range(order):
        image = J_inverse(image)
    assert image is BASIS[name]


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_known_by_their_names(name):
    assert repr(J(construct(name))) == f"{name}'"


def test_a_function_without_a_derivative_is_named():
    with pytest.raises(NotImplementedError, match="frexp"):
        grad(Lam("x", Primitive(np.frexp, (Var("x"),))))(1.0)
