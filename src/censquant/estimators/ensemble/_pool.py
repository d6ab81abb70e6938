"""What ensembles share: candidates fitted side by side, their weights, and the fitted mixture."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from censquant._progress import Bar
from censquant._rows._cross_fit import (
    NEVER,
    Folds,
    depend_on_ensemble,
    fixes_splits,
    fold_rows,
)
from censquant._rows._features import (
    check_features,
    check_is_fitted,
    dense,
    refuse_other_shapes,
    refuse_overflow,
    warn_of_constant_features,
)
from censquant._rows._fit_data import FitData
from censquant._storage._codec import Array, Entry, Fields, Reader, Writer, decoded, require
from censquant._storage._parts import expect
from censquant._trees._follow_up import (
    FollowUp,
    ReachRule,
    begun,
    fit_entries,
    followed,
    restore_features,
    store_features,
)
from censquant._typing import Floats
from censquant._validation import (
    check_choice,
    check_integer,
    check_n_jobs,
    check_number,
    check_sizes,
    seed_sequence,
)
from censquant._warn import warn_user
from censquant.estimators._base import BaseQuantileRegressor
from censquant.estimators._forest import CensoredQuantileForest
from censquant.estimators.ensemble._candidates import (
    FEW_ROWS,
    MOST_COMPARED,
    N_REPEATS,
    Candidate,
    CrossFit,
    is_refitted,
    repeats_of,
)
from censquant.estimators.ensemble._imputation import StandIns
from censquant.estimators.ensemble._mixture import LEVELS, Bounds, Members, Mixture
from censquant.estimators.ensemble._table import (
    POOL,
    REJECTED,
    WIDE_GAP,
    CandidateRow,
    CandidateTable,
    PoolSummary,
    scored_among,
    table_of,
)
from censquant.estimators.ensemble._weights import HeldOutScore, Prior
from censquant.estimators.neural._neural import NeuralRegressor
from censquant.estimators.neural._split_fit import check_splittable
from censquant.exceptions import CalibrationWarning, FewEventsWarning
from censquant.export._graph import Value
from censquant.export._graphs_curves import GraphCurve
from censquant.export._graphs_pool import pool_graph
from censquant.metrics import a_calibration, pit_curve
from censquant.quantiles import QuantileCurve
from censquant.quantiles._distribution_curve import TailLimit
from censquant.quantiles._grid import check_quantiles
from censquant.survival import Target
from censquant.survival._target import GeneralTarget, require_events
from censquant.survival._transform import TimeTransform

Named = Sequence[tuple[str, Any]]

# On the side without censoring no quantile passes the observed times by more than this share of
# their range.
_ROOM = 0.2
# Fewer events test nothing.
_FEWEST_EVENTS = 10
_TESTED = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
_BLOCK_ROWS = 1_024
_LAST_SEED = 2**31
_TAIL_RULE = (
    "After the last observed time e, survival falls at least as fast as (e / t) to the power 4/3."
)


_PREPARED: WeakKeyDictionary["Pool", tuple[Members, Floats, Floats]] = WeakKeyDictionary()


class Pool(BaseQuantileRegressor):
    """Candidates that were cross-fitted, weighted and pooled; subclasses say which.

    A subclass has the parameters ``quantiles``, ``cv``, ``censoring``, ``n_jobs``,
    ``random_state`` and ``verbose``.
    """

    quantiles: ArrayLike | None
    cv: Any
    censoring: str
    n_jobs: int | None
    random_state: Any
    verbose: int
    scoring: str = "log"  # what the weights minimise
    _accepts = ("right", "interval", "delayed_entry")
    _is_empirical = True  # as its forest and its proportional hazards are

    quantiles_: Floats
    unique_times_: Floats
    follow_up_: tuple[float, float]
    horizon_: float
    n_features_in_: int
    time_transform_: TimeTransform
    estimators_: dict[str, list[Any]]
    weights_: dict[str, float]
    candidates_: CandidateTable
    oof_curve_: QuantileCurve | None
    oof_rows_: NDArray[np.intp] | None
    calibration_p_value_: float | None
    calibration_gap_: tuple[float, float] | None
    _input_shape: tuple[int, ...]
    _mixture: Mixture
    _follow_up: FollowUp | None
    _reads_features = True
    _unstored_parameters = ("cv", "random_state")  # by a model file

    def _check_parameters(self) -> None:
        check_choice("censoring", self.censoring, ("right", "left"))
        check_n_jobs(self.n_jobs)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")  # the last that a fit sets

    # Fitting

    def _begin_fit(self) -> None:
        """Check parameters and forget an earlier fit, so that a fit that fails leaves none."""
        self._check_parameters()
        self.__dict__.pop("estimators_", None)

    def _fit_pool(
        self,
        candidates_for: Callable[[FitData], Named],
        prior: Prior,
        read_features: Callable[[Any], NDArray[Any]],
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
    ) -> Self:
        """Fit to a user's data; ``candidates_for`` names candidates for its rows."""
        taus = check_quantiles(self.quantiles)
        left = self.censoring == "left"
        data = FitData.read(
            X,
            y,
            sample_weight,
            groups,
            read_features=read_features,
            left=left,
            accepts=self._accepts,
        )
        rows = data.arranged()
        require_events(rows.target)
        seed = seed_sequence(self.random_state)
        fold_seed, follow_up_seed = seed.spawn(2)
        compared = rows.take(_compared_rows(len(rows), rows.groups))
        is_repeated = len(compared) < FEW_ROWS and not fixes_splits(self.cv)
        folding = np.random.default_rng(fold_seed)
        folds = [
            fold_rows(self.cv, data, compared, folding)
            for _ in range(N_REPEATS if is_repeated else 1)
        ]
        del data  # the order of a large array is a second one
        self._feature_range = rows.feature_range
        if self._feature_range is not None:
            warn_of_constant_features(self._feature_range, self._column_names())

        self.quantiles_ = taus
        self.time_transform_ = TimeTransform(mirror=left)
        self.follow_up_ = rows.follow_up
        self.horizon_ = rows.horizon
        self.unique_times_ = rows.event_times()
        self._input_shape = rows.x.shape[1:]

        named = candidates_for(rows)
        _refuse_members(named, rows.target)
        unit = max(abs(end) for end in self.follow_up_) or 1.0
        candidates = [
            Candidate(name, estimator, seed, unit, repeats_of(estimator) if is_repeated else 1)
            for (name, estimator), seed in zip(named, seed.spawn(len(named)), strict=True)
        ]
        pooled = self._pool_candidates(candidates, prior, rows, compared, folds)
        self._follow_up = None
        if not rows.target.event.all():
            self._follow_up = FollowUp.fit(
                rows.x.reshape(len(rows), -1),
                rows.timeline.time,
                rows.timeline.event,
                rows.weight,
                np.random.default_rng(follow_up_seed),
            )
        entry_rng = np.random.default_rng(seed.spawn(1)[0])
        flat = rows.x.reshape(len(rows), -1)
        self._entered = fit_entries(flat, rows.target, rows.weight, entry_rng)
        self.estimators_ = {each.name: each.models for each in pooled}
        return self

    def _pool_candidates(
        self,
        candidates: list[Candidate],
        prior: Prior,
        rows: FitData,
        compared: FitData,
        folds: Sequence[Folds],
    ) -> list[Candidate]:
        """Cross-fit and weigh candidates on the rows to compare, then fit those used to all."""
        n_folds = int(folds[0].max()) + 1
        bounds = self._bounds(rows)
        if not n_folds and len(candidates) > 1:
            warn_user(
                "Candidates cannot be compared, since fewer than two groups, or rows that differ, "
                "have an event: each has the weight that is expected of it beforehand.",
                FewEventsWarning,
            )
        held = np.flatnonzero(folds[0] != NEVER)
        score = HeldOutScore.of(self.scoring, compared.timeline, compared.weight)
        fitting = CrossFit(compared, folds, score, bounds.lower, self.n_jobs, None, self._stopping)
        bar = None
        if self.verbose:
            bar = Bar("candidates", fitting.n_fits(candidates), unit="fits")
            bar.expect(None)
            fitting = replace(fitting, bar=bar)
        try:
            kept = _native(candidates, rows.target)
            others = [each for each in candidates if each not in kept]
            kept = fitting.run(kept) if n_folds else kept
            if others and kept:
                fitting = _with_stand_ins(fitting, kept, others, prior, held, bounds, len(rows))
                kept += [] if fitting.stand_ins is None else fitting.run(others)
                kept = [each for each in candidates if each in kept]
            if not kept:
                raise ArithmeticError(
                    f"No candidate could be fitted: {candidates[0].dropped} ({candidates[0].name})."
                )
            mixture = _weigh(kept, prior, score, held, bounds)
            needed = [each for each, used in zip(kept, mixture.used, strict=True) if used]
            is_part = len(compared) < len(rows) or not n_folds
            again = [each for each in needed if is_part or is_refitted(each.estimator)]
            if bar is not None:
                bar.advance(len(candidates) - len(again))
            replace(fitting, rows=rows).refit(again)
        finally:
            if bar is not None:
                bar.close()
        self._mixture = mixture.among(mixture.used)
        self.weights_ = dict.fromkeys((each.name for each in candidates), 0.0)
        self.weights_ |= {
            each.name: float(w) for each, w in zip(needed, self._mixture.weights, strict=True)
        }
        self._keep_held_out(candidates, kept, mixture, score, held, compared.source)
        for each in needed:
            for model in each.models:
                if isinstance(model, CensoredQuantileForest):
                    model._hold_back(self.weights_[each.name])
        return needed

    def _bounds(self, rows: FitData) -> Bounds:
        """Return the times at which candidates must agree with each other."""
        first, last = float(rows.timeline.time.min()), float(rows.timeline.time.max())
        tail = TailLimit.of(first, last)
        if self.time_transform_.mirror or self.follow_up_[0] < 0:
            return Bounds(-np.inf, first - _ROOM * tail.length, tail)
        return Bounds(0.0, -np.inf, tail)

    def _keep_held_out(
        self,
        candidates: list[Candidate],
        kept: list[Candidate],
        mixture: Mixture,
        score: HeldOutScore,
        held: NDArray[np.intp],
        order: NDArray[np.intp],
    ) -> None:
        """Keep predictions for held-out rows, in the order of the user's rows, and their scores."""
        self.oof_curve_ = self.oof_rows_ = None
        self.calibration_p_value_ = self.calibration_gap_ = None
        levels, values, pooled = self._pool_levels(), None, None
        scored = scored_among(held)
        if len(held):
            values = self._held_out_values(kept, mixture, held)
            shown = np.searchsorted(levels, LEVELS)
            pooled = values if len(shown) == len(levels) else values[:, shown]
        for each in kept:  # the rest of their predictions would take memory to the end of the fit
            each.keep_only(held[scored])
        horizon = float(self.time_transform_.forward(self.horizon_))
        self.candidates_ = table_of(
            candidates,
            self.weights_,
            None if pooled is None else pooled[scored],
            score.take(held[scored]) if len(held) else score,
            horizon,
            mixture.bounds.lower,
        )
        if pooled is not None and values is not None:
            self._check_calibration(pooled, score.target.take(held))
            del pooled
            # Copies of a row, which a whole weight stands for, have the same prediction.
            self.oof_rows_, first = np.unique(order[held], return_index=True)
            self.oof_curve_ = self._in_user_units(values[first], levels)

    def _held_out_values(
        self, kept: list[Candidate], mixture: Mixture, held: NDArray[np.intp]
    ) -> Floats:
        """Return the pool's quantiles of held-out rows, in the units of right-censored times."""
        wanted = self._pool_levels()
        values = np.empty((len(held), len(wanted)))
        for start in range(0, len(held), _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            predictions = [each.held_out(held[rows]) for each in kept]
            values[rows] = mixture.quantiles(predictions, wanted)
        return values

    def _check_calibration(self, pooled: Floats, target: Target) -> None:
        """Warn if held-out rows reject the calibration and the deviation is large."""
        if target.n_events < _FEWEST_EVENTS or isinstance(target, GeneralTarget):
            return
        y, columns = (target.time, target.event), np.searchsorted(LEVELS, _TESTED)
        self.calibration_p_value_ = float(a_calibration(y, pooled[:, columns], _TESTED).p_value)
        nominal, observed = pit_curve(y, pooled, LEVELS)
        distance = np.abs(observed - nominal)
        if np.isnan(distance).all():
            return
        worst = int(np.nanargmax(distance))
        self.calibration_gap_ = float(nominal[worst]), float(observed[worst])
        if self.calibration_p_value_ < REJECTED and distance[worst] > WIDE_GAP:
            warn_user(
                f"Cross-validation shows miscalibrated quantiles: by the predicted "
                f"{100 * nominal[worst]:.3g} % quantile {100 * observed[worst]:.3g} % of held-out "
                f"rows had the event (p = {self.calibration_p_value_:.2g}). Wrap the model in "
                "ConformalSurvivalRegressor, or check it with censquant.metrics.evaluate.",
                CalibrationWarning,
            )

    # Predicting

    def _read_features(self, X: Any) -> Any:
        check_is_fitted(self, "estimators_")
        features = check_features(
            self,
            X,
            reset=False,
            dtype=(np.float64, np.float32),
            allow_nd=len(self._input_shape) > 1,
        )
        refuse_other_shapes(features, self._input_shape)
        return features

    def _pool_levels(self) -> Floats:
        """Return the levels of the pool's curves, in the units of right-censored times."""
        return np.union1d(LEVELS, self.time_transform_.levels(self.quantiles_).round(12))

    def _in_user_units(self, values: Floats, levels: Floats) -> QuantileCurve:
        """Return the curves behind quantiles at the levels of the pool."""
        if self.time_transform_.mirror:
            values, levels = -values[:, ::-1], (1.0 - levels[::-1]).round(12)
        return QuantileCurve.adopt(np.ascontiguousarray(values), levels, self._lowest_time())

    def _curve_of(self, features: NDArray[Any]) -> QuantileCurve:
        mirror = self.time_transform_.mirror
        members, levels = self._prepared()
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._mixture.continue_tails(members.predictions(features))
        refuse_overflow(values, features, self._column_names())
        values = self._mixture.inverted(values, levels)
        curve = self._in_user_units(values, levels).with_reach(
            ReachRule(self, features), lowest=mirror
        )
        return begun(self._entered, curve, features, empirical=self._is_empirical)

    def _prepared(self) -> tuple[Members, Floats]:
        """Return the fitted models, ready for questions, and the levels of the pool's curves.

        They are kept beside the estimator, not in it: a prediction changes no attribute, and no
        copy or file of the estimator holds what follows from its attributes.
        """
        known = _PREPARED.get(self)
        if known is None or known[2] is not self.quantiles_ or not known[0].are(self.estimators_):
            known = Members(self.estimators_), self._pool_levels(), self.quantiles_
            _PREPARED[self] = known
        return known[:2]

    def _followed(self, features: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return how long individuals were followed, and the level reached by then."""
        flat, transform = features.reshape(len(features), -1), self.time_transform_
        return followed(self._follow_up, flat, transform, self.follow_up_)

    def _curve_of_graph(self, x: Value) -> tuple[GraphCurve, Value]:
        return pool_graph(self, x)

    # Training again where all rows are

    def _encode_features(self, X: Any) -> Floats:
        """Return rows of a table as the numbers that the candidates learn from."""
        return np.asarray(dense(self._read_features(X)), dtype=np.float64)

    def _untrained_networks(self, rng: np.random.Generator) -> dict[str, NeuralRegressor]:
        """Return unfitted copies of the networks in use that can be trained on a cluster.

        They leave follow-up and warnings to the ensemble, as its own do.
        """
        copies = {}
        for name, models in self.estimators_.items():
            seed = int(rng.integers(_LAST_SEED))
            if isinstance(models[0], NeuralRegressor) and _is_splittable(models[0]):
                copies[name] = clone(models[0]).set_params(random_state=seed)
                depend_on_ensemble(copies[name])
        return copies

    # Reporting and saving

    @property
    def tail_rule_(self) -> str:
        """What predictions rest on after follow-up ended, in words."""
        return _TAIL_RULE

    def summary(self) -> PoolSummary:
        """Return in words what was pooled, how well it did on held-out rows and what it rests on.

        Returns
        -------
        summary : PoolSummary
            ``str()`` of it is text; notebooks show a table.
        """
        check_is_fitted(self, "estimators_")
        return PoolSummary.of(self)

    def _store(self, writer: Writer) -> None:
        store_pool(self, writer)
        store_features(self, writer)

    def _restore(self, reader: Reader) -> None:
        self._check_parameters()
        restore_candidates = read_pool(self, reader)
        restore_features(self, reader)
        restore_candidates()


def _weigh(
    kept: list[Candidate],
    prior: Prior,
    score: HeldOutScore,
    held: NDArray[np.intp],
    bounds: Bounds,
) -> Mixture:
    """Return how the candidates are pooled, by their predictions for held-out rows."""
    if len(kept) == 1:
        return Mixture(np.ones(1), np.zeros(1), bounds)
    names = [each.name for each in kept]
    score = score.take(held)
    likelihood = {each.name: each.log_likelihood(held) for each in kept}
    if isinstance(score.target, GeneralTarget) and len(held):
        # Models of hazards have no density of a time, and of intervals nobody needs one.
        likelihood = {
            each.name: np.log(
                np.maximum(
                    score.log.chances(each.held_out(held).values, LEVELS, bounds.lower), 1e-9
                )
            )
            for each in kept
            if hasattr(each.estimator, "log_likelihood")
        }
    expected = prior(names, likelihood)
    whole = np.array([each.is_whole for each in kept])
    reference = np.zeros(len(kept))
    if not len(held):  # nothing to compare them by
        reference[whole] = expected[whole] / expected[whole].sum() if whole.any() else 0.0
        return Mixture(expected, reference, bounds)
    if whole.any():
        alone = [each for each in kept if each.is_whole]
        reference[whole] = score.weights(
            lambda rows: np.stack([each.held_out(held[rows]).values for each in alone]),
            LEVELS,
            bounds.lower,
            expected[whole] / expected[whole].sum(),
        )
    mixture = Mixture(expected, reference, bounds)
    weights = score.weights(
        lambda rows: mixture.continue_tails([each.held_out(held[rows]) for each in kept]),
        LEVELS,
        bounds.lower,
        expected,
    )
    if not (weights[~whole] > 0).any():  # nothing has to be continued
        reference = np.zeros(len(kept))
    return Mixture(weights, reference, bounds)


def _refuse_members(named: Named, target: Target) -> None:
    """Refuse candidates that cannot learn from the rows of a fit."""
    needs = target.needs if isinstance(target, GeneralTarget) else {}
    for name, estimator in named:
        if "delayed_entry" in needs and "delayed_entry" not in estimator._accepts:
            raise ValueError(
                f"The candidate {name!r} must take delayed entry, which {needs['delayed_entry']} "
                f"of {len(target)} rows have, got {type(estimator).__name__}: leave it out."
            )
    if "interval" in needs and not any("interval" in each._accepts for _, each in named):
        raise ValueError(
            "One candidate at least must take intervals, which "
            f"{needs['interval']} of {len(target)} rows have, got {[name for name, _ in named]}: "
            "add one, such as AFTRegressor."
        )


def _native(candidates: list[Candidate], target: Target) -> list[Candidate]:
    """Return the candidates that take the rows as they are."""
    if not isinstance(target, GeneralTarget) or "interval" not in target.needs:
        return candidates
    return [each for each in candidates if "interval" in each.estimator._accepts]


def _with_stand_ins(
    fitting: CrossFit,
    kept: list[Candidate],
    others: list[Candidate],
    prior: Prior,
    held: NDArray[np.intp],
    bounds: Bounds,
    n_rows: int,
) -> CrossFit:
    """Return a fitting with rows for candidates that take no intervals.

    Exact times stand for these, by what the others say of rows that they have not seen.
    """
    if not len(held) or len(fitting.rows) < n_rows:
        for each in others:
            each.drop("takes no intervals, and these rows cannot be imputed")
        return fitting
    mixture = _weigh(kept, prior, fitting.score, held, bounds)
    values = np.full((n_rows, len(LEVELS)), np.nan)
    for start in range(0, len(held), _BLOCK_ROWS):
        rows = held[start : start + _BLOCK_ROWS]
        values[rows] = mixture.quantiles([each.held_out(rows) for each in kept], LEVELS)
    stand_ins = StandIns.of(fitting.rows, values, bounds.lower)
    for each in others:
        each.source = stand_ins.source
    return replace(fitting, stand_ins=stand_ins)


def _compared_rows(
    n_rows: int, groups: NDArray[Any] | None, most: int = MOST_COMPARED
) -> NDArray[np.intp]:
    """Return the rows on which candidates are compared: all, or the first whole groups.

    Rows come in an order that is a hash of their content, so that the first of them are a random
    sample that does not depend on how a file was sorted.
    """
    if n_rows <= most:
        return np.arange(n_rows)
    if groups is None:
        return np.arange(most)
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    by_appearance = np.argsort(np.argsort(first))[group]
    size = np.bincount(by_appearance)
    n_groups = max(1, int(np.searchsorted(np.cumsum(size), most, side="right")))
    return np.flatnonzero(by_appearance < n_groups)


def read_plain_features(pool: Pool, X: Any, *, allow_nd: bool) -> NDArray[Any]:
    """Return features of a fit as numbers, for pools whose candidates take nothing else."""
    return dense(
        check_features(pool, X, reset=True, dtype=(np.float64, np.float32), allow_nd=allow_nd)
    )


def _is_splittable(model: NeuralRegressor) -> bool:
    try:
        check_splittable(model)
    except (TypeError, ValueError):
        return False
    return True


def _read_counts(name: str, counts: Any) -> list[tuple[str, int]]:
    """Return the names of the candidates with how many models each consists of."""
    return [
        (expect(name, candidate, str), check_integer(name, n, minimum=1))
        for candidate, n in expect(name, counts, list)
    ]


def _read_gap(name: str, gap: Any) -> tuple[float, float]:
    is_pair = isinstance(gap, list) and len(gap) == 2
    require(is_pair, "holds a gap of the calibration that is no pair of shares")
    return check_number(name, gap[0]), check_number(name, gap[1])


_STORED: Fields = {
    "input_shape": Entry(
        lambda name, shape: check_sizes(name, expect(name, shape, list)), "_input_shape"
    ),
    # A list, since JSON's objects have no order and the arrays of weights have this one.
    "candidates": Entry(
        _read_counts,
        "estimators_",
        plain=lambda found: [[name, len(models)] for name, models in found.items()],
    ),
    "table": Entry(
        lambda name, rows: CandidateTable(
            tuple(
                CandidateRow(**{"log_score": math.nan, **decoded(row)})  # new since 0.2
                for row in expect(name, rows, list)
            )
        ),
        "candidates_",
        plain=lambda table: [asdict(row) for row in table],
        says="scores of the candidates on held-out rows",
    ),
    "calibration_p_value": Entry(check_number, "calibration_p_value_", optional=True),
    "calibration_gap": Entry(_read_gap, "calibration_gap_", optional=True, is_new=True),
    "bounds": Entry(
        lambda name, bounds: decoded(expect(name, bounds, dict)),
        "_mixture.bounds",
        plain=lambda bounds: {"lower": bounds.lower, "low": bounds.low},
    ),
    "weights": Array("f8", ("candidates",), "_mixture.weights"),
    "reference": Array("f8", ("candidates",), "_mixture.reference"),
}


def store_pool(pool: "Pool", writer: Writer) -> None:
    """Add candidates and their weights; predictions of held-out rows are left out."""
    writer.add(_STORED, pool)
    for name, models in pool.estimators_.items():
        for place, model in enumerate(models):
            writer.add_model(f"fitted.{name}.{place}", model)


def read_pool(pool: "Pool", reader: Reader) -> Callable[[], None]:
    """Take what `store_pool` added, and return what restores the candidates."""
    counts = _read_counts("candidates", reader.part.description["candidates"])
    reader.sizes["candidates"] = len(counts)
    known = reader.fill(pool, _STORED)
    for name in ("weights", "reference"):
        total = float(known[name].sum())
        is_whole = abs(total - 1.0) < 1e-9 or (name != "weights" and not total)
        shares = is_whole and (known[name] >= 0).all()
        require(shares, f"holds {name} of candidates that are not shares of a whole")
    lower, low = (float(known["bounds"][name]) for name in ("lower", "low"))
    tail = TailLimit.of(*sorted(pool.time_transform_.forward(np.array(pool.follow_up_)).tolist()))
    in_order = max(lower, low) <= tail.end < math.inf
    require(in_order, "holds bounds of times that are not in order")
    pool._mixture = Mixture(known["weights"], known["reference"], Bounds(lower, low, tail))
    pool.weights_ = {
        row.name: check_number("weight", row.weight) for row in pool.candidates_ if row.name != POOL
    }
    pool.oof_curve_ = pool.oof_rows_ = None

    def restore_candidates() -> None:
        pool.estimators_ = {
            name: [reader.model(f"fitted.{name}.{place}") for place in range(n)]
            for name, n in counts
        }
        for models in pool.estimators_.values():
            for model in models:
                depend_on_ensemble(model)

    return restore_candidates
