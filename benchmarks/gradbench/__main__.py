"""Runs evals of GradBench with our tool and others: `python -m benchmarks.gradbench CHECKOUT`; README.md has more."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from . import results, session
from .checkout import OURS, Checkout
from .evals import EVALS
from .table import table

SMALL = {
    "hello": "",
    "saddle": "",
    "particle": "",
    "det": "-l 5 6 7 8",
    "llsq": "-n 16 128 1024",
    "lse": "-n 2500 20000 160000",
    "ode": "-n 1000 10000 -s 1 10",
    "kmeans": "-k 10 100 -n 1000 -d 8 16",
    "gmm": "-d 2 10 -k 5 10 25",
    "lstm": "-l 2 4 -c 1024",
    "ba": "--max 2",
    "ht": "--max 3",
}


def eval_arguments(name: str, args: argparse.Namespace) -> list[str]:
    if name == "hello":
        return []
    runs = ["--min-runs", f"{args.runs}", "--min-seconds", f"{args.seconds}"]
    return [*runs, *(SMALL[name].split() if args.size == "small" else args.arguments)]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run evals of GradBench with our tool and others, in turn.")
    parser.add_argument("checkout", type=Path, help="the folder of a clone of GradBench")
    parser.add_argument("--evals", nargs="+", choices=EVALS, default=list(EVALS), metavar="EVAL")
    parser.add_argument("--tools", nargs="+", default=list(OURS), metavar="TOOL", help="ratios are of the first one")
    parser.add_argument("--size", choices=("small", "full"), default="small", help="full: what the evals do by default")
    parser.add_argument("--arguments", nargs=argparse.REMAINDER, default=[], help="of the evals, with --size full")
    parser.add_argument("--seconds", type=float, default=1.0, help="for which each function runs again and again")
    parser.add_argument("--runs", type=int, default=3, help="how many there are at least: the first may compile")
    parser.add_argument("--rounds", type=int, default=1, help="the tools take turns so often")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds after which a tool has failed")
    parser.add_argument("--python", default=sys.executable, help="the interpreter for GradBench's own programs")
    parser.add_argument("--results", type=Path, help="a file to which results are added, and whose results are shown")
    parser.add_argument("--picture", type=Path, help="where to draw the ratios")
    return parser.parse_args()


def main() -> int:
    args = parse()
    checkout = Checkout(args.checkout.resolve(), args.python)
    evaluations = results.read(args.results) if args.results else []
    for _ in range(args.rounds):
        for name in args.evals:
            command = checkout.eval(name, eval_arguments(name, args))
            for tool in args.tools:
                done = session.run(name, tool, command, checkout.tool(tool), args.timeout)
                print(f"{name}, {tool}: {sum(e.valid for e in done)} of {len(done)} evaluations are valid", flush=True)
                evaluations += done
                if args.results:
                    results.append(args.results, done)
    least = results.least(evaluations)
    Console(width=180).print(table(least, args.tools))
    for (name, function, described), of_tools in least.items():
        for tool, result in of_tools.items():
            if result.error:
                print(f"{name} {function} {described}, {tool}: {result.error}")
    if args.picture:
        from .picture import draw

        draw(least, args.tools, args.picture)
    return int(any(of_tools[args.tools[0]].error for of_tools in least.values() if args.tools[0] in of_tools))


if __name__ == "__main__":
    sys.exit(main())
