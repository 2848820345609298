"""Forward mode as a translation of terms (Krawiec et al. 2022, section 4, Fig. 3, 4 and 16).

    D[R]        = R * R                        types: a real becomes a pair, primal and tangent,
    D[S -> T]   = D[S] -> D[T]                 and every other type stays as it is
    D[x]        = x
    D[r]        = (r, 0)                                                                       1.
    D[op e ...] = let (x, x_dot) = D[e] in ... let y = op x ... in (y, op' x ... * x_dot + ...)     2.
    D[e1 < e2]  = fst D[e1] < fst D[e2]                                                        3.

All other constructs are translated part by part: functions, pairs, sums, integers and strings with their primitives,
references (which the paper does not have), even shift and reset. The target is the same language, so
`transform(transform(term))` is a second derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from shiftreset_ad.formulations.language import (
    Const,
    Lam,
    Names,
    Term,
    Var,
    call,
    run,
)
from shiftreset_ad.formulations.language.checker import infer
from shiftreset_ad.formulations.language.paired import paired
from shiftreset_ad.formulations.language.polytypic import delta, zip_
from shiftreset_ad.formulations.language.sources import is_real
from shiftreset_ad.formulations.language.types import REAL, Type, product
from shiftreset_ad.formulations.language.values import Left, Right
from shiftreset_ad.formulations.structures import NUMBERS, Structure


def of_type(t: Type) -> Type:
    """D{A}

    >>> print(of_type(product(REAL, Type("Z"))))
    R * R * Z
    """
    return product(REAL, REAL) if t == REAL else Type(t.kind, tuple(map(of_type, t.parts)))


def transform(term: Term) -> Term:
    """D[e]: the term on dual numbers.

    >>> from shiftreset_ad.formulations.language import parse
    >>> print(transform(parse("fun x -> sin x")))
    fun x -> let p = x in let x1 = fst p in let x_dot = snd p in let y = sin x1 in (y, cos x1 * x_dot)
    """
    return paired(term, Names(term), "x_dot", Const(0.0), _tangent)  # 1, 2, 3


def _tangent(shares: Sequence[tuple[Term, Term]]) -> Term:
    """The sum of slopes times tangents."""
    terms: list[Term] = [slope * x_dot for slope, x_dot in shares]
    return reduce(lambda a, b: a + b, terms)


def forward(e: Term, t: Type | None = None) -> Term:
    """F{e} : S * dS -> dT, for the closed term e : S -> T (Fig. 4 and 16).

    `t` is its type, if `infer` does not find it. Raises TypeError if the types S and T are not first-order.

    >>> from shiftreset_ad.formulations.language import parse
    >>> call(run(forward(parse("fun x -> (2.0 * x, sin x)"))), (0.0, 10.0), lambda answer: answer)
    (np.float64(20.0), np.float64(10.0))
    """
    source, target = (t or infer(e)).parts
    return Lam("p", delta(target)(transform(e)(zip_(source)(Var("p")))))


def jvp(f: Term) -> Callable[[Any, Any], Any]:
    """The derivative along a direction, `(x, x_dot) -> y_dot`, of the function that a closed term denotes.

    Raises TypeError for a direction of another structure, and for a result that is not made of numbers.

    >>> from shiftreset_ad.formulations.language import parse
    >>> jvp(parse("fun x -> fst x * snd x"))((2.0, 3.0), (1.0, 0.0))
    np.float64(3.0)
    """
    derivative = _pushed(f, "jvp")
    return lambda x, x_dot: _tangents(derivative(x, x_dot))


def _pushed(f: Term, operator: str) -> Callable[[Any, Any], Any]:
    """The translated function: it takes x and its tangent, and returns duals."""
    if not isinstance(f, Term):
        raise TypeError(f"{operator}: this room translates terms, and takes a term for a function; got {f!r}")
    translated = transform(f)

    def derivative(x: Any, x_dot: Any) -> Any:
        inputs, direction = Structure(x, operator=operator), Structure(x_dot, may_be_constant=True)
        if not direction.is_like(inputs):
            raise TypeError(f"{operator}: the direction has to have the structure of the argument {x!r}; got {x_dot!r}")
        pairs = list(zip(inputs.numbers, direction.numbers, strict=True))
        # An integer is a real number, too, and is held constant.
        duals = inputs.with_numbers(pairs, lambda leaf: (leaf, 0.0) if is_real(leaf) else leaf)
        return call(run(translated), duals, lambda y: y)

    return derivative


def _is_dual(y: Any) -> bool:
    return isinstance(y, tuple) and bool(y) and isinstance(y[0], (int, *NUMBERS))


def _tangents(y: Any) -> Any:
    """A result with tangents in place of duals."""
    if _is_dual(y):
        return y[1]
    match y:
        case tuple():
            return tuple(map(_tangents, y))
        case Left(value):
            return Left(_tangents(value))
        case Right(value):
            return Right(_tangents(value))
    raise TypeError(f"jvp: the function has to return numbers, pairs and sums of them; a part of the result is {y!r}")


def grad(f: Term) -> Callable[[Any], Any]:
    """The gradient of the function that a closed term denotes, in the structure of its argument: a pass for each input.

    Raises TypeError if `f` is not a term, and for a result that is not a number.

    >>> from shiftreset_ad.formulations.language import parse
    >>> grad(parse("fun x -> x * x"))(3.0)
    np.float64(6.0)
    """
    derivative = _pushed(f, "grad")

    def gradient(x: Any) -> Any:
        inputs = Structure(x)
        n = len(inputs.numbers)
        duals = [derivative(x, inputs.derivative([float(i == j) for j in range(n)])) for i in range(n)]
        for dual in duals:
            if not _is_dual(dual):
                raise TypeError(f"grad: the term has to denote a function to a number; the result is {dual!r}")
        return inputs.derivative([y_dot for _, y_dot in duals])

    return gradient
