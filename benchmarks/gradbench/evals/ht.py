"""Hand tracking: how far a posed hand is from measured points, and the Jacobian of it.

A finger's part in the place of a vertex depends on the four angles of this finger alone. So one shift of the angles of
all fingers at once gives the derivatives of all parts, and forward mode has four directions in place of twenty. In the
same way, a shift of all places on triangles at once has the derivatives by all of them.
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


def moves(angles: Any, hand: Hand) -> Any:
    """How the bones move if the fingers have these angles, (5, 4): a matrix of (4, 3) for each bone."""
    turns = zeros((len(hand.parents), 2))
    turns[BONES, AXES] = angles.ravel()
    base = hand.relatives
    relatives = np.concatenate((base[:, :, :3] @ bone_rotations(turns), base[:, :, 3:]), axis=2)
    absolutes: list[Any] = []
    for parent, relative in zip(hand.parents, relatives, strict=True):
        absolutes.append(relative if parent < 0 else absolutes[parent] @ relative)
    return np.transpose((np.stack(absolutes) @ hand.inverse_absolutes)[:, :3], (0, 2, 1))


def turned(turn: Any, places: Any, hand: Hand) -> Any:
    """Places after the rotation of the hand as a whole."""
    return places @ rotation(turn, hand).T


def rotation(turn: Any, hand: Hand) -> Any:
    """The rotation of the hand as a whole, about this axis, by an angle that is its length."""
    return global_rotation(turn) * hand.mirror


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


def chosen(of_vertices: Any, us: Any, corners: Any) -> Any:
    """What belongs to the vertex of each point, or to its place on a triangle, if there are places."""
    if us is None:
        return of_vertices[corners]
    u, v = us.reshape(-1, 2, *[1] * (of_vertices.ndim - 1)).swapaxes(0, 1)
    a, b, c = corners.T
    return u * of_vertices[a] + v * of_vertices[b] + (1.0 - u - v) * of_vertices[c]


def errors(theta: Any, us: Any, hand: Hand, corners: Any, points: Any) -> Any:
    """From each point to its vertex, or to its place on a triangle."""
    places = hand.skin @ moves(theta[6:].reshape(5, 4), hand).reshape(-1, 3)
    return points - theta[3:6] - turned(theta[:3], chosen(places, us, corners), hand)


def jacobian(theta: Any, us: Any, hand: Hand, corners: Any, points: Any) -> Any:
    turn, angles = theta[:3], theta[6:].reshape(5, 4)

    def moved(shift: Any) -> tuple[Any, Any]:
        of_bones = moves(angles + shift, hand)
        return of_bones, value(of_bones)

    by_shift, of_bones = jacfwd(moved, has_aux=True)(np.zeros(4))
    both = np.concatenate((of_bones[..., None], by_shift), axis=-1)  # (bones, 4, 3, 1 + 4)
    wrist, fingers = hand.skin[:, :8], np.swapaxes(hand.skin[:, 8:].reshape(-1, 5, 16), 0, 1)
    parts = (fingers @ both[2:].reshape(5, 16, 15)).reshape(5, -1, 3, 5)
    places = wrist @ of_bones[:2].reshape(8, 3) + np.sum(parts[..., 0], axis=0)
    by_angle = chosen(np.transpose(parts[..., 1:], (1, 2, 0, 3)), us, corners).reshape(-1, 3, 20)
    columns = [
        jacfwd(lambda turn: turned(turn, chosen(places, us, corners), hand))(turn),
        np.broadcast_to(np.eye(3), (len(by_angle), 3, 3)),
        rotation(turn, hand) @ by_angle,
    ]
    if us is not None:
        columns.insert(0, jacfwd(lambda shift: turned(turn, chosen(places, us + shift, corners), hand))(np.zeros(2)))
    return -np.concatenate(columns, axis=-1).reshape(3 * len(by_angle), -1)


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
