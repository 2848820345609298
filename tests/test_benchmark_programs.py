"""The programs of `benchmarks/programs/`, with small arguments: by finite differences, staged, and by HIPS autograd."""

from functools import partial

import numpy as np
import pytest

from benchmarks.programs.agreement import check_agreement, check_slope
from benchmarks.programs.catalogue import NAMES, program
from benchmarks.programs.libraries import LIBRARIES
from shiftreset_ad import grad


@pytest.mark.parametrize("name", NAMES)
def test_a_program_has_the_derivative_of_finite_differences(name):
    subject = program(name, small=True)
    check_slope(subject, LIBRARIES["shiftreset_ad"](subject))


@pytest.mark.parametrize("name", NAMES)
def test_a_program_has_the_same_derivative_staged(name):
    subject = program(name, small=True)
    staged = LIBRARIES["staged"](subject)
    for _ in range(3):  # from the third call on, the record runs alone
        check_agreement({"shiftreset_ad": LIBRARIES["shiftreset_ad"](subject), "staged": staged})


@pytest.mark.parametrize("name", NAMES)
def test_a_program_has_the_derivative_of_autograd(name):
    pytest.importorskip("autograd")
    subject = program(name, small=True)
    check_agreement({library: LIBRARIES[library](subject) for library in ("shiftreset_ad", "autograd")})


def test_waves_in_place_are_those_of_new_arrays():
    waves = program("shallow_water", small=True)
    in_place, anew = (
        grad(partial(loss, np))(waves.parameters, waves.data) for loss in (waves.loss_in_place, waves.loss)
    )
    for name in anew:
        np.testing.assert_allclose(in_place[name], anew[name], rtol=1e-12)


def test_a_wrong_derivative_is_found():
    subject = program("perceptron", small=True)
    right, wrong = LIBRARIES["shiftreset_ad"](subject), LIBRARIES["shiftreset_ad"](subject)
    derivative = right.derivative

    def slightly_wrong():
        layers = derivative()
        layers[1]["biases"][0] *= 1.0 + 1e-2
        return layers

    wrong.derivative = slightly_wrong
    with pytest.raises(AssertionError, match="wrong and right differ"):
        check_agreement({"right": right, "wrong": wrong})
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check_slope(subject, wrong)
