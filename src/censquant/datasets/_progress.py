"""The bar that a download moves."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class DownloadBar:
    """Bytes of one file on the terminal, in the form that pooch moves.

    pooch sets `total`, adds with `update`, and at the end asks for a `reset` that is followed by
    one `update` of everything.
    """

    def __init__(self, display: Any, name: str) -> None:
        self._display = display
        self._task = display.add_task(name, total=None)
        self._total = 0

    @classmethod
    @contextmanager
    def shown(cls, name: str) -> Iterator[DownloadBar | None]:
        """Show a bar while a file comes in; None where there is no terminal or no rich."""
        if not sys.stderr.isatty():
            yield None
            return
        try:
            from rich import progress
            from rich.console import Console
        except ImportError:
            yield None
            return
        columns = (
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.DownloadColumn(),
            progress.TimeRemainingColumn(),
        )
        with progress.Progress(*columns, console=Console(stderr=True)) as display:
            yield cls(display, name)

    @property
    def total(self) -> int:
        """Bytes that the server announced."""
        return self._total

    @total.setter
    def total(self, n_bytes: int) -> None:
        self._total = n_bytes
        # A server that announces nothing leaves the end unknown.
        self._display.update(self._task, total=n_bytes or None)

    def update(self, n_bytes: int) -> None:
        """Add bytes that have come."""
        self._display.update(self._task, advance=n_bytes)

    def reset(self) -> None:
        """Go back to none."""
        self._display.reset(self._task)

    def close(self) -> None:
        """Leave the bar as it is; it ends with its block."""
