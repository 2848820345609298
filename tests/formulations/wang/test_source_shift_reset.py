"""Reverse mode with shift and reset in the target: Wang et al. 2019, Fig. 9."""

import pytest

from shiftreset_ad.formulations.language import App, Const, Lam, Names, Var, answer_of, evaluate, parse, run
from shiftreset_ad.formulations.language.names import with_children
from shiftreset_ad.formulations.wang.cps import cps_by_shift_reset, direct
from shiftreset_ad.formulations.wang.source_shift_reset import reverse, transform
from tests.formulations.wang.source_cases import HOMOMORPHIC, PROGRAMS, program, same_up_to_names


def hat(y, value):
    """let ŷ = value in"""
    return f"let {y}_hat = {value} in let {y} = fst {y}_hat in let {y}' = snd {y}_hat in"


@pytest.mark.parametrize(
    ("operation", "accumulation"),
    [
        ("+", "y1' := !y1' + !y'; y2' := !y2' + !y'"),
        ("*", "y1' := !y1' + !y' * y2; y2' := !y2' + !y' * y1"),
    ],
)
def test_rules_of_the_figure(operation, accumulation):
    expected = parse(f"""
        fun x -> {hat("x1", "(x, ref 0.0)")}
        reset ({
        hat(
            "z",
            f'''
            (fun a -> let b = (5.0, ref 0.0) in
                {hat("y1", "a")}
                {hat("y2", "b")}
                shift k in {hat("y", f"(y1 {operation} y2, ref 0.0)")} k y_hat; {accumulation})
            x1_hat''',
        )
    } z' := 1.0);
        !x1'
    """)
    assert same_up_to_names(transform(parse(f"fun x -> let b = 5.0 in x {operation} b")), expected)


@pytest.mark.parametrize("text", HOMOMORPHIC)
def test_homomorphic_rules_of_the_figure(text):
    """Each construct is translated to itself."""
    term = parse(text)
    assert answer_of(reverse(term, Names(term))) == term


def substituted(term, name, value):
    return value if term == Var(name) else with_children(term, lambda part: substituted(part, name, value))


@pytest.mark.parametrize(
    "context",
    [
        "y * y + x",
        "let z = y in fst (z, x) * z",
        "fun z -> if y < z then y else sin z",
        "let r = ref y in r := !r * y; !r",
        "case inl y of a -> a * y | b -> x",
    ],
)
@pytest.mark.parametrize("inner", ["sin x * x", "snd (x, x * x)", "(fun w -> w * x) x"])
def test_section_3_3_the_transformation_is_local(context, inner):
    """The image of a part does not depend on what is around it, and what is around does not depend on the part."""
    around, part = parse(context), parse(inner)

    def image(term):
        return answer_of(reverse(term, Names(term)))

    whole = image(substituted(around, "y", part))
    assert same_up_to_names(Lam("x", whole), Lam("x", substituted(image(around), "y", image(part))))


@pytest.mark.parametrize("case", PROGRAMS)
def test_control_can_be_removed(case):
    """The output in CPS is in the style of Fig. 10 and 11, and has the same value."""
    text, x = PROGRAMS[case]
    once = transform(program(text))
    expected = evaluate(once)(x)
    assert run(App(direct(once), Const(x))) == pytest.approx(expected, rel=1e-12)
    in_cps = evaluate(cps_by_shift_reset(once))
    assert in_cps(x)(lambda y: y) == pytest.approx(expected, rel=1e-12)


def test_a_reset_for_each_derivative():
    """Two gradients in one program do not see one another's continuations."""
    once = transform(parse("fun x -> x * x * x"))
    f = parse("fun g -> fun x -> g x + g (g x)")
    assert run(App(App(f, once), Const(2.0))) == 3 * 4 + 3 * 12**2
