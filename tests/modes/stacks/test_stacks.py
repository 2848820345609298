"""A stack of values: every function does to it what it does to each row, or says that it cannot."""

from __future__ import annotations

import copy
import math
import operator
import pickle
import re
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shiftreset_ad as sr
from shiftreset_ad import EscapedNumberError, hessian, jacfwd, jacrev
from shiftreset_ad.modes.forward.number import NumF
from shiftreset_ad.modes.stacks.at_once import WAYS
from shiftreset_ad.modes.stacks.number import Stack
from shiftreset_ad.numbers.number import is_double
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules import STRUCTURED
from shiftreset_ad.rules.indexing import scatter
from shiftreset_ad.rules.linalg.matrices import hermitian_from
from shiftreset_ad.rules.numpy.shapes import astype
from shiftreset_ad.rules.table import functions_of
from shiftreset_ad.transforms.directions import along_units
from tests.rules import test_indexing as indexing
from tests.rules.numpy import test_elementwise as elementwise
from tests.rules.numpy import test_products as products
from tests.rules.numpy import test_reductions as reductions
from tests.rules.numpy import test_shapes as shapes
from tests.rules.three_ways import examples, generators

ROWS = 3
ASKED = r"[Aa] derivative is linear in it"
Case = tuple[Any, tuple[tuple[int, ...], ...]]


def parts(y: Any) -> list[Any]:
    return list(y) if isinstance(y, tuple | list) else [y]


def check(f: Any, *operands: Any) -> None:
    """`f` of the operands, of which the stacks are given by their rows in a list, is that of each row."""
    tag = Tag.around([])
    count = next(len(x) for x in operands if isinstance(x, list))
    expected = [parts(f(*(x[k] if isinstance(x, list) else x for x in operands))) for k in range(count)]
    found = parts(f(*(Stack(np.stack(x), tag) if isinstance(x, list) else x for x in operands)))
    assert len(found) == len(expected[0])
    for i, y in enumerate(found):
        each = np.stack([row[i] for row in expected])
        if isinstance(y, Stack):
            assert y.shape == np.shape(expected[0][i])
            assert y.dtype == each.dtype
            np.testing.assert_allclose(y.rows, each, rtol=1e-12, atol=1e-14)
        else:  # it depends on none of the stacks
            for row in each:
                np.testing.assert_array_equal(y, row)


def which_are_stacks(count: int) -> list[tuple[bool, ...]]:
    """All operands, and each alone."""
    alone = [tuple(i == j for j in range(count)) for i in range(count)]
    return alone if count == 1 else [(True,) * count, *alone]


def check_all(f: Any, draw: Any, *operand_shapes: Any) -> None:
    for stacked in which_are_stacks(len(operand_shapes)):
        operands = zip(operand_shapes, stacked, strict=True)
        check(f, *([draw(shape) for _ in range(ROWS)] if many else draw(shape) for shape, many in operands))


def drawing(generator: Any = None) -> Any:
    generator = generator or np.random.default_rng(0)
    return lambda shape: generator.uniform(0.1, 0.9, shape)[()]


# Functions that look at the values: by a comparison, or as they are constant for the most part
LOOKS = {
    *("where-2", "where-3", "where-4", "imag-0", "imag-1", "angle-0", "angle-3"),
    *("real_if_close-1", "real_if_close-2", "real_if_close-3"),
}
SHAPES = {
    f"{function.__name__}-{i}": (f, operand_shapes)
    for function, calls in shapes.CASES.items()
    for i, (f, *operand_shapes) in enumerate(calls)
}


@pytest.mark.parametrize("name", SHAPES)
def test_functions_of_shapes(name: str) -> None:
    f, operand_shapes = SHAPES[name]
    if name in LOOKS:
        with pytest.raises(TypeError, match=ASKED):
            check_all(f, drawing(), *operand_shapes)
    elif name in ("full_like-0", "full_like-1"):  # whose second operand NumPy does not dispatch on
        check(f, *([drawing()(shape)] * 2 for shape in operand_shapes))
    else:
        check_all(f, drawing(), *operand_shapes)


@pytest.mark.parametrize("function", reductions.CASES, ids=lambda f: f.__name__)
@examples
@given(data=st.data(), generator=generators)
def test_reductions(function: Any, data: Any, generator: Any) -> None:
    f, shape = data.draw(reductions.CASES[function])
    if function in (np.max, np.amax, np.min, np.amin, np.mean, np.var, np.std) and 0 in shape:
        return
    check_all(f, drawing(generator), shape)


@pytest.mark.parametrize("axis", [0, -1, None, ()])
@pytest.mark.parametrize("function", [np.sum, np.prod, np.max, np.cumsum])
def test_reductions_of_scalars(function: Any, axis: Any) -> None:
    if function is not np.cumsum or axis != ():
        check_all(lambda a: function(a, axis=axis), drawing(), ())


@pytest.mark.parametrize(("rank_a", "rank_b"), products.RANKS)
@examples
@given(data=st.data(), generator=generators)
def test_matmul(rank_a: int, rank_b: int, data: Any, generator: Any) -> None:
    check_all(lambda a, b: a @ b, drawing(generator), *data.draw(products.matmul_shapes(rank_a, rank_b)))


@pytest.mark.parametrize(
    ("function", "operand_shapes"),
    [(np.dot, products.dot_shapes()), (np.inner, products.inner_shapes()), (np.outer, products.outer_shapes())],
    ids=["dot", "inner", "outer"],
)
@examples
@given(data=st.data(), generator=generators)
def test_products(function: Any, operand_shapes: Any, data: Any, generator: Any) -> None:
    check_all(function, drawing(generator), *data.draw(operand_shapes))


@examples
@given(call=products.tensordot_calls(), generator=generators)
def test_tensordot(call: Any, generator: Any) -> None:
    operand_shapes, axes = call
    check_all(lambda a, b: np.tensordot(a, b, axes), drawing(generator), *operand_shapes)


@pytest.mark.parametrize("axis_a", [0, 1])
@pytest.mark.parametrize("axis_b", [0, 1])
def test_tensordot_of_square_matrices(axis_a: int, axis_b: int) -> None:
    """Whose shapes do not tell which axes are summed over."""
    check_all(lambda a, b: np.tensordot(a, b, ([axis_a], [axis_b])), drawing(), (3, 3), (3, 3))


@pytest.mark.parametrize("function", [np.matmul, np.dot, np.inner])
@pytest.mark.parametrize("shape", [(3,), (3, 3)])
def test_the_rows_of_products_lie_one_after_another(function: Any, shape: tuple[int, ...]) -> None:
    """So their layout stays the same from round to round of a loop."""
    square, rows = np.arange(9.0).reshape(3, 3), Stack(np.ones((ROWS, *shape)), Tag.around([]))
    assert function(square, rows).rows.flags.c_contiguous


@pytest.mark.parametrize(("offset", "axis1", "axis2"), [(0, 0, 1), (1, -1, 0), (-2, 1, 2), (7, 2, 0)])
def test_trace(offset: int, axis1: int, axis2: int) -> None:
    check_all(lambda a: np.trace(a, offset, axis1, axis2), drawing(), (2, 3, 4))


@pytest.mark.parametrize(
    ("subscripts", "operand_shapes"), [(s, operand_shapes) for s, *operand_shapes in products.EINSUMS]
)
def test_einsum(subscripts: str, operand_shapes: Any) -> None:
    for optimize in (False, True):
        check_all(
            lambda *xs: np.einsum(subscripts, *xs, optimize=optimize),  # noqa: B023
            drawing(),
            *operand_shapes,
        )


@pytest.mark.parametrize("triangle", ["L", "U"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 1, 1), (0, 0)])
def test_hermitian_matrices_of_a_triangle(triangle: str, shape: Any) -> None:
    check_all(lambda a: hermitian_from(a, triangle), drawing(), shape)


@pytest.mark.parametrize("call", products.LISTS)
def test_einsum_of_lists_of_labels(call: Any) -> None:
    check_all(call, drawing(), (2, 3), (3, 3))


@pytest.mark.parametrize(
    ("function", "operand_shapes"),
    [(f, s) for name in products.STACKED for f in functions_of(name) for s in products.STACKED[name]],
)
def test_products_of_stacks_of_vectors(function: Any, operand_shapes: Any) -> None:
    check_all(lambda a, b: function(a, b), drawing(), *operand_shapes)


INDICES = [
    *indexing.INDICES,
    (True, slice(None), 0),
    (0, slice(None), True),
    (True, slice(None), [0, 1]),
    (np.True_, slice(None), 0),
    ([0, 1, 1], slice(None), 1),
    (0, ..., [1, 0]),
    (0, None, [1, 0]),
    ([1, 0], slice(None), slice(None)),
    (slice(None), slice(None), [1, 0]),
    (slice(None), 1, [1, 0]),
    (np.array(1), slice(None), 0),
    (np.array(1), slice(None), [0, 1]),
]


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_reading_a_part_and_adding_to_one(index: Any) -> None:
    check_all(lambda a: a[index], drawing(), (4, 3, 2))
    part = np.shape(np.zeros((4, 3, 2))[index])
    check_all(lambda a: scatter([a], [index], (4, 3, 2), np.float64), drawing(), part)
    check_all(
        lambda a, b: scatter([a, b, 1.0], [index, slice(1, 3), (0, 0, 0)], (4, 3, 2), float), drawing(), part, (2, 3, 2)
    )


@pytest.mark.parametrize("index", [(), ..., None, (None, ...), True, False, (None, None)], ids=repr)
def test_reading_from_scalars(index: Any) -> None:
    check_all(lambda a: (a * 1.0)[index], lambda shape: np.random.default_rng(0).uniform(size=shape), ())


@examples
@given(data=st.data(), shape=indexing.shapes, generator=generators)
def test_reading_at_random(data: Any, shape: Any, generator: Any) -> None:
    index = data.draw(indexing.basic_indices(shape, allow_newaxis=True))
    check_all(lambda a: a[index], drawing(generator), shape)


# Elementwise functions: the operands are lined up


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("function", sorted(elementwise.CASES, key=lambda f: f.__name__), ids=lambda f: f.__name__)
@examples
@given(data=st.data(), generator=generators)
def test_elementwise(function: Any, data: Any, generator: Any) -> None:
    if function in (np.sign, np.divmod):
        with pytest.raises(TypeError, match=ASKED):
            check(function, *[[0.5, 0.6]] * function.nin)
        return
    draw = elementwise.CASES[function]
    if function.nin == 1:
        shape = data.draw(elementwise.shapes)
        check(function, [draw(generator, shape)[0][()] for _ in range(ROWS)])
        return
    given_shapes = data.draw(elementwise.pairs_of_shapes).input_shapes
    if function is np.ldexp:
        check(lambda a: function(a, 2), [generator.uniform(size=given_shapes[0]) for _ in range(ROWS)])
        return
    rows = [draw(generator, *given_shapes) for _ in range(ROWS)]
    firsts, seconds = ([pair[i][()] for pair in rows] for i in (0, 1))
    for a, b in ((firsts, seconds), (firsts[0], seconds), (firsts, seconds[0])):
        check(function, a, b)


@pytest.mark.parametrize("operator", elementwise.PYTHON_OPERATORS)
def test_python_operators(operator: str) -> None:
    f = elementwise.PYTHON_OPERATORS[operator]
    if operator == "divmod":
        with pytest.raises(TypeError, match=ASKED):
            check_all(f, drawing(), (), ())
        return
    for pair in (((), ()), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 1), (1, 3)), ((), (2,)), ((0,), ())):
        check_all(f, drawing(), *pair)


def test_beside_lists_and_numbers_of_python() -> None:
    for f in (
        lambda a: a + [1.0, 2.0, 3.0],  # noqa: RUF005
        lambda a: [1.0, 2.0, 3.0] * a,
        lambda a: np.multiply([[1.0], [2.0]], a),
        lambda a: 2 * a - True,
        lambda a: np.float32(2.0) * a,
        lambda a: a / np.int64(3),
        lambda a: np.concatenate([[1.0, 2.0], a, (3.0,)]),
        lambda a: np.where([True, False, True], a, [[0.0], [1.0]]),
        lambda a: [[1.0, 2.0, 3.0]] @ a,
        lambda a: a @ [[1.0], [2.0], [3.0]],
    ):
        check(f, [np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 7.0])])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, np.complex64, np.complex128])
def test_precisions(dtype: Any) -> None:
    rows = [np.array([1.0, 2.0], dtype), np.array([3.0, 5.0], dtype)]
    for f in (
        lambda a: a * 2.0,
        lambda a: a + np.float64(1.0),
        np.sum,
        lambda a: np.mean(a, keepdims=True),
        lambda a: astype(a, np.complex128),
        lambda a: a[0],
        lambda a: a @ np.ones(2, np.float32),
        lambda a: np.concatenate([a, np.zeros(1, np.float32)]),
        lambda a: scatter([a], [slice(0, 2)], (3,), dtype),
        np.conjugate,
        np.real,
        lambda a: np.prod(a),
    ):
        check(f, rows)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: x * y + x - y / x,
        lambda x, y: np.sum(x @ y.T, axis=0),
        lambda x, y: np.concatenate([x, y])[[0, -1, 0]],
        lambda x, y: np.einsum("ij,ij->j", x, y),
        lambda x, y: np.max(x * y, axis=-1),  # row by row
        lambda x, y: np.where([True, False, True, False], x, y),
        lambda x, y: np.roll(x, 1) + y[..., ::-1],
        lambda x, y: scatter([x[0], y[0]], [0, 1], (3, 4), float),
    ],
)
def test_two_calls_nested(f: Any) -> None:
    """The rows of the newer stack are a stack of the older call, or that is a constant to it."""
    generator = np.random.default_rng(0)
    a, b, c = generator.uniform(size=(2, 3, 4)), generator.uniform(size=(5, 3, 4)), generator.uniform(size=(2, 5, 3, 4))
    older, newer = Tag.around([]), Tag.around([])

    def rows(y: Any) -> Any:
        assert y.tag is newer
        assert y.rows.tag is older
        return y.rows.rows

    for i in range(2):
        for j in range(5):
            x, y = Stack(a, older), Stack(b, newer)
            np.testing.assert_allclose(rows(f(x, y))[i, j], f(a[i], b[j]))
            np.testing.assert_allclose(rows(f(y, x))[i, j], f(b[j], a[i]))
            both = Stack(Stack(c, older), newer)
            np.testing.assert_allclose(rows(f(both, y))[i, j], f(c[i, j], b[j]))
            np.testing.assert_allclose(rows(f(x, both))[i, j], f(a[i], c[i, j]))


def test_an_answer_that_is_a_stack_of_an_outer_call_is_the_same_along_every_direction() -> None:
    def inner(outer: list[Any]) -> list[Any]:
        (rows,) = along_units([np.zeros(3)], lambda directions: [outer[0] * 2.0])
        assert rows.shape == (3, 2)
        return [rows]

    (found,) = along_units([np.zeros(2)], inner)
    np.testing.assert_array_equal(found, np.broadcast_to(2.0 * np.eye(2)[:, None, :], (2, 3, 2)))


def test_directions_are_a_level_above_the_numbers_that_they_belong_to() -> None:
    levels = []
    x = NumF(np.zeros(2), np.ones(2), Tag.around([4]))
    along_units([x], lambda directions: levels.append(directions[0].tag.level) or directions)
    assert levels == [6]


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.complex64])
def test_blocks_of_zeros_are_in_the_precision_of_value_and_argument(kind: Any) -> None:
    blocks = jacfwd(lambda x: [x, kind(2.0)])(np.ones(2, np.float32))
    assert [block.dtype for block in blocks] == [np.float32, kind]
    assert not np.any(blocks[1])


# What asks for the value


QUESTIONS = {
    "bool": bool,
    "float": float,
    "int": int,
    "complex": complex,
    "index": operator.index,
    "value": sr.value,
    "==": lambda y: y == 0.0,
    "!=": lambda y: y != 0.0,
    "<": lambda y: y < 0.0,
    "<=": lambda y: y <= 0.0,
    ">": lambda y: y > 0.0,
    ">=": lambda y: y >= np.zeros(2),
    "in": lambda y: 0.0 in y,
    "//": lambda y: y // 2,
    "reflected //": lambda y: 2 // y,
    "divmod": lambda y: divmod(y, 2),
    "np.divmod": lambda y: np.divmod(y, 2),
    "round": round,
    "np.round": np.round,
    "trunc": math.trunc,
    "floor": math.floor,
    "ceil": math.ceil,
    "np.floor": np.floor,
    "np.rint": np.rint,
    "np.sign": np.sign,
    "np.signbit": np.signbit,
    "np.isnan": np.isnan,
    "np.less": lambda y: np.less(y, 0.0),
    "np.argmax": np.argmax,
    "np.argsort": np.argsort,
    "np.all": np.all,
    "np.nonzero": np.nonzero,
    "np.allclose": lambda y: np.allclose(y, 0.0),
    "math.sin": math.sin,
    "is_integer": lambda y: y.is_integer(),
    "item": lambda y: y.item(),
    "tolist": lambda y: y.tolist(),
    "astype": lambda y: y.astype(int),
    "format": lambda y: f"{y:.2f}",
    "pickle": pickle.dumps,
    "a condition": lambda y: np.where(y, 1.0, 2.0),
    "if": lambda y: 1.0 if y else 2.0,
    "max": lambda y: max(y, 0.0),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("rows", [np.arange(3.0), np.arange(6.0).reshape(3, 2)], ids=["scalars", "vectors"])
def test_a_question_about_the_value_is_an_error(question: str, rows: Any) -> None:
    with pytest.raises(TypeError) as caught:
        QUESTIONS[question](Stack(rows, Tag.around([])))
    said = str(caught.value)
    assert "erivative" in said or "differentiated" in said or "cannot be interpreted as an integer" in said


def test_the_error_names_the_function() -> None:
    y = Stack(np.arange(3.0), Tag.around([]))
    for function in (np.sign, np.floor, np.argmax, np.less):
        with pytest.raises(TypeError, match=rf"^numpy\.{function.__name__} of a tangent or cotangent: a derivative is"):
            function(*[y] * getattr(function, "nin", 1))


def test_questions_about_the_shape() -> None:
    y = Stack(np.zeros((3, 2, 4), np.float32), Tag.around([]))
    assert (y.shape, y.ndim, y.size, y.dtype, len(y)) == ((2, 4), 2, 8, np.float32, 2)
    assert (np.shape(y), np.ndim(y), np.size(y), np.result_type(y)) == ((2, 4), 2, 8, np.float32)
    assert (np.shape(a=y), np.ndim(a=y), np.size(a=y, axis=1)) == ((2, 4), 2, 4)
    assert (np.iscomplexobj(y), np.isrealobj(x=y), np.can_cast(y, np.float64)) == (False, True, True)
    assert np.common_type(y) is np.float32
    for function in (np.zeros_like, np.ones_like, np.empty_like):
        made = function(y)  # to be written to
        assert type(made) is Stack
        assert (made.shape, made.dtype) == ((2, 4), np.float32)
    assert [type(part) for part in y] == [Stack, Stack]
    scalar = y[0, 0]
    for ask in (len, iter, list):
        with pytest.raises(TypeError, match="unsized"):
            ask(scalar)
    assert repr(Stack(np.zeros(2), Tag.around([4]))) == "Stack(array([0., 0.]), level=5)"


def test_a_stack_is_not_a_scalar_in_double_precision() -> None:
    assert not is_double(Stack(np.zeros(3), Tag.around([])))
    assert not is_double(NumF(Stack(np.zeros(3), Tag.around([])), 0.0, Tag.around([])))


def test_a_size_that_cannot_be_told_is_an_error_as_in_numpy() -> None:
    with pytest.raises(ValueError, match="reshape"):
        np.reshape(np.zeros((2, 0)), (-1, 0))
    with pytest.raises(ValueError, match="reshape"):
        np.reshape(Stack(np.zeros((3, 2, 0)), Tag.around([])), (-1, 0))


def test_copies_and_constants() -> None:
    y = Stack(np.arange(3.0), Tag.around([]))
    for made in (copy.copy(y), copy.deepcopy(y), y.copy(), +y):
        np.testing.assert_array_equal(made.rows, y.rows)
    lifted = y.lifted(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(lifted.rows, [[1.0, 2.0]] * 3)


def test_after_the_call_a_stack_is_no_number_any_more() -> None:
    tag = Tag.around([])
    y = Stack(np.zeros((3, 2)), tag)
    tag.finish()
    for use in (lambda: y * 2.0, lambda: np.sin(y), lambda: y[0], lambda: np.sum(y), lambda: y @ np.ones(2)):
        with pytest.raises(EscapedNumberError, match="level 1"):
            use()


def test_every_function_at_once_has_a_rule() -> None:
    assert set(WAYS) <= set(STRUCTURED)


@pytest.mark.parametrize("jacobian", [jacfwd, jacrev, hessian])
def test_no_question_about_a_stack_goes_through_an_error(jacobian: Any) -> None:
    """A stack has no value, and to raise and to catch an error takes longer than an operation."""

    def f(x: Any) -> Any:
        y = np.sin(x[0]) * x + x / x[1]
        return np.sum(y * y - x[2] * y)

    errors = []

    def look(frame: Any, event: str, arg: Any) -> Any:
        if event == "exception" and "shiftreset_ad" in frame.f_code.co_filename:
            errors.append(frame.f_code.co_name)
        return look

    x = np.array([0.3, 0.7, 0.2])
    expected = jacobian(f)(x)
    before = sys.gettrace()
    sys.settrace(look)
    try:
        found = jacobian(f)(x)
    finally:
        sys.settrace(before)
    np.testing.assert_array_equal(found, expected)
    assert "primal" not in errors


@pytest.mark.parametrize("shape", [(5000,), (50, 100)])
def test_a_product_is_added_in_the_memory_of_the_sum(shape: tuple[int, ...]) -> None:
    """With the same bits, and one row of memory at most."""
    tag, random = Tag.around([]), np.random.default_rng(0)
    rows, others = random.normal(size=(2, ROWS, *shape))
    factor = random.normal(size=shape)
    expected, memory = rows + factor * others, rows
    tracemalloc.start()
    found = Stack(rows, tag).plus_product(factor, Stack(others, tag))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.rows is memory
    assert np.array_equal(found.rows, expected)
    assert factor.nbytes <= peak < 1.5 * factor.nbytes


@pytest.mark.of_sizes
@pytest.mark.parametrize(
    ("factor", "shapes"),
    [
        (np.full(5000, 2.0, np.float32), ((5000,), (5000,))),
        (np.full((2, 5000), 2.0), ((5000,), (5000,))),
        (np.full(5000, 2.0), ((2, 5000), (5000,))),
        (np.full(5000, 2.0), ((5000,), ())),
        (2.0, ((5000,), (5000,))),
        (np.full(4, 2.0), ((4,), (4,))),
    ],
)
def test_a_product_that_does_not_fit_is_added_in_new_memory(
    factor: Any, shapes: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    tag, random = Tag.around([]), np.random.default_rng(0)
    rows, others = (random.normal(size=(ROWS, *shape)) for shape in shapes)
    before = rows.copy()
    found = Stack(rows, tag).plus_product(factor, Stack(others, tag))
    for k in range(ROWS):
        np.testing.assert_array_equal(found.rows[k], rows[k] + factor * others[k])
    np.testing.assert_array_equal(rows, before)


def test_a_product_of_a_call_that_is_over_is_an_error() -> None:
    tag = Tag.around([])
    stacks = [Stack(np.ones((ROWS, 5000)), tag) for _ in range(2)]
    tag.finish()
    with pytest.raises(EscapedNumberError):
        stacks[0].plus_product(np.ones(5000), stacks[1])


BINARY = (
    (np.multiply, np.divide, np.power, np.subtract, np.add, np.hypot, np.arctan2, np.remainder, np.fmod),
    (lambda a, b: a * (a * b), lambda a, b: (a - b) * (a - b), lambda a, b: np.float64(2.0) * a - b * a),
)


@pytest.mark.parametrize("f", BINARY[0] + BINARY[1])
def test_large_rows_are_those_of_each_direction(f: Any) -> None:
    """The memory of a sum is nobody else's: no operand, and no value that is used again, changes."""
    x = np.linspace(0.5, 1.5, 5000)
    seeds = np.random.default_rng(0).normal(size=(ROWS, 5000))
    tag = Tag.around([])

    def program(u: Any) -> Any:
        a, b = np.sin(u) + 1.0, u * u
        y = f(a, b)
        return [y, f(y, a), a * y + b, f(b, a)]

    found = sr.jvp(program, (x,), (Stack(seeds.copy(), tag),))[1]
    for k in range(ROWS):
        for stack, expected in zip(found, sr.jvp(program, (x,), (seeds[k],))[1], strict=True):
            np.testing.assert_allclose(stack.rows[k], expected, rtol=1e-14, atol=1e-15)


def test_a_difference_takes_one_pass() -> None:
    f = sr.staged(lambda x, v: sr.jvp(lambda x: np.sin(x) - x * x, (x,), (v,))[1])
    x = np.ones(3)
    for _ in range(3):
        np.testing.assert_allclose(f(x, x), np.cos(x) - 2.0 * x)
    assert "neg" not in f.ir[0]
    assert len(re.findall("sub", f.ir[0])) == 1


@pytest.mark.of_sizes
def test_constant_rows_are_copied_for_a_staged_program_that_writes() -> None:
    """In one step, and not filled in from zeros; views of an argument, to which nobody writes, need no copy."""

    def f(x: Any) -> Any:
        y = x * 1.0
        y[1:] = y[:-1] * x[1:]
        y[0] = y[-1] * 2.0
        return y

    x = np.linspace(0.3, 1.0, 6)
    g = sr.staged(jacfwd(f))
    for k in range(3):
        np.testing.assert_allclose(g(x + k), jacrev(f)(x + k), rtol=1e-14)
    assert "zeros_like" not in g.ir[0]
    assert g.ir[0].count(".copy(") == 1
