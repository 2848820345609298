"""Section 8.3: the paper's three designs of vectors, and that of the room `arrays`, on the same programs.

The programs are of a real number x, and n is the length of their vectors. A binding is a name on the trace.
"""

import numpy as np
import pytest

from shiftreset_ad.formulations.krawiec import arrays
from shiftreset_ad.formulations.krawiec.monadic.delta import Linear, empty_map, evaluated
from shiftreset_ad.formulations.krawiec.monadic.delta import Var as DeltaVar
from shiftreset_ad.formulations.krawiec.monadic.monad import bindings_of, each, run_delta
from shiftreset_ad.formulations.krawiec.monadic.primitive_vectors import PRIMITIVE_VECTORS
from shiftreset_ad.formulations.krawiec.monadic.vectors import DUAL_OF_VECTORS, VECTOR_OF_DUALS
from shiftreset_ad.formulations.language import parse
from shiftreset_ad.formulations.language.discrete import Integer
from tests.formulations.krawiec.monadic.test_vectors import SUM, applied, with_integers

MONADIC = {
    "a vector of dual numbers": VECTOR_OF_DUALS,
    "a dual of vectors": DUAL_OF_VECTORS,
    "primitive data": PRIMITIVE_VECTORS,
}
BUILT = "let v = build (n, fun i -> x * x) in "
# Each as a term, as a program of `arrays`, and its derivative
PROGRAMS = {
    "all elements, by index": (
        "fun x -> " + BUILT + SUM.format("index (v, i)"),
        lambda x, n: sum((v[i] for v in [arrays.build(n, lambda i: x * x)] for i in range(n)), 0.0),
        lambda x, n: 2 * n * x,
    ),
    "a dot product, by index": (
        "fun x -> " + BUILT + SUM.format("index (v, i) * index (v, i)"),
        lambda x, n: sum((v[i] * v[i] for v in [arrays.build(n, lambda i: x * x)] for i in range(n)), 0.0),
        lambda x, n: 4 * n * x**3,
    ),
}
# Bindings of a program for n, by design: of products and sums, of the vector, and of the indices
BINDINGS = {
    ("all elements, by index", "a vector of dual numbers"): lambda n: 2 * n,
    ("all elements, by index", "a dual of vectors"): lambda n: 2 * n,
    ("all elements, by index", "primitive data"): lambda n: 2 * n + 1 + n,
    ("all elements, by index", "ours"): lambda n: 2 * n + 1 + n,
    ("a dot product, by index", "a vector of dual numbers"): lambda n: 3 * n,
    ("a dot product, by index", "a dual of vectors"): lambda n: 3 * n,
    ("a dot product, by index", "primitive data"): lambda n: 3 * n + 1 + 2 * n,
    ("a dot product, by index", "ours"): lambda n: 3 * n + 1 + 2 * n,
}


def derivative_and_bindings(program, design, x, n):
    """The derivative of a program, and how many names its trace has, but for that of the input."""
    term, of_arrays, _ = PROGRAMS[program]
    if design == "ours":
        state = arrays.DeltaState()
        of_arrays(state.input(x), n)
        return arrays.grad(lambda x: of_arrays(x, n))(x), len(state.bindings) - 1
    computed = applied(with_integers(parse(term), n), MONADIC[design], (x, DeltaVar(Integer(1))))
    _, bindings = bindings_of(computed, Integer(2))
    um = evaluated(1.0, run_delta(Integer(2), computed)[1], empty_map())
    return um[Integer(1)], sum(1 for _ in each(bindings))


@pytest.mark.parametrize(("program", "design"), BINDINGS)
def test_all_four_designs_have_the_same_derivatives_and_their_own_bindings(program, design):
    for n in (1, 5, 12):
        slope, bindings = derivative_and_bindings(program, design, 0.7, n)
        assert slope == pytest.approx(PROGRAMS[program][2](0.7, n), rel=1e-12)
        assert bindings == BINDINGS[program, design](n)


def test_what_an_operation_on_whole_vectors_takes():
    """One binding where vectors are primitive data; elsewhere, one for each product and each sum."""
    n = 12
    computed = applied(parse("fun v -> dot (v, v)"), PRIMITIVE_VECTORS, (np.arange(1.0, n + 1), DeltaVar(Integer(1))))
    _, bindings = bindings_of(computed, Integer(2))
    assert [type(u) for _, u in each(bindings)] == [Linear]
    state = arrays.DeltaState()
    v = state.input(arrays.Array(np.arange(1.0, n + 1)))
    (v * v).sum()
    assert len(state.bindings) - 1 == 2 * n + n + 2  # indices, products, the vector of products and its sum


def test_what_an_index_hands_back():
    """A whole vector where vectors are primitive data, and one number in the room `arrays`."""
    n = 12
    computed = applied(
        with_integers(parse("fun v -> index (v, next zero)"), n), PRIMITIVE_VECTORS, (np.ones(n), DeltaVar(Integer(1)))
    )
    _, bindings = bindings_of(computed, Integer(2))
    ((_, index),) = each(bindings)
    ((bar, _),) = index.shares(3.0)
    assert bar.tolist() == [0.0, 3.0] + [0.0] * (n - 2)
    state = arrays.DeltaState()
    element = state.input(arrays.Array([1.0] * n))[1]
    assert arrays.run_delta(state, 3.0, element.delta) == {0: {1: 3.0}}
