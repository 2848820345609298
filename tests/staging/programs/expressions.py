"""Random expressions over the variables that a place of a program sees: scalars, arrays, integers and tests."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

KINDS = ("scalars", "arrays", "integers", "flags", "pairs", "lists", "dicts", "objects", "states", "own", "grown")


class Names:
    """The variables that have a value, by their kind. Those that are `fixed` are not bound again."""

    def __init__(self, scalars: list[str] = (), arrays: list[str] = (), integers: list[str] = ()) -> None:
        self.scalars, self.arrays, self.integers = list(scalars), list(arrays), list(integers)
        self.flags: list[str] = []
        self.pairs: list[str] = []
        self.lists: list[str] = []
        self.dicts: list[str] = []
        self.objects: list[str] = []
        self.states: list[str] = []
        self.own: list[str] = []  # arrays that the program has made, and may write to
        self.grown: list[str] = []  # lists whose length depends on values
        self.fixed: set[str] = set()

    @contextmanager
    def inner(self) -> Iterator[None]:
        """A block, whose new variables may have no value after it."""
        before = {kind: list(getattr(self, kind)) for kind in KINDS}
        fixed = set(self.fixed)
        yield
        for kind, names in before.items():
            setattr(self, kind, names)
        self.fixed = fixed

    @contextmanager
    def fixed_too(self, *names: str) -> Iterator[None]:
        """A block that does not bind these variables."""
        new = set(names) - self.fixed
        self.fixed |= new
        yield
        self.fixed -= new


class Expressions:
    """A source of expressions."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.names = Names()
        self.helpers: list[str] = []
        self.recursive: list[str] = []
        self._numbers = count()

    def new(self, prefix: str) -> str:
        return f"{prefix}{next(self._numbers)}"

    def constant(self) -> str:
        return self.rng.choice(("0.5", "1.0", "2.0", "-0.7", "0.3", "1.5", "-1.2", f"{self.rng.uniform(-2, 2):.2f}"))

    def small_integer(self) -> str:
        """A depth of calls."""
        return self.rng.choice(("2", "3", *[f"min({name}, 3)" for name in self.names.integers[:1]]))

    def index(self) -> str:
        """An index of an array, which is a constant or an integer of the program."""
        return self.rng.choice(("0", "-1", *[f"{name} % len(u)" for name in self.names.integers]))

    def scalar(self, depth: int) -> str:
        rng, names = self.rng, self.names
        if depth == 0 or rng.random() < 0.12:
            leaves = [*names.scalars] * 3 + [self.constant(), "RATE"]
            leaves += ["TABLE[1]", "SETTINGS.gain"] if rng.random() < 0.3 else []
            leaves += ["scale"] if "u" in names.arrays and rng.random() < 0.3 else []
            leaves += [f"{name}[{rng.choice('01')}]" for name in (*names.pairs, *names.lists)]
            leaves += [f"{name}['{rng.choice('pq')}']" for name in names.dicts]
            leaves += [f"{name}.value" for name in names.objects]
            leaves += [f"{name}.{part}" for name in names.states for part in ("x", "pair.y", "last", "shared.x")]
            leaves += [f"{name}[{self.index()}]" for name in names.arrays if "u" in names.arrays]
            leaves += names.integers[-1:]
            return rng.choice(leaves)
        one, other = self.scalar(depth - 1), self.scalar(depth - 1)
        made = [
            (4, lambda: f"({one} + {other})"),
            (3, lambda: f"({one} - {other})"),
            (3, lambda: f"0.5 * {one} * {other}"),
            (2, lambda: f"{one} / (1.5 + {other} * {other})"),
            (2, lambda: f"np.tanh({one})"),
            (2, lambda: f"np.sin({one})"),
            (1, lambda: f"np.exp(-({one}) ** 2)"),
            (1, lambda: f"np.sqrt(0.1 + {one} * {one})"),
            (1, lambda: f"abs({one})"),
            (1, lambda: f"-({one})"),
            (0.7, lambda: f"{one} * {self.integer(0)}"),
            (0.5, lambda: f"np.maximum({one}, {other})"),
            (0.3, lambda: f"np.clip({one}, -0.9, {self.constant()} + 2.0)"),
            (0.2, lambda: f"np.interp({one}, [-1.0, 0.5, 2.0], [0.2, 0.5, -0.3])"),
            (0.4, lambda: f"np.minimum({one}, {other})"),
            (0.4, lambda: f"np.where({one} > {other}, {one}, np.sqrt({other} * {other}))"),
            (0.4, lambda: f"min({one}, {other})"),
            (0.4, lambda: f"max({one}, {other})"),
            (0.2, lambda: f"max(abs(e) for e in ({one}, {other}))"),
            (1.5, lambda: f"({one} if {self.test(depth - 1)} else {other})"),
            (0.3, lambda: f"({one} or {other})"),
            (0.3, lambda: f"({one} and {other})"),
            (0.3, lambda: f"math.sqrt({self.rng.choice(('2.0', 'len(TABLE)'))}) * {one}"),
            (0.3, lambda: f"float({self.integer(0)}) * {one}"),
            (0.3, lambda: f"sum([{one}, {other}])"),
            (0.3, lambda: f"({one} > {other}) * {one}"),
            (0.3, lambda: f"sorted_out({one}, {other}, rest={self.scalar(0)})"),
            (0.2, lambda: f"sum(pieces([{one}, {other}], {self.scalar(0)}))"),
            (0.2, lambda: f"sorted([{one}, {other}])[0]"),
            (0.3, lambda: f"{rng.choice(('up', 'down'))}({one}, {self.small_integer()})"),
            (0.2, lambda: f"{{'p': {one}, 'q': {other}}}.get('{rng.choice('pqr')}', 0.5)"),
            (0.2, lambda: f"sum({{k: e * {one} for k, e in enumerate(TABLE)}}.values())"),
            (0.2, lambda: f"sum(e if e > {one} else {other} for e in TABLE)"),
        ]
        if names.arrays:
            made += [
                (1.5, lambda: f"np.sum({self.array(depth - 1)})"),
                (0.7, lambda: f"{self.array(0)} @ ({self.array(depth - 1)})"),
                (0.7, lambda: f"np.max({self.array(0)})"),
                (0.5, lambda: f"{self.array(0)}.mean()"),
                (0.4, lambda: f"np.sum({self.array(0)}[:{self.integer(0)}])"),
                (0.2, lambda: f"np.stack([{one}, {other}])[{self.integer(0)} % 2]"),
                (0.4, lambda: f"TABLE[{self.integer(0)} % 3] * {one}"),
                (0.3, lambda: f"GRID[{self.integer(0)} % 2, {self.integer(0)} % 3] * {one}"),
                (0.2, lambda: f"np.sum(GRID[{self.integer(0)} % 2] * {one})"),
                (0.3, lambda: f"ROWS[{self.integer(0)} % 3][{self.integer(0)} % 2] * {one}"),
                (0.2, lambda: f"[{one}, {other}, {self.scalar(0)}][{self.integer(0)} % 3]"),
                (0.2, lambda: f"divmod({self.integer(0)}, 3)[1] * {one}"),
                (0.2, lambda: f"float(np.argmax({self.array(0)})) * {one}"),
                (0.5, lambda: f"sum(e * {one} for e in {self.array(0)})"),
                (0.4, lambda: f"sum([e * e if e > {one} else -e for e in {self.array(0)}])"),
                (0.3, lambda: f"sum([e for e in {self.array(0)} if e > {one}])"),
                (0.3, lambda: f"{self.array(0)}[np.argmin({self.array(0)}) % len({self.array(0)})]"),
                (0.3, lambda: f"np.sort({self.array(0)})[{rng.choice(('0', '-1'))}]"),
                (0.3, lambda: f"np.linalg.norm({self.array(0)} + {one})"),
                (0.3, lambda: f"np.einsum('i,i', {self.array(0)}, {self.array(0)}) * 0.2"),
                (0.2, lambda: f"np.median({self.array(0)}) * {one}"),
                (0.2, lambda: f"np.linalg.det({self.matrix()}) * 0.1"),
                (0.2, lambda: f"np.linalg.slogdet({self.matrix()})[1]"),
            ]
        if self.helpers:
            helper = rng.choice(self.helpers)
            made += [(1, lambda: f"{helper}({one})"), (0.6, lambda: f"{helper}({one}, q={other})")]
        if self.recursive:
            again = rng.choice(self.recursive)
            made += [
                (
                    0.8,
                    lambda: f"{again}({one}, {self.small_integer()})",
                )
            ]
        if names.objects:
            cell = rng.choice(names.objects)
            made += [
                (0.5, lambda: f"{cell}.best({one})"),
                (0.4, lambda: f"{cell}.half"),
                (0.4, lambda: f"{cell}({one}, {other}, sign={self.constant()})"),
                (0.3, lambda: f"({cell} + {one}).value"),
                (0.3, lambda: f"({one} if {cell} > {other} else {cell}.value)"),
            ]
        (found,) = rng.choices([make for _, make in made], [weight for weight, _ in made])
        return found()

    def array(self, depth: int) -> str:
        rng, names = self.rng, self.names
        if not names.arrays:
            return f"np.stack([{self.scalar(0)}])"
        if depth == 0 or rng.random() < 0.2:
            return rng.choice(names.arrays)
        one, other = self.array(depth - 1), self.array(depth - 1)
        number = self.scalar(depth - 1)
        return rng.choice(
            (
                f"({one} + {other})",
                f"({one} - {number})",
                f"0.5 * {one} * {other}",
                f"{number} * {one}",
                f"np.tanh({one})",
                f"np.sin({one})",
                f"np.where({one} > {number}, {one}, {other})",
                f"np.maximum({one}, {number})",
                f"{rng.choice(names.arrays)}[::-1]",
                f"np.flip({one})",
                f"np.cumsum({one}) * 0.3",
                f"np.linalg.solve({self.matrix()}, {one})",
                f"np.clip({one}, -1.5, 1.5)",
                f"np.real(np.fft.fft({one}))",
                f"np.kron({one}, np.ones(1))",
                f"({one} if {self.test(depth - 1)} else {other})",
                f"np.stack([{number} for _ in u])" if "u" in names.arrays else one,
            )
        )

    def matrix(self) -> str:
        """A square matrix that has an inverse."""
        row, other = self.array(0), self.array(0)
        return f"np.diag(1.5 + {row} * {row}) + 0.1 * np.outer(np.sin({row}), np.cos({other}))"

    def integer(self, depth: int) -> str:
        rng, names = self.rng, self.names
        known = names.integers
        if depth == 0 or rng.random() < 0.3:
            return rng.choice((*known, *known, "1", "2", "3", *(["len(u)"] if "u" in names.arrays else [])))
        one, other = self.integer(depth - 1), self.integer(depth - 1)
        of_arrays = ()
        if names.arrays:
            of_arrays = (
                f"int(np.sum({self.array(0)} > {self.scalar(0)}))",
                f"int(np.argmax({self.array(0)}))",
                f"sum(1 for e in {self.array(0)} if e < {self.scalar(0)})",
            )
        return rng.choice(
            (
                *of_arrays,
                f"({one} + {other})",
                f"({one} - {other})",
                f"{one} * 2",
                *((f"({one} % 3)", f"({one} // 2)") if names.arrays else ()),  # they have no native form
                f"({one} if {self.test(0)} else {other})",
                f"min({one}, {other})",
                f"abs({one})",
                f"int({self.test(0)})",
            )
        )

    def test(self, depth: int) -> str:
        rng, names = self.rng, self.names
        kind = rng.random()
        if names.flags and kind < 0.15:
            return rng.choice(names.flags)
        if names.integers and kind < 0.3:
            return f"{self.integer(0)} {rng.choice(('<', '>', '==', '!=', '>='))} {self.integer(0)}"
        if depth == 0 or kind < 0.65:
            return f"{self.scalar(0)} {rng.choice('<><>')}{rng.choice(('', '', '='))} {self.scalar(max(depth - 1, 0))}"
        one, other = self.test(depth - 1), self.test(depth - 1)
        if kind < 0.72:
            return f"{self.scalar(0)} < {self.scalar(0)} <= {self.scalar(0)}"
        if kind < 0.76 and names.arrays:
            return rng.choice(
                (f"np.all({self.array(0)} > {self.scalar(0)})", f"np.any({self.array(0)} < {self.scalar(0)})")
            )
        if kind < 0.79:
            return f"{self.scalar(0)} == {self.scalar(0)}"
        if kind < 0.83:
            which = rng.choice(("any", "all"))
            items = rng.choice((f"({self.scalar(0)}, {self.scalar(0)})", "TABLE", *names.arrays, *names.pairs))
            return rng.choice((f"{which}(e > {self.scalar(0)} for e in {items})", f"{which}([{one}, {other}])"))
        if kind < 0.92:
            return f"({one} {rng.choice(('and', 'or'))} {other})"
        return f"not {one}"
