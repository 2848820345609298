"""The slopes of cubic polynomials at the points of data, `(n, ...)`, along the first axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.scipy.interpolate.piecewise import along
from shiftreset_ad.scipy.linalg import solve_banded


def continuous(x: Any, y: Any, ends: tuple[Any, Any]) -> Any:
    """The slopes with which the second derivative is continuous: three neighbours make one equation.

    `ends` says what holds at the first and the last point. de Boor 1978, chapter IV.
    """
    n = shape_of(x)[0]
    h = np.diff(x)
    secants = np.diff(y, axis=0) / along(h, y)
    if n == 2:
        ends = tuple((1, secants[0]) if end in ("not-a-knot", "periodic") else end for end in ends)  # type: ignore[assignment]
    if n == 3 and ends == ("not-a-knot", "not-a-knot"):
        return _of_a_parabola(h, secants)
    if ends[0] == "periodic":
        return _of_a_period(h, secants)
    widths = along(h, y)
    inner = 3.0 * (widths[1:] * secants[:-1] + widths[:-1] * secants[1:])
    (d0, u0, right0), (d1, u1, right1) = _first(ends[0], h, secants), _first(_mirrored(ends[1]), h[::-1], secants[::-1])
    diagonal = np.concatenate([np.stack([d0]), 2.0 * (h[:-1] + h[1:]), np.stack([d1])])
    above = np.concatenate([np.stack([0.0, u0]), h[:-1]])
    below = np.concatenate([h[1:], np.stack([u1, 0.0])])
    right = np.concatenate([np.stack([right0]), inner, np.stack([right1])])
    flat = np.reshape(right, (n, -1))
    return np.reshape(solve_banded((1, 1), np.stack([above, diagonal, below]), flat), shape_of(right))


def _first(end: Any, h: Any, secants: Any) -> tuple[Any, Any, Any]:
    """The equation of the first slope: the coefficients of the first two slopes, and the right-hand side."""
    if end == "not-a-knot":  # the first two polynomials are one
        both = h[0] + h[1]
        return h[1], both, ((h[0] + 2.0 * both) * h[1] * secants[0] + h[0] ** 2 * secants[1]) / both
    order, derivative = end
    if order == 1:
        return 1.0, 0.0, derivative + 0.0 * secants[0]
    return 2.0 * h[0], h[0], 3.0 * h[0] * secants[0] - 0.5 * derivative * h[0] ** 2


def _mirrored(end: Any) -> Any:
    """What holds at the first point if x and y change their signs: slopes stay, and second derivatives do not."""
    return (2, -1.0 * end[1]) if end[0] == 2 else end


def _of_a_parabola(h: Any, secants: Any) -> Any:
    """The slopes of the parabola through three points."""
    bend = (secants[1] - secants[0]) / (h[0] + h[1])
    first = secants[0] - bend * h[0]
    return np.stack([first, first + 2.0 * bend * h[0], first + 2.0 * bend * (h[0] + h[1])])


def _of_a_period(h: Any, secants: Any) -> Any:
    """The slopes of a periodic spline: the last point is the first one again."""
    pieces = shape_of(h)[0]
    before = np.roll(h, 1)
    one = np.eye(pieces)
    rows = 2.0 * (before + h)[:, None] * one + before[:, None] * np.roll(one, 1, axis=1)
    rows = rows + h[:, None] * np.roll(one, -1, axis=1)
    right = 3.0 * (along(h, secants) * np.roll(secants, 1, axis=0) + along(before, secants) * secants)
    slopes = np.reshape(np.linalg.solve(rows, np.reshape(right, (pieces, -1))), shape_of(right))
    return np.concatenate([slopes, slopes[:1]])


def monotone(x: Any, y: Any) -> Any:
    """Weighted harmonic means of the neighbouring secants, and zero where the data turn. Fritsch and Butland 1984."""
    h = along(np.diff(x), y)
    secants = np.diff(y, axis=0) / h
    if shape_of(x)[0] == 2:
        return np.concatenate([secants, secants])
    turns = np.sign(secants[1:]) * np.sign(secants[:-1]) <= 0.0
    left, right = (np.where(turns, 1.0, part) for part in (secants[:-1], secants[1:]))
    w_left, w_right = 2.0 * h[1:] + h[:-1], h[1:] + 2.0 * h[:-1]
    inner = np.where(turns, 0.0, (w_left + w_right) / (w_left / left + w_right / right))
    first = _at_an_end(h[0], h[1], secants[0], secants[1])
    last = _at_an_end(h[-1], h[-2], secants[-1], secants[-2])
    return np.concatenate([np.stack([first]), inner, np.stack([last])])


def _at_an_end(h0: Any, h1: Any, secant: Any, following: Any) -> Any:
    """The slope of the parabola through the last three points, if it rises and falls as the data."""
    slope = ((2.0 * h0 + h1) * secant - h0 * following) / (h0 + h1)
    steep = (np.sign(secant) != np.sign(following)) & (np.abs(slope) > 3.0 * np.abs(secant))
    return np.where(np.sign(slope) != np.sign(secant), 0.0, np.where(steep, 3.0 * secant, slope))


def akima(x: Any, y: Any, method: str) -> Any:
    """Means of the secants on both sides, weighted by how little they change farther on. Akima 1970."""
    secants = np.diff(y, axis=0) / along(np.diff(x), y)
    if shape_of(x)[0] == 2:
        return np.concatenate([secants, secants])
    begin, end = 2.0 * secants[0] - secants[1], 2.0 * secants[-1] - secants[-2]
    outer, beyond = np.stack([2.0 * begin - secants[0], begin]), np.stack([end, 2.0 * end - secants[-1]])
    m = np.concatenate([outer, secants, beyond])
    changes = np.abs(np.diff(m, axis=0))
    if method == "makima":
        changes = changes + 0.5 * np.abs(m[1:] + m[:-1])
    left, right = changes[2:], changes[:-2]
    both = left + right
    flat = both <= 1e-9 * np.max(both, initial=-np.inf)
    mean = (left * m[1:-2] + right * m[2:-1]) / np.where(flat, 1.0, both)
    return np.where(flat, 0.5 * (m[3:] + m[:-3]), mean)
