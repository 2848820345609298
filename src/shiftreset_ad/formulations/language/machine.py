"""An abstract machine for the core language: the continuation is a value, a linked list of frames.

So nothing nests on Python's stack, a continuation may be called any number of times, and `shift` takes the frames up
to the nearest `reset` (Felleisen's machine, with functions as frames). The machine also runs programs *in explicit
CPS*: give `run` an `operate`, and each operation gets the rest of the program, as in the first formulations of Wang et
al. (section 3.1), by `operate(function, operands, k)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from shiftreset_ad.formulations.language.interpreter import Environment, look_up
from shiftreset_ad.formulations.language.terms import (
    App,
    Assign,
    Case,
    Const,
    Deref,
    Fst,
    Inl,
    Inr,
    Lam,
    Let,
    Pair,
    Primitive,
    Ref,
    Reset,
    Shift,
    Snd,
    Term,
    Var,
)
from shiftreset_ad.formulations.language.values import (
    Cell,
    Left,
    Right,
    answer,
    require_cell,
    require_function,
    require_pair,
    require_sum,
)

# The rest of the program: a frame, and the frames outside it. A frame takes the value of its hole, and these frames.
Frame: TypeAlias = Callable[[Any, Any], Any]
Frames: TypeAlias = tuple[Frame, Any] | None
Then: TypeAlias = Callable[[tuple[Any, ...], Frames], "State"]
# The function that carries out an operation in explicit CPS: on a function, its operands, the rest of the program.
Operate: TypeAlias = Callable[[Callable[..., Any], tuple[Any, ...], Callable[[Any], Any]], Any]


class Evaluate(NamedTuple):
    """The machine is about to evaluate a term."""

    term: Term
    environment: Environment
    frames: Frames


class Perform(NamedTuple):
    """The machine is about to carry out an operation."""

    primitive: Primitive
    operands: tuple[Any, ...]
    frames: Frames


class Return(NamedTuple):
    """The machine has a value for the innermost frame."""

    value: Any
    frames: Frames


State: TypeAlias = Evaluate | Perform | Return


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """The value of a function."""

    parameter: str
    body: Term
    environment: Environment


@dataclass(frozen=True, slots=True, eq=False)
class Continuation:
    """The frames that a `shift` has taken, innermost first."""

    frames: tuple[Frame, ...]


def run(
    term: Term,
    environment: Environment | None = None,
    k: Callable[[Any], Any] = lambda value: value,
    operate: Operate | None = None,
) -> Any:
    """The answer of `k` to the value of a term.

    With `operate`, the program runs in explicit CPS: each arithmetic operation is `operate(function, operands, rest)`,
    where `rest` takes the answer, runs the rest of the program, and returns what `k` returns in the end. Raises
    NameError for a free variable that the environment does not have, and TypeError for a `shift` without a `reset`.

    >>> from shiftreset_ad.formulations.language import parse
    >>> run(parse("reset (1.0 + (shift k in k (k 10.0)))"))
    np.float64(12.0)
    """
    return proceed(Evaluate(term, environment or {}, None), k, operate)


def call(function: Any, argument: Any, k: Callable[[Any], Any], operate: Operate | None = None) -> Any:
    """Apply a function, a value of the machine, and hand its value to `k`; `operate` is as in `run`."""
    return proceed(enter(function, argument, None), k, operate)


def proceed(state: State, k: Callable[[Any], Any], operate: Operate | None) -> Any:
    """Run the machine to its end, or to an operation in explicit CPS."""
    while True:
        match state:
            case Evaluate(term, environment, frames):
                state = step(term, environment, frames)
            case Perform(primitive, operands, frames) if operate is not None and not primitive.is_comparison:
                return operate(primitive.function, operands, lambda y: proceed(Return(y, frames), k, operate))
            case Perform(primitive, operands, frames):
                state = Return(answer(primitive, *operands), frames)
            case Return(value, None):
                return k(value)
            case Return(value, (frame, outside)):
                state = frame(value, outside)


def step(term: Term, env: Environment, frames: Frames) -> State:
    """The next state of the machine, which begins to evaluate `term`."""
    match term:
        case Var(name):
            return Return(look_up(name, env), frames)
        case Const(value):
            return Return(value, frames)
        case Primitive(_, operands):
            return values_of(operands, env, frames, lambda xs, out: Perform(term, xs, out))
        case Lam(parameter, body):
            return Return(Closure(parameter, body, env), frames)
        case App(function, argument):
            return values_of((function, argument), env, frames, lambda fx, out: enter(fx[0], fx[1], out))
        case Let(name, value, body):
            return values_of((value,), env, frames, lambda xs, out: Evaluate(body, {**env, name: xs[0]}, out))
        case Pair(first, second):
            return values_of((first, second), env, frames, Return)
        case Fst(pair):
            return values_of((pair,), env, frames, lambda xs, out: Return(require_pair(xs[0], "fst")[0], out))
        case Snd(pair):
            return values_of((pair,), env, frames, lambda xs, out: Return(require_pair(xs[0], "snd")[1], out))
        case Inl(value):
            return values_of((value,), env, frames, lambda xs, out: Return(Left(xs[0]), out))
        case Inr(value):
            return values_of((value,), env, frames, lambda xs, out: Return(Right(xs[0]), out))
        case Case(scrutinee):
            return values_of((scrutinee,), env, frames, lambda xs, out: choose(term, require_sum(xs[0]), env, out))
        case Ref(value):
            return values_of((value,), env, frames, lambda xs, out: Return(Cell(xs[0]), out))
        case Deref(cell):
            return values_of((cell,), env, frames, lambda xs, out: Return(require_cell(xs[0], "!").content, out))
        case Assign(cell, value):
            return values_of((cell, value), env, frames, lambda xs, out: Return(assign(*xs), out))
        case Reset(body):
            return Evaluate(body, env, (delimiter, frames))
        case Shift(name, body):
            taken, outside = up_to_delimiter(frames)
            return Evaluate(body, {**env, name: Continuation(taken)}, outside)
    raise TypeError(f"run: {term!r} is not a term of the core language")


def values_of(terms: tuple[Term, ...], env: Environment, frames: Frames, then: Then, done: Any = ()) -> State:
    """Evaluate `terms` from left to right, and then go on with their values."""
    for i, term in enumerate(terms):
        match term:
            case Const(value):
                done = (*done, value)
            case Var(name):
                done = (*done, look_up(name, env))
            case _:
                frame = partial(_with_value, terms[i + 1 :], env, then, done)
                return Evaluate(term, env, (frame, frames))
    return then(done, frames)


def _with_value(
    terms: tuple[Term, ...], env: Environment, then: Then, done: tuple[Any, ...], value: Any, frames: Frames
) -> State:
    """The frame of an operand: go on with the remaining operands."""
    return values_of(terms, env, frames, then, (*done, value))


def enter(function: Any, argument: Any, frames: Frames) -> State:
    """Apply a function, a continuation, or a function of Python."""
    match function:
        case Closure(parameter, body, env):
            return Evaluate(body, {**env, parameter: argument}, frames)
        case Continuation(taken):
            frames = (delimiter, frames)
            for frame in reversed(taken):
                frames = (frame, frames)
            return Return(argument, frames)
    return Return(require_function(function)(argument), frames)


def choose(case: Case, scrutinee: Left | Right, env: Environment, frames: Frames) -> State:
    """Go on with one branch of a `case`."""
    if isinstance(scrutinee, Left):
        return Evaluate(case.left, {**env, case.left_name: scrutinee.value}, frames)
    return Evaluate(case.right, {**env, case.right_name: scrutinee.value}, frames)


def assign(cell: Any, value: Any) -> tuple[()]:
    """Overwrite the content of a cell."""
    require_cell(cell, ":=").content = value
    return ()


def delimiter(value: Any, frames: Frames) -> State:
    """The frame of a `reset`: it does nothing, and is where a `shift` stops."""
    return Return(value, frames)


def up_to_delimiter(frames: Frames) -> tuple[tuple[Frame, ...], Frames]:
    """The frames inside the nearest `reset`, and the frames from this `reset` on."""
    taken = []
    while frames is not None and frames[0] is not delimiter:
        taken.append(frames[0])
        frames = frames[1]
    if frames is None:
        raise TypeError("shift: there is no reset around it")
    return tuple(taken), frames
