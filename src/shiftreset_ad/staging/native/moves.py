"""The functions that only rearrange elements, by their other arguments. They are carried out on offsets (`arrays`)."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from shiftreset_ad.rules.building import assemble
from shiftreset_ad.rules.numpy.shapes import repeated
from shiftreset_ad.staging.steps.functions import Attribute, Method, again, read_only

JOINS = {assemble, np.stack, np.concatenate, np.hstack, np.vstack, np.column_stack}
MOVES = {
    *(operator.getitem, np.reshape, np.transpose, np.swapaxes, np.moveaxis, np.expand_dims, np.squeeze, np.ravel),
    *(np.broadcast_to, np.copy, np.flip, np.roll, np.repeat, np.tile, np.take, np.diagonal, np.rot90),
    *(np.atleast_1d, np.atleast_2d, repeated, read_only, again, *JOINS),
}
METHODS = {
    "__copy__",
    "__deepcopy__",
    "reshape",
    "transpose",
    "swapaxes",
    "squeeze",
    "ravel",
    "copy",
    "flatten",
    "diagonal",
    "repeat",
    "take",
}


def is_move(function: Any) -> bool:
    """Whether a function only rearranges elements, by its other arguments."""
    if isinstance(function, Attribute):
        return function.__name__ in (METHODS if type(function) is Method else ("T", "mT"))
    return function in MOVES
