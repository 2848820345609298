"""The first element of a number that is not finite, at any level, and its description for messages."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.array_api import Standard
from shiftreset_ad.array_api.standard import standard
from shiftreset_ad.control import ControlError
from shiftreset_ad.modes.reverse.memory import PLACES, has_been_written, part_of_adjoint
from shiftreset_ad.modes.reverse.unsettled import Held
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.rules.masked import Masked

INEXACT = (float, complex, np.inexact, np.ndarray)


class Element(NamedTuple):
    """An element that is not finite, and the part of the number that has it: "" for the value, "tangent" and others."""

    part: str
    value: Any
    at: tuple[int, ...]

    def within(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Its index in a value of this shape. For many directions at once there is a stack of such values."""
        return self.at[len(self.at) - len(shape) :]

    def place(self, shape: tuple[int, ...]) -> str:
        """The element's index in a value of this shape, and its direction, in words; a scalar has no index."""
        index = self.within(shape)
        direction = f", in direction {self.at[0]} of many" if len(self.at) > len(shape) else ""
        return f" at index {index}{direction}" if index else direction


def parts(x: Any, part: str = "") -> Iterator[tuple[str, Any]]:
    """The plain values in a number, each with its name: "" for the value itself, "tangent" and others."""
    if isinstance(x, Number):
        slots = type(x).__slots__
        for name in ("primal", "rows"):
            if name in slots:
                yield from parts(getattr(x, name), part)
        if "tangent" in slots:
            yield from parts(x.tangent, of("tangent", part))  # type: ignore[attr-defined]
        if "coefficients" in slots:
            for k, coefficient in enumerate(x.coefficients):  # type: ignore[attr-defined]
                yield from parts(coefficient, of(f"Taylor coefficient {k}", part) if k else part)
    elif type(x) is Held:
        for held in (x.whole, *x.values, *x.factors):
            yield from parts(held, part)
    elif isinstance(x, list | tuple):
        for each in x:
            yield from parts(each, part)
    elif isinstance(x, INEXACT):
        yield part, x
    elif isinstance(x, Standard):
        yield part, x.to_numpy()
    elif hasattr(type(x), "__dlpack__"):  # an array of another library
        yield part, standard(x).to_numpy()


def adjoint_of(x: Any) -> Any:
    """The present adjoint of a number, on the way back; None if it is zero."""
    if type(x.adjoint) not in PLACES:
        return x.adjoint.values if type(x.adjoint) is Masked else x.adjoint
    try:
        return part_of_adjoint(x) if has_been_written(x) else None
    except ControlError:  # the adjoint cannot be reached, and code that needs it raises this error, too
        return None


def of(part: str, whole: str) -> str:
    """The name of a part of a part."""
    return f"{part} of the {whole}" if whole else part


def first_not_finite(x: Any) -> Element | None:
    """The first element of a number that is infinite or NaN."""
    for part, plain in parts(x):
        if type(plain) is float and math.isfinite(plain):
            continue
        if isinstance(plain, np.ndarray) and plain.dtype.kind not in "fc":
            continue
        finite = np.isfinite(plain)
        if not finite.all():
            index = tuple(int(i) for i in np.argwhere(~np.asarray(finite))[0])
            return Element(part, np.asarray(plain)[index], index)
    return None


def is_finite(x: Any) -> bool:
    """Whether there is no infinity and no NaN in a number."""
    return first_not_finite(x) is None


def element(x: Any, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """The element of `x` at the place that `index` has in a value of this shape; "" if `x` has no element there."""
    plain = next((plain for _, plain in parts(x)), x)
    try:
        return str(np.broadcast_to(plain, shape)[index])
    except (ValueError, IndexError):
        return ""
