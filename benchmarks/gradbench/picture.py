"""The results as a picture: a row for each case, and a dot for each tool, at its time over that of the first tool."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from .results import Case, Result, ratio


def draw(results: dict[Case, dict[str, Result]], tools: list[str], path: Path) -> None:
    ours, *others = tools
    cases = [case for case in results if any(ratio(results[case], ours, other) for other in others)]
    figure, axes = plt.subplots(figsize=(9, 1.5 + 0.22 * len(cases)), layout="constrained")
    for other in others:
        ratios = [(ratio(results[case], ours, other), row) for row, case in enumerate(cases)]
        dots = [(1.0 / r, row) for r, row in ratios if r]
        axes.plot([x for x, _ in dots], [y for _, y in dots], "o", label=other)
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(cases)), [" ".join(case) for case in cases], fontsize=7)
    axes.set(xscale="log", xlabel=f"time over that of {ours}: right of the line, {ours} is faster")
    axes.invert_yaxis()
    axes.grid(axis="x", linewidth=0.3)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)
