"""The collector's threshold is raised while a derivative is on its way, and put back on every way out."""

import gc
import threading

import pytest

from shiftreset_ad import grad
from shiftreset_ad.modes.reverse.collector import YOUNG_OBJECTS, with_relaxed_collector


@pytest.fixture(autouse=True)
def _threshold():
    before = gc.get_threshold()
    gc.set_threshold(500, 7, 11)
    yield
    gc.set_threshold(*before)


def test_raised_inside_and_put_back():
    assert with_relaxed_collector(gc.get_threshold) == (YOUNG_OBJECTS, 7, 11)
    assert gc.get_threshold() == (500, 7, 11)


def test_grad_raises_it():
    seen = []
    grad(lambda x: seen.append(gc.get_threshold()) or grad(lambda y: x * y)(1.0))(2.0)
    assert seen == [(YOUNG_OBJECTS, 7, 11)]
    assert gc.get_threshold() == (500, 7, 11)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_put_back_after_an_exception(error):
    def f(x):
        raise error

    with pytest.raises(error):
        grad(f)(1.0)
    assert gc.get_threshold() == (500, 7, 11)


@pytest.mark.parametrize("threshold", [(0, 7, 11), (YOUNG_OBJECTS, 7, 11), (YOUNG_OBJECTS + 1, 7, 11)])
def test_off_or_higher_is_left_alone(threshold):
    gc.set_threshold(*threshold)
    assert with_relaxed_collector(gc.get_threshold) == threshold
    assert gc.get_threshold() == threshold


def test_what_the_program_sets_inside_stays():
    grad(lambda x: gc.set_threshold(123, 4, 5) or x)(1.0)
    assert gc.get_threshold() == (123, 4, 5)


def test_threads_that_overlap_in_either_order():
    for first_out in (0, 1):
        inside, leave = [threading.Event() for _ in range(2)], [threading.Event() for _ in range(2)]

        def work(i, inside=inside, leave=leave):
            with_relaxed_collector(lambda: inside[i].set() or leave[i].wait(10))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
        for i in range(2):
            threads[i].start()
            assert inside[i].wait(10)
        for i in (first_out, 1 - first_out):
            leave[i].set()
            threads[i].join(10)
        assert gc.get_threshold() == (500, 7, 11)
