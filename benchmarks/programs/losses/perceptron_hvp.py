"""The Hessian of the loss of `perceptron`, times a vector."""

from __future__ import annotations

from benchmarks.programs.losses.perceptron import arguments, loss

DERIVATIVE = "hvp"

__all__ = ["DERIVATIVE", "arguments", "loss"]
