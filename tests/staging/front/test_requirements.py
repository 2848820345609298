"""A test under which an error is raised is a condition of the record, and does not split it."""

import re

import pytest

from shiftreset_ad import cond, grad, staged
from tests.staging.front.agreement import agree, by_numpy, ids, require_bits_of_the_steps, require_one_record
from tests.staging.front.requirements import PROGRAMS, after_a_return, asked_outside_with_another_answer, checked
from tests.staging.native.natively import needs_native


@pytest.mark.parametrize("f", PROGRAMS, **ids)
def test_it_is_written_down_once(f, monkeypatch):
    require_one_record(f, monkeypatch)


@needs_native
@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("f", PROGRAMS, **ids)
def test_native_code_has_the_bits_of_the_steps(f, monkeypatch):
    require_bits_of_the_steps(f, monkeypatch)


@pytest.mark.parametrize("natively", [pytest.param(True, marks=needs_native), False])
@pytest.mark.parametrize("mode", [lambda f: f, grad], ids=["value", "grad"])
def test_the_error_is_that_of_the_program(mode, natively, monkeypatch):
    """After it, the record is used again."""
    if not natively:
        by_numpy(monkeypatch)
    compiled = agree(mode(checked), ((0.7, 3), (0.5, 3), (-0.2, 2)))
    records = list(compiled.sources)
    for x, n, kind in ((1.0, 5, AssertionError), (-1.5, 3, ValueError), (1.0, 5, AssertionError)):
        with pytest.raises(kind) as expected:
            mode(checked)(x, n)
        with pytest.raises(kind, match=re.escape(str(expected.value))):
            compiled(x, n)
        assert compiled(0.4, 3) == mode(checked)(0.4, 3)
    assert compiled.sources == records


def test_the_first_call_may_raise():
    compiled = staged(grad(checked))
    with pytest.raises(AssertionError):
        compiled(1.0, 5)
    assert compiled(0.7, 3) == grad(checked)(0.7, 3)


def caught(x, n):
    s, t = 0.0, x
    while t < n:
        t = t * 1.2 + 0.1
        try:
            if 0.9 < t < 1.3:
                raise ValueError("left out")
            s = s + t
        except ValueError:
            s = s - 1.0
    return s + t


def test_an_error_that_the_program_catches():
    """It is not written down, and each path has a record of its own."""
    assert agree(caught).sources
    assert agree(grad(caught)).sources


def test_a_branch_that_raises_in_a_cond_of_the_program():
    def root(t):
        if t < 0.0:
            raise ValueError("negative")
        return t * t * t

    def f(x, n):
        return cond(x * n > 2.0, root, lambda t: t * t, x - 1.0)

    assert len(agree(f, ((0.2, 2), (1.5, 3), (0.3, 1))).sources) == 1
    compiled = agree(grad(f), ((0.2, 2), (1.5, 3), (0.3, 1)))
    for x in (0.8, -0.1):
        with pytest.raises(ValueError, match="negative"):
            f(x, 4 if x > 0 else -40)
        with pytest.raises(ValueError, match="negative"):
            compiled(x, 4 if x > 0 else -40)


@pytest.mark.parametrize("natively", [pytest.param(True, marks=needs_native), False])
def test_a_test_that_was_asked_outside_with_another_answer(natively, monkeypatch):
    if not natively:
        by_numpy(monkeypatch)
    compiled = agree(asked_outside_with_another_answer, ((1.5, 4), (1.3, 4), (1.4, 4), (-3.0, 20)))
    for x in (1.5, 1.2):
        with pytest.raises(ValueError, match="positive"):
            compiled(x, 20)
    agree(grad(asked_outside_with_another_answer), ((1.5, 4), (1.3, 4), (1.4, 4), (-3.0, 20)))


def test_a_branch_that_returns_before_it_raises():
    agree(after_a_return)
    agree(grad(after_a_return))
