"""Data frames and arrays of dask: the partitions of a fit, and where their columns are."""

from dataclasses import dataclass
from typing import Any

import dask.array
import dask.dataframe
import numpy as np
from dask import delayed

from censquant._engine.training._loop import Objective
from censquant._engine.training._rows import Rows
from censquant.dask._cluster import Session
from censquant.dask._reading import Layout, Reader, Table, read_numbers, read_table
from censquant.dask._rounds import Replica
from censquant.dask._sampling import Sample, drawn, joined, share_of
from censquant.dask._statistics import Statistics, merged
from censquant.estimators.neural import RowUnits

_SHOWN = 8


@dataclass(frozen=True, eq=False)
class Partitions:
    """The partitions of a fit as tasks that have not run.

    Parameters
    ----------
    tasks : list of tuple
        Features, or the whole frame, and the target if it is a collection of its own.
    layout : Layout
    """

    tasks: list[tuple[Any, ...]]
    layout: Layout

    def statistics(self, session: Session, reader: Reader | None) -> Statistics:
        """Return sums over all partitions; without a reader those of targets alone."""
        shared = delayed(reader, traverse=False)
        futures = session.compute(
            [
                delayed(_summarised)(number, self.layout, shared, *parts)
                for number, parts in enumerate(self.tasks)
            ]
        )
        root = session.reduce(merged, futures)
        statistics: Statistics = session.result(root)
        session.release([*futures, root])
        return statistics

    def sample(self, session: Session, most: int, n_rows: int, seed: int) -> Table:
        """Return at most so many rows of all, or whole groups, drawn at random."""
        share = share_of(most, n_rows, by_groups=self.layout.groups is not None)
        futures = session.compute(
            [
                delayed(_sampled)(number, self.layout, share, seed, *parts)
                for number, parts in enumerate(self.tasks)
            ]
        )
        samples: list[Sample] = session.results(futures)
        session.release(futures)
        return joined(samples, most, share).table

    def replicas(
        self, session: Session, reader: Reader, preparation: "Preparation", groups: list[list[int]]
    ) -> list[Any]:
        """Return futures of the rows of each copy of the network, spread over the workers."""
        shared, prepared = delayed(reader, traverse=False), delayed(preparation, traverse=False)
        futures = session.compute(
            [
                delayed(_prepared)(number, self.layout, shared, prepared, *parts)
                for number, parts in enumerate(self.tasks)
            ]
        )
        # One place per thread, first one on each worker.
        threads = session.threads
        places = sorted((turn, name) for name, n in threads.items() for turn in range(n))
        replicas = [
            session.submit(
                joined_rows,
                number,
                [futures[part] for part in parts],
                worker=places[number % len(places)][1],
            )
            for number, parts in enumerate(groups)
        ]
        session.release(futures)
        return replicas


@dataclass(frozen=True, eq=False)
class Preparation:
    """How a partition becomes rows to train on and rows to judge by.

    Parameters
    ----------
    units : RowUnits
    objective : Objective
        Bound.
    weight_scale : float
        Makes weights 1 on average.
    held_out : float
        Share of rows to judge by.
    seed : int
    """

    units: RowUnits
    objective: Objective
    weight_scale: float
    held_out: float
    seed: int


def _summarised(number: int, layout: Layout, reader: Reader | None, *parts: Any) -> Statistics:
    table = read_table(number, layout, *parts)
    x = np.zeros((len(table), 0)) if reader is None else read_numbers(number, reader, table)
    return Statistics.of(x, table.target, table.weight)


def _sampled(number: int, layout: Layout, share: float, seed: int, *parts: Any) -> Sample:
    return drawn(read_table(number, layout, *parts), number, share, seed)


def _prepared(
    number: int, layout: Layout, reader: Reader, preparation: Preparation, *parts: Any
) -> tuple[Rows, Rows]:
    table = read_table(number, layout, *parts)
    x = read_numbers(number, reader, table)
    rows = preparation.units.rows(x, table.target, table.weight * preparation.weight_scale)
    rows = preparation.objective.prepare(rows)
    draws = np.random.default_rng([preparation.seed, number]).random(len(rows))
    held = draws < preparation.held_out
    return rows.take(np.flatnonzero(~held)), rows.take(np.flatnonzero(held))


def joined_rows(number: int, parts: list[tuple[Rows, Rows]]) -> Replica:
    """Return the rows of one copy of the network, from the partitions that belong to it."""
    return Replica(number, *(_concatenated(rows) for rows in zip(*parts, strict=True)))


def _concatenated(parts: tuple[Rows, ...]) -> Rows:
    columns = [np.concatenate(column) for column in zip(*(p.arrays() for p in parts), strict=True)]
    names = ("x", "time", "event", "weight", "level")
    return Rows(**dict(zip(names, columns, strict=True)))


def balanced(sizes: tuple[int, ...], n_groups: int) -> list[list[int]]:
    """Return the partitions of each group, such that groups have about equally many rows."""
    groups: list[list[int]] = [[] for _ in range(n_groups)]
    totals = [0] * n_groups
    for part in sorted(range(len(sizes)), key=lambda part: (-sizes[part], part)):
        if sizes[part]:
            lightest = totals.index(min(totals))
            groups[lightest].append(part)
            totals[lightest] += sizes[part]
    return groups


# What a user passes


def is_collection(X: Any) -> bool:
    """Whether ``X`` is a data frame or an array of dask."""
    return isinstance(X, dask.dataframe.DataFrame | dask.array.Array)


def read_collections(
    X: Any,
    y: Any,
    *,
    time: Any,
    event: Any,
    features: Any,
    weight: Any,
    groups: Any = None,
) -> Partitions:
    """Return the partitions of a fit, refused where names or partitions do not match."""
    if not is_collection(X):
        raise TypeError(
            "X must be a DataFrame or an Array of dask, got "
            f"{type(X).__name__}: use dask.dataframe.from_pandas, or the estimator without Dask."
        )
    if (y is None) == (time is None and event is None) or (time is None) != (event is None):
        raise ValueError(
            "fit must be given the columns time= and event= of one frame, or y, and not both."
        )
    if y is not None and not isinstance(y, dask.dataframe.DataFrame):
        raise TypeError(
            "y must be a DataFrame of dask with the columns 'time' and 'event', got "
            f"{type(y).__name__}."
        )
    if isinstance(X, dask.array.Array):
        return _of_array(X, y, (time, features, weight, groups))
    named = {"time": time, "event": event, "weight": weight, "groups": groups}
    for argument, name in named.items():
        if name is not None and name not in X.columns:
            raise ValueError(
                f"{argument} must be a column of X, got {name!r}; there are {_shown(X.columns)}."
            )
    used = [name for name in named.values() if name is not None]
    if features is None:
        features = [name for name in X.columns if name not in used]
    elif isinstance(features, str) or any(name not in X.columns for name in features):
        raise ValueError(
            f"features must be a list of columns of X, got {features!r}; there are "
            f"{_shown(X.columns)}."
        )
    elif both := [name for name in features if name in used]:
        raise ValueError(f"features must not hold a column with another role, got {both}.")
    layout = Layout(tuple(features), len(features), **named)
    if set(layout.columns) != set(X.columns):
        X = X[layout.columns]  # files are then read in these columns only
    return _of_parts(X.to_delayed(), y, layout)


def _of_array(X: dask.array.Array, y: Any, names: tuple[Any, ...]) -> Partitions:
    if X.ndim != 2 or y is None or any(name is not None for name in names):
        raise ValueError(
            "X as an Array of dask must have two dimensions and come with y and without names of "
            f"columns, got {X.ndim} dimensions: pass a DataFrame to name columns."
        )
    layout = Layout(None, int(X.shape[1]))
    return _of_parts(list(X.rechunk({1: -1}).to_delayed().ravel()), y, layout)


def _of_parts(parts: list[Any], y: Any, layout: Layout) -> Partitions:
    if y is None:
        return Partitions([(part,) for part in parts], layout)
    targets = y.to_delayed()
    if len(targets) != len(parts):
        raise ValueError(
            "X and y must have the same partitions, got "
            f"{len(parts)} and {len(targets)}: take both from one frame, or repartition them."
        )
    return Partitions(list(zip(parts, targets, strict=True)), layout)


def _shown(names: Any) -> str:
    listed = ", ".join(repr(name) for name in list(names)[:_SHOWN])
    return f"{listed}, ..." if len(names) > _SHOWN else listed
