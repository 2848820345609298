"""The program probabilistic-prolog: the probabilities of clauses by which four observations are most likely."""

import pytest

from tests.stalingrad.modes import GRADIENT, gradient_ascent
from tests.stalingrad.probabilistic_prolog import Clause, Variable, likelihood, proofs, unified

X = Variable(2)
OBSERVATIONS = (0, 1, 2, 2)


def clauses(p):
    return [
        Clause(p[0], ("p", 0)),
        Clause(1.0 - p[0], ("p", X), (("q", X),)),
        Clause(p[1], ("q", 1)),
        Clause(1.0 - p[1], ("q", 2)),
    ]


def likelihood_of_all(p):
    product = 1.0
    for observation in OBSERVATIONS:
        product = product * likelihood(proofs(("p", observation), clauses(p)))
    return product


def test_unification():
    x, y = Variable(0), Variable(1)
    assert unified(("f", x, 2), ("f", 1, y)) == {x: 1, y: 2}
    assert unified(("f", x, x), ("f", 1, 2)) is None
    assert unified(x, ("f", x)) is None
    assert unified(("f", 1), ("g", 1)) is None


def test_proofs():
    found = [likelihood(proofs(("p", i), clauses([0.3, 0.6]))) for i in range(3)]
    assert found == pytest.approx([0.3, 0.7 * 0.6, 0.7 * 0.4])
    assert [p for p, _ in proofs(("p", Variable(7)), clauses([0.3, 0.6]))] == pytest.approx([0.3, 0.42, 0.28])


@pytest.mark.parametrize("mode", "FR")
def test_the_answer(mode):
    found = gradient_ascent(GRADIENT[mode], likelihood_of_all, [0.5, 0.5], 1000, 0.1)
    assert found == pytest.approx([0.2500000000000016, 0.33333333349839966], rel=1e-14)
