"""The code of each step on arrays of known shapes: NumPy's loops, sums, products of matrices, and moves of elements.

A view is an address. What rearranges elements is carried out once on their offsets, which tells where each goes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.indexing import replaced, scatter
from shiftreset_ad.staging.native.extremes import SEARCHES, are_equal, search
from shiftreset_ad.staging.native.formulas import FORMULAS, axes_of
from shiftreset_ad.staging.native.fusion import CONVERSIONS, FILLED, Fusion, Member
from shiftreset_ad.staging.native.indexing import is_at_values, part_at
from shiftreset_ad.staging.native.layouts import (
    Layout,
    broadcast,
    in_memory_order,
    is_view,
    layout_of,
)
from shiftreset_ad.staging.native.llvm import (
    ARRAY,
    DOUBLE,
    INTEGER,
    TRUTH,
    Code,
    Value,
    described,
    form_of,
    is_table,
    refuse,
)
from shiftreset_ad.staging.native.loops import Operand, Round, copy, operand
from shiftreset_ad.staging.native.mathematics import call_on_arrays, require_doubles
from shiftreset_ad.staging.native.moves import JOINS, MOST_MOVES, MOVES, Part, copies, is_move, is_plain
from shiftreset_ad.staging.native.operations import OPERATIONS
from shiftreset_ad.staging.native.positions import Positions, gather, has_arrays, positions
from shiftreset_ad.staging.native.products import contract, multiply, outer
from shiftreset_ad.staging.native.recipes import Target, write_by_recipe
from shiftreset_ad.staging.native.reductions import divide, lengths_of, reduce
from shiftreset_ad.staging.native.restated import restated
from shiftreset_ad.staging.native.scattering import write_scatter
from shiftreset_ad.staging.python.keys import key_of
from shiftreset_ad.staging.steps.functions import method, name_in_program
from shiftreset_ad.staging.steps.trace import Step, Trace
from shiftreset_ad.staging.steps.values import is_staged, unstaged

OF_A_STEP = -1  # the place of an array that only one step needs; it is that of no value
SUMS: dict[Any, tuple[np.ufunc, float | None, bool]] = {  # the ufunc, its identity, and whether it is a mean
    np.sum: (np.add, 0.0, False),
    np.mean: (np.add, 0.0, True),
    np.prod: (np.multiply, 1.0, False),
    np.max: (np.maximum, None, False),
    np.min: (np.minimum, None, False),
}
BY_METHOD: dict[Any, Any] = {method(function.__name__): entry for function, entry in SUMS.items()}
WITH_FORM = {
    *(*SUMS, *BY_METHOD, *SEARCHES, *FORMULAS, *OPERATIONS, *FILLED, *CONVERSIONS, operator.getitem, operator.pow),
    *(operator.matmul, np.outer, np.tensordot, np.array_equal, scatter, replaced),
}
Store = Callable[[int, ndarray[Any, Any]], str]  # of a place: the address of the block for its array


def emit(code: Code, step: Step, args: tuple[Any, ...], answer: Any, address: Callable[[Any], str], new: Store) -> None:
    """Write the code of a step on arrays that is neither elementwise nor a view.

    `address` gives the address of an array, and `new` that of a new block for an answer.
    """
    function = step.function
    if form_of(answer) is None or (step.kwargs and is_staged(list(step.kwargs.values()))):
        refuse(f"{name_in_program(function)} gives {described(answer)}")
    if (
        form_of(answer) != ARRAY
        and function is operator.getitem
        and (is_at_values(step) or is_table(unstaged(args[0])))
    ):
        array, form = unstaged(args[0]), form_of(answer)
        if (array.dtype, form) not in ((np.int64, INTEGER), (np.float64, DOUBLE), (np.bool, TRUTH)):
            refuse(f"{name_in_program(function)} takes {described(array)}")
        start, offset, _ = part_at(code, address(args[0]), array, args[1])
        element = code.new(f"getelementptr i8, ptr {start}, i64 {offset}")
        text = code.new(f"load {'i8' if form == TRUTH else form}, ptr {element}, align 1")
        code.known[step.place] = Value(code.new(f"trunc i8 {text} to i1") if form == TRUTH else text, f"{form}")
        return
    if function is np.array_equal and {"equal_nan"}.issuperset(step.kwargs) and len(args) == 2:
        sides = [operand(address(x), unstaged(x)) for x in args if form_of(unstaged(x)) == ARRAY]
        if len(sides) < 2 or {x.form for x in sides} != {DOUBLE} or sides[0].layout.shape != sides[1].layout.shape:
            refuse(f"{name_in_program(function)} of these values has no native form")
        code.known[step.place] = Value(are_equal(code, sides[0], sides[1], bool(step.kwargs.get("equal_nan"))), TRUTH)
        return
    if form_of(answer) == INTEGER and function not in SEARCHES:
        refuse(f"{name_in_program(function)} gives {described(answer)}")
    out = new(step.place, np.asarray(answer))
    to = Target(code, out, address, lambda x: new(-1 - next(code.names), x))
    write_by_recipe(step, args, answer, to, lambda to: _Step(function, args, step.kwargs, answer, *to).write())
    if form_of(answer) == TRUTH:
        code.known[step.place] = Value(code.new(f"trunc i8 {code.new(f'load i8, ptr {out}')} to i1"), TRUTH)
    elif (form := form_of(answer)) != ARRAY:
        code.known[step.place] = Value(code.new(f"load {form}, ptr {out}"), f"{form}")


def has_no_form(step: Step, trace: Trace) -> str | None:
    """Why no step with such a function on arrays has a native form; None if that is not known beforehand."""
    answer = trace.values[step.place] if type(step) is Step and not step.writes and not step.is_question else None
    if form_of(answer) != ARRAY:
        return None
    function = restated(step).function
    if isinstance(function, np.ufunc) or function in WITH_FORM or is_move(function):
        return None
    if any(is_view(answer, unstaged(x)) for x in step.args):
        return None
    name = name_in_program(function)
    return f"{name} has options" if step.kwargs else f"{name} of arrays has no native form"


class _Step:
    """A step on arrays that is being written."""

    def __init__(
        self,
        function: Any,
        args: tuple[Any, ...],
        kwargs: Any,
        answer: Any,
        code: Code,
        out: str,
        address: Callable[[Any], str],
        aside: Callable[[ndarray[Any, Any]], str],
    ) -> None:
        self.code = code
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.answer = np.asarray(answer)
        self.out = out
        self.address = address
        self.aside = aside

    def array(self, x: Any) -> Operand:
        """An array of floats among the arguments."""
        value = unstaged(x)
        if form_of(value) != ARRAY or value.dtype != np.float64:
            refuse(f"{name_in_program(self.function)} takes {described(value)}")
        return operand(self.address(x), value)

    def like_the_answer(self, x: Any) -> Operand:
        """A source of elements that are those of the answer: an array of other elements than floats, or as in `any`."""
        value = unstaged(x)
        if self.answer.dtype != np.float64 and form_of(value) == ARRAY and value.dtype == self.answer.dtype:
            return operand(self.address(x), value)
        return self.any(x)

    def number(self, x: Any) -> Operand:
        """A number among the arguments, in memory."""
        at = self.aside(np.zeros(1))
        self.code.lines.append(f"  store double {self.code.double(x)}, ptr {at}")
        return Operand(at, Layout((), (), 8), DOUBLE)

    def any(self, x: Any) -> Operand:
        """An array of floats or a number among the arguments."""
        return self.array(x) if form_of(unstaged(x)) == ARRAY else self.number(x)

    def truths(self, x: Any) -> Operand:
        """An array of floats or of booleans among the arguments."""
        value = unstaged(x)
        if form_of(value) == ARRAY and value.dtype == np.bool:
            return operand(self.address(x), value)
        return self.array(x)

    def write(self) -> None:
        """Write the code, by the function of the step."""
        function = self.function
        if function in SUMS or function in BY_METHOD:
            self.sum(*(SUMS.get(function) or BY_METHOD[function]))
        elif function in SEARCHES:
            self.search(SEARCHES[function])
        elif function in FORMULAS:
            FORMULAS[function](self)
        elif self.kwargs and function not in MOVES and function is not np.tensordot:
            refuse(f"{name_in_program(function)} has options")
        elif function in (np.matmul, operator.matmul):
            self.product()
        elif function is np.outer and not self.kwargs and len(self.args) == 2:
            self.outer()
        elif function is np.tensordot:
            self.tensordot()
        elif function is scatter:
            write_scatter(self)
        elif function is replaced:
            self.replace()
        elif is_move(function):
            self.move()
        elif function is operator.pow:
            self.loop(np.power)
        elif isinstance(function, np.ufunc):
            self.loop(function)
        else:
            refuse(f"{name_in_program(function)} of arrays has no native form")

    # Steps that are made of others

    def becomes(self, function: Any, *args: Any, **kwargs: Any) -> None:
        """Write another function in place of this one, with the same answer."""
        self.function, self.args, self.kwargs = function, args, kwargs
        self.write()

    def made(self, function: Any, *args: Any, **kwargs: Any) -> ndarray[Any, Any]:
        """Write a step whose answer only this one needs. An array that is like the answer stands for it."""
        with np.errstate(all="ignore"):
            like = np.atleast_1d(function(*map(unstaged, args), **kwargs))
        address = self.aside(like)
        if function in OPERATIONS:
            fusion = Fusion()
            fusion.add(Member(OF_A_STEP, args, OPERATIONS[function], like))
            fusion.write(self.code, self.address, {OF_A_STEP: address})
        else:
            _Step(function, args, kwargs, like, self.code, address, self.address, self.aside).write()
        return self.known_at(address, like)

    def known_at(self, address: str, like: ndarray[Any, Any]) -> ndarray[Any, Any]:
        """An array that stands for what lies at an address."""
        before = self.address
        self.address = lambda x: address if x is like else before(x)
        return like

    # NumPy's loops

    def loop(self, ufunc: np.ufunc) -> None:
        """A ufunc, by its own loop."""
        require_doubles(ufunc, self.args)
        operands = [*map(self.any, self.args), operand(self.out, self.answer)]
        strides_of = [broadcast(x.layout, self.answer.shape) for x in operands]
        lengths, strides = in_memory_order(self.answer.shape, strides_of, strides_of[-1:])
        if not lengths:
            lengths, strides = [1], [[8] for _ in operands]
        if any(stride < 0 for of in strides for stride in of):  # NumPy may copy first, and then round in another way
            refuse(f"{name_in_program(ufunc)} of a reversed array has no native form")
        outer = tuple(lengths[:-1])
        rows = {i: Operand(x.address, Layout(outer, tuple(strides[i][:-1]), 8), DOUBLE) for i, x in enumerate(operands)}
        turn = Round(self.code, outer, rows, {})
        addresses = [turn.address(i) for i in rows]
        call_on_arrays(turn, ufunc, addresses, (lengths[-1],), tuple(of[-1] for of in strides))
        turn.write()

    def sum(self, ufunc: np.ufunc, identity: float | None, is_mean: bool) -> None:
        """A reduction over some axes, in NumPy's order."""
        x = self.array(self.args[0])
        options = self.options("axis", "dtype", "out")
        if options.pop("keepdims", False) not in (True, False) or options.pop("dtype", np.float64) != np.float64:
            refuse(f"{name_in_program(self.function)} has options")
        axes = axes_of(options.pop("axis", None), len(x.layout.shape))
        if options:
            refuse(f"{name_in_program(self.function)} has options")
        lengths = lengths_of(x.layout, set(axes), layout_of(self.answer))
        if lengths is None:
            refuse(f"{name_in_program(self.function)} along these axes has no native form")
        reduce(self.code, ufunc, identity, x, self.out, lengths)
        if is_mean:
            divide(self.code, self.out, lengths)

    def to(self, address: str, layout: Layout) -> Operand:
        """Floats at an address."""
        return Operand(address, layout, DOUBLE)

    def options(self, *names: str) -> dict[str, Any]:
        """The options of the function, but for those that are None."""
        options = dict(zip(names, self.args[1:], strict=False)) | dict(self.kwargs)
        if is_staged([options[name] for name in options if name != "b"]):
            refuse(f"{name_in_program(self.function)} has options")
        return {name: option for name, option in options.items() if option is not None}

    def product(self) -> None:
        """A product of matrices, or of vectors; one of stacks is one after another."""
        x, y = map(self.array, self.args)
        multiply(self.code, x, y, operand(self.out, self.answer))

    def outer(self) -> None:
        """All products of an element of one array with one of another."""
        x, y = map(self.array, self.args)
        outer(self.code, x, y, operand(self.out, self.answer))

    def tensordot(self) -> None:
        """A sum over axes of two arrays, which NumPy carries out as a product of matrices."""
        axes = self.options("b", "axes")["axes"] if len(self.args) + len(self.kwargs) > 2 else 2
        sides = [self.array(x) for x in self.args[:2]]
        contract(self.code, sides, axes, operand(self.out, self.answer), self.aside)

    def search(self, is_closer: str) -> None:
        """Where the least or the greatest element is along an axis, or else the first NaN."""
        x = self.array(self.args[0])
        options = self.options("axis", "out", "keepdims")
        if not {"axis"}.issuperset(options):
            refuse(f"{name_in_program(self.function)} has options")
        if "axis" not in options and not x.layout.is_in_order:
            refuse(f"{name_in_program(self.function)} of an array in another order has no native form")
        layout = x.layout if "axis" in options else Layout((x.layout.size,), (8,), 8)
        search(self.code, x._replace(layout=layout), options.get("axis", 0), operand(self.out, self.answer), is_closer)

    # Moves

    def move(self) -> None:
        """Elements go to other places. The function is carried out on offsets, each source's from another SOURCE on."""
        first, *more = self.args
        if self.function is operator.getitem and has_arrays(more[0]):
            at = self.positions(self.like_the_answer(first), unstaged(first), more[0])
            gather(self.code, at, operand(self.out, self.answer))
            return
        if self.function is operator.getitem and is_staged(more):
            self.take_part(first, more[0])
            return
        sources = list(first) if self.function in JOINS else [first]
        full = [unstaged(x) for x in sources if type(x) is not np.ndarray or x.size]  # an empty array adds nothing
        if is_staged(more) or not all(form_of(x) in (DOUBLE, ARRAY) for x in full):
            refuse(f"{name_in_program(self.function)} of these values has no native form")
        for i, source, target in self.known_copies(sources, more):
            self.copy(self.like_the_answer(sources[i]), source, target)

    def known_copies(self, sources: list[Any], more: list[Any]) -> list[tuple[int, Part, Part]]:
        """The same as `copies`, found once for what rearranges elements in one way."""
        options = [*more, *self.kwargs.values()]
        if not is_plain(options):  # another array may have its address later
            return copies(self.function, sources, more, self.kwargs, self.answer)
        layouts = tuple([layout_of(np.asarray(unstaged(x))) for x in sources])
        names = len(more), *self.kwargs
        key = self.function, names, layouts, layout_of(self.answer), key_of(options, self.code.place)
        known = self.code.loops.get(key)
        if known is None:
            known = self.code.loops[key] = copies(self.function, sources, more, self.kwargs, self.answer)
        return known

    def take_part(self, x: Any, index: Any) -> None:
        """A copy of the elements at an index that is a value."""
        of = self.like_the_answer(x)
        start, first, layout = part_at(self.code, of.address, unstaged(x), index)
        part = Operand(start, Layout((), (), of.layout.itemsize), of.form)
        self.transfer(part, first, layout, 0, layout_of(self.answer))

    def copy(self, x: Operand, source: Part, target: Part) -> None:
        """Copy some elements to some others."""
        if source.layout is not None and target.layout is not None:
            self.transfer(x, source.first, source.layout, target.first, target.layout)
            return
        of_source, of_target = source.all_offsets, target.all_offsets
        if of_source.size > MOST_MOVES:
            self.move_many(x, of_source, of_target)
        else:
            for one, another in zip(of_source.flat, of_target.flat, strict=True):
                self.transfer(x, int(one), Layout((), (), 8), int(another), Layout((), (), 8))

    def move_many(self, x: Operand, source: Any, target: Any) -> None:
        """Copy elements with these offsets to others, by tables of both."""
        tables = {"x": source, "y": target}
        turn = Round(self.code, source.shape, {key: operand(self.address(of), of) for key, of in tables.items()}, {})
        at = {"x": x.address, "y": self.out}
        for key in at:
            at[key] = turn.new(f"getelementptr i8, ptr {at[key]}, i64 {turn.element(key).text}")
        turn.put(at["y"], turn.loaded(at["x"], x.form))
        turn.write()

    def positions(self, x: Operand, like: ndarray[Any, Any], index: Any) -> Positions:
        """The positions in an array that is like another one."""
        return positions(self.code, like, index, x.address, self.address, self.aside)

    def transfer(self, x: Operand, start: int, layout: Layout, start_of_target: int, target: Layout) -> None:
        """Copy elements from one layout to another."""
        one = Operand(self.code.moved(x.address, start), layout, x.form)
        another = Operand(self.code.moved(self.out, start_of_target), target, x.form)
        copy(self.code, one, another)

    def replace(self) -> None:
        """A copy of an array, of which a part gets other elements."""
        (item, array), index = self.args
        self.transfer(self.array(array), 0, layout_of(unstaged(array)), 0, layout_of(self.answer))
        start, first, layout = part_at(self.code, self.out, self.answer, index)
        if not layout.size:
            return
        x, part = self.any(item), self.to(self.code.new(f"getelementptr i8, ptr {start}, i64 {first}"), layout)
        turn = Round(self.code, layout.shape, {"x": x}, {"y": part})
        turn.store("y", turn.element("x"))
        turn.write()
