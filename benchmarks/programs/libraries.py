"""How each library prepares a program: the value and the derivative, as functions without arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import optree

import shiftreset_ad as sr
from benchmarks.programs.catalogue import Program


@dataclass
class Prepared:
    """A program, ready to run in a library."""

    value: Callable[[], Any]
    derivative: Callable[[], Any]

    def leaves(self) -> list[np.ndarray]:
        """The derivative, as arrays of NumPy's, in the order of the parameters."""
        return [np.asarray(leaf) for leaf in optree.tree_leaves(self.derivative())]


def converted(tree: Any, array: Callable[[Any], Any], kinds: Any = np.ndarray) -> Any:
    """A structure whose leaves of these kinds are arrays of a library."""
    return optree.tree_map(lambda leaf: array(leaf) if isinstance(leaf, kinds) else leaf, tree)


def ours(program: Program) -> Prepared:
    p, v, data = program.parameters, program.direction, program.data

    def loss(p: Any, data: Any) -> Any:
        return program.loss_in_place(np, p, data)

    if program.wants_hvp:
        return Prepared(lambda: loss(p, data), lambda: sr.hvp(lambda p: loss(p, data), (p,), (v,)))
    gradient = sr.grad(loss)
    return Prepared(lambda: loss(p, data), lambda: gradient(p, data))


def staged(program: Program) -> Prepared:
    p, v, data = program.parameters, program.direction, program.data

    def loss(p: Any, data: Any) -> Any:
        return program.loss_in_place(np, p, data)

    if program.wants_hvp:
        product = sr.staged(lambda p, v, data: sr.hvp(lambda p: loss(p, data), (p,), (v,)))
        return Prepared(lambda: loss(p, data), lambda: product(p, v, data))
    gradient = sr.staged(sr.grad(loss))
    return Prepared(lambda: loss(p, data), lambda: gradient(p, data))


def of_autograd(program: Program) -> Prepared:
    import autograd
    import autograd.numpy as anp

    p, v, data = program.parameters, program.direction, program.data

    def loss(p: Any, data: Any) -> Any:
        return program.loss(anp, p, data)

    if program.wants_hvp:
        product = autograd.differential_operators.make_hvp(loss)
        return Prepared(lambda: loss(p, data), lambda: product(p, data)[0](v))
    gradient = autograd.grad(loss)
    return Prepared(lambda: loss(p, data), lambda: gradient(p, data))


def of_torch(program: Program) -> Prepared:
    import torch

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)

    def of_parameter(leaf: Any) -> Any:
        return torch.tensor(leaf, requires_grad=True)

    p = converted(program.parameters, of_parameter, float | np.ndarray)
    leaves, structure = optree.tree_flatten(p)
    v = optree.tree_leaves(converted(program.direction, torch.tensor, float | np.ndarray))
    data = converted(program.data, torch.tensor)

    def value() -> Any:
        return program.loss(torch, p, data)

    def gradient() -> Any:
        return structure.unflatten(torch.autograd.grad(value(), leaves))

    def product() -> Any:
        slopes = torch.autograd.grad(value(), leaves, create_graph=True)
        return structure.unflatten(torch.autograd.grad(slopes, leaves, v))

    return Prepared(lambda: value().item(), product if program.wants_hvp else gradient)


def of_jax(program: Program, compiled: bool = False) -> Prepared:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    p = converted(program.parameters, jnp.asarray, float | np.ndarray)
    v = converted(program.direction, jnp.asarray, float | np.ndarray)
    leaves, structure = optree.tree_flatten(converted(program.data, jnp.asarray))
    arrays = {i: leaf for i, leaf in enumerate(leaves) if isinstance(leaf, jax.Array)}

    def loss(p: Any, arrays: Any) -> Any:
        return program.loss(jnp, p, structure.unflatten(arrays.get(i, leaf) for i, leaf in enumerate(leaves)))

    gradient = jax.grad(loss)

    def product(p: Any, arrays: Any) -> Any:
        return jax.jvp(lambda p: gradient(p, arrays), (p,), (v,))[1]

    derivative = product if program.wants_hvp else gradient
    if compiled:
        derivative = jax.jit(derivative)
    return Prepared(lambda: loss(p, arrays), lambda: jax.block_until_ready(derivative(p, arrays)))


LIBRARIES: dict[str, Callable[[Program], Prepared]] = {
    "shiftreset_ad": ours,
    "staged": staged,
    "autograd": of_autograd,
    "PyTorch": of_torch,
    "JAX": of_jax,
    "JAX, compiled": lambda program: of_jax(program, compiled=True),
}
