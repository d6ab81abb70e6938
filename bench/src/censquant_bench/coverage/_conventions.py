"""How lower bounds are scored where the truth is known."""

import math
import time
import warnings
from typing import Any

import numpy as np

from censquant.exceptions import IdentifiabilityWarning
from censquant_bench._conventions import RunConventions
from censquant_bench._datasets import TrainTestData

CONFIDENCE = 0.9
"""What the bounds of the suite promise."""

_WORST = 0.2  # share of rows at the highest risk


class CoverageConventions(RunConventions):
    """Scores the lower bounds of each fit against the law of the events.

    ``bound_coverage`` is the mean over test rows of the probability that the event comes at the
    bound or later, which has no noise of drawn events; ``bound_ratio`` the mean bound over the mean
    true quantile; ``bound_trivial`` the share of bounds that promise nothing, zero.

    ``bound_limited`` is the share of bounds that follow-up limits, 0 for an estimator that does not
    say; ``bound_unlimited_coverage`` the coverage of the others; ``bound_risk_coverage`` that of
    the fifth of the rows at the highest risk, whose true medians are earliest.

    Examples
    --------
    >>> from censquant_bench import get_dataset
    >>> from censquant_bench.coverage import CoverageConventions
    >>> data = get_dataset("gui1").train_test(111)
    >>> class Oracle:
    ...     def predict_lower_bound(self, X, confidence):
    ...         return data.true_quantiles([1 - confidence], X)[:, 0]
    >>> found = CoverageConventions().more_scores(Oracle(), data.X_test, data)
    >>> round(found["bound_coverage"], 9), found["bound_ratio"], found["bound_trivial"]
    (0.9, 1.0, 0.0)
    """

    usual_scores = False
    warm_up = False

    def more_scores(self, model: Any, X_test: Any, data: TrainTestData) -> dict[str, float]:
        """Return the scores of the bounds.

        Parameters
        ----------
        model : estimator
            Fitted, with ``predict_lower_bound(X, confidence=)``.
        X_test : ndarray of shape (m, n_features)
            Features to score on.
        data : TrainTestData
            With true quantiles and survival.

        Returns
        -------
        scores : dict of str to float
        """
        if data.true_survival is None or data.true_quantiles is None:
            raise ValueError(
                "The suite 'coverage' needs data sets with a known law of the events; choose among "
                "'bounds'."
            )
        start = time.perf_counter()
        limited = np.zeros(len(X_test), dtype=np.bool_)
        if hasattr(model, "follow_up_of"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", IdentifiabilityWarning)  # they are counted here
                found = model.predict_lower_bound(X_test, confidence=CONFIDENCE, output="frame")
            limited, answer = found["limited"].to_numpy(), found["bound"]
        else:
            answer = model.predict_lower_bound(X_test, confidence=CONFIDENCE)
        bound = np.asarray(answer, np.float64)
        seconds = time.perf_counter() - start
        if bound.shape != (len(X_test),) or np.isnan(bound).any():
            raise ValueError(
                f"predict_lower_bound must return {len(X_test)} numbers without NaN, got shape "
                f"{bound.shape}."
            )
        oracle, median = data.true_quantiles([1 - CONFIDENCE, 0.5]).T
        kept = data.true_survival(bound)
        riskiest = np.argsort(median, kind="stable")[: max(1, round(_WORST * len(bound)))]
        return {
            "bound_coverage": float(kept.mean()),
            "bound_ratio": float(bound.mean() / oracle.mean()),
            "bound_trivial": float((bound <= 0).mean()),
            "bound_limited": float(limited.mean()),
            "bound_unlimited_coverage": math.nan if limited.all() else float(kept[~limited].mean()),
            "bound_risk_coverage": float(kept[riskiest].mean()),
            "predict_seconds": seconds,
        }
