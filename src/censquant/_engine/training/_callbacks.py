"""Callbacks: what may look at a training, or stop it, between epochs."""

import threading
from typing import TYPE_CHECKING, Protocol

from censquant._progress import Bar

if TYPE_CHECKING:
    from censquant._engine.training._engine import Run


class Callback(Protocol):
    """Called by the loop; may read the run and call :meth:`Run.stop`.

    Trainings of an ensemble run side by side in threads and share their callbacks;
    ``run.member`` tells which one calls.
    """

    def on_start(self, run: "Run") -> None:
        """Before the first epoch."""
        ...

    def on_epoch(self, run: "Run") -> None:
        """After every epoch; its record is ``run.history[-1]``."""
        ...

    def on_end(self, run: "Run") -> None:
        """After the last epoch, also when stopped or interrupted."""
        ...


class ProgressBar:
    """Shows the epochs done, the loss and the time left on the terminal.

    A bar by rich where it is installed (``censquant[cli]`` brings it), else one line that is
    rewritten.

    Parameters
    ----------
    n_runs : int, default 1
        How many trainings share the bar, side by side or one after the other.
    """

    def __init__(self, n_runs: int = 1) -> None:
        self._n_runs = n_runs
        self._n_ended = 0
        self._lock = threading.Lock()
        self._display: Bar | None = None

    def on_start(self, run: "Run") -> None:
        """Open the display with the first run."""
        with self._lock:
            if self._display is None:
                n_epochs = self._n_runs * run.total_epochs
                self._display = Bar("training", n_epochs, unit="epochs")
            self._display.advance(run.n_epochs)

    def on_epoch(self, run: "Run") -> None:
        """Advance by one epoch."""
        record = run.history[-1]
        with self._lock:
            if self._display is not None:
                loss = record.get("validation_loss", record["loss"])
                self._display.advance(1, note=f"loss {loss:.4g}")

    def on_end(self, run: "Run") -> None:
        """Close the display with the last run."""
        with self._lock:
            self._n_ended += 1
            if self._display is None:
                return
            self._display.advance(run.total_epochs - run.n_epochs)
        if self._n_ended >= self._n_runs:
            self.close()

    def close(self) -> None:
        """End the display, also where fewer runs came than were expected."""
        with self._lock:
            if self._display is not None:
                self._display.close()
                self._display = None
