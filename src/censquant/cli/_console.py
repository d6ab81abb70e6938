"""What commands say: results on standard output, all else on standard error."""

import json
import math
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

from censquant.cli import json_escape, printable
from censquant.exceptions import LeakageWarning

if TYPE_CHECKING:
    from censquant.cli._tables import Table


class Reporter:
    """Prints lines and tables for people, or one JSON object for machines.

    With ``on_stderr`` standard output belongs to a table, so that words must go elsewhere.
    """

    def __init__(self, *, as_json: bool, on_stderr: bool = False) -> None:
        self._as_json = as_json
        self._console = Console(stderr=on_stderr, soft_wrap=True, highlight=False)
        self._err = Console(stderr=True, soft_wrap=True, highlight=False)
        self.notes: list[str] = []

    def line(self, text: str = "") -> None:
        """Print a line for people."""
        if not self._as_json:
            self._console.print(escape(printable(text)))

    def table(self, table: "Table") -> None:
        """Print a table for people, and its notes."""
        from censquant.cli._tables import print_table

        if not self._as_json:
            self._console.soft_wrap = False
            print_table(self._console, table)
            self._console.soft_wrap = True
            for note in table.notes:
                self.line(note)

    def note(self, text: str) -> None:
        """Say what a user should know, once; pieces of a table differ in numbers alone."""
        if _without_numbers(text) in map(_without_numbers, self.notes):
            return
        self.notes.append(text)
        if not self._as_json:
            self._err.print(f"[yellow]Note:[/] {escape(printable(text))}")

    def result(self, entries: dict[str, Any]) -> None:
        """Print the result for machines, with all notes."""
        if self._as_json:
            text = json.dumps(plain({**entries, "notes": self.notes}), ensure_ascii=False)
            print(printable(text, written=json_escape))

    @contextmanager
    def noting_warnings(self) -> Iterator[None]:
        """Turn warnings of the library into notes."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                yield
            finally:
                for warning in caught:
                    # Commands look for leaks themselves, in columns that were not chosen by name.
                    is_leak = issubclass(warning.category, LeakageWarning)
                    if issubclass(warning.category, UserWarning) and not is_leak:
                        self.note(str(warning.message))


def _without_numbers(text: str) -> str:
    return re.sub(r"\d+", "", text)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: what is no finite number becomes null."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@contextmanager
def bar(description: str) -> Iterator[Callable[[int, int | None, str], None]]:
    """Show a progress bar from the first call with work done, all work if known, and its unit."""
    from censquant._progress import Bar

    shown: list[Bar] = []
    before = 0

    def progress(done: int, total: int | None, unit: str) -> None:
        nonlocal before
        if not shown:
            shown.append(Bar(description, total, unit=unit))
        shown[0].advance(done - before)
        before = done

    try:
        yield progress
    finally:
        for each in shown:
            each.close()
