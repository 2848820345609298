"""Calls of a staged function begin in C, however it is called, and it is an object of Python's as others are."""

import functools
import gc
import weakref

import pytest

from shiftreset_ad import staged
from shiftreset_ad.staging import StagedFunction
from shiftreset_ad.staging.native.callables import HAS_A_PLACE_FOR_CALLS, have_called, with_calls_in_c
from tests.staging.native.natively import needs_native, settled

pytestmark = needs_native


def square(x):
    return x * x


def test_calls_begin_in_c():
    f = settled(square, 3.0)
    assert type(f) is with_calls_in_c(StagedFunction)
    assert issubclass(type(f), StagedFunction)
    assert type(f).__flags__ & HAS_A_PLACE_FOR_CALLS
    assert type(f).__name__ == "StagedFunction"
    assert type(f).__module__ == StagedFunction.__module__
    assert type(f).__doc__ == StagedFunction.__doc__
    assert [f(3.0), f(x=3.0), f(*[3.0]), functools.partial(f, 3.0)()] == [9.0] * 4
    assert list(map(f, [1.0, 2.0])) == [1.0, 4.0]
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        f()
    with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
        f(3.0, y=2.0)


def test_a_method_begins_in_c():
    class Scale:
        by = 3.0

        @staged
        def of(self, x, *, more=1.0):
            return self.by * x + more

    scale = Scale()
    for _ in range(6):
        assert [scale.of(2.0), scale.of(2.0, more=2.0), Scale.of(scale, x=2.0)] == [7.0, 8.0, 7.0]


def test_what_is_called_may_be_replaced_or_deleted():
    f = settled(square, 3.0)
    kept = f.__call__
    f.__call__ = lambda x: x + 1.0
    assert f(3.0) == 4.0
    del f.__call__
    with pytest.raises(AttributeError, match="__call__"):
        f(3.0)
    f.__call__ = kept
    assert f(3.0) == 9.0


def test_what_is_called_lives_until_its_call_ends():
    class Called:
        def __call__(self, x):
            f.__call__ = len
            gc.collect()
            return gone() is self

    f, called = settled(square, 3.0), Called()
    f.__call__, gone = called, weakref.ref(called)
    del called
    assert f(3.0)
    assert gone() is None
    assert f([1, 2]) == 2


def test_a_class_that_inherits_from_staged_functions_has_its_own_calls():
    class Counting(StagedFunction):
        def __init__(self, f, *, count):
            super().__init__(f)
            self.count = count

        def __call__(self, *args):
            self.count += 1
            return self.__wrapped__(*args)

    f = Counting(square, count=1)
    assert [f(3.0) for _ in range(6)] == [9.0] * 6
    assert f.count == 7


def test_a_class_that_inherits_may_call_what_it_overrides():
    for base in (StagedFunction, type(settled(square, 3.0))):

        class Checked(base):
            def __call__(self, x):
                return super().__call__(abs(x))

        f = Checked(square)
        assert [f(x) for x in (3.0, -2.0, 1.0, -4.0, 5.0)] == [9.0, 4.0, 1.0, 16.0, 25.0]
        assert len(f.sources) == 1
        assert not f.llvm[0].startswith("; no native code")


def test_cycles_through_a_staged_function_are_collected():
    for _ in range(3):
        f = settled(square, 3.0)
        f.itself = [f]
        gone = weakref.ref(f)
        del f
        gc.collect()
        assert gone() is None


def test_nothing_is_written_to_an_object_of_another_class():
    class Other:
        __slots__ = ("__call__",)

    other = Other()
    other.__call__ = abs
    have_called(other, StagedFunction, 1)
    assert other(-2.0) == 2.0


def test_a_class_whose_first_slot_is_another_gets_no_place():
    class Other:
        __slots__ = ("A", "__call__")  # CPython sorts them

    assert with_calls_in_c(Other) is Other
