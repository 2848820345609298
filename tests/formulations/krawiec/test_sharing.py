"""Delta terms with names, Fig. 9 to 11; the cost is in test_cost, Fig. 12 in test_quaternion."""

import pytest

from shiftreset_ad.formulations.krawiec.sharing import (
    Add,
    DeltaState,
    Number,
    OneHot,
    Scale,
    Trace,
    Var,
    Zero,
    grad,
    run_delta,
    show,
    text,
    trace,
)
from shiftreset_ad.formulations.language import parse


def test_names_are_given_in_order():
    state = DeltaState()
    x = Number(2.0, OneHot(0), state)
    y = x * x
    assert y.delta.id == 0
    assert (y * x).delta.id == 1
    assert [name for name, _ in state.bindings] == [0, 1]


def test_way_back():
    """y = d1 where d1 = 3 d0 + x1 and d0 = 2 x0."""
    bindings = [(0, Scale(2.0, OneHot(0))), (1, Add(Scale(3.0, Var(0)), OneHot(1))), (2, Var(1))]
    assert run_delta(Trace(None, [Var(1)], bindings), 10.0, 3) == [60.0, 10.0, 0.0]
    assert run_delta(Trace(None, [Zero()], bindings), 10.0, 1) == [0.0]
    assert run_delta(Trace(None, [Var(1), OneHot(1)], bindings), 1.0, 2) == [6.0, 2.0]


def test_sensitivity_is_complete_before_a_binding_is_visited():
    """d0 is used by d1 and by the result: 5 from both together."""
    bindings = [(0, OneHot(0)), (1, Scale(4.0, Var(0)))]
    assert run_delta(Trace(None, [Add(Var(1), Var(0))], bindings), 1.0, 1) == [5.0]


def test_a_result_that_is_used_twice_has_one_binding():
    assert len(trace(parse("fun x -> let y = x * x in y * y"))(2.0).bindings) == 2
    assert len(trace(parse("fun x -> (x * x) * (x * x)"))(2.0).bindings) == 3


def test_two_levels_have_bindings_of_their_own():
    states = []

    def f(x):
        states.append(x.state)

        def g(y):
            states.append(y.state)
            return y * y * x

        return grad(g)(x * x)

    assert grad(f)(3.0) == 6.0 * 9.0  # 2 x**3
    outer, inner = states
    assert len(inner.bindings) == 2
    assert len(outer.bindings) > 2
    assert inner.tag > outer.tag


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (Zero(), "0"),
        (OneHot(2), "x2"),
        (Var(3), "d3"),
        (Scale(2.0, Scale(3.0, Var(0))), "2.0 * 3.0 * d0"),
        (Scale(2.0, Add(Var(0), OneHot(1))), "2.0 * (d0 + x1)"),
        (Add(Scale(2.0, Var(0)), Zero()), "2.0 * d0 + 0"),
    ],
)
def test_text(term, expected):
    assert text(term) == expected


def test_show():
    assert show(trace(lambda x: x)(1.0)) == "x0"
    assert show(trace(lambda x: 1.0)(1.0)) == "0"
    printed = show(trace(lambda x: (x[0] * x[1], [x[0], 3.0]))((2.0, 3.0)))
    assert printed == "let d0 = 3.0 * x0 + 2.0 * x1\nin d0, x0, 0"


def test_result_of_a_trace():
    result = trace(lambda x: [x * x, 1.0, "text"])(3.0).result
    assert result == [9.0, 1.0, "text"]
    assert isinstance(result[0], float)
