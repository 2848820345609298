"""Draw the pictures of the documents, from what the library is and does: `python docs/pictures.py`.

`there_and_back_again.svg` shows a run of `grad`: each operation as it is captured, and what it adds to the adjoints
when it is resumed. `layers.svg` shows the packages, with arrows to those that they import. Each file holds, as its
description, the text of what is drawn; by this text a test sees whether the file is up to date. With the name of a
folder, the script writes the pictures as PNG there, too.
"""

from __future__ import annotations

import ast
import linecache
import sys
import textwrap
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import shiftreset_ad

PACKAGE = Path(shiftreset_ad.__file__).parent
FOLDER = Path(__file__).parent / "pictures"

# Colours that can be told apart on white, and a ground of their own, as the reader's page may be dark.
GROUND, INK, PALE, LINE = "#fdfcf9", "#22252b", "#6b7078", "#d8d4ca"
THERE, BACK, WAITING = "#1f5fa8", "#b3372b", "#ece8de"


# There and back again


def program(x):
    y = x * x
    z = x + y
    w = y * z
    return w  # noqa: RET504 (its line is in the picture)


@dataclass
class Trip:
    """One operation: its line and its value on the way there; the adjoints that it adds to on the way back."""

    line: str
    value: float
    adjoint: float = 0.0
    shares: list[tuple[str, float, float]] = field(default_factory=list)  # of which number, before, and after

    @property
    def name(self) -> str:
        return self.line.partition(" = ")[0]


class Diary:
    """What happens to the operations of `program`, noted as it happens."""

    def __init__(self) -> None:
        self.trips: list[Trip] = []
        self.waiting: list[Trip] = []
        self.names: dict[int, str] = {}

    def observed(self, x: Any) -> Any:
        """Run `program` on the number `x`, whose tag captures as before, and each operation is noted first."""
        self.names[id(x)] = "x"
        capture = x.tag.capture

        def noting(source: Any, operation: Any) -> Any:
            frame = sys._getframe(1)
            while frame.f_code is not program.__code__:
                frame = frame.f_back
            self.there(linecache.getline(__file__, frame.f_lineno).strip(), operation)
            return capture(source, (self.back, operation))

        x.tag.capture = noting
        return program(x)

    def there(self, line: str, operation: Any) -> None:
        trip = Trip(line, float(operation[1].primal))
        self.names[id(operation[1])] = trip.name
        self.trips.append(trip)
        self.waiting.append(trip)

    def back(self, noted: Any) -> None:
        """Go back through an operation, and note what becomes of the adjoints of its operands."""
        operation = noted[1]
        _, y, *operands = operation
        trip = self.waiting.pop()
        assert trip.name == self.names[id(y)], "the operations are resumed last in, first out"
        trip.adjoint = float(y.adjoint)
        before = {id(x): float(x.adjoint) for x in operands}
        operation[0](operation)
        after = {id(x): (self.names[id(x)], before[id(x)], float(x.adjoint)) for x in operands}
        trip.shares = list(after.values())


@cache
def run() -> tuple[float, list[Trip], float]:
    """The argument, the operations of `program`, and the derivative."""
    x, diary = 2.0, Diary()
    derivative = shiftreset_ad.grad(diary.observed)(x)
    return x, diary.trips, derivative


def text_of_run() -> str:
    x, trips, derivative = run()
    there = [f"{trip.line} = {trip.value:g}" for trip in trips]
    back = [
        f"{trip.name}_bar = {trip.adjoint:g}: "
        + ", ".join(f"{name}_bar from {before:g} to {after:g}" for name, before, after in trip.shares)
        for trip in reversed(trips)
    ]
    return "\n".join([f"x = {x:g}", *there, *back, f"derivative = {derivative:g}"])


def draw_run(plt: Any) -> Any:
    """A valley: the program goes down on the left, the adjoints go up on the right. A bar is a handler that waits."""
    x, trips, derivative = run()
    rows = len(trips) + 2
    step, left, right = 7.4, 23, 67
    figure, axes = canvas(plt, 9.4, 0.74 * rows + 0.7)
    axes.set(xlim=(5, 99), ylim=(-step * (rows - 1) - 4.5, 10))

    def inset(row: int) -> float:
        return 3.2 * row

    def label(row: int, there: str, back: str) -> None:
        for text, place, align, colour in (
            (there, left + inset(row) - 1.6, "right", THERE),
            (back, right - inset(row) + 1.6, "left", BACK),
        ):
            axes.text(place, -step * row, text, ha=align, va="center", color=colour, fontsize=12.5)

    def bar(row: int, text: str, style: str) -> None:
        a, b = left + inset(row), right - inset(row)
        axes.add_patch(rounded(a, -step * row - 2.1, b - a, 4.2, facecolor=style, edgecolor=LINE))
        axes.text((a + b) / 2, -step * row, text, ha="center", va="center", color=PALE, fontsize=11)

    label(0, f"$x$ = {x:g}", rf"$\bar{{x}}$ = {derivative:g},  the derivative")
    bar(0, "grad", GROUND)
    for row, trip in enumerate(trips, start=1):
        shares = ",   ".join(share(*each) for each in trip.shares)
        label(
            row, f"{mathematics(trip.line)} = {trip.value:g}", rf"$\bar{{{trip.name}}}$ is {trip.adjoint:g}:   {shares}"
        )
        bar(row, f"the handler of ${trip.name}$ waits", WAITING)
    last = trips[-1]
    bottom = rows - 1
    axes.text(
        (left + right) / 2, -step * bottom - 0.4,
        rf"the program returns ${last.name}$,  so  $\bar{{{last.name}}}$ = {last.adjoint:g}",
        ha="center", va="center", color=INK, fontsize=12.5,
    )  # fmt: skip
    for row in range(bottom):
        upper, lower = -step * row - 2.3, -step * (row + 1) + 2.3
        a, b = left + inset(row) + 1.4, right - inset(row) - 1.4
        arrow(axes, (a, upper), (a + 3.2, lower), THERE, 1.7)
        arrow(axes, (b - 3.2, lower), (b, upper), BACK, 1.7)
    axes.text(left - 1.6, 6.2, "there", ha="right", color=THERE, fontsize=14, weight="bold")
    axes.text(right + 1.6, 6.2, "and back again", ha="left", color=BACK, fontsize=14, weight="bold")
    axes.text((left + right) / 2, 6.2, "the list of handlers", ha="center", color=PALE, fontsize=12)
    return figure


def share(name: str, before: float, after: float) -> str:
    """What an operation adds to the adjoint of an operand."""
    bar = rf"$\bar{{{name}}}$ = "
    return f"{bar}{before:g} + {after - before:g} = {after:g}" if before else f"{bar}{after:g}"


def mathematics(line: str) -> str:
    name, _, expression = line.replace(" * ", r" \cdot ").partition(" = ")
    return f"${name}$ = ${expression}$"


# The layers


def packages() -> list[str]:
    return sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def imports_of(package: str) -> set[str]:
    """The other packages that a package imports, anywhere in its code."""
    found = set()
    for path in (PACKAGE / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [f"{node.module}.{alias.name}".split(".") for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name.split(".") for alias in node.names]
            else:
                continue
            found |= {name[1] for name in names if name[0] == PACKAGE.name and len(name) > 1}
    return found & set(packages()) - {package}


@cache
def floors() -> tuple[dict[str, int], dict[str, set[str]]]:
    """The floor of each package, which is above those of all that it imports; and what it imports."""
    imported = {package: imports_of(package) for package in packages()}
    floor: dict[str, int] = {}
    upwards = list(TopologicalSorter(imported).static_order())  # CycleError for packages that import one another
    for package in upwards:
        floor[package] = 1 + max((floor[other] for other in imported[package]), default=-1)
    for package in reversed(upwards):  # as high as those that import it allow, so that arrows are short
        above = [floor[other] for other in imported if package in imported[other]]
        floor[package] = min(above) - 1 if above else floor[package]
    return floor, imported


def direct(imported: dict[str, set[str]]) -> dict[str, set[str]]:
    """The imports that no others stand for: of a package that imports B and C, where B imports C, that of B alone."""

    @cache
    def reach(package: str) -> frozenset[str]:
        return frozenset(imported[package].union(*(reach(other) for other in imported[package])))

    return {a: {b for b in imported[a] if not any(b in reach(c) for c in imported[a])} for a in imported}


def sentence(package: str) -> str:
    """What a package is, by the first sentence of its docstring."""
    docstring = ast.get_docstring(ast.parse((PACKAGE / package / "__init__.py").read_text())) or ""
    return " ".join(docstring.partition("\n\n")[0].split()).replace("`", "").rstrip(".:")


def parts(package: str) -> list[str]:
    """The packages inside of a package."""
    return sorted(path.parent.name for path in (PACKAGE / package).glob("*/__init__.py"))


def text_of_layers() -> str:
    floor, imported = floors()
    return "\n".join(
        f"{floor[package]} {package} ({', '.join(parts(package))}) -> {', '.join(sorted(imported[package]))}: "
        f"{sentence(package)}"
        for package in sorted(floor, key=lambda package: (floor[package], package))
    )


def draw_layers(plt: Any) -> Any:
    """The packages on their floors, from the bottom up."""
    floor, imported = floors()
    rows = [sorted(p for p in floor if floor[p] == row) for row in range(max(floor.values()) + 1)]
    width, height, gap, high = 46.0, 15.5, 5.0, 21.5
    most = max(map(len, rows))
    figure, axes = canvas(plt, 3.6 * most + 0.3, 1.51 * len(rows) + 0.1)
    axes.set(xlim=(-2, most * (width + gap) - gap + 2), ylim=(-2, high * (len(rows) - 1) + height + 2))
    place = {}
    for row, names in enumerate(rows):
        start = (most * (width + gap) - gap - len(names) * (width + gap) + gap) / 2
        for column, package in enumerate(names):
            place[package] = (start + column * (width + gap), row * high)
    for package, others in direct(imported).items():
        for other in sorted(others):
            between(axes, place[package], place[other], width, height)
    for package, (x, y) in place.items():
        axes.add_patch(rounded(x, y, width, height, facecolor="white", edgecolor=THERE, linewidth=1.2))
        axes.text(x + 2, y + height - 3.0, package, va="center", fontsize=13, weight="bold", color=INK)
        text = textwrap.fill(sentence(package), 48)
        axes.text(x + 2, y + height - 5.1, text, va="top", fontsize=8.6, color=PALE, linespacing=1.3)
        axes.text(x + 2, y + 1.9, "   ".join(parts(package)), va="center", fontsize=9, color=THERE)
    return figure


def between(axes: Any, upper: tuple[float, float], lower: tuple[float, float], width: float, height: float) -> None:
    """An arrow from the box of a package down to that of one that it imports."""
    (x, y), (a, b) = upper, lower
    start = x + width / 2 + (a - x) * 0.12
    end = a + width / 2 - (a - x) * 0.12
    arrow(axes, (start, y - 0.2), (end, b + height + 0.2), BACK, 1.3)


# What both are drawn with


def canvas(plt: Any, width: float, height: float) -> tuple[Any, Any]:
    """A figure without axes, on a ground of its own."""
    figure = plt.figure(figsize=(width, height), facecolor=GROUND)
    axes = figure.add_axes((0.01, 0.01, 0.98, 0.98))
    axes.set_axis_off()
    return figure, axes


def rounded(x: float, y: float, width: float, height: float, **style: Any) -> Any:
    from matplotlib.patches import FancyBboxPatch

    return FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0,rounding_size=1.2", mutation_aspect=1, **style)


def arrow(axes: Any, a: tuple[float, float], b: tuple[float, float], colour: str, linewidth: float) -> None:
    style = {"arrowstyle": "-|>", "color": colour, "linewidth": linewidth, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", b, a, arrowprops=style)


PICTURES: dict[str, tuple[Callable[[], str], Callable[[Any], Any]]] = {
    "there_and_back_again": (text_of_run, draw_run),
    "layers": (text_of_layers, draw_layers),
}


def text_in(path: Path) -> str:
    """The description that a picture holds."""
    (found,) = ElementTree.parse(path).iter("{http://purl.org/dc/elements/1.1/}description")
    return found.text or ""


def main() -> None:
    """Draw all pictures."""
    import matplotlib

    matplotlib.use("Agg")
    # The letters are drawn as outlines, and names of elements do not change, so that each run writes the same file.
    matplotlib.rcParams.update(
        {"svg.fonttype": "path", "svg.hashsalt": "shiftreset_ad", "mathtext.fontset": "dejavusans"}
    )
    import matplotlib.pyplot as plt

    FOLDER.mkdir(exist_ok=True)
    for name, (text, draw) in PICTURES.items():
        figure = draw(plt)
        metadata = {"Date": None, "Creator": "docs/pictures.py", "Title": name, "Description": text()}
        figure.savefig(FOLDER / f"{name}.svg", metadata=metadata)
        for folder in sys.argv[1:]:  # to look at
            figure.savefig(Path(folder) / f"{name}.png", dpi=110)
        plt.close(figure)


if __name__ == "__main__":
    main()
