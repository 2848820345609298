"""Functions with rules that close over numbers and arrays, in every way a program can: each program by each route."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from shiftreset_ad import (
    checkpoint,
    custom_derivative,
    custom_jvp,
    custom_vjp,
    fuse,
    grad,
    hessian,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linearize,
    taylor,
    value_and_jacobian,
    vjp,
    zeros,
)

KINDS = ("vjp", "jvp", "both")
X = np.array([0.7, 1.3])
D = np.array([1.0, -0.4])
WEIGHTS = np.array([1.0, -2.0, 0.5])


def ruled(kind, f, slope, **options):
    """`f` with rules of this kind that say that its derivative is `slope`; itself for the kind "none"."""

    def rule(primals, tangents):
        return f(*primals), slope(*primals) * tangents[0]

    if kind == "none":
        return f
    decorated = {"vjp": custom_vjp, "jvp": custom_jvp, "both": custom_derivative}[kind](f, **options)
    if kind != "jvp":
        decorated.defvjp(lambda z: (f(z), z), lambda z, g: (slope(z) * g,))
    if kind != "vjp":
        decorated.defjvp(rule)
    return decorated


# Programs: of a number of two elements, with a value of three


def a_written_array(kind, x):
    c = x * 1.0
    c[0] = 5.0 * x[1]
    s = ruled(kind, lambda z: z * z * c[0], lambda z: 2.0 * z * c[0])
    y = s(x[1] * 1.0)
    c[0] = 7.0 * x[0]
    return np.stack([y, s(x[0] * x[1]), c[0] * y])


def a_variable_that_is_bound_again(kind, x):
    c, ys = x[0], []
    s = ruled(kind, lambda z: np.sin(c * z), lambda z: c * np.cos(c * z))
    for k in range(3):
        c = c * x[1] + 0.1 * k
        ys.append(s(x[0] + x[1]))
    return np.stack(ys)


def a_plain_variable_that_is_bound_again(kind, x):
    c, ys = 1.0, []
    s = ruled(kind, lambda z: np.sin(c * z), lambda z: c * np.cos(c * z))
    for k in range(3):
        c = 1.0 + k
        ys.append(s(x[0] * x[1]))
    return np.stack(ys)


def a_plain_array_that_is_written_to(kind, x):
    c, ys = np.zeros(2), []
    s = ruled(kind, lambda z: z * z * c[0] + c[1], lambda z: 2.0 * z * c[0])
    for k in range(3):
        c[:] = k + 1.0
        ys.append(s(x[0] * x[1]))
    return np.stack(ys)


def a_large_plain_array_that_is_written_to(kind, x):
    c, ys = np.zeros(5000), []
    s = ruled(kind, lambda z: z * z * c[0] + c[1], lambda z: 2.0 * z * c[0])
    for k in range(3):
        c[:] = k + 1.0
        ys.append(s(x[0] * x[1]))
    return np.stack(ys)


def a_structure(kind, x):
    c = {"a": [x[0] * x[1], 3], "b": (x * x, "name")}
    s = ruled(kind, lambda z: z * z * c["a"][0] * c["b"][0][1], lambda z: 2.0 * z * c["a"][0] * c["b"][0][1])
    return s(x[0] * np.array([1.0, 2.0, 3.0]))


def a_partial(kind, x):
    c = x * 1.0
    c[1] = x[0] * x[1]
    s = ruled(
        kind,
        partial(lambda a, z: z * z * a[1], c),
        partial(lambda z, factor: 2.0 * z * factor[1], factor=c),
    )
    y = s(x[0] * np.array([1.0, 2.0, 3.0]))
    c[1] = 0.0
    return y + c[1]


def a_default(kind, x):
    c = x[1] ** 2
    s = ruled(kind, lambda z, *, c=c: z * z * c, lambda z, c=c: 2.0 * z * c)
    return s(x[0] * np.array([1.0, 2.0, 3.0]))


def a_function(kind, x):
    c = x * 1.0
    c[0] = x[1]

    def scaled(z):
        return z * c[0]

    s = ruled(kind, lambda z: scaled(scaled(z)) * z, lambda z: 2.0 * scaled(scaled(z)))
    y = s(x[0] * np.array([1.0, 2.0, 3.0]))
    c[0] = 3.0
    return scaled(y)


def two_functions_one_in_the_other(kind, x):
    c, d = x * 1.0, x[0] + x[1]
    c[0] = x[1] * x[0]
    inner = ruled(kind, lambda z: c[0] * np.sin(z), lambda z: c[0] * np.cos(z))
    outer = ruled(kind, lambda z: inner(z) * d * z, lambda z: d * (c[0] * np.cos(z) * z + inner(z)))
    y = outer(x[1] * np.array([1.0, 2.0, 3.0]))
    c[0] = 0.0
    return y


def one_that_uses_itself(kind, x):
    c = x[1] * x[1]
    s = ruled(kind, lambda z: c * z**3, lambda z: 3.0 * t(z))
    t = ruled(kind, lambda z: c * z**2, lambda z: 2.0 * c * z)
    return s(x[0] * np.array([1.0, 2.0, 3.0]))


def in_a_checkpoint(kind, x):
    c = x * 1.0
    c[0] = 5.0 * x[1]
    s = ruled(kind, lambda z: z * z * c[0], lambda z: 2.0 * z * c[0])
    y = checkpoint(lambda z: np.sin(s(z)) * c[1])(x[0] * np.array([1.0, 2.0, 3.0]))
    c[0] = 7.0
    return y * c[0]


def around_a_checkpoint(kind, x):
    c = x * 1.0
    c[0] = 5.0 * x[1]
    inner = checkpoint(lambda z: z * z * c[0])
    s = ruled(kind, lambda z: inner(z) * c[1], lambda z: 2.0 * z * c[0] * c[1])
    y = s(x[0] * np.array([1.0, 2.0, 3.0]))
    c[0] = 7.0
    return y * c[0]


def an_argument_that_is_a_function(kind, x):
    c = x * 1.0
    c[0] = 5.0 * x[1]

    def h(z):
        return c[0] * np.sin(z)

    def slope_of_h(z):
        return c[0] * np.cos(z)

    if kind == "none":
        y = h(x[0] * np.array([1.0, 2.0, 3.0])) * x[1]
    else:
        s = {"vjp": custom_vjp, "jvp": custom_jvp, "both": custom_derivative}[kind](
            lambda hs, z, w: hs[0](z) * w, nondiff_argnums=0
        )
        if kind != "jvp":
            s.defvjp(
                lambda hs, z, w: (hs[0](z) * w, (z, w)),
                lambda hs, r, g: (hs[1](r[0]) * r[1] * g, np.sum(hs[0](r[0]) * g)),
            )
        if kind != "vjp":
            s.defjvp(lambda hs, xs, ds: (hs[0](xs[0]) * xs[1], hs[1](xs[0]) * ds[0] * xs[1] + hs[0](xs[0]) * ds[1]))
        y = s((h, slope_of_h), x[0] * np.array([1.0, 2.0, 3.0]), x[1])
    c[0] = 7.0
    return y * c[0]


def an_array_of_its_own(kind, x):
    def cubes(z):
        y = zeros(3)
        for i in range(3):
            y[i] = (i + 1) * z[0] * z[1] ** 2 * c[0]
        return y

    c = x * 1.0
    c[0] = x[0] * x[1]
    if kind == "none":
        y = cubes(x)
    else:
        s = {"vjp": custom_vjp, "jvp": custom_jvp, "both": custom_derivative}[kind](cubes)

        def slope(z, direction):
            y = zeros(3)
            for i in range(3):
                y[i] = (i + 1) * c[0] * (direction[0] * z[1] ** 2 + 2.0 * z[0] * z[1] * direction[1])
            return y

        def bwd(z, g):
            z_bar = zeros(2)
            for i in range(3):
                z_bar[0] += (i + 1) * c[0] * z[1] ** 2 * g[i]
                z_bar[1] += (i + 1) * c[0] * 2.0 * z[0] * z[1] * g[i]
            return (z_bar,)

        if kind != "jvp":
            s.defvjp(lambda z: (cubes(z), z), bwd)
        if kind != "vjp":
            s.defjvp(lambda xs, ds: (cubes(*xs), slope(xs[0], ds[0])))
        y = s(x * 1.0)
    c[0] = 3.0
    return y * c[0]


def a_closed_over_number_alone(kind, x):
    s = ruled(kind, lambda z: x[0] * x[1] * z, lambda z: x[0] * x[1])
    return s(np.array([1.0, 2.0, 3.0]))


def what_it_closes_over_is_returned(kind, x):
    c = np.concatenate([x, x[:1] * x[1]])
    s = ruled(kind, lambda z: c, lambda z: 0.0 * z)
    return s(x[0] * np.ones(3)) * x[1]


def an_array_that_code_and_rules_write_to(kind, x):
    """What is closed over is written to an array that depends on the argument alone, and to the cotangent."""
    c = x[0] * x[1]

    def s(z):
        y = np.sin(z)
        y[:2] = y[1::-1] * c
        return y

    def bwd(z, g):
        z_bar = g * 1.0
        z_bar[:2] = (z_bar[:2] * c)[::-1]
        return (np.cos(z) * z_bar,)

    def rule(primals, tangents):
        (z,), (z_dot,) = primals, tangents
        y_dot = np.cos(z) * z_dot
        y_dot[:2] = y_dot[1::-1] * c
        return s(z), y_dot

    if kind != "none":
        s = {"vjp": custom_vjp, "jvp": custom_jvp, "both": custom_derivative}[kind](s)
        if kind != "jvp":
            s.defvjp(lambda z: (s(z), z), bwd)
        if kind != "vjp":
            s.defjvp(rule)
    return s(np.stack([x[0] * x[1], x[1], x[0]]))


PROGRAMS = [
    a_written_array,
    a_variable_that_is_bound_again,
    a_plain_variable_that_is_bound_again,
    a_plain_array_that_is_written_to,
    a_large_plain_array_that_is_written_to,
    a_structure,
    a_partial,
    a_default,
    a_function,
    two_functions_one_in_the_other,
    one_that_uses_itself,
    in_a_checkpoint,
    around_a_checkpoint,
    an_argument_that_is_a_function,
    an_array_of_its_own,
    an_array_that_code_and_rules_write_to,
    a_closed_over_number_alone,
    what_it_closes_over_is_returned,
]

# Routes to the Jacobian


def by_columns(push):
    return np.stack([push(d) for d in np.eye(2)], axis=-1)


def by_rows(pull):
    return np.stack([pull(row) for row in np.eye(3)])


def by_vjp(f):
    """The second way back, after a way back along something else, and after the caller has written to the argument."""
    x = X.copy()
    _, pullback = vjp(f, x)
    x[:] = 9.0
    pullback(WEIGHTS)
    return by_rows(lambda row: pullback(row)[0])


def by_linear_map(f):
    x = X.copy()
    _, pushforward = linearize(f, x)
    x[:] = 9.0
    pushforward(D)
    return by_columns(pushforward)


JACOBIANS = {
    "grad": lambda f: np.stack([grad(lambda x, i=i: f(x)[i])(X) for i in range(3)]),
    "vjp": by_vjp,
    "jvp": lambda f: by_columns(lambda d: jvp(f, (X,), (d,))[1]),
    "linearize": by_linear_map,
    "value_and_jacobian": lambda f: value_and_jacobian(f)(X)[1],
    "jacrev": lambda f: jacrev(f)(X),
    "jacfwd": lambda f: jacfwd(f)(X),
    "taylor": lambda f: by_columns(lambda d: taylor(f, X, 2, d)[1]),
    "checkpoint": lambda f: jacrev(checkpoint(f))(X),
    "jvp of a linear map": lambda f: by_columns(lambda d: jvp(linearize(f, X)[1], (D,), (d,))[1]),
    "vjp of a linear map": lambda f: by_rows(lambda row: vjp(linearize(f, X)[1], D)[1](row)[0]),
    "jvp of a pullback": lambda f: by_rows(lambda row: jvp(vjp(f, X)[1], (WEIGHTS,), (row,))[1][0]),
    "vjp of a pullback": lambda f: by_columns(lambda d: vjp(vjp(f, X)[1], WEIGHTS)[1]((d,))[0]),
    "jacobian of a pullback": lambda f: jacobian(lambda w: vjp(f, X)[1](w)[0])(WEIGHTS).T,
    "linearize of a linear map": lambda f: by_columns(linearize(linearize(f, X)[1], D)[1]),
}


def weighted(f):
    return lambda x: np.sum(WEIGHTS * f(x))


def by_polarization(curvature):
    """The matrix of a quadratic form."""
    units = np.eye(2)
    return np.array([[(curvature(a + b) - curvature(a - b)) / 4.0 for a in units] for b in units])


HESSIANS = {
    "rr": lambda f: jacrev(jacrev(weighted(f)))(X),
    "rf": lambda f: jacrev(jacfwd(weighted(f)))(X),
    "fr": lambda f: hessian(weighted(f))(X),
    "ff": lambda f: jacfwd(jacfwd(weighted(f)))(X),
    "grad of grad": lambda f: np.stack([grad(lambda x, i=i: grad(weighted(f))(x)[i])(X) for i in range(2)]),
    "jacobian of linearize": lambda f: by_columns(lambda d: grad(lambda x: linearize(weighted(f), x)[1](d))(X)),
    "jvp of vjp": lambda f: by_columns(lambda d: jvp(lambda x: vjp(f, x)[1](WEIGHTS)[0], (X,), (d,))[1]),
    "linearize of grad": lambda f: by_columns(linearize(grad(weighted(f)), X)[1]),
    "jacobian of jacobian": lambda f: np.tensordot(WEIGHTS, jacobian(jacobian(f))(X), 1),
    "checkpoint": lambda f: jacrev(grad(checkpoint(weighted(f))))(X),
    "forward over checkpoint": lambda f: jacfwd(grad(checkpoint(weighted(f))))(X),
    "forward over fuse": lambda f: jacfwd(grad(fuse(weighted(f))))(X),
    "taylor": lambda f: by_polarization(lambda d: 2.0 * taylor(weighted(f), X, 2, d)[2]),
    "grad of taylor": lambda f: by_columns(lambda d: grad(lambda x: taylor(weighted(f), x, 1, d)[1])(X)),
    "taylor of grad": lambda f: by_columns(lambda d: taylor(grad(weighted(f)), X, 1, d)[1]),
}


def finite_differences(f, x, step):
    """Of fourth order."""

    def along(d):
        near, far = (f(x + k * step * d) - f(x - k * step * d) for k in (1, 2))
        return (8.0 * near - far) / (12.0 * step)

    return by_columns(along)


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("route", JACOBIANS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_jacobian_by_each_route_is_that_of_finite_differences(program, route, kind):
    expected = finite_differences(partial(program, "none"), X, 1e-4)
    np.testing.assert_allclose(JACOBIANS[route](partial(program, kind)), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("route", HESSIANS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_second_derivatives_by_each_route_are_those_of_finite_differences(program, route, kind):
    plain = weighted(partial(program, "none"))
    expected = finite_differences(lambda x: finite_differences(plain, x, 1e-3), X, 1e-3)
    np.testing.assert_allclose(HESSIANS[route](partial(program, kind)), expected, rtol=1e-6, atol=1e-6)


# Later calls, which look at what has changed only


def test_each_of_many_calls_sees_what_has_changed_since_the_last() -> None:
    """The variable of a function that a rule calls, and the parts of a list."""
    factor, parts = 2.0, [1.0, 3.0]

    def scaled(z):
        return factor * z * parts[-1]

    f = custom_vjp(lambda z: scaled(z))
    f.defvjp(lambda z: (scaled(z), None), lambda _, g: (scaled(g),))
    assert [grad(f)(1.0) for _ in range(4)] == [6.0] * 4
    factor = 5.0
    assert [grad(f)(1.0) for _ in range(2)] == [15.0] * 2
    parts.append(7.0)
    assert grad(f)(1.0) == 35.0
    factor = np.array([1.0, 2.0])
    for _ in range(3):
        np.testing.assert_array_equal(grad(lambda x: np.sum(f(x)))(np.ones(2)), [7.0, 14.0])
    factor[0] = 3.0
    np.testing.assert_array_equal(grad(lambda x: np.sum(f(x)))(np.ones(2)), [21.0, 14.0])


def test_numbers_of_each_run_are_those_of_the_run() -> None:
    c = 1.0
    f = custom_vjp(lambda z: c * z)
    f.defvjp(lambda z: (c * z, None), lambda _, g: (c * g,))

    def h(x):
        nonlocal c
        c = x * 2.0
        y = f(x) + f(x) + f(x)
        c = x * x
        return y + f(f(f(x)))

    for x in (1.0, 3.0, 3.0):
        assert grad(h)(x) == pytest.approx(12.0 * x + 7.0 * x**6)
        assert grad(grad(h))(x) == pytest.approx(12.0 + 42.0 * x**5)
        assert jvp(h, (x,), (1.0,))[1] == pytest.approx(12.0 * x + 7.0 * x**6)


def test_rules_and_defaults_that_are_given_anew() -> None:
    c = 2.0
    inner = custom_vjp(lambda z: c * z)
    inner.defvjp(lambda z: (c * z, None), lambda _, g: (c * g,))
    f = custom_vjp(lambda z: inner(z))

    def fwd(z, scale=1.0):
        return inner(z), scale

    f.defvjp(fwd, lambda scale, g: (scale * inner(g),))
    assert [grad(f)(1.0) for _ in range(3)] == [2.0] * 3
    fwd.__defaults__ = (np.array(10.0),)
    assert grad(f)(1.0) == 20.0
    f.defvjp(lambda z: (inner(z), None), lambda _, g: (7.0 * g,))
    assert [grad(f)(1.0) for _ in range(3)] == [7.0] * 3
    inner.defjvp(lambda xs, ds: (c * xs[0], 5.0 * ds[0]))
    assert jvp(inner, (1.0,), (1.0,))[1] == 5.0


def test_a_default_that_is_an_array_from_now_on() -> None:
    """It is kept as it was at the call."""

    def scaled(z, factor=2.0):
        return factor * z

    f = custom_vjp(lambda z: scaled(z))
    f.defvjp(lambda z: (scaled(z), None), lambda _, g: (scaled(g),))

    def h(x):
        factor = np.array([3.0, 5.0])
        scaled.__defaults__ = (factor,)
        y = f(x)
        factor[:] = 0.0
        return np.sum(y)

    assert [grad(f)(1.0) for _ in range(3)] == [2.0] * 3
    np.testing.assert_array_equal(grad(h)(X), [3.0, 5.0])


def test_an_error_in_a_rule_leaves_nothing_for_the_next_call() -> None:
    c, is_broken = np.ones(2), True

    def bwd(_, g):
        nonlocal is_broken
        if is_broken:
            is_broken = False
            raise RuntimeError("once")
        return (c * g,)

    f = custom_vjp(lambda z: c * z)
    f.defvjp(lambda z: (c * z, None), bwd)
    _, pullback = vjp(f, X)
    with pytest.raises(RuntimeError, match="once"):
        pullback(D)
    for _ in range(3):
        np.testing.assert_array_equal(pullback(D)[0], D)
        np.testing.assert_array_equal(grad(lambda x: np.sum(f(x)))(X), c)
