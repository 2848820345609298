"""Fig. 14: primitives from R^n to R^m, which leave a binding for each result."""

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad.formulations.krawiec import monadic, source_duals
from shiftreset_ad.formulations.krawiec.monadic.delta import Var as DeltaVar
from shiftreset_ad.formulations.krawiec.monadic.monad import TYPES, computation, run_delta
from shiftreset_ad.formulations.krawiec.monadic.notation import lines
from shiftreset_ad.formulations.krawiec.monadic.translation import of_type, translate
from shiftreset_ad.formulations.krawiec.monadic.wrapper import vjp
from shiftreset_ad.formulations.language import Fst, Lam, Let, Snd, Term, Var, call, evaluate, parse, run
from shiftreset_ad.formulations.language.checker import infer
from shiftreset_ad.formulations.language.discrete import Integer
from shiftreset_ad.formulations.language.several import Several
from shiftreset_ad.formulations.language.types import REAL, function, product

SINCOS = Several("sincos", "x", map(parse, ("sin x", "cos x")), [[parse("cos x")], [parse("-sin x")]])
POLAR = Several(
    "polar",
    "rt",
    map(parse, ("r * cos t", "r * sin t")),
    [map(parse, ("cos t", "-(r * sin t)")), map(parse, ("sin t", "r * cos t"))],
)
# The integral part and the rest: the first result is constant between its steps.
MODF = Several("modf", "x", map(parse, ("floor x", "x - floor x")), [[parse("0.0")], [parse("1.0")]])
THREE = Several(
    "three", "x", map(parse, ("x", "x * x", "x * x * x")), [[parse(p)] for p in ("1.0", "2.0 * x", "3.0 * x * x")]
)

POLAR_PAIR = function(product(REAL, REAL), product(REAL, REAL))


def main(primitive: Several, body: Term) -> Term:
    """The main expression that binds y to all results of the primitive, at the parts of its argument."""
    x = Var("x")
    operands = [x] if len(primitive.parameters) == 1 else [Fst(x), Snd(x)]
    return Lam("x", Let("y", primitive.of(*operands), body))


CASES = {
    "sin and cos": (main(SINCOS, parse("fst y * snd y + fst y")), 0.7),
    "polar coordinates": (main(POLAR, parse("fst y * fst y * snd y")), (1.3, 0.4)),
    "the rest": (main(MODF, parse("fst y * snd y * snd y")), 2.25),
    "three results": (main(THREE, parse("fst y * fst (snd y) + snd (snd y)")), 1.5),
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name):
    term, x = CASES[name]
    expected = shiftreset_ad.grad(evaluate(term))(x)
    assert monadic.grad(term)(x) == pytest.approx(expected)
    assert source_duals.grad(term)(x) == pytest.approx(expected)


@pytest.mark.parametrize("name", CASES)
def test_the_types(name):
    term, x = CASES[name]
    t = function(product(REAL, REAL) if isinstance(x, tuple) else REAL, REAL)
    assert infer(term, expected=t) == t
    assert infer(translate(term), TYPES, computation(of_type(t))) == computation(of_type(t))
    assert infer(source_duals.transform(term), expected=source_duals.of_type(t)) == source_duals.of_type(t)


def test_each_result_has_a_binding():
    term = main(POLAR, parse("fst y"))
    applied = monadic.computation(term)(((2.0, DeltaVar(Integer(1))), (0.5, DeltaVar(Integer(2)))))
    _, delta = run_delta(Integer(3), applied)
    assert lines(delta, "rt") == [
        "Let x1 = Add (Scale 0.88 (Var r)) (Scale (-0.96) (Var t)) in",
        "Let x2 = Add (Scale 0.48 (Var r)) (Scale 1.76 (Var t)) in",
        "Var x1",
    ]


def test_a_main_expression_with_several_results():
    """The Jacobian of polar coordinates, by rows and by columns."""
    term = main(POLAR, Var("y"))
    units = (1.0, 0.0), (0.0, 1.0)
    rows = [vjp(term, POLAR_PAIR)((2.0, 0.5), dt) for dt in units]
    forward = run(source_duals.forward(term, POLAR_PAIR))
    columns = [call(forward, ((2.0, 0.5), ds), tuple) for ds in units]
    expected = shiftreset_ad.jacobian(lambda x: evaluate(term)((x[0], x[1])))([2.0, 0.5])
    np.testing.assert_allclose(rows, np.transpose(columns), rtol=1e-14)
    np.testing.assert_allclose(rows, expected, rtol=1e-14)
