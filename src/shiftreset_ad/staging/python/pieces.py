"""A piece of the steps as a Python function of its own, for native code, which calls it where it has no form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shiftreset_ad.staging.python.control import indented
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.python.errors import FILENAME, forget_values, is_of_a_handler
from shiftreset_ad.staging.python.expressions import Expressions, reactions
from shiftreset_ad.staging.steps.trace import Step, Trace

NAME = "piece"


def piece(
    trace: Trace,
    left: Eliminated,
    steps: Sequence[Step],
    params: Sequence[int],
    answers: Sequence[int],
    numbers: Mapping[Step, int],
) -> Callable[..., Any]:
    """The function from the values at the places `params` to a tuple of those at the places `answers`.

    It answers the number of a question that has another answer, and None if a step raises an error. `numbers` are those
    of the questions.
    """
    source = Expressions(trace, left)
    source.names.update({NAME: None, "error": None, "without_values": without_values})
    source.variables.update((place, f"v{place}") for place in (*params, *[step.place for step in steps]))
    lines = [line for step in steps for line in _lines(source, step, numbers)]
    lines.append(f"return ({''.join([f'{source.variables[place]}, ' for place in answers])})")
    params_of_it = ", ".join([source.variables[place] for place in params])
    variables = "".join([f"{name} = " for name in dict.fromkeys(source.variables.values())])
    whole = [
        *["try:", *indented(lines)],
        *["except BaseException as error:", *indented([f"{variables}None", "return without_values(error)"])],
    ]
    text = "\n".join([f"def {NAME}({params_of_it}):", *indented(whole)])
    exec(compile(text, FILENAME, "exec"), source.names)
    function: Callable[..., Any] = source.names[NAME]
    return function


def _lines(source: Expressions, step: Step, numbers: Mapping[Step, int]) -> list[str]:
    """The lines of a step, with its own reactions to floating-point errors."""
    expression, _ = source.expression(step)
    name = source.variables[step.place]
    if step.is_question:
        lines = [f"if not ({source.test(expression, step.expected)}): return {numbers[step]}"]
    else:
        lines = [f"{name} = {expression}"]
        if step.open_ended:
            likeness = source.likeness(name, source.trace.values[step.place])
            lines.append(f"if not ({likeness}): return {numbers[step]}")
    return lines if step.errors is None else [f"with errstate({reactions(step.errors)}):", *indented(lines)]


def without_values(error: BaseException) -> None:
    """None after an error of a step. An error of a handler, or an interrupt, is raised again.

    The arrays of the steps lie in memory that is gone when native code has ended. So the traceback keeps none of them.
    """
    if isinstance(error, Exception) and not is_of_a_handler(error):
        return
    forget_values(error)
    raise error
