"""Activations without a frame in native code: which functions have them, and the bits of the NumPy steps."""

import numpy as np
import pytest

from shiftreset_ad import grad, jvp, staged, value_and_grad
from tests.staging.control.recursive import random_tree
from tests.staging.native.natively import needs_native
from tests.staging.native.test_calls import agree

pytestmark = needs_native


def empty_first(n, x):
    return x if n < 0 else empty_first(n - 1, x * 0.9) * empty_first(n - 2, x) + 0.1


def empty_last(n, x):
    if n > 0:
        return np.sin(empty_last(n - 1, x) + empty_last(n - 3, x * 0.7) * x)
    return x * 0.5


def asked_again(n, x):
    """The truth serves once more, behind the branches."""
    is_empty = n < 0
    y = x if is_empty else asked_again(n - 1, x) * x + asked_again(n - 2, x * 0.5)
    return y * 0.5 if is_empty else y * 2.0


def whose_answer_is_needed_once_more(n, x):
    is_empty = n < 0
    y = x if is_empty else whose_answer_is_needed_once_more(n - 1, x) * x
    return y * 0.5 if is_empty else y * y


def with_a_loop_inside(n, x):
    if n <= 0:
        return x
    y = with_a_loop_inside(n - 1, x)
    while y < 2.0:
        y = y * y * 0.1 + y * 1.2 + x
    return y * with_a_loop_inside(n - 2, x * 0.9)


def with_a_loop_behind(n, x):
    y = x if n <= 0 else with_a_loop_behind(n - 1, x) * with_a_loop_behind(n - 2, x)
    while y < 1.0:
        y = y * 1.5 + x
    return y * 0.3


def whose_leaf_keeps_something(n, x):
    if n <= 0:
        return np.sin(x) * np.cos(x)
    return whose_leaf_keeps_something(n - 1, x * 0.9) * whose_leaf_keeps_something(n - 2, x)


def whose_leaf_needs_the_same(n, x):
    if n > 0:
        return whose_leaf_needs_the_same(n - 1, x * 0.9) * x + whose_leaf_needs_the_same(n - 2, x) * 0.1
    return np.sin(x) * 0.5


def whose_leaf_has_a_loop(n, x):
    if n <= 0:
        y = x
        while y < 3.0:
            y = y * y * 0.2 + y + 0.1
        return y * 0.2
    return whose_leaf_has_a_loop(n - 1, x * 0.9) * x + np.sin(whose_leaf_has_a_loop(n - 2, x))


def with_two_branches_inside(n, x):
    if n <= 0:
        return x
    y = np.tanh(with_two_branches_inside(n - 1, x)) if x > 1.0 else np.sin(with_two_branches_inside(n - 2, x + 0.2))
    return y * with_two_branches_inside(n - 3, y)


def with_a_function_inside(n, x):
    def inner(k, y):
        return y if k <= 0 else inner(k - 1, y * x) * y

    return x if n <= 0 else inner(n, x) * with_a_function_inside(n - 1, x * 0.9) * with_a_function_inside(n - 2, x)


def whose_slope_is_taken_inside(n, x):
    if n <= 0:
        return x
    return np.tanh(whose_slope_is_taken_inside(n - 1, np.sin(grad(lambda y: empty_first(n, y))(x)))) * x


def of_arrays(n, x):
    """The branch that calls keeps arrays, which are copied into the frame on all paths."""
    if n <= 0:
        return np.ones(3) * x
    return np.sin(of_arrays(n - 1, x)) * of_arrays(n - 2, x * 0.5)[::-1]


def of_rows(n, x):
    return np.sum(of_arrays(n, x))


def that_keeps_an_array_on_all_paths(n, x):
    def go(n, v):
        w = np.sin(v) * v
        return w if n <= 0 else w * go(n - 1, v * x) * x

    return np.sum(go(n, np.array([0.5, 0.7]) * x))


WITHOUT_FRAMES = (empty_first, empty_last, asked_again, with_a_loop_inside, with_a_function_inside)
OTHERS = (
    *(with_a_loop_behind, whose_leaf_keeps_something, with_two_branches_inside, whose_slope_is_taken_inside),
    *(
        whose_leaf_needs_the_same,
        whose_leaf_has_a_loop,
        whose_answer_is_needed_once_more,
        of_rows,
        that_keeps_an_array_on_all_paths,
    ),
)
OPERATORS = {
    "value_and_grad": lambda f: value_and_grad(f, 1),
    "grad of grad": lambda f: grad(grad(f, 1), 1),
    "grad of jvp": lambda f: grad(lambda n, x: jvp(lambda x: f(n, x), (x,), (1.0,))[1], 1),
    "third order": lambda f: grad(grad(grad(f, 1), 1), 1),
}
CALLS = [(n, x) for n in (3, 0, 5, -1, 1, 7) for x in (0.8, 1.2)]


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("f", WITHOUT_FRAMES + OTHERS, ids=lambda f: f.__name__)
def test_activations_with_and_without_frames_have_the_bits_of_the_steps(f, operator):
    agree(OPERATORS[operator](f), CALLS)


def text_of(f):
    """The text of the native code of a gradient."""
    g = staged(grad(f, 1))
    g(3, 1.1)
    (text,) = g.llvm
    return text


@pytest.mark.parametrize("f", WITHOUT_FRAMES, ids=lambda f: f.__name__)
def test_a_leaf_of_which_only_the_truth_would_be_kept_has_no_frame(f):
    assert "ptr %x0, null" in text_of(f)


def test_a_leaf_that_keeps_something_has_a_frame():
    assert "ptr %x0, null" not in text_of(whose_leaf_keeps_something)


def test_frames_go_on_in_other_chunks_behind_leaves():
    def product(left, right, x):
        def total(i, x):
            return x if i < 0 else total(left[i], x) * total(right[i], x)

        return total(0, x)

    random = np.random.default_rng(0)
    trees = [random_tree(random, 600)[:2] for _ in range(4)]
    agree(grad(product, 2), [(*tree, 1.0001) for tree in trees])
