"""Structures in the arguments of a gate are taken apart in C, and its answers are put together, by their forms.

`structure_forms` says what a form is.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

from shiftreset_ad.staging.native.machine import HEADER, LENGTH, OF_A_LIST, OF_A_TUPLE

FUNCTIONS = {
    "PyDict_New": "ptr ()",
    "PyDict_Next": "i32 (ptr, ptr, ptr, ptr)",
    "PyDict_SetItem": "i32 (ptr, ptr, ptr)",
    "PyErr_Clear": "void ()",
    "PyList_New": "ptr (i64)",
    "PyLong_AsLong": "i64 (ptr)",
    "PyObject_CallNoArgs": "ptr (ptr)",
    "PyObject_CallOneArg": "ptr (ptr, ptr)",
    "PyObject_GenericGetAttr": "ptr (ptr, ptr)",
    "PyObject_GenericSetAttr": "i32 (ptr, ptr, ptr)",
    "PyTuple_New": "ptr (i64)",
    "PyType_GenericAlloc": "ptr (ptr, i64)",
    "Py_DecRef": "void (ptr)",
    "Py_IncRef": "void (ptr)",
}
OBJECTS: dict[str, Any] = {
    "attributes": "__dict__",
    "dict_type": dict,
    "int_type": int,
    "list_type": list,
    "new_object": object.__new__,
    "none": None,
    "reference_type": ref,
    "tuple_type": tuple,
}

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
  br i1 %is_of_kind, label %alike, label %other
alike:
  %expected = sub i64 %length, 2
  %of_keys = getelementptr i8, ptr %form, i64 {OF_A_TUPLE + 8}
  %keys = load ptr, ptr %of_keys
  %forms = getelementptr i8, ptr %form, i64 {OF_A_TUPLE + 16}
  %is_dict = icmp eq ptr %kind, @dict_type
  br i1 %is_dict, label %sized, label %no_dict
no_dict:
  %has_keys = icmp ne ptr %keys, @none
  br i1 %has_keys, label %fields, label %sized
fields:
  %of_sort_of_keys = getelementptr i8, ptr %keys, i64 {HEADER}
  %sort_of_keys = load ptr, ptr %of_sort_of_keys
  %has_slots = icmp eq ptr %sort_of_keys, @list_type
  br i1 %has_slots, label %slots, label %attributes
attributes:
  %dictionary = call ptr @PyObject_GenericGetAttr(ptr %x, ptr @attributes)
  %has_dictionary = icmp ne ptr %dictionary, null
  br i1 %has_dictionary, label %with_dictionary, label %error
with_dictionary:
  call void @Py_DecRef(ptr %dictionary)
  br label %sized
sized:
  %holder = phi ptr [%x, %alike], [%x, %no_dict], [%dictionary, %with_dictionary]
  %of_count = getelementptr i8, ptr %holder, i64 {LENGTH}
  %count = load i64, ptr %of_count
  %is_as_long = icmp eq i64 %count, %expected
  br i1 %is_as_long, label %long, label %other
long:
  %is_mapping = icmp ne ptr %keys, @none
  br i1 %is_mapping, label %mapping, label %sequence
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
  %is_more = call i32 @PyDict_Next(ptr %holder, ptr %position, ptr %key, ptr %value)
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
slots:
  %of_names = getelementptr i8, ptr %keys, i64 {OF_A_LIST}
  %names = load ptr, ptr %of_names
  br label %next_slot
next_slot:
  %k = phi i64 [0, %slots], [%after_slot, %taken]
  %is_last = icmp eq i64 %k, %expected
  br i1 %is_last, label %whole, label %slot
slot:
  %of_name = getelementptr ptr, ptr %names, i64 %k
  %name = load ptr, ptr %of_name
  %content = call ptr @PyObject_GenericGetAttr(ptr %x, ptr %name)
  %is_set = icmp ne ptr %content, null
  br i1 %is_set, label %set, label %error
set:
  %of_form_of_slot = getelementptr ptr, ptr %forms, i64 %k
  %form_of_slot = load ptr, ptr %of_form_of_slot
  %is_content = call i1 @take(ptr %content, ptr %form_of_slot, ptr %leaves)
  call void @Py_DecRef(ptr %content)
  br i1 %is_content, label %taken, label %other
taken:
  %after_slot = add i64 %k, 1
  br label %next_slot
whole:
  ret i1 true
error:
  call void @PyErr_Clear()
  ret i1 false
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
  %is_dict = icmp eq ptr %first, @dict_type
  br i1 %has_keys, label %new_mapping, label %new_sequence
new_mapping:
  br i1 %is_dict, label %new_dict, label %new_object
new_dict:
  %dict = call ptr @PyDict_New()
  br label %has_made
new_object:
  %object = call ptr @PyObject_CallOneArg(ptr @new_object, ptr %first)
  br label %has_made
new_sequence:
  br i1 %is_list, label %new_list, label %new_items
new_items:
  %is_tuple = icmp eq ptr %first, @tuple_type
  br i1 %is_tuple, label %new_tuple, label %new_named_tuple
new_named_tuple:
  %named_tuple = call ptr @PyType_GenericAlloc(ptr %first, i64 %count)
  br label %has_made
new_list:
  %list = call ptr @PyList_New(i64 %count)
  br label %has_made
new_tuple:
  %tuple = call ptr @PyTuple_New(i64 %count)
  br label %has_made
has_made:
  %made = phi ptr [%dict, %new_dict], [%object, %new_object], [%list, %new_list], [%tuple, %new_tuple], \
[%named_tuple, %new_named_tuple]
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
  br i1 %is_dict, label %entry, label %attribute
entry:
  %status_of_entry = call i32 @PyDict_SetItem(ptr %made, ptr %key, ptr %its)
  br label %has_put
attribute:
  %status_of_attribute = call i32 @PyObject_GenericSetAttr(ptr %made, ptr %key, ptr %its)
  br label %has_put
has_put:
  %status = phi i32 [%status_of_entry, %entry], [%status_of_attribute, %attribute]
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
