"""Two pictures of a trace: there and back again, which needs nothing, and the graph, which Graphviz draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from shiftreset_ad.boundary.graphviz import Graph
from shiftreset_ad.debugging.tables import operation, shown
from shiftreset_ad.debugging.traced import Traced

GROUND, PALE, LINE = "#fdfcf9", "#6b7078", "#d8d4ca"
THERE, BACK, WAITING = "#1f5fa8", "#b3372b", "#ece8de"
DESCRIBED = "<the picture of a trace: svg() draws it>"
LEVELS = ("#dbe9f6", "#fde0c5", "#dcefdc", "#eadcf2")  # of nested derivatives, in turn


class Drawing:
    """A picture, which notebooks show. `svg()` is its text."""

    def __init__(self, draw: Callable[[], str]) -> None:
        self._draw = draw

    def __repr__(self) -> str:
        return DESCRIBED

    def svg(self) -> str:
        """The picture as SVG."""
        return self._draw()

    def _repr_svg_(self) -> str:
        return self.svg()


class TraceGraph(Graph):
    """The graph of a trace."""

    def __repr__(self) -> str:
        return DESCRIBED


# There and back again

ROW, TOP, FONT = 44, 50, 13


def valley(steps: Sequence[Traced]) -> Drawing:
    """The operations go down the left side, each a step further in, and the adjoints come up the right side."""
    return Drawing(lambda: _valley(steps))


def _valley(steps: Sequence[Traced]) -> str:
    inset = min(16.0, 160.0 / max(len(steps), 1))  # many operations share one valley
    lines = [_of_way_there(step) for step in steps]
    backs = [_of_way_back(step) for step in steps]
    left = 30 + 7.4 * max(map(len, lines), default=0)
    middle = 190 + 2 * inset * len(steps)
    right = left + middle
    width, height = right + 40 + 7.4 * max(map(len, backs), default=0), TOP + ROW * len(steps) + 10
    parts = [
        f'<rect width="{width:.0f}" height="{height}" fill="{GROUND}"/>',
        _text(left - 10, 26, "there", THERE, "end", "bold"),
        _text(right + 10, 26, "and back again", BACK, "start", "bold"),
    ]
    for i, (step, there, back) in enumerate(zip(steps, lines, backs, strict=True)):
        y, a, b = TOP + ROW * i, left + inset * i, right - inset * i
        name = operation(step) + (f", level {step.level}" if step.level > 1 else "")
        colour = WAITING if step.resumed is not None else GROUND
        parts += [
            f'<rect x="{a:.0f}" y="{y}" width="{b - a:.0f}" height="26" rx="6" fill="{colour}" stroke="{LINE}"/>',
            _text((a + b) / 2, y + 17, name, PALE, "middle"),
            _text(a - 10, y + 17, there, THERE, "end"),
            _text(b + 10, y + 17, back, BACK, "start"),
        ]
        if i + 1 < len(steps):
            parts.append(_arrow(a + 12, y + 27, a + 12 + inset, y + ROW - 2, THERE))
            if step.resumed is not None and step.resumed - 1 == steps[i + 1].resumed:
                parts.append(_arrow(b - 12 - inset, y + ROW - 2, b - 12, y + 28, BACK))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        f'height="{height}" font-family="Helvetica, Arial, sans-serif" font-size="{FONT}">'
    )
    return "\n".join([head, *parts, "</svg>"])


def _of_way_there(step: Traced) -> str:
    """The line and the value; of an operation on a way back, the line is that of another operation."""
    line = f"{step.line}  =  " if step.line and step.during is None else ""
    return f"{step.index}: {line}{shown(step.value)}"


def _of_way_back(step: Traced) -> str:
    if step.resumed is None:
        return ""
    return f"{step.resumed}: its adjoint is {shown(step.adjoint) or '0'}"


def _text(x: float, y: float, words: str, colour: str, anchor: str, weight: str = "normal") -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}" text-anchor="{anchor}" font-weight="{weight}">'
        f"{escape(words)}</text>"
    )


def _arrow(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    """A line with a small head, that points from the first place to the second."""
    tip = 5 if y2 > y1 else -5
    return (
        f'<path d="M {x1:.0f} {y1:.0f} L {x2:.0f} {y2:.0f} m -4 {-tip} l 4 {tip} l 4 {-tip}" '
        f'fill="none" stroke="{colour}" stroke-width="1.6"/>'
    )


# The graph


def graph(steps: Sequence[Traced]) -> TraceGraph:
    """A node for each operation, in the colour of its level, and an arrow for each use of an answer."""
    maker = {number: step.index for step in steps for number in step.makes}
    lines: list[str] = []
    inputs: dict[int, None] = {}
    edges: dict[str, None] = {}
    for step in steps:
        adjoint = "" if step.adjoint is None else f"\\nadjoint {_quoted(shown(step.adjoint))}"
        label = f"{_quoted(operation(step))}\\n{_quoted(shown(step.value))}{adjoint}"
        colour = LEVELS[(step.level - 1) % len(LEVELS)]
        lines.append(f'n{step.index} [label="{label}", tooltip="{_quoted(step.line)}", fillcolor="{colour}"]')
        for number in step.uses:
            made = maker.get(number)
            inputs |= {number: None} if made is None else {}
            edges[f"{f'x{number}' if made is None else f'n{made}'} -> n{step.index}"] = None
    lines += [f'x{number} [label="input", shape=ellipse, fillcolor="#ffffff"]' for number in inputs]
    return TraceGraph([*lines, *edges])


def _quoted(words: str) -> str:
    return words.replace("\\", "\\\\").replace('"', '\\"')
