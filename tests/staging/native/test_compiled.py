"""A way is native code from its second replay on, and where native code leaves, the NumPy steps answer."""

import gc
import math
import threading
import weakref

import numpy as np
import pytest

from shiftreset_ad import derivative, grad, hvp, jvp, staged, taylor
from shiftreset_ad.staging.native import compiled, entry
from shiftreset_ad.staging.native.compiled import _are_same
from tests.staging.native.natively import has_gate, native, needs_native

pytestmark = needs_native


def way_of(f):
    return next(way for signature in f._calls._signatures.values() for way in signature.ways)


def test_a_way_is_compiled_when_its_steps_have_been_checked():
    f = staged(lambda x: x * x + 1.0)
    for calls, is_native in ((1, False), (2, False), (3, True), (4, True)):
        assert f(3.0) == 10.0
        assert (way_of(f).take.entry is not None) == is_native, calls
    assert "fmul double" in f.llvm[0]


def test_where_native_code_leaves_the_steps_answer():
    f = staged(lambda x: np.exp(x))
    for x in (1.0, 2.0, 3.0):
        f(x)
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert f(1000.0) == math.inf
    assert f(2.0) == np.exp(2.0)
    g = staged(lambda x: 1.0 / x)
    for x in (1.0, 2.0, 3.0):
        g(x)
    with pytest.raises(ZeroDivisionError):
        g(0.0)
    assert len(g.sources) == 1


def test_native_code_that_answers_something_else_is_given_up(monkeypatch):
    monkeypatch.setattr(compiled.Native, "entry", lambda self: lambda *inputs: [2.0])
    f = staged(lambda x: x * x + 1.0)
    for x in (1.0, 2.0, 3.0, 4.0, 5.0):
        assert f(x) == x * x + 1.0
    assert f.llvm == ["; no native code: it gave other answers than the steps by NumPy"]


def test_other_threads_do_not_see_native_code_that_has_not_been_checked(monkeypatch):
    f, seen = staged(lambda x: x * x + 1.0), []

    def meanwhile(*inputs):
        thread = threading.Thread(target=lambda: seen.append(way_of(f).take.entry))
        thread.start()
        thread.join()
        return [2.0]

    monkeypatch.setattr(compiled.Native, "entry", lambda self: meanwhile)
    assert [f(x) for x in (1.0, 2.0, 3.0)] == [2.0, 5.0, 10.0]
    assert seen == [None]


def test_native_code_that_does_not_compile_is_given_up(monkeypatch):
    monkeypatch.setattr(entry, "text_of", lambda program: "no code")
    f = staged(lambda x: x * x + 1.0)
    for x in (1.0, 2.0, 3.0, 4.0, 5.0):
        assert f(x) == x * x + 1.0
    assert f.llvm[0].startswith("; no native code: RuntimeError")


def test_why_a_way_is_not_native():
    f = staged(lambda x: 2.0 if str(x) == "5.0" else x)
    assert f(5.0) == 2.0
    assert f.llvm == ["; no native code: it asks str of a value"]


# The shortcut of calls with numbers


factor = 2.0


def test_the_shortcut_is_taken_and_left():
    global factor
    factor = 2.0
    f = staged(lambda x, n=3: factor * x * n if bool(x > 0) else x)
    for _ in range(4):
        assert f(1.5) == 9.0
    assert f(2.5) == 15.0
    assert has_gate(f)
    assert [f(-1.0), f(np.float64(1.5)), f(1.5, n=4), f(1.5, 4), f(1.5, 4.0)] == [-1.0, 9.0, 12.0, 12.0, 12.0]
    assert type(f(np.float64(1.5))) is np.float64
    factor = 3.0
    assert f(1.5) == 13.5
    factor = 2.0
    assert f(1.5) == 9.0


def test_the_shortcut_holds_for_one_reaction_to_errors():
    f = staged(lambda x: np.exp(-x) if np.geterr()["under"] == "ignore" else x)
    for _ in range(5):
        assert f(0.0) == 1.0
    with np.errstate(under="warn"):
        assert [f(2.0) for _ in range(5)] == [2.0] * 5
    assert f(0.0) == 1.0


def test_the_shortcut_is_not_taken_inside_a_derivative():
    f = staged(lambda x: x * x)
    for _ in range(5):
        assert f(3.0) == 9.0
    assert grad(lambda x: f(x) * f(3.0))(3.0) == 54.0


def test_structures_and_several_answers_have_a_shortcut_too():
    f = staged(lambda x, y: {"sum": x + y, "both": [x, y]})
    for x in (1.0, 2.0, 3.0, 4.0):
        assert f(x, 2) == {"sum": x + 2, "both": [x, 2]}
    assert has_gate(f)
    g = staged(lambda x: [x * 2])
    assert [g(x) for x in (1.0, 2.0, 3.0, 4.0)] == [[2.0], [4.0], [6.0], [8.0]]


def test_no_value_of_the_run_is_kept():
    """A cycle would keep the values until the collector comes."""

    f = staged(grad(lambda x: np.sum(np.sin(x) * x)))
    gc.disable()
    try:
        for _ in range(5):
            x = np.ones(1000)
            argument, answer = weakref.ref(x), weakref.ref(f(x))
            del x
            assert argument() is None
            assert answer() is None
    finally:
        gc.enable()
    assert "no native code" not in f.llvm[0]


def newton_sqrt(a):
    x = a
    while bool(abs(x * x - a) > 1e-12):
        x = (x + a / x) / 2
    return x


def smooth(x):
    y = x
    for _ in range(3):
        y = np.sin(y) * x + 0.1 * y**2 + np.exp(-y)
    return y


@pytest.mark.parametrize(
    "f",
    [
        grad(newton_sqrt),
        grad(grad(newton_sqrt)),
        grad(smooth),
        grad(grad(smooth)),
        grad(grad(grad(smooth))),
        derivative(smooth, 4),
        lambda x: jvp(smooth, (x,), (1.0,)),
        lambda x: hvp(smooth, (x,), (1.0,)),
        lambda x: taylor(smooth, x, 3),
    ],
)
@pytest.mark.parametrize("kind", [float, np.float64])
def test_derivatives_have_the_bits_of_the_steps(f, kind):
    g = staged(f)
    points = [kind(x) for x in (0.5, 0.5, 0.5, 0.75, 2.0, 2.0, 2.0, 1.25)]
    for x in points:
        found, expected = g(x), f(x)
        np.testing.assert_allclose(found, expected, rtol=1e-14)
        assert type(found) is type(expected)
    ways = [way.take for way in next(iter(g._calls._signatures.values())).ways if way.take.entry is not None]
    assert ways
    for way in ways:
        assert all(_are_same(way.entry(x), way.steps([x])) for x in points)


def test_structures_come_back_as_they_were():
    f = staged(lambda p: {"y": p["x"] * 2, "both": (p["x"], [p["k"] + 1])})
    for x in (1.0, 2.0, 3.0, 4.0):
        assert f({"x": x, "k": 3}) == {"y": x * 2, "both": (x, [4])}
    assert "no native code" not in f.llvm[0]


def test_the_text_is_the_same_in_each_run():
    assert native(smooth, 0.5).text == native(smooth, 0.25).text
