"""Rows on a cluster: partitions as workers read them, sums over them, and samples from them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from math import sqrt
from typing import Any

import dask.array
import dask.dataframe
import numpy as np
from dask import delayed
from numpy.typing import NDArray

from censquant._engine.training._loop import Objective
from censquant._engine.training._rows import Rows
from censquant._engine.training._shards import FeatureMoments
from censquant._typing import Floats
from censquant.dask._cluster import Session
from censquant.dask._rounds import Replica
from censquant.estimators.neural._split_fit import RowSummary, RowUnits, number_columns
from censquant.exceptions import NoEventsError
from censquant.survival import Target, read_target
from censquant.survival._columns import read_weights
from censquant.survival._target import read_columns, require_durations

_SHOWN = 8
_SPREAD = 5.0  # standard deviations by which a sample may turn out smaller than expected
_SPARE_GROUPS = 1.5
MOST_TIMES = 4_096
"""Times that a sketch keeps of events, and as many of censored rows."""


@dataclass(frozen=True)
class Layout:
    """Where features, target, weights and groups of a partition are.

    Features are columns of a frame, or an array where they have no names; the target may be a frame
    of its own, without names of columns here. ``durations`` refuses negative times.
    """

    features: tuple[Any, ...] | None
    n_features: int
    time: Any = None
    event: Any = None
    weight: Any = None
    groups: Any = None
    durations: bool = False

    @property
    def columns(self) -> list[Any]:
        """All columns of the frame that are used."""
        others = (self.time, self.event, self.weight, self.groups)
        return [*(self.features or ()), *(name for name in others if name is not None)]


@dataclass(frozen=True)
class Numbers:
    """Reads features that are numbers already."""

    features: tuple[Any, ...] | None
    width: int

    def __call__(self, X: Any) -> Floats:
        """Return finite numbers, refused by the name of their column."""
        return number_columns(X, self.features, self.width)


@dataclass(frozen=True, eq=False)
class Encoded:
    """Reads tables as a fitted estimator encodes them."""

    model: Any
    width: int

    def __call__(self, X: Any) -> Floats:
        """Return what the estimator's networks are given."""
        numbers: Floats = self.model._encode_features(X)
        return numbers


Reader = Numbers | Encoded


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a partition that are used, features as they are."""

    X: Any
    target: Target
    weight: Floats
    groups: NDArray[Any] | None

    def __len__(self) -> int:
        return len(self.target)


def read_partition(number: int, layout: Layout, X: Any, y: Any = None) -> Table:
    """Return the rows of a partition whose weight is not 0; it may have none."""
    with _naming_partition(number):
        return _read_partition(layout, X, y)


def _read_partition(layout: Layout, X: Any, y: Any) -> Table:
    if layout.features is not None:
        missing = [name for name in layout.columns if name not in X.columns]
        if missing:
            raise ValueError(
                f"every partition must have the columns {layout.columns}, got one without "
                f"{missing}."
            )
    elif np.ndim(X) != 2 or X.shape[1] != layout.n_features:
        raise ValueError(
            f"X must have {layout.n_features} columns in every block, got shape {np.shape(X)}."
        )
    n = len(X)
    if y is not None and len(y) != n:
        raise ValueError(
            f"y must have one row for each row of X, got {len(y)} rows in y and {n} in X."
        )
    features = X if layout.features is None else X[list(layout.features)]
    if n == 0:
        return Table(features, Target(np.zeros(0), np.zeros(0, bool)), np.zeros(0), None)
    if y is None:
        target = read_columns(X[layout.time], X[layout.event], name=str(layout.time))
    else:
        target = read_target(y, n_samples=n)
    weight = np.ones(n)
    if layout.weight is not None:
        weight = read_weights(X[layout.weight], n)
    groups = None if layout.groups is None else _read_groups(X[layout.groups])
    used = weight > 0
    if layout.durations:
        require_durations(target.take(used))
    if used.all():
        return Table(features, target, weight, groups)
    groups = None if groups is None else groups[used]
    return Table(features[used], target.take(used), weight[used], groups)


def _read_groups(column: Any) -> NDArray[Any]:
    """Return labels as text, which partitions of other types share: 7, 7.0 and "7" are one."""
    values = np.asarray(column)
    if values.dtype.kind == "f" and (values == np.floor(values)).all():
        values = values.astype(np.int64)
    return values.astype(str)


def read_numbers(number: int, reader: Reader, table: Table) -> Floats:
    """Return the features of a partition as numbers."""
    if not len(table):
        return np.zeros((0, reader.width))
    with _naming_partition(number):
        return np.asarray(reader(table.X), dtype=np.float64)


@contextmanager
def _naming_partition(number: int) -> Iterator[None]:
    """Name the partition in errors."""
    try:
        yield
    except TypeError as error:
        raise TypeError(f"In partition {number}: {error}") from None
    except ValueError as error:
        raise ValueError(f"In partition {number}: {error}") from None


@dataclass(frozen=True, eq=False)
class TimeSketch:
    """Times that stand for those of all rows, with the weight that each of them carries.

    Up to 4,096 distinct times of events, and as many of censored rows, are kept as they are: times
    in whole days lose nothing. Of more, neighbours are replaced by their weighted mean in groups of
    equal weight, so that means are exact and levels are right within 1/4,096. The first and the
    last time always stay.
    """

    events: tuple[Floats, Floats]
    censored: tuple[Floats, Floats]  # increasing times and their weights, as of events

    @classmethod
    def of(cls, target: Target, weight: Floats) -> "TimeSketch":
        """Return the sketch of some rows."""
        event = target.event
        return cls(
            _compress(target.time[event], weight[event]),
            _compress(target.time[~event], weight[~event]),
        )

    def merge(self, *others: "TimeSketch") -> "TimeSketch":
        """Return the sketch of these rows and those of others."""
        parts = (self, *others)
        return TimeSketch(
            _compress(*_join([part.events for part in parts])),
            _compress(*_join([part.censored for part in parts])),
        )

    @property
    def target(self) -> Target:
        """The times, in increasing order."""
        time, order = self._in_order()
        return Target(time[order], (np.arange(len(time)) < len(self.events[0]))[order])

    @property
    def weight(self) -> Floats:
        """The weight of each time of :attr:`target`."""
        _, order = self._in_order()
        return np.concatenate((self.events[1], self.censored[1]))[order]

    def _in_order(self) -> tuple[Floats, NDArray[np.intp]]:
        time = np.concatenate((self.events[0], self.censored[0]))
        return time, np.argsort(time, kind="stable")


def _join(columns: list[tuple[Floats, Floats]]) -> tuple[Any, Any]:
    times, weights = zip(*columns, strict=True)
    return np.concatenate(times), np.concatenate(weights)


def _compress(time: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return distinct times in order with their weights, at most ``MOST_TIMES``."""
    distinct, place = np.unique(time, return_inverse=True)
    total: Floats = np.bincount(place, weights=weight, minlength=len(distinct)).astype(np.float64)
    if len(distinct) <= MOST_TIMES:
        return distinct, total
    # The ends stay as they are; each other time goes to the group that its middle falls into.
    inner, own = distinct[1:-1], total[1:-1]
    middle = np.cumsum(own) - 0.5 * own
    group = np.minimum((middle / own.sum() * (MOST_TIMES - 2)).astype(np.intp), MOST_TIMES - 3)
    together = np.bincount(group, weights=own, minlength=MOST_TIMES - 2)
    sums = np.bincount(group, weights=own * inner, minlength=MOST_TIMES - 2)
    used = together > 0
    # A mean may leave its group by rounding.
    means = np.clip(sums[used] / together[used], distinct[0], distinct[-1])
    return (
        np.concatenate((distinct[:1], means, distinct[-1:])),
        np.concatenate((total[:1], together[used], total[-1:])),
    )


@dataclass(frozen=True, eq=False)
class Statistics:
    """Sums over some partitions."""

    sizes: tuple[int, ...]  # used rows of each partition; those of weight 0 are not
    moments: FeatureMoments
    times: TimeSketch

    @classmethod
    def of(cls, x: Floats, target: Target, weight: Floats) -> "Statistics":
        """Return the sums of one partition, which may be empty."""
        return cls((len(x),), FeatureMoments.of(x, weight), TimeSketch.of(target, weight))

    @property
    def n_rows(self) -> int:
        """Number of rows that are used."""
        return sum(self.sizes)

    def summary(self) -> RowSummary:
        """Return what a fit needs, refused without an event."""
        if not len(self.times.events[0]):
            raise NoEventsError(
                f"The data have no event: all {self.n_rows} rows of {len(self.sizes)} partitions "
                "are censored, so no quantile can be fitted."
            )
        scale = self.n_rows / self.moments.weight  # weights are 1 on average
        times = self.times
        return RowSummary(self.n_rows, times.target, times.weight * scale, self.moments)


def merge_statistics(parts: Sequence[Statistics]) -> Statistics:
    """Return the sums over all partitions, in their order."""
    return Statistics(
        tuple(size for part in parts for size in part.sizes),
        FeatureMoments.merged([part.moments for part in parts]),
        parts[0].times.merge(*(part.times for part in parts[1:])),
    )


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows that were drawn, with the random numbers that drew them."""

    table: Table
    keys: Floats


def sampling_share(most: int, n_rows: int, *, by_groups: bool) -> float:
    """Return the sampling fraction that yields at least ``most`` rows with high probability."""
    expected = most * _SPARE_GROUPS if by_groups else most + _SPREAD * sqrt(most)
    return min(1.0, expected / max(n_rows, 1))


def draw_sample(table: Table, number: int, share: float, seed: int) -> Sample:
    """Return the rows of a partition whose random number is below the share.

    The number belongs to the group, where there are groups, and to the row otherwise. It depends on
    nothing but the seed and the label, or the place of the row.
    """
    if table.groups is None:
        keys = np.random.default_rng([seed, number]).random(len(table))
    else:
        labels, place = np.unique(table.groups, return_inverse=True)
        keys = np.array([_hash_label(label, seed) for label in labels])[place]
    # The group of the smallest number of all comes whole, even if it is larger than the share.
    least = keys.min(initial=1.0) if table.groups is not None else -1.0
    return _take(table, keys, np.flatnonzero((keys < share) | (keys == least)))


def join_samples(samples: Sequence[Sample], most: int, share: float) -> Sample:
    """Return the rows of the smallest random numbers, at most so many, in the order of these.

    Groups are taken whole, at least one.
    """
    used = [sample for sample in samples if len(sample.table)]
    tables = [sample.table for sample in used]
    keys = np.concatenate([sample.keys for sample in used])
    grouped = tables[0].groups is not None
    together = Table(
        _stack([table.X for table in tables]),
        Target(
            np.concatenate([table.target.time for table in tables]),
            np.concatenate([table.target.event for table in tables]),
        ),
        np.concatenate([table.weight for table in tables]),
        np.concatenate([table.groups for table in tables]) if grouped else None,
    )
    order = np.argsort(keys, kind="stable")
    order = order[(keys[order] < share) | (keys[order] == keys.min())]
    if len(order) > most:
        last = order[:most][-1]
        following = keys[order[most]]
        if grouped and keys[last] == following:  # a group that does not fit in
            whole = order[keys[order] < following]
            order = whole if len(whole) else order[keys[order] == following]
        else:
            order = order[:most]
    return _take(together, keys, order)


def _take(table: Table, keys: Floats, rows: NDArray[np.intp]) -> Sample:
    X = table.X.iloc[rows] if hasattr(table.X, "iloc") else table.X[rows]
    groups = None if table.groups is None else table.groups[rows]
    return Sample(Table(X, table.target.take(rows), table.weight[rows], groups), keys[rows])


def _stack(parts: list[Any]) -> Any:
    if not hasattr(parts[0], "iloc"):
        return np.concatenate(parts)
    import pandas as pd

    return pd.concat(parts, ignore_index=True)


def _hash_label(label: str, seed: int) -> float:
    """Return a number in [0, 1) that is the same for a label in every partition."""
    digest = blake2b(f"{seed} {label}".encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2.0**64


@dataclass(frozen=True, eq=False)
class Partitions:
    """The partitions of a fit as tasks that have not run."""

    tasks: list[tuple[Any, ...]]  # features or the whole frame, and the target if it is apart
    layout: Layout

    def statistics(self, session: Session, reader: Reader | None) -> Statistics:
        """Return sums over all partitions; without a reader those of targets alone."""
        futures = self._compute(session, _summarise, delayed(reader, traverse=False))
        root = session.reduce(merge_statistics, futures)
        statistics: Statistics = session.result(root)
        session.release([*futures, root])
        return statistics

    def sample(self, session: Session, most: int, n_rows: int, seed: int) -> Table:
        """Return at most so many rows of all, or whole groups, drawn at random."""
        share = sampling_share(most, n_rows, by_groups=self.layout.groups is not None)
        futures = self._compute(session, _sample, share, seed)
        samples: list[Sample] = session.results(futures)
        session.release(futures)
        return join_samples(samples, most, share).table

    def replicas(
        self, session: Session, reader: Reader, preparation: "Preparation", groups: list[list[int]]
    ) -> list[Any]:
        """Return futures of the rows of each copy of the network, spread over the workers."""
        shared, prepared = delayed(reader, traverse=False), delayed(preparation, traverse=False)
        futures = self._compute(session, _prepare, shared, prepared)
        # One place per thread, first one on each worker.
        threads = session.threads
        places = sorted((turn, name) for name, n in threads.items() for turn in range(n))
        replicas = [
            session.submit(
                join_rows,
                number,
                [futures[part] for part in parts],
                worker=places[number % len(places)][1],
            )
            for number, parts in enumerate(groups)
        ]
        session.release(futures)
        return replicas

    def _compute(self, session: Session, function: Any, *shared: Any) -> list[Any]:
        """Return futures of what a function makes of each partition."""
        task = delayed(function)
        return session.compute(
            [task(number, self.layout, *shared, *parts) for number, parts in enumerate(self.tasks)]
        )


@dataclass(frozen=True, eq=False)
class Preparation:
    """How a partition becomes rows to train on and validation rows."""

    units: RowUnits
    objective: Objective  # bound
    weight_scale: float  # makes weights 1 on average
    held_out: float  # share of validation rows
    seed: int


def _summarise(number: int, layout: Layout, reader: Reader | None, *parts: Any) -> Statistics:
    table = read_partition(number, layout, *parts)
    x = np.zeros((len(table), 0)) if reader is None else read_numbers(number, reader, table)
    return Statistics.of(x, table.target, table.weight)


def _sample(number: int, layout: Layout, share: float, seed: int, *parts: Any) -> Sample:
    return draw_sample(read_partition(number, layout, *parts), number, share, seed)


def _prepare(
    number: int, layout: Layout, reader: Reader, preparation: Preparation, *parts: Any
) -> tuple[Rows, Rows]:
    table = read_partition(number, layout, *parts)
    x = read_numbers(number, reader, table)
    rows = preparation.units.rows(x, table.target, table.weight * preparation.weight_scale)
    rows = preparation.objective.prepare(rows)
    draws = np.random.default_rng([preparation.seed, number]).random(len(rows))
    held = draws < preparation.held_out
    return rows.take(np.flatnonzero(~held)), rows.take(np.flatnonzero(held))


def join_rows(number: int, parts: list[tuple[Rows, Rows]]) -> Replica:
    """Return the rows of one copy of the network, from the partitions that belong to it."""
    return Replica(number, *(_concatenate(rows) for rows in zip(*parts, strict=True)))


def _concatenate(parts: tuple[Rows, ...]) -> Rows:
    columns = [np.concatenate(column) for column in zip(*(p.arrays() for p in parts), strict=True)]
    names = ("x", "time", "event", "weight", "level")
    return Rows(**dict(zip(names, columns, strict=True)))


def balance(sizes: tuple[int, ...], n_groups: int) -> list[list[int]]:
    """Return the partitions of each group, such that groups have about equally many rows."""
    groups: list[list[int]] = [[] for _ in range(n_groups)]
    totals = [0] * n_groups
    for part in sorted(range(len(sizes)), key=lambda part: (-sizes[part], part)):
        if sizes[part]:
            lightest = totals.index(min(totals))
            groups[lightest].append(part)
            totals[lightest] += sizes[part]
    return groups


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
        return _read_array(X, y, (time, features, weight, groups))
    named = {"time": time, "event": event, "weight": weight, "groups": groups}
    for argument, name in named.items():
        if name is not None and name not in X.columns:
            raise ValueError(
                f"{argument} must be a column of X, got {name!r}; there are "
                f"{_list_names(X.columns)}."
            )
    used = [name for name in named.values() if name is not None]
    if features is None:
        features = [name for name in X.columns if name not in used]
    elif isinstance(features, str) or any(name not in X.columns for name in features):
        raise ValueError(
            f"features must be a list of columns of X, got {features!r}; there are "
            f"{_list_names(X.columns)}."
        )
    elif both := [name for name in features if name in used]:
        raise ValueError(f"features must not hold a column with another role, got {both}.")
    layout = Layout(tuple(features), len(features), **named)
    if set(layout.columns) != set(X.columns):
        X = X[layout.columns]  # files are then read in these columns only
    return _pair_parts(X.to_delayed(), y, layout)


def _read_array(X: dask.array.Array, y: Any, names: tuple[Any, ...]) -> Partitions:
    if X.ndim != 2 or y is None or any(name is not None for name in names):
        raise ValueError(
            "X as an Array of dask must have two dimensions and come with y and without names of "
            f"columns, got {X.ndim} dimensions: pass a DataFrame to name columns."
        )
    layout = Layout(None, int(X.shape[1]))
    return _pair_parts(list(X.rechunk({1: -1}).to_delayed().ravel()), y, layout)


def _pair_parts(parts: list[Any], y: Any, layout: Layout) -> Partitions:
    if y is None:
        return Partitions([(part,) for part in parts], layout)
    targets = y.to_delayed()
    if len(targets) != len(parts):
        raise ValueError(
            "X and y must have the same partitions, got "
            f"{len(parts)} and {len(targets)}: take both from one frame, or repartition them."
        )
    return Partitions(list(zip(parts, targets, strict=True)), layout)


def _list_names(names: Any) -> str:
    listed = ", ".join(repr(name) for name in list(names)[:_SHOWN])
    return f"{listed}, ..." if len(names) > _SHOWN else listed
