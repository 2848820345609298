"""IF, WHILE, FUN and TREE: their derivatives, and the size of their code."""

import random

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad.formulations.wang.staged import (
    DOUBLE,
    EMPTY,
    FUN,
    IF,
    INPUT,
    NODE,
    TREE,
    WHILE,
    Symbol,
    Tree,
    generate,
    grad,
    optimise,
    pseudo,
    python,
    simplify,
    size,
)


class Plain:
    """The same constructs in Python, for the library's own `grad`."""

    IF = staticmethod(lambda condition, then, otherwise: then() if condition else otherwise())
    FUN = staticmethod(lambda f: f)

    @staticmethod
    def WHILE(state, condition, body):  # noqa: N802
        while condition(state):
            state = body(state)
        return state


class Staged:
    IF, WHILE, FUN = staticmethod(IF), staticmethod(WHILE), staticmethod(FUN)


PROGRAMS = {
    "both branches of a conditional are one number": lambda o, x: o.IF(x > 1.0, lambda: x, lambda: x) * x,
    "a branch is a constant": lambda o, x: o.IF(x > 1.0, lambda: 3.0, lambda: x) * x,
    "conditionals in conditionals": lambda o, x: o.IF(
        x > 0.5,
        lambda: o.IF(x > 1.0, lambda: x * x, lambda: np.sin(x)),
        lambda: o.IF(x > 0.2, lambda: -x, lambda: 1.0 / x),
    ),
    "the rest after a conditional": lambda o, x: np.exp(o.IF(x > 1.0, lambda: x * x, lambda: np.sin(x)) * x) * x,
    "a loop that does not begin": lambda o, x: o.WHILE(x, lambda t: t > 100.0, lambda t: t * 0.5),
    "a loop that uses a number from outside": lambda o, x: o.WHILE(x, lambda t: t < 9.0, lambda t: t * x + t + 1.0),
    "a loop with a state of two": lambda o, x: o.WHILE(
        (0.0 * x, x), lambda s: s[0] < 4.0, lambda s: (s[0] + 1.0, s[1] * x)
    )[1],
    "two numbers of a state are one": lambda o, x: o.WHILE(
        (x, x), lambda s: s[0] < 9.0, lambda s: (s[0] * s[1] + s[0] + 1.0, s[0])
    )[0],
    "a conditional in a loop": lambda o, x: o.WHILE(
        x, lambda t: t < 20.0, lambda t: o.IF(t > 2.0, lambda: t * t, lambda: t + x)
    ),
    "a loop in a loop": lambda o, x: o.WHILE(
        x, lambda t: t < 20.0, lambda t: o.WHILE(t * 3.0, lambda u: u > 4.0, lambda u: u * 0.9) + t
    ),
}


def factorial(o, x):
    f = o.FUN(lambda t: o.IF(t > 0.5, lambda: t * f(t - 1.0), lambda: x))
    return f(3.0 * x)


def fibonacci(o, x):
    f = o.FUN(lambda t: o.IF(t > 1.5, lambda: f(t - 1.0) * x + f(t - 2.0), lambda: t))
    return f(3.0 * x) * f(x)


PROGRAMS |= {"a recursion": factorial, "two calls in a recursion": fibonacci}
CHANGES = {"as is": lambda program: program, "simplify": simplify, "optimise": optimise}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_gradient_is_that_of_the_library(name, change):
    f = PROGRAMS[name]
    generated = python.compiled(CHANGES[change](generate(grad(lambda x: f(Staged, x)))))
    for x in (0.3, 0.8, 1.7, 3.1):
        expected = shiftreset_ad.grad(lambda x: f(Plain, x))(x)
        assert generated(x) == pytest.approx(expected, rel=1e-12)


# Random programs


def random_program(r, depth):
    """A random function of constructs and of a list of numbers."""
    kind = r.choice(["arithmetic", "arithmetic", "arithmetic", "let", "if", "while", "fun"]) if depth else "leaf"
    if kind == "leaf":
        constant, place = r.choice([None, None, r.uniform(-2.0, 2.0)]), r.random()
        return lambda o, xs: xs[int(place * len(xs))] if constant is None else constant
    a, b = random_program(r, depth - 1), random_program(r, depth - 1)
    limit, rounds = r.uniform(-1.0, 1.0), r.randint(0, 3)
    if kind == "arithmetic":
        function = r.choice(
            [np.add, np.subtract, np.multiply, lambda u, v: u / (2.5 + np.tanh(v)), lambda u, v: np.sin(u) * v - u * u]
        )
        return lambda o, xs: function(a(o, xs), b(o, xs))
    if kind == "let":
        return lambda o, xs: b(o, [*xs, a(o, xs) + 0.0 * xs[0]])
    if kind == "if":
        test = random_program(r, depth - 1)

        def conditional(o, xs):
            u = test(o, xs) + 0.0 * xs[0]
            return o.IF(u > limit, lambda: a(o, [*xs, u]), lambda: b(o, xs))

        return conditional
    if kind == "while":

        def loop(o, xs):
            step = lambda s: (s[0] + 1.0, np.tanh(a(o, [*xs, s[1]])))  # noqa: E731
            return b(o, [*xs, o.WHILE((xs[0] * 0.0, xs[-1]), lambda s: s[0] < rounds, step)[1]])

        return loop

    def recursion(o, xs):
        f = o.FUN(lambda t: o.IF(t > 0.0, lambda: np.tanh(a(o, xs)) * f(t - 1.0) + f(t - 2.0), lambda: b(o, [*xs, t])))
        return f(xs[0] * 0.0 + float(rounds))

    return recursion


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    r = random.Random(seed)
    f, x = random_program(r, r.randint(1, 3)), r.uniform(-2.0, 2.0)
    expected = shiftreset_ad.grad(lambda x: f(Plain, [x]) + 0.0 * x)(x)
    program = generate(grad(lambda x: f(Staged, [x])))
    for change in CHANGES.values():
        assert python.compiled(change(program))(x) == pytest.approx(expected, rel=1e-9, abs=1e-12)


# The size of the code


def conditionals(n):
    def f(x):
        for i in range(n):
            x = IF(x > float(i), lambda x=x: x * 0.5, lambda x=x: np.sin(x))
        return x

    return grad(f)


def test_conditionals_in_a_row_are_linear():
    """The rest of the program is a function, which both branches call; copies of it would double it each time."""
    sizes = [size(generate(conditionals(n)).body) for n in (10, 20, 40)]
    assert sizes[1] - sizes[0] == (sizes[2] - sizes[1]) / 2
    assert sizes[0] <= 130
    optimised = [size(optimise(generate(conditionals(n))).body) for n in (10, 20)]
    assert optimised[1] <= 2.0 * optimised[0]


def test_a_loop_is_one_function():
    """The size of its code does not depend on how often it goes round."""
    program = generate(grad(lambda x: WHILE(x, lambda t: t > 1.0, lambda t: t * 0.999)))
    assert pseudo.show(program).count("loop = ") == 1
    assert size(program.body) <= 12
    assert python.compiled(program)(2.0) == pytest.approx(0.999**693, rel=1e-12)


@pytest.mark.parametrize("change", [lambda program: program, optimise], ids=["as is", "optimise"])
def test_a_number_of_rounds_in_place_of_a_condition(change):
    """The guard of a `for`; it is a number that the program is given, or one that is known already."""

    def around(rounds):
        return lambda x: WHILE(x, rounds, lambda t: np.sin(t) * x + t)

    def plain(rounds):
        def f(x):
            t = x
            for _ in range(rounds):
                t = np.sin(t) * x + t
            return t

        return f

    program = change(generate(lambda n, x: grad(around(n))(x), Symbol("n", DOUBLE), INPUT))
    assert pseudo.show(program).count("loop = ") == 1
    for rounds in (0, 1, 2, 7):
        expected = shiftreset_ad.grad(plain(rounds))(0.7)
        assert python.compiled(program)(float(rounds), 0.7) == pytest.approx(expected, rel=1e-12)
        assert python.compiled(change(generate(grad(around(rounds)))))(0.7) == pytest.approx(expected, rel=1e-12)


def test_a_number_of_rounds_has_no_derivative():
    with pytest.raises(TypeError, match="WHILE: expected a condition, or a number of rounds that is no NumR"):
        generate(grad(lambda x: WHILE(x, x, lambda t: t * t)))
    for wrong in (True, "3", None):
        with pytest.raises(TypeError, match="WHILE: expected a condition"):
            generate(grad(lambda x, wrong=wrong: WHILE(x, wrong, lambda t: t * t)))
    tree = Symbol("tree", NODE)
    with pytest.raises(TypeError, match="WHILE: expected a condition"):
        generate(lambda tree, x: grad(lambda x: WHILE(x, tree, lambda t: t * t))(x), tree, INPUT)


def test_a_tree_is_one_function():
    """So the code knows nothing of the shape of a tree."""

    def snippet(t, x):
        return grad(lambda x: TREE(x, t, lambda left, right, node: np.sin(left * right) * node.value))(x)

    program = generate(snippet, Symbol("tree", NODE), INPUT)
    assert pseudo.show(program).count("f1 = ") == 1
    f, tree = python.compiled(optimise(program)), EMPTY
    for depth in range(5):

        def plain(x, t):
            return np.sin(plain(x, t.left) * plain(x, t.right)) * t.value if t.not_empty else x

        expected = shiftreset_ad.grad(lambda x, tree=tree: plain(x, tree) + 0.0 * x)(1.3)
        assert f(tree, 1.3) == pytest.approx(expected, rel=1e-12)
        tree = Tree(tree, 1.0 + depth, Tree(tree, 0.5, EMPTY))


def test_a_function_that_is_used_in_both_branches_is_written_once():
    def f(x):
        square = FUN(lambda t: t * t)
        return IF(x > 0.0, lambda: square(x), lambda: square(square(x)))

    assert pseudo.show(generate(grad(f))).count("f1 = ") == 1


def test_a_branch_hands_its_result_straight_on():
    """A function that only calls another is not written: k0 is called in both branches."""
    text = pseudo.show(
        generate(lambda t, x: grad(lambda x: TREE(x, t, lambda a, b, n: a * b))(x), Symbol("t", NODE), INPUT)
    )
    assert text.count("k0(") == 2


def test_a_condition_that_is_known_now_is_decided_now():
    assert "if" not in pseudo.show(generate(grad(lambda x: IF(True, lambda: x, lambda: x * x))))


# Errors


def test_a_loop_whose_condition_is_known():
    with pytest.raises(TypeError, match="would be so in each round"):
        generate(grad(lambda x: WHILE(x, lambda t: True, lambda t: t)))


def test_a_state_that_changes_its_shape():
    with pytest.raises(TypeError, match="a state like the first, of 2 numbers"):
        generate(grad(lambda x: WHILE((x, x), lambda s: s[0] < 1.0, lambda s: s[0])))
    with pytest.raises(TypeError, match="cannot be written"):
        generate(grad(lambda x: WHILE(x, lambda s: s < 1.0, lambda s: (s, s))))


def test_functions_are_for_values_of_the_program():
    with pytest.raises(TypeError, match="a number or a tree of the generated program"):
        generate(grad(lambda x: FUN(lambda t: t)(1.0)))
