"""The most bytes that a derivative holds at a time, with its result, by what each library lets one see."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any


def traced(derivative: Callable[[], Any]) -> int:
    """Of NumPy's arrays and of Python's objects, which tracemalloc sees."""
    tracemalloc.start()
    derivative()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def of_torch(derivative: Callable[[], Any]) -> int:
    """Of PyTorch's arrays alone, by what its profiler notes when memory is taken and given back."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        derivative()
    notes = [event for event in seen.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = peak = 0
    for note in sorted(notes, key=lambda note: note.start_ns()):
        held += note.nbytes()
        peak = max(peak, held)
    return peak


def of_jax(derivative: Any, *arguments: Any) -> int:
    """Of a compiled derivative, by its own account: its intermediate arrays and its result."""
    figures = derivative.lower(*arguments).compile().memory_analysis()
    return figures.temp_size_in_bytes + figures.output_size_in_bytes
