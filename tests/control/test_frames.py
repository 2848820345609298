"""Whose frames are whose, wherever the library lies."""

import os
import statistics
import sys

import numpy as np

import shiftreset_ad
from shiftreset_ad import reset
from shiftreset_ad.control.frames import PACKAGE, is_of_a_library, is_ours, is_the_users, outwards


def test_the_package_is_found_where_it_lies():
    assert os.path.join(os.path.dirname(shiftreset_ad.__file__), "") == PACKAGE


def test_frames_of_the_library_and_of_numpy_are_not_the_users():
    assert is_ours(shiftreset_ad.grad.__code__)
    assert is_of_a_library(np.mean.__wrapped__.__code__)
    assert not is_ours(np.mean.__wrapped__.__code__)
    assert is_the_users(sys._getframe())


class Asked:
    """Notes whose frame asks for its value."""

    def __float__(self):
        self.is_the_users = is_the_users(sys._getframe(1))
        return 1.0


def test_a_frame_of_the_standard_library_is_not_the_users():
    asked = Asked()
    statistics.fmean([asked])
    assert not asked.is_the_users
    float(asked)
    assert asked.is_the_users


def test_frames_go_on_through_the_greenlets_that_wait():
    here = sys._getframe()
    assert here in reset(lambda: reset(lambda: list(outwards(sys._getframe()))))
