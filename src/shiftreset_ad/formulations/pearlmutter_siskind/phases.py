"""Forward and reverse mode of a program of steps, in the forms of Pearlmutter and Siskind 2008, section 2.

    forward_matrices    the matrices X_1, ..., X_n, each a product with the one before; the last is the Jacobian
    reverse_matrices    the same from the other end; the last is the transposed Jacobian
    forward_mode        a vector in place of the matrices; it goes along with the program
    forward_pairs       the same as a local change of the program: each number is a pair, each step is a step on pairs
    reverse_mode        a vector in place of the matrices; a forward phase keeps the states, and a reverse phase follows
    backpropagators     the same as a local change: a state is paired with the function that goes back from it
    global_tape         one global backpropagator, which each assignment replaces; sensitivities are assigned to

Matrices take the square of the size of a state. A state with its backpropagator is a pair of a vector and a function,
so it is no vector of pairs: this is why reverse mode needs other means than overloading. Section 3 of the paper finds
them in the lambda calculus, and `reverse` has the result. `postpended` has the form without a tape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from shiftreset_ad.formulations.overloading import answer_and_partials
from shiftreset_ad.formulations.pearlmutter_siskind.machine import Matrix, State, Step, step

Program: TypeAlias = Sequence[Step]
Backpropagator: TypeAlias = Callable[[State], State]


def forward_matrices(program: Program, x: State) -> list[Matrix]:
    """X_1, ..., X_n by n - 1 products of matrices."""
    found: list[Matrix] = []
    for of in program:
        x, slopes = step(of, x)
        jacobian = of.jacobian(slopes, len(x))
        found.append(_times(jacobian, found[-1]) if found else jacobian)
    return found


def reverse_matrices(program: Program, x: State) -> list[Matrix]:
    """The transposed matrices from the other end, X_(n-1), ..., X_0."""
    transposed = []
    for of in program:
        x, slopes = step(of, x)
        transposed.append([list(row) for row in zip(*of.jacobian(slopes, len(x)), strict=True)])
    found: list[Matrix] = []
    for matrix in reversed(transposed):
        found.append(_times(matrix, found[-1]) if found else matrix)
    return found


def forward_mode(program: Program, x: State, x_dot: State) -> tuple[State, State]:
    """The last state, and its perturbation."""
    for of in program:
        x, slopes = step(of, x)
        x_dot = of.forward(slopes, x_dot)
    return x, x_dot


def forward_pairs(program: Program, pairs: State) -> State:
    """The program on pairs of a number and its perturbation: each step makes one pair of one or two pairs."""
    for of in program:
        operands = of.operands(pairs)
        y, slopes = answer_and_partials(of.function, *(x for x, _ in operands))
        y_dot = sum(slope * x_dot for slope, (_, x_dot) in zip(slopes, operands, strict=True))
        pairs = [(y, y_dot) if j == of.L else pair for j, pair in enumerate(pairs)]
    return pairs


def reverse_mode(program: Program, x: State, x_bar: State) -> tuple[State, State]:
    """The last state, and the sensitivity of the first one."""
    kept = []
    for of in program:
        x, slopes = step(of, x)
        kept.append(slopes)
    for of, slopes in zip(reversed(program), reversed(kept), strict=True):
        x_bar = of.reverse(slopes, x_bar)
    return x, x_bar


def backpropagators(program: Program, x: State) -> tuple[State, Backpropagator]:
    """The last state, and a function from its sensitivity to that of the first state."""
    back: Backpropagator = _identity
    for of in program:
        x, slopes = step(of, x)
        back = _then(of, slopes, back)
    return x, back


def _identity(x_bar: State) -> State:
    return x_bar


def _then(of: Step, slopes: list[Any], before: Backpropagator) -> Backpropagator:
    """fun x_bar -> before (the transposed Jacobian times x_bar)"""
    return lambda x_bar: before(of.reverse(slopes, x_bar))


def global_tape(program: Program, x: State, x_bar: State) -> tuple[State, State]:
    """The last state, and the sensitivities that are left in the variables after the backpropagator has run.

    An assignment `x[L] := u x[R]` becomes two: of a new backpropagator, which adds to the sensitivity of R, zeroes that
    of L, and calls the old one; and the assignment itself. The paper's form is for indices that are distinct; here the
    zero comes first, and the sensitivity of L is read before it.
    """
    x, sensitivities = list(x), list(x_bar)

    def tape() -> None:
        """The backpropagator of the empty program."""

    for of in program:
        y, slopes = answer_and_partials(of.function, *of.operands(x))
        tape = _assigning(of, slopes, sensitivities, tape)
        x[of.L] = y
    tape()
    return x, sensitivities


def _assigning(of: Step, slopes: list[Any], sensitivities: State, before: Callable[[], None]) -> Callable[[], None]:
    def tape() -> None:
        y_bar, sensitivities[of.L] = sensitivities[of.L], 0.0
        for place, slope in zip(of[1:-1], slopes, strict=True):
            sensitivities[place] = sensitivities[place] + slope * y_bar
        before()

    return tape


def _times(a: Matrix, b: Matrix) -> Matrix:
    return [[sum(p * q for p, q in zip(row, column, strict=True)) for column in zip(*b, strict=True)] for row in a]
