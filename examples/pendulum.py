"""Optimal control of a pendulum: the least effort that swings it up, through a simulation that writes in place.

A torque turns a pendulum that hangs down. After TIME it must stand upright and be at rest. The effort is the integral
of the squared torque. The simulation writes each state to a row of one array, and the gradient of the effort and of the
miss goes back through all writes.

Known: if the sine in the equation of motion is replaced by the angle, then the end is linear in the torques, and the
least effort has a formula by linear algebra. With the sine there is none. But energy is conserved: the work of the
torque is what it takes to lift the pendulum from the bottom to the top.

    python examples/pendulum.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from known import compare

from shiftreset_ad import optimize, value, zeros

TIME, STEPS = 4.0, 80
STEP = TIME / STEPS
UPRIGHT = np.array([np.pi, 0.0])  # the angle and the speed
WEIGHT = 1e4  # of the miss, beside the effort

Force: TypeAlias = Callable[[float], float]


def simulate(torques: np.ndarray, force: Force) -> np.ndarray:
    """The angles and speeds at all times; mass, length and gravity are 1. The steps conserve energy well (leapfrog)."""
    states = zeros((STEPS + 1, 2))
    for i in range(STEPS):
        angle, speed = states[i]
        half = speed + 0.5 * STEP * (torques[i] - force(angle))
        states[i + 1, 0] = angle + STEP * half
        states[i + 1, 1] = half + 0.5 * STEP * (torques[i] - force(states[i + 1, 0]))
    return states


def cost(torques: np.ndarray, force: Force) -> float:
    """The effort, and the miss at the end."""
    miss = simulate(torques, force)[-1] - UPRIGHT
    return STEP * np.sum(torques**2) + WEIGHT * np.sum(miss**2)


def best(force: Force) -> np.ndarray:
    """The torques of least cost."""
    result = optimize.minimize(cost, np.ones(STEPS), (force,), method="l-bfgs", tolerance=1e-4)
    if not result.converged:
        raise ArithmeticError(result.message)
    return result.x


def known_cost() -> float:
    """The least cost if the force is the angle: the end is M torques, where M has the ends of single torques."""
    ends = np.stack([simulate(unit, lambda angle: angle)[-1] for unit in np.eye(STEPS)], axis=1)
    gram = ends @ ends.T / STEP
    return UPRIGHT @ np.linalg.solve(gram + np.eye(2) / WEIGHT, UPRIGHT)


def main() -> int:
    """Find the torques, and compare."""
    linear, pendulum = best(lambda angle: angle), best(np.sin)
    states = value(simulate(pendulum, np.sin))
    work = np.sum(pendulum * np.diff(states[:, 0]))  # the torque is constant in each step
    return compare(
        "the least effort to swing a pendulum up",
        [
            ("cost, if linear", cost(linear, lambda angle: angle), known_cost(), 1e-5),
            ("angle and speed at the end", states[-1], UPRIGHT, 1e-3),
            ("work, and the energy at the top", work, 2.0, 1e-2),
        ],
    )


if __name__ == "__main__":
    raise SystemExit(main())
