"""Columns that must not be used to predict: they follow from the outcome, or say nothing."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._leaks import FEWEST_ROWS, Outcome
from censquant._row_numbers import are_row_numbers
from censquant.io._columns import DATE, NUMBER, OTHER
from censquant.io._table import Table
from censquant.survival import Target


def columns_to_leave_out(
    table: Table, names: Sequence[str], target: Target
) -> tuple[dict[str, str], dict[str, str]]:
    r"""Return columns that should not be used with the reason, and those that deserve a look.

    Columns that are a copy or a multiple of the time, whose values tell the event, or that have
    values only where it was observed, are known only afterwards. Identifiers, dates and constants
    teach nothing. Of many rows some are compared with the outcome.
    """
    left_out, doubtful = {}, {}
    outcome = Outcome(target.time, target.event)
    for name in names:
        if reason := _reason(table, name):
            left_out[name] = reason
            continue
        is_number = table.kinds[name] == NUMBER
        values: Any = table.numbers(name, "features") if is_number else _codes(table, name)
        if reason := outcome.told_by(values):
            left_out[name] = reason
        elif reason := outcome.nearly_told_by(values):
            doubtful[name] = f"{reason}: leave it out if it is known only afterwards"
        elif is_number and not np.isnan(values).any() and are_row_numbers(values):
            left_out[name] = "all values are different whole numbers, as in identifiers"
    return left_out, doubtful


def _reason(table: Table, name: str) -> str:
    """Say why nothing can be learned from a column, whatever the outcome is."""
    column, kind = table.columns[name], table.kinds[name]
    if kind == DATE:
        return "dates"
    if kind == OTHER:
        return f"values of the type {column.type}"
    n_known = len(column) - column.null_count
    if not n_known:
        return "no value in any row"
    n_distinct = len(column.drop_null().unique())
    if n_distinct == 1 and n_known == len(column):
        return "the same value in all rows"
    if kind != NUMBER and n_distinct == n_known >= FEWEST_ROWS:
        return "every value is different, as in identifiers"
    return ""


def _codes(table: Table, name: str) -> NDArray[np.int64]:
    import pyarrow as pa

    column = table.columns[name]
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):  # of no piece at all
        whole = pa.concat_arrays(whole.chunks)
    codes = whole.dictionary_encode().indices.fill_null(-1)
    return np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int64)
