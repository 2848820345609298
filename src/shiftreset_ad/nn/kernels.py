"""Which library's kernels compute convolutions, max pooling and other functions of NumPy's arrays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CHOSEN: ContextVar[str] = ContextVar("kernels", default="numpy")


@contextmanager
def kernels(library: str) -> Iterator[None]:
    """In this context the kernels of `library` compute on NumPy's arrays: "numpy" (the default) or "torch".

    They compute convolutions, max pooling, `relu` of large arrays, and batch normalization in training. PyTorch
    computes on the memory of NumPy's arrays, and copies nothing. First derivatives of convolutions and batch
    normalization are computed by its kernels, too. NumPy's are taken for arrays whose dtype PyTorch does not have.
    Raises ValueError for any other name, and ImportError where PyTorch is missing.

    >>> import numpy as np
    >>> from shiftreset_ad import nn
    >>> with nn.kernels("numpy"):
    ...     nn.conv(np.ones((1, 1, 4)), np.ones((1, 1, 2)))
    array([[[2., 2., 2.]]])
    """
    if library not in ("numpy", "torch"):
        raise ValueError(f'nn.kernels: library is {library!r}; give "numpy" or "torch"')
    if library == "torch":
        import torch  # noqa: F401
    token = _CHOSEN.set(library)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def chosen() -> str:
    """The library whose kernels compute."""
    return _CHOSEN.get()
