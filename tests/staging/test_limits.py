"""A limit for the memory of frames: the bits are those without it, and `report` says where it does not hold."""

import pickle
import warnings

import numpy as np
import pytest

from shiftreset_ad import (
    checkpoint,
    cond,
    fori_loop,
    grad,
    hvp,
    jacrev,
    jvp,
    scan,
    staged,
    value_and_grad,
    while_loop,
)
from shiftreset_ad.boundary import trees
from shiftreset_ad.staging.native import machine
from tests.peaks import peak_of
from tests.staging.in_threads import require_same_in_threads
from tests.staging.native.natively import needs_native


def of_arrays(x, n):
    return np.sum(fori_loop(0, n, lambda i, x: x + 0.01 * np.sin(x) * i, x))


def of_matrices(x, n):
    matrix = np.outer(x, x)
    return np.sum(fori_loop(0, n, lambda i, y: np.tanh(matrix @ y) + 0.1 * y.T, matrix))


def in_place(x, n):
    x = x.copy()
    for i in range(n):
        x[i % 3] = x[i % 3] + 0.1 * np.sin(x[(i + 1) % 3])
        x[1:] = x[1:] * 0.99
    return np.sum(x * x)


def with_break(x, n):
    table = np.array([2, 0, 1, 3, 1])
    total, i = 0.0, 0
    while i < n:
        total = total * 0.9 + x[table[i % 5]] * np.cos(total)
        i = i + 1
        if total > 2.0:
            break
    return total


def one_after_another(x, n):
    y = fori_loop(0, n, lambda i, y: cond(y > 0.5, lambda y: y * 0.9, lambda y: y + np.sin(y), y), x[0])
    z = while_loop(lambda z: z < 3.0, lambda z: z * 1.01 + 0.001 * y, abs(x[1]) + 0.1)
    return y * z


def of_views(x, n):
    def rounds(i, state):
        one, other = state
        return other * 0.9 + np.sin(one), one

    one, other = fori_loop(0, n, rounds, (x[:2], x[2:]))
    return np.sum(one * other)


def in_a_branch(x, n):
    if x[0] > 0.05:
        i = 3
        while i < n:
            x = x * 0.99 + 0.01 * np.cos(x)
            i = i + 1
    return np.sum(x * x)


def in_a_loop(x, n):
    def outer(i, y):
        y = fori_loop(0, i, lambda j, y: y + 0.1 * fori_loop(0, j, lambda k, z: np.cos(z) * 0.9, y), y)
        return cond(y > 1.0, lambda y: while_loop(lambda y: y > 0.5, lambda y: y * 0.9, y), lambda y: y * 1.2, y)

    return fori_loop(0, n // 4, outer, x[0])


def with_gathering(x, n):
    return fori_loop(0, n, lambda i, c: np.sum(scan(lambda c, t: (c * 0.9 + np.sin(t), c * c), c, x)[1]) * 0.1, x[0])


def with_checkpoints(x, n):
    block = checkpoint(lambda x: fori_loop(0, 3, lambda i, x: x + 0.01 * np.sin(x), x))
    return np.sum(fori_loop(0, n, lambda j, x: block(x), x))


PROGRAMS = [
    *(of_arrays, of_matrices, in_place, with_break, one_after_another, of_views, in_a_branch, in_a_loop),
    *(with_gathering, with_checkpoints),
]
ONCE = {
    "value_and_grad": value_and_grad,
    "forward over reverse": lambda f: lambda x, n: jvp(lambda x: grad(f)(x, n), (x,), (np.cos(x),)),
    "hvp": lambda f: lambda x, n: hvp(lambda x: f(x, n), (x,), (np.sin(x),)),
    "jacrev": lambda f: lambda x, n: jacrev(lambda x: f(x, n) * x)(x),
}
MODES = {
    **ONCE,
    "reverse over reverse": lambda f: lambda x, n: grad(lambda x: np.sum(np.sin(grad(f)(x, n))))(x),
}
X = np.array([0.1, 0.2, 0.3, 0.4])
COUNTS = (5, 7, 20, 61, 1, 0, 2)


def same_bits(found, expected):
    pairs = zip(trees.flatten(found)[0], trees.flatten(expected)[0], strict=True)
    return all(type(x) is type(y) and np.asarray(x).tobytes() == np.asarray(y).tobytes() for x, y in pairs)


@pytest.mark.slow_but_every(5)
@pytest.mark.parametrize("is_native", [pytest.param(True, marks=needs_native), False])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_bits_are_those_without_a_limit(program, mode, is_native, monkeypatch):
    if not is_native:
        monkeypatch.setattr(machine, "unfit", lambda: "it is switched off")
    f = MODES[mode](program)
    without = staged(f)
    limited = [staged(f, memory_limit=limit) for limit in (1, 2000)]
    for n in COUNTS:
        expected = without(X, n)
        assert all(same_bits(g(X, n), expected) for g in limited)
    for g in limited:
        assert len(g.sources) == len(without.sources) == 1
        assert ("no native code" in g.llvm[0]) == ("no native code" in without.llvm[0])
        assert ("Ledger" in g.sources[0]) == (mode in ONCE)
    assert "Ledger" not in without.sources[0]
    assert "stretch" not in without.llvm[0]


def test_the_text_of_the_steps_tells_of_the_limit():
    g = staged(grad(of_arrays), memory_limit=1000)
    g(X, 5)
    assert "within 1000 bytes" in g.ir[0]
    assert "each stretch without frames in" in g.ir[0]
    assert "a stretch again" in g.ir[0]
    assert "stretch" in g.pictures[0].dot


def test_loops_share_the_memory():
    g = staged(grad(one_after_another), memory_limit=1000)
    g(X, 5)
    assert g.ir[0].count("within 500 bytes") == 2


def gathering(x, n):
    return scan(lambda c, t: (c * 0.9 + np.sin(t), c * c), x[0], x)[1]


def with_new_arrays(x, n):
    """An array without a derivative is new in each round, and written to there."""
    y = x * 1.0
    for i in range(n):
        z = np.zeros(len(x))
        z[i % len(x)] = 1.0
        y = np.sin(z + y)
    return np.sum(y)


def with_views_of_new_arrays(x, n):
    """The same through a view, so that the array has two names."""
    y = x * 1.0
    for i in range(n):
        z = np.zeros(len(x))
        part = z[:2]
        part[i % 2] = 1.0
        y = np.sin(z + y)
    return np.sum(y)


OFTEN = "1 loop: its rounds are visited more than once, as by scan and by derivatives of a higher order"


@pytest.mark.parametrize(
    ("f", "limit", "remark"),
    [
        (grad(of_arrays), 10_000, None),
        (grad(of_arrays), 100, "1 loop: eight snapshots of its state and the frame of one round take more"),
        (grad(in_a_loop), 10_000, "a single round of 1 loop: a loop in it keeps all its frames"),
        (MODES["reverse over reverse"](of_arrays), 10_000, OFTEN),
        (grad(lambda x, n: np.sum(gathering(x, n))), 10_000, OFTEN),
        (gathering, 10_000, "1 loop: what its rounds answer is gathered into an array"),
        (grad(with_views_of_new_arrays), 10_000, "1 loop: it writes to arrays in place"),
    ],
)
def test_report_says_where_the_limit_does_not_hold(f, limit, remark):
    g = staged(f, memory_limit=limit)
    g(X, 5)
    if remark is None:
        assert "memory limit" not in g.report()
    else:
        assert f"The memory limit does not hold for {remark}" in g.report()


@needs_native
def test_a_new_version_of_an_array_is_within_the_limit():
    g = staged(grad(with_new_arrays), memory_limit=10_000)
    np.testing.assert_array_equal(g(X, 5), grad(with_new_arrays)(X, 5))
    assert "memory limit" not in g.report()


def power(x, n):
    return power(x, n - 1) * np.sin(x) if n > 0 else x


def test_report_tells_of_functions_that_call_themselves():
    g = staged(grad(lambda x, n: fori_loop(0, n, lambda i, y: y + power(y, 2 + 0 * n), x)), memory_limit=10_000)
    expected = grad(lambda x, n: fori_loop(0, n, lambda i, y: y + power(y, 2), x))
    for n in (3, 4, 5):
        np.testing.assert_allclose(g(0.5, n), expected(0.5, n), rtol=1e-12)
    assert "The memory limit does not hold for 1 loop: a function calls itself in it" in g.report()


@pytest.mark.parametrize(
    ("limit", "error", "words"),
    [
        ("16 MB", TypeError, "staged: memory_limit must be an integer, the number of bytes"),
        (1.5, TypeError, "staged: memory_limit must be an integer"),
        (True, TypeError, "staged: memory_limit must be an integer"),
        (0, ValueError, "staged: memory_limit must be at least 1, and is 0; None is for no limit"),
    ],
)
def test_errors_of_the_limit(limit, error, words):
    with pytest.raises(error, match=words):
        staged(of_arrays, memory_limit=limit)


def test_the_limit_may_be_an_integer_of_numpys():
    g = staged(grad(of_arrays), memory_limit=np.int64(1000))
    g(X, 5)
    assert "within 1000 bytes" in g.ir[0]


def test_a_pickle_has_the_limit():
    g = pickle.loads(pickle.dumps(staged(of_arrays, memory_limit=1000)))
    assert g._memory_limit == 1000


def test_memory_of_arrays_by_numpy(monkeypatch):
    monkeypatch.setattr(machine, "unfit", lambda: "it is switched off")
    x = np.linspace(0.0, 1.0, 20_000)

    def peak(limit):
        g = staged(grad(of_arrays), memory_limit=limit)
        for _ in range(3):
            g(x, 3)
        found = peak_of(lambda: g(x, 300))
        assert len(g.sources) == 1
        return found

    assert peak(None) > 300 * x.nbytes
    assert peak(30 * x.nbytes) < 42 * x.nbytes


def test_rounds_that_are_carried_out_again_do_not_warn_again(monkeypatch):
    monkeypatch.setattr(machine, "unfit", lambda: "it is switched off")

    def warned(limit):
        g = staged(
            grad(lambda x, n: fori_loop(0, n, lambda i, x: np.exp(800.0 - 1e5 * x) * 0.0 + x, x)), memory_limit=limit
        )
        for _ in range(3):
            g(np.float64(0.5), 3)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            g(np.float64(0.0), 9)
        return len(caught)

    assert warned(1) == warned(None) > 0


@pytest.mark.parametrize("is_native", [pytest.param(True, marks=needs_native), False])
def test_threads(is_native, monkeypatch):
    if not is_native:
        monkeypatch.setattr(machine, "unfit", lambda: "it is switched off")
    g = staged(grad(in_place), memory_limit=1500)
    for _ in range(4):
        g(X, 5)
    require_same_in_threads(g, [(X + 0.1 * i, 50 + i) for i in range(6)], 5, same_bits)
