"""The tool: answers the messages that it reads, one a line, in GradBench's protocol.

`python -m benchmarks.gradbench.tool [--staged]`, in the folder that has `benchmarks`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from typing import Any, TextIO

import numpy as np

import shiftreset_ad as sr

from .evals import EVALS
from .function import Function

NAME = "shiftreset_ad"
LARGE = 31 * 2**20  # bytes, just below the most of which the C library learns


def timed(function: Function, message_input: Any, staged: bool = False) -> tuple[Any, list[int]]:
    """The output, and the nanoseconds of each run: as many runs, or as many seconds, as the input asks for."""
    arguments = function.read(message_input)
    compute = sr.staged(function.compute) if staged else function.compute
    limits = message_input if isinstance(message_input, dict) else {}
    runs, nanoseconds = limits.get("min_runs", 1), limits.get("min_seconds", 0) * 1e9
    times: list[int] = []
    while len(times) < runs or sum(times) < nanoseconds:
        start = time.perf_counter_ns()
        output = compute(*arguments)
        times.append(time.perf_counter_ns() - start)
    return function.write(output), times


def evaluate(message: Any, staged: bool = False) -> dict[str, Any]:
    """The fields of the response to a message of the kind "evaluate"."""
    try:
        output, times = timed(EVALS[message["module"]][message["function"]], message["input"], staged)
    except Exception:
        return {"success": False, "error": traceback.format_exc()}
    return {
        "success": True,
        "output": output,
        "timings": [{"name": "evaluate", "nanoseconds": nanoseconds} for nanoseconds in times],
    }


def respond(message: Any, staged: bool = False) -> dict[str, Any]:
    """The response to a message."""
    response = {"id": message["id"]}
    match message["kind"]:
        case "start":
            return response | {"tool": f"{NAME}-staged" if staged else NAME, "config": {"version": sr.__version__}}
        case "define":
            return response | {"success": message["module"] in EVALS}
        case "evaluate":
            return response | evaluate(message, staged)
    return response


def serve(messages: TextIO, responses: TextIO, staged: bool = False) -> None:
    for line in messages:
        print(json.dumps(respond(json.loads(line), staged)), file=responses, flush=True)


def keep_memory() -> None:
    """Free one large array, so that the C library does not hand the memory of smaller ones back to the system.

    Otherwise each call asks the system for the same memory again.
    """
    np.empty(LARGE, dtype=np.uint8)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Answer GradBench's messages on standard input.")
    parser.add_argument("--staged", action="store_true", help="record each function, and replay its steps")
    staged = parser.parse_args().staged
    keep_memory()
    serve(sys.stdin, sys.stdout, staged)
