"""Traces: what they hold, and their tables and pictures."""

import io
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from importlib.util import find_spec

import numpy as np
import pytest

from shiftreset_ad import grad, jvp, trace
from shiftreset_ad.debugging import drawings, stepping
from shiftreset_ad.debugging.tables import html, row, shown

needs_graphviz = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz draws the graph")


def f(x):
    y = x * x
    z = x + y
    return y * z


def nested(x):
    return x * grad(lambda y: x * y * y)(x)


@pytest.fixture(scope="module")
def found():
    return trace(grad(f), 2.0)


def test_each_operation_is_there_with_its_value_and_its_adjoint(found):
    assert found.answer == 44.0
    assert [(step.name, step.line, step.value, step.level) for step in found] == [
        ("*", "y = x * x", 4.0, 1),
        ("+", "z = x + y", 6.0, 1),
        ("*", "return y * z", 24.0, 1),
    ]
    assert [step.resumed for step in found] == [2, 1, 0]
    assert [step.adjoint for step in found.way_back] == [1.0, 4.0, 10.0]
    assert found.order == [("there", 0), ("there", 1), ("there", 2), ("back", 2), ("back", 1), ("back", 0)]
    assert found[0].operands == [2.0, 2.0]
    assert len(found) == 3


def test_numbers_of_operands_and_answers_say_what_is_used_where(found):
    x, y, z = found[0].uses[0], found[0].makes[0], found[1].makes[0]
    assert found[0].uses == [x, x]
    assert found[1].uses == [x, y]
    assert found[2].uses == [y, z]
    assert found[1].shares == [(x, None, 4.0), (y, 6.0, 10.0)]


def test_levels_and_ways_back_of_inner_derivatives():
    steps = trace(grad(nested), 3.0)
    assert steps.answer == 54.0
    assert [step.level for step in steps] == [1, 2, 1, 2, 1, 1, 1]
    assert [step.during for step in steps] == [None, None, None, None, 1, 1, None]
    assert sorted(step.resumed for step in steps) == list(range(7))
    assert [step.index for step in steps.way_back] == [3, 1, 6, 5, 4, 2, 0]


def test_values_are_kept_as_they_were():
    def written(x):
        y = x * 1.0
        y[0] = 0.0
        return np.sum(y * x)

    steps = trace(grad(written), np.array([1.0, 2.0]))
    np.testing.assert_array_equal(steps[0].value, [1.0, 2.0])
    np.testing.assert_array_equal(steps.answer, [0.0, 4.0])


def test_adjoints_are_kept_as_they_were():
    """The way back adds to the array of an adjoint in place."""
    steps = trace(grad(lambda x: (y := x * 1.0)[0] + y[1] + y[0] * y[1]), np.array([2.0, 3.0]))
    np.testing.assert_array_equal(steps.answer, [4.0, 3.0])
    of_y = [share for step in steps.way_back for share in step.shares if share[0] == steps[0].makes[0]]
    shown_in_order = [None if adjoint is None else adjoint.tolist() for share in of_y for adjoint in share[1:]]
    assert shown_in_order == [None, [0.0, 2.0], [0.0, 2.0], [3.0, 2.0], [3.0, 2.0], [3.0, 3.0], [3.0, 3.0], [4.0, 3.0]]


def test_forward_mode_has_no_way_back():
    steps = trace(jvp, f, (2.0,), (1.0,))
    assert steps.answer == (24.0, 44.0)
    assert [step.value for step in steps] == [4.0, 6.0, 24.0]
    assert steps.way_back == []
    assert {step.resumed for step in steps} == {None}


def test_an_error_is_raised_as_it_is():
    with pytest.raises(ZeroDivisionError):
        trace(grad(lambda x: x / 0), 1.0)
    assert trace(grad(lambda x: x), 1.0).steps == []


# Tables


def test_the_table_in_text(found):
    assert str(found).splitlines() == [
        "there  line          operation  level  value  back  adjoint  adds to its operands",
        "0      y = x * x     *          1      4      2     10       4 to 44",
        "1      z = x + y     +          1      6      1     4        0 to 4; 6 to 10",
        "2      return y * z  *          1      24     0     1        0 to 6; 0 to 4",
    ]
    assert repr(found) == "<a trace of 3 operations, of which 3 were resumed; print it>"
    steps = trace(grad(nested), 3.0)
    assert "*, on the way back of 1" in str(steps)
    assert "numpy.max, in numpy.ptp" in str(trace(grad(np.ptp), np.array([1.0, 2.0])))


def test_an_adjoint_of_zero_and_no_way_back_are_told_apart():
    steps = trace(grad(lambda x: (x * x, x * 3.0)[1]), 2.0)
    assert row(steps[0])[5:] == ["1", "0", "3 to 3"]
    assert row(trace(jvp, f, (2.0,), (1.0,))[0])[5:] == ["", "", ""]


@pytest.mark.skipif(find_spec("rich") is None, reason="the table is for rich")
def test_the_table_for_a_terminal(found):
    from rich.console import Console

    console = Console(file=io.StringIO(), width=120)
    console.print(found)
    assert "return y * z" in console.file.getvalue()
    console.print(trace(grad(lambda x: np.sum(x * x)), np.array([4.0, 5.0])))
    assert "[16., 25.]" in console.file.getvalue()  # and no style of rich


def test_the_table_in_html(found):
    text = found._repr_html_()
    assert ElementTree.fromstring(text).tag == "table"
    assert "<code>return y * z</code>" in text
    assert "&lt;" in html(trace(grad(lambda x: (lambda y: y * 2.0 if y < 3.0 else y)(x)), 1.0).steps)


def test_values_in_short():
    assert shown(1 / 3) == "0.333333"
    assert shown(np.float32(2.0)) == "2"
    assert shown(1 + 2j) == "1+2j"
    assert shown(np.array([1.0, 2.0])) == "[1., 2.]"
    assert shown(np.ones((3, 4))) == "array of shape (3, 4)"
    assert shown(np.ones((2, 2))) == "[[1., 1.], [1., 1.]]"
    assert shown([1.0, None, (2, True)]) == "[1, , [2, True]]"
    assert shown(None) == ""
    assert shown({"a": 1}) == "dict"


# Pictures


def texts(svg):
    return [element.text for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_the_picture_of_there_and_back_again(found):
    words = texts(found.there_and_back_again.svg())
    assert words[:2] == ["there", "and back again"]
    assert "0: y = x * x  =  4" in words
    assert "2: its adjoint is 10" in words
    assert found.there_and_back_again._repr_svg_() == found.there_and_back_again.svg()
    assert repr(found.there_and_back_again) == "<the picture of a trace: svg() draws it>"


def test_the_picture_of_nested_derivatives():
    steps = trace(grad(nested), 3.0)
    svg = steps.there_and_back_again.svg()
    assert "*, level 2" in texts(svg)
    assert "5: 18" in texts(svg)  # on a way back, without the line of the operation that is gone back through
    assert [step.resumed for step in steps] == [6, 1, 5, 0, 4, 3, 2]
    assert svg.count(f'stroke="{drawings.THERE}"') == 6
    assert svg.count(f'stroke="{drawings.BACK}"') == 2  # none where another derivative comes between


def test_pictures_of_no_operations():
    nothing = trace(grad(lambda x: x), 1.0)
    assert texts(nothing.there_and_back_again.svg()) == ["there", "and back again"]
    assert "->" not in nothing.graph.dot


def test_the_text_of_the_graph(found):
    dot = found.graph.dot
    assert "n0 -> n1" in dot
    assert "n0 -> n2" in dot
    assert "n1 -> n2" in dot
    assert dot.count("ellipse") == 1
    assert r'label="*\n4\nadjoint 10"' in dot


@needs_graphviz
def test_the_graph_is_drawn(found):
    assert "<svg" in found.graph.svg()
    assert "<svg" in found.graph._repr_svg_()
    assert "<svg" in trace(grad(lambda x: np.sum(x["a"] * 2.0)), {"a": np.ones(2)}).graph.svg()


def test_without_graphviz(found, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert found.graph._repr_svg_() is None
    with pytest.raises(RuntimeError, match="Install Graphviz, or use the text"):
        found.graph.svg()
    assert found.there_and_back_again._repr_svg_().startswith("<svg")


# The stepper


def test_the_pages_of_the_stepper(found):
    pages = [stepping.page(found.steps, found.order, moment) for moment in range(len(found.order))]
    assert "there 1 of 6</b>: * = 4" in pages[0]
    assert "back 6 of 6</b>: * its adjoint is 10" in pages[5]
    assert "return y * z" not in pages[1]
    assert "6 to 10" not in pages[3]
    assert "6 to 10" in pages[4]
    assert all(page.count("background") == 1 for page in pages)


@pytest.mark.skipif(find_spec("ipywidgets") is None, reason="the widget is by ipywidgets")
def test_the_stepper(found):
    play_and_slider, view = found.stepper().children
    slider = play_and_slider.children[1]
    slider.value = 5
    assert view.value == stepping.page(found.steps, found.order, 5)
    assert trace(grad(lambda x: x), 1.0).stepper().children[1].value == "nothing happened"


def test_without_ipywidgets(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ImportError, match="install it, or look at the table"):
        found.stepper()
