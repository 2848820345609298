"""A neural ordinary differential equation: a network learns the motion of a damped oscillator from its path.

The network gives the velocity at a point of the plane, and an adaptive solver follows it. The gradient of the loss goes
through the solver by the adjoint equation, backwards in time.

Known: the path has a closed form, a spiral, and so has the velocity. The network has seen one path up to the time SEEN,
and must also follow it further, and from a start inside of it.

    python examples/neural_ode.py
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from known import compare

from shiftreset_ad import optimize
from shiftreset_ad.scipy.integrate import solve_ivp

Weights: TypeAlias = dict[str, np.ndarray]

DECAY, FREQUENCY = 0.2, 1.5
SEEN, UNSEEN = 6.0, 9.0
HIDDEN = 12
START = np.array([2.0, 0.0])


def spiral(start: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The true path, a column for each time."""
    shrink, turn = np.exp(-DECAY * times), FREQUENCY * times
    x, y = start
    return shrink * np.stack([x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)])


def velocity(weights: Weights, point: np.ndarray) -> np.ndarray:
    """What the network takes for the velocity at a point, or at each column of an array."""
    return weights["out"] @ np.tanh(weights["in"] @ point)


def path(weights: Weights, start: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The path that follows the network."""
    solution = solve_ivp(
        lambda t, point: velocity(weights, point), (0.0, times[-1]), start, t_eval=times, rtol=1e-6, atol=1e-6
    )
    return solution.y


def trained() -> Weights:
    """The network after training: first on differences of the path, which is quick, and then on the path itself."""
    random = np.random.default_rng(4)
    weights = {"in": 0.5 * random.normal(size=(HIDDEN, 2)), "out": 0.3 * random.normal(size=(2, HIDDEN))}
    times = np.linspace(0.0, SEEN, 31)
    points = spiral(START, times)
    middles, slopes = 0.5 * (points[:, 1:] + points[:, :-1]), np.diff(points) / np.diff(times)
    rough = optimize.minimize(
        lambda w: np.mean((velocity(w, middles) - slopes) ** 2), weights, rounds=200, tolerance=1e-5
    )
    print(f"loss on the path after training on its differences: {loss(rough.x, times, points):.1e}")
    fine = optimize.minimize(loss, rough.x, (times, points), method="L-BFGS-B", rounds=30, tolerance=1e-6)
    print(f"loss on the path after training on the path: {fine.value:.1e}")
    return fine.x


def loss(weights: Weights, times: np.ndarray, points: np.ndarray) -> float:
    """The mean square of the distance from the path."""
    return np.mean((path(weights, START, times) - points) ** 2)


def main() -> int:
    """Train, and compare with the spiral."""
    weights = trained()
    later = np.linspace(SEEN, UNSEEN, 4)
    ring = spiral(START, np.linspace(0.0, SEEN, 9))
    true_velocity = np.array([[-DECAY, FREQUENCY], [-FREQUENCY, -DECAY]]) @ ring
    inside = 0.5 * START
    return compare(
        "a network that follows a spiral",
        [
            ("path, where it was seen", path(weights, START, later[:1])[:, 0], spiral(START, later)[:, 0], 0.01),
            ("path, later", path(weights, START, later)[:, -1], spiral(START, later)[:, -1], 0.05),
            ("path from another start", path(weights, inside, later)[:, -1], spiral(inside, later)[:, -1], 0.05),
            ("velocity along the path", velocity(weights, ring), true_velocity, 0.1),
        ],
    )


if __name__ == "__main__":
    raise SystemExit(main())
