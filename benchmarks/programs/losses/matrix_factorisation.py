"""Recommendation: 20,000 ratings of 800 films by 500 people, as products of vectors of 20 numbers, with biases."""

from __future__ import annotations

from typing import Any

from benchmarks.programs.formulas import squares


def arguments(rng: Any, small: bool) -> tuple[Any, Any]:
    people, films, rank, ratings = (3, 4, 2, 6) if small else (500, 800, 20, 20_000)
    parameters = {
        "people": rng.normal(size=(people, rank)) / rank**0.5,
        "films": rng.normal(size=(films, rank)) / rank**0.5,
        "biases of people": 0.1 * rng.normal(size=people),
        "biases of films": 0.1 * rng.normal(size=films),
        "mean": 3.0,
    }
    raters, rated = rng.integers(people, size=ratings), rng.integers(films, size=ratings)
    return parameters, (raters, rated, rng.uniform(1.0, 5.0, size=ratings))


def loss(np: Any, parameters: Any, data: Any) -> Any:
    raters, rated, ratings = data
    people, films = parameters["people"], parameters["films"]
    tastes = np.sum(people[raters] * films[rated], axis=1)
    biases = parameters["mean"] + parameters["biases of people"][raters] + parameters["biases of films"][rated]
    return np.mean((tastes + biases - ratings) ** 2) + 1e-3 * squares(np, (people, films))
