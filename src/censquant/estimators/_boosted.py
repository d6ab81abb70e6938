"""Boosted trees for location and scale, with residuals of any shape."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._rows._cross_fit import NEVER, Folds, folds_of_splits, make_folds
from censquant._rows._fit_data import FitData
from censquant._storage._codec import (
    Array,
    Entry,
    Fields,
    Object,
    Reader,
    Writer,
    check_pair,
    require,
    transform_entry,
)
from censquant._trees._boosting import (
    N_BINS,
    Boosters,
    BoostingRule,
    cross_fit_boosters,
    residual_quantiles,
)
from censquant._typing import Floats
from censquant._validation import (
    check_choice,
    check_flag,
    check_integer,
    check_n_jobs,
    check_number,
    check_share,
)
from censquant.estimators._reading import Answers, MeanReader, mean_answers
from censquant.estimators._tabular import HeldOut, TabularRegressor, levels_among
from censquant.export._graph import Value
from censquant.export._graphs_curves import GridCurve
from censquant.export._graphs_trees import boosters_graph
from censquant.quantiles import QuantileCurve
from censquant.survival import Target
from censquant.survival._target import GeneralTarget
from censquant.survival._transform import TimeTransform

_DEEPEST = 10
_BLOCK_ROWS = 1_024  # of the curves of held-out rows
_AUTO_ROWS = 200_000  # of one booster; 500,000 rows are predicted as well, in half of the time
# Predictions end so many standard deviations outside the times of the fit.
_ROOM = 3.0
_SPLITS = ("boosters", "rounds", "parts", "inner")
_STORED: Fields = {
    "own_transform": replace(
        transform_entry("_transform"),
        says="mean and standard deviation of the times or their logarithms",
    ),
    "bounds": Entry(check_pair, "_bounds"),
    "boosters": Object(
        {
            # Infinite where a feature has fewer values.
            "edges": Array("f8", ("features", N_BINS - 1), finite=False),
            "feature": Array("i4", _SPLITS),
            "cut": Array("u1", _SPLITS),
            "value": Array("f8", (*_SPLITS[:3], "leaves")),
        },
        Boosters,
        "_boosters",
        prefix="",
        says="quantiles of each feature",
    ),
    "residual_quantiles": Array("f8", ("curve_levels",), "_residual_quantiles"),
}


class BoostedQuantileRegressor(TabularRegressor):
    """Gradient-boosted trees that predict where and how wide a distribution is.

    Two sequences of small trees predict location and logarithm of the scale of the time, or of its
    logarithm if all times are positive, by Newton's steps on a censored normal likelihood. The
    *shape* need not be normal: it is the Kaplan-Meier curve of the residuals. The rows are cut into
    folds, one booster is trained without each of them, and the number of rounds and the residuals
    come from the rows that a booster has not seen. The boosters' mean predicts.

    Events may lie between two times, and rows may have a delayed entry (see :class:`Surv`): the
    likelihood is then that of the interval, given no event until the entry, and the shape is
    Turnbull's estimate from such residuals.

    It assumes that features move and stretch one shape. Where they change the shape itself, as
    with several modes, :class:`CensoredQuantileForest` follows and this does not.

    Parameters
    ----------
    quantiles : array-like of levels in (0, 1), optional
        Levels to predict; by default 0.05, 0.1, ..., 0.95. Any other level can be asked for later.
    max_depth : int, default 3
        Splits between the root of a tree and its leaves, at most 10: how many features interact.
    min_samples_leaf : int, default 10
        Fewest rows in a leaf.
    fit_scale : bool, default True
        Whether the scale depends on the features.
    learning_rate : float, default 0.1
        What every tree is multiplied by; trees of the scale by half of it.
    max_iter : int, default 300
        Most rounds, each with a tree for the location and one for the scale.
    subsample : float in (0, 1], default 0.7
        Share of the rows that a round is grown on.
    l2_regularization : float, default 1.0
        Added to the curvature of each leaf, which shrinks its value.
    max_samples : int, "auto" or None, default "auto"
        Most rows that one booster is trained on; ``"auto"`` means 200,000, None all. Where
        there are more, boosters take different ones, and are judged by a quarter as many.
    cv : int or list of (train, test) pairs of row numbers, default 3
        Number of folds, stratified by event, in which equal rows stay together; or the folds, as
        ``list(GroupKFold(3).split(X, groups=patient))`` gives them where rows belong together.
        With fewer than two different rows with an event there is nothing to compare, and no round.
        An ensemble that the model is a member of replaces them by its own folds.
    n_jobs : int, optional
        Threads: folds of ``fit`` and blocks of predictions. None means 1, -1 uses all cores. The
        result is the same.
    censoring : {"right", "left"}, default "right"
        Which side of the recorded time the true one lies on where no event was observed.
    random_state : int, Generator or RandomState, optional
        Source of all randomness.

    Attributes
    ----------
    n_iter_ : int
        Rounds of each booster.
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
    CensoredQuantileForest : Trees that assume nothing about the shape.

    References
    ----------
    .. [1] T. Duan et al. (2020). NGBoost: natural gradient boosting for probabilistic prediction.
       *ICML*.

    Examples
    --------
    >>> from censquant import BoostedQuantileRegressor
    >>> from censquant.datasets import make_norm_linear
    >>> data = make_norm_linear(200, random_state=0)
    >>> model = BoostedQuantileRegressor(max_iter=50, random_state=0).fit(data.X, data.y)
    >>> model.predict_quantiles(data.X[:2], [0.1, 0.5]).shape
    (2, 2)
    """

    _accepts = ("right", "interval", "delayed_entry")
    _is_empirical = True  # its residuals begin where rows were seen
    _cross_fits_itself = True
    n_iter_: int
    _transform: TimeTransform
    _bounds: tuple[float, float]
    _boosters: Boosters
    _residual_quantiles: Floats

    def __init__(
        self,
        quantiles: ArrayLike | None = None,
        *,
        max_depth: int = 3,
        min_samples_leaf: int = 10,
        fit_scale: bool = True,
        learning_rate: float = 0.1,
        max_iter: int = 300,
        subsample: float = 0.7,
        l2_regularization: float = 1.0,
        max_samples: int | str | None = "auto",
        cv: int | Sequence[Any] = 3,
        n_jobs: int | None = None,
        censoring: str = "right",
        random_state: Any = None,
    ) -> None:
        self.quantiles = quantiles
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.fit_scale = fit_scale
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.subsample = subsample
        self.l2_regularization = l2_regularization
        self.max_samples = max_samples
        self.cv = cv
        self.n_jobs = n_jobs
        self.censoring = censoring
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._rule()
        if not isinstance(self.cv, list | tuple):
            check_integer("cv", self.cv, minimum=2)
        check_n_jobs(self.n_jobs)

    def _rule(self) -> BoostingRule:
        """Return the parameters of boosting; ValueError or TypeError if one is wrong."""
        depth = check_integer("max_depth", self.max_depth, minimum=1)
        if depth > _DEEPEST:
            raise ValueError(f"max_depth must be at most {_DEEPEST}, got {depth}.")
        return BoostingRule(
            depth=depth,
            min_leaf=check_integer("min_samples_leaf", self.min_samples_leaf, minimum=1),
            fit_scale=check_flag("fit_scale", self.fit_scale),
            rate=check_number(
                "learning_rate", self.learning_rate, minimum=0.0, exclude_minimum=True
            ),
            max_rounds=check_integer("max_iter", self.max_iter, minimum=1),
            share=check_share("subsample", self.subsample),
            penalty=check_number("l2_regularization", self.l2_regularization, minimum=0.0),
            max_rows=_most_rows(self.max_samples),
        )

    def _fit_rows(self, rows: FitData, rng: np.random.Generator) -> None:
        fold_of = self._folds(rows, rng)
        residuals, _, seen = self._train(rows, fold_of, rng)
        self._residual_quantiles = self._quantiles_of(residuals, rows, seen)

    def _cross_fit_rows(
        self, rows: FitData, folds: Folds, rng: np.random.Generator, levels: Floats
    ) -> Iterator[HeldOut]:
        folds = _comparable(folds, rows)
        residuals, state, seen = self._train(rows, folds, rng)
        self._residual_quantiles = self._quantiles_of(residuals, rows, seen)
        for fold in range(int(folds.max()) + 1):
            own = np.flatnonzero(folds == fold)
            # The shape of the residuals must not come from the rows that are predicted.
            others = seen & (folds != fold)
            shape = self._residual_quantiles
            if rows.target.event[others].any():
                shape = self._quantiles_of(residuals, rows, others)
            said = state[:, own]
            if not seen[own].all():
                said = self._boosters.alone(fold).predict(rows.x[own])
            for start in range(0, len(own), _BLOCK_ROWS):
                block = slice(start, start + _BLOCK_ROWS)
                yield own[block], self._curve_at(said[:, block], shape).at(levels), None

    def _train(
        self, rows: FitData, fold_of: Folds, rng: np.random.Generator
    ) -> tuple[Target, Floats, NDArray[np.bool_]]:
        """Train boosters; return residuals and states of rows that each has not seen.

        Last comes which rows have them: with many rows, not all that a fold holds out.
        """
        left, near = self.censoring == "left", rows.target
        # Nothing keeps a law of linear time from lying below 0 where rows have entries.
        kind = "log-tobit"
        if isinstance(near, GeneralTarget):
            near = near.middle
        elif self.time_transform_.inverse(rows.timeline.time).min() <= 0.0:
            kind = "tobit"
        self._transform = TimeTransform.fit(
            near.time, near.event, kind, mirror=left, sample_weight=rows.weight
        ).reaching(rows.target)

        # Another unit of time rounds differently in the last bits, which would decide between two
        # equally good splits: in single precision the times are the same in every unit.
        def in_units(time: Floats) -> Floats:
            return self._transform.forward(time).astype(np.float32).astype(np.float64)

        target, z = rows.target.mapped(in_units), in_units(near.time)
        self._bounds = (float(z.min()) - _ROOM, float(z.max()) + _ROOM)
        seeds = rng.integers(2**63, size=fold_of.max() + 1).tolist()
        self._boosters, state = cross_fit_boosters(
            self._rule(),
            rows.x,
            target,
            rows.weight,
            fold_of,
            seeds,
            self.n_jobs,
            self._stopping,
        )
        self.n_iter_ = self._boosters.feature.shape[1]
        residuals = target.mapped(lambda ends: (ends - state[0]) * np.exp(-state[1]))
        return residuals, state, ~np.isnan(state[0])

    def _quantiles_of(self, residuals: Target, rows: FitData, some: NDArray[np.bool_]) -> Floats:
        """Return quantiles of the residuals of some rows at the levels of curves."""
        return residual_quantiles(residuals.take(some), rows.weight[some], self._curve_levels())

    def _folds(self, rows: FitData, rng: np.random.Generator) -> Folds:
        """Return the fold of each row."""
        if isinstance(self.cv, list | tuple):
            fold_of = folds_of_splits(self.cv, int(rows.source.max()) + 1)[rows.source]
        else:
            fold_of = make_folds(self.cv, rows.x, rows.timeline, None, rng)
        return _comparable(fold_of, rows)

    def _model_curve(self, x: Floats) -> QuantileCurve:
        return self._curve_at(self._boosters.predict(x), self._residual_quantiles)

    def _curve_at(self, state: Floats, residuals: Floats) -> QuantileCurve:
        values = self._times(state, residuals)
        return QuantileCurve.adopt(values, self._curve_levels(), self._lowest())

    def _times(self, state: Floats, residuals: Floats) -> Floats:
        """Return right-censored times by location and log-scale ``(2, n)`` and given residuals."""
        location, log_scale = state
        z = location[:, None] + np.exp(log_scale)[:, None] * residuals
        np.minimum(np.maximum(z, self._bounds[0], out=z), self._bounds[1], out=z)
        times = self._transform.inverse(z)
        return -times if self.time_transform_.mirror else times

    def _lowest(self) -> float:
        return -np.inf if self.time_transform_.mirror else self._lowest_time()

    @classmethod
    def _mean_reader(cls, models: Sequence[Any], levels: Floats) -> MeanReader:
        known = [levels_among(levels, model._curve_levels()) for model in models]
        if any(places is None for places in known):
            return super()._mean_reader(models, levels)
        wanted = [
            (model, model._residual_quantiles[places], model._lowest())
            for model, places in zip(models, known, strict=True)
        ]

        def read(x: NDArray[Any]) -> Answers:
            x = np.asarray(x, dtype=np.float64)
            parts = [
                np.maximum(model._times(model._boosters.predict(x), own), lowest)
                for model, own, lowest in wanted
            ]
            return mean_answers([(part, None) for part in parts])

        return read

    def _model_graph(self, x: Value) -> GridCurve:
        location, log_scale = boosters_graph(self._boosters, x)
        z = (location + log_scale.exp() * self._residual_quantiles).clip(*self._bounds)
        values = self._transform.graph_inverse(z)
        if self.time_transform_.mirror:
            return GridCurve.of_predictions(-values, self._curve_levels())
        return GridCurve.of_predictions(values, self._curve_levels(), self._lowest_time())

    def _store(self, writer: Writer) -> None:
        writer.add(_STORED, self)
        super()._store(writer)

    def _restore(self, reader: Reader) -> None:
        super()._restore(reader)
        rule = self._rule()
        n_leaves, reader.sizes["parts"] = 2**rule.depth, len(rule.rates)
        reader.sizes |= {"inner": n_leaves - 1, "leaves": n_leaves}
        reader.sizes["curve_levels"] = len(self._curve_levels())
        reader.fill(self, _STORED)
        self._boosters.validate()
        rises = np.diff(self._residual_quantiles) >= 0
        require(rises, "does not hold residuals that do not decrease")
        self._bounds = (self._bounds[0], max(self._bounds))
        self.n_iter_ = self._boosters.feature.shape[1]


def _comparable(fold_of: Folds, rows: FitData) -> Folds:
    """Return the folds, or one fold of all rows where no held-out row has an event."""
    return fold_of if rows.target.event[fold_of != NEVER].any() else np.zeros_like(fold_of)


def _most_rows(max_samples: Any) -> int:
    """Return how many rows a booster is trained on at most."""
    if isinstance(max_samples, str):
        check_choice("max_samples", max_samples, ("auto",))
        return _AUTO_ROWS
    if max_samples is None:
        return sys.maxsize
    return check_integer("max_samples", max_samples, minimum=1)
