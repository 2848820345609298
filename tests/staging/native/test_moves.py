"""Where elements go: by views of memory that nobody touches, or by the offsets of all elements."""

import operator

import numpy as np
import pytest

from shiftreset_ad.staging.native import moves
from shiftreset_ad.staging.native.layouts import offsets_like
from shiftreset_ad.staging.native.llvm import NoNativeFormError
from shiftreset_ad.staging.native.moves import (
    MOST_MOVES,
    SOURCE,
    by_source,
    copies,
    have_layouts,
    part_of,
    pieces,
    runs,
)
from shiftreset_ad.staging.steps.functions import Attribute, Method

RNG = np.random.default_rng(0)


def offsets(shape):
    return np.arange(int(np.prod(shape))).reshape(shape) * 8


@pytest.mark.parametrize("shape", [(), (7,), (4, 6), (3, 1, 5)])
@pytest.mark.parametrize("sources", [1, 2, 5])
def test_each_element_goes_where_it_should(shape, sources):
    for _ in range(20):
        of = RNG.integers(0, sources, size=shape)
        found, to = RNG.permutation(offsets(shape).ravel()).reshape(shape) + of * SOURCE, offsets(shape)
        pairs = set()
        for source, where, target in by_source(found, to):
            assert where.shape == target.shape
            pairs |= {(source, int(x % SOURCE), int(y)) for x, y in zip(where.flat, target.flat, strict=True)}
        expected = zip(of.flat, (found % SOURCE).flat, to.flat, strict=True)
        assert pairs == {(int(source), int(x), int(y)) for source, x, y in expected}


def test_a_box_stays_a_box():
    rows = np.stack([offsets(4) + i * SOURCE for i in range(3)])
    found = {source: (where.shape, target.shape) for source, where, target in by_source(rows, offsets((3, 4)))}
    assert found == dict.fromkeys(range(3), ((1, 4), (1, 4)))
    assert all(part_of(target % SOURCE).layout is not None for _, _, target in by_source(rows, offsets((3, 4))))


def test_what_is_no_box_is_one_element_after_another():
    corner = np.array([[0, SOURCE], [16, 24]])  # of two sources, the first in three corners of the square
    found = {source: where.shape for source, where, _ in by_source(corner, offsets((2, 2)))}
    assert found == {0: (3,), 1: (1, 1)}


C, F = RNG.normal(size=(6, 8, 5)), np.asfortranarray(RNG.normal(size=(6, 8, 5)))
WIDE = RNG.normal(size=(6, 16, 10))[:, ::2, 1::2]  # with gaps
SOURCES = {"C": C, "F": F, "gaps": WIDE, "of two axes": C[0], "broadcast": np.broadcast_to(C[:, :1], C.shape)}
FUNCTIONS = {
    "an element": (operator.getitem, ((1, 2),), {}),
    "slices": (operator.getitem, ((slice(1, 5, 2), slice(None, None, -1)),), {}),
    "an ellipsis": (operator.getitem, ((..., None, slice(3)),), {}),
    "reshape": (np.reshape, ((-1, 5),), {}),
    "reshape, in Fortran's order": (np.reshape, (-1,), {"order": "F"}),
    "transpose": (np.transpose, (), {}),
    "T": (Attribute("T"), (), {}),
    "swapaxes": (Method("swapaxes"), (0, 1), {}),
    "moveaxis": (np.moveaxis, (0, -1), {}),
    "expand_dims": (np.expand_dims, (1,), {}),
    "ravel": (np.ravel, (), {}),
    "copy": (np.copy, (), {}),
    "a method that copies": (Method("copy"), (), {}),
    "flatten": (Method("flatten"), (), {}),
    "broadcast_to": (np.broadcast_to, ((3, 6, 8, 5),), {}),
    "flip": (np.flip, (), {"axis": 1}),
    "diagonal": (np.diagonal, (), {}),
    "rot90": (np.rot90, (), {}),
    "roll": (np.roll, (3,), {}),
    "roll along an axis": (np.roll, (-2,), {"axis": 1}),
    "roll along two": (np.roll, ((1, 2),), {"axis": (0, 1)}),
    "tile": (np.tile, (3,), {}),
    "tile, in two directions": (np.tile, ((2, 1, 3),), {}),
    "repeat": (np.repeat, (3,), {}),
    "repeat along an axis": (np.repeat, (3,), {"axis": 0}),
    "repeat by numbers": (np.repeat, ([1, 0, 2, 1, 3, 1],), {"axis": 0}),
    "take": (np.take, ([5, 0, 0, 3],), {"axis": 0}),
}


def moved(function, sources, args, kwargs):
    """The answer of a function by the copies that are found, the answer itself, and the copies."""
    answer = np.asarray(function(sources if function in moves.JOINS else sources[0], *args, **kwargs))
    memory, found = {}, copies(function, sources, args, kwargs, answer)
    for i, source, target in found:
        x = np.asarray(sources[i])
        elements = dict(zip(offsets_like(x).flat, x.flat, strict=True))
        for one, another in zip(source.all_offsets.flat, target.all_offsets.flat, strict=True):
            assert memory.setdefault(another, elements[one]) == elements[one]  # an answer may be broadcast
    return np.reshape([memory[at] for at in offsets_like(answer).flat], answer.shape), answer, found


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_elements_are_those_of_the_function(source, name):
    function, args, kwargs = FUNCTIONS[name]
    x = SOURCES[source]
    if x.ndim == 2 and name == "repeat by numbers":
        args = ([1, 0, 2, 1, 3, 1, 2, 0],)
    if x.ndim == 2 and name == "broadcast_to":
        x = np.expand_dims(x, 1)
        args = ((8, 8, 5),)
    result, answer, found = moved(function, [x], args, kwargs)
    np.testing.assert_array_equal(result, answer)
    is_by_numbers = name in ("repeat by numbers", "take") or np.size(answer) <= MOST_MOVES
    assert is_by_numbers or (name == "roll" and source != "C") or all(have_layouts([pair]) for _, *pair in found), found


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("function", [np.concatenate, np.stack])
def test_arrays_are_joined_along_an_axis(function, axis):
    for sources in ([C, F, WIDE], [C], [F, C]):
        for args, kwargs in (((axis,), {}), ((), {"axis": axis})):
            result, answer, found = moved(function, sources, args, kwargs)
            np.testing.assert_array_equal(result, answer)
            assert len(found) == len(sources)
            assert have_layouts([pair for _, *pair in found])
    result, answer, _ = moved(np.concatenate, [C[:2], C[:0], F[1:]], (), {})
    np.testing.assert_array_equal(result, answer)


def test_arrays_are_joined_in_other_ways():
    for function, args in ((np.hstack, ()), (np.vstack, ()), (np.column_stack, ()), (np.concatenate, (None,))):
        result, answer, _ = moved(function, [C[0], F[1]], args, {})
        np.testing.assert_array_equal(result, answer)
    result, answer, _ = moved(np.stack, [1.5, np.float64(2.0), np.array(3.0)], (), {})
    np.testing.assert_array_equal(result, answer)


def test_large_arrays_are_moved_by_views_alone(monkeypatch):
    monkeypatch.setattr(moves, "MOST_OFFSETS", 100)
    monkeypatch.setattr(moves, "offsets_like", None)
    for name in ("slices", "reshape", "T", "copy", "diagonal", "broadcast_to"):
        function, args, kwargs = FUNCTIONS[name]
        assert copies(function, [C], args, kwargs, np.asarray(function(C, *args, **kwargs)))
    assert len(copies(np.concatenate, [C, C], (1,), {}, np.concatenate([C, C], 1))) == 2
    for name in ("roll", "tile", "repeat", "take"):
        function, args, kwargs = FUNCTIONS[name]
        with pytest.raises(NoNativeFormError, match=f"numpy.{name} of so many elements has no native form"):
            copies(function, [C], args, kwargs, np.asarray(function(C, *args, **kwargs)))


@pytest.mark.parametrize(
    ("elements", "expected"),
    [
        ([0, 8, 16, 24], [(0, 4)]),
        ([8, 16, 24, 0], [(0, 3), (3, 4)]),
        ([24, 0, 8, 16], [(0, 2), (2, 4)]),
        ([0, 0, 0, 8, 8, 8], [(0, 3), (3, 6)]),
        ([0, 8, 8, 8, 16, 24], [(0, 2), (2, 4), (4, 6)]),
        ([0], [(0, 1)]),
    ],
)
def test_runs_have_one_step(elements, expected):
    assert [(run.start, run.stop) for run in runs(np.array(elements), 0)] == expected


def test_pieces_are_all_elements_once():
    for _ in range(200):
        n = int(RNG.integers(65, 90))
        source = 8 * np.concatenate([np.arange(n)[int(k) :] for k in RNG.integers(0, n, RNG.integers(1, 6))])
        target = 8 * np.arange(len(source))
        found = {}
        for one, another in pieces(source, target):
            found.update(zip(another.all_offsets.flat, one.all_offsets.flat, strict=True))
        assert found == dict(zip(target, source, strict=True))
