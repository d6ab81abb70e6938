"""How long individuals like this one were followed: the basis for saying what is identified."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from censquant._trees._bins import assign_bins
from censquant._trees._follow_up._rows import (
    CENSORING,
    EVENT,
    Growth,
    TrainingTable,
    Trees,
    take_columns,
)
from censquant._trees._follow_up_kernels import (
    N_BINS,
    censoring_curve,
    leaf_curves,
    leaf_limits,
    levels_at,
    second_smallest,
)
from censquant._typing import Floats
from censquant.survival._kaplan_meier import LAST_FOLLOWED_SHARE

_N_TIMES = 32
_BY_CENSORING = Growth(
    CENSORING, n_trees=8, depth=7, min_leaf=15, min_split=50, chance=0.2, fewest_rows=700
)
_BY_EVENTS = Growth(
    EVENT, n_trees=5, depth=5, min_leaf=30, min_split=80, chance=0.05, fewest_rows=700
)


@dataclass(frozen=True, eq=False)
class FollowUp:
    """Forest that estimates how long individuals like a given one were followed.

    Trees group training rows by the distribution of their *censoring* times: they split by the
    log-rank statistic of censoring, on bins of the features and on a linear score of them, and only
    where it is significant. In each leaf the Kaplan-Meier curve of the censoring time gives the
    last time at which 3 % (``LAST_FOLLOWED_SHARE``) would still be under observation, and
    :meth:`limit` is the second smallest of the trees' answers, since a leaf that mixes individuals
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
        table = TrainingTable.from_rows(x, time, event, weight, rng)
        by_censoring = table.grow(_BY_CENSORING, rng)
        limits = _limits(table, by_censoring, latest=float(time.max()))
        # Levels are only asked for at limits.
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
        return assign_bins(take_columns(flat, self.columns), self.edges, 1)

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


def _limits(table: TrainingTable, trees: Trees, latest: float) -> Floats:
    """Return the limit of each leaf; where the data show no end it is the ``latest`` time."""
    rows, n_nodes = table.rows, len(trees.nodes)
    whole, limits = np.empty(len(rows.time)), np.full(n_nodes, np.inf)
    censoring_curve(rows.keys, rows.weight, rows.weight.sum(), whole)
    leaf_of, work, last = trees.leaves_of(rows.codes), np.zeros((3, n_nodes)), np.full(n_nodes, -1)
    leaf_limits(leaf_of, rows, whole, LAST_FOLLOWED_SHARE, work, last, limits)
    limits[limits == np.inf] = latest
    return limits


def _curves(table: TrainingTable, trees: Trees, grid: Floats) -> NDArray[np.float32]:
    """Return for each leaf the share of events up to each time of a grid."""
    curve = np.empty((len(trees.nodes), len(grid)), np.float32)
    work = np.zeros((3, len(trees.nodes)))
    leaf_curves(trees.leaves_of(table.rows.codes), trees.root, table.rows, grid, work, curve)
    return curve
