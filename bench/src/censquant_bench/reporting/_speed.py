"""Training time on the machine beside what a plain torch loop would have needed on one core."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from censquant.cli._tables import Table, TableCell
from censquant_bench.reporting._summary import Labels, fine
from censquant_bench.reporting._tables import number

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class TrainingTime:
    """Training of some runs, and of the same steps in a plain torch loop.

    Parameters
    ----------
    n_runs : int
        Runs that did not fail.
    n_steps : float
        Optimiser steps of all runs; NaN where no run has any.
    seconds : float
        Time of the machine: the seconds of each fit over the fits running beside it.
    plain_seconds : float
        Steps times the seconds of a plain step, one core; NaN where none was measured.
    ratio : float
        Plain over ours, over the runs in which both are known.

    Examples
    --------
    >>> from censquant_bench.reporting._speed import TrainingTime
    >>> TrainingTime(10, 4000, 0.5, 6.0, 12.0).ratio
    12.0
    """

    n_runs: int
    n_steps: float
    seconds: float
    plain_seconds: float
    ratio: float


def training_time(frame: DataFrame) -> TrainingTime:
    """Sum of the training times of all runs that did not fail.

    A fit that shares the machine with others is slower than alone, and so its seconds are divided
    by the number of fits that ran at a time, by the clock: the sum is the time that all fits
    together took the machine, as long as its workers are kept busy.

    Parameters
    ----------
    frame : DataFrame
        One row per run.

    Returns
    -------
    time : TrainingTime

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.reporting import training_time
    >>> rows = pd.DataFrame({"suite": "main", "dataset": "a", "method": "m", "split": "random",
    ...     "variant": "", "seed": [1, 2], "fit_seconds": 0.1, "n_steps": 400, "n_slots": 2,
    ...     "plain_step_seconds": 0.0015})
    >>> round(training_time(rows).ratio, 6)
    12.0
    """
    rows = fine(frame)
    ours = rows["fit_seconds"] / rows["n_slots"]
    plain = rows["n_steps"] * rows["plain_step_seconds"]
    both = ours.notna() & plain.notna()
    beside = float(ours[both].sum())
    return TrainingTime(
        len(rows),
        float(rows["n_steps"].sum(min_count=1)),
        float(ours.sum()),
        float(plain[both].sum()) if both.any() else math.nan,
        float(plain[both].sum()) / beside if beside > 0 else math.nan,
    )


def speed_table(frame: DataFrame, labels: Labels) -> Table:
    """Training time by method and over all, with a verdict in one sentence below.

    Parameters
    ----------
    frame : DataFrame
        One row per run.
    labels : Labels
        Titles.

    Returns
    -------
    table : Table

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.reporting import Labels, speed_table
    >>> rows = pd.DataFrame({"suite": "main", "dataset": "a", "method": "m", "split": "random",
    ...     "variant": "", "seed": [1, 2], "fit_seconds": 0.1, "n_steps": 400, "n_slots": 2,
    ...     "plain_step_seconds": 0.0015})
    >>> print(speed_table(rows, Labels()).notes[0])
    2 runs trained in 0.1 s with 2 fits at a time; a plain torch loop on one core would have
    needed 1.2 s: 12.0 times as long.
    """
    rows = fine(frame)
    lines = []
    for method in labels.ordered_methods(rows["method"]):
        lines.append(_line(labels.method(method), training_time(rows[rows["method"] == method])))
    nothing = TrainingTime(0, math.nan, 0.0, math.nan, math.nan)
    lines.append(_line("All methods", training_time(rows) if len(rows) else nothing))
    return Table(
        "Training time",
        ("Method", "Runs", "Steps", "Seconds here", "Seconds of a plain loop", "Ratio"),
        tuple(lines),
        tuple(_verdict(rows)),
        breaks=frozenset({len(lines) - 1}),
    )


def _line(title: str, time: TrainingTime) -> tuple[TableCell, ...]:
    texts = [title, f"{time.n_runs}", number(time.n_steps, 0), number(time.seconds, 1)]
    texts += [number(time.plain_seconds, 1), number(time.ratio, 1)]
    return tuple(TableCell(text) for text in texts)


def _verdict(rows: DataFrame) -> list[str]:
    """Sentences on the runs whose steps a plain loop could be held against."""
    if not len(rows):
        return ["No run succeeded, so there is no training time to compare."]
    known = rows[(rows["fit_seconds"] * rows["n_steps"] * rows["plain_step_seconds"]).notna()]
    if not len(known):
        return ["No step of a plain torch loop was measured beside these runs."]
    time = training_time(known)
    slots = sorted({max(1, round(value)) for value in known["n_slots"]})
    many = f"{slots[0]}" if len(slots) == 1 else f"{slots[0]} to {slots[-1]}"
    verdict = (
        f"{_runs(time.n_runs)} trained in {number(time.seconds, 1)} s with "
        f"{many} fit{'' if many == '1' else 's'} at a time; a plain torch loop on one core would "
        f"have needed {number(time.plain_seconds, 1)} s: {number(time.ratio, 1)} times as long."
    )
    rest = len(rows) - len(known)
    return [verdict, *[f"{_runs(rest)} with no plain loop to compare left out."] * (rest > 0)]


def _runs(count: int) -> str:
    return f"{count} run{'' if count == 1 else 's'}"
