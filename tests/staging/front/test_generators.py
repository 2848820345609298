"""Loops over generators are written down as other loops are: the generator calls the body of the loop."""

import ast
import contextlib
import functools
import itertools

import numpy as np
import pytest

from shiftreset_ad import grad, jvp, staged
from shiftreset_ad.staging import StagingWarning
from shiftreset_ad.staging.front import generators
from tests.staging.front.agreement import by_numpy, ids, require_one_record
from tests.staging.front.random_programs import function_from

RNG = np.random.default_rng(0)
DATA, WANTED = RNG.normal(size=(48, 4)), RNG.normal(size=48)


def fibonacci(x):
    a, b = 0.0, 1.0
    while True:
        yield a
        a, b = b, a + b * x


def powers(x, n):
    p = 1.0
    for _ in range(n):
        yield p
        p = p * x


def halved(x, least):
    while x > least:
        yield x
        x = x * 0.5


def breaking(x, n):
    s = 0.0
    for v in fibonacci(x):
        if v > n:
            break
        s += v
    return s


def going_on(x, n):
    s = 0.0
    for v in powers(x, n):
        if v > 1.5:
            continue
        s = s * 0.5 + v
    return s


def returning(x, n):
    for v in fibonacci(x):
        if v > n:
            return v * x
    return 0.0


def returning_one_of_two(x, n):
    s = 0.0
    for v in powers(x, n + 2):
        s += v
        if s > 4.0:
            return s * 2.0
        if v < 0.6:
            return s + v
    return s - 1.0


def with_else(x, n):
    s = 0.0
    for v in powers(x, n):
        if v > 1.5:
            break
        s += v
    else:
        s = s * 3.0 + 1.0
    return s


def with_else_alone(x, n):
    s = 0.0
    for v in powers(x, n):
        s += v
    else:
        s = s * 3.0
    return s


def enumerated(x, n):
    s = 0.0
    for i, v in enumerate(powers(x, n)):
        s += i * v
    for i, v in enumerate(powers(x, n), start=2):
        if s > 50.0:
            break
        s += i * v
    return s


def in_one_another(x, n):
    s = 0.0
    for v in powers(x, n):
        for w in halved(v, 0.2):
            if w < 0.3:
                break
            s += v * w
        s = s * 0.9
    return s


def squares(of):
    for v in of:
        yield v * v


def pairs(x, n):
    for i, v in enumerate(powers(x, n)):
        yield i, v
        if v > 2.0:
            return
        yield i + 0.5, v * 0.5


def several_in_a_round(x, n):
    s = 0.0
    for i, v in pairs(x, n):
        s += i * v
    return s


def chained(x, n):
    yield x
    yield from powers(x, n)
    yield from halved(x, 0.1)


def one_after_another(x, n):
    s = 0.0
    for v in chained(x, n):
        s = s * 0.7 + v
    return s


def leaving_one_after_another(x, n):
    s = 0.0
    for v in chained(x, n):
        s += v
        if s > 3.0:
            break
    return s


def carried_from_round_to_round(x, n):
    s = 0.0
    for v in powers(x, n):
        if s > 0.0:
            s += v * before  # noqa: F821 (bound in an earlier round)
        else:
            s = v
        before = v  # noqa: F841
    return s


def used_afterwards(x, n):
    v = 0.0
    for v in powers(x, n):  # noqa: B007 (used after the loop)
        pass
    return v * 2.0


def filtered(x, n):
    for v in powers(x, n):
        if v > 0.5:
            yield v


def through_a_filter(x, n):
    s = 0.0
    for v in filtered(x, n):
        s += v
    return s


def of_a_variable_that_both_see(x, n):
    total = 0.0

    def until():
        while total < n:
            yield total + x

    for v in until():
        total += v
    return total


def with_a_loop_inside(x, n):
    s = 0.0
    for v in powers(x, n):
        k = 0
        while True:
            k += 1
            if k * v > 3.0:
                break
            if k > 4:
                return s - 1.0
            s += v
    return s


def under_a_test(x, n):
    s = 0.0
    if x > 1.0:
        for v in powers(x, n):
            s += v
    else:
        for v in halved(x, 0.2):
            s -= v
    return s


def in_a_loop(x, n):
    s = x
    while s < n:
        for v in halved(s, 0.3):
            s += v * 0.2
        s += 0.5
    return s


class Series:
    def __init__(self, scale):
        self.scale = scale
        self.__hidden = 0.5

    def terms(self, x, n=3, *, shift=0.0):
        for v in powers(x, n):
            yield self.scale * v + shift + self.__hidden

    def total(self, x, n):
        s = 0.0
        for __v in self.terms(x, n, shift=0.1):
            s += __v * self.__hidden
        return s


def of_a_method(x, n):
    series, s = Series(2.0), 0.0
    for v in series.terms(x, n, shift=x):
        s += v
    return s + series.total(x, n)


def of_a_partial_function(x, n):
    s = 0.0
    for v in functools.partial(powers, n=n)(x):
        s += v
    return s


def by_keywords(x, n):
    s = 0.0
    for v in powers(n=n, x=x):
        s += v
    for v in powers(*(x,), n=n):
        s -= v * v
    return s


def of_structures(x, n):
    def states():
        position, speed = x, 0.0
        for i in range(n):
            yield {"at": position, "moving": (speed, i)}
            position, speed = position + 0.1 * speed, speed - 0.1 * position

    energy = 0.0
    for state in states():
        speed, i = state["moving"]
        energy += state["at"] ** 2 + speed**2 + i
    return energy


PROGRAMS = [
    *(breaking, going_on, returning, returning_one_of_two, with_else, with_else_alone, enumerated, in_one_another),
    *(several_in_a_round, one_after_another, leaving_one_after_another, used_afterwards, through_a_filter),
    *(of_a_variable_that_both_see, with_a_loop_inside, under_a_test, in_a_loop, of_a_method, of_a_partial_function),
    *(by_keywords, of_structures),
]


@pytest.mark.parametrize("f", PROGRAMS, **ids)
def test_one_record_serves_all_calls(f, monkeypatch):
    require_one_record(f, monkeypatch)


@pytest.mark.parametrize("f", PROGRAMS, **ids)
def test_the_loop_is_written_down(f, monkeypatch):
    by_numpy(monkeypatch)
    compiled = staged(f)
    for x, n in ((0.7, 3), (1.3, 4), (1.3, 2)):
        assert compiled(x, n) == pytest.approx(f(x, n), rel=1e-14)
    assert "while " in compiled.sources[0]
    assert "is a generator" not in compiled.report()


def batches(x, y, size):
    for i in range(0, len(x), size):
        yield x[i : i + size], y[i : i + size]


slope = grad(lambda w, x, y: np.mean((x @ w - y) ** 2))


def trained(w):
    for _ in range(20):
        for x, y in batches(DATA, WANTED, 4):
            w = w - 0.01 * slope(w, x, y)
    return w


def trained_with_a_rate(w):
    losses = []
    for epoch in range(20):
        for step, (x, y) in enumerate(batches(DATA, WANTED, 4), 1):
            rate = 0.01 / (1.0 + 0.1 * epoch) / step**0.5
            w = w - rate * slope(w, x, y)
        losses.append(np.mean((DATA @ w - WANTED) ** 2))
    return w, np.array(losses)


@pytest.mark.parametrize("f", [trained, trained_with_a_rate])
def test_a_loop_over_batches_is_a_loop(f):
    compiled = staged(f)
    for scale in (0.0, 1.0, 2.0, 3.0):
        w = np.full(4, scale)
        for x, y in zip(np.ravel(compiled(w)[0]), np.ravel(f(w)[0]), strict=True):
            assert x == pytest.approx(y, rel=1e-12)
    assert len(compiled.sources) == 1
    assert "while " in compiled.sources[0]
    assert len(compiled.ir[0].splitlines()) < 400


# Programs whose loops stay as they are, or are recorded by their paths


def as_a_list(x, n):
    return list(powers(x, n)) if n % 2 else powers(x, n)


def sometimes_a_generator(x, n):
    s = 0.0
    for make in (powers, lambda x, n: [x, x * 2.0], halved):
        for v in make(x, n * 0.1 if make is halved else n):
            s = s * 0.5 + v
    for v in as_a_list(x, n):
        s += v
    return s


def guarded(x, n):
    try:
        yield from powers(x, n)
    finally:
        x = None


def over_a_guarded_one(x, n):
    s = 0.0
    for v in guarded(x, n):
        s += v
        if s > 2.5:
            break
    return s


def echoing(x, n):
    for _ in range(n):
        y = yield x
        x = x * 0.5 + (0.0 if y is None else y)


def over_one_that_is_sent_to(x, n):
    s = 0.0
    for v in echoing(x, n):
        s += v
    e = echoing(x, n + 2)
    next(e)
    return s + e.send(2.0)


def with_local_names(x, n):
    for v in powers(x, n):
        yield v * len(locals())


def over_one_that_sees_its_frame(x, n):
    s = 0.0
    for v in with_local_names(x, n):
        s += v
    return s


def walk(tree):
    if tree is not None:
        left, value, right = tree
        yield from walk(left)
        yield value
        yield from walk(right)


def over_a_tree(x, n):
    tree = ((None, x, None), x * n, ((None, x + 1.0, None), 2.0, None))
    s = 0.0
    for v in walk(tree):
        s = s * 0.5 + v
        if s > 5.0:
            break
    return s


def one_at_a_time(x, n):
    g = fibonacci(x)
    s = sum(itertools.islice(g, n))
    return s + next(g) + sum([*powers(x, n)]) + max(powers(x, n + 1))


def errors(x, n):
    s = 0.0
    try:
        for v in powers(x, n):
            s += v
            if n > 4:
                raise KeyError(n)
    except KeyError:
        s = -s
    return s


def failing(x, n):
    for i, v in enumerate(powers(x, n)):
        if i == 3:
            raise ValueError("no more")
        yield v


def caught(x, n):
    s = 0.0
    with contextlib.suppress(ValueError):
        for v in failing(x, n):
            s += v
    return s


def closing_over_each(x, n):
    functions = []
    for v in powers(x, n):
        functions += [lambda w: w * v]  # noqa: B023 (the last value)
    return sum((f(2.0) for f in functions), 0.0 * x)


OTHERS = [
    *(sometimes_a_generator, over_a_guarded_one, over_one_that_is_sent_to, over_one_that_sees_its_frame, over_a_tree),
    *(one_at_a_time, errors, caught, closing_over_each, carried_from_round_to_round),
]
POINTS = ((0.7, 3), (1.3, 3), (0.7, 0), (1.3, 5), (0.7, 1), (1.3, 2), (0.7, 3), (1.3, 5))


@pytest.mark.parametrize("f", OTHERS, **ids)
@pytest.mark.parametrize(
    "mode",
    [lambda f: f, grad, lambda f: lambda x, n: jvp(lambda y: f(y, n), (x,), (0.5,)), lambda f: grad(grad(f))],
    ids=["plain", "grad", "jvp", "second"],
)
def test_other_loops_have_the_answers_of_python(f, mode):
    compiled = staged(mode(f))
    for x, n in POINTS:
        assert compiled(x, n) == pytest.approx(mode(f)(x, n), rel=1e-12)


def test_an_error_in_the_body_or_in_the_generator_goes_to_the_caller():
    def f(x, n):
        s = 0.0
        for v in failing(x, n):
            s += v
            if s > 10.0:
                raise OverflowError("too large")
        return s

    compiled = staged(f)
    for x, n in ((0.5, 2), (0.6, 3), (0.5, 2), (0.7, 2)):
        assert compiled(x, n) == f(x, n)
    for _ in range(3):
        with pytest.raises(ValueError, match="no more"):
            compiled(0.5, 4)
        with pytest.raises(OverflowError, match="too large"):
            compiled(11.0, 2)
    assert compiled(0.5, 2) == f(0.5, 2)


counted = 0


def test_a_body_with_a_global_variable():
    def f(x, n):
        global counted
        counted = 0
        s = 0.0
        for v in powers(x, n):
            counted += 1
            s += v * counted
        return s

    compiled = staged(f)
    with pytest.warns(StagingWarning, match="changes 'counted', which others see"):
        answers = [compiled(x, n) for x, n in POINTS]
    assert answers == pytest.approx([f(x, n) for x, n in POINTS], rel=1e-12)
    for x, n in POINTS:
        assert compiled(x, n) == pytest.approx(f(x, n), rel=1e-12)
        assert counted == n


def test_a_body_that_declares_a_global_variable():
    def f(x, n):
        s = 0.0
        for v in powers(x, n):
            global SCALE
            SCALE = 2.0
            s += v * SCALE
        return s

    compiled = staged(f)
    for x, n in POINTS:
        assert compiled(x, n) == pytest.approx(f(x, n), rel=1e-12)
    assert compiled.sources


SCALE = 2.0


def test_a_body_that_uses_super():
    class Base:
        def scaled(self, x):
            return 2.0 * x

    class Derived(Base):
        def total(self, x, n):
            s = 0.0
            for v in powers(x, n):
                s += super().scaled(v)
            return s

    f = Derived().total
    compiled = staged(f)
    for x, n in POINTS:
        assert compiled(x, n) == pytest.approx(f(x, n), rel=1e-12)
    assert "_sr_visit" not in compiled.report()
    assert compiled.sources


def test_a_body_with_a_variable_of_the_function_around():
    def f(x, n):
        s = 0.0

        def add():
            nonlocal s
            for v in powers(x, n):
                s += v
                if s > 3.0:
                    return v
            return 0.0

        return add() + s

    compiled = staged(f)
    for x, n in POINTS:
        assert compiled(x, n) == pytest.approx(f(x, n), rel=1e-12)
    assert len(compiled.sources) == 2  # without a round, `v` has no value


def test_another_function_of_the_name_enumerate():
    text = """
def f(x, n):
    s = 0.0
    for i, v in enumerate(powers(x, n)):
        s += i * v
    return s
"""
    f = function_from(text, powers=powers, enumerate=lambda items: [(7.0, v) for v in items])
    compiled = staged(f)
    for x, n in POINTS:
        assert compiled(x, n) == pytest.approx(f(x, n), rel=1e-12)


def test_a_generator_that_is_replaced_is_seen(monkeypatch):
    f = staged(breaking)
    for _ in range(3):
        assert f(0.7, 3) == breaking(0.7, 3)
    monkeypatch.setitem(globals(), "fibonacci", lambda x: powers(x, 3))
    for _ in range(3):
        assert f(0.7, 3) == breaking(0.7, 3) == pytest.approx(1.0 + 0.7 + 0.49)


def test_reasons_why_a_generator_calls_nothing():
    for body in ("x = yield 1", "try:\n  yield 1\n finally: pass", "yield locals()", "return (yield)", "f((yield))"):
        (function,) = ast.parse(f"def f():\n {body}").body
        with pytest.raises(generators.RefusedError, match="a `yield` is in a `try`"):
            generators.as_visits(function, stops=True)
