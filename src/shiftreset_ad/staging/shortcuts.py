"""The native code of a way, for calls with nothing but numbers and arrays: it checks them itself, without a key."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.boundary import trees
from shiftreset_ad.staging.seen.keys import STRINGS, StagedCall, is_input
from shiftreset_ad.staging.steps.trace import settings_of_numpy
from shiftreset_ad.staging.ways import Signature, Way

LEAF = None
MISSED = object()  # the way does not hold for a call, or nothing is known of that
CONSTANTS = {bool, str, type(None)}  # the types of what decides which way a function takes, by its value


class Form(NamedTuple):
    """The form of a structure of Python's: its class, the forms of its parts, and the keys of a dict in their order.

    The parts of a dict are in the order of its sorted keys, as the leaves of structures are. A constant has no parts
    and no keys, but a `value`.
    """

    kind: type
    parts: tuple[Form | None, ...] = ()
    keys: tuple[str, ...] = ()
    in_order: tuple[str, ...] = ()
    value: Any = None


Shortcut = Callable[[tuple[Any, ...], dict[str, Any]], Any]  # what a call answers, or MISSED


def _shortcut(entry: Callable[..., Any], way: Way, signature: Signature, call: StagedCall, form: Any) -> Shortcut:
    """The native code of a way. `form` is that of the arguments; there is none if each argument is a leaf."""
    places = [i for i, leaf in enumerate(call.leaves) if type(leaf) is np.ndarray]
    arrays_of, many = itemgetter(*places) if len(places) > 1 else None, len(call.leaves)
    spec, (_, _, errors) = way.spec, call.key
    is_single = spec.num_nodes == spec.num_leaves == 1
    right_settings: Any = None  # those of NumPy that have been found to be the right ones

    def answer(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        nonlocal right_settings
        settings = settings_of_numpy()
        if settings is not right_settings:
            if tuple(np.geterr().values()) != errors:
                return MISSED
            right_settings = settings
        leaves: Any = args
        if form is not None:
            leaves = []
            if not has_form((args, kwargs), form, leaves):
                return MISSED
        elif kwargs or len(args) != many:
            return MISSED
        if signature.changed() is not None:
            return MISSED
        if arrays_of is not None and len(set(map(id, arrays := arrays_of(leaves)))) < len(arrays):  # x is y
            return MISSED
        answers = entry(*leaves)
        if type(answers) is not list:
            return MISSED
        return answers[0] if is_single else trees.unflatten(spec, answers)

    return answer


def has_form(x: Any, form: Form | None, leaves: list[Any]) -> bool:
    """Whether a structure has this form. Its leaves are added to the `leaves`, whatever they are."""
    if form is LEAF:
        leaves.append(x)
        return True
    kind, parts, keys, in_order, value = form
    if type(x) is not kind:
        return False
    whole: Any = x
    if kind in CONSTANTS:
        return bool(whole == value)
    if kind is dict:
        if tuple(whole) != keys or not STRINGS.issuperset(map(type, whole)):
            return False
        whole = [whole[key] for key in in_order]
    elif len(whole) != len(parts):
        return False
    return all(has_form(part, of_part, leaves) for part, of_part in zip(whole, parts, strict=True))


def form_of(x: Any) -> Form | None:
    """The form of a structure of tuples, lists, dicts with strings as keys, and constants. TypeError for others."""
    kind = type(x)
    if is_input(x):
        return LEAF
    if kind in CONSTANTS:
        return Form(kind, value=x)
    if kind is tuple or kind is list:
        return Form(kind, tuple(map(form_of, x)))
    if kind is dict and STRINGS.issuperset(map(type, x)):
        in_order = tuple(sorted(x))
        return Form(kind, tuple(form_of(x[key]) for key in in_order), tuple(x), in_order)
    raise TypeError(f"a {kind.__name__} is neither a number nor a structure of Python's")


def shortcut(way: Way, signature: Signature, call: StagedCall) -> Shortcut | None:
    """The shortcut that calls like this one may take; None if there is none."""
    entry = way.quick
    if entry is None or way.given:
        return None
    arrays = [id(x) for x in call.leaves if type(x) is np.ndarray]
    if len(set(arrays)) < len(arrays):
        return None
    try:
        form = form_of((call.args, call.kwargs))
    except TypeError:
        return None
    is_flat = not call.kwargs and all(map(is_input, call.args))
    return _shortcut(entry, way, signature, call, None if is_flat else form)
