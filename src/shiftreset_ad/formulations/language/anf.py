"""A-normal form: every intermediate result has a name, and every construct is applied to variables.

    block   ::=  let x = binding in block | x
    binding ::=  c | fun x -> block | x y | (x, y) | fst x | snd x | inl x | inr x | x + y | sin x | ...
              |  case x of y -> f y | z -> g z

and `ref x`, `!x`, `x := y`, `shift k in block`, `reset block`. The branches of a `case` are two functions, and the
`case` calls one of them. All bound names differ. The form is by Sabry and Felleisen 1993; the transform of Pearlmutter
and Siskind 2008, section 3, takes programs in it.
"""

from __future__ import annotations

from collections.abc import Mapping

from shiftreset_ad.formulations.language.names import UNUSED, Names, free_variables, with_children
from shiftreset_ad.formulations.language.recursion import Recursion, answer_of, for_each
from shiftreset_ad.formulations.language.terms import App, Case, Lam, Let, Reset, Shift, Term, Var, children


def to_anf(term: Term) -> Term:
    """The same program in A-normal form; if it is a function, the result is a function.

    >>> from shiftreset_ad.formulations.language import parse, show
    >>> show(to_anf(parse("fun x -> sin (x * x) + 1.0")))
    'fun x -> let t = x * x in let t1 = sin t in let t2 = 1.0 in let t3 = t1 + t2 in t3'
    """
    block = _Block(Names(used=free_variables(term)))
    return answer_of(block.function(term, {}) if isinstance(term, Lam) else block.body(term, {}))


class _Block:
    """The bindings of one block, as they are collected."""

    def __init__(self, names: Names) -> None:
        self._bindings: list[tuple[str, Term]] = []
        self._names = names

    def body(self, term: Term, scope: Mapping[str, str]) -> Recursion[Term]:
        """The bindings, around the variable that has the value of the term."""
        body: Term = yield self._variable(term, scope)
        for name, binding in reversed(self._bindings):
            body = Let(name, binding, body)
        return body

    def function(self, function: Lam, scope: Mapping[str, str]) -> Recursion[Lam]:
        """A function; its body is a new block."""
        name, inside = self._bound(function.parameter, scope)
        return Lam(name, (yield _Block(self._names).body(function.body, inside)))

    def _variable(self, term: Term, scope: Mapping[str, str], like: str = "t") -> Recursion[Var]:
        """The variable that has the value of the term once the bindings have been carried out."""
        while isinstance(term, Let):
            value: Var = yield self._variable(term.value, scope, term.name)
            scope = {**scope, term.name: value.name}
            term = term.body
        if isinstance(term, Var):
            return Var(scope.get(term.name, term.name))
        binding = yield self._binding(term, scope)
        name = self._fresh(like)
        self._bindings.append((name, binding))
        return Var(name)

    def _binding(self, term: Term, scope: Mapping[str, str]) -> Recursion[Term]:
        """The construct applied to variables."""
        match term:
            case Lam():
                function: Lam = yield self.function(term, scope)
                return function
            case Shift(name, body):
                name, inside = self._bound(name, scope)
                return Shift(name, (yield _Block(self._names).body(body, inside)))
            case Reset(body):
                return Reset((yield _Block(self._names).body(body, scope)))
            case Case(scrutinee, left_name, left, right_name, right):
                chosen = yield self._variable(scrutinee, scope)
                on_left = yield self._variable(Lam(left_name, left), scope, "on_left")
                on_right = yield self._variable(Lam(right_name, right), scope, "on_right")
                a, b = self._fresh(left_name), self._fresh(right_name)
                return Case(chosen, a, App(on_left, Var(a)), b, App(on_right, Var(b)))
        variables = iter((yield for_each(lambda child: self._variable(child, scope), children(term))))
        return with_children(term, lambda _: next(variables))

    def _bound(self, name: str, scope: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
        fresh = self._fresh(name)
        return fresh, {**scope, name: fresh}

    def _fresh(self, like: str) -> str:
        return self._names.fresh("unused" if like == UNUSED else like)
