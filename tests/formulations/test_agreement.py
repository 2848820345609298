"""All formulations agree on random programs, and the test finds what is wrong in them."""

import inspect
from collections import Counter
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import just

from shiftreset_ad.formulations import ROOMS
from shiftreset_ad.formulations.language import App, Var, evaluate, parse, run, show
from shiftreset_ad.formulations.language.sources import subterms
from shiftreset_ad.rules import ELEMENTWISE
from tests.formulations.agreement import check_agreement, check_programs
from tests.formulations.random_terms import features, programs


def room_at(path):
    return next(room for room in ROOMS if room.path == path)


def broken(path, right, wrong):
    """A room with a line of its code changed."""
    room = room_at(path)
    source = inspect.getsource(room.module)
    assert source.count(right) >= 1, f"{path} has changed: there is no {right!r} in it"
    module = ModuleType("broken")
    exec(compile(source.replace(right, wrong), "broken", "exec"), module.__dict__)
    copy = replace(room, name="broken")
    copy.__dict__["module"] = module
    return copy


@pytest.mark.slow
def test_all_formulations_agree():
    """A sample; `python -m tests.formulations.agreement 20000` runs the whole."""
    compared = check_programs(60, derandomize=True)
    for room in ROOMS:
        assert compared[room.name] >= (15 if room.without else 60)
    assert compared["finite differences"] > 50


def test_a_wrong_rule_is_found(monkeypatch):
    """The library's own `grad` has read the table before, and is right."""
    right = ELEMENTWISE[np.sin]
    monkeypatch.setitem(ELEMENTWISE, np.sin, right._replace(partials=(lambda y, x: -np.cos(x),)))
    with pytest.raises(AssertionError, match="gradient"):
        check_programs(200, [room_at("wang.forward")], derandomize=True, shrink=False)


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize(
    ("path", "right", "wrong"),
    [
        pytest.param("wang.forward", "max(x.tag for x", "min(x.tag for x", id="the oldest tag"),
        pytest.param("wang.forward", " and x.tag == tag for x in operands]", " for x in operands]", id="no tag"),
        pytest.param(
            "wang.prompts", " and x.prompt is prompt for x in operands]", " for x in operands]", id="no prompt"
        ),
        pytest.param("wang.tape", "x.adjoint = x.adjoint + ", "x.adjoint = ", id="no sum of adjoints"),
    ],
)
def test_a_broken_formulation_is_found(path, right, wrong):
    """A dropped tag, among others, within 200 programs."""
    with pytest.raises(AssertionError):
        check_programs(200, [broken(path, right, wrong)], derandomize=True, shrink=False)


def test_a_counterexample_is_printed_as_a_term(monkeypatch):
    monkeypatch.setitem(ELEMENTWISE, np.sin, ELEMENTWISE[np.sin]._replace(partials=(lambda y, x: 0.0,)))
    with pytest.raises(AssertionError) as failure:
        check_programs(200, [room_at("wang.forward")], derandomize=True)
    printed = "\n".join(failure.value.__notes__)
    assert "fun x -> sin x" in printed


# The programs themselves


@pytest.mark.slow
def test_programs_use_the_whole_language():
    used = set()

    @settings(
        max_examples=200,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(programs())
    def collect(case):
        program, x = case
        used.update(features(program))
        used.update(type(term).__name__ for term in subterms(program))
        assert parse(show(program)) == program
        with np.errstate(all="ignore"):
            assert evaluate(program)(x) == run(App(program, Var("point")), {"point": x})

    collect()
    assert used >= {"references", "sums"}
    assert used >= {
        "Lam",
        "App",
        "Let",
        "Pair",
        "Fst",
        "Snd",
        "Inl",
        "Inr",
        "Case",
        "Ref",
        "Deref",
        "Assign",
        "Primitive",
    }


LONG = """
fun x ->
  let step1 =
    fun x ->
      let step =
        fun x ->
          sin
            (let x = if x < x then x else sqrt (1.0 + square x) in sin (sin (sin (exp (sin x) / (2.0 + sin x)))))
      in
      let loop1 =
        fun loop1 -> fun state ->
          let loop = loop1 loop1 in case fst state of _ -> snd state | rest -> loop (rest, step (snd state))
      in
      let loop = loop1 loop1 in loop (inr (inr (inr (inl ()))), x)
  in
  let loop =
    fun loop -> fun state1 ->
      let loop2 = loop loop in
      case fst state1 of _ -> snd state1 | rest1 -> loop2 (rest1, step1 (snd state1))
  in
  let loop2 = loop loop in loop2 (inr (inr (inr (inl ()))), x)
"""


def test_a_program_of_loops_in_loops_may_nest_deep():
    """Explicit continuation-passing style takes more of Python's stack than the usual limit for this one."""
    compared = Counter()

    @settings(max_examples=1, deadline=None, database=None)
    @given(just((parse(LONG), 0.0123)))
    def check(case):
        check_agreement(*case, ROOMS, compared)

    check()
    assert set(compared.values()) == {1}
    assert compared.keys() >= {room.name for room in ROOMS if not room.without}
