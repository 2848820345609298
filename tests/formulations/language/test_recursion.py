"""Recursive functions whose calls wait on a list."""

import pytest

from shiftreset_ad.formulations.language.recursion import answer_of, for_each, nesting


def depth(tree):
    return 1 + max((yield for_each(depth, tree)), default=0)


def is_even(n):
    return (yield is_odd(n - 1)) if n else True


def is_odd(n):
    return (yield is_even(n - 1)) if n else False


def test_calls_are_answered_in_order():
    assert answer_of(depth([[], [[], [[]]]])) == 4
    assert answer_of(depth([])) == 1


def test_calls_may_be_mutual_and_deep():
    assert answer_of(is_even(20_000))
    assert not answer_of(is_even(20_001))


def test_an_error_ends_all_calls():
    def fraction(n):
        return 1 / (yield fraction(n - 1)) if n else 0

    with pytest.raises(ZeroDivisionError):
        answer_of(fraction(3))


def test_an_error_of_a_function_that_nests_names_the_remedy():
    @nesting
    def endless(x):
        """Its docstring."""
        return endless.__wrapped__(x)

    with pytest.raises(RecursionError, match=r"grad: .*raise the limit by sys\.setrecursionlimit"):
        endless(1.0)
    assert endless.__doc__ == "Its docstring."
    assert nesting(lambda x: x)(1.0) == 1.0
