"""Forward mode as a source transformation: Wang et al. 2019, Fig. 4."""

import numpy as np
import pytest

from shiftreset_ad.formulations.language import (
    App,
    Const,
    Left,
    Names,
    Right,
    answer_of,
    evaluate,
    parse,
    run,
    show,
)
from shiftreset_ad.formulations.wang.source_forward import forward, grad, jvp, transform
from tests.formulations.wang.source_cases import HOMOMORPHIC, same_up_to_names


def hat(y, value):
    """let ŷ = value in"""
    return f"let {y}_hat = {value} in let {y} = fst {y}_hat in let {y}' = snd {y}_hat in"


@pytest.mark.parametrize(
    ("operation", "dual"),
    [
        ("x + b", "(y1 + y2, y1' + y2')"),
        ("x * b", "(y1 * y2, y1' * y2 + y2' * y1)"),
        ("x - b", "(y1 - y2, y1' + y2' * -1.0)"),
        ("x / b", "let y = y1 / y2 in (y, y1' * (1.0 / y2) + y2' * (-y / y2))"),
    ],
)
def test_rules_of_the_figure(operation, dual):
    expected = parse(f"""
        fun x -> {
        hat(
            "z",
            f'''
            (fun a -> let b = (5.0, 0.0) in
                {hat("y1", "a")}
                {hat("y2", "b")}
                {dual}) (x, 1.0)''',
        )
    } z'
    """)
    transformed = transform(parse(f"fun x -> let b = 5.0 in {operation}"))
    assert same_up_to_names(transformed, expected), show(transformed)


@pytest.mark.parametrize("text", HOMOMORPHIC)
def test_homomorphic_rules_of_the_figure(text):
    """Each construct is translated to itself, also case, of which the paper prints another scrutinee."""
    term = parse(text)
    assert answer_of(forward(term, Names(term))) == term


def test_an_answer_is_bound_where_its_derivative_uses_it():
    assert "let y1 = exp y in (y1, y' * y1)" in show(transform(parse("fun x -> exp x")), width=10**6)


def test_along_a_direction():
    f = parse("fun p -> fst p * fst (snd p) * snd (snd p)")
    assert jvp(f)((2.0, (3.0, 5.0)), (1.0, (10.0, 100.0))) == 15 + 100 + 600
    assert jvp(f)((2.0, (3.0, 5.0)), (0.0, (0.0, 0.0))) == 0.0
    with pytest.raises(TypeError, match="jvp: the direction must have the structure"):
        jvp(f)((2.0, (3.0, 5.0)), (1.0, 10.0))
    with pytest.raises(TypeError, match="jvp: the direction must have the structure"):
        jvp(parse("fun x -> x"))(2.0, (1.0, 10.0))
    with pytest.raises(TypeError, match="the function must answer with a real number"):
        jvp(parse("fun x -> (x, x)"))(2.0, 1.0)


def test_along_a_direction_in_a_list():
    f = parse("fun l -> case l of a -> 0.0 | b -> fst b * fst b")
    assert jvp(f)(Right((2.0, Left(()))), Right((10.0, Left(())))) == 40.0
    assert grad(f)(Right((2.0, Left(())))) == Right((4.0, Left(())))


def test_no_perturbation_confusion():
    """d/dx x (d/dy (x + y))(1) is 1: the inner derivative is a term with a free variable, closed by the outer one."""
    inner = transform(parse("fun p -> fst p + snd p"), like=(1.0, 1.0))
    f = App(parse("fun gradient -> fun x -> x * snd (gradient (x, 1.0))"), inner)
    assert grad(f)(1.0) == 1.0
    assert evaluate(transform(f))(1.0) == 1.0


def test_up_to_the_fourth_derivative():
    f, expected = parse("fun x -> sin x"), [np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x)]
    for n in range(5):
        assert run(App(f, Const(0.3))) == pytest.approx(expected[n % 4](0.3), rel=1e-12)
        f = transform(f)
