"""Section 3: the worked example in the two incorrect versions and in the correct one, line by line."""

import pytest

from shiftreset_ad.formulations.language import parse
from shiftreset_ad.formulations.pearlmutter_siskind.as_printed import (
    CONSTANTS,
    Version,
    example,
    free_of,
    function_of,
    transformed,
)
from shiftreset_ad.formulations.pearlmutter_siskind.lines import unbound
from shiftreset_ad.formulations.pearlmutter_siskind.walk import Walk

PRINTED = {
    Version.UNBOUND: """
fun a' ->
  let x1' = fun b' ->
        let x4' = fun c' ->
              (b', fun b_sens ->
                c_sens)
        in (x4', fun x4_sens ->
          let b_sens = zero (J_inverse b')
          in b_sens);
      (x2', x2_back) = x1' a';
      (x3', x3_back) = x2' 1'
  in (x3', fun x3_sens ->
    let a_sens = zero (J_inverse a');
        x1_sens = zero (J_inverse x1');
        x2_sens = zero (J_inverse x2');
        1_sens (+)= x3_back x3_sens;
        a_sens (+)= x2_back x2_sens
    in a_sens)
""",
    Version.ZEROS: """
fun a' ->
  let x1' = fun b' ->
        let x4' = fun c' ->
              (b', fun b_sens ->
                let c_sens = zero (J_inverse c')
                in c_sens)
        in (x4', fun x4_sens ->
          let b_sens = zero (J_inverse b')
          in b_sens);
      (x2', x2_back) = x1' a';
      (x3', x3_back) = x2' 1'
  in (x3', fun x3_sens ->
    let a_sens = zero (J_inverse a');
        x1_sens = zero (J_inverse x1');
        x2_sens = zero (J_inverse x2');
        1_sens = zero (J_inverse 1');
        1_sens (+)= x3_back x3_sens;
        a_sens (+)= x2_back x2_sens
    in a_sens)
""",
    Version.CORRECT: """
fun a' ->
  let x1' = fun b' ->
        let x4' = fun c' ->
              (b', fun b_sens ->
                let c_sens = zero (J_inverse c')
                in ([b_sens], c_sens))
        in (x4', fun x4_sens ->
          let b_sens = zero (J_inverse b');
              [b_sens] (+)= x4_sens
          in ([], b_sens));
      (x2', x2_back) = x1' a';
      (x3', x3_back) = x2' 1'
  in (x3', fun x3_sens ->
    let a_sens = zero (J_inverse a');
        x1_sens = zero (J_inverse x1');
        x2_sens = zero (J_inverse x2');
        1_sens = zero (J_inverse 1');
        (x2_sens, 1_sens) (+)= x3_back x3_sens;
        (x1_sens, a_sens) (+)= x2_back x2_sens;
        [] (+)= x1_sens
    in ([], a_sens))
""",
}


def test_the_example_in_a_normal_form():
    assert str(example()) == (
        "fun a ->\n  let x1 = fun b ->\n        let x4 = fun c ->\n              b\n        in x4;\n"
        "      x2 = x1 a;\n      x3 = x2 1\n  in x3"
    )
    assert free_of(example()) == ["1"]
    assert free_of(example(), CONSTANTS) == []


@pytest.mark.parametrize("version", PRINTED)
def test_the_printed_lines(version):
    assert str(transformed(example(), version)) == PRINTED[version].strip()


BASIS = {"zero", "J_inverse"}


def test_the_first_version_has_unbound_variables():
    """The paper says which: c_sens, 1' and 1_sens in the lines II to IV; 1' is bound where the program starts."""
    assert unbound(transformed(example(), Version.UNBOUND)) - BASIS == {"c_sens", "1'", "1_sens"}
    for version in (Version.ZEROS, Version.CORRECT):
        assert unbound(transformed(example(), version)) - BASIS == {"1'"}
    with pytest.raises(KeyError, match="c_sens"):
        Walk(example(), Version.UNBOUND)(4.0, 1.0)


def test_the_second_version_answers_zero_and_the_third_one():
    assert Walk(example(), Version.ZEROS)(4.0, 1.0) == (4.0, 0.0)
    assert Walk(example(), Version.CORRECT)(4.0, 1.0) == (4.0, ([], 1.0))


@pytest.mark.parametrize(
    ("text", "slope"),
    [
        ("fun a -> let f = fun b -> a in let y = f a in let z = f y in z", 1.0),
        ("fun a -> let k = fun b -> let i = fun c -> b in i in let g = k a in let y = g a in y", 1.0),
        ("fun a -> let f = fun b -> a in let g = f in let y = g a in y", 1.0),
        ("fun a -> let f = fun b -> let g = fun c -> a in let y = g b in y in let z = f a in z", 1.0),
        ("fun a -> let f = fun b -> b in let y = f a in y", 1.0),
    ],
)
def test_other_programs(text, slope):
    walk = Walk(function_of(parse(text)), Version.CORRECT)
    assert walk(4.0, 1.0) == (4.0, ([], slope))


def test_a_program_that_is_not_in_a_normal_form():
    with pytest.raises(TypeError, match="is not a variable, a call"):
        free_of(function_of(parse("fun x -> let y = x * x in y")))
