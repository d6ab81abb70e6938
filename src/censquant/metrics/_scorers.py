"""Scorers for scikit-learn's cross-validation and searches, and the metrics they offer by name."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant._validation import check_choice
from censquant.adapters import predict_quantiles_of, survival_of
from censquant.adapters._predictions import (
    final_model,
    follow_up_end,
    is_left_censored,
    is_supported,
    restricted_mean_of,
)
from censquant.metrics._brier import default_brier_times
from censquant.metrics._reading import Mirror, censored_at, warn_truncated
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import DEFAULT_QUANTILES, sorted_rows
from censquant.survival import Target, read_target
from censquant.survival._columns import read_weights
from censquant.survival._kaplan_meier import default_horizon


class Metric(NamedTuple):
    """A metric that `evaluate` or a scorer offers, with the predictions that it takes after ``y``.

    It is a line of `evaluate` if it has a note, under the name ``row`` or its own, and a scorer if
    it has a name for it. Order alone needs no cut at the end of the training follow-up. A metric
    ``for_equal_censoring`` counts rows by one Kaplan-Meier curve for all of them, so that it is
    biased where censoring depends on the features.
    """

    function: Callable[..., float]
    takes: Literal["medians", "restricted_means", "quantiles", "survival"]
    better: Literal["higher", "lower"]
    scorer: str = ""
    note: str = ""
    row: str = ""
    is_cut: bool = True
    for_equal_censoring: bool = False


METRICS: list[Metric] = []  # filled by the package, in the order of the table of `evaluate`


def offer(*metrics: Metric) -> None:
    """Add metrics to the table of `evaluate` and to the scorers."""
    METRICS.extend(metrics)
    SCORERS.update({metric.scorer: Scorer(metric) for metric in metrics if metric.scorer})


@dataclass(eq=False)
class Scorer:
    """A metric as scikit-learn wants it: called with an estimator and data, higher is better.

    Rows followed for longer than the estimator's training rows count as censored at the end of
    their follow-up, and the scorer warns of it once.
    """

    metric: Metric
    _has_warned: bool = field(default=False, init=False)

    def __call__(
        self, estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> float:
        """Score the predictions of a fitted estimator on some rows."""
        metric, scored = self.metric, _Scored.read(estimator, X, y, sample_weight)
        self._require_predictions(scored.model)
        within = scored.within_follow_up() if metric.is_cut else scored.target
        if within is not scored.target and not self._has_warned:
            self._has_warned = True
            warn_truncated(
                "Some times of y lie past the follow-up of the estimator's training rows, where "
                "predictions cannot be judged: these rows are scored as censored there."
            )
        predictions = replace(scored, target=within).predictions(metric.takes)
        pair = within.time, within.event
        value = metric.function(pair, *predictions, sample_weight=sample_weight)
        return value if metric.better == "higher" else -value

    def __repr__(self) -> str:
        return f"get_scorer({self.metric.scorer!r})"

    def _require_predictions(self, model: Any) -> None:
        """Raise unless the model predicts what the metric takes."""
        needs_times = self.metric.takes in ("medians", "restricted_means")
        if is_supported(model) or (needs_times and hasattr(model, "predict")):
            return
        needed = "quantiles or survival curves"
        if needs_times:
            needed = "quantiles, survival curves or times"
        raise TypeError(
            f"estimator must predict {needed} for the scorer {self.metric.scorer!r}, "
            f"got {type(model).__name__}."
        )


SCORERS: dict[str, Scorer] = {}
"""The scorers by name, each ready for ``scoring=``; `get_scorer` says what they do."""


def get_scorer(name: str) -> Scorer:
    """Scorer of a name, to pass as ``scoring=`` to scikit-learn.

    Higher is always better: losses are negated and their names begin with ``neg_``. The names
    are ``"neg_log_score"`` (the whole distribution, without a model of the censoring),
    ``"concordance"`` and ``"concordance_ipcw"`` (order alone, of the restricted means),
    ``"concordance_median"`` (order alone, of the medians), ``"neg_censored_pinball"`` and
    ``"neg_ipcw_pinball"`` (quantiles at the levels that were fitted), ``"neg_crps"`` and
    ``"neg_integrated_brier"`` (the whole distribution) and
    ``"neg_mean_absolute_error_censored"`` (medians, by pseudo-observations).

    In mostly censored data the median is an extrapolation, a poor value to select models by. So
    the first two rank by the expected time up to a horizon, the last time at which one in twenty
    is still at risk: of the training rows where the estimator has ``predict_restricted_mean``,
    otherwise of the rows to score.

    The estimator may be a Pipeline or a finished search, and of any library that
    `censquant.adapters.predict_quantiles_of` takes; for scores of order and of medians any other
    regressor will do. Left-censored times are scored after they are mirrored. Predictions past the
    identified level are taken as they are. The censoring curve is that of the rows to score, since
    an estimator does not keep its training rows. Rows that were followed for longer than any
    training row count as censored at the end of the training follow-up, except for
    ``"concordance"`` and ``"concordance_median"``, so a fold whose times leave the training range
    is scored and not refused: the scorer warns of it once. If all of its events lie past that end,
    some metrics have no value, and scikit-learn puts its ``error_score`` there.

    Where censoring depends on the features, the pinball scores, the CRPS, the Brier score and the
    absolute error can favor a wrong model: select models by ``"neg_log_score"``, or by
    ``"concordance"`` if only the order matters. `evaluate` and `compare` test whether it does.

    The pinball scores average over the fitted levels. Where a search varies these, the scores are
    not comparable; ``"neg_crps"`` is.

    Parameters
    ----------
    name : str
        One of the keys of `SCORERS`.

    Returns
    -------
    scorer : callable
        Called as ``scorer(estimator, X, y, sample_weight=None)``; returns a float.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import cross_val_score
    >>> from censquant import LinearQuantileRegressor, Surv
    >>> from censquant.metrics import get_scorer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(60, 1))
    >>> time = 1 + X[:, 0] + rng.uniform(size=60)
    >>> y = Surv.from_arrays(event=time < 2.2, time=np.minimum(time, 2.2))
    >>> model = LinearQuantileRegressor([0.25, 0.5, 0.75])
    >>> scores = cross_val_score(model, X, y, cv=2, scoring=get_scorer("neg_crps"))
    >>> bool((scores < 0).all())
    True
    """
    check_choice("name", name, sorted(SCORERS))
    # A new scorer, so that each search is warned of truncation once.
    return replace(SCORERS[name])


@dataclass(frozen=True, eq=False)
class _Scored:
    """A fitted model with the rows to score and their weights.

    Left-censored times are mirrored, and so are the predictions.
    """

    model: Any
    X: Any
    target: Target
    sample_weight: ArrayLike | None
    mirror: Mirror | None

    @classmethod
    def read(cls, estimator: Any, X: Any, y: object, sample_weight: ArrayLike | None) -> "_Scored":
        """Return the rows of ``y`` with the model inside searches and pipelines."""
        model, features = final_model(estimator, X)
        target = read_target(y)
        if not is_left_censored(model):
            return cls(model, features, target, sample_weight, None)
        mirror = Mirror(float(target.time.max()))
        return cls(model, features, mirror.target(target), sample_weight, mirror)

    def predictions(self, takes: str) -> tuple[Floats, ...]:
        """Return what a metric takes after ``y``."""
        if takes == "quantiles":
            return self.quantiles()
        if takes == "survival":
            weight = read_weights(self.sample_weight, len(self.target))
            times = default_brier_times(self.target, self.target, weight)
            return self.survival(times), times
        return (self.medians() if takes == "medians" else self.restricted_means(),)

    def within_follow_up(self) -> Target:
        """Return the target, with later rows censored at the end of the training follow-up."""
        if self.mirror is not None:
            known = getattr(self.model, "follow_up_", None)
            end = None if known is None else self.mirror.origin - float(known[0])
        else:
            end = follow_up_end(self.model)
        return self.target if end is None else censored_at(self.target, end)

    def quantiles(self) -> tuple[Floats, Floats]:
        """Return predicted quantiles and their levels: the fitted ones if the model has them."""
        taus = np.asarray(getattr(self.model, "quantiles_", DEFAULT_QUANTILES), dtype=np.float64)
        values = predict_quantiles_of(self.model, self.X, taus)
        return (values, taus) if self.mirror is None else self.mirror.quantiles(values, taus)

    def survival(self, times: Floats) -> Floats:
        """Return survival probabilities at common times."""
        if self.mirror is None:
            return survival_of(self.model, self.X, times)
        return self._curve().survival(times)

    def medians(self) -> Floats:
        """Return the median of each row, or its plain prediction; higher is later."""
        if not is_supported(self.model):
            return self._plain()
        median = predict_quantiles_of(self.model, self.X, (0.5,))[:, 0]
        return median if self.mirror is None else self.mirror.origin - median

    def restricted_means(self) -> Floats:
        """Return the expected time of each row up to a horizon; higher is later.

        An estimator of this library has a horizon of its own, from its training rows; for all
        others it is that of the rows to score. Where the model predicts a single time per row,
        that time takes its place.
        """
        if not is_supported(self.model):
            return self._plain()
        if np.size(getattr(self.model, "quantiles_", DEFAULT_QUANTILES)) == 1:
            return self.quantiles()[0][:, 0]
        horizon = default_horizon(self.target.time, self.sample_weight)
        if self.mirror is not None:
            return self._curve().restricted_mean(horizon)
        if hasattr(self.model, "predict_restricted_mean"):
            return np.asarray(self.model.predict_restricted_mean(self.X), dtype=np.float64)
        return restricted_mean_of(self.model, self.X, horizon)

    def _curve(self) -> QuantileCurve:
        """Return the distributions through the predicted quantiles."""
        values, taus = self.quantiles()
        return QuantileCurve(sorted_rows(values), taus)

    def _plain(self) -> Floats:
        """Return the predictions of a model that has neither quantiles nor curves."""
        is_risk = getattr(self.model, "_predict_risk_score", _is_of_scikit_survival(self.model))
        side = -1.0 if is_risk else 1.0
        return side * np.asarray(self.model.predict(self.X), dtype=np.float64)


def _is_of_scikit_survival(model: Any) -> bool:
    """Whether a model predicts risks by default, as those of scikit-survival do."""
    return any(kind.__name__ == "SurvivalAnalysisMixin" for kind in type(model).__mro__)
