"""The cost of an answer with its backpropagator, and of the backpropagator, is a constant times that of the answer."""

from collections import Counter

import pytest

from shiftreset_ad.formulations.language import parse
from shiftreset_ad.formulations.overloading import Overloaded
from shiftreset_ad.formulations.pearlmutter_siskind import J, call, grad, run

# Programs of n rounds, each with a constant number of operations
GROWING = {
    "a loop": (
        "fun x -> let rec f s = let (n, y) = s in if n < 1.0 then y else f (n - 1.0, sin (x * y)) in f ({n}.0, x)"
    ),
    "a recursion": "fun x -> let rec f n = if n < 1.0 then x else x * cos (f (n - 1.0)) + 1.0 in f {n}.0",
    "a number that is used twice": (
        "fun x -> let rec f s = let (n, y) = s in if n < 1.0 then y else f (n - 1.0, y * y / 2.0) in f ({n}.0, x)"
    ),
    "functions in functions": (
        "fun x -> let rec f s = let (n, g) = s in "
        "if n < 1.0 then g x else f (n - 1.0, fun y -> sin (g y) * x) in f ({n}.0, fun y -> y)"
    ),
}


class Counting(Overloaded):
    """A number that counts its operations."""

    operations = 0

    def __init__(self, primal):
        self.primal = primal

    def operate(self, function, *operands):
        Counting.operations += 1
        return Counting(function(*(x.primal if isinstance(x, Counting) else x for x in operands)))


def steps(f, x):
    """The constructs that are executed by f x, by (J f) (J x), and by the backpropagator of that."""
    counts = Counter(), Counter(), Counter()
    call(f, x, counts[0])
    _, back = call(J(f), J(x), counts[1])
    call(back, 1.0, counts[2])
    return counts


@pytest.mark.parametrize("name", GROWING)
def test_operations_and_other_constructs(name):
    """The forward phase has as many operations as the program; the reverse phase has two products and a sum for each,
    at most. The ratios of all constructs do not grow with the size of the program.
    """
    ratios = []
    for n in (10, 40, 200):
        program, forward, reverse = steps(run(parse(GROWING[name].replace("{n}", str(n)))), 0.9)
        assert forward["Primitive"] == program["Primitive"]
        assert reverse["Primitive"] <= 2.5 * program["Primitive"]
        assert forward.total() <= 7 * program.total()
        assert reverse.total() <= 9 * program.total()
        ratios.append((forward.total() / program.total(), reverse.total() / program.total()))
    assert ratios[2] == pytest.approx(ratios[1], rel=0.05)


@pytest.mark.parametrize("name", GROWING)
def test_operations_on_numbers(name):
    """Counted by the numbers themselves, so that those in `plus` are seen: five for one of the program, at most."""
    found = []
    for n in (20, 200):
        f = run(parse(GROWING[name].replace("{n}", str(n))))
        Counting.operations = 0
        call(f, Counting(0.9))
        alone, Counting.operations = Counting.operations, 0
        grad(f)(Counting(0.9))
        found.append(Counting.operations / alone)
    assert max(found) <= 5.0
    assert found[1] == pytest.approx(found[0], rel=0.1)


@pytest.mark.parametrize("name", GROWING)
def test_reverse_over_reverse(name):
    ratios = []
    for n in (10, 40):
        f = run(parse(GROWING[name].replace("{n}", str(n))))
        program = call_counted(f)
        _, forward, reverse = map(Counter.total, steps(grad(f).function, 0.9))
        ratios.append((forward + reverse) / program)
    assert ratios[1] <= 1.1 * ratios[0] <= 200


def call_counted(f):
    counts = Counter()
    call(f, 0.9, counts)
    return counts.total()
