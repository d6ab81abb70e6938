"""The one progress bar: epochs of a training, runs of a benchmark, bytes of a download."""

import math
import sys
import time
from typing import Any, Protocol, Self
from weakref import WeakSet

_BAR_WIDTH = 20  # leaves room for the numbers on a terminal of 80 columns
_UNKNOWN = "-:--:--"
_open: "WeakSet[Bar]" = WeakSet()  # one that nobody has any more is closed


def say(text: str) -> None:
    """Tell the user something at once: in the bars that are shown, else on a line of stderr."""
    shown = list(_open)
    for bar in shown:
        bar.advance(0, description=text)
    if not shown:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def remark(text: str) -> bool:
    """Show a remark in the bars that are shown, if any; return whether there are some."""
    shown = list(_open)
    for bar in shown:
        bar.advance(0, note=text)
    return bool(shown)


class Bar:
    """Work done and time left, on stderr.

    Drawn by rich where it is installed (``censquant[cli]`` brings it), else one line that is
    rewritten. Not safe between threads: callers that share a bar hold a lock.

    Parameters
    ----------
    description : str
        What is being done.
    total : int or None
        Units of work; None where the end is unknown.
    unit : str
        What is counted; ``"bytes"`` are shown as kB and MB.
    """

    def __init__(self, description: str, total: int | None, *, unit: str) -> None:
        self.total = total
        self._display = _make_display(description, total, unit)
        _open.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def advance(self, n: int, *, description: str | None = None, note: str | None = None) -> None:
        """Add units of work; a description or note that is given replaces the one shown."""
        self._display.advance(n, description, note)

    def expect(self, seconds: float | None) -> None:
        """Replace the time left, which runs down from then on; None says that it is not known.

        Without it the time left is that of the units so far, which suits many short ones.
        """
        self._display.expect(math.nan if seconds is None else time.monotonic() + seconds)

    def restart(self, total: int | None) -> None:
        """Go back to no work done, with another total."""
        self.total = total
        self._display.restart(total)

    def close(self) -> None:
        """Leave the bar as it is and end its line."""
        _open.discard(self)
        self._display.close()


class _Display(Protocol):
    def advance(self, n: int, description: str | None, note: str | None) -> None: ...
    def expect(self, ends: float) -> None: ...
    def restart(self, total: int | None) -> None: ...
    def close(self) -> None: ...


def _make_display(description: str, total: int | None, unit: str) -> _Display:
    try:
        return _RichDisplay(description, total, unit)
    except ImportError:
        return _LineDisplay(description, total, unit)


class _RichDisplay:
    """Rich's bar."""

    def __init__(self, description: str, total: int | None, unit: str) -> None:
        from rich import progress
        from rich.console import Console

        in_bytes = unit == "bytes"
        self._bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(bar_width=_BAR_WIDTH),
            progress.DownloadColumn() if in_bytes else progress.MofNCompleteColumn(),
            progress.TextColumn(
                "{task.fields[note]}" if in_bytes else unit + "{task.fields[note]}"
            ),
            progress.TimeElapsedColumn(),
            _remaining_column(),
            console=Console(stderr=True),
        )
        self._task = self._bar.add_task(description, total=total, note="", ends=None)
        self._bar.start()

    def advance(self, n: int, description: str | None, note: str | None) -> None:
        fields: dict[str, Any] = {} if note is None else {"note": f"  {note}"}
        self._bar.update(self._task, advance=n, description=description, **fields)

    def expect(self, ends: float) -> None:
        self._bar.update(self._task, ends=ends)

    def restart(self, total: int | None) -> None:
        self._bar.reset(self._task, total=total)

    def close(self) -> None:
        self._bar.stop()


def _remaining_column() -> Any:
    """Return rich's column of the time left, which runs down where an end is expected."""
    from rich import progress
    from rich.text import Text

    class Remaining(progress.TimeRemainingColumn):
        def render(self, task: progress.Task) -> Text:
            ends = task.fields["ends"]
            if ends is None or task.finished:
                return super().render(task)
            left = ends - time.monotonic()
            # What takes longer than expected has no time that could be told.
            shown = _UNKNOWN if not left >= 0 else _in_hours(left)
            return Text(shown, style="progress.remaining")

    return Remaining()


def _in_hours(seconds: float) -> str:
    minutes, rest = divmod(math.ceil(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


class _LineDisplay:
    """One line that is rewritten whenever work is done."""

    def __init__(self, description: str, total: int | None, unit: str) -> None:
        self._description = description
        self._total = total
        self._unit = unit
        self._note = ""
        self._done = 0
        self._width = 0

    def advance(self, n: int, description: str | None, note: str | None) -> None:
        self._done += n
        self._description = self._description if description is None else description
        self._note = self._note if note is None else f"  {note}"
        end = "" if self._total is None else f"/{self._total}"
        line = f"{self._description} {self._done}{end} {self._unit}{self._note}"
        # A shorter line must cover the longer one before it.
        sys.stderr.write(f"\r{line.ljust(self._width)}")
        sys.stderr.flush()
        self._width = len(line)

    def expect(self, ends: float) -> None:
        """Nothing is shown: the line changes only when work is done."""

    def restart(self, total: int | None) -> None:
        self._done, self._total = 0, total

    def close(self) -> None:
        sys.stderr.write("\n")
