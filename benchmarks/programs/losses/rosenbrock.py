"""Rosenbrock's function of 1,000 variables, which every optimiser is tried on."""

from __future__ import annotations

from typing import Any

from benchmarks import cases


def arguments(rng: Any, small: bool) -> tuple[Any, Any]:
    return rng.normal(size=4 if small else 1000), None


def loss(np: Any, x: Any, data: None) -> Any:
    return cases.rosenbrock(np, x)
