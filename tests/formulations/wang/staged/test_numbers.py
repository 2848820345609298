"""The staged number: straight-line programs, by every function of the table."""

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad.formulations.wang.staged import cpp, generate, grad, optimise, pseudo, python, simplify, size

FUNCTIONS = {
    "the paper's 2x + x^3": lambda x: 2 * x + x * x * x,
    "quotients": lambda x: (x - 1.0) / (x * x + 1.0) + 1.0 / x,
    "signs": lambda x: -x - (+x) * abs(-x),
    "powers": lambda x: x**3 + x**2 + x**0.5 + 2.0**x + x**x,
    "functions": lambda x: np.sin(x) * np.exp(-x) + np.tanh(x) * np.log(x) + np.sqrt(x) + np.arctan2(x, 2.0 + x),
    "choices": lambda x: np.maximum(x, 1.0) * np.minimum(x, x * x),
    "a step": lambda x: np.floor(x) * x,
    "a constant": lambda x: 3.0,
    "the argument itself": lambda x: x,
}


@pytest.mark.parametrize("change", [lambda program: program, simplify, optimise], ids=["as is", "simplify", "optimise"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_is_that_of_the_library(name, change):
    f = FUNCTIONS[name]
    generated = python.compiled(change(generate(grad(f))))
    for x in (0.7, 1.9):
        assert generated(x) == pytest.approx(shiftreset_ad.grad(f)(x), rel=1e-12)


def test_no_number_and_no_continuation_is_in_the_code():
    assert pseudo.show(generate(grad(lambda x: x * x * x))).split("\n")[1:-1] == [
        "  d0 = ref 0",
        "  v1 = in * in",
        "  d1 = ref 0",
        "  v2 = v1 * in",
        "  d2 = ref 0",
        "  d2 := 1.0",
        "  d1 += !d2 * in",
        "  d0 += !d2 * v1",
        "  d0 += !d1 * in",
        "  d0 += !d1 * in",
        "  v0 = !d0",
        "  v0",
    ]


def test_the_way_back_is_a_constant_times_as_long_as_the_program():
    def chain(x, n):
        y = x
        for _ in range(n):
            y = np.sin(y) * x
        return y

    sizes = [
        size(change(generate(grad(lambda x, n=n: chain(x, n)))).body)
        for change in (simplify, optimise)
        for n in (50, 100)
    ]
    assert sizes[1] <= 2.1 * sizes[0]
    assert sizes[3] <= 2.1 * sizes[2]
    assert len(cpp.show(optimise(generate(grad(lambda x: chain(x, 100)))))) <= 15_000


def test_what_is_not_differentiated_is_a_constant():
    f = generate(lambda x: grad(lambda y: x * y * y)(x))  # x is a value, and y a number
    assert python.compiled(f)(3.0) == 18.0


def test_there_is_one_level():
    with pytest.raises(TypeError, match="one level of derivatives"):
        generate(grad(lambda x: x * grad(lambda y: y * x)(x.primal)))
    with pytest.raises(TypeError, match="of the generated program"):
        generate(grad(lambda x: grad(lambda y: y)(x)))
    with pytest.raises(TypeError, match="of the generated program"):
        grad(lambda x: x)(3.0)


@pytest.mark.parametrize("result", ["text", (1.0, 2.0)])
def test_the_function_must_return_a_number(result):
    with pytest.raises(TypeError, match="cannot be written"):
        generate(grad(lambda x: result))
    with pytest.raises(TypeError, match="of the kind bool"):
        generate(grad(lambda x: x > 0.0))
