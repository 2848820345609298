"""What each room costs, counted in operations on numbers: the claims of the papers, as they state them.

The constants are measured, and hold at every size: a gradient costs `FACTORS[room]` operations for one of the program,
at most, whatever the number of inputs. Griewank and Walther's bound for such counts is 5 (chapter 3), which a room
reaches that adds to an adjoint of zero first.
"""

import gc
import sys
import tracemalloc

import numpy as np
import pytest

from shiftreset_ad import grad
from shiftreset_ad.formulations import ROOMS
from shiftreset_ad.formulations.counting import Costs, Counted, Meter, count, count_captured
from shiftreset_ad.formulations.growth import Program, loop, many_inputs, sharing, straight_line
from shiftreset_ad.formulations.krawiec import arrays, fusion
from shiftreset_ad.formulations.language import Term, as_function, evaluate

BY_PATH = {room.path: room for room in ROOMS}

# Operations of the gradient for one of the program, at most, on the programs of `growth`.
FACTORS = {
    "wang.explicit_cps": 5.0,
    "wang.shift_reset": 5.0,
    "wang.prompts": 5.0,
    "wang.tape": 5.0,
    "wang.defunctionalised_tape": 5.0,
    "wang.store_passing": 5.0,
    "wang.updates": 5.0,
    "wang.cps_inside_shift_reset": 6.0,  # partial derivatives are programs in CPS: y_bar * 1.0 is an operation more
    "wang.forward_over_reverse": 5.0,
    "wang.source_shift_reset": 5.0,
    "wang.source_meta": 5.0,
    "wang.source_cps": 5.0,
    "pearlmutter_siskind": 4.0,
    "krawiec.sharing": 4.1,  # and one for the result, which tells only where the program is small
    "krawiec.source_sharing": 4.1,
    "krawiec.monadic": 5.0,  # also a literal has a slope
    "krawiec.array_backed": 4.0,
    "krawiec.structured": 4.1,
    "krawiec.arrays": 4.0,
    "krawiec.fusion": 4.0,
}
# A pass for each input, or an operation on vectors of all inputs.
TIMES_INPUTS = {
    "wang.forward": 4.0,
    "wang.source_forward": 4.0,
    "krawiec.duals": 4.2,
    "krawiec.source_duals": 4.0,
    "krawiec.dense": 4.0,
    "krawiec.source_dense": 4.0,
}
EXPONENTIAL = {"deferred", "karczmarczuk", "krawiec.delta"}
REVERSE = pytest.mark.parametrize("path", FACTORS)


@pytest.fixture(autouse=True)
def _deep_stack():
    """Some rooms nest on the stack by their nature, and say so."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    yield
    sys.setrecursionlimit(limit)


def cost(f: Term, x) -> Costs:
    return count(evaluate(f), x)


def cost_of_gradient(path: str, program: Program) -> Costs:
    return count(BY_PATH[path].grad(program.term), program.x)


def factor(path: str, program: Program) -> float:
    """Operations of the gradient for one of the program."""
    return cost_of_gradient(path, program).operations / cost(*program).operations


def test_every_room_has_a_claim():
    assert {*FACTORS, *TIMES_INPUTS, *EXPONENTIAL} == {room.path for room in ROOMS}


# Reverse mode: a constant factor (Pearlmutter and Siskind 2008, section 4; Krawiec et al. 2022, Theorem 5).


@REVERSE
@pytest.mark.parametrize("size", [10, 100])
def test_a_gradient_costs_a_constant_factor_though_results_are_shared(path, size):
    assert factor(path, sharing(size)) <= FACTORS[path]


@REVERSE
@pytest.mark.parametrize("program", [straight_line, loop, many_inputs])
@pytest.mark.parametrize("size", [10, 100])
def test_a_gradient_costs_a_constant_factor_on_every_program(path, program, size):
    assert factor(path, program(size)) <= FACTORS[path]


@REVERSE
def test_a_gradient_costs_the_same_at_any_number_of_inputs(path):
    assert factor(path, many_inputs(80)) == pytest.approx(factor(path, many_inputs(20)), rel=0.05)


@REVERSE
def test_the_numbers_that_a_gradient_keeps_grow_with_the_operations_and_not_faster(path):
    small, large = (cost_of_gradient(path, sharing(size)) for size in (50, 200))
    assert large.allocations / small.allocations == pytest.approx(4.0, rel=0.05)
    assert large.peak / small.peak == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize("path", ["krawiec.sharing", "krawiec.array_backed"])
def test_memory_is_linear_in_bytes(path):
    """Krawiec et al. 2022, Theorem 5."""

    def bytes_at_peak(size):
        gradient, x = BY_PATH[path].grad(straight_line(size).term), 0.7
        gradient(x)  # what is made once
        gc.disable()
        tracemalloc.start()
        try:
            gradient(x)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            gc.enable()

    # But for the lists and maps, which grow by steps.
    assert bytes_at_peak(4_000) / bytes_at_peak(1_000) == pytest.approx(4.0, rel=0.25)


def test_an_index_costs_a_constant_whatever_the_length_of_the_array():
    """Krawiec et al. 2022, section 8.3."""

    def squares(a):
        total = 0.0
        for i in range(len(a)):
            total = total + a[i] * a[i]
        return total

    def ratio(n):
        xs = [0.5] * n
        gradient = arrays.grad(squares)
        return count(lambda xs: gradient(arrays.Array(xs)), xs).operations / count(squares, xs).operations

    assert ratio(200) == pytest.approx(ratio(20), rel=0.05)
    assert ratio(200) <= 4.0


def test_a_fused_function_keeps_no_numbers_but_its_value_and_partial_derivatives():
    """Krawiec et al. 2022, Fig. 15: memory as for one operation, for as many operations of the gradient."""

    def step(x):
        for _ in range(20):
            x = np.sin(x * x)
        return x

    def program(step):
        def f(x):
            for _ in range(20):
                x = step(x)
            return x

        return fusion.grad(f)

    unfused, fused = count(program(step), 0.7), count(program(fusion.fused(step)), 0.7)
    assert fused.peak < unfused.peak / 5
    assert fused.operations <= 1.1 * unfused.operations


# Forward mode and dense vectors: a factor for each input, and no memory.


@pytest.mark.parametrize("path", TIMES_INPUTS)
def test_forward_mode_costs_a_constant_factor_for_each_input(path):
    for program in (straight_line, sharing, loop):
        for size in (10, 100):
            assert factor(path, program(size)) <= TIMES_INPUTS[path]
    assert factor(path, many_inputs(10)) <= 10 * TIMES_INPUTS[path]
    assert factor(path, many_inputs(40)) / factor(path, many_inputs(10)) == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize("path", ["wang.forward", "krawiec.duals", "krawiec.dense"])
def test_forward_mode_keeps_no_numbers(path):
    assert cost_of_gradient(path, sharing(200)).peak == cost_of_gradient(path, sharing(20)).peak


# The flaw of closures, and of Delta terms without sharing: a result that is used twice is gone through twice.


@pytest.mark.parametrize("path", sorted(EXPONENTIAL))
def test_without_sharing_a_gradient_is_exponential(path):
    operations = [cost_of_gradient(path, sharing(size)).operations for size in range(6, 13)]
    ratios = np.divide(operations[1:], operations[:-1])
    assert (ratios >= 1.9).all()
    assert (ratios <= 2.1).all()


@pytest.mark.parametrize("path", sorted(EXPONENTIAL))
def test_where_nothing_is_shared_it_is_linear(path):
    # The argument is used in every second operation, which costs nothing more, as it is where the way back ends.
    assert factor(path, straight_line(10)) == pytest.approx(factor(path, straight_line(100)), rel=0.1)
    assert factor(path, straight_line(100)) <= 4.5


# The library itself, by a handler that counts.


@pytest.mark.parametrize("size", [10, 100, 1_000])
@pytest.mark.parametrize(("program", "bound"), [(straight_line, 3.5), (sharing, 4.0), (loop, 3.0), (many_inputs, 2.5)])
def test_the_gradient_of_the_library_costs_a_constant_factor(program, bound, size):
    size = min(size, 200) if program is many_inputs else size
    f, x = evaluate(program(size).term), program(size).x
    assert count_captured(grad(f), x) <= bound * count_captured(f, x)


# The counting itself.


@pytest.mark.parametrize("program", [straight_line, sharing, loop, many_inputs])
def test_both_ways_of_counting_agree(program):
    f, x = evaluate(program(10).term), program(10).x
    assert count(f, x).operations == count_captured(f, x)
    gradient = BY_PATH["wang.tape"].grad(f)
    assert count(gradient, x).operations == count_captured(gradient, x)


def test_numbers_are_counted_while_they_live():
    def kept(x):
        return [x * x, x + 1.0, -x]

    def dropped(x):
        for _ in range(10):
            x * x

    assert count(kept, 2.0) == Costs(operations=3, allocations=4, peak=4)
    assert count(dropped, 2.0) == Costs(operations=10, allocations=11, peak=2)
    assert count(lambda x: x[0] * x[1], (2.0, 3.0)) == Costs(operations=1, allocations=3, peak=3)
    assert count(lambda x, y: np.sin(x) < y, 2.0, 3.0) == Costs(operations=1, allocations=3, peak=3)
    assert count(lambda: 1.0) == Costs(0, 0, 0)


def test_counted_numbers_compute_what_floats_do():
    meter = Meter()
    f, x = as_function(loop(5).term), 0.3
    assert f(Counted(x, meter)).primal == f(x)
    assert (meter.operations, meter.alive) == (15, 0)


def test_an_error_in_the_program_is_raised_where_it_is_and_leaves_nothing_behind():
    def wrong(x):
        raise ValueError(str(x * x))

    for counting in (count, count_captured):
        with pytest.raises(ValueError, match=r"object|NumR"):
            counting(wrong, 3.0)
        assert counting(lambda x: x * x, 3.0) in (1, Costs(1, 2, 2))
