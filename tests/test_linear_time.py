"""What a derivative costs, in operations rather than in seconds."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import grad, value
from shiftreset_ad.modes.reverse import backpropagation as reverse

X = np.array([1.5, -0.5, 2.0])


class Log:
    """Every operation captured: in which derivative, how large its answer is, and when it was resumed."""

    def __init__(self) -> None:
        self.captured: list[tuple[Any, int]] = []  # the tag, and the size of the answer
        self.resumed: list[int] = []  # indices of `captured`
        self.after_pullback: Callable[[], object] = lambda: None

    def clear(self) -> None:
        self.captured.clear()
        self.resumed.clear()

    def __len__(self) -> int:
        return len(self.captured)

    @property
    def elements(self) -> int:
        return sum(size for _, size in self.captured)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    log, run = Log(), reverse.run

    def logged_run(tag: Any, body: Any, keep: Any) -> Any:
        def logged_keep(operation: Any) -> None:
            index = len(log.captured)
            pullback, answers = operation[0], operation[1]
            answers = answers if isinstance(answers, list) else [answers]
            log.captured.append((tag, sum(np.size(value(answer)) for answer in answers)))

            def logged_pullback(operation: Any) -> None:
                log.resumed.append(index)
                pullback(operation)
                log.after_pullback()

            keep((logged_pullback, *operation[1:]))

        return run(tag, body, logged_keep)

    monkeypatch.setattr(reverse, "run", logged_run)
    return log


def growth(log: Log, measure: Callable[[], int], derivative: Callable[[int], Any]) -> list[int]:
    """The cost at sizes 50, 100, 200 and 400, as differences from one size to the next."""
    costs = []
    for n in (50, 100, 200, 400):
        log.clear()
        derivative(n)
        costs.append(measure())
    return [high - low for low, high in itertools.pairwise(costs)]


def assert_linear(differences: list[int]) -> None:
    first, second, third = differences
    assert first > 0
    assert (second, third) == (2 * first, 4 * first)


def fan_out(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x + x
    return x


def polynomial(x: Any, n: int) -> Any:
    """By Horner's rule: two operations for each coefficient."""
    total = 0.0 * x
    for i in range(n):
        total = total * x + 1.0 / (i + 1)
    return total


def read_by_index(x: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        total = total + x[i] * x[i]
    return total


def neighbours(x: Any, n: int) -> Any:
    total = 0.0
    for i in range(1, n):
        total = total + np.sum(x[i - 1 : i + 1]) * x[-i]
    return total


def iterate(x: Any, n: int) -> Any:
    return sum(a * a for a in x)


def test_fan_out_is_linear(log: Log) -> None:
    for n in (1, 10, 100, 1000):
        log.clear()
        assert grad(fan_out)(3.0, n) == 2.0**n
        assert len(log) == n
        assert len(log.resumed) == n


@pytest.mark.parametrize("f", [fan_out, polynomial])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_scalar_programs_are_linear_at_every_order(log: Log, f: Any, order: int) -> None:
    def derivative(n: int) -> Any:
        nth: Any = lambda x: f(x, n)  # noqa: E731
        for _ in range(order):
            nth = grad(nth)
        return nth(0.5)

    assert_linear(growth(log, lambda: len(log), derivative))


@pytest.mark.parametrize("f", [fan_out, polynomial])
def test_each_order_costs_a_constant_factor_more(log: Log, f: Any) -> None:
    costs = []
    nth: Any = lambda x: f(x, 100)  # noqa: E731
    for _ in range(4):
        nth = grad(nth)
        log.clear()
        nth(0.5)
        costs.append(len(log))
    for low, high in itertools.pairwise(costs):
        assert high <= 6 * low


def test_every_operation_is_resumed_once_and_in_reverse_order(log: Log) -> None:
    def f(x: Any) -> Any:
        inner = grad(lambda y: np.sum(np.sin(y * x) @ np.outer(y, y)))(x)
        unused = np.exp(x)  # noqa: F841
        return np.sum(inner) * np.prod(x) + np.sum(np.split(x, 3)[1])

    grad(f)(X)
    assert sorted(log.resumed) == list(range(len(log)))
    by_tag = collections.defaultdict(list)
    for index in log.resumed:
        by_tag[id(log.captured[index][0])].append(index)
    assert len(by_tag) == 2
    for indices in by_tag.values():
        assert indices == sorted(indices, reverse=True)


def test_one_operation_for_one_operation_of_the_program(log: Log) -> None:
    def f(x: Any) -> Any:
        y = np.sin(x) * 2.0 + x  # 3
        z = np.sum(y**2)  # 2
        return z / y[0] - np.max(x)  # 4

    grad(f)(X)
    assert len(log) == 9
    log.clear()
    grad(lambda x: (value(x) * 2.0).sum() + 0.0 * (x > 1).sum() + np.argmax(x) + len(x) + x.size)(X)
    assert len(log) == 0


# Programs that read one element at a time


READERS = [read_by_index, neighbours, iterate]


@pytest.mark.parametrize("f", READERS, ids=lambda f: f.__name__)
def test_reading_elements_allocates_a_constant_number_of_full_arrays(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    allocated = []

    def counting(function: Any) -> Any:
        def counted(*args: Any, **kwargs: Any) -> Any:
            array = function(*args, **kwargs)
            allocated.append(np.size(array))
            return array

        return counted

    for name in ("zeros", "zeros_like", "empty", "empty_like", "full", "full_like", "broadcast_to", "array", "asarray"):
        monkeypatch.setattr(np, name, counting(getattr(np, name)))
    for n in (100, 400):
        allocated.clear()
        x = np.cos(np.arange(float(n)))
        grad(f)(x, n)
        assert 0 < sum(allocated) <= 8 * n


@pytest.mark.parametrize("f", READERS, ids=lambda f: f.__name__)
def test_reading_elements_adds_in_place(f: Any, log: Log) -> None:
    """The adjoint of what is read by index is one array from the first contribution to the last."""
    arguments: list[Any] = []
    adjoints = set()
    log.after_pullback = lambda: adjoints.add(id(arguments[0].adjoint))
    grad(lambda x: arguments.append(x) or f(x, 20))(np.ones(20))
    assert len(adjoints) == 2  # that it was never touched, and the array
    assert id(arguments[0].adjoint) in adjoints


@pytest.mark.parametrize("f", READERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("order", [1, 2])
def test_reading_elements_is_linear_in_elements_touched(log: Log, f: Any, order: int) -> None:
    """At the second order the inner derivative's way back is made of operations of the outer one, which count it."""

    def derivative(n: int) -> Any:
        x = np.cos(np.arange(float(n)))
        if order == 1:
            return grad(f)(x, n)
        return grad(lambda x: np.sum(grad(f)(x, n) * x))(x)

    for measure in (lambda: len(log), lambda: log.elements):
        first, second, third = growth(log, measure, derivative)
        assert second == pytest.approx(2 * first, rel=0.05)
        assert third == pytest.approx(4 * first, rel=0.05)


def test_second_derivatives_of_elements_are_right() -> None:
    x = np.cos(np.arange(6.0))
    np.testing.assert_allclose(grad(lambda x: np.sum(grad(read_by_index)(x, 6) * x))(x), 4 * x)
    np.testing.assert_allclose(grad(lambda x: np.sum(grad(iterate)(x, 6) * x))(x), 4 * x)


# Arithmetic on the values themselves


class Counted(float):
    """A float that counts the arithmetic done with it."""

    operations = 0


def _counting(name: str) -> Any:
    function = getattr(float, name)

    def counted(self: Any, *others: Any) -> Any:
        Counted.operations += 1
        return Counted(function(self, *others))

    return counted


for _name in ("add", "sub", "mul", "truediv", "pow"):
    setattr(Counted, f"__{_name}__", _counting(f"__{_name}__"))
    setattr(Counted, f"__r{_name}__", _counting(f"__r{_name}__"))
Counted.__neg__ = _counting("__neg__")  # type: ignore[method-assign]


def rational(x: Any, n: int) -> Any:
    total = x
    for i in range(n):
        total = (total * x - 1.5) / (x * x + i) + total
    return total


@pytest.mark.parametrize("f", [fan_out, polynomial, rational])
def test_a_gradient_costs_at_most_six_times_the_function(f: Any) -> None:
    """The cheap gradient principle: a constant times the function, whatever its length."""

    def cost(function: Any, n: int) -> int:
        Counted.operations = 0
        function(Counted(0.5), n)
        return Counted.operations

    ratios = [cost(grad(f), n) / cost(f, n) for n in (10, 100, 1000)]
    assert all(1.0 <= ratio <= 6.0 for ratio in ratios)
    assert ratios[2] == pytest.approx(ratios[1], rel=0.05)


@pytest.mark.parametrize("count", [1, 10, 100])
def test_a_gradient_in_many_inputs_is_one_run(log: Log, count: int) -> None:
    calls = []

    def f(*xs: Any) -> Any:
        calls.append(1)
        return sum(x * x for x in xs)

    grad(f, tuple(range(count)))(*[2.0] * count)
    assert len(calls) == 1
    assert len(log) == 2 * count


def test_recursion_on_a_tree_is_linear_in_its_nodes(log: Log) -> None:
    def evaluate(tree: Any, x: Any) -> Any:
        return x if tree is None else evaluate(tree[0], x) * evaluate(tree[1], x)

    tree: Any = None
    for depth in range(8):
        log.clear()
        assert grad(lambda x: evaluate(tree, x))(1.0) == 2.0**depth  # noqa: B023
        assert len(log) == 2**depth - 1
        tree = (tree, tree)
