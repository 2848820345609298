"""Random programs with all kinds of control, as functions whose source is known."""

import linecache
from itertools import count

NAMES = ("a", "b", "c", "d")
_numbers = count()


def function_from(text, **globals_):
    """The function `f` of a program, whose text is the source that is found for it."""
    filename = f"<program {next(_numbers)}>"
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    exec(compile(text, filename, "exec"), globals_)
    return globals_["f"]


class Programs:
    """A writer of programs. Pure ones have no effects, and their loops and branches can be written down."""

    def __init__(self, rng, is_pure):
        self.rng = rng
        self.is_pure = is_pure
        self.lines = []
        self.loops = 0
        self.names = count()

    def text(self):
        parameters = ", ".join(NAMES)
        self.lines = [f"def f({parameters}, n, xs):"]
        for _ in range(self.rng.randint(1, 4)):
            self.statement(1, 3)
        if self.rng.random() < 0.9:
            self.add(1, f"return {self.number(1)}, {', '.join(NAMES)}")
        return "\n".join(self.lines) + "\n"

    def add(self, indent, line):
        self.lines.append("    " * indent + line)

    def block(self, indent, depth):
        for _ in range(self.rng.randint(1, 3)):
            self.statement(indent, depth - 1)

    def statement(self, indent, depth):
        simple = [self.assign, self.assign, self.augment]
        nested = [self.branch, self.branch, self.while_loop, self.for_loop, self.for_items, self.inner, self.generated]
        if not self.is_pure:
            simple += [self.effect, self.effect, self.subscript]
            nested += [self.try_, self.with_, self.comprehension]
        if self.rng.random() < 0.06:
            simple = [self.return_]
        elif self.loops and self.rng.random() < 0.15:
            simple, nested = [self.jump], [self.jump_under_test] * 2
        self.rng.choice(simple + nested if depth > 0 else simple)(indent, depth)

    def assign(self, indent, depth):
        self.add(indent, f"{self.rng.choice(NAMES)} = {self.number(2)}")

    def augment(self, indent, depth):
        self.add(indent, f"{self.rng.choice(NAMES)} {self.rng.choice(['+=', '-='])} {self.number(1)}")

    def effect(self, indent, depth):
        self.add(indent, f"log({self.number(1)})")

    def subscript(self, indent, depth):
        self.add(indent, f"xs[{self.rng.randint(0, 2)}] = {self.number(1)}")

    def return_(self, indent, depth):
        self.add(indent, f"return {self.number(1)}")

    def jump(self, indent, depth):
        self.add(indent, self.rng.choice(["break", "continue"]))

    def jump_under_test(self, indent, depth):
        self.add(indent, f"if {self.test(1)}:")
        self.add(indent + 1, self.rng.choice(["break", "continue", "break", f"return {self.number(1)}"]))

    def branch(self, indent, depth):
        self.add(indent, f"if {self.test(2)}:")
        self.block(indent + 1, depth)
        if self.rng.random() < 0.2:
            self.add(indent, f"elif {self.test(1)}:")
            self.block(indent + 1, depth)
        if self.rng.random() < 0.5:
            self.add(indent, "else:")
            self.block(indent + 1, depth)

    def while_loop(self, indent, depth):
        i, most = f"i{next(self.names)}", self.rng.randint(1, 4)
        self.add(indent, f"{i} = 0")
        test = self.rng.choice([f"{i} < {most}", f"{i} < {most} and {self.test(1)}", f"({i} < {most}) and a < 50"])
        endless = self.rng.random() < 0.15
        self.add(indent, f"while {'True' if endless else test}:")
        self.add(indent + 1, f"{i} += 1")
        if endless:
            self.add(indent + 1, f"if {i} > {most} or {self.test(1)}: break")
        self.loop_body(indent, depth)

    def for_loop(self, indent, depth):
        i = self.rng.choice([f"i{next(self.names)}", "c"])
        ends = self.rng.choice(["n", "3", "1, n", "n, 0, -1", "0, n, 2"])
        self.add(indent, f"for {i} in range({ends}):")
        self.loop_body(indent, depth)

    def for_items(self, indent, depth):
        i = f"i{next(self.names)}" if self.rng.random() < 0.5 else "d"
        over = "xs" if self.is_pure else self.rng.choice(["xs", "iter(xs)", "items(xs)", "list(xs)"])
        self.add(indent, f"for {i} in {over}:")
        self.loop_body(indent, depth)

    def generated(self, indent, depth):
        """A loop over a generator, which sees the variables that the loop binds."""
        name, i = f"g{next(self.names)}", self.rng.choice([f"i{next(self.names)}", "d"])
        outer, self.loops = self.loops, 0
        self.add(indent, f"def {name}(x, m):")
        if self.rng.random() < 0.3:
            self.add(indent + 1, self.rng.choice([f"yield {self.number(1)}", "yield from xs", "yield"]))
        self.add(indent + 1, "k = 0")
        self.add(indent + 1, f"while {self.rng.choice(['k < m', f'k < m and {self.test(1)}'])}:")
        self.add(indent + 2, "k += 1")
        if self.rng.random() < 0.4:
            self.add(indent + 2, f"if {self.test(1)}: {self.rng.choice(['continue', 'return', 'break'])}")
        self.add(indent + 2, self.rng.choice(["yield x", f"yield {self.number(1)}", "yield x + k"]))
        self.add(indent + 2, f"x = {self.number(1)}")
        self.loops = outer
        call = f"{name}({self.number(1)}, {self.rng.choice(['n', '3'])})"
        is_counted = self.rng.random() < 0.25
        self.add(indent, f"for {f'(c, {i})' if is_counted else i} in {f'enumerate({call})' if is_counted else call}:")
        self.add(indent + 1, f"{i} = 1.5 if {i} is None else {i}")
        self.loop_body(indent, depth)

    def loop_body(self, indent, depth):
        self.loops += 1
        self.block(indent + 1, depth)
        self.loops -= 1
        if self.rng.random() < 0.2:
            self.add(indent, "else:")
            self.block(indent + 1, depth)

    def inner(self, indent, depth):
        name, variable = f"g{next(self.names)}", self.rng.choice(NAMES)
        outer, self.loops = self.loops, 0
        self.add(indent, f"def {name}(x):")
        if self.rng.random() < 0.4:
            self.add(indent + 1, f"nonlocal {variable}")
            self.add(indent + 1, f"{variable} = x + 1")
        else:
            self.add(indent + 1, f"if x > {variable}: return x - 1")
        self.add(indent + 1, f"return x + {variable}")
        self.loops = outer
        if self.rng.random() < 0.3:
            self.assign(indent, depth)
        self.add(indent, f"{self.rng.choice(NAMES)} = {name}({self.number(1)})")

    def try_(self, indent, depth):
        self.add(indent, "try:")
        self.block(indent + 1, depth)
        if self.rng.random() < 0.6:
            self.add(indent, "except ZeroDivisionError:")
            self.block(indent + 1, depth)
            if self.rng.random() < 0.5:
                return
        self.add(indent, "finally:")
        self.effect(indent + 1, depth)

    def with_(self, indent, depth):
        self.add(indent, f"with manager({self.number(1)}):")
        self.block(indent + 1, depth)

    def comprehension(self, indent, depth):
        self.add(indent, f"log([{self.number(1)} if e > {self.number(0)} else e for e in xs if {self.test(1)}])")

    def number(self, depth):
        rng = self.rng
        if depth == 0 or rng.random() < 0.3:
            return rng.choice([*NAMES, *NAMES, "n", "1", "2", "3.0", "xs[0]"])
        kind = rng.random()
        if kind < 0.6:
            return f"({self.number(depth - 1)} {rng.choice('+-*')} {self.number(depth - 1)}) % 97"
        if kind < 0.75:
            return f"({self.number(depth - 1)} if {self.test(depth - 1)} else {self.number(depth - 1)})"
        if kind < 0.85 or self.is_pure:
            return f"abs({self.number(depth - 1)})"
        return f"({self.number(depth - 1)}) / ({self.number(depth - 1)})"

    def test(self, depth):
        rng = self.rng
        kind = rng.random()
        if depth == 0 or kind < 0.5:
            return f"{self.number(0)} {rng.choice(['<', '>', '<=', '>=', '==', '!='])} {self.number(1)}"
        if kind < 0.6:
            return f"{self.number(0)} < {self.number(0)} <= {self.number(0)}"
        if kind < 0.85:
            return f"({self.test(depth - 1)} {rng.choice(['and', 'or'])} {self.test(depth - 1)})"
        return f"not {self.test(depth - 1)}"
