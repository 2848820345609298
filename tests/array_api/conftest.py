"""The libraries of arrays, for all tests of this folder."""

import pytest

from tests.array_api.libraries import Library


@pytest.fixture(params=["array_api_strict", "torch"])
def library(request):
    return Library(request.param)
