"""The factors of a matrix, by NumPy's own LAPACK: NumPy's bits, one factorization, and NumPy where none are found."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import ref

import numpy as np
import pytest

from shiftreset_ad import grad, hvp, jvp, staged, vjp
from shiftreset_ad.rules.linalg import factors, solving, systems
from shiftreset_ad.testing import check_grads

ROWS = factors.MANY
RNG = np.random.default_rng(0)
A = RNG.normal(size=(ROWS, ROWS)) + 3.0 * np.eye(ROWS)
VECTOR, MATRIX = RNG.normal(size=ROWS), RNG.normal(size=(ROWS, 3))

LAPACK = np.show_config(mode="dicts")["Build Dependencies"]["lapack"]["name"]  # type: ignore[index]
found = pytest.mark.skipif(factors.routines() is None, reason="NumPy's LAPACK has no names here")


@pytest.mark.skipif(
    sys.platform != "linux" or LAPACK != "scipy-openblas",
    reason="only of NumPy's own wheels is it known what they need",
)
def test_the_functions_are_found_in_this_version_of_numpy() -> None:
    """Otherwise NumPy would solve each system, and most tests here would be left out."""
    assert factors.routines() is not None


@pytest.fixture
def without_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factors, "routines", lambda: None)


@found
@pytest.mark.parametrize("rows", [ROWS, ROWS + 1, 64, 100, 129, 200])
@pytest.mark.parametrize("columns", [None, 1, 2, 17, 100])
def test_solutions_with_the_matrix_have_the_bits_of_numpy(rows: int, columns: int | None) -> None:
    a, b, c = (
        RNG.normal(size=(rows, rows) if i == 0 else (rows,) if columns is None else (rows, columns)) for i in range(3)
    )
    for matrix in (a, a.T, a[::-1]):
        x, known = factors.factored(matrix, b)  # type: ignore[misc]
        np.testing.assert_array_equal(x, np.linalg.solve(matrix, b), strict=True)
        np.testing.assert_array_equal(known.solution_of_lapack(c, False), np.linalg.solve(matrix, c), strict=True)
        assert x.flags.c_contiguous
        for is_transposed in (False, True):
            solution = known.solution(c, is_transposed)
            expected = np.linalg.solve(matrix.T if is_transposed else matrix, c)
            np.testing.assert_allclose(solution, expected, 1e-6, 1e-9)
            assert solution.flags.c_contiguous
            assert solution.base is None


@pytest.mark.parametrize("integer", [np.int64, np.int32])
def test_the_places_are_read_from_integers_of_both_sizes(integer: Any) -> None:
    """LAPACK swaps row i with the row that pivot i names, one after another, and counts from one."""
    pivots = np.zeros(4, np.int64)
    pivots.view(integer)[:4] = [3, 4, 3, 4]
    np.testing.assert_array_equal(factors.places_of(pivots), [2, 3, 0, 1])


@found
def test_many_columns_are_solved_without_copies_to_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the value has the bits of NumPy, and so goes to LAPACK's own function."""
    calls = []
    by_lapack = factors.Factors.solution_of_lapack
    monkeypatch.setattr(
        factors.Factors, "solution_of_lapack", lambda self, *args: calls.append(args) or by_lapack(self, *args)
    )

    def f(b: Any) -> Any:
        return np.sum(np.linalg.solve(A, b) ** 2)

    hvp(f, (A,), (A,))
    assert not calls  # the value comes with the factors
    hvp(f, (MATRIX,), (MATRIX,))
    assert len(calls) == 3  # its tangent, and the way back of both


@found
def test_a_tangent_beside_a_record_has_the_bits_of_numpy() -> None:
    b, b_dot = RNG.normal(size=(2, ROWS, ROWS))
    _, y_dot = factors.apart(jvp, lambda b: np.linalg.solve(A, b), (b,), (b_dot,))
    np.testing.assert_array_equal(y_dot, np.linalg.solve(A, b_dot))


def test_a_singular_matrix_raises_the_error_of_numpy() -> None:
    with pytest.raises(np.linalg.LinAlgError, match=r"^Singular matrix$"):
        grad(lambda b: np.sum(np.linalg.solve(np.ones((ROWS, ROWS)), b)))(VECTOR)


@pytest.mark.of_sizes
@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.eye(ROWS - 1), np.ones(ROWS - 1)),
        (np.eye(ROWS, dtype=np.float32), np.ones(ROWS)),
        (np.eye(ROWS), np.ones(ROWS, np.float32)),
        (np.eye(ROWS) * 1j, np.ones(ROWS)),
        (np.eye(ROWS)[None], np.ones((ROWS, 1))),
        (np.eye(ROWS), np.ones((2, ROWS, 1))),
        (np.eye(ROWS)[:, :-1], np.ones(ROWS)),
        (np.eye(ROWS), np.ones(ROWS + 1)),
        (np.eye(ROWS), np.ones((ROWS, 0))),
    ],
)
def test_numpy_solves_what_is_small_or_unusual(a: Any, b: Any) -> None:
    assert factors.factored(a, b) is None


def quadratic(b: Any) -> Any:
    return np.sum(np.tanh(np.linalg.solve(A, b)) ** 2)


def factorizations(program: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> int:
    """How often a matrix is factored, by us or by NumPy."""
    count = 0

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            nonlocal count
            count += 1
            return function(*args)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(factors, "solved_by", counted(factors.solved_by))
        patch.setattr(solving, "solved", counted(systems.solved))
        program()
    return count


@found
@pytest.mark.parametrize("b", [VECTOR, MATRIX])
def test_each_derivative_factors_the_matrix_once(b: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert factorizations(lambda: grad(quadratic)(b), monkeypatch) == 1
    assert factorizations(lambda: hvp(quadratic, (b,), (b,)), monkeypatch) == 1
    assert factorizations(lambda: grad(lambda a: np.sum(np.linalg.solve(a, b) ** 2))(A), monkeypatch) == 1
    assert factorizations(lambda: grad(lambda b: np.sum(np.linalg.solve(A + np.mean(b), b) ** 2))(b), monkeypatch) == 1


@pytest.mark.parametrize("b", [VECTOR, MATRIX])
def test_derivatives_are_right(b: Any) -> None:
    check_grads(lambda a, b: np.linalg.solve(a, b), (A, b), order=2)
    _, pullback = vjp(lambda b: np.linalg.solve(A, b), b)
    _, y_dot = jvp(lambda b: np.linalg.solve(A, b), (b,), (b + 1.0,))
    (x_bar,) = pullback(b)
    np.testing.assert_allclose(np.sum(x_bar * (b + 1.0)), np.sum(b * y_dot))


@pytest.mark.parametrize("b", [VECTOR, MATRIX])
def test_without_factors_the_derivatives_are_those_of_numpy(b: Any, without_factors: None) -> None:
    expected = np.linalg.solve(A.T, np.ones_like(b))
    np.testing.assert_array_equal(grad(lambda b: np.sum(np.linalg.solve(A, b)))(b), expected)
    test_derivatives_are_right(b)


@found
def test_a_loop_with_one_matrix_factors_it_once_and_holds_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def loop(b: Any) -> Any:
        for _ in range(5):
            b = np.tanh(np.linalg.solve(A, b))
        return np.sum(b)

    assert factorizations(lambda: grad(loop)(VECTOR), monkeypatch) == 1
    assert factorizations(lambda: hvp(loop, (VECTOR,), (VECTOR,)), monkeypatch) == 1
    assert factors.here.last is not None
    assert not factors.here.last.matrix  # as soon as nobody needs the factors


@found
def test_the_copy_of_a_matrix_goes_as_soon_as_there_is_another_matrix() -> None:
    first = factors.factored(A, VECTOR)
    copy = ref(factors.here.last.matrix[0])  # type: ignore[union-attr]
    second = factors.factored(A + 1.0, VECTOR)
    assert first is not None
    assert second is not None
    assert copy() is None


@found
@pytest.mark.parametrize("change", [lambda a: a[:1], lambda a: a[-1:], lambda a: a[:0]])
def test_another_matrix_has_other_factors(change: Callable[[Any], Any]) -> None:
    a, held = A.copy(), []
    for _ in range(2):
        x, known = factors.factored(a, VECTOR)  # type: ignore[misc]
        held.append(known)
        np.testing.assert_array_equal(x, np.linalg.solve(a, VECTOR))
        change(a)[...] += 1.0
    assert (held[0] is held[1]) is (change(a).size == 0)
    _, other = factors.factored(a, MATRIX)  # type: ignore[misc]
    assert other is not held[1]


@found
def test_a_function_and_its_record_have_the_same_bits_of_a_system_whose_derivative_is_nearly_lost() -> None:
    """Otherwise the two would seem to differ, and the function would not be staged."""
    rows = np.arange(ROWS)
    nearly_singular = np.exp(-((rows[:, None] - rows) ** 2) / 40.0) + 1e-12 * np.eye(ROWS)

    def f(b: Any) -> Any:
        return np.sum(np.linalg.solve(nearly_singular, b) * rows)

    expected = factors.apart(grad(f), VECTOR)
    derivative = staged(grad(f))
    for _ in range(4):
        np.testing.assert_array_equal(derivative(VECTOR), expected)
    assert factors.here.shares
    assert not np.array_equal(grad(f)(VECTOR), expected)


@found
def test_what_the_program_writes_to_the_matrix_later_does_not_matter() -> None:
    def f(b: Any) -> Any:
        a = A.copy()
        x = np.linalg.solve(a, b)
        a[...] = np.nan
        return np.sum(x)

    np.testing.assert_allclose(grad(f)(VECTOR), np.linalg.solve(A.T, np.ones(ROWS)))


@found
def test_threads_may_solve_by_the_same_factors() -> None:
    _, known = factors.factored(A, VECTOR)  # type: ignore[misc]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda i: known.solution(VECTOR * 2.0**i, i % 2), range(100)))
    for i, answer in enumerate(answers):
        np.testing.assert_array_equal(answer, known.solution(VECTOR, i % 2) * 2.0**i)


@pytest.fixture
def looked_up_again() -> Iterator[None]:
    factors.routines.cache_clear()
    yield
    factors.routines.cache_clear()


class Library:
    """A library that solves wrongly, or has no names."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def __getitem__(self, name: str) -> Any:
        if name not in self.names:
            raise AttributeError(name)
        return ctypes.CFUNCTYPE(None)(lambda *args: None)


@pytest.mark.parametrize("names", [(), ("dgesv_",), ("dgesv_", "dgetrs_"), ("dgesv_", "dgetrs_", "dtrsm_")])
def test_a_library_without_the_names_or_with_other_answers_is_not_used(
    names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, looked_up_again: None
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda path: Library(names))
    assert factors.routines() is None
    assert factors.factored(A, VECTOR) is None


def test_no_library_and_other_machines_go_to_numpy(monkeypatch: pytest.MonkeyPatch, looked_up_again: None) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(factors, "IN_C", None)
        assert factors.routines() is None
    factors.routines.cache_clear()
    monkeypatch.setattr(sys, "byteorder", "big")
    assert factors.routines() is None
