"""The polytypic operations, kind by kind."""

import numpy as np
import pytest

from shiftreset_ad.formulations.language import Cell, Left, Right, parse
from shiftreset_ad.formulations.pearlmutter_siskind import BASIS, Basic, Closure, J, J_inverse, call, plus, run, zero
from shiftreset_ad.formulations.pearlmutter_siskind.values import derivative


def closure(text):
    return run(parse(text))


VALUES = {
    "real": (3.0, 0.0),
    "unit": ((), ()),
    "pair": ((1.0, (2.0, ())), (0.0, (0.0, ()))),
    "inl": (Left(2.0), Left(0.0)),
    "inr": (Right((2.0, Left(()))), Right((0.0, Left(())))),
    "primitive": (BASIS["J"], ()),
    "closure without free variables": (closure("fun x -> x"), ()),
    "closure": (closure("let a = 1.0 in let p = (2.0, ()) in fun x -> a + x * fst p"), ((0.0, ()), (0.0, ()))),
    "closure in a closure": (
        closure("let a = 1.0 in let f = fun x -> x * a in let b = 2.0 in fun x -> f (f b)"),
        ((0.0, ()), (0.0, ())),
    ),
}


@pytest.mark.parametrize("kind", VALUES)
def test_zero_has_the_structure_of_the_value(kind):
    value, sensitivity = VALUES[kind]
    assert zero(value) == sensitivity
    assert zero(J(value)) == sensitivity
    assert zero(J(J(value))) == sensitivity


def test_zero_of_a_backpropagator_is_the_list_of_its_environment():
    f = closure("fun x -> sin x * x")
    _, backpropagator = call(J(f), 3.0)
    assert len(backpropagator.values) == 2  # the backpropagators of sin and of the product
    sensitivities = zero(backpropagator)
    for part in backpropagator.values:
        head, sensitivities = sensitivities
        assert head == zero(part) == ((0.0, ()) if len(part.values) == 1 else (0.0, (0.0, ())))
    assert sensitivities == ()


def test_plus_of_each_kind():
    assert plus(1.0, 2.0) == 3.0
    assert plus((), ()) == ()
    assert plus((1.0, (2.0, ())), (10.0, (20.0, ()))) == (11.0, (22.0, ()))
    assert plus(Left(1.0), Left(2.0)) == Left(3.0)
    assert plus(Right((1.0, 2.0)), Right((3.0, 4.0))) == Right((4.0, 6.0))


def test_plus_with_zero():
    f = closure("let a = 1.0 in let p = (2.0, ()) in fun x -> a + x * fst p")
    sensitivity = ((7.0, ()), (8.0, ()))
    assert plus(zero(f), sensitivity) == plus(sensitivity, zero(f)) == sensitivity
    assert plus(zero(f), zero(f)) == zero(f)
    assert plus(0.0, 5.0) == 5.0


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1.0, (1.0, 2.0)),
        ((1.0, 2.0), ()),
        (Left(1.0), Right(1.0)),
        (Left(1.0), 1.0),
        (BASIS["J"], BASIS["J"]),
        ((1.0, ()), (1.0, 2.0)),
    ],
)
def test_plus_refuses_what_does_not_belong_together(a, b):
    with pytest.raises(TypeError, match="not sensitivities of the same value"):
        plus(a, b)


def test_j_leaves_data_as_it_is():
    for value in (3.0, (), (1.0, (2.0, ())), Left(2.0), Right((1.0, Left(())))):
        assert J(value) == value
        assert J_inverse(value) == value


def test_j_transforms_functions_in_data():
    f = closure("fun x -> x * x")
    _, (image, two) = J((1.0, (f, 2.0)))
    assert two == 2.0
    y, back = call(image, 3.0)
    assert (y, call(back, 1.0)) == (9.0, ((), 6.0))
    assert J_inverse(image) is f
    assert isinstance(J(Left(f)).value, Closure)


def test_j_transforms_the_environment():
    f = closure("let a = 1.0 in let g = fun x -> x * a in fun x -> g x")
    (g,) = f.values
    (g_image,) = J(f).values
    assert J(g) is g_image
    assert g_image.procedure.origin is g.procedure
    assert g_image.values == (1.0,)


def test_j_inverse_is_the_inverse():
    f = closure("let a = 2.0 in fun x -> x * a")
    for value in (f, J(f), J(J(f)), BASIS["J"], J(BASIS["zero"])):
        assert J_inverse(J(value)) is value
    assert J(J_inverse(J(J(f)))) is J(J(f))


def test_j_inverse_of_a_closure_that_a_transformed_program_has_made():
    """Its code says what it stands for, though J has not made it."""
    f = closure("fun x -> fun y -> x * y")
    y, _ = call(J(f), 3.0)
    original = J_inverse(y)
    assert call(original, 4.0) == 12.0
    assert J(original) is y


def test_j_inverse_refuses_what_j_has_not_made():
    with pytest.raises(TypeError, match="not a function that J has transformed"):
        J_inverse(closure("fun x -> x"))
    with pytest.raises(TypeError, match="J is not a function that J has transformed"):
        J_inverse(BASIS["J"])
    _, back = call(J(closure("fun x -> x")), 1.0)
    with pytest.raises(TypeError, match="not a function"):
        J_inverse((1.0, back))


@pytest.mark.parametrize("value", [[1.0, 2.0], (1.0, 2.0, 3.0), {"a": 1.0}, len, lambda x: x, (1.0, [2.0])])
@pytest.mark.parametrize("operation", [zero, J, J_inverse])
def test_what_the_language_does_not_have_is_refused(operation, value):
    with pytest.raises(TypeError, match="no value of this language"):
        operation(value)


def test_references_are_refused():
    with pytest.raises(TypeError, match="references"):
        J((1.0, Cell(2.0)))


@pytest.mark.slow
def test_lists_that_are_very_long():
    numbers = ()
    for i in range(4000):
        numbers = (float(i), numbers)
    zeros = zero(numbers)
    assert zeros[1][1][0] == 0.0
    assert J(numbers)[0] == 3999.0
    assert plus(numbers, numbers)[1][0] == 2 * 3998.0
    assert plus(zeros, numbers) is numbers


def test_environments_that_share_their_parts():
    """The list of sensitivities would have 2**60 parts, were each taken for itself."""
    f = closure("let a = 1.0 in fun x -> x * a")
    both = closure("fun f -> fun g -> fun x -> f x + g (x * 1.0)")
    for _ in range(60):
        f = call(call(both, f), f)
    sensitivity = zero(J(f))
    assert plus(sensitivity, zero(f)) is zero(f)
    assert J(sensitivity) is J_inverse(sensitivity) is sensitivity
    assert J_inverse(J_inverse(J(J(f)))) is f


def test_derivative_has_none_for_what_is_no_real_number():
    x = (1.0, (2, Left((np.float64(3.0), ()))))
    assert derivative(x, (10.0, (20.0, Left((30.0, ()))))) == (10.0, (None, Left((30.0, ()))))
    assert type(derivative((1.0, 2.0), zero((1.0, 2.0)))) is tuple


def test_values_are_functions_of_python_too():
    assert closure("fun x -> x * x")(3.0) == 9.0
    assert BASIS["zero"]((1.0, 2.0)) == (0.0, 0.0)
    assert isinstance(BASIS["J"], Basic)
    assert repr(BASIS["J"]) == "J"
    assert repr(closure("fun x -> x")) == "<fun x>"
