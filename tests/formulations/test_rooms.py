"""What holds for every room: its interface, its errors, and that it stands alone."""

import ast
import inspect
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import optree
import pytest

import shiftreset_ad
from shiftreset_ad.control import ControlError
from shiftreset_ad.formulations import ROOMS
from shiftreset_ad.formulations.language import Case, Const, Fst, Lam, Left, Snd, Var, evaluate, parse

PROGRAMS = {
    "the paper's 2x + x^3": ("fun x -> 2.0 * x + x * x * x", 3.0),
    "sharing": ("fun x -> let y = x * x in let z = y * y in z * sin y + z", 1.1),
    "quotients and functions of two": ("fun x -> arctan2 x (2.0 + x) - 1.0 / (1.0 + exp x)", 0.7),
    "a pair": ("fun x -> fst x * snd x + sin (fst x)", (1.5, -0.5)),
    "nested pairs, an input that is not used": ("fun x -> fst (snd x) * fst (snd x)", (1.0, (2.0, 3.0))),
    "a constant": ("fun x -> 3.0", 2.0),
    "the argument itself": ("fun x -> x", 2.0),
    "a function with a free variable": ("fun x -> let f = fun y -> x * y in f (f 2.0)", 1.5),
    "a function of functions": ("fun x -> let twice = fun f -> fun y -> f (f y) in twice (fun y -> y * x) x", 1.5),
    "shadowing": ("fun x -> let x = x * x in let x = x * x in x", 1.5),
    "a sum": ("fun x -> case (if x < 1.0 then inl x else inr (x, 2.0)) of y -> y | z -> fst z * snd z * x", 1.5),
    "recursion": ("fun x -> let rec f n = if n < 1.0 then 1.0 else x * f (n - 1.0) in f 4.0", 1.5),
    "a fold of a tree": (
        "fun x -> let rec product t = case t of leaf -> leaf | both -> product (fst both) * product (snd both) in "
        "product (inr (inr (inl x, inl (sin x)), inr (inl 2.0, inl x)))",
        1.5,
    ),
    "a power of a negative number": ("fun x -> power x 3.0 * power x 2.0", -0.5),
    "a branch that is equal": ("fun x -> if x < x then 0.0 else x * x", 1.5),
}
MEMORY = {
    "a reference": ("fun x -> let r = ref x in r := !r * x; r := !r * x; !r", 1.5),
    "order of evaluation": ("fun x -> let r = ref x in !r * (r := x * x; !r) + !r", 1.5),
    "references in a pair": (
        "fun x -> let p = (ref x, ref 2.0) in fst p := !snd p * x; (snd p := !fst p; !snd p * x)",
        1.5,
    ),
    "a counter in a closure": (
        "fun x -> let r = ref 1.0 in let f = fun y -> r := !r * y; !r in f x + f x + f x",
        1.5,
    ),
}


def rooms(condition=lambda room: True):
    return pytest.mark.parametrize("room", [pytest.param(room, id=room.path) for room in filter(condition, ROOMS)])


def assert_same(found, expected):
    assert optree.tree_structure(found) == optree.tree_structure(expected)
    np.testing.assert_allclose(optree.tree_leaves(found), optree.tree_leaves(expected), rtol=1e-12, atol=1e-15)


@rooms()
@pytest.mark.parametrize("case", PROGRAMS)
def test_gradient_of_a_term(room, case):
    program, x = PROGRAMS[case]
    assert_same(room.grad(parse(program))(x), shiftreset_ad.grad(evaluate(parse(program)))(x))


@rooms(lambda room: "references" not in room.without)
@pytest.mark.parametrize("case", MEMORY)
def test_gradient_of_a_term_with_memory(room, case):
    program, x = MEMORY[case]
    assert_same(room.grad(parse(program))(x), shiftreset_ad.grad(evaluate(parse(program)))(x))


@rooms(lambda room: "references" in room.without)
def test_references_are_refused_where_there_are_none(room):
    with pytest.raises(TypeError, match="reference"):
        room.grad(parse(MEMORY["a reference"][0]))(1.5)


@rooms(lambda room: room.style == "python")
def test_gradient_of_a_python_function(room):
    def f(x):
        total = x["a"] * x["b"][0]
        for _ in range(3):
            total = np.sin(total) + total / x["b"][1] if total > 0.1 else -total
        return total

    x = {"a": 0.7, "b": [1.3, 2.0], "name": "x"}
    assert_same(room.grad(f)(x), shiftreset_ad.grad(f)(x))


@rooms(lambda room: room.style == "python" and room.order > 1)
def test_nested_gradients_keep_apart(room):
    """The example of perturbation confusion: d/dx (x * d/dy (x + y)) is 1."""
    grad = room.grad
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert grad(lambda x: x * grad(lambda y: x * y * y)(x))(3.0) == pytest.approx(54.0)


@rooms(lambda room: room.style == "python" and room.path != "wang.tape")
def test_a_derivative_of_another_room_inside(room):
    """Each would take the numbers of the other for constants."""
    other = next(other for other in ROOMS if other.path == "wang.tape")
    for outer, inner in ((room.grad, other.grad), (other.grad, room.grad)):
        with pytest.raises(TypeError, match="numbers of two formulations"):
            outer(lambda x, inner=inner: x * inner(lambda y: x * y)(2.0))(3.0)


@rooms(lambda room: room.style == "python" and room.order > 1)
@pytest.mark.parametrize("use", [lambda y: y, lambda y: 2.0 * y], ids=["returned", "used"])
def test_number_that_has_left_its_derivative(room, use):
    """It depends on x, in a way that the outer derivative cannot see: without an error, the answer would be zero."""
    kept = []

    def inner(x, y):
        kept.append(x * y)
        return kept[-1]

    def outer(x):
        room.grad(lambda y: inner(x, y))(2.0)
        return use(kept[-1])

    with pytest.raises((ValueError, ControlError), match=r"inner derivative, which is finished|no reset of this"):
        room.grad(outer)(3.0)
    assert room.grad(lambda x: x * x)(3.0) == 6.0


@rooms(lambda room: room.style == "python" and room.order > 1)
def test_second_derivative_of_a_power_of_a_negative_number(room):
    """The slope of its exponent, which nobody asks for, is not a number."""
    assert room.grad(room.grad(lambda x: x**3))(-0.5) == pytest.approx(-3.0)


@rooms()
def test_what_is_no_number_has_no_arithmetic(room):
    with pytest.raises(TypeError, match=r"add: (expected|formulations compute with) real numbers"):
        room.grad(parse("fun x -> x + (1.0, x)"))(0.5)


@rooms(lambda room: room.style == "python")
def test_complex_constants(room):
    with pytest.raises(TypeError, match="multiply: formulations compute with real numbers"):
        room.grad(lambda x: abs(x * (1 + 2j)))(0.5)


@rooms(lambda room: room.style == "python" and room.order > 2)
def test_third_order(room):
    third = room.grad(room.grad(room.grad(lambda x: np.sin(x) * x)))
    assert third(0.5) == pytest.approx(-3 * np.sin(0.5) - 0.5 * np.cos(0.5))


@rooms(lambda room: room.jvp is not None)
def test_derivative_along_a_direction(room):
    program, x = PROGRAMS["a pair"]
    along = room.jvp(parse(program))
    assert along(x, (1.0, 2.0)) == pytest.approx((x[1] + np.cos(x[0])) + 2.0 * x[0])
    for direction in (1.0, (1.0, (2.0, 3.0)), (1, 2)):
        with pytest.raises(TypeError, match=r"^jvp: "):
            along(x, direction)
    with pytest.raises(TypeError, match=r"^jvp: "):
        along((1, 2), (1.0, 2.0))


@rooms()
def test_constants_that_are_structures(room):
    """The numbers in them are constants as well, of which a transformation may not take one for a tangent."""
    x = Var("x")
    pair = Lam("x", x * Fst(Const((3.0, 5.0))) + x * Snd(Const((3.0, 5.0))))
    assert room.grad(pair)(2.0) == 8.0
    chosen = Lam("x", x * Case(Const(Left((3.0, ()))), "a", Fst(Var("a")), "b", Var("b")))
    assert room.grad(chosen)(2.0) == 3.0


@rooms()
def test_integers_in_the_argument_are_constants(room):
    assert_same(room.grad(parse("fun x -> fst x * fst x * snd x"))((3.0, 2)), (12.0, None))


@rooms(lambda room: room.path != "pearlmutter_siskind")  # which gives constants a name, and then a sensitivity
def test_constant_exponent_of_a_negative_number(room):
    """The derivative by the exponent does not exist there, and nobody asks for it."""
    assert room.grad(parse("fun x -> power x 2.0"))(-3.0) == -6.0
    assert room.grad(parse("fun x -> power 3.0 2.0 * x"))(2.0) == 9.0


@rooms()
def test_result_that_is_no_scalar(room):
    with pytest.raises(TypeError, match="grad"):
        room.grad(parse("fun x -> (x, x)"))(1.0)


@rooms(lambda room: room.style == "python")
@pytest.mark.parametrize("f", [lambda x: x * np.ones(2), lambda x: np.ones(2) - x, lambda x: np.array([x, x]) * x])
def test_arrays_are_refused(room, f):
    """A number of a scalar formulation, with an array inside, would have a derivative of the wrong shape."""
    with pytest.raises(TypeError, match=r"single numbers; got an array of shape \(2,\)"):
        room.grad(f)(3.0)
    assert room.grad(lambda x: x * np.array(2.0))(3.0) == 2.0


@rooms()
def test_term_with_a_free_variable(room):
    with pytest.raises(NameError, match="y"):
        room.grad(parse("fun x -> x * y"))(1.0)


@rooms()
def test_what_is_no_function(room):
    with pytest.raises(TypeError, match="function"):
        room.grad(3.0)(1.0)


@rooms()
def test_state_is_clean_after_an_error(room):
    with pytest.raises(TypeError):
        room.grad(parse("fun x -> let y = x * x in fst y"))(1.0)
    assert room.grad(parse("fun x -> x * x"))(3.0) == 6.0


# Each stands alone


def modules(room):
    """The source files of a room: its module, or all of its package."""
    origin = Path(find_spec(f"shiftreset_ad.formulations.{room.path}").origin)
    return sorted(origin.parent.rglob("*.py")) if origin.name == "__init__.py" else [origin]


SHARED = ("overloading", "structures", "language")


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@rooms()
def test_no_room_imports_another(room):
    package = "shiftreset_ad.formulations."
    own = room.path if len(modules(room)) > 1 else None
    for path in modules(room):
        for name in imported(path):
            if name.startswith(package):
                part = name.removeprefix(package)
                assert part.split(".")[0] in SHARED or (own and part.startswith(own)), f"{path.name} imports {name}"
            elif name.startswith("shiftreset_ad"):
                assert name in ("shiftreset_ad", "shiftreset_ad.control", "shiftreset_ad.rules"), f"{path.name}: {name}"


def test_what_is_no_room_imports_none():
    """Syntax and printed figures stand alone, too. `letrec` adds rules to those of Fig. 10, and says so."""
    package = Path(find_spec("shiftreset_ad.formulations").origin).parent
    own = {path for room in ROOMS for path in modules(room)}
    found = set()
    for path in package.rglob("*.py"):
        if path not in own:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ImportFrom):
                    names = {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
                    rooms = {f"shiftreset_ad.formulations.{room.path}" for room in ROOMS}
                    found |= {(path.stem, name.rpartition(".")[2]) for name in names & rooms}
    assert found == {("letrec", "source_meta")}


@rooms()
def test_the_docstring_says_where_it_comes_from(room):
    author = {"Wang": "Wang", "Pear": "Pearlmutter", "Karc": "Karczmarczuk", "Kraw": "Krawiec"}[room.paper[:4]]
    assert author in inspect.getdoc(room.module)
    assert room.grad.__doc__
    assert ">>>" in room.grad.__doc__


def test_each_room_is_in_the_table():
    package = Path(find_spec("shiftreset_ad.formulations").origin).parent
    found = {".".join(path.relative_to(package).with_suffix("").parts) for path in package.rglob("*.py")}
    rooms = {
        name.removesuffix(".__init__")
        for name in found
        if "\ndef grad(" in (package / Path(*name.split("."))).with_suffix(".py").read_text()
    }
    # The `grad` of `staged.numbers` is for a program that writes another, and `classes` has the paper's two operations
    # alone. Each has tests of its own in tests/formulations/wang.
    assert rooms == {room.path for room in ROOMS} | {"wang.staged.numbers", "wang.classes"}
