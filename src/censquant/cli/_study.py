"""Tables as commands need them: to fit a model to, and to evaluate one on."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant.cli._console import Reporter, bar
from censquant.cli._options import (
    NOTES_FORM,
    FeatureOptions,
    TargetOptions,
    TextFileOptions,
    column_list,
)
from censquant.estimators import load_model, load_notes
from censquant.io import TableError, TargetColumns, TextOptions, read_table
from censquant.io._columns import level_texts
from censquant.io._table import Table, columns_to_leave_out
from censquant.survival import Target
from censquant.survival._target import GeneralTarget

_FEWEST_ROWS = 4


@dataclass(frozen=True, eq=False)
class Study:
    """A table with its target and features, to fit a model to."""

    table: Table
    columns: TargetColumns
    target: Target
    X: Any  # a DataFrame
    groups: NDArray[Any] | None
    left_out: dict[str, str]  # columns that are no features, with the reason

    @property
    def y(self) -> Any:
        """What the model is fitted to."""
        return self.target.for_fit

    @property
    def notes(self) -> dict[str, Any]:
        """What a model file notes about the table."""
        return {
            "form": NOTES_FORM,
            "target": self.columns.to_dict(),
            "text": self.table.text_notes(),
            "rows": len(self.target),
            "digest": target_digest(self.target),
        }

    @property
    def categories(self) -> list[str]:
        """Names of the features that are categories."""
        return [name for name in self.X.columns if self.X[name].dtype == "category"]

    @property
    def missing(self) -> dict[str, int]:
        """Number of missing values of the features that have any."""
        counts = self.X.isna().sum()
        return {str(name): int(count) for name, count in counts.items() if count}

    def entries(self) -> dict[str, Any]:
        """Return facts for machines."""
        return {
            "rows": len(self.target),
            "events": self.target.n_events,
            "target": self.columns.to_dict(),
            "features": list(self.X.columns),
            "categories": self.categories,
            "missing": self.missing,
            "left_out": self.left_out,
        }

    def describe(self, report: Reporter) -> None:
        """Print what was read."""
        target, unit = self.target, self.columns.unit
        share = target.n_events / len(target)
        report.line(f"{self.table.shown}: {len(target):,} rows, {len(self.table.columns)} columns")
        report.line(
            f"Times: {target.time.min():g} to {target.time.max():g}{f' {unit}' if unit else ''}, "
            f"median {np.median(target.time):g}"
        )
        n_censored = len(target) - target.n_events
        report.line(f"Events: {target.n_events:,} ({share:.0%}); {n_censored:,} rows are censored")
        if isinstance(target, GeneralTarget):
            n_wide, n_late = int(target.interval.sum()), int(target.late.sum())
            if n_wide:
                report.line(f"Events between two times: {n_wide:,}; times are their ends")
            if n_late:
                report.line(f"Rows that came under observation late: {n_late:,}")
        n_numbers = self.X.shape[1] - len(self.categories)
        parts = [f"{n_numbers} numbers"] if n_numbers else []
        if self.categories:
            parts.append(f"{len(self.categories)} categories ({', '.join(self.categories)})")
        report.line(f"Features: {', '.join(parts)}")
        if self.missing:
            counts = ", ".join(f"{name} {count:,}" for name, count in self.missing.items())
            report.line(f"Missing values, filled in and marked: {counts}")
        for name, reason in self.left_out.items():
            report.line(f"Left out: {name} ({reason})")


def read_study(
    data: str,
    target_options: TargetOptions,
    learned: FeatureOptions,
    text: TextFileOptions,
    report: Reporter,
) -> Study:
    """Return the table in ``data`` with its target, and the columns that may be learned from."""
    columns = target_options.make_columns()
    table = load_table(data, text.make_options(), report)
    target = columns.read(table)
    _note_odd_times(target, report)
    as_codes = _find_columns(table, learned.categorical, "categorical")
    dropped = column_list(learned.drop, table.columns)
    groups = learned.groups
    for name in dropped:
        if name not in table.double:
            table.column(name, "drop")
    left_out = dict.fromkeys(dropped, "as you said")
    found: dict[str, str] = {}
    if learned.features:
        names = _choose_features(table, learned.features, columns, report, target)
    else:
        if double := [name for name in table.double if name not in dropped]:
            table.column(double[0], "features")
        used = {*columns.names, *dropped, *([groups] if groups else [])}
        names = [name for name in table.columns if name not in used]
        table.refuse_doubtful(name for name in names if name not in as_codes)
        found, doubtful = columns_to_leave_out(table, names, target)
        for name, reason in doubtful.items():
            report.note(f"{name!r} has {reason}.")
    names = [name for name in names if name not in {*found, *dropped}]
    if not names:
        reasons = "; ".join(f"{name!r}: {reason}" for name, reason in list(found.items())[:3])
        raise TableError(
            f"{table.shown} has no column left to learn from{f' ({reasons})' if reasons else ''}",
            [("features", next(iter(found)))] if found else [],
        )
    if len(target) < _FEWEST_ROWS:
        raise TableError(
            f"{table.shown} must have at least {_FEWEST_ROWS} rows, so that some can be held out, "
            f"got {len(target)}"
        )
    labels = None if groups is None else read_groups(table, groups)
    frame = table.frame(names, categorical=as_codes)
    return Study(table, columns, target, frame, labels, {**left_out, **found})


def load_table(data: str, options: TextOptions, report: Reporter) -> Table:
    """Return a table, with a bar while it is read and notes on how."""
    with bar("reading") as progress:
        table = read_table(data, options, progress=_for_long(progress))
    for note in table.notes:
        report.note(note)
    return table


def _for_long(progress: Any) -> Any:
    """Show no bar for tables that are read at once."""
    calls = 0

    def show(done: int, total: int | None, unit: str) -> None:
        nonlocal calls
        calls += 1
        if calls > 1:
            progress(done, total, unit)

    return show


def _find_columns(table: Table, given: Sequence[str] | None, role: str) -> list[str]:
    names = column_list(given, table.columns)
    for name in names:
        table.column(name, role)
    return names


def _choose_features(
    table: Table,
    features: Sequence[str],
    columns: TargetColumns,
    report: Reporter,
    target: Target,
) -> list[str]:
    """Return the features that were named, with notes on those that follow from the outcome."""
    names = _find_columns(table, features, "features")
    if both := [name for name in names if name in columns.names]:
        raise TableError(f"{both[0]!r} cannot be a feature, since it is a part of the target")
    for name in names:
        if table.kinds[name] not in ("number", "text"):
            raise TableError(
                f"{name!r} cannot be a feature, since it holds "
                f"{'dates' if table.kinds[name] == 'date' else table.columns[name].type}"
            )
    found, doubtful = columns_to_leave_out(table, names, target)
    for name, reason in {**found, **doubtful}.items():
        report.note(f"{name!r} is used as you said, although it looks wrong: {reason}.")
    return names


def read_groups(table: Table, groups: str) -> NDArray[Any]:
    column = table.column(groups, "groups")
    if column.null_count:
        raise TableError(
            f"The group {groups!r} is missing in {column.null_count} of {len(column)} rows of "
            f"{table.shown}",
            remedy="fix or remove these rows",
        )
    return np.unique(np.array(column.to_pylist(), dtype=str), return_inverse=True)[1]


def _note_odd_times(target: Target, report: Reporter) -> None:
    n_negative = int((target.time < 0).sum())
    if n_negative:
        report.note(f"{n_negative} of {len(target)} times are negative.")
    if target.time.min() == target.time.max() and len(target) > 1:
        report.note("All times are the same: nothing can be learned about when events happen.")


@dataclass(frozen=True, eq=False)
class FittedData:
    """A model and a table to evaluate it on, with columns read as in the fit."""

    model: Any
    columns: TargetColumns
    table: Table
    target: Target
    train: Target | None  # of the table of the fit, where that is given
    is_training_data: bool

    def groups(self, column: str | None) -> NDArray[Any] | None:
        """Return the groups that a column names, if it is given."""
        return None if column is None else read_groups(self.table, column)

    def levels(self, column: str | None) -> Any:
        """Return a named column by which scores are told apart, if it is given."""
        if column is None:
            return None
        import pandas as pd

        return pd.Series(group_names(self.table, column, "by"), name=column)


def read_fitted(
    model: str,
    data: str,
    train: str | None,
    target_options: TargetOptions,
    text: TextFileOptions,
    report: Reporter,
) -> FittedData:
    """Load a model and read the tables to evaluate it on."""
    fitted, notes = load_model(model), load_notes(model)
    columns, options = target_options.change_columns(notes), text.make_options(notes)
    table = load_table(data, options, report)
    target = columns.read(table)
    behind = None if train is None else columns.read(load_table(train, options, report))
    is_training_data = target_digest(target) == notes.get("digest")
    return FittedData(fitted, columns, table, target, behind, is_training_data)


def row_labels(table: Table, column: str | None, n_rows: int) -> list[str]:
    """Return names of rows: those of a column, else their numbers from 1."""
    numbers = [f"row {row + 1}" for row in range(n_rows)]
    if column is None:
        return numbers
    named = table.column(column, "label").to_pylist()
    return [
        number if name is None else str(name) for name, number in zip(named, numbers, strict=True)
    ]


def group_names(table: Table, column: str, role: str) -> NDArray[Any]:
    """Return the values of a column as names of groups."""
    values = level_texts(table.column(column, role)).to_pylist()
    return np.array(["missing" if value is None else value for value in values], dtype=object)


def target_digest(target: Target) -> str:
    """Return a hash of times and events, whatever their order."""
    order = np.lexsort((target.event, target.time))
    digest = hashlib.blake2b(target.time[order].astype("<f8").tobytes(), digest_size=16)
    digest.update(target.event[order].astype("u1").tobytes())
    return digest.hexdigest()
