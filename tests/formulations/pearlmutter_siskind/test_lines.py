"""Lines as they are printed, and as they run."""

import operator

import pytest

from shiftreset_ad.formulations.language import parse
from shiftreset_ad.formulations.pearlmutter_siskind.lines import Function, Line, bind, run, text

LINES = [
    Line("x1", "=", parse("sin x0")),
    Line("total", ":=", parse("0.0")),
    Line("total", "+:=", parse("x1 * x1")),
    Line(("a", "b"), "=", parse("(total, 2.0)")),
    Line("total", "+:=", parse("a * b")),
]


def test_lines_are_printed():
    assert [str(line) for line in LINES] == [
        "x1 = sin x0",
        "total := 0.0",
        "total +:= x1 * x1",
        "(a, b) = (total, 2.0)",
        "total +:= a * b",
    ]


def test_lines_run_in_their_order():
    variables = run(LINES, {"x0": 0.0, "x1": 7.0}, operator.add)
    assert variables == {"x0": 0.0, "x1": 0.0, "total": 0.0, "a": 0.0, "b": 2.0}
    variables = run([*LINES, LINES[-1]], {"x0": 0.5}, operator.add)
    assert variables["total"] == pytest.approx(5.0 * variables["x1"] ** 2)


def test_a_variable_that_is_twice_in_a_pattern_gets_both_parts():
    variables = {"x": 1.0}
    bind(("x", ["x"]), "(+)=", (10.0, [100.0]), variables, operator.add)
    assert variables == {"x": 111.0}


def test_a_pattern_has_as_many_parts_as_the_value():
    with pytest.raises(ValueError, match="zip"):
        bind(["x"], "=", [1.0, 2.0], {}, operator.add)


def test_functions_are_printed_with_annotations():
    inner = Function("y", [], ("x", Function("s", [], "s")))
    function = Function("x", [Line("f", "=", inner)], ["f"])
    assert str(function) == "fun x ->\n  let f = fun y ->\n        (x, fun s ->\n          s)\n  in [f]"
    marked = text(function, lambda place, name: f"<{name}>" if place is inner else name)
    assert marked == str(function).replace("fun y", "fun <y>")
