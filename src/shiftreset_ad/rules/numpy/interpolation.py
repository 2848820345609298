"""Linear interpolation between knots, with derivatives in all its arguments.

At a knot the slope jumps, and the derivative is the mean of the slopes on both sides, as for |x| at 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import is_complex, shape_of
from shiftreset_ad.rules.indexing import read
from shiftreset_ad.rules.numpy.shapes import astype
from shiftreset_ad.rules.plain import as_array, plain
from shiftreset_ad.rules.stand_ins import may_hold
from shiftreset_ad.rules.table import composite


@composite(np.interp)
def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    # NumPy raises the errors for wrong arguments.
    np.interp(plain(x), plain(xp), plain(fp), plain(left), plain(right), plain(period))
    x, xp, fp = astype(as_array(x), np.float64), astype(as_array(xp), np.float64), as_array(fp)
    fp = astype(fp, np.complex128 if is_complex(fp) else np.float64)
    if period is None:
        return interpolated(x, xp, fp, left, right)
    period = np.absolute(period)
    x, xp = np.remainder(x, period), np.remainder(xp, period)
    order = np.argsort(plain(xp))
    xp, fp = xp[order], fp[order]
    xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return interpolated(x, xp, np.concatenate([fp[-1:], fp, fp[:1]]), None, None)


def interpolated(x: Any, xp: Any, fp: Any, left: Any, right: Any) -> Any:
    """The value from the knot before x and the slope after it. Outside the knots the slope is 0, and `left` and `right`
    may give the value.
    """
    last = shape_of(xp)[0] - 1
    at, knots = plain(x), plain(xp)
    after = np.searchsorted(knots, at, side="right")  # how many knots are at x or before x
    knot = np.clip(after - 1, 0, last)
    widths = xp[1:] - xp[:-1]
    if may_hold(widths == 0):  # no x lies between double knots
        widths = np.where(widths == 0, 1.0, widths)
    slopes = np.concatenate([np.zeros(1), (fp[1:] - fp[:-1]) / widths, np.zeros(1)])
    slope = read(slopes, after)
    nearest = read(knots, knot)
    on_knot = nearest == at
    if may_hold(on_knot):
        before = np.searchsorted(knots, at, side="left")
        single = after - before == 1  # at a double knot, where the value jumps, NumPy takes the later knot
        share = np.where(single, 0.5, 0.0)
        share = np.where((knot == 0) & (left is not None), 0.0, share)
        share = np.where((knot == last) & (right is not None), 1.0, share)
        slope = np.where(on_knot, share * read(slopes, before) + (1.0 - share) * slope, slope)
    if may_hold(np.isinf(at)):  # the slope is 0 there, but 0 times infinity is NaN
        x = np.where(np.isinf(at), nearest, x)
    y = read(fp, knot) + slope * (x - read(xp, knot))
    if left is not None:
        y = np.where(at < knots[0], left, y)
    if right is not None:
        y = np.where(at > knots[last], right, y)
    return y
