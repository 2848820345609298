"""A gate answers a call of a staged function by its native code, without Python, if nothing is in the way.

It is a function of CPython's C API, as the entry is, and all staged functions have the same code. If anything is in
the way, it calls a function of Python's with the same arguments: if a derivative is open or something is recorded, if
NumPy reacts in another way to errors, if what the function sees from outside is not the very same any more, if other
arguments are one array, or if the native code leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from shiftreset_ad.control import here
from shiftreset_ad.numbers.tags import watcher, without_control
from shiftreset_ad.staging.native import comparisons, machine, structures
from shiftreset_ad.staging.native.cache import kept
from shiftreset_ad.staging.native.entry import Definition, addresses_of, declared, function_of
from shiftreset_ad.staging.native.lines import loaded, next_one, unless, while_less
from shiftreset_ad.staging.native.llvm import function
from shiftreset_ad.staging.native.machine import HEADER, LENGTH, OF_A_LIST, OF_A_TUPLE, OF_BYTES
from shiftreset_ad.staging.seen.guards import AtOnce
from shiftreset_ad.staging.steps.trace import REACTIONS
from shiftreset_ad.staging.threads import that_record

NAME = "gate"
BYTES_OF_A_MARK = 2
METH_FASTCALL_AND_KEYWORDS = 0x82
FUNCTIONS = {
    **structures.FUNCTIONS,
    **comparisons.FUNCTIONS,
    "PyContextVar_Get": "i32 (ptr, ptr, ptr)",
    "PyObject_CallOneArg": "ptr (ptr, ptr)",
    "PyObject_GetAttr": "ptr (ptr, ptr)",
    "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
}
OBJECTS: dict[str, Any] = {
    **structures.OBJECTS,
    **comparisons.OBJECTS,
    "here": here,
    "open_tags": without_control,
    "parent": "parent",
    "reactions": REACTIONS,
    "recording": that_record,
    "tuple_type": tuple,
    "watcher": watcher,
}


class Items(NamedTuple):
    """What a gate has. `otherwise` is called if it does not answer a call, or has the items of another gate.

    `forms` are those of the arguments (`structures`), or None if each of them is a leaf; the last ones have the names
    `keywords`. `marks` has two bytes for each leaf: 0 for a number, and a number for each array. `settings` are those
    of NumPy for errors, and `are_others` says None for others that are as good. `finish` is the form of the answer, or
    a function that makes it of the list of its leaves. `seen` is what the function sees from outside, and `changed`
    says None for others that nobody can tell apart. `key` is kept alive.
    """

    otherwise: Callable[..., Any] | Items
    entry: Callable[..., Any]
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
    _, definition = _code()
    return function_of(definition, items)


@cache
def is_made() -> bool:
    """Whether there is code for gates here. If LLVM has a problem with it, calls are answered without gates."""
    try:
        _code()
    except Exception:
        return False
    return True


@cache
def _code() -> tuple[machine.Linked, Definition]:
    """The code of all gates, and its description for CPython."""
    text = text_of_gate()
    code = kept(f"{text}\n{machine.described()}", lambda: machine.compiled(text))
    objects = {name: id(x) for name, x in (OBJECTS | {"items_type": Items}).items()}
    linked = machine.Linked(code, objects | addresses_of(FUNCTIONS), NAME)
    return linked, Definition(b"gate", linked.address(NAME), METH_FASTCALL_AND_KEYWORDS, None)


def text_of_gate() -> str:
    """The module of the gate in LLVM's language."""
    names = [f"@{name} = external global i8" for name in (*OBJECTS, "items_type")]
    names += [*declared(FUNCTIONS), "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"]
    names += ["declare ptr @llvm.stacksave.p0()", "declare void @llvm.stackrestore.p0(ptr)"]
    gate = function(f"ptr @{NAME}(ptr %self, ptr %args, i64 %count, ptr %keywords)", _gate(), "")
    answered = function("ptr @answered(ptr %items, ptr %args)", _answered())
    return "\n".join([*names, structures.TEXT, comparisons.text_of_comparison(), answered, gate, ""])


def _gate() -> Iterator[str]:
    yield "  %found = alloca ptr"
    yield "  %i = alloca i64"
    yield "  %top = call ptr @llvm.stacksave.p0()"
    yield "  br label %start"
    yield "start:"
    yield "  %items = phi ptr [%self, %0], [%its_otherwise, %next]"
    yield from _items("otherwise", "forms", "keywords", "marks", "settings", "are_others", "finish")
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
    yield from _taken()
    yield "given:"
    yield "  %answers = load ptr, ptr %found"
    yield from unless("is_raised", "icmp eq ptr %answers, null", "error")
    yield from unless("is_missed", "icmp eq ptr %answers, @not_there", "otherwise")
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
    yield "error:"
    yield "  ret ptr null"


def _answered() -> Iterator[str]:
    """The list that native code answers to these leaves; `not_there` if there is none, and null for an error."""
    for index in ("i", "j"):
        yield f"  %{index} = alloca i64"
    yield from _items("entry", "marks", "seen", "changed")
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
    yield "  %answers = call ptr @PyObject_Vectorcall(ptr %its_entry, ptr %args, i64 %many, ptr null)"
    yield from unless("is_raised", "icmp eq ptr %answers, null", "error")
    yield from loaded("kind", "%answers", HEADER)
    yield from unless("is_left", "icmp ne ptr %kind, @list_type", "drop")
    yield "  ret ptr %answers"
    yield "drop:"
    yield "  call void @Py_DecRef(ptr %answers)"
    yield "  br label %missed"
    yield "missed:"
    yield "  ret ptr @not_there"
    yield "error:"
    yield "  ret ptr null"


def _items(*names: str) -> Iterator[str]:
    for name in names:
        yield from loaded(f"its_{name}", "%items", OF_A_TUPLE + 8 * Items._fields.index(name))


def _if_empty(name: str) -> Iterator[str]:
    """The lines that go on if a list is empty."""
    yield from loaded(f"count_{name}", f"@{name}", LENGTH, "i64")
    yield from unless(f"is_{name}", f"icmp ne i64 %count_{name}, 0", "otherwise")


def _if_outermost() -> Iterator[str]:
    """The lines that go on if the call is in no greenlet but that of its thread."""
    yield "  %here = call ptr @PyObject_CallNoArgs(ptr @here)"
    yield from unless("is_nowhere", "icmp eq ptr %here, null", "error")
    yield "  %parent = call ptr @PyObject_GetAttr(ptr %here, ptr @parent)"
    yield "  call void @Py_DecRef(ptr %here)"
    yield from unless("is_unknown", "icmp eq ptr %parent, null", "error")
    yield "  call void @Py_DecRef(ptr %parent)"
    yield from unless("is_inside", "icmp ne ptr %parent, @none", "otherwise")


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
    yield "  %for_args = call ptr @answered(ptr %items, ptr %args)"
    yield "  store ptr %for_args, ptr %found"
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
    yield "  store ptr @not_there, ptr %found"
    yield "  br i1 %is_taken, label %enter, label %release"
    yield "enter:"
    yield "  %for_leaves = call ptr @answered(ptr %items, ptr %leaves)"
    yield "  store ptr %for_leaves, ptr %found"
    yield "  br label %release"
    yield "release:"
    yield "  store i64 0, ptr %i"
    yield from while_less("leaves", "i", "%many")
    yield "  %place = getelementptr ptr, ptr %leaves, i64 %i_leaves"
    yield "  %leaf = load ptr, ptr %place"
    yield "  call void @Py_DecRef(ptr %leaf)"
    yield from next_one("leaves", "i")
    yield "  br label %given"


def _finished() -> Iterator[str]:
    """The lines that make the answer of the list of its leaves, by a form or by a function."""
    yield from loaded("sort", "%its_finish", HEADER)
    yield "  %is_leaf = icmp eq ptr %sort, @int_type"
    yield "  %is_structure = icmp eq ptr %sort, @tuple_type"
    yield "  %is_form = or i1 %is_leaf, %is_structure"
    yield from unless("is_function", "xor i1 %is_form, true", "by_function")
    yield from loaded("elements", "%answers", OF_A_LIST)
    yield "  %made = call ptr @make(ptr %its_finish, ptr %elements)"
    yield "  call void @Py_DecRef(ptr %answers)"
    yield "  ret ptr %made"
    yield "by_function:"
    yield "  %made_by_it = call ptr @PyObject_CallOneArg(ptr %its_finish, ptr %answers)"
    yield "  call void @Py_DecRef(ptr %answers)"
    yield "  ret ptr %made_by_it"
