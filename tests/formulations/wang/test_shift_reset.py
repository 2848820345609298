"""Reverse mode by shift and reset: Wang et al. 2019, section 3.2, Fig. 8."""

import threading

import numpy as np
import pytest

from shiftreset_ad import reset, shift
from shiftreset_ad.control import ControlError
from shiftreset_ad.formulations.wang.shift_reset import grad
from tests.formulations.wang import cases
from tests.formulations.wang.cases import examples, supplement


@examples
def test_examples_of_the_paper(example):
    cases.check_example(grad, example)


@supplement
def test_examples_of_the_supplement(example):
    cases.check_supplement(grad, example)


@pytest.mark.parametrize(
    "check",
    [
        cases.check_structures,
        cases.check_functions,
        cases.check_random_programs,
        cases.check_with_the_library,
        cases.check_deep,
        cases.check_counted,
        cases.check_errors,
        cases.check_control_in_the_program,
        cases.check_unused_result_of_infinite_slope,
    ],
)
def test_of_every_room(check):
    check(grad)


def test_fig_6_there_and_back_again():
    """When a program ends, no adjoint is known; each is complete when the handler of its number goes on."""
    seen = []

    def f(x):
        y = x * x
        z = y * 3.0
        seen.extend((y, z))
        assert (x.adjoint, y.adjoint, z.adjoint) == (0.0, 0.0, 0.0)
        return z

    assert grad(f)(2.0) == 12.0
    assert [number.adjoint for number in seen] == [3.0, 1.0]


def test_a_reset_of_the_program_does_not_end_the_continuation_of_an_operation():
    def f(x):
        y = reset(lambda: x * shift(lambda k: k(x * x) * x))  # x (x x) x
        return y * y

    assert grad(f)(1.5) == pytest.approx(8 * 1.5**7)


def test_generators_exceptions_and_closures_of_python():
    def powers(x):
        power = x
        while True:
            yield power
            power = power * x

    def f(x):
        total = 0.0
        try:
            for i, power in enumerate(powers(x)):
                total = total + power
                if i == 2:
                    raise KeyError
        except KeyError:
            return total

    assert grad(f)(2.0) == 1 + 2 * 2 + 3 * 4


def test_derivatives_do_not_nest_and_say_so():
    with pytest.raises(TypeError, match=r"grad: this room has one level of derivatives; .* use the room `prompts`"):
        grad(grad(lambda x: x * x))(1.0)
    with pytest.raises(TypeError, match="grad: this room has one level"):
        grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0)
    assert grad(lambda x: x * x)(3.0) == 6.0


def test_a_number_after_its_derivative_is_refused():
    kept = []
    grad(lambda x: kept.append(x) or x * x)(3.0)
    with pytest.raises(ControlError):
        kept[0] * 2.0


def test_threads_have_nothing_in_common():
    barrier, found = threading.Barrier(2, timeout=20), {}

    def work(n):
        def f(x):
            y = x
            for _ in range(20):
                barrier.wait()
                y = y * x * n
            return y

        found[n] = grad(f)(1.01)

    threads = [threading.Thread(target=work, args=(n,)) for n in (0.9, 1.1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: pytest.approx(21 * 1.01**20 * n**20) for n in (0.9, 1.1)}


def test_fig_8_by_hand():
    """y = sin(a b) + a, and how each adjoint comes about."""
    a, b = 0.7, 1.3
    assert grad(lambda p: np.sin(p[0] * p[1]) + p[0])((a, b)) == pytest.approx(
        (np.cos(a * b) * b + 1.0, np.cos(a * b) * a)
    )
