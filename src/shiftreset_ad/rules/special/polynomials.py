"""Orthogonal polynomials: the derivative in the argument has the degree n - 1 if the polynomial has n (DLMF 18.9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.rules.special.table import rule, special


def lowered(partial: Callable[..., Any]) -> Callable[..., Any]:
    """A partial derivative from a function of n, n - 1 and the other operands; for degree 0 it is 0."""

    def of_degree(y: Any, n: Any, *operands: Any) -> Any:
        constant = n == 0
        return np.where(constant, 0.0, partial(n, np.where(constant, 1, n) - 1, *operands))

    return of_degree


def legendre_slope(n: Any, m: Any, x: Any) -> Any:
    return 0.5 * (n + 1.0) * special.eval_jacobi(m, 1.0, 1.0, x)


def jacobi_slope(n: Any, m: Any, a: Any, b: Any, x: Any) -> Any:
    return 0.5 * (n + a + b + 1.0) * special.eval_jacobi(m, a + 1.0, b + 1.0, x)


def shifted_jacobi_slope(n: Any, m: Any, p: Any, q: Any, x: Any) -> Any:
    """The derivative of the shifted polynomial: Jacobi's polynomial of 2x - 1, divided by a binomial coefficient."""
    return 2.0 * jacobi_slope(n, m, p - q, q - 1.0, 2.0 * x - 1.0) / special.binom(2.0 * n + p - 1.0, n)


def chebyu_slope(n: Any, m: Any, x: Any) -> Any:
    return 2.0 * special.eval_gegenbauer(m, 2.0, x)


rule("eval_legendre(n, x)", x=lowered(legendre_slope))
rule("eval_sh_legendre(n, x)", x=lowered(lambda n, m, x: 2.0 * legendre_slope(n, m, 2.0 * x - 1.0)))
rule("eval_jacobi(n, alpha, beta, x)", x=lowered(jacobi_slope))
rule("eval_sh_jacobi(n, p, q, x)", x=lowered(shifted_jacobi_slope))
rule("eval_chebyt(n, x)", x=lowered(lambda n, m, x: n * special.eval_chebyu(m, x)))
rule("eval_chebyu(n, x)", x=lowered(chebyu_slope))
rule("eval_chebyc(n, x)", x=lowered(lambda n, m, x: n * special.eval_chebyu(m, 0.5 * x)))
rule("eval_chebys(n, x)", x=lowered(lambda n, m, x: 0.5 * chebyu_slope(n, m, 0.5 * x)))
rule("eval_sh_chebyt(n, x)", x=lowered(lambda n, m, x: 2.0 * n * special.eval_chebyu(m, 2.0 * x - 1.0)))
rule("eval_sh_chebyu(n, x)", x=lowered(lambda n, m, x: 2.0 * chebyu_slope(n, m, 2.0 * x - 1.0)))
rule(
    "eval_gegenbauer(n, alpha, x)",
    x=lowered(lambda n, m, alpha, x: 2.0 * alpha * special.eval_gegenbauer(m, alpha + 1.0, x)),
)
rule("eval_laguerre(n, x)", x=lowered(lambda n, m, x: -special.eval_genlaguerre(m, 1.0, x)))
rule("eval_genlaguerre(n, alpha, x)", x=lowered(lambda n, m, alpha, x: -special.eval_genlaguerre(m, alpha + 1.0, x)))
rule("eval_hermite(n, x)", x=lowered(lambda n, m, x: 2.0 * n * special.eval_hermite(m, x)))
rule("eval_hermitenorm(n, x)", x=lowered(lambda n, m, x: n * special.eval_hermitenorm(m, x)))
