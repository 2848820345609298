"""A picture of a pattern: a square for each entry, in the colour of its column or row."""

from __future__ import annotations

from colorsys import hls_to_rgb
from typing import Any

import numpy as np

SIDE = 480.0  # of the longer side, in pixels
AT_MOST = 20_000  # entries that are drawn
GROUND, FRAME = "#fdfcf9", "#6b7078"


def drawn(pattern: Any, columns: Any, rows: Any, words: str) -> str:
    """The picture as SVG, with the colours of columns and rows, and words below. ValueError for too many entries."""
    if pattern.nnz > AT_MOST:
        raise ValueError(f"the picture of a pattern has at most {AT_MOST} entries, and this pattern {pattern.nnz}")
    m, n = pattern.shape
    size = SIDE / max(m, n, 1)
    of_columns = int(np.max(columns, initial=-1)) + 1
    number = of_columns + int(np.max(rows, initial=-1)) + 1
    of_rows = np.repeat(np.arange(m), np.diff(pattern.indptr))
    parts = []
    for i, j in zip(of_rows.tolist(), pattern.indices.tolist(), strict=True):
        colour = columns[j] if rows[i] < 0 else of_columns + rows[i]
        parts.append(
            f'<rect x="{j * size:.2f}" y="{i * size:.2f}" width="{size:.2f}" height="{size:.2f}" '
            f'fill="{_hue(int(colour), number)}"/>'
        )
    width, height = n * size, m * size
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-2 -2 {width + 4:.0f} {height + 26:.0f}" '
            f'width="{width + 4:.0f}" height="{height + 26:.0f}" font-family="Helvetica, Arial, sans-serif">',
            f'<rect width="{width:.2f}" height="{height:.2f}" fill="{GROUND}" stroke="{FRAME}"/>',
            *parts,
            f'<text x="0" y="{height + 18:.0f}" font-size="13" fill="{FRAME}">{words}</text>',
            "</svg>",
        ]
    )


def _hue(colour: int, number: int) -> str:
    """One of `number` colours, far apart."""
    red, green, blue = hls_to_rgb(colour / max(number, 1), 0.35 + 0.2 * (colour % 2), 0.55)
    return f"#{int(255 * red):02x}{int(255 * green):02x}{int(255 * blue):02x}"
