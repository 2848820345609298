"""Objects of classes of the program that blocks make: their operators are looked into, and control carries them."""

import warnings

import pytest

from shiftreset_ad import grad, jvp, staged
from shiftreset_ad.staging.native import machine
from tests.staging.front import new_objects as programs
from tests.staging.native.natively import needs_native

POINTS = ((0.7, 3), (1.3, 3), (0.7, 0), (1.3, 5), (0.7, 1), (1.3, 2))
ids = {"ids": lambda f: getattr(f, "__name__", "")}


def along(f):
    return lambda x, n: jvp(lambda y: f(y, n), (x,), (0.5,))


def agree(f, points=POINTS):
    """The staged function after calls at these points, where it has answered as the function does."""
    compiled = staged(f)
    for x, n in points:
        assert compiled(x, n) == pytest.approx(f(x, n), rel=1e-12)
    return compiled


@pytest.mark.parametrize("f", programs.WRITTEN, **ids)
def test_one_record_serves_all_counts(f, monkeypatch):
    monkeypatch.setattr(machine, "unfit", lambda: "not here")
    compiled = staged(f)
    for x, n in POINTS:
        assert compiled(x, n) == f(x, n)  # to the bit
    assert len(compiled.sources) == 1
    for mode in (grad, along, lambda f: grad(grad(f))):
        assert len(agree(mode(f), POINTS[:4]).sources) == 1


@needs_native
@pytest.mark.parametrize("f", programs.WRITTEN, **ids)
def test_native_code_has_the_bits_of_the_steps(f, monkeypatch):
    compiled = agree(grad(f))
    assert len(compiled.sources) == 1
    natively = [compiled(x, n) for x, n in POINTS]
    monkeypatch.setattr(machine, "unfit", lambda: "not here")
    in_steps = agree(grad(f))
    assert [in_steps(x, n) for x, n in POINTS] == natively


@pytest.mark.parametrize("f", programs.ASKED, **ids)
def test_what_may_be_wrong_is_asked(f, monkeypatch):
    monkeypatch.setattr(machine, "unfit", lambda: "not here")
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
