"""The kernels of `native_kernels.py` by JAX, each as one function under `jax.jit`: a part of this script.

It runs on one thread, in double precision, with the same data and the same algorithm, and has its best case: the
arguments are arrays of JAX already, the hand of `ht` is constant, the numbers of rounds are known when a program is
compiled, and of several ways to write a kernel the fastest is here. Each call is waited for. Its dispatch is a part of
JAX's time, as the call from Python is a part of ours.

Trees are another program here. JAX has no recursion on indices that are data, so each round computes all nodes at once,
until the root is ready. There are as many rounds as the tree is high, so the derivative is that of forward mode.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from native_kernels_in_python import Kernel

from benchmarks.gradbench.evals.ba import SMALLEST
from benchmarks.gradbench.evals.det import places_in_rows
from benchmarks.gradbench.evals.ht import AXES, BONES

jax.config.update("jax_enable_x64", True)


def compiled(f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Callable[[], Any], float]:
    """A call that waits for its answer, and the seconds of the first one, which compiles. Integers are constants."""
    counts = [i for i, arg in enumerate(args) if isinstance(arg, int)]
    whole = jax.jit(f, static_argnums=counts)
    on_device = tuple(arg if i in counts else jax.device_put(arg) for i, arg in enumerate(args))
    start = time.perf_counter()
    answer = jax.block_until_ready(whole(*on_device))
    seconds = time.perf_counter() - start
    if isinstance(answer, jax.Array):  # whose own method takes less time
        return lambda: whole(*on_device).block_until_ready(), seconds
    return lambda: jax.block_until_ready(whole(*on_device)), seconds


def gradient_of(kernel: Kernel) -> Callable[..., Any]:
    """The gradient of a kernel, for the arguments that it has in Python."""
    return of_hand(*kernel.arrays[1:6]) if kernel.in_cpp == "ht" else GRADIENTS[str(kernel.in_cpp)]


def determinant(a: Any) -> Any:
    return of_all(a[:, :, None])[0] if len(a) < 7 else by_places(a)


def by_places(a: Any) -> Any:
    """As in `evals/det.py`: faster for 7 rows, and slower for fewer."""
    minors = jnp.ones(())
    for row, places in zip(a[::-1], places_in_rows(len(a)), strict=True):
        minors = jnp.sum(jnp.concatenate((row, -row))[places] * minors.reshape(-1, places.shape[1]), axis=1)
    return minors[0]


def of_all(a: Any) -> Any:
    """The determinants of matrices whose number is the last axis, by those of their minors, which have one axis."""
    size = len(a)
    if size == 2:
        return a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    minors = [jnp.concatenate((a[1:, :j], a[1:, j + 1 :]), axis=1) for j in range(size)]
    signs = (-1.0) ** np.arange(size)[:, None]
    return jnp.sum(signs * a[0] * of_all(jnp.concatenate(minors, axis=2)).reshape(size, -1), axis=0)


def log_sum_exp(x: Any) -> Any:
    """Along the first axis."""
    largest = lax.stop_gradient(jnp.max(x, axis=0))
    return jnp.log(jnp.sum(jnp.exp(x - largest), axis=0)) + largest


def newton_step(points: Any, centres: Any) -> Any:
    def cost(centres: Any) -> Any:
        fixed = lax.stop_gradient(centres)
        nearest = jnp.argmin(points @ (-2.0 * fixed.T) + jnp.sum(fixed * fixed, axis=1), axis=1)
        errors = points - centres[nearest]
        return jnp.sum(errors * errors)

    gradient, diagonal = jax.jvp(jax.grad(cost), (centres,), (jnp.ones_like(centres),))
    return gradient / diagonal


def log_posterior(parameters: Any, x: Any) -> Any:
    """What depends on the parameters, where `m` is 0 and `gamma` is 1, as in `native_kernels_in_python.py`."""
    alpha, mu, q, lower = (parameters[name] for name in ("alpha", "mu", "q", "l"))
    n, (k, d) = x.shape[1], mu.shape
    columns, rows = np.triu_indices(d, 1)
    factors = jnp.zeros((k, d, d)).at[:, rows, columns].set(lower)
    factors = factors.at[:, np.arange(d), np.arange(d)].set(jnp.exp(q))
    maps = jnp.concatenate((factors, -factors @ mu[:, :, None]), axis=2)
    whitened = (maps.reshape(k * d, d + 1) @ x).reshape(k, d, n)
    terms = (alpha + jnp.sum(q, axis=1))[:, None] - 0.5 * jnp.sum(whitened**2, axis=1)
    return jnp.sum(log_sum_exp(terms)) - n * log_sum_exp(alpha) - 0.5 * jnp.sum(factors**2)


def mixture(parameters: Any, x: Any) -> Any:
    """The gradient in the order of the parameters in C++."""
    gradient = jax.grad(log_posterior)(parameters, x)
    return [gradient[name] for name in ("alpha", "mu", "q", "l")]


def reprojection_errors(camera: Any, point: Any, weight: Any, feature: Any) -> Any:
    axis, place = camera[:3], point - camera[3:6]
    square = jnp.maximum(jnp.sum(axis * axis, axis=0), SMALLEST)
    angle = jnp.sqrt(square)
    cosine = jnp.cos(angle)
    along = jnp.sum(axis * place, axis=0) * ((1.0 - cosine) / square)
    x, y, z = place * cosine + jnp.cross(axis, place, axis=0) * (jnp.sin(angle) / angle) + axis * along
    seen = jnp.stack((x / z, y / z))
    radius = jnp.sum(seen * seen, axis=0)
    distortion = 1.0 + radius * (camera[9] + radius * camera[10])
    return weight * (seen * distortion * camera[6] + camera[7:9] - feature)


def adjustment(cameras: Any, points: Any, weights: Any, features: Any, observed: Any) -> Any:
    """Two pullbacks have all derivatives of the errors."""
    by_camera, by_point = observed

    def errors(camera: Any, point: Any, weight: Any) -> Any:
        return reprojection_errors(camera, point, weight, features)

    _, pullback = jax.vjp(errors, cameras[:, by_camera], points[:, by_point], weights)
    rows = [pullback(jnp.repeat(seed[:, None], len(weights), axis=1)) for seed in jnp.eye(2)]
    return *rows, jax.vmap(jax.grad(lambda weight: 1.0 - weight * weight))(weights)


def of_hand(relatives: Any, inverse: Any, skin: Any, mirror: Any, parents: Any) -> Callable[..., Any]:
    """The Jacobian as in `evals/ht.py`, but bones that are as far from the first one move by one product."""
    far = [0]
    for parent in parents[1:]:
        far.append(far[parent] + 1)
    levels = [[bone for bone, at in enumerate(far) if at == level] for level in range(max(far) + 1)]
    in_order = np.argsort(np.concatenate(levels))

    def rotation(turn: Any) -> Any:
        angle = jnp.sqrt(jnp.sum(turn * turn))

        def turned() -> Any:
            x, y, z = axis = turn / angle
            cross = jnp.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
            return jnp.eye(3) * jnp.cos(angle) + jnp.outer(axis, axis) * (1.0 - jnp.cos(angle)) + cross * jnp.sin(angle)

        return lax.cond(angle < 1e-4, lambda: jnp.eye(3), turned) * mirror

    def bone_rotations(angles: Any) -> Any:
        (sin_x, sin_z), (cos_x, cos_z) = jnp.sin(angles).T, jnp.cos(angles).T
        none = jnp.zeros(len(angles))
        rows = [[cos_z, -sin_z * cos_x, sin_z * sin_x], [sin_z, cos_z * cos_x, -cos_z * sin_x], [none, sin_x, cos_x]]
        return jnp.transpose(jnp.array(rows), (2, 0, 1))

    def moves(angles: Any) -> Any:
        turns = jnp.zeros((len(parents), 2)).at[BONES, AXES].set(angles.ravel())
        own = jnp.concatenate((relatives[:, :, :3] @ bone_rotations(turns), relatives[:, :, 3:]), axis=2)
        absolutes = [own[np.array(levels[0])]]
        for before, bones in pairwise(levels):
            of_parents = absolutes[-1][np.array([before.index(parents[bone]) for bone in bones])]
            absolutes.append(of_parents @ own[np.array(bones)])
        return jnp.transpose((jnp.concatenate(absolutes)[in_order] @ inverse)[:, :3], (0, 2, 1))

    def chosen(of_vertices: Any, us: Any, corners: Any) -> Any:
        if us is None:
            return of_vertices[corners]
        u, v = us.reshape(-1, 2, *[1] * (of_vertices.ndim - 1)).swapaxes(0, 1)
        a, b, c = corners.T
        return u * of_vertices[a] + v * of_vertices[b] + (1.0 - u - v) * of_vertices[c]

    def jacobian(theta: Any, us: Any, corners: Any, points: Any) -> Any:
        turn, angles = theta[:3], theta[6:].reshape(5, 4)

        def moved(shift: Any) -> Any:
            of_bones = moves(angles + shift)
            return of_bones, of_bones

        by_shift, of_bones = jax.jacfwd(moved, has_aux=True)(jnp.zeros(4))
        both = jnp.concatenate((of_bones[..., None], by_shift), axis=-1)
        wrist, fingers = skin[:, :8], np.swapaxes(skin[:, 8:].reshape(-1, 5, 16), 0, 1)
        parts = (fingers @ both[2:].reshape(5, 16, 15)).reshape(5, -1, 3, 5)
        places = wrist @ of_bones[:2].reshape(8, 3) + jnp.sum(parts[..., 0], axis=0)
        by_angle = chosen(jnp.transpose(parts[..., 1:], (1, 2, 0, 3)), us, corners).reshape(-1, 3, 20)
        columns = [
            jax.jacfwd(lambda turn: chosen(places, us, corners) @ rotation(turn).T)(turn),
            jnp.broadcast_to(jnp.eye(3), (len(by_angle), 3, 3)),
            rotation(turn) @ by_angle,
        ]
        if us is not None:
            of_shift = jax.jacfwd(lambda shift: chosen(places, us + shift, corners) @ rotation(turn).T)
            columns.insert(0, of_shift(jnp.zeros(2)))
        return -jnp.concatenate(columns, axis=-1).reshape(3 * len(by_angle), -1)

    return jacobian


def layer(weight: Any, bias: Any, hidden: Any, cell: Any, x: Any) -> Any:
    (forget_w, in_w, out_w, change_w), (forget_b, in_b, out_b, change_b) = jnp.split(weight, 4), jnp.split(bias, 4)
    sigmoid = jax.nn.sigmoid

    def step(state: Any, gates: Any) -> Any:
        (hidden, cell), (forget, out) = state, gates
        cell = cell * forget + sigmoid(hidden * in_w + in_b) * jnp.tanh(hidden * change_w + change_b)
        hidden = out * jnp.tanh(cell)
        return (hidden, cell), hidden

    gates = sigmoid(x * forget_w + forget_b), sigmoid(x * out_w + out_b)
    return lax.scan(step, (hidden, cell), gates, unroll=3)[1]


def network(parameters: Any, state: Any, sequence: Any) -> Any:
    layers, (in_weight, out_weight, out_bias) = parameters
    x = sequence[:-1] * in_weight
    for i in range(0, len(state), 2):
        x = layer(layers[i], layers[i + 1], state[i], state[i + 1], x)
    predicted = x * out_weight + out_bias
    total = jnp.log(jnp.sum(jnp.exp(predicted), axis=1, keepdims=True) + 2.0)
    return -jnp.mean(sequence[1:] * (predicted - total))


def last_element(x: Any, steps: int) -> Any:
    h = 2.0 / steps

    def rate(y: Any) -> Any:
        return x * jnp.concatenate((jnp.ones(1), y[:-1]))

    @jax.checkpoint
    def step(y: Any, _: Any) -> Any:
        k_1 = rate(y)
        k_2 = rate(y + h / 2 * k_1)
        k_3 = rate(y + h / 2 * k_2)
        k_4 = rate(y + h * k_3)
        return y + h / 6 * (k_1 + 2.0 * (k_2 + k_3) + k_4), None

    return lax.scan(step, jnp.zeros(len(x)), None, length=steps)[0][-1]


def oscillator(mu: Any, y: Any, steps: int) -> Any:
    h = 0.001

    def rate(y: Any, v: Any) -> Any:
        return mu * (1.0 - y * y) * v - y

    @jax.checkpoint
    def step(state: Any, _: Any) -> Any:
        y, v = state
        b_1 = rate(y, v)
        v_2 = v + h / 2 * b_1
        b_2 = rate(y + h / 2 * v, v_2)
        v_3 = v + h / 2 * b_2
        b_3 = rate(y + h / 2 * v_2, v_3)
        v_4 = v + h * b_3
        b_4 = rate(y + h * v_3, v_4)
        return (y + h / 6 * (v + 2.0 * (v_2 + v_3) + v_4), v + h / 6 * (b_1 + 2.0 * (b_2 + b_3) + b_4)), None

    y, v = lax.scan(step, (y, 0.5 * y), None, length=steps)[0]
    return y * y + v * v


def product(left: Any, right: Any, value: Any, x: Any) -> Any:
    """A number at the end is that of empty trees, whose index is -1."""

    def with_end(nodes: Any, end: Any) -> Any:
        return jnp.append(nodes, end)

    def compute_all(state: Any) -> Any:
        total, is_ready = state
        return with_end(total[left] * total[right] * value, x), with_end(is_ready[left] & is_ready[right], True)

    start = with_end(jnp.ones(len(value)), x), with_end(jnp.zeros(len(value), bool), True)
    return lax.while_loop(lambda state: ~state[1][0], compute_all, start)[0][0]


def slope(left: Any, right: Any, value: Any, x: Any) -> Any:
    return jax.jvp(lambda x: product(left, right, value, x), (x,), (1.0,))[1]


GRADIENTS: dict[str, Callable[..., Any]] = {
    "det": jax.grad(determinant),
    "ba": adjustment,
    "lstm": jax.grad(network),
    "ode": jax.grad(last_element),
    "gmm": mixture,
    "kmeans": newton_step,
    "lse": jax.grad(log_sum_exp),
    "tree": slope,
    "rk4": jax.grad(oscillator, argnums=(0, 1)),
}
