"""What a Delta term means: the vector that it stands for (Krawiec et al. 2022, section 7).

    [[Zero]]_D g          = 0                     [[Var y]]_D g        = g(y)
    [[Scale r u]]_D g     = r * [[u]]_D g         [[Let y u v]]_D g    = [[v]]_D (g, y = [[u]]_D g)
    [[Add u v]]_D g       = [[u]]_D g + [[v]]_D g
    get []             u  = u
    get ((y, v) : C)   u  = get C (Let y v u)
    phi_a                 = { z_i = the i-th unit vector of R^a }

This is the usual meaning of an expression. Lemma 10 says that `eval` computes it, without any vector.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shiftreset_ad.formulations.krawiec.monadic.delta import Add, Delta, DeltaId, Let, Scale, Var, Zero
from shiftreset_ad.formulations.krawiec.monadic.monad import each
from shiftreset_ad.formulations.language import Recursion, answer_of
from shiftreset_ad.formulations.language.discrete import Integer

Vectors = Mapping[DeltaId, Any]


def meaning(u: Delta, vectors: Vectors) -> Any:
    """[[u]]_D: the vector of a Delta term, if its free names have these vectors; 0.0 is every vector of zeros.

    >>> meaning(Let(Integer(2), Scale(3.0, Var(Integer(1))), Add(Var(Integer(2)), Var(Integer(1)))), unit_vectors(2))
    array([4., 0.])
    """
    return answer_of(_meaning(u, vectors))


def _meaning(u: Delta, vectors: Vectors) -> Recursion[Any]:
    match u:
        case Zero():
            return 0.0
        case Scale(by, scaled):
            return by * (yield _meaning(scaled, vectors))
        case Add(left, right):
            return (yield _meaning(left, vectors)) + (yield _meaning(right, vectors))
        case Var(uid):
            return vectors[uid]
        case Let(uid, bound, body):
            return (yield _meaning(body, {**vectors, uid: (yield _meaning(bound, vectors))}))


def get(bindings: Any, u: Delta) -> Delta:
    """get C u: the Delta term inside of the bindings of a list, last first."""
    for uid, bound in each(bindings):
        u = Let(uid, bound, u)
    return u


def unit_vectors(a: int) -> dict[DeltaId, Any]:
    """phi_a: the i-th input has the i-th unit vector."""
    return {Integer(i + 1): row for i, row in enumerate(np.eye(a))}


def free_names(u: Delta) -> set[DeltaId]:
    """FV(u)"""
    match u:
        case Scale(_, scaled):
            return free_names(scaled)
        case Add(left, right):
            return free_names(left) | free_names(right)
        case Var(uid):
            return {uid}
        case Let(uid, bound, body):
            return free_names(bound) | (free_names(body) - {uid})
    return set()
