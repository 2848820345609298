"""What tests of staging share."""

from collections import Counter

import pytest

from shiftreset_ad.staging.seen.watching import Watch


@pytest.fixture
def seen(monkeypatch):
    """How often the watch has been told of a call of each function."""
    found, enters = Counter(), Watch._enters

    def counted(self, frame, event, arg):
        found[frame.f_code.co_qualname] += 1
        return enters(self, frame, event, arg)

    monkeypatch.setattr(Watch, "_enters", counted)
    return found
