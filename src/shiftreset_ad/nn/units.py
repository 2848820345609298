"""A step of a simple recurrent network, and of a gated recurrent unit, as one operation each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shiftreset_ad.nn.calling import as_array, fused
from shiftreset_ad.nn.gates import relu_of, sigmoid_of
from shiftreset_ad.nn.kernels import chosen
from shiftreset_ad.nn.layers import linear, to_matrix
from shiftreset_ad.rules.broadcasting import shape_of, unbroadcast
from shiftreset_ad.rules.table import JointMap, structured

SOURCE, STATE, MATRIX, BIAS = range(4)  # the operands: what the input gives, the state, and what is done to the state


class Unit(JointMap):
    """The linear maps of the next state of (source, h, w, bias), for what the source and w h + bias give together."""

    __slots__ = ("h", "of_bias", "w")

    def __init__(self, h: Any, w: Any, bias: Any) -> None:
        self.h, self.w, self.of_bias = h, w, shape_of(bias)

    def from_source(self, direction: Any) -> Any:
        """The direction of the next state for one of the source."""
        raise NotImplementedError

    def from_product(self, direction: Any) -> Any:
        """The direction of the next state for one of w h + bias."""
        raise NotImplementedError

    def directly(self, h_dot: Any) -> Any:
        """The direction of the next state for one of the state, beside that through the product; None for zero."""
        return None

    def pushforward(self, operand: int, x_dot: Any) -> Any:
        """The direction of the next state."""
        if operand == SOURCE:
            return self.from_source(x_dot)
        if operand == STATE:
            y_dot, direct = self.from_product(linear(x_dot, self.w)), self.directly(x_dot)
            return y_dot if direct is None else y_dot + direct
        if operand == MATRIX:
            return self.from_product(linear(self.h, x_dot))
        return self.from_product(np.broadcast_to(x_dot, (*shape_of(self.h)[:-1], shape_of(self.w)[0])))

    def back(self, y_bar: Any) -> tuple[Any, Any]:
        """The cotangents of the source and of the product."""
        raise NotImplementedError

    def pullback(self, y_bar: Any, operands: Sequence[int]) -> list[Any]:
        """The cotangents of these operands."""
        to_source, to_product = self.back(y_bar)
        x_bars = []
        for operand in operands:
            if operand == SOURCE:
                x_bar = to_source
            elif operand == STATE:
                x_bar, direct = np.matmul(to_product, self.w), self.directly(y_bar)  # its own transpose
                x_bar = x_bar if direct is None else x_bar + direct
            elif operand == MATRIX:
                x_bar = to_matrix(to_product, self.h, self.w)
            else:
                x_bar = unbroadcast(to_product, self.of_bias)
            x_bars.append(x_bar)
        return x_bars


def _simple_by_steps(source: Any, h: Any, w: Any, bias: Any, is_tanh: bool) -> Any:
    y = source + linear(h, w, bias)
    return np.tanh(y) if is_tanh else relu_of(y, chosen())


class Simple(Unit):
    """The linear maps of tanh(source + w h + bias), or of relu."""

    __slots__ = ("is_tanh", "y")

    def __init__(self, source: Any, h: Any, w: Any, bias: Any, is_tanh: bool) -> None:
        super().__init__(h, w, bias)
        self.is_tanh, self.y = is_tanh, _simple_by_steps(source, h, w, bias, is_tanh)

    def from_source(self, direction: Any) -> Any:
        """The direction of the next state: the map is its own transpose."""
        y = self.y
        return (1.0 - y * y) * direction if self.is_tanh else np.where(y != 0, direction, 0.0)  # NaN is chosen, too

    from_product = from_source

    def back(self, y_bar: Any) -> tuple[Any, Any]:
        """One cotangent, of the source and of the product."""
        to_sum = self.from_source(y_bar)
        return to_sum, to_sum


@fused(4, _simple_by_steps)
def simple_step(source: Any, h: Any, w: Any, bias: Any, is_tanh: bool) -> Any:
    """The next state tanh(source + w h + bias) of a simple recurrent network, or relu in place of tanh."""
    return _simple_by_steps(source, h, w, bias, is_tanh)


@structured(simple_step, "source", "h", "w", "bias", kept=("h", "w"))
def _simple(source: Any, h: Any, w: Any, bias: Any, is_tanh: bool) -> Any:
    maps = Simple(source, h, w, bias, is_tanh)
    return maps.y, maps


class Gated(Unit):
    """The linear maps of a gated recurrent unit.

    The gates r and z are sigmoids of two thirds of the source and of the product, and the new state is
    n = tanh(n_x + r n_h), of the last thirds. The next state is n + z (h - n).
    """

    __slots__ = ("before", "n", "n_h", "opened", "r", "size", "z")

    def __init__(self, source: Any, h: Any, w: Any, bias: Any) -> None:
        super().__init__(h, w, bias)
        self.size = size = shape_of(w)[-1]
        both, last = (..., slice(2 * size)), (..., slice(2 * size, None))
        product = linear(h, w, bias)
        self.opened = opened = sigmoid_of(source[both] + product[both])
        self.r, self.z = opened[..., :size], opened[..., size:]
        self.n_h = product[last]
        self.n = np.tanh(source[last] + self.r * self.n_h)
        self.before = h - self.n

    def next(self) -> Any:
        """The next state."""
        return self.n + self.z * self.before

    def directly(self, h_dot: Any) -> Any:
        """The state itself is kept by the share z."""
        return self.z * h_dot

    def moved(self, direction: Any, n_dot: Any) -> Any:
        """The direction of the next state for one of the gates, and for one of n before its tanh, beside r n_h."""
        gates_dot = self.opened * (1.0 - self.opened) * direction[..., : 2 * self.size]
        r_dot, z_dot = gates_dot[..., : self.size], gates_dot[..., self.size :]
        return (1.0 - self.z) * (1.0 - self.n * self.n) * (n_dot + r_dot * self.n_h) + z_dot * self.before

    def from_source(self, direction: Any) -> Any:
        """The direction of the next state."""
        return self.moved(direction, direction[..., 2 * self.size :])

    def from_product(self, direction: Any) -> Any:
        """The direction of the next state, of which r has a share."""
        return self.moved(direction, self.r * direction[..., 2 * self.size :])

    def back(self, y_bar: Any) -> tuple[Any, Any]:
        """The cotangents of the source and of the product, which differ in the last third."""
        n_bar = y_bar * (1.0 - self.z) * (1.0 - self.n * self.n)
        slopes = self.opened * (1.0 - self.opened)
        gates_bar = slopes * np.concatenate([n_bar * self.n_h, y_bar * self.before], axis=-1)
        to_source, to_product = [np.concatenate([gates_bar, last], axis=-1) for last in (n_bar, n_bar * self.r)]
        return to_source, to_product


def _gated_by_steps(source: Any, h: Any, w: Any, bias: Any) -> Any:
    return Gated(source, h, w, bias).next()


@fused(4, _gated_by_steps)
def gated_step(source: Any, h: Any, w: Any, bias: Any) -> Any:
    """The next state of a gated recurrent unit, whose gates are in the order reset, update, new."""
    return _gated_by_steps(source, h, w, bias)


@structured(gated_step, "source", "h", "w", "bias", kept=("h", "w"))
def _gated(source: Any, h: Any, w: Any, bias: Any) -> Any:
    maps = Gated(source, h, w, bias)
    return maps.next(), maps


def fitting(name: str, gates: int, step: Callable[..., Any], source: Any, h: Any, w: Any, bias: Any) -> Any:
    """The next state by `step`, which gets source and state in one batch. ValueError if shapes do not fit."""
    h, w, bias = as_array(h), as_array(w), None if bias is None else as_array(bias)
    of_source, of_h, of_w = map(shape_of, (source, h, w))
    size = of_w[-1:]
    if of_h[-1:] != size or of_w != (*of_source[-1:], *size) or of_source[-1] != gates * size[0]:
        rows = "hidden" if gates == 1 else f"{gates} hidden"
        raise ValueError(
            f"nn.{name}: h has the shape {of_h}, w_hh {of_w}, and what x gives {of_source}; give h of (..., hidden), "
            f"w_ih of ({rows}, features), and w_hh of ({rows}, hidden)"
        )
    of_bias = () if bias is None else shape_of(bias)
    before = of_source[:-1]
    if before != of_h[:-1] or len(of_bias) > 1:
        before = np.broadcast_shapes(before, of_h[:-1], of_bias[:-1])
        source, h = np.broadcast_to(source, (*before, *of_source[-1:])), np.broadcast_to(h, (*before, *size))
    return step(source, h, w, bias)
