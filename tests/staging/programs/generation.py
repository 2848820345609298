"""A writer of random programs: a module with globals, helpers, a class, and a function `f(x, u, n)` inside another.

`x` is a float, `u` an array of one to four elements, `n` a small integer. `change()` changes what the program sees
beside its arguments: a global, an element of a list, an attribute and a variable of the function around `f`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.staging.programs.expressions import Names
from tests.staging.programs.growing import Growing
from tests.staging.programs.modules import AROUND, END, HEAD
from tests.staging.programs.statements import Scope

CONTEXTS = "np.errstate(all='ignore')", "suppress(ValueError)", "np.errstate(), suppress(KeyError, ValueError)"


class Writer(Growing):
    """A program with statements that are nested in others."""

    def __init__(self, rng: random.Random, statements: int = 5, depth: int = 3, has_arrays: bool = True) -> None:
        """`f` has at most so many statements beside those in others, which are nested to this depth."""
        super().__init__(rng)
        self._growing = rng.choice((0.0, 1.5, 6.0))  # how often lists grow
        self._statements, self._depth, self._has_arrays = statements, depth, has_arrays

    # The whole

    def text(self) -> str:
        rng = self.rng
        constants = {name: self.constant() for name in ("rate", "limit", "gain", "scale")}
        table = ", ".join(self.constant() for _ in range(3))
        self._lines = [HEAD.format(table=table, part=rng.choice(("0.25", "0.5")), **constants)]
        for _ in range(rng.choice((0, 1, 1, 2))):
            self._helper()
        if rng.random() < 0.25:
            self._recursive()
        self._lines.append(AROUND.format(**constants))
        self._indent = 1
        with self._body("def f(x, u, n):"):
            self.names = Names(["x"], ["u"] if self._has_arrays else [], ["n"])
            self.names.fixed.add("n")
            self._add(f"a = {self.scalar(1)}")
            self.names.scalars.append("a")
            self._add(f"b = {self.scalar(1)}")
            self.names.scalars.append("b")
            for _ in range(rng.randint(2, self._statements)):
                self._statement(Scope(self._depth, is_outermost=True))
            self._return(Scope(depth=0))
        self._lines.append(END)
        return "\n".join(self._lines)

    def _helper(self) -> None:
        name = self.new("helper")
        self._lines.append("")
        with self._body(f"def {name}(p, q=0.5):"):
            self.names = Names(["p", "q"], [], [])
            for _ in range(self.rng.randint(1, 3)):
                self._statement(Scope(depth=2, answers="scalar", functions=9))
            self._add(f"return {self.scalar(2)}")
        self._lines.append("")
        self.helpers.append(name)
        self.names = Names()

    def _recursive(self) -> None:
        name = self.new("again")
        self.names = Names(["p"], [], ["depth"])
        self._lines.append("")
        self._lines += [
            f"def {name}(p, depth):",
            f"    if depth < 1 or {self.test(1)}:",
            f"        return {self.scalar(1)}",
            f"    return {self.scalar(1)} + 0.5 * {name}({self.scalar(1)}, depth - 1)",
            "",
        ]
        self.recursive.append(name)
        self.names = Names()

    # Statements

    def _block(self, scope: Scope) -> None:
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            self._statement(scope)

    def _statement(self, scope: Scope) -> None:
        simple: list[tuple[float, Callable[[Scope], None]]] = [
            (6, self._assign),
            (3, self._augment),
            (1.5, self._assign_many),
            (2 if scope.is_outermost else 4, self._write_array),
            (1, self._integer),
            (1, self._flag),
            (1, self._container),
            (1, self._write_container),
            (0.7, self._object),
            (1.5, self._state),
            (0.4, self._raise),
            (0.3, self._assert),
            (0.6, self._assign_twice),
            (0.7, self._share),
            (0.5, self._walrus),
            (0.5, self._share_container),
            (0.8, self._write_elsewhere),
            (self._growing, self._grow),
        ]
        nested: list[tuple[float, Callable[[Scope], None]]] = [
            (6, self._if),
            (3, self._while),
            (3, self._for),
            (1, self._gathering),
            (1, self._try),
            (0.3, self._match),
            (1, self._with),
            (0.5, self._for_pairs),
            (0.5 * self._growing, self._over_a_list),
        ]
        if scope.functions < 2:
            nested += [(1.2, self._inner), (0.8, self._nonlocal), (0.6, self._lambda)]
            nested += [(0.6, self._inner_recursive), (0.4, self._inner_generator)]
        if scope.loops:
            simple.append((2.5, self._jump))
        if scope.answers is not None and not scope.is_outermost:
            simple.append((0.8, self._return_under_test))
        choices = simple + (nested if scope.depth else [])
        (found,) = self.rng.choices([make for _, make in choices], [weight for weight, _ in choices])
        found(scope)

    def _raise(self, scope: Scope) -> None:
        if scope.is_outermost:
            self._if(scope)
            return
        self._add(f"if {self.test(1)}:")
        self._add(
            f"    raise {self.rng.choice(('ValueError', 'ZeroDivisionError', 'KeyError'))}('not {self.new('case')}')"
        )

    def _jump(self, scope: Scope) -> None:
        if not scope.may_jump:
            self._assign(scope)
            return
        if self.rng.random() < 0.1:
            self._add(self.rng.choice(("break", "continue")))
        else:
            self._add(f"if {self.test(1)}:")
            self._add(f"    {self.rng.choice(('break', 'continue'))}")

    def _return_under_test(self, scope: Scope) -> None:
        self._add(f"if {self.test(1)}:")
        self._indent += 1
        self._return(scope)
        self._indent -= 1

    def _return(self, scope: Scope) -> None:
        if scope.answers == "whole":
            other = self.array(1) if self._has_arrays else self.scalar(1)
            self._add(f"return {self.scalar(2)}, {other}, {self.integer(0)}")
        else:
            self._add(f"return {self.scalar(2)}")

    def _deeper(self, scope: Scope, **changes: object) -> Scope:
        return Scope(**{**vars(scope), "depth": scope.depth - 1, "is_outermost": False, **changes})  # type: ignore[arg-type]

    def _if(self, scope: Scope) -> None:
        inner = self._deeper(scope)
        with self._body(f"if {self.test(2)}:"):
            self._block(inner)
        has_others = False
        while self.rng.random() < 0.25:
            has_others = True
            with self._body(f"elif {self.test(1)}:"):
                self._block(inner)
        if has_others and not scope.is_outermost and self.rng.random() < 0.15:
            self._add("else:")
            self._add(f"    raise ValueError('not {self.new('case')}')")
        elif self.rng.random() < 0.5:
            with self._body("else:"):
                self._block(inner)
        elif self.rng.random() < 0.25:
            name = self.new("late")  # bound in both branches, or in one of them only
            self._add(f"if {self.test(1)}:")
            self._add(f"    {name} = {self.scalar(1)}")
            if self.rng.random() < 0.8:
                self._add("else:")
                self._add(f"    {name} = {self.scalar(0)}")
            self.names.scalars.append(name)

    def _while(self, scope: Scope) -> None:
        rng = self.rng
        if rng.random() < 0.35 and [name for name in self.names.scalars if name not in self.names.fixed]:
            name = rng.choice([name for name in self.names.scalars if name not in self.names.fixed])
            limit = rng.choice(("0.1", "0.3", "1.0", "RATE"))
            self._add(f"while 1e9 > abs({name}) > abs({limit}) + 0.05:")
            self._indent += 1
            self._add(f"{name} = {rng.choice(('0.5', '-0.4', '0.3'))} * {name}")
            self._indent -= 1
            with self.names.fixed_too(name), self._under():
                self._loop_body(scope)
            self._else(scope)
            return
        count, most = self.new("count"), rng.randint(1, 5)
        self._add(f"{count} = 0")
        is_endless = rng.random() < 0.15
        test = rng.choice(
            (f"{count} < {most}", f"{count} < {most} and {self.test(1)}", f"{self.test(0)} and {count} < {most}")
        )
        self._add(f"while {'True' if is_endless else test}:")
        self._indent += 1
        self._add(f"{count} += 1")
        if is_endless:
            self._add(f"if {count} > {most} or {self.test(1)}:")
            self._add("    break")
        self._indent -= 1
        self.names.integers.append(count)
        with self.names.fixed_too(count), self._under():
            self._loop_body(scope)
        self._else(scope)

    @contextmanager
    def _under(self) -> Iterator[None]:
        """The statements under a head that is there."""
        self._indent += 1
        with self.names.inner():
            yield
        self._indent -= 1

    def _loop_body(self, scope: Scope) -> None:
        self._block(self._deeper(scope, loops=scope.loops + 1))

    def _else(self, scope: Scope) -> None:
        """Some loops do something if no `break` ends them."""
        if self.rng.random() < 0.2:
            with self._body("else:"):
                self._block(self._deeper(scope))

    def _for(self, scope: Scope) -> None:
        rng = self.rng
        kind = rng.random()
        names = self.names
        if kind < 0.5:
            i = self.new("i")
            ends = rng.choice(("3", "0, 4, 2", f"abs({self.integer(0)} - 1)", f"min({self.integer(0)}, 4)"))
            if "n" in names.integers and rng.random() < 0.5:
                ends = rng.choice(("n", "1, n", "n, 0, -1", "n, 5"))
            head, bound, kinds = f"for {i} in range({ends}):", [i], "integers"
        elif kind < 0.75:
            e = self.new("e")
            items = rng.choice(
                [self.array(0) if names.arrays else "TABLE", "TABLE", f"({self.scalar(0)}, {self.scalar(0)})"]
                + [f"list({name})" for name in names.pairs[:1]]
                + names.lists[:1]
            )
            if rng.random() < 0.4 and not items.startswith("("):
                ends = (f":{self.integer(0)}", f"{self.integer(0)}:", f"{self.integer(0)}:{self.integer(0)}")
                items = f"{items}[{rng.choice(ends)}]"
            head, bound, kinds = f"for {e} in {items}:", [e], "scalars"
        elif kind < 0.9:
            i, e = self.new("i"), self.new("e")
            head, bound, kinds = f"for {i}, {e} in enumerate({self.array(0) if names.arrays else 'TABLE'}):", [i, e], ""
        else:
            e, o = self.new("e"), self.new("e")
            head, bound, kinds = f"for {e}, {o} in zip(TABLE, ({self.scalar(0)}, {self.scalar(0)})):", [e, o], "scalars"
        with self._body(head):
            for name in bound:
                getattr(self.names, kinds or ("integers" if name.startswith("i") else "scalars")).append(name)
            with self.names.fixed_too(*bound):
                self._loop_body(scope)
        self._else(scope)

    def _for_pairs(self, scope: Scope) -> None:
        """A loop over what is no list."""
        e = self.new("e")
        heads = [
            f"for {e} in pieces(TABLE, {self.scalar(0)}):",
            f"for {e} in reversed([{self.scalar(0)}, {self.scalar(1)}]):",
        ]
        if self.names.dicts:
            name = self.rng.choice(self.names.dicts)
            heads += [f"for {e} in {name}.values():", f"for {self.new('key')}, {e} in {name}.items():"]
        with self._body(self.rng.choice(heads)):
            self.names.scalars.append(e)
            with self.names.fixed_too(e):
                self._loop_body(scope)

    def _gathering(self, scope: Scope) -> None:
        """A list that a loop fills, and its sum."""
        name = self.new("found")
        self._add(f"{name} = []")
        with self._body(f"for e in {self.array(0) if self.names.arrays else 'TABLE'}:"):
            self.names.scalars.append("e")
            if self.rng.random() < 0.3:
                self._add(f"if {self.test(1)}:")
                self._add("    continue")
            self._add(f"{name}.append({self.scalar(1)})")
        self._bind("scalars", "s", f"sum({name}) + 0.0")

    def _try(self, scope: Scope) -> None:
        inner = self._deeper(scope)
        with self._body("try:"):
            self._block(inner)
        if self.rng.random() < 0.75:
            with self._body(f"except {self.rng.choice(('ValueError', 'ZeroDivisionError', 'Exception'))}:"):
                self._block(inner)
            if self.rng.random() < 0.3:
                with self._body("else:"):
                    self._block(inner)
        else:
            with self._body("finally:"):
                self._block(self._deeper(scope, may_jump=self.rng.random() < 0.2, answers=None))
                if self.rng.random() < 0.2:
                    self._raise(self._deeper(scope))

    def _with(self, scope: Scope) -> None:
        late = self.new("late")
        is_bound = self.rng.random() < 0.5
        with self._body(f"with {self.rng.choice(CONTEXTS)}:"):
            self._block(self._deeper(scope))
            if is_bound:
                self._add(f"{late} = {self.scalar(1)}")
        if is_bound:
            self.names.scalars.append(late)

    def _match(self, scope: Scope) -> None:
        inner = self._deeper(scope)
        self._add(f"match {self.integer(0)}:")
        self._indent += 1
        for pattern in ("0 | 1", "2", "_"):
            with self._body(f"case {pattern}:"):
                self._block(inner)
        self._indent -= 1

    def _inner(self, scope: Scope) -> None:
        name = self.new("inner")
        with self._body(f"def {name}(p):"):
            self.names.fixed |= {*self.names.scalars, *self.names.arrays, *self.names.integers, *self.names.flags}
            self.names.fixed |= {
                *self.names.pairs,
                *self.names.lists,
                *self.names.dicts,
                *self.names.objects,
                *self.names.states,
            }
            self.names.grown = []
            self.names.scalars.append("p")
            self._block(self._deeper(scope, loops=0, answers="scalar", functions=scope.functions + 1))
            self._add(f"return {self.scalar(1)}")
        if self.rng.random() < 0.3:
            self._statement(self._deeper(scope, depth=0))
        self._bind("scalars", "s", f"{name}({self.scalar(1)})")

    def _nonlocal(self, scope: Scope) -> None:
        known = [name for name in self.names.scalars if name not in self.names.fixed]
        if not known or scope.functions:
            self._assign(scope)
            return
        name, variable = self.new("mover"), self.rng.choice(known)
        with self._body(f"def {name}(p):"):
            self._add(f"nonlocal {variable}")
            self.names.scalars.append("p")
            if self.rng.random() < 0.5:
                self._add(f"if {self.test(1)}:")
                self._add(f"    {variable} = {self.scalar(1)}")
            else:
                self._add(f"{variable} = {self.scalar(1)}")
            self._add(f"return {self.scalar(0)}")
        self._bind("scalars", "s", f"{name}({self.scalar(1)})")

    def _inner_recursive(self, scope: Scope) -> None:
        """A function that calls itself goes over the elements of an array, or down from a number."""
        name = self.new("again")
        array = self.rng.choice(self.names.arrays) if self.names.arrays else "TABLE"
        with self._body(f"def {name}(i, p):"):
            self.names.scalars.append("p")
            self.names.integers.append("i")
            self.names.fixed |= {*self.names.scalars, *self.names.integers} - {"p"}
            self._add(f"if i >= len({array}) or {self.test(1)}:")
            self._add(f"    return {self.scalar(1)}")
            if self.rng.random() < 0.4:
                self._statement(self._deeper(scope, depth=0, loops=0, answers="scalar", functions=9))
            self._add(f"return {array}[i] * 0.3 + {name}(i + 1, {self.scalar(1)}) * 0.5")
        self._bind("scalars", "s", f"{name}({self.rng.choice(('0', '0', '1', '-1'))}, {self.scalar(1)})")

    def _inner_generator(self, scope: Scope) -> None:
        name = self.new("stream")
        with self._body(f"def {name}(p):"):
            self.names.scalars.append("p")
            with self._body(f"for e in {self.array(0) if self.names.arrays else 'TABLE'}:"):
                self.names.scalars.append("e")
                self._add(f"if {self.test(1)}:")
                self._add("    return")
                self._add(f"yield {self.scalar(1)}")
        self._bind("scalars", "s", f"sum({name}({self.scalar(1)})) + 0.0")

    def _lambda(self, scope: Scope) -> None:
        name = self.new("small")
        with self.names.inner():
            self.names.scalars.append("p")
            value = self.scalar(2)
        self._add(f"{name} = lambda p: {value}")
        self._bind("scalars", "s", f"{name}({self.scalar(1)}) + {name}({self.scalar(0)})")
