"""Steps of a machine, and the two phases: Pearlmutter and Siskind 2008, section 2, Fig. 1 to 4."""

import itertools
import random

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad.formulations.pearlmutter_siskind.machine import Binary, Unary, picture, step
from shiftreset_ad.formulations.pearlmutter_siskind.phases import (
    backpropagators,
    forward_matrices,
    forward_mode,
    forward_pairs,
    global_tape,
    reverse_matrices,
    reverse_mode,
)
from shiftreset_ad.formulations.pearlmutter_siskind.postpended import postpended, run

SIZE = 4
X, X_DOT, X_BAR = [0.5, 1.5, -0.7, 2.0], [1.0, -2.0, 3.0, 0.5], [0.3, 0.7, -1.1, 2.0]
UNARY = [Unary(left, right, np.sin) for left, right in itertools.product(range(3), repeat=2)]
BINARY = [Binary(*places, np.multiply) for places in itertools.product(range(3), repeat=3)]
each_step = pytest.mark.parametrize("of", UNARY + BINARY, ids=str)


def as_function(program):
    """The program as a function of Python, for the library's own derivatives."""

    def f(x):
        x = [x[i] for i in range(SIZE)]
        for of in program:
            x[of.L] = of.function(*of.operands(x))
        return x

    return f


def test_fig_1_a_step_changes_one_element():
    assert str(Unary(2, 0, np.sin)) == "x[2] := sin x[0]"
    assert str(Binary(2, 0, 1, np.add)) == "x[2] := add (x[0], x[1])"
    assert step(Unary(2, 0, np.sin), X)[0] == [0.5, 1.5, np.sin(0.5), 2.0]
    assert step(Binary(0, 1, 3, np.multiply), X)[0] == [3.0, 1.5, -0.7, 2.0]


def test_fig_2_the_jacobians_are_the_identity_but_for_a_row():
    assert picture(Unary(2, 0, np.sin), 4) == (
        "1   .   .   .\n"  #
        ".   1   .   .\n"
        "u'  .   .   .\n"
        ".   .   .   1"
    )
    assert picture(Binary(2, 0, 1, np.add), 4) == (
        "1    .    .    .\n"  #
        ".    1    .    .\n"
        "b1'  b2'  .    .\n"
        ".    .    .    1"
    )
    assert picture(Unary(1, 1, np.sin), 2) == "1   .\n.   u'"
    assert picture(Binary(1, 0, 0, np.add), 2) == "1          .\nb1' + b2'  ."
    assert picture(Binary(1, 1, 1, np.add), 2) == "1          .\n.          b1' + b2'"


@each_step
def test_fig_2_is_the_jacobian(of):
    x, slopes = step(of, X)
    expected = shiftreset_ad.jacobian(lambda x: np.stack(as_function([of])(x)))(np.array(X))
    np.testing.assert_allclose(of.jacobian(slopes, SIZE), expected, rtol=1e-14)
    np.testing.assert_allclose(x, as_function([of])(X))


@each_step
def test_fig_3_is_the_product_with_the_jacobian(of):
    """For all coincidences of indices."""
    _, slopes = step(of, X)
    np.testing.assert_allclose(of.forward(slopes, X_DOT), np.array(of.jacobian(slopes, SIZE)) @ X_DOT, rtol=1e-14)


@each_step
def test_fig_4_is_the_product_with_the_transposed_jacobian(of):
    """For all coincidences of indices."""
    _, slopes = step(of, X)
    np.testing.assert_allclose(of.reverse(slopes, X_BAR), np.array(of.jacobian(slopes, SIZE)).T @ X_BAR, rtol=1e-14)


def test_fig_4_a_sensitivity_is_added_to_and_one_is_zeroed():
    assert Unary(2, 0, np.sin).reverse([10.0], X_BAR) == [0.3 + 10.0 * -1.1, 0.7, 0.0, 2.0]
    assert Binary(2, 0, 1, np.add).reverse([10.0, 100.0], X_BAR) == [0.3 + 10.0 * -1.1, 0.7 + 100.0 * -1.1, 0.0, 2.0]


def random_program(rng, length):
    def place():
        return rng.randrange(SIZE)

    functions = [np.sin, np.cos, np.arctan], [np.add, np.multiply, np.subtract]
    return [
        Unary(place(), place(), rng.choice(functions[0]))
        if rng.random() < 0.5
        else Binary(place(), place(), place(), rng.choice(functions[1]))
        for _ in range(length)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_all_forms_agree_with_the_library(seed):
    """Also where values are overwritten."""
    program = random_program(random.Random(seed), 12)
    f = lambda x: np.stack(as_function(program)(x))  # noqa: E731
    y, expected = f(np.array(X)), shiftreset_ad.jacobian(f)(np.array(X))
    close = {"rtol": 1e-11, "atol": 1e-13}
    np.testing.assert_allclose(forward_matrices(program, X)[-1], expected, **close)
    np.testing.assert_allclose(reverse_matrices(program, X)[-1], expected.T, **close)
    pairs = forward_pairs(program, list(zip(X, X_DOT, strict=True)))
    for value, pushed in (forward_mode(program, X, X_DOT), zip(*pairs, strict=True)):
        np.testing.assert_allclose(value, y)
        np.testing.assert_allclose(pushed, expected @ X_DOT, **close)
    last, back = backpropagators(program, X)
    for value, pulled in (reverse_mode(program, X, X_BAR), global_tape(program, X, X_BAR), (last, back(X_BAR))):
        np.testing.assert_allclose(value, y)
        np.testing.assert_allclose(pulled, expected.T @ X_BAR, **close)


def test_without_a_tape_assignments_come_after_the_program():
    program = [Unary(1, 0, np.sin), Binary(2, 1, 0, np.multiply), Binary(3, 2, 2, np.add)]
    assert [str(assignment) for assignment in postpended(program, SIZE, result=3)] == [
        "x1 := sin x0",
        "x2 := x1 * x0",
        "x3 := x2 + x2",
        "x0_bar := 0.0",
        "x1_bar := 0.0",
        "x2_bar := 0.0",
        "x3_bar := 1.0",
        "x2_bar := x2_bar + x3_bar",
        "x2_bar := x2_bar + x3_bar",
        "x3_bar := 0.0",
        "x1_bar := x1_bar + x0 * x2_bar",
        "x0_bar := x0_bar + x1 * x2_bar",
        "x2_bar := 0.0",
        "x0_bar := x0_bar + cos x0 * x1_bar",
        "x1_bar := 0.0",
    ]
    variables = run(postpended(program, SIZE, result=3), X)
    value, pulled = reverse_mode(program, X, [0.0, 0.0, 0.0, 1.0])
    assert [variables[f"x{i}"] for i in range(SIZE)] == pytest.approx(value)
    assert [variables[f"x{i}_bar"] for i in range(SIZE)] == pytest.approx(pulled)


@pytest.mark.parametrize(
    "program",
    [
        [Unary(1, 0, np.sin), Unary(1, 0, np.cos)],
        [Unary(1, 0, np.sin), Unary(0, 2, np.cos)],
        [Unary(1, 1, np.sin)],
    ],
)
def test_without_a_tape_a_value_must_not_be_overwritten(program):
    with pytest.raises(ValueError, match=r"the old value of x. is gone"):
        postpended(program, SIZE, result=1)


def test_rows_and_columns_of_the_jacobian_by_basis_vectors():
    program = [Unary(1, 0, np.sin), Binary(2, 1, 0, np.multiply), Unary(0, 2, np.exp)]
    jacobian, basis = np.array(forward_matrices(program, X)[-1]), np.eye(SIZE)
    for k in range(SIZE):
        np.testing.assert_allclose(forward_mode(program, X, list(basis[k]))[1], jacobian[:, k])
        np.testing.assert_allclose(reverse_mode(program, X, list(basis[k]))[1], jacobian[k])


def test_states_keep_what_they_were_given():
    x, x_bar = list(X), list(X_BAR)
    global_tape([Unary(1, 1, np.sin)], x, x_bar)
    assert (x, x_bar) == (X, X_BAR)
