"""Modules of Python's standard library pass their own tests when all of their functions are rewritten."""

import unittest
from types import FunctionType

import pytest

from shiftreset_ad.staging.front.functions import rewritten

# The module of the tests, the name in it of the module that is tested, and how many of its functions are rewritten.
MODULES = (
    ("test_bisect", "py_bisect", 4),
    ("test_heapq", "py_heapq", 12),
    pytest.param("test_statistics", "statistics", 40, marks=pytest.mark.slow),
    ("test_fractions", "fractions", 30),
    ("test_graphlib", "graphlib", 8),
    ("test_colorsys", "colorsys", 6),
    pytest.param("test_difflib", "difflib", 30, marks=pytest.mark.slow),
    pytest.param("test_copy", "copy", 6, marks=pytest.mark.slow),
    ("test_shlex", "shlex", 8),
)


def rewrite_all(module, patch):
    """Replace each function of a module by its rewritten form; the number of those that have one."""
    holders = [module, *[x for x in vars(module).values() if isinstance(x, type) and x.__module__ == module.__name__]]
    found = {}
    for holder in holders:
        for name, x in list(vars(holder).items()):
            function = x.__func__ if isinstance(x, (staticmethod, classmethod)) else x
            if type(function) is FunctionType and function.__module__ == module.__name__:
                new = found.setdefault(function, rewritten(function))
                patch.setattr(holder, name, new if function is x else type(x)(new))
    return sum(new is not function for function, new in found.items())


def problems_of(tests):
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromModule(tests).run(result)
    assert result.testsRun > 3
    return [f"{test}\n{text}" for test, text in result.failures + result.errors]


@pytest.mark.parametrize(("tests", "name", "least"), MODULES)
def test_its_own_tests_pass(tests, name, least):
    tests = pytest.importorskip(f"test.{tests}")
    with pytest.MonkeyPatch.context() as patch:
        assert rewrite_all(getattr(tests, name), patch) >= least
        problems = problems_of(tests)
    assert len(problems) == (len(problems_of(tests)) if problems else 0), "\n".join(problems)
