"""What rewritten code reads from outside is looked at in each call, by whatever it reads it."""

import importlib
import warnings

import pytest

from shiftreset_ad import grad, staged
from tests.staging.front import outside


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("operator", [lambda f: f, grad], ids=["value", "grad"])
@pytest.mark.parametrize("name", [f.__name__ for f in outside.PROGRAMS])
def test_a_change_is_seen(name, operator):
    changed = importlib.reload(outside)
    f = operator(getattr(changed, name))
    compiled = staged(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # after so many changes it may be given up
        for change in (lambda: None, *changed.CHANGES):
            change()
            for x in (0.5, 2.0, 4.0):
                assert compiled(x) == f(x)
