"""Structures in the arguments of a gate are taken apart in C, and its answers are put together, by their forms.

A form says what an argument must be, or how an answer is made. It is an object of Python's:

*   an integer stands for a leaf: a number or an array, at this place among the leaves;
*   a tuple of one element stands for this very object, a constant;
*   a weak reference stands for its object;
*   `(kind, keys, *forms)` stands for a tuple, a list or a dict, with the forms of its parts. A dict has the very same
    keys in this order; otherwise there are none, and `keys` is None.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import ref

from shiftreset_ad.boundary import trees
from shiftreset_ad.staging.native.machine import HEADER, LENGTH, OF_A_LIST, OF_A_TUPLE
from shiftreset_ad.staging.seen.keys import STRINGS, is_by_identity, is_input

CONSTANTS = {bool, str, type(None)}  # the types of what decides which way a function takes, by its value
FUNCTIONS = {
    "PyDict_New": "ptr ()",
    "PyDict_Next": "i32 (ptr, ptr, ptr, ptr)",
    "PyDict_SetItem": "i32 (ptr, ptr, ptr)",
    "PyList_New": "ptr (i64)",
    "PyLong_AsLong": "i64 (ptr)",
    "PyObject_CallNoArgs": "ptr (ptr)",
    "PyTuple_New": "ptr (i64)",
    "Py_DecRef": "void (ptr)",
    "Py_IncRef": "void (ptr)",
}
OBJECTS: dict[str, Any] = {"int_type": int, "list_type": list, "none": None, "reference_type": ref}

# Put the leaves of `x` in their places, and keep them alive; whether `x` has this form.
TAKE = f"""
define internal i1 @take(ptr %x, ptr %form, ptr %leaves) {{
  %position = alloca i64
  %key = alloca ptr
  %value = alloca ptr
  %of_sort = getelementptr i8, ptr %form, i64 {HEADER}
  %sort = load ptr, ptr %of_sort
  %is_leaf = icmp eq ptr %sort, @int_type
  br i1 %is_leaf, label %leaf, label %no_leaf
leaf:
  %index = call i64 @PyLong_AsLong(ptr %form)
  %place = getelementptr ptr, ptr %leaves, i64 %index
  store ptr %x, ptr %place
  call void @Py_IncRef(ptr %x)
  ret i1 true
no_leaf:
  %is_reference = icmp eq ptr %sort, @reference_type
  br i1 %is_reference, label %reference, label %parts
reference:
  %object = call ptr @PyObject_CallNoArgs(ptr %form)
  call void @Py_DecRef(ptr %object)
  %is_same_object = icmp eq ptr %x, %object
  %is_there = icmp ne ptr %object, @none
  %is_it = and i1 %is_same_object, %is_there
  ret i1 %is_it
parts:
  %of_length = getelementptr i8, ptr %form, i64 {LENGTH}
  %length = load i64, ptr %of_length
  %of_first = getelementptr i8, ptr %form, i64 {OF_A_TUPLE}
  %first = load ptr, ptr %of_first
  %is_constant = icmp eq i64 %length, 1
  br i1 %is_constant, label %constant, label %structure
constant:
  %is_same = icmp eq ptr %x, %first
  ret i1 %is_same
structure:
  %of_kind = getelementptr i8, ptr %x, i64 {HEADER}
  %kind = load ptr, ptr %of_kind
  %is_of_kind = icmp eq ptr %kind, %first
  br i1 %is_of_kind, label %sized, label %other
sized:
  %of_count = getelementptr i8, ptr %x, i64 {LENGTH}
  %count = load i64, ptr %of_count
  %expected = sub i64 %length, 2
  %is_as_long = icmp eq i64 %count, %expected
  br i1 %is_as_long, label %alike, label %other
alike:
  %of_keys = getelementptr i8, ptr %form, i64 {OF_A_TUPLE + 8}
  %keys = load ptr, ptr %of_keys
  %forms = getelementptr i8, ptr %form, i64 {OF_A_TUPLE + 16}
  %has_keys = icmp ne ptr %keys, @none
  br i1 %has_keys, label %mapping, label %sequence
sequence:
  %in_it = getelementptr i8, ptr %x, i64 {OF_A_TUPLE}
  %is_list = icmp eq ptr %kind, @list_type
  br i1 %is_list, label %list, label %elements
list:
  %of_items = getelementptr i8, ptr %x, i64 {OF_A_LIST}
  %apart = load ptr, ptr %of_items
  br label %elements
elements:
  %items = phi ptr [%in_it, %sequence], [%apart, %list]
  %are_taken = call i1 @take_all(ptr %items, ptr %forms, i64 %count, ptr %leaves)
  ret i1 %are_taken
mapping:
  store i64 0, ptr %position
  br label %next
next:
  %i = phi i64 [0, %mapping], [%after, %go_on]
  %is_more = call i32 @PyDict_Next(ptr %x, ptr %position, ptr %key, ptr %value)
  %is_over = icmp eq i32 %is_more, 0
  br i1 %is_over, label %whole, label %entry
entry:
  %this_key = load ptr, ptr %key
  %in_keys = getelementptr i8, ptr %keys, i64 {OF_A_TUPLE}
  %of_key = getelementptr ptr, ptr %in_keys, i64 %i
  %expected_key = load ptr, ptr %of_key
  %is_key = icmp eq ptr %this_key, %expected_key
  br i1 %is_key, label %under_key, label %other
under_key:
  %this_value = load ptr, ptr %value
  %of_form = getelementptr ptr, ptr %forms, i64 %i
  %its_form = load ptr, ptr %of_form
  %is_taken = call i1 @take(ptr %this_value, ptr %its_form, ptr %leaves)
  br i1 %is_taken, label %go_on, label %other
go_on:
  %after = add i64 %i, 1
  br label %next
whole:
  ret i1 true
other:
  ret i1 false
}}
"""
# The same for several objects.
TAKE_ALL = """
define internal i1 @take_all(ptr %items, ptr %forms, i64 %count, ptr %leaves) {
  br label %next
next:
  %i = phi i64 [0, %0], [%after, %go_on]
  %is_over = icmp eq i64 %i, %count
  br i1 %is_over, label %whole, label %element
element:
  %of_x = getelementptr ptr, ptr %items, i64 %i
  %x = load ptr, ptr %of_x
  %of_form = getelementptr ptr, ptr %forms, i64 %i
  %form = load ptr, ptr %of_form
  %is_taken = call i1 @take(ptr %x, ptr %form, ptr %leaves)
  br i1 %is_taken, label %go_on, label %other
go_on:
  %after = add i64 %i, 1
  br label %next
whole:
  ret i1 true
other:
  ret i1 false
}
"""
# Whether the names of arguments are the very same objects as these; without such arguments there are none.
ARE_NAMED = f"""
define internal i1 @are_named(ptr %names, ptr %expected) {{
  %of_count = getelementptr i8, ptr %expected, i64 {LENGTH}
  %count = load i64, ptr %of_count
  %is_none = icmp eq ptr %names, null
  br i1 %is_none, label %none, label %some
none:
  %is_empty = icmp eq i64 %count, 0
  ret i1 %is_empty
some:
  %of_length = getelementptr i8, ptr %names, i64 {LENGTH}
  %length = load i64, ptr %of_length
  %is_as_long = icmp eq i64 %count, %length
  br i1 %is_as_long, label %compare, label %other
compare:
  %in_names = getelementptr i8, ptr %names, i64 {OF_A_TUPLE}
  %in_expected = getelementptr i8, ptr %expected, i64 {OF_A_TUPLE}
  %bytes = mul i64 %count, 8
  %are_same = call i1 @are_same_bytes(ptr %in_names, ptr %in_expected, i64 %bytes)
  ret i1 %are_same
other:
  ret i1 false
}}
"""
# A new structure of this form with these leaves; null for an error.
MAKE = f"""
define internal ptr @make(ptr %form, ptr %leaves) {{
  %of_sort = getelementptr i8, ptr %form, i64 {HEADER}
  %sort = load ptr, ptr %of_sort
  %is_leaf = icmp eq ptr %sort, @int_type
  br i1 %is_leaf, label %leaf, label %parts
leaf:
  %index = call i64 @PyLong_AsLong(ptr %form)
  %place = getelementptr ptr, ptr %leaves, i64 %index
  %x = load ptr, ptr %place
  call void @Py_IncRef(ptr %x)
  ret ptr %x
parts:
  %of_length = getelementptr i8, ptr %form, i64 {LENGTH}
  %length = load i64, ptr %of_length
  %of_first = getelementptr i8, ptr %form, i64 {OF_A_TUPLE}
  %first = load ptr, ptr %of_first
  %is_constant = icmp eq i64 %length, 1
  br i1 %is_constant, label %constant, label %structure
constant:
  call void @Py_IncRef(ptr %first)
  ret ptr %first
structure:
  %of_keys = getelementptr i8, ptr %form, i64 {OF_A_TUPLE + 8}
  %keys = load ptr, ptr %of_keys
  %in_keys = getelementptr i8, ptr %keys, i64 {OF_A_TUPLE}
  %forms = getelementptr i8, ptr %form, i64 {OF_A_TUPLE + 16}
  %count = sub i64 %length, 2
  %is_list = icmp eq ptr %first, @list_type
  %has_keys = icmp ne ptr %keys, @none
  br i1 %has_keys, label %new_dict, label %new_sequence
new_dict:
  %dict = call ptr @PyDict_New()
  br label %has_made
new_sequence:
  br i1 %is_list, label %new_list, label %new_tuple
new_list:
  %list = call ptr @PyList_New(i64 %count)
  br label %has_made
new_tuple:
  %tuple = call ptr @PyTuple_New(i64 %count)
  br label %has_made
has_made:
  %made = phi ptr [%dict, %new_dict], [%list, %new_list], [%tuple, %new_tuple]
  %is_none = icmp eq ptr %made, null
  br i1 %is_none, label %error, label %next
next:
  %i = phi i64 [0, %has_made], [%after, %go_on]
  %is_over = icmp eq i64 %i, %count
  br i1 %is_over, label %whole, label %part
part:
  %of_form = getelementptr ptr, ptr %forms, i64 %i
  %its_form = load ptr, ptr %of_form
  %its = call ptr @make(ptr %its_form, ptr %leaves)
  %is_failed = icmp eq ptr %its, null
  br i1 %is_failed, label %drop, label %put
put:
  br i1 %has_keys, label %under_key, label %at_index
under_key:
  %of_key = getelementptr ptr, ptr %in_keys, i64 %i
  %key = load ptr, ptr %of_key
  %status = call i32 @PyDict_SetItem(ptr %made, ptr %key, ptr %its)
  call void @Py_DecRef(ptr %its)
  %is_put = icmp eq i32 %status, 0
  br i1 %is_put, label %go_on, label %drop
at_index:
  %of_items = getelementptr i8, ptr %made, i64 {OF_A_LIST}
  br i1 %is_list, label %in_list, label %in_it
in_list:
  %items = load ptr, ptr %of_items
  br label %in_it
in_it:
  %elements = phi ptr [%of_items, %at_index], [%items, %in_list]
  %of_element = getelementptr ptr, ptr %elements, i64 %i
  store ptr %its, ptr %of_element
  br label %go_on
go_on:
  %after = add i64 %i, 1
  br label %next
whole:
  ret ptr %made
drop:
  call void @Py_DecRef(ptr %made)
  br label %error
error:
  ret ptr null
}}
"""
TEXT = "\n".join([TAKE, TAKE_ALL, ARE_NAMED, MAKE])


def form_of(x: Any, places: Iterator[int]) -> Any:
    """The form of an argument, with the next `places` for its leaves. TypeError if the gate cannot take it apart."""
    kind = type(x)
    if is_input(x):
        return next(places)
    if kind in CONSTANTS:
        return (x,)
    if kind is tuple or kind is list:
        return kind, None, *(form_of(part, places) for part in x)
    if kind is dict and STRINGS.issuperset(map(type, x)):
        forms = forms_of(x, places)
        return dict, tuple(x), *forms
    if is_by_identity(x):
        return reference_to(x)
    raise TypeError(f"a {kind.__name__} is not compared by its identity")


def reference_to(x: Any) -> Any:
    """The form of an object that is compared by its identity. If it has no weak references, it is kept alive."""
    try:
        return ref(x)
    except TypeError:
        return (x,)


def forms_of(x: dict[str, Any], places: Iterator[int]) -> list[Any]:
    """The forms of the values. The leaves are in the order in which optree has the keys."""
    keys = list(x)
    order, _ = trees.flatten({key: i for i, key in enumerate(keys)})
    forms = {i: form_of(x[keys[i]], places) for i in order}
    return [forms[i] for i in range(len(keys))]


def form_of_answer(x: Any) -> Any:
    """The form of an answer that has the places of its leaves in it. TypeError if it is not one of Python's own."""
    kind = type(x)
    if kind is int:
        return x
    if x is None:
        return (x,)
    if kind is tuple or kind is list:
        return kind, None, *map(form_of_answer, x)
    if kind is dict:
        return dict, tuple(x), *map(form_of_answer, x.values())
    raise TypeError(f"a {kind.__name__} is made by its class")
