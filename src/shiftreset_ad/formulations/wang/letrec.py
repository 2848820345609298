"""A rule for letrec beside Fig. 10, and its contified form for loops (Wang et al. 2019, section 4.3).

    [letrec f = λx. e1 in e2]  = shift‾ k in‾ letrec f = λx. λk1. <k1 @ [e1]>‾ in <k @‾ [e2]>‾          1.
    [letrec f = λx. e in f y]  = shift‾ k in‾ letrec f = λx. <k @‾ [e]>‾ in f [y]                       2.
                                 with  [f e] = shift‾ _ in‾ f [e]  inside of e                          3.

Fig. 10 has no rule for letrec, as letrec is derived from self-application (Fig. 3). The first rule is the standard one:
f takes the rest of the program, k1, as a second argument. The second rule is for loops, where f is applied once, and
calls itself in tail positions only. There every call has the same rest of the program, so f needs no k1: the rest is in
the body of f, once (contification).

`parse` writes self-application for `let rec`, and this translator recognises it. All other rules are those of
`source_meta`.
"""

from __future__ import annotations

from typing import Any

from shiftreset_ad.formulations.language import (
    App,
    Assign,
    Case,
    Lam,
    Let,
    Names,
    Recursion,
    Term,
    Var,
    free_variables,
    letrec,
    renamed,
)
from shiftreset_ad.formulations.language.sources import there_and_back
from shiftreset_ad.formulations.language.wavy import Hat, wavy_lam
from shiftreset_ad.formulations.wang.source_meta import ONE, Translator


class WithLetrec(Translator):
    """The rules of Fig. 10, and those for letrec; `contify` says whether the second one is used for loops."""

    def __init__(self, names: Names, contify: bool) -> None:
        super().__init__(names)
        self._contify = contify
        self._loops: set[str] = set()  # functions without a second argument

    def reverse(self, term: Term) -> Recursion[Term]:
        """[term]"""
        match term:
            case Let(outer, Lam(inner, Lam(x, Let(own, App(Var(a), Var(b)), e1))), Let(f, App(Var(c), Var(d)), e2)) if (
                a == b == inner and c == d == outer
            ):
                e1 = renamed(e1, {own: f})
                if self._contify and isinstance(e2, App) and is_loop(f, e1, e2):
                    return self.captured(lambda k: self._loop(f, x, e1, e2.argument, k))
                return self.captured(lambda k: self._letrec(f, x, e1, e2, k))
            case App(Var(f), argument) if f in self._loops:
                return self.captured(lambda _: App(Var(f), self.translated(argument)))  # 3
        return (yield super().reverse(term))  # type: ignore[no-any-return]

    def _letrec(self, f: str, x: str, e1: Term, e2: Term, k: Any) -> Term:
        k1 = Var(self._names.fresh("k"))
        function = Lam(k1.name, self.delimited(lambda: App(k1, self.translated(e1))))
        return letrec(f, x, function, self.delimited(lambda: k(self.translated(e2))))  # 1

    def _loop(self, f: str, x: str, e: Term, y: Term, k: Any) -> Term:
        self._loops.add(f)
        body = self.delimited(lambda: k(self.translated(e)))
        return letrec(f, x, body, App(Var(f), self.translated(y)))  # 2


def is_loop(f: str, body: Term, use: Term) -> bool:
    """Whether `letrec f = λx. body in use` is a loop: `use` is one call, and calls in `body` are tail calls."""
    return isinstance(use, App) and use.function == Var(f) and in_tail_calls(f, use) and in_tail_calls(f, body)


def in_tail_calls(f: str, term: Term) -> bool:
    """Whether f occurs in the term as the function of tail calls only."""
    match term:
        case App(Var(name), argument) if name == f:
            return f not in free_variables(argument)
        case Let(name, value, body):
            return f not in free_variables(value) and (name == f or in_tail_calls(f, body))
        case Case(scrutinee, _, left, _, right):
            return f not in free_variables(scrutinee) and in_tail_calls(f, left) and in_tail_calls(f, right)
    return f not in free_variables(term)


def transform(term: Term, like: Any = 1.0, contify: bool = True) -> Term:
    """The term for the gradient, as by `source_meta.transform`, with the rules for letrec.

    >>> from shiftreset_ad.formulations.language import evaluate, parse
    >>> loop = parse("fun x -> let rec f y = if y < 10.0 then f (y * y) else y * x in f x")
    >>> evaluate(transform(loop))(2.0)
    np.float64(80.0)
    """

    def code(program: Term, dual: Term, names: Names) -> Term:
        z, z_hat = names.fresh("z"), Hat.fresh(names, "z")
        seed = wavy_lam(z, z_hat.let(Var(z), Assign(z_hat.prime, ONE)))
        return WithLetrec(names, contify).program(lambda translated: App(App(translated(program), dual), seed))

    return there_and_back("transform", term, like, code)
