"""A Kalman filter: the likelihood of 50 positions in the plane, by a motion with four states and its noises."""

from __future__ import annotations

from typing import Any

from benchmarks.programs.formulas import LOG_2_PI


def arguments(rng: Any, small: bool) -> tuple[Any, Any]:
    steps = 3 if small else 50
    motion = [[1.0, 0.0, 0.1, 0.0], [0.0, 1.0, 0.0, 0.1], [0.0, 0.0, 0.95, 0.0], [0.0, 0.0, 0.0, 0.95]]
    parameters = {
        "motion": motion + 0.01 * rng.normal(size=(4, 4)),
        "log_process_noises": 0.1 * rng.normal(size=4) - 2.0,
        "log_measurement_noise": -1.0,
    }
    return parameters, rng.normal(size=(steps, 2)).cumsum(axis=0) * 0.1


def loss(np: Any, parameters: Any, positions: Any) -> Any:
    motion, seen = parameters["motion"], np.eye(4)[:2]
    process_noise = np.diag(np.exp(2.0 * parameters["log_process_noises"]))
    measurement_noise = np.exp(2.0 * parameters["log_measurement_noise"]) * np.eye(2)
    mean, covariance = np.zeros(4), np.eye(4)
    total = 0.0
    for position in positions:
        mean, covariance = motion @ mean, motion @ covariance @ motion.T + process_noise
        surprise = position - seen @ mean
        spread = seen @ covariance @ seen.T + measurement_noise
        gain = np.linalg.solve(spread, seen @ covariance).T
        _, log_determinant = np.linalg.slogdet(spread)
        total = total + 0.5 * (surprise @ np.linalg.solve(spread, surprise) + log_determinant) + LOG_2_PI
        mean, covariance = mean + gain @ surprise, covariance - gain @ seen @ covariance
    return total
