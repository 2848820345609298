"""A check without GradBench: the tool's outputs for small stored inputs, `python -m benchmarks.gradbench.check`.

The outputs that are stored are those of GradBench's hand-written C++, and for `saddle` and `particle` those that
GradBench expects.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .evals import EVALS
from .tool import respond

STORED = Path(__file__).parent / "stored"
TOLERANCE = 1e-9


def cases(name: str) -> Iterator[tuple[str, Any, Any]]:
    """The functions, inputs and outputs that are stored for an eval."""
    for case in json.loads((STORED / f"{name}.json").read_text()):
        for function, output in case["outputs"].items():
            yield function, case["input"], output


def difference(output: Any, expected: Any) -> float:
    """The greatest one between numbers in the same structure, relative to numbers above 1; infinity for another one."""
    match output, expected:
        case dict(), dict() if output.keys() == expected.keys():
            return max(difference(output[key], expected[key]) for key in expected)
        case list(), list() if len(output) == len(expected):
            return max(map(difference, output, expected), default=0.0)
        case (int() | float(), int() | float()):
            distance = abs(output - expected) / max(1.0, abs(expected))
            return distance if distance == distance else float("inf")
    return float("inf")


def check(name: str, function: str, message_input: Any, expected: Any, staged: bool = False) -> str:
    """What is wrong with the tool's output; an empty string if nothing is."""
    message = {"id": 0, "kind": "evaluate", "module": name, "function": function, "input": message_input}
    response = respond(message, staged)
    if not response["success"]:
        return str(response["error"])
    distance = difference(response["output"], expected)
    return "" if distance <= TOLERANCE else f"{distance:g} from {expected}: {response['output']}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare the tool's outputs with stored ones.")
    parser.add_argument("--evals", nargs="+", choices=EVALS, default=list(EVALS), metavar="EVAL")
    parser.add_argument("--staged", action="store_true")
    args = parser.parse_args()
    wrong = 0
    for name in args.evals:
        for function, message_input, expected in cases(name):
            error = check(name, function, message_input, expected, args.staged)
            wrong += bool(error)
            print(f"{name} {function}: {error or 'right'}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
