"""What operations hold of large numbers while they wait, and when the arrays of these numbers are freed."""

from __future__ import annotations

import functools
import operator
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import custom_vjp, debug, grad, hessian, hvp, jvp, nn, value, vjp
from shiftreset_ad.modes.reverse import backpropagation, elementwise, shells, single
from shiftreset_ad.modes.reverse.number import NumR
from shiftreset_ad.modes.reverse.shells import SMALL, hollow
from shiftreset_ad.nn.standardized import standardized
from shiftreset_ad.numbers.sparse import times
from shiftreset_ad.rules import STRUCTURED
from shiftreset_ad.rules.indexing import replaced
from shiftreset_ad.rules.linalg.matrices import hermitian_from
from shiftreset_ad.rules.numpy.shapes import repeated
from shiftreset_ad.rules.table import MapByMethods, functions_of
from tests.docs import examples_of_numpy
from tests.writing_programs import random_program, total

LARGE = SMALL + 200
X = np.linspace(0.5, 1.5, LARGE)
W = np.linspace(-1.0, 1.0, LARGE)


def shells_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each array of two elements and more be a large one."""
    for module in (shells, elementwise):
        monkeypatch.setattr(module, "SMALL", 1)


def block(x: Any) -> Any:
    """A reference to the array of a number, which does not keep the array alive."""
    return weakref.ref(value(x).base)


DO_NOT_READ: dict[str, Callable[[Any], Any]] = {
    "product with a constant": lambda y: y * 3.0,
    "a function known by its answer": lambda y: np.tanh(y),
    "a sum": lambda y: y + W,
    "a linear function": lambda y: np.cumsum(y),
    "a copy": lambda y: y.copy(),
    "a copied part": lambda y: y[[0, 2, 1]],
    "a choice by a mask": lambda y: np.where(np.arange(LARGE) % 2 == 0, y, 0.0),
    "a join": lambda y: np.concatenate([y, y]),
    "a reduction": lambda y: np.sum(y) * np.ones(2),
    "a mean": lambda y: np.mean(y) * np.ones(2),
    "a maximum": lambda y: np.maximum(y, 0.1),
    "a minimum of two": lambda y: np.minimum(y, y),
}


@pytest.mark.parametrize("use", DO_NOT_READ.values(), ids=DO_NOT_READ.keys())
def test_an_array_is_freed_when_the_program_drops_it_and_no_operation_reads_it(use: Callable[[Any], Any]) -> None:
    def f(x: Any) -> Any:
        y = x * W
        array = block(y)
        z = use(y)
        assert array() is not None
        del y
        assert array() is None
        return np.sum(z)

    grad(f)(X)


@pytest.mark.parametrize("name", ["a choice by a mask", "a maximum"])
def test_a_choice_of_an_array_with_tangents_frees_it_too(name: str) -> None:
    def f(x: Any) -> Any:
        y = x * W
        array = block(y)
        z = DO_NOT_READ[name](y)
        del y
        assert array() is None
        return np.sum(z)

    jvp(grad(f), (X,), (W,))


READ: dict[str, Callable[[Any], Any]] = {
    "a square": lambda y: y**2,
    "a function known by its operand": lambda y: np.sin(y),
    "a product of itself": lambda y: y * y,
    "a matrix product": lambda y: y @ y,
    "a reduction that chooses": lambda y: np.max(y),
}


@pytest.mark.parametrize("use", READ.values(), ids=READ.keys())
def test_an_array_that_an_operation_reads_is_freed_on_the_way_back(use: Callable[[Any], Any]) -> None:
    arrays = []

    def f(x: Any) -> Any:
        y = x * W
        arrays.append(block(y))
        z = use(y)
        del y
        return np.sum(z)

    def watched(x: Any) -> Any:
        y = f(x)
        assert arrays[0]() is not None
        return y

    grad(watched)(X)
    assert arrays[0]() is None


def test_the_base_of_a_power_is_kept_and_the_power_is_not() -> None:
    def f(x: Any) -> Any:
        y = (x * W) ** 2
        array = block(y)
        z = y + 1.0
        del y
        assert array() is None
        return np.sum(z)

    np.testing.assert_allclose(grad(f)(X), 2.0 * X * W**2, rtol=1e-13)


def test_a_hessian_times_a_vector_holds_no_more_than_its_operations_read() -> None:
    def f(x: Any) -> Any:
        y = x * W
        array = weakref.ref(y.primal.primal)
        z = np.tanh(y + 1.0)
        del y
        assert array() is None
        return np.sum(z)

    hvp(f, (X,), (W,))


def test_a_number_that_the_program_keeps_has_its_elements() -> None:
    def f(x: Any) -> Any:
        y = x * W
        z = y + 1.0
        np.testing.assert_array_equal(value(y), X * W)
        return np.sum(z * y)

    np.testing.assert_allclose(grad(f)(X), 2.0 * X * W**2 + W, atol=1e-15)


def test_a_pullback_runs_again_after_the_arrays_are_freed() -> None:
    y, pullback = vjp(lambda x: np.tanh(x * W + 1.0) * 2.0, X)
    first, second = pullback(np.ones(LARGE))[0], pullback(np.ones(LARGE))[0]
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, 2.0 * W * (1.0 - (y / 2.0) ** 2), rtol=1e-12)


def test_an_operand_without_elements_takes_part_in_an_empty_answer() -> None:
    empty = np.zeros((1, 0))
    g = grad(lambda x: np.sum((x[:, None] * 2.0) * empty) + np.sum(x))(X)
    np.testing.assert_array_equal(g, np.ones(LARGE))


def test_a_hollow_array_shows_that_it_was_read() -> None:
    array = hollow((3, LARGE), np.dtype(np.float64))
    assert np.isnan(array).all()
    assert array.strides == (0, 0)
    assert not array.flags.writeable


def test_hollow_arrays_of_many_shapes_are_forgotten() -> None:
    for n in range(1, 1500):
        hollow((SMALL, n), np.dtype(np.float64))
    assert len(shells.HOLLOW_DOUBLES) <= 1000


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128, np.longdouble])
def test_other_types_have_shells(dtype: Any) -> None:
    x = X.astype(dtype)

    def f(x: Any) -> Any:
        y = x * W.astype(dtype)
        array = block(y)
        z = y + 1
        del y
        assert array() is None
        return np.sum(np.real(z))

    g = grad(f)(x)
    assert g.dtype == dtype
    np.testing.assert_allclose(g, W.astype(dtype), rtol=1e-6)


def test_debug_shows_the_elements_of_the_operand() -> None:
    x = X.copy()
    x[7] = 0.0
    with debug(), pytest.raises(FloatingPointError, match=r"where the operand is 0\.0"):
        grad(lambda x: np.sum(np.sqrt(x * 1.0)))(x)


def test_an_error_on_the_way_back_names_the_shape_of_the_answer() -> None:
    @custom_vjp
    def g(x: Any) -> Any:
        return np.sum(x)

    g.defvjp(lambda x: (np.sum(x), None), lambda _, y_bar: (np.ones(3),))
    with pytest.raises(Exception, match=f"{LARGE}"):
        grad(lambda x: g(x * W))(X)


# The same derivatives, whatever is large

MODES: dict[str, Callable[[Any], Any]] = {
    "reverse": grad,
    "forward over reverse": lambda f: lambda x: hvp(f, (x,), (np.cos(x),)),
    "reverse over reverse": lambda f: grad(lambda x: np.sum(grad(f)(x) ** 2)),
    "all rows of the Hessian": hessian,
    "two ways back": lambda f: lambda x: both_pulled(*vjp(f, x)),
}


def both_pulled(y: Any, pullback: Any) -> Any:
    return np.stack([pullback(1.0)[0], pullback(y)[0]])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(30))
def test_programs_that_write_have_the_same_derivatives_with_shells_for_all(
    seed: int, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(seed).uniform(0.5, 1.5, (3, 4))
    derivative = MODES[mode](total(random_program(seed)))
    before = derivative(x)
    shells_for_all(monkeypatch)
    np.testing.assert_array_equal(derivative(x), before)


# What the maps of linear functions hold


def held(x: Any, seen: set[int]) -> Iterator[Any]:
    """The arrays that an object holds: in the variables of functions, in arguments that are bound, and as a base."""
    if id(x) in seen:
        return
    seen.add(id(x))
    parts: tuple[Any, ...] = ()
    if isinstance(x, np.ndarray):
        yield x
        parts = (x.base,)
    elif isinstance(x, types.FunctionType):
        parts = tuple(cell.cell_contents for cell in x.__closure__ or ()) + (x.__defaults__ or ())
    elif isinstance(x, functools.partial):
        parts = (x.func, *x.args, *x.keywords.values())
    elif isinstance(x, types.MethodType):
        parts = (x.__func__, x.__self__)
    elif isinstance(x, MapByMethods):
        parts = tuple(getattr(x, name, None) for kind in type(x).__mro__ for name in getattr(kind, "__slots__", ()))
    elif isinstance(x, (tuple, list)):
        parts = tuple(x)
    elif type(x) is NumR:
        parts = (x.primal,)
    for part in parts:
        yield from held(part, seen)


calls = examples_of_numpy()


MORE_CALLS: list[Callable[[Any], Any]] = [
    lambda m: np.lib.stride_tricks.sliding_window_view(m, 2, 0),
    lambda m: repeated(m, (4, 3, 3)),
    lambda m: hermitian_from(m, "L"),
    nn.relu,
    lambda m: nn.max_pool(np.reshape(m, (1, 1, 3, 3)), 2),
    lambda m: replaced([m[0], m], 1),
]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_maps_of_linear_functions_hold_no_operand_and_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    operation, operation_on_one = backpropagation.operation, single.operation_on_one
    seen, holding = set(), set()

    def looking_at_one(x: Any, answer: Any, linear_map: Any) -> Any:
        look(x.tag, answer, [(x, linear_map)])
        return operation_on_one(x, answer, linear_map)

    def looking(tag: Any, answer: Any, active: Any) -> Any:
        look(tag, answer, active)
        return operation(tag, answer, active)

    def look(tag: Any, answer: Any, active: Any) -> None:
        if callable(tag.site) and not STRUCTURED[tag.site].reads_operands:
            maps = [(linear_map.pushforward, linear_map.pullback) for _, linear_map in active]
            arrays = {id(array) for array in held(maps, set())}
            if any(id(x.primal) in arrays for x, _ in active) or id(answer) in arrays:
                holding.add(tag.site)
            seen.add(tag.site)

    monkeypatch.setattr(NumR, "linearized", staticmethod(looking))
    monkeypatch.setattr(NumR, "carried", looking_at_one)
    for name, example in calls.EXAMPLES.items():
        if not functions_of(name.removeprefix("numpy.")):  # it has gone from this version of NumPy
            continue
        vjp(lambda *xs, f=example: f(*[x * 1.0 for x in xs]), *[calls.POINTS[p] for p in calls.points_of(example)])
    for call in MORE_CALLS:
        vjp(lambda m, f=call: f(m * 1.0), np.eye(3))
    assert not holding
    linear = {function for function, rule in STRUCTURED.items() if not rule.reads_operands}
    assert seen == {function for function in linear - OTHERS if "staging" not in function.__module__}


OTHERS = {times, operator.getitem}  # of a constant sparse array; `x[i]` has operations of its own


def test_an_answer_among_several_is_freed_when_the_program_drops_it() -> None:
    freed = []

    def f(x: Any) -> Any:
        y, _, _ = nn.batch_norm_in_training(x)
        array = weakref.ref(y.primal)
        z = nn.relu(y)
        del y
        freed.append(array() is None)
        return np.sum(z * z)

    grad(f)(np.random.default_rng(0).normal(size=(30, 4, 8)))
    assert freed == [True]


@pytest.mark.parametrize("written", range(3))
def test_writes_to_an_answer_among_several_are_undone_for_its_rule(written: int) -> None:
    random = np.random.default_rng(0)
    x, weights = random.normal(size=(3, 600)), random.normal(size=(3, 600))

    def f(x: Any, is_in_place: bool) -> Any:
        answers = list(standardized(x, np.ones(600), np.zeros(600), 1e-3, "numpy"))
        if is_in_place:
            answers[written][...] = answers[written] * answers[written]
        else:
            answers[written] = answers[written] * answers[written]
        return np.sum(answers[0] * weights) + np.sum(answers[1] * weights[1]) + np.sum(answers[2] * weights[2])

    np.testing.assert_array_equal(grad(f)(x, True), grad(f)(x, False))
