"""Histograms: sums of weights, bin by bin. They are linear in the weights, and the bin of an element is constant.

If only the number of bins is given, the edges lie evenly between the least and the greatest element. So they are
numbers, too, and the heights of a density depend on them.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.building import OF_LISTS
from shiftreset_ad.rules.indexing import scatter
from shiftreset_ad.rules.numpy.shapes import astype
from shiftreset_ad.rules.plain import plain
from shiftreset_ad.rules.table import composite

OF_LISTS.add(np.histogramdd)  # of coordinates


@composite(np.bincount)
def _bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    counts = np.bincount(plain(x), None if weights is None else plain(weights), minlength)
    return (
        counts if weights is None else scatter([astype(weights, np.float64)], [np.copy(x)], counts.shape, counts.dtype)
    )


@composite(np.histogram_bin_edges)
def _histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:  # noqa: A002 (NumPy's)
    if np.ndim(plain(bins)) > 0:
        return bins
    return evenly(np.histogram_bin_edges(plain(a), plain(bins), plain(range), plain(weights)), np.ravel(a), range)


@composite(np.histogram)
def _histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:  # noqa: A002
    heights, plain_edges = np.histogram(plain(a), plain(bins), plain(range), None, plain(weights))
    edges = bins if np.ndim(plain(bins)) > 0 else evenly(plain_edges, np.ravel(a), range)
    if weights is not None:
        heights = weighed([np.ravel(plain(a))], [plain_edges], np.ravel(weights), heights.dtype)
    if density:
        heights = heights / np.diff(edges) / np.sum(heights)
    return heights, edges


@composite(np.histogram2d)
def _histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:  # noqa: A002
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    if hasattr(bins, "__len__") and len(bins) not in (1, 2):  # edges for both coordinates
        bins = [bins, bins]
    heights, edges = _histogramdd([x, y], bins, range, density, weights)
    return heights, edges[0], edges[1]


@composite(np.histogramdd)
def _histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,  # noqa: A002
    density: Any = None,
    weights: Any = None,
) -> Any:
    columns = columns_of(sample)
    heights, plain_edges = np.histogramdd([plain(x) for x in columns], plain(bins), plain(range), None, plain(weights))
    counts = bins if hasattr(bins, "__len__") else [bins] * len(columns)
    limits = [None] * len(columns) if range is None else range
    edges = [
        evenly(even, x, between) if np.ndim(plain(count)) == 0 else count
        for even, x, count, between in zip(plain_edges, columns, counts, limits, strict=True)
    ]
    if weights is not None:
        heights = weighed([plain(x) for x in columns], plain_edges, np.ravel(weights), heights.dtype)
    if density:
        total = np.sum(heights)
        for axis, edge in enumerate(edges):
            heights = heights / np.reshape(np.diff(edge), (-1,) + (1,) * (len(edges) - 1 - axis))
        heights = heights / total
    return heights, type(plain_edges)(edges)


def columns_of(sample: Any) -> list[Any]:
    """The coordinates of the points of a sample: the columns of a matrix, or one vector for each coordinate."""
    if hasattr(sample, "shape"):
        rows = np.transpose(sample) if len(sample.shape) == 2 else np.atleast_2d(sample)
        return [rows[i] for i in builtins.range(rows.shape[0])]
    return list(sample) if shape_of(sample[0]) else [np.stack(sample)]


def evenly(edges: Any, a: Any, limits: Any) -> Any:
    """The plain `edges` as numbers, evenly spaced between the limits, or without limits between the extremes of `a`."""
    if limits is None and 0 in shape_of(a):
        return edges
    lowest, highest = (np.min(a), np.max(a)) if limits is None else limits
    share = np.linspace(0.0, 1.0, len(edges))
    spaced = lowest * (1.0 - share) + highest * share
    return edges + astype(spaced - plain(spaced), edges.dtype)  # the value of `edges`, the derivative of `spaced`


def weighed(columns: Sequence[Any], edges: Sequence[Any], weights: Any, dtype: Any) -> Any:
    """The sum of the weights in each bin, for plain coordinates and edges."""
    inside: Any = True
    places = []
    for x, edge in zip(columns, edges, strict=True):
        place = np.searchsorted(edge, x, side="right") - 1
        place = np.where(x == edge[-1], len(edge) - 2, place)  # the last bin includes both its edges
        inside = inside & (place >= 0) & (place < len(edge) - 1)
        places.append(place)
    index = tuple(place[inside] for place in places)
    return scatter([astype(weights[inside], dtype)], [index], tuple(len(edge) - 1 for edge in edges), dtype)
