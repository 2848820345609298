"""Jumps under a test become data, for the case that the test is staged: a flag says what comes next.

The jumps stay where they are, and a plain test goes Python's way: then all flags are `GOES_ON`. A block that is written
down sets the flag of the loop in place of the jump. So what follows in the round is under a test of the flag, the loop
goes on as long as its flag says so, and after the loop comes the `return` that the flag stands for. Outside of loops,
what follows an `if` with a `return` moves into its branches. A `with` or a `try` is left by its end, as the flag of the
loop, or of its own, says what comes next. If a loop has no jump but `continue`, the flag is one of each round.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
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
    load,
    place,
)
from shiftreset_ad.staging.front.names import INSIDE, LOOPS, blocks_of, bound_by, is_left_by_a_jump, read_by
from shiftreset_ad.staging.front.nodes import all_nodes, copied
from shiftreset_ad.staging.front.refusals import LEAVES_A_BLOCK, TOO_MANY_PATHS

MOST_COPIED = 5_000  # nodes


class Jumps:
    """The jumps in the body of one function. `answer_at` makes what keeps the answer of a `return`."""

    def __init__(self, answer_at: Callable[[ast.Return], Any]) -> None:
        self.answers: dict[str, Any] = {}  # what keeps answers, by the names of variables
        self._answer_at = answer_at
        self._numbers = count()
        self._copied = 0
        self._inside = 0  # so many statements that have something to do when they are left
        self._around = 0  # and so many that a `return` leaves by itself

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
            elif isinstance(statement, ast.With) and (_ends(statement.body) or not waiting):
                self._around += 1
                statement.body = self.to_the_end(statement.body)
                self._around -= 1
            elif isinstance(statement, INSIDE) and is_left_by_a_jump(statement) and not _jumps_at_last(statement):
                _take_apart(statement)
                flag, exits = self._flag(), list[ast.stmt]()
                is_alone = not self._around and sum(isinstance(node, LEFT) for node in all_nodes(statement)) == 1
                done[-1:] = [assign(flag, ast.Constant(GOES_ON), statement), *self.inside(statement, flag, exits)]
                if is_alone:
                    _note_what_a_jump_leaves_out(statement, flag)
                waiting[:0] = exits
            else:
                self.plain(statement, LEAVES_A_BLOCK)
        return done

    def loop(self, loop: ast.While | ast.For) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """A loop with all that belongs to it, and what follows it: a test for each `return` in it."""
        flag, exits, before = self._flag(), list[ast.stmt](), list[ast.stmt]()
        loop.body = self.in_round(loop.body, flag, exits)
        if any(map(is_left_by_a_jump, loop.orelse)):  # then it comes after the loop, if the loop has come to its end
            ended = flag.replace("flag", "ended")
            before = [assign(ended, ast.Constant(False), loop)]
            exits.insert(0, place(ast.If(load(ended), loop.orelse, []), loop.orelse[0]))
            loop.orelse = [assign(ended, ast.Constant(True), loop.orelse[0])]
        else:
            loop.orelse = self.plain_block(loop.orelse, LEAVES_A_BLOCK)
        if not _sets(flag, loop):
            return [*before, loop], exits
        loop.body.insert(0, assign(flag, ast.Constant(GOES_ON), loop.body[0]))
        if not _sets(flag, loop, at_least=BREAKS):
            return [*before, loop], exits  # a flag of the round alone
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
        return [*before, assign(flag, ast.Constant(GOES_ON), loop), loop], exits

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
                        return [*done, *self.in_round([_unless_left(flag, waiting)], flag, exits)]
            elif isinstance(statement, JUMPS):
                facts(statement).flag = flag
                if isinstance(statement, ast.Return):
                    facts(statement).code = code = RETURNS + len(exits)
                    again = [place(copied(part), statement) for part in self._returned(statement, done[:-1])]
                    test: ast.expr = compare(flag, ast.Eq(), code)
                    if (kept := facts(statement).answer) is not None:  # there may be none on any path that is recorded
                        is_there = ast.Compare(load(kept[0]), [ast.IsNot()], [ast.Constant(None)])
                        test = ast.BoolOp(ast.And(), [is_there, test])
                    exits.append(place(ast.If(test, again, []), statement))
                else:
                    facts(statement).code = BREAKS if isinstance(statement, ast.Break) else CONTINUES
                return [*done, *waiting]
            elif isinstance(statement, INSIDE) and not _jumps_at_last(statement):
                _take_apart(statement)
                done[-1:] = self.inside(statement, flag, exits)
                if _sets(flag, statement) and waiting:
                    return [*done, *self.in_round([_unless_left(flag, waiting)], flag, exits)]
            else:
                self.plain(statement, LEAVES_A_BLOCK)
        return done

    def inside(self, statement: ast.With | ast.Try, flag: str, exits: list[ast.stmt]) -> list[ast.stmt]:
        """A `with` or a `try`: a jump in it goes to its end. A `finally` is plain.

        What is left may raise an error after a jump has set the flag. If the error is caught, there is no jump.
        """
        self._inside += 1
        statement.body = self.in_round(statement.body, flag, exits)
        is_left, before, after = any(_sets(flag, part) for part in statement.body), list[ast.stmt](), list[ast.stmt]()
        if isinstance(statement, ast.With) and is_left:
            ended = self._flag().replace("flag", "ended")
            before = [assign(ended, ast.Constant(False), statement)]
            statement.body.append(assign(ended, ast.Constant(True), statement))
            forgotten: list[ast.stmt] = [assign(flag, ast.Constant(GOES_ON), statement)]
            after = [place(ast.If(load(ended), [place(ast.Pass(), statement)], forgotten), statement)]
        elif isinstance(statement, ast.Try):
            for handler in statement.handlers:
                handler.body = self.in_round(handler.body, flag, exits)
                if is_left:
                    handler.body.insert(0, assign(flag, ast.Constant(GOES_ON), handler.body[0]))
            if statement.orelse and is_left:
                statement.orelse = [_unless_left(flag, statement.orelse)]
            statement.orelse = self.in_round(statement.orelse, flag, exits)
            statement.finalbody = self.plain_block(statement.finalbody, LEAVES_A_BLOCK)
        self._inside -= 1
        return [*before, statement, *after]

    def _flag(self) -> str:
        return f"_sr_flag{next(self._numbers)}"

    def _returned(self, statement: ast.Return, before: list[ast.stmt]) -> list[ast.stmt]:
        """What comes after the loop, or after what else is left, for a `return` in it."""
        if not self._inside:
            last = _last_assignments(before)
            facts(statement).moved = len(last)
            return [*last, ast.Return(statement.value)]
        if statement.value is None or isinstance(statement.value, ast.Constant):
            return [ast.Return(statement.value)]
        name, site = f"_sr_answer{next(self._numbers)}", self._answer_at(statement)
        self.answers[name], facts(statement).answer = site, (name, site)
        return [ast.Return(load(name))]

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
LEFT = (*INSIDE, ast.TryStar, ast.AsyncWith)


def flags_set_in(statements: Sequence[ast.AST]) -> set[str]:
    """The flags that jumps in these statements set when they are data, and the variables for answers."""
    jumps = [node for part in statements for node in all_nodes(part) if isinstance(node, JUMPS)]
    names = {facts(node).flag for node in jumps} | {kept[0] for node in jumps if (kept := facts(node).answer)}
    return {name for name in names if name}


def _unless_left(flag: str, statements: list[ast.stmt]) -> ast.stmt:
    """Statements that come next only if no jump has set the flag."""
    found: ast.If = place(ast.If(compare(flag, ast.Eq(), GOES_ON), statements, []), statements[0])
    return found


def _note_what_a_jump_leaves_out(statement: ast.With | ast.Try, flag: str) -> None:
    """After a jump comes a `return`, which does not read what is bound after the jump. What ends the statement may."""
    ends: list[Any] = statement.items if isinstance(statement, ast.With) else statement.finalbody
    if not read_by(ends) & bound_by([statement]):
        for node in all_nodes(statement):
            test = node.test if isinstance(node, ast.If) else None
            if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == flag:
                facts(node).unless_left = True


def _take_apart(statement: ast.With | ast.Try) -> None:
    """A `with` of several contexts is one in another: the end of an inner one may raise what an outer one catches."""
    if isinstance(statement, ast.With) and len(statement.items) > 1:
        statement.body = [place(ast.With(statement.items[1:], statement.body), statement)]
        del statement.items[1:]


def _jumps_at_last(statement: ast.With | ast.Try) -> bool:
    """Whether a `finally` has a jump, which takes the place of any other one."""
    return any(map(is_left_by_a_jump, getattr(statement, "finalbody", [])))


def _sets(flag: str, statement: ast.stmt, at_least: int = CONTINUES) -> bool:
    """Whether a jump in a statement is the flag's, with such a code."""
    jumps = [facts(node) for node in all_nodes(statement) if isinstance(node, JUMPS)]
    return any(jump.flag == flag and jump.code >= at_least for jump in jumps)


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
    return sum(1 for statement in statements for _ in ast.walk(statement))
