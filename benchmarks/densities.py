"""Gradients of densities of `scipy.stats` against HIPS autograd, in one run: `python benchmarks/densities.py`.

The libraries take turns, so that the machine's noise hits both alike; only the ratios mean something. Exit status 1 if
ours is not ahead in some row.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import autograd
import autograd.numpy as anp
import autograd.scipy.stats as theirs
import numpy as np
from rich.console import Console
from rich.table import Table
from timing import best_of

from shiftreset_ad import grad
from shiftreset_ad.scipy import stats as ours

# What is differentiated, made from NumPy and scipy.stats, and its arguments
Case = tuple[str, Callable[[Any, Any], Any], tuple[Any, ...]]


def normal(np: Any, stats: Any) -> Callable[..., Any]:
    return lambda *args: np.sum(stats.norm.logpdf(*args))


def several(np: Any, stats: Any) -> Callable[..., Any]:
    return lambda *args: np.sum(stats.multivariate_normal.logpdf(*args))


def cases() -> list[Case]:
    rng = np.random.default_rng(0)
    x, mean, root = rng.normal(size=20), rng.normal(size=20), rng.normal(size=(20, 20))
    cov, data = root @ root.T + np.eye(20), rng.normal(size=(100, 20))
    return [
        ("norm.logpdf, in x", lambda np, stats: stats.norm.logpdf, (0.5,)),
        ("norm.logpdf, in x, loc and scale", lambda np, stats: stats.norm.logpdf, (0.5, 0.2, 1.5)),
        ("norm.logpdf of 1,000, in all", normal, (rng.normal(size=1000), 0.2, 1.5)),
        (
            "multivariate_normal.logpdf of 20, in x",
            lambda np, stats: lambda x: stats.multivariate_normal.logpdf(x, mean, cov),
            (x,),
        ),
        (
            "multivariate_normal.logpdf of 20, in all",
            lambda np, stats: stats.multivariate_normal.logpdf,
            (x, mean, cov),
        ),
        (
            "the same of 100 points, in mean and covariance",
            lambda np, stats: lambda mean, cov: several(np, stats)(data, mean, cov),
            (mean, cov),
        ),
    ]


def main() -> int:
    table = Table("gradient", "ours, us", "autograd, us", "ratio", "", title="ratios below 1 are ours")
    missed = 0
    for name, made, args in cases():
        every = tuple(range(len(args)))
        derivatives = {
            "ours": grad(made(np, ours), argnums=every),
            "theirs": autograd.grad(made(anp, theirs), argnum=every),
        }
        for found, expected in zip(*(gradient(*args) for gradient in derivatives.values()), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-8)
        times = best_of(20, {who: partial(gradient, *args) for who, gradient in derivatives.items()})
        ratio = times["ours"] / times["theirs"]
        missed += ratio >= 1.0
        figures = f"{times['ours'] * 1e6:.0f}", f"{times['theirs'] * 1e6:.0f}", f"{ratio:.2f}"
        table.add_row(name, *figures, "reached" if ratio < 1.0 else "MISSED")
    Console(width=110).print(table)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
