"""The program of Fig. 12, a vector rotated by a quaternion, in other rooms and at other inputs: 40 bindings.

The program is 2 (u . v) u + (s s - u . u) v + 2 s (u x v), for the quaternion (u, s). It has 38 operations:

    2 (u . v) u       5 for the dot product, 1 for the factor, 3 for the multiple
    (s s - u . u) v   5 for the dot product, 2 for the factor, 3 for the multiple
    2 s (u x v)       9 for the cross product, 1 for the factor, 3 for the multiple
    sums              6

A subtraction is one operation, with the slopes 1 and -1. The paper prints 40 bindings, as a literal has a name in its
run, and there are two, the factors 2. The translation of terms has that many, too. `monadic/test_fig_12.py` compares
the printed lines, one by one.
"""

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad.formulations.krawiec import sharing, source_sharing, structured
from shiftreset_ad.formulations.language import parse
from shiftreset_ad.formulations.language.values import Right

V, Q = (1.1, 2.2, 3.3), (0.5, -0.3, 0.7, 0.4)


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def add(a, b):
    return tuple(x + y for x, y in zip(a, b, strict=True))


def scale(k, a):
    return tuple(k * x for x in a)


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def rotate(v, q, literal=float):
    u, s = q[:3], q[3]
    first, second = scale(literal(2.0) * dot(u, v), u), scale(s * s - dot(u, u), v)
    return add(add(first, second), scale(literal(2.0) * s, cross(u, v)))


TERM = parse(
    """
    fun x ->
      let v = fst x in let q = snd x in
      let dot = fun a -> fun b ->
        fst a * fst b + fst (snd a) * fst (snd b) + snd (snd a) * snd (snd b) in
      let add = fun a -> fun b -> (fst a + fst b, (fst (snd a) + fst (snd b), snd (snd a) + snd (snd b))) in
      let scale = fun k -> fun a -> (k * fst a, (k * fst (snd a), k * snd (snd a))) in
      let cross = fun a -> fun b ->
        (fst (snd a) * snd (snd b) - snd (snd a) * fst (snd b),
         (snd (snd a) * fst b - fst a * snd (snd b), fst a * fst (snd b) - fst (snd a) * fst b)) in
      let u = fst q in let s = snd q in
      add (add (scale (2.0 * dot u v) u) (scale (s * s - dot u u) v)) (scale (2.0 * s) (cross u v))
    """
)
IN_PAIRS = ((V[0], (V[1], V[2])), ((Q[0], (Q[1], Q[2])), Q[3]))


def with_literals(x):
    v, q = x
    return rotate(v, q, literal=q[3].state.lift)


def test_forty_bindings():
    assert len(sharing.trace(with_literals)((V, Q)).bindings) == 40


def test_forty_bindings_by_the_translation_of_the_term():
    _, bindings = source_sharing.trace(TERM)(IN_PAIRS)
    number = 0
    while isinstance(bindings, Right):
        _, bindings = bindings.value
        number += 1
    assert number == 40


def test_python_literals_are_constants_without_a_name():
    assert len(sharing.trace(lambda x: rotate(*x))((V, Q)).bindings) == 38


def test_printed_delta():
    """x0 to x2 are the vector, x3 to x6 the quaternion."""
    lines = sharing.show(sharing.trace(with_literals)(((1.0, 2.0, 3.0), (4.0, 5.0, 6.0, 7.0)))).splitlines()
    assert len(lines) == 41
    assert [line.strip() for line in lines[:8]] == [
        "let d0 = 0",
        "d1 = 1.0 * x3 + 4.0 * x0",
        "d2 = 2.0 * x4 + 5.0 * x1",
        "d3 = 1.0 * d1 + 1.0 * d2",
        "d4 = 3.0 * x5 + 6.0 * x2",
        "d5 = 1.0 * d3 + 1.0 * d4",
        "d6 = 32.0 * d0 + 2.0 * d5",
        "d7 = 4.0 * d6 + 64.0 * x3",
    ]
    assert lines[-1] == "in d37, d38, d39"


def test_rotation():
    """By the matrix of the unit quaternion."""
    q = np.array(Q) / np.linalg.norm(Q)
    x, y, z, w = q
    matrix = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    np.testing.assert_allclose(rotate(V, tuple(q)), matrix @ V, rtol=1e-12)
    rows = structured.jacobian(lambda v: rotate(v, tuple(q)))(V)
    np.testing.assert_allclose(rows, matrix, rtol=1e-12)


@pytest.mark.parametrize("i", range(3))
def test_gradient(i):
    expected = shiftreset_ad.grad(lambda x: rotate(*x)[i])((V, Q))
    flat = (*expected[0], *expected[1])
    for f in (lambda x: rotate(*x)[i], lambda x: with_literals(x)[i]):
        v_bar, q_bar = sharing.grad(f)((V, Q))
        assert (*v_bar, *q_bar) == pytest.approx(flat, rel=1e-12)
    part = ("fst ({})", "fst (snd ({}))", "snd (snd ({}))")[i]
    term = parse(f"fun y -> let f = {TERM} in " + part.format("f y"))
    (a, (b, c)), ((d, (e, f)), g) = source_sharing.grad(term)(IN_PAIRS)
    assert (a, b, c, d, e, f, g) == pytest.approx(flat, rel=1e-12)
