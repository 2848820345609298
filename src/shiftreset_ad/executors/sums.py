"""A sum, a mean, or a sum of squares over shards of data, with its derivatives, on an engine that exists."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self

from shiftreset_ad.boundary import trees
from shiftreset_ad.executors import tasks
from shiftreset_ad.executors.engines import Limits, engine_for
from shiftreset_ad.executors.progress import bar
from shiftreset_ad.executors.tasks import Label, Task
from shiftreset_ad.numbers.number import Number


class Sum:
    """The sum of `f(params, data)` over shards of data, as a function of the parameters, with its derivatives.

    `f` returns a scalar, and `params` is a float, an array or a structure. A shard is the data themselves, a path for
    `f` to read, a function without arguments that loads the data on the worker, or a reference of the engine's (a
    future of Dask, an object reference of Ray). `executor` is an executor of `concurrent.futures` (threads, processes,
    `mpi4py.futures`), a function that makes one (such as `loky.get_reusable_executor`), a `Client` of
    Dask, or the module `ray`. The terms are added in a fixed order, so the bits do not depend on the engine or on the
    number of workers.

    A shard whose worker has died is computed again, `retries` times: by Dask and Ray, and by a new executor if a
    function makes them. After `timeout` seconds, TimeoutError is raised, and the workers of executors that a function
    has made are ended; tasks that have begun on other engines go on until their end. An error of `f` is raised as it
    is, with a note of its shard and line. TypeError for numbers that are being differentiated: use the methods.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import numpy as np
    >>> with ThreadPoolExecutor(2) as executor:
    ...     Sum(lambda p, x: np.sum((x - p) ** 2), [np.zeros(2), np.ones(3)], executor).value_and_grad(0.5)
    (np.float64(1.25), -1.0)
    """

    # For the value, for the value with the gradient, and for the product with the Hessian.
    _tasks: ClassVar[tuple[Task, Task, Task]] = (tasks.value, tasks.value_and_gradient, tasks.hessian_product)

    def __init__(
        self,
        f: Callable[[Any, Any], Any],
        shards: Iterable[Any],
        executor: Any,
        *,
        retries: int = 2,
        timeout: float | None = None,
        progress: bool = False,
    ) -> None:
        self._set(f, shards, None, executor, Limits(retries, timeout), progress)

    def _set(self, f: Any, shards: Any, weights: Any, executor: Any, limits: Limits, progress: bool) -> None:
        if not callable(f):
            raise TypeError(
                f"{self._name}: f is {f!r:.80}; give a function of the parameters and of the data of a shard"
            )
        if not isinstance(shards, Iterable):
            raise TypeError(f"{self._name}: shards is {shards!r:.80}; give a list, with an entry for each shard")
        limits.require(self._name)
        shards = list(shards)
        if not shards:
            raise ValueError(f"{self._name}: shards is empty; give one shard at least")
        weights = [1.0] * len(shards) if weights is None else [float(weight) for weight in weights]
        if len(weights) != len(shards):
            raise ValueError(
                f"{self._name}: there are {len(weights)} weights for {len(shards)} shards; give one for each"
            )
        labels = [Label(number, len(shards), weight) for number, weight in enumerate(weights)]
        self._shards = list(zip(labels, shards, strict=True))
        self._f, self._limits, self._progress = f, limits, progress
        self._engine = engine_for(executor)

    @property
    def _name(self) -> str:
        return f"executors.{type(self).__name__}"

    def __call__(self, params: Any) -> Any:
        """The sum."""
        return self._total(self._tasks[0], params)

    def value_and_grad(self, params: Any) -> tuple[Any, Any]:
        """The sum, and its gradient, which has the structure of the parameters."""
        found: tuple[Any, Any] = self._total(self._tasks[1], params)
        return found

    def grad(self, params: Any) -> Any:
        """The gradient of the sum."""
        return self.value_and_grad(params)[1]

    def hvp(self, params: Any, tangents: Any) -> Any:
        """The product of the Hessian of the sum with a direction, which has the structure of the parameters."""
        return self._total(self._tasks[2], params, tangents)

    def close(self) -> None:
        """Shut an executor down that a function has made; `with` does so at its end."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _total(self, task: Task, *shared: Any) -> Any:
        if any(isinstance(leaf, Number) for leaf in trees.leaves_as_they_are(shared)):
            raise TypeError(
                f"{self._name}: the parameters are numbers that are being differentiated, and these cannot leave their "
                "process; use value_and_grad, grad or hvp of the sum, and vjp or custom_vjp around them"
            )
        with bar(self._name, len(self._shards), self._progress) as advance:
            return self._engine.total(task, self._f, shared, self._shards, self._limits, advance)


class Mean(Sum):
    """The mean of `f(params, data)` over shards; a shard counts as often as its weight says, 1 by default.

    If `f` is a mean over the rows of a shard, weights that are the numbers of rows make it the mean over all rows. The
    rest is as for `Sum`.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import numpy as np
    >>> rows = [np.ones(4), np.zeros(12)]
    >>> with ThreadPoolExecutor(2) as executor:
    ...     Mean(lambda p, x: np.mean(p * x), rows, executor, weights=map(len, rows)).value_and_grad(2.0)
    (np.float64(0.5), 0.25)
    """

    def __init__(
        self,
        f: Callable[[Any, Any], Any],
        shards: Iterable[Any],
        executor: Any,
        *,
        weights: Iterable[float] | None = None,
        retries: int = 2,
        timeout: float | None = None,
        progress: bool = False,
    ) -> None:
        self._set(f, shards, weights, executor, Limits(retries, timeout), progress)
        self._weight = sum(label.weight for label, _ in self._shards)
        if not self._weight > 0.0:
            raise ValueError(f"{self._name}: the weights add up to {self._weight}; give weights with a positive sum")

    def _total(self, task: Task, *shared: Any) -> Any:
        leaves, spec = trees.flatten(super()._total(task, *shared))
        return trees.unflatten(spec, [leaf / self._weight for leaf in leaves])


class SumOfSquares(Sum):
    """Half the sum of the squares of the residuals `f(params, data)`, an array or a structure, over all shards.

    It has one method more than `Sum`: `gauss_newton`.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import numpy as np
    >>> with ThreadPoolExecutor(2) as executor:
    ...     SumOfSquares(lambda p, x: p * x, [np.ones(2), np.ones(3)], executor).gauss_newton(0.5, 1.0)
    5.0
    """

    _tasks: ClassVar[tuple[Task, Task, Task]] = (
        tasks.half_square,
        tasks.half_square_and_gradient,
        tasks.half_square_product,
    )

    def gauss_newton(self, params: Any, tangents: Any) -> Any:
        """J^T J v, for the Jacobian J of all residuals and a direction v with the structure of the parameters."""
        return self._total(tasks.gauss_newton_product, params, tangents)
