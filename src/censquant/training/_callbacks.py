"""Callbacks: what may look at a training, or stop it, between epochs."""

import sys
import threading
from typing import TYPE_CHECKING, Any, Protocol

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
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._display: _Display | None = None

    def on_start(self, run: "Run") -> None:
        """Add the run's epochs to the total."""
        with self._lock:
            self._running += 1
            if self._display is None:
                self._display = _make_display()
            self._display.grow(run.config.max_epochs - run.n_epochs)

    def on_epoch(self, run: "Run") -> None:
        """Advance by one epoch."""
        record = run.history[-1]
        loss = record.get("validation_loss", record["loss"])
        with self._lock:
            if self._display is not None:
                self._display.advance(loss)

    def on_end(self, run: "Run") -> None:
        """Close the display with the last run."""
        with self._lock:
            self._running -= 1
            if self._running == 0 and self._display is not None:
                self._display.close()
                self._display = None


class _Display(Protocol):
    def grow(self, n_epochs: int) -> None: ...
    def advance(self, loss: float) -> None: ...
    def close(self) -> None: ...


def _make_display() -> _Display:
    try:
        import rich.progress
    except ImportError:
        return _LineDisplay()
    return _RichDisplay(rich.progress)


class _LineDisplay:
    def __init__(self) -> None:
        self._total = 0
        self._done = 0

    def grow(self, n_epochs: int) -> None:
        self._total += n_epochs

    def advance(self, loss: float) -> None:
        self._done += 1
        sys.stderr.write(f"\repoch {self._done}/{self._total}  loss {loss:.4g}  ")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\n")


class _RichDisplay:
    def __init__(self, progress: Any) -> None:
        from rich.console import Console

        self._bar = progress.Progress(
            progress.TextColumn("training"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TextColumn("loss {task.fields[loss]:.4g}"),
            progress.TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._task = self._bar.add_task("", total=0, loss=float("nan"))
        self._total = 0
        self._bar.start()

    def grow(self, n_epochs: int) -> None:
        self._total += n_epochs
        self._bar.update(self._task, total=self._total)

    def advance(self, loss: float) -> None:
        self._bar.update(self._task, advance=1, loss=loss)

    def close(self) -> None:
        self._bar.stop()
