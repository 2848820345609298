"""The libraries of arrays that are tested, and the comparison of their arrays with NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree
import pytest


class Library:
    """A library, by its name, and a device; it may be missing.

    array_api_strict has devices that are not there, and whose arrays it neither mixes nor turns into plain ones.
    """

    def __init__(self, name: str, device: str | None = None) -> None:
        pytest.importorskip("array_api_compat")
        self.name = name
        self.module = pytest.importorskip(name)
        if name == "cupy" and not has_card(self.module):
            pytest.skip("there is no graphics card that CuPy can use")
        if device == "cuda" and not self.module.cuda.is_available():
            pytest.skip("there is no graphics card that PyTorch can use")
        self.device = self.module.Device(device) if name == "array_api_strict" and device else device

    @property
    def kind(self) -> type:
        """The class of its arrays."""
        return type(self.array(np.zeros(1)))

    def array(self, x: Any) -> Any:
        """The library's array with these elements."""
        options = {"device": self.device} if self.device else {}
        return self.module.asarray(np.array(x), **options)

    def arrays(self, tree: Any) -> Any:
        """A structure with the library's arrays for NumPy's."""
        return optree.tree_map(lambda x: self.array(x) if isinstance(x, np.ndarray) else x, tree)

    def plain(self, x: Any) -> Any:
        """NumPy's array with the elements of one of the library's."""
        assert type(x) is self.kind, f"{type(x)} is no array of {self.name}"
        if self.name == "cupy":
            return x.get()
        if self.device:
            assert x.device == self.array(np.zeros(1)).device, f"it has gone to the device {x.device}"
            x = x.cpu() if self.name == "torch" else x.to_device(self.module.Device("CPU_DEVICE"))
        return np.array(np.from_dlpack(x))


def has_card(cupy: Any) -> bool:
    """Whether CuPy finds a graphics card."""
    try:
        return bool(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


def assert_same(library: Library, found: Any, expected: Any, tolerance: float = 1e-8) -> None:
    """A structure of the library's arrays has the values, shapes and dtypes of one of NumPy's; floats stay floats."""
    found_leaves, found_spec = optree.tree_flatten(found)
    leaves, spec = optree.tree_flatten(expected)
    assert found_spec == spec
    for x, y in zip(found_leaves, leaves, strict=True):
        if isinstance(y, np.ndarray | np.generic):
            plain = library.plain(x)
            assert plain.shape == y.shape
            assert plain.dtype == y.dtype
            np.testing.assert_allclose(plain, y, rtol=tolerance, atol=tolerance)
        else:
            assert type(x) is type(y)
            assert x == (pytest.approx(y, rel=tolerance) if isinstance(y, float) else y)
