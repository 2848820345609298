"""Second derivatives by explicit CPS inside shift/reset: Wang et al. 2019, supplement, shiftCPS.scala."""

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad import reset, shift
from shiftreset_ad.formulations.language import evaluate, parse
from shiftreset_ad.formulations.wang.cps_inside_shift_reset import grad, hessian, hvp, second_derivative
from tests.formulations.wang import cases
from tests.formulations.wang.cases import examples, supplement


@examples
def test_examples_of_the_paper(example):
    cases.check_example(grad, example)
    f, term, x, _ = cases.EXAMPLES[example]
    expected = shiftreset_ad.grad(shiftreset_ad.grad(f))(x)
    assert second_derivative(f)(x) == pytest.approx(expected)
    assert second_derivative(parse(term))(x) == pytest.approx(expected)


@supplement
def test_examples_of_the_supplement(example):
    """shiftCPS.scala, f1 to f7, and their first and second derivatives."""
    cases.check_supplement(grad, example)
    f, _, second = cases.SUPPLEMENT[example]
    assert second_derivative(f)(5.0) == second


@pytest.mark.parametrize(
    "check",
    [
        cases.check_structures,
        cases.check_random_programs,
        cases.check_with_the_library,
        cases.check_counted,
        cases.check_errors,
        cases.check_control_in_the_program,
        cases.check_unused_result_of_infinite_slope,
    ],
)
def test_of_every_room(check):
    with cases.deep_stack(20_000):
        check(grad)


def test_every_function_of_the_table():
    cases.check_functions(grad, second=second_derivative)


def test_random_programs_to_second_order():
    """The Hessian times a vector, by the library: the gradient of the gradient along the vector."""

    def second(program):
        def at(x):
            with np.errstate(all="ignore"):
                return hvp(program)(x, x)

        return at

    def check(program, x):
        v = np.array(shiftreset_ad.jvp(shiftreset_ad.grad(program), (x,), (x,))[1])
        np.testing.assert_allclose(np.array(second(program)(x)), v, rtol=1e-9, atol=1e-12)

    for text, x in {
        "fun x -> let f = fun y -> sin (y * fst x) in f (f (snd x))": (0.7, 1.3),
        "fun x -> let r = ref (fst x) in r := !r * snd x; r := !r * !r; exp !r": (0.7, 0.3),
        "fun x -> let rec f n = if n < 1.0 then snd x else fst x * f (n - 1.0) in f 4.0": (0.7, 1.3),
    }.items():
        check(evaluate(parse(text)), x)
        np.testing.assert_allclose(hvp(parse(text))(x, x), hvp(evaluate(parse(text)))(x, x))


def test_section_3_7_a_hessian_times_a_vector():
    cases.check_hessian(hvp)


def test_hessian_is_symmetric_and_has_the_structure_of_the_argument_twice():
    found = hessian(lambda p: p["x"] * p["x"] * p["y"][0] + np.sin(p["y"][1]) * p["x"])({"x": 2.0, "y": (3.0, 0.5)})
    cos, sin = np.cos(0.5), np.sin(0.5)
    assert found == {
        "x": {"x": 6.0, "y": (4.0, pytest.approx(cos))},
        "y": ({"x": 4.0, "y": (0.0, 0.0)}, {"x": pytest.approx(cos), "y": (0.0, pytest.approx(-2 * sin))}),
    }


def test_the_last_continuation_looks_at_the_input_and_not_at_the_last_adjoint_written():
    """Where the first operation has its other operand last, the listing's `p(that.d)` hands on the wrong one."""
    f = lambda p: np.exp(p[0] * p[1]) * p[0]  # noqa: E731
    x, y = 0.7, 0.3
    e = np.exp(x * y)
    assert hvp(f)((x, y), (1.0, 0.0)) == pytest.approx((2 * y * e + x * y * y * e, 2 * x * e + x * x * y * e))


def test_control_of_the_program():
    f = lambda x: reset(lambda: x * shift(lambda k: k(x * x) * x))  # noqa: E731 (x^4)
    assert second_derivative(f)(1.5) == pytest.approx(12 * 1.5**2)


@pytest.mark.slow
def test_deep():
    f = cases.deep(340)  # 1,020 operations
    with cases.deep_stack(30_000):
        assert grad(f)(1.1) == pytest.approx(shiftreset_ad.grad(f)(1.1), rel=1e-10)
        second = shiftreset_ad.grad(shiftreset_ad.grad(f))(1.1)
        assert second_derivative(f)(1.1) == pytest.approx(second, rel=1e-10)


def test_numbers_that_are_no_floats():
    found = second_derivative(lambda x: x * x * x)(cases.Counted(4.0, []))
    assert found.primal == 24.0
    third = shiftreset_ad.grad(second_derivative(lambda x: x * x * x))  # highOrder.scala has forward mode outside
    assert third(4.0) == 6.0


def test_derivatives_beyond_its_two_levels_are_refused():
    square = lambda x: x * x  # noqa: E731
    for outer in (grad, second_derivative):
        for inner in (grad, second_derivative):
            with pytest.raises(
                TypeError, match="grad: this room's grad does not nest; use hvp or hessian, or the room"
            ):
                outer(inner(square))(1.0)
            with pytest.raises(TypeError, match="does not nest"):
                outer(lambda x, inner=inner: x * inner(lambda y: x + y)(1.0))(1.0)
    assert (grad(square)(3.0), second_derivative(square)(3.0)) == (6.0, 2.0)


def test_errors_leave_nothing_behind():
    with pytest.raises(ZeroDivisionError, match="mine"):
        second_derivative(lambda x: cases.raising(x * x))(1.0)
    with pytest.raises(TypeError, match=r"hvp: the vector .* needs a float for each float of the argument"):
        hvp(lambda x: x[0])((1.0, 2.0), (1.0,))
    with pytest.raises(TypeError, match="grad: the function must return one number"):
        second_derivative(lambda x: (x, x))(1.0)
    assert second_derivative(cases.caught)(3.0) == 2.0
