"""The text of the steps names each value once and has the blocks of control; pictures have all its lines and uses."""

import re
import shutil
import stat
from xml.etree import ElementTree

import numpy as np
import pytest

from shiftreset_ad import fori_loop, grad, jvp, scan, staged
from shiftreset_ad.staging.ir import BACK
from shiftreset_ad.staging.pictures import Picture


def newton(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = (x + a / x) / 2
    return x if x > 1.0 else x * a


def product(left, right, x):
    def total(i, x):
        return x if i < 0 else total(left[i], x) * total(right[i], x) * 0.5

    return total(0, x)


def running(xs, s):
    last, ys = scan(lambda c, x: (c * x + 1.0, np.sin(c)), s, xs)
    return last + np.sum(ys)


def written(u):
    y = u * 1.0
    y[0] = u[-1] * 2.0
    return np.sum(y, axis=0) * u[0].__int__()


TREE = np.array([1, -1, -1]), np.array([2, -1, -1]), 2.0
PROGRAMS = {
    "a line": (lambda x: 2.0 * x + 1.0, (3.0,)),
    "a loop and a branch": (grad(newton), (2.0,)),
    "a second derivative of a loop": (grad(grad(newton)), (2.0,)),
    "forward mode": (lambda x: jvp(newton, (x,), (1.0,)), (2.0,)),
    "a function that calls itself": (grad(product, argnums=2), TREE),
    "a scan": (grad(running), (np.ones(4), 0.5)),
    "a loop of a fixed number of rounds": (grad(lambda x: fori_loop(0, 4, lambda i, y: y * x, 1.0)), (2.0,)),
    "questions and writes": (written, (np.array([1.0, 2.0]),)),
    "no arguments": (lambda: np.ones(3), ()),
}


def texts(name):
    f, args = PROGRAMS[name]
    g = staged(f)
    for _ in range(2):
        assert np.array_equal(g(*args), f(*args))
    assert g.ir
    return g.ir


def test_the_text_of_a_line():
    assert texts("a line") == [
        "inputs %0: float\n%1 = mul(2.0, %0): float\n%2 = add(%1, 1.0): float\nreturn %2",
    ]


def test_the_text_of_a_loop_and_its_way_back():
    (text,) = texts("a loop and a branch")
    forward, back = text.split(BACK)
    for line in (r"%\d+ = while \(%\d+ = %0\), rounds in (%\d+):", "  test:", r"    go on if %\d+", r"    next %\d+"):
        assert re.search(f"^{line}$", forward, re.MULTILINE), line
    rounds = re.search(r"rounds in (%\d+)", forward)[1]
    assert re.search(rf"visit {rounds} from the last one on", back)
    assert re.search(r"= if %\d+:\n  then:\n    give .*\n  else:\n    give ", back)


def test_the_text_of_a_function_that_calls_itself():
    (text,) = texts("a function that calls itself")
    assert text.count(" = f0(") == 3  # one call from outside, and two in the body
    assert text.count(" = f1(") == 3
    assert re.search(r"^  f0\(%\d+\):$", text, re.MULTILINE)  # without the tables that each call hands on


def test_the_text_of_questions_and_writes():
    (text,) = texts("questions and writes")
    assert re.search(r"^write setitem\(%\d+, 0, %\d+\)$", text, re.MULTILINE)
    assert re.search(r"^stop unless int\(%\d+\) is 1$", text, re.MULTILINE)
    assert "%0: float64[2]" in text


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_value_is_made_once_before_it_is_used(name):
    for text in texts(name):
        known = set()
        for line in text.splitlines():
            made, _, rest = line.strip().partition(" = ") if re.match(r"\s*%", line) else ("", "", line)
            own = re.findall(r"(%\d+) = |new frame (%\d+)|rounds in (%\d+)|^f\d+\((.*)\):$|^inputs (.*)", rest.strip())
            here = {value for found in own for value in re.findall(r"%\d+", " ".join(found))}
            of_line = set(re.findall(r"%\d+", made))
            assert not of_line & known, line
            known |= here
            assert set(re.findall(r"%\d+", rest)) <= known, line
            known |= of_line


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_picture_has_a_node_for_each_line_and_an_edge_for_each_use(name):
    for text in texts(name):
        dot = Picture(text).dot
        lines = [line.strip() for line in text.splitlines() if line not in (BACK, "onwards:")]
        blocks = [line for line in lines if re.fullmatch(r"(test|round|then|else|f\d+\(.*\)):", line)]
        assert dot.count(' [label="') == len(lines) - len(blocks)
        assert (
            dot.count("{")
            == dot.count("}")
            == 1 + len(blocks) + sum(line.endswith(":") for line in lines if line not in blocks)
        )
        edges = re.findall(r"(n\d+) -> (n\d+)", dot)
        nodes = set(re.findall(r"^(n\d+) \[", dot, re.MULTILINE))
        assert {node for edge in edges for node in edge} <= nodes
        assert all(int(one[1:]) < int(other[1:]) for one, other in edges)


def test_the_way_back_has_another_colour():
    (text,) = texts("a loop and a branch")
    dot = Picture(text).dot
    (visit,) = [line for line in dot.splitlines() if "visit" in line]
    (loop,) = [line for line in dot.splitlines() if "while" in line]
    assert visit.rpartition("fillcolor")[2] != loop.rpartition("fillcolor")[2]


def test_quotes_in_the_text_do_not_end_a_label():
    dot = Picture('inputs %0: float64[2]\n%1 = f(%0, "a\\b"): float64[2]\nreturn %1').dot
    assert r'"%1 = f(%0, \"a\\b\"): float64[2]"' in dot


@pytest.fixture
def drawing(tmp_path, monkeypatch):
    """A program in the place of Graphviz's, which answers with what it gets."""
    program = tmp_path / "dot"
    program.write_text('#!/bin/sh\necho "<svg>"; cat; echo "</svg>"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")


def test_a_notebook_shows_the_picture(drawing):
    f = staged(lambda x: x * x)
    f(2.0)
    (picture,) = f.pictures
    assert picture.svg() == picture._repr_svg_() == f"<svg>\n{picture.dot}</svg>\n"


def test_without_graphviz_there_is_the_text(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    picture = Picture("inputs %0: float\nreturn %0")
    assert picture._repr_svg_() is None
    assert "picture.dot" in repr(picture)
    said = (
        "Graphviz draws the picture, and its program `dot` is not there. Install Graphviz, or use the text, picture.dot"
    )
    with pytest.raises(RuntimeError, match=re.escape(said)):
        picture.svg()


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("name", PROGRAMS)
def test_graphviz_draws_it(name):
    for text in texts(name):
        assert ElementTree.fromstring(Picture(text).svg()).tag.endswith("svg")
