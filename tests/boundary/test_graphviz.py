"""A picture that Graphviz draws, and what is there without Graphviz."""

import shutil

import pytest

from shiftreset_ad.boundary.graphviz import Graph

GRAPH = Graph(["a -> b"])


def test_the_text_is_a_whole_graph():
    assert GRAPH.dot.startswith("digraph {\nnode [")
    assert GRAPH.dot.endswith("\na -> b\n}")


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz draws the graph")
def test_graphviz_draws_it():
    assert "<svg" in GRAPH.svg()
    assert GRAPH._repr_svg_() == GRAPH.svg()


def test_without_graphviz_there_is_the_text(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda program: None)
    assert GRAPH._repr_svg_() is None
    with pytest.raises(RuntimeError, match=r"Install Graphviz, or use the text, graph\.dot"):
        GRAPH.svg()
