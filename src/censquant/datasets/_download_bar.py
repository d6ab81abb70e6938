"""The bar that a download moves."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from censquant._progress import Bar


class DownloadBar:
    """Bytes of one file, in the form that pooch moves.

    pooch sets `total`, adds with `update`, and at the end asks for a `reset` that is followed by
    one `update` of everything.
    """

    def __init__(self, bar: Bar) -> None:
        self._bar = bar

    @classmethod
    @contextmanager
    def shown(cls, name: str) -> Iterator[DownloadBar | None]:
        """Show a bar while a file is downloaded; None where there is no terminal."""
        if not sys.stderr.isatty():
            yield None
            return
        with Bar(name, None, unit="bytes") as bar:
            yield cls(bar)

    @property
    def total(self) -> int:
        """Bytes that the server announced; 0 where it announced none."""
        return self._bar.total or 0

    @total.setter
    def total(self, n_bytes: int) -> None:
        self._bar.restart(n_bytes or None)

    def update(self, n_bytes: int) -> None:
        """Add bytes that have been received."""
        self._bar.advance(n_bytes)

    def reset(self) -> None:
        """Go back to none."""
        self._bar.restart(self._bar.total)

    def close(self) -> None:
        """Leave the bar as it is; it ends with its block."""
