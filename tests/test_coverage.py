"""`docs/coverage.md` says of every public function what it has, and what it says is true."""

from __future__ import annotations

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad.numbers.dispatch import has_rule_by_now
from shiftreset_ad.rules import CONSTANT
from tests.docs import DOCS
from tests.docs import coverage as coverage_command

OLD_NAMES = {"numpy.in1d", "numpy.trapz"}  # which NumPy 2.4 has no more


coverage = coverage_command()
NAMESPACES = coverage.namespaces()
FUNCTIONS = {f"{namespace}.{name}": f for namespace in NAMESPACES for name, f in coverage.functions(namespace).items()}

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def committed() -> dict[str, list[str]]:
    """The columns of each row of the file, by the full name of the function."""
    rows, namespace = {}, ""
    for line in (DOCS / "coverage.md").read_text().splitlines():
        if line.startswith("## "):
            namespace = line.removeprefix("## ")
        elif line.startswith("| `") and namespace:
            name, *columns = line.strip("| ").split(" | ")
            full = f"{namespace}.{name.strip('`')}"
            assert full not in rows
            rows[full] = [column.strip(" |") for column in columns]
    return rows


ROWS = committed()


def test_every_public_function_has_a_row():
    assert set(FUNCTIONS) - OLD_NAMES <= set(ROWS)


def test_every_namespace_has_functions():
    assert all(map(coverage.functions, NAMESPACES))


def test_rows_are_sorted():
    for namespace in NAMESPACES:
        names = [name for name in ROWS if name.rpartition(".")[0] == namespace]
        assert names == sorted(names)


def contradicts_the_tables(name: str) -> bool:
    """Whether a function has a derivative in the file and none by the tables, or the other way round."""
    function, (first, *_) = FUNCTIONS[name], ROWS[name]
    if first == "yes":
        return function in CONSTANT
    if first.startswith("no derivative: "):
        return has_rule_by_now(function) and function not in CONSTANT
    return not first.startswith("not supported: ") or has_rule_by_now(function)


def test_no_row_contradicts_the_tables(monkeypatch):
    assert not list(filter(contradicts_the_tables, set(FUNCTIONS) - OLD_NAMES))
    monkeypatch.setitem(ROWS, "numpy.sin", ["no derivative: a jest"])
    monkeypatch.setitem(ROWS, "numpy.argmax", ["yes", "yes", "yes"])
    monkeypatch.setitem(ROWS, "numpy.sum", ["not supported: yet"])
    assert all(map(contradicts_the_tables, ("numpy.sin", "numpy.argmax", "numpy.sum")))


def test_what_numpy_has_is_supported():
    """But for functions that NumPy does not ask a number about, which are listed with a reason."""
    missing = {name for name, modes in ROWS.items() if modes[0].startswith("not supported") and "scipy" not in name}
    assert missing == {"numpy.asmatrix", "numpy.bmat", "numpy.fromiter", "numpy.frompyfunc"}


def test_the_counts_at_the_top_are_those_of_the_rows():
    head = (DOCS / "coverage.md").read_text().partition("\n## ")[0]
    for namespace in NAMESPACES:
        own = [modes[0] for name, modes in ROWS.items() if name.rpartition(".")[0] == namespace]
        counts = [sum(mode.startswith(status) for mode in own) for status in ("yes", "no derivative", "not supported")]
        assert f"| `{namespace}` | {' | '.join(map(str, counts))} |" in head
    theirs = coverage.coverage_reasons.of_autograd()
    assert len(theirs) == len(set(theirs)) == 193
    supported = {name for name, modes in ROWS.items() if not modes[0].startswith("not supported")}
    have = {name.removeprefix("shiftreset_ad.") for name in supported}
    assert f"of {len(theirs)} functions; {len(have & set(theirs))} of them are here" in head.replace("\n", " ")


# What the command measures


def not_as_written(names: list[str]) -> list[str]:
    """The functions of which the row, measured, is not what the file has."""
    rows = {name: coverage.row(*name.rpartition(".")[::2], FUNCTIONS[name]) for name in names}
    return [name for name, row in rows.items() if str(row).strip("| ").split(" | ")[1:] != ROWS[name]]


@pytest.mark.slow
def test_a_sample_of_the_rows_is_measured():
    assert not not_as_written(sorted(set(FUNCTIONS) - OLD_NAMES)[::12])


@pytest.mark.slow
@pytest.mark.parametrize("namespace", NAMESPACES)
def test_every_row_is_measured(namespace):
    names = [f"{namespace}.{name}" for name in coverage.functions(namespace)]
    assert not not_as_written([name for name in names if name not in OLD_NAMES])


# The command fails for what is not so


def test_a_wrong_derivative_is_found(monkeypatch):
    monkeypatch.setitem(sr.rules.COMPOSITE, np.flip, lambda m, axis=None: m[::-1] + 0.0 * sr.value(m) * m)
    coverage.row("numpy", "flip", np.flip)
    monkeypatch.setitem(sr.rules.COMPOSITE, np.flip, lambda m, axis=None: 1.001 * m[::-1] - 0.001 * sr.value(m)[::-1])
    with pytest.raises(AssertionError, match=r"numpy\.flip: .*mode says"):
        coverage.row("numpy", "flip", np.flip)


def test_a_derivative_that_cannot_be_differentiated_is_found(monkeypatch):
    monkeypatch.setitem(
        sr.rules.COMPOSITE, np.flip, lambda m, axis=None: (2.0 * sr.value(m) * m - sr.value(m) ** 2)[::-1]
    )
    monkeypatch.setitem(coverage.coverage_examples.EXAMPLES, "numpy.flip", lambda x: np.flip(x) * 1.0)
    with pytest.raises(AssertionError, match=r"numpy\.flip: "):
        coverage.row("numpy", "flip", np.flip)


def test_a_rule_without_an_example_is_found(monkeypatch):
    monkeypatch.delitem(coverage.coverage_examples.EXAMPLES, "numpy.flip")
    with pytest.raises(AssertionError, match=r"numpy\.flip has a rule, and no example"):
        coverage.row("numpy", "flip", np.flip)


def test_a_constant_function_that_gives_a_number_is_found():
    with pytest.raises(AssertionError, match="the answer is a number"):
        coverage.require_constant("numpy.sin", np.sin)
    with pytest.raises(AssertionError):
        coverage.require_constant("a count", lambda x: 3 if type(x) is np.ndarray else 4)


def test_a_function_without_a_reason_is_found():
    with pytest.raises(AssertionError, match=r"numpy\.unheard_of has no rule, no example, and no reason"):
        coverage.row("numpy", "unheard_of", lambda x: x)
    with pytest.raises(AssertionError, match=r"numpy\.unheard_of has a rule, and no reason"):
        coverage.row("numpy", "unheard_of", np.isnat if np.isnat in CONSTANT else np.argmax)


def test_failures_keep_the_file_as_it_is(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(coverage, "HERE", tmp_path)
    monkeypatch.setattr(coverage, "namespaces", lambda: ["numpy.fft"])
    monkeypatch.delitem(coverage.coverage_examples.EXAMPLES, "numpy.fft.fft")
    if coverage.coverage_special is None:
        monkeypatch.setattr(coverage, "coverage_special", coverage.coverage_reasons)
    assert coverage.main() == 1
    assert capsys.readouterr().err.startswith("numpy.fft.fft: AssertionError: numpy.fft.fft has a rule, and no example")
    assert not (tmp_path / "coverage.md").exists()
    monkeypatch.undo()
    monkeypatch.setattr(coverage, "HERE", tmp_path)
    monkeypatch.setattr(coverage, "namespaces", lambda: ["numpy.fft"])
    if coverage.coverage_special is None:
        monkeypatch.setattr(coverage, "coverage_special", coverage.coverage_reasons)
    assert coverage.main() == 0
    assert "| `fft` | yes | yes | yes |" in (tmp_path / "coverage.md").read_text()
