"""Errors of rounding: what a program computes in NumPy where each of its steps is off by a little.

The library may round otherwise than NumPy does. If a program has a jump so near its point, as `np.fmod(a, a)` has, or
makes much of little, as 1 / a with a small `a`, then its answer is one of chance, and says nothing of the library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.fuzzing import plain
from tests.fuzzing.programs import Program, indented, names_in

STEP = 2.0**-49  # how far a number is off; an error of rounding is at most 2**-53
VARIABLE = re.compile(r"a_\d+")


def runs_with_errors(program: Program, x: Any, step: float, runs: int) -> Iterator[list[Any]]:
    """What NumPy returns where all that a statement computes or writes to is off by up to `step`, in each run anew.

    A number that is exactly 0 stays so. One that is nearly 0 becomes so in every other run.
    """
    code = compile(_with_steps_off(program), "<program with errors>", "exec")
    random = np.random.default_rng(0)
    for run in range(runs):

        def off(y: Any, nearly_zero: float = step * (run % 2)) -> Any:
            if np.asarray(y).dtype.kind not in "fc":
                return y
            size = np.abs(y)
            error = step * random.uniform(-1.0, 1.0, np.shape(y)) * (1.0 + size) * (size > 0.0)
            error = np.where(size < nearly_zero, -y, error)
            if not isinstance(y, np.ndarray):
                return y + error
            if y.flags.writeable and all(np.array(y.strides)[np.array(y.shape) > 1]):  # nothing in it is there twice
                y += error.astype(y.dtype)
            return y

        namespace: dict[str, Any] = {"np": np, "sr": plain, "single": np.float64, "off": off}
        exec(code, namespace)
        yield namespace["program"](x)


def _with_steps_off(program: Program) -> str:
    lines = []
    for statement in program.statements:
        variables = sorted(filter(VARIABLE.fullmatch, names_in(statement)))
        lines += [statement, *(f"{name} = off({name})" for name in variables)]
    lines.append(f"return [{', '.join(program.returned)}]")
    return "def program(x):\n" + indented("\n".join(lines))
