"""The examples in the docstrings of the networks' functions run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from shiftreset_ad import nn


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(nn.__path__)])
def test_examples_in_docstrings(name):
    assert not doctest.testmod(importlib.import_module(f"shiftreset_ad.nn.{name}")).failed


def test_every_public_function_has_a_docstring_with_an_example():
    assert [name for name in nn.__all__ if ">>> " not in (getattr(nn, name).__doc__ or "")] == []
