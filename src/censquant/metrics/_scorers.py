"""Scorers for scikit-learn's cross-validation and searches, by name."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from censquant._validation import check_choice
from censquant.metrics._absolute_error import mean_absolute_error_censored
from censquant.metrics._brier import integrated_brier_score
from censquant.metrics._concordance import concordance_index, concordance_index_ipcw
from censquant.metrics._known_censoring import censored_at, known_censoring, warn_truncated
from censquant.metrics._pinball import crps_censored, pinball_loss_censored, pinball_loss_ipcw
from censquant.metrics._read import Floats
from censquant.quantiles import DEFAULT_QUANTILES
from censquant.survival import Target, read_target, read_weights

# Times of the integrated Brier score, between these quantiles of the times that are judged.
_N_TIMES, _SPAN = 50, (0.05, 0.95)


class Scorer:
    """A metric as scikit-learn wants it: called with an estimator and data, higher is better.

    What the rows to score tell of times past the follow-up of the estimator's training rows is
    left out: those rows count as censored there. The scorer says so once in its life. A metric
    of order alone needs no such cut.
    """

    def __init__(
        self,
        name: str,
        score: Callable[["Scorer", Any, Any, "Judged"], float],
        *,
        is_cut: bool = True,
    ) -> None:
        self.name = name
        self.is_cut = is_cut
        self._score = score
        self._has_warned = False

    def __call__(
        self, estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> float:
        """Score the predictions of a fitted estimator on some rows."""
        model, features = last_step(estimator, X)
        target = read_target(y)
        within = _within_follow_up(model, target) if self.is_cut else target
        if within is not target and not self._has_warned:
            self._has_warned = True
            warn_truncated(
                "Some times of y lie past the follow-up of the estimator's training rows, where "
                "predictions cannot be judged: these rows are scored as censored there."
            )
        return self._score(self, model, features, Judged(within, sample_weight))

    def __repr__(self) -> str:
        return f"get_scorer({self.name!r})"

    def fresh(self) -> "Scorer":
        """Return a scorer of the same metric that has not warned yet."""
        return Scorer(self.name, self._score, is_cut=self.is_cut)

    def need(self, model: Any, method: str) -> None:
        """Raise unless the estimator has a method that the metric rests on."""
        if not hasattr(model, method):
            raise TypeError(
                f"estimator must have the method {method} for the scorer {self.name!r}, "
                f"got {type(model).__name__}."
            )


class Judged:
    """The rows to score, with their weights."""

    def __init__(self, target: Target, sample_weight: ArrayLike | None) -> None:
        self.target = target
        self.y = (target.time, target.event)
        self.sample_weight = sample_weight


def get_scorer(name: str) -> Scorer:
    """Scorer of a name, to pass as ``scoring=`` to scikit-learn.

    Higher is always better: losses are negated and their names begin with ``neg_``. The names
    are ``"concordance"`` and ``"concordance_ipcw"`` (order alone, of the medians),
    ``"neg_censored_pinball"`` and ``"neg_ipcw_pinball"`` (quantiles at the levels that were
    fitted), ``"neg_crps"`` and ``"neg_integrated_brier"`` (the whole distribution) and
    ``"neg_mean_absolute_error_censored"`` (medians, by pseudo-observations).

    The estimator may be a Pipeline or a finished search. Its predictions past the identified
    level are taken as they are. The censoring curve is that of the rows to score, since an
    estimator does not keep its training rows. Rows that were followed for longer than any
    training row count as censored at the end of the training follow-up, but for
    ``"concordance"``, so a fold whose times leave the training range is scored and not refused:
    the scorer warns of it once. If all of its events lie past that end, some metrics have no
    value, and scikit-learn puts its ``error_score`` there.

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
    >>> from censquant import LinearCQR, Surv
    >>> from censquant.metrics import get_scorer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(60, 1))
    >>> time = 1 + X[:, 0] + rng.uniform(size=60)
    >>> y = Surv.from_arrays(event=time < 2.2, time=np.minimum(time, 2.2))
    >>> model = LinearCQR([0.25, 0.5, 0.75])
    >>> scores = cross_val_score(model, X, y, cv=2, scoring=get_scorer("neg_crps"))
    >>> bool((scores < 0).all())
    True
    """
    check_choice("name", name, SCORERS)
    # A scorer of its own, so that each search hears of truncation once.
    return SCORERS[name].fresh()


def _concordance(scorer: Scorer, model: Any, X: Any, judged: Judged) -> float:
    times = _median(scorer, model, X)
    return concordance_index(judged.y, times, sample_weight=judged.sample_weight)


def _concordance_ipcw(scorer: Scorer, model: Any, X: Any, judged: Judged) -> float:
    times = _median(scorer, model, X)
    weight = read_weights(judged.sample_weight, len(judged.target))
    curve = known_censoring(None, judged.target, weight)
    # An event at the very end of follow-up has no chance to be weighted by.
    end = judged.target.time[curve(judged.target.time) == 0].min(initial=np.inf)
    return concordance_index_ipcw(
        judged.y,
        times,
        truncation=float(end) if np.isfinite(end) else None,
        sample_weight=judged.sample_weight,
    )


def _neg_absolute_error(scorer: Scorer, model: Any, X: Any, judged: Judged) -> float:
    times = _median(scorer, model, X)
    return -mean_absolute_error_censored(judged.y, times, sample_weight=judged.sample_weight)


def _neg_censored_pinball(scorer: Scorer, model: Any, X: Any, judged: Judged) -> float:
    rows, taus = _quantiles(scorer, model, X)
    return -pinball_loss_censored(judged.y, rows, taus, sample_weight=judged.sample_weight)


def _neg_ipcw_pinball(scorer: Scorer, model: Any, X: Any, judged: Judged) -> float:
    rows, taus = _quantiles(scorer, model, X)
    return -pinball_loss_ipcw(judged.y, rows, taus, sample_weight=judged.sample_weight)


def _neg_crps(scorer: Scorer, model: Any, X: Any, judged: Judged) -> float:
    rows, taus = _quantiles(scorer, model, X)
    return -crps_censored(judged.y, rows, taus, sample_weight=judged.sample_weight)


def _neg_integrated_brier(scorer: Scorer, model: Any, X: Any, judged: Judged) -> float:
    scorer.need(model, "predict_survival_function")
    weight = read_weights(judged.sample_weight, len(judged.target))
    times = brier_times(judged.target, judged.target, weight)
    survival = _survival(model, X, times)
    return -integrated_brier_score(judged.y, survival, times, sample_weight=judged.sample_weight)


SCORERS: dict[str, Scorer] = {
    name: Scorer(name, score, is_cut=score is not _concordance)
    for name, score in {
        "concordance": _concordance,
        "concordance_ipcw": _concordance_ipcw,
        "neg_censored_pinball": _neg_censored_pinball,
        "neg_crps": _neg_crps,
        "neg_integrated_brier": _neg_integrated_brier,
        "neg_ipcw_pinball": _neg_ipcw_pinball,
        "neg_mean_absolute_error_censored": _neg_absolute_error,
    }.items()
}
"""The scorers by name, each ready for ``scoring=``; `get_scorer` says what they do."""


def brier_times(target: Target, train: Target, weight: Floats | None = None) -> Floats:
    """Return times over the bulk of those judged, where the censoring curve is positive."""
    low, high = np.quantile(target.time, _SPAN)
    times = np.unique(np.linspace(low, high, _N_TIMES))
    own = np.ones(len(train)) if weight is None else weight
    return times[known_censoring(None, train, own)(times) > 0]


def last_step(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return the model inside searches and pipelines, with the features that it takes.

    Left-censored times are refused: their score would be plausible and wrong.
    """
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            X = estimator[:-1].transform(X) if len(estimator.steps) > 1 else X
            estimator = estimator[-1]
        elif getattr(estimator, "censoring", "right") == "left":
            raise ValueError(
                "The estimator must be fitted with censoring='right', since metrics take a "
                "censored event to come after its time, got censoring='left': negate the times."
            )
        else:
            return estimator, X


def _within_follow_up(model: Any, target: Target) -> Target:
    """Return the target with rows censored where the model's training rows end, or itself."""
    known = getattr(model, "follow_up_", None)
    if known is None:
        known = getattr(model, "unique_times_", None)
    return target if known is None else censored_at(target, float(known[-1]))


def _median(scorer: Scorer, model: Any, X: Any) -> Floats:
    """Return one predicted time a row, higher for later."""
    if hasattr(model, "predict_quantiles"):
        return np.asarray(model.predict_quantiles(X, (0.5,), beyond="extrapolate"))[:, 0]
    scorer.need(model, "predict")
    # An estimator of scikit-survival predicts risks, unless it says by this flag that it does not.
    is_risk = getattr(model, "_predict_risk_score", hasattr(model, "predict_survival_function"))
    side = -1.0 if is_risk else 1.0
    return side * np.asarray(model.predict(X), dtype=np.float64)


def _quantiles(scorer: Scorer, model: Any, X: Any) -> tuple[Floats, Floats]:
    """Return predicted quantiles and their levels."""
    scorer.need(model, "predict_quantiles")
    taus = np.asarray(getattr(model, "quantiles_", DEFAULT_QUANTILES), dtype=np.float64)
    return np.asarray(model.predict_quantiles(X, taus, beyond="extrapolate")), taus


def _survival(model: Any, X: Any, times: Floats) -> Floats:
    """Return survival probabilities at common times."""
    if hasattr(model, "predict_quantiles"):
        return np.asarray(model.predict_survival_function(X, times, return_array=True))
    # scikit-survival's step functions know no other times than those of training.
    steps = model.predict_survival_function(X)
    return np.array([step(np.clip(times, step.x[0], step.x[-1])) for step in steps])
