"""What a function sees from outside is compared in C with what it has seen in its record (`Guards.at_once`).

The very same object, or the same bytes of an array, is no change. Whether anything else is one, Python is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from shiftreset_ad.staging.native.lines import loaded, next_one, unless, while_less
from shiftreset_ad.staging.native.llvm import function
from shiftreset_ad.staging.native.machine import (
    DATA,
    DTYPE,
    HEADER,
    LENGTH,
    NDIM,
    OF_A_CELL,
    OF_A_LIST,
    OF_A_TUPLE,
    OF_BASES,
    OF_BYTES,
    SHAPE,
    STRIDES,
)
from shiftreset_ad.staging.seen.at_once import AtOnce
from shiftreset_ad.staging.seen.parts import NOT_THERE

SAME, CHANGED, ERROR = range(3)  # what `compared` says
FUNCTIONS = {
    "PyDict_GetItemWithError": "ptr (ptr, ptr)",
    "PyDict_Next": "i32 (ptr, ptr, ptr, ptr)",
    "PyErr_Clear": "void ()",
    "PyErr_Occurred": "ptr ()",
    "PyFunction_GetCode": "ptr (ptr)",
    "PyFunction_GetDefaults": "ptr (ptr)",
    "PyFunction_GetKwDefaults": "ptr (ptr)",
    "PyLong_AsLong": "i64 (ptr)",
    "PyObject_CallNoArgs": "ptr (ptr)",
    "PyObject_GenericGetAttr": "ptr (ptr, ptr)",
    "Py_DecRef": "void (ptr)",
}
OBJECTS: dict[str, Any] = {"attributes": "__dict__", "list_type": list, "none": None, "not_there": NOT_THERE}
# Whether so many bytes are the same.
SAME_BYTES = """
define internal i1 @are_same_bytes(ptr %x, ptr %y, i64 %count) {
  %in_blocks = and i64 %count, -64
  br label %next_block
next_block:
  %i = phi i64 [0, %0], [%after_block, %block]
  %is_rest = icmp eq i64 %i, %in_blocks
  br i1 %is_rest, label %next_byte, label %block
block:
  %of_words = getelementptr i8, ptr %x, i64 %i
  %of_others = getelementptr i8, ptr %y, i64 %i
  %words = load <8 x i64>, ptr %of_words, align 1
  %others = load <8 x i64>, ptr %of_others, align 1
  %unlike = icmp ne <8 x i64> %words, %others
  %is_unlike = call i1 @llvm.vector.reduce.or.v8i1(<8 x i1> %unlike)
  %after_block = add i64 %i, 64
  br i1 %is_unlike, label %other, label %next_block
next_byte:
  %j = phi i64 [%in_blocks, %next_block], [%after_byte, %byte]
  %is_over = icmp eq i64 %j, %count
  br i1 %is_over, label %same, label %byte
byte:
  %of_byte = getelementptr i8, ptr %x, i64 %j
  %of_other = getelementptr i8, ptr %y, i64 %j
  %a = load i8, ptr %of_byte
  %b = load i8, ptr %of_other
  %after_byte = add i64 %j, 1
  %is_same = icmp eq i8 %a, %b
  br i1 %is_same, label %next_byte, label %other
same:
  ret i1 true
other:
  ret i1 false
}
declare i1 @llvm.vector.reduce.or.v8i1(<8 x i1>)
"""
# Whether a list, or a dictionary, has these parts: the keys, and then the values.
HAS_PARTS = f"""
define internal i1 @has_parts(ptr %container, ptr %parts) {{
  %position = alloca i64
  %key = alloca ptr
  %value = alloca ptr
  %of_kind = getelementptr i8, ptr %container, i64 {HEADER}
  %kind = load ptr, ptr %of_kind
  %of_length = getelementptr i8, ptr %container, i64 {LENGTH}
  %length = load i64, ptr %of_length
  %of_count = getelementptr i8, ptr %parts, i64 {LENGTH}
  %count = load i64, ptr %of_count
  %expected = getelementptr i8, ptr %parts, i64 {OF_A_TUPLE}
  %is_list = icmp eq ptr %kind, @list_type
  br i1 %is_list, label %list, label %dict
list:
  %is_as_long = icmp eq i64 %length, %count
  br i1 %is_as_long, label %items, label %other
items:
  %of_items = getelementptr i8, ptr %container, i64 {OF_A_LIST}
  %its_items = load ptr, ptr %of_items
  %bytes = mul i64 %count, 8
  %are_same = call i1 @are_same_bytes(ptr %its_items, ptr %expected, i64 %bytes)
  ret i1 %are_same
dict:
  %double = mul i64 %length, 2
  %is_as_large = icmp eq i64 %double, %count
  br i1 %is_as_large, label %entries, label %other
entries:
  store i64 0, ptr %position
  br label %next
next:
  %i = phi i64 [0, %entries], [%after, %same_key]
  %is_more = call i32 @PyDict_Next(ptr %container, ptr %position, ptr %key, ptr %value)
  %is_over = icmp eq i32 %is_more, 0
  br i1 %is_over, label %same, label %entry
entry:
  %of_key = getelementptr ptr, ptr %expected, i64 %i
  %expected_key = load ptr, ptr %of_key
  %key_now = load ptr, ptr %key
  %is_key = icmp eq ptr %key_now, %expected_key
  br i1 %is_key, label %same_key, label %other
same_key:
  %after = add i64 %i, 1
  %at_value = add i64 %i, %length
  %of_value = getelementptr ptr, ptr %expected, i64 %at_value
  %expected_value = load ptr, ptr %of_value
  %value_now = load ptr, ptr %value
  %is_value = icmp eq ptr %value_now, %expected_value
  br i1 %is_value, label %next, label %other
same:
  ret i1 true
other:
  ret i1 false
}}
"""


def text_of_comparison() -> str:
    """The functions that compare, of which `compared` is to be called with an `AtOnce`."""
    return "\n".join([SAME_BYTES, HAS_PARTS, function("i32 @compared(ptr %seen)", _lines())])


def _lines() -> Iterator[str]:
    yield "  %found = alloca ptr"
    yield "  %i = alloca i64"
    for i, name in enumerate(AtOnce._fields):
        yield from loaded(f"its_{name}", "%seen", OF_A_TUPLE + 8 * i)
    yield from _for_each("cells", ("cell", "content"), _as_it_was_in_a_cell())
    yield from _for_each("entries", ("dict", "key", "value"), _as_it_was_in_a_dict())
    yield from _for_each("functions", ("function", "code", "defaults", "named"), _as_the_function_was())
    yield from _for_each("kinds", ("reference", "kind", "dictionary"), _of_the_kind_it_was())
    yield from _for_each("bases", ("class", "classes"), _with_the_bases_it_had())
    yield from _for_each("elements", ("list", "position", "element"), _as_it_was_in_a_list())
    yield from _for_each("wholes", ("container", "parts"), _as_the_whole_was())
    yield from _for_each("slots", ("holder", "name", "part"), _as_it_was_in_a_slot())
    yield from _for_each("counts", ("collection", "many"), _as_many_as_there_were())
    yield from _for_each("layouts", ("shaped", "lengths", "type"), _as_the_layout_was())
    yield from _for_each("arrays", ("array", "before", "size"), _as_the_array_was())
    yield f"  ret i32 {SAME}"
    yield "forget:"  # the error of a property of this name: Python knows what it means
    yield "  call void @PyErr_Clear()"
    yield "  br label %changed"
    yield "changed:"
    yield f"  ret i32 {CHANGED}"
    yield "error:"
    yield f"  ret i32 {ERROR}"


def _for_each(name: str, parts: tuple[str, ...], lines: Iterable[str]) -> Iterator[str]:
    """The lines that do this for the parts of a tuple, a few of them at once."""
    yield from loaded(f"count_{name}", f"%its_{name}", LENGTH, "i64")
    yield "  store i64 0, ptr %i"
    yield from while_less(name, "i", f"%count_{name}")
    yield f"  %at_{name} = getelementptr ptr, ptr %its_{name}, i64 %i_{name}"
    for i, part in enumerate(parts):
        yield from loaded(part, f"%at_{name}", OF_A_TUPLE + 8 * i)
    yield from lines
    yield from next_one(name, "i", len(parts))


def _as_it_was_in_a_cell() -> Iterator[str]:
    yield from loaded("content_now", "%cell", OF_A_CELL)
    yield from unless("is_other_content", "icmp ne ptr %content_now, %content", "changed")


def _as_it_was_in_a_dict() -> Iterator[str]:
    yield "  store ptr @not_there, ptr %found"
    yield "  %known = call ptr @PyDict_GetItemWithError(ptr %dict, ptr %key)"
    yield "  %is_known = icmp ne ptr %known, null"
    yield "  br i1 %is_known, label %known_now, label %missing"
    yield "known_now:"
    yield "  store ptr %known, ptr %found"
    yield "  br label %compare"
    yield "missing:"
    yield "  %problem = call ptr @PyErr_Occurred()"
    yield "  %is_problem = icmp ne ptr %problem, null"
    yield "  br i1 %is_problem, label %error, label %compare"
    yield "compare:"
    yield "  %value_now = load ptr, ptr %found"
    yield from unless("is_other_value", "icmp ne ptr %value_now, %value", "changed")


def _as_the_function_was() -> Iterator[str]:
    for part, getter in (("code", "Code"), ("defaults", "Defaults"), ("named", "KwDefaults")):
        yield f"  %is_none_{part} = icmp eq ptr %{part}, @none"
        yield f"  %expected_{part} = select i1 %is_none_{part}, ptr null, ptr %{part}"
        yield f"  %{part}_now = call ptr @PyFunction_Get{getter}(ptr %function)"
        yield from unless(f"is_other_{part}", f"icmp ne ptr %{part}_now, %expected_{part}", "changed")


def _as_the_whole_was() -> Iterator[str]:
    yield "  %is_whole = call i1 @has_parts(ptr %container, ptr %parts)"
    yield from unless("has_other_parts", "xor i1 %is_whole, true", "changed")


def _as_it_was_in_a_slot() -> Iterator[str]:
    yield "  %part_now = call ptr @PyObject_GenericGetAttr(ptr %holder, ptr %name)"
    yield "  %is_unset = icmp eq ptr %part_now, null"
    yield "  br i1 %is_unset, label %unset, label %set"
    yield "unset:"
    yield "  call void @PyErr_Clear()"
    yield "  br label %compare_slot"
    yield "set:"
    yield "  call void @Py_DecRef(ptr %part_now)"  # the slot keeps it
    yield "  br label %compare_slot"
    yield "compare_slot:"
    yield "  %found_part = phi ptr [@not_there, %unset], [%part_now, %set]"
    yield from unless("is_other_part", "icmp ne ptr %found_part, %part", "changed")


def _as_many_as_there_were() -> Iterator[str]:
    yield "  %many_before = call i64 @PyLong_AsLong(ptr %many)"
    yield from loaded("many_now", "%collection", LENGTH, "i64")
    yield from unless("are_more_or_fewer", "icmp ne i64 %many_now, %many_before", "changed")


def _as_the_layout_was() -> Iterator[str]:
    yield from loaded("type_now", "%shaped", DTYPE)
    yield from unless("is_other_type", "icmp ne ptr %type_now, %type", "changed")
    yield from loaded("axes_now", "%shaped", NDIM, "i32")
    yield from loaded("bytes_of_lengths", "%lengths", LENGTH, "i64")
    yield "  %axes_in_all = zext i32 %axes_now to i64"
    yield "  %bytes_now = mul i64 %axes_in_all, 8"
    yield from unless("has_other_axes", "icmp ne i64 %bytes_now, %bytes_of_lengths", "changed")
    yield from loaded("lengths_now", "%shaped", SHAPE)
    yield f"  %lengths_before = getelementptr i8, ptr %lengths, i64 {OF_BYTES}"
    yield "  %is_as_shaped = call i1 @are_same_bytes(ptr %lengths_now, ptr %lengths_before, i64 %bytes_now)"
    yield from unless("has_other_shape", "xor i1 %is_as_shaped, true", "changed")


def _of_the_kind_it_was() -> Iterator[str]:
    yield "  %x = call ptr @PyObject_CallNoArgs(ptr %reference)"
    yield from unless("is_no_answer", "icmp eq ptr %x, null", "error")
    yield "  call void @Py_DecRef(ptr %x)"  # if nobody else has it, it is None, or the reference keeps it
    yield from loaded("kind_now", "%x", HEADER)
    yield from unless("is_other_kind", "icmp ne ptr %kind_now, %kind", "changed")
    yield from unless("has_no_dictionary", "icmp eq ptr %dictionary, @none", "next_kinds")
    yield "  %dictionary_now = call ptr @PyObject_GenericGetAttr(ptr %x, ptr @attributes)"
    yield from unless("has_none_now", "icmp eq ptr %dictionary_now, null", "forget")
    yield "  call void @Py_DecRef(ptr %dictionary_now)"
    yield from unless("is_other_dictionary", "icmp ne ptr %dictionary_now, %dictionary", "changed")


def _with_the_bases_it_had() -> Iterator[str]:
    yield from loaded("classes_now", "%class", OF_BASES)
    yield from unless("are_other_classes", "icmp ne ptr %classes_now, %classes", "changed")


def _as_it_was_in_a_list() -> Iterator[str]:
    yield "  %index = call i64 @PyLong_AsLong(ptr %position)"
    yield from loaded("length", "%list", LENGTH, "i64")
    yield from unless("is_outside", "icmp uge i64 %index, %length", "changed")
    yield from loaded("elements", "%list", OF_A_LIST)
    yield "  %its_place = getelementptr ptr, ptr %elements, i64 %index"
    yield "  %element_now = load ptr, ptr %its_place"
    yield from unless("is_other_element", "icmp ne ptr %element_now, %element", "changed")


def _as_the_array_was() -> Iterator[str]:
    for name, offset, form in (("dtype", DTYPE, "ptr"), ("ndim", NDIM, "i32")):
        yield from loaded(f"{name}_now", "%array", offset, form)
        yield from loaded(f"{name}_before", "%before", offset, form)
        yield from unless(f"is_other_{name}", f"icmp ne {form} %{name}_now, %{name}_before", "changed")
    yield "  %axes = zext i32 %ndim_now to i64"
    yield "  %bytes_of_axes = mul i64 %axes, 8"
    yield "  %bytes = call i64 @PyLong_AsLong(ptr %size)"
    of_axes = [(name, offset, "bytes_of_axes") for name, offset in (("shape", SHAPE), ("strides", STRIDES))]
    for name, offset, many in [*of_axes, ("data", DATA, "bytes")]:
        yield from loaded(f"{name}_now", "%array", offset)
        yield from loaded(f"{name}_before", "%before", offset)
        yield f"  %is_same_{name} = call i1 @are_same_bytes(ptr %{name}_now, ptr %{name}_before, i64 %{many})"
        yield from unless(f"is_other_{name}", f"xor i1 %is_same_{name}, true", "changed")
