"""How the answers of native code become objects of Python's.

Large arrays are made before the steps run, which write to them. The elements of other arrays are copied.
"""

from __future__ import annotations

from collections.abc import Iterator

from numpy import ndarray

from shiftreset_ad.staging.native.machine import DATA, OF_A_TUPLE
from shiftreset_ad.staging.native.objects import MADE, NUMPYS
from shiftreset_ad.staging.native.program import Leaf, Program

IN_FORTRANS_ORDER = 2  # an option of PyArray_New


def made_before(program: Program) -> list[int]:
    """The numbers of the answers that are made before the steps run, as the steps write to them."""
    return [i for i, leaf in enumerate(program.outputs) if leaf.kind is ndarray and leaf.slot is not None]


def dropped(program: Program, where: str) -> Iterator[str]:
    """The lines that drop the answers that were made before; `Py_DecRef` takes null, too."""
    for i in made_before(program):
        yield f"  %dropped_{where}{i} = load ptr, ptr %new{i}"
        yield f"  call void @Py_DecRef(ptr %dropped_{where}{i})"


def no_answers(program: Program) -> Iterator[str]:
    """The lines that note that no answer is there yet."""
    for i in made_before(program):
        yield f"  %new{i} = alloca ptr"
        yield f"  store ptr null, ptr %new{i}"


def new_answers(program: Program) -> Iterator[str]:
    """The lines that make the arrays to which the steps write, and put the addresses of their elements into slots."""
    for i in made_before(program):
        yield from _array(i, program.outputs[i])
        yield f"  store ptr %y{i}, ptr %new{i}"
        yield f"  %is_there{i} = icmp ne ptr %y{i}, null"
        yield f"  br i1 %is_there{i}, label %use_new{i}, label %no_list"
        yield f"use_new{i}:"
        yield f"  %of_data{i}_out = getelementptr i8, ptr %y{i}, i64 {DATA}"
        yield f"  %data{i}_out = load ptr, ptr %of_data{i}_out"
        yield f"  %to{i} = getelementptr i64, ptr %frame, i64 {program.outputs[i].slot}"
        yield f"  store ptr %data{i}_out, ptr %to{i}"


def given(i: int, leaf: Leaf, constants: int) -> Iterator[str]:
    """The lines that put an answer into the list."""
    yield f"give{i}:"
    if leaf.kind is None:
        yield f"  %constant{i} = getelementptr i8, ptr %self, i64 {OF_A_TUPLE + 8 * constants}"
        yield f"  %y{i} = load ptr, ptr %constant{i}"
        yield f"  call void @Py_IncRef(ptr %y{i})"
    elif leaf.kind is ndarray and leaf.slot is not None:
        yield f"  store ptr null, ptr %new{i}"
    elif leaf.kind is ndarray:
        yield from _copied(i, leaf)
    else:
        yield from _number(i, leaf)
    yield f"  %item{i} = getelementptr ptr, ptr %items, i64 {i}"
    yield f"  store ptr %y{i}, ptr %item{i}"
    yield f"  %is_made{i} = icmp ne ptr %y{i}, null"
    yield f"  br i1 %is_made{i}, label %give{i + 1}, label %no_number"


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


def _array(i: int, leaf: Leaf) -> Iterator[str]:
    """A new array of NumPy's."""
    x = leaf.example
    order = 0 if x.flags.c_contiguous else IN_FORTRANS_ORDER
    lengths = ", ".join(f"i64 {length}" for length in x.shape)
    yield f"  %lengths{i} = alloca [{x.ndim} x i64]"
    yield f"  store [{x.ndim} x i64] [{lengths}], ptr %lengths{i}"
    arguments = f"ptr @array_type, i32 {x.ndim}, ptr %lengths{i}, i32 {x.dtype.num}, ptr null, ptr null, i32 0"
    yield f"  %y{i} = call ptr @PyArray_New({arguments}, i32 {order}, ptr null)"


def _copied(i: int, leaf: Leaf) -> Iterator[str]:
    """A new array of NumPy's, with a copy of the elements."""
    yield from _array(i, leaf)
    yield f"  %is_new{i} = icmp ne ptr %y{i}, null"
    yield f"  br i1 %is_new{i}, label %set{i}, label %no_number"
    yield f"set{i}:"
    yield f"  %of_data{i}_out = getelementptr i8, ptr %y{i}, i64 {DATA}"
    yield f"  %data{i}_out = load ptr, ptr %of_data{i}_out"
    yield f"  %from{i} = getelementptr i8, ptr {leaf.constant or '%memory'}, i64 {leaf.offset}"
    yield f"  call void @llvm.memcpy.p0.p0.i64(ptr %data{i}_out, ptr %from{i}, i64 {leaf.example.nbytes}, i1 false)"
