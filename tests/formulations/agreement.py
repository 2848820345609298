"""Do all formulations agree? Random programs of the core language, against one another and finite differences.

`python -m tests.formulations.agreement 20000` runs that many programs, and prints the seed; `--seed` and `--processes`
repeat a run. A disagreement is shrunk, and printed as a term.
"""

import argparse
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

import numpy as np
import optree
from hypothesis import HealthCheck, Phase, assume, given, note, seed, settings

import shiftreset_ad
from shiftreset_ad.formulations import ROOMS, Room
from shiftreset_ad.formulations.language import Const, Term, evaluate, show
from shiftreset_ad.formulations.language.checker import infer
from shiftreset_ad.formulations.language.types import REAL, function, product
from shiftreset_ad.formulations.overloading import Overloaded
from tests.formulations.random_terms import features, programs

TOLERANCE = 1e-8
SHARE = 1000
LARGE = 1e4  # programs with larger values or derivatives say more about rounding than about derivatives


class Recorded(Overloaded):
    """A float that writes down how its comparisons turn out, and how large the numbers on the way are."""

    def __init__(self, primal, branches, sizes):
        self.primal, self.branches, self.sizes = primal, branches, sizes
        sizes.append(abs(primal))

    def operate(self, function, *operands):
        return Recorded(function(*map(plain, operands)), self.branches, self.sizes)

    def _operate(self, function, *operands):
        answer = super()._operate(function, *operands)
        if not isinstance(answer, Recorded):
            self.branches.append(bool(answer))
        return answer


def plain(x):
    return x.primal if isinstance(x, Recorded) else x


def run_recorded(program, x):
    """The value, the branches taken, and the largest number on the way."""
    branches, sizes = [], []
    y = evaluate(program)(optree.tree_map(lambda leaf: Recorded(leaf, branches, sizes), x))
    return float(plain(y)), branches, max(sizes)


def is_close(a, b, tolerance=TOLERANCE):
    """Whether two derivatives are the same but for rounding."""
    pairs = list(zip(flat(a), flat(b), strict=True))
    if not all(isinstance(x, (float, np.floating)) for pair in pairs for x in pair):
        return False  # a number of some derivative has escaped
    return all(abs(p - q) <= tolerance * (1.0 + abs(p) + abs(q)) for p, q in pairs)


def flat(tree):
    return optree.tree_leaves(tree)


def finite_differences(program, x, direction, branches):
    """Derivatives along a direction by central differences of several steps, where no comparison changes."""
    for h in (1e-4, 1e-5, 1e-6):
        values = []
        for sign in (1, -1):
            moved = optree.tree_map(lambda leaf, d, step=sign * h: leaf + step * d, x, direction)
            value, taken, _ = run_recorded(program, moved)
            if taken != branches:
                break
            values.append(value)
        else:
            yield (values[0] - values[1]) / (2 * h)


@contextmanager
def deep_stack() -> Iterator[None]:
    """Let a room nest as deep as a long program asks: explicit continuation-passing nests with every operation.

    It is set around each derivative, as Hypothesis sets a limit of its own for each example.
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + 20_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def check_agreement(program: Term, x, rooms: dict[Room, Callable], compared: Counter) -> None:
    """The program is well typed; all rooms that cover it, `grad`, finite differences and Lemma 1 agree at `x`."""
    note(f"{show(program)}\nat {x}")
    infer(program, expected=function(infer(Const(x)), REAL), recursive=True)
    value, branches, largest = run_recorded(program, x)
    assume(abs(value) < LARGE and largest < LARGE)
    expected = shiftreset_ad.grad(evaluate(program))(x)
    assume(max(map(abs, flat(expected))) < LARGE)
    direction = optree.tree_unflatten(
        optree.tree_structure(x), [0.8 ** (i + 1) * (-1) ** i for i in range(len(optree.tree_leaves(x)))]
    )
    along = sum(g * d for g, d in zip(flat(expected), flat(direction), strict=True))
    used = features(program)
    for room in rooms:
        if used & room.without:
            continue
        with deep_stack():
            found = room.grad(program)(x)
        assert is_close(found, expected), f"{room.name}: gradient {found}; the library's grad has {expected}"
        if room.jvp is not None:  # <y_bar, J x_dot> = <J^T y_bar, x_dot>, Krawiec et al., Lemma 1
            with deep_stack():
                tangent = room.jvp(program)(x, direction)
            assert is_close(tangent, along), f"{room.name}: {tangent} along {direction}; the gradient says {along}"
        compared[room.name] += 1
    differences = list(finite_differences(program, x, direction, branches))
    if differences:
        compared["finite differences"] += 1
        assert any(is_close(along, difference, 1e-4) for difference in differences), (
            f"{along} along {direction}; finite differences {differences}"
        )


PAIR = product(REAL, REAL)


def check_nested_agreement(program: Term, x: float, rooms: dict, compared: Counter) -> None:
    """A derivative inside a derivative, of a function that uses both variables: tags keep the two apart."""
    note(f"d/dx x (d/dy f(x, y))(x) of f = {show(program)}\nat {x}")
    f = evaluate(program)

    def derivative_in_y(grad):
        return lambda x: x * grad(lambda y: f((x, y)))(x)

    inner = derivative_in_y(shiftreset_ad.grad)
    value, _, largest = run_recorded(program, (x, x))
    assume(abs(value) < LARGE and largest < LARGE)
    expected = shiftreset_ad.grad(inner)(x)
    assume(abs(expected) < LARGE and abs(inner(x)) < LARGE)
    for room in rooms:
        if room.order > 1 and room.style == "python":
            with deep_stack():
                found = room.grad(derivative_in_y(room.grad))(x)
            assert is_close(found, expected, 1e-7), f"{room.name}: {found}; the library's grad has {expected}"
            compared[f"{room.name}, nested"] += 1


def check_second_order(program: Term, x: float, rooms: dict, compared: Counter) -> None:
    """The second derivative by the source transformations, which are applied to their own output."""
    note(f"the second derivative of {show(program)}\nat {x}")
    value, _, largest = run_recorded(program, x)
    assume(abs(value) < LARGE and largest < LARGE)
    gradient = shiftreset_ad.grad(evaluate(program))
    expected = shiftreset_ad.grad(gradient)(x)
    assume(abs(expected) < LARGE and abs(gradient(x)) < LARGE)
    used = features(program)
    for room in rooms:
        if room.order > 1 and room.style == "terms" and not used & room.without:
            with deep_stack():
                found = room.grad(room.derivative(program))(x)
            assert is_close(found, expected, 1e-7), f"{room.name}: {found}; the library's grad has {expected}"
            compared[f"{room.name}, second order"] += 1


def check_programs(
    number: int, rooms=ROOMS, start: int | None = None, derandomize: bool = False, shrink=True
) -> Counter:
    """Check that many random programs, and some at second order; answers how often each room was compared."""
    compared: Counter = Counter()
    quiet = settings(
        max_examples=number,
        deadline=None,
        database=None,
        derandomize=derandomize,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        report_multiple_bugs=False,  # the first is enough
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
    )

    @quiet
    @given(programs())
    def first_order(case):
        with np.errstate(all="ignore"):
            check_agreement(*case, rooms, compared)

    @settings(quiet, max_examples=max(1, number // 4))
    @given(programs(arguments=(PAIR,), size=15))
    def nested(case):
        program, (x, _) = case
        with np.errstate(all="ignore"):
            check_nested_agreement(program, x, rooms, compared)

    @settings(quiet, max_examples=max(1, number // 4))
    @given(programs(arguments=(REAL,), size=15))
    def second_order(case):
        with np.errstate(all="ignore"):
            check_second_order(*case, rooms, compared)

    for check in (first_order, nested, second_order):
        if start is not None:
            check = seed(start)(check)
        check()
    return compared


def check_share(number: int, start: int) -> Counter:
    return check_programs(number, start=start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=int)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}, processes {arguments.processes}", flush=True)
    shares = [min(SHARE, arguments.programs - done) for done in range(0, arguments.programs, SHARE)]
    seeds = [arguments.seed + i for i in range(len(shares))]
    compared: Counter = Counter()
    with ProcessPoolExecutor(arguments.processes) as pool:
        for share, number, counts in zip(shares, seeds, pool.map(check_share, shares, seeds), strict=True):
            compared += counts
            print(f"{share} programs agree, seed {number}", flush=True)
    for name, times in compared.items():
        print(f"{times:8} {name}")


if __name__ == "__main__":
    main()
