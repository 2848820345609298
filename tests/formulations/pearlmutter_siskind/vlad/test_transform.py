"""phi and rho, as the paper has them, on small expressions."""

import re

from shiftreset_ad.formulations.language import parse
from shiftreset_ad.formulations.pearlmutter_siskind.vlad.encoding import lambda_of
from shiftreset_ad.formulations.pearlmutter_siskind.vlad.expressions import Lambda
from shiftreset_ad.formulations.pearlmutter_siskind.vlad.transform import transform


def lines(e):
    """The forward phase and the reverse phase; each has its new variables numbered from 1."""
    (backpropagator,) = [right for _, right in e.bindings if isinstance(right, Lambda) and right.origin is None]
    forward = [(x, right) for x, right in e.bindings if right is not backpropagator]
    return renumbered(forward), renumbered(backpropagator.bindings)


def renumbered(bindings):
    known = {}

    def number(found):
        return f"{found[1]}{known.setdefault(found[2], len(known) + 1)}"

    return [re.sub(r"(\bt|\.)(\d+)", number, f"{x} = {right}") for x, right in bindings]


def test_a_call():
    forward, back = lines(transform(lambda_of(parse("fun x -> let y = f x in y"))))
    assert forward[:3] == ["t1 = (f' x')", "y' = (CAR t1)", "y_back = (CDR t1)"]
    assert back == [
        "t1 = (J_inverse f')",
        "f_sens = (zero t1)",
        "t2 = (J_inverse x')",
        "x_sens = (zero t2)",
        "t3 = (y_back y_sens)",
        "t4 = (CAR t3)",
        "t5 = (CONS f_sens)",
        "t6 = (t5 t4)",
        "f.7_sens = (plus t6)",
        "t8 = (CDR t3)",
        "t9 = (CONS x_sens)",
        "t10 = (t9 t8)",
        "x.11_sens = (plus t10)",
        "t12 = (CONS f.7_sens)",
        "t13 = (t12 [])",
        "t14 = (CONS t13)",
        "t15 = (t14 x.11_sens)",
    ]


def test_a_function_that_is_applied_to_itself():
    """Both parts of the pair are added to one sensitivity."""
    _, back = lines(transform(lambda_of(parse("fun x -> let y = x x in y"))))
    sums = [line for line in back if "plus" in line]
    assert len(sums) == 2
    first = sums[0].split(" ")[0]
    assert f"(CONS {first})" in "".join(back[back.index(sums[0]) :])


def test_a_lambda_expression_inside():
    _, back = lines(transform(lambda_of(parse("fun x -> let f = fun y -> x in f"))))
    assert back[2:6] == ["t2 = (CAR f_sens)", "t3 = (CONS x_sens)", "t4 = (t3 t2)", "x.5_sens = (plus t4)"]


def test_a_transform_is_made_once():
    e = lambda_of(parse("fun x -> x"))
    assert transform(e) is transform(e)
    assert transform(e).origin is e
    assert str(transform(e).parameter) == "x'"
