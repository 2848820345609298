"""The evals of GradBench: their answers, the protocol, and the runner."""

import dataclasses
import io
import json
import os
import sys
import time

import numpy as np
import pytest

import shiftreset_ad as sr
from benchmarks.gradbench import results, session
from benchmarks.gradbench.check import cases, check, difference
from benchmarks.gradbench.checkout import Checkout
from benchmarks.gradbench.evals import EVALS, ba, descent, det, ht, particle, saddle
from benchmarks.gradbench.function import Function
from benchmarks.gradbench.session import Command, Evaluation
from benchmarks.gradbench.tool import respond, serve, timed

DESCENTS = ("saddle", "particle")
QUICK = [pytest.param(name, id=name) for name in EVALS if name not in DESCENTS]


@pytest.mark.parametrize("name", QUICK)
def test_answers_are_those_that_are_stored(name):
    for function, message_input, expected in cases(name):
        assert check(name, function, message_input, expected) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", DESCENTS)
def test_a_descent_by_one_mode_gives_the_answer_that_is_stored(name):
    function, message_input, expected = next(cases(name))
    assert check(name, function, message_input, expected) == ""


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("name", QUICK)
def test_staged_answers_are_those_that_are_stored(name):
    for function, message_input, expected in cases(name):
        if isinstance(message_input, dict):
            message_input = message_input | {"min_runs": 3}
        assert check(name, function, message_input, expected, staged=True) == ""


def test_all_functions_are_stored():
    for name, functions in EVALS.items():
        assert {function for function, _, _ in cases(name)} == set(functions)


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize(
    ("module", "message_input", "expected"),
    [(saddle, {"start": [1.0, 1.0]}, [0.0] * 4), (particle, {"w": 0.0}, 0.2072)],
    ids=DESCENTS,
)
def test_descents_with_longer_steps_arrive_by_all_modes(module, message_input, expected, monkeypatch):
    monkeypatch.setattr(descent, "FIRST_STEP", 0.03)
    answers = [timed(function, message_input)[0] for function in module.FUNCTIONS.values()]
    for answer in answers:
        np.testing.assert_allclose(answer, answers[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(answer, expected, atol=1e-3)


def test_determinants_of_any_size_whose_minors_are_expanded_one_at_a_time(monkeypatch):
    monkeypatch.setattr(det, "LARGEST_AT_ONCE", 2)
    for function, message_input, expected in cases("det"):
        assert check("det", function, message_input, expected) == ""
    assert det.determinant(np.array([[3.0]])) == 3.0


def test_bundle_adjustment_has_the_same_matrix_by_its_pattern():
    """`ba` compresses its Jacobian by hand, and `sparse_jacobian` of the plain objective finds the same entries."""
    sparse = pytest.importorskip("scipy.sparse")
    message_input = next(case for function, case, _ in cases("ba") if function == "jacobian" and case["p"] > 10)
    cameras, points, weights, features, observed = ba.read(message_input)

    def errors(cameras, points, weights):
        return np.concatenate(ba.objective(cameras.T, points.T, weights, features, observed))

    found = sr.sparse_jacobian(errors, argnums=(0, 1, 2))(cameras.T.copy(), points.T.copy(), weights)
    ends, columns, values = ba.jacobian(cameras, points, weights, features, observed)
    np.testing.assert_allclose(
        found.toarray(), sparse.csr_array((values, columns, ends), shape=found.shape).toarray(), rtol=1e-12, atol=1e-13
    )
    assert found.nnz < found.shape[0] * found.shape[1] / 4


def test_hand_tracking_has_the_same_matrix_by_its_pattern():
    """Its Jacobian lacks the zeros of the places, and stacks what is left of them in two columns."""
    pytest.importorskip("scipy.sparse")
    message_input = next(case for function, case, _ in cases("ht") if function == "jacobian" and case["us"])
    theta, us, *rest = ht.read(message_input)

    def errors(theta, us):
        return ht.errors(theta, us, *rest).ravel()

    found = sr.sparse_jacobian(errors, argnums=(0, 1))(theta, us).toarray()
    of_places = found[:, len(theta) :].reshape(len(us), 3, len(us), 2)
    own = np.concatenate([of_places[i, :, i] for i in range(len(us))])
    expected = ht.jacobian(theta, us, *rest)
    np.testing.assert_allclose(np.concatenate([own, found[:, : len(theta)]], axis=1), expected, rtol=1e-12, atol=1e-13)
    assert np.count_nonzero(of_places) == np.count_nonzero(own)


def test_mirrored_hands_have_the_derivatives_of_finite_differences():
    ((message_input, _),) = (
        (case, outputs) for _, case, outputs in cases("ht") if case["data"]["model"]["is_mirrored"]
    )
    message_input["theta"][:3] = [0.3, -0.2, 0.4]
    theta, *rest = ht.read(message_input)
    steps = 1e-6 * np.eye(len(theta))
    columns = [(ht.errors(theta + step, *rest) - ht.errors(theta - step, *rest)).ravel() / 2e-6 for step in steps]
    np.testing.assert_allclose(ht.jacobian(theta, *rest), np.stack(columns, axis=1), atol=1e-8)


# The protocol


def test_the_tool_answers_each_message():
    messages = [
        {"id": 0, "kind": "start", "eval": "hello"},
        {"id": 1, "kind": "define", "module": "hello"},
        {"id": 2, "kind": "evaluate", "module": "hello", "function": "double", "input": 3},
        {"id": 3, "kind": "analysis", "of": 2, "valid": True},
        {"id": 4, "kind": "define", "module": "unknown"},
    ]
    responses = io.StringIO()
    serve(io.StringIO("".join(json.dumps(message) + "\n" for message in messages)), responses)
    start, defined, evaluated, analysed, unknown = map(json.loads, responses.getvalue().splitlines())
    assert (start["id"], start["tool"]) == (0, "shiftreset_ad")
    assert defined == {"id": 1, "success": True}
    assert (evaluated["success"], evaluated["output"]) == (True, 6.0)
    assert [timing["name"] for timing in evaluated["timings"]] == ["evaluate"]
    assert analysed == {"id": 3}
    assert unknown == {"id": 4, "success": False}


def test_the_tool_answers_an_error_with_its_traceback():
    response = respond({"id": 5, "kind": "evaluate", "module": "llsq", "function": "primal", "input": {"n": 3}})
    assert (response["id"], response["success"]) == (5, False)
    assert "KeyError: 'x'" in response["error"]


def test_a_function_runs_as_often_and_as_long_as_the_input_asks_for():
    runs = []
    function = Function(lambda: runs.append(1), lambda message_input: ())
    assert len(timed(function, {"min_runs": 3, "min_seconds": 0})[1]) == len(runs) == 3
    slow = Function(lambda: time.sleep(0.002), lambda message_input: ())
    assert sum(timed(slow, {"min_runs": 1, "min_seconds": 0.01})[1]) >= 1e7


def test_the_difference_of_outputs_sees_numbers_and_structures():
    assert difference({"a": [1.0, 2]}, {"a": [1, 2.5]}) == pytest.approx(0.2)
    assert difference([1.0], [1.0, 2.0]) == difference({}, []) == difference(float("nan"), 1.0) == float("inf")


# The runner

EVAL = """
import json, sys
def send(message):
    print(json.dumps(message), flush=True)
    return json.loads(sys.stdin.readline())
send({"id": 0, "kind": "start", "eval": "hello"})
if send({"id": 1, "kind": "define", "module": "hello"})["success"]:
    output = send({"id": 2, "kind": "evaluate", "module": "hello", "function": "square", "input": 3.0})["output"]
    send({"id": 3, "kind": "analysis", "of": 2, "valid": output == 9.0, "error": "not 9"})
"""
SLEEPER = "import time\ntime.sleep(60)"


def command(folder, program):
    return Command([sys.executable, "-c", program], folder, dict(os.environ))


def test_a_session_brings_an_eval_and_our_tool_together(tmp_path):
    tool = Checkout(tmp_path).tool("shiftreset_ad")
    tool = dataclasses.replace(tool, environment=tool.environment | {"PYTHONPATH": os.pathsep.join(sys.path)})
    (evaluation,) = session.run("hello", "shiftreset_ad", command(tmp_path, EVAL), tool, 60.0)
    assert (evaluation.function, evaluation.input, evaluation.valid) == ("square", "3.0", True)
    assert len(evaluation.nanoseconds) == 1


@pytest.mark.parametrize("program", [SLEEPER, ""], ids=["too slow", "ended"])
def test_a_session_ends_with_a_tool_that_does_not_answer(program, tmp_path):
    (start,) = session.run("hello", "none", command(tmp_path, EVAL), command(tmp_path, program), 0.5)
    assert (start.function, start.valid, start.error) == ("start", False, "no response in 0.5 seconds")


def test_tools_are_found_in_a_checkout(tmp_path):
    checkout = Checkout(tmp_path)
    (tmp_path / "tools" / "manual").mkdir(parents=True)
    assert checkout.tool("manual").arguments[-2:] == [checkout.program("cpp.py"), "manual"]
    with pytest.raises(FileNotFoundError, match="no tool neural"):
        checkout.tool("neural")


EVALUATIONS = [
    Evaluation("lse", "gradient", "n=2", "ours", [30_000, 20_000], valid=True),
    Evaluation("lse", "gradient", "n=2", "ours", [25_000], valid=True),
    Evaluation("lse", "gradient", "n=2", "theirs", [40_000], valid=True),
    Evaluation("lse", "primal", "n=2", "ours", [1_000], valid=True),
    Evaluation("lse", "primal", "n=2", "theirs", [1_000], error="not valid"),
]


def test_results_are_least_times_and_ratios(tmp_path):
    results.append(tmp_path / "results", EVALUATIONS[:2])
    results.append(tmp_path / "results", EVALUATIONS[2:])
    least = results.least(results.read(tmp_path / "results"))
    of_gradient, of_primal = least["lse", "gradient", "n=2"], least["lse", "primal", "n=2"]
    assert results.ratio(of_gradient, "ours", "theirs") == 0.5
    assert results.ratio(of_primal, "ours", "theirs") is None
    assert (of_gradient["ours"].shown, of_primal["theirs"].shown) == ("0.02", "failed")


def test_results_are_shown_and_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("rich")
    from benchmarks.gradbench.picture import draw
    from benchmarks.gradbench.table import table

    least = results.least(EVALUATIONS)
    assert table(least, ["ours", "theirs"]).row_count == 2
    draw(least, ["ours", "theirs"], tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes()[:4] == b"\x89PNG"
