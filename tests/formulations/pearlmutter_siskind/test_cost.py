"""The cost of an answer with its backpropagator, and of the backpropagator, is a constant times that of the answer."""

from collections import Counter

import pytest

from shiftreset_ad.formulations.language import parse
from shiftreset_ad.formulations.overloading import Overloaded
from shiftreset_ad.formulations.pearlmutter_siskind import J, J_inverse, call, grad, plus, run, values, zero

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


# Values that share their parts: x1 = (x0, x0), x2 = (x1, x1), ... are 2**n numbers in n pairs


@pytest.fixture
def visits(monkeypatch):
    """Counts the parts of values that `J`, `J_inverse`, `zero` and `plus` visit."""
    found = Counter()
    fold = values.fold

    def counting(root, parts, combine, *identity):
        def counted(node, answers):
            found["parts"] += 1
            return combine(node, answers)

        return fold(root, parts, counted, *identity)

    monkeypatch.setattr(values, "fold", counting)
    return found


def shared(n, x=1.0):
    for _ in range(n):
        x = (x, x)
    return x


def shared_in_a_program(n):
    """A function that builds a value of n shared pairs, and takes it apart again: 2 n steps."""
    built = "".join(f"let x{i + 1} = (x{i}, x{i}) in " for i in range(n))
    taken = "".join(f"let y{i} = fst y{i + 1} in " for i in reversed(range(n)))
    return run(parse(f"fun x0 -> {built}let y{n} = x{n} in {taken}y0 * y0"))


OPERATIONS = {
    "J": J,
    "J_inverse": J_inverse,
    "zero": zero,
    "plus": lambda x: plus(x, x),
    "J of a closure": lambda x: J(call(run(parse("fun p -> fun x -> fst p")), x)),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_part_that_is_shared_is_visited_once(operation, visits):
    """Section 4: otherwise an operation would take time 2**n."""
    OPERATIONS[operation](shared(1000))
    assert 1000 <= visits["parts"] <= 1010


@pytest.mark.parametrize("operation", ["J", "zero", "plus"])
def test_the_answer_shares_its_parts_too(operation):
    answer = OPERATIONS[operation](shared(1000))
    for _ in range(1000):
        assert answer[0] is answer[1]
        answer = answer[0]
    assert answer == {"J": 1.0, "zero": 0.0, "plus": 2.0}[operation]


def test_the_gradient_of_a_program_with_shared_pairs(visits):
    """Each pair has a zero, and J_inverse before it: both are remembered by the pair, from one call to the next."""
    found = []
    for n in (100, 1000):
        f = shared_in_a_program(n)
        visits.clear()
        assert grad(f)(3.0) == 6.0
        found.append(visits["parts"])
    assert found[1] <= 10.1 * found[0] <= 10.1 * 700


def test_derivatives_of_derivatives_with_shared_pairs(visits):
    found = []
    for n in (20, 200):
        f = grad(shared_in_a_program(n))
        visits.clear()
        assert grad(f)(3.0) == 2.0
        found.append(visits["parts"])
    assert found[1] <= 11 * found[0]


def test_an_argument_with_shared_pairs(visits):
    taken = "".join(f"let y{i} = fst y{i + 1} in " for i in reversed(range(1000)))
    gradient = grad(run(parse(f"fun y1000 -> {taken}y0 * y0")))(shared(1000, 3.0))
    assert visits["parts"] <= 20_000
    for _ in range(1000):
        gradient, rest = gradient
    assert (gradient, rest) == (6.0, 0.0)


def test_a_sum_of_shared_pairs_is_remembered():
    x, y = J(shared(3)), J(shared(3, 2.0))
    assert plus(x, y) is plus(x, y)
    assert plus(x, y) == shared(3, 3.0)
    assert plus(y, y) is not plus(y, x)
