from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftreset_ad import grad, jvp, staged
from shiftreset_ad.rules.numpy import einstein
from shiftreset_ad.rules.numpy.einstein import contract, taken_apart
from shiftreset_ad.rules.table import functions_of
from tests.rules.three_ways import check, examples, generators

sizes = st.sampled_from([3, 2, 1, 4, 2, 3, 0])
RANKS = [(i, j) for i in range(1, 5) for j in range(1, 5)]


@st.composite
def stacks(draw, ndim):
    """Two shapes of leading axes that broadcast, the longer with `ndim` axes at most."""
    full = [draw(sizes) for _ in range(ndim)]
    return tuple(draw(st.sampled_from([1, size])) for size in full), tuple(full)


@st.composite
def matmul_shapes(draw, rank_a, rank_b):
    rows, inner, columns = draw(sizes), draw(sizes), draw(sizes)
    shorter, longer = draw(stacks(max(rank_a, rank_b, 2) - 2))
    if draw(st.booleans()):
        shorter, longer = longer, shorter
    tail_a, tail_b = ((inner,) if rank_a == 1 else (rows, inner)), ((inner,) if rank_b == 1 else (inner, columns))
    lead_a, lead_b = shorter[len(shorter) - max(rank_a - 2, 0) :], longer[len(longer) - max(rank_b - 2, 0) :]
    return (*lead_a, *tail_a), (*lead_b, *tail_b)


def drawn(generator, *shapes):
    return [generator.uniform(-1.0, 1.0, shape) for shape in shapes]


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize(("rank_a", "rank_b"), RANKS)
@examples
@given(data=st.data(), generator=generators)
def test_matmul(rank_a, rank_b, data, generator):
    a, b = drawn(generator, *data.draw(matmul_shapes(rank_a, rank_b)))
    check(lambda a, b: a @ b, a, b, generator=generator)
    check(lambda a: np.matmul(a, b), a, generator=generator, dtypes=False, second_order=False)
    check(lambda b: np.matmul(a, b), b, generator=generator, dtypes=False, second_order=False)


@st.composite
def dot_shapes(draw):
    rank_a, rank_b, inner = draw(st.integers(0, 3)), draw(st.integers(0, 3)), draw(sizes)
    shape_a, shape_b = [draw(sizes) for _ in range(rank_a)], [draw(sizes) for _ in range(rank_b)]
    if rank_a and rank_b:
        shape_a[-1] = inner
        shape_b[max(rank_b - 2, 0)] = inner
    return tuple(shape_a), tuple(shape_b)


@st.composite
def inner_shapes(draw):
    a, b = draw(dot_shapes())
    return (a, (*b[:-1], a[-1])) if a and b else (a, b)


@st.composite
def tensordot_calls(draw):
    """Every spelling of `axes`: a count, a pair of axes, a pair of sequences, from either end and in any order."""
    shared = draw(st.lists(sizes, max_size=2))
    free_a, free_b = draw(st.lists(sizes, max_size=2)), draw(st.lists(sizes, max_size=2))
    if draw(st.booleans()):
        return (tuple(free_a + shared), tuple(shared + free_b)), draw(
            st.sampled_from([len(shared), np.int64(len(shared))])
        )
    labels_a = draw(
        st.permutations([("shared", i) for i in range(len(shared))] + [("a", i) for i in range(len(free_a))])
    )
    labels_b = draw(
        st.permutations([("shared", i) for i in range(len(shared))] + [("b", i) for i in range(len(free_b))])
    )
    size_of = {"shared": shared, "a": free_a, "b": free_b}
    shape_a, shape_b = (tuple(size_of[kind][i] for kind, i in labels) for labels in (labels_a, labels_b))
    axes_a = [labels_a.index(("shared", i)) for i in range(len(shared))]
    axes_b = [labels_b.index(("shared", i)) - draw(st.sampled_from([0, len(shape_b)])) for i in range(len(shared))]
    if len(shared) == 1 and draw(st.booleans()):
        return (shape_a, shape_b), (axes_a[0], axes_b[0])
    return (shape_a, shape_b), draw(st.sampled_from([(axes_a, axes_b), [tuple(axes_a), tuple(axes_b)]]))


@st.composite
def outer_shapes(draw):
    return tuple(tuple(draw(st.lists(sizes, max_size=2))) for _ in range(2))


@examples
@given(shapes=dot_shapes(), generator=generators)
def test_dot(shapes, generator):
    check(np.dot, *drawn(generator, *shapes), generator=generator)


@examples
@given(shapes=inner_shapes(), generator=generators)
def test_inner(shapes, generator):
    check(np.inner, *drawn(generator, *shapes), generator=generator)


@examples
@given(shapes=outer_shapes(), generator=generators)
def test_outer(shapes, generator):
    check(np.outer, *drawn(generator, *shapes), generator=generator)


@examples
@given(call=tensordot_calls(), generator=generators)
def test_tensordot(call, generator):
    shapes, axes = call
    check(lambda a, b: np.tensordot(a, b, axes), *drawn(generator, *shapes), generator=generator)


@pytest.mark.parametrize(
    ("shapes", "axes"),
    [
        (((2, 3, 4), (4, 2, 5)), ([2, 0], [0, 1])),
        (((2, 3, 4), (4, 5, 2)), ([0, 2], [2, 0])),
        (((2, 3, 4, 5), (5, 6, 3, 2)), ([3, 0, 1], [0, -1, -2])),
        (((2, 3), (4, 3)), (1, -1)),
        (((2, 3), ()), 0),
    ],
)
def test_tensordot_over_axes_in_any_order(shapes, axes):
    generator = np.random.default_rng(0)
    check(lambda a, b: np.tensordot(a, b, axes), *drawn(generator, *shapes), generator=generator)


@examples
@given(
    shape=st.lists(sizes, min_size=2, max_size=4).map(tuple),
    offset=st.integers(-4, 4),
    data=st.data(),
    generator=generators,
)
def test_trace(shape, offset, data, generator):
    axes = st.integers(-len(shape), len(shape) - 1)
    axis1, axis2 = data.draw(st.tuples(axes, axes).filter(lambda pair: (pair[0] - pair[1]) % len(shape)))
    check(lambda a: np.trace(a, offset, axis1, axis2), *drawn(generator, shape), generator=generator)


def test_trace_of_a_matrix_with_an_infinite_derivative():
    """The elements off the diagonal have the derivative 0, and not 0 times infinity."""
    np.testing.assert_array_equal(grad(lambda a: np.sqrt(np.trace(a)))(np.zeros((2, 2))), [[np.inf, 0], [0, np.inf]])


STACKED = {
    "vecdot": [((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (4, 3))],
    "matvec": [((2, 3), (3,)), ((4, 2, 3), (3,)), ((2, 3), (4, 3))],
    "vecmat": [((3,), (3, 2)), ((4, 3), (3, 2)), ((3,), (4, 3, 2))],
}


@pytest.mark.parametrize(
    ("function", "shapes"), [(f, shapes) for name in STACKED for f in functions_of(name) for shapes in STACKED[name]]
)
def test_products_of_stacks(function, shapes):
    generator = np.random.default_rng(0)
    check(lambda a, b: function(a, b), *drawn(generator, *shapes), generator=generator)


@pytest.mark.parametrize("function", functions_of(*STACKED))
def test_products_of_stacks_do_not_broadcast_what_they_sum(function):
    with pytest.raises(ValueError, match="mismatch in its core dimension"):
        grad(lambda a: np.sum(function(a, np.ones((1, 1)))))(np.ones((3, 3)))


EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("kj,ij", (2, 3), (4, 3)),  # implicit: in alphabetical order
    ("ba", (2, 3)),
    ("ij->", (2, 3)),
    ("ij->i", (2, 3)),
    ("ij->ji", (2, 3)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("iij->j", (3, 3, 2)),
    ("iji->j", (3, 2, 3)),
    ("iii->i", (2, 2, 2)),
    ("ijij->ij", (2, 3, 2, 3)),
    ("ii,ij->j", (2, 2), (2, 3)),
    ("i,i", (3,), (3,)),
    ("i,j->ij", (2,), (3,)),
    ("i,j->", (2,), (3,)),
    (",i->i", (), (3,)),
    (",", (), ()),
    ("->", ()),
    ("ij,j,i->i", (2, 3), (3,), (2,)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("...i,...i->...", (2, 3), (2, 3)),
    ("...i,...i->...", (4, 2, 3), (2, 3)),
    ("...i,...i->...", (2, 3), (3,)),
    ("...ij,...jk->...ik", (5, 1, 2, 3), (4, 3, 2)),
    ("...ij,...jk", (5, 2, 3), (5, 3, 2)),
    ("i...,i...", (3, 2), (3, 2)),
    ("i...j->...", (3, 2, 4)),
    ("...->...", (2, 3)),
    ("...", (2, 3)),
    ("...,...", (2, 1), (3,)),
    ("...ii->...i", (2, 3, 3)),
    (" i j , j k -> i k ", (2, 3), (3, 4)),
    ("ij,jk->ik", (2, 1), (3, 4)),  # a size of 1 is broadcast
    ("ij,ij->ij", (2, 1), (2, 3)),
    ("ij,ij->j", (1, 3), (2, 3)),
    ("i,i->", (1,), (3,)),
    ("ij,jk->ik", (0, 3), (3, 4)),
    ("ij,jk->ik", (2, 0), (0, 4)),
    ("ij->i", (2, 0)),
    ("ij->i", (0, 2)),
    ("ij,ij->i", (2, 0), (2, 0)),
    ("iJ,Jk", (2, 3), (3, 2)),  # capitals come first
]


@pytest.mark.parametrize(("subscripts", "shapes"), [(s, shapes) for s, *shapes in EINSUMS])
def test_einsum(subscripts, shapes):
    generator = np.random.default_rng(0)
    check(lambda *xs: np.einsum(subscripts, *xs), *drawn(generator, *shapes), generator=generator)


SIZES = {"i": 2, "j": 3, "k": 4}
OF_TWO = [
    f"{a},{b}->{output}"
    for a, b, outputs in [
        *[(a, b, ("ik", "ki")) for a in ("ij", "ji") for b in ("jk", "kj")],
        *[pair for a in ("ij", "ji") for pair in ((a, "j", ("i",)), ("j", a, ("i",)))],
        ("j", "j", ("",)),
    ]
    for output in outputs
]


@pytest.mark.parametrize("subscripts", OF_TWO)
def test_a_contraction_that_is_a_product_goes_both_ways_without_einsum(subscripts, monkeypatch):
    generator = np.random.default_rng(0)
    inputs, output = taken_apart(subscripts)
    a, b = drawn(generator, *[tuple(SIZES[label] for label in labels) for labels in inputs])

    def f(a, b):
        return np.einsum(subscripts, a, b)

    check(f, a, b, generator=generator)
    weights = generator.uniform(size=[SIZES[label] for label in output])
    outer = [i for i in range(2) if len(inputs[i]) > len(output)]  # its cotangent is no product, but an outer one
    calls = []
    monkeypatch.setattr(einstein, "EINSUM", lambda *args: calls.append(args) or np.einsum(*args))
    for argnum in range(2):
        jvp(lambda x, argnum=argnum: f(a, x) if argnum else f(x, b), (b if argnum else a,), (b if argnum else a,))
        grad(lambda a, b: np.sum(weights * f(a, b)), argnum)(a, b)
    assert [call[0] for call in calls if call[0] == subscripts] == [subscripts] * 4  # the values
    assert len(calls) == 4 + (len(outer) if output else 0)


def test_a_contraction_of_one_row_along_many_is_stretched():
    a, b, c = np.array([[2.0], [3.0]]), np.arange(12.0).reshape(3, 4), np.arange(8.0).reshape(2, 4)
    gradient = grad(lambda a: np.sum(c * np.einsum("ij,jk->ik", a, b)))(a)
    assert np.allclose(gradient, np.sum(c * b.sum(0), axis=1, keepdims=True), rtol=1e-15)
    tangent = jvp(lambda a: np.einsum("ij,jk->ik", a, b), (a,), (np.ones((2, 1)),))[1]
    assert np.allclose(tangent, [b.sum(0)] * 2, rtol=1e-15)


@pytest.mark.parametrize("operator", [grad, lambda f: grad(lambda x: np.sum(grad(f)(x) ** 2))], ids=["first", "second"])
@pytest.mark.parametrize("rows", [3, 40])
@pytest.mark.parametrize("subscripts", OF_TWO[:8])
def test_a_staged_contraction_has_the_bits_of_the_eager_one(subscripts, rows, operator):
    generator = np.random.default_rng(0)
    x, c = drawn(generator, (rows, rows), (rows, 2 * rows))
    c = c[:, ::2]  # it has gaps
    f = operator(lambda x: np.sum(np.tanh(np.einsum(subscripts, x, c))))
    compiled = staged(f)
    for _ in range(3):
        assert compiled(x).tobytes() == f(x).tobytes()


LISTS = [
    lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [0, 2]),
    lambda a, b: np.einsum(a, [0, 1], b, [1, 2]),
    lambda a, b: np.einsum(a, [2, 1], b, [1, 0]),
    lambda a, b: np.einsum(a, [26, 1], b, [1, 0]),  # 26 comes after 0
    lambda a, b: np.einsum(a, [Ellipsis, 0], b, [0, 1], [Ellipsis, 1]),
    lambda a, b: np.einsum(a, (0, 1), b, (1, 2), ()),
    lambda a, b: np.einsum(b, [0, 0]) * np.einsum(a, [0, 1], [1]),
]


@pytest.mark.parametrize("call", LISTS)
def test_einsum_of_lists_of_labels(call):
    generator = np.random.default_rng(0)
    check(call, *drawn(generator, (2, 3), (3, 3)), generator=generator)


@pytest.mark.parametrize("optimize", [True, False, "greedy", "optimal", ["einsum_path", (0, 1), (0, 1)]])
def test_einsum_optimize(optimize):
    generator = np.random.default_rng(0)
    xs = drawn(generator, (2, 3), (3, 4), (4, 2))
    check(lambda *xs: np.einsum("ij,jk,kl->il", *xs, optimize=optimize), *xs, generator=generator)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.einsum("ij,jk", a),
        lambda a: np.einsum("ijk", a),
        lambda a: np.einsum("ij->k", a),
        lambda a: np.einsum("...j->j", a),
        lambda a: np.einsum("i", a),
        lambda a: np.einsum("ii", a),
        lambda a: np.einsum("ij,ij", a, np.ones((2, 2))),
        lambda a: np.einsum("ij,jk->ik", a[0], np.ones((3, 2))),  # an axis that is summed is not there
        lambda a: np.einsum("ij,j->i", a, 2.0),
        lambda a: np.einsum("ij,jk->ik", a[0], np.ones((3, 2)), optimize=True),
        lambda a: np.dot(a, np.ones(2)),
        lambda a: a @ np.ones(2),
        lambda a: np.inner(a, np.ones(2)),
        lambda a: np.tensordot(a, np.ones((2, 2)), 1),
        lambda a: np.tensordot(a, np.ones(3), ([0, 1], [0])),
        lambda a: np.trace(a, 0, 1, 1),
        lambda a: np.trace(a[0]),
    ],
)
def test_operands_that_do_not_fit_raise_as_in_numpy(call):
    x = np.ones((2, 3))
    with pytest.raises(ValueError):  # noqa: PT011 (whatever NumPy says)
        call(x)
    with pytest.raises(ValueError):  # noqa: PT011
        grad(lambda a: np.sum(call(a)))(x)


def test_unsupported_arguments_are_named():
    with pytest.raises(TypeError, match=r"numpy\.einsum: .*'dtype'"):
        grad(lambda a: np.einsum("i->", a, dtype=np.float64))(np.ones(3))
    with pytest.raises(TypeError, match=r"numpy\.matmul: axes cannot be given"):
        grad(lambda a: np.matmul(a, a, axes=[(0, 1), (0, 1), (0, 1)]))(np.ones((2, 2)))


def test_methods():
    generator = np.random.default_rng(0)
    a, b = drawn(generator, (2, 3), (3, 2))
    check(lambda a, b: a.dot(b).trace() * (b @ a).trace(offset=1), a, b, generator=generator)
    check(lambda b: a @ b, b, generator=generator)


CASES = {
    np.matmul: test_matmul,
    np.dot: test_dot,
    np.inner: test_inner,
    np.outer: test_outer,
    np.tensordot: test_tensordot,
    np.trace: test_trace,
    np.einsum: test_einsum,
    contract: test_einsum,
    **dict.fromkeys(functions_of(*STACKED), test_products_of_stacks),
}
