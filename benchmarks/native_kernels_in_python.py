"""The kernels of `native_kernels.py` in plain Python and NumPy, with their inputs: those of GradBench, and RK4.

What `benchmarks/gradbench/evals` has is used as it is there. Loops that are long there are loops of the library here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from native_trees import NODES, slope, tree
from scipy.special import expit

import shiftreset_ad as sr
from benchmarks.gradbench.evals import ba, det, gmm, ht, kmeans, lse, lstm

TIME_STEP, SMALL = 0.1, 1e-5


class Kernel(NamedTuple):
    """A gradient and its arguments; the file with it in C++, if there is one, and the arrays and sizes for this.

    A long run is recorded by `shorter` arguments, as one record serves all lengths. The function itself is not timed.
    """

    gradient: Callable[..., Any]
    args: tuple[Any, ...]
    in_cpp: str | None
    arrays: list[Any]
    sizes: tuple[int, ...]
    shorter: tuple[Any, ...] | None = None


def of_determinant(n: int) -> Kernel:
    a = np.random.default_rng(n).normal(size=(n, n))
    return Kernel(sr.grad(det.determinant), (a,), "det", [a], (n,))


def of_lse(n: int) -> Kernel:
    x = np.random.default_rng(0).normal(size=n)
    return Kernel(sr.grad(lse.log_sum_exp), (x,), "lse", [x], (n,))


def of_kmeans(n: int, k: int, d: int) -> Kernel:
    rng = np.random.default_rng(0)
    points, centres = rng.normal(size=(n, d)), rng.normal(size=(k, d))
    return Kernel(kmeans.newton_step, (points, centres), "kmeans", [points, centres], (n, k, d))


def of_gmm(n: int, k: int, d: int) -> Kernel:
    """The parameters in C++ are in one array after another."""
    rng = np.random.default_rng(0)
    shapes = {"alpha": (k,), "mu": (k, d), "q": (k, d), "l": (k, d * (d - 1) // 2)}
    parameters = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    x = np.concatenate((rng.normal(size=(d, n)), np.ones((1, n))))
    arrays = [*parameters.values(), np.ascontiguousarray(x[:-1].T)]
    gradient = sr.grad(gmm.log_posterior)
    return Kernel(lambda parameters, x: gradient(parameters, x, 0, 1.0), (parameters, x), "gmm", arrays, (n, k, d))


def of_ba(n: int, m: int, p: int) -> Kernel:
    """The values of the Jacobian: two rows for each observation, and the derivatives of the weights."""
    rng = np.random.default_rng(0)
    cameras, points = rng.normal(size=(11, n)) * 0.1, rng.normal(size=(3, m)) + np.array([[0.0], [0.0], [5.0]])
    weights, features = rng.normal(size=p), rng.normal(size=(2, p))
    observed = np.stack((rng.integers(0, n, p), rng.integers(0, m, p)))

    def values(cameras: Any, points: Any, weights: Any, features: Any, observed: Any) -> Any:
        by_camera, by_point = observed

        def errors(camera: Any, point: Any, weight: Any) -> Any:
            return ba.reprojection_errors(camera, point, weight, features)

        _, pullback = sr.vjp(errors, cameras[:, by_camera], points[:, by_point], weights)
        rows = [pullback(np.repeat(seed[:, None], p, axis=1)) for seed in np.eye(2)]
        return *rows, sr.elementwise_grad(ba.weight_error)(weights)

    args = cameras, points, weights, features, observed
    arrays = [cameras.T.copy(), points.T.copy(), weights, features.T.copy(), observed]
    return Kernel(values, args, "ba", arrays, (n, m, p))


def of_hand(points: int, has_places: bool) -> Kernel:
    """A hand with as many bones and vertices as GradBench's."""
    rng = np.random.default_rng(0)
    bones, vertices = 22, 544
    parents = [-1, 0, *[0 if i % 4 == 2 else i - 1 for i in range(2, bones)]]
    relatives, inverse = np.eye(4) + 0.1 * rng.normal(size=(2, bones, 4, 4))
    hand = ht.Hand(parents, relatives, inverse, rng.normal(size=(vertices, 4 * bones)), np.array([-1.0, 1.0, 1.0]))
    us = rng.uniform(size=(points, 2)) if has_places else None
    corners = rng.integers(0, vertices, (points, 3) if has_places else points)

    def jacobian(theta: Any, us: Any, corners: Any, measured: Any) -> Any:
        return ht.jacobian(theta, us, hand, corners, measured)

    theta = 0.3 * rng.normal(size=26)
    model = [relatives, inverse, hand.skin, hand.mirror, np.array(parents)]
    arrays = [theta, *model, np.zeros(1) if us is None else us, corners]
    args = theta, us, corners, rng.normal(size=(points, 3))
    return Kernel(jacobian, args, "ht", arrays, (points, bones, vertices, 28 if has_places else 26))


def layer(weight: Any, bias: Any, hidden: Any, cell: Any, x: Any) -> Any:
    """A layer of GradBench's LSTM as a `scan`."""
    (forget_w, in_w, out_w, change_w), (forget_b, in_b, out_b, change_b) = np.split(weight, 4), np.split(bias, 4)

    def step(state: Any, x: Any) -> Any:
        hidden, cell = state
        change = expit(hidden * in_w + in_b) * np.tanh(hidden * change_w + change_b)
        cell = cell * expit(x * forget_w + forget_b) + change
        hidden = expit(x * out_w + out_b) * np.tanh(cell)
        return (hidden, cell), hidden

    return sr.scan(step, (hidden, cell), x)[1]


def of_network(length: int) -> Kernel:
    rng = np.random.default_rng(0)
    layers, b = 2, 14
    parameters = rng.normal(size=(2 * layers, 4 * b)), rng.normal(size=(3, b))
    state, sequence = rng.normal(size=(2 * layers, b)), rng.normal(size=(length, b))
    arrays = [*parameters, state, sequence]

    def loss(parameters: Any, state: Any, sequence: Any) -> Any:
        return lstm.loss(parameters, state, sequence, layer)

    return Kernel(sr.grad(loss), (parameters, state, sequence), "lstm", arrays, (layers, length, b))


def last_element(x: Any, steps: Any) -> Any:
    """Runge and Kutta's method, where each element grows with the one before it."""
    h = 2.0 / steps

    def rate(y: Any) -> Any:
        return x * np.concatenate((np.ones(1), y[:-1]))

    def step(_: Any, y: Any) -> Any:
        k_1 = rate(y)
        k_2 = rate(y + h / 2 * k_1)
        k_3 = rate(y + h / 2 * k_2)
        k_4 = rate(y + h * k_3)
        return y + h / 6 * (k_1 + 2.0 * (k_2 + k_3) + k_4)

    return sr.fori_loop(0, steps, step, np.zeros(len(x)))[-1]


def of_ode(n: int, steps: int) -> Kernel:
    x = np.random.default_rng(0).uniform(0.5, 1.5, size=n) * np.arange(1, n + 1) / 2
    return Kernel(sr.grad(last_element), (x, steps), "ode", [x], (n, steps))


def oscillator(mu: Any, y: Any, steps: Any) -> Any:
    """Van der Pol's, by Runge and Kutta's method."""
    v, h = 0.5 * y, 0.001

    def rate(y: Any, v: Any) -> Any:
        return mu * (1.0 - y * y) * v - y

    i = 0
    while i < steps:
        b_1 = rate(y, v)
        v_2 = v + h / 2 * b_1
        b_2 = rate(y + h / 2 * v, v_2)
        v_3 = v + h / 2 * b_2
        b_3 = rate(y + h / 2 * v_2, v_3)
        v_4 = v + h * b_3
        b_4 = rate(y + h * v_3, v_4)
        y, v = y + h / 6 * (v + 2.0 * (v_2 + v_3) + v_4), v + h / 6 * (b_1 + 2.0 * (b_2 + b_3) + b_4)
        i = i + 1
    return y * y + v * v


def of_oscillator(steps: int) -> Kernel:
    gradient = sr.grad(oscillator, argnums=(0, 1))
    start = np.array([1.5, 0.7])
    return Kernel(gradient, (1.5, 0.7, steps), "rk4", [start], (steps,), (1.5, 0.7, 100) if steps > 10_000 else None)


def of_tree(nodes: int) -> Kernel:
    """The product of a tree's values, as in `native_trees.py`."""
    *children, values = tree(nodes)
    return Kernel(slope, (*children, values, 1.00001), "tree", [*children, values], (nodes,))


KERNELS: dict[str, Callable[[], Kernel]] = {
    **{f"det, {n} rows": lambda n=n: of_determinant(n) for n in (5, 6, 7)},
    "ba, 2,000 observations": lambda: of_ba(20, 500, 2000),
    "ht, 100 points": lambda: of_hand(100, False),
    "ht, 100 points on triangles": lambda: of_hand(100, True),
    "lstm, 2 layers, 1,024 steps": lambda: of_network(1024),
    "ode, 100 elements, 100 steps": lambda: of_ode(100, 100),
    "gmm, 1,000 points, k 5, d 10": lambda: of_gmm(1000, 5, 10),
    "kmeans, 1,000 points, k 10, d 8": lambda: of_kmeans(1000, 10, 8),
    "lse, 10,000": lambda: of_lse(10_000),
    "tree, 1 node": lambda: of_tree(1),
    **{f"tree, {n:,} nodes": lambda n=n: of_tree(n) for n in NODES},
    **{f"RK4, {steps:,} steps": lambda steps=steps: of_oscillator(steps) for steps in (1000, 100_000, 1_000_000)},
}
