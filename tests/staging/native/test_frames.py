"""The longest chunk of frames is kept for the next run, whichever program and thread that is."""

import ctypes

import numpy as np
import pytest

from shiftreset_ad import fori_loop, grad
from shiftreset_ad.staging.native import frames
from tests.staging.in_threads import require_same_in_threads
from tests.staging.native.natively import native, needs_native

pytestmark = needs_native


@pytest.fixture(scope="module")
def entry():
    """The gradient of a loop of so many rounds, each of which has a frame."""
    return native(grad(lambda x, n: fori_loop(0, n, lambda i, y: np.sin(y) * x, x)), 0.9, 5).entry()


def kept_length():
    address = frames._spare.value
    return 0 if address is None else ctypes.c_int64.from_address(address + 8).value


def test_the_longest_chunk_is_kept(entry):
    expected = entry(0.9, 30_000)
    length = kept_length()
    assert frames.SECOND_CHUNK < length <= frames.LARGEST_CHUNK
    for rounds in (2_000, 3, 30_000):
        entry(0.9, rounds)
        assert kept_length() >= length
    assert entry(0.9, 30_000) == expected


def test_threads_have_chunks_of_their_own(entry):
    points = [(0.5 + 0.01 * i, 3_000 * (i % 4) + 10) for i in range(8)]
    require_same_in_threads(entry, points)
