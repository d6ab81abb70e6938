"""Ctrl-C while threads work: held back while the waiting thread may hold a lock of the pool."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from censquant._progress import say

Handler = Callable[[int, FrameType | None], Any]


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

    Parameters
    ----------
    handler : callable
        The handler that it replaces; Python's own raises KeyboardInterrupt.
    """

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._came = False
        self._held = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Hold the first one back; a second one means that somebody does not want to wait."""
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
