"""Functions of `scipy.optimize` without a derivative, or with another function in their place: errors for numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import scipy.optimize  # type: ignore[import-untyped]

from shiftreset_ad.scipy.parameters import parameters_of

OF_LINEAR_PROGRAMS = (
    "its solution stays in a corner and jumps to another: its derivative is zero, or there is none. The least value "
    "has derivatives, which are plain: result.x in c, and result.ineqlin.marginals and result.eqlin.marginals in b_ub "
    "and b_eq. For a solution with derivatives, add a small square, such as 1e-3 * np.sum(x**2), and use "
    "shiftreset_ad.optimize.minimize with a constraint"
)
OF_INTEGERS = (
    "its solution has integers: its derivative is zero, or there is none. Solve it for shiftreset_ad.value of the "
    "coefficients, and differentiate the objective at the fixed solution, or use shiftreset_ad.optimize.minimize for "
    "the problem without integers"
)
OF_MINIMA = (
    "use shiftreset_ad.optimize.minimize: it has SciPy's methods under their names, gives them gradients, and its "
    "result has derivatives"
)


def _refused(theirs: Callable[..., Any], remedy: str) -> Callable[..., Any]:
    """A function of SciPy's that raises NotImplementedError for numbers, also for those that functions close over."""
    name = f"scipy.optimize.{theirs.__name__}"

    @wraps(theirs)
    def function(*args: Any, **kwargs: Any) -> Any:
        if parameters_of(name, {"args": args, "kwargs": kwargs}) is not None:
            raise NotImplementedError(f"{name} has no derivative here: {remedy}")
        return theirs(*args, **kwargs)

    return function


REFUSED = {
    "linprog": _refused(scipy.optimize.linprog, OF_LINEAR_PROGRAMS),
    "milp": _refused(scipy.optimize.milp, OF_INTEGERS),
    "minimize": _refused(scipy.optimize.minimize, OF_MINIMA),
    "minimize_scalar": _refused(scipy.optimize.minimize_scalar, OF_MINIMA),
}
