"""Forests of survival trees: growing them, walking to leaves, and the curves of similar rows."""

import math
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import ExtraTreeRegressor

from censquant._compile import exact, exact_part
from censquant._engine.training._parallel import side_by_side
from censquant._storage._codec import require
from censquant._typing import Floats
from censquant.survival import kaplan_meier

MOST_BINS = 512
# As in Kaplan-Meier curves elsewhere: a level that is reached exactly is not missed by rounding.
ROUNDING = 1e-10
# The tail's rate is that of the curve above this share of the level at its end.
TAIL_FROM = 0.75
# Cumulative hazard of the prior of the tail's rate: a twentieth of an expected event.
PRIOR_HAZARD = 0.05
SMALLEST_RISK_SET = 0.01
"""Share of the largest risk set that an earlier one counts as at least."""


@dataclass(frozen=True, eq=False)
class FeatureUnits:
    """Distances from the median of each feature, the largest of the fit being 1, as float32.

    scikit-learn's trees see single precision. A date in seconds or a concentration of 1e-50 would
    lose its differences there; relative to the median only the furthest values are rounded.
    Kept are halves of the median and of the largest distance from it, because the distance of two
    finite numbers may be infinite.
    """

    half_median: Floats
    half_reach: Floats

    @classmethod
    def fit(cls, x: NDArray[Any]) -> Self:
        """Return the units of some rows."""
        # Of the existing values: their mean may overflow, and need not be among them.
        half_median = np.partition(x, len(x) // 2, axis=0)[len(x) // 2] / 2.0
        half_reach = np.abs(x / 2.0 - half_median).max(axis=0)
        return cls(half_median, np.where(half_reach > 0.0, half_reach, 1.0))

    def __call__(self, x: NDArray[Any]) -> NDArray[np.float32]:
        """Return rows in these units."""
        # What overflows is infinite, which is on the right side of every threshold.
        with np.errstate(over="ignore"):
            return ((x / 2.0 - self.half_median) / self.half_reach).astype(np.float32)


@dataclass(frozen=True, eq=False)
class TimeBins:
    """Event times, at most 512, at which curves step, and the codes of rows relative to them.

    Up to 512 distinct event times are all kept. More of them are cut into bins of equal weight, and
    every event of a bin counts at its middle event time; censoring times stay as they are.

    A code is twice a *slot*, plus 1 for an event. An event at the k-th time has slot k + 1, and a
    censored row the number of times up to its own: it is at risk of the events in all slots up to
    its own, whichever of the two it is. A row that entered late has a second code besides, of the
    slot of its entry: it is not at risk of the events in the slots up to that.
    """

    times: Floats

    @classmethod
    def fit(
        cls, time: Floats, event: NDArray[np.bool_], weight: Floats
    ) -> tuple[Self, NDArray[np.uint16]]:
        """Return the bins of the rows and the code of each row."""
        distinct, place = np.unique(time[event], return_inverse=True)
        bin_of = np.arange(len(distinct))
        if len(distinct) > MOST_BINS:
            share = np.bincount(place, weight[event])
            middle = (np.cumsum(share) - share / 2.0) / share.sum()
            _, bin_of = np.unique((middle * MOST_BINS).astype(np.intp), return_inverse=True)
        first = np.flatnonzero(np.diff(bin_of, prepend=-1))
        last = np.append(first[1:], len(distinct)) - 1
        bins = cls(distinct[(first + last) // 2])
        slots = np.searchsorted(bins.times, time, side="right")
        slots[event] = bin_of[place] + 1
        return bins, (2 * slots + event).astype(np.uint16)

    def entry_slots(self, entry: Floats, codes: NDArray[np.uint16]) -> NDArray[np.uint16]:
        """Return the slots up to which rows were not at risk yet: 0 from the start on."""
        slots = np.searchsorted(self.times, entry, side="right")
        # An event may count at an earlier time than its own, and its row has entered by then.
        return np.asarray(np.minimum(slots, codes // 2 - codes % 2), dtype=np.uint16)


def log_rank_scores(
    time: Floats, event: NDArray[np.bool_], weight: Floats, entry: Floats | None = None
) -> Floats:
    """Return observed minus expected events of each row, 1 or 0 less the Nelson-Aalen hazard.

    That is the hazard from the entry on. The difference of their means between two groups is the
    log-rank statistic up to its scale, so a regression tree on the scores splits as a survival tree
    would, at the cost of a mean.
    """
    curve = kaplan_meier(time, event, weight)
    at_risk = curve.n_at_risk
    if entry is not None:
        order = np.argsort(entry)
        entered = np.append(0.0, np.cumsum(weight[order]))
        waiting = weight.sum() - entered[np.searchsorted(entry[order], curve.time, side="left")]
        at_risk = early_risk_sets(at_risk - waiting, curve.n_events)
    hazard = np.append(0.0, np.cumsum(curve.n_events / at_risk))
    expected = hazard[np.searchsorted(curve.time, time) + 1]
    if entry is not None:
        expected -= hazard[np.searchsorted(curve.time, entry, side="right")]
    scores: Floats = event - expected
    return scores


def early_risk_sets(at_risk: Floats, n_events: Floats) -> Floats:
    """Return risk sets of which those before the largest are a hundredth of it at least.

    Where late entries leave hardly anybody at risk, one event would decide the curve of all.
    """
    early = np.arange(len(at_risk)) <= np.argmax(at_risk)
    least = np.where(early, SMALLEST_RISK_SET * at_risk.max(), 0.0)
    return np.maximum(np.maximum(at_risk, least), np.maximum(n_events, 1e-300))


class _Nodes(NamedTuple):
    """Nodes of trees as `Leaves` holds them."""

    root: Any
    children: Any
    feature: Any
    threshold: Any


class _LeafRows(NamedTuple):
    """Where the rows of each leaf begin, and the codes and weights of all rows."""

    start: Any
    codes: Any
    weights: Any


class _CurveRule(NamedTuple):
    """Times of bins, start of a curve without events, rate of all rows, levels of quantiles."""

    times: Any
    lowest: float
    mean_rate: float
    levels: Any


class Curves(NamedTuple):
    """Quantiles ``(n, k)``, and time and level ``(n,)`` of the end of each row's curve."""

    quantiles: Any
    end_time: Any
    end_level: Any


@dataclass(frozen=True, eq=False)
class Leaves:
    """Trees, and for each of their leaves the codes of the rows that fell into it.

    All nodes are in the same arrays, the first of each tree at its ``root``. ``children`` are the
    places ``(n_nodes, 2)`` of the two nodes below, for a leaf twice minus its number, minus 1; a
    value above the ``threshold`` goes to the second child. ``start`` ``(n_leaves + 1,)`` is where
    the rows of each leaf begin, and where the last end; ``codes`` are the coded times of the rows,
    leaf after leaf, and ``weights`` their weights, empty where all are equal. A row that entered
    late is there twice, the second time at its entry with its weight below 0.
    """

    root: NDArray[np.int32]
    children: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    start: NDArray[np.int64]
    codes: NDArray[np.uint16]
    weights: NDArray[np.float32]

    @classmethod
    def from_tree(
        cls,
        tree: Any,
        x: NDArray[np.float32],
        codes: NDArray[np.uint16],
        weights: Any,
        entry_slots: NDArray[np.uint16] | None = None,
    ) -> Self:
        """Return the arrays of one of scikit-learn's fitted trees and the given rows.

        ``weights`` are those of the rows, None where all are equal.
        """
        left, right = tree.children_left, tree.children_right
        is_leaf = left < 0
        number = np.cumsum(is_leaf) - 1
        children = np.where(is_leaf[:, None], ~number[:, None], np.column_stack((left, right)))
        # A single-precision value is at most a threshold if and only if it is at most the largest
        # single-precision number that is not above it.
        threshold = np.where(is_leaf, 0.0, tree.threshold).astype(np.float32)
        too_high = threshold > np.where(is_leaf, 0.0, tree.threshold)
        threshold[too_high] = np.nextafter(threshold[too_high], np.float32(-np.inf))
        n_leaves = int(is_leaf.sum())
        trees = cls(
            np.zeros(1, np.int32),
            children.astype(np.int32),
            np.where(is_leaf, 0, tree.feature).astype(np.int32),
            threshold,
            np.zeros(n_leaves + 1, np.int64),
            codes,
            np.zeros(0, np.float32),
        )
        leaf_of = trees.leaves_of(x)[0]
        if entry_slots is not None and (late := np.flatnonzero(entry_slots)).size:
            weights = np.ones(len(x)) if weights is None else weights
            weights = np.concatenate((weights, -weights[late]))
            codes = np.concatenate((codes, 2 * entry_slots[late]))
            leaf_of = np.concatenate((leaf_of, leaf_of[late]))
        order = np.argsort(leaf_of, kind="stable")
        trees.start[1:] = np.cumsum(np.bincount(leaf_of, minlength=n_leaves))
        own = trees.weights if weights is None else weights[order].astype(np.float32)
        return replace(trees, codes=codes[order], weights=own)

    @classmethod
    def joined(cls, trees: list[Self]) -> Self:
        """Return the trees of many in one set of arrays."""
        n_nodes = np.cumsum([0] + [len(tree.feature) for tree in trees])
        n_leaves = np.cumsum([0] + [len(tree.start) - 1 for tree in trees])
        n_rows = np.cumsum([0] + [len(tree.codes) for tree in trees])
        children = [
            np.where(tree.children < 0, tree.children - leaf, tree.children + node)
            for tree, node, leaf in zip(trees, n_nodes, n_leaves, strict=False)
        ]
        start = [tree.start[:-1] + rows for tree, rows in zip(trees, n_rows, strict=False)]
        root = [tree.root + node for tree, node in zip(trees, n_nodes, strict=False)]
        return cls(
            np.concatenate(root).astype(np.int32),
            np.concatenate(children).astype(np.int32),
            np.concatenate([tree.feature for tree in trees]),
            np.concatenate([tree.threshold for tree in trees]),
            np.append(np.concatenate(start), n_rows[-1]),
            np.concatenate([tree.codes for tree in trees]),
            np.concatenate([tree.weights for tree in trees]),
        )

    def take(self, trees: NDArray[np.intp]) -> Self:
        """Return some of the trees, in increasing order."""
        is_leaf = self.children[:, 0] < 0
        leaves_before = np.append(0, np.cumsum(is_leaf))
        nodes = np.append(self.root, len(self.feature))
        parts = []
        for tree in trees:
            own = slice(nodes[tree], nodes[tree + 1])
            first, last = leaves_before[nodes[tree]], leaves_before[nodes[tree + 1]]
            rows = slice(self.start[first], self.start[last])
            parts.append(
                replace(
                    self,
                    root=np.zeros(1, np.int32),
                    children=self.children[own] + np.where(is_leaf[own, None], first, -own.start),
                    feature=self.feature[own],
                    threshold=self.threshold[own],
                    start=self.start[first : last + 1] - rows.start,
                    codes=self.codes[rows],
                    weights=self.weights[rows],
                )
            )
        return self.joined(parts)

    def validate(self, units: FeatureUnits, bins: TimeBins) -> None:
        """Refuse arrays of a file in which a walk could leave them or not end, and empty leaves."""
        n_nodes, root, children, start = len(self.feature), self.root, self.children, self.start
        _must("half_reach", units.half_reach > 0.0, "hold positive numbers")
        _must("times", 1 <= len(bins.times) <= MOST_BINS, f"hold 1 to {MOST_BINS} times")
        _must("times", np.diff(bins.times) > 0.0, "increase")
        first = len(root) > 0 and root[0] == 0 and root[-1] < n_nodes
        _must("root", first, "start with the first node and end")
        _must("root", np.diff(root) > 0, "increase")
        is_leaf = children[:, 0] < 0
        numbers = np.arange(1, is_leaf.sum() + 1)
        _must("children", children[is_leaf] == -numbers[:, None], "number the leaves in order")
        place = np.flatnonzero(~is_leaf)
        end = np.append(root[1:], n_nodes)[np.searchsorted(root, place, side="right") - 1]
        inside = (children[place] > place[:, None]) & (children[place] < end[:, None])
        _must("children", inside, "lead to later nodes of the same tree")
        _must("children", children[place, 0] == place + 1, "have a first child as the next node")
        known = (self.feature >= 0) & (self.feature < len(units.half_reach))
        _must("feature", known, "name known features")
        _must("start", len(start) == len(numbers) + 1, "have one entry per leaf and the end")
        _must("start", start[0] == 0 and start[-1] == len(self.codes), "cover all rows")
        _must("start", np.diff(start) > 0, "give rows to every leaf")
        refers = (self.codes <= 2 * len(bins.times) + 1) & (self.codes != 1)
        _must("codes", refers, "refer to its times")
        _must("weights", len(self.weights) in (0, len(self.codes)), "have one entry per row")
        _must("weights", self.weights != 0.0, "hold numbers other than 0")
        if len(self.weights):
            positive = np.add.reduceat(np.maximum(self.weights, 0.0), start[:-1])
            _must("weights", positive > 0.0, "hold a positive number in each leaf")

    def leaves_of(self, x: NDArray[np.float32]) -> NDArray[np.int32]:
        """Return the leaf of every row in each tree, of shape (n_trees, n)."""
        leaf_of = np.empty((len(self.root), len(x)), np.int32)
        walking, node = np.empty(len(x), np.int32), np.empty(len(x), np.int32)
        nodes = _Nodes(self.root, self.children, self.feature, self.threshold)
        _find_leaves(x, nodes, walking, node, leaf_of)
        return leaf_of

    def beran_curves(
        self, x: NDArray[np.float32], times: Floats, lowest: float, mean_rate: float, levels: Floats
    ) -> Curves:
        """Return quantiles of each row's Kaplan-Meier curve, and time and level of its end."""
        n_slots = len(times) + 1
        curves = Curves(np.empty((len(x), len(levels))), np.empty(len(x)), np.empty(len(x)))
        _write_curves(
            self.leaves_of(x),
            _LeafRows(self.start, self.codes, self.weights),
            _CurveRule(times, lowest, mean_rate, levels),
            np.zeros(2 * n_slots),
            np.empty(n_slots),
            curves,
        )
        return curves


@dataclass(frozen=True, eq=False)
class PackedLeaves:
    """What a file holds of `Leaves`: nodes in the order of a walk that takes first children first.

    Which of them are leaves (``is_leaf``, eight to a byte) then says where all children are. Only
    the others have a ``feature`` and a ``threshold``; ``size`` counts the rows of each leaf.
    """

    n_nodes: NDArray[np.int64]
    is_leaf: NDArray[np.uint8]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    size: NDArray[np.int32]
    codes: NDArray[np.uint16]
    weights: NDArray[np.float32]

    @classmethod
    def of(cls, leaves: Leaves) -> Self:
        """Pack trees, whose nodes are in this order already."""
        is_leaf = leaves.children[:, 0] < 0
        return cls(
            np.diff(leaves.root, append=len(is_leaf)).astype(np.int64),
            np.packbits(is_leaf),
            leaves.feature[~is_leaf],
            leaves.threshold[~is_leaf],
            np.diff(leaves.start).astype(np.int32),
            leaves.codes,
            leaves.weights,
        )

    def unpacked(self) -> Leaves:
        """Return the trees; `Leaves.validate` refuses what is still wrong with them."""
        counts = (self.n_nodes > 0) & (self.n_nodes <= 8 * len(self.is_leaf))
        _must("n_nodes", len(counts) > 0 and counts.all(), "count the nodes of trees")
        end = np.cumsum(self.n_nodes)
        n = int(end[-1])
        _must("is_leaf", len(self.is_leaf) == -(-n // 8), "say of each node whether it is a leaf")
        is_leaf = np.unpackbits(self.is_leaf, count=n).astype(bool)
        inner = np.flatnonzero(~is_leaf)
        _must("feature", len(self.feature) == len(self.threshold) == len(inner), "fit the nodes")
        # How many subtrees are open after each node. The second child of a node comes when as many
        # are open as before its first child: at the next place after it where one less is.
        n_open = np.cumsum(np.where(is_leaf, -1, 1))
        order = np.lexsort((np.arange(n), n_open))
        key = n_open[order].astype(np.int64) * n + order
        found = np.searchsorted(key, (n_open[inner] - 1) * n + inner)
        found = order[np.minimum(found, n - 1)]
        _must("is_leaf", n_open[found] == n_open[inner] - 1, "describe trees")
        second = found + 1
        children = np.repeat(-np.cumsum(is_leaf)[:, None], 2, axis=1)
        children[inner] = np.column_stack((inner + 1, second))
        feature, threshold = np.zeros(n, np.int32), np.zeros(n, np.float32)
        feature[inner], threshold[inner] = self.feature, self.threshold
        return Leaves(
            (end - self.n_nodes).astype(np.int32),
            children.astype(np.int32),
            feature,
            threshold,
            np.concatenate(([0], np.cumsum(self.size, dtype=np.int64))),
            self.codes,
            self.weights,
        )


@dataclass(frozen=True)
class ForestGrowth:
    """How the trees of a forest are grown: scikit-learn's extremely randomised trees.

    ``max_features`` is as in scikit-learn. Each tree has ``n_rows`` rows, drawn without replacement
    if there are more.
    """

    n_trees: int
    min_leaf: int
    max_features: int | float
    n_rows: int

    def grow(
        self,
        x: NDArray[np.float32],
        scores: Floats,
        codes: NDArray[np.uint16],
        weight: Floats,
        rng: np.random.Generator,
        n_jobs: int | None,
        stopping: Event | None = None,
        entry_slots: NDArray[np.uint16] | None = None,
    ) -> Leaves:
        """Return the trees, whose leaves hold the rows that they were grown on."""
        weights = None if (weight == weight[0]).all() else weight
        grow = partial(self._tree, x, scores, codes, weights, entry_slots)
        tasks = [partial(grow, tree_rng) for tree_rng in rng.spawn(self.n_trees)]
        grown = side_by_side(tasks, n_jobs, on_interrupt="raise", stopping=stopping)
        return Leaves.joined(grown)

    def _tree(
        self,
        x: NDArray[np.float32],
        scores: Floats,
        codes: NDArray[np.uint16],
        weights: Floats | None,
        entry_slots: NDArray[np.uint16] | None,
        rng: np.random.Generator,
        stopping: Event,
    ) -> Leaves:
        rows: Any = slice(None)
        if len(x) > self.n_rows:
            rows = np.sort(rng.choice(len(x), self.n_rows, replace=False))
        own = None if weights is None else weights[rows]
        tree = ExtraTreeRegressor(
            min_samples_leaf=self.min_leaf,
            max_features=self.max_features,
            random_state=int(rng.integers(2**31)),
        )
        tree.fit(x[rows], scores[rows], sample_weight=own)
        slots = None if entry_slots is None else entry_slots[rows]
        return Leaves.from_tree(tree.tree_, x[rows], codes[rows], own, slots)


@exact
def _find_leaves(x: Any, nodes: _Nodes, walking: Any, node: Any, leaf_of: Any) -> None:
    """Write the number of the leaf of each tree that each row falls into.

    All rows walk through a tree side by side, a level at a time: their steps do not wait for each
    other's memory, which halves the time. ``walking`` and ``node`` have one place per row.
    """
    for tree in range(len(nodes.root)):
        n_walking = len(x)
        for row in range(n_walking):
            walking[row] = row
            node[row] = nodes.root[tree]
        while n_walking > 0:
            n_left = 0
            for place in range(n_walking):
                row, here = walking[place], node[place]
                above = x[row, nodes.feature[here]] > nodes.threshold[here]
                child = nodes.children[here, np.intp(above)]
                # Written at every step, since a branch costs more than a write.
                leaf_of[tree, row] = -child - 1
                walking[n_left] = row
                node[n_left] = child
                n_left += 1 if child >= 0 else 0
            n_walking = n_left


@exact_part
def _add_neighbours(leaf_of: Any, row: int, leaves: _LeafRows, sums: Any) -> int:
    """Add the weights of a row's neighbours by code; return the highest slot among them.

    A tree gives each row of its leaf the same share, or one in proportion to its weight.
    """
    start, codes, weights = leaves.start, leaves.codes, leaves.weights
    highest = 0
    for tree in range(len(leaf_of)):
        leaf = leaf_of[tree, row]
        first, end = start[leaf], start[leaf + 1]
        if len(weights) == 0:
            share = 1.0 / (end - first)
            for place in range(first, end):
                code = codes[place]
                sums[code] += share
                highest = max(highest, code)
        else:
            total = 0.0
            for place in range(first, end):
                total += max(weights[place], 0.0)
            share = 1.0 / total
            for place in range(first, end):
                code = codes[place]
                sums[code] += share * weights[place]
                highest = max(highest, code)
    return highest // 2


@exact
def _write_curves(
    leaf_of: Any, leaves: _LeafRows, rule: _CurveRule, sums: Any, survival: Any, curves: Curves
) -> None:
    """Write the Kaplan-Meier curves of weighted neighbours (Beran 1981), in time of their bins.

    A quantile is the first time at which the curve has reached its level. Above the curve's end,
    survival goes on exponentially, with the rate of the last quarter of the curve's rise. The rate
    of all rows is its prior.
    ``sums`` holds zeros for all codes, ``survival`` has one place for each slot.
    """
    times, levels, quantiles = rule.times, rule.levels, curves.quantiles
    n_levels = len(levels)
    for row in range(leaf_of.shape[1]):
        n_slots = _add_neighbours(leaf_of, row, leaves, sums) + 1
        # From the last slot on, so that the smallest risk sets are exact.
        at_risk, largest = 0.0, 0.0
        for slot in range(n_slots - 1, -1, -1):
            at_risk += sums[2 * slot] + sums[2 * slot + 1]
            largest = max(largest, at_risk)
            survival[slot] = at_risk
            sums[2 * slot] = 0.0
        is_early = False
        for slot in range(n_slots - 1, -1, -1):
            events, at_risk = sums[2 * slot + 1], survival[slot]
            is_early = is_early or at_risk >= largest
            if is_early:
                at_risk = max(at_risk, SMALLEST_RISK_SET * largest)
            survival[slot] = 1.0 - events / max(at_risk, events) if events > 0.0 else 1.0
            sums[2 * slot + 1] = 0.0
        left, k, last = 1.0, 0, -1
        for slot in range(n_slots):
            if survival[slot] < 1.0:
                left *= survival[slot]
                last = slot
                while k < n_levels and left <= (1.0 - levels[k]) * (1.0 + ROUNDING):
                    quantiles[row, k] = times[slot - 1]
                    k += 1
            survival[slot] = left
        curves.end_level[row] = 1.0 - left
        if last < 0:  # no event near this row
            last = n_slots - 1
        end = times[last - 1] if last > 0 else rule.lowest
        curves.end_time[row] = end
        if k < n_levels:
            begun = TAIL_FROM * (1.0 - left)
            slot = 0
            while slot < last and 1.0 - survival[slot] < begun:
                slot += 1
            begin = times[slot - 1] if slot > 0 else rule.lowest
            hazard = math.log((1.0 - begun) / left) + PRIOR_HAZARD
            rate = hazard / (end - begin + PRIOR_HAZARD / rule.mean_rate)
            while k < n_levels:
                quantiles[row, k] = end + math.log(left / (1.0 - levels[k])) / rate
                k += 1


def _must(name: str, holds: Any, rule: str) -> None:
    require(holds, f"holds a forest whose array {name!r} does not {rule}")
