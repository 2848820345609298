"""The translation of terms in which a real number becomes a pair: its value, and something that moves with it.

    r            becomes  (r, nothing)                                                        1.
    op e ...     becomes  let p = e in ... let x = fst p in let u = snd p in ...
                          let y = op x ... in (y, the combination of op's slopes and the u)   2.
    e1 < e2      becomes  fst e1 < fst e2                                                     3.

All other constructs are translated part by part. What moves is a tangent in forward mode, and a whole gradient in the
reverse mode of dense vectors (Krawiec et al. 2022, Fig. 3 and 5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from shiftreset_ad.formulations.language.discrete import DISCRETE
from shiftreset_ad.formulations.language.names import Names, with_parts
from shiftreset_ad.formulations.language.recursion import Recursion, answer_of, for_each
from shiftreset_ad.formulations.language.several import Several, nested
from shiftreset_ad.formulations.language.sources import literal
from shiftreset_ad.formulations.language.symbols import partial_terms
from shiftreset_ad.formulations.language.terms import Const, Fst, Let, Pair, Primitive, Snd, Term, Var, children

# The second part of an operation, from the slope and the second part of each operand that is no written constant.
Combination: TypeAlias = Callable[[Sequence[tuple[Term, Term]]], Term]


def paired(term: Term, names: Names, stem: str, nothing: Term, combined: Combination) -> Term:
    """The translation of a term; the second parts are called after `stem`, and a real that is written has `nothing`."""
    return answer_of(_translated(term, names, stem, nothing, combined))


def _translated(term: Term, names: Names, stem: str, nothing: Term, combined: Combination) -> Recursion[Term]:
    match term:
        case Const(value):
            return literal(value, lambda r: Pair(r, nothing))  # 1
    parts: list[Term] = yield for_each(lambda part: _translated(part, names, stem, nothing, combined), children(term))
    if not isinstance(term, Primitive) or term.function in DISCRETE:
        return with_parts(term, parts)
    if term.is_comparison:
        return Primitive(term.function, tuple(map(Fst, parts)))  # 3
    pairs, primals, seconds = ([names.fresh(s) for _ in parts] for s in ("p", "x", stem))
    return _operation(term, parts, (pairs, primals, seconds, names.fresh("y")), nothing, combined)


def _operation(
    operation: Primitive,
    operands: list[Term],
    fresh: tuple[list[str], list[str], list[str], str],
    nothing: Term,
    combined: Combination,
) -> Term:
    """Rule 2, with a name for each term that is used twice.

    An operand that is written as a constant has no share: at a negative x, `power x 2.0` has no derivative by 2.0.
    """
    function, (pairs, primals, seconds, y) = operation.function, fresh
    xs = [e if isinstance(e, Const) else Var(x) for e, x in zip(operation.operands, primals, strict=True)]
    if isinstance(function, Several):  # Fig. 14
        rows, answers = function.partials_at(*map(Var, primals)), function.parts(Var(y))
    else:
        rows, answers = [list(partial_terms(function, Var(y), *xs))], [Var(y)]

    def second(slopes: list[Any]) -> Term:
        shares = [(slope, Var(u)) for x, slope, u in zip(xs, slopes, seconds, strict=True) if isinstance(x, Var)]
        return combined(shares) if shares else nothing

    results = [Pair(answer, second(slopes)) for answer, slopes in zip(answers, rows, strict=True)]
    body: Term = Let(y, Primitive(function, tuple(map(Var, primals))), nested(results))
    for pair, x, u in reversed(list(zip(pairs, primals, seconds, strict=True))):
        body = Let(x, Fst(Var(pair)), Let(u, Snd(Var(pair)), body))
    for pair, operand in reversed(list(zip(pairs, operands, strict=True))):
        body = Let(pair, operand, body)
    return body
