"""The lines of functions of CPython's C API that are written by hand: fields of objects, tests and loops."""

from __future__ import annotations

from collections.abc import Iterator


def loaded(name: str, base: str, offset: int, form: str = "ptr") -> Iterator[str]:
    yield f"  %of_{name} = getelementptr i8, ptr {base}, i64 {offset}"
    yield f"  %{name} = load {form}, ptr %of_{name}"


def unless(name: str, test: str, then: str) -> Iterator[str]:
    """The lines that go elsewhere if a test is true."""
    yield f"  %{name} = {test}"
    yield f"  br i1 %{name}, label %{then}, label %not_{name}"
    yield f"not_{name}:"


def while_less(name: str, index: str, end: str) -> Iterator[str]:
    """The lines that begin a loop, up to `over_` and its name. It is to go on at `next_` and its name."""
    yield f"  br label %begin_{name}"
    yield f"begin_{name}:"
    yield f"  %{index}_{name} = load i64, ptr %{index}"
    yield from unless(f"is_over_{name}", f"icmp sge i64 %{index}_{name}, {end}", f"over_{name}")


def next_one(name: str, index: str, step: int = 1) -> Iterator[str]:
    """The lines that end a loop."""
    yield f"  br label %next_{name}"
    yield f"next_{name}:"
    yield f"  %next_{index}_{name} = add i64 %{index}_{name}, {step}"
    yield f"  store i64 %next_{index}_{name}, ptr %{index}"
    yield f"  br label %begin_{name}"
    yield f"over_{name}:"
