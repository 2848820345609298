"""Values that are known later: what is done with them is written down."""

import numpy as np
import pytest

from shiftreset_ad.formulations.wang.staged import DOUBLE, NODE, Symbol, Tree, generate, pseudo, python


def test_each_operation_is_a_definition():
    text = pseudo.show(generate(lambda x: np.sin(x) / (x - 1.0)))
    assert text.split("\n")[1:-1] == ["  v0 = sin(in)", "  v1 = in - 1.0", "  v2 = v0 / v1", "  v2"]


def test_what_is_known_now_leaves_no_trace():
    def power(x, n):
        return 1.0 if n == 0 else x * power(x, n - 1)

    assert "power" not in pseudo.show(generate(lambda x: power(x, 3)))
    assert python.compiled(generate(lambda x: power(x, 3)))(2.0) == 8.0


def test_a_result_may_be_known_already():
    assert python.compiled(generate(lambda x: 2))(1.0) == 2.0


def test_several_parameters():
    a, b = Symbol("a", DOUBLE), Symbol("b", DOUBLE)
    f = generate(lambda a, b: a - b, a, b, name="difference")
    assert pseudo.show(f).startswith("def difference(a, b)")
    assert python.compiled(f)(5.0, 3.0) == 2.0


def test_trees():
    f = python.compiled(generate(lambda t: t.left.value + t.value, Symbol("t", NODE)))
    assert f(Tree(Tree(None, 1.0, None), 2.0, None)) == 3.0


def test_choices_of_numpy():
    f = python.compiled(generate(lambda x: np.where((x > 0.0) & (x < 1.0), x, -x)))
    assert [f(x) for x in (-2.0, 0.5, 2.0)] == [2.0, 0.5, -2.0]


def test_python_cannot_decide_on_a_value_that_is_not_known():
    with pytest.raises(TypeError, match="write IF or WHILE"):
        generate(lambda x: x if x > 0.0 else -x)


def test_only_trees_have_fields():
    with pytest.raises(AttributeError, match="kind double has no attribute 'left'"):
        generate(lambda x: x.left)
    with pytest.raises(AttributeError, match="kind tree has no attribute 'middle'"):
        generate(lambda t: t.middle, Symbol("t", NODE))


@pytest.mark.parametrize("result", ["text", None, (1.0, 2.0)])
def test_what_is_no_number_cannot_be_written(result):
    with pytest.raises(TypeError, match="cannot be written into a program"):
        generate(lambda x: result)


def test_a_value_of_another_program():
    kept = []
    generate(lambda x: kept.append(x) or x)
    with pytest.raises(ValueError, match="another program"):
        generate(lambda x: x + kept[0])
