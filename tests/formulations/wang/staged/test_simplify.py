"""Code as the paper prints it: what goes, and what must stay."""

import numpy as np

from shiftreset_ad.formulations.wang.staged import generate, grad, pseudo, python, simplify
from shiftreset_ad.formulations.wang.staged.code import (
    DOUBLE,
    REF,
    Add,
    Constant,
    Define,
    Function,
    NewCell,
    Operation,
    Read,
    Symbol,
)
from shiftreset_ad.formulations.wang.staged.control import FUN, IF
from shiftreset_ad.formulations.wang.staged.simplify import settled

X, Y, V, W = (Symbol(name, DOUBLE) for name in "xyvw")
D, E, F = (Symbol(name, REF) for name in "def")


def times(a, b):
    return Operation(np.multiply, (a, b))


def lines(f):
    return pseudo.show(simplify(generate(f))).split("\n")[1:-1]


def test_what_is_used_once_is_written_there():
    assert lines(lambda x: np.sin(x * 2.0) + 1.0) == ["  sin(2.0 * in) + 1.0"]


def test_what_is_used_twice_keeps_its_name():
    assert lines(lambda x: (lambda y: y / (1.0 + y))(np.sin(x))) == ["  v0 = sin(in)", "  v0 / (1.0 + v0)"]


def test_what_is_not_used_is_dropped():
    assert lines(lambda x: [np.sin(x), x][1]) == ["  in"]


def test_long_expressions_have_names_within():
    assert len(lines(lambda x: sum((np.sin(x + float(i)) for i in range(40)), x))) > 1


def test_a_use_in_a_block_inside_is_another_place():
    """There it might be computed again and again."""
    text = lines(lambda x: (lambda s: grad(lambda z: FUN(lambda t: t * s)(z))(x))(np.sin(x)))
    assert text[0] == "  v0 = sin(in)"


def test_a_cell_is_read_before_it_is_written_to():
    block = (Define(V, Read(D)), Add(D, X), Define(W, times(V, Y)), Add(E, W))
    assert settled(block) == (Define(V, Read(D)), Add(D, X), Add(E, times(V, Y)))


def test_an_adjoint_that_passes_on_one_contribution():
    block = (NewCell(D, Constant(0.0)), NewCell(E, Constant(0.0)), Add(D, times(Read(E), X)), Add(F, times(Read(D), Y)))
    (cell, add) = settled(block)
    assert cell == NewCell(E, Constant(0.0))
    assert isinstance(add, Add)
    assert add.cell is F


def test_adjoints_that_stay():
    zero = NewCell(D, Constant(0.0))
    for block in (
        (zero, Add(D, X), Add(D, Y), Add(F, Read(D))),  # two contributions
        (zero, Add(D, Read(E)), Add(E, Y), Add(F, Read(D))),  # what it reads changes, or may change
        (zero, Add(D, X), Function(Symbol("f", DOUBLE), (), (Add(F, Read(D)),))),  # read later, who knows when
    ):
        assert settled(block) == block


def test_long_products_are_not_copied():
    f = grad(lambda x: x * x * x * x * x * x * x * x)
    assert max(len(line) for line in lines(f)) < 80
    assert python.compiled(simplify(generate(f)))(2.0) == 8 * 2.0**7


def test_results_go_into_branches():
    text = lines(grad(lambda x: IF(x > 0.0, lambda: IF(x > 1.0, lambda: x, lambda: -x), lambda: x)))
    assert sum(line.strip() == "!d0" for line in text) == 3
    assert text[-1] == "  }"
