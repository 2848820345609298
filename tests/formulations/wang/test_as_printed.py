"""Fig. 5, 7, 8, 12 and 13 with the example that each prints, and what a program of each is like on the way."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import shiftreset_ad
from shiftreset_ad import reset
from shiftreset_ad.control import ControlError
from shiftreset_ad.formulations.wang import as_printed
from shiftreset_ad.formulations.wang.as_printed import NumB, NumR, NumR0, grad_fig_7, grad_fig_8, grad_fig_12
from shiftreset_ad.formulations.wang.classes import grad_fig_5
from shiftreset_ad.formulations.wang.shift2 import gradR, gradRR


@pytest.fixture(autouse=True)
def empty_tape(monkeypatch):
    monkeypatch.setattr(as_printed, "tape", as_printed.nothing)


def f(x):
    return 2 * x + x * x * x


def f_in_cps(x):
    return lambda k: (2 * x)(lambda y1: (x * x)(lambda y2: (y2 * x)(lambda y3: (y1 + y3)(k))))


FIGURES = {
    "Fig. 5": (grad_fig_5(f), lambda x: 2 + 3 * x * x),
    "Fig. 7": (grad_fig_7(f_in_cps), lambda x: 2 + 3 * x * x),
    "Fig. 8": (grad_fig_8(f), lambda x: 2 + 3 * x * x),
    "Fig. 12": (grad_fig_12(f), lambda x: 2 + 3 * x * x),
    "Fig. 13": (gradR(gradRR(f)), lambda x: 6 * x),
}


@pytest.mark.parametrize("figure", FIGURES)
@given(x=st.floats(-1e100, 1e100))
@example(x=0.0)
@example(x=3.0)
def test_the_example_of_the_figure_for_all_x(figure, x):
    """The paper writes `forAll { x => df(x) == ... }`; floats are rounded."""
    as_printed.tape = as_printed.nothing
    df, expected = FIGURES[figure]
    assert df(x) == pytest.approx(expected(x), rel=1e-14)


@pytest.mark.parametrize("x", [0.0, 1.0, -3.0, 0.5])
def test_other_programs(x):
    def g(x):
        return (x + 1.5) * (x * x + x) * x

    expected = shiftreset_ad.grad(g)(x)
    assert grad_fig_8(g)(x) == pytest.approx(expected)
    assert grad_fig_12(g)(x) == pytest.approx(expected)

    def g_in_cps(x):
        def with_sum(a, k):
            (x * x)(lambda b: (b + x)(lambda c: (a * c)(lambda d: (d * x)(k))))

        return lambda k: (x + 1.5)(lambda a: with_sum(a, k))

    in_cps = grad_fig_7(g_in_cps)
    assert in_cps(x) == pytest.approx(expected)


def test_fig_7_an_operation_updates_after_its_continuation_has_returned():
    a, b, seen = NumR0(3.0, 0.0), NumR0(5.0, 0.0), []

    def k(y):
        seen.append((y.x, a.d, b.d))
        y.d = 10.0

    (a * b)(k)
    (a + b)(k)
    assert seen == [(15.0, 0.0, 0.0), (8.0, 50.0, 30.0)]
    assert (a.d, b.d) == (60.0, 40.0)


def test_fig_8_is_fig_7_with_shift():
    a, b, seen = NumR(3.0, 0.0), NumR(5.0, 0.0), []

    def program():
        y = a * b
        seen.append((y.x, a.d, b.d))
        y.d = 10.0

    reset(program)
    assert seen == [(15.0, 0.0, 0.0)]
    assert (a.d, b.d) == (50.0, 30.0)
    with pytest.raises(ControlError):
        a * b  # there is no reset around


def test_fig_12_the_tape_plays_what_was_put_last_first():
    a, b = NumB(3.0, 0.0), NumB(5.0, 0.0)
    y = a * b
    z = y + 1.0
    z.d = 10.0
    assert (a.d, b.d) == (0.0, 0.0)
    as_printed.tape()
    assert (y.d, a.d, b.d) == (10.0, 50.0, 30.0)


def test_fig_12_the_tape_is_never_emptied():
    """The second gradient plays the entries of the first once more: it is right, and costs more than it should."""
    kept = []

    def keeping(x):
        kept.append(x)
        return f(x)

    df = grad_fig_12(keeping)
    assert (df(3.0), kept[0].d) == (29.0, 29.0)
    assert df(1.0) == 5.0
    assert kept[0].d > 29.0
