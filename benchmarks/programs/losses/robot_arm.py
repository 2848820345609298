"""Inverse kinematics of an arm with seven joints among twenty posts, in plain floats and loops.

The hand has to be at a target, the angles small, and each joint away from each post.
"""

from __future__ import annotations

from typing import Any


def arguments(rng: Any, small: bool) -> tuple[Any, Any]:
    joints, posts = (3, 2) if small else (7, 20)
    angles = [float(angle) for angle in rng.normal(size=joints)]
    return angles, ((3.0, 2.0), [(float(x), float(y)) for x, y in rng.uniform(-7.0, 7.0, size=(posts, 2))])


def loss(np: Any, angles: Any, data: Any) -> Any:
    (target_x, target_y), posts = data
    x = y = direction = total = 0.0
    for angle in angles:
        direction = direction + angle
        x, y = x + np.cos(direction), y + np.sin(direction)
        total = total + 0.01 * angle * angle
        for post_x, post_y in posts:
            total = total + 0.1 / (1.0 + (x - post_x) ** 2 + (y - post_y) ** 2)
    return total + (x - target_x) ** 2 + (y - target_y) ** 2
