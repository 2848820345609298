"""The alignments of labellings with times: minus the logarithm of their probability, by the forward recursion.

The derivative in the logarithm of the probability of a place at a time is minus the posterior probability that the
alignment is there, by the backward recursion (Graves et al., 2006). So the loss has a rule of its own, whose maps are
products with the posteriors; and these are differentiated as the compositions that they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.array_api.libraries import name_of_library
from shiftreset_ad.array_api.standard import Standard
from shiftreset_ad.nn.calling import fused
from shiftreset_ad.nn.torch_recursions import Alignments
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.table import LinearMap, structured


class Labelling(NamedTuple):
    """The places that alignments go through: blanks, with a label between any two.

    From place s, an alignment goes on to s or s + 1, and to s + 2 if that one `skips` a blank. All lengths are of
    (batch,).
    """

    skips: Any  # (batch, places)
    input_lengths: Any
    target_lengths: Any

    def has_time(self, t: int) -> Any:
        """Whether the inputs have the time `t`: (batch, 1)."""
        return (t < self.input_lengths)[:, None]

    def first(self) -> Any:
        """Where an alignment may begin: (batch, places)."""
        places = np.arange(self.skips.shape[1])
        return (places < np.where(self.target_lengths > 0, 2, 1)[:, None]) & self.has_time(0)

    def last(self) -> Any:
        """Where an alignment may end: (batch, places)."""
        places, end = np.arange(self.skips.shape[1]), 2 * self.target_lengths[:, None]
        return (places <= end) & (places >= np.maximum(end - 1, 0))


def never(dtype: Any) -> float:
    """The logarithm of a probability that is as good as 0: finite, so that no difference is NaN."""
    return float(np.finfo(dtype).min / 8)


def alignment_losses(at_places: Any, labelling: Labelling) -> Any:
    """Minus the logarithm of the probability of each labelling; beyond -never / 2 if it has none.

    `at_places: (time, batch, places)` are the logarithms of the probabilities of the places.
    """
    return _losses(at_places, *labelling)


def _by_recursion(at_places: Any, *labelling: Any) -> Any:
    alphas, labelling = _alphas(at_places, Labelling(*labelling)), Labelling(*labelling)
    return _at_the_end(alphas[-1], labelling, dtype_of(at_places))


def _alphas(at_places: Any, labelling: Labelling) -> list[Any]:
    """For each time, the logarithms of the probabilities of all beginnings that are at each place then."""
    time, *shape = shape_of(at_places)
    none = never(dtype_of(at_places))
    alpha = np.where(labelling.first(), at_places[0] if time else np.zeros(shape, dtype_of(at_places)), none)
    alphas = [alpha]
    for t in range(1, time):
        alpha = np.where(labelling.has_time(t), _moved(alpha, labelling.skips, none, 1) + at_places[t], alpha)
        alphas.append(alpha)
    return alphas


def _betas(at_places: Any, labelling: Labelling) -> list[Any]:
    """For each time, the logarithms of the probabilities of all ends after it that go on from each place."""
    time, none = shape_of(at_places)[0], never(dtype_of(at_places))
    beta = np.where(labelling.last(), np.zeros(1, dtype_of(at_places)), none)
    betas = [beta]
    for t in range(time - 1, 0, -1):
        beta = np.where(labelling.has_time(t), _moved(beta + at_places[t], labelling.skips, none, -1), beta)
        betas.append(beta)
    return betas[::-1]


def _moved(alpha: Any, skips: Any, none: float, step: int) -> Any:
    """The sums over the places before (`step` is 1) or after (-1) from which, or to which, one place leads."""
    total = np.logaddexp(alpha, _shifted(alpha, step, none))
    if shape_of(alpha)[1] < 5:
        return total
    skipping = (
        np.where(skips, _shifted(alpha, 2, none), none)
        if step > 0
        else _shifted(np.where(skips, alpha, none), -2, none)
    )
    return np.logaddexp(total, skipping)


def _shifted(alpha: Any, by: int, none: float) -> Any:
    """`alpha` of the places before, or after."""
    batch, places = shape_of(alpha)
    outside = np.full((batch, min(abs(by), places)), none, dtype_of(alpha))
    if places <= abs(by):
        return outside
    return np.concatenate([outside, alpha[:, :-by]] if by > 0 else [alpha[:, -by:], outside], axis=1)


def _at_the_end(alpha: Any, labelling: Labelling, dtype: Any) -> Any:
    none, (_, input_lengths, target_lengths) = never(dtype), labelling
    rows, last = np.arange(len(input_lengths)), 2 * target_lengths
    at_label = np.where(target_lengths > 0, alpha[rows, np.maximum(last - 1, 0)], none)
    # The empty input is an alignment of the empty labelling.
    of_nothing = np.where(target_lengths > 0, none, 0.0).astype(dtype)
    at_blank = np.where(input_lengths > 0, alpha[rows, last], of_nothing)
    return -np.logaddexp(at_label, at_blank)


def _posteriors(at_places: Any, *labelling: Any) -> Any:
    """The probability that the alignment is at each place: (time, batch, places); zero if there is none."""
    labelling, (time, batch, _) = Labelling(*labelling), shape_of(at_places)
    alphas, betas = _alphas(at_places, labelling), _betas(at_places, labelling)
    losses = _at_the_end(alphas[-1], labelling, dtype_of(at_places))
    there = (np.arange(time)[:, None] < labelling.input_lengths) & (losses <= -never(dtype_of(at_places)) / 2)
    losses = np.where(there[0], losses, 0.0) if time else losses
    paths = np.stack(alphas) + np.stack(betas) + np.reshape(losses, (1, batch, 1))
    return np.where(there[:, :, None], np.exp(np.where(there[:, :, None], paths, 0.0)), 0.0)


class _Plain:
    """The recursions of plain arrays, in place."""

    def __init__(self, at_places: Any, labelling: Labelling) -> None:
        self.at_places, self.labelling = at_places, labelling
        self.none = never(at_places.dtype)
        self.has_skips = at_places.shape[2] > 4
        # Added to a logarithm, it leaves it, or makes it one of no probability.
        self.barrier = np.where(labelling.skips, 0.0, self.none).astype(at_places.dtype)
        self.is_padded = bool((labelling.input_lengths < len(at_places)).any())
        self.alphas = self._alphas()
        self.losses = _at_the_end(self.alphas[-1], labelling, at_places.dtype)

    def _alphas(self) -> Any:
        time, batch, places = self.at_places.shape
        padded = np.full((time, batch, places + 2), self.none, self.at_places.dtype)
        alphas = padded[:, :, 2:]
        np.copyto(alphas[0], self.at_places[0], where=self.labelling.first())
        skipping = np.empty((batch, places), padded.dtype)
        for t in range(1, time):
            before, alpha = padded[t - 1], alphas[t]
            np.logaddexp(before[:, 2:], before[:, 1:-1], out=alpha)
            if self.has_skips:
                np.add(before[:, :-2], self.barrier, out=skipping)
                np.logaddexp(alpha, skipping, out=alpha)
            alpha += self.at_places[t]
            if self.is_padded:
                np.copyto(alpha, before[:, 2:], where=~self.labelling.has_time(t))
        return alphas

    def posteriors(self) -> Any:
        """As `_posteriors`."""
        time, batch, places = self.at_places.shape
        paths = self.alphas.copy()
        ahead = np.full((batch, places + 2), self.none, paths.dtype)
        after, skipping = ahead[:, :-2], np.full((batch, places + 2), self.none, paths.dtype)
        beta = np.where(self.labelling.last(), 0.0, self.none).astype(paths.dtype)
        paths[-1] += beta
        for t in range(time - 1, 0, -1):
            np.add(beta, self.at_places[t], out=after)
            total = np.logaddexp(after, ahead[:, 1:-1])
            if self.has_skips:
                np.add(after, self.barrier, out=skipping[:, :-2])
                np.logaddexp(total, skipping[:, 2:], out=total)
            if self.is_padded:
                np.copyto(total, beta, where=~self.labelling.has_time(t))
            beta = total
            paths[t - 1] += beta
        there = (np.arange(time)[:, None] < self.labelling.input_lengths) & (self.losses <= -self.none / 2)
        paths += np.where(there[0], self.losses, 0.0)[:, None]
        np.copyto(paths, -np.inf, where=~there[:, :, None])
        return np.exp(paths, out=paths)


class _OfTensors:
    """The recursions of tensors of PyTorch."""

    def __init__(self, at_places: Any, labelling: Labelling) -> None:
        self.like, self.labelling, self.none = at_places.like, labelling, never(dtype_of(at_places))
        times = np.arange(shape_of(at_places)[0])
        self.has_time = times[:, None] < labelling.input_lengths
        self.recursions = Alignments(
            *(at_places.array, labelling.skips, self.has_time[:, :, None]),
            *(labelling.first(), labelling.last(), self.none),
        )
        self.alphas = self.like(self.recursions.beginnings())
        self.losses = _at_the_end(self.alphas[-1], labelling, dtype_of(at_places))

    def posteriors(self) -> Any:
        """As `_posteriors`."""
        there = np.logical_and(self.has_time, self.losses <= -self.none / 2)
        paths = self.alphas + self.like(self.recursions.ends()) + np.where(there[0], self.losses, 0.0)[:, None]
        return np.exp(np.where(there[:, :, None], paths, -np.inf))


def _directly(at_places: Any, labelling: Labelling) -> _Plain | _OfTensors | None:
    """The recursions of an array or of a tensor; None for everything else."""
    if not shape_of(at_places)[0]:
        return None
    if type(at_places) is np.ndarray:
        return _Plain(at_places, labelling)
    if type(at_places) is Standard and name_of_library(at_places.xp) == "torch":
        return _OfTensors(at_places, labelling)
    return None


@fused(1, _by_recursion)
def _losses(at_places: Any, *labelling: Any) -> Any:
    direct = _directly(at_places, Labelling(*labelling))
    return _by_recursion(at_places, *labelling) if direct is None else direct.losses


@structured(_losses, kept=("at_places",))
def _differentiate(at_places: Any, skips: Any, input_lengths: Any, target_lengths: Any) -> Any:
    labelling = Labelling(skips, input_lengths, target_lengths)
    direct = _directly(at_places, labelling)
    found: list[Any] = []

    def posteriors() -> Any:
        if not found:
            found.append(_posteriors(at_places, *labelling) if direct is None else direct.posteriors())
        return found[0]

    return _losses(at_places, *labelling) if direct is None else direct.losses, (
        LinearMap(
            lambda dot: -np.sum(posteriors() * dot, axis=(0, 2)),
            lambda y_bar: -np.reshape(y_bar, (1, -1, 1)) * posteriors(),
        ),
    )
