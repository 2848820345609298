"""The modules are there without an import of each."""

import subprocess
import sys

import pytest

pytest.importorskip("scipy")


def test_modules_are_imported_when_they_are_asked_for():
    program = """
import sys
import shiftreset_ad.scipy
assert "shiftreset_ad.scipy.special" not in sys.modules
import numpy as np
assert shiftreset_ad.grad(shiftreset_ad.scipy.special.logsumexp)(np.zeros(2)).tolist() == [0.5, 0.5]
assert {"linalg", "stats"} <= set(dir(shiftreset_ad.scipy))
assert shiftreset_ad.scipy.stats.__name__ == "shiftreset_ad.scipy.stats"
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_another_name_is_an_error():
    import shiftreset_ad.scipy

    with pytest.raises(AttributeError, match="has no attribute 'optimize'; it has integrate, linalg"):
        _ = shiftreset_ad.scipy.optimize
