"""How each library prepares a program: the value and the derivative, as functions without arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import optree

import shiftreset_ad as sr
from benchmarks.programs import memory
from benchmarks.programs.catalogue import Program


@dataclass
class Prepared:
    """A program, ready to run in a library; the peak of memory of its derivative is in bytes."""

    value: Callable[[], Any]
    derivative: Callable[[], Any]
    peak: Callable[[], int] | None = None

    def leaves(self) -> list[np.ndarray]:
        """The derivative, as arrays of NumPy's, in the order of the parameters."""
        return [np.asarray(leaf) for leaf in optree.tree_leaves(self.derivative())]


def converted(tree: Any, array: Callable[[Any], Any], kinds: Any = np.ndarray) -> Any:
    """A structure whose leaves of these kinds are arrays of a library."""
    return optree.tree_map(lambda leaf: array(leaf) if isinstance(leaf, kinds) else leaf, tree)


def of_functions(program: Program, loss: Any, gradient: Any, product: Any) -> Prepared:
    """A program by functions of arrays of NumPy's: of the parameters, perhaps a direction, and the data."""
    p, v, data = program.parameters, program.direction, program.data

    def derivative() -> Any:
        return product(p, v, data) if program.wants_hvp else gradient(p, data)

    return Prepared(lambda: loss(p, data), derivative, lambda: memory.traced(derivative))


def ours(program: Program, staged: bool = False) -> Prepared:
    def loss(p: Any, data: Any) -> Any:
        return program.loss_in_place(np, p, data)

    def product(p: Any, v: Any, data: Any) -> Any:
        return sr.hvp(lambda p: loss(p, data), (p,), (v,))

    gradient = sr.grad(loss)
    if staged:
        return of_functions(program, loss, sr.staged(gradient), sr.staged(product))
    return of_functions(program, loss, gradient, product)


def of_autograd(program: Program) -> Prepared:
    import autograd
    import autograd.numpy as anp

    def loss(p: Any, data: Any) -> Any:
        return program.loss(anp, p, data)

    def product(p: Any, v: Any, data: Any) -> Any:
        pullback, _ = autograd.differential_operators.make_hvp(loss)(p, data)
        return pullback(v)

    return of_functions(program, loss, autograd.grad(loss), product)


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

    derivative = product if program.wants_hvp else gradient
    return Prepared(lambda: value().item(), derivative, lambda: memory.of_torch(derivative))


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
    peak = (lambda: memory.of_jax(derivative, p, arrays)) if compiled else None
    return Prepared(lambda: loss(p, arrays), lambda: jax.block_until_ready(derivative(p, arrays)), peak)


LIBRARIES: dict[str, Callable[[Program], Prepared]] = {
    "shiftreset_ad": ours,
    "staged": lambda program: ours(program, staged=True),
    "autograd": of_autograd,
    "PyTorch": of_torch,
    "JAX": of_jax,
    "JAX, compiled": lambda program: of_jax(program, compiled=True),
}
