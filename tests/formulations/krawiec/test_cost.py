"""Theorem 5, by counts: time and memory are linear in the number of operations; and what goes before is not."""

import numpy as np
import pytest

from shiftreset_ad.formulations.krawiec import (
    array_backed,
    arrays,
    delta,
    dense,
    duals,
    fusion,
    sharing,
    source_sharing,
    structured,
)
from shiftreset_ad.formulations.language import evaluate, parse
from shiftreset_ad.formulations.language.values import Right

LINEAR = [sharing, array_backed, structured, arrays, fusion]


def squares(n):
    """Each result is used twice, at once."""

    def f(x):
        for _ in range(n):
            x = x * x
        return x

    return f


def fibonacci(n):
    """Each result is used twice, by the next and by the one after it."""

    def f(x):
        a, b = x, np.sin(x)
        for _ in range(n):
            a, b = b, np.sin(a * b)
        return b

    return f


@pytest.mark.parametrize("room", LINEAR, ids=lambda room: room.__name__)
@pytest.mark.parametrize("program", [squares, fibonacci])
def test_linear_time(room, program, count):
    """At most ten times the operations of the program, and as many more for each operation more."""
    sizes = (100, 200, 400)
    counts = [count(room.grad(program(n)), 1.0) for n in sizes]
    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0])
    assert all(cost <= 10 * count(program(n), 1.0) for cost, n in zip(counts, sizes, strict=True))


def term(n):
    return parse(
        f"fun x -> let rec f s = if fst s < 1.0 then snd s else f (fst s - 1.0, snd s * snd s) in f ({float(n)}, x)"
    )


def test_linear_time_by_the_translation(count):
    costs = [count(source_sharing.grad(term(n)), 1.0) for n in (25, 50, 100)]
    assert costs[2] - costs[1] == 2 * (costs[1] - costs[0])
    assert costs[2] <= 10 * count(evaluate(term(100)), 1.0)


def nodes(delta):
    """The size of a term."""
    match delta:
        case sharing.Scale(_, scaled):
            return 1 + nodes(scaled)
        case sharing.Add(left, right):
            return 1 + nodes(left) + nodes(right)
    return 1


@pytest.mark.parametrize("n", [10, 100, 1000])
def test_linear_memory(n):
    """A binding for each operation, and each of a bounded size: nothing is in it twice."""
    bindings = sharing.trace(fibonacci(n))(1.0).bindings
    assert len(bindings) == 2 * n + 1
    assert max(nodes(delta) for _, delta in bindings) == 5


def test_linear_memory_by_the_translation():
    lengths = []
    for n in (10, 20, 40):
        _, bindings = source_sharing.trace(term(n))(1.0)
        lengths.append(0)
        while isinstance(bindings, Right):
            _, bindings = bindings.value
            lengths[-1] += 1
    assert lengths[2] - lengths[1] == 2 * (lengths[1] - lengths[0])


def test_each_binding_is_visited_once():
    """So that the number of terms that are evaluated is that of the bindings, and of the parts in them."""
    trace = sharing.trace(squares(50))(1.0)
    visited = []

    class Visited(list):
        def __reversed__(self):
            for binding in super().__reversed__():
                visited.append(binding[0])
                yield binding

    sharing.run_delta(trace._replace(bindings=Visited(trace.bindings)), 1.0, 1)
    assert visited == list(range(49, -1, -1))


def test_delta_terms_are_exponential(count):
    """Reverse mode, number 2: x**(2**n) by n squares takes 2**(n + 1) - 2 multiplications on the way back."""
    for n in (1, 2, 5, 10):
        back = count(delta.grad(squares(n)), 1.0) - count(squares(n), 1.0)
        additions = 2**n  # to the gradient, which begins with zero
        assert back == 2 ** (n + 1) - 2 + additions


def test_sums_in_a_row_are_evaluated_exponentially_often():
    """The program of section 5.3: x1 = x + x, x2 = x1 + x1, and so on; the sensitivity counts how often it is used."""

    class Sensitivity(float):
        products = 0

        def __rmul__(self, r):
            Sensitivity.products += 1
            return Sensitivity(r * float(self))

    for n in (1, 2, 5, 10):
        y = x = delta.DeltaNumber(3.0, delta.OneHot(0), 0)
        for _ in range(n):
            y = y + y
        x_bar, Sensitivity.products = [0.0], 0
        delta.eval_delta(Sensitivity(1.0), y.delta, x_bar)
        assert x_bar == [2.0**n]
        assert y.primal == 2.0**n * x.primal
        assert Sensitivity.products == 2 ** (n + 1) - 2


def test_delta_terms_are_linear_without_sharing(count):
    def f(n):
        return lambda x: np.sin(x) if n == 0 else np.sin(f(n - 1)(x))

    costs = [count(delta.grad(f(n)), 1.0) for n in (10, 20, 40)]
    assert costs[2] - costs[1] == 2 * (costs[1] - costs[0])


def product(x):
    y = x[0]
    for z in x[1:]:
        y = y * z
    return y


def test_dense_vectors_cost_the_number_of_inputs(count):
    """Quadratic for a product of n numbers, of which forward mode needs n passes; with Delta terms it is linear."""
    sizes = (10, 20, 40)
    of_dense, of_duals, of_delta = (
        [count(room.grad(product), [1.0] * n) for n in sizes] for room in (dense, duals, delta)
    )
    for costs in (of_dense, of_duals):
        assert costs[1] > 3.5 * costs[0]
        assert costs[2] > 3.5 * costs[1]
    assert of_delta[2] - of_delta[1] == 2 * (of_delta[1] - of_delta[0])


def test_indexing_costs_a_constant(count):
    """A loop over an array, element by element, is linear on the way back as well (section 8.3)."""

    def of_length(n):
        def f(x):
            def loop(a):
                total = a[0]
                for i in range(1, n):
                    total = total * a[i]
                return total

            return loop(arrays.build(n, lambda i: x * x))

        return f

    costs = [count(arrays.grad(of_length(n)), 1.0) for n in (50, 100, 200)]
    assert costs[2] - costs[1] == 2 * (costs[1] - costs[0])
