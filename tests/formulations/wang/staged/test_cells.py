"""Contents of cells, and what may look at them."""

import numpy as np

from shiftreset_ad.formulations.wang.staged.cells import returns, without_needless_cells
from shiftreset_ad.formulations.wang.staged.code import (
    BOOL,
    DOUBLE,
    REF,
    Add,
    Assign,
    Call,
    Constant,
    Function,
    If,
    NewCell,
    Operation,
    Read,
    Return,
    Symbol,
    function_of,
)

ONE, ZERO = Constant(1.0), Constant(0.0)
X, Y = Symbol("x", DOUBLE), Symbol("y", DOUBLE)
C = Symbol("c", BOOL)
D, E, P = (Symbol(name, REF) for name in "dep")
F = Symbol("f", function_of([P]))


def test_known_contents():
    assert without_needless_cells((NewCell(D, ZERO), Assign(D, ONE), Return(Read(D)))) == (Return(ONE),)


def test_contributions_are_joined():
    assert without_needless_cells((Add(P, X), Add(P, Y), Add(P, X))) == (
        Add(P, Operation(np.add, (Operation(np.multiply, (Constant(2.0), X)), Y))),
    )


def test_a_call_sees_what_it_is_handed():
    block = (NewCell(D, ZERO), Assign(D, X), Add(P, Y), Call(F, (D,)), Return(Read(D)))
    assert without_needless_cells(block) == (Add(P, Y), NewCell(D, X), Call(F, (D,)), Return(Read(D)))


def test_a_function_may_see_a_cell_at_any_time():
    function = Function(F, (), (Add(P, Read(D)),))
    block = (NewCell(D, ZERO), function, Assign(D, X), Call(F, ()))
    assert without_needless_cells(block) == block


def test_a_contribution_is_written_before_its_cell_is_read():
    """Parameters may be two names of one cell."""
    block = (Add(P, X), Add(E, Read(P)), Add(P, Y))
    assert without_needless_cells(block) == block
    block = (Add(P, X), Add(E, Read(D)), Add(P, Y))
    assert without_needless_cells(block)[0] == Add(P, X)


def test_a_contribution_is_written_before_an_assignment():
    block = (Add(P, X), Assign(E, Y), Add(P, X))
    assert without_needless_cells(block) == block


def test_branches_that_end_the_program_know_contents():
    block = (NewCell(D, ZERO), Assign(D, X), If(C, (Return(Read(D)),), (Add(D, X), Return(ONE))))
    found = without_needless_cells(block)
    assert len(found) == 1
    assert found[0].then == (Return(X),)
    assert found[0].otherwise[-1] == Return(ONE)


def test_other_branches_change_contents():
    block = (NewCell(D, ZERO), Assign(D, X), If(C, (Add(D, Y),), ()), Return(Read(D)))
    assert without_needless_cells(block) == (NewCell(D, X), If(C, (Add(D, Y),), ()), Return(Read(D)))


def test_what_ends_a_program():
    assert returns(Return(ONE))
    assert returns(If(C, (Return(ONE),), (If(C, (Return(ONE),), (Return(ONE),)),)))
    assert not returns(If(C, (Return(ONE),), ()))
    assert not returns(Add(P, X))
