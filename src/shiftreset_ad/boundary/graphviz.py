"""Graphs that Graphviz draws. Its program is not a part of the library, and the text of a graph is there without it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable

NODES = 'node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11]'


class Graph:
    """A picture, which a notebook shows. `svg()` draws it, and `dot` is its text for Graphviz."""

    name = "graph"  # what the picture is called

    def __init__(self, lines: Iterable[str]) -> None:
        """`lines` are in Graphviz's language."""
        self.dot = "\n".join(["digraph {", NODES, *lines, "}"])

    def svg(self) -> str:
        """The picture as SVG. Raises RuntimeError if Graphviz is not installed."""
        if (program := shutil.which("dot")) is None:
            raise RuntimeError(
                f"Graphviz draws the {self.name}, and its program `dot` is not there. Install Graphviz, or use the "
                f"text, {self.name}.dot"
            )
        return subprocess.run([program, "-Tsvg"], input=self.dot, capture_output=True, text=True, check=True).stdout

    def _repr_svg_(self) -> str | None:
        return None if shutil.which("dot") is None else self.svg()
