"""The places outside a function that are compared in C, without a call of Python's.

The very same objects are no change. `Guards.changed` looks at a change again, as an equal float is none, either.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain, starmap
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.seen.parts import contents_of_slots, count_of, in_class_of, layout_of, parts_of

Places = Iterable[Iterable[Any]]
OF_PARTS = "wholes", "slots", "counts", "layouts"  # the kinds of places to which `Guards.parts` belongs


class AtOnce(NamedTuple):
    """The places of each kind, with their contents, one after another in a tuple.

    *   `cells`: variables, and their contents;
    *   `entries`: dictionaries, keys, and contents;
    *   `functions`: functions, their codes, defaults, and defaults of keywords;
    *   `kinds`: references to objects, their classes and dictionaries;
    *   `bases`: classes, and those from which they inherit;
    *   `elements`: lists, positions, and contents;
    *   `wholes`: lists and dictionaries, and all their parts: those of a dictionary are its keys and its values;
    *   `slots`: objects, names of slots, and contents;
    *   `counts`: lists and dictionaries, and how many parts they have;
    *   `layouts`: arrays, their shapes as bytes, and their dtypes;
    *   `arrays`: arrays, arrays with the same elements as before, and how many bytes these have.

    `others` compares the rest, and is None if there is none.
    """

    cells: tuple[Any, ...]
    entries: tuple[Any, ...]
    functions: tuple[Any, ...]
    kinds: tuple[Any, ...]
    bases: tuple[Any, ...]
    elements: tuple[Any, ...]
    wholes: tuple[Any, ...]
    slots: tuple[Any, ...]
    counts: tuple[Any, ...]
    layouts: tuple[Any, ...]
    arrays: tuple[Any, ...]
    others: Callable[[], str | None] | None

    @classmethod
    def of(cls, parts: Iterable[tuple[Any, list[Any]]], wholes: Places, others: Any = None, **places: Places) -> AtOnce:
        """The places, each with its contents. `parts` are those of `Guards.parts`; some can be compared in C."""
        found: dict[str, list[Iterable[Any]]] = {name: [] for name in OF_PARTS}
        for name, of_kind in filter(None, starmap(in_c, parts)):
            found[name] += of_kind
        found["wholes"] += [(container, tuple(before)) for container, before in wholes]
        return cls(**{name: flat(of_name) for name, of_name in (places | found).items()}, others=others)

    @classmethod
    def only(cls, others: Callable[[], str | None]) -> AtOnce:
        """No places but those that `others` compares."""
        return cls._make([*[()] * (len(cls._fields) - 1), others])


def in_c(parts: Callable[[], list[Any]], before: list[Any]) -> tuple[str, list[Iterable[Any]]] | None:
    """The kind of the places at which a function looks, and the places; None if they are not compared in C."""
    if type(parts) is not partial:
        return None
    of = parts.args[0]
    if parts.func is parts_of and type(of) in (list, MappingProxyType) and type(whole := dict_of(of)) in (list, dict):
        return "wholes", [(whole, tuple(before))]
    if parts.func is contents_of_slots and all(in_class_of(of, slot.__name__) is slot for slot in parts.args[1]):
        return "slots", [(of, slot.__name__, content) for slot, content in zip(parts.args[1], before, strict=True)]
    if parts.func is count_of and type(of) in (list, dict):
        return "counts", [(of, *before)]
    if parts.func is layout_of:
        shape, dtype = before
        return "layouts", [(of, np.array(shape, np.intp).tobytes(), dtype)]
    return None


def flat(places: Places) -> tuple[Any, ...]:
    """All parts of the places, one after another."""
    return tuple(chain.from_iterable(places))


def is_entry(holder: Any, key: Any) -> bool:
    """Whether this is an entry of a dictionary, which is found without any code of the user's."""
    return isinstance(holder, dict) and type(key) in (str, int)


def is_element(holder: Any, key: Any) -> bool:
    """Whether this is an element of a list, counted from its beginning."""
    return type(holder) is list and type(key) is int and 0 <= key <= sys.maxsize


def have_same_layout(array: ndarray[Any, Any], copy: ndarray[Any, Any]) -> bool:
    """Whether the elements lie as in a copy, one after another in some order, so that bytes may be compared."""
    return array.dtype is copy.dtype and (array.shape, array.strides) == (copy.shape, copy.strides)


def dict_of(places: Any) -> Any:
    """The dictionary itself, where Python shows a view of it, as for a class."""
    return gc.get_referents(places)[0] if type(places) is MappingProxyType else places
