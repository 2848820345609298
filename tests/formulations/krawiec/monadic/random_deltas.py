"""Random Delta terms, as a hypothesis strategy."""

from hypothesis import strategies as st

from shiftreset_ad.formulations.krawiec.monadic.delta import Add, Let, Scale, Var, Zero
from shiftreset_ad.formulations.language.discrete import Integer


def x(i):
    """The name i."""
    return Var(Integer(i))


@st.composite
def deltas(draw, names=3, size=8):
    """A Delta term whose free names are the first `names`."""
    kind = draw(st.sampled_from(("var", "zero", "scale", "add", "let") if size > 0 else ("var", "zero")))
    if kind == "scale":
        return Scale(draw(st.integers(-3, 3)) / 2, draw(deltas(names, size - 1)))
    if kind == "add":
        return Add(draw(deltas(names, size // 2)), draw(deltas(names, size // 2)))
    if kind == "let":
        bound = draw(deltas(names, size // 2))
        return Let(Integer(names + 1), bound, draw(deltas(names + 1, size // 2)))
    return Zero() if kind == "zero" else x(draw(st.integers(1, names)))


def size(u):
    match u:
        case Scale(_, scaled):
            return 1 + size(scaled)
        case Add(left, right):
            return 1 + size(left) + size(right)
        case Let(_, bound, body):
            return 1 + size(bound) + size(body)
    return 1
