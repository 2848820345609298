"""Engines: who runs the tasks, and brings their answers together.

An engine has one method: the sum of the answers of a task for all shards, added in pairs. For an executor of the
standard library's kind, tasks are submitted one by one, and their answers are added here as they come. Dask and Ray add
where the answers are, and the parameters go to their workers once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from dataclasses import dataclass
from inspect import signature
from typing import Any, Protocol, TypeAlias

from shiftreset_ad.executors.progress import Advance
from shiftreset_ad.executors.reduction import Pairs, added, in_groups, in_pairs
from shiftreset_ad.executors.tasks import Label, Task, carried_out

Shards: TypeAlias = Sequence[tuple[Label, Any]]  # the label of each shard, and its data


@dataclass(frozen=True)
class Limits:
    """How often a task may be tried again after its worker has died, and how many seconds a sum may take."""

    retries: int
    timeout: float | None

    def require(self, name: str) -> None:
        """Raise ValueError for what are no limits."""
        if not isinstance(self.retries, int) or self.retries < 0:
            raise ValueError(f"{name}: retries is {self.retries!r:.80}; give an integer, 0 or more")
        if self.timeout is not None and not (isinstance(self.timeout, (int, float)) and self.timeout > 0.0):
            raise ValueError(f"{name}: timeout is {self.timeout!r:.80}; give a positive number of seconds, or None")


class Engine(Protocol):
    """Who runs tasks."""

    def total(self, task: Task, f: Any, shared: Any, shards: Shards, limits: Limits, advance: Advance) -> Any:
        """The sum of the answers for all shards."""

    def close(self) -> None:
        """Stop what the engine has started."""


def engine_for(executor: Any) -> Engine:
    """The engine of an executor, of a function that makes one, of a Dask client, or of the module `ray`."""
    if isinstance(executor, Executor):
        return OfFutures(lambda: executor, is_own=False)
    if getattr(executor, "__name__", None) == "ray" and hasattr(executor, "remote"):
        return OfRay(executor)
    if hasattr(executor, "scatter") and hasattr(executor, "submit"):
        return OfDask(executor)
    if callable(executor):
        return OfFutures(executor, is_own=True)
    raise TypeError(
        f"executors: executor is {executor!r:.80}; give an executor of concurrent.futures, a function that makes "
        "one, a Client of Dask, or the module ray"
    )


class OfFutures:
    """An executor of the standard library's kind. If a function made it, another can be made when it has broken."""

    def __init__(self, make: Callable[[], Any], is_own: bool) -> None:
        self._make, self._is_own = make, is_own
        self._executor: Any = None

    def total(self, task: Task, f: Any, shared: Any, shards: Shards, limits: Limits, advance: Advance) -> Any:
        """The sum, tried again on a new executor for the shards that were lost with a broken one."""
        total, left, tries = Pairs(len(shards), added), dict(enumerate(shards)), 0
        while left:
            try:
                self._run(task, f, shared, left, total, limits, advance)
            except BrokenExecutor as error:
                self.close()
                tries += 1
                if not self._is_own:
                    error.add_note(
                        "executors: an executor that has lost a worker takes no more tasks; give a function that makes "
                        "an executor, such as loky.get_reusable_executor, and the lost shards are computed again"
                    )
                    raise
                if tries > limits.retries:
                    error.add_note(f"executors: workers died in {tries} tries; {len(left)} shards are left")
                    raise
        return total.answer

    def _run(
        self,
        task: Task,
        f: Any,
        shared: Any,
        left: dict[int, tuple[Label, Any]],
        total: Pairs,
        limits: Limits,
        advance: Advance,
    ) -> None:
        """Compute the shards that are left, and take away those that are done."""
        self._executor = self._executor or self._make()
        futures: dict[Future[Any], int] = {}
        try:
            for place, shard in left.items():
                futures[self._executor.submit(carried_out, *shard, task, f, shared)] = place
            for future in _completed(futures, limits.timeout):
                place = futures.pop(future)
                total.take(place, _answer(future, left[place][0]))
                del left[place]
                advance()
        except BaseException as error:
            if isinstance(error, OutOfTimeError) or not isinstance(error, Exception):  # Control-C, for example
                self._end(error)
            for future in futures:
                future.cancel()
            raise

    def _end(self, error: BaseException) -> None:
        """End the workers of an executor of our own; they would go on with what they have begun."""
        if not self._is_own:
            error.add_note(
                "executors: tasks that had begun go on until their end, as the executor is yours; give a function that "
                "makes an executor, and its workers are ended"
            )
            return
        executor, self._executor = self._executor, None
        if "kill_workers" in signature(executor.shutdown).parameters:  # loky's
            executor.shutdown(kill_workers=True)
            return
        for process in list((getattr(executor, "_processes", None) or {}).values()):
            process.kill()
        executor.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Shut the executor down, if it is of our own."""
        executor, self._executor = self._executor, None
        if self._is_own and executor is not None:
            executor.shutdown(wait=True)


class OutOfTimeError(TimeoutError):
    """A sum was not done in time; the error of a function of the user's is another."""


def _completed(futures: dict[Future[Any], int], timeout: float | None) -> Iterator[Future[Any]]:
    """The futures as they come; OutOfTimeError after so many seconds."""
    coming = as_completed(list(futures), timeout)
    while True:
        try:
            future = next(coming)
        except StopIteration:
            return
        except TimeoutError:
            raise OutOfTimeError(f"executors: the sum took more than timeout={timeout} seconds") from None
        yield future


def _answer(future: Future[Any], label: Label) -> Any:
    """The answer of a future; an error that is not the user's gets a note with the shard."""
    try:
        return future.result()
    except BrokenExecutor:
        raise
    except Exception as error:
        if "pickle" in str(error).lower() or type(error).__name__ == "PicklingError":
            error.add_note(
                f"executors: {label.name}, the function or the parameters cannot be sent to another process; define "
                "the function at the top of a module, or use an engine that pickles functions by value (loky, Dask, "
                "Ray), and give shards by a path or by a function that loads them"
            )
        raise


class OfDask:
    """A client of Dask: references of Dask are data, and the sum is a tree of tasks on the workers."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def total(self, task: Task, f: Any, shared: Any, shards: Shards, limits: Limits, advance: Advance) -> Any:
        """The sum. Dask tries a task again when its worker has died."""
        client = self._client
        sent = client.scatter([shared], broadcast=True, hash=False)[0]
        options = {"pure": False, "retries": limits.retries}
        labels, data = zip(*shards, strict=True)
        parts = client.map(carried_out, labels, data, task=task, f=f, shared=sent, **options)
        for part in parts:
            part.add_done_callback(lambda _: advance())
        whole = in_groups(parts, lambda *terms: client.submit(in_pairs, *terms, **options))
        try:
            return whole.result(timeout=limits.timeout)
        except BaseException:
            client.cancel([whole, *parts], force=True)
            raise

    def close(self) -> None:
        """The client is the user's."""


class OfRay:
    """Ray: references of Ray are data, and the sum is a tree of tasks on the workers."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray

    def total(self, task: Task, f: Any, shared: Any, shards: Shards, limits: Limits, advance: Advance) -> Any:
        """The sum. Ray tries a task again when its worker has died."""
        ray = self._ray
        run = ray.remote(max_retries=limits.retries)(carried_out)
        add = ray.remote(max_retries=limits.retries)(in_pairs)
        sent = ray.put(shared)
        parts = [run.remote(*shard, task, f, sent) for shard in shards]
        for part in parts:
            part.future().add_done_callback(lambda _: advance())
        whole = in_groups(parts, add.remote)
        try:
            return ray.get(whole, timeout=limits.timeout)
        except BaseException as error:
            for part in parts:
                ray.cancel(part, force=True)
            raise getattr(error, "cause", None) or error from None

    def close(self) -> None:
        """Ray is the user's."""
