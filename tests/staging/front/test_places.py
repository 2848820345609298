"""Attributes, items and variables of other functions that blocks change: they are carried, or the test is asked."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from shiftreset_ad.staging.front import places
from shiftreset_ad.staging.native import machine
from tests.staging.front import objects
from tests.staging.front.stand_in import written
from tests.staging.native.natively import needs_native

POINTS = ((0.7, 5), (0.9, 2), (1.3, 9), (1.1, 1), (0.6, 0), (1.2, 4))
ids = {"ids": lambda f: getattr(f, "__name__", "")}


def answers(f, first, points=POINTS):
    """The staged function after calls at these points, where it has answered as the function does."""
    compiled = staged(f)
    for x, n in ((0.7, first), (0.7, first), *points):
        np.testing.assert_allclose(compiled(x, n), f(x, n), rtol=1e-9, atol=1e-12)
    return compiled


@pytest.mark.slow_but_every(2)
@needs_native
@pytest.mark.parametrize("f", objects.WRITTEN, **ids)
def test_one_record_serves_all_counts(f):
    for g, first in ((f, 3), (f, 0), (grad(f), 4), (grad(grad(f)), 0)):
        compiled = answers(g, first)
        assert len(compiled.sources) == 1
        assert compiled.report().count("as native code") == 1


@pytest.mark.parametrize("f", objects.WRITTEN, **ids)
def test_one_record_serves_all_counts_by_numpy(f, monkeypatch):
    monkeypatch.setattr(machine, "unfit", lambda: "not here")
    assert len(answers(grad(f), 2, POINTS[1:4]).sources) == 1


@pytest.mark.parametrize("f", objects.AFTER_A_ROUND, **ids)
def test_what_has_no_value_is_carried_after_a_round(f):
    for g, first in ((f, 3), (f, 0), (grad(f), 0), (grad(grad(f)), 3)):
        compiled = answers(g, first, POINTS[1:5])
        assert len(compiled.sources) == 2  # with no round, and with any
    _, session, stand_in = written(f, 0.7, 3)
    assert stand_in.questions == 1
    assert "has no value before this test" in next(iter(session.asked.values())).reason


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("f", objects.ASKED, **ids)
def test_what_may_be_wrong_is_asked(f):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers(grad(f), 3, POINTS[:3])
        asked = answers(f, 0, ())
        for n in range(20):
            assert asked(0.7, n) == pytest.approx(f(0.7, n), rel=1e-12)
        assert len(asked.sources) != 1
        assert objects.ASKED[f] in asked.report()


@pytest.mark.parametrize("f", [objects.harmonic, objects.kalman, objects.fibonacci], **ids)
def test_third_derivatives(f):
    assert len(answers(grad(grad(grad(f))), 0, POINTS[:3]).sources) == 1


OUTSIDE = SimpleNamespace(x=1.0, total=0.0)
ITEMS = [1.0, 2.0]


def of_an_object_from_outside(x, n):
    OUTSIDE.x = x
    for _ in range(n):
        OUTSIDE.x = OUTSIDE.x * 1.1
    return OUTSIDE.x


def of_a_list_from_outside(x, n):
    ITEMS[0] = x
    for _ in range(n):
        ITEMS[0], ITEMS[1] = ITEMS[1], ITEMS[0] * 0.9
    return ITEMS[0]


def put_back(x, n):
    OUTSIDE.total = 0.0
    for _ in range(n):
        OUTSIDE.total = OUTSIDE.total + x
    found, OUTSIDE.total = OUTSIDE.total, 0.0
    return found * x


@pytest.mark.parametrize("f", [of_an_object_from_outside, of_a_list_from_outside, put_back], **ids)
def test_writes_to_what_is_outside_are_seen_after_the_call(f):
    def state():
        return OUTSIDE.x, OUTSIDE.total, list(ITEMS)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = staged(f)
        for x, n in ((0.7, 3), (0.7, 3), *POINTS, *POINTS):
            before = state()
            expected, after = f(x, n), state()
            OUTSIDE.x, OUTSIDE.total, ITEMS[:] = before
            assert compiled(x, n) == pytest.approx(expected, rel=1e-12)
            assert state() == after


def test_an_object_that_is_given_is_left_as_python_leaves_it():
    def f(o, n):
        for _ in range(n):
            o.x = o.x * 1.1
        return o.x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = staged(f)
        for n in (3, 3, 2, 0, 5):
            one, other = objects.Particle(0.5, 1.0), objects.Particle(0.5, 1.0)
            assert compiled(one, n) == f(other, n)
            assert vars(one) == vars(other)


def test_what_the_rounds_read_from_outside_is_looked_at_in_each_call():
    rate = SimpleNamespace(value=1.1)

    def f(x, n):
        o = objects.Particle(x, 1.0)
        for _ in range(n):
            o.x = o.x * rate.value
        return o.x

    compiled = staged(f)
    for value in (1.1, 1.1, 0.5, 2.0, 1.1):
        rate.value = value
        for n in (3, 0, 4):
            assert compiled(2.0, n) == f(2.0, n)


def test_an_error_of_a_round_is_that_of_python():
    def f(x, n):
        o = SimpleNamespace(k=3, x=x)
        for _ in range(n):
            o.k = o.k - 1
            o.x = o.x + x / o.k
        return o.x

    compiled = staged(f)
    for n in (1, 1, 2, 0):
        assert compiled(2.0, n) == f(2.0, n)
    with pytest.raises(ZeroDivisionError):
        compiled(2.0, 3)
    assert compiled(2.0, 2) == f(2.0, 2)


def test_many_branches_in_branches_are_written_down_in_good_time():
    """Each site knows from its first attempt what it has to carry. So the attempts do not multiply."""

    def f(x, n):
        o = SimpleNamespace(a=x, b=0.0, c=0.0, d=0.0, e=0.0, f=0.0)
        for i in range(n):
            o.a = o.a * 1.01
            if i > 1:
                o.b = o.b + o.a
                if i > 2:
                    o.c = o.c + o.b
                    if i > 3:
                        o.d = o.d + o.c
                        if i > 4:
                            o.e = o.e + o.d
                            if i > 5:
                                o.f = o.f + o.e
        return o.a + o.b + o.c + o.d + o.e + o.f

    assert len(answers(grad(f), 3).sources) == 1


def test_an_error_of_a_round_may_be_caught_outside():
    for first in (0, 2, 3):
        answers(objects.error_that_is_caught, first)


def with_keys_in_the_order_of_the_branch(x, n):
    d = {"a": x, "i": 1.0} if n > 2 else {"i": 1.0, "a": x}
    p, q = d.values()
    return p - q * 2.0


def with_keys_in_the_order_of_the_last_round(x, n):
    d = {"a": x, "i": 1.0}
    for _ in range(n):
        d = {"i": d["i"] + x, "a": d["a"] * 2.0}
    p, q = d.values()
    return p - q * 2.0


@pytest.mark.parametrize("f", [with_keys_in_the_order_of_the_branch, with_keys_in_the_order_of_the_last_round], **ids)
@pytest.mark.parametrize("first", [1, 3])
def test_the_keys_of_a_dict_have_the_order_of_the_program(f, first):
    answers(f, first)
    answers(grad(f), first)


def relaxed(rows):
    rows = [list(row) for row in rows]
    for k in range(len(rows)):
        for i in range(len(rows)):
            for j in range(len(rows)):
                if rows[i][k] + rows[k][j] < rows[i][j]:
                    rows[i][j] = rows[i][k] + rows[k][j]
    return rows


@pytest.mark.parametrize("many", [0, 8, 1000])
def test_a_site_that_changes_another_item_each_time(many, monkeypatch):
    """The shortest ways between four points: a branch carries few items more than the one that it changes."""
    monkeypatch.setattr(places, "MANY", many)
    rng, compiled = np.random.default_rng(0), staged(relaxed)
    for _ in range(5):
        rows = rng.random((4, 4)).tolist()
        assert compiled(rows) == relaxed(rows)
    assert len(compiled.sources) == 1
