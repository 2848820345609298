"""Objects of classes of the program that blocks make: their operators are looked into, and control carries them."""

import warnings

import pytest

from shiftreset_ad import grad, staged
from tests.staging.front import new_objects as programs
from tests.staging.front.agreement import (
    POINTS,
    agree,
    by_numpy,
    ids,
    require_bits_of_the_steps,
    require_one_record,
)
from tests.staging.native.natively import needs_native


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize("f", programs.WRITTEN, **ids)
def test_one_record_serves_all_counts(f, monkeypatch):
    require_one_record(f, monkeypatch)


@pytest.mark.slow_but_every(3)
@needs_native
@pytest.mark.parametrize("f", programs.WRITTEN, **ids)
def test_native_code_has_the_bits_of_the_steps(f, monkeypatch):
    require_bits_of_the_steps(f, monkeypatch)


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("f", programs.ASKED, **ids)
def test_what_may_be_wrong_is_asked(f, monkeypatch):
    by_numpy(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree(grad(f), POINTS[:4])
        asked = agree(f, [(0.7, n) for n in (0, *range(22))])
        assert len(asked.sources) != 1
        assert programs.ASKED[f] in asked.report()


def test_a_constructor_with_an_answer_raises_the_error_of_python():
    def f(x, n):
        class Odd:
            def __init__(self, x):
                self.x = x
                return x if x > 1.0 else None

        total = 0.0
        for _ in range(n):
            total = total + Odd(x).x
        return total

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = staged(f)
        for n in (2, 2, 3):
            assert compiled(0.5, n) == f(0.5, n)
        with pytest.raises(TypeError, match="__init__"):
            compiled(2.0, 2)


@pytest.mark.parametrize("make", [programs.made_by_partial, programs.made_by_map])
def test_a_constructor_that_changes_is_seen(make):
    f, kind, other = programs.halving(make)
    compiled = staged(f)
    for x in (3.0, 5.0, 9.0):
        assert compiled(x) == f(x)
    assert len(compiled.sources) == 1
    kind.__init__ = other
    for x in (3.0, 5.0, 9.0):
        assert compiled(x) == f(x)
