"""Variables with tags, their order, and free variables."""

import itertools

from shiftreset_ad.formulations.language import parse
from shiftreset_ad.formulations.pearlmutter_siskind.vlad.encoding import lambda_of
from shiftreset_ad.formulations.pearlmutter_siskind.vlad.expressions import Lambda, Tag, Variable, base_free, free
from shiftreset_ad.formulations.pearlmutter_siskind.vlad.transform import transform

X, Y = Variable("x"), Variable("y")
STACKS = [tags for n in range(3) for tags in itertools.product(Tag, repeat=n)]


def names(variables):
    return sorted(map(str, variables))


def test_the_order_of_the_paper():
    assert X < X.tagged(Tag.REVERSE) < X.tagged(Tag.SENSITIVITY) < X.tagged(Tag.BACKPROPAGATOR)
    for a, b in itertools.product(STACKS, STACKS):
        assert Variable("x", a) < Variable("y", b)
        if a < b:
            x1, x2 = Variable("x", a), Variable("x", b)
            for tag in Tag:
                assert (x1.tagged(tag) < x2.tagged(tag)) == ((*a, tag) < (*b, tag))


def test_tags_stack():
    assert str(X.tagged(Tag.REVERSE).tagged(Tag.REVERSE)) == "x''"
    assert X.tagged(Tag.REVERSE).tagged(Tag.REVERSE).level == 2
    assert X.tagged(Tag.SENSITIVITY).tagged(Tag.REVERSE).level == 1
    assert X.tagged(Tag.REVERSE).tagged(Tag.SENSITIVITY).level == 0


def test_free_variables():
    e = lambda_of(parse("fun x -> let f = fun y -> z (y x) in f a"))
    assert names(free(e)) == ["a", "z"]
    (_, inner), *_ = e.bindings
    assert isinstance(inner, Lambda)
    assert names(free(inner)) == ["x", "z"]


def test_base_free_variables():
    """Those of a transformed expression are those of the original with a tag; it has others, such as zero, besides."""
    e = lambda_of(parse("fun x -> b (a x)"))
    assert [str(x) for x in base_free(e)] == ["a", "b"]
    assert [str(x) for x in base_free(transform(e))] == ["a'", "b'"]
    assert [str(x) for x in base_free(transform(transform(e)))] == ["a''", "b''"]
    assert set(names(free(transform(e)))) == {"a'", "b'", "CONS", "CAR", "CDR", "zero", "plus", "J_inverse", "[]"}
