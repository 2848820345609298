"""The numbers in the arguments that are differentiated: taken out, replaced, and put together as a derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftreset_ad.boundary.arguments import Arguments, all_of

X = np.array([0.5, -1.5])


def test_one_argument() -> None:
    arguments = Arguments("test", 1, (1.0, {"a": X, "n": 3}, "text"))
    assert arguments.numbers[0] is X
    assert arguments.with_numbers([7.0]) == [1.0, {"a": 7.0, "n": 3}, "text"]
    assert arguments.derivative([8.0]) == {"a": 8.0, "n": None}


@pytest.mark.parametrize(("argnums", "order"), [((0, 2), [0, 2]), ((2, 0), [2, 0]), ((-1, 1), [2, 1]), ([1], [1])])
def test_several_in_any_order(argnums: Any, order: list[int]) -> None:
    args = (1.0, [2.0, 5], 3.0)
    arguments = Arguments("test", argnums, args)
    flat = {0: 1.0, 1: 2.0, 2: 3.0}
    assert arguments.numbers == [flat[i] for i in order]
    found = arguments.with_numbers([10.0 * number for number in arguments.numbers])
    assert [found[0], found[1][0], found[2]] == [10.0 * x if i in order else x for i, x in flat.items()]
    assert found[1][1] == 5
    derivative = arguments.derivative([10.0 * number for number in arguments.numbers])
    assert derivative == tuple([20.0, None] if i == 1 else 10.0 * flat[i] for i in order)
    assert args == (1.0, [2.0, 5], 3.0)


def test_none_of_them() -> None:
    arguments = Arguments("test", (), (1.0, 2.0))
    assert (arguments.numbers, arguments.with_numbers([]), arguments.derivative([])) == ([], [1.0, 2.0], ())


def test_derivatives_in() -> None:
    arguments = all_of("test", (1.0, [X, 3], np.float32(2.0)))
    assert arguments.derivatives_in((None, None, None) and (None, [None, None], None), "test", "tangents") == [None] * 3
    found = arguments.derivatives_in([2.0, [X, None], 0.5], "test", "tangents")
    assert found[0] == 2.0
    assert found[1] is X
    assert (type(found[2]), found[2]) == (np.float32, 0.5)
    for wrong in (2.0, {"a": 2.0}, X, None, "text"):
        with pytest.raises(TypeError, match=r"^test: tangents must be a tuple, with one entry for each argument"):
            arguments.derivatives_in(wrong, "test", "tangents")  # type: ignore[arg-type]
    with pytest.raises(
        TypeError, match=r"PyTreeSpec\(\(\*, \[\*, \*\], \*\)\) is wanted, and PyTreeSpec\(\(\*, \*\)\)"
    ):
        arguments.derivatives_in((1.0, 2.0), "test", "tangents")


def test_together_or_each() -> None:
    """One argument that is an integer is an error where it was named, and not where all are taken."""
    assert all_of("test", (1.0, 3, "text", None)).numbers == [1.0]
    assert all_of("test", [1.0, 3]).with_numbers([2.0]) == [2.0, 3]
    with pytest.raises(TypeError, match=r"^test: arguments\[0\] is an integer"):
        all_of("test", (3, "text"))
    with pytest.raises(TypeError, match=r"^test: arguments\[1\]\['a'\] is of type object"):
        all_of("test", (1.0, {"a": object()}))
    with pytest.raises(TypeError, match=r"^test: argument 1 is an integer"):
        Arguments("test", (0, 1), (1.0, 3))
    with pytest.raises(
        TypeError, match=r"^test: primals must be a tuple of the arguments, \(x,\) for one, and is 3\.0"
    ):
        all_of("test", 3.0)
