"""The multivariate normal and Student's distributions, by squared distances and the determinant of the spread.

SciPy is called first, for its errors, unless the spread is a well conditioned matrix: then SciPy has no errors.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.rules.broadcasting import shape_of, total
from shiftreset_ad.rules.linalg.matrices import as_hermitian, diagonal_of, is_hermitian, with_diagonal
from shiftreset_ad.rules.linalg.roots import inverse_root
from shiftreset_ad.rules.numpy.shapes import constant_of
from shiftreset_ad.rules.plain import plain
from shiftreset_ad.rules.special.table import special
from shiftreset_ad.rules.stand_ins import carried_out
from shiftreset_ad.scipy.forwarding import operand
from shiftreset_ad.scipy.stats.distribution import Distribution, as_doubles, stats
from shiftreset_ad.scipy.stats.normal_density import LOG_2PI, log_density

NEGLIGIBLE = 1e6 * np.finfo(float).eps  # SciPy's limit for an eigenvalue, relative to the largest


class Whitening(NamedTuple):
    """How to whiten a spread: rows times `weights` have independent components. Also its rank and log-determinant."""

    weights: Any
    log_determinant: Any
    rank: Any


# Normal


def normal_logpdf(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    x, mean, cov = operand(x), operand(mean), operand(cov)
    if not any(map(has_number, (x, mean, cov))):
        return carried_out(stats.multivariate_normal.logpdf, x, mean, cov, allow_singular)
    root = regular_root(x, mean, cov)
    if root is not None:
        x, mean, cov = as_doubles("multivariate_normal", x, 0.0 if mean is None else mean, cov)
        return without_ones(log_density(x, mean, with_symmetric_slope(cov), root))
    known = carried_out(stats.multivariate_normal.logpdf, plain(x), plain(mean), plain(cov), allow_singular)
    squares, whitening = distances("multivariate_normal", x, mean, cov)
    y = -0.5 * (whitening.rank * LOG_2PI + whitening.log_determinant + squares)
    outside = known == -np.inf  # outside of the support of a singular distribution
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
    mean, cov = parameters("multivariate_normal", mean, cov)
    return 0.5 * (shape_of(mean)[0] * (LOG_2PI + 1.0) + whitening_of("multivariate_normal", cov).log_determinant)


# Student's


def student_logpdf(x: Any, loc: Any = None, shape: Any = 1, df: Any = 1) -> Any:
    given = list(map(operand, (x, loc, shape, df)))
    if not any(map(has_number, given)):
        return carried_out(stats.multivariate_t.logpdf, x, loc, shape, df)
    if not is_regular(*given):
        carried_out(stats.multivariate_t.logpdf, *map(plain, given))
    return student(*given)


def student_pdf(x: Any, loc: Any = None, shape: Any = 1, df: Any = 1, allow_singular: bool = False) -> Any:
    given = list(map(operand, (x, loc, shape, df)))
    if not any(map(has_number, given)):
        return carried_out(stats.multivariate_t.pdf, x, loc, shape, df, allow_singular)
    if not is_regular(*given):
        carried_out(stats.multivariate_t.pdf, *map(plain, given), allow_singular)
    return np.exp(student(*given))


def is_regular(x: Any, loc: Any, shape: Any, df: Any) -> bool:
    """Whether SciPy would raise no errors for these arguments."""
    return regular_root(x, loc, shape) is not None and df is not None and bool(np.all(df > 0))


def student(x: Any, loc: Any, shape: Any, df: Any) -> Any:
    """The logarithm of the density; for infinitely many degrees of freedom, of the normal density."""
    squares, whitening = distances("multivariate_t", x, loc, shape)
    df = 1.0 if df is None else df
    if np.isinf(df):
        return -0.5 * (whitening.rank * LOG_2PI + whitening.log_determinant + squares) + 0.0 / df
    half, rest = 0.5 * df, 0.5 * shape_of(whitening.weights)[0]
    scale = special.gammaln(rest) - special.betaln(half, rest) - rest * np.log(math.pi * df)
    return scale - 0.5 * whitening.log_determinant - (half + rest) * np.log1p(squares / df)


# Both distributions


def regular_root(x: Any, mean: Any, cov: Any) -> Any:
    """The plain inverse of the Cholesky factor of a covariance, if SciPy would raise no errors; otherwise None.

    SciPy raises none if the matrix is far from singular and the vectors fit. The least eigenvalue is larger than one
    over the sum of squares of the inverse, and the largest eigenvalue is smaller than the trace.
    """
    shape: Any = getattr(cov, "shape", ())
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] < 2 or hasattr(cov, "whiten"):
        return None
    fits = shape_of(x)[-1:] == shape[:1] and (mean is None or shape_of(mean) == shape[:1])
    if not fits:
        return None
    cov = plain(as_doubles("multivariate_normal", cov)[0])
    try:
        root = inverse_root(cov)
    except np.linalg.LinAlgError:
        return None
    elements = np.ravel(root)
    return root if np.dot(elements, elements) * np.trace(cov) < 1.0 / NEGLIGIBLE else None


def with_symmetric_slope(cov: Any) -> Any:
    """A covariance as it is; if it is not symmetric, the matrix of its lower triangle, as SciPy reads it."""
    return as_hermitian(cov, "L") if has_number(cov) and not constant_of(cov, is_hermitian) else cov


def root_of(cov: Any) -> Any:
    """The inverse of the Cholesky factor; for a constant covariance, only one triangle is read in any case."""
    return inverse_root(as_hermitian(cov, "L") if has_number(cov) else cov)


def by_root(root: Any) -> Whitening:
    return Whitening(root.T, -2.0 * total(np.log(diagonal_of(root)), None), shape_of(root)[0])


def distances(name: str, x: Any, mean: Any, cov: Any) -> tuple[Any, Whitening]:
    """The squared distances of vectors, with axes of length 1 removed, and the whitening of the spread."""
    mean, cov = parameters(name, mean, cov)
    whitening = whitening_of(name, cov)
    (x,) = as_doubles(name, x)
    if len(shape_of(x)) < 2:
        x = np.reshape(x, (-1, 1) if shape_of(mean)[0] == 1 else (1, -1))
    rows = np.matmul(x - mean, whitening.weights)
    return without_ones(np.sum(rows * rows, axis=-1)), whitening


def without_ones(y: Any) -> Any:
    return np.squeeze(y)[()] if 1 in shape_of(y) else y


def parameters(name: str, mean: Any, cov: Any) -> tuple[Any, Any]:
    """The mean as a vector, and the covariance as a matrix; an object of SciPy's stays as it is."""
    if not hasattr(cov, "whiten"):
        (cov,) = as_doubles(name, 1.0 if cov is None else cov)
    if mean is None:
        mean = np.zeros(cov.shape[-1] if len(cov.shape) > 1 else 1)
    (mean,) = as_doubles(name, mean)
    mean = np.reshape(mean, (-1,))
    dimension = shape_of(mean)[0]
    if hasattr(cov, "whiten"):
        return mean, cov
    if dimension == 1:
        return mean, np.reshape(cov, (1, 1))
    if len(shape_of(cov)) < 2:
        cov = with_diagonal(np.broadcast_to(cov, (dimension,)))
    return mean, cov


def whitening_of(name: str, cov: Any) -> Whitening:
    """The whitening of any covariance; NotImplementedError for a singular one that is being differentiated."""
    if has_number(cov):
        lengths = np.linalg.eigvalsh(plain(cov))
        if np.any(lengths <= NEGLIGIBLE * np.max(np.abs(lengths))):
            raise NotImplementedError(
                f"scipy.stats.{name} has no derivative in a singular covariance, whose rank changes with its elements. "
                "Give it shiftreset_ad.value(cov) where a constant is meant"
            )
        return by_root(root_of(cov))
    if hasattr(cov, "whiten"):
        if len(cov.shape) > 2:
            raise NotImplementedError(
                f"scipy.stats.{name}: several covariances at once have no derivative rule here. "
                "Call it once for each covariance"
            )
        return Whitening(cov.whiten(np.eye(cov.shape[-1])), cov.log_pdet, cov.rank)
    lengths, axes = np.linalg.eigh(cov)
    kept = lengths > NEGLIGIBLE * np.max(np.abs(lengths))
    weights = axes[:, kept] / np.sqrt(lengths[kept])
    return Whitening(weights, np.sum(np.log(lengths[kept])), np.count_nonzero(kept))


multivariate_normal = Distribution(
    "multivariate_normal", {"logpdf": normal_logpdf, "pdf": normal_pdf, "entropy": normal_entropy}
)
multivariate_t = Distribution("multivariate_t", {"logpdf": student_logpdf, "pdf": student_pdf})
