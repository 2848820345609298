"""The descents of `native_descents.py` by JAX: a part of this script. The same steps are taken, by `lax.while_loop`.

Decisions are about plain values here, too, so nothing is computed that only they need. JAX goes forward through a
`while_loop`, and not back. So `particle` has no outer derivative by reverse mode. `saddle` has one: JAX sees that the
inner descent does not depend on the point of the outer one, and has no derivatives to take through it, in either mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.gradbench.evals.descent import FIRST_STEP, LONGER_AFTER, SMALL
from benchmarks.gradbench.evals.particle import TIME_STEP

Gradient: TypeAlias = Callable[[Callable[[Any], Any]], Callable[[Any], Any]]

MODES: dict[str, Gradient] = {"f": jax.jacfwd, "r": jax.grad}


def length(x: Any) -> Any:
    x = lax.stop_gradient(x)
    return jnp.sqrt(jnp.sum(x * x))


def argmin(f: Callable[[Any], Any], start: Any, gradient_of: Gradient) -> Any:
    gradient = gradient_of(f)

    def goes_on(state: Any) -> Any:
        _, _, slope, _, _, is_short = state
        return (length(slope) > SMALL) & ~is_short

    def try_step(state: Any) -> Any:
        x, f_x, slope, step, in_a_row, _ = state
        is_time = in_a_row == LONGER_AFTER
        step, in_a_row = jnp.where(is_time, 2 * step, step), jnp.where(is_time, 0, in_a_row)
        lower = x - step * slope
        is_short = length(x - lower) <= SMALL
        f_lower = lax.stop_gradient(f(lower))
        is_better = (f_lower < f_x) & ~is_short
        x, f_x, slope = lax.cond(is_better, lambda: (lower, f_lower, gradient(lower)), lambda: (x, f_x, slope))
        return x, f_x, slope, jnp.where(is_better, step, step / 2), jnp.where(is_better, in_a_row + 1, 0), is_short

    first = start, lax.stop_gradient(f(start)), gradient(start), jnp.array(FIRST_STEP), jnp.array(0), jnp.array(False)
    return lax.while_loop(goes_on, try_step, first)[0]


def argmax(f: Callable[[Any], Any], start: Any, gradient_of: Gradient) -> Any:
    return argmin(lambda x: -f(x), start, gradient_of)


def payoff(x: Any, y: Any) -> Any:
    return jnp.sum(x * x) - jnp.sum(y * y)


def saddle(start: Any, outer: Gradient, inner: Gradient) -> Any:
    start = jnp.stack(start)

    def worst_case(x: Any) -> Any:
        return payoff(x, argmax(lambda y: payoff(x, y), start, inner))

    x = argmin(worst_case, start, outer)
    return jnp.concatenate((x, argmax(lambda y: payoff(x, y), start, outer)))


def particle(start: Any, outer: Gradient, inner: Gradient) -> Any:
    def miss(control: Any) -> Any:
        (w,) = control

        def potential(at: Any) -> Any:
            x, y = at
            return inverse_distance(x - 10.0, y - (10.0 - w)) + inverse_distance(x - 10.0, y)

        slope = inner(potential)

        def next_place(state: Any) -> Any:
            place, speed = state
            return place + TIME_STEP * speed

        def step(state: Any) -> Any:
            place, speed = state
            return next_place(state), speed - TIME_STEP * slope(place)

        first = jnp.array([0.0, 8.0]), jnp.array([0.75, 0.0])
        state = lax.while_loop(lambda state: next_place(state)[1] > 0.0, step, first)
        (x, y), (x_speed, y_speed) = next_place(state), state[1]
        crossing = x - y / y_speed * x_speed
        return crossing * crossing

    return argmin(miss, start[None], outer)[0]


def inverse_distance(x: Any, y: Any) -> Any:
    return 1.0 / jnp.sqrt(x * x + y * y)


def in_modes(name: str, modes: str) -> Callable[[Any], Any] | None:
    """The descent with these modes, outside and inside, or None where JAX would go back through a `while_loop`."""
    if (name, modes[0]) == ("particle", "r"):
        return None
    outer, inner = (MODES[mode] for mode in modes)
    solve = {"saddle": saddle, "particle": particle}[name]
    return lambda start: solve(start, outer, inner)
