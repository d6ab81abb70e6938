"""Callbacks: what may look at a training, or stop it, between epochs."""

import sys
import threading
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from censquant.training._engine import Run


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

    A bar by rich where it is installed (it comes with ``censquant[cli]``), else one line that is
    written anew.

    Parameters
    ----------
    n_runs : int, default 1
        How many trainings share the bar, side by side or one after the other.

    Examples
    --------
    >>> from censquant.training import ProgressBar
    >>> callbacks = [ProgressBar()]
    """

    def __init__(self, n_runs: int = 1) -> None:
        self._n_runs = n_runs
        self._n_ended = 0
        self._lock = threading.Lock()
        self._display: _Display | None = None

    def on_start(self, run: "Run") -> None:
        """Open the display with the first run."""
        with self._lock:
            if self._display is None:
                self._display = _make_display(self._n_runs * run.config.max_epochs)
            self._display.advance(run.n_epochs, None)

    def on_epoch(self, run: "Run") -> None:
        """Advance by one epoch."""
        record = run.history[-1]
        with self._lock:
            if self._display is not None:
                self._display.advance(1, record.get("validation_loss", record["loss"]))

    def on_end(self, run: "Run") -> None:
        """Close the display with the last run."""
        with self._lock:
            self._n_ended += 1
            if self._display is None:
                return
            self._display.advance(run.config.max_epochs - run.n_epochs, None)
        if self._n_ended >= self._n_runs:
            self.close()

    def close(self) -> None:
        """End the display, also where fewer runs came than were expected."""
        with self._lock:
            if self._display is not None:
                self._display.close()
                self._display = None


class _Display(Protocol):
    def advance(self, n_epochs: int, loss: float | None) -> None: ...
    def close(self) -> None: ...


def _make_display(n_epochs: int) -> _Display:
    try:
        return _RichDisplay(n_epochs)
    except ImportError:
        return _LineDisplay(n_epochs)


class _LineDisplay:
    """One line on stderr, written anew after every epoch."""

    def __init__(self, n_epochs: int) -> None:
        self._total = n_epochs
        self._done = 0

    def advance(self, n_epochs: int, loss: float | None) -> None:
        self._done += n_epochs
        if loss is not None:
            sys.stderr.write(f"\repoch {self._done}/{self._total}  loss {loss:.4g}  ")
            sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\n")


class _RichDisplay:
    """Rich's bar on stderr."""

    def __init__(self, n_epochs: int) -> None:
        from rich import progress
        from rich.console import Console

        self._bar = progress.Progress(
            progress.TextColumn("training"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TextColumn("{task.fields[loss]}"),
            progress.TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._task = self._bar.add_task("", total=n_epochs, loss="")
        self._bar.start()

    def advance(self, n_epochs: int, loss: float | None) -> None:
        self._bar.update(self._task, advance=n_epochs)
        if loss is not None:
            self._bar.update(self._task, loss=f"loss {loss:.4g}")

    def close(self) -> None:
        self._bar.stop()
