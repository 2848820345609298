import sys

import pytest


@pytest.fixture
def at_once(monkeypatch):
    """Neither the rows nor the functions in them go one by one."""

    def refuse(*args):
        raise AssertionError("the rows went one by one")

    monkeypatch.setattr(sys.modules["shiftreset_ad.batching.vmap"], "stack_of", refuse)
    monkeypatch.setattr(sys.modules["shiftreset_ad.batching.steps"], "stacked", refuse)
