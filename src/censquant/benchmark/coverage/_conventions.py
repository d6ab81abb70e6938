"""How lower bounds are scored where the truth is known."""

import time
from typing import Any

import numpy as np

from censquant.benchmark._conventions import RunConventions
from censquant.benchmark._train_test import TrainTestData

CONFIDENCE = 0.9
"""What the bounds of the suite promise."""


class CoverageConventions(RunConventions):
    """Scores the lower bounds of each fit against the law of the events.

    ``bound_coverage`` is the mean over test rows of the probability that the event comes at the
    bound or later, which has no noise of drawn events; ``bound_ratio`` the mean bound over the mean
    true quantile; ``bound_trivial`` the share of bounds that promise nothing, zero.

    Examples
    --------
    >>> from censquant.benchmark import get_dataset
    >>> from censquant.benchmark.coverage import CoverageConventions
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
        bound = np.asarray(model.predict_lower_bound(X_test, confidence=CONFIDENCE), np.float64)
        seconds = time.perf_counter() - start
        if bound.shape != (len(X_test),) or np.isnan(bound).any():
            raise ValueError(
                f"predict_lower_bound must return {len(X_test)} numbers without NaN, got shape "
                f"{bound.shape}."
            )
        oracle = data.true_quantiles([1 - CONFIDENCE])[:, 0]
        return {
            "bound_coverage": float(data.true_survival(bound).mean()),
            "bound_ratio": float(bound.mean() / oracle.mean()),
            "bound_trivial": float((bound <= 0).mean()),
            "predict_seconds": seconds,
        }
