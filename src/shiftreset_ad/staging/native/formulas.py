"""Functions that NumPy, or this library, carries out by other functions: the same ones, in the same order."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.rules.linalg.norms import length
from shiftreset_ad.rules.numpy.accumulations import running_product
from shiftreset_ad.rules.numpy.choosing import clipped
from shiftreset_ad.rules.numpy.statistics import all_equal
from shiftreset_ad.rules.sums_of_exponentials import is_scipys, largest, log_of_sum, logsumexp_of
from shiftreset_ad.staging.native.accumulations import accumulate, decide
from shiftreset_ad.staging.native.layouts import Layout
from shiftreset_ad.staging.native.llvm import TRUTH, Value, refuse
from shiftreset_ad.staging.native.loops import Operand, Round, operand
from shiftreset_ad.staging.native.mathematics import CLIP
from shiftreset_ad.staging.steps.functions import method, name_in_program
from shiftreset_ad.staging.steps.values import unstaged

LATER_AND_EARLIER = slice(1, None), slice(None, -1)
Formula = Callable[[Any], None]  # of the step that is being written (`arrays`)


def _clipped(step: Any) -> None:
    x, lowest, highest = step.args
    step.becomes(np.minimum, step.made(np.maximum, x, lowest), highest)


def _clip(step: Any) -> None:
    """A bound that is None does not count."""
    options = dict(zip(("a_min", "a_max"), step.args[1:], strict=False)) | dict(step.kwargs)
    lowest, highest = (options.pop(name, options.pop(f"a_{name}", None)) for name in ("min", "max"))
    if options or (lowest is None and highest is None):
        refuse("numpy.clip has options")
    if lowest is None or highest is None:
        ufunc, bound = (np.maximum, lowest) if highest is None else (np.minimum, highest)
        step.becomes(ufunc, step.args[0], bound)
    else:
        step.becomes(CLIP, step.args[0], lowest, highest)


def _rounded(step: Any) -> None:
    if step.options("decimals", "out").pop("decimals", 0) != 0:
        refuse("numpy.round to decimals has no native form")
    step.becomes(np.rint, step.args[0])


def _variance(root: bool) -> Formula:
    """The mean of the squares of the deviations from the mean, or its root."""

    def write(step: Any) -> None:
        x = step.array(step.args[0])
        options = step.options("axis", "dtype", "out")
        keepdims, ddof = bool(options.pop("keepdims", False)), options.pop("ddof", 0)
        axes = axes_of(options.pop("axis", None), len(x.layout.shape))
        freedom = math.prod(x.layout.shape[axis] for axis in axes) - ddof
        if options.pop("dtype", np.float64) != np.float64 or options or freedom <= 0:
            refuse(f"{name_in_program(step.function)} has options")
        mean = step.made(np.mean, step.args[0], axis=axes, keepdims=True)
        squares = step.made(np.square, step.made(np.subtract, step.args[0], mean))
        total = step.made(np.sum, squares, axis=axes, keepdims=keepdims)
        if root:
            step.becomes(np.sqrt, step.made(np.divide, total, float(freedom)))
        else:
            step.becomes(np.divide, total, float(freedom))

    return write


def _norm(step: Any) -> None:
    options = step.options("ord", "axis", "keepdims")
    ndim = len(step.array(step.args[0]).layout.shape)
    axes = axes_of(options.pop("axis", None), ndim)
    order = options.pop("ord", None)
    if order is not None and (order != 2 or len(axes) > 1):
        refuse("numpy.linalg.norm has options")
    step.becomes(length, step.args[0], axes, options.pop("keepdims", False))


def _length(step: Any) -> None:
    given, axes, keepdims = step.args
    x = step.array(given)
    if len(axes) < len(x.layout.shape):
        step.becomes(np.sqrt, step.made(np.sum, step.made(np.multiply, given, given), axis=axes, keepdims=keepdims))
        return
    vector = step.known_at(x.address, np.empty(_in_one_row(step, x).layout.shape))
    step.becomes(np.sqrt, step.made(np.matmul, vector, vector))


def _in_one_row(step: Any, x: Operand, is_in_order: bool = False) -> Operand:
    """All elements as a vector, in the order in which they lie in memory."""
    layout = x.layout
    has_gaps = not (layout.is_in_order if is_in_order else layout.is_dense) or min(layout.strides) < 0
    if has_gaps:
        refuse(f"{name_in_program(step.function)} of an array in another order has no native form")
    return x._replace(layout=Layout((layout.size,), (layout.itemsize,), layout.itemsize))


def _are_equal(step: Any) -> None:
    """Whether the greatest and the least element along axes are the same."""
    x, axes, where = step.args
    if where is not True:
        refuse("a deviation of chosen elements has no native form")
    sides = {key: step.array(step.made(of, x, axis=axes, keepdims=True)) for key, of in (("x", np.max), ("y", np.min))}
    turn = Round(step.code, step.answer.shape, sides, {"answer": operand(step.out, step.answer)})
    same = turn.new(f"fcmp oeq double {turn.element('x').text}, {turn.element('y').text}")
    turn.store("answer", Value(same, TRUTH))
    turn.write()


def _largest(step: Any) -> None:
    x, shape, axes = step.args
    if step.array(x).layout.shape != shape:
        refuse("scipy.special.logsumexp with weights has no native form")
    step.becomes(np.max, x, axis=axes, keepdims=True)


def _log_of_sum(step: Any) -> None:
    """It leaves where an answer is not finite: there SciPy has another formula."""
    x, options = step.array(step.args[0]), step.options("axis", "b", "keepdims", "return_sign")
    axes = axes_of(options.pop("axis", None), len(x.layout.shape))
    if any(options[name] is not False for name in options if name != "keepdims") or not x.layout.is_in_order:
        refuse("scipy.special.logsumexp has options")
    if not is_scipys():
        refuse("scipy.special.logsumexp has another formula in this SciPy")
    found = log_of_sum(step.made, step.args[0], axes)
    is_finite = step.made(np.all, step.made(np.isfinite, found))
    step.code.leave_if(step.code.new(f"icmp eq i8 {step.code.new(f'load i8, ptr {step.address(is_finite)}')}, 0"))
    step.becomes(np.positive, step.known_at(step.address(found), np.empty(step.answer.shape or 1)))


def _accumulated(ufunc: np.ufunc, default: int | None = None) -> Formula:
    def write(step: Any) -> None:
        x, options = step.array(step.args[0]), step.options("axis", "dtype", "out")
        axis = options.pop("axis", default)
        if options.pop("dtype", np.float64) != np.float64 or options:
            refuse(f"{name_in_program(step.function)} has options")
        if axis is None and len(x.layout.shape) > 1:
            x = _in_one_row(step, x, is_in_order=True)
        axis = 0 if axis is None else axis % len(x.layout.shape)
        accumulate(step.code, ufunc, x, axis, operand(step.out, step.answer))

    return write


def _decided(is_all: bool) -> Formula:
    def write(step: Any) -> None:
        x, options = step.truths(step.args[0]), step.options("axis", "out", "keepdims")
        options.pop("keepdims", None)
        axes = axes_of(options.pop("axis", None), len(x.layout.shape))
        if options:
            refuse(f"{name_in_program(step.function)} has options")
        decide(step.code, is_all, x, set(axes), operand(step.out, step.answer))

    return write


def _reduced(function: Any) -> Formula:
    """`ufunc.reduce`, which goes along the first axis if none is given."""

    def write(step: Any) -> None:
        options = step.options("axis", "dtype", "out")
        if not {"axis", "keepdims"}.issuperset(options) or ("axis" in dict(step.kwargs) and "axis" not in options):
            refuse(f"{name_in_program(step.function)} has options")
        step.becomes(function, step.args[0], **{"axis": 0, **options})

    return write


def _range(step: Any) -> None:
    """The greatest element less the least one."""
    options = step.options("axis", "out")
    step.becomes(np.subtract, *[step.made(of, step.args[0], **options) for of in (np.max, np.min)])


def _differences(step: Any) -> None:
    options = step.options("n", "axis", "prepend", "append")
    x, axis = step.array(step.args[0]), options.pop("axis", -1)
    if options.pop("n", 1) != 1 or options:
        refuse("numpy.diff has options")
    before = (slice(None),) * (axis % len(x.layout.shape))
    later, earlier = [step.made(operator.getitem, step.args[0], (*before, part)) for part in LATER_AND_EARLIER]
    step.becomes(np.subtract, later, earlier)


def _trace(step: Any) -> None:
    """The sum of the diagonal."""
    if len(step.args) > 1 or step.kwargs:
        refuse("numpy.trace has options")
    step.becomes(np.sum, step.made(np.diagonal, step.args[0]), axis=-1)


def _dot(step: Any) -> None:
    """The bits of `@` for vectors and for matrices without gaps: NumPy copies others before."""
    _require_read_in_place(step)
    step.becomes(np.matmul, *step.args)


def _inner(step: Any) -> None:
    """The product with the transposed second matrix."""
    _require_read_in_place(step)
    x, y = step.args
    if len(step.array(y).layout.shape) > 1:
        y = step.known_at(step.address(y), unstaged(y).T)
    step.becomes(np.matmul, x, y)


def _vdot(step: Any) -> None:
    """The product of all elements of one array with those of the other."""
    _require_read_in_place(step)
    rows = [_in_one_row(step, step.array(x), is_in_order=True) for x in step.args]
    step.becomes(np.matmul, *[step.known_at(x.address, np.empty(x.layout.shape)) for x in rows])


def _require_read_in_place(step: Any) -> None:
    layouts = [step.array(x).layout for x in step.args]
    if len(layouts) != 2 or step.kwargs or not all(map(_is_read_in_place, layouts)):
        refuse(f"{name_in_program(step.function)} of these arrays has no native form")


def _is_read_in_place(layout: Layout) -> bool:
    """Whether NumPy's product reads a vector, or a matrix, where it lies."""
    dimensions = len(layout.shape)
    return min(layout.strides) > 0 and (dimensions == 1 or (dimensions == 2 and layout.is_dense))


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes of a reduction."""
    if axis is None:
        return tuple(range(ndim))
    return tuple(int(a) % ndim for a in (axis if type(axis) is tuple else (axis,)))


BY_NAME: dict[Any, Formula] = {
    np.var: _variance(root=False),
    np.std: _variance(root=True),
    np.cumsum: _accumulated(np.add),
    np.cumprod: _accumulated(np.multiply),
    np.any: _decided(is_all=False),
    np.all: _decided(is_all=True),
    np.round: _rounded,
    np.clip: _clip,
    np.ptp: _range,
    np.trace: _trace,
    np.dot: _dot,
}
FORMULAS: dict[Any, Formula] = {
    **BY_NAME,
    **{method(function.__name__): formula for function, formula in BY_NAME.items()},
    clipped: _clipped,
    length: _length,
    np.linalg.norm: _norm,
    np.diff: _differences,
    np.inner: _inner,
    np.vdot: _vdot,
    np.add.reduce: _reduced(np.sum),
    np.multiply.reduce: _reduced(np.prod),
    np.maximum.reduce: _reduced(np.max),
    np.minimum.reduce: _reduced(np.min),
    largest: _largest,
    logsumexp_of: _log_of_sum,
    all_equal: _are_equal,
    running_product: _accumulated(np.multiply, -1),
}
