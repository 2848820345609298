"""`vmap` over tensors of PyTorch: all rows at once, and the answers are those of `torch.func.vmap` and of a loop."""

import warnings

import numpy as np
import pytest

from shiftreset_ad import StagingWarning, grad, hessian, hvp, jvp, staged, stop_gradient, vmap

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
    pytest.mark.filterwarnings("ignore:.*torch.jit.script.*"),
]
RNG = np.random.default_rng(0)
X, W = torch.tensor(RNG.normal(size=(5, 3))), torch.tensor(RNG.normal(size=3))
MATRICES = torch.tensor(RNG.normal(size=(5, 3, 3)) + 3.0 * np.eye(3))


def loss(w, x):
    return np.sum(np.tanh(w * x)) ** 2 + w @ x


def in_torch(w, x):
    return torch.sum(torch.tanh(w * x)) ** 2 + w @ x


def require_close(found, expected):
    assert type(found) is torch.Tensor
    assert found.dtype == expected.dtype
    torch.testing.assert_close(found, expected)


of_torch = torch.func
# By `vmap` on tensors, and by PyTorch
PROGRAMS = {
    "values": (lambda: vmap(loss, (None, 0))(W, X), lambda: of_torch.vmap(in_torch, (None, 0))(W, X)),
    "PyTorch's functions": (lambda: vmap(in_torch, (None, 0))(W, X), lambda: of_torch.vmap(in_torch, (None, 0))(W, X)),
    "gradients": (
        lambda: vmap(grad(loss), (None, 0))(W, X),
        lambda: of_torch.vmap(of_torch.grad(in_torch), (None, 0))(W, X),
    ),
    "gradients of PyTorch's functions": (
        lambda: vmap(grad(in_torch), (None, 0))(W, X),
        lambda: of_torch.vmap(of_torch.grad(in_torch), (None, 0))(W, X),
    ),
    "hessians": (
        lambda: vmap(hessian(loss), (None, 0))(W, X),
        lambda: of_torch.vmap(of_torch.hessian(in_torch), (None, 0))(W, X),
    ),
    "gradient around": (
        lambda: grad(lambda w: np.sum(vmap(loss, (None, 0))(w, X)))(W),
        lambda: of_torch.grad(lambda w: torch.sum(of_torch.vmap(in_torch, (None, 0))(w, X)))(W),
    ),
    "gradient in the rows": (
        lambda: grad(lambda x: np.sum(vmap(loss, (None, 0))(W, x)))(X),
        lambda: of_torch.grad(lambda x: torch.sum(of_torch.vmap(in_torch, (None, 0))(W, x)))(X),
    ),
    "jvp around gradients": (
        lambda: jvp(lambda w: vmap(grad(loss), (None, 0))(w, X), (W,), (W,))[1],
        lambda: of_torch.jvp(lambda w: of_torch.vmap(of_torch.grad(in_torch), (None, 0))(w, X), (W,), (W,))[1],
    ),
    "hvp around": (
        lambda: hvp(lambda w: np.sum(vmap(loss, (None, 0))(w, X)), (W,), (W,)),
        lambda: of_torch.hessian(lambda w: torch.sum(of_torch.vmap(in_torch, (None, 0))(w, X)))(W) @ W,
    ),
    "other axes": (lambda: vmap(lambda x: np.cumsum(x), 1, 1)(X), lambda: torch.cumsum(X, 0)),
    "float32": (
        lambda: vmap(lambda x: (x * 2.0 + 1) @ x)(X.float()),
        lambda: of_torch.vmap(lambda x: (x * 2.0 + 1) @ x)(X.float()),
    ),
    "items": (lambda: vmap(lambda x: x[0] * x[1:])(X), lambda: X[:, :1] * X[:, 1:]),
    "equations": (
        lambda: vmap(lambda a, x: np.linalg.solve(a, x))(MATRICES, X),
        lambda: of_torch.vmap(torch.linalg.solve)(MATRICES, X),
    ),
    "rows that take another branch": (
        lambda: vmap(lambda x: np.sum(x) if np.sum(x) > 0 else -2.0 * np.sum(x * x))(X),
        lambda: torch.stack([x.sum() if x.sum() > 0 else -2.0 * (x * x).sum() for x in X]),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.usefixtures("at_once")
def test_all_rows_at_once_answer_as_those_of_pytorch(name):
    found, expected = PROGRAMS[name]
    for _ in range(3):
        require_close(found(), expected())


@pytest.mark.usefixtures("at_once")
def test_tensors_that_a_function_closes_over_are_shared_by_all_rows():
    def values(w, x):
        return vmap(lambda x: loss(w, x))(x)

    def pairs(x):
        return vmap(lambda a: vmap(lambda b: np.sum((a - b) ** 2))(x))(x)

    require_close(values(W, X), of_torch.vmap(in_torch, (None, 0))(W, X))
    require_close(values(2.0 * W, X), of_torch.vmap(in_torch, (None, 0))(2.0 * W, X))
    require_close(pairs(X), torch.sum((X[:, None] - X) ** 2, -1))
    gradient = grad(lambda w: np.sum(values(w, X)))(W)
    require_close(gradient, of_torch.grad(lambda w: torch.sum(of_torch.vmap(in_torch, (None, 0))(w, X)))(W))


@pytest.mark.usefixtures("at_once")
def test_a_program_serves_tensors_and_arrays():
    f = vmap(grad(loss), (None, 0))
    expected = of_torch.vmap(of_torch.grad(in_torch), (None, 0))(W, X)
    for _ in range(2):
        require_close(f(W, X), expected)
        np.testing.assert_allclose(f(W.numpy(), X.numpy()), expected.numpy())
    assert "in 1 way" in f.report()


def test_answers_share_no_memory_with_arguments_and_each_other():
    x = X.clone()
    found = vmap(lambda x: (x, x[::2], x[1:], np.broadcast_to(x[0], (2,)), *(2.0 * x,) * 2))(x)
    for k, leaf in enumerate(found):
        leaf[...] = k
    assert torch.equal(x, X)
    assert [leaf.ravel()[0].item() for leaf in found] == list(range(6))


def test_what_has_no_way_on_tensors_goes_row_by_row():
    def f(x):
        y = x * 1.0
        return np.sum(y[y > 0.0])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StagingWarning)
        require_close(vmap(f)(X), torch.stack([torch.sum(x[x > 0.0]) for x in X]))


def test_constants_stay_constants_in_a_derivative_around():
    found = grad(lambda x: np.sum(vmap(lambda x: x * stop_gradient(x))(x)))(X[:, 0])
    require_close(found, X[:, 0])


def test_draws_of_pytorch_differ_from_row_to_row():
    with pytest.warns(StagingWarning):
        found = vmap(lambda x: x + torch.rand(()).item())(torch.zeros(4))
    assert len(set(found.tolist())) == 4


def test_a_staged_function_of_tensors_runs_as_it_is():
    f = staged(lambda x: vmap(grad(loss), (None, 0))(W, x))
    require_close(f(X), of_torch.vmap(of_torch.grad(in_torch), (None, 0))(W, X))


def test_a_program_of_arrays_is_compared_before_it_serves_tensors():
    f = vmap(lambda x: 3.0 * x if isinstance(x, np.ndarray) else 2.0 * x)
    np.testing.assert_array_equal(f(X.numpy()), 3.0 * X.numpy())
    with pytest.warns(StagingWarning, match="something else"):
        require_close(f(X), 2.0 * X)
    np.testing.assert_array_equal(f(X.numpy()), 3.0 * X.numpy())
