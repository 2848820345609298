"""`cond`, `while_loop`, `fori_loop` and `scan`: control that a staged function writes down as loops and branches.

In any other program they are plain Python. What decides is the value: where a predicate is a staged value, or a loop
carries one, the control is recorded as a step with blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np
from numpy import ndarray

from shiftreset_ad.boundary import trees
from shiftreset_ad.numbers.number import ZERO, Number
from shiftreset_ad.rules.annotations import X, Xs, Y
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.staging.control.gathering import gathered, indexable
from shiftreset_ad.staging.control.kinds import kind_of, staged_inside
from shiftreset_ad.staging.control.levels import carried_out
from shiftreset_ad.staging.control.writing import ForkWay, LoopWay, open_reverse_tags
from shiftreset_ad.staging.seen.keys import nodes_of
from shiftreset_ad.staging.steps.trace import Trace, UnstageableError
from shiftreset_ad.staging.steps.values import Staged

RAISES = "when it is recorded in a block"


class Names(NamedTuple):
    """What control and its functions are called in the reasons why they are refused."""

    branches: str
    of_branches: tuple[str, str]
    loop: str
    test: str
    round: str


OF_COMBINATORS = Names(
    "cond", ("true_fun of cond", "false_fun of cond"), "while_loop", "cond_fun of while_loop", "body_fun of while_loop"
)
OF_STATEMENTS = Names(
    "what the branches hand on",
    ("the branch under this test", "the other branch of this test"),
    *("what the loop carries", "the test of the loop", "a round of the loop"),
)
CARRIED = (Staged, Number, bool, int, float, complex, np.generic, ndarray)


def cond(pred: Any, true_fun: Callable[[*Xs], Y], false_fun: Callable[[*Xs], Y], *operands: *Xs) -> Y:
    """`true_fun(*operands)` if `pred` is true, and otherwise `false_fun(*operands)`.

    `pred` is a boolean. Operands and answers are trees. In a staged function with a staged `pred`, both functions are
    recorded, and each call takes one of the branches. Then both answers must have the same structure, shapes and
    precision. Raises the errors of the functions. Wang et al. 2019, section 4.

    >>> from shiftreset_ad import grad, staged
    >>> staged(grad(lambda x: cond(x > 0.0, lambda x: x * x, lambda x: -x, x)))(3.0)
    6.0
    """
    return one_of(pred, (true_fun, false_fun), operands, OF_COMBINATORS)


def one_of(pred: Any, functions: Sequence[Callable[[*Xs], Y]], operands: tuple[*Xs], names: Names) -> Y:
    """The answer of one of two functions."""
    pred = without_levels(pred)
    if type(pred) is not Staged:
        return functions[0 if pred else 1](*operands)
    found: list[CarriedStructure] = []

    def branch(name: str, function: Callable[[*Xs], Y]) -> Callable[[list[Any]], list[Any]]:
        def body(_: list[Any]) -> list[Any]:
            answer = called(trace, name, function, *operands)
            if not found:
                found.append(CarriedStructure(trace, names.branches, answer))
            return found[0].leaves_of(answer)

        return body

    trace = pred._trace
    branches = list(map(branch, names.of_branches, functions))
    answers = carried_out(ForkWay(trace, pred, WeakSet()), branches, [])
    answer: Y = found[0].with_leaves(answers)
    return answer


def while_loop(cond_fun: Callable[[X], Any], body_fun: Callable[[X], X], init: X) -> X:
    """`state = body_fun(state)` from `init` on, as long as `cond_fun(state)` is true; the last state.

    The state is a tree of floats, integers, booleans and arrays. In a staged function with a staged state, the loop is
    recorded once, and not round by round; so the structure and the shapes of the state must stay the same. Combine
    conditions by `&` and `|`. Each derivative of any order goes through the loop. Reverse mode keeps, of each round,
    the values that the way back needs. Raises the errors of the functions. Wang et al. 2019, section 4.

    >>> from shiftreset_ad import grad, staged
    >>> half = lambda x: while_loop(lambda x: x > 1.0, lambda x: x / 2.0, x)
    >>> staged(grad(half))(12.0)
    0.0625
    """
    state = init
    while True:
        goes_on = without_levels(cond_fun(state))
        trace = trace_of((goes_on, state))
        if trace is not None:
            state, _ = written_loop(trace, cond_fun, body_fun, state)
            return state
        if not goes_on:
            return state
        state = body_fun(state)


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, X], X], init: X) -> X:
    """`state = body_fun(i, state)` from `init` on, for each integer `i` from `lower` up to `upper`; the last state.

    `upper` is left out. The state is that of `while_loop`, and so are the errors. Wang et al. 2019, section 4.

    >>> fori_loop(0, 3, lambda i, x: x * 2.0 + i, 1.0)
    12.0
    """
    return while_loop(lambda state: state[0] < upper, lambda state: (state[0] + 1, body_fun(*state)), (lower, init))[1]


def scan(f: Callable[[X, Any], tuple[X, Y]], init: X, xs: Any, length: int | None = None) -> tuple[X, Y]:
    """`carry, y = f(carry, x)` from `init` on, for each `x` along the first axis of `xs`; the last carry, and all `y`.

    `xs` is a tree of arrays, or None together with a `length`. Each `y` is a tree, and the answer has the tree of the
    stacked arrays. In a staged function with a staged carry or `xs` it is one loop, as in `while_loop`. Raises
    ValueError if the first axes differ, or if there is no `x` at all, and the errors of `f`. Wang et al. 2019,
    section 4.

    >>> import numpy as np
    >>> scan(lambda total, x: (total + x, total * x), 0.0, np.array([1.0, 2.0, 3.0]))
    (np.float64(6.0), array([0., 2., 9.]))
    """
    leaves, spec = trees.flatten(xs)
    lengths = {shape_of(leaf)[0] for leaf in leaves if shape_of(leaf)} | ({length} if length is not None else set())
    if len(lengths) != 1 or not all(map(shape_of, leaves)) or 0 in lengths:
        raise ValueError(f"scan: xs must have one length, 1 or more; the lengths here are {sorted(lengths)}")
    (count,) = lengths
    trace = trace_of((init, xs))
    if trace is None:
        carry, ys = init, []
        for i in range(count):
            carry, y = f(carry, trees.unflatten(spec, [leaf[i] for leaf in leaves]))
            ys.append(trees.flatten(y))
        return carry, trees.unflatten(ys[0][1], [np.stack(parts) for parts in zip(*[y for y, _ in ys], strict=True)])
    leaves = [indexable(leaf, trace) for leaf in leaves]
    answers: list[Any] = [0, [], None]

    def body(state: Any) -> Any:
        i, carry = state
        carry, y = f(carry, trees.unflatten(spec, [leaf[i] for leaf in leaves]))
        parts, spec_of_y = trees.flatten(y)
        answers[:] = i, list(map(own, parts)), spec_of_y
        return i + 1, carry

    (_, carry), way = written_loop(trace, lambda state: state[0] < count, body, (0, init), keeps=True)
    i, parts, spec_of_y = answers
    return carry, trees.unflatten(spec_of_y, [gathered(way, part, i) for part in parts])


def written_loop(
    trace: Trace,
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    state: Any,
    keeps: bool = False,
    names: Names = OF_COMBINATORS,
) -> tuple[Any, LoopWay]:
    """The loop as a step: its last state, and the way in which it is written."""
    shape = CarriedStructure(trace, names.loop, state)
    leaves = shape.leaves_of(state)

    def test(values: list[Any]) -> Any:
        # A value of each leaf is enough, and comes first among the parts of the leaf.
        firsts, place = [], 0
        for width in widths:
            firsts.append(values[place])
            place += width
        return without_levels(called(trace, names.test, cond_fun, shape.with_leaves(firsts)))

    def body(values: list[Any]) -> list[Any]:
        widths[:] = [kind_of(x).width for x in values]
        return shape.leaves_of(called(trace, names.round, body_fun, shape.with_leaves(values)))

    widths = [1] * len(leaves)
    way = LoopWay(trace, test, keeps)
    tags = open_reverse_tags() if keeps else ()  # what is gathered may have a derivative that nothing carried has
    return shape.with_leaves(carried_out(way, [body], leaves, (), tags)), way


def own(x: Any) -> Any:
    """A number of its own for a value that a round answers, which nothing else uses."""
    number: Any = x
    return +number if isinstance(x, Number) else x


def keys_in(tree: Any) -> list[tuple[Any, ...]]:
    """The keys of the dicts in a tree, in their order, which two structures that are equal may not share."""
    return [tuple(node) for node in nodes_of(tree) if isinstance(node, dict)]


class CarriedStructure:
    """The structure of what control carries: a tree, whose leaves are values, or stay the same."""

    def __init__(self, trace: Trace, name: str, tree: Any) -> None:
        self._trace = trace
        self._name = name
        self._all, self._spec = trees.flatten(tree)
        self._keys = keys_in(tree)
        self._places = [i for i, leaf in enumerate(self._all) if isinstance(leaf, CARRIED)]

    @property
    def is_of_values(self) -> bool:
        """Whether the leaves are values alone, so that it holds for another tree, too."""
        return len(self._places) == len(self._all)

    def with_leaves(self, leaves: list[Any]) -> Any:
        """The tree with these values."""
        whole = list(self._all)
        for place, leaf in zip(self._places, leaves, strict=True):
            whole[place] = leaf
        return trees.unflatten(self._spec, whole)

    def leaves_of(self, tree: Any) -> list[Any]:
        """The values in a tree, which must have the same structure."""
        whole, spec = trees.flatten(tree)
        if spec != self._spec:
            self._trace.refuse(f"{self._name} has the structure {_in_words(self._spec)}, and then {_in_words(spec)}")
        if self._keys and self._keys != (now := keys_in(tree)):
            self._trace.refuse(f"{self._name} has dicts with the keys {self._keys}, and then {now}")
        for i, (leaf, known) in enumerate(zip(whole, self._all, strict=True)):
            if (i in self._places) != isinstance(leaf, CARRIED) or (i not in self._places and leaf is not known):
                self._trace.refuse(f"{self._name} has {known!r:.40}, and then {leaf!r:.40}")
        return [0.0 if whole[i] is ZERO else whole[i] for i in self._places]


def _in_words(spec: Any) -> str:
    return f"{spec}".removeprefix("PyTreeSpec(").removesuffix(")")


def called(trace: Trace, name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The answer of a user's function. Its errors are no errors of the program: the block may never be reached.

    It runs once, and not once for each round. So it must not change a variable of the program around it.
    """
    before = variables(function)
    try:
        answer = function(*args, **kwargs)
    except UnstageableError:
        raise
    except Exception as error:
        trace.refuse(f"{name} raises {error!r} {RAISES}")
    for variable, (content, count) in variables(function).items():
        if variable in before and (before[variable][0] is not content or before[variable][1] != count):
            trace.refuse(f"{name} changes {variable[1]!r}, which is outside of it. Make it a part of the state")
    return answer


def variables(function: Any, found: dict[Any, Any] | None = None) -> dict[Any, Any]:
    """The variables that a function closes over, and those of the functions in them: their contents and sizes."""
    found = {} if found is None else found
    if isinstance(function, FunctionType):
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if (id(cell), name) not in found:
                try:
                    content = cell.cell_contents
                except ValueError:  # it has no value yet
                    continue
                found[id(cell), name] = content, len(content) if issubclass(type(content), list | dict | set) else 0
                variables(content, found)
    return found


def trace_of(tree: Any) -> Trace | None:
    """The trace of the staged values in a tree; None if there are none."""
    for leaf in trees.flatten(tree)[0]:
        for value in staged_inside(leaf):
            return value._trace
    return None


def without_levels(x: Any) -> Any:
    """The value of a number at the oldest level."""
    while isinstance(x, Number):
        x = x.primal
    return x
