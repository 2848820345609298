"""The standard metacircular transformation of Wang et al. 2019, supplement: each construct is translated to itself."""

from __future__ import annotations

from shiftreset_ad.formulations.language import Recursion, Term, answer_of, children, for_each, with_parts
from shiftreset_ad.formulations.language.sources import source


def metacircular(term: Term) -> Term:
    """The same term. Raises TypeError if it is not a term, NameError if it has free variables.

    >>> from shiftreset_ad.formulations.language import parse
    >>> print(metacircular(parse("fun x -> reset (x * (shift k in k (k 2.0)))")))
    fun x -> reset (x * (shift k in k (k 2.0)))
    """
    return answer_of(_metacircular(source("metacircular", term, with_control=True)))


def _metacircular(term: Term) -> Recursion[Term]:
    return with_parts(term, (yield for_each(_metacircular, children(term))))
