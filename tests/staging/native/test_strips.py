"""Long arrays go in strips, with the bits of whole arrays, and what only these steps need has memory for one strip."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shiftreset_ad as sr
from shiftreset_ad import grad, hvp, jvp, staged
from shiftreset_ad.boundary import trees
from shiftreset_ad.staging.native import along, in_strips, storage
from shiftreset_ad.staging.native.compiled import _are_same
from shiftreset_ad.staging.native.program import Program
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.steps.trace import Trace
from shiftreset_ad.staging.steps.values import Staged
from tests.fuzzing.thresholds import arrays_in_strips
from tests.staging.native.natively import check, native, needs_native

pytestmark = needs_native
RNG = np.random.default_rng(3)
N = 7  # elements along the axis: three strips of two, and a last one that overlaps
X, Y, T = RNG.normal(size=N), RNG.normal(size=N), RNG.normal(size=(3, N))
R = T.T.copy()  # rows of three elements
F = np.asfortranarray(R)
S, U = RNG.normal(size=(N, N)), RNG.normal(size=(N, 3, N))  # several axes are as long
TRUTHS, NUMBERS = X > 0.0, np.arange(float(N))
AT = np.array([0, 2, 5, 1, 1, 6, 3])
STRIP = re.compile(r"^in_strips_\w+:$", re.MULTILINE)


def several(x):
    """Two loops of which the first makes an array that only the second needs."""
    return np.exp(x) * x


IN_STRIPS = {
    "functions": (lambda x, y: np.exp(x) * np.tanh(y) + np.sin(x * y), X, Y),
    "a power": (lambda x: np.exp(x) ** 1.5 + x, X),
    "a sum across": (lambda t: np.sqrt(np.sum(t * t, axis=0)) * t, T),
    "a sum that keeps its axis": (lambda t: t / np.sum(t * t, axis=0, keepdims=True), T),
    "a sum of rows": (lambda r: np.exp(r) / np.sum(np.exp(r), axis=1, keepdims=True), R),
    "a sum of rows in another order": (lambda r: np.exp(r) / np.sum(np.exp(r), axis=1, keepdims=True), F),
    "sums, products and extremes": (
        lambda t: (np.prod(np.exp(t), 0), np.max(np.exp(t), 0), np.min(np.exp(t), 0), np.mean(np.exp(t), 0)),
        T,
    ),
    "a sum of an argument": (lambda t: np.exp(np.sum(t, axis=0)) + np.sum(t, axis=-2), T),
    "a sum of what stays": (lambda t: (np.exp(t), np.sum(np.exp(t), axis=0)), T),
    "by a method": (lambda t: np.exp(t.sum(axis=0) * t.max(0)), T),
    "sums of planes": (
        lambda s: (np.sum(np.exp(s), axis=1), np.mean(s, axis=1), np.max(np.exp(s), axis=1), np.sum(s, axis=(0, 1))),
        RNG.normal(size=(3, 2, N)),
    ),
    "sums that keep the axes of planes": (
        lambda s: (np.sum(np.exp(s), axis=1, keepdims=True), np.prod(s, axis=0, keepdims=True)),
        RNG.normal(size=(3, 2, N)),
    ),
    "sums of other planes": (
        lambda s: (np.sum(np.exp(s), axis=2), np.mean(s, axis=(1, 2)), np.min(np.exp(s), axis=1)),
        RNG.normal(size=(N, 3, 2)),
    ),
    "a sum of many rows": (lambda t: np.exp(t) * np.sum(np.exp(t), axis=0), RNG.normal(size=(40, 50))),
    "rows": (lambda t: np.exp(t)[0] * np.exp(t)[2] + t[1], T),
    "rows from the end": (lambda t: np.exp(t)[::2] * t[-2:], T),
    "a transpose": (lambda t: np.exp(t).T * 2.0 + t.T[:, ::-1], T),
    "a transpose of rows": (lambda r: np.exp(r).T * 2.0, R),
    "a stack": (lambda x, y: np.exp(np.stack([x * y, x - y, y])) * x, X, Y),
    "a stack of columns": (lambda x, y: np.exp(np.stack([x * y, x - y], axis=1)) * x[:, None], X, Y),
    "a join": (lambda t, x: np.exp(np.concatenate([t, x[None], t[:1] * x])), T, X),
    "a join of columns": (lambda r, x: np.exp(np.concatenate([r, x[:, None]], axis=1)), R, X),
    "another shape": (lambda x: np.exp(np.exp(x)[None, :] * x[None]).reshape(1, 1, N) * 2.0, X),
    "an axis that is new": (lambda x, t: np.exp(x)[None] * t, X, T),
    "an axis of a column": (lambda x, r: np.exp(x)[:, None] * r, X, R),
    "what is repeated": (lambda x, t: np.broadcast_to(np.exp(x), (3, N)) * np.exp(t), X, T),
    "a row beside all": (lambda x, t: np.exp(t) * x + np.exp(x), X, T),
    "a column beside all": (lambda t, v: np.exp(t * v[:, None]) * t, T, np.ones(3) * 0.5),
    "numbers": (lambda x, a: np.exp(x * a) + a * x, X, 2.5),
    "choices": (lambda x, y: np.where(np.exp(x) > y, np.exp(y), x), X, Y),
    "truths": (lambda x, y: np.where((np.exp(x) > y) & ~np.isnan(np.log(x * x)), x, 0.0), X, Y),
    "constants": (lambda x: np.exp(x * Y) + np.where(TRUTHS, x, Y), X),
    "constant rows": (lambda t: np.exp(t * Y) * T + np.exp(t) * R.T, T),
    "two orders": (lambda r, f: np.exp(r) * f + np.exp(f) * r, R, F),
    "elements apart": (lambda x: np.exp(x[::2]) * x[::2] + x[1::2], RNG.normal(size=2 * N)),
    "from the last to the first": (lambda x, y: np.exp(x) * y[::-1], X, Y),
    "a view among the answers": (lambda t: (np.exp(np.exp(t))[1], np.exp(t)), T),
    "copies": (lambda t: np.exp(t.copy()) + np.copy(t * 2.0), T),
    "a square": (lambda s: np.exp(s) / np.sum(np.exp(s), axis=1, keepdims=True), S),
    "a square in another order": (lambda s: np.exp(s) / np.sum(np.exp(s), axis=0), np.asfortranarray(S)),
    "a square and a row": (lambda s, x: np.exp(s * x) + x * np.sum(s, axis=1)[:, None], S, X),
    "a square and a column": (lambda s, x: np.exp(s * x[:, None]) * x[:, None] + x, S, X),
    "a column that is made beside a square": (lambda s, x: np.exp(x)[:, None] * s * x, S, X),
    "a square and its transpose": (lambda s: np.exp(s.T) * s + np.exp(s) * s.T, S),
    "a square that is made is transposed": (lambda s: np.exp(np.exp(s).T * s.T) * 2.0, S),
    "rows of a square": (lambda s: np.exp(s)[:, 1:4] * s[:, ::-1][:, :3] + s[:, :1], S),
    "squares that are joined": (lambda s: np.exp(np.concatenate([s, s.T * s], axis=1)) * 0.5, S),
    "squares on one another": (lambda s, x: np.exp(np.stack([s, s * x, s.T])) * x, S, X),
    "a square of other shapes": (lambda s: np.exp(np.exp(s).reshape(N, 1, N) * s.reshape(N, -1, N)), S),
    "a row that is repeated": (lambda s, x: np.exp(np.broadcast_to(x, (N, N))) * np.exp(s), S, X),
    "a row that is repeated as columns": (lambda s, x: np.broadcast_to(np.exp(x)[:, None], (N, N)) * np.exp(s), S, X),
    "planes of squares": (lambda u: (np.exp(u) * np.sum(u, axis=2, keepdims=True), np.sum(np.exp(u), axis=(1, 2))), U),
    "planes of squares in another order": (lambda u: np.exp(u.swapaxes(0, 2)) * u + np.exp(u), U),
    "sums of planes along what is made": (lambda x, u: np.exp(np.sum(np.exp(x) * u * u, axis=1)) * 2.0, X, U),
    "sums that keep planes along what is made": (
        lambda x, u: np.exp(np.sum(np.exp(x) * u, axis=1, keepdims=True) * u) * u,
        *(X, U),
    ),
    "sums of planes of squares": (lambda u, s: np.exp(np.sum(u, axis=1) * s) * s, U, S),
}
ENDS = {  # what needs more than one strip of its arguments
    "rows from the middle of a row": (lambda t: np.exp(np.exp(t).ravel()[3 : 3 + 2 * N].reshape(2, N)) * t[:2], T),
    "the first elements of all rows": (lambda r: np.exp(np.exp(r).ravel()[:N]) * 2.0, R),
    "columns from the last one": (lambda r: np.exp(np.exp(r)[:, ::-1]) * r, R),
    "a number that is repeated": (lambda x, a: np.exp(np.broadcast_to(a * 2.0, (N,))) * np.exp(x), X, 0.5),
    "integers of 32 bits": (lambda x: np.exp(x) * NUMBERS.astype(np.int32), X),
    "sums of a square": (lambda s, x: np.exp(np.sum(np.exp(s), axis=1)) * x, 0.1 * np.ones((N, N)), X),
    "what the group is the last to need": (
        lambda s, x: (lambda e: np.sum(np.exp(np.stack([e, e * x, e + x, e - x])), axis=0) * e)(np.exp(s @ x)),
        RNG.normal(size=(N, N)),
        0.1 * X,
    ),
    "rows that the group is the last to need": (
        lambda s, x: np.exp(np.exp(np.stack([x, x * x, x + 1.0])) * np.exp(s @ x)) * x,
        RNG.normal(size=(N, N)),
        0.1 * X,
    ),
    "integers": (lambda x: np.exp(x) * NUMBERS.astype(int), X),
    "a cross product": (lambda t: np.exp(np.cross(t, np.exp(t), axis=0)), T),
    "a sum along": (lambda x: np.exp(x) / np.sum(np.exp(x)) + x, X),
    "sums of planes in another order": (
        lambda s: (np.sum(np.exp(s), axis=1), np.mean(s, axis=(0, 2)), np.max(s, axis=0)),
        RNG.normal(size=(N, 2, 3)).transpose(2, 0, 1),
    ),
    "a sum of all": (lambda t: np.exp(t) - np.mean(np.exp(t)), T),
    "an element": (lambda x: np.exp(x) * np.exp(x)[3], X),
    "a column": (lambda t, x: (np.exp(t)[:, 2][:, None] * np.exp(t)) * x, T, X),
    "neighbours": (lambda x: np.exp(x)[1:] - np.exp(x)[:-1] * np.exp(x[1:]), X),
    "the other way round": (lambda x: np.exp(x)[::-1] * np.exp(x), X),
    "rolled": (lambda x: np.roll(np.exp(x), 1) * np.exp(x), X),
    "flipped": (lambda x: np.flip(np.exp(x)) * np.exp(x), X),
    "positions": (lambda x, y: np.exp(x)[AT] * np.exp(y), X, Y),
    "rows as columns": (lambda r: np.exp(np.exp(r).reshape(3, N)) * R.reshape(3, N), R),
    "columns as rows": (lambda t: np.exp(np.exp(t).reshape(N, 3)) + t.T, T),
    "one row": (lambda t: np.exp(np.exp(t).ravel()) * 2.0, T),
    "products": (lambda t, r: np.exp(np.exp(t) @ r) @ np.exp(t), T, R),
    "all pairs": (lambda x, y: np.exp(x[:, None] - y) * np.exp(x), X, Y),
    "two lengths": (lambda x, v: (np.exp(x) * x, np.exp(v) * v), X, RNG.normal(size=5)),
    "running sums": (lambda x: np.exp(np.cumsum(np.exp(x))) * 0.01, X * 0.1),
    "a square and that of the transpose": (lambda s, x: np.exp(s) * x + np.exp(s.T), S, X),
    "a square beside its transpose": (lambda s, x: np.exp(s) * x + np.exp(s).T, S, X),
    "all pairs of what is made": (lambda x: (lambda e: e[:, None] * e + np.exp(e))(np.exp(x)), X),
    "a row that is made beside a square": (lambda s, x: np.exp(s) * np.exp(x) + s, S, X),
    "sums of both axes of a square": (lambda s: np.sum(np.exp(s), axis=0) * np.sum(np.exp(s), axis=1), S),
    "a square from the last row": (lambda s: np.exp(np.exp(s)[::-1]) * s, S),
    "a square in one row": (lambda s: np.exp(np.exp(s).ravel()) * 0.5, S),
    "a square by other names": (lambda s: np.exp(np.exp(s).T.reshape(N, N)) * s, S),
    "a matrix and a vector": (lambda s, x: np.exp(s @ np.exp(x)) * np.exp(x), RNG.normal(size=(N, N)), X * 0.1),
    "differences": (lambda x: np.exp(np.diff(np.exp(x), prepend=0.0)) * x, X),
    "a part of a strip": (lambda x: np.exp(np.exp(x)[:4]) * x[:4], X),
    "repeated elements": (lambda x: np.exp(np.repeat(np.exp(x), 2)) * 0.5, X),
    "tiled": (lambda x: np.exp(np.tile(np.exp(x), 2)) * 0.5, X),
}


MOVES = {  # of labels of three rows: whether a strip of the answer has the elements of the same strip
    "the same": (lambda labels: labels, True),
    "other rows": (lambda labels: labels[[2, 0, 1]], True),
    "from the last to the first": (lambda labels: labels[:, ::-1], False),
    "rolled": (lambda labels: np.roll(labels, 1, axis=1), False),
    "rows that become columns": (lambda labels: labels.T.reshape(labels.shape), False),
    "other rows from some place on": (
        lambda labels: np.where(np.arange(labels.shape[1]) < 5, labels, labels[::-1]),
        False,
    ),
    "other rows in long strips": (lambda labels: labels[::-1] if labels.shape[1] > 10 else labels, False),
    "another length": (lambda labels: labels[:, :-1], False),
    "a length that it was given": (lambda labels: labels.reshape(3, N), False),
}


@pytest.mark.parametrize("name", MOVES)
def test_a_move_keeps_strips_if_it_keeps_labels(name):
    move, keeps = MOVES[name]
    found = along._keeps_strips(lambda short: move(along._labels(np.ones((3, 20)), 0, 1, short)), np.ones((3, 20)), 1)
    assert found == keeps


def writes(x):
    y = np.exp(x) * x
    y[2:4] = np.exp(x[:2])
    y *= x
    return y, np.exp(y) * y


def loop(x):
    for _ in range(int(3 + 0 * x[0].size)):
        x = np.exp(-x * x) * x
    return x


@pytest.fixture
def small():
    with arrays_in_strips():
        yield


def given_at(args, factor):
    return tuple(x * factor if isinstance(x, np.ndarray) and x.dtype == np.float64 else x for x in args)


@pytest.mark.parametrize("name", IN_STRIPS)
def test_steps_in_strips_have_the_bits_of_the_function(name, small):
    f, *args = IN_STRIPS[name]
    code = check(f, args, given_at(args, 1.3))
    assert len(STRIP.findall(code.text)) == 1


@pytest.mark.parametrize("name", ENDS)
def test_what_needs_other_strips_ends_a_group(name, small):
    f, *args = ENDS[name]
    code = check(f, args, given_at(args, 0.8))
    assert not re.search("sum|mean|max|reduce", " ".join(code.by_python))


@pytest.mark.parametrize("f", [writes, loop])
def test_steps_between_which_something_else_happens(f, small):
    check(f, (X,), (Y,))


def total(f):
    def g(*args):
        found = f(*args)
        parts = found if isinstance(found, tuple) else (found,)
        return sum([np.sum(part * np.cos(part)) for part in parts])

    return g


MODES = {
    "reverse": lambda f: grad(total(f)),
    "forward": lambda f: lambda x, *more: jvp(lambda x: f(x, *more), (x,), (np.cos(x),))[1],
    "forward over reverse": lambda f: lambda x, *more: hvp(lambda x: total(f)(x, *more), (x,), (np.cos(x),)),
    "reverse over reverse": lambda f: lambda x, *more: grad(lambda x: np.sum(np.sin(grad(total(f))(x, *more))))(x),
}


@pytest.mark.slow_but_every(5)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [*IN_STRIPS, *ENDS])
def test_derivatives_in_strips(name, mode, small):
    f, *args = (IN_STRIPS | ENDS)[name]
    g = MODES[mode](f)
    h = staged(g)
    for factor in (1.0, 1.0, 1.0, 0.7):
        found, expected = [trees.flatten(of(*given_at(args, factor)))[0] for of in (h, g)]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def program_of(f, *args):
    trace = Trace()
    outputs = [f(*[Staged(trace, trace.place_for(arg)) for arg in args])]
    return Program(trace, outputs, Eliminated(trace, outputs))


def test_an_array_that_only_strips_need_has_memory_for_one(monkeypatch):
    n = 100_000
    x = np.linspace(0.1, 1.0, n)

    def f(x):
        return np.sum(np.tanh(np.exp(x) * x) * np.log(x))

    def of_rows(x):
        y = np.stack([x, 2.0 * x, x * x])
        return np.sum(np.sum(np.exp(y) * y, axis=0))

    for g in (f, of_rows):
        assert program_of(g, x).memory < 2 * x.nbytes  # the array that is summed, and strips
        with monkeypatch.context() as patch:
            patch.setattr(in_strips, "MANY", 10**12)
            assert program_of(g, x).memory > 3 * x.nbytes
        assert native(g, x).entry()(x) == [g(x)]


def test_short_arrays_and_single_loops_do_not_go_in_strips():
    x = np.linspace(0.1, 1.0, 100_000)
    assert STRIP.findall(native(several, x).text)
    assert not STRIP.findall(native(several, x[:2000]).text)
    assert not STRIP.findall(native(lambda x: x * x + 2.0 * x, x).text)
    assert not STRIP.findall(native(lambda s: np.exp(s) * s, np.ones((400, 30_000))).text)  # a row is too long


def softmax(m):
    return np.sum(np.log(np.sum(np.exp(m - np.max(m, axis=1, keepdims=True)), axis=1)))


@pytest.mark.parametrize("shape", [(400, 250), (1001, 300), (2000, 90), (300, 1000), (500, 500)])
def test_long_rows_go_a_few_at_a_time(shape):
    """Beside rows of many elements, arrays with one element for each row may have short loops."""
    m = RNG.normal(size=shape)
    f = grad(softmax)
    code = check(f, (m,), (-m,), (np.round(m),))
    assert STRIP.findall(code.text)
    assert program_of(f, m).memory < m.nbytes
    assert STRIP.findall(check(lambda s: np.exp(s) * s, (m,), (m * 2.0,)).text)


def test_calls_of_numpys_loops_on_short_rows_are_not_worth_it():
    x = np.ones((200, 10_000))
    assert not STRIP.findall(native(lambda t: np.max(t, axis=0) * t, x).text)
    assert STRIP.findall(native(lambda t: np.max(t, axis=0) * t, x[:3].copy()).text)


@pytest.mark.parametrize("n", [3_000, 10_000, 12_345, 100_000, 100_001])
def test_strips_overlap_by_little(n):
    text = native(several, np.ones(n)).text + native(lambda t: np.sum(t * t, axis=0) * t, np.ones((3, n))).text
    shorts = set(map(int, re.findall(r"add nuw nsw i64 %first_\w+, (\d+)$", text, re.MULTILINE)))
    assert shorts or n < 30_000
    for short in shorts:
        strips = -(-n // short)
        assert strips * short - n <= 16 * strips


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, -1e300, 1e-310, 700.0, -745.0, 1e5]


@given(st.integers(3, 40), st.integers(2, 9), st.data())
def test_any_length_of_arrays_and_strips(n, short, data):
    elements = st.floats(-3.0, 3.0) | st.sampled_from(SPECIAL)
    x = np.array(data.draw(st.lists(elements, min_size=2 * n, max_size=2 * n))).reshape(2, n)

    def f(x):
        y = np.where(x[0] > x[1], np.tanh(x[0]), x[1] * 0.5)
        return y + np.sum(np.abs(x) * y, axis=0), np.maximum(x, y)

    with arrays_in_strips(), pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr(storage, "length_of_strips", lambda group, place: min(short, n - 1))
        found, expected = native(f, np.ones((2, n))).entry()(x), f(x)
    assert _are_same(found, [*expected])


def test_programs_of_three_papers_in_strips(small):
    """A softmax, a distance and a rotation: several shapes, with their gradients."""

    def f(r, x):
        p = np.exp(r - np.max(r, axis=1, keepdims=True))
        p = p / np.sum(p, axis=1, keepdims=True)
        return np.sum(p * np.stack([np.sin(x), np.cos(x), x], axis=1))

    g = sr.value_and_grad(f, (0, 1))
    h = staged(g)
    for factor in (1.0, 1.0, 1.0, 0.5):
        found, expected = h(R * factor, X), g(R * factor, X)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
        for one, other in zip(found[1], expected[1], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)
