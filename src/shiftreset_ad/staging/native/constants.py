"""The arrays that are constants of a program, by the numbers that they have in its text."""

from __future__ import annotations

from typing import Any

from numpy import ndarray

SHORT = 2**12  # bytes; whether longer arrays are equal is not looked at


class Constants:
    """The `arrays` that the text names, in the order of their numbers.

    Each name is one that is found when the code is loaded. So arrays share one if they begin at one element, or if they
    are short and equal: a function that is differentiated many times has as many copies of what it sees from outside.
    """

    __slots__ = ("_numbers", "arrays")

    def __init__(self) -> None:
        self.arrays: list[ndarray[Any, Any]] = []
        self._numbers: dict[Any, int] = {}  # by the addresses of the arrays, which are kept, or by their content

    def number(self, x: ndarray[Any, Any]) -> int:
        """The number of an array, which is a new one if the array has none yet."""
        key = (x.dtype, x.shape, x.strides, x.tobytes()) if x.nbytes <= SHORT else x.ctypes.data
        number = self._numbers.setdefault(key, len(self.arrays))
        if number == len(self.arrays):
            self.arrays.append(x)
        return number
