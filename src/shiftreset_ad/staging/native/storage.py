"""The code of steps on arrays in the memory of a program: their addresses, blocks, copies, and the loop that waits."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from numpy import ndarray

from shiftreset_ad.staging.native.additions import Addition
from shiftreset_ad.staging.native.along import REDUCTIONS
from shiftreset_ad.staging.native.arrays import emit
from shiftreset_ad.staging.native.constants import Constants
from shiftreset_ad.staging.native.fusion import Fusion, elementwise, refused_for
from shiftreset_ad.staging.native.in_strips import Strips, length_of_strips, loop_over_strips
from shiftreset_ad.staging.native.indexing import part_at
from shiftreset_ad.staging.native.layouts import bytes_of
from shiftreset_ad.staging.native.llvm import ARRAY, DOUBLE, TRUTH, Code, Value, double, form_of, refuse
from shiftreset_ad.staging.native.loops import Operand, Round, operand
from shiftreset_ad.staging.native.memory import ArrayBlocks
from shiftreset_ad.staging.native.moves import is_move
from shiftreset_ad.staging.native.positions import write_at, writes_at_arrays
from shiftreset_ad.staging.native.strips import Group, Waiting, is_pure
from shiftreset_ad.staging.native.writing import write, write_to
from shiftreset_ad.staging.steps.blocks import own_arguments
from shiftreset_ad.staging.steps.functions import name_in_program
from shiftreset_ad.staging.steps.trace import Step
from shiftreset_ad.staging.steps.values import Staged, staged_in, unstaged


class ArrayCode(Code):
    """The code of a function with steps on arrays.

    `now` is the number of a step, of the end of a block, or of the end of a step with blocks (`memory`). An array that
    a visit has found in its frame is `known` by its address.
    """

    __slots__ = ("_constants", "_fusion", "_group", "_strips", "memory", "now")

    def __init__(self, memory: ArrayBlocks, constants: Constants, now: int) -> None:
        super().__init__()
        self.memory = memory
        self.now = now
        self._constants = constants
        self._fusion = Fusion()
        self._group = Group(memory)
        self._strips: Strips | None = None  # while a group is written in strips

    def add_of_arrays(self, step: Step, args: tuple[Any, ...], answer: Any) -> None:
        """Write a step on arrays, or let it wait for others."""
        if self._group.takes(self.now, step, args, answer, self.place):
            return
        is_view = form_of(answer) == ARRAY and self.memory.root(step.place) != step.place
        if not (is_view and is_pure(step, self.memory)):
            self._write_group()
        self._add_of_arrays(step, args, answer)

    def _add_of_arrays(self, step: Step, args: tuple[Any, ...], answer: Any) -> None:
        """Write a step on arrays, or let it wait for its loop."""
        if step.writes:
            self.write_waiting()
            if writes_at_arrays(step):
                write_at(self, args, self.address, self.aside)
            else:
                write(self, step, args, self.address, self.aside)
            self.memory.free_after(self.now)
            return
        if step.place in self.memory.in_place.scatters:
            return
        if step.place in self.memory.in_place.additions:
            self.write_waiting()
            self._add_in_place(self.memory.in_place.additions[step.place], answer)
            self.memory.free_after(self.now)
            return
        if step.place in self.memory.in_place.replaced:
            self.write_waiting()
            (item, x), index = args
            write_to(self, step, x, index, item, self.address, self.aside)
            self.memory.free_after(self.now)
            return
        member = elementwise(step, args, answer)
        if member is not None and self._fusion.fits(answer) and not self._waits_for_views(args):
            self._fusion.add(member)
            return
        if form_of(answer) == ARRAY and self.memory.root(step.place) != step.place:
            if not is_move(step.function) or len(staged_in(own_arguments(step))) > 1:
                refuse(f"{name_in_program(step.function)} gives a view that may depend on values")
            return
        self.write_waiting()
        if member is not None:
            self._fusion.add(member)
            return
        emit(self, step, args, answer, self.address, self.new_block)
        self.memory.free_after(self.now)

    def _add_in_place(self, addition: Addition, answer: ndarray[Any, Any]) -> None:
        addition = Addition(*map(self.argument, addition))
        if len(addition.values) > 1:
            self._add_to_elements(addition, answer)
            return
        (value,), (index,) = addition.values, addition.indices
        address, first, layout = part_at(self, self.address(addition.array), answer, index)
        part = Operand(self.new(f"getelementptr i8, ptr {address}, i64 {first}"), layout, DOUBLE)
        is_array = form_of(unstaged(value)) == ARRAY
        source = {"x": operand(self.address(value), unstaged(value))} if is_array else {}
        turn = Round(self, layout.shape, {"y": part, **source}, {"y": part})
        added = turn.element("x").text if is_array else self.double(value)
        turn.store("y", Value(turn.new(f"fadd double {turn.element('y').text}, {added}"), DOUBLE))
        turn.write()

    def _add_to_elements(self, addition: Addition, answer: ndarray[Any, Any]) -> None:
        """Add to single elements, or to rows. Some may be the same: what is added there is summed first."""
        start = self.address(addition.array)
        parts = [part_at(self, start, answer, index) for index in addition.indices]
        to = {}
        for i, (address, first, layout) in enumerate(parts):
            to[i] = Operand(self.new(f"getelementptr i8, ptr {address}, i64 {first}"), layout, DOUBLE)
        are_same = {(i, j): self.new(f"icmp eq ptr {to[j].address}, {to[i].address}") for i in to for j in to if i != j}
        of = {}
        for i, value in enumerate(addition.values):
            is_array = form_of(unstaged(value)) == ARRAY
            of["x", i] = operand(self.address(value), unstaged(value)) if is_array else self.double(value)
        rows = {key: x for key, x in of.items() if isinstance(x, Operand)}
        turn = Round(self, to[0].layout.shape, {**to, **rows}, to)
        values = [turn.element(key).text if key in rows else x for key, x in of.items()]
        sums = []
        for i in to:
            added = double(0.0)
            for j, value in enumerate(values):
                zero = double(0.0)
                term = value if i == j else turn.new(f"select i1 {are_same[i, j]}, double {value}, double {zero}")
                added = turn.new(f"fadd double {added}, {term}")
            sums.append(turn.new(f"fadd double {turn.element(i).text}, {added}"))
        for i, total in enumerate(sums):
            turn.store(i, Value(total, DOUBLE))
        turn.write()

    def write_waiting(self) -> None:
        """Write the loop of the steps that wait, for a step that does not join it."""
        self._write_loop(self.now - 1)

    def write_rest(self) -> None:
        """Write the loop of the steps that wait, the last one among them."""
        self._write_loop(self.now)

    def _waits_for_views(self, args: tuple[Any, ...]) -> bool:
        """Whether an elementwise step takes a view of an array that is made in the waiting loop."""
        made = self._fusion.places
        if not made:
            return False
        places = [self.place(x) for x in args if type(x) is Staged]
        return any(self.memory.root(place) in made for place in places if place not in made)

    def _write_group(self) -> None:
        """Write the steps that wait for others: in strips, if that gains time."""
        group, self._group = self._group, Group(self.memory)
        if not group.steps:
            return
        now = self.now
        short = 0 if self.is_in_long_code(group.steps[0].step.place) else length_of_strips(group, self.place)
        if short:
            self._write_in_strips(group, short)
        else:
            for waiting in group.steps:
                self._write_step_of_group(waiting)
        self.now = now

    def _write_in_strips(self, group: Group, short: int) -> None:
        self.now = group.steps[0].now
        self.write_waiting()
        inner = group.needed_inside()
        for waiting in group.steps:
            if waiting.step.place in group.roots and waiting.step.place not in inner:
                self.new_block(waiting.step.place, waiting.answer)  # while no step of the group has left a block
        try:
            with loop_over_strips(self, group.length, short) as first, self.memory.freeing_only(inner):
                self._strips = Strips(self, group, short, first, inner)
                for waiting in group.steps:
                    self._write_step_of_group(waiting)
                self._write_loop(self.now)
        finally:
            self._strips = None

    def _write_step_of_group(self, waiting: Waiting) -> None:
        self.now, step, strips = waiting.now, waiting.step, self._strips
        with refused_for(step.place):
            if strips is None:
                self._add_of_arrays(step, waiting.args, waiting.answer)
            elif step.function in REDUCTIONS:
                self.write_waiting()
                strips.reduce(waiting)
                self.memory.free_after(self.now)
            else:
                self._add_of_arrays(step, strips.args(waiting), strips.answer(waiting))

    def _write_loop(self, number: int) -> None:
        """Write the loop of the steps that wait, up to this step."""
        self._write_group()
        if self._fusion.members:
            needed = [m for m in self._fusion.members if self.memory.is_needed_after(m.place, number)]
            stored = {m.place: self.new_block(m.place, m.answer) for m in needed}
            self._fusion.write(self, self.address, stored, self.is_in_long_code(self._fusion.members[0].place))
            self.memory.free_after(number)

    # Memory

    def new_block(self, place: int, array: ndarray[Any, Any]) -> str:
        """The address of a new block for an array, or of the answer that the array is."""
        if place in self.memory.answers:
            address = self.given(place)
        else:
            address = self.moved("%memory", self.memory.block(place, bytes_of(array)))
        return address if self._strips is None else self._strips.from_first(address, array)

    def aside(self, array: ndarray[Any, Any]) -> str:
        """The address of a block that is free again after this step."""
        return self.new_block(-1 - next(self.names), array)

    def address(self, x: Any) -> str:
        """The address of an array, or of its strip."""
        return self.address_of_whole(x) if self._strips is None else self._strips.address(x)

    def address_of_whole(self, x: Any) -> str:
        """The address of an array."""
        if type(x) is not Staged:
            name = f"@constant{self._constants.number(x)}"
            self.use(f"{name} = external global i8")
            return name
        return self.address_at(self.place(x))

    def address_at(self, place: int) -> str:
        """The address of the array at a place."""
        root, offset = self.memory.address(place)
        if root in self.known:  # in a frame
            start = self.known[root].text
        elif self.memory.has_block(root):
            return self.moved("%memory", self.memory.block(root) + offset)
        else:
            start = self.given(root)
        return self.moved(start, offset)

    @abstractmethod
    def argument(self, x: Any) -> Any:
        """An argument, with the values of what is the same for all inputs."""

    @abstractmethod
    def is_in_long_code(self, place: int) -> bool:
        """Whether a step is one of very many that are carried out once."""

    @abstractmethod
    def given(self, place: int) -> str:
        """The address of an array that Python gives."""

    def copy(self, source: str, target: str, array: ndarray[Any, Any]) -> None:
        """Copy an array with the layout of this one."""
        self.lines.append(
            f"  call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {bytes_of(array)}, i1 false)"
        )

    def is_nan_in(self, x: Staged) -> str:
        """Whether NaN is among the elements of an array of floats."""
        found = self.variable(TRUTH)
        turn = Round(self, x.inside.shape, {"x": operand(self.address(x), x.inside)}, {})
        text = turn.element("x").text
        before = turn.new(f"load i1, ptr {found}")
        after = turn.new(f"or i1 {before}, {turn.new(f'fcmp uno double {text}, {text}')}")
        turn.lines.append(f"  store i1 {after}, ptr {found}")
        turn.write()
        return self.new(f"load i1, ptr {found}")
