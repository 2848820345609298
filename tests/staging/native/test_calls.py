"""Functions that call themselves in native code: the bits of the NumPy steps, at all depths and for all trees."""

import resource
import sys

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from shiftreset_ad.staging.native import machine
from shiftreset_ad.staging.native.compiled import _are_same
from tests.staging.control.recursive import OF_A_DEPTH, nested_sines, of_a_tree, of_states_of_a_tree, random_tree
from tests.staging.control.test_recursion import DEPTHS, ON_TREES, OPERATORS
from tests.staging.native.natively import needs_native
from tests.staging.native.test_control import interrupted, one_look, require_at_the_same_time  # noqa: F401

pytestmark = needs_native

# These have no native form for other reasons than their calls.
OTHER_REASONS = (
    *("in another layout", "an array with another layout", "numpy.sum along these axes", "numpy.copy has"),
    "numpy.tensordot of these shapes",
)


def agree(f, calls):
    """That native code answers with the bits of the NumPy steps; nothing if there is another reason.

    It leaves only where the answers overflow.
    """
    g = staged(f)
    for args in [*calls[:3], *calls]:
        np.testing.assert_allclose(g(*args), f(*args), rtol=1e-9, atol=1e-11)
    (way,) = (way for signature in g._calls._signatures.values() for way in signature.ways)
    if way.llvm.startswith("; no native code"):
        assert any(reason in way.llvm for reason in OTHER_REASONS), way.llvm
        return
    assert "as native code" in g.report()
    for args in calls:
        found, by_numpy = way.take.entry(*args), way.take.steps(list(args))
        assert found is not None or not np.all(np.isfinite(by_numpy[0])), args
        assert _are_same(found, by_numpy), (args, found, by_numpy)


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("f", OF_A_DEPTH, ids=lambda f: f.__name__)
def test_all_depths_have_the_bits_of_the_steps(f, operator):
    agree(OPERATORS[operator](f), DEPTHS)


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("operator", ON_TREES)
@pytest.mark.parametrize("f", [of_a_tree, of_states_of_a_tree], ids=lambda f: f.__name__)
def test_all_trees_have_the_bits_of_the_steps(f, operator):
    random = np.random.default_rng(1)
    w = 1.1 if f is of_a_tree else random.uniform(-1.0, 1.0, (3, 3))
    agree(ON_TREES[operator](f), [(*random_tree(random, 6), w) for _ in range(5)])


def fibonacci_like(n, x):
    """Two answers from two calls, and an integer beside them."""

    def go(n, x):
        if n < 2:
            return x, n
        (a, i), (b, j) = go(n - 1, x * 0.5), go(n - 2, x + 0.1)
        return np.sin(a) * b + i * 0.01, i + j

    a, count = go(n, x)
    return a * count


def of_long_arrays(n, x):
    """The arrays of an activation take more memory than it may have on the stack."""

    def go(n, v):
        return v if n <= 0 else np.sin(go(n - 1, v * 0.9)) * x + go(n - 2, v[::-1] * 0.5) * v

    return np.mean(go(n, np.linspace(0.1, 1.0, 300) * x))


def in_a_round(n, x):
    """The frames of a call that only this round needs."""

    def go(n, y):
        return y if n <= 0 else np.sin(go(n - 1, y) * x)

    total = 0.0
    for k in range(n):
        total = total + grad(lambda y, k=k: go(k, y) * y)(x + k)
    return total


def with_arrays_in_branches(n, x):
    """An array that the way back needs is made on one of the paths."""

    def go(n, x):
        if n <= 0:
            return x
        v = np.stack([x, go(n - 1, x * 0.5), go(n - 2, x + 0.1)])
        return np.sum(np.sin(v) * v * x)

    return go(n, x)


def with_work_on_each_path(n, x):
    """Both branches have values that the way back needs, and there are more behind them."""

    def go(n, x):
        a = np.sin(x) if n <= 0 else go(n - 1, x * 0.5) * np.cos(x)
        b = a * a if n <= 2 else go(n - 2, a) * a
        return np.tanh(b * x) * a

    return go(n, x)


MORE = (fibonacci_like, of_long_arrays, in_a_round, with_arrays_in_branches, with_work_on_each_path)


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("operator", ["itself", "grad", "jvp", "grad of grad", "grad, three times"])
@pytest.mark.parametrize("f", MORE, ids=lambda f: f.__name__)
def test_more_functions_have_the_bits_of_the_steps(f, operator):
    agree(OPERATORS[operator](f), DEPTHS)


def path(count):
    """A tree of which each node has one child."""
    right = np.arange(1, count + 1)
    right[-1] = -1
    return np.full(count, -1), right, np.ones(count)


def compiled_for(f, *args):
    for _ in range(3):
        f(*args)
    assert "define" in f.llvm[0]
    return f


def with_depth_of_python(limit, f, *args):
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        return f(*args)
    finally:
        sys.setrecursionlimit(before)


def entry_of(f):
    (way,) = (way for signature in f._calls._signatures.values() for way in signature.ways)
    return way.take.entry


def test_a_path_of_70000_nodes_is_as_deep_as_python_says():
    """The parts of a tree have one shape, so a path and a shallow tree of 70,000 places have one record."""
    left, right, values = path(70_000)
    shallow = right.copy()
    shallow[10] = -1
    slope = compiled_for(staged(grad(of_a_tree, argnums=3)), left, shallow, values, 1.0)
    assert slope(left, shallow, values, 1.0) == 12.0
    with pytest.raises(RecursionError):
        slope(left, right, values, 1.0)
    assert entry_of(slope)(left, right, values, 1.0) is None
    assert with_depth_of_python(10**6, slope, left, right, values, 1.0) == 70_001.0
    shallow[10], shallow[5000] = 11, -1
    assert with_depth_of_python(10**6, entry_of(slope), left, shallow, values, 1.0) == [5002.0]
    assert entry_of(slope)(left, shallow, values, 1.0) is None
    assert len(slope.sources) == 1


def test_a_function_that_calls_itself_for_ever_is_an_error():
    """A last call must not become a loop, which would have no end."""

    def last_call(n, x):
        return x if n == 0 else last_call(n - 1, x * 0.5)

    g = compiled_for(staged(last_call), 3, 1.0)
    assert entry_of(g)(-1, 1.0) is None
    with pytest.raises(RecursionError):
        g(-1, 1.0)
    assert g(4, 1.0) == 0.0625


def test_the_stack_is_that_of_the_thread(monkeypatch):
    """With less of the stack for its calls, native code leaves at a smaller depth."""
    slope = compiled_for(staged(grad(nested_sines, argnums=1)), 3, 0.7)
    assert entry_of(slope)(800, 0.7) == pytest.approx([grad(nested_sines, argnums=1)(800, 0.7)])
    monkeypatch.setattr(machine, "stack", lambda: 4096)
    slope = compiled_for(staged(grad(nested_sines, argnums=1)), 3, 0.7)
    assert entry_of(slope)(800, 0.7) is None
    assert slope(800, 0.7) == pytest.approx(grad(nested_sines, argnums=1)(800, 0.7))


def test_a_function_that_calls_itself_can_be_interrupted():
    def fibonacci(n, x):
        return x if n < 2 else fibonacci(n - 1, x) + fibonacci(n - 2, x)

    entry = entry_of(compiled_for(staged(fibonacci), 5, 1.0))
    with pytest.raises(TimeoutError, match="late"):
        interrupted(lambda: entry(80, 1.0), 0.1)
    assert entry(10, 1.0) == [89.0]


@pytest.mark.usefixtures("one_look")
def test_other_threads_run_at_the_same_time_as_calls():
    def fibonacci(n, x):
        return x if n < 2 else fibonacci(n - 1, x) + fibonacci(n - 2, x)

    require_at_the_same_time(entry_of(compiled_for(staged(fibonacci), 5, 1.0)), (36, 1.0), (3, 1.0))


def test_the_frames_of_calls_are_freed():
    """A long loop of calls, each with a derivative, needs the memory of one of them."""
    f = compiled_for(staged(in_a_round), 3, 0.1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert np.isfinite(entry_of(f)(900, 1e-9)[0])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # kilobytes


def test_tables_may_be_arguments_of_each_call():
    def total(left, right, value, i, x):
        if i < 0:
            return x
        return total(left, right, value, left[i], x) * total(left, right, value, right[i], x) * value[i]

    random = np.random.default_rng(2)
    agree(grad(total, argnums=4), [(*random_tree(random, 6), 0, 1.1) for _ in range(4)])


def test_an_index_that_is_not_in_the_array_is_an_error():
    """The code leaves before it reads there, in the first activation and in one inside."""
    left, right, values = np.array([1, -1]), np.array([-1, -1]), np.array([0.5, 2.0])
    slope = compiled_for(staged(grad(of_a_tree, argnums=3)), left, right, values, 1.5)
    assert slope(left, right, values, 1.5) == grad(of_a_tree, argnums=3)(left, right, values, 1.5)
    for row in (0, 1):
        for index in (2, 2**40):
            wrong = left.copy()
            wrong[row] = index
            assert entry_of(slope)(wrong, right, values, 1.5) is None
            with pytest.raises(IndexError):
                slope(wrong, right, values, 1.5)


def test_the_first_call_may_be_one_that_calls_nothing():
    def total(value, i, x):
        return x * x if i < 0 else total(value, i - 1, x) * value[i]

    values = np.array([0.5, 2.0, 3.0])
    slope = grad(total, argnums=2)
    agree(slope, [(values, i, 1.25) for i in (2, 0, -1, -5, 1)])
