"""The reasons why a function or one of its statements cannot be rewritten or written down, each with its line."""

from __future__ import annotations

from dataclasses import dataclass


class RefusedError(Exception):
    """A function, or a statement in it, cannot be rewritten."""


@dataclass(frozen=True)
class Refusal:
    """A reason, and the line of the user's that it is about."""

    filename: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.filename}:{self.line})"


LEAVES_A_BLOCK = (
    "a `return`, `break` or `continue` under this test leaves a `finally`, or a `match` with patterns that look into "
    "the subject. Move the jump out of the statement"
)
RETURNS_NO_NUMBERS = (
    "a `return` under this test is in a `with` or a `try`, and returns no structure of numbers and arrays. Return it "
    "after the statement"
)
IN_A_GENERATOR = (
    "{name!r} is a generator, whose tests are asked. Go over it by `for x in {name}(...)`, with no `try` or `with` "
    "around a `yield`, and no value of it"
)
BINDS_IN_EXPRESSION = "a part of this expression binds a variable by `:=`. Bind the variable in a statement of its own"
DELETES = "a block under this test deletes a variable. Leave out the `del`"
TOO_MANY_PATHS = "there are too many paths from this test to the end of the function"
CALLS_ITSELF = "the function calls itself under this test, so there is no end to writing it down"
A_SOLVER_IN_A_SOLVER = "a solver runs in the function of another solver, so its rounds are not written down"
CALLS_ANOTHER = "the function calls a copy of itself, in which other variables are seen. Give them as arguments"
USES_SUPER = "a block under this test uses `super()`. Write `Base.f(self)`"
GLOBAL = "a block under this test assigns to the global variable {name!r}. Return the value"
UNBOUND_BEFORE_LOOP = "the variable {name!r} has no value before the loop. Give it one before the loop"
NEVER_ENDS = "a block under this test has a loop that does not end when it is recorded"
SAME_TEST = "the test of the loop depends on what the loop does not carry. Let it look at variables of the loop"
UNSET_BEFORE = "{name!r} has no value before this test, and gets one under it. Give it a value before"
UNBOUND_IN_BRANCH = "the variable {name!r} has a value in one branch only. Give it one in both branches"
NONE_IN_BRANCH = "{name!r} is None in one branch only. Give it a value of one kind in both branches, or before"
FOREIGN_ITERATOR = "the loop goes over an iterator, a {kind}. Let it go over a range, a list, a tuple or an array"
UNEQUAL_ITEMS = "the items of the loop are of different types or shapes. Make an array of them"
HAS_EFFECT = "a block under this test changes {name!r}, which is seen outside of the block. Return the value instead"
GROWS_IN_ROUNDS = (
    "{name!r}, or a list in it, has another length after each round, which depends on the arguments. Make the list by "
    "`[...]`, with items of one kind, or carry what is needed of the list, such as its sum or its last item, or write "
    "to an array of shiftreset_ad.zeros"
)
GROWS_IN_A_BRANCH = (
    "{name!r}, or a list in it, has other lengths in the two branches, so its length depends on the arguments. Make "
    "the list by `[...]`, with items of one kind, or let it grow in both, or carry what is needed of it, such as its "
    "sum"
)
BOUND_ANEW = (
    "{name!r} is bound to another list under this test or in this loop, and its length depends on the arguments. "
    "Change the list itself, by append, pop or clear"
)
WRITES_TO_ITEMS = (
    "arrays are appended to the list, and a loop or a branch writes to an array, which may be one of them. Make new "
    "arrays instead"
)
COMPARED = (
    "the items of a list whose length depends on the arguments are compared by {name!r}, for which an item is equal to "
    "itself, even if it is NaN. Compare them one by one"
)
TOO_LONG = "a list whose length depends on the arguments has more than {most:,} items"
UNEQUAL_GROWTH = "items of several kinds are appended to the list. Let all of them be floats, or arrays of one shape"
AS_A_LIST = "the length of the list depends on the arguments, and the list cannot be written down: {reason}"
FILTERS = (
    "this filter decides how many items the comprehension has. Give the comprehension to sum, len, any, all, min or "
    "max where it stands, or make it a list, `[... for ...]`, or let each item be `x if ... else 0.0`"
)
NO_FLOATS = "the least or greatest of items that a filter leaves is looked for among floats alone. Make floats of them"
CHANGES_LATER = (
    "a list, a dict, an object or an array that is carried through this test, or read at an index that depends on the "
    "arguments, changes afterwards, and may have another name. Make a new one"
)
MAY_BE_ONE = (
    "a list, a dict or an object that is carried through this test, or read at an index that depends on the "
    "arguments, may be the same object as another one: the program asks which one it is, as by `is`, or returns "
    "both. Compare what is in them, or return a copy"
)
CALLS_FOR_EFFECT = "a block under this test calls {name!r} for its effect. Return the value, and call it outside"
MAY_ACT = (
    "a block under this test calls {name!r}, which may act on other things than its arguments. Call it before the test"
)
OTHER_TYPES = "items of several types are in the list"
ENTERS = (
    "a block under this test runs {name!r}, which is not looked into and may be there for its effect. "
    "Use it before the test"
)
SEES_TOO_MUCH = "a block under this test sees too many objects to watch them all. Give it what it needs as arguments"
