"""A program as a row of states of a machine, and its Jacobian as a product (Pearlmutter and Siskind 2008, section 2).

A step computes one element of the state, `x[L] := u x[R]` or `x[L] := b (x[R], x[S])`, and leaves the others as they
are (Fig. 1). So its Jacobian differs from the identity in the row L only (Fig. 2), and a product with it changes few
elements of a vector:

    forward     the perturbation of L is computed anew                            (Fig. 3)
    reverse     the sensitivities of R and S are added to, and that of L is zeroed     (Fig. 4)

Addition is for a value that is used more than once, and the zero is for a value that is overwritten. Both follow from
the transposed matrix. The figures assume that L, R and S are distinct; `Unary.reverse` and `Binary.reverse` have the
paper's formulas for all cases. The module `phases` puts the steps of a program together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from shiftreset_ad.formulations.language.printer import show
from shiftreset_ad.formulations.language.terms import Term, Var
from shiftreset_ad.formulations.overloading import answer_and_partials

State: TypeAlias = list[Any]
Matrix: TypeAlias = list[list[Any]]


class Unary(NamedTuple):
    """x[L] := u x[R]

    >>> import numpy as np
    >>> print(Unary(2, 0, np.sin))
    x[2] := sin x[0]
    """

    L: int
    R: int
    u: Callable[..., Any]

    def __str__(self) -> str:
        return f"x[{self.L}] := {self.u.__name__} x[{self.R}]"

    def operands(self, x: Sequence[Any]) -> list[Any]:
        """What the function is applied to."""
        return [x[self.R]]

    @property
    def function(self) -> Callable[..., Any]:
        """The scalar function of the step."""
        return self.u

    @property
    def names_of_slopes(self) -> list[Term]:
        """The slopes as they are called in the figures."""
        return [Var("u'")]

    def jacobian(self, slopes: Sequence[Any], size: int) -> Matrix:
        """Fig. 2: the matrix of the step, with these slopes, for a state of this size."""
        (u1,) = slopes

        def entry(j: int, k: int) -> Any:
            if j == self.L and k == self.R:
                return u1
            return 1.0 if j != self.L and j == k else 0.0

        return [[entry(j, k) for k in range(size)] for j in range(size)]

    def forward(self, slopes: Sequence[Any], x_dot: Sequence[Any]) -> State:
        """Fig. 3: the Jacobian times a perturbation."""
        (u1,) = slopes
        return [u1 * x_dot[self.R] if j == self.L else x_dot[j] for j in range(len(x_dot))]

    def reverse(self, slopes: Sequence[Any], x_bar: Sequence[Any]) -> State:
        """Fig. 4: the transposed Jacobian times a sensitivity."""
        (u1,) = slopes
        L, R = self.L, self.R  # noqa: N806 (the names in the paper)

        def entry(k: int) -> Any:
            if k == R != L:
                return x_bar[k] + u1 * x_bar[L]
            if k == R == L:
                return u1 * x_bar[k]
            return 0.0 if k == L else x_bar[k]

        return [entry(k) for k in range(len(x_bar))]


class Binary(NamedTuple):
    """x[L] := b (x[R], x[S])"""

    L: int
    R: int
    S: int
    b: Callable[..., Any]

    def __str__(self) -> str:
        return f"x[{self.L}] := {self.b.__name__} (x[{self.R}], x[{self.S}])"

    def operands(self, x: Sequence[Any]) -> list[Any]:
        """What the function is applied to."""
        return [x[self.R], x[self.S]]

    @property
    def function(self) -> Callable[..., Any]:
        """The scalar function of the step."""
        return self.b

    @property
    def names_of_slopes(self) -> list[Term]:
        """The slopes as they are called in the figures."""
        return [Var("b1'"), Var("b2'")]

    def jacobian(self, slopes: Sequence[Any], size: int) -> Matrix:
        """Fig. 2: the matrix of the step, with these slopes, for a state of this size."""
        b1, b2 = slopes
        L, R, S = self.L, self.R, self.S  # noqa: N806

        def entry(j: int, k: int) -> Any:
            if j == L and k == R != S:
                return b1
            if j == L and k == S != R:
                return b2
            if j == L and k == R == S:
                return b1 + b2
            return 1.0 if j != L and j == k else 0.0

        return [[entry(j, k) for k in range(size)] for j in range(size)]

    def forward(self, slopes: Sequence[Any], x_dot: Sequence[Any]) -> State:
        """Fig. 3: the Jacobian times a perturbation."""
        b1, b2 = slopes
        return [b1 * x_dot[self.R] + b2 * x_dot[self.S] if j == self.L else x_dot[j] for j in range(len(x_dot))]

    def reverse(self, slopes: Sequence[Any], x_bar: Sequence[Any]) -> State:
        """Fig. 4: the transposed Jacobian times a sensitivity, by the eight cases of the paper."""
        b1, b2 = slopes
        L, R, S = self.L, self.R, self.S  # noqa: N806

        def entry(k: int) -> Any:
            if k == R and R not in (S, L):
                return x_bar[k] + b1 * x_bar[L]
            if k == S and S not in (R, L):
                return x_bar[k] + b2 * x_bar[L]
            if k == R == L != S:
                return b1 * x_bar[k]
            if k == S == L != R:
                return b2 * x_bar[k]
            if k == R == S != L:
                return x_bar[k] + (b1 + b2) * x_bar[L]
            if k == R == S == L:
                return (b1 + b2) * x_bar[k]
            return 0.0 if k == L else x_bar[k]

        return [entry(k) for k in range(len(x_bar))]


Step: TypeAlias = Unary | Binary


def step(of: Step, x: Sequence[Any]) -> tuple[State, list[Any]]:
    """The next state, and the slopes of the step, which its matrix and both products need."""
    y, slopes = answer_and_partials(of.function, *of.operands(x))
    return [y if j == of.L else x[j] for j in range(len(x))], slopes


def picture(of: Step, size: int) -> str:
    """Fig. 2 as text: the Jacobian of a step, in which `.` is a zero.

    >>> import numpy as np
    >>> print(picture(Binary(1, 0, 3, np.multiply), 4))
    1    .    .    .
    b1'  .    .    b2'
    .    .    1    .
    .    .    .    1
    """
    rows = [[_entry(entry) for entry in row] for row in of.jacobian(of.names_of_slopes, size)]
    width = max(len(entry) for row in rows for entry in row)
    return "\n".join("  ".join(f"{entry:{width}}" for entry in row).rstrip() for row in rows)


def _entry(entry: Any) -> str:
    return show(entry) if isinstance(entry, Term) else f"{entry:g}" if entry else "."
