"""Random programs: statements are drawn, and kept if NumPy can run them and what they give is of moderate size."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzzing import plain
from tests.fuzzing.blocks import BLOCKS
from tests.fuzzing.defects import is_left_out
from tests.fuzzing.operations import SMOOTH, TABLE, UFUNCS
from tests.fuzzing.programs import Program, names_in

LARGEST = 20.0
MOST_ELEMENTS = 24
ATTEMPTS = 8
PLACEHOLDER = re.compile(r"\{(\w+)\}")
SHAPES = [(3,), (4,), (2, 3), (2, 2), (3, 3), (1, 3), (2, 1), (2, 1, 2), (1,), (), (0,), (2, 0)]
SHAPE_WEIGHTS = [8, 6, 8, 6, 3, 3, 3, 2, 2, 2, 0.3, 0.3]
BEGINNINGS = ["x * 1.0", "x * 1.0", "x * 1.0", "x.copy()", "np.sin(x)", "x * x"]  # `x` itself is not written to

Maker = Callable[["Writer"], str] | str


def is_fitting(shape: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, whole) == whole
    except ValueError:
        return False


class Writer:
    """Draws statements, and knows what they have made so far."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.single = self.chance(0.12)
        self.x, self.v = self._point()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = eval(self.x, {"np": np, "single": np.float32})
        self.environment: dict[str, Any] = {"np": np, "sr": plain, "single": np.float32, "x": x}
        self.numbers: dict[str, Any] = {}  # the variables that depend on x, or may
        self.constants: dict[str, Any] = {}
        self.locked: set[str] = set()  # views that are not to be written to
        self.deferred: dict[str, tuple[str, str]] = {}
        self.statements: list[str] = []
        self.keep(f"a_0 = {self.choice(BEGINNINGS)}", {"a_0"})

    # Chance

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def choice(self, options: Any) -> Any:
        return self.random.choice(options)

    def number(self) -> str:
        return f"{self.random.uniform(0.2, 1.4) * self.choice([1, 1, -1]):.2f}"

    def smooth(self) -> str:
        return self.choice(SMOOTH)

    def _point(self) -> tuple[str, str]:
        shape = self.random.choices(SHAPES, SHAPE_WEIGHTS)[0]
        dtype = self.random.choices(["", ", complex", ", single"], [8, 1, 1 if self.single else 0])[0]
        order = self.choice(["", "", ", order='F'"])
        layout = self.choice(["", "", "", "[::-1]", "[...]"]) if shape else ""

        def drawn() -> str:
            flat = [round(self.random.uniform(-1.2, 1.2), 3) for _ in range(int(np.prod(shape)))]
            if "complex" in dtype:
                flat = [complex(re, round(self.random.uniform(-1.0, 1.0), 3)) for re in flat]
            array = np.array(flat, complex if "complex" in dtype else float).reshape(shape)
            if not array.size:
                return f"np.zeros({shape}{dtype})"
            if layout == "[...]":
                return f"np.repeat(np.array({array.tolist()}{dtype}), 2, axis=0)[::2]"
            return f"np.array({array.tolist()}{dtype}{order}){layout}"

        return drawn(), drawn()

    # What there is

    def name(self, letter: str = "a") -> str:
        self.count += 1
        return f"{letter}_{self.count}"

    def _among(self, pool: dict[str, Any], fits: Callable[[str, Any], bool]) -> str:
        names = [name for name, x in pool.items() if fits(name, x)]
        if not names:
            raise LookupError
        late = names[-4:]
        return self.choice(late if self.chance(0.5) else names)

    def pick(self, kind: str) -> str:
        fits = KINDS[kind]
        return self._among(self.numbers, lambda name, x: fits(self, name, x))

    def like(self, name: str, same_dtype: bool = True) -> str:
        """A variable with the shape of this one, and no complex one."""
        shape = np.shape(self.environment[name])
        return self._among(
            self.numbers,
            lambda _, x: np.shape(x) == shape and is_real(x) and (not same_dtype or np.asarray(x).dtype == float),
        )

    def entry(self) -> str:
        """A real scalar: a variable, or an element."""
        if self.chance(0.3):
            try:
                return self.pick("q")
            except LookupError:
                pass
        a = self.pick("n")
        place = ", ".join(str(self.random.randrange(size)) for size in np.shape(self.numbers[a]))
        return f"{a}[{place}]"

    def factor(self, a: str) -> str:
        """A real scalar, or an array of the shape of `a`."""
        if self.chance(0.5):
            try:
                return self.like(a, same_dtype=False) if not self.chance(0.1) else self.number()
            except LookupError:
                pass
        return self.entry()

    def fitting(self, name: str, real_only: bool) -> str:
        shape = np.shape(self.environment[name])

        def fits(_: str, x: Any) -> bool:
            return is_fitting(np.shape(x), shape) and not (real_only and np.iscomplexobj(x))

        return self._among(self.numbers, fits)

    # Statements

    def filled(self, template: str) -> str:
        given: dict[str, str] = {}
        for key in dict.fromkeys(PLACEHOLDER.findall(template)):
            given[key] = self._filled(key, given)
        return PLACEHOLDER.sub(lambda match: given[match[1]] if match[1] != "c" else self.number(), template)

    def _filled(self, key: str, given: dict[str, str]) -> str:
        match key:
            case "y":
                return self.name()
            case "c":
                return ""
            case "f":
                return self.smooth()
            case "u":
                return self.choice(UFUNCS)
            case "i" | "j":
                shapes = [np.shape(self.environment[given[key]]) for key in "aWnw" if key in given]
                size = shapes[-1][0] if shapes and shapes[-1] else 1
                return str(self.random.randrange(-size, size) if size else 0)
            case "q":
                return self.entry()
            case "k":
                shape = (
                    np.shape(self.environment[given["r"]])
                    if "r" in given
                    else np.shape(self.environment[given["a"]])
                    if "a" in given
                    else None
                )
                return self._among(self.constants, lambda _, x: shape is None or is_fitting(x.shape, shape))
            case "K":
                return self._among(self.constants, lambda _, x: x.ndim > 0 and x.dtype.kind == "f")
            case "b":
                return self.fitting(given["a"], False)
            case "v":
                w = given["w"]
                real = not np.iscomplexobj(self.environment[w])
                if self.chance(0.3):
                    return f"np.sin({self.fitting(w, real)})"
                return self.fitting(w, real) if self.chance(0.7) else self.entry()
            case "o":
                w = self.environment[given["w"]]
                if self.chance(0.3):
                    return self.choice([given["w"], f"{given['w']}[::-1]", f"{given['w']}.T"])
                near = [n for n, x in self.numbers.items() if np.shape(x) == w.shape and np.may_share_memory(x, w)]
                return self.choice(near)
            case "mask":
                shape = np.shape(self.environment[given.get("w") or given["n"]])
                bits = np.array([self.chance(0.5) for _ in range(int(np.prod(shape)))]).reshape(shape)
                return f"np.array({bits.tolist()})"
        return self.pick(KIND_OF.get(key, key))

    def draw(self, categories: list[tuple[float, list[Maker]]]) -> str:
        _, makers = self.random.choices(categories, [weight for weight, _ in categories])[0]
        maker = self.choice(makers)
        return self.filled(maker) if isinstance(maker, str) else maker(self).rstrip("\n")

    def add(self, categories: list[tuple[float, list[Maker]]]) -> None:
        """Draw a statement that can be run."""
        for _ in range(ATTEMPTS):
            deferred = dict(self.deferred)
            try:
                statement = self.draw(categories)
                is_due = (self.single or "single" not in statement) and not is_left_out(statement)
                if is_due and self.is_possible(statement):
                    return
            except LookupError:
                pass
            self.deferred = deferred

    def is_possible(self, statement: str) -> bool:
        """Whether NumPy runs the statement, and all variables are of moderate size afterwards; if so, it is kept."""
        copies = {name: np.copy(x) for name, x in self._arrays().items()}
        trial = dict(self.environment)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                exec(statement, trial)
        except (ArithmeticError, LookupError, StopIteration, TypeError, ValueError, Warning):
            self._restore(copies)
            return False
        new = names_in(statement) - set(self.environment)
        if not all(map(is_moderate, (trial[name] for name in {*self._arrays(), *new} if name in trial))):
            self._restore(copies)
            return False
        self.environment = trial
        self.keep(statement, new, ran=True)
        return True

    def _arrays(self) -> dict[str, Any]:
        return {**self.numbers, **self.constants}

    def _restore(self, copies: dict[str, Any]) -> None:
        for name, before in copies.items():
            x = self.environment[name]
            if isinstance(x, np.ndarray) and x.flags.writeable:
                x[...] = before

    def keep(self, statement: str, new: set[str], ran: bool = False) -> None:
        if not ran:
            exec(statement, self.environment)
        self.statements.append(statement)
        is_constant = not any(name in self.numbers for name in names_in(statement) - new) and "x" not in statement
        is_constant = is_constant and "sr." not in statement
        for name in sorted(new, key=lambda name: int(name.split("_")[1])):
            x = self.environment.get(name)
            if not isinstance(x, np.ndarray | np.generic | float | complex):
                continue
            if name.startswith("k") or (is_constant and isinstance(x, np.ndarray)):
                self.constants[name] = x
                continue
            self.numbers[name] = x
            if isinstance(x, np.ndarray) and "h_" not in statement:
                of_locked = any(np.may_share_memory(x, self.numbers[other]) for other in self.locked)
                if (of_locked and names_in(statement) & self.locked) or "np.imag" in statement:
                    self.locked.add(name)
        for name in names_in(statement) & set(self.numbers):  # a scalar that was added to is another one
            self.numbers[name] = self.environment[name]

    def program(self, statements: int) -> Program:
        categories: list[tuple[float, list[Any]]] = [*TABLE.values(), *BLOCKS.values()]
        for _ in range(statements):
            self.add(categories)
        return Program(tuple(self.statements), tuple(self.numbers), self.x, self.v)


def is_moderate(x: Any) -> bool:
    if not isinstance(x, np.ndarray | np.generic | float | complex):
        return True
    size = np.size(x)
    return size <= MOST_ELEMENTS and (size == 0 or bool(np.max(np.abs(x)) < LARGEST)) and np.ndim(x) <= 4


def is_real(x: Any) -> bool:
    return not np.iscomplexobj(x)


def is_writable(g: Writer, name: str, x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.ndim > 0 < x.size and x.flags.writeable and name not in g.locked


KINDS: dict[str, Callable[[Writer, str, Any], bool]] = {
    "a": lambda g, name, x: True,
    "r": lambda g, name, x: is_real(x),
    "z": lambda g, name, x: not is_real(x),
    "q": lambda g, name, x: is_real(x) and np.ndim(x) == 0,
    "n": lambda g, name, x: is_real(x) and np.ndim(x) > 0 and np.size(x) > 0,
    "m": lambda g, name, x: is_real(x) and np.ndim(x) == 2 and np.size(x) > 0,
    "s": lambda g, name, x: is_real(x) and np.ndim(x) == 2 and 0 < len(x) == np.shape(x)[1],
    "d": lambda g, name, x: isinstance(x, np.ndarray) and x.dtype == float and x.ndim > 0 and x.size > 0,
    "w": is_writable,
    "W": lambda g, name, x: is_writable(g, name, x) and is_real(x),
}
KIND_OF = {"A": "a", "R": "r"}


def random_program(seed: int, least: int = 4, most: int = 12) -> Program:
    """The program of this seed."""
    writer = Writer(seed)
    return writer.program(writer.random.randint(least, most))
