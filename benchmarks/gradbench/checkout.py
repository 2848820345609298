"""A checkout of GradBench: how its evals and tools are started, each on one thread."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from .session import Command

OURS = {"shiftreset_ad": [], "shiftreset_ad-staged": ["--staged"]}
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
ONE_THREAD["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
EAGER = {"jax-eager": ("jax", {"JAX_DISABLE_JIT": "1"})}

# GradBench's tool for JAX ends a run before it is computed. Here each run waits for its result.
WAITING = """
import runpy, sys, jax
from gradbench import wrap
multiple_runs = wrap.multiple_runs
wrap.multiple_runs = lambda **options: lambda f: multiple_runs(**options)(lambda x: jax.block_until_ready(f(x)))
sys.path[0] = sys.argv[1].rpartition("/")[0]
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""


@dataclass(frozen=True)
class Checkout:
    """Its folder, and the interpreter that has what its Python programs import."""

    folder: Path
    python: str = sys.executable

    def eval(self, name: str, arguments: list[str]) -> Command:
        return self.command([self.program(f"evals/{name}/run.py"), *arguments])

    def tool(self, name: str) -> Command:
        """One of ours, one in Python, such as "pytorch", or one in C++, such as "manual"."""
        if name in OURS:
            arguments = [sys.executable, "-m", f"{__package__}.tool", *OURS[name]]
            return Command(arguments, Path(__file__).parents[2], os.environ | ONE_THREAD)
        name, environment = EAGER.get(name, (name, {}))
        program = self.program(f"tools/{name}/run.py")
        if Path(program).exists():
            return self.command(["-c", WAITING, program] if name == "jax" else [program], environment)
        if not (self.folder / "tools" / name).exists():
            raise FileNotFoundError(f"there is no tool {name} in {self.folder}")
        return self.command([self.program("cpp.py"), name])

    def program(self, path: str) -> str:
        return str(self.folder / "python" / "gradbench" / "gradbench" / path)

    def command(self, arguments: list[str], environment: dict[str, str] | None = None) -> Command:
        path = {"PYTHONPATH": str(self.folder / "python" / "gradbench")}
        return Command([self.python, *arguments], self.folder, os.environ | path | ONE_THREAD | (environment or {}))
