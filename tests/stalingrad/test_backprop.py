"""The program backprop: a network for XOR, with steps along the gradient, by forward mode and by reverse mode."""

import numpy as np
import pytest

from shiftreset_ad import grad, jvp

# A list of layers; a layer has for each unit a bias, and weights for the units of the layer before.
WEIGHTS = [[[0.0, -0.284227, 1.16054], [0.0, 0.617194, 1.30467]], [[0.0, -0.084395, 0.648461]]]
DATA = [([0.0, 0.0], [0.0]), ([0.0, 1.0], [1.0]), ([1.0, 0.0], [1.0]), ([1.0, 1.0], [0.0])]
ERRORS = {1: 0.5105678882572587, 10: 0.4967496867413786, 100: 0.4911168310721801, 1000: 0.2909192592250362}
RATE = 0.3


def sigmoid(x):
    return 1.0 / (np.exp(-x) + 1.0)


def forward_pass(layers, activities):
    for layer in layers:
        activities = [
            sigmoid(bias + sum(w * x for w, x in zip(weights, activities, strict=True))) for bias, *weights in layer
        ]
    return activities


def error(layers):
    total = 0.0
    for inputs, targets in DATA:
        total += sum(0.5 * (y - t) ** 2 for y, t in zip(forward_pass(layers, inputs), targets, strict=True))
    return total


def less(layers, slopes):
    if not isinstance(layers, list):
        return layers - RATE * slopes
    return [less(a, b) for a, b in zip(layers, slopes, strict=True)]


def forward(layers):
    """The gradient with one pass for each of the nine weights."""

    def slope(at):
        return jvp(error, (layers,), (in_layers(lambda place: float(place == at)),))[1]

    return in_layers(slope)


def in_layers(f):
    """What f has for each place of a weight."""
    return [
        [[f((i, j, k)) for k in range(len(unit))] for j, unit in enumerate(layer)] for i, layer in enumerate(WEIGHTS)
    ]


def error_after(steps, gradient):
    layers = WEIGHTS
    for _ in range(steps):
        layers = less(layers, gradient(layers))
    return error(layers)


@pytest.mark.parametrize("steps", ERRORS)
def test_reverse_mode(steps):
    assert error_after(steps, grad(error)) == pytest.approx(ERRORS[steps], rel=1e-10)


@pytest.mark.parametrize("steps", [1, 10, 100])
def test_forward_mode(steps):
    assert error_after(steps, forward) == pytest.approx(ERRORS[steps], rel=1e-10)
