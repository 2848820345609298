"""Maximum likelihood with standard errors: the launches of the space shuttle, and the cold.

On 23 launches before the accident of 1986, one or more of the rings that seal the rockets were damaged, or none. A
logistic regression gives the probability of damage at a temperature. The standard errors are the roots of the diagonal
of the inverse Hessian. The temperature at which damage is as probable as not is a function of the parameters, so its
standard error takes a gradient (the delta method).

Known: the fit in Dalal, Fowlkes and Hoadley (1989) and in textbooks since, 15.0429 (7.3786) and -0.2322 (0.1082).

    python examples/maximum_likelihood.py
"""

from __future__ import annotations

import numpy as np
from known import compare

from shiftreset_ad import grad, hessian, optimize

TEMPERATURE = np.array(
    [66.0, 70, 69, 68, 67, 72, 73, 70, 57, 63, 70, 78, 67, 53, 67, 75, 70, 81, 76, 79, 75, 76, 58]  # in Fahrenheit
)
DAMAGED = np.array([0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1])
AT_THE_ACCIDENT = 31.0


def log_odds(parameters: np.ndarray, temperature: np.ndarray | float) -> np.ndarray:
    """The logarithm of the odds of damage."""
    return parameters[0] + parameters[1] * temperature


def negative_log_likelihood(parameters: np.ndarray) -> float:
    """The negative logarithm of the probability of what was seen."""
    odds = log_odds(parameters, TEMPERATURE)
    return np.sum(np.logaddexp(0.0, odds) - DAMAGED * odds)


def even_chance(parameters: np.ndarray) -> float:
    """The temperature at which damage is as probable as not."""
    return -parameters[0] / parameters[1]


def main() -> int:
    """Fit the launches, and compare with the published fit."""
    found = optimize.argmin(negative_log_likelihood, np.zeros(2), method="newton-cg")
    covariance = np.linalg.inv(hessian(negative_log_likelihood)(found))
    errors = np.sqrt(np.diag(covariance))
    slope = grad(even_chance)(found)
    error_of_even_chance = np.sqrt(slope @ covariance @ slope)

    # The same by hand: the information of a logistic regression has a formula, and so has the gradient.
    probability = 1.0 / (1.0 + np.exp(-log_odds(found, TEMPERATURE)))
    design = np.stack([np.ones_like(TEMPERATURE), TEMPERATURE], axis=1)
    fisher = design.T @ (design * (probability * (1.0 - probability))[:, None])
    by_hand = np.array([-1.0 / found[1], found[0] / found[1] ** 2])
    known_error = np.sqrt(by_hand @ np.linalg.solve(fisher, by_hand))
    return compare(
        "damage to the rings of the space shuttle: 15.04 - 0.2322 F",
        [
            ("parameters", found, [15.0429, -0.2322], 1e-4),
            ("standard errors", errors, [7.3786, 0.1082], 1e-4),
            ("deviance", 2.0 * negative_log_likelihood(found), 20.315, 1e-3),
            ("Fisher information", np.linalg.inv(covariance), fisher, 1e-5),
            ("even chance, in F", even_chance(found), 15.0429 / 0.2322, 2e-2),
            ("its standard error", error_of_even_chance, known_error, 1e-8),
            ("probability at 31 F", 1.0 / (1.0 + np.exp(-log_odds(found, AT_THE_ACCIDENT))), 0.9996, 1e-4),
        ],
    )


if __name__ == "__main__":
    raise SystemExit(main())
