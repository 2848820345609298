"""Store passing: Wang et al. 2019, section 3.6."""

import ast
import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shiftreset_ad
from shiftreset_ad.formulations.language import parse
from shiftreset_ad.formulations.wang import store_passing
from shiftreset_ad.formulations.wang.store_passing import Store, finish, grad, look_up, operate, updated
from tests.formulations.wang import cases
from tests.formulations.wang.cases import examples


@examples
def test_examples_of_the_paper(example):
    cases.check_example_as_term(grad, example)


@pytest.mark.parametrize(
    "check",
    [
        cases.check_functions,
        cases.check_random_programs,
        cases.check_errors_of_terms,
        cases.check_control_in_the_program,
    ],
)
def test_of_every_room(check):
    check(grad)


def test_a_term_may_call_its_continuations_many_times():
    cases.check_control_in_the_program(grad, cases.MANY_SHOT)


def multiply(a, b, k):
    return operate(np.multiply, (a, b), k)


def polynomial(x, k):
    """2x + x^3"""
    return multiply(
        2.0, x, lambda y1: multiply(x, x, lambda y2: multiply(y2, x, lambda y3: operate(np.add, (y1, y3), k)))
    )


def test_the_polynomial_of_section_2_2():
    for x in (-2.0, 0.0, 0.5, 3.0):
        assert grad(polynomial)(x) == 2 + 3 * x * x


def test_structures_and_constants():
    found = grad(lambda p, k: multiply(p["a"], p["b"][0], lambda y: operate(np.sin, (y,), k)))(
        {"a": 1.5, "b": [2.0, 7.0], "name": "p"}
    )
    assert found["name"] is None
    assert (found["a"], *found["b"]) == pytest.approx((2 * np.cos(3.0), 1.5 * np.cos(3.0), 0.0))
    assert grad(lambda x, k: multiply(2.0, 3.0, lambda six: multiply(six, x, k)))(1.0) == 6.0
    assert grad(lambda x, k: k(3.0))(1.0) == 0.0


# The store


def test_a_transition_is_a_pure_function():
    """The same transition, run again on the same store, answers the same, and the store is as it was."""
    x, start = Store(tag=None).new(3.0)
    transition = polynomial(x, finish)
    ends = [transition(start) for _ in range(3)]
    assert [end.adjoint(x) for end in ends] == [29.0] * 3
    assert start == Store(tag=None, adjoints=None, size=1, results=0)
    assert transition(ends[0]).adjoint(x) == 58.0  # adjoints add up


def test_nothing_is_assigned_to():
    """In the whole room, only constructors set an attribute, and no name is bound twice in a function."""
    module = ast.parse(inspect.getsource(store_passing))
    changes = (ast.AugAssign, ast.Delete, ast.For, ast.While, ast.Global, ast.Nonlocal, ast.NamedExpr)
    for node in ast.walk(module):
        assert not isinstance(node, changes)
        if isinstance(node, ast.FunctionDef) and node.name != "__init__":
            bound = [argument.arg for argument in node.args.args]
            for inner in node.body:
                if isinstance(inner, ast.Assign):
                    names = [name for target in inner.targets for name in ast.walk(target)]
                    assert all(isinstance(name, (ast.Name, ast.Tuple, ast.Store)) for name in names)
                    bound += [name.id for name in names if isinstance(name, ast.Name)]
            assert len(bound) == len(set(bound)), node.name


@settings(derandomize=True, database=None, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 200), st.integers(-5, 5)), max_size=60))
def test_a_tree_is_a_persistent_map(updates):
    versions, models = [None], [{}]
    for address, value in updates:
        versions.append(updated(versions[-1], address, value))
        models.append({**models[-1], address: value})
    for tree, model in zip(versions, models, strict=True):  # all of them, also the old ones
        assert all(look_up(tree, address) == model.get(address, 0.0) for address in range(201))


def test_an_update_makes_a_path_and_shares_the_rest():
    def depth(tree):
        return 0 if tree is None else 1 + max(depth(tree[1]), depth(tree[2]))

    def nodes(tree):
        return set() if tree is None else {id(tree)} | nodes(tree[1]) | nodes(tree[2])

    tree = None
    for address in range(1023):
        tree = updated(tree, address, 1.0)
    assert depth(tree) == 10
    changed = updated(tree, 777, 2.0)
    assert len(nodes(changed) - nodes(tree)) == 10
    assert (look_up(tree, 777), look_up(changed, 777)) == (1.0, 2.0)


def test_many_inputs_do_not_nest():
    assert grad(lambda x, k: operate(np.multiply, (x[0], x[-1]), k))([2.0, *[0.0] * 5000, 3.0])[:2] == [3.0, 0.0]


def test_deep():
    term = parse("fun x -> let rec f n = if n < 1.0 then x else sin (f (n - 1.0)) * x + 0.5 in f 1000.0")
    with cases.deep_stack(60_000):
        assert grad(term)(1.1) == pytest.approx(shiftreset_ad.grad(cases.deep(1000))(1.1), rel=1e-10)


def test_numbers_that_are_no_floats():
    counts = []
    assert grad(polynomial)(cases.Counted(3.0, counts)).primal == 29.0
    assert counts.count(np.multiply) >= 3
    assert shiftreset_ad.grad(grad(polynomial))(3.0) == 18.0


# What it refuses


def test_operators_are_refused():
    with pytest.raises(TypeError, match=r"multiply: in explicit CPS, write operate\(multiply, operands, k\)"):
        grad(lambda x, k: k(x * x))(3.0)


def test_the_result_goes_to_k_once_and_its_answer_is_returned():
    with pytest.raises(TypeError, match=r"grad: f\(x, k\) must return what k returns; it returned None"):
        grad(lambda x, k: None)(3.0)
    with pytest.raises(TypeError, match=r"grad: f\(x, k\) must hand its result to k once"):
        grad(lambda x, k: lambda store: store)(3.0)
    with pytest.raises(TypeError, match=r"grad: f\(x, k\) must hand its result to k once"):
        grad(lambda x, k: lambda store: k(x)(k(x)(store)))(3.0)
    with pytest.raises(TypeError, match=r"grad: f\(x, k\) must hand its result to k once"):
        grad(lambda x, k: lambda store: None)(3.0)
    with pytest.raises(TypeError, match="grad: the function must return one number"):
        grad(lambda x, k: k((x, x)))(3.0)
    with pytest.raises(TypeError, match=r"write 3\.0 for 3"):
        grad(lambda x, k: k(x))(3)
    with pytest.raises(NotImplementedError, match="spacing"):
        grad(lambda x, k: operate(np.spacing, (x,), k))(3.0)


def test_derivatives_do_not_nest_and_addresses_are_not_confused():
    with pytest.raises(TypeError, match="add: operands of two derivatives; to nest them, use the room `prompts`"):
        grad(lambda x, k: multiply(x, grad(lambda y, k: operate(np.add, (x, y), k))(1.0), k))(1.0)
    with pytest.raises(TypeError, match="multiply: operands of two derivatives"):
        grad(lambda x, k: k(grad(lambda y, k: multiply(x, x, lambda z: k(y)))(1.0)))(1.0)
    with pytest.raises(TypeError, match="multiply: in explicit CPS"):
        grad(lambda x, k: k(grad(lambda y, k: multiply(y, y, k))(x)))(1.0)
    assert grad(lambda x, k: multiply(x, grad(polynomial)(3.0), k))(1.0) == 29.0
    assert grad(lambda x, k: multiply(x, grad(lambda y, k: k(x))(1.0), k))(1.0) == 0.0
