"""The libraries of arrays, for all tests of this folder."""

import pytest

from tests.array_api.libraries import Library

LIBRARIES = [
    pytest.param(("array_api_strict",), id="array_api_strict"),
    pytest.param(("array_api_strict", "device1"), id="array_api_strict-device1"),
    pytest.param(("torch",), id="torch"),
    pytest.param(("torch", "cuda"), id="torch-cuda", marks=pytest.mark.gpu),
    pytest.param(("cupy",), id="cupy", marks=pytest.mark.gpu),
]


@pytest.fixture(params=LIBRARIES)
def library(request):
    return Library(*request.param)
