"""Calls in tables: they find the same arrays as calls in code, and what is no call stays where it is."""

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from shiftreset_ad.staging.native.tables import MOST_WORDS, Tables
from tests.staging.native.natively import check, in_tables, needs_native

RNG = np.random.default_rng(0)
X, W = RNG.normal(size=50), RNG.normal(size=(50, 50)) / 7.0
HEAD = "define internal i64 @part0(ptr noalias %frame, ptr noalias %memory) noinline {"


def part(*lines):
    return "\n".join([HEAD, *[f"  {line}" for line in lines], "  ret i64 0", "}"])


def many(line, count=8):
    return [line] * count


@needs_native
@pytest.mark.parametrize("count", [10, 300])
def test_arrays_of_all_kinds_are_found(count):
    """In the memory, in an argument, in a constant; from their beginning, and from a later element on."""

    def f(x, y):
        z = x
        for _ in range(count):
            z = W @ (0.5 * z) + x * 0.1
            z = z + np.concatenate([x[7:], z[:7]]) + y[1, 3:]
            z = np.minimum(z, 0.75) - W[2] * W[3:, 0].sum()
        return z

    y = RNG.normal(size=(3, 53))
    code = check(f, (X, y), (-X, 2.0 * y))
    assert (len(in_tables(code)) > 5 * count) == (count > 100)


@needs_native
def test_constants_of_tables_are_no_names_of_the_code():
    rows = RNG.normal(size=(600, 50))

    def f(x):
        for row in rows:
            x = W @ (x * row)
        return x

    code = check(f, (X,), (-X,))
    assert len(in_tables(code)) >= 1200
    assert code.text.count("@constant") - code.text.count("@constants") == 0


@needs_native
def test_a_constant_that_is_an_answer_is_a_name_beside_tables():
    def f(x):
        for _ in range(600):
            x = W @ (x * 0.5)
        return x, W[0] + 0.0

    code = check(f, (X,), (-X,))
    assert in_tables(code)


@needs_native
def test_numbers_between_calls_are_those_of_their_moment():
    """A sum is read from memory that later calls use again; it goes into calls of later functions."""

    def f(x):
        s = 1.0
        for _ in range(200):
            for _ in range(6):
                x = W @ (0.5 * x) + 0.25 * x
            s = s * 0.5 + np.sum(x)
            x = x + s
        return x, s

    code = check(f, (X,), (-X,))
    assert len(in_tables(code)) > 1000


@needs_native
def test_an_answer_lies_in_its_own_array():
    def f(x):
        y = np.zeros_like(x)
        for i in range(300):
            x = W @ (0.5 * x)
            y[i % 50] = x[0]
        return x, y

    check(f, (X,), (-X,))


@needs_native
def test_the_gradient_of_a_long_program_is_that_of_the_program():
    def f(x, w):
        for _ in range(150):
            x = np.tanh(w @ x)
        return np.sum(x * x)

    slope = grad(f, (0, 1))
    replayed = staged(slope)
    for _ in range(4):
        found = replayed(X, 3.0 * W)
    assert "@carry_out" in replayed.llvm[0]
    for one, another in zip(found, slope(X, 3.0 * W), strict=True):
        np.testing.assert_array_equal(one, another)


def test_a_record_has_the_words_of_its_arrays():
    tables = Tables()
    lines = [
        "%t1 = getelementptr i8, ptr %memory, i64 640",
        "%t2 = getelementptr i8, ptr %t1, i64 8",
        "%t3 = getelementptr i64, ptr %frame, i64 9",
        "%t4 = load ptr, ptr %t3",
        "%t5 = getelementptr i8, ptr %t4, i64 24",
        "%t6 = getelementptr i8, ptr @constant7, i64 16",
    ]
    arrays = "ptr %t2, ptr %t4, ptr %t5, ptr @constant3, ptr %t6, ptr %memory"
    call = f"call void @loop(ptr @table, ptr %frame, {arrays}, i64 5)"
    text = tables.with_tables(part(*lines, *many(call)))
    assert text.count("\n") == 3  # the head, one call, and the end
    names, functions, function, _ = tables.definitions()
    assert names == "@constants = external constant ptr"
    assert tables.words == [9, 648, 72, 72, 24, 3, 7, 16, 0] * 8
    assert "[1 x ptr]" in functions
    assert "@loop(ptr @table, ptr %frame, ptr %x0, ptr %x1, ptr %x2, ptr %x4, ptr %x5, ptr %x7, i64 5)" in function


@pytest.mark.parametrize(
    "line",
    [
        "call void @loop(ptr %unknown)",
        "call void @loop(double %unknown)",
        "%t9 = call double @sum(ptr %t1)",
        "%t9 = load double, ptr %t1",
        "store double %unknown, ptr %t1",
        "store double 0x0000000000000000, ptr %t2",  # a slot: addresses in slots must stay what they are
        "call void @loop(ptr %t2)",
        "br label %t9",
        "call void @loop(" + ", ".join(["ptr %t1"] * MOST_WORDS) + ")",
    ],
)
def test_what_is_no_record_stays_between_the_tables(line):
    tables = Tables()
    first = ["%t1 = getelementptr i8, ptr %memory, i64 640", "%t2 = getelementptr i64, ptr %frame, i64 9"]
    call = "call void @loop(ptr %t1)"
    text = tables.with_tables(part(*first, *many(call), line, *many(call))).split("\n")
    at = text.index(f"  {line}")
    assert "@carry_out" in text[at - 1]
    assert "@carry_out" in text[at + 1]
    needed = [made for made in first if made.split(" ")[0] in line]
    assert text[1 : at - 1] == [f"  {made}" for made in needed]


def test_a_few_calls_stay_calls():
    text = part("%t1 = getelementptr i8, ptr %memory, i64 640", *many("call void @loop(ptr %t1)", 7))
    tables = Tables()
    assert tables.with_tables(text) == text
    assert tables.definitions() == []
    assert not tables.functions


def test_a_place_in_memory_that_is_computed_is_in_no_record():
    lines = ["%t2 = getelementptr i8, ptr %memory, i64 %t1", "call void @loop(ptr %t2)"]
    first = "%t0 = getelementptr i8, ptr %memory, i64 640"
    text = Tables().with_tables(part(first, *many("call void @loop(ptr %t0)"), *lines))
    assert "@carry_out" in text
    assert text.split("\n")[-4:-2] == [f"  {line}" for line in lines]
