"""The values that the slides write beside the variables of the worked example, at 4 and with sensitivity 1."""

from shiftreset_ad.formulations.pearlmutter_siskind.as_printed import Version, example
from shiftreset_ad.formulations.pearlmutter_siskind.walk import Walk

BUG = """
fun a': 4 ->
  let x1': fun b' = fun b': 4 ->
        let x4': fun c' = fun c': 1 ->
              (b': 4, fun b_sens: 1 ->
                let c_sens: 0 = zero (J_inverse c': 1)
                in c_sens: 0)
        in (x4': fun c', fun x4_sens: [] ->
          let b_sens: 0 = zero (J_inverse b': 4)
          in b_sens: 0);
      (x2': fun c', x2_back: fun x4_sens) = x1': fun b' a': 4;
      (x3': 4, x3_back: fun b_sens) = x2': fun c' 1': 1
  in (x3': 4, fun x3_sens: 1 ->
    let a_sens: 0 = zero (J_inverse a': 4);
        x1_sens: [] = zero (J_inverse x1': fun b');
        x2_sens: [] = zero (J_inverse x2': fun c');
        1_sens: 0 = zero (J_inverse 1': 1);
        1_sens: 0 (+)= x3_back: fun b_sens x3_sens: 1;
        a_sens: 0 (+)= x2_back: fun x4_sens x2_sens: []
    in a_sens: 0)
"""
CORRECT_OPERATION = """
fun a': 4 ->
  let x1': fun b' = fun b': 4 ->
        let x4': fun c' = fun c': 1 ->
              (b': 4, fun b_sens: 1 ->
                let c_sens: 0 = zero (J_inverse c': 1)
                in ([b_sens: 1], c_sens: 0))
        in (x4': fun c', fun x4_sens: [1] ->
          let b_sens: 0 = zero (J_inverse b': 4);
              [b_sens: 1] (+)= x4_sens: [1]
          in ([], b_sens: 1));
      (x2': fun c', x2_back: fun x4_sens) = x1': fun b' a': 4;
      (x3': 4, x3_back: fun b_sens) = x2': fun c' 1': 1
  in (x3': 4, fun x3_sens: 1 ->
    let a_sens: 0 = zero (J_inverse a': 4);
        x1_sens: [] = zero (J_inverse x1': fun b');
        x2_sens: [0] = zero (J_inverse x2': fun c');
        1_sens: 0 = zero (J_inverse 1': 1);
        (x2_sens: [1], 1_sens: 0) (+)= x3_back: fun b_sens x3_sens: 1;
        (x1_sens: [], a_sens: 1) (+)= x2_back: fun x4_sens x2_sens: [1];
        [] (+)= x1_sens: []
    in ([], a_sens: 1))
"""


def test_the_slides_free_variables_bug():
    walk = Walk(example(), Version.ZEROS)
    walk(4.0, 1.0)
    assert walk.annotated() == BUG.strip()


def test_the_slides_free_variables_correct_operation():
    walk = Walk(example(), Version.CORRECT)
    walk(4.0, 1.0)
    assert walk.annotated() == CORRECT_OPERATION.strip()


def test_nothing_is_written_before_a_run():
    walk = Walk(example(), Version.CORRECT)
    assert walk.annotated() == str(walk.function)
