"""Who is in the data: the first table of a study."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from censquant._frames import html_table, pandas_for
from censquant._typing import Floats
from censquant.inspection._table import FeatureTable, read_labels
from censquant.survival import Target, kaplan_meier, read_target

ALL = "all"
"""Name of the column of all rows."""

EVENT, NO_EVENT = "event", "no event"
COUNT, MEDIAN = "n (%)", "median (IQR)"
_NOT_REACHED = "NR"
_MISSING = "missing"

_QUARTILES = (0.25, 0.5, 0.75)
# Whole numbers with so few different values are codes or grades, of which each is counted.
_MOST_GRADES = 5
# Levels of a column of text that are listed; the others are one line.
_MOST_LEVELS = 8
_MOST_GROUPS = 10
# Text with more values than this, most of which differ, names rows.
_MOST_NAMES = 20


class CohortRow(NamedTuple):
    """One line of `CohortTable`.

    Examples
    --------
    >>> from censquant.inspection._cohort import (CohortRow)
    >>> row = CohortRow("age", "median (IQR)", "", ("54 (46 to 61)",), ((46.0, 54.0, 61.0),))
    >>> row.texts
    ('54 (46 to 61)',)
    """

    variable: str
    statistic: str  # {"n (%)", "median (IQR)"}
    level: str  # whose rows are counted; empty if the variable has one line
    texts: tuple[str, ...]  # one for each group
    # Behind each text: a count and its share, or the quartiles 0.25, 0.5, 0.75; NaN where there is
    # none, infinite where it is not reached
    numbers: tuple[tuple[float, ...], ...]
    missing: int = 0  # rows of all groups without a value
    smd: float = np.nan  # largest standardised difference between two groups; NaN without any


@dataclass(frozen=True, eq=False)
class CohortTable:
    """Description of a cohort; made by `cohort_table`.

    Parameters
    ----------
    rows : tuple of CohortRow
    groups : tuple of str
        ``"all"``, and the names of the groups.
    sizes : tuple of int
        Number of rows of each.

    Examples
    --------
    >>> from censquant.inspection import cohort_table
    >>> y = [3, 5, 9, 2, 4, 8], [True, False, True, True, False, False]
    >>> table = cohort_table([[40], [50], [61], [72], [55], [48]], y)
    >>> table.groups, table.sizes
    (('all',), (6,))
    >>> table.rows[-1].texts
    ('52.5 (48.5 to 59.5)',)
    """

    rows: tuple[CohortRow, ...]
    groups: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def _has_groups(self) -> bool:
        return len(self.groups) > 1

    @property
    def _has_missing(self) -> bool:
        return any(row.missing for row in self.rows)

    def heading(self) -> tuple[str, ...]:
        """Return the names of the columns, as they are printed.

        Returns
        -------
        heading : tuple of str
        """
        return (
            "",
            *(f"{name} (n = {size:,})" for name, size in zip(self.groups, self.sizes, strict=True)),
            *((_MISSING,) if self._has_missing else ()),
            *(("SMD",) if self._has_groups else ()),
        )

    def lines(self) -> list[tuple[str, ...]]:
        """Return the lines, as they are printed: levels below the name of their variable.

        Returns
        -------
        lines : list of tuple of str
        """
        found, before = list[tuple[str, ...]](), ""
        for row in self.rows:
            aside = self._aside(row) if row.variable != before else ("",) * len(self._aside(row))
            name = f"{row.variable}, {row.statistic}"
            if row.level and row.variable != before:
                found.append((name, *("" for _ in self.groups), *aside))
                aside = ("",) * len(aside)
            found.append((f"  {row.level}" if row.level else name, *row.texts, *aside))
            before = row.variable
        return found

    def _aside(self, row: CohortRow) -> tuple[str, ...]:
        """Return what stands beside the groups once for each variable."""
        missing = _counted(row.missing, self.sizes[0]) if row.missing else ""
        smd = "" if np.isnan(row.smd) else f"{row.smd:.2f}"
        return (
            *((missing,) if self._has_missing else ()),
            *((smd,) if self._has_groups else ()),
        )

    def __str__(self) -> str:
        lines = [self.heading(), *self.lines()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(
                f"{cell:>{width}}" if place else f"{cell:<{width}}"
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )

    def _repr_html_(self) -> str:
        # A browser drops spaces at the start of a cell.
        lines = [(line[0].replace("  ", "\u2003", 1), *line[1:]) for line in self.lines()]
        return html_table(self.heading(), lines)

    def to_frame(self) -> Any:
        """Return the table as a DataFrame of text, one row for each variable or level.

        Returns
        -------
        frame : DataFrame
            With the columns ``variable``, ``statistic``, ``level``, one for each group,
            ``missing`` and, with groups, ``smd``. The numbers behind the texts are in ``rows``.
        """
        pd = pandas_for("to_frame")
        frame = pd.DataFrame(
            {
                "variable": [row.variable for row in self.rows],
                "statistic": [row.statistic for row in self.rows],
                "level": [row.level for row in self.rows],
                **{
                    name: [row.texts[place] for row in self.rows]
                    for place, name in enumerate(self.groups)
                },
                _MISSING: [row.missing for row in self.rows],
                "smd": [row.smd for row in self.rows],
            }
        )
        return frame if self._has_groups else frame.drop(columns="smd")


def cohort_table(X: Any, y: Any = None, *, by: Any = None, unit: str = "") -> CohortTable:
    """Describe a cohort: what reports of studies call Table 1.

    Numbers have their median and quartiles (IQR). Text, categories, truth values and whole numbers
    with at most five different values have counts and per cent of the known values. Follow-up is
    read off the reverse Kaplan-Meier curve, in which events are censored, and the time to the event
    off the Kaplan-Meier curve. ``NR`` means that a quartile is not reached. Infinite numbers count
    as missing.

    With groups, ``smd`` is the largest standardised difference between two of them: the difference
    of the means divided by the root of the mean of the two variances, for levels in the
    multivariate form of Yang and Dalton (2012). Unlike a p-value it does not depend on the number
    of rows. Differences above 0.1 are often called an imbalance.

    Groups by the event describe those with the event beside those without, and show no effects:
    the former are also those who were followed for longer, or who entered earlier.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n, n_features)
    y : times and events, optional
        Right-censored target in any form that ``fit`` takes: adds events, follow-up and time to
        the event.
    by : str, int or array-like of shape (n,), optional
        A column of ``X``, one value for each row, or ``"event"`` where no column has that name.
    unit : str, default ""
        Unit of the times, for the names of the lines.

    Returns
    -------
    table : CohortTable
        Print it, show it in a notebook, or take ``.to_frame()``.

    Examples
    --------
    >>> from censquant.datasets import load_gbsg2
    >>> from censquant.inspection import cohort_table
    >>> X, y = load_gbsg2(as_frame=True)
    >>> print(cohort_table(X[["horTh", "age", "tgrade"]], y, by="horTh").to_frame().iloc[:, :4])
            variable           statistic level                  all
    0         events               n (%)                 299 (44 %)
    1      follow-up  median (IQR)        1645 (1100 to 1976)
    2  time to event  median (IQR)           1807 (727 to NR)
    3            age  median (IQR)              53 (46 to 61)
    4         tgrade               n (%)     1            81 (12 %)
    5         tgrade               n (%)     2           444 (65 %)
    6         tgrade               n (%)     3           161 (23 %)
    """
    table = FeatureTable.read(X)
    target = None if y is None else read_target(y, n_samples=len(table))
    return describe_cohort(table, target, by=by, unit=unit)


def describe_cohort(
    table: FeatureTable,
    target: Target | None,
    *,
    by: Any = None,
    unit: str = "",
    fewest: int = 1,
) -> CohortTable:
    """Return the table; nothing is said of fewer rows than ``fewest``."""
    groups, left_out, is_by_event = _read_groups(table, target, by)
    rows = list[CohortRow]()
    if target is not None:
        rows += _outcome_rows(target, list(groups.values()), unit, is_by_event=is_by_event)
    for place, name in enumerate(table.names):
        if place != left_out:
            rows += _column_rows(table, place, name, list(groups.values()), fewest)
    return CohortTable(tuple(rows), tuple(groups), tuple(map(len, groups.values())))


def flat_lines(table: CohortTable) -> Iterator[tuple[str, ...]]:
    """Yield lines that each name their variable, for tables that may be sorted or broken."""
    n_groups = len(table.groups)
    header: tuple[str, ...] = ()
    for line in table.lines():
        if not any(line[1 : 1 + n_groups]):
            header = line
        elif line[0].startswith("  "):
            variable, _, _ = header[0].rpartition(",")
            name = f"{variable}: {line[0].strip()}"
            yield name, *line[1 : 1 + n_groups], *header[1 + n_groups :]
            header = (header[0], *("" for _ in header[1:]))
        else:
            yield line


def _read_groups(
    table: FeatureTable, target: Target | None, by: Any
) -> tuple[dict[str, NDArray[np.intp]], int | None, bool]:
    """Return the rows of each group, the column that makes them, and whether the event does."""
    groups = {ALL: np.arange(len(table))}
    if by is None:
        return groups, None, False
    is_by_event = isinstance(by, str) and by == EVENT and EVENT not in table.names
    if is_by_event:
        if target is None:
            raise ValueError("by='event' needs y, the times and events, got none.")
        labels = [EVENT if one else NO_EVENT for one in target.event]
    else:
        labels = read_labels("by", by, table)
    names = sorted(set(labels), key=_by_number)
    if len(names) > _MOST_GROUPS:
        raise ValueError(
            f"by must have at most {_MOST_GROUPS} groups, got {len(names)}: name a column with few "
            "values, or pass wider classes."
        )
    place = table.place(by) if isinstance(by, str | int) and not is_by_event else None
    column = getattr(by, "name", None) if place is None else table.names[place]
    # A code says nothing without the name of its column.
    is_bare = column and any(_by_number(one)[0] == 0 for one in names)
    where = np.array(labels, dtype=object)
    for name in names:
        shown = f"{column} = {name}" if is_bare else name
        groups[shown if shown != ALL else f"group {ALL}"] = np.flatnonzero(where == name)
    return groups, place, is_by_event


def _by_number(name: str) -> tuple[int, float, str]:
    """Return a key that puts numbers in their order before text, and what is missing last."""
    try:
        return 0, float(name), name
    except ValueError:
        return 2 if name == _MISSING else 1, 0.0, name


def _outcome_rows(
    target: Target, groups: Sequence[NDArray[np.intp]], unit: str, *, is_by_event: bool
) -> list[CohortRow]:
    """Return events, follow-up and the time to the event."""
    words = f" ({unit})" if unit else ""
    if is_by_event:
        observed = [np.quantile(target.time[rows], _QUARTILES) for rows in groups]
        return [_quartile_row(f"observed time{words}", observed)]
    events = [(int(target.event[rows].sum()), len(rows)) for rows in groups]
    row = CohortRow(
        "events",
        COUNT,
        "",
        tuple(_counted(count, total) for count, total in events),
        tuple((float(count), count / total) for count, total in events),
    )
    followed, lives = (
        [_km_quartiles(target.time[rows], ends[rows]) for rows in groups]
        for ends in (~target.event, target.event)
    )
    return [
        row,
        _quartile_row(f"follow-up{words}", followed),
        _quartile_row(f"time to event{words}", lives),
    ]


def _km_quartiles(time: Floats, ends: NDArray[np.bool_]) -> Floats:
    if not ends.any():
        return np.full(len(_QUARTILES), np.inf)
    return kaplan_meier(time, ends).quantile(_QUARTILES)


def _quartile_row(name: str, quartiles: Sequence[Floats], **entries: Any) -> CohortRow:
    texts = tuple(
        "–" if np.isnan(middle) else f"{_shown(middle)} ({_shown(low)} to {_shown(high)})"
        for low, middle, high in quartiles
    )
    return CohortRow(
        name, MEDIAN, "", texts, tuple(tuple(one.tolist()) for one in quartiles), **entries
    )


def _shown(value: float) -> str:
    if np.isinf(value):
        return _NOT_REACHED
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _counted(count: int, total: int) -> str:
    share = count / total
    digits = 1 if 0 < share < 0.01 else 0
    return f"{count:,} ({100 * share:.{digits}f} %)"


def _column_rows(
    table: FeatureTable, place: int, name: str, groups: Sequence[NDArray[np.intp]], fewest: int
) -> list[CohortRow]:
    """Return the lines of one column."""
    numbers = table.numbers(place)
    if numbers is not None:
        numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    if numbers is not None and not _is_graded(numbers):
        return [_number_row(name, numbers, groups, fewest)]
    texts = np.array(table.texts(place), dtype=object)
    kind: Any = getattr(table.column(place), "dtype", None)
    ordered = kind.categories if getattr(kind, "ordered", False) else ()
    ranks = {str(one): rank for rank, one in enumerate(ordered)}
    is_flag = numbers is not None and set(np.unique(numbers[~np.isnan(numbers)])) <= {0.0, 1.0}
    is_flag = is_flag or {*texts} - {_MISSING} <= {"True", "False"}
    return _level_rows(name, texts, groups, fewest, ranks, is_flag=is_flag)


def _is_graded(numbers: Floats) -> bool:
    known = np.unique(numbers[~np.isnan(numbers)])
    return 0 < len(known) <= _MOST_GRADES and bool((known == np.round(known)).all())


def _number_row(
    name: str, numbers: Floats, groups: Sequence[NDArray[np.intp]], fewest: int
) -> CohortRow:
    quartiles, moments = [], list[tuple[float, float]]()
    for rows in groups:
        known = numbers[rows][~np.isnan(numbers[rows])]
        enough = len(known) >= max(fewest, 1)
        quartiles.append(np.quantile(known, _QUARTILES) if enough else np.full(3, np.nan))
        moments.append((known.mean(), known.var(ddof=1)) if len(known) > 1 else (np.nan, np.nan))
    smd = _largest(moments[1:], _number_difference)
    return _quartile_row(name, quartiles, missing=int(np.isnan(numbers).sum()), smd=smd)


def _level_rows(
    name: str,
    texts: NDArray[Any],
    groups: Sequence[NDArray[np.intp]],
    fewest: int,
    ranks: dict[str, int],
    *,
    is_flag: bool,
) -> list[CohortRow]:
    """Return a line for each level of a column; of truth values that of the true ones."""
    known = texts != _MISSING
    n_missing = int((~known).sum())
    levels, counts = np.unique(texts[known].astype(str), return_counts=True)
    if len(levels) > _MOST_NAMES and len(levels) > known.sum() / 2:
        nothing = tuple("–" for _ in groups), tuple((np.nan,) for _ in groups)
        return [CohortRow(name, f"{len(levels):,} different values", "", *nothing, n_missing)]
    if len(levels) > _MOST_LEVELS:
        order = np.argsort(-counts, kind="stable")
    else:
        names = levels.tolist()
        order = np.array(
            sorted(range(len(names)), key=lambda k: (ranks.get(names[k], 0), _by_number(names[k]))),
            dtype=np.intp,
        )
    often = (counts[order] >= fewest) | is_flag
    listed = [str(levels[k]) for k in order[often][:_MOST_LEVELS]]
    found: list[tuple[str, NDArray[np.bool_]]] = [(level, texts == level) for level in listed]
    n_other = len(levels) - len(listed)
    if n_other:
        words = f"{n_other} other level{'s' if n_other > 1 else ''}"
        found.append((words, known & ~np.isin(texts, listed)))
    totals = [int(known[rows].sum()) for rows in groups]
    tables = np.array([[int(flags[rows].sum()) for _, flags in found] for rows in groups])
    smd = np.nan
    if len(groups) > 1 and found:
        shares = [
            row / total if total else np.full(len(found), np.nan)
            for row, total in zip(tables[1:], totals[1:], strict=True)
        ]
        smd = _largest(shares, _share_difference)
    hidden = (tables > 0) & (tables < fewest)
    if hidden.any() and len(found) > 1:
        # The number that is hidden follows from the others: a second one is hidden too.
        hidden[:, np.argsort(tables.sum(axis=0))[:2]] = True
    chosen = list(range(len(found)))
    if is_flag and len(levels) == 2:
        chosen = [k for k in chosen if found[k][0] in ("1", "True")]
    return [
        CohortRow(
            name,
            COUNT,
            "" if len(chosen) == 1 and is_flag and len(levels) == 2 else found[k][0],
            tuple(
                "–" if hide[k] or not total else _counted(int(row[k]), total)
                for row, total, hide in zip(tables, totals, hidden, strict=True)
            ),
            tuple(
                (np.nan, np.nan) if hide[k] or not total else (float(row[k]), row[k] / total)
                for row, total, hide in zip(tables, totals, hidden, strict=True)
            ),
            n_missing,
            smd,
        )
        for k in chosen
    ]


def _largest(groups: Sequence[Any], difference: Callable[[Any, Any], float]) -> float:
    """Return the largest difference between two groups; NaN if there is none."""
    found = [difference(first, second) for first, second in combinations(groups, 2)]
    known = [one for one in found if not np.isnan(one)]
    return max(known) if known else np.nan


def _number_difference(first: tuple[float, float], second: tuple[float, float]) -> float:
    gap, spread = abs(first[0] - second[0]), math.sqrt((first[1] + second[1]) / 2.0)
    return float(gap / spread) if spread > 0 else (0.0 if gap == 0 else np.nan)


def _share_difference(first: Floats, second: Floats) -> float:
    """Return the Mahalanobis distance of the shares of all levels but one."""
    if np.isnan(first).any() or np.isnan(second).any():
        return np.nan
    used = np.flatnonzero((first > 0) | (second > 0))[1:]
    if not len(used):
        return 0.0
    gap = first[used] - second[used]
    spread = sum(
        (np.diag(one[used]) - np.outer(one[used], one[used])) / 2 for one in (first, second)
    )
    try:
        return math.sqrt(max(float(gap @ np.linalg.solve(spread, gap)), 0.0))
    except np.linalg.LinAlgError:  # the groups share no level
        return np.nan
