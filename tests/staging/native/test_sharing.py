"""Loops that are alike share a function, with the bits of the loops in their places."""

import numpy as np
import pytest

from shiftreset_ad import grad
from shiftreset_ad.rules.indexing import replaced
from shiftreset_ad.staging.native.sharing import as_function
from tests.staging.native.natively import check, native, needs_native

pytestmark = needs_native
RNG = np.random.default_rng(0)
X, W = RNG.normal(size=50), RNG.normal(size=(50, 50)) / 7.0


def layers(count, function):
    """Layers with a product between them, so that no two share a round."""

    def f(x):
        for i in range(count):
            x = W @ function(x, i)
        return x

    return f


def definitions(code):
    return [line for line in code.text.splitlines() if line.startswith("define internal void @rounds_")]


def calls(code):
    return code.text.count("call void @rounds_")


@pytest.mark.parametrize("count", [3, 20])
def test_loops_that_are_alike_are_compiled_once(count):
    code = check(layers(count, lambda x, i: 0.1 * x * x - 0.5 * x), (X,), (-X,))
    assert calls(code) == count
    assert len(definitions(code)) == 1
    assert "noinline" in definitions(code)[0]


def test_one_or_two_loops_are_written_in_their_places():
    code = check(layers(2, lambda x, i: 0.1 * x * x - 0.5 * x), (X,))
    assert "alwaysinline" in definitions(code)[0]


def test_constants_and_the_order_of_arguments_tell_loops_apart():
    code = check(layers(6, lambda x, i: x * (0.1 * i) - x * X if i % 2 else X - x), (X,), (-X,))
    assert len(definitions(code)) == 4  # three with constants of their own, and that without


def test_numbers_and_constant_arrays_from_outside_are_parameters():
    weights = RNG.normal(size=(5, 50))

    def f(x, y):
        for i in range(5):
            x = W @ (x * y + weights[i])
            y = y * 0.5 + x[0]
        return x, y

    code = check(f, (X, 0.5), (-X, -2.0))
    assert len(definitions(code)) == 1


def test_an_array_twice_and_its_views():
    def f(x):
        for _ in range(4):
            x = W @ (0.1 * x * x[::-1].copy() + x)
            x = np.concatenate([x[1:], x[:1]]) * 0.5 + x
        return x

    check(f, (X,), (-X,))


def test_writes_into_the_memory_that_is_read():
    def f(x):
        for _ in range(4):
            x = replaced((x[1:41] * 2.0, x), slice(0, 40))
            x = W @ (x + 1.0)
        return x

    check(f, (X,), (-X,))


def test_on_the_way_back():
    f = layers(8, lambda x, i: np.tanh(x) * x)
    code = check(grad(lambda x: np.sum(f(x))), (X,), (2.0 * X,))
    assert calls(code) > 3 * len(definitions(code))


def test_short_loops_are_written_out():
    code = native(lambda x: [np.roll(x * 2.0, 1) + 1.0 for _ in range(4)], X[:4])
    assert not definitions(code)


def test_a_name_from_outside_that_is_not_known_is_no_parameter():
    lines = ["  %2 = fadd double %1, 1.0", "  store double %2, ptr %3"]
    assert as_function(lines, {"%3": "ptr"}, ()) is None
    text, call = as_function(lines, {"%1": "double", "%3": "ptr"}, {"%3"})
    assert call.endswith("(double %1, ptr %3)")
    assert "(double %p0, ptr noalias %p1)" in text


def test_names_do_not_tell_loops_apart():
    forms = {"%1": "double", "%3": "ptr", "%5": "double", "%9": "ptr"}
    one, _ = as_function(["on:", "  %2 = fadd double %1, 1.0", "  store double %2, ptr %3"], forms, ())
    other, _ = as_function(["up:", "  %7 = fadd double %5, 1.0", "  store double %7, ptr %9"], forms, ())
    third, _ = as_function(["up:", "  %7 = fadd double %5, 1.0", "  store double %5, ptr %9"], forms, ())
    assert one == other != third
