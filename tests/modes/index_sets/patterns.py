"""Random programs: the pattern has each entry of the dense derivative that differs from zero, also at other points.

Each program is looked at itself and by its gradient, whose pattern is that of the Hessian. The sparse matrix, which the
colours of the pattern give back from few products, is compared with the dense one, too.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import shiftreset_ad as sr
from shiftreset_ad import grad, jacobian, sparse_hessian, sparse_jacobian, sparsity
from tests.fuzzing.generation import random_program
from tests.fuzzing.routes import elements, total

Function = Callable[[Any], Any]
AWAY = 1e-7  # to another point, at which a program takes the same branches


def missed(seed: int, counts: Counter[str]) -> Iterator[str]:
    """What the patterns of the program of this seed lack, in words, and what sparse matrix is wrong."""
    program = random_program(seed)
    x, _ = program.point(np.float64)
    f = program.function(sr, np.float32)

    def scalar(x: Any) -> Any:
        return total(elements(f(x)))

    counts["programs"] += 1
    for name, g in (("the program", lambda x: elements(f(x))), ("its gradient", grad(scalar))):
        try:
            dense = dense_of(g, x)
        except TypeError:  # nothing in it depends on x
            counts[f"{name} does not depend on x"] += 1
            continue
        if not dense.size:
            continue
        near = dense_of(g, x * (1.0 + AWAY))
        try:
            here, whole = (sparsity(g, here=here)(x) for here in (True, False))
        except Exception as error:  # the dense derivative has been found
            yield f"{name}: the pattern is an error, {type(error).__name__}: {error}"
            continue
        # What rounding alone has made is no entry: it has the size of rounding, and is zero at one of the points.
        lacking = {
            f"{name}, here": dense[(dense != 0.0) & ~here.toarray()],
            f"{name}": dense[(dense != 0.0) & ~whole.toarray()],
            f"{name}, near x": near[(near != 0.0) & ~whole.toarray()],
        }
        for where, entries in lacking.items():
            counts[f"patterns of {where}"] += 1
            if entries.size:
                yield f"{where}: the pattern lacks {entries}"
        if np.asarray(x).dtype.kind == "f":
            of_scalar = name != "the program"
            yield from unlike(sparse_hessian(scalar) if of_scalar else sparse_jacobian(g), x, dense, name)
            counts[f"sparse matrices of {name}"] += 1


def dense_of(g: Function, x: Any) -> Any:
    """The dense Jacobian, `(m, n)`."""
    found = jacobian(g)(x)
    return np.reshape(found, (np.size(found) // max(1, np.size(x)), np.size(x)))


def unlike(operator: Function, x: Any, dense: Any, name: str) -> Iterator[str]:
    """What is said if a sparse matrix is not the dense one."""
    try:
        found = operator(x).toarray()
    except Exception as error:  # the dense one has been found
        yield f"{name}: the sparse matrix is an error, {type(error).__name__}: {error}"
        return
    scale = np.max(np.abs(dense), initial=1.0)
    if not np.allclose(found, dense, rtol=1e-5, atol=1e-6 * scale, equal_nan=True):
        yield f"{name}: the sparse matrix is {found}, and the dense one {dense}"


def examine(start: int, programs: int) -> tuple[Counter[str], list[str]]:
    """How many patterns were compared, and a text for each program whose pattern lacks an entry."""
    counts: Counter[str] = Counter()
    texts = []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(start, start + programs):
            texts += [f"# seed {seed}: {what}\n{random_program(seed).source}" for what in missed(seed, counts)]
    return counts, texts
