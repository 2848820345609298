"""The tape of data: Wang et al. 2019, section 3.5."""

import itertools

import pytest

import shiftreset_ad
from shiftreset_ad.formulations.wang import defunctionalised_tape
from shiftreset_ad.formulations.wang.defunctionalised_tape import Entry, Tape, adjoints, grad
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


def test_the_tape_of_the_polynomial():
    """2x + x^3 at 3, as a Wengert list."""
    tape = Tape()
    x = tape.write(3.0)
    y = 2.0 * x + x * x * x
    assert y.primal == 33.0
    assert tape.entries == [
        Entry((), ()),  # 0: x
        Entry((0,), (2.0,)),  # 1: 2 x
        Entry((0, 0), (3.0, 3.0)),  # 2: x x
        Entry((2, 0), (3.0, 9.0)),  # 3: (x x) x
        Entry((1, 3), (1.0, 1.0)),  # 4: the sum
    ]
    assert adjoints(tape.entries, y.place) == [29.0, 1.0, 3.0, 1.0, 1.0]


def test_the_interpreter_starts_at_the_result():
    """What was done after it has no part in it."""
    tape = Tape()
    x = tape.write(3.0)
    y = x * x
    _ = y * y
    assert adjoints(tape.entries, y.place) == [6.0, 1.0, 0.0]


def test_a_tape_of_ten_thousand_operations():
    cases.check_deep(grad, times=3_334)


def test_a_deep_gradient_of_a_gradient():
    f = cases.deep(400)
    expected = shiftreset_ad.grad(shiftreset_ad.grad(f))(1.1)
    assert grad(grad(f))(1.1) == pytest.approx(expected, rel=1e-10)


def test_with_tapes_of_one_age_derivatives_are_confused(monkeypatch):
    product = lambda x: x * grad(lambda y: x * y * y)(3.0)  # noqa: E731
    assert grad(product)(2.0) == 2 * 2 * 6.0
    monkeypatch.setattr(defunctionalised_tape, "serials", itertools.repeat(0))
    assert grad(product)(2.0) != 2 * 2 * 6.0
