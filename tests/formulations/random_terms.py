"""Random well-typed programs of the core language, as hypothesis strategies.

Every program is closed, `fun x -> e`, from a real number or nested pairs of them to a real number, and smooth where its
comparisons do not change. It terminates: functions are simply typed, memory holds no functions, loops are bounded.
"""

import numpy as np
from hypothesis import strategies as st

from shiftreset_ad.formulations.language import (
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
    Snd,
    Term,
    Var,
    children,
    if_then_else,
    repeat,
    sequence,
)
from shiftreset_ad.formulations.language.types import REAL, UNIT, Type, either, function, product, reference

NAMES = "xyzabcfgr"
CONSTANTS = (1.0, 2.0, 0.5, -1.5, 0.0, 3.0, -0.75)


def unary(function):
    return lambda e: Primitive(function, (e,))


# Smooth and bounded enough everywhere.
UNARY = (
    unary(np.sin),
    unary(np.negative),
    unary(np.cos),
    unary(np.tanh),
    unary(np.arctan),
    lambda e: np.exp(np.sin(e)),
    lambda e: np.sqrt(1.0 + np.square(e)),
    lambda e: np.log(1.5 + np.cos(e)),
)
BINARY = (
    lambda a, b: a * b,
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a / (2.0 + np.sin(b)),
    lambda a, b: np.arctan2(a, 1.5 + np.cos(b)),
)


@st.composite
def points(draw, t):
    """A value of a type of the arguments."""
    if t is REAL:
        return draw(st.integers(-20, 20)) / 10 + 0.0123
    return tuple(draw(points(part)) for part in t.parts)


ARGUMENTS = (REAL, product(REAL, REAL), product(REAL, product(REAL, REAL)))


@st.composite
def programs(draw, arguments=ARGUMENTS, size=25, memory=None):
    """A program and a point, `(fun x -> e, x)`. Without `memory`, it has no references; None lets it be drawn."""
    argument = draw(st.sampled_from(arguments))
    writer = Writer(draw, draw(st.integers(1, size)), draw(st.booleans()) if memory is None else memory)
    return Lam("x", writer.term(REAL, (("x", argument),))), draw(points(argument))


class Writer:
    """Writes a term of a given type in a context, an association list of the variables and their types."""

    def __init__(self, draw, budget, memory):
        self.draw, self.budget, self.memory = draw, budget, memory

    def among(self, choices):
        """One of the choices; a shrunk program has the first."""
        return choices[self.draw(st.integers(0, len(choices) - 1))] if len(choices) > 1 else choices[0]

    def some_type(self, depth=2, data=False):
        kinds = ["R", "R", "R", "*", "+", "1"]
        if self.memory:
            kinds += ["ref", "ref"]
        if not data:
            kinds += ["->", "->"]
        kind = self.among(kinds) if depth else "R"
        if kind in ("R", "1"):
            return {"R": REAL, "1": UNIT}[kind]
        if kind == "ref":
            return reference(self.some_type(depth - 1, data=True))
        return Type(kind, (self.some_type(depth - 1, data), self.some_type(depth - 1, data)))

    def term(self, t, context):
        if self.budget <= 0:
            return self.leaf(t, context)
        self.budget -= 1
        ways = [self.leaf, self.introduction, self.introduction, self.introduction]
        ways += [self.let, self.let, self.conditional, self.case, self.beta, self.projection]
        if t.is_first_order and t.kind != "ref":
            ways.append(self.loop)
        if self.reachable(lambda other: other.kind == "->" and other.parts[1] == t, context):
            ways += [self.call] * 3
        if self.memory and t.is_first_order:
            ways.append(self.cell)
        if self.reachable(lambda other: other.kind == "ref", context):
            ways += [self.write] * 3
        return self.among(ways)(t, context)

    # Variables

    def reachable(self, wanted, context):
        """The variables, and parts of variables, of a type that is wanted."""
        found, seen = [], set()
        for name, t in context:
            if name not in seen:
                seen.add(name)
                found += self.parts(Var(name), t, wanted)
        return found

    def parts(self, term, t, wanted):
        found = [(term, t)] if wanted(t) else []
        if t.kind == "*":
            found += self.parts(Fst(term), t.parts[0], wanted) + self.parts(Snd(term), t.parts[1], wanted)
        if t.kind == "ref":
            found += self.parts(Deref(term), t.parts[0], wanted)
        return found

    def leaf(self, t, context):
        terms = [term for term, _ in self.reachable(lambda other: other == t, context)]
        if t is REAL:
            return self.among([*terms, Const(self.among(CONSTANTS))]) if terms else Const(self.among(CONSTANTS))
        return self.among(terms) if terms else self.introduction(t, context, self.leaf)

    def binder(self):
        return self.among(NAMES)

    # What makes a value of the type

    def introduction(self, t, context, term=None):
        term = term or self.term
        match t.kind:
            case "R":
                if self.draw(st.booleans()):
                    return self.among(BINARY)(term(REAL, context), term(REAL, context))
                return self.among(UNARY)(term(REAL, context))
            case "1":
                return Const(())
            case "*":
                return Pair(term(t.parts[0], context), term(t.parts[1], context))
            case "+":
                side = self.among((0, 1))
                return (Inl, Inr)[side](term(t.parts[side], context))
            case "->":
                name = self.binder()
                return Lam(name, term(t.parts[1], ((name, t.parts[0]), *context)))
            case "ref":
                return Ref(term(t.parts[0], context))

    # What makes a value of any type

    def let(self, t, context):
        name, bound = self.binder(), self.some_type()
        return Let(name, self.term(bound, context), self.term(t, ((name, bound), *context)))

    def conditional(self, t, context):
        a, b = self.term(REAL, context), self.term(REAL, context)
        comparison = Primitive(self.among((np.less, np.greater_equal)), (a, b))
        return if_then_else(comparison, self.term(t, context), self.term(t, context))

    def case(self, t, context):
        left, right = self.some_type(1), self.some_type(1)
        scrutinee = self.term(either(left, right), context)
        names = self.binder(), self.binder()
        branches = [self.term(t, ((name, side), *context)) for name, side in zip(names, (left, right), strict=True)]
        return Case(scrutinee, names[0], branches[0], names[1], branches[1])

    def beta(self, t, context):
        argument = self.some_type(1)
        return App(self.term(function(argument, t), context), self.term(argument, context))

    def call(self, t, context):
        called, of = self.among(self.reachable(lambda other: other.kind == "->" and other.parts[1] == t, context))
        return App(called, self.term(of.parts[0], context))

    def projection(self, t, context):
        other = self.some_type(1)
        if self.draw(st.booleans()):
            return Fst(self.term(product(t, other), context))
        return Snd(self.term(product(other, t), context))

    def loop(self, t, context):
        return repeat(self.among((1, 2, 3)), self.term(function(t, t), context), self.term(t, context))

    def cell(self, t, context):
        return Deref(self.term(reference(t), context))

    def write(self, t, context):
        cell, of = self.among(self.reachable(lambda other: other.kind == "ref", context))
        return sequence(Assign(cell, self.term(of.parts[0], context)), self.term(t, context))


def features(term: Term) -> set[str]:
    """What a program uses that not every formulation has."""
    found = set().union(*map(features, children(term)))
    if isinstance(term, (Ref, Deref, Assign)):
        found.add("references")
    if isinstance(term, Case):
        found.add("sums")
    return found
