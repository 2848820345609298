"""Functions with rules of their own in loops and branches: the rules are written down, too."""

import functools

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import custom_derivative, custom_jvp, custom_vjp, grad, staged


@custom_vjp
def root(a):
    """The square root by Newton's iteration, whose derivative is that of the solution."""
    x = a
    while np.abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def root_forward(a):
    x = root(a)
    return x, x


def root_backward(x, g):
    """The linear equation 2 x y = g, by Richardson's iteration."""
    y, i = 0.0 * g, 0
    while i < 200:
        y = y + 0.2 * (g - 2.0 * x * y)
        i = i + 1
    return (y,)


root.defvjp(root_forward, root_backward)


@custom_jvp
def bump(x):
    return np.sin(x) * x


@bump.defjvp
def bump_rule(xs, ds):
    (x,), (d,) = xs, ds
    return bump(x), (np.sin(x) + np.cos(x) * x) * d


@custom_derivative
def cube(x):
    return x * x * x


def cube_forward(x):
    return cube(x), x


def cube_backward(x, g):
    return (3.0 * x * x * g if x > 0.5 else 3.0 * x**2 * g,)


@cube.defjvp
def cube_rule(xs, ds):
    return cube(xs[0]), 3.0 * xs[0] ** 2 * ds[0]


cube.defvjp(cube_forward, cube_backward)


class Model:
    rate = 0.9

    @functools.partial(custom_vjp, nondiff_argnums=(0,))
    def damped(self, x):
        return self.rate * np.sin(x)


def damped_forward(self, x):
    return self.damped(x), np.cos(x)


def damped_backward(self, cosine, g):
    return (self.rate * cosine * g,)


Model.damped.defvjp(damped_forward, damped_backward)


def roots(x, n):
    i = 0
    while i < n:
        x = root(x + 1.0)
        i = i + 1
    return x


def bumps_in_a_branch(x, n):
    i = 0
    while i < n:
        x = bump(x) if x > 0.3 else x + 0.5
        i = i + 1
    return x


def cubes(x, n):
    for _ in range(n):
        x = cube(0.9 * x) + 0.1
    return x


def of_a_method(x, n):
    model = Model()
    for _ in range(n):
        x = model.damped(x) + 0.2
    return x


def with_rules_made_in_the_function(x, n):
    rate = 0.7 * x

    @custom_vjp
    def scaled(y):
        return y * rate

    def forward(y):
        return y * rate, rate

    def backward(rate, g):
        return (rate * g,)

    scaled.defvjp(forward, backward)
    for _ in range(n):
        x = np.sin(scaled(x))
    return x


MODES = {
    "value": lambda f: f,
    "reverse": grad,
    "reverse in reverse": lambda f: grad(grad(f)),
    "forward": lambda f: lambda x, n: sr.jvp(lambda x: f(x, n), (x,), (1.5,))[1],
    "forward in reverse": lambda f: lambda x, n: sr.hvp(lambda x: f(x, n), (x,), (1.5,)),
}
PROGRAMS = [roots, bumps_in_a_branch, cubes, of_a_method]


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_rules_in_loops_and_branches_are_written_down(program, mode):
    f = MODES[mode](program)
    g = staged(f)
    points = [(0.7, 3), (0.2, 5), (1.3, 1), (0.7, 4)]
    for x, n in (*points, *points):
        np.testing.assert_allclose(g(x, n), f(x, n), rtol=1e-10)
    assert len(g.sources) == 1


def test_rules_that_are_made_in_the_function_are_right():
    f = grad(with_rules_made_in_the_function)
    g = staged(f)
    for n in (2, 3, 5, 2):
        assert g(0.7, n) == pytest.approx(f(0.7, n), rel=1e-12)


def test_a_rule_that_acts_is_asked():
    seen = []

    @custom_vjp
    def noted(x):
        return x * x

    def forward(x):
        seen.append("forward")
        return x * x, x

    def backward(x, g):
        return (2.0 * x * g,)

    noted.defvjp(forward, backward)

    def f(x, n):
        i = 0
        while i < n:
            x = noted(x)
            i = i + 1
        return x

    g = staged(grad(f))
    with pytest.warns(match="as it is for now, as it changes 'seen'"):
        found = [g(0.9, n) for n in (1, 2, 3, 2)]
    np.testing.assert_allclose(found, [2.0**n * 0.9 ** (2.0**n - 1) for n in (1, 2, 3, 2)])
    for n in (1, 2, 3, 2):
        seen.clear()
        assert g(0.9, n) == grad(f)(0.9, n)
        assert seen == ["forward"] * (2 * n)


RATE = 2.0


def test_what_a_rule_reads_and_a_rule_itself_may_change(monkeypatch):
    @custom_vjp
    def square(x):
        return x * x

    def forward(x):
        return x * x, x

    def by_rate(x, g):
        return (RATE * x * g,)

    def by_seven(x, g):
        return (7.0 * x * g,)

    square.defvjp(forward, by_rate)
    model = Model()

    def f(x, n):
        i = 0
        while i < n:
            x = square(x) + model.damped(x)
            i = i + 1
        return x

    g = staged(grad(f))

    def check():
        for n in (1, 3, 2, 1):
            assert g(0.4, n) == pytest.approx(grad(f)(0.4, n), rel=1e-12)

    check()
    monkeypatch.setattr(f"{__name__}.RATE", 3.0)
    check()
    square.defvjp(forward, by_seven)
    check()
    model.rate = 0.1
    check()
    model = Model()
    check()
    monkeypatch.setattr(Model, "rate", 0.2)
    check()
    assert not g.report().startswith("staged(grad(f)) runs as it is")
