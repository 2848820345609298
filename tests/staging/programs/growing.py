"""Statements about lists whose length depends on values: they grow and shrink in branches and in loops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.staging.programs.statements import Scope, Simple


class Growing(Simple):
    """A program with such lists."""

    def _grow(self, scope: Scope) -> None:
        known = self.names.grown
        if not known or self.rng.random() < 0.15:
            self._make()
        elif self.rng.random() < 0.35:
            self._bind("scalars", "s", self._of_a_list(self.rng.choice(known)))
        else:
            self._change(self.rng.choice(known))

    def _make(self) -> None:
        name = self.new("grown")
        made = self.rng.choice(("[]", f"[{self.scalar(0)}]", f"[{self.scalar(1)}, 0]", "", ""))
        if not made:
            before = list(self.names.scalars)
            self.names.scalars.append("e")
            made = f"[{self.scalar(1)} for e in TABLE if {self.test(1)}]"
            self.names.scalars = before
        self._add(f"{name} = {made}")
        self.names.grown.append(name)

    def _change(self, name: str) -> None:
        one, other = self.scalar(1), self.scalar(0)
        changes = (
            f"{name}.append({one})",
            f"{name}.append({one})",
            f"{name} = {name} + [{one}]",
            f"{name} = [*{name}, {one}, {other}]",
            f"{name} = [{one}]",
            f"{(last := self.new('last'))}, {name} = sum({name}, 0.0), []",
            f"{(other_name := self.new('grown'))} = {name}",
            f"{name} += [{one}, {other}]",
            f"{name}.extend([{one}])",
            f"if {self.test(1)}: {name}.append({one})",
            f"if {name}: {name}.pop()",
            f"if len({name}) > 1: {name}.pop(0)",
            f"if {name}: {name}[-1] = {one}",
            f"if len({name}) > 1: {name}[{self.rng.choice(('0', '1', '-2'))}] += {one}",
            f"while {name} and {name}[-1] > {other}: {name}.pop()",
            f"{name}.clear()",
            f"{name}.insert(0, {one})",
        )
        change = self.rng.choice(changes)
        self._add(change)
        if change.startswith(last):
            self.names.scalars.append(last)
        if change.startswith(other_name):  # both names see what becomes of the list
            self.names.grown.append(other_name)

    def _of_a_list(self, name: str) -> str:
        values = (
            f"({name}[-1] if {name} else {self.constant()})",
            f"({name}[{self.integer(0)} % len({name})] if {name} else {self.scalar(0)})",
            f"sum({name}, 0.0)",
            f"sum(e * 0.5 for e in {name}) + 0.0",
            f"max({name}, default=0.5)",
            f"(min({name}) if len({name}) > 0 else 1.0)",
            f"0.1 * len({name})",
            f"sum({name}[1:], 0.0)",
            f"np.sum(np.array({name}))",
            f"(0.0 if isinstance({name}, list) else 1.0)",
        )
        return self.rng.choice(values)

    def _over_a_list(self, scope: Scope) -> None:
        """A loop over such a list, which does not change it."""
        if not self.names.grown:
            self._grow(scope)
            return
        name, e, i = self.rng.choice(self.names.grown), self.new("e"), self.new("i")
        heads = (
            (f"for {e} in {name}:", [e], []),
            (f"for {i}, {e} in enumerate({name}):", [e], [i]),
            (f"for {e} in reversed({name}):", [e], []),
            (f"for {i} in range(len({name})):", [], [i]),
        )
        head, scalars, integers = self.rng.choice(heads)
        with self._body(head), self._unchanged(name), self.names.fixed_too(*scalars, *integers):
            self.names.scalars += scalars
            self.names.integers += integers
            self._loop_body(scope)

    @contextmanager
    def _unchanged(self, name: str) -> Iterator[None]:
        """A block that does not see a list, which might grow for ever."""
        before, self.names.grown = self.names.grown, [other for other in self.names.grown if other != name]
        yield
        self.names.grown = before

    def _loop_body(self, scope: Scope) -> None:
        raise NotImplementedError
