"""Names, parentheses, and the words of each language."""

import numpy as np
import pytest

from shiftreset_ad.formulations.wang.staged import DOUBLE, EMPTY, Symbol, Tree, cpp, generate, pseudo, python, simplify
from shiftreset_ad.formulations.wang.staged.names import names_of
from shiftreset_ad.formulations.wang.staged.trees import Struct


def test_words_of_the_language_are_not_names():
    program = generate(lambda *xs: xs[0], *(Symbol(name, DOUBLE) for name in ("in", "double", "snippet", "lambda")))
    assert python.show(program).startswith("def snippet(in_, double, snippet_, lambda_)")
    assert cpp.show(program).startswith("double snippet(double in, double double_, double snippet_, double lambda)")
    assert pseudo.show(program).startswith("def snippet(in, double, snippet, lambda)")


def test_no_two_symbols_have_one_name():
    symbols = [Symbol("a", DOUBLE) for _ in range(4)]
    names = names_of(generate(lambda *xs: xs[0], *symbols))
    assert [names[symbol] for symbol in symbols] == ["a", "a_", "a0", "a1"]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x - (x - (x - 2.0 / x)) / 3.0,
        lambda x: -(x * x) * -x - -3.0,
        lambda x: (x / 2.0) / (x / 3.0) / 4.0 * (x + 1.0),
        lambda x: (1.0 - x) * (2.0 - x) / -x,
        lambda x: np.where(x > 1.0, x, -x) ** 2,
        lambda x: x * np.inf,
        lambda x: np.power(np.sin(-x), 2.0) + 1e-30 * x,
    ],
)
def test_parentheses(f):
    assert python.compiled(simplify(generate(f)))(1.7) == pytest.approx(f(1.7), rel=1e-14)


@pytest.mark.skipif(cpp.compiler() is None, reason="no C++ compiler is here")
def test_the_words_of_cpp():
    def f(x):
        y = np.where((x > 0.0) & (x < 9.0), np.arctan2(x, 2.0), np.inf) - abs(-x)
        return y + np.log1p(x) ** 1.5 * np.hypot(x, 3.0) + np.where(x < 0.0, np.nan, 0.0)

    assert cpp.compiled(generate(f))(1.7) == pytest.approx(f(1.7), rel=1e-14)


def test_a_function_that_cpp_does_not_have():
    with pytest.raises(NotImplementedError, match="logaddexp: C\\+\\+ has no such function"):
        cpp.show(generate(lambda x: np.logaddexp(x, 1.0)))


def test_without_a_compiler(monkeypatch):
    monkeypatch.setattr(cpp.shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match="install g\\+\\+"):
        cpp.compiled(generate(lambda x: x))


def test_trees_in_cpp():
    struct = Struct.of(Tree(Tree(EMPTY, 1.0, EMPTY), 2.0, EMPTY))
    assert struct.not_empty
    assert struct.value == 2.0
    assert struct.left[0].value == 1.0
    assert not struct.right[0].not_empty
