"""The table of operators: from the name of an operator, and the version of the operator set, to a function.

A function takes the inputs of a node as positional arguments, None where one is left out, and the attributes by name.
An argument that was an attribute in old versions and is an input in new ones is therefore one argument. A function
answers an array, or a tuple of all outputs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


class Operator(NamedTuple):
    """What computes a node, from the version of the operator set on in which it has its meaning."""

    function: Callable[..., Any]
    since: int
    constant: frozenset[str]  # arguments that stay plain arrays, as sizes and axes do
    outputs: int | None  # how many it has at most; None for any number
    parameters: tuple[inspect.Parameter, ...]

    def attributes(self) -> set[str]:
        """The names of the attributes that it takes."""
        return {p.name for p in self.parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)} - {"outputs"}

    def required(self) -> set[str]:
        """The names of the attributes that a node must have."""
        keywords = [p for p in self.parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
        return {p.name for p in keywords} - {"outputs"}

    def constant_places(self, count: int) -> list[bool]:
        """Whether each of `count` inputs stays a plain array."""
        names = [p.name for p in self.parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        return [place < len(names) and names[place] in self.constant for place in range(count)]

    def counts_outputs(self) -> bool:
        """Whether the function asks how many outputs its node has."""
        return any(p.name == "outputs" for p in self.parameters)


TABLE: dict[str, list[Operator]] = {}


def enter(
    name: str, function: Callable[..., Any], since: int = 1, constant: Iterable[str] = (), outputs: int | None = 1
) -> None:
    """Enter a function as the operator `name`, from the version `since` on."""
    parameters = tuple(inspect.signature(function).parameters.values())
    entry = Operator(function, since, frozenset(constant), outputs, parameters)
    TABLE[name] = sorted([*TABLE.get(name, ()), entry], key=lambda entry: entry.since)


def operator(
    name: str, since: int = 1, constant: Iterable[str] = (), outputs: int | None = 1
) -> Callable[[Function], Function]:
    """A function that is the operator `name`, as a decorator."""

    def entered(function: Function) -> Function:
        enter(name, function, since, constant, outputs)
        return function

    return entered


def found(name: str, version: int) -> Operator | None:
    """The operator in a version of the operator set, or None if it is not there."""
    fitting = [entry for entry in TABLE.get(name, ()) if entry.since <= version]
    return fitting[-1] if fitting else None


def refused(name: str, what: str) -> NotImplementedError:
    """The error for a form of an operator that is not supported."""
    return NotImplementedError(f"onnx.from_onnx: {name}: {what}")
