"""Jumps under a test become data, for the case that the test is staged: a flag says what comes next.

The jumps stay where they are, and a plain test goes Python's way: then all flags are `GOES_ON`. A block that is written
down sets the flag of the loop in place of the jump. So what follows in the round is under a test of the flag, the loop
goes on as long as its flag says so, and after the loop comes the `return` that the flag stands for. Outside of loops,
what follows an `if` with a `return` moves into its branches.
"""

from __future__ import annotations

import ast
from itertools import count
from typing import Any

from shiftreset_ad.staging.front.facts import (
    BREAKS,
    CONTINUES,
    GOES_ON,
    RESULT,
    RETURNS,
    assign,
    compare,
    facts,
    place,
)
from shiftreset_ad.staging.front.names import LOOPS, blocks_of, is_left_by_a_jump
from shiftreset_ad.staging.front.nodes import all_nodes, copied
from shiftreset_ad.staging.front.refusals import LEAVES_A_BLOCK, TOO_MANY_PATHS

MOST_COPIED = 5_000  # nodes


class Jumps:
    """The jumps in the body of one function."""

    def __init__(self) -> None:
        self._numbers = count()
        self._copied = 0

    def to_the_end(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """The statements of a function up to its end, outside of loops."""
        done: list[ast.stmt] = []
        waiting = list(statements)
        while waiting:
            statement = waiting.pop(0)
            done.append(statement)
            if isinstance(statement, LOOPS):
                done[-1:], waiting[:0] = self.loop(statement)
            elif isinstance(statement, ast.If) and is_left_by_a_jump(statement):
                branches = [statement.body, statement.orelse]
                going_on = [not _ends(branch) for branch in branches]
                if all(going_on) and (size := _size(waiting)):
                    self._copied += size
                    if self._copied > MOST_COPIED:
                        self.plain(statement, TOO_MANY_PATHS)
                        continue
                rest = [copied(waiting), waiting] if all(going_on) else [waiting]
                statement.body, statement.orelse = (
                    self.to_the_end([*branch, *(rest.pop() if goes_on else [])])
                    for branch, goes_on in zip(branches, going_on, strict=True)
                )
                facts(statement).answers = True
                return done if any(going_on) else [*done, *waiting]
            elif isinstance(statement, ast.If):
                statement.body, statement.orelse = self.to_the_end(statement.body), self.to_the_end(statement.orelse)
            elif isinstance(statement, ast.Return):
                facts(statement).flag = RESULT
                return [*done, *waiting]  # what is never reached may still bind variables
            else:
                self.plain(statement, LEAVES_A_BLOCK)
        return done

    def loop(self, loop: ast.While | ast.For) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """A loop with all that belongs to it, and what follows it: a test for each `return` in it."""
        flag = f"_sr_flag{next(self._numbers)}"
        exits: list[ast.stmt] = []
        loop.body = self.in_round(loop.body, flag, exits)
        loop.orelse = self.plain_block(loop.orelse, LEAVES_A_BLOCK)
        if not _sets(flag, loop):
            return [loop], []
        loop.body.insert(0, assign(flag, ast.Constant(GOES_ON), loop.body[0]))
        if loop.orelse:
            loop.orelse = [place(ast.If(compare(flag, ast.Lt(), BREAKS), loop.orelse, []), loop.orelse[0])]
        facts(loop).flag = flag
        if isinstance(loop, ast.For):
            rounds = facts(loop).rounds = flag.replace("flag", "rounds")
            for node in all_nodes(loop):
                if isinstance(node, ast.If) and facts(node).flag == flag:
                    facts(node).rounds = rounds
        else:
            goes_on = compare(flag, ast.Lt(), BREAKS)
            is_endless = isinstance(loop.test, ast.Constant) and loop.test.value
            loop.test = place(goes_on if is_endless else ast.BoolOp(ast.And(), [goes_on, loop.test]), loop.test)
        return [assign(flag, ast.Constant(GOES_ON), loop), loop], exits

    def in_round(self, statements: list[ast.stmt], flag: str, exits: list[ast.stmt]) -> list[ast.stmt]:
        """The statements of a round, up to its end."""
        done: list[ast.stmt] = []
        waiting = list(statements)
        while waiting:
            statement = waiting.pop(0)
            done.append(statement)
            if isinstance(statement, LOOPS):
                done[-1:], waiting[:0] = self.loop(statement)
            elif isinstance(statement, ast.If):
                statement.body = self.in_round(statement.body, flag, exits)
                statement.orelse = self.in_round(statement.orelse, flag, exits)
                if _sets(flag, statement):
                    facts(statement).flag = flag
                    if waiting:
                        test = compare(flag, ast.Eq(), GOES_ON)
                        rest = place(ast.If(test, waiting, []), waiting[0])
                        return [*done, *self.in_round([rest], flag, exits)]
            elif isinstance(statement, JUMPS):
                facts(statement).flag = flag
                if isinstance(statement, ast.Return):
                    facts(statement).code = code = RETURNS + len(exits)
                    last = [*_last_assignments(done[:-1]), ast.Return(statement.value)]
                    facts(statement).moved = len(last) - 1
                    again = [place(copied(part), statement) for part in last]
                    exits.append(place(ast.If(compare(flag, ast.Eq(), code), again, []), statement))
                else:
                    facts(statement).code = BREAKS if isinstance(statement, ast.Break) else CONTINUES
                return [*done, *waiting]
            else:
                self.plain(statement, LEAVES_A_BLOCK)
        return done

    def plain(self, statement: ast.stmt, reason: str) -> None:
        """A statement whose jumps stay jumps. So a test with such a jump under it is asked."""
        if isinstance(statement, ast.If) and is_left_by_a_jump(statement):
            facts(statement).must_ask = reason
        for block in blocks_of(statement):
            block[:] = self.plain_block(block, reason)

    def plain_block(self, statements: list[ast.stmt], reason: str) -> list[ast.stmt]:
        """Statements whose jumps stay jumps, but for those in a loop among them."""
        done: list[ast.stmt] = []
        waiting = list(statements)
        while waiting:
            statement = waiting.pop(0)
            done.append(statement)
            if isinstance(statement, LOOPS):
                done[-1:], waiting[:0] = self.loop(statement)
            else:
                self.plain(statement, reason)
        return done


JUMPS = (ast.Return, ast.Break, ast.Continue)


def _sets(flag: str, statement: ast.stmt) -> bool:
    """Whether a jump in a statement is the flag's."""
    return any(facts(node).flag == flag for node in all_nodes(statement) if isinstance(node, JUMPS))


def _last_assignments(statements: list[ast.stmt]) -> list[ast.stmt]:
    """The assignments to names at the end of statements before a `return`.

    A block that is written down leaves them to the place behind the loop. So their variables need no value in rounds
    without the `return`.
    """
    found: list[ast.stmt] = []
    for statement in reversed(statements):
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if not isinstance(statement, ast.Assign | ast.AugAssign) or not all(map(_has_names_only, targets)):
            break
        found.insert(0, statement)
    return found


def _has_names_only(target: Any) -> bool:
    return isinstance(target, ast.Name) or (
        isinstance(target, ast.Tuple | ast.List) and all(map(_has_names_only, target.elts))
    )


def _ends(statements: list[ast.stmt]) -> bool:
    """Whether nothing that follows these statements is reached."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    return isinstance(last, (*JUMPS, ast.Raise))


def _size(statements: list[ast.stmt]) -> int:
    return sum(1 for statement in statements for _ in all_nodes(statement))
