"""The rules of NumPy's functions: each module enters one family of functions in the tables."""

from shiftreset_ad.rules.numpy import (
    accumulations,
    calculus,
    calling,
    choosing,
    convolution,
    counting,
    einstein,
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
    *(accumulations, calculus, calling, choosing, convolution, counting, einstein, elementwise, fourier, grids),
    *(integrals, interpolation, missing, padding, polynomials, products, quantiles, reductions, selection, sets),
    *(shapes, sorting, statistics),
)
