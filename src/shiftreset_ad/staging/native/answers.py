"""How the answers of native code become objects of Python's.

Large arrays, and arrays of which answers are views, are made before the steps run, which write to them. The elements of
other arrays are copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy import ndarray

from shiftreset_ad.numbers.plain_arrays import WRITEABLE
from shiftreset_ad.staging.native.machine import DATA, OF_A_TUPLE
from shiftreset_ad.staging.native.objects import MADE, NUMPYS
from shiftreset_ad.staging.native.owners import Owner
from shiftreset_ad.staging.native.program import Leaf, Program

IN_FORTRANS_ORDER = 2  # an option of PyArray_New
ALIGNED = 0x100  # a flag of an array

# A new view of an array; null if there is a problem.
VIEWED = f"""
define internal ptr @viewed(ptr %owner, i64 %offset, i32 %ndim, ptr %lengths, ptr %strides, i32 %dtype, i32 %flags) \
noinline {{
  %of_data = getelementptr i8, ptr %owner, i64 {DATA}
  %data = load ptr, ptr %of_data
  %at = getelementptr i8, ptr %data, i64 %offset
  %y = call ptr @PyArray_New(ptr @array_type, i32 %ndim, ptr %lengths, i32 %dtype, ptr %strides, ptr %at, i32 0, \
i32 %flags, ptr null)
  %is_new = icmp ne ptr %y, null
  br i1 %is_new, label %new, label %problem
new:
  call void @Py_IncRef(ptr %owner)
  %status = call i32 @PyArray_SetBaseObject(ptr %y, ptr %owner)
  %is_set = icmp eq i32 %status, 0
  br i1 %is_set, label %done, label %drop
done:
  ret ptr %y
drop:
  call void @Py_DecRef(ptr %y)
  br label %problem
problem:
  ret ptr null
}}
""".strip()


def _owners(program: Program) -> dict[str, Owner]:
    """The arrays that are made before the steps run, by their names in the text."""
    owners = [leaf.owner for leaf in program.outputs if leaf.owner is not None]
    return {_name(owner): owner for owner in owners}


def _name(owner: Owner) -> str:
    return f"_of{owner.place}"


def dropped(program: Program, where: str) -> Iterator[str]:
    """The lines that drop the arrays that were made before; `Py_DecRef` takes null, too."""
    for name in _owners(program):
        yield f"  %dropped_{where}{name} = load ptr, ptr %new{name}"
        yield f"  call void @Py_DecRef(ptr %dropped_{where}{name})"


def no_answers(program: Program) -> Iterator[str]:
    """The lines that note that no answer is there yet."""
    for name in _owners(program):
        yield f"  %new{name} = alloca ptr"
        yield f"  store ptr null, ptr %new{name}"


def new_answers(program: Program) -> Iterator[str]:
    """The lines that make the arrays to which the steps write, and put the addresses of their elements into slots."""
    for name, owner in _owners(program).items():
        yield from _array(name, owner.example)
        yield f"  store ptr %y{name}, ptr %new{name}"
        yield f"  %is_there{name} = icmp ne ptr %y{name}, null"
        yield f"  br i1 %is_there{name}, label %use_new{name}, label %problem"
        yield f"use_new{name}:"
        yield from _elements(name)
        if owner.slot is not None:
            yield f"  %to{name} = getelementptr i64, ptr %frame, i64 {owner.slot}"
            yield f"  store ptr %data{name}_out, ptr %to{name}"


def copied(program: Program) -> Iterator[str]:
    """The lines that copy the elements of the arrays that the steps do not write to."""
    for name, owner in _owners(program).items():
        if owner.slot is None:
            yield from _copy(name, "%memory", owner.start, owner.example)


def given(i: int, leaf: Leaf, constants: int) -> Iterator[str]:
    """The lines that put an answer in its place."""
    yield f"give{i}:"
    if leaf.kind is None:
        yield f"  %constant{i} = getelementptr i8, ptr %self, i64 {OF_A_TUPLE + 8 * constants}"
        yield f"  %y{i} = load ptr, ptr %constant{i}"
        yield f"  call void @Py_IncRef(ptr %y{i})"
    elif leaf.owner is not None and leaf.is_view:
        yield from _view(f"{i}", leaf.example, _name(leaf.owner), leaf.offset)
    elif leaf.owner is not None:
        yield f"  %y{i} = getelementptr i8, ptr %y{_name(leaf.owner)}, i64 0"
        yield f"  call void @Py_IncRef(ptr %y{i})"
    elif leaf.kind is ndarray:
        yield from _array(f"{i}", leaf.example)
        yield f"  %is_new{i} = icmp ne ptr %y{i}, null"
        yield f"  br i1 %is_new{i}, label %set{i}, label %problem"
        yield f"set{i}:"
        yield from _elements(f"{i}")
        yield from _copy(f"{i}", leaf.constant or "%memory", leaf.offset, leaf.example)
    else:
        yield from _number(i, leaf)
    yield f"  %item{i} = getelementptr ptr, ptr %items, i64 {i}"
    yield f"  store ptr %y{i}, ptr %item{i}"
    yield f"  %is_made{i} = icmp ne ptr %y{i}, null"
    yield f"  br i1 %is_made{i}, label %give{i + 1}, label %problem"


def _number(i: int, leaf: Leaf) -> Iterator[str]:
    """A number. A tag says whether it is one of NumPy's."""
    if leaf.tag is None:
        yield f"  %from{i} = getelementptr i64, ptr %frame, i64 {leaf.slot}"
        yield from MADE[leaf.kind](f"{i}")
        return
    yield f"  %of_tag{i} = getelementptr i64, ptr %frame, i64 {leaf.tag}"
    yield f"  %tag{i} = load i64, ptr %of_tag{i}"
    yield f"  %is_numpys{i} = icmp ne i64 %tag{i}, 0"
    yield f"  br i1 %is_numpys{i}, label %numpys{i}, label %pythons{i}"
    for name, kind in (("numpys", NUMPYS[leaf.kind]), ("pythons", leaf.kind)):
        yield f"{name}{i}:"
        yield f"  %from{i}_{name} = getelementptr i64, ptr %frame, i64 {leaf.slot}"
        yield from MADE[kind](f"{i}_{name}")
        yield f"  br label %made{i}_{name}"
        yield f"made{i}_{name}:"
        yield f"  br label %made{i}"
    yield f"made{i}:"
    yield f"  %y{i} = phi ptr [%y{i}_numpys, %made{i}_numpys], [%y{i}_pythons, %made{i}_pythons]"


def _array(name: str, x: ndarray[Any, Any]) -> Iterator[str]:
    """A new array of NumPy's."""
    order = 0 if x.flags.c_contiguous else IN_FORTRANS_ORDER
    yield from _axes(name, "lengths", x.shape)
    arguments = f"ptr @array_type, i32 {x.ndim}, ptr %lengths_out{name}, i32 {x.dtype.num}, ptr null, ptr null, i32 0"
    yield f"  %y{name} = call ptr @PyArray_New({arguments}, i32 {order}, ptr null)"


def _axes(name: str, what: str, numbers: tuple[int, ...]) -> Iterator[str]:
    yield f"  %{what}_out{name} = alloca [{len(numbers)} x i64]"
    yield f"  store [{len(numbers)} x i64] [{', '.join(f'i64 {number}' for number in numbers)}], ptr %{what}_out{name}"


def _elements(name: str) -> Iterator[str]:
    """The address of the elements of an array."""
    yield f"  %of_data{name}_out = getelementptr i8, ptr %y{name}, i64 {DATA}"
    yield f"  %data{name}_out = load ptr, ptr %of_data{name}_out"


def _copy(name: str, memory: str, start: int, x: ndarray[Any, Any]) -> Iterator[str]:
    """Copy the elements of an array."""
    yield f"  %from{name} = getelementptr i8, ptr {memory}, i64 {start}"
    yield f"  call void @llvm.memcpy.p0.p0.i64(ptr %data{name}_out, ptr %from{name}, i64 {x.nbytes}, i1 false)"


def _view(name: str, x: ndarray[Any, Any], owner: str, offset: int) -> Iterator[str]:
    """A view of an array that was made before."""
    yield from _axes(name, "lengths", x.shape)
    yield from _axes(name, "strides", x.strides)
    layout = f"i32 {x.ndim}, ptr %lengths_out{name}, ptr %strides_out{name}, i32 {x.dtype.num}"
    flags = x.flags.num & (ALIGNED | WRITEABLE)
    yield f"  %y{name} = call ptr @viewed(ptr %y{owner}, i64 {offset}, {layout}, i32 {flags})"
