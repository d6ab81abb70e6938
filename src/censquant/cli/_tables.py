"""Tables in a terminal: as wide as it is, with no cell cut."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table as RichTable

# Leading columns that say what a row is about, and so stand in every part of a table.
_MOST_REPEATED = 3
# Words may be broken into lines of this length before the table is broken into parts.
_NARROW_WORDS = 16
# Names of columns that belong to the one on their left.
_BESIDE = ("paper", "Better")
_NOTHING = ("", "–")
_ENDLESS = 10_000


@dataclass(frozen=True)
class TableCell:
    """Plain text of a cell, bold where it is the best."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class Table:
    """A table in no format yet.

    The leading ``n_labels`` columns are words, set to the left; rows in ``breaks`` begin a new
    block; ``notes`` are sentences below the table.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    notes: tuple[str, ...] = ()
    n_labels: int = 1
    breaks: frozenset[int] = field(default_factory=frozenset)


def print_table(console: Console, table: Table) -> None:
    """Print a table, in several parts where the terminal is too narrow for all its columns.

    Every part repeats the columns that say what its rows are about, and leaves out the rows that
    have nothing in it. Words are broken into lines where they must; numbers never are, unless one
    alone is wider than the terminal.
    """
    whole = _drawn(table, range(len(table.columns)), table.title)
    if _width(console, whole) <= console.width:
        console.print(whole)
        return
    for place, columns in enumerate(_parts(console, table)):
        title = f"{table.title} (continued)" if place else table.title
        if place:
            console.print()
        console.print(_drawn(table, columns, title, narrow=True))


def _parts(console: Console, table: Table) -> Iterator[list[int]]:
    """Columns of each part, as many as fit beside the repeated ones."""
    repeated = list(range(_n_repeated(table)))
    shown = repeated.copy()
    for group in _groups(table, len(repeated)):
        wider = [*shown, *group]
        if shown != repeated and _least_width(console, table, wider) > console.width:
            yield shown
            wider = [*repeated, *group]
        shown = wider
    yield shown


def _n_repeated(table: Table) -> int:
    return min(table.n_labels, _MOST_REPEATED)


def _groups(table: Table, start: int) -> list[list[int]]:
    """Columns that must not be parted: the paper's numbers and ours on their left."""
    groups: list[list[int]] = []
    for column in range(start, len(table.columns)):
        if groups and table.columns[column] in _BESIDE:
            groups[-1].append(column)
        else:
            groups.append([column])
    return groups


def _least_width(console: Console, table: Table, columns: Sequence[int]) -> int:
    """Width with the words broken as far as is still pleasant."""
    spare = sum(
        max(0, _cells_width(table, column) - _NARROW_WORDS)
        for column in columns
        if column < table.n_labels
    )
    return _width(console, _drawn(table, columns, "", narrow=True)) - spare


def _width(console: Console, shown: RichTable) -> int:
    return Measurement.get(console, console.options.update(width=_ENDLESS), shown).maximum


def _cells_width(table: Table, column: int) -> int:
    """Width of the widest cell, and of the widest word of the heading."""
    cells = (_narrow_text(table, row, column) for row in table.rows)
    words = (*cells, *table.columns[column].split())
    return max((cell_len(line) for text in words for line in text.splitlines()), default=0)


def _narrow_text(table: Table, row: Sequence[TableCell], column: int) -> str:
    """Text with one number per line where a cell holds several."""
    text = row[column].text
    return text if column < table.n_labels else text.replace(", ", ",\n")


def _drawn(table: Table, columns: Sequence[int], title: str, *, narrow: bool = False) -> RichTable:
    shown = RichTable(
        title=escape(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False,
        show_edge=False,
    )  # fmt: skip
    for column in columns:
        words = column < table.n_labels
        width = _cells_width(table, column)
        shown.add_column(
            escape(table.columns[column]),
            justify="left" if words else "right",
            overflow="fold",
            width=width if narrow and not words else None,
            max_width=width if narrow and words else None,
        )
    before = None
    for place, row in enumerate(table.rows):
        own = [row[column].text for column in columns if column >= _n_repeated(table)]
        if narrow and own and all(text in _NOTHING for text in own):
            continue
        block = sum(start <= place for start in table.breaks)
        if before not in (None, block):
            shown.add_section()
        before = block
        texts = [
            escape(_narrow_text(table, row, column) if narrow else row[column].text)
            for column in columns
        ]
        shown.add_row(
            *(
                f"[bold]{text}[/]" if row[column].bold else text
                for text, column in zip(texts, columns, strict=True)
            )
        )
    return shown
