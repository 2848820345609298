"""`scipy.special`, with our own functions in place of functions that make arrays of their arguments.

They have the same signatures and the same values, as they call SciPy's functions. For numbers that are being
differentiated, they use the rules here. Everything else is SciPy's own.

>>> import numpy as np
>>> from shiftreset_ad import grad
>>> grad(lambda x: softmax(x)[0])(np.zeros(2))
array([ 0.25, -0.25])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.rules.annotations import Tangent
from shiftreset_ad.rules.broadcasting import is_complex, shape_of, unbroadcast
from shiftreset_ad.rules.building import SEQUENCES
from shiftreset_ad.rules.conversion import constant_of, real_part_of
from shiftreset_ad.rules.numpy.reductions import reduced_axes
from shiftreset_ad.rules.same import SAME_FOR_ARRAYS
from shiftreset_ad.rules.special import legendre as _rows
from shiftreset_ad.rules.special.definitions import elementwise, taking_numbers
from shiftreset_ad.rules.special.dirichlet import slope_of_diric
from shiftreset_ad.rules.special.spherical import SPHERICAL
from shiftreset_ad.rules.special.table import special as _scipy
from shiftreset_ad.rules.stand_ins import carried_out
from shiftreset_ad.rules.sums_of_exponentials import largest, logsumexp_of
from shiftreset_ad.rules.table import LinearMap, structured


def __getattr__(name: str) -> Any:
    return getattr(_scipy, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_scipy)})


# Sums of exponentials


@taking_numbers
def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """log(sum(b exp(a))) along `axis`, as `scipy.special.logsumexp`; derivatives in `a` and in `b`.

    If the sum is infinite, its infinite elements share the derivative equally, as for `numpy.logaddexp`. Raises
    NotImplementedError for complex numbers with `return_sign`, because then it is the logarithm of an absolute value.

    >>> from shiftreset_ad import grad
    >>> grad(logsumexp)(np.array([-np.inf, -np.inf]))
    array([0.5, 0.5])
    """
    return _scipy.logsumexp(a, axis=axis, b=b, keepdims=keepdims, return_sign=return_sign)


SAME_FOR_ARRAYS[logsumexp] = lambda: logsumexp_of


@structured(logsumexp, "a", "b", kept=("a", "b"))
def _logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    a, factor = (np.asarray(x) if isinstance(x, SEQUENCES) else x for x in (a, 1.0 if b is None else b))
    if return_sign and (is_complex(a) or is_complex(factor)):
        raise NotImplementedError(
            "scipy.special.logsumexp: with return_sign=True, it has no derivative here for complex numbers. Take the "
            "real part of logsumexp without return_sign"
        )
    answer = logsumexp(a, axis, b, keepdims, return_sign)
    shape = np.broadcast_shapes(shape_of(a), shape_of(factor)) or (1,)
    axes = reduced_axes(axis, shape)
    kept = tuple(1 if i in axes else size for i, size in enumerate(shape))
    shape_of_y = shape_of(answer[0] if return_sign else answer)

    def shares() -> Any:
        """exp(a) / sum(b exp(a)); if the sum is infinite, its infinite terms have equal shares."""
        top = constant_of(np.where(factor == 0, -np.inf, a), largest, shape, axes)
        infinite = np.isinf(top)
        finite = np.exp(np.where(infinite, 0.0, a) - np.where(infinite, 0.0, top))
        powers = np.where(infinite, np.equal(real_part_of(a), top), finite)
        return powers / np.sum(np.broadcast_to(counted(powers), shape), axis=axes, keepdims=True)

    def counted(powers: Any) -> Any:
        """b times `powers`; a zero in b gives zero, also if the power is infinite."""
        void = (factor == 0) & np.isinf(powers)
        return factor * np.where(void, 0.0, powers)

    def map_of(weights: Callable[[], Any], x: Any) -> LinearMap:
        def pushforward(x_dot: Tangent) -> Tangent:
            y_dot = np.reshape(np.sum(np.broadcast_to(weights() * x_dot, shape), axis=axes), shape_of_y)
            return (y_dot, np.zeros(shape_of_y)) if return_sign else y_dot

        def pullback(y_bars: Any) -> Any:
            y_bar = y_bars[0] if return_sign else y_bars
            if y_bar is None:
                return None
            return unbroadcast(weights() * np.reshape(y_bar, kept), shape_of(x))

        return LinearMap(pushforward, pullback)

    return answer, (map_of(lambda: counted(shares()), a), None if b is None else map_of(shares, b))


@taking_numbers
def softmax(x: Any, axis: Any = None) -> Any:
    """exp(x) / sum(exp(x)) along `axis`, as `scipy.special.softmax`."""
    return _scipy.softmax(x, axis)


@structured(softmax)
def _softmax(x: Any, axis: Any = None) -> Any:
    y = softmax(x, axis)
    axes = reduced_axes(axis, shape_of(x))

    def both_ways(u: Any) -> Any:
        return y * (u - np.sum(y * u, axis=axes, keepdims=True))

    return y, (LinearMap(both_ways, both_ways),)


@taking_numbers
def log_softmax(x: Any, axis: Any = None) -> Any:
    """log(softmax(x)) along `axis`, as `scipy.special.log_softmax`."""
    return _scipy.log_softmax(x, axis)


@structured(log_softmax)
def _log_softmax(x: Any, axis: Any = None) -> Any:
    y = log_softmax(x, axis)
    axes, shares = reduced_axes(axis, shape_of(x)), np.exp(y)
    return y, (
        LinearMap(
            lambda x_dot: x_dot - np.sum(shares * x_dot, axis=axes, keepdims=True),
            lambda y_bar: y_bar - shares * np.sum(y_bar, axis=axes, keepdims=True),
        ),
    )


# Functions of the gamma family


@elementwise(x=lambda y, n, x: polygamma(np.add(n, 1), x))
def polygamma(n: Any, x: Any) -> Any:
    """The derivative of order `n` of psi, as `scipy.special.polygamma`; derivative in `x`."""
    return _scipy.polygamma(n, x)


@elementwise(a=lambda y, a, d: sum(_scipy.psi(a - 0.5 * i) for i in range(int(d))))
def multigammaln(a: Any, d: Any) -> Any:
    """The logarithm of the multivariate gamma function, as `scipy.special.multigammaln`; derivative in `a`."""
    return _scipy.multigammaln(a, d)


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:  # noqa: N803 (SciPy's name)
    """The number of combinations, as `scipy.special.comb`; derivatives in `N` and `k`, unless `exact` is true."""
    if not (has_number(N) or has_number(k)):
        return carried_out(_scipy.comb, N, k, exact=exact, repetition=repetition)
    _require_inexact("comb", exact)
    if repetition:
        return np.where((k == 0) & (N >= 0), 1.0, comb(N + k - 1.0, k))[()]
    valid = _is_countable(N, k)
    return np.where(valid, _scipy.binom(np.where(valid, N, 1.0), np.where(valid, k, 0.0)), 0.0)[()]


def perm(N: Any, k: Any, exact: bool = False) -> Any:  # noqa: N803 (SciPy's name)
    """The number of permutations, as `scipy.special.perm`; derivatives in `N` and `k`, unless `exact` is true."""
    if not (has_number(N) or has_number(k)):
        return carried_out(_scipy.perm, N, k, exact=exact)
    _require_inexact("perm", exact)
    valid = _is_countable(N, k)
    n, k = np.where(valid, N, 1.0), np.where(valid, k, 0.0)
    return np.where(valid, _scipy.poch(n - k + 1.0, k), 0.0)[()]


def _is_countable(n: Any, k: Any) -> Any:
    return (k <= n) & (n >= 0) & (k >= 0)


def _require_inexact(name: str, exact: bool) -> None:
    if exact:
        raise TypeError(f"scipy.special.{name}: with exact=True it takes integers, which have no derivative")


# Derivatives of order n of Bessel functions


def _derivative(name: str, of: str) -> Callable[..., Any]:
    def derivative(v: Any, z: Any, n: int = 1) -> Any:
        return getattr(_scipy, name)(v, z, n)

    derivative.__name__ = derivative.__qualname__ = name
    derivative.__doc__ = f"The derivative of order `n` of `{of}`, as `scipy.special.{name}`; derivative in `z`."
    ours: Callable[..., Any] = elementwise(z=lambda y, v, z, n: ours(v, z, n + 1))(derivative)
    return ours


jvp = _derivative("jvp", "jv")
yvp = _derivative("yvp", "yv")
ivp = _derivative("ivp", "iv")
kvp = _derivative("kvp", "kv")
h1vp = _derivative("h1vp", "hankel1")
h2vp = _derivative("h2vp", "hankel2")


def _spherical(name: str) -> Callable[..., Any]:
    def spherical(n: Any, z: Any, derivative: bool = False) -> Any:
        return SPHERICAL[name](z, n, derivative)

    spherical.__name__ = spherical.__qualname__ = name
    spherical.__doc__ = f"As `scipy.special.{name}`; derivative in `z`."
    return spherical


spherical_jn = _spherical("spherical_jn")
spherical_yn = _spherical("spherical_yn")
spherical_in = _spherical("spherical_in")
spherical_kn = _spherical("spherical_kn")


# Dirichlet's kernel, Legendre functions and spherical harmonics


@elementwise(x=lambda y, x, n: slope_of_diric(x, n))
def diric(x: Any, n: Any) -> Any:
    """sin(n x / 2) / (n sin(x / 2)), as `scipy.special.diric`; derivative in `x`, also at the multiples of 2 pi."""
    return _scipy.diric(x, n)


def legendre_p(n: Any, z: Any, *, diff_n: int = 0) -> Any:
    """The Legendre polynomial and `diff_n` of its derivatives, as `scipy.special.legendre_p`; derivative in `z`."""
    if not (has_number(n) or has_number(z)):
        return carried_out(_scipy.legendre_p, n, z, diff_n=diff_n)
    return np.stack([_rows.legendre(n, z, order) for order in _orders("legendre_p", diff_n)])


def assoc_legendre_p(n: Any, m: Any, z: Any, *, branch_cut: Any = 2, norm: bool = False, diff_n: int = 0) -> Any:
    """The associated Legendre function and derivatives, as `scipy.special.assoc_legendre_p`; derivative in `z`.

    If z is 1 or -1, the first two derivatives are SciPy's, and higher derivatives are infinite or NaN.
    """
    if not any(map(has_number, (n, m, z))):
        return carried_out(_scipy.assoc_legendre_p, n, m, z, branch_cut=branch_cut, norm=norm, diff_n=diff_n)
    orders = _orders("assoc_legendre_p", diff_n)
    return np.stack([_rows.associated(n, m, z, branch_cut, norm, order) for order in orders])


def sph_legendre_p(n: Any, m: Any, theta: Any, *, diff_n: int = 0) -> Any:
    """The spherical Legendre function and derivatives, as `scipy.special.sph_legendre_p`; derivative in `theta`.

    At the poles, the first two derivatives are SciPy's, and higher derivatives are infinite or NaN.
    """
    if not any(map(has_number, (n, m, theta))):
        return carried_out(_scipy.sph_legendre_p, n, m, theta, diff_n=diff_n)
    return np.stack([_rows.spherical(n, m, theta, order) for order in _orders("sph_legendre_p", diff_n)])


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """The spherical harmonic and its derivatives, as `scipy.special.sph_harm_y`; derivatives in `theta` and `phi`."""
    if not any(map(has_number, (n, m, theta, phi))):
        return carried_out(_scipy.sph_harm_y, n, m, theta, phi, diff_n=diff_n)
    orders, turn = _orders("sph_harm_y", diff_n), np.multiply(1j, m)
    y = _rows.harmonic(n, m, theta, phi)
    if len(orders) == 1:
        return y
    first = _rows.turned(m, phi, _rows.spherical(n, m, theta, 1))
    gradient = np.stack([first, turn * y], axis=-1)
    if len(orders) == 2:
        return y, gradient
    second = _rows.turned(m, phi, _rows.spherical(n, m, theta, 2))
    rows = [np.stack([second, turn * first], axis=-1), np.stack([turn * first, turn * turn * y], axis=-1)]
    return y, gradient, np.stack(rows, axis=-2)


def _orders(name: str, diff_n: int) -> range:
    if diff_n not in (0, 1, 2):
        raise ValueError(
            f"scipy.special.{name}: diff_n must be 0, 1 or 2, and is {diff_n!r}. For higher derivatives, differentiate"
        )
    return range(diff_n + 1)
