"""A minimum of maxima by gradients inside gradients, in each library, in one run: `python benchmarks/min_max.py`.

The program is the saddle point of Pearlmutter and Siskind (2008), section 5, with a term in which the players interact.
The one player descends on what the other player reaches by ascent, and the gradient goes through this ascent. The loops
have fixed numbers of steps, so that JAX can compile them. All libraries run the same loops on their own numbers, and
must give the same point. The times are processor time, which other work on the machine hardly lengthens. It needs JAX,
PyTorch and autograd; a library that is not installed is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from time import process_time
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from timing import best_of

from shiftreset_ad import grad, staged

OUTER, INNER, RATE = 10, 10, 0.2  # the steps of each player, and how long they are
ROUNDS = 10
SIZES = (100, 10_000)  # of the arrays, after the scalars

Point: TypeAlias = tuple[Any, ...]
Repeat: TypeAlias = Callable[[int, Callable[[Point], Point], Point], Point]


class Library(NamedTuple):
    """What the program needs of a library."""

    gradient: Callable[[Callable[..., Any], int], Callable[..., Point]]  # of a function, in so many arguments
    number: Callable[[Any], Any]
    total: Callable[[Any], Any]
    repeat: Repeat
    whole: Callable[[Callable[..., Any]], Callable[..., Any]]  # compiles the program, if the library does
    wait: Callable[[Any], Any] = lambda answer: answer


def looped(steps: int, step: Callable[[Point], Point], point: Point) -> Point:
    """A plain loop."""
    for _ in range(steps):
        point = step(point)
    return point


def as_it_is(f: Callable[..., Any]) -> Callable[..., Any]:
    """No compilation."""
    return f


def of_scalars(_: Library) -> Callable[..., Any]:
    """The payoff in four numbers: two of each player."""
    return lambda s, t, u, v: s**2 + t**2 + s * u + 0.5 * t * v - u**2 - v**2


def of_arrays(library: Library) -> Callable[..., Any]:
    """The payoff in two arrays: one of each player."""
    return lambda x, u: library.total(x**2 + 0.5 * x * u - u**2)


def saddle(library: Library, payoff: Callable[..., Any], start: Any, size: int) -> Callable[..., Point]:
    """The program: from the start of the first player, who has so many arguments, to where the player ends."""

    def best_reply(x: Point) -> Point:
        slopes = library.gradient(lambda *u: payoff(*x, *u), size)
        return library.repeat(
            INNER,
            lambda u: tuple(number + RATE * slope for number, slope in zip(u, slopes(*u), strict=True)),
            (library.number(start),) * size,
        )

    def worst(*x: Any) -> Any:
        return payoff(*x, *best_reply(x))

    def program(*x: Any) -> Point:
        slopes = library.gradient(worst, size)
        return library.repeat(
            OUTER, lambda x: tuple(number - RATE * slope for number, slope in zip(x, slopes(*x), strict=True)), x
        )

    return library.whole(program)


def all_arguments(gradient: Callable[..., Any]) -> Callable[[Callable[..., Any], int], Callable[..., Point]]:
    """The gradient in all arguments, of a library whose second argument says which."""
    return lambda f, size: gradient(f, tuple(range(size)))


def libraries() -> dict[str, Library]:
    """The libraries that are installed."""
    ours = Library(all_arguments(grad), lambda x: x, np.sum, looped, as_it_is)
    found = {"shiftreset_ad": ours, "shiftreset_ad, staged": ours._replace(whole=staged)}
    if find_spec("autograd"):
        import autograd
        import autograd.numpy

        found["autograd"] = ours._replace(gradient=all_arguments(autograd.grad), total=autograd.numpy.sum)
    if find_spec("torch"):
        import torch

        torch.set_num_threads(1)

        def tensor(x: Any) -> Any:
            return torch.as_tensor(x, dtype=torch.float64)

        found["torch.func"] = Library(all_arguments(torch.func.grad), tensor, torch.sum, looped, as_it_is)
    if find_spec("jax"):
        import jax
        import jax.numpy as jnp
        from jax import lax

        jax.config.update("jax_enable_x64", True)

        def compiled_loop(steps: int, step: Callable[[Point], Point], point: Point) -> Point:
            return lax.fori_loop(0, steps, lambda _, here: step(here), point)

        eager = Library(
            all_arguments(jax.grad), lambda x: jnp.asarray(x, float), jnp.sum, looped, as_it_is, jax.block_until_ready
        )
        found["JAX"] = eager
        found["JAX, compiled"] = eager._replace(repeat=compiled_loop, whole=jax.jit)
    return found


def measure(title: str, make_payoff: Callable[[Library], Callable[..., Any]], start: Any, size: int) -> None:
    """Run a game in each library, and print the times, and how many times ours is shorter."""
    programs, answers = {}, {}
    for name, library in libraries().items():
        program = saddle(library, make_payoff(library), start, size)
        x = (library.number(start),) * size
        programs[name] = lambda program=program, x=x, wait=library.wait: wait(program(*x))
        answers[name] = np.array([np.asarray(number) for number in programs[name]()])
    for name, answer in answers.items():
        np.testing.assert_allclose(answer, answers["shiftreset_ad"], rtol=1e-10, err_msg=name)
    times = best_of(ROUNDS, programs, process_time)
    print(title)
    for name, seconds in times.items():
        print(f"  {name:22} {1e3 * seconds:10.3f} ms   {seconds / times['shiftreset_ad']:8.3g} times ours")


def main() -> None:
    """Measure the game of scalars, and games of arrays."""
    measure("scalars", of_scalars, 1.0, 2)
    for size in SIZES:
        measure(f"arrays of {size:,} elements", of_arrays, np.linspace(0.5, 1.5, size), 1)


if __name__ == "__main__":
    main()
