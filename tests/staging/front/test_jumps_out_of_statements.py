"""Jumps that leave a `with`, a `try` or the `else` of a loop are written down, as others are."""

from contextlib import contextmanager, suppress

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from tests.staging.front.agreement import agree, ids, require_bits_of_the_steps, require_one_record
from tests.staging.native.natively import needs_native

LEFT = []
TABLE = {}


def returned_and_bound_after(x, n):
    with np.errstate(all="ignore"):
        if x > 1.0:
            return x * x
        y = x + 1.0
    return y * y


def returned_at_the_end(x, n):
    with np.errstate(all="ignore"):
        if x * n > 2.0:
            return x * x
        return x * n


def returned_and_gone_on(x, n):
    with np.errstate(all="ignore"):
        if x > 1.0:
            return x
    with np.errstate(all="ignore"):
        if x > n * 0.5:
            return x * 3.0
        if n > 2:
            x = x + 1.0
    return x * 4.0


def in_a_branch(x, n):
    if x < 1.0:
        with np.errstate(all="ignore"):
            if n > 2:
                return x * 2.0
            y = x * 3.0
        x = y
    return x + 1.0


def in_branches_in_branches(x, n):
    y = z = x
    with np.errstate(all="ignore"):
        if n > 4:
            return x
        if n > 1:
            with np.errstate(all="ignore"):
                if x > 1.0:
                    return x * 2.0
                y = x * 3.0
            y = y + 1.0
        elif n > 0:
            y = x
        else:
            return x * 9.0
        z = y * 2.0
    return y + z


def of_a_loop(x, n):
    with np.errstate(all="ignore"):
        while x < 10.0:
            x = x * 2.0
            if x > 7.0:
                return x * n
    return x


def of_the_rounds(x, n):
    for k in range(n):
        with np.errstate(all="ignore"):
            y = x * k
            if y > 2.0:
                return y
            if y > 1.2:
                break
            if y > 0.8:
                continue
            x = x + 0.1
        x = x + y * 0.1
    return x


def of_rounds_with_an_end(x, n):
    k = 0
    while k < n + 2:
        k += 1
        try:
            if x > 5.0:
                continue
            x = x * 1.4
            if x > 3.0 and k > 2:
                break
        finally:
            x = x + 0.01
    else:
        x = x * 2.0
    return x


def of_rounds_without_end(x, n):
    while True:
        with np.errstate(all="ignore"):
            x = x * 0.7
            if x < 1.0:
                try:
                    if x < 0.1 * n + 0.3:
                        return x * x
                    x = x + 0.05
                finally:
                    x = x * 0.99
            else:
                continue
        if x < 0.5:
            break
    return x * 3.0


def unless_it_raises(x, n):
    total = 0.0
    for v in np.array([1.0, 2.0, 3.0, 4.0]):
        try:
            if v * x > n:
                break
            if v * x < 1.0:
                continue
        except ZeroDivisionError:
            return 3.0
        else:
            total = total + v * x
        total = total + 0.5
    else:
        return total * x
    return total


def after_all_rounds(x, n):
    for i in range(4):
        for k in range(n):
            if x * k > 2.0:
                break
            x = x + 0.3
        else:
            if x > 2.0:
                continue
            x = x + 1.0
            if x > 2.5:
                return x * 7.0
        x = x * 0.9 + i
    return x


def after_all_rounds_another_loop(x, n):
    for _ in range(n):
        if x > 3.0:
            break
        x = x + 1.0
    else:
        for k in range(3):
            if x > 2.5:
                return x * k
            x = x + 0.4
        else:
            return -x
    return x * 2.0


def caught_in_plain_python(x, n):
    for k in range(n):
        try:
            x = x + TABLE[f"{n > 100}"]
        except KeyError:
            if x > 2.0:
                return x * 5.0
            x = x + 0.4
            if k > 3:
                continue
        x = x * 1.1
    return x


def in_three_statements(x, n):
    z = x
    with np.errstate(all="ignore"):
        with np.errstate(over="ignore"):
            while x < 9.0:
                x = x * 2.0 + 0.1
                with np.errstate(under="ignore"):
                    if x > 9.0 - n:
                        return np.sum(np.array([x, x * x]) * 2.0)
                    if x > 5.0:
                        break
            z = x * 0.5
        z = z + 1.0
    return z * x


def a_pair(x, n):
    try:
        if x * n > 2.0:
            return x, x * 2.0
    finally:
        x = x * 3.0
    return x, x + 1.0


def of_a_pair(x, n):
    one, other = a_pair(x, n)
    return one * other


def a_structure(x, n):
    total = 0.0
    for _ in range(n):
        try:
            total = total + x
            if total > 2.0:
                return {"a": total, "b": [x, total * x]}
        finally:
            total = total * 1.1
    return {"a": x, "b": [total, x]}


def of_a_structure(x, n):
    found = a_structure(x, n)
    return found["a"] * found["b"][0] + found["b"][1]


def of_a_function_in_it(x, n):
    def inner(z):
        with np.errstate(all="ignore"):
            for _ in range(n):
                if z > 1.5:
                    return z * 2.0
                z = z + 0.5
        return -z

    return inner(x) + inner(x * 0.5) * x


def of_itself(x, n):
    with np.errstate(all="ignore"):
        if x > 0.5:
            return of_itself(x * 0.5, n) + x * n
        y = x * 1.0
    return y * y


PROGRAMS = (
    *(returned_and_bound_after, returned_at_the_end, returned_and_gone_on, in_a_branch, in_branches_in_branches),
    *(of_a_loop, of_the_rounds, of_rounds_with_an_end, of_rounds_without_end, unless_it_raises, after_all_rounds),
    *(after_all_rounds_another_loop, caught_in_plain_python, in_three_statements, of_a_pair, of_a_structure),
    *(of_a_function_in_it, of_itself),
)


@pytest.mark.parametrize("f", PROGRAMS, **ids)
def test_it_is_written_down_once(f, monkeypatch):
    require_one_record(f, monkeypatch)


@needs_native
@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("f", PROGRAMS, **ids)
def test_native_code_has_the_bits_of_the_steps(f, monkeypatch):
    require_bits_of_the_steps(f, monkeypatch)


@contextmanager
def noting(name):
    try:
        yield 2.0
    finally:
        LEFT.append(name)


def test_a_statement_is_left_once_and_in_order():
    """In the runs of the function itself; steps that a caller cannot see have no effects."""

    def f(x):
        for k in range(3):
            with noting("outer") as two, noting("inner"):
                if x > 2.0:
                    return x * two
                x = x + k
        return x

    assert [f(x) for x in (1.0, 3.0)] == [4.0, 6.0]
    expected, LEFT[:] = list(LEFT), []
    assert expected == [*["inner", "outer"] * 3, "inner", "outer"]
    g = staged(f)
    with pytest.warns(match="changes 'LEFT'"):
        assert [g(x) for x in (1.0, 3.0)] == [4.0, 6.0]
    assert expected == LEFT


def test_what_has_no_value_after_a_jump_has_none_in_the_finally():
    """It raises UnboundLocalError, and no zeros stand in for it."""

    def f(x):
        seen = []
        try:
            if x > 1.0:
                return x * 2.0
            y = x * 1.0
        finally:
            seen.append(y)
        return y + len(seen)

    g = staged(grad(f))
    for x in (0.5, 0.7, 0.9):
        assert g(x) == 1.0
    with pytest.raises(UnboundLocalError):
        g(2.0)
    assert g(0.5) == 1.0


def test_an_answer_without_zeros_is_asked():
    def f(x):
        with np.errstate(all="ignore"):
            if x > 1.0:
                return "large", x
            y = x * 2.0
        return "small", y

    g = agree(lambda x, n: f(x * n)[1], ((0.7, 1), (0.7, 2), (0.6, 1), (0.5, 2), (0.5, 3)))
    assert len(g.sources) == 2
    assert "returns no structure of numbers and arrays" in g.report()


def test_none_is_an_answer_of_its_own():
    def first(x):
        with np.errstate(all="ignore"):
            if x > 1.0:
                return max([None], key=lambda _: 1.0)
            y = x * 2.0
        return y * 1.0

    g = agree(lambda x, n: 5.0 if (found := first(x * n)) is None else found, ((0.7, 1), (0.7, 2), (0.6, 1), (0.7, 3)))
    assert len(g.sources) == 2


class Raising:
    """A context whose end raises an error."""

    def __init__(self, n):
        self.n = n

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.n == 2:
            raise KeyError


def forgotten_as_a_finally_raises(x, n):
    try:
        try:
            if x > 1.0:
                return x
        finally:
            if n == 2:
                raise KeyError
    except KeyError:
        if x > 1.5:
            return -x
    return 7.0 * x


def forgotten_as_a_context_raises(x, n):
    with suppress(KeyError), Raising(n):
        if x > 1.0:
            return x
    return 7.0 * x


def forgotten_in_rounds(x, n):
    total = 0.0
    for k in range(4):
        with suppress(KeyError):
            with Raising(k):
                if x > 1.0:
                    continue
                total = total + x
            total = total + 10.0
        total = total + 100.0
    return total


def overruled_by_a_break(x, n):
    while True:
        try:
            if x > 1.0:
                return x
        finally:
            break  # noqa: B012
    return 7.0 * x


def overruled_in_a_round(x, n):
    for _ in range(2):
        try:
            if x > 1.0:
                return x
        finally:
            if n == 2:
                break  # noqa: B012
    return 7.0 * x


FORGOTTEN = (
    *(forgotten_as_a_finally_raises, forgotten_as_a_context_raises, forgotten_in_rounds),
    *(overruled_by_a_break, overruled_in_a_round),
)


@pytest.mark.parametrize("f", FORGOTTEN, **ids)
@pytest.mark.parametrize("n", [1, 2])
def test_a_jump_is_forgotten_if_what_is_left_raises_or_jumps(f, n):
    points = [(x, n) for x in (0.5, 0.6, 2.5, 0.7, 1.2, 1.7)]
    for form in (f, grad(f)):
        agree(form, points)


def bound_in_one_branch(x, n):
    with np.errstate():
        if x > 1.0:
            return x
        if n > 2:
            y = x * 3.0
    return y


def bound_in_rounds(x, n):
    with np.errstate():
        if x > 1.0:
            return x
        for i in range(n):
            y = x * i
    return y


def read_before_it_is_bound(x, n):
    with np.errstate():
        if x > 1.0:
            return x
        z = 0.0
        for i in range(4):
            if i > n:
                z = y * 2.0  # noqa: F821 (it is bound below, in a later round)
            y = x + i
    return y + z


def read_by_another_function(x, n):
    def g():
        nonlocal y
        with np.errstate():
            if x > 1.0:
                return x
            y = x * 2.0
        return y

    y = None
    del y
    found = g()
    try:
        return found + y * 100.0
    except NameError:
        return -found


def read_at_the_end_of_a_statement(x, n):
    seen = [0.0]

    def look():
        try:
            seen[0] = seen[0] + y
        except NameError:
            seen[0] = -1.0

    def g():
        nonlocal y
        try:
            if x > 1.0:
                return x
            y = x * 2.0
        finally:
            look()
        return y

    y = None
    del y
    return g() + seen[0] * 100.0


def read_after_an_error(x, n):
    try:
        with Raising(n):
            if x > 1.0:
                return x
            y = x * 2.0
    except KeyError:
        return y
    return y


UNBOUND = (
    *(bound_in_one_branch, bound_in_rounds, read_before_it_is_bound, read_by_another_function),
    *(read_at_the_end_of_a_statement, read_after_an_error),
)


def outcome(f, *args):
    try:
        return f(*args)
    except NameError as error:
        return type(error)


@pytest.mark.parametrize("f", UNBOUND, **ids)
@pytest.mark.parametrize("order", [1, -1])
def test_what_has_no_value_in_python_has_none(f, order):
    points = [(x, n) for x in (0.5, 0.7, 0.6, 1.7, 2.5) for n in (4, 4, 1, 0, 2)][::order]
    for form in (f, grad(f)):
        compiled = staged(form)
        for x, n in points:
            assert outcome(compiled, x, n) == outcome(form, x, n)
