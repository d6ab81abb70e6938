"""Columns that must not be used to predict: they follow from the outcome, or say nothing."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._row_numbers import are_row_numbers
from censquant.io._columns import DATE, NUMBER, OTHER
from censquant.io._table import Table
from censquant.survival import Target

_FEWEST_ROWS = 20
_NEARLY_THE_TIME = 0.99


def columns_to_leave_out(
    table: Table, names: Sequence[str], target: Target
) -> tuple[dict[str, str], dict[str, str]]:
    r"""Return columns that should not be used with the reason, and those that deserve a look.

    Columns that are a copy or a multiple of the time, that say the same as the event or are
    missing exactly where no event was observed, are known only afterwards. Identifiers, dates and
    constants teach nothing.

    Parameters
    ----------
    table : Table
    names : sequence of str
        Columns to look at.
    target : Target

    Returns
    -------
    left_out : dict of str to str
        Reasons by name.
    doubtful : dict of str to str

    Examples
    --------
    >>> from censquant.io import TargetColumns, columns_to_leave_out, read_table
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "fleet.csv"
    ...     _ = path.write_text("days,hours,failed,age\n3,72,1,40\n5,120,0,35\n8,192,1,50\n")
    ...     table = read_table(path)
    >>> target = TargetColumns(time="days", event="failed").read(table)
    >>> columns_to_leave_out(table, ["hours", "age"], target)
    ({'hours': 'the time itself, or a multiple of it'}, {})
    """
    left_out, doubtful = {}, {}
    for name in names:
        reason = _reason(table, name, target)
        if reason:
            left_out[name] = reason
        elif table.kinds[name] == NUMBER and _follows(table.numbers(name, "features"), target):
            doubtful[name] = "nearly the same order as the time: leave it out if it is known only "
            doubtful[name] += "afterwards"
    return left_out, doubtful


def _reason(table: Table, name: str, target: Target) -> str:
    column, kind = table.columns[name], table.kinds[name]
    if kind == DATE:
        return "dates"
    if kind == OTHER:
        return f"values of the type {column.type}"
    missing = np.asarray(column.is_null().to_numpy())
    if missing.all():
        return "no value in any row"
    if len(target) >= _FEWEST_ROWS and (missing == ~target.event).all():
        return "missing exactly where no event was observed"
    codes = _codes(table, name)
    n_distinct = len(np.unique(codes[~missing]))
    if n_distinct == 1 and not missing.any():
        return "the same value in all rows"
    if kind == NUMBER:
        numbers = table.numbers(name, "features")
        if _is_multiple(numbers, target.time):
            return "the time itself, or a multiple of it"
        if not missing.any() and are_row_numbers(numbers):
            return "all values are different whole numbers, as in identifiers"
    elif n_distinct == (~missing).sum() and n_distinct >= _FEWEST_ROWS:
        return "every value is different, as in identifiers"
    if not missing.any() and n_distinct == 2 and _same_split(codes, target.event):
        return "the event itself"
    return ""


def _codes(table: Table, name: str) -> NDArray[np.int64]:
    import pyarrow as pa

    column = table.columns[name]
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):  # of no piece at all
        whole = pa.concat_arrays(whole.chunks)
    codes = whole.dictionary_encode().indices.fill_null(-1)
    return np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int64)


def _is_multiple(numbers: NDArray[np.float64], time: NDArray[np.float64]) -> bool:
    """Say whether a column is the time in this or another unit."""
    if np.isnan(numbers).any() or len(time) < 2 or time.min() == time.max():
        return False
    centred, own = numbers - numbers.mean(), time - time.mean()
    scale = np.abs(centred).max()
    if not np.isfinite(scale) or scale == 0:
        return False
    slope = centred @ own / (own @ own)
    return bool(np.abs(centred - slope * own).max() <= 1e-6 * scale) and slope > 0


def _same_split(codes: NDArray[np.int64], event: NDArray[np.bool_]) -> bool:
    first = codes == codes[0]
    return bool((first == event).all() or (first == ~event).all())


def _follows(numbers: NDArray[np.float64], target: Target) -> bool:
    from scipy.stats import spearmanr

    known = np.isfinite(numbers)
    if known.sum() < _FEWEST_ROWS or np.ptp(numbers[known]) == 0 or np.ptp(target.time[known]) == 0:
        return False
    found: Any = spearmanr(numbers[known], target.time[known])
    return bool(abs(found.statistic) > _NEARLY_THE_TIME)
