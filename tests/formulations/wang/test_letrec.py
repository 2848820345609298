"""The rules for letrec: they agree with Fig. 10 on self-application, and the rest of a loop is in its code once."""

import pytest

import shiftreset_ad
from shiftreset_ad.formulations.language import App, Const, Lam, Let, Var, evaluate, letrec, parse, run
from shiftreset_ad.formulations.language.sources import subterms
from shiftreset_ad.formulations.wang import source_meta
from shiftreset_ad.formulations.wang.letrec import in_tail_calls, is_loop, transform

LOOPS = {
    "halved while it is large": ("fun x -> let rec f y = if y > 1.0 then f (y * 0.5) else y in f x", 5.0),
    "a state of two": (
        "fun x -> let rec f s = if fst s < 1.0 then snd s else f (fst s - 1.0, snd s * sin x) in f (4.0, x)",
        1.2,
    ),
    "the rest uses the result": (
        "fun x -> let y = (let rec f y = if y < 9.0 then f (y * y) else y in f x) in y * x + y",
        2.0,
    ),
    "a loop in a loop": (
        "fun x -> let rec f s = if fst s < 1.0 then snd s else "
        "let y = (let rec g y = if y > 2.0 then g (y * 0.5) else y * x in g (snd s)) in f (fst s - 1.0, y) "
        "in f (3.0, x)",
        1.7,
    ),
}
RECURSIONS = {
    "a power": ("fun x -> let rec f n = if n < 1.0 then 1.0 else x * f (n - 1.0) in f 4.0", 1.5),
    "a tree": (
        "fun x -> let rec fold t = case t of leaf -> x * leaf | both -> fold (fst both) * fold (snd both) in "
        "fold (inr (inr (inl 5.0, inl 7.0), inl 3.0))",
        2.0,
    ),
    "a function that is used twice": (
        "fun x -> let rec f y = if y > 1.0 then f (y * 0.5) else y * x in f x + f (x * x)",
        3.0,
    ),
}
PROGRAMS = {**LOOPS, **RECURSIONS}
each_program = pytest.mark.parametrize("name", PROGRAMS)


def gradient(transformed, x):
    return run(App(transformed, Const(x)))


@each_program
@pytest.mark.parametrize("contify", [False, True])
def test_it_agrees_with_fig_10_and_with_the_library(name, contify):
    program, x = PROGRAMS[name]
    term = parse(program)
    found = gradient(transform(term, contify=contify), x)
    assert found == pytest.approx(gradient(source_meta.transform(term), x), rel=1e-14)
    assert found == pytest.approx(shiftreset_ad.grad(evaluate(term))(x), rel=1e-12)


def own_functions(term):
    """The definitions by letrec in a term: the parameter, and the body."""
    for part in subterms(term):
        match part:
            case Let(_, Lam(a, Lam(x, Let(f, App(Var(b), Var(c)), body))), _) if a == b == c:
                yield f, x, body


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_has_no_continuation_as_an_argument(name):
    program, _ = LOOPS[name]
    standard, contified = (list(own_functions(transform(parse(program), contify=contify))) for contify in (False, True))
    assert standard
    assert len(contified) == len(standard)
    assert all(isinstance(body, Lam) for _, _, body in standard)  # λx. λk1.
    assert not any(isinstance(body, Lam) for _, _, body in contified)  # λx.


@pytest.mark.parametrize("name", RECURSIONS)
def test_other_functions_take_it(name):
    program, _ = RECURSIONS[name]
    assert transform(parse(program), contify=True) == transform(parse(program), contify=False)


@pytest.mark.parametrize("name", LOOPS)
def test_the_code_is_smaller(name):
    program, _ = LOOPS[name]
    term = parse(program)
    terms = source_meta.transform(term), transform(term, contify=False), transform(term)
    derived, standard, contified = (sum(1 for _ in subterms(t)) for t in terms)
    assert contified < standard < derived


def test_what_a_loop_is():
    f = Var("f")
    assert is_loop("f", parse("if x < 1.0 then x else f (x - 1.0)"), parse("f 3.0"))
    assert is_loop("f", parse("let y = x * x in f y"), parse("f 3.0"))
    assert not is_loop("f", parse("x * f x"), parse("f 3.0"))
    assert not is_loop("f", parse("f (f x)"), parse("f 3.0"))
    assert not is_loop("f", parse("x"), parse("f 3.0 + 1.0"))
    assert not is_loop("f", parse("x"), parse("f (f 1.0)"))
    assert not in_tail_calls("f", parse("let g = f in g x"))
    assert not in_tail_calls("f", parse("if f x < 1.0 then x else x"))
    assert not in_tail_calls("f", Lam("y", f))
    assert in_tail_calls("f", parse("let f = x in f"))


def test_letrec_is_recognised_by_its_shape():
    assert [(f, x) for f, x, _ in own_functions(letrec("f", "x", Var("x"), Var("f")))] == [("f", "x")]
