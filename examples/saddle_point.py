"""A saddle point by `grad` inside `grad`: a player minimises over (s, t) what an opponent maximises over (u, v).

Pearlmutter and Siskind, TOPLAS 2008, section 5: gradient descent with a golden-section line search, for the payoff
s^2 + t^2 - u^2 - v^2. The outer `grad` differentiates through the whole of the inner optimisation, which calls `grad`
itself, so this is reverse mode over reverse mode. The optimisers below are plain Python, and use `grad` only.

The settings are those of the program `saddle` in the authors' Stalingrad distribution: both players start at (1, 1),
a gradient of 0.01 is small enough, and lines are searched from steps of -100 and 100 on. The answer recorded there is
4.965316230354233e-05 in all four coordinates.

In that game the players do not interact, and one line search finds the saddle point. So a second one is solved in
the same way, in which the best reply depends on what is replied to, and one direction is steeper than the other.

    python examples/saddle_point.py [--picture saddle_point.png]
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from table import print_table

from shiftreset_ad import grad, value

Point: TypeAlias = tuple[float, ...]
Function: TypeAlias = Callable[[Point], float]
Line: TypeAlias = Callable[[float], float]

GOLDEN = 1.61803399  # to the digits that the original has, so that the answers can be compared
FARTHEST = 1e50  # where the search for a bracket gives up
MOST_STEPS = 1000  # after which a descent gives up


# Minimising along a line


def bracket(f: Line, a: float, b: float) -> tuple[float, float, float]:
    """Points a, b, c in order, with f(b) below f(a) and f(c): go downhill from a and b in growing steps."""
    f_a, f_b = f(a), f(b)
    if f_b > f_a:
        a, b, f_b = b, a, f_a
    while True:
        c = b + GOLDEN * (b - a)
        if abs(c) > FARTHEST:
            raise ArithmeticError(f"the function has no minimum along this line: it does not rise up to step {b:g}")
        f_c = f(c)
        if f_b < f_c:
            return a, b, c
        a, b, f_b = b, c, f_c


def golden_section(f: Line, a: float, b: float, c: float, tolerance: float = 1e-3) -> float:
    """Where f is least between a and c, given that f(b) is below f(a) and f(c)."""
    long = GOLDEN - 1.0
    short = 1.0 - long
    if abs(c - b) > abs(b - a):
        left, right = b, b + short * (c - b)
    else:
        left, right = b - short * (b - a), b
    f_left, f_right = f(left), f(right)
    while abs(c - a) > tolerance * (abs(left) + abs(right)):
        if f_right < f_left:
            a, left, f_left, right = left, right, f_right, long * right + short * c
            f_right = f(right)
        else:
            c, right, f_right, left = right, left, f_left, long * left + short * a
            f_left = f(left)
    return left if f_left < f_right else right


# Minimising in all directions


def descent(f: Function, x: Point, epsilon: float) -> Iterator[tuple[Point, Point]]:
    """The points of gradient descent, with the gradients there, up to a gradient no larger than epsilon."""
    gradient = grad(f)
    for _ in range(MOST_STEPS):
        slope = gradient(x)
        yield x, slope
        if norm(slope) <= epsilon:
            return
        x = least_along(f, x, slope)
    raise ArithmeticError(f"no gradient as small as {epsilon} in {MOST_STEPS} steps: the last was {norm(slope):g}")


def least_along(f: Function, x: Point, direction: Point) -> Point:
    """Where f is least on the line through x."""

    def at(step: float) -> Point:
        return tuple(x_i + step * d_i for x_i, d_i in zip(x, direction, strict=True))

    def f_at(step: float) -> float:
        return f(at(step))

    return at(golden_section(f_at, *bracket(f_at, -100.0, 100.0)))


def norm(x: Point) -> float:
    return math.hypot(*(value(x_i) for x_i in x))


def argmin(f: Function, start: Point, epsilon: float) -> Point:
    """Where f is least."""
    *_, (x, _) = descent(f, start, epsilon)
    return x


def argmax(f: Function, start: Point, epsilon: float) -> Point:
    """Where f is greatest."""
    return argmin(lambda x: -f(x), start, epsilon)


# Two players


@dataclass
class Game:
    """A payoff f((s, t), (u, v)), and how well the two players are to do."""

    name: str
    payoff: Callable[[Point, Point], float]
    epsilon: float
    worst_case: Function  # the greatest payoff over (u, v), in closed form: for the picture and the check only
    start: Point = (1.0, 1.0)


@dataclass
class Solution:
    """The path of the outer player to the saddle point, with the opponent's best replies, and what it took."""

    path: list[Point] = field(default_factory=list)
    replies: list[Point] = field(default_factory=list)
    payoffs: list[float] = field(default_factory=list)
    gradients: list[float] = field(default_factory=list)
    evaluations: int = 0
    seconds: float = 0.0


def solve(game: Game) -> Solution:
    """Find the saddle point: each `grad` of the worst case runs the opponent's optimisation, with `grad` inside it."""
    solution = Solution()

    def payoff(x: Point, y: Point) -> float:
        solution.evaluations += 1
        return game.payoff(x, y)

    def best_reply(x: Point) -> Point:
        return argmax(lambda y: payoff(x, y), game.start, game.epsilon)

    def worst_case(x: Point) -> float:
        return payoff(x, best_reply(x))

    begin = time.perf_counter()
    for x, slope in descent(worst_case, game.start, game.epsilon):
        solution.path.append(x)
        solution.gradients.append(norm(slope))
    solution.replies = [best_reply(x) for x in solution.path]
    solution.seconds = time.perf_counter() - begin
    solution.payoffs = [game.payoff(x, y) for x, y in zip(solution.path, solution.replies, strict=True)]
    return solution


def separable(x: Point, y: Point) -> float:
    (s, t), (u, v) = x, y
    return s**2 + t**2 - (u**2 + v**2)


def coupled(x: Point, y: Point) -> float:
    (s, t), (u, v) = x, y
    return s**2 + 8 * t**2 - (u**2 + 8 * v**2) + 2 * (s * u + t * v)


GAMES = [
    Game("s² + t² - u² - v²", separable, 1e-2, lambda x: x[0] ** 2 + x[1] ** 2),
    Game("s² + 8t² - u² - 8v² + 2(su + tv)", coupled, 1e-4, lambda x: 2 * x[0] ** 2 + 8.125 * x[1] ** 2),
]


# Showing the result


def report(game: Game, solution: Solution) -> None:
    """Print the path, the saddle point, and the time taken."""
    print_table(
        f"min over (s, t) of max over (u, v) of {game.name}",
        ["step", "s", "t", "u", "v", "payoff", "|gradient|"],
        [
            [str(i), *(f"{c:.3e}" for c in (*x, *y)), f"{payoff:.3e}", f"{gradient:.3e}"]
            for i, (x, y, payoff, gradient) in enumerate(
                zip(solution.path, solution.replies, solution.payoffs, solution.gradients, strict=True)
            )
        ],
    )
    (s, t), (u, v) = solution.path[-1], solution.replies[-1]
    print(f"saddle point: s = {s!r}, t = {t!r}, u = {u!r}, v = {v!r}")
    print(f"{solution.evaluations:,} evaluations of the payoff in {solution.seconds:.2f} seconds")
    print()


def draw(solutions: list[Solution], picture: Path) -> None:
    """Draw both players' paths over the payoff after the best reply, and how its gradient shrinks."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    figure, (*planes, progress) = plt.subplots(1, 3, figsize=(15, 5.4), layout="constrained")
    low, high = -0.35, 1.15
    grid = np.meshgrid(np.linspace(low, high, 301), np.linspace(low, high, 301))
    for panel, game, solution in zip(planes, GAMES, solutions, strict=True):
        levels = [0.01, 0.03, 0.1, 0.3, 1, 3, 10]
        contours = panel.contour(*grid, game.worst_case(tuple(grid)), levels=levels, colors="0.7", linewidths=0.8)
        panel.clabel(contours, fmt="%g", fontsize=8, colors="0.45")
        steps = len(solution.path) - 1
        panel.plot(0, 0, "*", color="black", markersize=15, label="the saddle point, (0, 0) for both")
        panel.plot(*zip(*solution.path, strict=True), "o-", color="tab:blue", label=f"(s, t), line searches: {steps}")
        panel.plot(
            *zip(*solution.replies, strict=True),
            "D:",
            color="tab:red",
            markersize=4,
            label="(u, v): the best reply to each (s, t)",
        )
        panel.annotate("start", game.start, (-9, 0), textcoords="offset points", ha="right", va="center")
        panel.set(title=f"payoff {game.name}", xlabel="s, and u of the reply", ylabel="t, and v of the reply")
        panel.set(xlim=(low, high), ylim=(low, high), box_aspect=1)
        panel.legend(loc="lower right", fontsize=8, framealpha=1)

    for game, solution, style in zip(GAMES, solutions, ("s-", "o-"), strict=True):
        (line,) = progress.semilogy(solution.gradients, style, label=game.name)
        progress.axhline(game.epsilon, color=line.get_color(), linestyle="--", linewidth=0.8)
        progress.annotate(
            "small enough", (3.5, game.epsilon), (0, 3), textcoords="offset points", ha="center", color=line.get_color()
        )
    progress.set(
        title="gradient of the worst case", xlabel="line searches done", ylabel="size of the gradient", box_aspect=1
    )
    progress.legend(fontsize=8)
    figure.suptitle("(s, t) minimises what (u, v) maximises; grey: the payoff after the best reply")
    figure.savefig(picture, dpi=100)
    plt.close(figure)


def main() -> None:
    """Solve both games, and draw the paths where matplotlib is installed."""
    parser = argparse.ArgumentParser(description="Find saddle points by grad inside grad.")
    parser.add_argument("--picture", type=Path, default=Path("saddle_point.png"), help="where to draw the paths")
    arguments = parser.parse_args()

    solutions = [solve(game) for game in GAMES]
    for game, solution in zip(GAMES, solutions, strict=True):
        report(game, solution)
    try:
        draw(solutions, arguments.picture)
    except ImportError:
        print("matplotlib is not installed, so the paths are not drawn")
    else:
        print(f"paths drawn in {arguments.picture}")


if __name__ == "__main__":
    main()
