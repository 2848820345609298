"""Objects of Python's and NumPy's from inside native code: those that a call of Python is given, and those it answers.

A call needs the lock of the interpreter. NumPy's functions set and clear the machine's flags, and warn by themselves,
so the flags so far are noted before the call, and those of the call are cleared after it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native.llvm import DONE, FIRST_QUESTION, INTERRUPTED, LEAVE, function
from shiftreset_ad.staging.native.machine import (
    DATA,
    DTYPE,
    HEADER,
    NDIM,
    OF_A_FLOAT,
    OF_A_TUPLE,
    SHAPE,
    STICKY,
    STRIDES,
)
from shiftreset_ad.staging.native.slots import FLAGS, SELF

PYTHONS, NUMPYS, WITHOUT_AXES = 1, 2, 4  # the kinds of a number: Python's, NumPy's, an array without axes
KINDS: dict[Any, int] = {
    **dict.fromkeys((float, int, bool), PYTHONS),
    **dict.fromkeys((np.float64, np.int64, np.bool), NUMPYS),
    ndarray: WITHOUT_AXES,
}
DTYPES = {"d": "dtype_float64", "?": "dtype_bool", "l": "dtype_int64"}

# A new object for a number of a kind, and for an array at an address.
GIVEN = f"""
define internal ptr @new_scalar(ptr %type, i64 %bits) noinline {{
  %y = call ptr @PyType_GenericAlloc(ptr %type, i64 0)
  %is_new = icmp ne ptr %y, null
  br i1 %is_new, label %set, label %done
set:
  %to = getelementptr i8, ptr %y, i64 {OF_A_FLOAT}
  store i64 %bits, ptr %to
  br label %done
done:
  ret ptr %y
}}
define internal ptr @given_double(double %x, i64 %kind) noinline {{
  %is_pythons = icmp eq i64 %kind, {PYTHONS}
  br i1 %is_pythons, label %pythons, label %numpys
pythons:
  %y = call ptr @PyFloat_FromDouble(double %x)
  ret ptr %y
numpys:
  %bits = bitcast double %x to i64
  %z = call ptr @new_scalar(ptr @float64_type, i64 %bits)
  ret ptr %z
}}
define internal ptr @given_i64(i64 %x, i64 %kind) noinline {{
  %is_pythons = icmp eq i64 %kind, {PYTHONS}
  br i1 %is_pythons, label %pythons, label %numpys
pythons:
  %y = call ptr @PyLong_FromLongLong(i64 %x)
  ret ptr %y
numpys:
  %z = call ptr @new_scalar(ptr @int64_type, i64 %x)
  ret ptr %z
}}
define internal ptr @given_i1(i1 %x, i64 %kind) noinline {{
  %is_pythons = icmp eq i64 %kind, {PYTHONS}
  %python = select i1 %x, ptr @true, ptr @false
  %numpy = select i1 %x, ptr @numpy_true, ptr @numpy_false
  %y = select i1 %is_pythons, ptr %python, ptr %numpy
  call void @Py_IncRef(ptr %y)
  ret ptr %y
}}
define internal ptr @given_array(ptr %data, i32 %ndim, ptr %shape, ptr %strides, i32 %dtype, i32 %flags) noinline {{
  %y = call ptr @PyArray_New(ptr @array_type, i32 %ndim, ptr %shape, i32 %dtype, ptr %strides, ptr %data, i32 0, \
i32 %flags, ptr null)
  ret ptr %y
}}
""".strip()

# Whether an object is of one of these kinds, or an array of this layout. Then what is in it is taken.
TAKEN = f"""
define internal i1 @taken_double(ptr %y, i64 %kinds, ptr %to, ptr %kind) noinline {{
  %of_type = getelementptr i8, ptr %y, i64 {HEADER}
  %type = load ptr, ptr %of_type
  %is_float = icmp eq ptr %type, @float_type
  %is_float64 = icmp eq ptr %type, @float64_type
  %is_array = icmp eq ptr %type, @array_type
  %one = select i1 %is_float, i64 {PYTHONS}, i64 0
  %two = select i1 %is_float64, i64 {NUMPYS}, i64 %one
  %found = select i1 %is_array, i64 {WITHOUT_AXES}, i64 %two
  store i64 %found, ptr %kind
  %common = and i64 %found, %kinds
  %is_right = icmp ne i64 %common, 0
  br i1 %is_right, label %right, label %other
right:
  br i1 %is_array, label %array, label %number
number:
  %content = getelementptr i8, ptr %y, i64 {OF_A_FLOAT}
  %x = load double, ptr %content
  store double %x, ptr %to
  ret i1 true
array:
  %is_so = call i1 @is_array(ptr %y, ptr @dtype_float64, i32 0, ptr null, ptr null)
  br i1 %is_so, label %content_of_array, label %other
content_of_array:
  %of_data = getelementptr i8, ptr %y, i64 {DATA}
  %data = load ptr, ptr %of_data
  %element = load double, ptr %data, align 1
  store double %element, ptr %to
  ret i1 true
other:
  ret i1 false
}}
define internal i1 @taken_i64(ptr %y, i64 %kinds, ptr %to, ptr %kind) noinline {{
  %too_long = alloca i32
  %of_type = getelementptr i8, ptr %y, i64 {HEADER}
  %type = load ptr, ptr %of_type
  %is_int = icmp eq ptr %type, @int_type
  %is_int64 = icmp eq ptr %type, @int64_type
  %one = select i1 %is_int, i64 {PYTHONS}, i64 0
  %found = select i1 %is_int64, i64 {NUMPYS}, i64 %one
  store i64 %found, ptr %kind
  %common = and i64 %found, %kinds
  %is_right = icmp ne i64 %common, 0
  br i1 %is_right, label %right, label %other
right:
  br i1 %is_int, label %pythons, label %numpys
pythons:
  %n = call i64 @PyLong_AsLongLongAndOverflow(ptr %y, ptr %too_long)
  store i64 %n, ptr %to
  %is_long = load i32, ptr %too_long
  %fits = icmp eq i32 %is_long, 0
  ret i1 %fits
numpys:
  %content = getelementptr i8, ptr %y, i64 {OF_A_FLOAT}
  %x = load i64, ptr %content
  store i64 %x, ptr %to
  ret i1 true
other:
  ret i1 false
}}
define internal i1 @taken_i1(ptr %y, i64 %kinds, ptr %to, ptr %kind) noinline {{
  %is_true = icmp eq ptr %y, @true
  %is_false = icmp eq ptr %y, @false
  %is_numpy_true = icmp eq ptr %y, @numpy_true
  %is_numpy_false = icmp eq ptr %y, @numpy_false
  %is_pythons = or i1 %is_true, %is_false
  %is_numpys = or i1 %is_numpy_true, %is_numpy_false
  %one = select i1 %is_pythons, i64 {PYTHONS}, i64 0
  %found = select i1 %is_numpys, i64 {NUMPYS}, i64 %one
  store i64 %found, ptr %kind
  %truth = or i1 %is_true, %is_numpy_true
  store i1 %truth, ptr %to
  %common = and i64 %found, %kinds
  %is_right = icmp ne i64 %common, 0
  ret i1 %is_right
}}
define internal i1 @is_array(ptr %y, ptr %dtype, i32 %ndim, ptr %shape, ptr %strides) noinline {{
  %of_type = getelementptr i8, ptr %y, i64 {HEADER}
  %type = load ptr, ptr %of_type
  %is_type = icmp eq ptr %type, @array_type
  br i1 %is_type, label %array, label %other
array:
  %of_dtype = getelementptr i8, ptr %y, i64 {DTYPE}
  %found_dtype = load ptr, ptr %of_dtype
  %is_dtype = icmp eq ptr %found_dtype, %dtype
  %of_ndim = getelementptr i8, ptr %y, i64 {NDIM}
  %found_ndim = load i32, ptr %of_ndim
  %is_ndim = icmp eq i32 %found_ndim, %ndim
  %is_both = and i1 %is_dtype, %is_ndim
  br i1 %is_both, label %axes, label %other
axes:
  %of_shape = getelementptr i8, ptr %y, i64 {SHAPE}
  %found_shape = load ptr, ptr %of_shape
  %of_strides = getelementptr i8, ptr %y, i64 {STRIDES}
  %found_strides = load ptr, ptr %of_strides
  br label %next
next:
  %i = phi i32 [0, %axes], [%more, %axis]
  %is_over = icmp eq i32 %i, %ndim
  br i1 %is_over, label %same, label %axis
axis:
  %at_shape = getelementptr i64, ptr %shape, i32 %i
  %length = load i64, ptr %at_shape
  %at_found = getelementptr i64, ptr %found_shape, i32 %i
  %found_length = load i64, ptr %at_found
  %at_strides = getelementptr i64, ptr %strides, i32 %i
  %stride = load i64, ptr %at_strides
  %at_found_stride = getelementptr i64, ptr %found_strides, i32 %i
  %found_stride = load i64, ptr %at_found_stride
  %is_length = icmp eq i64 %length, %found_length
  %is_stride = icmp eq i64 %stride, %found_stride
  %is_axis = and i1 %is_length, %is_stride
  %more = add i32 %i, 1
  br i1 %is_axis, label %next, label %other
same:
  ret i1 true
other:
  ret i1 false
}}
define internal i1 @taken_array(ptr %y, ptr %dtype, i32 %ndim, ptr %shape, ptr %strides, ptr %to, \
i64 %bytes) noinline {{
  %is_right = call i1 @is_array(ptr %y, ptr %dtype, i32 %ndim, ptr %shape, ptr %strides)
  br i1 %is_right, label %copy, label %other
copy:
  %of_data = getelementptr i8, ptr %y, i64 {DATA}
  %data = load ptr, ptr %of_data
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %data, i64 %bytes, i1 false)
  ret i1 true
other:
  ret i1 false
}}
define internal i1 @seen_array(ptr %y, ptr %dtype, i32 %ndim, ptr %shape, ptr %strides, \
ptr %there) noinline {{
  %is_right = call i1 @is_array(ptr %y, ptr %dtype, i32 %ndim, ptr %shape, ptr %strides)
  br i1 %is_right, label %look, label %other
look:
  %of_data = getelementptr i8, ptr %y, i64 {DATA}
  %data = load ptr, ptr %of_data
  %is_there = icmp eq ptr %data, %there
  ret i1 %is_there
other:
  ret i1 false
}}
define internal ptr @item(ptr %found, i64 %i) alwaysinline {{
  %items = getelementptr i8, ptr %found, i64 {OF_A_TUPLE}
  %at = getelementptr ptr, ptr %items, i64 %i
  %y = load ptr, ptr %at
  ret ptr %y
}}
""".strip()


def note_flags(flags: int) -> str:
    """The function that notes the machine's flags so far, as NumPy's functions may clear them."""
    lines = f"""
  %word = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %word)
  %now = load i32, ptr %word
  %slot = getelementptr i64, ptr %frame, i64 {FLAGS}
  %before = load i32, ptr %slot
  %all = or i32 %before, %now
  store i32 %all, ptr %slot""".strip("\n")
    return function("void @note_flags(ptr %frame)", [lines] * bool(flags) + ["  ret void"])


def functions(first: int, flags: int) -> str:
    """The functions that all calls share. The function with the number 0 is that many bytes behind the entry's tuple.

    `before_call` takes the lock. It leaves if a loop of SciPy's has set an error. `call_python` leaves if NumPy would
    warn of a step so far: what LLVM has moved behind it does not count yet. It calls the function with a number, and
    gives its arguments back. If the function answers None, the code leaves. If it answers an integer, this is the
    number of a question. An error of the call is left for the entry.
    """
    clear = """
  call void @llvm.x86.sse.stmxcsr(ptr %word)
  %now = load i32, ptr %word
  %cleared = and i32 %now, {sticky}
  store i32 %cleared, ptr %word
  call void @llvm.x86.sse.ldmxcsr(ptr %word)"""
    return f"""
define internal i64 @before_call(ptr %frame) noinline {{
  call void @take_lock(ptr %frame)
  %error = call ptr @PyErr_Occurred()
  %is_error = icmp ne ptr %error, null
  br i1 %is_error, label %forget, label %done
forget:
  call void @PyErr_Clear()
  ret i64 {LEAVE}
done:
  ret i64 {DONE}
}}
define internal i64 @call_python(ptr %frame, i64 %number, ptr %args, i64 %count, ptr %to) noinline {{
  %word = alloca i32
  %too_long = alloca i32
  %of_self = getelementptr i64, ptr %frame, i64 {SELF}
  %self = load ptr, ptr %of_self
  %functions = getelementptr i8, ptr %self, i64 {first}
  %of_function = getelementptr ptr, ptr %functions, i64 %number
  %function = load ptr, ptr %of_function
  br label %look
look:
  %i = phi i64 [0, %0], [%next, %there]
  %is_all = icmp eq i64 %i, %count
  br i1 %is_all, label %call, label %there
there:
  %at = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %at
  %is_none = icmp eq ptr %arg, null
  %next = add i64 %i, 1
  br i1 %is_none, label %give_back, label %look
call:
  call void @note_flags(ptr %frame)
  %of_flags = getelementptr i64, ptr %frame, i64 {FLAGS}
  %noted = load i32, ptr %of_flags
  %raised = and i32 %noted, {flags}
  %would_warn = icmp ne i32 %raised, 0
  br i1 %would_warn, label %give_back, label %go
go:
  %answer = call ptr @PyObject_Vectorcall(ptr %function, ptr %args, i64 %count, ptr null)
  br label %give_back
give_back:
  %y = phi ptr [%answer, %go], [null, %there], [null, %call]
  %if_none = phi i64 [{INTERRUPTED}, %go], [{INTERRUPTED}, %there], [{LEAVE}, %call]
  br label %back
back:
  %j = phi i64 [0, %give_back], [%following, %given]
  %is_given = icmp eq i64 %j, %count
  br i1 %is_given, label %look_at, label %each
each:
  %at_j = getelementptr ptr, ptr %args, i64 %j
  %arg_j = load ptr, ptr %at_j
  %is_object = icmp ne ptr %arg_j, null
  br i1 %is_object, label %drop, label %given
drop:
  call void @Py_DecRef(ptr %arg_j)
  br label %given
given:
  %following = add i64 %j, 1
  br label %back
look_at:{clear.format(sticky=~STICKY) if flags else ""}
  %is_problem = icmp eq ptr %y, null
  br i1 %is_problem, label %problem, label %answered
problem:
  ret i64 %if_none
answered:
  %of_type = getelementptr i8, ptr %y, i64 {HEADER}
  %type = load ptr, ptr %of_type
  %is_question = icmp eq ptr %type, @int_type
  br i1 %is_question, label %question, label %no_question
question:
  %asked = call i64 @PyLong_AsLongLongAndOverflow(ptr %y, ptr %too_long)
  %status = add i64 %asked, {FIRST_QUESTION}
  call void @Py_DecRef(ptr %y)
  ret i64 %status
no_question:
  %leaves = icmp eq ptr %y, @none
  br i1 %leaves, label %leave, label %done
leave:
  call void @Py_DecRef(ptr %y)
  ret i64 {LEAVE}
done:
  store ptr %y, ptr %to
  ret i64 {DONE}
}}
""".strip()
