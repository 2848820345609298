"""Programs that are carried out again and again for as many rows: their calls are recorded, and replayed."""

import sys
import warnings
from functools import partial

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import custom_vjp, grad, hessian, jvp, vmap
from shiftreset_ad.batching import replay, steps
from shiftreset_ad.batching.program import Program
from tests.batching.check import answer, difference
from tests.batching.routes import loop
from tests.batching.test_functions import EXAMPLES, one_by_one, require_equal, rows_for, total
from tests.fuzzing.generation import random_program
from tests.fuzzing.routes import elements
from tests.fuzzing.routes import total as total_of

RNG = np.random.default_rng(0)
X, W = RNG.normal(size=(5, 3)), RNG.normal(size=3)
TURNS = 5  # of which the first is by the steps of the program, and the last three are replays


@pytest.fixture
def at_once(monkeypatch):
    """Runs are recorded at once, and not after a few."""
    monkeypatch.setattr(replay, "RUNS", 1)


def steps_of(call):
    """What a call answers, and how many functions of `batching.steps` it has entered."""
    entered = 0

    def count(frame, event, arg):
        nonlocal entered
        entered += event == "call" and frame.f_code.co_filename == steps.__file__

    sys.setprofile(count)
    try:
        found = call()
    finally:
        sys.setprofile(None)
    return found, entered


def is_replayed(f, *args):
    return steps_of(lambda: f(*args))[1] == 0


def cross_entropy(p, x, y):
    z = np.tanh(x @ p["a"] + p["b"]) @ p["c"]
    return np.log(np.sum(np.exp(z))) - np.sum(z * y)


def parameters():
    p = {"a": RNG.normal(size=(3, 4)), "b": RNG.normal(size=4), "c": RNG.normal(size=(4, 2))}
    return p, np.eye(2)[[0, 1, 1, 0, 1]]


def test_after_a_few_runs_no_step_is_looked_at():
    p, y = parameters()
    f = vmap(grad(cross_entropy), (None, 0, 0))
    entered = []
    for turn in range(replay.RUNS + TURNS):
        x = X * (1.0 + turn)
        found, count = steps_of(partial(f, p, x, y))
        entered.append(count > 0)
        expected = [grad(cross_entropy)(p, *row) for row in zip(x, y, strict=True)]
        for name, value in found.items():
            np.testing.assert_allclose(value, [each[name] for each in expected], rtol=1e-12)
    assert entered == [True] * (replay.RUNS + 1) + [False] * (TURNS - 1)  # the first replay is compared


@pytest.mark.parametrize("native", ["0", "1"])
def test_replays_take_other_values_with_native_code_and_without(native, at_once, monkeypatch):
    monkeypatch.setenv("SHIFTRESET_AD_NATIVE", native)
    p, y = parameters()

    def f(a, x, y):
        return cross_entropy({**p, "a": a}, x, y)

    batched = vmap(hessian(f), (None, 0, 0))
    for turn in range(TURNS):
        a, x = p["a"] * (1.0 - 0.1 * turn), X + turn
        expected = [hessian(f)(a, *row) for row in zip(x, y, strict=True)]
        np.testing.assert_allclose(batched(a, x, y), expected, rtol=1e-10, atol=1e-12)
    assert is_replayed(batched, a, x, y)


def test_each_number_of_rows_and_each_layout_is_recorded_for_itself(at_once):
    f = vmap(lambda x: np.sum(np.cumsum(np.sin(x), axis=0) * x[::-1], axis=1))
    x = RNG.normal(size=(6, 4, 3))
    for _ in range(TURNS):
        for rows in (x, x[:2], x[::2], x.transpose(0, 2, 1), np.asfortranarray(x)):
            assert np.array_equal(f(rows), loop(f.__wrapped__, rows))
    for k in range(1, 3 * replay.MOST):
        assert np.array_equal(f(x[:1].repeat(k, 0)), loop(f.__wrapped__, x[:1].repeat(k, 0)))


def test_two_arguments_may_be_one_array_in_the_recorded_run_only(at_once):
    f = vmap(lambda x, y: np.sin(x) * np.cos(y))
    for _ in range(TURNS):
        assert np.array_equal(f(X, X), np.sin(X) * np.cos(X))
    assert np.array_equal(f(X, 2.0 * X), np.sin(X) * np.cos(2.0 * X))


def test_rows_that_answer_a_question_otherwise_are_told(at_once):
    def f(x):
        return x**2 if np.sum(x) > 0 else -3.0 * x

    g, x = vmap(grad(lambda x: np.sum(f(x)))), np.abs(X)
    for _ in range(TURNS):
        assert np.array_equal(g(x), 2.0 * x)
    assert is_replayed(g, x)
    for signs in ([1, -1, 1, 1, -1], [-1] * 5, [1] * 5, [1, 1, 1, 1, -1]):
        rows = x * np.reshape(signs, (5, 1))
        assert np.array_equal(g(rows), np.where(rows > 0, 2.0 * rows, -3.0))


def test_an_error_of_a_replay_is_the_error_of_the_function(at_once):
    f = vmap(lambda a, b: np.linalg.solve(a, b) ** 2)
    a, b = np.eye(3) + RNG.normal(size=(4, 3, 3)) * 0.1, RNG.normal(size=(4, 3))
    for _ in range(TURNS):
        np.testing.assert_allclose(f(a, b), np.linalg.solve(a, b[..., None])[..., 0] ** 2)
    a[2] = 0.0
    with pytest.raises(np.linalg.LinAlgError):
        f(a, b)


def test_warnings_are_those_of_the_steps(at_once):
    f = vmap(lambda x: np.exp(x) * 2.0)
    for _ in range(TURNS):
        f(X)
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert np.isinf(f(np.full((5, 3), 1e3))).all()
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        f(np.full((5, 3), 1e3))
    with np.errstate(over="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(TURNS):
            f(np.full((5, 3), 1e3))


def test_answers_of_replays_share_no_memory(at_once):
    x, constant = X.copy(), np.arange(3.0)
    f = vmap(lambda x: (x, x.copy(), x.T, x[::-1], np.sin(x)[1:], *(2.0 * x,) * 2, constant * 1.0))
    for _ in range(TURNS):
        found = f(x)
        for k, leaf in enumerate(found):
            leaf[...] = k
        assert np.array_equal(x, X)
        assert [leaf[0, 0] for leaf in found] == list(range(8))
    assert is_replayed(f, x)
    assert np.array_equal(f(x)[-1], np.tile(constant, (5, 1)))


def test_writes_are_replayed_on_memory_of_each_call(at_once):
    def f(x):
        y = sr.zeros(3)
        y[:2] = np.sin(x[1:])
        y += x
        y[0] *= y[2]
        return np.sum(y.reshape(3, 1) * y)

    g = vmap(grad(f))
    for turn in range(TURNS):
        np.testing.assert_allclose(g(X + turn), loop(grad(f), X + turn), rtol=1e-12)


def test_a_rule_of_its_own_is_replayed_with_plain_rows_and_kept_inside_derivatives(at_once):
    @custom_vjp
    def f(x):
        return np.sum(x**2)

    f.defvjp(lambda x: (f(x), x), lambda x, y_bar: (3.0 * y_bar * x,))
    g = vmap(f)
    for _ in range(TURNS):
        np.testing.assert_allclose(g(X), np.sum(X**2, axis=1))
        np.testing.assert_allclose(vmap(grad(f))(X), 3.0 * X)
        np.testing.assert_allclose(grad(lambda x: np.sum(g(x)))(X), 3.0 * X)
    np.testing.assert_allclose(jvp(vmap(lambda x: np.sum(x**3)), (X,), (X,))[1], 3.0 * np.sum(X**3, axis=1))


def test_what_goes_row_by_row_is_not_recorded(at_once, monkeypatch):
    monkeypatch.setattr(replay, "_recorded", lambda *_: pytest.fail("recorded"))
    f = vmap(lambda x: np.kron(x, x))
    for _ in range(TURNS):
        np.testing.assert_allclose(f(X), loop(lambda x: np.kron(x, x), X))
    assert "called row by row: nothing" not in f.report()


NAMES = [pytest.param(name, marks=[pytest.mark.slow] if i % 8 else []) for i, name in enumerate(EXAMPLES)]


@pytest.mark.slow_but_every(2)
@pytest.mark.filterwarnings("ignore:.*it runs row by row::", "ignore:`row_stack` alias::")
@pytest.mark.parametrize("name", NAMES)
def test_replayed_values_and_gradients_are_those_of_a_loop(name, at_once, monkeypatch):
    """By the steps in Python. Native code must give the same bits as these, or it is not used."""
    monkeypatch.setenv("SHIFTRESET_AD_NATIVE", "0")
    example = EXAMPLES[name]
    rows = rows_for(example)
    every = tuple(range(len(rows)))
    for f in (example, grad(partial(total, example), every)):
        batched = vmap(f)
        for turn in range(3):
            points = [(x * (1.0 + 0.003 * turn)).astype(x.dtype) for x in rows]
            try:
                expected = one_by_one(f, points)
            except TypeError:  # it has no gradient
                break
            require_equal(batched(*points), expected)


@pytest.mark.parametrize("start", [pytest.param(k, marks=[pytest.mark.slow] if k else []) for k in range(0, 80, 20)])
def test_replayed_random_programs(start, at_once, monkeypatch):
    """Also those with steps that go row by row, which are recorded as a step for each row."""
    monkeypatch.setenv("SHIFTRESET_AD_NATIVE", "0")
    monkeypatch.setattr(Program, "_is_fit_to_replay", lambda self: True)
    compared = 0
    for seed in range(start, start + 20):
        program = random_program(seed)
        f, (x, _) = program.function(sr, np.float32), program.point(np.float32)
        for g in (lambda x, f=f: elements(f(x)), grad(lambda x, f=f: total_of(elements(f(x))))):
            batched = vmap(g)
            for turn in range(4):
                sizes = (1.0 + 0.004 * turn, 0.99 - 0.002 * turn, 1.02)
                rows = np.stack([x * size for size in sizes]).astype(np.asarray(x).dtype)
                expected = answer(partial(loop, g, rows))
                if not isinstance(expected, type):
                    compared += 1
                    assert not difference(answer(partial(batched, rows)), expected), (seed, turn, program.source)
    assert compared > 60
