"""Parts that are alike are compiled once, and find their numbers where they are."""

import pytest

from shiftreset_ad import grad
from shiftreset_ad.staging.native import slots
from shiftreset_ad.staging.native.alike import part, with_alike
from shiftreset_ad.staging.native.tables import call_of
from tests.staging.native.natively import check, native, needs_native


@pytest.fixture(autouse=True)
def short_parts(monkeypatch):
    monkeypatch.setattr(slots, "STEPS_OF_A_PART", 25)


def parts_of(code):
    return code.text.count("define internal i64 @part")


def calls_of_parts(code):
    return [line for line in code.text.splitlines() if " = call i64 @part" in line]


def rounds(count, lines):
    """A function of rounds that have so many lines, each with a number of its own."""

    def f(x, y):
        for _ in range(count):
            for i in range(lines):
                x = x * y + i * 0.001
                y = y * 0.5 - x * 0.125
        return x + y

    return f


@needs_native
@pytest.mark.parametrize("lines", [1, 3, 7, 15])
def test_rounds_are_compiled_once_whatever_their_length_is(lines):
    few, more = (native(rounds(steps // (4 * lines), lines), 0.5, 0.25) for steps in (600, 1200))
    assert parts_of(few) == parts_of(more) < 12
    assert more.words.size > few.words.size > 0
    check(rounds(600 // (4 * lines), lines), (0.5, 0.25), (-0.75, 0.125))


@needs_native
@pytest.mark.parametrize("lines", [1, 7])
def test_the_way_back_through_rounds_is_compiled_once(lines):
    code = native(grad(rounds(1600 // (4 * lines), lines), (0, 1)), 0.5, 0.25)
    assert parts_of(code) < 10 < len(calls_of_parts(code))
    check(grad(rounds(400 // (4 * lines), lines), (0, 1)), (0.5, 0.25), (-0.75, 0.125))


@needs_native
def test_what_is_different_has_parts_of_its_own():
    def f(x):
        for i in range(150):
            x = x * (0.5 + i * 1e-4) + 0.25
        return x

    code = native(f, 0.5)
    assert parts_of(code) == 12
    assert not code.words.size
    check(f, (0.5,), (-0.5,))


def test_parts_that_differ_in_their_slots_alone_share_a_function():
    def lines(slot, other, offset=8):
        return [
            f"  %t1 = getelementptr i64, ptr %frame, i64 {slot}",
            "  %t2 = load double, ptr %t1",
            f"  %t3 = getelementptr i64, ptr %frame, i64 {other}",
            f"  %t4 = getelementptr i8, ptr %memory, i64 {offset}",
            "  store double %t2, ptr %t3",
            "  ret i64 0",
        ]

    parts = [part(i, lines(*args)) for i, args in enumerate([(3, 4), (4, 5), (3, 3), (7, 2, 16), (9, 1)])]
    words = [17]
    functions, calls = with_alike(parts, words)
    assert words == [17, 3, 4, 4, 5, 3, 3, 9, 1]
    assert len(functions) == 2
    assert "ptr noalias %words) noinline" in functions[0]
    assert "i64 3" not in functions[0]
    assert functions[1] == parts[3]
    assert calls[3] == "i64 @part3(ptr %frame, ptr %memory)"
    for number, at in ((0, 1), (1, 3), (2, 5), (4, 7)):
        assert calls[number].startswith("i64 @part0(ptr %frame, ptr %memory, ")
        assert calls[number].endswith(f"@words, i64 {at}))")
    few = parts[:2]
    assert with_alike(few, words)[0] == few
    assert len(words) == 9


def test_tables_that_follow_one_another_are_one():
    def table(start, end):
        return [f"  call {call_of(start, end)}", "  ret i64 0"]

    bodies = [table(0, 8), table(8, 16), table(16, 40), ["  ret i64 1"], table(40, 50), table(60, 70), table(70, 80)]
    functions, calls = with_alike([part(i, body) for i, body in enumerate(bodies)], [])
    assert functions == [part(3, ["  ret i64 1"])]
    expected = [call_of(0, 40), "i64 @part3(ptr %frame, ptr %memory)", call_of(40, 50), call_of(60, 80)]
    assert calls == expected
