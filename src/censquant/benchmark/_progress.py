"""Rows done and time left, on the terminal."""

from types import TracebackType
from typing import Any, Self


class Progress:
    """A bar over the rows of a plan, by rich.

    Parameters
    ----------
    n_rows : int
        Rows to come.
    shown : bool
        Whether there is a bar at all.
    """

    def __init__(self, n_rows: int, *, shown: bool) -> None:
        self._n_rows = n_rows
        self._shown = shown and n_rows > 0
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if self._shown:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("runs,"),
                TimeElapsedColumn(),
                TextColumn("gone,"),
                TimeRemainingColumn(),
                TextColumn("left"),
                console=Console(stderr=True),
            )
            self._bar.start()
            self._task = self._bar.add_task("benchmark", total=self._n_rows)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, n_rows: int, title: str) -> None:
        """Say that rows of the data set of this title are done."""
        if self._bar is not None:
            self._bar.update(self._task, advance=n_rows, description=title)
