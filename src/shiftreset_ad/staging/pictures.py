"""A picture of the steps of a way and of their way back: Graphviz draws it from the text of the steps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from shiftreset_ad.boundary.graphviz import Graph
from shiftreset_ad.staging.ir import BACK, INDENT, ONWARDS

VALUE = re.compile(r"%\d+")
MADE_BY_HEAD = re.compile(r"(%\d+) = |(?:rounds in|new frame) (%\d+)")
COLOURS = {ONWARDS: "#dbe9f6", BACK: "#fde0c5"}
STYLE = 'graph [style=rounded, color="#888888", fontname="Helvetica", fontsize=11]'


class Picture(Graph):
    """The steps of one way as a graph; those of the way back have another colour. A notebook shows the picture."""

    name = "picture"

    def __init__(self, text: str) -> None:
        """`text` has the steps, as `f.ir` has them."""
        super().__init__([STYLE, *_Graph().lines(text)])

    def __repr__(self) -> str:
        return "<the picture of a staged function: picture.svg() draws it, and picture.dot is its text for Graphviz>"


class _Graph:
    """A node for each line of the text, a cluster for each block, and an edge for each use of a value."""

    def __init__(self) -> None:
        self._numbers = count()
        self._makers: dict[str, list[str]] = {}  # the nodes that make each value
        self._colour = COLOURS[ONWARDS]
        self._last = ""  # the node of the last line
        self._edges: list[str] = []  # they stand outside of all clusters, as each would draw its nodes into its cluster

    def lines(self, text: str) -> Iterator[str]:
        """The lines of the graph, in Graphviz's language."""
        first, *rest = text.splitlines()
        yield self._node(first)
        self._makers.update({value: [self._last] for value in VALUE.findall(first)})
        yield from self._block(rest)
        yield from self._edges

    def _block(self, lines: list[str]) -> Iterator[str]:
        for line, inside in nested(lines):
            if line in COLOURS:
                self._colour = COLOURS[line]
            elif inside:
                yield from self._control(line, inside)
            else:
                made, rest = _divided(line)
                yield self._node(line)
                self._use(VALUE.findall(rest))
                self._makers.update({value: [self._last] for value in made})

    def _control(self, line: str, inside: list[str]) -> Iterator[str]:
        """A loop, a branch, a visit or a call: its head has what comes in, and the ends of its blocks what goes out."""
        answers, head = _divided(line)
        own = [value for pair in MADE_BY_HEAD.findall(head) for value in pair if value]
        yield f"subgraph cluster{next(self._numbers)} {{"
        yield self._node(line)
        node = self._last
        self._use([value for value in VALUE.findall(head) if value not in own])
        self._makers.update({value: [node] for value in own})
        ends = []
        for name, block in nested(inside):
            self._makers.update({value: [node] for value in VALUE.findall(name)})
            yield f'subgraph cluster{next(self._numbers)} {{ label="{name.removesuffix(":")}"'
            yield from self._block(block)
            yield "}"
            ends.append(self._last)
        yield "}"
        self._makers.update(dict.fromkeys(answers, ends))

    def _node(self, line: str) -> str:
        self._last = f"n{next(self._numbers)}"
        label = line.removesuffix(":").replace("\\", "\\\\").replace('"', '\\"')
        return f'{self._last} [label="{label}", fillcolor="{self._colour}"]'

    def _use(self, values: list[str]) -> None:
        """The last node uses these values."""
        makers = dict.fromkeys(maker for value in values for maker in self._makers.get(value, []))
        self._edges += [f"{maker} -> {self._last}" for maker in makers]


def nested(lines: list[str]) -> list[tuple[str, list[str]]]:
    """The lines, each with those that stand below it, further to the right."""
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith(INDENT):
            found[-1][1].append(line.removeprefix(INDENT))
        else:
            found.append((line, []))
    return found


def _divided(line: str) -> tuple[list[str], str]:
    """The values that a line makes, and the rest of it."""
    made, equals, rest = line.partition(" = ")
    return (VALUE.findall(made), rest) if equals and made.startswith(("%", "nothing")) else ([], line)
