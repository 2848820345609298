"""Reverse mode with shift and reset in the translator: Wang et al. 2019, Fig. 10, beside Fig. 11."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings

import shiftreset_ad
from shiftreset_ad import reset, shift
from shiftreset_ad.formulations.language import App, Const, parse, run, show
from shiftreset_ad.formulations.wang import source_cps, source_meta
from tests.formulations.random_terms import programs
from tests.formulations.wang.source_cases import PROGRAMS, chain, program, same_up_to_names

# They name the continuation of a case in another place (test_continuation_of_a_case_of_a_call).
ELSEWHERE = {"a case of a call"}


@pytest.mark.parametrize("case", [case for case in PROGRAMS if case not in ELSEWHERE])
def test_same_term_as_by_a_translator_in_cps(case):
    """Fig. 11 is Fig. 10 with the translator itself transformed."""
    f = program(PROGRAMS[case][0])
    by_meta, by_cps = source_meta.transform(f), source_cps.transform(f)
    assert same_up_to_names(by_meta, by_cps), f"{show(by_meta)}\n\n{show(by_cps)}"


@pytest.mark.slow
@settings(max_examples=60, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs())
def test_random_programs(case):
    f, x = case
    by_meta, by_cps = source_meta.transform(f, like=x), source_cps.transform(f, like=x)
    if not same_up_to_names(by_meta, by_cps):
        a, b = run(App(by_meta, Const(x))), run(App(by_cps, Const(x)))
        assert a == b or a != a


def test_translation_inside_a_program_that_shifts():
    """The resets of the translator are its own."""
    f = parse("fun x -> let y = x * x in y * y")
    assert reset(lambda: 1.0 + shift(lambda k: k(source_meta.grad(f)(2.0)))) == 33.0
    assert shiftreset_ad.grad(lambda x: x * source_meta.grad(f)(x))(2.0) == 4 * 32.0


def test_translation_in_threads():
    with ThreadPoolExecutor(4) as pool:
        sizes = list(pool.map(lambda n: show(source_meta.transform(chain(n))), [20] * 8))
    assert len(set(sizes)) == 1
