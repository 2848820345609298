"""Sensitivities in an array, section 5.3.3; the cost is in test_cost."""

from shiftreset_ad.formulations.krawiec.array_backed import Add, DeltaState, Scale, Var, Zero, run_delta


def test_inputs_have_the_first_names():
    state = DeltaState([2.0, 3.0])
    assert [x.delta.id for x in state.inputs] == [0, 1]
    x, y = state.inputs
    assert (x * y).delta.id == 2
    assert len(state.terms) == 3


def test_way_back():
    state = DeltaState([1.0, 1.0, 1.0])
    d3 = state.delta_let(Scale(2.0, Var(0)))
    d4 = state.delta_let(Add(Scale(3.0, d3), Var(1)))
    state.delta_let(Scale(100.0, d4))
    assert run_delta(state, Add(d4, d3), 10.0) == [80.0, 10.0, 0.0]
    assert run_delta(state, Zero(), 10.0) == [0.0, 0.0, 0.0]


def test_terms_stay_so_that_the_way_back_can_be_gone_again():
    state = DeltaState([2.0])
    (x,) = state.inputs
    y = x * x * x
    assert run_delta(state, y.delta, 1.0) == run_delta(state, y.delta, 1.0) == [12.0]
