"""A portfolio of 50 assets over 1,000 days: return for its risk, less its costs and its deepest losses."""

from __future__ import annotations

from typing import Any

from benchmarks.programs.formulas import log_softmax


def arguments(rng: Any, small: bool) -> tuple[Any, Any]:
    days, assets = (6, 3) if small else (1000, 50)
    held = rng.dirichlet([1.0] * assets)
    return rng.normal(size=assets), (0.0005 + 0.01 * rng.normal(size=(days, assets)), held)


def loss(np: Any, scores: Any, data: Any) -> Any:
    returns, held = data
    shares = np.exp(log_softmax(np, scores))
    daily = returns @ shares
    wealth = np.cumsum(np.log1p(daily), 0)
    ratio = np.mean(daily) / np.sqrt(np.mean((daily - np.mean(daily)) ** 2))
    losses = np.mean(np.where(daily < 0.0, daily, 0.0) ** 2)
    costs = np.sum(np.sqrt((shares - held) ** 2 + 1e-6))
    return 0.01 * costs - ratio + 10.0 * losses - 0.1 * wealth[-1] + 0.1 * np.mean((wealth - wealth[-1]) ** 2)
