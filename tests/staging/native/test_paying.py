"""Native code calls Python where that gains time; also from the cache, and the report says so."""

import os
import subprocess
import sys

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import fori_loop, grad, while_loop
from shiftreset_ad.staging.native.compiled import InTurn
from shiftreset_ad.staging.native.llvm import NoNativeFormError
from tests.staging.native.natively import native, needs_native

pytestmark = needs_native

MATRIX = np.array([[2.0, 0.3, 0.1], [0.1, 1.5, -0.2], [0.4, -0.1, 1.8]])
X = np.array([0.4, 0.7, -0.3])


SCRIPT = """
import sys
import numpy as np
import shiftreset_ad as sr
from shiftreset_ad.staging.native import machine
if sys.argv[1] == "cached":
    machine.compiled = None
matrix = np.array([[2.0, 0.3], [0.1, 1.5]])
def f(x, n):
    s = 0.1
    for i in range(n):
        for _ in range(4):
            s = 0.9 * s + 0.1 * x[0]
        x = np.linalg.solve(matrix, x) + s
    return np.sum(x)
g = sr.staged(sr.grad(f))
for n in (2, 3, 2, 3):
    found = g(np.array([0.4, 0.7]), n)
print(found.tolist() == sr.grad(f)(np.array([0.4, 0.7]), 3).tolist(), g.report().splitlines()[1])
"""


def _run(kind, **environment):
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT, kind], capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert not found.stderr, found.stderr
    return found.stdout


@pytest.mark.slow
def test_cached_code_calls_python_in_another_process(tmp_path):
    folder = tmp_path / "cache"
    for kind in ("first", "cached"):
        assert "True way 1" in (text := _run(kind, SHIFTRESET_AD_CACHE=str(folder)))
        assert "as native code, which calls numpy.linalg.solve:" in text
    assert [*folder.glob("*.o")]


def test_without_native_code_numpy_takes_all_steps():
    assert "by NumPy, with no native code" in _run("first", SHIFTRESET_AD_NATIVE="0")


@pytest.mark.parametrize("body", [np.sort, lambda x: np.linalg.solve(MATRIX, x)])
def test_a_loop_of_calls_alone_stays_with_the_steps(body):
    with pytest.raises(NoNativeFormError, match="no native form"):
        native(lambda x, n: fori_loop(0, n, lambda i, x: body(x), x), X, 2)


def test_what_is_in_a_loop_counts_more_than_what_is_not():
    def f(x, n):
        x = x * 2.0 + 1.0
        return while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, np.sort(c[1])), (0, x * x))[1]

    with pytest.raises(NoNativeFormError, match="no native form"):
        native(f, X, 2)


def test_the_report_says_what_is_called():
    f = sr.staged(grad(lambda x, n: np.sum(fori_loop(0, n, lambda i, x: np.sort(np.tanh(x) * 0.5 + x) - 0.1, x))))
    for n in (2, 3, 2):
        f(X, n)
    assert "as native code, which calls numpy.argsort:" in f.report()
    assert isinstance(next(iter(f._calls._signatures.values())).ways[0].take, InTurn)
    assert f.llvm[0].count("call i64 @call_python(") == 1
