"""Logistic regression of 50 features on 2,000 examples, with a penalty on large weights."""

from __future__ import annotations

from typing import Any

from benchmarks.programs.formulas import sigmoid


def arguments(rng: Any, small: bool) -> tuple[Any, Any]:
    examples, features = (8, 3) if small else (2000, 50)
    x = rng.normal(size=(examples, features))
    y = (x @ rng.normal(size=features) > 0.0) * 1.0
    return {"weights": 0.1 * rng.normal(size=features), "bias": 0.1}, (x, y)


def loss(np: Any, parameters: Any, data: Any) -> Any:
    x, y = data
    p = sigmoid(np, x @ parameters["weights"] + parameters["bias"])
    return -np.mean(np.log(p * y + (1.0 - p) * (1.0 - y))) + 0.01 * np.sum(parameters["weights"] ** 2)
