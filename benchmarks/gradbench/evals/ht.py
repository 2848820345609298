"""Hand tracking: how far a posed hand is from measured points, and the Jacobian of it.

The columns are for the pose, which all errors depend on, and for the place of each point on its triangle, which three
errors depend on. A shift of all places at once has the derivatives by all of them, so forward mode has 28 directions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from benchmarks.gradbench.function import Function
from shiftreset_ad import array, jacfwd, value, zeros

# The bone and the axis of each of the last angles: a finger has two at its first bone, and one at each of the others.
BONES = np.array([4 * finger + 2 + joint for finger in range(5) for joint in (0, 0, 1, 2)])
AXES = np.array([axis for _ in range(5) for axis in (0, 1, 0, 0)])


class Hand(NamedTuple):
    """The model: bones with their parents, and a skin of vertices, each of which several bones move."""

    parents: list[int]
    relatives: Any  # (bones, 4, 4)
    inverse_absolutes: Any  # (bones, 4, 4)
    skin: Any  # (vertices, 4 * bones): the weight of each bone times the place of the vertex
    mirror: Any  # a sign for each coordinate


def vertices(theta: Any, hand: Hand) -> Any:
    """Where the skin is in a pose, but for the translation: a rotation, and the angles of the fingers."""
    angles = zeros((len(hand.parents), 2))
    angles[BONES, AXES] = theta[6:]
    base = hand.relatives
    relatives = np.concatenate((base[:, :, :3] @ bone_rotations(angles), base[:, :, 3:]), axis=2)
    absolutes: list[Any] = []
    for parent, relative in zip(hand.parents, relatives, strict=True):
        absolutes.append(relative if parent < 0 else absolutes[parent] @ relative)
    moves = (np.stack(absolutes) @ hand.inverse_absolutes)[:, :3, :]
    turned = (global_rotation(theta[:3]) * hand.mirror) @ moves
    return hand.skin @ np.transpose(turned, (0, 2, 1)).reshape(-1, 3)


def bone_rotations(angles: Any) -> Any:
    """About the first axis, and then about the third: fingers do not turn about the second."""
    (sin_x, sin_z), (cos_x, cos_z) = np.sin(angles).T, np.cos(angles).T
    none, one = np.zeros(len(angles)), np.ones(len(angles))
    rows = [[cos_z, -sin_z * cos_x, sin_z * sin_x], [sin_z, cos_z * cos_x, -cos_z * sin_x], [none, sin_x, cos_x]]
    return np.transpose(array([[entry * one for entry in row] for row in rows]), (2, 0, 1))


def global_rotation(turn: Any) -> Any:
    """About this axis, by an angle that is its length."""
    angle = np.sqrt(np.sum(turn * turn))
    if value(angle) < 1e-4:
        return np.eye(3)
    x, y, z = axis = turn / angle
    cross = array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) * np.cos(angle) + np.outer(axis, axis) * (1.0 - np.cos(angle)) + cross * np.sin(angle)


def errors(theta: Any, us: Any, hand: Hand, corners: Any, points: Any) -> Any:
    """From each point to its vertex, or to its place on a triangle, if there are places."""
    places = vertices(theta, hand)
    if us is None:
        return points - theta[3:6] - places[corners]
    u, v = us[:, :1], us[:, 1:]
    a, b, c = corners.T
    return points - theta[3:6] - (u * places[a] + v * places[b] + (1.0 - u - v) * places[c])


def jacobian(theta: Any, us: Any, *rest: Any) -> Any:
    if us is None:
        return jacfwd(errors)(theta, us, *rest).reshape(-1, len(theta))
    shifted = jacfwd(lambda shift, theta: errors(theta, us + shift, *rest), argnums=(0, 1))
    return np.concatenate(shifted(np.zeros(2), theta), axis=-1).reshape(-1, 2 + len(theta))


def read(message: Any) -> tuple[Any, ...]:
    data = message["data"]
    model = data["model"]
    weights, places = np.array(model["weights"]), np.array(model["base_positions"])
    hand = Hand(
        model["parents"],
        np.array(model["base_relatives"]),
        np.array(model["inverse_base_absolutes"]),
        (weights[:, :, None] * places[:, None, :]).reshape(len(places), -1),
        np.array([-1.0 if model["is_mirrored"] else 1.0, 1.0, 1.0]),
    )
    corners = np.array(data["correspondences"])
    us = np.array(message["us"]) if message["us"] else None
    if us is not None:
        corners = np.array(model["triangles"])[corners]
    return np.array(message["theta"]), us, hand, corners, np.array(data["points"])


FUNCTIONS = {
    "objective": Function(errors, read, lambda errors: errors.ravel().tolist()),
    "jacobian": Function(jacobian, read),
}
