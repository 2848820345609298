"""`staged` writes the control of plain Python down: one record serves all trip counts and branches."""

import math
import random
import warnings

import numpy as np
import pytest

from shiftreset_ad import grad, hessian, jacobian, jvp, staged, value_and_grad
from shiftreset_ad.staging import StagingWarning
from tests.staging.front.random_programs import Programs, function_from


def newton(a):
    x = a
    while abs(x * x - a) > 1e-12 * a:
        x = (x + a / x) / 2
    return x


def newton_with_break(a):
    x = a
    for _ in range(100):
        better = (x + a / x) / 2
        if abs(better - x) < 1e-12 * a:
            break
        x = better
    return x


def newton_with_return(a):
    x = a
    while True:
        better = (x + a / x) / 2
        if abs(better - x) < 1e-12 * a:
            return better
        x = better


def bisection(a):
    low, high = 0.0, 1.0 + a
    while high - low > 1e-9:
        middle = (low + high) / 2
        if middle * middle > a:
            high = middle
        else:
            low = middle
    return low * a


def adaptive_steps(x):
    t, h, y = 0.0, 0.1, x
    while t < 1.0:
        after = y - h * y
        if abs(after - y) > 0.05:
            h = h / 2
            continue
        y = after
        t += h
        h = h * 1.1 if h < 0.2 else h
    return y


def line_search(x):
    slope, step = 2 * x, 1.0
    while (x - step * slope) ** 2 > x * x - 0.3 * step * slope * slope and step > 1e-6:
        step *= 0.5
    return (x - step * slope) ** 2 + step * x


def piecewise(x):
    if x < 1:
        return x * x
    if 1 <= x < 10 and not x < 2:
        y = math.pi * x
    else:
        y = x - 1
    return y * y if y > 3 or x > 50 else -y


SCALAR = [newton, newton_with_break, newton_with_return, bisection, adaptive_steps, line_search, piecewise]


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("f", SCALAR, ids=lambda f: f.__name__)
@pytest.mark.parametrize("operator", [lambda f: f, grad, lambda f: grad(grad(f)), value_and_grad], ids=range(4))
def test_one_record_serves_all_arguments(f, operator):
    rng = random.Random(1)
    g, expected = staged(operator(f)), operator(f)
    for _ in range(60):
        x = rng.uniform(0.1, 30.0)
        np.testing.assert_allclose(g(x), expected(x), rtol=1e-9, atol=1e-12)
    assert len(g.sources) == 1
    assert "while" in g.sources[0] or f is piecewise


def test_trip_counts_from_1_to_1000_are_one_record():
    def power(x, n):
        y = 1.0
        for _ in range(n):
            y = y * x
        return y

    g, rng = staged(grad(power)), random.Random(2)
    for _ in range(40):
        x, n = rng.uniform(0.99, 1.01), rng.randint(1, 1000)
        np.testing.assert_allclose(g(x, n), n * x ** (n - 1), rtol=1e-9)
    assert len(g.sources) == 1


def test_each_element_takes_its_branch():
    def loss(xs):
        total = 0.0
        for x in xs:
            if x > 0:
                total += x * x
            elif x > -0.5:
                total -= x
            else:
                total += math.e * x
        return total

    rng = np.random.default_rng(0)
    g, h = staged(grad(loss)), staged(hessian(loss))
    for _ in range(30):
        xs = rng.normal(size=4)
        np.testing.assert_allclose(g(xs), grad(loss)(xs))
        np.testing.assert_allclose(h(xs), hessian(loss)(xs))
    assert len(g.sources) == 1


def test_the_first_item_that_is_large_enough():
    def first(xs, y):
        for x in xs:
            if x > y:
                return x * y
        return y * y

    def first_by_index(xs, y):
        for i in range(4):
            if xs[i] > y:
                return xs[i] * y
        return i * y

    rng = np.random.default_rng(0)
    for f in (first, first_by_index):
        g = staged(grad(f, (0, 1)))
        for _ in range(30):
            xs, y = rng.normal(size=4), float(rng.normal())
            np.testing.assert_allclose(np.hstack(g(xs, y)), np.hstack(grad(f, (0, 1))(xs, y)))


def test_functions_and_methods_that_are_called_are_written_down():
    class Ramp:
        def __init__(self, knee):
            self.knee = knee

        def __call__(self, x):
            return self.knee * x if x > self.knee else x / self.knee

    def settle(f, x):
        while x > 1.0:
            x = f(x) / 4
        return x

    ramp = Ramp(2.0)
    g, expected = staged(grad(lambda x: settle(ramp, x))), grad(lambda x: settle(ramp, x))
    for x in (0.5, 3.0, 40.0, 7.0, 900.0, 2.5):
        np.testing.assert_allclose(g(x), expected(x))
    assert len(g.sources) == 1


def test_in_every_mode():
    def f(x):
        y = x
        while np.sum(y * y) > 1.0:
            y = np.where(y > 0, y / 2, y / 3)
        return np.sum(y * x)

    def along_ones(f):
        return lambda x: jvp(f, (x,), (np.ones(3),))

    rng = np.random.default_rng(3)
    for operator in (grad, hessian, jacobian, along_ones):
        g, expected = staged(operator(f)), operator(f)
        for _ in range(10):
            x = rng.normal(size=3) * 10
            for answer, wanted in zip(tuple(g(x)), tuple(expected(x)), strict=True):
                np.testing.assert_allclose(answer, wanted)
        assert len(g.sources) == 1


def test_effects_in_a_loop_happen_in_each_round():
    def f(x):
        kept = []
        while x > 1:
            kept.append(x)
            x = x / 2
        return sum(kept, x)

    g = staged(grad(f))
    for x in (5.0, 6.0, 20.0, 7.0, 0.5):
        assert g(x) == grad(f)(x)
    assert len(g.sources) == 1


def check_derivatives(seed):
    """A random program and its gradient, staged and as they are."""
    rng = random.Random(seed)
    f = function_from(text := Programs(rng, is_pure=True).text())

    def loss(*args):
        answer = f(*args, [1.0, 2.5, -1.0])
        return answer if not isinstance(answer, tuple) else sum(answer[1:], answer[0])

    operators = [
        lambda f: f,
        lambda f: grad(f, (0, 1, 2, 3)),
        lambda f: grad(lambda *x: sum(grad(f, (0, 1))(*x)), (2, 3)),
    ]
    for operator in operators:
        g, expected = staged(operator(loss)), operator(loss)
        for _ in range(6):
            args = [*[rng.uniform(-5, 60) for _ in range(4)], rng.randint(0, 5)]
            try:
                wanted = expected(*args)
            except Exception:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", StagingWarning)
                answer = g(*args)
            assert (answer is None) == (wanted is None), text
            if wanted is not None:
                np.testing.assert_allclose(answer, wanted, rtol=1e-7, atol=1e-7, err_msg=f"{args}\n{text}")


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize("first", range(20, 40, 10))
def test_random_programs_have_the_derivatives_of_python(first):
    for seed in range(first, first + 10):
        check_derivatives(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", [1000, 1020])
def test_many_random_programs_have_the_derivatives_of_python(first):
    for seed in range(first, first + 10):
        check_derivatives(seed)


def a_list_with_two_names(x):
    a = b = [x, 1.0]
    if x > 1.0:
        b = [x * 2.0, 3.0]
    a[0] = 5.0
    return a[0] * x + b[0]


def a_dict_with_two_names(x):
    a = {"p": x}
    b = a if x < 1.0 else {"p": x * 2.0}
    b["p"] = 7.0
    return a["p"] * x


def a_list_that_a_loop_may_leave_alone(x):
    a = b = [x]
    while b[0] > 1.0:
        b = [b[0] / 2.0]
    a.append(3.0)
    return sum(b)


def helped(a, x):
    if x > 1.0:
        return [x * x]
    return a


def a_list_that_a_call_may_hand_back(x):
    a = [x]
    b = helped(a, x)
    b[0] = 2.0 * x
    return a[0]


@pytest.mark.parametrize("points", [(0.5, 0.5, 3.0, 0.7), (3.0, 3.0, 0.5, 5.0)])
@pytest.mark.parametrize(
    "f",
    [
        a_list_with_two_names,
        a_dict_with_two_names,
        a_list_that_a_loop_may_leave_alone,
        a_list_that_a_call_may_hand_back,
    ],
)
def test_a_list_or_a_dict_with_two_names_is_one(f, points):
    for operator in (grad, lambda f: f):
        g = staged(operator(f))
        assert [g(x) for x in points] == [operator(f)(x) for x in points]
