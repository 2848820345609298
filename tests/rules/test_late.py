"""The tables of an optional library are entered when the program has imported it, and never without it."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest


def run(program):
    """Run a program in a fresh interpreter, where nothing is imported yet."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_without_scipy():
    run(
        """
        import sys
        sys.modules["scipy"] = None
        import numpy as np, shiftreset_ad as sr
        assert sr.grad(lambda x: np.sin(x) * x)(0.0) == 0.0
        try:
            sr.grad(lambda x: np.frompyfunc(abs, 1, 1)(x))(1.0)
        except NotImplementedError as error:
            assert "cannot take numbers that are being differentiated" in str(error)
        else:
            raise AssertionError
        try:
            import shiftreset_ad.scipy.special
        except ImportError:
            pass
        else:
            raise AssertionError
        assert sr.grad(lambda x: x * x)(3.0) == 6.0
        """
    )


def test_importing_the_package_imports_no_scipy():
    run(
        """
        import sys, shiftreset_ad
        shiftreset_ad.grad(lambda x: x * x)(3.0)
        assert not [name for name in sys.modules if name.startswith("scipy") or name.endswith("rules.special")]
        """
    )


AFTER, BEFORE = "shiftreset_ad, scipy.special", "scipy.special, shiftreset_ad"
FIRST_USES = [
    "sr.grad(special.erf)(0.0)",
    "sr.jvp(special.erf, (0.0,), (1.0,))",
    "sr.derivative(special.erf)(0.0)",
    "sr.hessian(lambda x: np.sum(special.xlogy(x, x)))(np.ones(2))",
    "sr.grad(lambda x: special.betainc(1.0, 2.0, x))(0.5)",
    "sr.grad(lambda x: x * special.gammasgn(x))(0.5)",
    "sr.grad(lambda x: x * special.gammasgn(x, dtype=np.float32))(0.5)",
    "sr.grad(lambda x: np.sum(special.xlogy.outer(x, x)))(np.ones(2))",
]


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize(("order", "first_use"), [(BEFORE, FIRST_USES[0]), *((AFTER, use) for use in FIRST_USES)])
def test_scipy_may_be_imported_before_and_after(order, first_use):
    run(
        f"""
        import numpy as np
        import {order}
        import shiftreset_ad as sr
        from scipy import special
        {first_use}
        for value in (sr.grad(special.erf)(0.0), sr.derivative(special.erf)(0.0), sr.jacfwd(special.erf)(0.0)):
            assert abs(value - 2 / np.sqrt(np.pi)) < 1e-15
        assert np.all(sr.jacrev(lambda x: special.xlogy(x, 2.0) * x)(np.ones(2)) == np.diag([2 * np.log(2.0)] * 2))
        """
    )


def test_scipy_may_be_imported_inside_of_a_derivative():
    run(
        """
        import shiftreset_ad as sr
        def f(x):
            from scipy import special
            return special.erf(x)
        assert abs(sr.grad(f)(0.0) - 1.1283791670955126) < 1e-15
        """
    )


def test_our_functions_come_with_all_of_scipy_special():
    run(
        """
        from shiftreset_ad.scipy import special as ours
        from scipy import special
        import shiftreset_ad as sr
        assert ours.erf is special.erf and ours.errstate is special.errstate
        assert set(dir(special)) <= set(dir(ours))
        assert abs(sr.grad(ours.erf)(0.0) - 1.1283791670955126) < 1e-15
        try:
            ours.no_such_function
        except AttributeError as error:
            assert "no_such_function" in str(error)
        else:
            raise AssertionError
        """
    )
