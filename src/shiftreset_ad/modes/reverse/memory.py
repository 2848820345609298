"""Numbers whose arrays share memory, for programs that write to it.

A view, `x[1:]` or `x.T`, is a number of its own, whose array lies in the memory of `x`. As long as nobody writes there,
the view and `x` have an adjoint each. The way back through the view adds the adjoint of the view to the adjoint of `x`.

A write changes what all these numbers see, and so what their adjoints mean:

    y = x * 1.0             # `y` is the root: the number that owns the memory
    z = y[1:]               # a `Window` says where in the memory z lies
    y[1] = y[0]             # from here on, y has a `Memory`
    return np.sum(z)        # the adjoint of z goes into the part [1:] of the adjoint of the memory

Once the program has written, the memory has one adjoint. Each number that lies in the memory has the same view of this
adjoint. The way back through `y[1] = y[0]` takes element 1 of the adjoint, sets it to zero, and adds it to element 0.

An element that was overwritten, or never read, has a zero there that no infinite partial may turn into NaN
(`rules/masked.py`). So the memory also has a mask, which says which elements of its adjoint count.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.control import ControlError
from shiftreset_ad.modes.reverse.shells import Shell, is_large
from shiftreset_ad.numbers.memory import block_of
from shiftreset_ad.numbers.number import ZERO, Number, copied_part, in_memory, is_view, put, with_levels_of, zeros_alike
from shiftreset_ad.rules import LinearMap
from shiftreset_ad.rules.annotations import Adjoint, Cotangent
from shiftreset_ad.rules.broadcasting import dtype_of, is_complex, shape_of
from shiftreset_ad.rules.indexing import At, names_each_position_once, scatter, scatter_into, staged_part
from shiftreset_ad.rules.masked import Mask, Masked, marked, through
from shiftreset_ad.rules.stand_ins import is_staged


class Viewed:
    """Stands for the adjoint of a number that has views, while it is zero and nobody has written to the number."""

    __slots__ = ()

    def __add__(self, x_bar: Cotangent) -> Adjoint:
        """Add to the adjoint of an array without dimensions."""
        return x_bar


VIEWED = Viewed()


class Memory:
    """Stands for the adjoint of a number that owns a memory to which the program has written.

    `adjoint` belongs to the whole memory; it is a number if the elements are numbers, and None if it is zero. It counts
    where `mask` is True, and is zero elsewhere. `viewed`: there are views of the memory.
    """

    __slots__ = ("adjoint", "mask", "viewed")
    mask: Mask

    def __init__(self, viewed: bool) -> None:
        self.adjoint: Adjoint = None
        self.viewed = viewed

    def __add__(self, x_bar: Cotangent) -> Memory:
        """Add to the adjoint of an array without dimensions."""
        zeros = np.zeros((), dtype_of(x_bar)) if self.adjoint is None else self.adjoint
        self.adjoint, self.mask = with_levels_of(zeros, x_bar), np.ones((), bool)
        put(self.adjoint, ..., self.adjoint + x_bar)
        return self

    def stage_mask(self, staged: Any) -> None:
        """Have each replay of the steps make a mask of its own, if `staged` is a staged value."""
        if staged is not None and type(self.mask) is ndarray:
            self.mask = staged.adopt(self.mask)


class Window:
    """Stands for the adjoint of a view, as long as the view has none.

    `of` is the number that was viewed, and `root` is the number that owns the memory. The view is `of[index]`, or
    `linear_map(of)`.
    """

    __slots__ = ("index", "linear_map", "of", "root")

    def __init__(self, view: Any, of: Any, index: Any, linear_map: LinearMap | None) -> None:
        adjoint = of.adjoint
        self.of = of
        self.root: Any = adjoint.root if type(adjoint) is Window else of
        root = self.root
        self.index = index
        self.linear_map = linear_map
        if type(root) is Shell and not is_large(view):
            root.is_read = True  # operations on small arrays do not say what they read
        if type(root.adjoint) is Memory:
            root.adjoint.viewed = True
        else:
            root.adjoint = VIEWED

    @property
    def selects(self) -> bool:
        """Whether the view has the very elements of `of`, and none of them twice."""
        return self.linear_map is None or self.linear_map.selects

    def view(self, adjoint: Adjoint) -> Adjoint:
        """The part for the view, given the adjoint of `of`."""
        return adjoint[self.index] if self.linear_map is None else self.linear_map.pushforward(adjoint)

    def add(self, x_bar: Cotangent) -> None:
        """Add to the adjoint of the view, by adding to the adjoint of `of`."""
        if self.linear_map is None:
            at: Any = At(self.index, x_bar)
        elif type(x_bar) is Masked:
            at = through(self.linear_map, x_bar)
        else:
            at = self.linear_map.pullback(x_bar)
        index, y_bar = at if type(at) is At else (..., at)
        if type(y_bar) is Masked:
            add_at(self.of, index, y_bar.values, y_bar.mask)
        else:
            add_at(self.of, index, y_bar)

    def __add__(self, x_bar: Cotangent) -> Adjoint:
        """Add to the adjoint of a view without dimensions."""
        if not has_been_written(self.root):
            return x_bar
        self.add(x_bar)
        return self


PLACES = frozenset((Viewed, Memory, Window))
WITHOUT_ADJOINT = frozenset((float, Viewed, Memory, Window, Shell))


def window(y: Any, of: Any, index: Any, linear_map: LinearMap | None = None) -> Window | None:
    """The window for an answer with the value `y`, if `y` is a view of the value of the number `of`."""
    # An input that goes on with an adjoint from before can never be written to.
    if type(of.adjoint) in WITHOUT_ADJOINT and is_view(y, of.primal):
        return Window(y, with_elements(of) if type(of.adjoint) is Shell else of, index, linear_map)
    return None


def initial_adjoint(view: Any, active: Sequence[tuple[Any, LinearMap]]) -> Adjoint:
    """The first adjoint of an answer that holds the array `view`, a view of some array: a window if `view` is a view of
    an active operand, else ZERO.
    """
    for x, linear_map in active:
        place = window(view, x, None, linear_map)
        if place is not None:
            return place
    return ZERO


def root_of(x: Any) -> Any:
    """The number that owns the memory of `x`, or the shell of this number."""
    place = x.adjoint
    return place.root if type(place) is Window else place if type(place) is Shell else x


# What operations hold


def waiting(x: Any, is_read: bool = True) -> Any:
    """What an operation holds of its operand `x`: the shell of `x`, if `x` has one, or `x`.

    `is_read`: the operation reads the elements of `x` on the way back.
    """
    place = x.adjoint
    if type(place) is Shell:
        if is_read:
            place.is_read = True
        return place
    if is_read and type(place) is Window and type(place.root) is Shell:
        place.root.is_read = True
    return x


def with_elements(x: Any) -> Any:
    """What an operation holds of `x` if the memory of `x` is viewed, or written to: a shell has the elements, too."""
    shell = x.adjoint
    if type(shell) is not Shell:
        return x
    shell.primal = x.primal
    return shell


def is_selected(x: Any) -> bool:
    """Whether the array of `x` is a whole memory, or has the very elements of a part of one."""
    place = x.adjoint
    while type(place) is Window:
        if not place.selects:
            return False
        place = place.of.adjoint
    return True


def has_been_written(x: Any) -> bool:
    """Whether the program has written to the memory of `x`."""
    place = x.adjoint
    if type(place) is Window:
        place = place.root.adjoint
    elif type(place) is Shell:
        place = place.adjoint
    return type(place) is Memory


def has_views(x: Any) -> bool:
    """Whether the array of `x` is a view, or there are views of it."""
    if type(x.adjoint) is Window:
        return True
    adjoint = root_of(x).adjoint
    return adjoint.viewed if type(adjoint) is Memory else type(adjoint) is Viewed


def note_write(x: Any) -> Any:
    """Note that the program writes to the memory of `x`, and return the number that owns the memory, or its shell."""
    root = root_of(x)
    if type(root.adjoint) is not Memory:
        root.adjoint = Memory(type(root.adjoint) is Viewed)
        block = block_of(x)
        x.tag.written[id(block)] = weakref.ref(block)
    return root


# Writing


def part_of_adjoint(x: Any) -> Adjoint:
    """The adjoint of `x` as a view of the adjoint of its memory, which can be written to; None if it is zero."""
    adjoint = root_of(x).adjoint.adjoint
    return None if adjoint is None else part_of(adjoint, x)


def part_of(whole: Any, x: Any) -> Any:
    """The view for `x` of `whole`, which is the adjoint of its memory, or the mask of the memory."""
    if type(x.adjoint) is Memory:
        return whole
    part, windows = whole, []
    while type(x.adjoint) is Window:
        windows.append(x.adjoint)
        x = x.adjoint.of
    for window in reversed(windows):
        outer, part = part, window.view(part)
        if part is not outer and not is_view(part, outer):
            raise ControlError(
                "the program wrote to an array through a view, and the adjoint of the array has no such view; write to "
                "the array itself"
            )
    return part


def take_adjoint(x: Any, index: Any) -> Adjoint:
    """The part `index` of the adjoint of `x`; this part of the adjoint is zero from here on.

    None if nothing of the part counts, and `Masked` if only some of it counts.
    """
    memory = root_of(x).adjoint
    if memory.adjoint is None:
        return None
    memory.stage_mask(staged_part(index))
    counted = part_of(memory.mask, x)
    mask = counted[index]
    count = int(mask) if type(mask) is np.bool_ else None if is_staged(mask) else np.count_nonzero(mask)
    if count == 0:
        return None
    part = part_of(memory.adjoint, x)
    x_bar = copied_part(part, index)
    put(part, index, 0.0)
    if count != mask.size:
        x_bar = Masked(x_bar, copied_part(counted, index))
    # A real part shares its mask with the imaginary part, which still counts.
    if part is memory.adjoint or is_complex(part) == is_complex(memory.adjoint):
        counted[index] = False
    return x_bar


def add_at(x: Any, index: Any, y_bar: Cotangent, mask: Any = True) -> None:
    """Add `y_bar`, which counts where `mask` is True, to the part `index` of the adjoint of `x`.

    The program has written to the memory of `x`.
    """
    if not is_selected(x):
        if index is not ...:
            shape = shape_of(x.primal)
            y_bar, part_mask, mask = scatter([y_bar], [index], shape, dtype_of(x.primal)), mask, np.zeros(shape, bool)
            mask = marked(mask, index, part_mask)
        x.adjoint.add(y_bar if mask is True else Masked(y_bar, mask))
        return
    root = root_of(x)
    memory = root.adjoint
    if memory.adjoint is None:
        memory.adjoint = zeros_alike(root.primal)
        memory.mask = np.zeros_like(in_memory(memory.adjoint), bool)
    memory.adjoint = with_levels_of(memory.adjoint, y_bar)
    part = part_of(memory.adjoint, x)
    if type(part) is ndarray and not isinstance(y_bar, Number):
        scatter_into(part, index, y_bar)
    elif names_each_position_once(index):
        put(part, index, part[index] + y_bar)
    else:
        put(part, ..., part + scatter([y_bar], [index], shape_of(part), dtype_of(part)))
    memory.stage_mask(mask if is_staged(mask) else staged_part(index))
    counted = part_of(memory.mask, x)
    marks = marked(counted, index, mask)
    if marks is not counted:
        put(counted, ..., marks)
