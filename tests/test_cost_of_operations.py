"""What an operation costs, counted: the library's own Python calls, the operations captured, and the calls of NumPy.

Time is not looked at, as a busy machine has none to tell. The bounds are what was counted on CPython 3.11, and a little
more. Later versions count less, as they have no frames for comprehensions. Whoever makes a step cheaper lowers its
bound; whoever loses a fast path finds it here.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import grad, hvp, jacfwd, jacrev, jvp, nn, staged
from shiftreset_ad.array_api import MET
from shiftreset_ad.boundary.arguments import all_of
from shiftreset_ad.control import bodies
from shiftreset_ad.control.frames import is_ours
from shiftreset_ad.modes.reverse import adjoints, backpropagation, kept, shells, single, sparing, unsettled
from shiftreset_ad.modes.reverse.recording import Recording
from shiftreset_ad.modes.stacks.number import Stack
from shiftreset_ad.numbers import dispatch
from shiftreset_ad.numbers.interface import ArrayNumber
from shiftreset_ad.rules import ELEMENTWISE, masked
from shiftreset_ad.rules.broadcasting import total

X, W, C = np.linspace(0.1, 0.4, 4), np.eye(4) * 2.0 + 0.1, np.full(4, 0.3)
OF_TREE = np.full((20, 8), 0.1), np.full(20, 0.2)
OF_LSTM = np.full((16, 4), 0.1), np.full((16, 4), 0.2)
OF_GRU = np.full((12, 4), 0.1), np.full((12, 4), 0.2)
MASK, POSITIONS = np.array([True, False, True, False]), np.array([3, 1, 0, 2])
Step = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def numpy_alone() -> Iterator[None]:
    """As in a program that has met no array of another library, after which each derivative is looked at."""
    met = MET.copy()
    MET.clear()
    yield
    MET.update(met)


def chain(step: Step, steps: int) -> Step:
    def f(x: Any) -> Any:
        for _ in range(steps):
            x = step(x)
        return np.sum(x)

    return f


def calls(program: Callable[[], Any], is_counted: Callable[[CodeType], bool] = is_ours) -> Counter[CodeType]:
    """How often each function of the library is called; the second time, when all caches are warm."""
    found: Counter[CodeType] = Counter()

    def look(frame: Any, event: str, arg: Any) -> None:
        if event == "call" and is_counted(frame.f_code):
            found[frame.f_code] += 1

    program()
    before = sys.getprofile()
    sys.setprofile(look)
    try:
        program()
    finally:
        sys.setprofile(before)
    return found


def calls_of(step: Step, order: int = 1) -> Counter[CodeType]:
    """How often each function of the library is called for one step, there and back."""

    def derivative(steps: int) -> Counter[CodeType]:
        f = chain(step, steps)
        return calls(lambda: grad(f)(X) if order == 1 else hvp(f, (X,), (C,)))

    ten = derivative(16)
    ten.subtract(derivative(6))  # after a few steps, which may differ, each costs the same
    assert all(count % 10 == 0 for count in ten.values())
    return Counter({code: count // 10 for code, count in ten.items()})


def written(x: Any) -> Any:
    y = x.copy()
    y[1:] = x[:-1]
    return y


# A step, and at most so many calls for its gradient, and for its Hessian times a vector.
STEPS: dict[str, tuple[Step, int, int]] = {
    "tanh": (lambda x: np.tanh(x), 5, 16),
    "product with a constant": (lambda x: x * C, 3, 4),
    "sum": (lambda x: x - np.sum(x), 23, 27),
    "mean": (lambda x: x - np.mean(x), 28, 33),
    "largest": (lambda x: x - np.max(x), 26, 31),
    "length": (lambda x: x / np.linalg.norm(x), 40, 102),
    "reshape": (lambda x: np.reshape(np.reshape(x, (2, 2)), (4,)), 38, 50),
    "method reshape": (lambda x: x.reshape(2, 2).reshape(4), 39, 51),
    "concatenate": (lambda x: np.concatenate([x, C])[:4], 24, 29),
    "stack": (lambda x: np.stack([x, C])[0], 29, 34),
    "slice": (lambda x: np.concatenate([x[1:], x[:1]]), 33, 56),
    "positions": (lambda x: x[POSITIONS], 12, 18),
    "dot": (lambda x: np.dot(x, C) * x, 23, 41),
    "matmul": (lambda x: (W @ x) * C, 18, 21),
    "einsum": (lambda x: np.einsum("ij,j->i", W, x) * C, 18, 21),
    "tensordot": (lambda x: np.tensordot(W, x, 1), 27, 34),
    "solve": (lambda x: np.linalg.solve(W, x) * C, 21, 25),
    "where": (lambda x: np.where(MASK, x, C), 17, 20),
    "maximum": (lambda x: np.maximum(x, C), 8, 11),
    "maximum and a product": (lambda x: np.maximum(x, C) * x, 14, 32),
    "clip": (lambda x: np.clip(x, 0.2, 0.3), 14, 17),
    "solve for both": (lambda x: np.linalg.solve(W + x, x), 34, 198),
    "slogdet": (lambda x: np.linalg.slogdet(W + x)[1] * C, 70, 201),
    "running sum": (lambda x: np.cumsum(x), 13, 15),
    "write": (lambda x: written(x), 100, 141),
    "linear": (lambda x: nn.linear(x, W, C), 25, 48),
    "memory cell": (lambda x: x + nn.memory_cell(x, C[:1])[0], 54, 174),
    "cell of a tree": (lambda x: nn.tree_lstm_cell([x, x], *OF_TREE, [x, x])[0], 65, 232),
    "lstm cell": (lambda x: nn.lstm_cell(x, (x, x), *OF_LSTM)[0], 88, 249),
    "gru cell": (lambda x: nn.gru_cell(x, x, *OF_GRU), 72, 196),
    "rnn cell": (lambda x: nn.rnn_cell(x, x, W, W), 70, 125),
    "cross entropy": (lambda x: x - nn.cross_entropy(np.reshape(x, (1, 4)), POSITIONS[2:3]), 97, 334),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_takes_so_many_python_calls(name: str) -> None:
    step, first, second = STEPS[name]
    assert calls_of(step).total() <= first
    assert calls_of(step, 2).total() <= second


@pytest.mark.parametrize(("order", "bound"), [(1, 28), (2, 76)])
def test_a_round_of_a_loop_over_elements_takes_so_many_python_calls(order: int, bound: int) -> None:
    """An operation on numbers is a call, and so is its way back: nothing is called to see that they are numbers."""

    def loop(x: Any) -> Any:
        total = 0.0
        for i in range(len(x)):
            total = total + 0.5 * x[i] ** 2 - x[i]
        return total

    def derivative(size: int) -> Counter[CodeType]:
        x = np.linspace(0.1, 0.4, size)
        return calls(lambda: grad(loop)(x) if order == 1 else hvp(loop, (x,), (x,)))

    ten = derivative(16)
    ten.subtract(derivative(6))
    assert ten.total() <= 10 * bound


OF_ONE_FUNCTION = ["sum", "concatenate", "stack", "slice", "einsum", "tensordot", "solve", "where", "clip"]


@pytest.mark.parametrize("name", OF_ONE_FUNCTION)
def test_a_usual_call_is_dispatched_once_and_its_arguments_are_known_by_their_types(name: str) -> None:
    found = calls_of(STEPS[name][0])
    assert found[ArrayNumber.__array_function__.__code__] == 1
    assert found[dispatch.newest_of_usual.__code__] == 0


@pytest.mark.parametrize(
    "step",
    [
        lambda x: np.reshape(x, (2, 2)),
        lambda x: np.sum(x),
        lambda x: np.transpose(x),
        lambda x: np.concatenate([x, C]),
        lambda x: np.einsum("ij,j->i", W, x),
        lambda x: np.dot(W, x),
        lambda x: np.linalg.solve(W, x),
    ],
)
def test_a_function_that_is_linear_in_its_only_number_is_dispatched_once_for_all_levels(step: Step) -> None:
    """And its pullback is called for the value and the tangent of a cotangent, and is not dispatched."""

    def dispatched(f: Step) -> int:
        return calls(lambda: hvp(lambda x: np.sum(f(x * x) * f(x * x)), (X,), (C,)))[dispatch.call_usual.__code__]

    assert dispatched(step) == dispatched(lambda x: x) + 2


def captures(step: Step) -> int:
    return len(Recording("vjp", step, all_of("vjp", (X,)))._pending)


@pytest.mark.parametrize(
    "step",
    [
        lambda x: np.concatenate([x, C]),
        lambda x: np.concatenate((x, C, x), axis=None),
        lambda x: np.stack([x, C, x], axis=1),
        lambda x: np.einsum("ij,j->i", W, x),
        lambda x: np.where(MASK, x, C),
        lambda x: np.clip(x, 0.2, C),
        lambda x: np.dot(W, x),
        lambda x: np.linalg.solve(W, x),
        lambda x: np.max(x),
        lambda x: np.linalg.norm(x),
        lambda x: x.reshape(2, 2),
    ],
)
def test_a_function_is_one_operation(step: Step) -> None:
    assert captures(step) == 1


@pytest.mark.parametrize("index", [POSITIONS, [2, 0, 1, 3], (np.array([3, -4, 2, 1]),)])
def test_a_write_at_distinct_positions_is_one_operation(index: Any) -> None:
    """Where a position is named twice, what is written last has to be found first."""

    def writing(index: Any) -> Step:
        def step(x: Any) -> Any:
            y = np.zeros_like(x)
            y[index] = x
            return y

        return step

    assert captures(writing(index)) == captures(writing(slice(None))) < captures(writing([2, 0, 1, 2]))


@pytest.mark.parametrize(
    ("step", "copies"),
    [
        (lambda x: W @ x, 1),
        (lambda x: np.einsum("ij,j->i", W, x), 1),
        (lambda x: np.linalg.solve(W, x), 1),
        (lambda x: np.where(MASK, x, C), 1),  # of the mask, as the values do not matter
        (lambda x: x[POSITIONS], 1),
        (lambda x: np.concatenate([x, C])[:4], 0),
        (lambda x: np.outer(x, x)[0], 0),
    ],
)
def test_only_constants_that_the_way_back_needs_are_copied(step: Step, copies: int) -> None:
    assert calls_of(step)[kept.frozen.__code__] == copies


@pytest.mark.parametrize(
    ("step", "outer"),
    [
        (lambda x: np.max(x), "_wrapreduction"),
        (lambda x: np.einsum("ij,j->i", W, x), "einsum"),
        (lambda x: x[POSITIONS], "deepcopy"),
        (lambda x: np.sum(x), "_wrapreduction"),
        (lambda x: np.linalg.solve(W, x), "solve"),
        (lambda x: np.linalg.solve(W + x, x), "solve"),
        (lambda x: np.linalg.inv(W + x)[0], "inv"),
        (lambda x: np.stack([x, C]), "stack"),
        (lambda x: np.stack([x, C]), "expand_dims"),
        (lambda x: np.sum(np.resize(np.ones(4000), 4000) * np.sum(x)), "_broadcast_to"),
    ],
)
def test_of_plain_arrays_the_inner_function_is_called(step: Step, outer: str) -> None:
    """The outer function is written in Python, and takes longer than the work."""
    found = calls(lambda: hvp(lambda x: np.sum(x * step(x * x)), (X,), (C,)), lambda code: code.co_name == outer)
    assert found.total() == 0


OF_ONE_NUMBER = [
    "sum",
    "mean",
    "reshape",
    "concatenate",
    "stack",
    "matmul",
    "einsum",
    "tensordot",
    "solve",
    "where",
    "clip",
    "running sum",
]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", OF_ONE_NUMBER)
def test_an_operation_on_one_number_makes_no_list_of_its_operands(name: str, order: int) -> None:
    """There is one map, and its pullback is called at once."""
    found = calls_of(STEPS[name][0], order)
    assert found[single.operation_on_one.__code__] == found[single.pull_one.__code__] > 0
    assert found[backpropagation.operation.__code__] == found[backpropagation.pull.__code__] == 0
    assert found[adjoints.contribute.__code__] == 0


def test_maximum_of_a_number_with_two_levels_takes_the_steps_of_one_level() -> None:
    first, second = calls_of(STEPS["maximum"][0]), calls_of(STEPS["maximum"][0], 2)
    more = {code.co_name for code in second - first}
    assert more == {"carried", "pushforward", "halves"}  # the tangent, of which the half counts where elements tie
    assert second[single.operation_on_one.__code__] == second[backpropagation.operation.__code__] == 0


def test_a_small_array_beside_large_ones_goes_the_short_way() -> None:
    """Only where a shell holds the adjoint of the operand, or of what it is a view of, does it go the long way."""

    def f(x: Any) -> Any:
        large = np.ones(1000) * x[0] + 1.0
        return np.sum(large) + np.sum(W @ np.tanh(x))

    found = calls(lambda: grad(f)(X))
    assert found[shells.with_shell.__code__] + found[sparing.hollowed.__code__] > 0
    assert found[backpropagation.operation.__code__] == 1  # the sum of the large array
    assert found[single.operation_on_one.__code__] == 3


@pytest.mark.parametrize("name", ["dot", "length", "lstm cell", "gru cell"])
def test_what_was_broadcast_is_summed_at_each_level_by_itself(name: str) -> None:
    """And not by a call of NumPy's function, with an axis, of the number."""
    found = calls_of(STEPS[name][0], 2)
    assert found[dispatch.call_unusual.__code__] <= calls_of(STEPS[name][0])[dispatch.call_unusual.__code__]


def test_the_tangent_of_a_product_calls_no_partial_derivative() -> None:
    found = calls(lambda: hvp(chain(lambda x: x * x * C, 4), (X,), (C,)), lambda code: code.co_name == "product")
    assert found.total() == 0


@pytest.mark.parametrize("function", [np.max, np.min])
def test_the_tangent_of_one_largest_element_is_that_element(function: Callable[..., Any]) -> None:
    """No array is masked and summed: the tangents of the others do not matter."""
    found = calls(lambda: hvp(lambda x: function(x) ** 2, (X,), (C,)))
    assert found[masked.Pick.of.__code__] == 1
    assert found[masked.selected.__code__] == found[masked.Choice.__mul__.__code__] == found[total.__code__] == 0


@pytest.mark.parametrize("function", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_a_choice_is_made_once_for_all_levels_and_both_ways(function: Callable[..., Any]) -> None:
    choose, _ = ELEMENTWISE[function].partials
    found = calls_of(lambda x: function(x, C), 2)
    assert found[choose.__code__] == 1  # type: ignore[union-attr]
    assert found[ArrayNumber.__array_ufunc__.__code__] == 1


@pytest.mark.parametrize("step", [lambda x: np.maximum(x, C), lambda x: np.clip(x, 0.1, C)])
def test_where_all_was_chosen_a_tie_makes_no_mask(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([0.3, 0.3, 0.3, 0.3])
    monkeypatch.setattr(masked, "Masked", None)
    np.testing.assert_array_equal(grad(lambda x: np.sum(step(step(x))))(x), np.full(4, 0.25))


@pytest.mark.parametrize("step", [lambda x: np.maximum(x, 0.5), lambda x: np.clip(x, 0.5, 2.0)])
def test_many_elements_that_tie_are_halved_without_a_branch_for_each(
    step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NumPy's writes under a mask take four times as long, if the processor cannot guess the mask."""
    x = np.resize(np.array([0.0, 0.5, 1.0]), 1000)
    monkeypatch.setattr(masked, "PUT", None)
    expected = np.resize(np.array([0.0, 0.5, 1.0]), 1000)
    np.testing.assert_array_equal(grad(lambda x: np.sum(step(x)))(x), expected)
    np.testing.assert_array_equal(hvp(lambda x: np.sum(step(x)), (x,), (x,)), np.zeros(1000))


def test_a_slice_of_a_small_array_adds_to_its_part_of_the_adjoint() -> None:
    """Nobody asks what kind of an index it is, after the first time."""
    found = calls_of(STEPS["slice"][0])
    assert found[masked.marked.__code__] == found[unsettled.add_at_masked.__code__] == 0


def test_the_shell_of_a_large_number_with_a_tangent_asks_no_number_for_its_shape() -> None:
    x = np.linspace(0.1, 0.4, 600)
    found = calls(lambda: hvp(chain(lambda x: np.where(x > 0.2, x, 0.1), 4), (x,), (x,)))
    assert found[shells.with_shell.__code__] > 0
    assert found[ArrayNumber.dtype.fget.__code__] == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("step", [lambda x: np.where(W > 1.0, np.outer(x, x), W), lambda x: np.where(MASK, x, C)])
def test_of_plain_arrays_no_where_is_dispatched_but_that_of_the_program(step: Step) -> None:
    for order in (1, 2):
        found = calls(
            lambda n=order: (
                grad(lambda x: np.sum(step(x)))(X) if n == 1 else hvp(lambda x: np.sum(step(x)), (X,), (C,))
            ),
            lambda code: code.co_name == "where",
        )
        assert found.total() == 1


def test_the_sigmoid_of_an_array_calls_ufuncs_alone() -> None:
    found = calls(lambda: nn.sigmoid(X), lambda code: not is_ours(code) and "numpy" in code.co_filename)
    assert found.total() == 0


def test_one_largest_element_is_counted_and_no_shares_are_added_up() -> None:
    def sums(x: Any) -> int:
        return calls(lambda: grad(lambda x: np.max(x))(x), lambda code: code is total.__code__).total()

    assert sums(X) == 0
    assert sums(np.full(4, 0.3)) == 1


def test_a_scalar_cotangent_is_selected_without_the_outer_where() -> None:
    assert calls(lambda: grad(lambda x: np.max(x))(X), lambda code: code.co_name == "where").total() == 0


def test_a_contribution_to_a_broadcast_operand_is_only_summed() -> None:
    """Its precision is known from the arrays inside, and no number is asked for it."""
    found = calls_of(STEPS["sum"][0], 2)
    assert found[adjoints.unbroadcast.__code__] == 1
    assert found[adjoints.conform.__code__] == 0


# Calls


@pytest.mark.parametrize(
    ("program", "bound"),
    [
        (lambda: grad(lambda x: x * x)(0.3), 58),
        (lambda: hvp(lambda x: x * x, (0.3,), (1.0,)), 112),
        (lambda: jvp(lambda x, y: x * y, (0.3, 0.2), (1.0, 0.0)), 88),
        (lambda: jacfwd(lambda x, y: x * y, (0, 1))(0.3, 0.2), 105),
    ],
)
def test_a_derivative_takes_so_many_python_calls(program: Callable[[], Any], bound: int) -> None:
    """Without its greenlet: while calls are counted, each derivative makes a new one."""
    assert calls(program, lambda code: is_ours(code) and code.co_filename != bodies.__file__).total() <= bound


def test_an_operation_along_two_directions_takes_so_many_python_calls() -> None:
    """Few tangents of a scalar are floats, and no shape is compared. A product and a sum are a call."""

    def derivative(rounds: int) -> Counter[CodeType]:
        def f(x: Any, y: Any) -> Any:
            for _ in range(rounds):
                x = x * y + x * 0.1
            return x

        return calls(lambda: jacfwd(f, (0, 1))(0.3, 0.2))

    ten = derivative(16)
    ten.subtract(derivative(6))
    assert ten.total() <= 10 * 14


# Masks


@pytest.mark.parametrize(
    "step",
    [
        lambda x: np.reshape(x[:3], (3, 1)),
        lambda x: np.concatenate([x, C]),
        lambda x: np.stack([x, C]),
        lambda x: np.sum(x, keepdims=True),
        lambda x: np.where(MASK, x, C),
        lambda x: np.copy(x),
        lambda x: np.transpose(x),
    ],
)
def test_where_elements_are_moved_the_mask_is_moved_too(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the pullback is not called again to find it."""

    def f(x: Any) -> Any:
        y = step(x)
        return np.sum(np.where(np.zeros(np.shape(y)), y, 1.0) + y[(0,) * len(np.shape(y))])

    expected = grad(f)(X)
    monkeypatch.setattr(np, "isnan", None)
    np.testing.assert_array_equal(grad(f)(X), expected)


def test_a_finite_factor_is_not_looked_at_element_by_element(monkeypatch: pytest.MonkeyPatch) -> None:
    selections = []
    selected = masked.selected
    monkeypatch.setattr(masked, "selected", lambda mask, product: selections.append(mask) or selected(mask, product))
    for factor, times in ((0.5, 0), (3, 0), (np.float64(2.0), 0), (np.inf, 1), (C, 1)):
        selections.clear()
        with np.errstate(invalid="ignore"):
            gradient = grad(lambda x, factor=factor: np.sum((factor * x)[1:]))(X)
        assert gradient[0] == 0.0
        assert len(selections) == times


def test_staged_an_epidemic_has_no_masks() -> None:
    """Those who have recovered count nowhere, and so most adjoints count only in part."""

    def after_days(rates: Any) -> Any:
        def slope(y: Any) -> Any:
            infected = rates[0] * y[0] * y[1]
            return np.stack([-infected, infected - rates[1] * y[1], rates[1] * y[1]])

        y = np.array([1.0, 0.5, 0.2])
        for _ in range(5):
            middle = slope(y + 0.05 * slope(y))
            y = y + 0.1 * middle
        return y[1]

    gradient = staged(grad(after_days))
    gradient(np.array([0.5, 0.3]))
    (source,) = gradient.sources
    assert "where(" not in source
    np.testing.assert_allclose(gradient(np.array([0.4, 0.2])), grad(after_days)(np.array([0.4, 0.2])), rtol=1e-13)


# All rows at once


@pytest.mark.parametrize("jacobian", [jacfwd, jacrev])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.tensordot(W, x, 1),
        lambda x: np.tensordot(x, W, ([0], [1])),
        lambda x: np.tensordot(np.outer(x, C), W),
        lambda x: np.dot(x, W),
        lambda x: np.inner(W, x),
        lambda x: W @ x,
        lambda x: np.einsum("ij,j->i", W, x),
        lambda x: np.concatenate([x, C, x]),
        lambda x: np.stack([C, x], axis=-1),
        lambda x: np.where(MASK, x, C),
        lambda x: np.cumsum(x),
        lambda x: x[POSITIONS],
        lambda x: x - np.mean(x),
        lambda x: np.sum(x, axis=0, keepdims=True) * C,
        lambda x: np.roll(np.transpose(np.reshape(x, (2, 2))), 1, axis=0),
    ],
)
def test_a_jacobian_goes_along_all_rows_at_once(jacobian: Any, f: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = np.stack([grad(lambda x, i=i: np.ravel(f(x))[i])(X) for i in range(np.size(f(X)))])
    monkeypatch.delattr(Stack, "row_by_row")
    np.testing.assert_allclose(np.reshape(jacobian(f)(X), expected.shape), expected, rtol=1e-13, atol=1e-15)
