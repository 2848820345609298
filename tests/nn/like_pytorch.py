"""Values and gradients are those of a function of PyTorch, on tensors and on arrays, by either's kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import nn


def assert_like_pytorch(ours: Any, of_torch: Any, *xs: Any, tolerance: float = 1e-9, joins: bool = False) -> None:
    """Compare `ours(*xs)` and its gradients with `of_torch(torch, *tensors)`.

    If `ours` joins its answers by functions of NumPy's, it takes no plain tensors, and its value is that of `vjp`.
    """
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    leaves = [torch.from_numpy(np.array(x)).requires_grad_() for x in xs]
    expected = of_torch(torch, *leaves)
    weights = np.random.default_rng(0).normal(size=tuple(expected.shape))
    (expected * torch.from_numpy(weights)).sum().backward()
    for library in ("numpy", "torch", "tensors"):
        given = [x.detach().clone() for x in leaves] if library == "tensors" else xs
        v = torch.from_numpy(weights) if library == "tensors" else weights
        with nn.kernels("numpy" if library == "numpy" else "torch"):
            y = sr.vjp(ours, *given)[0] if joins else ours(*given)
            gradients = sr.grad(lambda *xs, v=v: np.sum(ours(*xs) * v), argnums=tuple(range(len(xs))))(*given)
        assert isinstance(y, torch.Tensor) == (library == "tensors")
        np.testing.assert_allclose(y, expected.detach(), rtol=tolerance, atol=tolerance / 10)
        for found, leaf in zip(gradients, leaves, strict=True):
            assert isinstance(found, torch.Tensor) == (library == "tensors")
            np.testing.assert_allclose(found, leaf.grad, rtol=tolerance, atol=tolerance / 10)
