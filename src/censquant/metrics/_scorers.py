"""Scorers for scikit-learn's cross-validation and searches, by name."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant._validation import check_choice
from censquant.adapters._predictions import is_supported
from censquant.metrics._absolute_error import mean_absolute_error_censored
from censquant.metrics._brier import integrated_brier_score
from censquant.metrics._concordance import concordance_index, concordance_index_ipcw
from censquant.metrics._judged import Judged
from censquant.metrics._known_censoring import known_censoring, warn_truncated
from censquant.metrics._pinball import crps_censored, pinball_loss_censored, pinball_loss_ipcw
from censquant.survival import Target
from censquant.survival._columns import read_weights

# Times of the integrated Brier score, between these quantiles of the times that are judged.
_N_TIMES, _SPAN = 50, (0.05, 0.95)


@dataclass(eq=False)
class Scorer:
    """A metric as scikit-learn wants it: called with an estimator and data, higher is better.

    What the rows to score say of times past the follow-up of the estimator's training rows is
    left out: those rows count as censored there, and the scorer warns of it once. Pairs in order
    need no such cut (``is_cut``), and one time per row will do for some metrics
    (``needs_distribution``).
    """

    name: str
    score: Callable[[Judged], float]
    is_cut: bool = True
    needs_distribution: bool = True
    _has_warned: bool = field(default=False, init=False)

    def __call__(
        self, estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> float:
        """Score the predictions of a fitted estimator on some rows."""
        judged = Judged.read(estimator, X, y, sample_weight)
        self._require_predictions(judged.model)
        within = judged.within_follow_up() if self.is_cut else judged.target
        if within is not judged.target and not self._has_warned:
            self._has_warned = True
            warn_truncated(
                "Some times of y lie past the follow-up of the estimator's training rows, where "
                "predictions cannot be judged: these rows are scored as censored there."
            )
        return self.score(replace(judged, target=within))

    def __repr__(self) -> str:
        return f"get_scorer({self.name!r})"

    def fresh(self) -> "Scorer":
        """Return a scorer of the same metric that has not warned yet."""
        return replace(self)

    def _require_predictions(self, model: Any) -> None:
        """Raise unless the model predicts what the metric takes."""
        if is_supported(model) or (not self.needs_distribution and hasattr(model, "predict")):
            return
        needed = "quantiles or survival curves"
        if not self.needs_distribution:
            needed = "quantiles, survival curves or times"
        raise TypeError(
            f"estimator must predict {needed} for the scorer {self.name!r}, "
            f"got {type(model).__name__}."
        )


def get_scorer(name: str) -> Scorer:
    """Scorer of a name, to pass as ``scoring=`` to scikit-learn.

    Higher is always better: losses are negated and their names begin with ``neg_``. The names
    are ``"concordance"`` and ``"concordance_ipcw"`` (order alone, of the restricted means),
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
    check_choice("name", name, SCORERS)
    # A new scorer, so that each search is warned of truncation once.
    return SCORERS[name].fresh()


def _concordance(judged: Judged) -> float:
    return concordance_index(
        judged.y, judged.restricted_means(), sample_weight=judged.sample_weight
    )


def _concordance_median(judged: Judged) -> float:
    return concordance_index(judged.y, judged.medians(), sample_weight=judged.sample_weight)


def _concordance_ipcw(judged: Judged) -> float:
    weight = read_weights(judged.sample_weight, len(judged.target))
    curve = known_censoring(None, judged.target, weight)
    # At the end of follow-up the probability to weight an event by is 0.
    end = judged.target.time[curve(judged.target.time) == 0].min(initial=np.inf)
    return concordance_index_ipcw(
        judged.y,
        judged.restricted_means(),
        truncation=float(end) if np.isfinite(end) else None,
        sample_weight=judged.sample_weight,
    )


def _neg_absolute_error(judged: Judged) -> float:
    medians = judged.medians()
    return -mean_absolute_error_censored(judged.y, medians, sample_weight=judged.sample_weight)


def _neg_censored_pinball(judged: Judged) -> float:
    return -pinball_loss_censored(judged.y, *judged.quantiles(), sample_weight=judged.sample_weight)


def _neg_ipcw_pinball(judged: Judged) -> float:
    return -pinball_loss_ipcw(judged.y, *judged.quantiles(), sample_weight=judged.sample_weight)


def _neg_crps(judged: Judged) -> float:
    return -crps_censored(judged.y, *judged.quantiles(), sample_weight=judged.sample_weight)


def _neg_integrated_brier(judged: Judged) -> float:
    weight = read_weights(judged.sample_weight, len(judged.target))
    times = brier_times(judged.target, judged.target, weight)
    survival = judged.survival(times)
    return -integrated_brier_score(judged.y, survival, times, sample_weight=judged.sample_weight)


_ORDER = {"is_cut": False, "needs_distribution": False}
_TIMES = {"needs_distribution": False}

SCORERS: dict[str, Scorer] = {
    scorer.name: scorer
    for scorer in (
        Scorer("concordance", _concordance, **_ORDER),
        Scorer("concordance_ipcw", _concordance_ipcw, **_TIMES),
        Scorer("concordance_median", _concordance_median, **_ORDER),
        Scorer("neg_censored_pinball", _neg_censored_pinball),
        Scorer("neg_crps", _neg_crps),
        Scorer("neg_integrated_brier", _neg_integrated_brier),
        Scorer("neg_ipcw_pinball", _neg_ipcw_pinball),
        Scorer("neg_mean_absolute_error_censored", _neg_absolute_error, **_TIMES),
    )
}
"""The scorers by name, each ready for ``scoring=``; `get_scorer` says what they do."""


def brier_times(target: Target, train: Target, weight: Floats | None = None) -> Floats:
    """Return times over the bulk of those judged, where the censoring curve is positive."""
    low, high = np.quantile(target.time, _SPAN)
    times = np.unique(np.linspace(low, high, _N_TIMES))
    own = np.ones(len(train)) if weight is None else weight
    return times[known_censoring(None, train, own)(times) > 0]
