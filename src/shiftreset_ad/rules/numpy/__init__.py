"""The rules of NumPy's functions: each module enters one family of them in the tables, a line a rule."""

from shiftreset_ad.rules.numpy import (
    accumulations,
    calculus,
    calling,
    choosing,
    convolution,
    counting,
    elementwise,
    fourier,
    grids,
    integrals,
    interpolation,
    missing,
    padding,
    polynomials,
    products,
    quantiles,
    reductions,
    selection,
    sets,
    shapes,
    sorting,
    statistics,
)

FAMILIES = (
    *(accumulations, calculus, calling, choosing, convolution, counting, elementwise, fourier, grids, integrals),
    *(interpolation, missing, padding, polynomials, products, quantiles, reductions, selection, sets, shapes),
    *(sorting, statistics),
)
