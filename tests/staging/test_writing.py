"""Staged functions that write in place, to arrays of their own: as themselves, and in every mode."""

import warnings

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import StagingWarning, grad, hvp, staged
from tests.staging.in_turns import in_turns, stays_staged
from tests.writing_programs import edit_distance, heat, log_determinant, random_program, smoothed_rows, total

DIRECTION = np.cos(np.arange(12.0)).reshape(3, 4)
MODES = {
    "value": lambda f: f,
    "reverse": grad,
    "forward": lambda f: lambda x: sr.jvp(f, (x,), (np.cos(x),)),
    "forward along a constant": lambda f: lambda x: sr.jvp(f, (x,), (np.resize(DIRECTION, x.shape),)),
    "forward over reverse": lambda f: lambda x: sr.hvp(f, (x,), (np.resize(DIRECTION, x.shape),)),
    "reverse over reverse": lambda f: grad(lambda x: np.sum(grad(f)(x) ** 2)),
    "many directions": lambda f: sr.jacfwd(lambda x: f(x) * x),
    "pullback": lambda f: lambda x: sr.vjp(f, x)[1](1.0)[0],
    "series": lambda f: lambda x: sr.taylor(lambda t: f(t * x), 1.0, 3),
}


def points(shape, seed=0):
    generator = np.random.default_rng(seed)
    return [generator.normal(size=shape) for _ in range(4)]


def assert_agree(found, expected):
    for x, y in zip(*((z if isinstance(z, tuple) else (z,)) for z in (found, expected)), strict=True):
        assert type(x) is type(y)
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)


def check(f, *xs, ways=1):
    """That `f` is staged, in so many ways (0 is any number), and answers what it answers itself."""
    g = staged(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error", StagingWarning)
        for x in xs:
            before = x.copy()
            assert_agree(g(x), f(x))
            np.testing.assert_array_equal(x, before)
    assert len(g.sources) == ways or not ways
    return g


def powers(x):
    y = sr.zeros(x.shape)
    for i in range(len(x)):
        y[i] = x[i] ** i
    return np.sum(y * x)


def through_views(x):
    y = np.zeros_like(x)
    y[1:] = x[:-1] * x[1:]
    part = y[1:]
    part *= x[0]
    y[0] = np.sum(part)
    return np.sum(y**2)


def in_the_order_of_the_values(x):
    y = np.tanh(x)
    squares = y * y
    y[np.argsort(x)] = x  # positions that depend on the values
    y.sort()
    return np.sum(y * np.arange(1.0, x.size + 1)) + np.sum(squares)


def sorted_in_place(x):
    y = np.tanh(x)
    squares = y * y
    y.sort()  # where each element goes depends on the values, and is no question
    return np.sum(y * np.arange(1.0, x.size + 1)) + np.sum(squares)


def clipped(x):
    y = np.sqrt(np.abs(x))
    y[x < 0] = 0.0
    np.minimum(y, 1.5, out=y)
    return np.sum(y * x)


def in_a_loop_of_descent(x):
    w = x.copy()
    for _ in range(3):
        w -= 0.1 * grad(lambda w: np.sum(w**4))(w)
    return np.sum(w**2)


PROGRAMS = {
    "powers": (powers, 4),
    "through_views": (through_views, 5),
    "in_the_order_of_the_values": (in_the_order_of_the_values, 5),
    "sorted_in_place": (sorted_in_place, 5),
    "in_a_loop_of_descent": (in_a_loop_of_descent, 3),
    "heat": (lambda u: np.sum(heat(u) ** 2), 6),
    "log_determinant": (lambda a: log_determinant(a + 4.0 * np.eye(3)), (3, 3)),
    "smoothed_rows": (lambda a: np.sum(smoothed_rows(a) ** 2), (3, 4)),
    "edit_distance": (lambda costs: edit_distance(np.abs(costs)), (3, 4)),
}


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, mode):
    f, shape = PROGRAMS[name]
    # A mask, and positions that may be named twice, are questions.
    ways = 0 if name in ("in_the_order_of_the_values", "smoothed_rows") else 1
    check(MODES[mode](f), *points(shape), ways=ways)


@pytest.mark.parametrize("mode", MODES)
def test_a_mask_that_depends_on_the_values(mode):
    """It is a question, as it says how many elements are kept for the way back; for each answer there is a way."""
    xs = points(3, seed=1)
    g = staged(MODES[mode](clipped))
    with warnings.catch_warnings():
        warnings.simplefilter("error", StagingWarning)
        for x in [*xs, *(1.1 * x for x in xs)]:
            assert_agree(g(x), MODES[mode](clipped)(x))


# A view that was made before there was a number, or of another library, is written to only when it runs as it is.
FEW = 0.04


@pytest.mark.slow_but_every(4)
@pytest.mark.parametrize("mode", ["value", "reverse", "forward along a constant", "forward over reverse"])
def test_random_programs(mode):
    given_up = 0
    for seed in range(30):
        f = MODES[mode](total(random_program(seed)))
        g = staged(f)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for x in points((3, 4), seed):
                assert_agree(g(x), f(x))
        messages = [str(warning.message) for warning in caught if warning.category is StagingWarning]
        given_up += len(messages)
        assert not any("something else" in message for message in messages), messages
    assert given_up <= FEW * 30


# What is not the function's own


def test_arguments_are_not_written_to():
    def f(x):
        x[0] = 5.0
        return np.sum(x)

    g = staged(f)
    xs = [np.ones(3) for _ in range(3)]
    with pytest.warns(StagingWarning, match="it changes its arguments"):
        assert [g(x) for x in xs] == [7.0] * 3
    assert [x[0] for x in xs] == [5.0] * 3


def test_a_constant_of_an_operation_is_not_written_to_after_it():
    def f(x):
        y = x * 2.0

        def inner(w):
            product = np.sum(w * y)  # whose way back needs y as it is
            y[0] = 100.0
            return product

        return grad(inner)(np.ones(3))

    g = staged(f)
    with pytest.warns(StagingWarning, match="is needed as it is by an operation"):
        found = [g(x) for x in points(3)]
    np.testing.assert_array_equal(found, [f(x) for x in points(3)])


def test_the_argument_of_an_inner_derivative_is_not_written_to_meanwhile():
    def f(x):
        y = x * 2.0

        def inner(w):
            z = np.sum(w**2)
            y[0] = 100.0
            return z

        return grad(inner)(y)

    g = staged(f)
    for x in points(3):
        for program in (f, g):
            with pytest.raises(sr.ControlError, match="an argument, an array of shape"):
                program(x)


def test_a_pullback_keeps_the_argument_as_it_was():
    def f(x):
        y = x * 2.0
        _, pullback = sr.vjp(lambda w: np.sum(w**3), y)
        y[0] = 100.0
        return pullback(1.0)[0]

    check(f, *points(3))


def test_a_plain_value_is_a_view_that_is_not_written_to():
    def f(x):
        def inner(w):
            w = w * 1.0
            plain = sr.value(w)
            w[0] = w[1] * 3.0
            return np.sum(w * plain)  # which sees what was written

        return grad(inner)(x)

    g = staged(f)
    with pytest.warns(StagingWarning, match="is needed as it is"):
        found = [g(x) for x in points(3)]
    np.testing.assert_array_equal(found, [f(x) for x in points(3)])

    def writes(x):
        def inner(w):
            plain = sr.value(w * 1.0)
            try:
                plain[0] = 5.0
            except ValueError:
                return np.sum(w * plain)
            return np.sum(w)

        return grad(inner)(x)

    check(writes, *points(3))


def test_answers_belong_to_the_caller():
    def f(x):
        y = x * 1.0
        y[0] = 0.0
        z = y[1:]
        z *= 2.0
        return y, z, y * 1.0

    g = staged(f)
    for x in points(3):
        y, z, copy = g(x)
        y[1] = 77.0
        assert z[0] == 77.0  # a view, as of the function itself
        assert copy[1] != 77.0
        np.testing.assert_array_equal(g(x)[2], f(x)[2])


def test_the_elements_of_x_flat_are_written_to_by_the_function_itself():
    def f(x):
        y = x * 1.0
        y.flat[0] = 5.0
        return y

    g = staged(f)
    with pytest.warns(StagingWarning, match=r"x\.flat"):
        found = [g(x) for x in points((2, 2))]
    np.testing.assert_array_equal(found, [f(x) for x in points((2, 2))])


WAYS_TO_WRITE = {
    "x[i] = v": lambda y, x: y.__setitem__(slice(1, None), x[:-1]),
    "x[mask] = v": lambda y, x: y.__setitem__(np.array([True, False, True]), x[0]),
    "x += v": lambda y, x: y.__iadd__(x),
    "x //= v": lambda y, x: y.__ifloordiv__(2.0),
    "fill": lambda y, x: y.fill(x[1]),
    "sort": lambda y, x: y.sort(),
    "partition": lambda y, x: y.partition(1),
    "put": lambda y, x: y.put([0, 2], x[:2]),
    "copyto": lambda y, x: np.copyto(y, x[::-1]),
    "copyto, where": lambda y, x: np.copyto(y, x[::-1], where=x > 0),
    "numpy.put": lambda y, x: np.put(y, [1], x[0]),
    "putmask": lambda y, x: np.putmask(y, x > 0, x[::-1]),
    "place": lambda y, x: np.place(y, x > 0, x),
    "put_along_axis": lambda y, x: np.put_along_axis(y, np.argsort(x), x, 0),
    "add.at": lambda y, x: np.add.at(y, [0, 0, 1], x),
    "out=": lambda y, x: np.multiply(x, 2.0, out=y),
    "out= of constants": lambda y, x: np.add(np.ones(3), 1.0, out=y),
    "out= and where=": lambda y, x: np.multiply(x, 2.0, out=y, where=x > 0),
    "out= of a method": lambda y, x: x.cumsum(out=y),
    "out= of a function": lambda y, x: np.cumsum(x, out=y),
    "two of them": lambda y, x: np.modf(x, out=(y, np.zeros_like(x))),
}


@pytest.mark.parametrize("way", WAYS_TO_WRITE)
def test_ways_to_write(way):
    def f(x):
        y = np.sin(x)
        part = y[1:]
        WAYS_TO_WRITE[way](y, x)
        return y, part * 1.0

    check(f, *points(3, seed=2))


def test_errors_of_writing_are_those_of_the_function():
    def too_long(x):
        y = x * 1.0
        y[:] = np.ones(7)
        return y

    def complex_into_real(x):
        y = x * 1.0
        y += 1j * x
        return y

    def read_only(x):
        y = np.broadcast_to(x, (2, 3))
        y[0] = 1.0
        return y

    for f in (too_long, complex_into_real, read_only):
        for x in points(3):
            with pytest.raises((ValueError, TypeError)) as expected:
                f(x)
            with pytest.raises(type(expected.value)) as found:
                staged(f)(x)
            assert str(found.value) == str(expected.value)


def test_an_error_of_writing_that_is_caught():
    def f(x):
        y = x * 1.0
        try:
            y[:] = np.ones(7)
        except ValueError:
            return 2.0 * y
        return y

    check(f, *points(3))


def test_steps_are_left_out_no_more_than_writing_allows():
    """Of two equal products, one is written to; and a value is read before and after."""

    def f(x):
        a, b = x * 2.0, x * 2.0
        first = np.sum(a)
        a[0] = 100.0
        return first, np.sum(a), np.sum(b), a[0] * b[0]

    check(f, *points(3))


def test_a_constant_direction_is_not_written_to_zeros():
    """It stays a constant, of which views are constants too, and no step computes them."""

    def f(x):
        return np.sum((x[1:] - x[:-1] ** 2) ** 2)

    direction = np.ones(5)
    product = staged(lambda x: hvp(f, (x,), (direction,)))
    x = np.linspace(0.5, 1.5, 5)
    for _ in range(3):
        assert np.allclose(product(x), hvp(f, (x,), (direction,)))
    assert "setitem" not in product.sources[-1]
    assert "zeros_like" not in product.sources[-1]


def test_a_write_at_an_integer_of_the_arguments_with_a_derivative():
    def f(u, i):
        w = u * 1.0
        w[i % 3] = u[0]
        w[0] *= 2.0
        return np.sum(w * w)

    stays_staged(sr.grad(f), *[(np.array([0.5, -1.5, 2.0]), i) for i in (1, 1, 0, 2, 3)], ways=1)


@pytest.mark.parametrize("first", [1, 2])
def test_an_array_that_a_branch_hands_on_is_the_one_outside(first):
    """A derivative knows them as two numbers: a write to one would not be seen in the other."""

    def branch(u, n):
        a = b = u * 3.0
        if n > 1:
            b = b * 2.0
        a[0] = 7.0
        return np.sum(a) + np.sum(b)

    def loop(u, n):
        a = b = u * 3.0
        while n > 1:
            b, n = a, n - 1
        a[0] = 7.0
        return np.sum(a) + np.sum(b)

    u = np.array([0.5, -1.5])
    for f in (branch, loop):
        for operator in (sr.grad, sr.jacfwd, lambda f: f):
            in_turns(operator(f), *[(u, n) for n in (first, first, 1, 2, 3)])


def test_what_was_overwritten_is_kept_as_an_element():
    def f(x, u):
        w = u * 1.0
        w[0] = x
        return w[0]

    u = np.array([0.5, -1.5])
    stays_staged(lambda x, u: hvp(f, (x, u), (1.5, u)), (2.0, u), (3.0, u), (4.0, u), ways=1)


def test_windows_see_a_write_to_their_array():
    """The record knew them as no views, so its gradient was another one, and staging gave up."""

    def windows(x):
        y = x * x
        seen = np.lib.stride_tricks.sliding_window_view(y, 2)
        y[0] = 3.0 * x[1]
        return np.sum(seen * seen)

    stays_staged(grad(windows), *[(np.arange(1.0, 5.0) * k,) for k in (1.0, 2.0, 3.0)])


@pytest.mark.parametrize("mode", [lambda f: f, grad])
def test_a_loop_over_an_array_sees_what_it_has_written_ahead(mode):
    def f(x, n):
        y, s = x * 1.0, 0.0
        for e in y:
            s = s + e * e
            y[n] = s
        return s + np.sum(y)

    g = staged(mode(f))
    for _ in range(3):
        for n in (3, 1, 0):
            x = np.array([0.3, -0.7, 1.2, 0.5])
            np.testing.assert_allclose(g(x, n), mode(f)(x, n), rtol=1e-12)
    assert len(g.sources) >= 1


def test_a_branch_in_a_round_writes_to_an_array_of_its_own():
    """The product by one is no name of the argument: the branch writes to it."""

    def f(x, u, n):
        total = 0.0
        for _ in range(n):
            if x < 1.0:
                own, twice, again = u * 1.0, u * 2.0, u * 2.0
                own[1:] = x
                again[0] = x
                total = total + np.sum(own * twice + again)
            elif x <= 2.0:
                x = -x
        return np.tanh(u), total

    u = np.array([0.0, 0.5, 1.0])
    for g in (f, sr.jacfwd(lambda u, x, n: f(x, u, n)[0]), grad(lambda u, x, n: np.sum(f(x, u, n)[0]) + f(x, u, n)[1])):
        args = (u, -2.9, 2) if g is not f else (-2.9, u, 2)
        h = staged(g)
        for _ in range(4):
            assert_agree(h(*args), g(*args))
            assert np.array_equal(u, [0.0, 0.5, 1.0])
