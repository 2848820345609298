"""Loops that are alike share a function, with the bits of the loops in their places."""

from types import SimpleNamespace

import numpy as np
import pytest

from shiftreset_ad import grad
from shiftreset_ad.rules.indexing import replaced
from shiftreset_ad.staging.native.fusion import Member, apart
from shiftreset_ad.staging.native.sharing import as_function
from shiftreset_ad.staging.steps.trace import Trace
from shiftreset_ad.staging.steps.values import Staged
from tests.staging.native.natively import check, in_tables, native, needs_native

pytestmark = needs_native
RNG = np.random.default_rng(0)
X, W = RNG.normal(size=50), RNG.normal(size=(50, 50)) / 7.0


def layers(count, function):
    """Layers with a product between them, so that no two share a round."""

    def f(x):
        for i in range(count):
            x = W @ function(x, i)
        return x

    return f


def definitions(code, of="rounds"):
    return [line for line in code.text.splitlines() if line.startswith(f"define internal void @{of}_")]


def calls(code, of="rounds"):
    return code.text.count(f"call void @{of}_")


def parts(code):
    return [line for line in code.text.splitlines() if line.startswith("define internal i64 @part")]


def tree(count):
    """A tree with so many leaves. Its nodes of equal height share no value, and so wait for one another."""
    of_leaves = RNG.normal(size=(count, 50, 50)) / 7.0

    def f(x):
        nodes = [w @ x for w in of_leaves]
        while len(nodes) > 1:
            pairs = zip(nodes[::2], nodes[1::2], strict=True)
            nodes = [W @ (0.25 * np.tanh(left * right + 0.5) - left) for left, right in pairs]
        return nodes[0]

    return f


@pytest.mark.parametrize("count", [3, 20])
def test_loops_that_are_alike_are_compiled_once(count):
    code = check(layers(count, lambda x, i: 0.1 * x * x - 0.5 * x), (X,), (-X,))
    assert calls(code) == count
    assert len(definitions(code)) == 1
    assert "noinline" in definitions(code)[0]


def test_a_loop_states_the_offset_of_each_stride_once():
    def f(x, y):
        return x * y + x * y.T - y * y.T

    text = native(f, X[:36].reshape(6, 6), W[:6, :6]).text
    assert text.count(" = mul nsw i64 %index") == 3  # of the rows of `x`, `y` and `y.T`


def test_one_or_two_loops_are_written_in_their_places():
    code = check(layers(2, lambda x, i: 0.1 * x * x - 0.5 * x), (X,))
    assert "alwaysinline" in definitions(code)[0]


def test_constants_and_the_order_of_arguments_tell_loops_apart():
    code = check(layers(6, lambda x, i: x * (0.1 * i) - x * X if i % 2 else X - x), (X,), (-X,))
    assert len(definitions(code)) == 4  # three with constants of their own, and that without


def test_what_is_stored_tells_loops_apart():
    def f(x):
        a, b = x * 0.5, x + 1.0
        y, z = W @ (a * b), W @ a
        a, b = y * 0.5, y + 1.0
        return z, W @ (a * b), W @ b

    code = check(f, (X,), (-X,))
    assert len(definitions(code)) == 2


def test_which_value_of_the_loop_is_meant_tells_loops_apart():
    def f(x):
        a, b = x * 0.5, x + 1.0
        y = W @ (a - b)
        a, b = y * 0.5, y + 1.0
        return W @ (b - a)

    code = check(f, (X,), (-X,))
    assert len(definitions(code)) == 2


def test_numbers_and_constant_arrays_from_outside_are_parameters():
    weights = RNG.normal(size=(5, 50))

    def f(x, y):
        for i in range(5):
            x = W @ (x * y + weights[i])
            y = y * 0.5 + x[0]
        return x, y

    code = check(f, (X, 0.5), (-X, -2.0))
    assert len(definitions(code)) == 1


def test_an_array_twice_and_its_views():
    def f(x):
        for _ in range(4):
            x = W @ (0.1 * x * x[::-1].copy() + x)
            x = np.concatenate([x[1:], x[:1]]) * 0.5 + x
        return x

    check(f, (X,), (-X,))


def test_writes_into_the_memory_that_is_read():
    def f(x):
        for _ in range(4):
            x = replaced((x[1:41] * 2.0, x), slice(0, 40))
            x = W @ (x + 1.0)
        return x

    check(f, (X,), (-X,))


def test_on_the_way_back():
    f = layers(8, lambda x, i: np.tanh(x) * x)
    code = check(grad(lambda x: np.sum(f(x))), (X,), (2.0 * X,))
    assert calls(code) > 3 * len(definitions(code))


def test_short_loops_are_written_out_until_there_are_many():
    w = W[:4, :4]

    def f(count):
        def of(x):
            for _ in range(count):
                x = w @ (x * x + 0.5)
            return x

        return of

    for count, place in ((10, "alwaysinline"), (30, "noinline")):
        code = check(f(count), (X[:4],), (-X[:4],))
        assert not definitions(code)
        assert [place in line for line in definitions(code, "few_rounds")] == [True]
        assert calls(code, "few_rounds") == count


def test_nodes_that_wait_for_one_another_have_the_loops_of_one_node():
    one, many = native(tree(2), X), check(tree(256), (X,), (0.1 * X,))
    assert len(definitions(many)) == len(definitions(one)) == 2
    in_table = [body for body in in_tables(many) if "@rounds_" in body]
    assert calls(many) - len({*in_table}) + len(in_table) == 255 * calls(one)


def test_in_a_short_program_steps_of_one_shape_share_a_loop():
    code = check(lambda x, y: (np.exp(x) * 0.5, y * 2.0 + 1.0, x - y), (X, -X), (X * 0.5, X))
    assert len(definitions(code)) == 1


def test_what_takes_a_value_that_a_loop_makes_is_in_the_loop():
    trace = Trace()
    given = [Staged(trace, trace.place_for(X)) for _ in range(8)]
    code = SimpleNamespace(place=lambda x: x._place)
    made_of = {2: (0, 1), 3: (0, 0), 4: (1, 3), 5: (2, 4), 6: (3, 0), 7: (1, 1)}  # the arguments, by the places
    members = [Member(i, (given[x], given[y], 0.5), None, X) for i, (x, y) in made_of.items()]
    assert [[m.place for m in part] for part in apart(members, code)] == [[2, 3, 4, 5, 6], [7]]
    assert [[m.place for m in part] for part in apart(members[:3], code)] == [[2], [3, 4]]


def test_a_loop_of_very_many_steps_is_in_several_functions():
    def f(x):
        for _ in range(400):
            x = x * 0.5 + X
            x = x - 0.25 * x
        return x

    code = check(f, (X,), (-X,))
    assert len(parts(code)) > 2


def test_a_long_program_grows_by_calls_alone():
    """What a step more adds: a record in a table, and nothing in the text."""

    def f(count):
        def of(x):
            for _ in range(count):
                x = W @ np.tanh(0.1 * x * x - 0.5 * x) + x
            return x

        return of

    short, long = native(f(150), X), native(f(250), X)
    assert not in_tables(native(f(20), X))
    assert len(in_tables(long)) == 250 * 3 + 1
    assert len({*in_tables(long)}) == len({*in_tables(short)}) < 10
    assert len(definitions(long)) == len(definitions(short)) == 3  # one of them for the first round
    assert long.text.count("phi") == short.text.count("phi")
    assert parts(long) == parts(short) == []
    assert long.text.count("br ") == short.text.count("br ")
    assert long.text.count("\n") == short.text.count("\n")
    check(f(150), (X,), (-X,))


def test_a_long_program_with_a_loop_and_numbers_has_parts_of_both_kinds():
    def f(x, y):
        for i in range(300):
            x = W @ (0.5 * x) + x
            if 100 < i < 200:
                y = y * 0.5 + x[0]
        return x, y

    code = check(f, (X, 0.5), (-X, -1.5))
    assert len(in_tables(code)) > 200
    assert code.text.count(" = fmul double ") > 99


def test_many_arrays_in_one_are_gone_through_once():
    """A stack of many arrays is as many copies, each of which is found without a look at all elements."""

    def f(x):
        many = np.stack([W @ (x * float(i)) for i in range(40)])
        return many.T @ np.ones(40), np.concatenate([many[:, :3].ravel(), x])

    check(f, (X,), (-X,))


def test_a_name_from_outside_that_is_not_known_is_no_parameter():
    lines = ["  %2 = fadd double %1, 1.0", "  store double %2, ptr %3"]
    assert as_function(lines, {"%3": "ptr"}, ()) is None
    text, call = as_function(lines, {"%1": "double", "%3": "ptr"}, {"%3"})
    assert call.endswith("(double %1, ptr %3)")
    assert "(double %p0, ptr noalias %p1)" in text


def test_names_do_not_tell_loops_apart():
    forms = {"%1": "double", "%3": "ptr", "%5": "double", "%9": "ptr"}
    one, _ = as_function(["on:", "  %2 = fadd double %1, 1.0", "  store double %2, ptr %3"], forms, ())
    other, _ = as_function(["up:", "  %7 = fadd double %5, 1.0", "  store double %7, ptr %9"], forms, ())
    third, _ = as_function(["up:", "  %7 = fadd double %5, 1.0", "  store double %5, ptr %9"], forms, ())
    assert one == other != third
