"""Distributions of several variables, by functions that have rules. SciPy is asked first, for its errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.distributions.of_scipy import Distribution, operand, require_real, stats
from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.conversion import astype
from shiftreset_ad.rules.linalg.matrices import array_of, diagonal_of, with_diagonal
from shiftreset_ad.rules.plain import plain
from shiftreset_ad.rules.special.table import special
from shiftreset_ad.rules.stand_ins import carried_out
from shiftreset_ad.scipy.linalg import solve_triangular

LOG_2PI = math.log(2.0 * math.pi)
NEGLIGIBLE = 1e6 * np.finfo(float).eps  # SciPy's, of an eigenvalue relative to the largest


# Dirichlet


def dirichlet_logpdf(x: Any, alpha: Any) -> Any:
    x, alpha = operand(x), operand(alpha)
    known = carried_out(stats.dirichlet.logpdf, plain(x), plain(alpha))
    if not (has_number(x) or has_number(alpha)):
        return known
    x, powers, log_scale = on_simplex(x, alpha)
    return np.squeeze(log_scale + np.sum(special.xlogy(powers, x), axis=0))[()]


def dirichlet_pdf(x: Any, alpha: Any) -> Any:
    x, alpha = operand(x), operand(alpha)
    known = carried_out(stats.dirichlet.pdf, plain(x), plain(alpha))
    if not (has_number(x) or has_number(alpha)):
        return known
    x, powers, log_scale = on_simplex(x, alpha)
    zero = x == 0  # there a power has a derivative, and its logarithm has not
    y = np.exp(log_scale + np.sum(special.xlogy(powers, np.where(zero, 1.0, x)), axis=0))
    if np.any(zero):
        y = y * np.prod(np.power(np.where(zero, x, 1.0), powers), axis=0)
    return np.squeeze(y)[()]


def on_simplex(x: Any, alpha: Any) -> tuple[Any, Any, Any]:
    """x with its last component, the powers of its components, and the logarithm of the factor before them."""
    x, alpha = as_doubles("dirichlet", x, alpha)
    if shape_of(x)[0] < shape_of(alpha)[0]:
        x = np.concatenate([x, 1.0 - np.sum(x, axis=0, keepdims=True)])
    powers = np.reshape(alpha - 1.0, shape_of(alpha) + (1,) * (len(shape_of(x)) - 1))
    return x, powers, special.gammaln(np.sum(alpha)) - np.sum(special.gammaln(alpha))


DIRICHLET: dict[str, Callable[..., Any]] = {"logpdf": dirichlet_logpdf, "pdf": dirichlet_pdf}


# Normal


def normal_logpdf(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    x, mean, cov = operand(x), operand(mean), operand(cov)
    known = carried_out(stats.multivariate_normal.logpdf, plain(x), plain(mean), plain(cov), allow_singular)
    if not any(map(has_number, (x, mean, cov))):
        return known
    mean, cov = parameters(mean, cov)
    dimension = shape_of(mean)[0]
    (x,) = as_doubles("multivariate_normal", x)
    if len(shape_of(x)) < 2:
        x = np.reshape(x, (-1, 1) if dimension == 1 else (1, -1))
    squares, log_determinant, rank = whitened(x - mean, cov)
    y = np.squeeze(-0.5 * (rank * LOG_2PI + log_determinant + squares))[()]
    outside = known == -np.inf  # of the support of a singular one
    return np.where(outside, -np.inf, y)[()] if np.any(outside) else y


def normal_pdf(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    if not any(has_number(operand(argument)) for argument in (x, mean, cov)):
        return carried_out(stats.multivariate_normal.pdf, x, mean, cov, allow_singular)
    return np.exp(normal_logpdf(x, mean, cov, allow_singular))


def normal_entropy(mean: Any = None, cov: Any = 1) -> Any:
    mean, cov = operand(mean), operand(cov)
    known = carried_out(stats.multivariate_normal.entropy, plain(mean), plain(cov))
    if not has_number(cov):
        return known
    mean, cov = parameters(mean, cov)
    return 0.5 * shape_of(mean)[0] * (LOG_2PI + 1.0) + np.sum(np.log(diagonal_of(factor(cov))))


def parameters(mean: Any, cov: Any) -> tuple[Any, Any]:
    """The mean as a vector, and the covariance as a matrix, or as the object of SciPy's that it is."""
    if not hasattr(cov, "whiten"):
        (cov,) = as_doubles("multivariate_normal", 1.0 if cov is None else cov)
    if mean is None:
        mean = np.zeros(cov.shape[-1] if len(cov.shape) > 1 else 1)
    (mean,) = as_doubles("multivariate_normal", mean)
    mean = np.reshape(mean, (-1,))
    dimension = shape_of(mean)[0]
    if hasattr(cov, "whiten"):
        return mean, cov
    if dimension == 1:
        return mean, np.reshape(cov, (1, 1))
    if len(shape_of(cov)) < 2:
        cov = with_diagonal(np.broadcast_to(cov, (dimension,)))
    return mean, cov


def whitened(x: Any, cov: Any) -> tuple[Any, Any, Any]:
    """For vectors in the last axis of x, their squared lengths after whitening; the logarithm of the determinant of the
    covariance, and its rank.
    """
    if has_number(cov):
        dimension = shape_of(cov)[0]
        root = factor(cov)
        rows = solve_triangular(root, np.transpose(np.reshape(x, (-1, dimension))), lower=True)
        squares = np.reshape(np.sum(rows * rows, axis=0), shape_of(x)[:-1])
        return squares, 2.0 * np.sum(np.log(diagonal_of(root))), dimension
    if hasattr(cov, "whiten"):
        if len(cov.shape) > 2:
            raise NotImplementedError(
                "scipy.stats.multivariate_normal: several covariances at once have no derivative rule here. "
                "Call it for one after the other"
            )
        weights, log_determinant, rank = cov.whiten(np.eye(cov.shape[-1])), cov.log_pdet, cov.rank
    else:
        lengths, axes = np.linalg.eigh(cov)
        kept = lengths > NEGLIGIBLE * np.max(np.abs(lengths))
        weights, log_determinant = axes[:, kept] / np.sqrt(lengths[kept]), np.sum(np.log(lengths[kept]))
        rank = np.count_nonzero(kept)
    rows = np.matmul(x, weights)
    return np.sum(rows * rows, axis=-1), log_determinant, rank


def factor(cov: Any) -> Any:
    """The lower triangular factor of a covariance that is being differentiated."""
    lengths = np.linalg.eigvalsh(plain(cov))
    if np.any(lengths <= NEGLIGIBLE * np.max(np.abs(lengths))):
        raise NotImplementedError(
            "scipy.stats.multivariate_normal has no derivative in a covariance that is singular: its rank would change "
            "beside it. Give it shiftreset_ad.value(cov) where a constant is meant"
        )
    return np.linalg.cholesky(cov)


NORMAL: dict[str, Callable[..., Any]] = {"logpdf": normal_logpdf, "pdf": normal_pdf, "entropy": normal_entropy}


def as_doubles(name: str, *operands: Any) -> list[Any]:
    """The operands as arrays in double precision, in which SciPy computes here."""
    arrays = list(map(array_of, operands))
    require_real(name, *arrays)
    return [x if dtype_of(x) == np.float64 else astype(x, float) for x in arrays]


dirichlet = Distribution("dirichlet", DIRICHLET)
multivariate_normal = Distribution("multivariate_normal", NORMAL)
