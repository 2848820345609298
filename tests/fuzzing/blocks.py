"""Statements of several lines: branches and loops, generators, functions with rules, checkpoints, and derivatives.

Inner functions take `z`, an array of the shape of what they are called with, and return one of that shape. They are
analytic, and close over the program's arrays, some of which it has written to, or will.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fuzzing.programs import indented

if TYPE_CHECKING:
    from fuzzing.generation import Writer

INNER_WRITES = [
    "t[0] = np.sin(z[-1]) * {e}",
    "t[...] = t[::-1] * z",
    "t[1:] *= {e}",
    "t[-1] += z[0] * t[0]",
    "t[::2] = t[::-1][::2]",
    "np.add.at(t, [0, -1, 0], np.sin(z[0]))",
    "np.multiply(t, z, out=t)",
    "t = np.zeros_like(z) + t",
]


def branch(g: Writer) -> str:
    a, y = g.pick("n"), g.name()
    return (
        f"if np.sum({a}) > {g.number()}:\n    {y} = np.sin({a}) * {g.entry()}\n"
        f"else:\n    {y} = {a}[::-1] * {g.number()}"
    )


def branch_with_write(g: Writer) -> str:
    w = g.pick("w")
    return f"if {g.entry()} > {g.number()}:\n    {w} *= 0.5\nelse:\n    {w}[0] = {g.entry()}"


def loop_with_writes(g: Writer) -> str:
    w = g.pick("w")
    return f"for k in range(len({w}) - 1):\n    {w}[k + 1] += 0.5 * np.sin({w}[k])"


def loop_over_rows(g: Writer) -> str:
    return f"for row in {g.pick('w')}:\n    row *= {g.entry()}"


def loop_until(g: Writer) -> str:
    y, q = g.name(), g.entry()
    return f"{y} = {q}\nwhile abs({y}) < 1.0:\n    {y} = 1.5 * {y} + (0.2 if {y} > 0.0 else -0.2)"


def buffer_in_loop(g: Writer) -> str:
    """A plain array that is filled anew in each round."""
    a, k, y = g.pick("n"), g.name("k"), g.name()
    return (
        f"{k} = np.zeros({a}.shape)\n{y} = {a} * 0.0\n"
        f"for n in range(3):\n    {k}[...] = n + {g.number()}\n    {y} = {y} + np.sin({a}) * {k}"
    )


def row_by_row(g: Writer) -> str:
    """An array of zeros that is filled."""
    a, y = g.pick("n"), g.name()
    return f"{y} = sr.zeros((3,))\nfor n in range(3):\n    {y}[n] = {a}[n % len({a})].sum() * {g.entry()}"


def generator(g: Writer) -> str:
    """One that goes on after later writes to the array that it reads."""
    w, f, y = g.pick("w"), g.name("f"), g.name()
    return (
        f"def {f}(z):\n    for n in range(len(z)):\n        yield z[n].sum() * {g.number()}\n"
        f"g_{f[2:]} = {f}({w})\n{y} = next(g_{f[2:]})\n{w}[-1] = {g.entry()}\n{y} = np.sin({y}) + sum(g_{f[2:]})"
    )


def function(g: Writer, a: str, depth: int = 1) -> tuple[str, str]:
    """The name and the definition of an inner function for the array `a`, or for what lies as it does."""
    f = g.name("f")
    lines = [f"t = {g.smooth()}(z * {g.entry()}) * {g.factor(a)}"]
    if depth and g.chance(0.25):
        lines.append(f"t = sr.checkpoint(lambda u: np.sin(u) * {g.factor(a)} + z * u)(t)")
    if depth and g.chance(0.3):
        h, definition = custom(g, a)
        lines += [*definition.splitlines(), f"t = t + {h}(z)"]
    if g.chance(0.6):
        lines.append(g.choice(INNER_WRITES).format(e=g.entry()))
    if depth and g.chance(0.15):
        inner, definition = function(g, a, 0)
        lines += definition.splitlines()
        lines.append(f"t = t + sr.jvp({inner}, (z,), (t,))[1]" if g.chance(0.5) else f"t = t + {inner}(t)")
    return f, f"def {f}(z):\n" + indented("\n".join([*lines, "return np.tanh(t)"])).rstrip("\n")


def custom(g: Writer, a: str) -> tuple[str, str]:
    """The name and the definition of a function with rules, which may close over numbers and write to its array."""
    h = g.name("h")
    e, phi = g.choice([g.number, g.entry, lambda: g.factor(a)])(), g.choice(["sin", "exp"])
    slope = {"sin": "np.cos", "exp": "np.exp"}[phi]
    write = g.choice(["", "", "t[0] = t[0] * {e}", "t[...] = t[::-1] * {e}"])
    write = write.format(e=g.choice([g.number, g.entry])())
    way_back = write.replace("t[::-1] * ", "(t * ") + ")[::-1]" if "[...]" in write else write
    is_write = f"    {write}\n" if write else ""
    is_back = f"    {way_back}\n" if write else ""
    lines = f"def {h}(z):\n    t = np.{phi}(0.5 * z) * {e}\n{is_write}    return t\n"
    kind = g.choice(["custom_vjp", "custom_jvp", "custom_derivative"])
    lines += f"{h} = sr.{kind}({h})\n"
    if kind != "custom_jvp":
        lines += f"def {h}_bwd(z, y_bar):\n    t = y_bar * 1.0\n{is_back}"
        lines += f"    return (0.5 * t * {slope}(0.5 * z) * {e},)\n{h}.defvjp(lambda z: ({h}(z), z), {h}_bwd)\n"
    if kind != "custom_vjp":
        lines += f"def {h}_jvp(primals, tangents):\n    (z,), (z_dot,) = primals, tangents\n"
        lines += f"    t = 0.5 * z_dot * {slope}(0.5 * z) * {e}\n{is_write}    return {h}(z), t\n"
        lines += f"{h}.defjvp({h}_jvp)\n"
    return h, lines


def custom_call(g: Writer) -> str:
    a = g.pick("d")
    h, definition = custom(g, a)
    return f"{definition}{g.name()} = {h}({a}{g.choice(['', ' * 1.0', '[:]'])})"


def checkpoint(g: Writer) -> str:
    a = g.pick("d")
    f, definition = function(g, a)
    return f"{definition}\n{g.name()} = sr.checkpoint({f})({a})"


def fuse(g: Writer) -> str:
    a = g.pick("d")
    f, definition = function(g, a)
    return f"{definition}\n{g.name()} = sr.fuse(lambda z: np.sum({f}(z)))({a})"


def checkpointed_loop(g: Writer) -> str:
    a = g.pick("d")
    f, definition = function(g, a)
    step = f"lambda k, z: {f}(z) + k * {g.entry()}"
    return f"{definition}\n{g.name()} = sr.checkpointed_loop({step}, {a} * 1.0, {g.choice([1, 2, 4])}, 2)"


def plain_call(g: Writer) -> str:
    a = g.pick("d")
    f, definition = function(g, a)
    return f"{definition}\n{g.name()} = {f}({a})"


def gradient(g: Writer) -> str:
    a = g.pick("d")
    f, definition = function(g, a)
    d = g.choice(["grad", "jacfwd", "jacrev", "jacobian"])
    return f"{definition}\n{g.name()} = sr.{d}(lambda z: np.sum({f}(z) * {g.factor(a)}))({a})"


def rows(g: Writer) -> str:
    a = g.pick("d")
    f, definition = function(g, a)
    j = g.choice(["sr.jacfwd({f})({a})", "sr.jacrev({f})({a})", "sr.value_and_jacobian({f})({a})[1]"])
    return f"{definition}\n{g.name()} = {j.format(f=f, a=a)}"


def jvp(g: Writer) -> str:
    a = g.pick("d")
    f, definition = function(g, a)
    return f"{definition}\n{g.name()} = sr.jvp({f}, ({a},), ({g.like(a)},))[1]"


def deferred(g: Writer) -> str:
    """A pullback or a linear map, to be called later."""
    a = g.pick("d")
    f, definition = function(g, a)
    kind = g.choice(["vjp", "linearize"])
    p = g.name("p")
    g.deferred[p] = kind, a
    return f"{definition}\n{g.name()}, {p} = sr.{kind}({f}, {a})"


def deferred_call(g: Writer) -> str:
    """One of them called, or differentiated, after what the program has written meanwhile."""
    if not g.deferred:
        raise LookupError
    p = g.choice(sorted(g.deferred))
    kind, a = g.deferred[p]
    one, other, item = g.like(a), g.like(a), "[0]" if kind == "vjp" else ""
    y, n = g.name(), "" if kind == "linearize" else "[0]"
    return g.choice(
        [
            f"{y} = {p}({one}){item}",
            f"{y} = {p}({one}){item} * {p}({other}){item}",
            f"{y} = sr.jvp({p}, ({one},), ({other},))[1]"
            if not n
            else f"{y} = sr.jvp(lambda u: {p}(u)[0], ({one},), ({other},))[1]",
            f"{y} = sr.vjp(lambda u: {p}(u){item}, {one})[1]({other})[0]",
            f"{y} = sr.checkpoint(lambda u: {p}(u){item} * u)({one})",
        ]
    )


BLOCKS = {
    "control": (1.5, [branch, branch_with_write, loop_with_writes, loop_over_rows, loop_until, generator, row_by_row]),
    "buffers": (0.4, [buffer_in_loop]),
    "rules": (0.9, [custom_call]),
    "memory": (0.7, [checkpoint, fuse, checkpointed_loop, plain_call]),
    "derivatives": (0.8, [gradient, rows, jvp]),
    "deferred": (0.9, [deferred]),
    "deferred calls": (1.0, [deferred_call]),
}
