"""Every public name is documented where a user looks for it."""

import inspect
from pathlib import Path

import pytest

import shiftreset_ad
from shiftreset_ad import testing

README = (Path(__file__).parent.parent / "README.md").read_text()
OPERATORS = [getattr(shiftreset_ad, name) for name in shiftreset_ad.__all__]
OPERATORS = [f for f in OPERATORS if inspect.isfunction(f)] + [testing.check_grads]


@pytest.mark.parametrize("f", OPERATORS, ids=lambda f: f.__name__)
def test_every_operator_has_an_example_that_runs_as_a_doctest(f):
    assert ">>> " in inspect.getdoc(f)


@pytest.mark.parametrize("f", OPERATORS, ids=lambda f: f.__name__)
def test_every_operator_is_in_the_readme(f):
    assert f"`{f.__name__}`" in README or f".{f.__name__}`" in README
