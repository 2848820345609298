"""Dictionaries in an answer have plain keys: a program that makes a key of a value knows the value, so it is asked."""

from __future__ import annotations

from typing import Any

import optree

from shiftreset_ad.boundary import trees
from shiftreset_ad.staging.seen.keys import is_structure
from shiftreset_ad.staging.steps.values import Staged, is_staged


def with_plain_keys(answer: Any) -> Any:
    """The answer, in whose dictionaries plain keys stand in for staged ones."""
    waiting, seen = [answer], {id(answer)}
    while waiting:
        x = waiting.pop()
        if isinstance(x, dict) and any(map(is_staged, x)):
            items = [(plain_key(key), item) for key, item in x.items()]
            x.clear()
            x.update(items)
        if isinstance(x, tuple) or is_structure(x):
            parts = optree.tree_flatten_one_level(x, namespace=trees.NAMESPACE)[0]
            waiting += [part for part in parts if id(part) not in seen]
            seen.update(map(id, parts))
    return answer


def plain_key(key: Any) -> Any:
    """A key as the program knows it."""
    if type(key) is Staged:
        kind = type(key.inside)
        key.answer(float if issubclass(kind, float) else int if kind is int else kind)
        return key.inside
    if isinstance(key, tuple):
        parts = map(plain_key, key)
        return type(key)(*parts) if hasattr(key, "_fields") else tuple(parts)
    return key
