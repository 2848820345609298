"""Connectionist temporal classification: the forward recursion over all alignments, in log space.

A labelling is extended by blanks: blank, first label, blank, second label, and so on. alpha_t(s) is the logarithm of
the probability of all alignments of the first t times that end at place s of the extended labelling (Graves et al.,
2006). The way back through this recursion is the backward recursion, and the way back through both gives second
derivatives, all exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.nn.alignments import Labelling, alignment_losses, never
from shiftreset_ad.nn.calling import as_array, of_any_library
from shiftreset_ad.nn.losses import reduced
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of


@of_any_library
def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """Minus the logarithm of the probability of each labelling, over all its alignments.

    `log_probs: (time, batch, classes)`; `targets: (batch, labels)`, integers padded with anything; `input_lengths` and
    `target_lengths: (batch,)`. "mean" divides each loss by the length of its labelling first, as in PyTorch. A
    labelling that has no alignment, as it is too long for its input, or whose alignments all have the probability zero,
    has the loss infinity, or 0 with `zero_infinity`; its gradient is zero. Raises ValueError if shapes do not fit, or
    for a label that is blank or no class, and TypeError for half precision, whose range is too small.

    >>> import numpy as np
    >>> log_probs = np.log(np.full((2, 1, 2), 0.5))
    >>> float(np.exp(-ctc_loss(log_probs, [[1]], [2], [1])))        # "11", "1-" and "-1", of four
    0.75
    """
    log_probs = as_array(log_probs)
    targets, input_lengths, target_lengths = _checked(log_probs, targets, input_lengths, target_lengths, blank)
    batch, labels = targets.shape
    extended = np.full((batch, 2 * labels + 1), blank)
    extended[:, 1::2] = targets
    # From place s - 2, if a blank is between two different labels.
    skips = np.zeros(extended.shape, bool)
    skips[:, 3::2] = targets[:, 1:] != targets[:, :-1]

    # At the time t, the logarithms of the probabilities at the places: (time, batch, places).
    at_places = np.take_along_axis(log_probs, np.broadcast_to(extended, (shape_of(log_probs)[0], *extended.shape)), 2)
    losses = alignment_losses(at_places, Labelling(skips, input_lengths, target_lengths))
    never_there = losses > -never(dtype_of(log_probs)) / 2
    losses = np.where(never_there, 0.0 if zero_infinity else np.inf, losses)
    if reduction == "mean":
        losses = losses / np.maximum(target_lengths, 1).astype(dtype_of(log_probs))
    return reduced("ctc_loss", losses, reduction)


def _checked(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int) -> tuple[Any, Any, Any]:
    """The labellings, padded with blanks, and the lengths, as plain arrays of integers."""
    shape = shape_of(log_probs)
    # Copies, as the way back needs them, and a program may write the next batch to the same arrays.
    targets, input_lengths, target_lengths = map(np.array, (targets, input_lengths, target_lengths))
    if len(shape) != 3 or targets.ndim != 2 or targets.shape[0] != shape[1] or targets.dtype.kind not in "iu":
        raise ValueError(
            f"nn.ctc_loss: log_probs has the shape {shape}, and targets {targets.shape} with dtype {targets.dtype}; "
            "give (time, batch, classes), and integers in the shape (batch, labels)"
        )
    for name, lengths, most in (
        ("input_lengths", input_lengths, shape[0]),
        ("target_lengths", target_lengths, targets.shape[1]),
    ):
        if lengths.shape != shape[1:2] or lengths.dtype.kind not in "iu" or ((lengths < 0) | (lengths > most)).any():
            raise ValueError(f"nn.ctc_loss: {name} is {lengths!r}; give {shape[1]} integers from 0 to {most}")
    if dtype_of(log_probs).kind != "f" or dtype_of(log_probs).itemsize < 4:
        raise TypeError(f"nn.ctc_loss: log_probs has dtype {dtype_of(log_probs)}; give float32 or float64")
    if not 0 <= blank < shape[2]:
        raise ValueError(f"nn.ctc_loss: blank is {blank}; give a class from 0 to {shape[2] - 1}")
    used = np.arange(targets.shape[1]) < target_lengths[:, None]
    if (used & ((targets < 0) | (targets >= shape[2]) | (targets == blank))).any():
        raise ValueError(f"nn.ctc_loss: targets are classes from 0 to {shape[2] - 1} other than the blank {blank}")
    return np.where(used, targets, blank), input_lengths, target_lengths
