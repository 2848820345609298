"""Looking changes nothing: each function of NumPy with a derivative, with a handler that looks at everything."""

import numpy as np
import optree
import pytest

from shiftreset_ad import Handler, grad, handling, hessian, jvp, trace
from tests.docs import examples_of_numpy

TABLE = examples_of_numpy()
EXAMPLES = {name: example for name, example in TABLE.EXAMPLES.items() if TABLE.points_of(example)}

pytestmark = pytest.mark.filterwarnings("ignore")


class Looking(Handler):
    """Asks for all that a step has, at all times."""

    def look(self, step):
        _ = repr(step), step.value, step.shape, step.operands, step.adjoint, step.adjoints_of_operands

    def there(self, step):
        self.look(step)

    def back(self, step, resume):
        self.look(step)
        resume()
        self.look(step)


def total(y):
    """The sum of all numbers in a structure."""
    numbers = [leaf for leaf in optree.tree_leaves(y) if hasattr(leaf, "dtype") or isinstance(leaf, (float, complex))]
    return sum(np.sum(np.real(number)) for number in numbers)


def derivatives(f, args):
    """Calls of derivatives of all modes."""
    every = tuple(range(len(args)))
    gradient = grad(lambda *xs: total(f(*xs)), every)
    return {
        "grad": lambda: gradient(*args),
        "grad of grad": lambda: grad(lambda *xs: total(gradient(*xs)), every)(*args),
        "hessian": lambda: hessian(lambda x: total(f(x, *args[1:])))(args[0]),
        "jvp": lambda: jvp(f, args, tuple(np.ones_like(x) if np.ndim(x) else 1.0 for x in args)),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_looking_changes_no_derivative_of_any_function(name):
    example = EXAMPLES[name]
    args = tuple(TABLE.POINTS[point] for point in TABLE.points_of(example))
    for mode, derivative in derivatives(example, args).items():
        try:
            expected = derivative()
        except Exception:  # without this derivative, at these points
            continue
        with handling(Looking()):
            found = derivative()
        for a, b in zip(optree.tree_leaves(found), optree.tree_leaves(expected), strict=True):
            np.testing.assert_array_equal(a, b, err_msg=mode)
        steps = trace(derivative)
        assert len(str(steps).splitlines()) == len(steps) + 1
        assert steps._repr_html_().count("<tr") == len(steps) + 1
        assert steps.there_and_back_again.svg().endswith("</svg>")
        assert steps.graph.dot.startswith("digraph")
