"""A gate answers a call of a staged function by its native code, without Python, if nothing is in the way.

It is a function of CPython's C API, as the entry is, and all staged functions have the same code. If anything is in
the way, it calls a function of Python's with the same arguments: if a derivative is open or something is recorded, if
NumPy reacts in another way to errors, if what the function sees from outside is not the very same any more, if other
arguments are one array, or if the native code leaves.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import cache
from types import BuiltinFunctionType
from typing import Any, NamedTuple

from shiftreset_ad.control import in_c
from shiftreset_ad.numbers.tags import watcher, without_control
from shiftreset_ad.staging.native import comparisons, machine, structures
from shiftreset_ad.staging.native.cache import kept
from shiftreset_ad.staging.native.callables import have_called
from shiftreset_ad.staging.native.entry import RAISED, Definition, addresses_of, declared, function_of
from shiftreset_ad.staging.native.lines import loaded, next_one, unless, while_less
from shiftreset_ad.staging.native.llvm import DONE, LEAVE, function
from shiftreset_ad.staging.native.machine import (
    HEADER,
    LENGTH,
    OF_A_DEFINITION,
    OF_A_LIST,
    OF_A_TUPLE,
    OF_BYTES,
    OF_ITS_OBJECT,
    OF_THE_FIRST_SLOT,
)
from shiftreset_ad.staging.seen.at_once import AtOnce
from shiftreset_ad.staging.steps.trace import REACTIONS
from shiftreset_ad.staging.threads import that_record

NAME, ENTERED = "gate", "entered"
BYTES_OF_A_MARK = 2
COUNT_OF_ARGUMENTS = 2**63 - 1  # the other bit says that the memory before them may be used
METH_FASTCALL_AND_KEYWORDS = 0x82
FUNCTIONS = {
    **structures.FUNCTIONS,
    **comparisons.FUNCTIONS,
    "PyContextVar_Get": "i32 (ptr, ptr, ptr)",
    "PyObject_GetAttr": "ptr (ptr, ptr)",
    "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
}
OBJECTS: dict[str, Any] = {
    **structures.OBJECTS,
    **comparisons.OBJECTS,
    "call": "__call__",
    "function_type": BuiltinFunctionType,
    "open_tags": without_control,
    "reactions": REACTIONS,
    "recording": that_record,
    "tuple_type": tuple,
    "watcher": watcher,
}


class Items(NamedTuple):
    """What a gate has. `otherwise` is called if it does not answer a call, or has the items of another gate.

    `fill` has the address of the function of `entry` that answers without a list, and the number of answers.
    `forms` are those of the arguments (`structures`), or None if each of them is a leaf; the last ones have the names
    `keywords`. `marks` has two bytes for each leaf: 0 for a number, and a number for each array. `settings` are those
    of NumPy for errors, and `are_others` says None for others that are as good. `finish` is the form of the answer, or
    a function that makes it of the list of its leaves. `seen` is what the function sees from outside, and `changed`
    says None for others that nobody can tell apart. `key` is kept alive.
    """

    otherwise: Callable[..., Any] | Items
    entry: Callable[..., Any]
    fill: bytes
    forms: tuple[Any, ...] | None
    keywords: tuple[str, ...]
    marks: bytes
    settings: Any
    are_others: Callable[[], Any]
    finish: Any
    seen: AtOnce
    changed: Callable[[], str | None]
    key: Any


def built(items: Items) -> Callable[..., Any]:
    """The gate with these items."""
    return function_of(_code().definition, items)


def enter(x: Any, kind: type) -> None:
    """Have calls of `x` begin with its gate, if it is an object of `with_calls_in_c(kind)`."""
    have_called(x, kind, _code().linked.address(ENTERED))


@cache
def is_made() -> bool:
    """Whether there is code for gates here. If LLVM has a problem with it, calls are answered without gates."""
    try:
        _code()
    except Exception:
        return False
    return True


class _Code(NamedTuple):
    """The code of all gates, and its description for CPython."""

    linked: machine.Linked
    definition: Definition


@cache
def _code() -> _Code:
    text, definition = text_of_gate(), Definition(b"gate", None, METH_FASTCALL_AND_KEYWORDS, None)
    code = kept(f"{text}\n{machine.described()}", lambda: machine.compiled(text))
    addresses = {name: id(x) for name, x in (OBJECTS | {"items_type": Items}).items()}
    addresses |= addresses_of(FUNCTIONS) | in_c.addresses() | {"definition": ctypes.addressof(definition)}
    linked = machine.Linked(code, addresses, NAME, ENTERED)
    definition.function = linked.address(NAME)
    return _Code(linked, definition)


def text_of_gate() -> str:
    """The module of the gate in LLVM's language."""
    names = [f"@{name} = external global i8" for name in (*OBJECTS, "items_type", "definition")]
    names += [*declared(FUNCTIONS | in_c.FUNCTIONS), "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"]
    names += ["declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"]
    names += ["declare ptr @llvm.stacksave.p0()", "declare void @llvm.stackrestore.p0(ptr)"]
    gate = function(f"ptr @{NAME}(ptr %self, ptr %args, i64 %count, ptr %keywords)", _gate(), "")
    answered = function("i64 @answered(ptr %items, ptr %args, ptr %answers)", _answered())
    entered = function(f"ptr @{ENTERED}(ptr %x, ptr %args, i64 %counted, ptr %keywords)", _entered(), "")
    return "\n".join([*names, structures.TEXT, comparisons.text_of_comparison(), answered, gate, entered, ""])


def _gate() -> Iterator[str]:
    yield "  %found = alloca ptr"
    yield "  %i = alloca i64"
    yield "  %top = call ptr @llvm.stacksave.p0()"
    yield "  br label %start"
    yield "start:"
    yield "  %items = phi ptr [%self, %0], [%its_otherwise, %next]"
    yield from _items("otherwise", "fill", "forms", "keywords", "marks", "settings", "are_others", "finish")
    yield from _if_empty("recording")
    yield from _if_empty("open_tags")
    yield from _if_outermost()
    yield from _if_set("watcher", "@none", "otherwise")
    yield from _if_set("reactions", "%its_settings", "ask")
    yield "  br label %take"
    yield "ask:"
    yield from _if_none("are_others", "%its_are_others", "otherwise")
    yield "  br label %take"
    yield "take:"
    yield from _many()
    yield from loaded("count_of_answers", "%its_fill", OF_BYTES + 8, "i64")
    yield "  %answers = alloca ptr, i64 %count_of_answers"
    yield "  %bytes_of_answers = mul i64 %count_of_answers, 8"
    yield "  call void @llvm.memset.p0.i64(ptr %answers, i8 0, i64 %bytes_of_answers, i1 false)"
    yield from _taken()
    yield "given:"
    yield "  %status = phi i64 [%status_flat, %not_has_others], [%status_structured, %over_leaves]"
    yield f"  switch i64 %status, label %otherwise [i64 {DONE}, label %finish i64 {RAISED}, label %raised]"
    yield "finish:"
    yield from _finished()
    yield "otherwise:"
    yield from loaded("sort_of_other", "%its_otherwise", HEADER)
    yield from unless("is_gate", "icmp eq ptr %sort_of_other, @items_type", "next")
    yield "  call void @llvm.stackrestore.p0(ptr %top)"  # the function may call itself
    yield "  %answer = call ptr @PyObject_Vectorcall(ptr %its_otherwise, ptr %args, i64 %count, ptr %keywords)"
    yield "  ret ptr %answer"
    yield "next:"  # in the same call, so that gates behind one another count as one call
    yield "  call void @llvm.stackrestore.p0(ptr %top)"
    yield "  br label %start"
    yield "raised:"
    yield from _dropped("answers", "%count_of_answers", "raised")
    yield "  br label %error"
    yield "error:"
    yield "  ret ptr null"


def _dropped(objects: str, count: str, where: str) -> Iterator[str]:
    """The lines that drop all of these objects; `Py_DecRef` takes null, too."""
    yield "  store i64 0, ptr %i"
    yield from while_less(where, "i", count)
    yield f"  %place_{where} = getelementptr ptr, ptr %{objects}, i64 %i_{where}"
    yield f"  %dropped_{where} = load ptr, ptr %place_{where}"
    yield f"  call void @Py_DecRef(ptr %dropped_{where})"
    yield from next_one(where, "i")


def _entered() -> Iterator[str]:
    """The lines that call what an object has as `__call__`, and a gate without its description."""
    yield from loaded("called", "%x", OF_THE_FIRST_SLOT)
    yield from unless("is_deleted", "icmp eq ptr %called, null", "missing")
    yield "  call void @Py_IncRef(ptr %called)"  # meanwhile, the object may get another one
    yield from loaded("kind", "%called", HEADER)
    yield from unless("is_other", "icmp ne ptr %kind, @function_type", "other")
    yield from loaded("its_definition", "%called", OF_A_DEFINITION)
    yield from unless("is_other_function", "icmp ne ptr %its_definition, @definition", "other")
    yield from loaded("items", "%called", OF_ITS_OBJECT)
    yield f"  %count = and i64 %counted, {COUNT_OF_ARGUMENTS}"
    yield f"  %answer = call ptr @{NAME}(ptr %items, ptr %args, i64 %count, ptr %keywords)"
    yield "  br label %done"
    yield "other:"
    yield "  %other_answer = call ptr @PyObject_Vectorcall(ptr %called, ptr %args, i64 %counted, ptr %keywords)"
    yield "  br label %done"
    yield "done:"
    yield "  %found = phi ptr [%answer, %not_is_other_function], [%other_answer, %other]"
    yield "  call void @Py_DecRef(ptr %called)"
    yield "  ret ptr %found"
    yield "missing:"
    yield "  %error = call ptr @PyObject_GetAttr(ptr %x, ptr @call)"  # null, with an AttributeError
    yield "  ret ptr %error"


def _answered() -> Iterator[str]:
    """The status of native code that puts its answers to these leaves in their places: DONE, RAISED, or another one."""
    for index in ("i", "j"):
        yield f"  %{index} = alloca i64"
    yield from _items("entry", "fill", "marks", "seen", "changed")
    yield "  %status = call i32 @compared(ptr %its_seen)"
    yield from unless("is_error", f"icmp eq i32 %status, {comparisons.ERROR}", "error")
    yield from unless("is_unlike", f"icmp eq i32 %status, {comparisons.CHANGED}", "changed")
    yield from loaded("its_others", "%its_seen", OF_A_TUPLE + 8 * AtOnce._fields.index("others"))
    yield "  %are_others = icmp ne ptr %its_others, @none"
    yield "  br i1 %are_others, label %look_at_others, label %unchanged"
    yield "look_at_others:"
    yield from _if_none("others", "%its_others", "missed")
    yield "  br label %unchanged"
    yield "changed:"
    yield from _if_none("changed", "%its_changed", "missed")
    yield "  br label %unchanged"
    yield "unchanged:"
    yield from _many()
    yield from _if_the_same_arrays_are_one()
    yield from loaded("fill", "%its_fill", OF_BYTES)
    yield from loaded("code", "%its_entry", OF_ITS_OBJECT)
    yield "  %filled = call i64 %fill(ptr %code, ptr %args, i64 %many, ptr %answers)"
    yield "  ret i64 %filled"
    yield "missed:"
    yield f"  ret i64 {LEAVE}"
    yield "error:"
    yield f"  ret i64 {RAISED}"


def _items(*names: str) -> Iterator[str]:
    for name in names:
        yield from loaded(f"its_{name}", "%items", OF_A_TUPLE + 8 * Items._fields.index(name))


def _if_empty(name: str) -> Iterator[str]:
    """The lines that go on if a list is empty."""
    yield from loaded(f"count_{name}", f"@{name}", LENGTH, "i64")
    yield from unless(f"is_{name}", f"icmp ne i64 %count_{name}, 0", "otherwise")


def _if_outermost() -> Iterator[str]:
    """The lines that go on if the call is in no greenlet but that of its thread."""
    yield "  %here = call ptr @PyGreenlet_GetCurrent()"
    yield from unless("is_nowhere", "icmp eq ptr %here, null", "error")
    yield "  %is_outermost = call i32 @PyGreenlet_MAIN(ptr %here)"
    yield "  call void @Py_DecRef(ptr %here)"
    yield from unless("is_inside", "icmp eq i32 %is_outermost, 0", "otherwise")


def _if_set(name: str, expected: str, otherwise: str) -> Iterator[str]:
    """The lines that go on if a variable of the context has this content."""
    yield f"  %status_{name} = call i32 @PyContextVar_Get(ptr @{name}, ptr null, ptr %found)"
    yield from unless(f"is_error_{name}", f"icmp ne i32 %status_{name}, 0", "error")
    yield f"  %now_{name} = load ptr, ptr %found"
    yield f"  call void @Py_DecRef(ptr %now_{name})"
    yield from unless(f"is_other_{name}", f"icmp ne ptr %now_{name}, {expected}", otherwise)


def _if_none(name: str, function: str, otherwise: str) -> Iterator[str]:
    """The lines that go on if a function of Python's answers None."""
    yield f"  %said_{name} = call ptr @PyObject_CallNoArgs(ptr {function})"
    yield from unless(f"is_raised_{name}", f"icmp eq ptr %said_{name}, null", "error")
    yield f"  call void @Py_DecRef(ptr %said_{name})"
    yield from unless(f"is_other_{name}", f"icmp ne ptr %said_{name}, @none", otherwise)


def _marks(*names: str) -> Iterator[str]:
    """The lines that load the marks of leaves, by their indices."""
    for name in names:
        yield f"  %in_marks_{name} = getelementptr i16, ptr %marks, i64 %{name}"
        yield f"  %mark_{name} = load i16, ptr %in_marks_{name}"


def _if_the_same_arrays_are_one() -> Iterator[str]:
    """The lines that go on if two arrays are the same array where they were it in the record, and nowhere else."""
    yield f"  %marks = getelementptr i8, ptr %its_marks, i64 {OF_BYTES}"
    yield "  store i64 0, ptr %i"
    yield from while_less("first", "i", "%many")
    yield from _marks("i_first")
    yield from unless("is_number", "icmp eq i16 %mark_i_first, 0", "next_first")
    yield "  %place_of_first = getelementptr ptr, ptr %args, i64 %i_first"
    yield "  %first = load ptr, ptr %place_of_first"
    yield "  store i64 0, ptr %j"
    yield from while_less("second", "j", "%i_first")
    yield from _marks("j_second")
    yield "  %place_of_second = getelementptr ptr, ptr %args, i64 %j_second"
    yield "  %second = load ptr, ptr %place_of_second"
    yield "  %was_one = icmp eq i16 %mark_i_first, %mark_j_second"
    yield "  %is_one = icmp eq ptr %first, %second"
    yield from unless("is_other", "xor i1 %was_one, %is_one", "missed")
    yield from next_one("second", "j")
    yield from next_one("first", "i")


def _many() -> Iterator[str]:
    """The lines that find the number of leaves."""
    yield from loaded("bytes_of_marks", "%its_marks", LENGTH, "i64")
    yield f"  %many = udiv i64 %bytes_of_marks, {BYTES_OF_A_MARK}"


def _taken() -> Iterator[str]:
    """The lines that have the call answered for its leaves: its arguments, or what is in them."""
    yield "  %is_flat = icmp eq ptr %its_forms, @none"
    yield "  br i1 %is_flat, label %flat, label %structured"
    yield "flat:"
    yield from unless("has_keywords", "icmp ne ptr %keywords, null", "otherwise")
    yield from unless("has_others", "icmp ne i64 %count, %many", "otherwise")
    yield "  %status_flat = call i64 @answered(ptr %items, ptr %args, ptr %answers)"
    yield "  br label %given"
    yield "structured:"
    yield "  %is_like = call i1 @are_named(ptr %keywords, ptr %its_keywords)"
    yield from unless("is_unlike", "xor i1 %is_like, true", "otherwise")
    yield from loaded("named", "%its_keywords", LENGTH, "i64")
    yield from loaded("forms", "%its_forms", LENGTH, "i64")
    yield "  %all = add i64 %count, %named"
    yield from unless("has_others_named", "icmp ne i64 %all, %forms", "otherwise")
    yield "  %leaves = alloca ptr, i64 %many"
    yield "  %bytes = mul i64 %many, 8"
    yield "  call void @llvm.memset.p0.i64(ptr %leaves, i8 0, i64 %bytes, i1 false)"
    yield f"  %first_form = getelementptr i8, ptr %its_forms, i64 {OF_A_TUPLE}"
    yield "  %is_taken = call i1 @take_all(ptr %args, ptr %first_form, i64 %all, ptr %leaves)"
    yield "  br i1 %is_taken, label %enter, label %release"
    yield "enter:"
    yield "  %status_of_leaves = call i64 @answered(ptr %items, ptr %leaves, ptr %answers)"
    yield "  br label %release"
    yield "release:"
    yield f"  %status_structured = phi i64 [{LEAVE}, %not_has_others_named], [%status_of_leaves, %enter]"
    yield from _dropped("leaves", "%many", "leaves")
    yield "  br label %given"


def _finished() -> Iterator[str]:
    """The lines that make the answer of its leaves, by a form or by a function."""
    yield from loaded("sort", "%its_finish", HEADER)
    yield from unless("is_leaf", "icmp eq ptr %sort, @int_type", "one")
    yield from unless("is_function", "icmp ne ptr %sort, @tuple_type", "by_function")
    yield "  %made = call ptr @make(ptr %its_finish, ptr %answers)"
    yield from _dropped("answers", "%count_of_answers", "made")
    yield "  ret ptr %made"
    yield "one:"
    yield "  %only = load ptr, ptr %answers"
    yield "  ret ptr %only"
    yield "by_function:"
    yield "  %list = call ptr @PyList_New(i64 %count_of_answers)"
    yield from unless("is_no_list", "icmp eq ptr %list, null", "raised")
    yield from loaded("elements", "%list", OF_A_LIST)
    yield "  call void @llvm.memcpy.p0.p0.i64(ptr %elements, ptr %answers, i64 %bytes_of_answers, i1 false)"
    yield "  %made_by_it = call ptr @PyObject_CallOneArg(ptr %its_finish, ptr %list)"
    yield "  call void @Py_DecRef(ptr %list)"
    yield "  ret ptr %made_by_it"
