"""The tape of closures: Wang et al. 2019, section 3.5, Fig. 12."""

import itertools

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad.formulations.wang import tape
from shiftreset_ad.formulations.wang.tape import NumB, Tape, grad
from tests.formulations.wang import cases
from tests.formulations.wang.cases import examples, supplement


@examples
def test_examples_of_the_paper(example):
    cases.check_example(grad, example)


@supplement
def test_examples_of_the_supplement(example):
    cases.check_supplement(grad, example)
    f, _, second = cases.SUPPLEMENT[example]
    assert grad(grad(f))(5.0) == second


@pytest.mark.parametrize(
    "check",
    [
        cases.check_structures,
        cases.check_random_programs,
        cases.check_nesting,
        cases.check_third_order,
        cases.check_with_the_library,
        cases.check_counted,
        cases.check_errors,
        cases.check_control_in_the_program,
        cases.check_unused_result_of_infinite_slope,
    ],
)
def test_of_every_room(check):
    check(grad)


def test_every_function_of_the_table():
    cases.check_functions(grad, second=lambda f: grad(grad(f)))


def test_relay_of_the_supplement():
    """RelayCPS.scala: x + x + x^3 at 0 to 9."""
    for x in map(float, range(10)):
        assert grad(lambda x: x + x + x * x * x)(x) == 2 + 3 * x * x


def test_fig_12_the_tape_takes_back_what_was_done_last_first():
    """Each operation puts one function before those of the operations so far."""
    own = Tape()
    x = NumB(3.0, 0.0, own)
    y = x * x
    of_y = own.backpropagate
    z = y * 2.0
    z.adjoint = 1.0
    assert own.backpropagate() is of_y
    assert (y.adjoint, x.adjoint) == (2.0, 0.0)
    assert of_y() is None
    assert x.adjoint == 12.0


def test_a_tape_of_ten_thousand_operations_does_not_nest():
    cases.check_deep(grad, times=3_334)


@pytest.mark.slow
def test_a_deep_tape_that_is_never_run():
    def f(x):
        cases.deep(2_000)(x)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        grad(f)(1.1)


def test_a_deep_gradient_of_a_gradient():
    f = cases.deep(400)
    expected = shiftreset_ad.grad(shiftreset_ad.grad(f))(1.1)
    assert grad(grad(f))(1.1) == pytest.approx(expected, rel=1e-10)


def test_with_tapes_of_one_age_derivatives_are_confused(monkeypatch):
    product = lambda x: x * grad(lambda y: x * y * y)(3.0)  # noqa: E731
    assert grad(product)(2.0) == 2 * 2 * 6.0
    monkeypatch.setattr(tape, "serials", itertools.repeat(0))
    assert grad(product)(2.0) != 2 * 2 * 6.0


def test_a_tape_that_the_result_does_not_need_is_not_run():
    kept = []
    assert grad(lambda x: kept.append(x * x) or 3.0)(2.0) == 0.0
    assert kept[0].adjoint == 0.0
    assert grad(lambda x: np.floor(x * x))(1.5) == 0.0
