"""Pairs, constants and conditionals as functions."""

import pytest

from shiftreset_ad.formulations.language import evaluate, parse, show
from shiftreset_ad.formulations.pearlmutter_siskind.vlad import run
from shiftreset_ad.formulations.pearlmutter_siskind.vlad.encoding import encoded, lambda_of
from shiftreset_ad.formulations.pearlmutter_siskind.vlad.values import EMPTY, pair, parts


def test_the_encoding():
    assert show(encoded(parse("(a, 3.0)"))) == "CONS a 3.0"
    assert show(encoded(parse("fst p * snd p"))) == "multiply (CONS (CAR p) (CDR p))"
    assert show(encoded(parse("if a then b else c"))) == "a (CONS (fun _ -> b) (fun _ -> c)) []"


def test_a_normal_form():
    text = "fun x -> let t = (CONS x); t1 = (t 1.0); t2 = (add t1); t3 = (sin t2) in t3"
    assert str(lambda_of(parse("fun x -> sin (x + 1.0)"))) == text
    assert str(lambda_of(parse("fun x -> x"))) == "fun x -> x"


@pytest.mark.parametrize(
    "text",
    [
        "let p = (1.0, 2.0) in fst p + 3.0 * snd p",
        "if 2.0 < 3.0 then 1.0 else 2.0",
        "if 3.0 < 2.0 then 1.0 else 2.0",
        "let rec f n = if n < 1.0 then 1.0 else n * f (n - 1.0) in f 5.0",
        "fst (snd (1.0, (2.0, 3.0)))",
        "-(sin 1.0)",
    ],
)
def test_encoded_programs_mean_the_same(text):
    assert run(parse(text)) == evaluate(parse(text))


def test_pairs_are_closures():
    found = run(parse("(1.0, (2.0, ()))"))
    assert parts(found)[0] == 1.0
    assert parts(parts(found)[1]) == (2.0, EMPTY)
    assert pair(1.0, 2.0).e is found.e


@pytest.mark.parametrize("text", ["case inl 1.0 of x -> x | y -> y", "let r = ref 1.0 in !r"])
def test_what_is_not_encoded(text):
    with pytest.raises(TypeError, match="is not encoded"):
        run(parse(text))
