"""Differentiate plain Python: derivatives of every kind, by operator overloading and delimited continuations.

>>> from shiftreset_ad import grad
>>> grad(lambda x: 2 * x + x**3)(3.0)
29.0
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shiftreset_ad.control import Continuation, ContinuationUsedError, ControlError, Prompt, reset, shift
from shiftreset_ad.modes.reverse.number import NumR
from shiftreset_ad.numbers.new_arrays import zeros
from shiftreset_ad.numbers.tags import EscapedNumberError, WrongThreadError
from shiftreset_ad.rules.building import array
from shiftreset_ad.transforms.constants import is_differentiable, lift, stop_gradient, value, zeros_like
from shiftreset_ad.transforms.gradient import grad, value_and_grad

if TYPE_CHECKING:
    from shiftreset_ad import nn, optimize
    from shiftreset_ad.batching.vmap import vmap
    from shiftreset_ad.debugging.handling import Handler, handling
    from shiftreset_ad.debugging.tracing import trace
    from shiftreset_ad.debugging.watching import debug
    from shiftreset_ad.modes.forward.number import NumF
    from shiftreset_ad.staging.control.combinators import cond, fori_loop, scan, while_loop
    from shiftreset_ad.staging.records import StagingWarning
    from shiftreset_ad.staging.staged import StagedFunction, staged
    from shiftreset_ad.transforms.checkpointing import checkpoint, checkpointed_loop, fuse
    from shiftreset_ad.transforms.closures import grad_closure, value_and_grad_closure
    from shiftreset_ad.transforms.custom import custom_derivative, custom_jvp, custom_vjp
    from shiftreset_ad.transforms.jacobians import (
        elementwise_grad,
        hessian,
        hvp,
        jacfwd,
        jacobian,
        jacrev,
        value_and_jacobian,
    )
    from shiftreset_ad.transforms.products import jvp, linearize, vjp
    from shiftreset_ad.transforms.sparse import colouring, sparse_hessian, sparse_jacobian, sparsity
    from shiftreset_ad.transforms.taylor import derivative, taylor

__version__ = "0.1.0"

__all__ = [
    "Continuation",
    "ContinuationUsedError",
    "ControlError",
    "EscapedNumberError",
    "Handler",
    "NumF",
    "NumR",
    "Prompt",
    "StagedFunction",
    "StagingWarning",
    "WrongThreadError",
    "array",
    "checkpoint",
    "checkpointed_loop",
    "colouring",
    "cond",
    "custom_derivative",
    "custom_jvp",
    "custom_vjp",
    "debug",
    "derivative",
    "elementwise_grad",
    "fori_loop",
    "fuse",
    "grad",
    "grad_closure",
    "handling",
    "hessian",
    "hvp",
    "is_differentiable",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "lift",
    "linearize",
    "nn",
    "optimize",
    "reset",
    "scan",
    "shift",
    "sparse_hessian",
    "sparse_jacobian",
    "sparsity",
    "staged",
    "stop_gradient",
    "taylor",
    "trace",
    "value",
    "value_and_grad",
    "value_and_grad_closure",
    "value_and_jacobian",
    "vjp",
    "vmap",
    "while_loop",
    "zeros",
    "zeros_like",
]

# Where the names are that few programs need: each module is imported when one of its names is first asked for.
_LATE = {
    "shiftreset_ad.batching.vmap": ("vmap",),
    "shiftreset_ad.debugging.handling": ("Handler", "handling"),
    "shiftreset_ad.debugging.tracing": ("trace",),
    "shiftreset_ad.debugging.watching": ("debug",),
    "shiftreset_ad.modes.forward.number": ("NumF",),
    "shiftreset_ad.staging.control.combinators": ("cond", "fori_loop", "scan", "while_loop"),
    "shiftreset_ad.staging.records": ("StagingWarning",),
    "shiftreset_ad.staging.staged": ("StagedFunction", "staged"),
    "shiftreset_ad.transforms.checkpointing": ("checkpoint", "checkpointed_loop", "fuse"),
    "shiftreset_ad.transforms.closures": ("grad_closure", "value_and_grad_closure"),
    "shiftreset_ad.transforms.custom": ("custom_derivative", "custom_jvp", "custom_vjp"),
    "shiftreset_ad.transforms.jacobians": (
        *("elementwise_grad", "hessian", "hvp", "jacfwd", "jacobian", "jacrev", "value_and_jacobian"),
    ),
    "shiftreset_ad.transforms.products": ("jvp", "linearize", "vjp"),
    "shiftreset_ad.transforms.sparse": ("colouring", "sparse_hessian", "sparse_jacobian", "sparsity"),
    "shiftreset_ad.transforms.taylor": ("derivative", "taylor"),
}
_PACKAGES = ("nn", "optimize")
_MODULE_OF = {name: module for module, names in _LATE.items() for name in names}


def __getattr__(name: str) -> Any:
    """A public name whose module has not been imported yet."""
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
