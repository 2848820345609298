"""What is particular to PyTorch: its own functions on numbers, its own derivatives, its dtypes."""

from __future__ import annotations

import numpy as np
import pytest

import shiftreset_ad as sr

torch = pytest.importorskip("torch")
pytest.importorskip("array_api_compat")

X = torch.linspace(0.2, 0.8, 6, dtype=torch.float64).reshape(2, 3)
Y = torch.linspace(0.9, 0.3, 6, dtype=torch.float64).reshape(2, 3)


def of_torch(f, *xs):
    """The gradients by PyTorch itself."""
    leaves = [x.clone().requires_grad_() for x in xs]
    f(*leaves).sum().backward()
    return tuple(leaf.grad for leaf in leaves)


ONE = (
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "exp2", "sqrt", "square", "log", "log1p", "log2"),
    *(
        "log10",
        "reciprocal",
        "negative",
        "neg",
        "positive",
        "abs",
        "absolute",
        "asin",
        "acos",
        "atan",
        "asinh",
        "atanh",
    ),
    *("arcsin", "arctan", "deg2rad", "rad2deg", "sum", "mean", "prod", "amax", "amin"),
)
TWO = (
    *("add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "pow", "maximum", "minimum", "fmax"),
    *("fmin", "atan2", "arctan2", "hypot", "logaddexp", "logaddexp2", "copysign"),
)
PROGRAMS = {
    **{name: (lambda x, y, name=name: getattr(torch, name)(x) * y.sum()) for name in ONE},
    **{name: (lambda x, y, name=name: getattr(torch, name)(x, y)) for name in TWO},
    "matmul": lambda x, y: torch.matmul(x, y.T),
    "where": lambda x, y: torch.where(x > y, x * y, y),
    "dim": lambda x, y: torch.sum(x * y, dim=1, keepdim=True) * torch.mean(x, 0) + torch.cumsum(y, dim=0),
    "stack": lambda x, y: torch.stack([x, y], dim=1)[:, 0] * torch.cat([x, y], dim=0)[1:3],
    "outer": lambda x, y: torch.outer(x[0], y[1]),
    "constants": lambda x, y: (
        torch.mul(x, Y) + torch.mul(Y, y) + torch.where(Y > 0.5, x, 1.0) + Y * x - x / Y + Y @ y.T @ x
    ),
    "constants to the left": lambda x, y: (Y - x) * (Y**x) + (x < Y) * x + torch.ones(2, 3) / x,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_of_torch(name):
    """Where NumPy has the same function."""
    f = PROGRAMS[name]
    found = sr.grad(lambda x, y: np.sum(f(x, y)), argnums=(0, 1))(X, Y)
    for ours, theirs in zip(found, of_torch(f, X, Y), strict=True):
        assert type(ours) is torch.Tensor
        torch.testing.assert_close(ours, torch.zeros_like(ours) if theirs is None else theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        torch.erf,
        torch.relu,
        torch.sort,
        torch.std,
        lambda x: torch.transpose(x, 0, 1),
        lambda x: torch.div(x, 2.0, rounding_mode="floor"),
        lambda x: torch.sum(x, dtype=torch.float32),
        lambda x: torch.add(x, x, alpha=2),
        lambda x: torch.nn.functional.softmax(x, dim=0),
        lambda x: X.clone().add_(x),
        lambda x: X.clone().copy_(x),
    ],
)
def test_other_functions_of_torch_are_errors(call):
    with pytest.raises(TypeError, match=r"torch\.\w+.* of a number that is being differentiated: .*NumPy's functions"):
        sr.grad(call)(X)


def test_all_functions_of_torch_of_constants():
    """What is no number is a tensor to them."""

    def f(x):
        constant = torch.relu(sr.value(x) - 0.5)
        largest, _ = torch.max(torch.stack([constant, Y]), dim=0)
        return np.sum(x * largest + constant)

    torch.testing.assert_close(sr.grad(f)(X), torch.maximum(torch.relu(X - 0.5), Y))


def test_tensors_that_torch_differentiates_are_refused():
    watched = X.clone().requires_grad_()
    for call in (
        lambda: sr.grad(np.sum)(watched),
        lambda: sr.grad(lambda x: np.sum(x * watched))(X),
        lambda: sr.grad(lambda x: np.sum(np.where(x > 0, x, watched)))(X),
        lambda: sr.grad(np.sum)(torch.nn.Parameter(X)),
    ):
        with pytest.raises(TypeError, match=r"PyTorch differentiates a tensor that requires_grad.*x\.detach\(\)"):
            call()
    assert not sr.grad(lambda x: np.sum(x * watched.detach()))(X).requires_grad


def test_dtypes_that_numpy_does_not_have():
    with pytest.raises(TypeError, match=r"dtype torch\.bfloat16, which NumPy does not have"):
        sr.grad(np.sum)(X.to(torch.bfloat16))
    half = sr.grad(lambda x: np.sum(x * x))(X.to(torch.float16))
    assert half.dtype == torch.float16
    torch.testing.assert_close(half, 2 * X.to(torch.float16))


def test_complex_tensors():
    z = torch.complex(X, Y)
    found = sr.grad(lambda z: np.sum(np.abs(z * z)))(z)
    torch.testing.assert_close(found, 2 * z.conj())  # PyTorch has the conjugate of ours
    torch.testing.assert_close(sr.grad(lambda z: z**3, holomorphic=True)(z[0, 0]), 3 * z[0, 0] ** 2)


@pytest.mark.parametrize(
    "x", [X.T, X[:, ::2], X[1], torch.empty(0, 3, dtype=torch.float64), torch.tensor(0.5), X[:1].expand(4, 3)]
)
def test_tensors_however_they_lie_in_memory(x):
    found = sr.value_and_grad(lambda x: np.sum(np.sin(x) * x))(x)
    torch.testing.assert_close(found, ((x.sin() * x).sum(), x.sin() + x * x.cos()))


def test_a_layer_of_torch_as_parameters():
    """The parameters of a module, detached, in a structure; the gradient steps them."""
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 2).double()

    def loss(parameters, x, y):
        return np.mean((np.matmul(x, parameters["weight"].T) + parameters["bias"] - y) ** 2)

    x, y = X, Y[:, :2]
    parameters = {name: parameter.detach() for name, parameter in layer.named_parameters()}
    found = sr.grad(loss)(parameters, x, y)
    ((layer(x) - y) ** 2).mean().backward()
    for name, parameter in layer.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a graphics card")
def test_tensors_stay_on_their_device():
    x, v = X.cuda(), Y.cuda()

    def f(x):
        return np.sum(np.sin(x) * np.arange(3) + x[:, [0, 0, 2]] * np.max(x) + x @ np.ones((3, 3)))

    for found, expected in (
        (sr.grad(f)(x), sr.grad(f)(X)),
        (sr.hvp(f, (x,), (v,)), sr.hvp(f, (X,), (Y,))),
        (sr.jvp(f, (x,), (v,))[1], sr.jvp(f, (X,), (Y,))[1]),
        (sr.hessian(f)(x), sr.hessian(f)(X)),
        (sr.jacobian(lambda x: 2 * x)(x), sr.jacobian(lambda x: 2 * x)(X)),
    ):
        assert found.device == x.device
        torch.testing.assert_close(found.cpu(), expected)


DTYPES = ("float16", "float32", "float64", "complex64", "complex128", "int32", "int64", "uint8", "bool")
BINARY = {
    "*": lambda a, b: a * b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "/": lambda a, b: a / b,
}


@pytest.mark.parametrize("of_constant", DTYPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_values_have_the_dtype_that_pytorch_gives(dtype, of_constant):
    """Beside tensors with dimensions, scalars of Python and of NumPy, and NumPy's arrays of floating-point numbers, on
    either side and in both modes; beside a tensor without dimensions, that of tensors. The gradient keeps its own.
    """
    x = (X[0] + 0.5).to(getattr(torch, dtype))
    plain = np.ones(3, of_constant)
    tensor = torch.tensor(plain)
    cases = [(tensor, tensor), (plain[0].item(), plain[0].item()), (tensor[0], tensor)]
    cases += [(plain, tensor)] if plain.dtype.kind in "fc" else []
    cases += [(plain[0], plain[0].item())]
    for constant, for_torch in cases:
        for symbol, operate in BINARY.items():
            if (symbol, of_constant) == ("-", "bool"):  # which PyTorch refuses
                continue
            for ours, theirs in (
                (lambda x, c=constant, f=operate: f(x, c), operate(x, for_torch)),
                (lambda x, c=constant, f=operate: f(c, x), operate(for_torch, x)),
            ):
                assert sr.vjp(ours, x)[0].dtype == sr.jvp(ours, (x,), (x,))[0].dtype == theirs.dtype
                assert sr.grad(lambda x, f=ours: np.sum(np.real(f(x))))(x).dtype == x.dtype


def test_a_number_does_not_say_that_it_is_a_tensor() -> None:
    """The C code of PyTorch would believe it, and look into memory that is none of a tensor's."""

    def f(x):
        assert not isinstance(x, torch.Tensor)
        with pytest.raises((TypeError, ValueError, RuntimeError)):
            torch.tensor([x, x])
        return torch.sum(torch.sin(x))

    x = torch.linspace(0.0, 1.0, 3, dtype=torch.float64)
    torch.testing.assert_close(sr.grad(f)(x), torch.cos(x))
