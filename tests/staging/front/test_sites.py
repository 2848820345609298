"""A branch that leaves a variable None on one path is asked; if a later round has a value, it is written down."""

import pytest

from shiftreset_ad import grad, staged
from tests.staging.front.agreement import by_numpy, ids


def brent(p):
    """A root of a cubic. `d` has no number in the first round."""

    def f(x):
        return x**3 - p * x - 2.0

    a, b = 0.0, 3.0
    fa, fb = f(a), f(b)
    if abs(fa) < abs(fb):
        a, b, fa, fb = b, a, fb, fa
    c, fc = a, fa
    d = None
    is_halved = True
    for _ in range(100):
        if fb == 0.0 or abs(b - a) < 1e-12:
            break
        if fa != fc and fb != fc:
            s = a * fb * fc / ((fa - fb) * (fa - fc)) + b * fa * fc / ((fb - fa) * (fb - fc))
            s = s + c * fa * fb / ((fc - fa) * (fc - fb))
        else:
            s = b - fb * (b - a) / (fb - fa)
        low, high = (3 * a + b) / 4, b
        if low > high:
            low, high = high, low
        if (
            not (low < s < high)
            or (is_halved and abs(s - b) >= abs(b - c) / 2)
            or (not is_halved and abs(s - b) >= abs(c - d) / 2)
        ):
            s = (a + b) / 2
            is_halved = True
        else:
            is_halved = False
        fs = f(s)
        d, c, fc = c, b, fb
        if fa * fs < 0:
            b, fb = s, fs
        else:
            a, fa = s, fs
        if abs(fa) < abs(fb):
            a, b, fa, fb = b, a, fb, fa
    return b


def with_an_earlier_value(x):
    earlier, total = None, 0.0
    for k in range(20):
        if total > 30.0 + k:
            break
        total = total + x * k - (0.0 if earlier is None else 0.1 * earlier)
        earlier = total
    return total


@pytest.mark.parametrize("f", [brent, with_an_earlier_value], **ids)
@pytest.mark.parametrize("mode", [lambda f: f, grad], ids=["plain", "grad"])
def test_the_rounds_after_the_first_one_are_written_down(f, mode, monkeypatch):
    compiled = staged(mode(f))
    for x in (0.7, 1.9, 2.5, 0.5, 2.9, 1.1):
        assert compiled(x) == pytest.approx(mode(f)(x), rel=1e-9)
    assert len(compiled.sources) == 1
    assert "while " in compiled.sources[0]
    by_numpy(monkeypatch)
    assert staged(mode(f))(1.3) == pytest.approx(mode(f)(1.3), rel=1e-9)


def found_or_none(x):
    found = None
    for k in range(6):
        if x * k > 2.0:
            found = x * k
    return -x if found is None else found * found


def none_again(x):
    found, total = x, 0.0
    for k in range(6):
        if x * k > 2.0:
            found = None
        elif x * k > 1.0:
            found = x * k
        total = total + (1.0 if found is None else found)
    return total


def in_a_written_loop(x):
    last, k = None, 0.0
    while k * x < 3.0:
        if k * x > 1.0:
            last = k * x
        k = k + 0.5
    return k if last is None else last * last


def of_several_variables(x):
    a = b = c = None
    if x > 1.0:
        a, b = x * x, x
    else:
        c = x * 3.0
    return sum(v for v in (a, b, c) if v is not None)


@pytest.mark.parametrize("f", [found_or_none, none_again, in_a_written_loop, of_several_variables], **ids)
@pytest.mark.parametrize("mode", [lambda f: f, grad], ids=["plain", "grad"])
def test_what_stays_none_on_some_paths_has_pythons_answer(f, mode):
    compiled = staged(mode(f))
    for x in (0.7, 1.9, 0.1, 2.5, 0.5, 0.7, 1.9, 2.9):
        assert compiled(x) == pytest.approx(mode(f)(x), rel=1e-12)
    assert "is None in one branch only" in compiled.report() or f is in_a_written_loop
