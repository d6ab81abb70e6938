"""Ctrl-C during a benchmark: nothing half-trained may count as a run."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def noticed_interrupts() -> Iterator[threading.Event]:
    """Set an event when Ctrl-C comes, and raise it again at the end of the block.

    Estimators keep what they learned when they are interrupted, which is right for a user and
    wrong for a table.
    """
    came = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield came  # signals reach the main thread alone
        return
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        yield came  # started with nohup or in the background of a script: it stays ignored
        return

    def notice(number: int, frame: FrameType | None) -> None:
        came.set()
        (before if callable(before) else signal.default_int_handler)(number, frame)

    signal.signal(signal.SIGINT, notice)
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)
    if came.is_set():
        raise KeyboardInterrupt
