"""`vmap` in a function that is recorded: the record has the calls for all rows, and the answers are those of a loop."""

import sys
import warnings

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import (
    StagingWarning,
    custom_vjp,
    fori_loop,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    staged,
    stop_gradient,
    taylor,
    vjp,
    vmap,
)
from shiftreset_ad.boundary import trees
from tests.batching.writers import heat, powers

RNG = np.random.default_rng(0)
W, MATRIX = RNG.normal(size=3), RNG.normal(size=(4, 3))


def rows(count, seed=0):
    return np.random.default_rng(seed).normal(size=(count, 3))


def by_loop(f, in_axes=0, out_axes=0):
    """What `vmap` answers, by a loop of Python's."""

    def looped(*args):
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        count = next(len(np.moveaxis(x, axis, 0)) for x, axis in zip(args, axes, strict=True) if axis is not None)
        answers = [
            trees.flatten(
                f(*[x if axis is None else np.moveaxis(x, axis, 0)[k] for x, axis in zip(args, axes, strict=True)])
            )
            for k in range(count)
        ]
        stacks = [np.stack(parts) for parts in zip(*[leaves for leaves, _ in answers], strict=True)]
        return trees.unflatten(answers[0][1], [np.moveaxis(x, 0, out_axes) for x in stacks])

    return looped


def loss(w, x):
    return np.tanh(w @ x) ** 2 + np.sum(np.where(x > 0, np.sqrt(np.abs(x)), x) * w)


def network(p, x):
    return np.sum(np.tanh(p["a"] @ x + p["b"]) ** 2)


P = {"a": MATRIX, "b": RNG.normal(size=4)}


def kernel(x, y):
    return np.exp(-np.sum((x - y) ** 2))


def gram(each, xs):
    return each(lambda x: each(lambda y: kernel(x, y))(xs))(xs)


def step(each, xs, w):
    return w - 0.1 * np.mean(each(grad(loss), (None, 0))(w, xs), 0)


def several(w, xs, each):
    for _ in range(3):
        w = step(each, xs, w)
    return w


# Programs of all rows, by `vmap` or by a loop
PROGRAMS = {
    "values": lambda each, xs: each(network, (None, 0))(P, xs),
    "gradients": lambda each, xs: each(grad(network), (None, 0))(P, xs),
    "a sum of gradients": lambda each, xs: np.sum(each(grad(loss), (None, 0))(W, xs), 0),
    "gradient of a sum": lambda each, xs: grad(lambda p: sum(each(network, (None, 0))(p, xs)))(P),
    "gradient in what is closed over": lambda each, xs: grad(lambda p: np.sum(each(lambda x: network(p, x))(xs)))(P),
    "gradient in the rows": lambda each, xs: grad(lambda xs: np.sum(each(loss, (None, 0))(W, xs)))(xs),
    "rows and what is closed over": lambda each, xs: grad(lambda xs: np.sum(each(lambda x: x @ xs[0])(xs)))(xs),
    "hessian": lambda each, xs: hessian(lambda w: np.sum(each(loss, (None, 0))(w, xs)))(W),
    "hessians": lambda each, xs: each(hessian(loss), (None, 0))(W, xs),
    "jvp": lambda each, xs: jvp(lambda w: each(grad(loss), (None, 0))(w, xs), (W,), (W,))[1],
    "hvp": lambda each, xs: hvp(lambda w: np.sum(each(loss, (None, 0))(w, xs)), (W,), (W,)),
    "vjp": lambda each, xs: vjp(lambda w: each(loss, (None, 0))(w, xs), W)[1](xs[:, 0]),
    "jacobian": lambda each, xs: jacobian(lambda w: each(loss, (None, 0))(w, xs))(W),
    "jacobians": lambda each, xs: each(jacobian(lambda x: np.tanh(np.outer(x, W))))(xs),
    "gradient of gradients": lambda each, xs: grad(lambda w: np.sum(each(grad(loss), (None, 0))(w, xs) ** 2))(W),
    "all pairs": gram,
    "gradient of all pairs": lambda each, xs: grad(lambda xs: np.sum(gram(each, xs) ** 2))(xs),
    "writes": lambda each, xs: each(heat)(xs),
    "writes, gradients": lambda each, xs: each(grad(heat))(xs),
    "writes, gradient around": lambda each, xs: grad(lambda xs: np.sum(each(heat)(xs)))(xs),
    "an array of zeros": lambda each, xs: each(powers)(xs),
    "an array of zeros, gradients": lambda each, xs: each(grad(powers))(xs),
    "an array of zeros, gradient around": lambda each, xs: grad(lambda xs: np.sum(each(powers)(xs)))(xs),
    "other axes": lambda each, xs: each(lambda x: np.cumsum(x) * 2.0, -1, 1)(xs.T),
    "a transposed answer": lambda each, xs: each(lambda x: np.outer(x, W).T)(xs),
    "structures": lambda each, xs: each(lambda x, s: {"a": W @ x, "b": (2.0 * x, s)})(xs, xs[:, 0]),
    "what all rows share": lambda each, xs: each(lambda x: (x, 3.0, np.arange(2)))(xs),
    "equations": lambda each, xs: each(grad(lambda x: np.sum(np.linalg.solve(np.outer(x, x) + np.eye(3), W))))(xs),
    "singular values": lambda each, xs: each(lambda x: np.linalg.svd(np.outer(x, W) + np.eye(3))[1])(xs),
    "ties": lambda each, xs: each(grad(lambda x: np.max(x) * np.min(x) + x[np.argmax(x)]))(xs),
    "an order": lambda each, xs: each(grad(lambda x: np.sort(x) @ W))(xs),
    "series": lambda each, xs: each(lambda x: taylor(np.sin, x, 3, 1.0))(xs[:, 0]),
    "checkpoints": lambda each, xs: each(grad(sr.checkpoint(heat)))(xs),
    "in rounds": lambda each, xs: fori_loop(0, 5, lambda i, w: step(each, xs, w), W),
    "in rounds, gradient": lambda each, xs: grad(lambda xs: np.sum(fori_loop(0, 3, lambda i, w: step(each, xs, w), W)))(
        xs
    ),
    "several times": lambda each, xs: several(W, xs, each),
    "in a staged function": lambda each, xs: each(staged(grad(lambda x: loss(W, x))))(xs),
}


def require_close(found, expected):
    (found, spec), (expected, of_expected) = trees.flatten(found), trees.flatten(expected)
    assert spec == of_expected
    for x, y in zip(found, expected, strict=True):
        assert (np.shape(x), np.asarray(x).dtype) == (np.shape(y), np.asarray(y).dtype)
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)


def lengths(f):
    return [len(text.splitlines()) for text in f.ir]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_record_is_as_long_for_more_rows_and_answers_as_a_loop(name):
    program, found = PROGRAMS[name], []
    for count in (5, 10):
        f = staged(lambda xs: program(vmap, xs))
        for seed in range(4):
            xs = rows(count, seed)
            require_close(f(xs), program(by_loop, xs))
        found.append(lengths(f))
    assert found[0] == found[1], found
    assert len(found[0]) == 1


@pytest.mark.parametrize("f", [loss, grad(loss), hessian(loss)])
def test_a_vmapped_function_is_staged_itself(f):
    of_all, xs = staged(vmap(f, (None, 0))), rows(6)
    for scale in (1.0, 2.0, -1.0):
        require_close(of_all(scale * W, xs), by_loop(f, (None, 0))(scale * W, xs))
    lengths_of_few = lengths(of_all)
    of_all(W, rows(12))
    assert lengths(of_all)[0] == lengths_of_few[0]


@pytest.mark.parametrize("count", [0, 1])
def test_few_rows(count):
    f = staged(lambda xs: 2.0 * vmap(grad(loss), (None, 0))(W, xs))
    for _ in range(3):
        assert f(rows(count)).shape == (count, 3)


def test_the_answers_lie_in_memory_alike_in_all_runs():
    of_row = vmap(lambda x: (np.outer(x, W).T, np.outer(x, W)[:, ::2], x[:, None]))
    f = staged(lambda xs: of_row(xs))
    expected = [np.stack(parts).strides for parts in zip(*map(of_row.__wrapped__, rows(5)), strict=True)]
    for call in (of_row, f, f, f):
        assert [x.strides for x in call(rows(5))] == expected


# Branches


def absolute(x):
    return x if x > 0 else -2.0 * x


def test_a_branch_is_written_down_for_each_row():
    f = staged(lambda x: np.sum(vmap(absolute)(x) * x))
    for x in ([1.0, 2.0, 3.0], [1.0, -2.0, 3.0], [-1.0, -2.0, -3.0], [1.0, 2.0, -3.0]):
        assert f(np.array(x)) == sum(absolute(v) * v for v in x)
    assert len(f.ir) == 1


def test_a_branch_that_cannot_be_written_down_is_asked_for_all_rows():
    of_rows = vmap(absolute)  # made outside, so its function is not rewritten
    f = staged(lambda x: np.sum(of_rows(x) * x))
    for x in ([1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 3.0, 5.0], [-1.0, -2.0, -3.0, -4.0], [1.0, -2.0, 3.0, 1.0]):
        for _ in range(2):
            assert f(np.array(x)) == sum(absolute(v) * v for v in x)
    assert len(f.ir) == 3
    assert lengths(f)[2] < lengths(f)[0]  # the newest way has rows that differ


def test_a_branch_on_what_all_rows_share():
    def of_row(w, x):
        return np.sum(w * x) if np.sum(w) > 0.0 else np.sum(x)

    f = staged(lambda w, xs: vmap(grad(of_row), (None, 0))(w, xs))
    for w in (np.ones(3), -np.ones(3), np.array([1.0, 0.0, 2.0]), -W):
        require_close(f(w, rows(4)), by_loop(grad(of_row), (None, 0))(w, rows(4)))


def test_an_index_that_is_read_goes_row_by_row():
    table = np.arange(5.0)
    f = staged(lambda i, x: vmap(lambda i, x: list(table)[i] * x)(i, x))
    for i in ([0, 1, 2], [0, 1, 2], [2, 2, 2], [4, 0, 1]):
        require_close(f(np.array(i), np.ones(3)), table[i])


# What is not seen by values


class Box:
    """Holds a value, so that no variable of a function does."""

    def __init__(self, value):
        self.value = value


def test_a_value_in_an_object_goes_row_by_row():
    def f(w, xs):
        box = Box(w * 2.0)
        return np.sum(vmap(lambda x: box.value * x if x > 0.0 else np.sin(x) - box.value)(xs))

    of_rows = staged(f)
    for x in ([1.0, 2.0, 3.0], [1.0, -2.0, 3.0], [-1.0, -2.0, -3.0]):
        for w in (1.0, 2.0):
            require_close(of_rows(w, np.array(x)), np.sum([2 * w * v if v > 0 else np.sin(v) - 2 * w for v in x]))
    assert len(of_rows.ir) == 1


def test_plain_rows_are_constants():
    def f(w):
        total = np.sum(vmap(lambda x: np.sum(x**2))(rows(4)))
        y = sr.zeros(2)
        y[0] = w
        y[1] = w * total
        return y

    of_number = staged(f)
    for w in (1.0, 2.0, 3.0):
        require_close(of_number(w), np.array([w, w * np.sum(rows(4) ** 2)]))
    assert len(of_number.ir) == 1


def test_only_a_function_without_a_way_is_called_row_by_row():
    def of_row(x):
        return np.sum(np.tanh(np.kron(np.sin(x) * 2.0, W)) ** 2)

    def length(count):
        f = staged(lambda xs: vmap(of_row)(xs))
        for seed in range(3):
            require_close(f(rows(count, seed)), by_loop(of_row)(rows(count, seed)))
        return lengths(f)[0]

    assert length(10) - length(5) <= 5 * 2  # a row is taken, and the function is called with it


def test_what_a_row_leaves_behind_is_left_by_all_rows():
    def f(xs):
        seen = []

        def of_row(x):
            seen.append(np.sum(x))
            return 2.0 * x

        doubled = vmap(of_row)(xs)
        of_plain_rows = vmap(np.sum)(np.eye(3))
        y = sr.zeros(3)
        y[:] = xs[0] * of_plain_rows
        return doubled, np.stack(seen), len(seen), y

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StagingWarning)  # of vmap, in the first run
        of_rows = staged(f)
        for seed in range(3):
            xs = rows(4, seed)
            doubled, sums, count, first = of_rows(xs)
            require_close(first, xs[0])
            require_close(doubled, 2.0 * xs)
            require_close(sums, np.sum(xs, 1))
            assert count == 4
    assert len(of_rows.ir) == 1


def test_what_the_function_of_a_row_reads_may_change():
    scale, table = [2.0], np.ones(3)

    def total(w, xs):
        return np.sum(vmap(lambda x: scale[0] * (w * x) @ table)(xs))

    f = staged(total)
    for _ in range(3):
        require_close(f(W, rows(4)), 2.0 * np.sum(rows(4) @ W))
    scale[0] = 5.0
    require_close(f(W, rows(4)), 5.0 * np.sum(rows(4) @ W))
    table[:] = 3.0
    for _ in range(3):
        require_close(f(W, rows(4)), 15.0 * np.sum(rows(4) @ W))


def test_random_draws_differ_from_row_to_row():
    rng = np.random.default_rng(0)
    f = staged(lambda xs: vmap(lambda x: x + rng.normal())(xs))
    with pytest.warns(StagingWarning, match="random"):
        found = [f(np.zeros(4)) for _ in range(4)]
    assert len(set(np.ravel(found))) == 16


def test_draws_of_a_generator_of_its_own_differ_from_row_to_row():
    def f(xs):
        rng = np.random.default_rng(0)
        return vmap(lambda x: x + rng.normal())(xs)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StagingWarning)
        of_rows = staged(f)
        for _ in range(4):
            assert np.array_equal(of_rows(np.zeros(4)), np.random.default_rng(0).normal(size=4))


# Where the derivative of the steps is not that of the function


@custom_vjp
def tenfold(x):
    return x * x


tenfold.defvjp(lambda x: (x * x, x), lambda x, y_bar: (10.0 * y_bar * x,))


@pytest.mark.parametrize("around", [lambda f: f, staged, vmap])
def test_rules_of_the_user_count_in_a_derivative_around(around):
    x = np.arange(1.0, 4.0)
    x, pick = (np.stack([x, x]), 0) if around is vmap else (x, ...)
    inside = around(lambda x: vmap(grad(tenfold))(x))
    of_sum = around(grad(lambda x: np.sum(vmap(tenfold)(x))))
    constant = around(grad(lambda x: np.sum(vmap(lambda x: x * stop_gradient(x))(x))))
    for _ in range(3):
        assert np.array_equal(inside(x)[pick], 10.0 * x[pick])
        assert np.array_equal(of_sum(x)[pick], 10.0 * x[pick])
        assert np.array_equal(constant(x)[pick], x[pick])


def test_rules_of_the_user_count_around_a_batch_in_a_batch():
    x = np.arange(1.0, 7.0).reshape(2, 3)
    f = vmap(lambda x: np.sum(vmap(tenfold)(x)))
    assert np.array_equal(f(x), np.sum(x * x, 1))
    assert np.array_equal(grad(lambda x: np.sum(f(x)))(x), 10.0 * x)


def test_a_conversion_raises_in_a_derivative_around_a_batch_in_a_batch():
    f = vmap(lambda x: np.sum(vmap(lambda x: x * float(x))(x)))
    x = np.full((2, 3), 2.0)  # all rows agree
    assert np.array_equal(f(x), np.sum(x * x, 1))
    with pytest.raises(TypeError, match="float"):
        grad(lambda x: np.sum(f(x)))(x)


# A batch in a batch


def test_a_batch_in_a_batch_has_as_many_steps_for_more_rows():
    def steps(count):
        f = vmap(lambda x, ys: np.sum(vmap(grad(kernel), (None, 0))(x, ys)), (0, None))
        expected = [sum(np.sum(grad(kernel)(x, y)) for y in rows(count, 1)) for x in rows(4)]
        require_close(f(rows(4), rows(count, 1)), np.array(expected))
        assert "called row by row: nothing" in f.report()
        return f.report().split(",")[2]

    assert steps(5) == steps(10)


# The first run


def test_the_first_run_of_a_staged_function_has_all_rows_at_once():
    def of_row(x):
        return np.sum(np.sin(x))

    def note(frame, event, arg):
        if event == "call" and frame.f_code is of_row.__code__:
            run.append(1)

    f, run = staged(lambda xs: vmap(of_row)(xs)), []
    sys.setprofile(note)
    try:
        f(rows(50))
    finally:
        sys.setprofile(None)
    assert len(run) < 8


def test_the_report_has_the_line_of_the_call():
    def f(xs):
        return vmap(grad(loss), (None, 0))(W, xs) * 2.0

    of_rows = staged(f)
    of_rows(rows(5))
    assert "return vmap(grad(loss), (None, 0))(W, xs) * 2.0" in of_rows.report()
    assert "on the way back" not in of_rows.report()


def test_debug_sees_each_row():
    f = staged(lambda xs: np.sum(vmap(lambda x: np.sum(x**2))(xs)))
    with sr.debug():
        assert f(rows(3)) == pytest.approx(np.sum(rows(3) ** 2))
