"""Random programs that write to a small array of their own, of any dtype, and read it in all kinds of ways."""

import itertools
import linecache
import random

import numpy as np
import pytest

from shiftreset_ad import grad, staged, value

MADE = [
    "np.zeros(5, {d})",
    "np.ones(5, {d})",
    "np.arange(5).astype({d})",
    "np.full(5, 2, {d})",
    "np.zeros((5, 2), {d})[:, 0]",
]
DTYPES = ["int", "np.int32", "np.uint8", "bool", "np.int8", "float", "np.float32", "complex"]
WRITES = [
    *("c[i] += 1", "c[i] = j", "c[i] = value(x) > 0", "c[i] = int(value(x)) % 3", "c[i] -= 1", "c[i] = c[i - 1]"),
    *("c[1:] += c[:-1]", "c[i] *= 2", "c[c.real > 1] = 1", "c[:2] = c[1:3]", "c |= 1", "c += 1", "c[i] ^= 1"),
    *("c[i] = not c[i]", "c[::2] = j", "c[[0, i]] = c[[i, 0]]", "c[i] = c[i] + c[j]", "c = c + 1", "c[i] //= 2"),
]
READ = [
    *(
        "np.sum(v * c.real)",
        "v[abs(int(c[i].real)) % 5]",
        "np.sum(c) * x",
        "x if c[i] else v[0]",
        "np.sum(v[c.real > 0])",
    ),
    *("sum(v[k] for k in range(int(c[i].real) % 4))", "c.real.max() * x", "np.cumsum(c)[3] * x", "c.tolist()[0] * x"),
    *("np.sum(np.where(c.real > 1, v, 0.0))", "v @ c.real", "(c == c[0]).sum() * x", "x / (abs(c[i]) + 10)"),
]
SHELLS = [
    """
    x = v[0]
    for i in range(5):
        x, j = v[i], (i * 2) % 5
        if x > 0: {one}
        else: {other}
""",
    """
    x, i, j = v[0], 0, 3
    while i < 4 and x < 3:
        x = x + abs(v[i])
        i += 1
        {one}
    {other}
""",
    """
    x, i, j = v[0], int(value(abs(v[2]))) % 5, 1
    {one}
    if v[1] > 0:
        {other}
""",
    """
    x = v[0]
    for j in range(3):
        i = int(value(abs(v[j])) * 2) % 5
        {one}
        if c[i]: {other}
""",
]
_numbers = itertools.count()


def program(rng):
    """The text of a program, and the program: the source is found for it."""
    lines = ["def f(v):", f"    c = {rng.choice(MADE).format(d=rng.choice(DTYPES))}"]
    lines.append(rng.choice(SHELLS).strip("\n").format(one=rng.choice(WRITES), other=rng.choice(WRITES)))
    lines += ["    i = int(value(abs(v[1]))) % 5", f"    return {rng.choice(READ)}"]
    text, name = "\n".join(lines) + "\n", f"<buffer {next(_numbers)}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    space = {"np": np, "value": value}
    exec(compile(text, name, "exec"), space)
    return text, space["f"]


def outcome(f, v):
    try:
        return f(v.copy())
    except Exception as error:
        return type(error)


def check(seed):
    rng = random.Random(seed)
    text, f = program(rng)
    rows = [np.random.default_rng((seed, i)).normal(size=5) * 3.0 for i in range(5)]

    def slope(v):
        return grad(lambda v: np.sum(np.sin(v)) + np.real(f(v)))(v)

    for of in (f, slope):
        g = staged(of)
        for v in (rows[0], *rows, rows[0]):
            found, wanted = outcome(g, v), outcome(of, v)
            if isinstance(wanted, type) or isinstance(found, type):
                assert found is wanted, text
            else:
                np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-9, err_msg=text)
        assert not g._calls._is_given_up, text


warnings_of_the_programs = pytest.mark.filterwarnings("ignore")


@warnings_of_the_programs
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    check(seed)


@pytest.mark.slow
@warnings_of_the_programs
@pytest.mark.parametrize("seed", range(100, 250))
def test_many_random_programs(seed):
    check(seed)
