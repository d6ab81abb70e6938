"""The candidates of the recommended estimator, each of which some data need."""

from typing import Any

from censquant._warn import warn_user
from censquant.estimators._boosted import BoostedQuantileRegressor
from censquant.estimators._forest import CensoredQuantileForest
from censquant.estimators.hazards import CoxQuantileRegressor
from censquant.estimators.meta._pool import LikelihoodPrior
from censquant.estimators.neural import ShapeNN
from censquant.exceptions import FewEventsWarning
from censquant.survival import Target

# Rows from which on the network with bounded tails has the next capacity.
_MORE_ROWS = (3_000, 12_000, 25_000)
_FEWEST_EVENTS = 10
_CAUTION = 0.2  # penalty per feature where there are fewer

DEFAULT_PRIOR = LikelihoodPrior(follows={"bounded": "normal"})
"""The network with bounded tails is expected where its smooth relative is."""


def default_candidates(target: Target, n_features: int, censoring: str) -> list[tuple[str, Any]]:
    """Return unfitted candidates for data of this size and kind.

    With very few events nothing can be compared, and only the hazards model is left, with a
    warning. Its penalty grows with the number of features then, so that it stays near the
    Kaplan-Meier curve of all rows however many there are.
    """
    hazards = ("hazards", CoxQuantileRegressor(censoring=censoring))
    if target.n_events < _FEWEST_EVENTS:
        warn_user(
            f"y has {target.n_events} rows with an event, too few to compare candidates, which "
            f"begins at {_FEWEST_EVENTS}: only the hazards model is fitted, with a penalty that "
            "keeps it near the Kaplan-Meier curve of all rows.",
            FewEventsWarning,
        )
        cautious = CoxQuantileRegressor(penalty=_CAUTION * n_features, censoring=censoring)
        return [("hazards", cautious)]
    candidates = [
        hazards,
        ("normal", ShapeNN(family="normal", censoring=censoring)),
        ("bounded", bounded_network(len(target), censoring)),
        ("boosting", BoostedQuantileRegressor(censoring=censoring)),
        (
            "deep boosting",
            BoostedQuantileRegressor(
                max_depth=5, min_samples_leaf=3, fit_scale=False, censoring=censoring
            ),
        ),
        ("forest", CensoredQuantileForest(censoring=censoring)),
    ]
    if censoring == "right" and float(target.time[target.event].min()) > 0:
        families = ("log-normal", "weibull")
        candidates[2:2] = [(family, ShapeNN(family=family)) for family in families]
    return candidates


def bounded_network(n_rows: int, censoring: str) -> ShapeNN:
    """Return a network that fits more closely the more rows there are, and never extrapolates."""
    size = 1 + sum(n_rows >= rows for rows in _MORE_ROWS)
    is_large = size > 2
    return ShapeNN(
        family="normal",
        tail="bounded",
        hidden_layer_sizes=(64, 64) if size == 1 else (100, 100),
        activation="relu" if is_large else "gelu",
        dropout=0.0 if is_large else 0.2,
        max_steps=400 * 2**size,
        learning_rate=0.01,
        weight_decay=6e-3 / 4**size,
        likelihood_weight=0.3 if is_large else 1.0,
        pinball_weight=1.0 if is_large else 0.3,
        censoring=censoring,
    )
