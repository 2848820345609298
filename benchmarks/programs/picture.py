"""A picture of the times: for each program, a dot for each library, on the scale of one library's time."""

from __future__ import annotations

from math import nan
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.programs.measurement import Row

COLOURS = {"shiftreset_ad": "#d62728", "staged": "#ff9896", "PyTorch": "#7f7f7f", "JAX": "#9edae5"}
COLOURS |= {"autograd": "#000000", "JAX, compiled": "#17becf"}


def draw(rows: list[Row], libraries: list[str], file: Path) -> None:
    """Draw the times over those of autograd, or of the last library where autograd is not timed."""
    unit = "autograd" if "autograd" in libraries else libraries[-1]
    first = libraries[0]
    rows = [row for row in rows if {first, unit} <= row.seconds.keys()]
    rows.sort(key=lambda row: row.seconds[first] / row.seconds[unit], reverse=True)
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure = Figure(figsize=(9.0, 1.5 + 0.3 * len(rows)), layout="constrained")
        axes = figure.subplots()
        places = range(len(rows))
        axes.axvline(1.0, color=COLOURS[unit], linewidth=1.0)
        for i, library in enumerate(libraries):
            if library != unit:
                ratios = [row.seconds.get(library, nan) / row.seconds[unit] for row in rows]
                axes.plot(ratios, places, "o", color=COLOURS[library], label=library, zorder=len(libraries) + 2 - i)
        axes.set_yticks(places, [row.program.replace("_", " ") for row in rows])
        axes.set_xscale("log")
        axes.set_xlabel(f"time of a derivative, over that of {unit}; less is better")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")
        axes.grid(alpha=0.3)
        figure.legend(loc="outside upper center", ncols=len(libraries), frameon=False)
        figure.savefig(file, dpi=150)
