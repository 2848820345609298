"""Simple statements of random programs: they bind a variable, or write to an array, a list, a dict or an object."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.staging.programs.expressions import Expressions


@dataclass
class Scope:
    """Where a statement stands: its loops, and whether an answer leaves the function that is asked about."""

    depth: int
    loops: int = 0
    answers: str | None = "whole"  # what `return` returns: the whole answer, a scalar, or nothing as it is forbidden
    functions: int = 0
    may_jump: bool = True
    is_outermost: bool = False


class Simple(Expressions):
    """A program, line by line."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self._lines: list[str] = []
        self._indent = 0

    def _add(self, line: str) -> None:
        self._lines.append("    " * self._indent + line)

    @contextmanager
    def _body(self, head: str) -> Iterator[None]:
        """The statements under a head; what they bind is forgotten."""
        self._add(head)
        self._indent += 1
        length = len(self._lines)
        with self.names.inner():
            yield
        if len(self._lines) == length:
            self._add("pass")
        self._indent -= 1

    def _bind(self, kind: str, prefix: str, value: str) -> None:
        """The value does not use the variable, which may be new."""
        self._add(f"{self._target(kind, prefix)} = {value}")

    def _target(self, kind: str, prefix: str) -> str:
        """A variable to bind: a new one, or one that has a value of this kind."""
        known = [name for name in getattr(self.names, kind) if name not in self.names.fixed]
        if known and self.rng.random() < 0.7:
            return self.rng.choice(known)
        name = self.new(prefix)
        getattr(self.names, kind).append(name)
        return name

    def _assign(self, scope: Scope) -> None:
        if self.names.arrays and self.rng.random() < 0.3:
            self._bind("arrays", "w", self.array(2))
        else:
            self._bind("scalars", "s", self.scalar(2))

    def _augment(self, scope: Scope) -> None:
        known = [name for name in self.names.scalars if name not in self.names.fixed]
        if not known:
            self._assign(scope)
            return
        self._add(f"{self.rng.choice(known)} {self.rng.choice(('+=', '-=', '*='))} {self.scalar(1)}")

    def _assign_many(self, scope: Scope) -> None:
        known = [name for name in self.names.scalars if name not in self.names.fixed]
        if len(known) < 2:
            self._assign(scope)
            return
        one, other = self.rng.sample(known, 2)
        self._add(f"{one}, {other} = {self.scalar(1)}, {self.scalar(1)}")

    def _assign_twice(self, scope: Scope) -> None:
        value = self.scalar(1)
        self._add(f"{self._target('scalars', 's')} = {self._target('scalars', 's')} = {value}")

    def _share(self, scope: Scope) -> None:
        """Another name for an array, or a view, which writes to the array show in."""
        if not self.names.own:
            self._write_array(scope)
            return
        name = self.new("view")
        self._add(f"{name} = {self.rng.choice(self.names.own)}{self.rng.choice(('', '', '[:]', '[::-1]'))}")
        for names in (self.names.own, self.names.arrays):
            names.append(name)
        self.names.fixed.add(name)
        if self.rng.random() < 0.5:
            self._add(f"{name} {self.rng.choice(('+=', '*='))} {self.scalar(1)}")

    def _share_container(self, scope: Scope) -> None:
        """Another name for a list, a dict or an object, in which a write by one of the names shows."""
        kind = self.rng.choice([kind for kind in ("lists", "dicts", "objects") if getattr(self.names, kind)] or [""])
        if not kind:
            self._container(scope)
            return
        known, name = getattr(self.names, kind), self.new("same")
        self._add(f"{name} = {self.rng.choice(known)}")
        known.append(name)
        self.names.fixed.add(name)
        if kind == "objects":
            self._add(f"{name}.value = {self.scalar(1)}")
        else:
            self._add(f"{name}[{'0' if kind == 'lists' else repr('p')}] = {self.scalar(1)}")

    def _write_elsewhere(self, scope: Scope) -> None:
        """A function writes to its argument, or to an array that it is given, at a mask or at two places at once."""
        if not self.names.own:
            self._write_array(scope)
            return
        name, value = self.rng.choice(self.names.own), self.scalar(1)
        line = self.rng.choice(
            (
                f"put({name}, {value})",
                f"{name}[{name} > {self.scalar(0)}] = {value}",
                f"{name}[0], {name}[-1] = {name}[-1], {value}",
                f"{name}[{self.index()}:] -= {value}",
                f"np.add.at({name}, [0, 0], {value})",
            )
        )
        self._add(line)

    def _walrus(self, scope: Scope) -> None:
        name, value = self.new("w"), self.scalar(1)
        self._bind("scalars", "s", f"{name} if ({name} := {value}) > {self.scalar(0)} else {self.scalar(0)}")
        self.names.scalars.append(name)

    def _write_array(self, scope: Scope) -> None:
        if not self.names.arrays:
            self._assign(scope)
            return
        if not self.names.own or self.rng.random() < 0.3:
            name = self.new("own")
            made = self.rng.choice((f"{self.array(0)} * 1.0", f"{self.array(0)}.copy()", "zeros(len(u))"))
            self._add(f"{name} = {made}")
            self.names.own.append(name)
            self.names.arrays.append(name)
            self.names.fixed.add(name)
            return
        name = self.rng.choice(self.names.own)
        where = self.rng.choice(("0", "-1", self.index(), self.index(), ":", "1:"))
        operator = self.rng.choice(("=", "=", "+=", "*="))
        if self.rng.random() < 0.15:
            self._add(f"{name} {self.rng.choice(('+=', '*=', '-='))} {self.array(1)} * {self.scalar(0)}")
        else:
            self._add(f"{name}[{where}] {operator} {self.scalar(1)}")

    def _integer(self, scope: Scope) -> None:
        self._bind("integers", "k", self.integer(1))

    def _flag(self, scope: Scope) -> None:
        self._bind("flags", "is", self.test(1))

    def _container(self, scope: Scope) -> None:
        kind = self.rng.choice(("pairs", "dicts", "lists"))
        one, other = self.scalar(1), self.scalar(1)
        text = {"pairs": f"({one}, {other})", "dicts": f"{{'p': {one}, 'q': {other}}}", "lists": f"[{one}, {other}]"}
        self._bind(kind, kind[:-1], text[kind])

    def _write_container(self, scope: Scope) -> None:
        if self.names.dicts and self.rng.random() < 0.5:
            self._add(
                f"{self.rng.choice(self.names.dicts)}[{self.rng.choice(('chr(112)', repr('q')))}] = {self.scalar(1)}"
            )
        elif self.names.lists:
            name = self.rng.choice(self.names.lists)
            if self.rng.random() < 0.3 and not scope.loops:
                self._add(f"{name}.append({self.scalar(1)})")
            else:
                operator = self.rng.choice(("=", "=", "+="))
                self._add(f"{name}[{self._place()}] {operator} {self.scalar(1)}")
        else:
            self._container(scope)

    def _place(self) -> str:
        """An index of a list with two items, or more."""
        return self.rng.choice(("0", "1", "-1", f"({self.integer(0)}) % 2", f"-1 - ({self.integer(1)}) % 2"))

    def _object(self, scope: Scope) -> None:
        if self.names.objects and self.rng.random() < 0.7:
            name = self.rng.choice(self.names.objects)
            if self.rng.random() < 0.5:
                self._add(f"{name}.value = {self.scalar(1)}")
            else:
                self._bind("scalars", "s", f"{name}.move({self.scalar(1)})")
        else:
            self._bind("objects", "cell", f"Cell({self.scalar(1)})")

    def _state(self, scope: Scope) -> None:
        """An object whose attributes, items and slots change, by methods, by functions and by other names."""
        if not self.names.states or self.rng.random() < 0.2:
            self._bind("states", "state", f"State({self.scalar(1)}, {self.scalar(0)})")
            return
        name, value = self.rng.choice(self.names.states), self.scalar(1)
        line = self.rng.choice(
            (
                f"{name}.x = {value}",
                f"{name}.x *= 0.5",
                f"{name}.x, {name}.pair.y = {name}.pair.y, {value}",
                f"{name}.pair.y -= {value}",
                f"{name}.recent.append({value})",
                f"{name}.recent[0] = {value}",
                f"{name}.items[{self._place()}] = {value}",
                f"{name}.items = [{value}, {name}.x]",
                f"{name}.named['k'] += 1",
                f"{name}.named['p'] = {value}",
                f"{name}.last = {value}",
                f"{name}.first = {value}",
                f"{name}.step({value})",
                f"{name}.count({value})",
                f"{name}.shared.x = {value}",
                f"{name}.shared = {name}",
                f"setattr({name}, 'x', {value})",
            )
        )
        self._add(line)
        if self.rng.random() < 0.3:
            self._bind("scalars", "s", f"{name}.total() + {name}.count(1)")

    def _assert(self, scope: Scope) -> None:
        self._add(f"assert {self.scalar(0)} < {self.rng.choice(('50.0', '5.0', '2.0'))}, 'too large'")
