"""Recursions over time on tensors of PyTorch: a recurrent pass, and the alignments of labellings.

Each step calls few of PyTorch's functions, as a graphics card has little to do in a step and waits for the next call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.array_api.libraries import from_numpy


def states(from_x: Any, w: Any, h: Any, goes_on: Any, is_tanh: bool) -> Any:
    """`scans.states_of` of tensors."""
    import torch

    activation = torch.tanh if is_tanh else torch.relu
    is_over = None if goes_on is None else ~on_device_of(from_x, goes_on)
    transposed, found = w.t(), []
    for t, x in enumerate(from_x.unbind()):
        h = activation(torch.addmm(x, h, transposed))
        h = h if is_over is None else h.masked_fill(is_over[t], 0.0)
        found.append(h)
    return torch.stack(found) if found else torch.empty_like(from_x)


def solved(slopes: Any, sources: Any, m: Any, z: Any, backwards: bool) -> Any:
    """`scans._solved` of tensors."""
    import torch

    steps = list(zip(slopes.unbind(), sources.unbind(), strict=True))
    found = []
    for slope, source in reversed(steps) if backwards else steps:
        z = slope * torch.addmm(source, z, m)
        found.append(z)
    if not found:
        return torch.empty_like(sources)
    return torch.stack(found[::-1] if backwards else found)


def on_device_of(tensor: Any, x: Any) -> Any:
    """An array of NumPy's as a tensor on the device of `tensor`, or a wrapped tensor."""
    import torch

    return from_numpy(x, torch, tensor.device) if isinstance(x, np.ndarray) else x.array


class Alignments:
    """The recursions of `alignments.py` for logarithms of probabilities at places: (time, batch, places).

    `has_time: (time, batch, 1)` tells which times there are; an alignment may begin at the places `first`, and end at
    the places `last`, of (batch, places). `none` is the logarithm of a probability that is as good as 0.
    """

    def __init__(self, at_places: Any, skips: Any, has_time: Any, first: Any, last: Any, none: float) -> None:
        import torch

        self.times = at_places.unbind()
        self.none, self.has_skips = none, at_places.shape[2] > 4
        self.first, self.last = on_device_of(at_places, first), on_device_of(at_places, last)
        self.has_time = None if has_time.all() else on_device_of(at_places, has_time)
        self.nothing = torch.full(self.first.shape, none, dtype=at_places.dtype, device=at_places.device)
        # Added to a logarithm, it leaves it, or makes it one of no probability.
        self.barrier = torch.zeros_like(self.nothing).masked_fill(~on_device_of(at_places, skips), none)

    def beginnings(self) -> Any:
        """For each time, the logarithms of the probabilities of all beginnings that are at each place then."""
        import torch

        alphas = [torch.where(self.first, self.times[0], self.nothing)]
        for t in range(1, len(self.times)):
            before = torch.nn.functional.pad(alphas[-1], (2, 0), value=self.none)
            alpha = torch.logaddexp(before[:, 2:], before[:, 1:-1])
            if self.has_skips:
                alpha = torch.logaddexp(alpha, before[:, :-2] + self.barrier)
            alphas.append(self._where_there(t, alpha + self.times[t], alphas[-1]))
        return torch.stack(alphas)

    def ends(self) -> Any:
        """For each time, the logarithms of the probabilities of all ends after it that go on from each place."""
        import torch

        pad = torch.nn.functional.pad
        betas = [torch.where(self.last, torch.zeros_like(self.nothing), self.nothing)]
        for t in range(len(self.times) - 1, 0, -1):
            after = betas[-1] + self.times[t]
            beta = torch.logaddexp(after, pad(after[:, 1:], (0, 1), value=self.none))
            if self.has_skips:
                beta = torch.logaddexp(beta, pad((after + self.barrier)[:, 2:], (0, 2), value=self.none))
            betas.append(self._where_there(t, beta, betas[-1]))
        return torch.stack(betas[::-1])

    def _where_there(self, t: int, x: Any, otherwise: Any) -> Any:
        return x if self.has_time is None else x.where(self.has_time[t], otherwise)
