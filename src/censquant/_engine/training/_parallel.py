"""Independent tasks side by side in threads, and Ctrl-C meanwhile."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any, Literal, TypeVar

import threadpoolctl
from joblib import effective_n_jobs

from censquant._progress import say

Result = TypeVar("Result")
Handler = Callable[[int, FrameType | None], Any]

_PATIENCE = 0.1  # seconds between two checks for Ctrl-C

_lock = threading.Lock()
_users = 0
_limiter: Any = None


class StoppedError(BaseException):
    """Ends a task that was asked to stop; no error of its own."""


def stop_if_asked(stopping: threading.Event | None) -> None:
    """Leave a task, by an exception, if its event is set; None is never set.

    Loops that take long call it, so that Ctrl-C ends them within a moment.
    """
    if stopping is not None and stopping.is_set():
        raise StoppedError


class HeldInterrupt:
    """A signal handler that holds back the first Ctrl-C and passes on every later one.

    It replaces ``handler``; Python's own raises KeyboardInterrupt.
    """

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._came = False
        self._held = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Defer the first SIGINT; call the handler at the second, for who does not want to wait."""
        if self._came:
            self._handler(number, frame)
        else:
            self._came = self._held = True

    def release(self) -> None:
        """Do now what Ctrl-C does, if it was pressed."""
        if self._held:
            self._held = False
            say("Stopping ...")
            self._handler(signal.SIGINT, None)


@contextmanager
def held_interrupts() -> Iterator[Callable[[], None]]:
    """Hold Ctrl-C back within the block; calling what it gives, or its end, releases it.

    An exception in the middle of the code of a thread pool can leave one of its locks locked, and
    all threads wait for ever. Only the main thread is interrupted, so others need no protection.
    """
    handler = signal.getsignal(signal.SIGINT)
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or not callable(handler):
        yield lambda: None
        return
    held = HeldInterrupt(handler)
    signal.signal(signal.SIGINT, held)
    try:
        yield held.release
    finally:
        signal.signal(signal.SIGINT, handler)
    held.release()


@cache
def _blas() -> threadpoolctl.ThreadpoolController:
    # Loaded first, since the controller only knows libraries that are loaded when it is made.
    import scipy.linalg.cython_blas  # noqa: F401

    return threadpoolctl.ThreadpoolController()


def _take_control() -> None:
    """Let this thread set limits: newer versions of threadpoolctl obey one thread at a time.

    Which thread begins a training first and which ends one last is random, so a limit may have to
    be restored by another thread than the one that set it; the count keeps them in step.
    """
    openblas = getattr(threadpoolctl, "OpenBLASController", None)
    clear = getattr(openblas, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread while any training runs.

    A batch is too small for more, and threads over members need the cores. The limit belongs to
    the whole process, so it is counted: the last training to end restores the previous limit.
    """
    global _users, _limiter
    with _lock:
        _users += 1
        if _users == 1:
            _take_control()
            _limiter = _blas().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _take_control()
                _limiter.restore_original_limits()
                _take_control()


def _wait_for(
    futures: list[Future[Result]], stopping: threading.Event, release: Callable[[], None]
) -> None:
    """Wait until all are done, or until Ctrl-C; the first that fails asks the others to stop."""
    left: set[Future[Result]] = set(futures)
    while left:
        # A signal may reach any thread and wakes only that one: this one must wake by itself to
        # handle Ctrl-C.
        done, left = wait(left, timeout=_PATIENCE, return_when=FIRST_EXCEPTION)
        if any(future.exception() is not None for future in done):
            stopping.set()
        release()


def side_by_side(
    tasks: Sequence[Callable[[threading.Event], Result]],
    n_jobs: int | None = None,
    *,
    on_interrupt: Literal["keep", "raise"] = "keep",
    stopping: threading.Event | None = None,
) -> list[Result]:
    """Run the tasks in threads and return their results in order.

    The compiled kernels release the GIL, so threads are enough and nothing is copied. Ctrl-C sets
    the event that every task receives. So does an error in one of them, which is then raised.
    """
    stopping = stopping or threading.Event()
    if on_interrupt == "raise":
        tasks = [_unless_stopped(task) for task in tasks]
    n_threads = max(1, min(effective_n_jobs(n_jobs), len(tasks)))
    with single_blas_thread():
        # A task that keeps what it has when Ctrl-C comes must not be the one to notice it.
        if n_threads == 1 and on_interrupt == "keep":
            return [task(stopping) for task in tasks]
        with (
            held_interrupts() as release,
            ThreadPoolExecutor(n_threads, thread_name_prefix="censquant") as pool,
        ):
            futures: list[Future[Result]] = []
            try:
                # Within the guard: the first tasks run, and Ctrl-C may come, while others are sent.
                for task in tasks:
                    futures.append(pool.submit(task, stopping))
                _wait_for(futures, stopping, release)
            except KeyboardInterrupt:
                stopping.set()
                if on_interrupt == "raise":
                    for future in futures:
                        future.cancel()
                    raise
                futures += [pool.submit(task, stopping) for task in tasks[len(futures) :]]
            return _results(futures)


def _unless_stopped(
    task: Callable[[threading.Event], Result],
) -> Callable[[threading.Event], Result]:
    """Return a task that does not begin once it is asked to stop."""

    def run(stopping: threading.Event) -> Result:
        stop_if_asked(stopping)
        return task(stopping)

    return run


def _results(futures: list[Future[Result]]) -> list[Result]:
    """Return all results; what went wrong is raised before what was stopped because of it."""
    errors = [error for future in futures if (error := future.exception()) is not None]
    for error in sorted(errors, key=lambda error: isinstance(error, StoppedError))[:1]:
        raise error
    return [future.result() for future in futures]
