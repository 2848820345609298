"""A counterexample without what it does not need, and as a program that can be pasted and run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzzing.check import Unsuitable, Wrong, check
from tests.fuzzing.programs import NAME, Program, indented, names_in
from tests.fuzzing.routes import ROUTES, along_line, cotangent, dot, elements, total, weights
from tests.fuzzing.thresholds import LEAST

SCRIPT = """\
from __future__ import annotations

import numpy as np
import shiftreset_ad as sr
{imports}
single = {single}


{program}

{helpers}
def several(x):
    return elements(program(x))


def f(x):
    return total(several(x))


x = {x}
v = {v}
{thresholds}
{route}
"""
IN_VALUES = """\
names = {names}
with_values = lambda x: (total(elements(y := program(x))), y)
reverse, forward = sr.vjp(with_values, x, has_aux=True)[2], sr.jvp(with_values, (x,), (v,), has_aux=True)[2]
for name, by_vjp, by_jvp in zip(names, reverse, forward):
    print(name, by_vjp, by_jvp)"""


def failure(program: Program, least: bool, only: str | None = None) -> Wrong | None:
    """What is wrong with a program, if anything is."""
    try:
        check(program, least, only)
    except Wrong as wrong:
        return wrong
    except Unsuitable:
        pass
    return None


def shrunk(program: Program, wrong: Wrong) -> tuple[Program, Wrong]:
    """A smaller program that fails on the same route, in the same way: with an answer, or with such an error."""
    only = wrong.route
    least = wrong.least and not is_alike(failure(program, False, only), wrong)
    found = failure(program, least, only)
    if not is_alike(found, wrong):  # it fails in this company only
        return program, wrong
    assert found is not None
    was = None
    while program != was:
        was = program
        for smaller in smaller_programs(program):
            again = failure(smaller, least, only)
            if again is not None and is_alike(again, wrong):
                program, found = smaller, again
                break
    return program, found


def is_alike(found: Wrong | None, wrong: Wrong) -> bool:
    if found is None or found.route != wrong.route:
        return False
    if not wrong.is_refused:
        return not found.is_refused
    return NAME.sub("", str(found.found))[:60] == NAME.sub("", str(wrong.found))[:60]


def smaller_programs(program: Program) -> Iterator[Program]:
    for place in reversed(range(1, len(program.statements))):
        yield program.without(place)
    if len(program.returned) > 1:
        for name in program.returned:
            yield replace(program, returned=(name,))
    yield from _without_a_line(program)
    yield from _with_another_name(program)


def _without_a_line(program: Program) -> Iterator[Program]:
    """Of statements of several lines."""
    for place, statement in enumerate(program.statements):
        lines = statement.splitlines()
        if "sr.custom_" in statement:  # NumPy does not look at the rules, and would not miss a line of theirs
            continue
        for i in range(1, len(lines)):
            fewer = "\n".join([*lines[:i], *lines[i + 1 :]])
            smaller = replace(
                program, statements=(*program.statements[:place], fewer, *program.statements[place + 1 :])
            )
            try:
                compile(smaller.source, "<program>", "exec")
            except SyntaxError:
                continue
            yield smaller


def _with_another_name(program: Program) -> Iterator[Program]:
    """With a variable in the place of one that was made later, so that this one may be left out."""
    for place in range(1, len(program.statements)):
        earlier = [name for name in program.returned if any(name in names_in(s) for s in program.statements[:place])]
        for name in sorted(names_in(program.statements[place])):
            if name not in earlier:
                continue
            for other in earlier[: earlier.index(name)]:
                changed = NAME.sub(lambda m, o=other, n=name: o if m[0] == n else m[0], program.statements[place])
                yield replace(
                    program, statements=(*program.statements[:place], changed, *program.statements[place + 1 :])
                )


def as_script(program: Program, wrong: Wrong) -> str:
    """What to paste and run; the answer that it should print is below."""
    helpers = "\n\n".join(_source(helper) for helper in (elements, total, weights, cotangent, dot, along_line))
    modules = sorted({path.rpartition(".")[0] for path in LEAST}) if wrong.least else []
    is_single = wrong.route == "single"
    return SCRIPT.format(
        imports="".join(f"import shiftreset_ad.{module}\n" for module in modules),
        single="np.float32" if is_single else "np.float64",
        program=program.source,
        helpers=helpers,
        x=program.x,
        v=program.v,
        thresholds="".join(f"sr.{path} = {least}\n" for path, least in LEAST.items()) if wrong.least else "",
        route=_asked(program, wrong),
    ) + indented(f"{wrong}", "# ")


def _asked(program: Program, wrong: Wrong) -> str:
    if wrong.route == "values":
        return IN_VALUES.format(names=program.returned)
    name = {"single": "grad", "differences": "jvp", "second differences": "forward_over_forward"}.get(
        wrong.route, wrong.route
    )
    return f"{_source(ROUTES[name].function)}\n\nprint({name}(f, several, x, v))"


def _source(function: Callable[..., object]) -> str:
    lines = inspect.getsource(function).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("@"))
