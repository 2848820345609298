"""Steps of one kind are written by one recipe, and those of other kinds by others."""

import numpy as np
import pytest

from shiftreset_ad.staging.native import arrays
from shiftreset_ad.staging.native.llvm import Code
from shiftreset_ad.staging.native.recipes import Target, write_by_recipe
from shiftreset_ad.staging.steps.trace import Step
from tests.staging.native.natively import check, native, needs_native

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, 6, 6))


class Other(Code):
    def place(self, x):
        raise NotImplementedError

    def load(self, x):
        raise NotImplementedError


@pytest.fixture
def written(monkeypatch):
    """The functions of the steps that were written without a recipe, or for one."""
    found = []
    write = arrays._Step.write

    def noted(step):
        found.append(step.function)
        write(step)

    monkeypatch.setattr(arrays._Step, "write", noted)
    return found


def counted(written, f, *args):
    """How often steps were written for the text of a function."""
    written.clear()
    native(f, *args)
    return len(written)


@needs_native
@pytest.mark.parametrize(
    "step",
    [
        lambda x: x @ Y,
        lambda x: np.exp(np.sin(x)) @ x,
        lambda x: x + np.sum(x, axis=0),
        lambda x: x - np.var(x, axis=1),
        lambda x: np.concatenate([x[1:], x[:1]]),
        lambda x: np.tensordot(x, np.tensordot(x.T, Y, 1), 1),
    ],
)
def test_steps_of_one_kind_are_written_once(written, step):
    def f(count):
        def of(x):
            for _ in range(count):
                x = np.tanh(0.1 * step(x))
            return x

        return of

    assert counted(written, f(9), X) == counted(written, f(3), X) > 0
    check(f(9), (X,), (-X,))


@needs_native
def test_each_of_the_arrays_has_its_own_address():
    """The same array twice, in the other order, as a view, and one that the steps write to again."""

    def f(x, y):
        z = x @ y + y @ x + x @ x + y.T @ x + x[::1] @ y[:, ::-1].copy()
        for _ in range(3):
            z = (z @ y) * 0.1 + (y @ z) * 0.1
        return z, np.vdot(x, x) + np.vdot(x, y) + np.var(z)

    check(f, (X, Y), (-Y, X), (X, X))


@needs_native
@pytest.mark.parametrize(
    "f",
    [
        lambda x: (np.clip(x, -0.5, 0.5), np.clip(x, -0.25, 0.5), np.clip(x, -0.5, 0.25)),
        lambda x: (np.sum(x, axis=0), np.sum(x, axis=1), np.sum(x, axis=0, keepdims=True)),
        lambda x: (np.roll(x, 1), np.roll(x, 2), np.roll(x, 1, axis=0), np.roll(x, -1)),
        lambda x: (x[[0, 2, 1]], x[[1, 2, 0]], x[Y > 0.0], x[Y < 0.0]),
        lambda x: (np.take(x, [0, 1], axis=0), np.take(x, [1, 0], axis=0), np.take(x, [0, 1], axis=1)),
        lambda x: (np.take(x, np.array([0, 1]), axis=0), np.take(x, np.array([1, 0]), axis=0)),
        lambda x: (x @ Y, x @ Y.T, x.T @ Y, x @ Y[:, 0], Y[0] @ x),
        lambda x: (np.trace(x), np.trace(x.T), np.trace(x[:3, :3]), np.diff(x), np.diff(x, axis=0)),
        lambda x: (x + x[0, 0], np.minimum(x, x[1, 1]), np.maximum(x, x[2, 2])),
    ],
)
def test_what_differs_in_an_option_an_index_or_a_layout_is_no_step_of_one_kind(f):
    check(f, (X,), (-X,), (Y,))


def test_code_with_labels_or_variables_has_no_recipe():
    """It is written each time, with names of its own."""
    code = Other()

    def write_label(to):
        to.code.lines.append("on:")

    def write_variable(to):
        to.code.variable("double")

    def write_line(to):
        to.code.lines.append(f"  store double 1.0, ptr {to.out}")

    for write, has_recipe in ((write_label, False), (write_variable, False), (write_line, True)):
        step = Step(0, write, (), {}, None)
        for out in ("%1", "%2"):
            write_by_recipe(step, (), 1.0, Target(code, out, str, str), write)
        assert (code.loops.popitem()[1] is not None) == has_recipe
    assert code.lines == ["on:", "on:", "  store double 1.0, ptr %1", "  store double 1.0, ptr %2"]
