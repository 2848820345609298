"""The logarithm of a normal density in several variables, as one operation, which is quicker than its parts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftreset_ad.numbers.dispatch import call
from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.broadcasting import shape_of, total, unbroadcast
from shiftreset_ad.rules.linalg.matrices import as_hermitian, diagonal_of
from shiftreset_ad.rules.linalg.roots import inverse_root
from shiftreset_ad.rules.table import LinearMap, structured

LOG_2PI = math.log(2.0 * math.pi)


def log_density(x: Any, mean: Any, cov: Any, root: Any) -> Any:
    """The logarithm for vectors in the last axis of `x`; `root` is the inverse Cholesky factor of the plain `cov`."""
    return call(log_density, x, mean, cov, root)


log_density.__module__, log_density.__name__ = "scipy.stats", "multivariate_normal.logpdf"


@structured(log_density, "x", "mean", "cov", kept=("x", "mean", "cov"))
def _log_density(x: Any, mean: Any, cov: Any, root: Any) -> Any:
    if has_number(cov):  # `cov` has derivatives at the outer level
        root = inverse_root(as_hermitian(cov, "L"))
    dimension = shape_of(root)[0]
    rows = np.matmul(x - mean, root.T)
    is_one = len(shape_of(rows)) == 1
    squares = np.dot(rows, rows) if is_one else total(rows * rows, -1)
    y = -0.5 * (squares + (dimension * LOG_2PI - 2.0 * total(np.log(diagonal_of(root)), None)))

    def solved() -> Any:
        return np.matmul(rows, root)

    def slope(y_bar: Cotangent) -> Cotangent:
        return (y_bar if is_one else np.expand_dims(y_bar, -1)) * solved()

    def push_cov(cov_dot: Tangent) -> Tangent:
        solution = solved()
        bent = np.sum(np.matmul(solution, cov_dot) * solution, axis=-1)
        return 0.5 * (bent - np.sum(np.matmul(root.T, root) * cov_dot))

    def pull_cov(y_bar: Cotangent) -> Cotangent:
        solution, weighted = solved(), slope(y_bar)
        if is_one:
            outer = np.multiply.outer(weighted, solution)
        else:
            outer = np.matmul(np.reshape(weighted, (-1, dimension)).T, np.reshape(solution, (-1, dimension)))
        return 0.5 * (outer - np.sum(y_bar) * np.matmul(root.T, root))

    return y, (
        LinearMap(lambda x_dot: -np.sum(solved() * x_dot, axis=-1), lambda y_bar: -slope(y_bar)),
        LinearMap(
            lambda mean_dot: np.sum(solved() * mean_dot, axis=-1),
            lambda y_bar: unbroadcast(slope(y_bar), shape_of(mean)),
        ),
        LinearMap(push_cov, pull_cov),
    )
