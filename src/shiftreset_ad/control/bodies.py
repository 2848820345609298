"""The greenlets that programs run in, and those of them that wait for the next program.

To make a greenlet and to start it takes longer than to differentiate a short function (8 us, where to resume one takes
0.5 us). So the greenlet of a program that has ended with an answer waits for the next program.
"""

from __future__ import annotations

import atexit
import contextvars
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from greenlet import getcurrent as here
from greenlet import greenlet

from shiftreset_ad.control.messages import Outcome, Raised, Returned
from shiftreset_ad.control.prompts import Prompt

if not getattr(sys, "_is_gil_enabled", lambda: True)():
    raise ImportError(
        "shiftreset_ad needs the global interpreter lock: greenlet on a free-threaded build is experimental. "
        "Run Python with PYTHON_GIL=1, or use the ordinary build."
    )

# A greenlet counts its calls, for the recursion limit, from the depth of the stack at which it was started.
SHALLOW = 100
# If the stack of a program lies where its driver's stack is, each switch copies what they share, in bytes.
OVERLAP = 8192


def _guarded(body: Callable[[], Any]) -> tuple[None, Outcome]:
    """Run `body` and return how it ended, so that a driver sees an exception only if somebody sent it to the driver."""
    try:
        return None, Returned(body())
    except BaseException as error:
        # The first frame is this function's; without it, the traceback reads as if there were no greenlet.
        return None, Raised(error.with_traceback(error.__traceback__ and error.__traceback__.tb_next))


class Body(greenlet):
    """The greenlet that runs the program under a `prompt`. Its parent is its driver, and it ends with an `Outcome`.

    It shares the caller's context variables, `np.errstate` among them: the program reads and sets them as in a plain
    call.
    """

    def __init__(self, prompt: Prompt, served: Callable[..., Any] = _guarded) -> None:
        super().__init__(served)
        self.begin(prompt)

    def begin(self, prompt: Prompt) -> None:
        """Get ready for a program under this prompt."""
        self.prompt = prompt
        caller = here()
        if caller.gr_context is None:
            contextvars.copy_context()  # makes a context for the thread, if it has none yet
        self.gr_context = caller.gr_context


def enclosing() -> Iterator[Body]:
    """The bodies that are running around the caller, innermost first."""
    current: greenlet | None = here()
    while current is not None:
        if isinstance(current, Body):
            yield current
        current = current.parent


this_worker: Callable[[], Any] = here


class Worker(Body):
    """A body that runs one program after another, as long as they end with an answer.

    While it waits, its prompt is `WAITING`. Only a worker of the main thread waits, as a greenlet cannot leave its
    thread, and the thread's end would not end it. And it has no greenlet of the user's as its driver, as it would keep
    the driver alive. `depth` is from where it counts its calls, if that is less than SHALLOW.
    """

    depth: int

    def __init__(self, prompt: Prompt) -> None:
        super().__init__(prompt, _serve)
        driver: Any = self.parent
        start = driver.depth if type(driver) is Worker else SHALLOW if driver.parent is not None else 0
        self.depth = _depth(start)
        self.may_wait = self.depth < SHALLOW and _is_plain()
        self.switch()


def _depth(start: int) -> int:
    """`start`, and the number of the frames of the caller and of its callers in this greenlet; at most SHALLOW."""
    frame: FrameType | None = sys._getframe(1)
    depth = start
    while frame is not None and depth < SHALLOW:
        frame, depth = frame.f_back, depth + 1
    return depth


def _serve() -> Any:
    """Run programs, each under the prompt that the worker has by then.

    No variable holds the worker, or the program that has ended: a worker that waits would keep them alive.
    """
    message: Any = None
    while True:
        body = this_worker().parent.switch(message)
        # Not a program: the value of a greenlet that has ended, and that the user started in an earlier program.
        while this_worker().prompt is WAITING:
            body = this_worker().parent.switch(body)
        message = _guarded(body)
        del body
        if type(message[1]) is Raised or not _can_wait(this_worker()):
            return message
        this_worker().prompt, this_worker().gr_context = WAITING, None


def _can_wait(worker: Any) -> bool:
    """Whether this worker can wait for another program, now that one has ended with an answer."""
    driver = worker.parent
    is_of_ours = driver.parent is None or type(driver) is Worker
    return worker.may_wait and is_of_ours and driver._stack_saved <= OVERLAP


def has_program(suspended: greenlet) -> bool:
    """Whether a program is suspended in this greenlet: it is alive, and does not wait for a program."""
    return bool(suspended) and getattr(suspended, "prompt", None) is not WAITING


def _is_plain() -> bool:
    """Whether this is the main thread, without a debugger or a profiler: they see only what starts after them."""
    return threading.get_ident() == MAIN_THREAD and sys.gettrace() is None and sys.getprofile() is None


def worker_for(prompt: Prompt) -> Worker:
    """A worker for a program under this prompt: one that waits, or a new one."""
    if not (waiting and _is_plain()):
        return Worker(prompt)
    worker = waiting.pop()
    worker.parent = here()
    worker.begin(prompt)
    return worker


waiting: list[Worker] = []
WAITING = Prompt()
MAIN_THREAD = threading.main_thread().ident
atexit.register(waiting.clear)
