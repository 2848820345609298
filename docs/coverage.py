"""Write `docs/coverage.md`: which functions have a derivative, as measured here and now, and why the others have none.

    python docs/coverage.py

Each function that has a derivative is called as in `coverage_examples.py` (those of SciPy: `coverage_special.py`),
differentiated by reverse mode, by forward mode and twice, in every mix of the two, and compared with finite
differences. The command fails for a derivative that is wrong, for a function that has a rule and no example, and for
one without either that no reason is given for.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import coverage_examples
import coverage_reasons
import numpy as np

from shiftreset_ad import grad, jvp
from shiftreset_ad.boundary import trees
from shiftreset_ad.numbers.dispatch import has_rule_by_now
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.rules import CONSTANT
from shiftreset_ad.testing import check_grads

try:
    import coverage_special
except ImportError:  # there is no SciPy
    coverage_special = None  # type: ignore[assignment]

HERE = Path(__file__).parent
YES = "yes"
NONE = "no derivative"
MISSING = "not supported"
NAMESPACES = ("numpy", "numpy.linalg", "numpy.fft", "scipy.special")
OURS = "shiftreset_ad.scipy"  # SciPy's functions as they take numbers
SOURCES = {"numpy": coverage_reasons, "scipy.special": coverage_special}


class Row(NamedTuple):
    """What one function has, by mode: reverse, forward, and both twice; or why it has not."""

    name: str
    modes: tuple[str, str, str]
    reason: str = ""

    def __str__(self) -> str:
        columns = (f"{self.modes[0]}: {self.reason}", "", "") if self.reason else self.modes
        return f"| `{self.name}` | {' | '.join(columns)} |"


# The functions


def namespaces() -> list[str]:
    """The namespaces that there are here."""
    if coverage_special is None:
        return [name for name in NAMESPACES if name.startswith("numpy")]
    modules = [f"{OURS}.{module}" for module in importlib.import_module(OURS).MODULES]
    return [*NAMESPACES, *(name for module in modules for name in parts(module))]


def parts(module: str) -> list[str]:
    """The namespaces that a module of ours is: of `stats`, each distribution is one, and `spatial` has `distance`."""
    has_parts = module.rpartition(".")[-1] in ("spatial", "stats")
    return [f"{module}.{name}" for name in importlib.import_module(module).__all__] if has_parts else [module]


def found_by(namespace: str) -> Any:
    """The attribute of its package: `stats.dirichlet` is a distribution, and a module of ours has this name, too."""
    return pkgutil.resolve_name(":".join(namespace.rsplit(".", 1)))


def functions(namespace: str) -> dict[str, Callable[..., Any]]:
    """The public functions of a namespace, by name."""
    module, original = map(found_by, (namespace, namespace.removeprefix("shiftreset_ad.")))
    names = set(getattr(original, "__all__", dir(original)))
    if namespace.startswith(OURS):
        names &= set(vars(module))
    found = {name: getattr(module, name) for name in sorted(names) if name[0] != "_"}
    return {name: f for name, f in found.items() if callable(f) and not isinstance(f, type)}


def full_names(names: str, namespace: str) -> list[str]:
    return [f"{namespace}.{name}" for name in names.split()]


def reasons(kind: str) -> dict[str, str]:
    """By full names, the reasons of one kind: CONSTANT, WITHOUT_OPERANDS or NOT_SUPPORTED."""
    return {
        name: reason
        for namespace, source in SOURCES.items()
        if source is not None
        for reason, names in getattr(source, kind).items()
        for name in full_names(names, namespace)
    }


def examples() -> dict[str, Callable[..., Any]]:
    """The examples, by the full names of the functions."""
    return coverage_examples.EXAMPLES | (coverage_special.EXAMPLES if coverage_special else {})


def example_of(namespace: str, name: str, function: Callable[..., Any]) -> Callable[..., Any] | None:
    """The example of a function, which may stand under another of its names."""
    known = examples()
    names = [name, *(other for other, same in functions(namespace).items() if same is function)]
    return next((known[f"{namespace}.{name}"] for name in names if f"{namespace}.{name}" in known), None)


# The measurements


def row(namespace: str, name: str, function: Callable[..., Any]) -> Row:
    """The row of a function, measured; AssertionError if it cannot be written."""
    full = f"{namespace}.{name}"
    example = example_of(namespace, name, function)
    if example is not None:
        return Row(name, modes_of(full, example))
    if full in (known := reasons("CONSTANT")):
        require_constant(full, coverage_examples.CONSTANT_CALLS.get(full, function))
        return Row(name, (NONE,) * 3, known[full])
    if full in (known := reasons("WITHOUT_OPERANDS")):
        return Row(name, (NONE,) * 3, known[full])
    if has_rule_by_now(function):
        kind = "no reason in coverage_reasons.py" if function in CONSTANT else "no example in coverage_examples.py"
        raise AssertionError(f"{full} has a rule, and {kind}")
    if full not in (known := reasons("NOT_SUPPORTED")):
        raise AssertionError(f"{full} has no rule, no example, and no reason in coverage_reasons.py")
    return Row(name, (MISSING,) * 3, known[full])


def modes_of(name: str, example: Callable[..., Any]) -> tuple[str, str, str]:
    """What an example has, by the library's own check; AssertionError for anything but yes."""
    points = tuple(coverage_examples.POINTS[point] for point in coverage_examples.points_of(example))
    try:
        check_grads(example, points, order=2, rtol=getattr(example, "rtol", None))
    except (AssertionError, NotImplementedError, TypeError) as error:
        raise AssertionError(f"{name}: {error}") from None
    return (YES, YES, YES)


def require_constant(name: str, call: Callable[..., Any]) -> None:
    """Raise AssertionError unless the answer is an ordinary value, the one that NumPy gives."""
    x = coverage_examples.POINTS["x"]

    def looked_at(number: Any) -> Any:
        leaves, expected = (trees.flatten(call(argument))[0] for argument in (number, x))
        assert not any(isinstance(leaf, Number) for leaf in leaves), f"{name}: the answer is a number"
        for leaf, plain in zip(leaves, expected, strict=True):
            assert type(leaf) is type(plain), f"{name}: the answer is a {type(leaf)}, and not a {type(plain)}"
            np.testing.assert_array_equal(leaf, plain, err_msg=name)
        return np.sum(number * 2.0)

    np.testing.assert_array_equal(grad(looked_at)(x), np.full(x.shape, 2.0))
    assert jvp(looked_at, (x,), (np.ones_like(x),))[1] == 2.0 * x.size


def measured(failures: list[str]) -> Iterator[tuple[str, list[Row]]]:
    """The rows of each namespace; what cannot be written goes to `failures`."""
    for namespace in namespaces():
        rows = []
        for name, function in functions(namespace).items():
            try:
                rows.append(row(namespace, name, function))
            except Exception as error:
                failures.append(f"{namespace}.{name}: {type(error).__name__}: {error}")
        yield namespace, rows


# The file

HEAD = """# Coverage

`python docs/coverage.py` writes this page. It calls every function that has a derivative, differentiates it by reverse
mode, by forward mode and twice, in every mix of the two, and compares with finite differences. So each "yes" is
measured. A function without a derivative gives an ordinary value. A function that is not supported raises an error that
says what to write instead.
"""
COLUMNS = "| function | reverse | forward | second order |\n|---|---|---|---|"


def text(tables: dict[str, list[Row]]) -> str:
    """The text of the file."""
    lines = [HEAD, "| | yes | no derivative | not supported |", "|---|---|---|---|"]
    for namespace, rows in tables.items():
        counts = [sum(row.modes[0] == status for row in rows) for status in (YES, NONE, MISSING)]
        lines.append(f"| `{namespace}` | {' | '.join(map(str, counts))} |")
    have = {f"{namespace}.{row.name}" for namespace, rows in tables.items() for row in rows if row.modes[0] != MISSING}
    have |= {name.removeprefix("shiftreset_ad.") for name in have}
    theirs = coverage_reasons.of_autograd()
    lacking = [name for name in theirs if name not in have]
    here = len(theirs) - len(lacking)
    lines.append(f"\nHIPS autograd 1.9.1 has derivatives of {len(theirs)} functions; {here} of them are here.\n")
    modules = dict.fromkeys(name.rpartition(".")[0] for name in lacking)
    of_module = {module: [name for name in lacking if name.rpartition(".")[0] == module] for module in modules}
    lines += [f"- not here: {', '.join(f'`{name}`' for name in names)}" for names in of_module.values()]
    if "scipy.special" in tables:
        lines += ["\nThese operands of functions of `scipy.special` have no derivative, and may not be numbers:\n"]
        lines += [f"- {names}: {reason}" for reason, names in coverage_special.PARAMETERS.items()]
    for namespace, rows in tables.items():
        lines += [f"\n## {namespace}\n", COLUMNS, *map(str, rows)]
    return "\n".join(lines) + "\n"


def main() -> int:
    if coverage_special is None:
        sys.stderr.write("SciPy is not installed, and its functions have rows, too: pip install scipy\n")
        return 1
    failures: list[str] = []
    with warnings.catch_warnings(action="ignore"):  # of functions that have a newer name
        tables = dict(measured(failures))
    if failures:
        sys.stderr.write("".join(f"{failure}\n" for failure in failures))
        return 1
    (HERE / "coverage.md").write_text(text(tables))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
