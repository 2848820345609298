"""Loops over arrays: steps that go element by element, one after another in the same round.

An elementwise step on arrays is the step on numbers, for each element. So the code of a round is that of numbers, and
only what is needed later is stored.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from numpy import ndarray

from shiftreset_ad.staging.native.layouts import Layout, broadcast, in_memory_order, layout_of
from shiftreset_ad.staging.native.llvm import ARRAY, DOUBLE, INTEGER, TRUTH, Code, Value, refuse
from shiftreset_ad.staging.native.sharing import SHORT, Alone, Param, as_function, call_loop
from shiftreset_ad.staging.steps.values import Staged

# Some loops are not to be carried out in vectors. LLVM 22 may end the process where elements are read from the last to
# the first one. And it carries out a loop of few rounds in vectors that are longer, and hides what is too much: if one
# of these numbers divides, the machine notes a division by zero that is none of the program's.
FEW = 16
WORD = 8  # bytes
BACKWARDS = re.compile(r" = mul nsw i64 %[\w.]+, -")
ONE_BY_ONE = ", !llvm.loop !0"
OF_LOOPS = '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.vectorize.enable", i1 false}'


class Operand(NamedTuple):
    """An array in a loop: the name of its address, and its layout."""

    address: str
    layout: Layout
    form: str


class Round(Code):
    """The code of one round of a loop over `shape`. Its operands are arrays, or numbers from outside of the loop."""

    __slots__ = ("_given", "_indices", "_offsets", "_operands", "_outside", "_strides", "lengths")

    def __init__(
        self, outside: Code, shape: tuple[int, ...], operands: dict[Any, Operand], stored: dict[Any, Operand]
    ) -> None:
        super().__init__(outside.names)
        self._outside = outside
        self._operands = {**operands, **{("stored", key): operand for key, operand in stored.items()}}
        strides = [broadcast(operand.layout, shape) for operand in self._operands.values()]
        self.lengths, steps = in_memory_order(shape, strides, strides[len(operands) :])
        self._strides = dict(zip(self._operands, steps, strict=True))
        self._indices = [f"%index{next(self.names)}" for _ in self.lengths]
        self._offsets: dict[tuple[str, int], str] = {}  # the bytes from the first element of an axis, by the stride
        # The forms of names from outside.
        self._given = {"%frame": ARRAY} | {operand.address: ARRAY for operand in self._operands.values()}

    def place(self, x: Staged) -> int:
        return self._outside.place(x)

    def types(self, x: Any) -> frozenset[type]:
        return self._outside.types(x)

    def value(self, x: Any) -> Value:
        if isinstance(x, ndarray) and x.shape:
            return self.element(id(x))
        return super().value(x)

    def load(self, x: Staged) -> Value:
        place = self.place(x)
        if place in self._operands:
            return self.element(place)
        value = self._outside.value(x)
        self._given[value.text] = value.form
        return value

    def element(self, key: Any) -> Value:
        """The element of an operand in this round."""
        return self.loaded(self.address(key), self._operands[key].form)

    def loaded(self, address: str, form: str) -> Value:
        """The element at an address."""
        if form == TRUTH:
            return Value(self.new(f"trunc i8 {self.new(f'load i8, ptr {address}')} to i1"), form)
        return Value(self.new(f"load {form}, ptr {address}, align 1"), form)

    def store(self, key: Any, value: Value) -> None:
        """Store an element of an answer."""
        self.put(self.address(("stored", key)), value)

    def put(self, address: str, value: Value) -> None:
        """Store an element at an address."""
        if value.form == TRUTH:
            self.lines.append(f"  store i8 {self.new(f'zext i1 {value.text} to i8')}, ptr {address}")
        else:
            self.lines.append(f"  store {value.form} {value.text}, ptr {address}, align 1")

    def address(self, key: Any) -> str:
        """The address of an operand's element in this round."""
        address = self._operands[key].address
        for index, stride in zip(self._indices, self._strides[key], strict=True):
            if stride == WORD:
                address = self.new(f"getelementptr inbounds i64, ptr {address}, i64 {index}")
            elif stride:
                if (index, stride) not in self._offsets:
                    self._offsets[index, stride] = self.fresh()
                address = self.new(f"getelementptr i8, ptr {address}, i64 {self._offsets[index, stride]}")
        return address

    def index(self) -> str:
        """The number of this round, of a loop over one axis."""
        return self._indices[0] if self._indices else "0"

    def write(self, new: Iterable[str] = ()) -> None:
        """Write the loops, with all rounds, to the code outside. Loops that are alike may share a function.

        `new` are addresses of blocks that have nothing yet, and so share no memory with what the loop reads.
        """
        if self.leaves:
            refuse("a step on arrays would have to leave")
        for text in self.used:
            self._outside.use(text)
        lines = self._loops()
        is_short = math.prod(self.lengths) <= SHORT
        if isinstance(self._outside, Alone):
            self._outside.is_short = is_short
        is_inside = isinstance(self._outside, Alone | Round) or not self._indices
        if not is_inside and (shared := as_function(lines, self._given, set(new), is_short)) is not None:
            definition, call = shared
            self._outside.use(definition)
            lines = [call]
        self._outside.lines += lines

    def _loops(self) -> list[str]:
        lines, ends = [], []
        offsets = [f"  {name} = mul nsw i64 {index}, {stride}" for (index, stride), name in self._offsets.items()]
        body = offsets + self.lines
        is_backwards = any(map(BACKWARDS.search, body))
        divides = any(" = fdiv " in line for line in self.lines)
        for index, length in zip(self._indices, self.lengths, strict=True):
            name, following = index[1:], self._outside.fresh()
            lines += [
                f"  br label %before_{name}",
                f"before_{name}:",
                f"  br label %{name}_loop",
                f"{name}_loop:",
                f"  {index} = phi i64 [0, %before_{name}], [{following}, %end_{name}]",
            ]
            ends.append((name, index, following, length))
        lines += body
        for name, index, following, length in reversed(ends):
            more = self._outside.fresh()
            is_one_by_one = is_backwards or (divides and length < FEW)
            lines += [
                f"  br label %end_{name}",
                f"end_{name}:",
                f"  {following} = add nuw nsw i64 {index}, 1",
                f"  {more} = icmp ult i64 {following}, {length}",
                f"  br i1 {more}, label %{name}_loop, label %after_{name}{ONE_BY_ONE * is_one_by_one}",
                f"after_{name}:",
            ]
        return lines


def copy(code: Code, one: Operand, another: Operand) -> None:
    """Copy the elements of an operand to another one of the same shape, which may have another order.

    As LLVM is not told that they share no memory, it calls no function of C, which takes longer for short arrays.
    """

    def write(alone: Alone) -> None:
        x, y = one._replace(address="%p0"), another._replace(address="%p1")
        turn = Round(alone, one.layout.shape, {"x": x}, {"y": y})
        turn.store("y", turn.element("x"))
        turn.write()

    params = Param(ARRAY, one.address), Param(ARRAY, another.address)
    call_loop(code, (copy, one[1:], another[1:]), params, {}, write)


def operand(address: str, x: ndarray[Any, Any], layout: Layout | None = None) -> Operand:
    """An array with its address, in its own layout or in another one."""
    return Operand(address, layout or layout_of(x), form_of_elements(x))


def form_of_elements(x: ndarray[Any, Any]) -> str:
    """The form of the elements of an array."""
    return {"b": TRUTH, "i": INTEGER}.get(x.dtype.kind, DOUBLE)
