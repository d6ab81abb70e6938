"""How long individuals like a given one were followed: a forest of censoring curves.

It limits what is identified by the data: a curve is trusted up to the end of follow-up of similar
individuals.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from censquant._storage._codec import Array, Fields, Object, Reader, Writer, refuse_arrays, require
from censquant._trees._bins import assign_bins, edges_of, stride
from censquant._trees._follow_up_kernels import (
    MOST_ROWS_PER_TREE,
    N_BINS,
    NO_BIN,
    DrawWork,
    GrowWork,
    Moments,
    Rows,
    Sample,
    SplitRule,
    censoring_curve,
    draw_rows,
    find_leaves,
    grow_tree,
    leaf_curves,
    leaf_limits,
    levels_at,
    martingale_residuals,
    second_smallest,
)
from censquant._typing import Floats
from censquant.quantiles import QuantileCurve
from censquant.quantiles._curve import reach_until
from censquant.survival import Target
from censquant.survival._kaplan_meier import LAST_FOLLOWED_SHARE
from censquant.survival._target import GeneralTarget
from censquant.survival._transform import TimeTransform

# What trees split by; see `_follow_up_kernels`.
_EVENT, _CENSORING = 0, 1
_MOST_ROWS = 50_000
_MOST_FEATURES = 64
_ROWS_FOR_BINS = 1_024
_ROWS_FOR_SCORES = 500
_CELLS_FOR_SCREENING = 2_000_000
_FEATURES_AT_A_TIME = 1_024
_N_TIMES = 32
_DEEPEST = 32  # splits of trees in a file
# A curve may jump at the very time at which follow-up ends, which both know up to rounding: the
# jump is reached, whatever the unit of time rounds it to.
TIME_ROUNDING = 1e-12  # relative


@dataclass(frozen=True)
class _Growth:
    """How trees are grown: by which jumps, how many, how deep, from how many rows.

    ``chance`` is roughly the probability that features without any effect split a node.
    """

    jump: int
    n_trees: int
    depth: int
    min_leaf: int
    min_split: int
    chance: float
    fewest_rows: int

    def n_rows(self, n: int) -> int:
        """Return how many of ``n`` rows choose the splits of one tree."""
        return max(1, min(7 * n // 10, self.fewest_rows + n // 8, MOST_ROWS_PER_TREE))

    def critical_value(self, n_features: int) -> float:
        """Return the log-rank statistic from which on a split is significant."""
        # Two halves of the jumps make it chi-squared with two degrees of freedom.
        return float(2.0 * np.log(max(n_features, 1) / self.chance))


_BY_CENSORING = _Growth(
    _CENSORING, n_trees=8, depth=7, min_leaf=15, min_split=50, chance=0.2, fewest_rows=700
)
_BY_EVENTS = _Growth(
    _EVENT, n_trees=5, depth=5, min_leaf=30, min_split=80, chance=0.05, fewest_rows=700
)


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees on bins of features and on one linear score per tree; all nodes are in one array."""

    slope: Floats
    constant: Floats
    root: NDArray[np.int64]
    nodes: NDArray[np.int64]
    depth: int

    @property
    def leaves(self) -> NDArray[np.intp]:
        """Places of the nodes without children, which are their own left child."""
        return np.flatnonzero(self.nodes >> 32 == np.arange(len(self.nodes)))

    def arrays(self) -> tuple[Floats, Floats, NDArray[np.int64], NDArray[np.int64]]:
        """Return the arrays in the order of the constructor."""
        return self.slope, self.constant, self.root, self.nodes

    def leaves_of(self, codes: NDArray[np.uint8]) -> NDArray[np.uint32]:
        """Return the leaf of every row in each tree, of shape (n_trees, n)."""
        leaf_of = np.empty((len(self.root), len(codes)), np.uint32)
        find_leaves(codes, *self.arrays(), self.depth, leaf_of)
        return leaf_of

    def describe(self) -> dict[str, int]:
        """Return sizes as plain data."""
        return {
            "n_trees": len(self.root),
            "n_nodes": len(self.nodes),
            "n_leaves": len(self.leaves),
            "depth": self.depth,
        }


@dataclass(frozen=True, eq=False)
class _TrainingTable:
    """Rows in order of time, events before censorings of the same time, with binned features."""

    columns: NDArray[np.int64]
    edges: Floats
    rows: Rows
    moments: Moments

    @classmethod
    def from_rows(
        cls,
        x: NDArray[Any],
        time: NDArray[Any],
        event: NDArray[np.bool_],
        weight: NDArray[Any],
        rng: np.random.Generator,
    ) -> Self:
        """Take the rows, or of very many a sample drawn by weight, and the features that matter."""
        if len(x) > _MOST_ROWS:
            drawn = _drawn(weight, rng)
            x, time, event, weight = x[drawn], time[drawn], event[drawn], np.ones(_MOST_ROWS)
        order = _order(time, event)
        time = time[order].astype(np.float64)
        keys = 2 * np.concatenate(([0], np.cumsum(time[1:] > time[:-1]))) + ~event[order]
        columns = _columns(x, order, keys)
        x = _take_columns(x[order], columns)
        edges = edges_of(x[:: stride(len(x), _ROWS_FOR_BINS)], N_BINS)
        codes, weight = assign_bins(x, edges, 1), weight[order].astype(np.float64)
        return cls(columns, edges, Rows(time, keys, weight, codes), _moments(codes))

    def grow(self, growth: _Growth, rng: np.random.Generator) -> Trees:
        """Return trees that are each grown on random rows."""
        n, p = len(self.rows.keys), len(self.columns)
        m = growth.n_rows(n)
        cumulative, uniform = np.cumsum(self.rows.weight), rng.random((growth.n_trees, m))
        critical = growth.critical_value(p)
        rule = SplitRule(growth.jump, growth.depth, growth.min_leaf, growth.min_split, critical)
        drawing = DrawWork(np.empty(m, np.int64), np.empty(n, np.int64), np.empty(n), np.empty(p))
        sample = Sample(np.empty((m, p + 1), np.uint8), np.empty(m, np.int64))
        growing = GrowWork.make(m, p + 1, growth.depth)
        slope, constant = np.empty((growth.n_trees, p)), np.empty(growth.n_trees)
        root = np.empty(growth.n_trees, np.int64)
        nodes = np.empty(growth.n_trees * len(growing.tree), np.int64)
        n_nodes = 0
        for k in range(growth.n_trees):
            constant[k] = draw_rows(
                self.rows,
                self.moments,
                cumulative,
                uniform[k],
                growth.jump,
                _ROWS_FOR_SCORES,
                drawing,
                slope[k],
                sample,
            )
            root[k] = n_nodes
            seed = int(uniform[k, 0] * 2.0**31)
            n_nodes = grow_tree(sample, rule, seed, growing, n_nodes, nodes)
        return Trees(slope, constant, root, nodes[:n_nodes].copy(), growth.depth)


def _take_columns(x: NDArray[Any], columns: NDArray[np.int64]) -> Floats:
    """Return some columns as the kernels read them."""
    taken = x if len(columns) == x.shape[1] else x[:, columns]
    return np.ascontiguousarray(taken, dtype=np.float64)


def _drawn(weight: NDArray[Any], rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw rows by weight, one from each of equally heavy strata."""
    cumulative = np.cumsum(weight, dtype=np.float64)
    place = (np.arange(_MOST_ROWS) + rng.random(_MOST_ROWS)) * (cumulative[-1] / _MOST_ROWS)
    drawn: NDArray[np.intp] = np.searchsorted(cumulative[:-1], place, side="right")
    return drawn


def _moments(codes: NDArray[np.uint8]) -> Moments:
    """Return the mean of the bins and the inverse of their covariance."""
    some = codes[:: stride(len(codes), _ROWS_FOR_BINS), :-1].astype(np.float64)
    mean: Floats = some.mean(axis=0)
    some -= mean
    covariance = some.T @ some / len(some)
    # Features may be constant or copies of each other.
    covariance += np.diag(1e-3 * np.diag(covariance) + 1e-6)
    return Moments(mean, np.asarray(np.linalg.inv(covariance), np.float64))


def _order(time: NDArray[Any], event: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the order of time, events before censorings of the same time."""
    order = np.argsort(time)
    sorted_time = time[order]
    if (sorted_time[1:] == sorted_time[:-1]).any():
        return np.lexsort((~event, time))
    return order


def _columns(
    x: NDArray[Any], order: NDArray[np.intp], keys: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the features to use: all, or of very many those that best explain either residual."""
    n, p = x.shape
    if p <= _MOST_FEATURES:
        return np.arange(p)
    some = np.arange(0, n, stride(n, max(200, _CELLS_FOR_SCREENING // p)))
    residuals = np.empty((2, len(some)))
    for jump in (_EVENT, _CENSORING):
        martingale_residuals(keys, some, len(some), jump, residuals[jump])
    strength = np.empty((2, p))
    for start in range(0, p, _FEATURES_AT_A_TIME):
        block = slice(start, start + _FEATURES_AT_A_TIME)
        values = np.ascontiguousarray(x[order[some], block], dtype=np.float64)
        bins = assign_bins(values, edges_of(values, N_BINS)).astype(np.float64)
        spread = np.maximum(bins.std(axis=0), 1e-9)
        strength[:, block] = np.abs(residuals @ (bins - bins.mean(axis=0))) / spread
    strongest = np.argsort(-strength, axis=1, kind="stable")[:, : _MOST_FEATURES // 2]
    return np.unique(strongest).astype(np.int64)


@dataclass(frozen=True, eq=False)
class FollowUp:
    """Forest that estimates how long individuals like a given one were followed.

    Trees group training rows by the distribution of their *censoring* times: they split by the
    log-rank statistic of censoring, on bins of the features and on a linear score of them, and only
    where it is significant. In each leaf the Kaplan-Meier curve of the censoring time gives the
    last time at which 3 % (``LAST_FOLLOWED_SHARE``) would still be under observation, and
    :meth:`limit` is the second smallest of the trees' limits, since a leaf that mixes individuals
    with different ends of follow-up has the limit of the longest. A few more trees, split by the
    events, estimate the share of individuals that had the event by then. No predicted curve enters.

    Only the order of a feature's values matters, and another unit of time changes the limits as it
    changes times. Censoring that depends on the event time, given the features, is not detected.
    """

    n_features: int
    columns: NDArray[np.int64]
    edges: Floats
    by_censoring: Trees
    limits: Floats
    by_events: Trees
    curve: NDArray[np.float32]
    grid: Floats

    @classmethod
    def fit(
        cls,
        x: NDArray[Any],
        time: NDArray[Any],
        event: NDArray[np.bool_],
        weight: NDArray[Any],
        rng: np.random.Generator,
    ) -> Self:
        """Learn from rows of any shape (n, ...), their times in any unit and their weights."""
        x = x.reshape(len(x), -1)
        if event.all():
            return cls._unlimited(x.shape[1])
        table = _TrainingTable.from_rows(x, time, event, weight, rng)
        by_censoring = table.grow(_BY_CENSORING, rng)
        limits = _limits(table, by_censoring, latest=float(time.max()))
        # Levels are only needed at limits.
        ends = np.sort(limits[by_censoring.leaves])
        grid = np.unique(ends[np.linspace(0, len(ends) - 1, _N_TIMES).astype(np.intp)])
        by_events = table.grow(_BY_EVENTS, rng)
        curve = _curves(table, by_events, grid)
        return cls(
            x.shape[1], table.columns, table.edges, by_censoring, limits, by_events, curve, grid
        )

    @classmethod
    def _unlimited(cls, n_features: int) -> Self:
        """Return the model of data in which nothing is censored."""
        places, values = np.zeros(0, np.int64), np.zeros(0)
        none = Trees(np.zeros((0, 0)), values, places, places, 0)
        edges, curve = np.zeros((0, N_BINS - 1)), np.zeros((0, 0), np.float32)
        return cls(n_features, places, edges, none, values, none, curve, values)

    def limit(self, x: NDArray[Any]) -> Floats:
        """Return the time up to which individuals like each row were followed.

        It is infinite if nothing was censored. Rows do not depend on each other.
        """
        return self._limit(self._codes(x))

    def limit_and_level(self, x: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return :meth:`limit` and the share of similar individuals that had the event by then.

        The share is a Kaplan-Meier estimate, so no curve of a model can raise it: the highest level
        that was reached while individuals were followed.
        """
        codes = self._codes(x)
        limit, level = self._limit(codes), np.ones(len(x))
        if len(self.grid):
            levels_at(self.curve, self.by_events.leaves_of(codes), self.grid, limit, level)
        return limit, level

    def _limit(self, codes: NDArray[np.uint8]) -> Floats:
        limit = np.full(len(codes), np.inf)
        if len(self.limits):
            second_smallest(self.limits, self.by_censoring.leaves_of(codes), limit)
        return limit

    def _codes(self, x: NDArray[Any]) -> NDArray[np.uint8]:
        flat = x.reshape(len(x), -1)
        if flat.shape[1] != self.n_features:
            raise ValueError(
                f"x must have {self.n_features} features as in fit, got {flat.shape[1]}."
            )
        return assign_bins(_take_columns(flat, self.columns), self.edges, 1)

    def describe(self) -> dict[str, Any]:
        """Return what the model consists of as plain data."""
        return {
            "kind": "forest",
            "n_features": self.n_features,
            "n_used_features": len(self.columns),
            "share": LAST_FOLLOWED_SHARE,
            "by_censoring": self.by_censoring.describe(),
            "by_events": self.by_events.describe(),
        }


def _limits(table: _TrainingTable, trees: Trees, latest: float) -> Floats:
    """Return the limit of each leaf; where the data show no end it is the ``latest`` time."""
    rows, n_nodes = table.rows, len(trees.nodes)
    whole, limits = np.empty(len(rows.time)), np.full(n_nodes, np.inf)
    censoring_curve(rows.keys, rows.weight, rows.weight.sum(), whole)
    leaf_of, work, last = trees.leaves_of(rows.codes), np.zeros((3, n_nodes)), np.full(n_nodes, -1)
    leaf_limits(leaf_of, rows, whole, LAST_FOLLOWED_SHARE, work, last, limits)
    limits[limits == np.inf] = latest
    return limits


def _curves(table: _TrainingTable, trees: Trees, grid: Floats) -> NDArray[np.float32]:
    """Return for each leaf the share of events up to each time of a grid."""
    curve = np.empty((len(trees.nodes), len(grid)), np.float32)
    work = np.zeros((3, len(trees.nodes)))
    leaf_curves(trees.leaves_of(table.rows.codes), trees.root, table.rows, grid, work, curve)
    return curve


def followed(
    follow_up: FollowUp | None,
    x: NDArray[Any],
    transform: TimeTransform,
    observed: tuple[float, float],
    scaled: Callable[[NDArray[Any]], NDArray[Any]] | None = None,
) -> tuple[Floats, Floats]:
    """Return the time up to which individuals were followed, and the level reached by then.

    Both are in the user's terms: for left-censored times the earliest time and the lowest level.
    ``follow_up`` is None where nothing was censored; ``observed`` are the first and the last time
    of the fit, which limit every individual; ``scaled`` leads to features as ``follow_up`` knows
    them.
    """
    left = transform.mirror
    end = observed[0] if left else observed[1]
    if follow_up is None:
        return np.full(len(x), end), np.full(len(x), 0.0 if left else 1.0)
    limit, level = follow_up.limit_and_level(x if scaled is None else scaled(x))
    time = transform.inverse(limit)
    return (np.maximum(time, end), 1.0 - level) if left else (np.minimum(time, end), level)


class _Followed(Protocol):
    """A fitted model that knows how long individuals were followed."""

    def _followed(self, features: NDArray[Any]) -> tuple[Floats, Floats]: ...


@dataclass(frozen=True)
class ReachRule:
    """The rule that gives a curve its reach when it is needed.

    A curve is trusted up to its own level at the end of follow-up, but no further than the share of
    similar individuals that had the event by then: a curve that is too early, as overfitted ones
    are, cannot vouch for itself.
    """

    model: _Followed
    features: NDArray[Any]

    def __call__(self, curve: QuantileCurve) -> Floats:
        limit, level = self.model._followed(self.features)
        lowest = curve.reach_is_lowest
        limit = limit + (-TIME_ROUNDING if lowest else TIME_ROUNDING) * np.abs(limit)
        reach = reach_until(curve, limit, lowest=lowest)
        return np.maximum(reach, level) if lowest else np.minimum(reach, level)


def fit_entries(
    x: NDArray[Any], target: Target, weight: NDArray[Any], rng: np.random.Generator
) -> FollowUp | None:
    """Return the model of when rows came under observation; None if all did at the start.

    It is that of follow-up with time running backwards: the time by which 3 % of similar rows had
    entered.
    """
    if not isinstance(target, GeneralTarget) or not target.late.any():
        return None
    start = -np.maximum(target.entry, 0.0)
    return FollowUp.fit(x, start, np.zeros(len(target), dtype=np.bool_), weight, rng)


def begun(
    entered: FollowUp | None, curve: QuantileCurve, features: NDArray[Any], *, empirical: bool
) -> QuantileCurve:
    """Return curves that know from when on the data speak for them."""
    if entered is None:
        return curve
    return curve.with_start(
        lambda _: np.maximum(-entered.limit(features), 0.0), empirical=empirical
    )


def _must(name: str, holds: Any, rule: str) -> None:
    require(holds, f"holds a model of follow-up whose array {name!r} does not {rule}")


def _restored_trees(
    slope: NDArray[Any], constant: NDArray[Any], root: NDArray[Any], nodes: NDArray[Any]
) -> Trees:
    """Return trees whose every walk ends in a leaf of its own tree."""
    if not len(root):
        _must("nodes", not len(nodes), "lie in a tree")
        return Trees(slope, constant, root, nodes, 0)
    ordered = root[0] == 0 and root[-1] < len(nodes) and _increases(root)
    _must("root", ordered, "hold the increasing places of the trees' first nodes")
    place = np.arange(len(nodes))
    end = np.append(root[1:], len(nodes))[np.searchsorted(root, place, side="right") - 1]
    left, feature, cut = nodes >> 32, (nodes >> 16) & 0xFFFF, nodes & 0xFFFF
    is_leaf = left == place
    inside = np.where(is_leaf, cut == NO_BIN, (left > place) & (left + 1 < end))
    _must("nodes", inside, "lead to later nodes of the same tree")
    known = np.where(is_leaf, feature == 0, feature <= slope.shape[1])
    _must("nodes", known, "split by known features")
    depth = np.zeros(len(nodes), np.int64)
    for node in np.flatnonzero(~is_leaf):
        depth[left[node] : left[node] + 2] = depth[node] + 1
    deepest = int(depth.max())
    _must("nodes", deepest <= _DEEPEST, f"end after {_DEEPEST} splits")
    return Trees(slope, constant, root, nodes, deepest)


_TREES: Fields = {
    "slope": Array("f8", ("trees", "columns")),
    "constant": Array("f8", ("trees",)),
    "root": Array("i8", ("trees",)),
    "nodes": Array("i8", ("nodes",)),
}
_FIELDS: Fields = {
    "n_features": Array("i8", (1,)),
    "columns": Array("i8", ("columns",)),
    "edges": Array("f8", ("columns", N_BINS - 1), finite=False),
    "limits": Array("f8", ("limits",)),
    "curve": Array("f4", ("curves", "times")),
    "grid": Array("f8", ("times",)),
    "censoring": Object(_TREES, _restored_trees, "by_censoring"),
    "events": Object(_TREES, _restored_trees, "by_events"),
}


def _restored(
    n_features: NDArray[Any],
    columns: NDArray[Any],
    edges: NDArray[Any],
    limits: NDArray[Any],
    curve: NDArray[Any],
    grid: NDArray[Any],
    censoring: Trees,
    events: Trees,
) -> FollowUp:
    """Return the model; no walk through a tree and no look-up of a leaf leaves its array."""
    inside = not len(columns) or (columns[0] >= 0 and columns[-1] < n_features[0])
    _must("columns", inside and _increases(columns), "hold increasing numbers of features")
    _must("edges", edges[:, 1:] >= edges[:, :-1], "increase")
    _must("limits", len(limits) == len(censoring.nodes), "have one value for each node")
    _must("grid", _increases(grid), "increase")
    _must("grid", len(grid) > 0 or not len(events.root), "have at least one time")
    _must("curve", len(curve) == len(events.nodes), "have one row for each node")
    _must("curve", (curve >= 0) & (curve <= 1), "lie between 0 and 1")
    both = (len(censoring.root) == 0) == (len(events.root) == 0)
    _must("events.root", both, "have trees where 'censoring.root' has")
    return FollowUp(int(n_features[0]), columns, edges, censoring, limits, events, curve, grid)


def _increases(values: NDArray[Any]) -> bool:
    return bool((values[1:] > values[:-1]).all())


FEATURES: Fields = {
    "range": Array(
        "f8",
        (2, "input"),
        "_feature_range",
        optional=True,
        says="smallest and largest value of each feature",
    ),
    "follow_up": Object(
        _FIELDS,
        _restored,
        "_follow_up",
        flag="any_censored",
        says="shares of the training rows still under observation, in groups",
    ),
}
"""What every estimator stores of features, and of follow-up if rows were censored."""
_ENTERED: Fields = {
    "entered": Object(
        _FIELDS,
        _restored,
        "_entered",
        says="shares of the training rows already under observation, in groups",
    ),
}


def store_features(estimator: Any, writer: Writer) -> None:
    """Add the fields `FEATURES` of an estimator, and those of entries if rows came late."""
    writer.add(FEATURES, estimator)
    if estimator._entered is not None:
        writer.add(_ENTERED, estimator)


def restore_features(estimator: Any, reader: Reader) -> None:
    """Give an estimator the fields `FEATURES`."""
    shape = getattr(estimator, "_input_shape", None)
    if shape is None:
        shape = (reader.sizes.get("features", estimator.n_features_in_),)
    reader.sizes["input"] = shape
    reader.fill(estimator, FEATURES)
    if estimator._feature_range is None and len(shape) == 1:
        refuse_arrays()
    follow_up = estimator._follow_up
    fits = follow_up is None or follow_up.n_features == math.prod(shape)
    require(fits, "holds a model of follow-up of other features")
    if any(name.startswith("entered.") for name in reader.part.arrays):
        reader.fill(estimator, _ENTERED)
        fits = estimator._entered.n_features == math.prod(shape)
        require(fits, "holds a model of entries of other features")
