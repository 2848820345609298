"""Every error says what went wrong, where, and what to do; and nothing of it is left afterwards."""

from __future__ import annotations

import array
import cmath
import contextvars
import gc
import json
import math
import operator
import pickle
import statistics
import struct
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import greenlet
import numpy as np
import pytest

from shiftreset_ad import ControlError, EscapedNumberError, WrongThreadError, grad, value, value_and_grad
from tests.greenlets import suspended_greenlets

X = np.array([1.5, -0.5, 2.0])
VARIABLE: contextvars.ContextVar[int] = contextvars.ContextVar("VARIABLE", default=0)


def state() -> Any:
    return (
        sys.getrecursionlimit(),
        gc.isenabled(),
        gc.get_threshold(),
        np.geterr(),
        list(warnings.filters),
        VARIABLE.get(),
        greenlet.getcurrent(),
    )


pytestmark = pytest.mark.usefixtures("only_what_is_new_is_looked_at")


@pytest.fixture(autouse=True)
def _left_as_it_was() -> Iterator[None]:
    before, known = state(), suspended_greenlets()
    yield
    assert state() == before
    assert suspended_greenlets() <= known
    assert grad(lambda x: x * grad(lambda y: x * y**2)(x))(2.0) == 24.0


# Conversions that would lose the derivative


def written(x: Any, cells: Any, place: Any) -> Any:
    cells[place] = x
    return cells.sum()


def written_by_flat(x: Any) -> Any:
    cells = np.zeros(3)
    cells.flat[0] = x
    return cells.sum()


REAL = float
RNG = np.random.default_rng(0)
BUILD = r"Use numpy\.stack\(\[x, y\]\) or shiftreset_ad\.array to build an array from numbers"
WRITTEN = r"^cells\[place\] = x, a number that is written into a plain array, would .*" + BUILD
INTEGERS = WRITTEN.replace("array,", "array of integers,")
RANDOM = r"Use x \+ s \* rng\.normal\(size=n\) for rng\.normal\(x, s\)"
LOSSES = {
    "float": (lambda x: float(x), r"^float\(x\) would .*Use NumPy's functions"),
    "by another name": (lambda x: REAL(x), r"^float, here REAL\(x\), would .*Use NumPy's functions"),
    "math.sin": (lambda x: math.sin(x * 2.0), r"^math\.sin\(x \* 2\.0\) would .*Use numpy\.sin for math\.sin"),
    "math.gamma": (lambda x: math.gamma(x), r"^math\.gamma\(x\) .*scipy\.special\.gamma for math\.gamma"),
    "math.pow": (lambda x: math.pow(2.0, x), r"^math\.pow\(2\.0, x\) .*Use numpy\.pow for math\.pow"),
    "math.fsum": (lambda x: math.fsum([x, x]), r"^math\.fsum\(\[x, x\]\) .*Use numpy\.sum for math\.fsum"),
    "math.isclose": (lambda x: math.isclose(x, 1.0), r"^math\.isclose\(x, 1\.0\) .*Use numpy\.isclose"),
    "percent format": (lambda x: "%.2f" % x, r'^"%\.2f" % x would '),  # noqa: UP031
    "int": (lambda x: int(x), r"^int\(x\) .*Use numpy\.trunc\(x\)"),
    "complex": (lambda x: complex(x), r"^complex\(x\) .*NumPy's functions"),
    "cmath.exp": (lambda x: cmath.exp(x), r"^cmath\.exp\(x\) .*Use numpy\.exp for cmath\.exp"),
    "statistics": (lambda x: statistics.fmean([x, 1.0]), r"^statistics\.fmean\(\[x, 1\.0\]\) .*Use numpy\.mean"),
    "array.array": (lambda x: array.array("d", [x]), r'^array\.array\("d", \[x\]\) would '),
    "np.array of floats": (lambda x: np.array([x], dtype=float), r"^np\.array\(\[x\], dtype=float\) .*" + BUILD),
    "astype": (lambda x: np.array([x, 1.0]).astype(float), r"^np\.array\(\[x, 1\.0\]\)\.astype\(float\) would "),
    "np.float64": (lambda x: np.float64(x), r"^np\.float64\(x\) would .*numpy\.asarray\(x\) can be left out"),
    "np.arange": (lambda x: np.arange(x), r"^np\.arange\(x\) would "),
    "np.fromiter": (lambda x: np.fromiter([x, x], float), r"^np\.fromiter\(\[x, x\], float\) would "),
    "an element of a plain array": (lambda x: written(x, np.zeros(3), 0), WRITTEN),
    "of an array of integers": (lambda x: written(x, np.zeros(3, int), 0), INTEGERS),
    "of a complex array": (lambda x: written(x, np.zeros(3, complex), 0), WRITTEN),
    "a slice of a plain array": (lambda x: written(x, np.zeros(3), slice(2)), WRITTEN),
    "elements by a mask": (lambda x: written(x, np.zeros(3), np.array([True, False, True])), WRITTEN),
    "fill": (lambda x: np.zeros(3).fill(x), r"^np\.zeros\(3\)\.fill\(x\) would "),
    "flat": (written_by_flat, r"^a\.flat\[i\] = x on a plain array would .*" + BUILD),
    "struct.pack": (lambda x: struct.pack("d", x), r"^struct\.pack would "),
    "a Generator": (lambda x: RNG.normal(x, 1.0), r"^RNG\.normal\(x, 1\.0\) would .*" + RANDOM),
    "np.random": (lambda x: np.random.normal(x), r"^np\.random\.normal\(x\) would .*" + RANDOM),  # noqa: NPY002
    "a lambda in a library": (lambda x: sorted([2, 1], key=lambda i: math.exp(x)), r"^math\.exp\(x\) would "),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
def test_a_conversion_that_would_lose_the_derivative(name: str) -> None:
    convert, said = LOSSES[name]
    for f in (convert, lambda x: grad(convert)(x), lambda x: grad(lambda y: convert(x))(1.0)):
        with pytest.raises(TypeError, match=said) as caught:
            grad(f)(1.7)
        assert "would turn a number that is being differentiated into a constant" in str(caught.value)
        assert "or shiftreset_ad.value(x) where a constant is meant" in str(caught.value)


def test_an_array_that_would_lose_its_derivative() -> None:
    for convert in (np.asarray, np.array, np.asanyarray, lambda x: np.array([x, x])):
        said = r"would turn a number .*" + BUILD + r" \(x is an array already, so numpy\.asarray\(x\) can be left out\)"
        with pytest.raises(TypeError, match=said):
            grad(convert)(X)
    with pytest.raises(TypeError, match=r"^cells\[place\] = x, a number that is written into a plain array, would "):
        grad(lambda x: written(x, np.zeros((2, 3)), 0))(X)
    with pytest.raises(ValueError, match=r"must be copied"):
        grad(lambda x: np.asarray(x, copy=False))(1.7)


def test_without_its_source_a_conversion_is_called_by_what_it_is() -> None:
    scope: dict[str, Any] = {"math": math, "np": np}
    exec(compile("f = lambda x: math.sin(x)\ng = lambda x: np.asarray(x)", "<nowhere>", "exec"), scope)
    with pytest.raises(
        TypeError, match=r"^float\(x\), or what calls float\(x\), such as the math module and a\[i\] = x on a plain"
    ):
        grad(scope["f"])(1.7)
    with pytest.raises(TypeError, match=r"^numpy\.array, numpy\.asarray, or a function that calls them, would "):
        grad(scope["g"])(X)


def test_an_error_of_numpys_that_hides_ours_is_one_inside_the_program() -> None:
    def f(x: Any) -> Any:
        cells = np.zeros(3)
        with pytest.raises(ValueError, match="setting an array element") as caught:
            cells[0] = x
        assert isinstance(caught.value.__cause__, TypeError)
        return x

    assert grad(f)(1.7) == 1.0


OF_NUMBERS = {
    "statistics.mean": lambda x: statistics.mean([x, 1.0]),
    "json": lambda x: json.dumps({"a": x}),
    "Fraction": Fraction,
    "Decimal": Decimal,
    "pow": lambda x: pow(x, 2, 3),
}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_what_takes_no_number_of_ours(name: str) -> None:
    said = r"about a number that is being differentiated. Use NumPy's functions .*or shiftreset_ad\.value\(x\)"
    with pytest.raises(TypeError, match=said):
        grad(OF_NUMBERS[name])(1.7)


OF_OBJECTS = {
    "tanh": lambda x: np.tanh(np.array([x, 1.0])),
    "isfinite": lambda x: np.isfinite(np.array([x, 1.0])),
    "inv": lambda x: np.linalg.inv(np.array([[x, 1.0], [2.0, x]])),
    "fft": lambda x: np.fft.fft(np.array([x, 1.0])),
    "interp": lambda x: np.interp(0.5, [0.0, 1.0], np.array([0.0, x])),
    "nditer": lambda x: np.nditer(np.array([x, 1.0])),
}


@pytest.mark.parametrize("name", OF_OBJECTS)
def test_what_takes_no_array_of_objects(name: str) -> None:
    with pytest.raises(
        TypeError, match=r"is an array of objects, which many functions do not take\. " + BUILD
    ) as caught:
        grad(OF_OBJECTS[name])(1.7)
    assert isinstance(caught.value.__context__, TypeError)
    assert caught.value.__suppress_context__


def test_errors_that_are_no_business_of_ours_stay_as_they_are() -> None:
    for error in (TypeError("a"), ValueError("setting"), KeyError("which has no callable"), SystemError("b")):

        def f(x: Any) -> Any:
            raise error  # noqa: B023

        with pytest.raises(type(error)) as caught:
            grad(f)(1.7)
        assert caught.value is error


@pytest.mark.parametrize(
    "use",
    [
        operator.index,
        range,
        lambda x: [1, 2][x],
        lambda x: "ab"[x:],
        lambda x: np.ones(3)[:x],
        lambda x: "a" * x,
        lambda x: hex(x),
    ],
)
def test_a_number_as_an_index(use: Any) -> None:
    with pytest.raises(
        TypeError, match=r"a float cannot be interpreted as an integer.*int\(shiftreset_ad\.value\(x\)\)"
    ):
        grad(use)(2.0)


def test_a_number_as_an_index_of_an_array() -> None:
    for use in (lambda x: np.ones(3)[x], lambda x: (x * X)[x], lambda x: np.zeros(x)):
        with pytest.raises((TypeError, IndexError)):
            grad(use)(2.0)


def test_no_conversion_is_silent() -> None:
    """What gives an answer at all has the right derivative: nothing turns the number into a constant unasked."""
    for convert in (Fraction, bool, str, repr, round, math.floor, hash):
        try:
            result = value_and_grad(lambda x: x * 2.0 + 0.0 * len(str(convert(x))))(2.0)  # noqa: B023
        except TypeError:
            continue
        assert result == (4.0, 2.0)


def test_attributes_without_a_rule() -> None:
    for name in ("view", "tobytes", "base", "data", "ctypes", "tofile", "hex", "as_integer_ratio"):
        said = rf"^NumR has no attribute '{name}', which floats or arrays have, because it has no derivative rule; "
        with pytest.raises(AttributeError, match=said + r"shiftreset_ad\.value\(x\) gives the plain one"):
            grad(lambda x: getattr(x, name))(X)  # noqa: B023
        assert grad(lambda x: np.sum(x) if not hasattr(x, name) else None)(X).tolist() == [1.0, 1.0, 1.0]  # noqa: B023


def test_complex_results() -> None:
    said = (
        r"the function returned a complex number; return its real part, or its absolute value, or give holomorphic=True"
    )
    for f in (lambda x: 1j * x, lambda x: x + np.complex128(1j), lambda x: (-8.0) ** (x / 6), lambda x: X[0] * 1j * x):
        with pytest.raises(TypeError, match=rf"^grad\(<lambda>\): {said}"):
            grad(f)(1.7)


def test_holomorphic_derivatives_are_of_complex_numbers() -> None:
    said = "with holomorphic=True every argument and result must be complex, and one has dtype float64; convert it: "
    for f, x in ((lambda z: z * z, 2.0), (lambda z: z[0] * z[1], [1j, 2.0]), (abs, 1j), (lambda z: 3.0, 1j)):
        with pytest.raises(TypeError, match=rf"^grad\(\S+\): {said}"):
            grad(f, holomorphic=True)(x)


def test_pickling_and_multiprocessing() -> None:
    said = r"^NumR: .*cannot be pickled.*call grad there, or send shiftreset_ad\.value\(x\)"
    for f in (pickle.dumps, lambda x: pickle.dumps({"a": [x]}), lambda x: pickle.dumps(x, protocol=0)):
        with pytest.raises(TypeError, match=said):
            grad(f)(1.7)


# Arguments


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class Layer:
    weight: Any
    bias: Any


def model(*args: Any, **kwargs: Any) -> Any:
    pytest.fail("called with arguments that cannot be differentiated")


@pytest.mark.parametrize(
    ("args", "argnums", "place", "said"),
    [
        ((3,), 0, "argument 0", r"is an integer or a boolean \(3\), which has no derivative; convert it: float\(x\)"),
        ((True,), 0, "argument 0", r"is an integer or a boolean \(True\)"),
        ((np.int64(3),), 0, "argument 0", r"is an integer or a boolean \(np.int64\(3\)\)"),
        ((np.bool_(True),), 0, "argument 0", "is an integer or a boolean"),
        ((np.array([1, 2]),), 0, "argument 0", r"is an integer or a boolean \(array\(\[1, 2\]\)\).*x\.astype\(float\)"),
        ((np.array([True]),), 0, "argument 0", "is an integer or a boolean"),
        ((1.0, [2, (True, 4)]), 1, r"argument 1\[0\]", "is an integer"),
        (({"a": {"b": 1}},), 0, r"argument 0\['a'\]\['b'\]", "is an integer"),
        ((Point("a", 2),), 0, r"argument 0\.x", "is of type str"),
        ((Point(1.0, Fraction(2)),), 0, r"argument 0\.y", "is of type Fraction"),
        ((1.0, Layer([1.0, Layer(1.0, {2})], None)), -1, r"argument 1\.weight\[1\]\.bias", "is of type set"),
        ((1.0, 2.0, 3), (0, 2), "argument 2", "is an integer"),
        (("text",), 0, "argument 0", "is of type str, which cannot be differentiated; pass floats, arrays of floats"),
        ((object(),), 0, "argument 0", "is of type object, .*or choose other arguments by argnums"),
        ((lambda: 0,), 0, "argument 0", "is of type function"),
        (([1.0, {1, 2}],), 0, r"argument 0\[1\]", "is of type set"),
        ((np.array([None, 1.0]),), 0, "argument 0", "is of type ndarray and dtype object"),
        ((np.array(["a"]),), 0, "argument 0", "is of type ndarray and dtype <U1"),
        ((np.ma.masked_array([1.0, 2.0], [True, False]),), 0, "argument 0", "is of type MaskedArray and dtype float64"),
        ((Fraction(1, 2),), 0, "argument 0", "is of type Fraction"),
    ],
)
def test_leaves_that_cannot_be_differentiated(args: Any, argnums: Any, place: str, said: str) -> None:
    for operator_, derivative in (("grad", grad), ("value_and_grad", value_and_grad)):
        with pytest.raises(TypeError, match=rf"^{operator_}\(model\): {place} {said}"):
            derivative(model, argnums)(*args)


def test_a_matrix_is_not_an_array() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        matrix = np.matrix([[1.0]])
    with pytest.raises(
        TypeError, match="argument 0 is of type matrix and dtype float64, which cannot be differentiated"
    ):
        grad(model)(matrix)


def test_leaves_of_a_nested_derivative() -> None:
    with pytest.raises(TypeError, match=r"^grad\(model\): argument 0\[1\] is of type set"):
        grad(lambda x: grad(model)([x, {3}]))(2.0)


@pytest.mark.parametrize(
    ("argnums", "args", "said"),
    [
        (2, (1.0, 2.0), "argnums names argument 2, and 2 positional arguments were given; pass the arguments to"),
        (-3, (1.0, 2.0), "argnums names argument -3, and 2 positional"),
        (0, (), "argnums names argument 0, and 0 positional arguments were given"),
        ((0, 5), (1.0, 2.0), "argnums names argument 5, and 2 positional"),
        ((0, 0), (1.0, 2.0), r"argnums=\(0, 0\) names an argument twice"),
        ((0, -2), (1.0, 2.0), r"argnums=\(0, -2\) names an argument twice"),
        ("0", (1.0,), "argnums must be an integer or a tuple of integers, and is '0'"),
        (1.5, (1.0, 2.0), "argnums must be an integer or a tuple of integers, and is 1.5"),
        (True, (1.0, 2.0), "argnums must be an integer or a tuple of integers, and is True"),
        ((0, None), (1.0, 2.0), r"argnums must be an integer or a tuple of integers, and is \(0, None\)"),
        (None, (1.0,), "argnums must be an integer or a tuple of integers, and is None"),
    ],
)
def test_argnums(argnums: Any, args: Any, said: str) -> None:
    with pytest.raises(TypeError, match=rf"^grad\(model\): {said}"):
        grad(model, argnums)(*args)


def test_keyword_arguments_are_not_differentiated() -> None:
    with pytest.raises(
        TypeError, match="0 positional arguments were given; pass the arguments to differentiate by position"
    ):
        grad(lambda x: x)(x=3.0)


def test_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^grad: the function is 3.0, which cannot be called; give it a function$"):
        grad(3.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^value_and_grad: .*which cannot be called"):
        value_and_grad([])  # type: ignore[arg-type]


def test_arguments_that_the_function_does_not_take() -> None:
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        grad(lambda x: x)(1.0, 2.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'b'"):
        grad(lambda x: x)(1.0, b=2.0)


# Results


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda x: x, r"an array of shape \(3,\), and a gradient is of a scalar; reduce the result, with numpy\.sum"),
        (lambda x: x[:1], r"an array of shape \(1,\)"),
        (lambda x: np.zeros(2), r"an array of shape \(2,\), .* or use jacobian or vjp"),
        (lambda x: np.zeros((0,)), r"an array of shape \(0,\)"),
        (lambda x: np.outer(x, x), r"an array of shape \(3, 3\)"),
        (lambda x: (x[0], x[1]), "a tuple, and a gradient is of a scalar; return one number, with has_aux=True"),
        (lambda x: (x[0],), "a tuple, .* beside it, or use jacobian or vjp"),
        (lambda x: [x[0]], "a list, "),
        (lambda x: {"a": x[0]}, "a dict, "),
        (lambda x: None, r"None \(is a return statement missing\?\), and a gradient is of a scalar"),
        (lambda x: "text", "a str, "),
        (lambda x: np.str_("text"), "a str_, "),
        (lambda x: object(), "a object, "),
        (lambda x: np.array(None), "a ndarray of dtype object, "),
        (lambda x: np.array("text"), "a ndarray of dtype <U4, "),
        (lambda x: 1j, "a complex number; return its real part, or its absolute value"),
        (lambda x: np.array(1j), "a complex number"),
        (lambda x: np.complex64(1j), "a complex number"),
        (lambda x: (y for y in x), "a generator, "),
    ],
)  # fmt: skip
def test_results_that_have_no_gradient(f: Any, said: str) -> None:
    f.__name__ = "f"
    with pytest.raises(TypeError, match=rf"^grad\(f\): the function returned {said}"):
        grad(f)(X)
    with pytest.raises(TypeError, match=rf"^value_and_grad\(f\): the function returned {said}"):
        grad(lambda x: value_and_grad(f)(x)[1][0])(X)


@pytest.mark.parametrize(
    "f",
    [lambda x: x, lambda x: (x, 1, 2), lambda x: [x, 1], lambda x: (x,), lambda x: None],
    ids=["a number", "three", "a list", "one", "None"],
)
def test_results_of_another_form_than_has_aux_says(f: Any) -> None:
    with pytest.raises(TypeError, match=r"with has_aux=True the function must return \(value, aux\), and it returned"):
        grad(f, has_aux=True)(3.0)
    with pytest.raises(TypeError, match=r"returned an array of shape \(3,\)"):
        grad(lambda x: (x, None), has_aux=True)(X)


# Numbers in the wrong place


def test_a_number_after_its_derivative() -> None:
    leaked: list[Any] = []
    grad(lambda x: leaked.append(x * 2.0) or x)(3.0)
    grad(lambda x: leaked.append(x * 2.0) or np.sum(x))(X)
    said = (
        r"^a number of level 1 is used in an operation after its derivative has finished, so its derivative would be "
        r"lost\. Return it from the differentiated function \(has_aux=True.*\), or keep its plain value with "
        r"shiftreset_ad\."
    )
    number, array = leaked
    for use in (
        lambda: number + 1.0,
        lambda: 1.0 - number,
        lambda: -number,
        lambda: np.sin(number),
        lambda: np.float64(2.0) * number,
        lambda: X * array,
        lambda: np.sum(array),
        lambda: array[0],
        lambda: array @ X,
        lambda: np.concatenate([X, array]),
        lambda: np.split(array, 3),
        lambda: grad(lambda x: x * number)(2.0),
        lambda: grad(lambda x: np.sum(x * array))(X),
    ):
        with pytest.raises(EscapedNumberError, match=said):
            use()
    assert value(number) == 6.0


def test_an_inner_number_after_its_derivative_inside_the_outer_one() -> None:
    def f(x: Any) -> Any:
        leaked: list[Any] = []
        grad(lambda y: leaked.append(x * y) or y)(2.0)
        with pytest.raises(EscapedNumberError, match="level 2"):
            leaked[0] + x
        with pytest.raises(
            TypeError, match=r"^float\(leaked\[0\]\) would "
        ):  # at the outer level it is still being differentiated
            float(leaked[0])
        return x * value(leaked[0])

    assert grad(f)(3.0) == 6.0


def test_a_number_in_another_thread() -> None:
    caught: list[BaseException] = []

    def f(x: Any) -> Any:
        def work() -> None:
            for use in (lambda: x * 2.0, lambda: grad(lambda y: x * y)(1.0), lambda: np.sum(x)):
                try:
                    use()
                except WrongThreadError as error:
                    caught.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return x * x

    assert grad(f)(3.0) == 6.0
    assert len(caught) == 3
    for error in caught:
        assert str(error) == (
            "a number of level 1 is used in another thread than its grad runs in. "
            "Call grad inside that thread, or hand it the plain value, shiftreset_ad.value(x)"
        )


def test_errors_are_of_one_family() -> None:
    assert issubclass(EscapedNumberError, ControlError)
    assert issubclass(WrongThreadError, ControlError)
    assert issubclass(ControlError, RuntimeError)


# What an error leaves behind


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration, MemoryError])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_after_any_exception_everything_is_as_it_was(kind: Any, depth: int) -> None:
    def fail(x: Any) -> Any:
        y = np.sin(x) * x
        np.add(y, 1.0)
        raise kind("stop")

    f: Any = fail
    for _ in range(depth):
        f = grad(f)
    with pytest.raises(kind, match="stop"):
        f(2.0)


def test_an_error_on_the_way_back_leaves_nothing() -> None:
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        grad(lambda x: np.sum(np.sqrt(x)))(np.zeros(2))


def test_an_error_that_the_function_catches() -> None:
    def f(x: Any) -> Any:
        total = x
        for use in (math.sin, np.frompyfunc(abs, 1, 1), lambda x: x + "a", lambda x: [0][x], lambda x: x / 0):
            try:
                total = total + use(x * x)
            except (TypeError, NotImplementedError, ZeroDivisionError):
                total = total * 2.0
        return total

    found, gradient = value_and_grad(f)(3.0)
    assert (found, gradient) == (3.0 * 2**5, 2.0**5)


def test_a_traceback_shows_the_users_frames_only() -> None:
    def inner(x: Any) -> Any:
        return math.sin(x)

    def outer(x: Any) -> Any:
        return grad(inner)(x * 2.0)

    with pytest.raises(TypeError) as caught:
        grad(outer)(3.0)
    functions = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    ours = {"gradient_of_f"}
    assert [name for name in functions if name not in ours] == [
        "test_a_traceback_shows_the_users_frames_only",
        "outer",
        "inner",
    ]


def test_an_error_of_our_own_keeps_a_traceback() -> None:
    with pytest.raises(TypeError) as caught:
        grad(lambda x: x)("text")
    assert caught.value.__traceback__ is not None


def test_the_function_of_a_package_whose_name_begins_like_ours_is_the_users() -> None:
    from shiftreset_ad.boundary import tracebacks

    code = compile(
        "def f(x):\n    raise KeyError(x)\n", tracebacks.__file__.replace("shiftreset_ad", "shiftreset_ads"), "exec"
    )
    scope: dict[str, Any] = {}
    exec(code, scope)
    with pytest.raises(KeyError) as caught:
        grad(lambda x: scope["f"](2))(3.0)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "f"
