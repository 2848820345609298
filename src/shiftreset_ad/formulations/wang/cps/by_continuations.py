"""The standard CPS transformation of Wang et al. 2019, supplement, by a translator that is itself in CPS.

The translator is in `language.continuations`, and the rules are in the docstring of the package.
"""

from __future__ import annotations

from shiftreset_ad.formulations.language import (
    App,
    Lam,
    Names,
    Term,
    Var,
    answer_of,
)
from shiftreset_ad.formulations.language.continuations import CpsTranslator
from shiftreset_ad.formulations.language.sources import source
from shiftreset_ad.formulations.language.wavy import immediately


def cps(term: Term) -> Term:
    """The term in continuation-passing style, without shift and reset, by a translator that is itself in this style.

    Raises TypeError if it is not a term, NameError if it has free variables.

    >>> from shiftreset_ad.formulations.language import parse
    >>> print(cps(parse("reset (1.0 + (shift k in k (k 10.0)))")))
    let k = fun a -> fun k1 -> k1 (1.0 + a) in k 10.0 (fun a1 -> k a1 (fun a2 -> a2))
    """
    program = source("cps", term, with_control=True)
    return answer_of(CpsTranslator(Names(program)).translate(program, immediately))


def direct(f: Term) -> Term:
    """A function, without shift and reset, that can be called as before: `fun x -> [f] x (fun y -> y)`.

    So transformations for programs without shift and reset can differentiate a program that has them; the output of
    Fig. 9 is such a program. Errors are as in `cps`.

    >>> from shiftreset_ad.formulations.language import parse
    >>> print(direct(parse("fun x -> reset (shift k in x)")))
    fun x1 -> (fun x -> fun k1 -> k1 (let k = fun a -> fun k2 -> k2 a in x)) x1 (fun y -> y)
    """
    program = source("direct", f, with_control=True)
    names = Names(program)
    x, y = names.fresh("x"), names.fresh("y")
    call = answer_of(
        CpsTranslator(names).translate(program, lambda m: immediately(App(App(m, Var(x)), Lam(y, Var(y)))))
    )
    return Lam(x, call)
