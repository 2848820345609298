"""Random terms for hypothesis: of every construct, whether they make sense or not; and well-typed programs."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from shiftreset_ad.formulations.language import (
    UNIT,
    App,
    Assign,
    Case,
    Const,
    Deref,
    Fst,
    Inl,
    Inr,
    Lam,
    Let,
    Pair,
    Primitive,
    Ref,
    Reset,
    Shift,
    Snd,
    Var,
)
from shiftreset_ad.formulations.language.grammar import INFIX, PRIMITIVES

SETTINGS = settings(derandomize=True, database=None, deadline=None, max_examples=300)

NAMES = st.sampled_from(["x", "y", "k", "x1", "x'", "log1", "_a", "naïve"])
BOUND = st.one_of(NAMES, st.just("_"))
CONSTANTS = st.one_of(
    st.just(()), st.floats(allow_nan=False), st.sampled_from([-1.0, 0.0, -0.0, 1e-300, 1e22, np.inf, -np.inf])
)
OF_ONE = [f for f in [*PRIMITIVES.values(), np.negative] if f.nin == 1]
OF_TWO = [f for f in [*PRIMITIVES.values(), *(f for f, _ in INFIX.values())] if f.nin == 2]


def _larger(terms):
    constructs = [
        st.builds(lambda f, a: Primitive(f, (a,)), st.sampled_from(OF_ONE), terms),
        st.builds(lambda f, a, b: Primitive(f, (a, b)), st.sampled_from(OF_TWO), terms, terms),
        st.builds(App, terms, terms),
        st.builds(Assign, terms, terms),
        st.builds(Pair, terms, terms),
        st.builds(Lam, BOUND, terms),
        st.builds(Shift, BOUND, terms),
        st.builds(Let, BOUND, terms, terms),
        st.builds(Case, terms, BOUND, terms, BOUND, terms),
        *(st.builds(construct, terms) for construct in (Fst, Snd, Inl, Inr, Ref, Deref, Reset)),
    ]
    return st.one_of(constructs)


TERMS = st.recursive(st.one_of(st.builds(Var, NAMES), st.builds(Const, CONSTANTS)), _larger, max_leaves=25)


# Programs. A type is "real", "unit", or a tuple: ("pair", t, u), ("sum", t, u), ("function", t, u), ("reference", t).

REAL_FUNCTION = ("function", "real", "real")
TYPES = st.recursive(
    st.just("real"),
    lambda types: st.one_of(
        st.tuples(st.sampled_from(["pair", "sum", "function"]), types, types),
        st.tuples(st.just("reference"), types),
    ),
    max_leaves=3,
)


class _Writer:
    """Writes terms of a given type, drawing each choice."""

    def __init__(self, draw):
        self.draw = draw
        self.names = 0

    def term(self, wanted, scope, fuel, under_reset=False):
        """A term of the wanted type; `scope` is a list of names and their types, outermost first."""
        in_scope = [name for name, kind in dict(scope).items() if kind == wanted]
        if in_scope and self.draw(st.integers(0, 2 if fuel > 0 else 0)) == 0:
            return Var(self.draw(st.sampled_from(in_scope)))
        if fuel <= 0 or self.draw(st.booleans()):
            return self.introduced(wanted, scope, fuel, under_reset)
        return self.eliminated(wanted, scope, fuel, under_reset)

    def name(self):
        """A name, which may be in use: it is shadowed then."""
        self.names += 1
        return self.draw(st.sampled_from(["x", "y", f"z{self.names}"]))

    def introduced(self, wanted, scope, fuel, under_reset):
        def part(kind, within=scope):
            return self.term(kind, within, fuel - 1, under_reset)

        match wanted:
            case "real":
                if fuel <= 0 or self.draw(st.integers(0, 4)) == 0:
                    return Const(self.draw(st.sampled_from([-2.0, -0.5, 0.3, 1.0, 1.7])))
                if self.draw(st.booleans()):
                    return Primitive(self.draw(st.sampled_from([np.sin, np.tanh, np.negative])), (part("real"),))
                operations = [np.add, np.multiply, np.subtract]
                return Primitive(self.draw(st.sampled_from(operations)), (part("real"), part("real")))
            case "unit":
                return UNIT
            case ("pair", first, second):
                return Pair(part(first), part(second))
            case ("sum", left, right):
                return Inl(part(left)) if self.draw(st.booleans()) else Inr(part(right))
            case ("function", argument, result):
                name = self.name()
                # It may be called where there is no reset.
                return Lam(name, self.term(result, [*scope, (name, argument)], fuel - 1))
            case ("reference", content):
                return Ref(part(content))

    def eliminated(self, wanted, scope, fuel, under_reset):
        def part(kind, within=scope, reset=under_reset):
            return self.term(kind, within, fuel - 1, reset)

        ways = ["let", "apply", "if", "case", "fst", "snd", "deref", "sequence"]
        if wanted == "real":
            ways += ["reset", "shift"] if under_reset else ["reset"]
        other = self.draw(TYPES)
        match self.draw(st.sampled_from(ways)):
            case "let":
                name = self.name()
                return Let(name, part(other), part(wanted, [*scope, (name, other)]))
            case "apply":
                return App(part(("function", other, wanted)), part(other))
            case "if":
                condition = Primitive(np.less, (part("real"), part("real")))
                return Case(condition, "_", part(wanted), "_", part(wanted))
            case "case":
                left, right, kind = self.name(), self.name(), self.draw(TYPES)
                return Case(
                    part(("sum", other, kind)),
                    left,
                    part(wanted, [*scope, (left, other)]),
                    right,
                    part(wanted, [*scope, (right, kind)]),
                )
            case "fst":
                return Fst(part(("pair", wanted, other)))
            case "snd":
                return Snd(part(("pair", other, wanted)))
            case "deref":
                return Deref(part(("reference", wanted)))
            case "sequence":
                return Let("_", Assign(part(("reference", other)), part(other)), part(wanted))
            case "reset":
                return Reset(part("real", reset=True))
            case "shift":
                name = self.name()
                return Shift(name, part("real", [*scope, (name, REAL_FUNCTION)]))


@st.composite
def programs(draw, wanted="real", scope=(), fuel=5):
    """A well-typed term of the wanted type."""
    return _Writer(draw).term(wanted, list(scope), fuel)
