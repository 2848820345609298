"""`scipy.spatial.distance`, with distances between the rows of arrays of numbers: `cdist` and `pdist`.

A metric is a formula in the two rows, and one that is a norm has the derivatives of the norm: zero where the rows are
equal. All other functions are SciPy's, and raise for numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.spatial.distance  # type: ignore[import-untyped]

from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.linalg.matrices import array_of
from shiftreset_ad.rules.stand_ins import carried_out
from shiftreset_ad.scipy.forwarding import forwarding, in_double, no_derivative, operand

__all__ = ["cdist", "pdist"]

__getattr__, __dir__ = forwarding(scipy.spatial.distance, globals())


def cdist(XA: Any, XB: Any, metric: Any = "euclidean", **options: Any) -> Any:  # noqa: N803 (SciPy's names)
    """The distances between the rows of `XA: (m, k)` and those of `XB: (n, k)`, of the shape (m, n), as SciPy's.

    The metrics "euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine", "correlation",
    "braycurtis", "canberra", "seuclidean" and "mahalanobis" have derivatives of any order in both arrays, and in the
    weights `w`, the variances `V` and the matrix `VI` where these are given. Errors are SciPy's; NotImplementedError
    for numbers with another metric, with a function, and with `out`.

    >>> from shiftreset_ad import grad
    >>> grad(lambda a: cdist(a, [[0.0, 0.0]])[0, 0])(np.array([[0.0, 2.0]])).tolist()
    [[0.0, 1.0]]
    """
    if not any(map(has_number, (XA, XB, *options.values()))):
        return carried_out(scipy.spatial.distance.cdist, XA, XB, metric, **options)
    a, b = (in_double(x, "scipy.spatial.distance.cdist") for x in (XA, XB))
    formula = _formula("cdist", metric, options)
    scipy.spatial.distance.cdist(*map(_like, (a, b)), metric, **_plain(options))  # for its errors
    options = _with_estimates(np.concatenate([a, b]), metric, options)
    return formula(a[:, None, :], b[None, :, :], **options)


def pdist(X: Any, metric: Any = "euclidean", **options: Any) -> Any:  # noqa: N803 (SciPy's names)
    """The distances between each two rows of `X: (m, k)`, of the shape (m (m - 1) / 2,), as SciPy's.

    Metrics, options and errors are those of `cdist`.

    >>> from shiftreset_ad import grad
    >>> grad(lambda x: pdist(x)[0])(np.array([[0.0, 2.0], [0.0, 0.0]])).tolist()
    [[0.0, 1.0], [0.0, -1.0]]
    """
    if not any(map(has_number, (X, *options.values()))):
        return carried_out(scipy.spatial.distance.pdist, X, metric, **options)
    x = in_double(X, "scipy.spatial.distance.pdist")
    formula = _formula("pdist", metric, options)
    scipy.spatial.distance.pdist(_like(x), metric, **_plain(options))  # for its errors
    first, second = np.triu_indices(shape_of(x)[0], 1)
    return formula(x[first], x[second], **_with_estimates(x, metric, options))


def _formula(name: str, metric: Any, options: dict[str, Any]) -> Callable[..., Any]:
    """The formula of a metric. NotImplementedError if there is none."""
    found = FORMULAS.get(SHORT.get(metric, metric)) if isinstance(metric, str) else None
    if found is None or options.get("out") is not None:
        what = "out" if found is not None else f"metric={metric!r}"
        raise no_derivative(f"scipy.spatial.distance.{name} with {what}", "the formula in NumPy's functions")
    return found


def _like(x: Any) -> Any:
    """A plain array of the same shape, whose rows differ: SciPy checks shapes, and estimates variances."""
    return np.cos(np.arange(float(np.prod(shape_of(x), dtype=int)))).reshape(shape_of(x))


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    """Plain options of the same shapes."""
    return {name: np.abs(_like(array_of(operand(x)))) + 0.1 if has_number(x) else x for name, x in options.items()}


def _with_estimates(rows: Any, metric: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options, with the variances or the inverse covariance of all rows where SciPy estimates them."""
    options = {name: array_of(operand(x)) for name, x in options.items() if x is not None}
    metric = SHORT.get(metric, metric)
    if metric == "seuclidean" and "V" not in options:
        options["V"] = np.var(rows, axis=0, ddof=1)
    if metric == "mahalanobis" and "VI" not in options:
        options["VI"] = np.linalg.inv(np.cov(rows.T)).T
    return options


def _weighted(x: Any, w: Any) -> Any:
    return x if w is None else w * x


def _euclidean(a: Any, b: Any, w: Any = None) -> Any:
    return np.linalg.norm(a - b if w is None else np.sqrt(w) * (a - b), axis=-1)


def _minkowski(a: Any, b: Any, p: Any = 2, w: Any = None) -> Any:
    order = float(p)
    if order == np.inf:  # a weight then only says whether a coordinate counts
        return _chebyshev(a, b, w)
    return np.linalg.norm(a - b if w is None else w ** (1.0 / order) * (a - b), order, axis=-1)


def _chebyshev(a: Any, b: Any, w: Any = None) -> Any:
    apart = np.abs(a - b)
    return np.max(apart if w is None else np.where(w > 0.0, apart, 0.0), axis=-1, initial=0.0)


def _cosine(a: Any, b: Any, w: Any = None) -> Any:
    products = [np.sum(_weighted(x * y, w), axis=-1) for x, y in ((a, b), (a, a), (b, b))]
    return 1.0 - products[0] / np.sqrt(products[1] * products[2])


def _correlation(a: Any, b: Any, w: Any = None) -> Any:
    total = shape_of(a)[-1] if w is None else np.sum(w)
    a, b = (x - np.sum(_weighted(x, w), axis=-1, keepdims=True) / total for x in (a, b))
    return _cosine(a, b, w)


def _canberra(a: Any, b: Any, w: Any = None) -> Any:
    size = np.abs(a) + np.abs(b)
    empty = size == 0.0
    return np.sum(_weighted(np.where(empty, 0.0, np.abs(a - b) / np.where(empty, 1.0, size)), w), axis=-1)


def _standardised(a: Any, b: Any, V: Any = None) -> Any:  # noqa: N803
    return np.linalg.norm((a - b) / np.sqrt(V), axis=-1)


def _mahalanobis(a: Any, b: Any, VI: Any = None) -> Any:  # noqa: N803 (SciPy's names)
    apart = a - b
    squares = np.sum((apart @ VI) * apart, axis=-1)
    equal = squares == 0.0  # where the derivative is zero, as that of a norm
    return np.where(equal, 0.0, np.sqrt(np.where(equal, 1.0, squares)))


FORMULAS: dict[str, Callable[..., Any]] = {
    "euclidean": _euclidean,
    "sqeuclidean": lambda a, b, w=None: np.sum(_weighted((a - b) ** 2, w), axis=-1),
    "cityblock": lambda a, b, w=None: np.sum(_weighted(np.abs(a - b), w), axis=-1),
    "chebyshev": _chebyshev,
    "minkowski": _minkowski,
    "cosine": _cosine,
    "correlation": _correlation,
    "braycurtis": lambda a, b, w=None: (
        np.sum(_weighted(np.abs(a - b), w), axis=-1) / np.sum(_weighted(np.abs(a + b), w), axis=-1)
    ),
    "canberra": _canberra,
    "seuclidean": _standardised,
    "mahalanobis": _mahalanobis,
}
# Other names that SciPy knows them by
SHORT = {
    **dict.fromkeys(("euclid", "eu", "e"), "euclidean"),
    **dict.fromkeys(("sqe", "sqeuclid"), "sqeuclidean"),
    **dict.fromkeys(("cb", "cblock", "c"), "cityblock"),
    **dict.fromkeys(("ch", "cheby", "cheb", "chebychev"), "chebyshev"),
    **dict.fromkeys(("mi", "m", "pnorm"), "minkowski"),
    **dict.fromkeys(("cos",), "cosine"),
    **dict.fromkeys(("co",), "correlation"),
    **dict.fromkeys(("se", "s"), "seuclidean"),
    **dict.fromkeys(("mahal", "mah"), "mahalanobis"),
}
