"""`numpy.pad` in all its modes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

from shiftreset_ad import grad
from tests.rules.three_ways import check, check_call, check_values, every_call, examples, generators

some = settings(examples, max_examples=30)

# Calls, each with the shapes of its operands: for all numbers, and for those that have an order.
CASES = {
    np.pad: [
        (lambda a: np.pad(a, 1), (2, 3)),
        (lambda a: np.pad(a, (1, 2)), (2, 3)),
        (lambda a: np.pad(a, ((0, 1), (2, 0))), (2, 3)),
        (lambda a: np.pad(a, [[1], [2]], "constant", constant_values=2), (2, 3)),
        (lambda a: np.pad(a, 2, constant_values=[(1.0, 2.0), (3.0, 4.0)]), (2, 3)),
        (lambda a, b: np.pad(a, (2, 1), constant_values=b), (2, 3), ()),
        (lambda a, b, c: np.pad(a, (2, 1), constant_values=(b, c)), (2, 3), (), ()),
        (lambda a, b: np.pad(a, (2, 1), constant_values=b), (2, 3), (2, 2)),
        (lambda a: np.pad(a, (2, 1), constant_values=((a[0, 0], 1.0), (2.0, a[0, 1]))), (2, 3)),
        (lambda a: np.pad(a, 0), (2, 3)),
        (lambda a: np.pad(a, 2), (0, 2)),
        (lambda a: np.pad(a, 2), ()),
        (lambda a: np.pad(a, 2, "edge"), (2, 3)),
        (lambda a: np.pad(a, ((0, 0), (1, 5)), "wrap"), (2, 3)),
        (lambda a: np.pad(a, (7, 2), "wrap"), (3,)),
        (lambda a: np.pad(a, (1, 2), "linear_ramp"), (2, 3)),
        (lambda a: np.pad(a, 2, "linear_ramp", end_values=((1.0, 2.0), (3.0, 4.0))), (2, 3)),
        (lambda a, b, c: np.pad(a, (3, 2), "linear_ramp", end_values=(b, c)), (2, 3), (), ()),
        (lambda a: np.pad(a, (3, 0), "linear_ramp", end_values=5), (1, 2)),
        (lambda a: np.pad(a, 1, "mean"), (2, 3)),
        (lambda a: np.pad(a, (1, 2), "mean", stat_length=2), (2, 3)),
        (lambda a: np.pad(a, 1, "mean", stat_length=((1, 2), (3, 9))), (2, 3)),
        (lambda a: np.pad(a, (2, 1), "reflect"), (3, 4)),
        (lambda a: np.pad(a, (9, 7), "reflect"), (3,)),
        (lambda a: np.pad(a, (9, 7), "reflect", reflect_type="odd"), (3,)),
        (lambda a: np.pad(a, (4, 3), "reflect", reflect_type="odd"), (2, 3)),
        (lambda a: np.pad(a, (3, 2), "reflect", reflect_type="odd"), (1, 3)),
        (lambda a: np.pad(a, (2, 1), "symmetric"), (3, 4)),
        (lambda a: np.pad(a, (9, 7), "symmetric", reflect_type="even"), (3,)),
        (lambda a: np.pad(a, (9, 7), "symmetric", reflect_type="odd"), (2, 3)),
        (lambda a: np.pad(a, (3, 2), "symmetric", reflect_type="odd"), (1,)),
        (lambda a: np.pad(a, ((0, 0), (1, 1)), "edge"), (0, 3)),
        (lambda a: np.pad(a, (1, 2), "empty")[1:-2], (3,)),
    ],
}
OF_AN_ORDER = [
    (lambda a: np.pad(a, 1, "maximum"), (2, 3)),
    (lambda a: np.pad(a, (1, 2), "minimum", stat_length=((2, 2), (1, 2))), (2, 3)),
    (lambda a: np.pad(a, 1, "median"), (3, 4)),
    (lambda a: np.pad(a, (0, 2), "maximum", stat_length=1), (2, 3)),
]


@every_call({np.pad: CASES[np.pad] + OF_AN_ORDER})
def test_three_ways(f, shapes, seed):
    check_call(f, shapes, seed)


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize(
    ("mode", "options"),
    [
        ("constant", [{}, {"constant_values": (1.0, 2.0)}]),
        ("edge", [{}]),
        ("wrap", [{}]),
        ("linear_ramp", [{}, {"end_values": (3.0, -1.0)}]),
        *((mode, [{}, {"stat_length": 2}, {"stat_length": (1, 3)}]) for mode in ("maximum", "minimum", "mean")),
        *((mode, [{}, {"reflect_type": "odd"}]) for mode in ("reflect", "symmetric")),
    ],
)
@some
@given(shape=array_shapes(max_dims=3, max_side=4), data=st.data(), generator=generators)
def test_widths_at_random(mode, options, shape, data, generator):
    widths = data.draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=1))
    widths = widths if len(shape) > 2 else generator.integers(0, 12, (len(shape), 2))
    given_options = data.draw(st.sampled_from(options))
    x = generator.uniform(-1.0, 1.0, shape)

    def f(a):
        return np.pad(a, widths, mode, **given_options)

    check_values(f, x)
    if data.draw(st.integers(0, 5)) == 0:
        check(f, x, generator=generator, dtypes=False)


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.2.0", reason="not yet there")
def test_widths_of_named_axes():
    generator = np.random.default_rng(0)
    check(lambda a: np.pad(a, {-1: (1, 2)}, "wrap"), generator.uniform(size=(2, 3)), generator=generator)
    check(lambda a: np.pad(a, {0: 2, 1: (0, 1)}), generator.uniform(size=(2, 3)), generator=generator)
    with pytest.raises(np.exceptions.AxisError):
        grad(lambda a: np.sum(np.pad(a, {2: 1})))(np.ones((2, 3)))


def test_no_padding_on_one_side_takes_no_part(monkeypatch):
    joined, concatenate = [], np.concatenate
    monkeypatch.setattr(np, "concatenate", lambda parts, axis: joined.append(len(parts)) or concatenate(parts, axis))
    assert np.array_equal(grad(lambda x: np.sum(np.pad(x, (0, 2)) ** 2))(np.array([1.0, 2.0])), [2.0, 4.0])
    assert np.array_equal(grad(lambda x: np.sum(np.pad(x, (2, 0), mode="empty")[2:]))(np.ones(2)), [1.0, 1.0])
    assert set(joined) == {2}


def test_a_number_that_pads_nothing_makes_the_answer_a_number():
    def f(x, b):
        y = np.pad(x, (0, 1), constant_values=(b, 3.0))
        y[0] = b * b
        return np.sum(y * y)

    assert np.array_equal(grad(lambda x: grad(f, 1)(x, 2.0) * x[1])(np.ones(2)), [0.0, 32.0])


def test_the_maximum_is_shared_by_those_that_tie():
    found = grad(lambda a: np.sum(np.pad(a, (1, 0), "maximum")))(np.array([1.0, 3.0, 3.0]))
    np.testing.assert_array_equal(found, [1.0, 1.5, 1.5])


def test_zeros_keep_their_signs():
    x = np.array([-0.0, 0.0])

    def f(a):
        y = np.pad(a, 1)
        np.testing.assert_array_equal(np.signbit(y), [False, True, False, False])
        return np.sum(y)

    np.testing.assert_array_equal(grad(f)(x), [1.0, 1.0])


def test_an_infinity_does_not_reach_the_padding():
    x = np.array([np.inf, 1.0, 2.0])
    np.testing.assert_array_equal(grad(lambda a: np.sum(np.pad(a, 1, "reflect")[:3]))(x), [1.0, 2.0, 0.0])


def test_complex_numbers():
    generator = np.random.default_rng(0)
    real, imaginary = generator.uniform(-1.0, 1.0, (2, 2, 3))
    for mode in ("constant", "edge", "wrap", "linear_ramp", "mean", "reflect", "symmetric"):
        check(lambda x, y, mode=mode: np.pad(x + 1j * y, (2, 1), mode), real, imaginary, generator=generator)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda a: np.pad(a, -1), ValueError),
        (lambda a: np.pad(a, 1.5), TypeError),
        (lambda a: np.pad(a, ((1, 2), (3, 4), (5, 6))), ValueError),
        (lambda a: np.pad(a, 1, "odd"), ValueError),
        (lambda a: np.pad(a, 1, "edge", constant_values=1), ValueError),
        (lambda a: np.pad(a[:0], 1, "edge"), ValueError),
        (lambda a: np.pad(a, 1, "maximum", stat_length=0), ValueError),
    ],
)
def test_wrong_arguments_raise_as_in_numpy(call, error):
    x = np.ones((2, 3))
    with pytest.raises(error) as expected:
        call(x)
    with pytest.raises(error) as found:
        grad(lambda a: np.sum(call(a)))(x)
    assert str(found.value)[:20] == str(expected.value)[:20]


def test_a_function_as_mode_is_an_error():
    def fill(vector, width, axis, options):
        vector[: width[0]] = 0.0

    with pytest.raises(NotImplementedError, match=r"numpy\.pad: a function as mode.*numpy\.concatenate"):
        grad(lambda a: np.sum(np.pad(a, 1, fill)))(np.ones(3))
