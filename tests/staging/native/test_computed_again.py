"""A visit of a round computes again what is cheap, and the frame of the round keeps the rest."""

import math
import random
import re

import numpy as np
import pytest

from shiftreset_ad import grad, hessian, jacfwd, staged
from tests.staging.front.agreement import agree, by_numpy, ids
from tests.staging.native.natively import needs_native

pytestmark = needs_native
POINTS = ((0.7, 3), (0.6, 5), (0.4, 0), (0.9, 2))


def frames(f, *args):
    """The bytes of the frames of a gradient, with their two links."""
    compiled = staged(grad(f))
    for _ in range(2):
        compiled(*args)
    (text,) = compiled.llvm
    return sorted(int(size) for size in re.findall(r"call ptr @new_chunk\(ptr %frame, i64 (\d+)\)", text))


def oscillator(mu, n):
    y, v, h = 1.5, 0.75, 0.01
    for _ in range(n):
        a = mu * (1.0 - y * y) * v - y
        v_2, y_2 = v + h / 2 * a, y + h / 2 * v
        a_2 = mu * (1.0 - y_2 * y_2) * v_2 - y_2
        v_3, y_3 = v + h / 2 * a_2, y + h / 2 * v_2
        a_3 = mu * (1.0 - y_3 * y_3) * v_3 - y_3
        y, v = y + h * v_3, v + h * a_3
    return y * y + v


def with_few_values(x, n):
    y = x
    for _ in range(n):
        y = y * y * 0.5 + x
    return y


def with_other_steps(x, n):
    """Quotients and sines are kept, and what is made of them is computed again."""
    y, z = x, 1.0
    for _ in range(n):
        a = y * z + x
        b = np.sin(a) * y
        c = b * a - z
        d = c / (b * b + 1.0)
        e = d * c + a * b
        y, z = y + 0.1 * e * d, z - 0.1 * e * c
    return y * z


def with_branches(x, n):
    y, z = x, 0.5
    for k in range(n):
        a = y * z * x
        b = a * y - z
        c = b * a * b + x
        if c > 0.7 and k > 0:
            y = y - c * b * 0.1
        else:
            z = z + c * a * 0.1
        y = y + a * b * c * 0.01
    return y * z


def with_loops_in_loops(x, n):
    y = x
    for k in range(n):
        a = y * x + 0.1
        b = a * a - y
        c = b * a
        z = c * b * 0.1
        while abs(z) < 1.0 and z * k < 0.8:
            d = z * b + a
            e = d * c * d
            z = z + 0.3 + 0.01 * e * d * d * e
        y = y + 0.01 * c * b * z
    return y


def with_integers(x, n):
    y, k = x, 1
    for i in range(n):
        k = (k * 3 + i) % 7
        a = y * k
        b = a * y - x
        c = b * a + b
        y = y + 0.01 * c * b * a
    return y + k


def that_ends_by_a_jump(x, n):
    y = x
    for k in range(n):
        a = y * x
        b = a * a + y
        c = b * a - y
        d = c * b
        if d > 3.0:
            return y * d * k
        y = y + 0.05 * d * c * b
    return y


def with_values_from_outside(x, n):
    p, q = x * x, math.pi * x
    y = x
    for _ in range(n):
        a = p * y - q
        b = a * q + y * p
        c = b * a * p
        d = c * b - a
        y = y + 1e-3 * d * c * q
    return y * p


def with_overflow(x, n):
    y = x
    for _ in range(n):
        a = y * y * 1e90
        b = a * y * 1e90
        c = b * a
        d = c * b - a
        y = y + 1e-300 * (d * c)
    return y


PROGRAMS = (
    *(oscillator, with_few_values, with_other_steps, with_branches, with_loops_in_loops, with_integers),
    *(that_ends_by_a_jump, with_values_from_outside),
)
MODES = {
    "grad": grad,
    "twice": lambda f: grad(grad(f)),
    "forward over it": lambda f: jacfwd(grad(f)),
    "hessian": hessian,
}


def require_bits(f, mode, monkeypatch, points=POINTS, **options):
    compiled = staged(mode(f), **options)
    for x, n in points:
        assert compiled(x, n) == pytest.approx(mode(f)(x, n), rel=1e-10, abs=1e-12)
    assert len(compiled.sources) <= 2
    natively = [compiled(x, n) for x, n in points]
    by_numpy(monkeypatch)
    in_steps = agree(mode(f), points[:3])
    assert [in_steps(x, n) for x, n in points] == natively


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", PROGRAMS, **ids)
def test_the_bits_are_those_of_the_steps(f, mode, monkeypatch):
    require_bits(f, MODES[mode], monkeypatch)


@pytest.mark.parametrize("f", [oscillator, with_other_steps, with_loops_in_loops], **ids)
def test_with_a_limit_of_memory(f, monkeypatch):
    require_bits(f, grad, monkeypatch, memory_limit=600)


def test_what_the_frames_keep():
    assert frames(oscillator, 0.5, 9) == [16, 16 + 2 * 8]  # the head, and two numbers of each round
    assert max(frames(with_other_steps, 0.5, 9)) < 16 + 10 * 8


def test_few_values_are_kept_as_they_are():
    (_, size) = frames(with_few_values, 0.5, 9)
    assert size <= 16 + 2 * 8


def test_infinite_values():
    compiled = staged(grad(with_overflow))
    for x, n in ((1e10, 3), (0.5, 2), (1e10, 2)):
        assert np.array_equal(compiled(x, n), grad(with_overflow)(x, n), equal_nan=True)


@pytest.mark.slow_but_every(4)
@pytest.mark.parametrize("seed", range(16))
def test_random_rounds(seed, tmp_path, monkeypatch):
    """Straight rounds of random sums, products and other steps."""
    rng = random.Random(seed)
    names, lines = ["x", "y", "z"], []
    for k in range(rng.randint(4, 14)):
        a, b = rng.choice(names), rng.choice(names)
        forms = (
            f"{a} * {b}",
            f"{a} + {b}",
            f"{a} - {b}",
            f"-{a}",
            f"0.5 * {a}",
            f"{a} / (1.0 + {b} * {b})",
            f"np.tanh({a})",
        )
        lines.append(f"        v{k} = {rng.choices(forms, (6, 3, 3, 1, 2, 1, 1))[0]}")
        names.append(f"v{k}")
    last = names[-1]
    text = "\n".join(
        [
            *("import numpy as np", "", "def f(x, n):", "    y, z = x, 0.7 * x", "    for _ in range(n):", *lines),
            f"        y, z = np.tanh(y + 0.1 * {last}), np.tanh(z - 0.1 * {rng.choice(names)} * {last})",
            "    return y * z + y",
        ]
    )
    path = tmp_path / f"rounds_{seed}.py"
    path.write_text(text + "\n")
    space: dict = {}
    exec(compile(text + "\n", str(path), "exec"), space)
    for mode in (grad, lambda f: grad(grad(f))):
        with monkeypatch.context() as patch:
            require_bits(space["f"], mode, patch, POINTS[:3])
