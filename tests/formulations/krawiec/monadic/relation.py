"""The Kripke logical relation of Krawiec et al. 2022, Fig. 13, as a check at sample points.

The relation is between a family of values, a function of x in R^a, and a family of translated values. A family of
translated values, and a world, are lists here, with a member for each point of `POINTS`. Where the relation speaks of
all later worlds, or of all related arguments of a function, some of them are tried.
"""

from collections.abc import Iterator

import numpy as np

import shiftreset_ad
from shiftreset_ad.formulations.krawiec.monadic.delta import Add, Scale, Var, Zero
from shiftreset_ad.formulations.krawiec.monadic.meaning import get, meaning, unit_vectors
from shiftreset_ad.formulations.krawiec.monadic.monad import each
from shiftreset_ad.formulations.language import Left, Right, call
from shiftreset_ad.formulations.language.discrete import Integer
from shiftreset_ad.formulations.language.types import INTEGER, REAL, Type

POINTS = [np.array([0.7, -1.3]), np.array([-0.4, 0.9])]
PHI = unit_vectors(2)
EMPTY = [() for _ in POINTS]


def close(a, b):
    return np.allclose(a, b, rtol=1e-10, atol=1e-12)


def size(bindings):
    return sum(1 for _ in each(bindings))


def state(bindings):
    """The state of the monad with these bindings: the next name comes after the inputs and the names in use."""
    return Integer(len(PHI) + size(bindings) + 1), bindings


def extended(world, deltas):
    """A later world: one more binding at each point."""
    return [((state(bindings)[0], delta), bindings) for bindings, delta in zip(world, deltas, strict=True)]


def is_later(after, before):
    return all(
        list(each(b)) == list(each(a))[size(a) - size(b) :] if size(b) else True
        for a, b in zip(after, before, strict=True)
    )


def later(world) -> Iterator[list]:
    """The world, and a world after it."""
    yield world
    yield extended(world, [Scale(2.0 + x[0], Var(Integer(1))) for x in POINTS])


def is_related(t: Type, f, g, world) -> bool:
    """Whether (f, g) is in V_A(C), for the type A and the world C."""
    if t == REAL:
        return all(_is_derivative(f, g, at) for at in later(world))
    if t.kind == "*":
        return all(is_related(part, lambda x, i=i: f(x)[i], [y[i] for y in g], world) for i, part in enumerate(t.parts))
    if t.kind == "+":
        side = type(f(POINTS[0]))
        if any(type(f(x)) is not side or type(y) is not side for x, y in zip(POINTS, g, strict=True)):
            return False
        return is_related(t.parts[side is Right], lambda x: f(x).value, [y.value for y in g], world)
    if t.kind == "->":
        return all(
            computes_related(
                t.parts[1], lambda x, v=v: f(x)(v(x)), [_applied(y, w) for y, w in zip(g, ws, strict=True)], at
            )
            for after in later(world)
            for v, ws, at in related_values(t.parts[0], after)
        )
    return all(f(x) == y == f(POINTS[0]) for x, y in zip(POINTS, g, strict=True))


def _applied(function, argument):
    """f' v', a computation."""
    return call(function, argument, lambda answer: answer)


def _is_derivative(f, g, world) -> bool:
    for x, (y, delta), bindings in zip(POINTS, g, world, strict=True):
        jacobian = shiftreset_ad.grad(lambda x: f(x) + 0.0 * x[0])(x)
        if not (close(f(x), y) and close(meaning(get(bindings, delta), PHI) + 0.0 * x, jacobian)):
            return False
        if not isinstance(delta, (Var, Zero)):
            return False
    return True


def computes_related(t: Type, f, computations, world) -> bool:
    """Whether (f, g) is in E_A(C): from each later world, g ends in a world after it, with a related value."""
    for before in later(world):
        answers = [
            call(m, state(bindings), lambda answer: answer) for m, bindings in zip(computations, before, strict=True)
        ]
        after = [bindings for _, (_, bindings) in answers]
        if not (is_later(after, before) and is_related(t, f, [value for value, _ in answers], after)):
            return False
    return True


def related_values(t: Type, world) -> Iterator[tuple]:
    """Some elements of V_A: a family, a translated family, and a world after `world` in which they are related."""
    if t == REAL:
        yield lambda x: x[1], [(x[1], Var(Integer(2))) for x in POINTS], world
        yield lambda x: 2.5, [(2.5, Zero()) for _ in POINTS], world
        names = [Var(state(bindings)[0]) for bindings in world]
        slopes = [
            Add(Scale(np.cos(x[0]) * x[1], Var(Integer(1))), Scale(np.sin(x[0]), Var(Integer(2)))) for x in POINTS
        ]
        duals = [(np.sin(x[0]) * x[1], name) for x, name in zip(POINTS, names, strict=True)]
        yield lambda x: np.sin(x[0]) * x[1], duals, extended(world, slopes)
    elif t == INTEGER:
        yield lambda x: Integer(3), [Integer(3) for _ in POINTS], world
    elif t.kind == "*":
        for f, fs, between in related_values(t.parts[0], world):
            for g, gs, after in related_values(t.parts[1], between):
                yield lambda x, f=f, g=g: (f(x), g(x)), list(zip(fs, gs, strict=True)), after
    elif t.kind == "+":
        for part, side in zip(t.parts, (Left, Right), strict=True):
            for f, fs, after in related_values(part, world):
                yield lambda x, f=f, side=side: side(f(x)), list(map(side, fs)), after
    elif t.kind == "->":  # constant functions, whose answers are related
        for f, fs, after in related_values(t.parts[1], world):
            yield lambda x, f=f: lambda _: f(x), [lambda _, y=y: lambda s: (y, s) for y in fs], after
    else:
        yield lambda x: (), [() for _ in POINTS], world
