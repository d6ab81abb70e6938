"""A forest whose leaves are Kaplan-Meier curves."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._rows._cross_fit import Folds
from censquant._rows._fit_data import FitData
from censquant._storage._codec import Array, Entry, Fields, Object, Reader, Writer
from censquant._trees._forest import (
    Curves,
    FeatureUnits,
    ForestGrowth,
    Leaves,
    PackedLeaves,
    TimeBins,
    log_rank_scores,
)
from censquant._typing import Floats
from censquant._validation import (
    check_choice,
    check_integer,
    check_n_jobs,
    check_number,
    check_share,
)
from censquant.estimators._tabular import HeldOut, TabularRegressor
from censquant.export._graph import Value
from censquant.export._graphs_curves import GridCurve
from censquant.export._graphs_trees import beran_graph, leaf_numbers
from censquant.quantiles import QuantileCurve
from censquant.survival._target import GeneralTarget

_N_COARSE = 400  # steps up to the last time in pages that hold no times of training rows

_STORED: Fields = {
    "lowest": Entry(check_number, "_lowest"),
    "mean_rate": Entry(
        lambda name, rate: check_number(name, rate, minimum=0.0, exclude_minimum=True),
        "_mean_rate",
    ),
    "units": Object(
        {"half_median": Array("f8", ("features",)), "half_reach": Array("f8", ("features",))},
        FeatureUnits,
        "_units",
        prefix="",
    ),
    "bins": Object({"times": Array("f8", ("bins",))}, TimeBins, "_bins", prefix=""),
}
_ROWS: Fields = {"codes": Array("u2", ("rows",)), "weights": Array("f4", ("weights",))}
_PACKED: Fields = {
    "leaves": Object(
        {
            "n_nodes": Array("i8", ("trees",)),
            "is_leaf": Array("u1", ("bytes",)),
            "feature": Array("i4", ("inner",)),
            "threshold": Array("f4", ("inner",)),
            "size": Array("i4", ("leaves",)),
            **_ROWS,
        },
        PackedLeaves,
        prefix="",
        says="times and events of the training rows, in groups",
    )
}
# Of files that version 0.1 wrote.
_UNPACKED: Fields = {
    "leaves": Object(
        {
            "root": Array("i4", ("trees",)),
            "children": Array("i4", ("nodes", 2)),
            "feature": Array("i4", ("nodes",)),
            "threshold": Array("f4", ("nodes",)),
            "start": Array("i8", ("leaves",)),
            **_ROWS,
        },
        Leaves,
        "_leaves",
        prefix="",
    )
}
# Rows in the leaves of all trees that a forest keeps in an ensemble: at least, and at weight 1.
_FEW_LEAF_ROWS, _MOST_LEAF_ROWS, _FEWEST_TREES = 32_000, 400_000, 4
_AUTO_ROWS = 50_000  # rows per tree; see bench/scripts/tree_speed.py


_Prepared = tuple[NDArray[np.float32], Floats, NDArray[np.uint16], NDArray[np.uint16] | None]
"""Features, scores, codes of times, and slots of entries if any row entered late."""


class CensoredQuantileForest(TabularRegressor):
    """Forest of survival trees that predicts by the Kaplan-Meier curve of similar individuals.

    Extremely randomised trees are grown on log-rank scores. Two individuals are similar as often as
    they share a leaf, and a prediction is the Kaplan-Meier curve of the training rows weighted by
    similarity. It assumes nothing about the distribution of times, keeps their discreteness, and
    needs no scaling of features. Rows that came under observation late (delayed entry, see
    :class:`Surv`) count from their entry on. It knows nothing beyond the last event of similar
    rows: above it the curve is continued exponentially, which is a guess (see
    :meth:`identified_level`).

    Parameters
    ----------
    quantiles : array-like of levels in (0, 1), optional
        Levels to predict; by default 0.05, 0.1, ..., 0.95. Any other level can be asked for later.
    n_estimators : int, default 100
        Number of trees.
    min_samples_leaf : int, default 5
        Fewest rows in a leaf. More make curves smoother and predictions less local.
    max_features : int or float in (0, 1], default 1.0
        How many features a split chooses from, or which share of them.
    max_samples : int, "auto" or None, default "auto"
        Most rows that one tree is grown on, drawn for each tree; ``"auto"`` means 50,000, None all.
    n_jobs : int, optional
        Threads of ``fit`` and of predictions; None means 1, -1 uses all cores. The result is the
        same.
    censoring : {"right", "left"}, default "right"
        Which side of the recorded time the true one lies on where no event was observed.
    random_state : int, Generator or RandomState, optional
        Source of all randomness.

    Attributes
    ----------
    quantiles_ : ndarray
        Levels that are predicted by default.
    unique_times_ : ndarray
        Distinct event times of the fit, at most 1,000.
    follow_up_ : tuple of float
        Smallest and largest time.
    horizon_ : float
        Last time at which one in twenty rows was still at risk.
    time_transform_ : TimeTransform
        Mirrors left-censored times, and leaves others as they are.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if the features had names

    See Also
    --------
    BoostedQuantileRegressor : Trees one after the other; smoother, and better beyond follow-up.

    Notes
    -----
    More than 512 distinct event times are cut into 512 bins of equal weight, so a prediction costs
    the same however many rows were fitted.

    As a candidate of an ensemble, a forest keeps as many of its trees as its weight needs: all as
    long as their leaves hold at most 32,000 rows together, and at most 400,000 rows at weight 1.

    References
    ----------
    .. [1] R. Beran (1981). Nonparametric regression with randomly censored survival data.
       Technical report, University of California, Berkeley.
    .. [2] P. Geurts, D. Ernst, L. Wehenkel (2006). Extremely randomized trees. *Machine Learning*
       63.

    Examples
    --------
    >>> from censquant import CensoredQuantileForest
    >>> from censquant.datasets import make_norm_linear
    >>> data = make_norm_linear(200, random_state=0)
    >>> model = CensoredQuantileForest(n_estimators=20, random_state=0).fit(data.X, data.y)
    >>> model.predict_quantiles(data.X[:2], [0.1, 0.5]).shape
    (2, 2)
    """

    _accepts = ("right", "delayed_entry")
    _is_empirical = True
    _cross_fits_itself = True
    _units: FeatureUnits
    _leaves: Leaves
    _bins: TimeBins
    _mean_rate: float

    def __init__(
        self,
        quantiles: ArrayLike | None = None,
        *,
        n_estimators: int = 100,
        min_samples_leaf: int = 5,
        max_features: int | float = 1.0,
        max_samples: int | str | None = "auto",
        n_jobs: int | None = None,
        censoring: str = "right",
        random_state: Any = None,
    ) -> None:
        self.quantiles = quantiles
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_samples = max_samples
        self.n_jobs = n_jobs
        self.censoring = censoring
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_estimators", self.n_estimators, minimum=1)
        check_integer("min_samples_leaf", self.min_samples_leaf, minimum=1)
        check_n_jobs(self.n_jobs)
        if isinstance(self.max_features, float | np.floating):
            check_share("max_features", self.max_features)
        else:
            check_integer("max_features", self.max_features, minimum=1)
        if isinstance(self.max_samples, str):
            check_choice("max_samples", self.max_samples, ("auto",))
        elif self.max_samples is not None:
            check_integer("max_samples", self.max_samples, minimum=1)

    def _fit_rows(self, rows: FitData, rng: np.random.Generator) -> None:
        x, scores, codes, slots = self._prepare(rows)
        growth = self._growth(len(rows), self.n_estimators)
        self._leaves = growth.grow(
            x, scores, codes, rows.weight, rng, self.n_jobs, self._stopping, slots
        )

    def _cross_fit_rows(
        self, rows: FitData, folds: Folds, rng: np.random.Generator, levels: Floats
    ) -> Iterator[HeldOut]:
        x, scores, codes, slots = self._prepare(rows)
        n_folds, parts = int(folds.max()) + 1, []
        for fold, part_rng in enumerate(rng.spawn(n_folds)):
            train, own = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            # The trees are dealt out, at least one to each fold.
            n_trees = max(1, len(range(fold, self.n_estimators, n_folds)))
            growth = self._growth(len(train), n_trees)
            known = (x[train], scores[train], codes[train], rows.weight[train])
            late = None if slots is None else slots[train]
            part = growth.grow(*known, part_rng, self.n_jobs, self._stopping, late)
            values, *end = self._curves(part, x[own], levels)
            # Those that no weight could keep need not wait for the weights.
            parts.append(_thinned(part, _MOST_LEAF_ROWS / n_folds, -(-_FEWEST_TREES // n_folds)))
            yield own, values, tuple(end)
        self._leaves = Leaves.joined(parts)

    def _hold_back(self, weight: float) -> None:
        """Keep as many trees as an ensemble needs in which the forest has this weight.

        The mean hardly changes with those that are left out, but a file holds the rows of all.
        """
        most_rows = max(_FEW_LEAF_ROWS, weight * _MOST_LEAF_ROWS)
        self._leaves = _thinned(self._leaves, most_rows, _FEWEST_TREES)

    def _prepare(self, rows: FitData) -> _Prepared:
        """Return features in units of the trees, scores that they split, and coded times."""
        time, event = rows.timeline.time, rows.timeline.event
        target = rows.timeline
        entry = target.entry if isinstance(target, GeneralTarget) else None
        self._units = FeatureUnits.fit(rows.x)
        self._bins, codes = TimeBins.fit(time, event, rows.weight)
        self._lowest = self._start_of(time)
        self._mean_rate = _mean_rate(rows, self._lowest)
        slots = None if entry is None else self._bins.entry_slots(entry, codes)
        return self._units(rows.x), log_rank_scores(time, event, rows.weight, entry), codes, slots

    def _start_of(self, time: Floats) -> float:
        """Return the time at which the tail of a row without any similar event starts."""
        lowest = float(time.min())
        return min(lowest, 0.0) if self.censoring == "left" or lowest < 0 else 0.0

    def _growth(self, n_rows: int, n_trees: int) -> ForestGrowth:
        most = _AUTO_ROWS if self.max_samples == "auto" else self.max_samples
        share = self.max_features
        if not isinstance(share, float | np.floating):
            share = min(share, self.n_features_in_)
        n_rows = n_rows if most is None else min(n_rows, int(most))
        return ForestGrowth(n_trees, self.min_samples_leaf, share, n_rows)

    def _model_curve(self, x: Floats) -> QuantileCurve:
        levels = self._curve_levels()
        values, _, _ = self._beran(x, levels)
        lowest = -np.inf if self.time_transform_.mirror else self._lowest_time()
        return QuantileCurve.adopt(values, levels, lowest)

    def _quantiles_and_end(self, x: Floats, levels: Floats) -> tuple[Floats, tuple[Floats, Floats]]:
        # What is said of higher levels than that of the end is the exponential tail.
        values, time, level = self._beran(x, levels)
        return values, (time, level)

    def _beran(self, x: Floats, levels: Floats) -> Curves:
        """Return quantiles, and time and level of the end of each row's curve."""
        return self._curves(self._leaves, self._units(x), levels)

    def _curves(self, leaves: Leaves, x: NDArray[np.float32], levels: Floats) -> Curves:
        """Return what some of the trees say of rows in their units."""
        return leaves.beran_curves(x, self._bins.times, self._lowest, self._mean_rate, levels)

    def _model_graph(self, x: Value) -> GridCurve:
        levels = self._curve_levels()
        values, _, _ = self._beran_graph(x, levels)
        lowest = -np.inf if self.time_transform_.mirror else self._lowest_time()
        return GridCurve.of_predictions(values, levels, lowest)

    def _quantiles_and_end_graph(
        self, x: Value, levels: Floats
    ) -> tuple[Value, tuple[Value, Value] | None]:
        values, time, level = self._beran_graph(x, levels)
        return values, (time, level)

    def _beran_graph(self, x: Value, levels: Floats) -> tuple[Value, Value, Value]:
        leaf = leaf_numbers(self._units, self._leaves, x)
        times = x.graph.row_limits(self._bins.times, _N_COARSE)
        return beran_graph(leaf, self._leaves, times, self._lowest, self._mean_rate, levels)

    def _store(self, writer: Writer) -> None:
        writer.add(_STORED, self)
        writer.add(_PACKED, {"leaves": PackedLeaves.of(self._leaves)})
        super()._store(writer)

    def _restore(self, reader: Reader) -> None:
        super()._restore(reader)
        reader.fill(self, _STORED)
        if "children" in reader.part.arrays:
            reader.fill(self, _UNPACKED)
        else:
            self._leaves = reader.read(_PACKED)["leaves"].unpacked()
        self._leaves.validate(self._units, self._bins)


def _thinned(leaves: Leaves, most_rows: float, fewest: int) -> Leaves:
    """Return trees with at most so many rows in all their leaves, or the fewest if they are large.

    They are taken evenly over the folds, whose trees come one fold after the other.
    """
    n_trees = len(leaves.root)
    n_kept = max(int(most_rows * n_trees / len(leaves.codes)), fewest)
    return leaves if n_kept >= n_trees else leaves.take(np.arange(n_kept) * n_trees // n_kept)


def _mean_rate(rows: FitData, lowest: float) -> float:
    """Return events per unit of time under observation: the rate of an exponential law."""
    time, event = rows.timeline.time, rows.timeline.event
    span = float(time.max()) - lowest
    if span <= 0.0:  # all times are the same, and nothing says how fast time goes
        return 1.0 / (abs(lowest) or 1.0)
    exposure = rows.weight @ ((time - lowest) / span)
    if isinstance(rows.timeline, GeneralTarget):
        exposure -= rows.weight @ ((np.maximum(rows.timeline.entry, lowest) - lowest) / span)
    return float(rows.weight[event].sum() / exposure) / span
