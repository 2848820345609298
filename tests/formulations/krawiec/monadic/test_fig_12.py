"""Fig. 12: a vector rotated by a quaternion. Its Delta term has forty bindings, and each line is the printed one.

The paper's program is in OCaml, whose operands, arguments and fields are evaluated from the last to the first. Here a
map of terms gives this order to the same program. A literal is `from_float 2.0` there, an operation with a name for its
answer; here it is the operation `positive`.
"""

import pytest

import shiftreset_ad
from shiftreset_ad.formulations.krawiec import monadic
from shiftreset_ad.formulations.krawiec.monadic.delta import Var as DeltaVar
from shiftreset_ad.formulations.krawiec.monadic.delta import empty_map, evaluated, lookup_or_zero
from shiftreset_ad.formulations.krawiec.monadic.monad import run_delta
from shiftreset_ad.formulations.krawiec.monadic.notation import lines
from shiftreset_ad.formulations.language import (
    App,
    Const,
    Let,
    Names,
    Pair,
    Primitive,
    Term,
    Var,
    children,
    evaluate,
    parse,
    with_parts,
)
from shiftreset_ad.formulations.language.discrete import Integer
from shiftreset_ad.formulations.structures import Structure

# A vector is (x, (y, z)), a quaternion is (x, (y, (z, w))).
PROGRAM = parse(
    """
    fun input ->
      let q_to_vec = fun q -> (fst q, (fst (snd q), fst (snd (snd q)))) in
      let dot = fun p -> fun q -> fst p * fst q + fst (snd p) * fst (snd q) + snd (snd p) * snd (snd q) in
      let plus = fun p -> fun q -> (fst p + fst q, (fst (snd p) + fst (snd q), snd (snd p) + snd (snd q))) in
      let scale = fun k -> fun v -> (k * fst v, (k * fst (snd v), k * snd (snd v))) in
      let cross = fun a -> fun b ->
        (fst (snd a) * snd (snd b) - snd (snd a) * fst (snd b),
         (snd (snd a) * fst b - fst a * snd (snd b), fst a * fst (snd b) - fst (snd a) * fst b)) in
      let norm = fun x -> sqrt (dot x x) in
      let rotate_vec_by_quat = fun v -> fun q ->
        let u = q_to_vec q in
        let s = snd (snd (snd q)) in
        plus (plus (scale (positive 2.0 * dot u v) u) (scale (s * s - dot u u) v))
             (scale (positive 2.0 * s) (cross u v)) in
      fst (rotate_vec_by_quat (snd input) (fst input))
    """
)
Q, V = (1.1, (2.2, (3.3, 4.4))), (5.5, (6.6, 7.7))
INPUTS = ("qx", "qy", "qz", "qw", "vx", "vy", "vz")

PRINTED = """
Let x1 = Add (Scale 5.5 (Var qy)) (Scale 2.2 (Var vx)) in
Let x2 = Add (Scale 6.6 (Var qx)) (Scale 1.1 (Var vy)) in
Let x3 = Add (Var x2) (Scale (-1.0) (Var x1)) in
Let x4 = Add (Scale 7.7 (Var qx)) (Scale 1.1 (Var vz)) in
Let x5 = Add (Scale 5.5 (Var qz)) (Scale 3.3 (Var vx)) in
Let x6 = Add (Var x5) (Scale (-1.0) (Var x4)) in
Let x7 = Add (Scale 6.6 (Var qz)) (Scale 3.3 (Var vy)) in
Let x8 = Add (Scale 7.7 (Var qy)) (Scale 2.2 (Var vz)) in
Let x9 = Add (Var x8) (Scale (-1.0) (Var x7)) in
Let x10 = Zero in
Let x11 = Add (Scale 4.4 (Var x10)) (Scale 2 (Var qw)) in
Let x12 = Add (Scale (-4.84) (Var x11)) (Scale 8.8 (Var x3)) in
Let x13 = Add (Scale 9.68 (Var x11)) (Scale 8.8 (Var x6)) in
Let x14 = Add (Scale (-4.84) (Var x11)) (Scale 8.8 (Var x9)) in
Let x15 = Add (Scale 3.3 (Var qz)) (Scale 3.3 (Var qz)) in
Let x16 = Add (Scale 2.2 (Var qy)) (Scale 2.2 (Var qy)) in
Let x17 = Add (Scale 1.1 (Var qx)) (Scale 1.1 (Var qx)) in
Let x18 = Add (Var x17) (Var x16) in
Let x19 = Add (Var x18) (Var x15) in
Let x20 = Add (Scale 4.4 (Var qw)) (Scale 4.4 (Var qw)) in
Let x21 = Add (Var x20) (Scale (-1.0) (Var x19)) in
Let x22 = Add (Scale 7.7 (Var x21)) (Scale 2.42 (Var vz)) in
Let x23 = Add (Scale 6.6 (Var x21)) (Scale 2.42 (Var vy)) in
Let x24 = Add (Scale 5.5 (Var x21)) (Scale 2.42 (Var vx)) in
Let x25 = Add (Scale 7.7 (Var qz)) (Scale 3.3 (Var vz)) in
Let x26 = Add (Scale 6.6 (Var qy)) (Scale 2.2 (Var vy)) in
Let x27 = Add (Scale 5.5 (Var qx)) (Scale 1.1 (Var vx)) in
Let x28 = Add (Var x27) (Var x26) in
Let x29 = Add (Var x28) (Var x25) in
Let x30 = Zero in
Let x31 = Add (Scale 45.98 (Var x30)) (Scale 2 (Var x29)) in
Let x32 = Add (Scale 3.3 (Var x31)) (Scale 91.96 (Var qz)) in
Let x33 = Add (Scale 2.2 (Var x31)) (Scale 91.96 (Var qy)) in
Let x34 = Add (Scale 1.1 (Var x31)) (Scale 91.96 (Var qx)) in
Let x35 = Add (Var x32) (Var x22) in
Let x36 = Add (Var x33) (Var x23) in
Let x37 = Add (Var x34) (Var x24) in
Let x38 = Add (Var x35) (Var x12) in
Let x39 = Add (Var x36) (Var x13) in
Let x40 = Add (Var x37) (Var x14) in
Var x40
""".strip().splitlines()


def last_first(term: Term, names: Names) -> Term:
    """The same term in OCaml's order: the last operand is evaluated first."""
    parts = [last_first(part, names) for part in children(term)]
    if not isinstance(term, (Primitive, Pair, App)):
        return with_parts(term, parts)
    new = [part if isinstance(part, (Var, Const)) else Var(names.fresh("v")) for part in parts]
    result = with_parts(term, new)
    for name, part in zip(new, parts, strict=True):
        if name is not part:
            result = Let(name.name, part, result)
    return result


@pytest.fixture(scope="module")
def result():
    """runDelta 8 (D{e} s0)"""
    applied = monadic.computation(last_first(PROGRAM, Names(PROGRAM)))
    inputs = Structure((Q, V))
    s0 = inputs.with_numbers([(x, DeltaVar(Integer(i + 1))) for i, x in enumerate(inputs.numbers)])
    return run_delta(Integer(8), applied(s0))


def test_forty_lines(result):
    _, delta = result
    assert lines(delta, INPUTS) == PRINTED
    assert len(PRINTED) == 41


def test_value_and_derivatives(result):
    """The figure's Delta term has the value and the derivatives of the program."""
    value, delta = result
    assert value == pytest.approx(evaluate(PROGRAM)((Q, V)))
    assert value == pytest.approx(71.874)
    final_map = evaluated(1.0, delta, empty_map())
    found = [lookup_or_zero(Integer(i + 1), final_map) for i in range(7)]
    assert found == pytest.approx([91.96, 58.08, -77.44, 38.72, 4.84, -24.2, 26.62])
    assert found == pytest.approx(Structure(shiftreset_ad.grad(evaluate(PROGRAM))((Q, V))).numbers)


def test_from_first_to_last_the_bindings_are_the_same_in_another_order(result):
    applied = monadic.computation(PROGRAM)
    inputs = Structure((Q, V))
    s0 = inputs.with_numbers([(x, DeltaVar(Integer(i + 1))) for i, x in enumerate(inputs.numbers)])
    _, delta = run_delta(Integer(8), applied(s0))
    assert len(lines(delta, INPUTS)) == 41
    assert lines(delta, INPUTS) != PRINTED
