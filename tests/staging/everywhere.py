"""`grad` and its kin, staged wherever a test calls them: `pytest --staged tests/...`.

Each call is made three times: the first one is recorded, the second one is compared with the function, and the test
gets the answer of the third one, by the steps alone, or of a fourth one, if there is a gate for it. What is refused
runs as it is, and is counted by its reason.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import update_wrapper, wraps
from typing import Any

import shiftreset_ad
from shiftreset_ad.numbers.tags import open_tags
from shiftreset_ad.staging import StagingWarning, staged
from shiftreset_ad.staging.threads import is_recording
from tests.staging.native.natively import has_gate

OPERATORS = ("grad", "value_and_grad", "jacobian", "jacrev", "jacfwd", "hessian", "elementwise_grad")
# Tests of how often a function or a kernel runs, of the frames and the workers around it, of what is kept for the way
# back, of names and pickles, and of warnings that staging gives: a staged function differs in these.
OF_THE_CALL = {
    "test_the_function_runs_once",
    "test_a_traceback_has_the_frames_of_the_user_only",
    "test_a_traceback_shows_the_users_frames_only",
    "test_no_intermediate_is_kept",
    "test_nothing_is_kept_of_what_depends_on_parameters_only",
    "test_memory",
    "test_memory_is_that_of_the_snapshots",
    "test_memory_of_a_second_derivative",
    "test_the_adjoint_of_what_the_step_closes_over_adds_up_in_one_buffer",
    "test_a_large_array_is_copied_once",
    "test_no_outer_product_is_made_for_a_large_matrix",
    "test_a_jacobian_goes_along_the_fewer_directions",
    "test_writes_to_memory_that_no_operation_reads_keep_nothing",
    "test_it_is_run_as_it_is_where_it_is_staged",
    "test_one_kernel_gives_all_cotangents_of_a_convolution",
    "test_one_kernel_gives_the_largest_elements_and_their_positions",
    "test_relu_of_a_large_array_is_pytorchs_kernel",
    "test_the_matrix_of_many_cells_gets_one_product_of_matrices",
    "test_a_step_of_a_recurrent_network_is_one_operation_and_its_matrices_get_one_product",
    "test_what_the_gates_of_a_tree_get_on_the_way_back_is_computed_once",
    "test_few_floats_are_no_arrays",
    "test_solve_solves_once_on_the_way_back_for_both_operands",
    "test_each_derivative_factors_the_matrix_once",
    "test_a_loop_with_one_matrix_factors_it_once_and_holds_it_once",
    "test_a_function_and_its_record_have_the_same_bits_of_a_system_whose_derivative_is_nearly_lost",
    "test_what_was_chosen_already_is_not_chosen_again",
    "test_a_contraction_that_is_a_product_goes_both_ways_without_einsum",
    "test_only_the_program_hears_of_dropped_imaginary_parts",
    "test_rows_are_read_and_added_the_fast_way",
    "test_many_directions_at_once",
    "test_a_function_that_the_user_did_not_write",
    "test_a_write_takes_memory_for_what_it_overwrites",
    "test_what_is_finite_is_as_without",
    "test_grads_nested_in_one_another",
}
MODULES_OF_THE_CALL = {
    "tests.batching.test_vmap",
    "tests.boundary.test_derived",
    "tests.control.test_bodies",
    "tests.control.test_frames",
    "tests.test_benchmark_programs",
    "tests.test_cost_of_operations",
    "tests.test_linear_time",
}
counts: Counter[str] = Counter()


class Replayed:
    """A function whose answers come from the steps that `staged` has recorded."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self._plain = f
        self._staged = staged(f)
        update_wrapper(self, f)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else self._plain.__get__(instance, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if open_tags() or is_recording():  # an outer derivative, which is staged itself, or rows of a vmap
            return self._plain(*args, **kwargs)
        counts["calls"] += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StagingWarning)
            answer = self._staged(*args, **kwargs)
            if self._staged.sources:  # otherwise the call has changed something, and another one may answer otherwise
                self._staged(*args, **kwargs)
                answer = self._staged(*args, **kwargs)
                if has_gate(self._staged):
                    counts["by a gate"] += 1
                    answer = self._staged(*args, **kwargs)
            elif not self._staged._calls._problem:
                counts["changes something"] += 1
        if self._staged._calls._problem and not self._staged.sources:
            counts[f"refused: {shortened(self._staged._calls._problem)}"] += 1
        return answer


def shortened(reason: str) -> str:
    """A reason without what is of one test alone."""
    return re.sub(r"'[^']*'", "...", re.sub(r"\d+", "#", reason.splitlines()[0]))[:110]


def install() -> None:
    """Have what tests import from the package give staged functions. The library itself keeps its own operators."""
    for name in OPERATORS:
        operator = getattr(shiftreset_ad, name)

        @wraps(operator)
        def with_replay(*args: Any, operator: Any = operator, **kwargs: Any) -> Any:
            return Replayed(operator(*args, **kwargs))

        setattr(shiftreset_ad, name, with_replay)

    def of_the_plain_function(f: Any, *args: Any, **kwargs: Any) -> Any:
        """`staged` of a test's own: of the function itself, as what is counted here is a change that others see."""
        return staged(f._plain if isinstance(f, Replayed) else f, *args, **kwargs)

    shiftreset_ad.staged = of_the_plain_function


def report() -> Iterator[str]:
    """How many calls there were, and which share of them was refused, by the reason."""
    for name, times in counts.most_common():
        yield f"{times:8} {times / counts['calls']:7.2%} {name}"
