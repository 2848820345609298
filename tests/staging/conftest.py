"""What tests of staging share."""

from collections import Counter

import pytest

from shiftreset_ad.staging.seen.tracing import Traced


@pytest.fixture
def seen(monkeypatch):
    """How often the watch has been told of a call of each function."""
    found, enters = Counter(), Traced._enters

    def counted(self, frame, event, arg):
        found[frame.f_code.co_qualname] += 1
        return enters(self, frame, event, arg)

    monkeypatch.setattr(Traced, "_enters", counted)
    return found
