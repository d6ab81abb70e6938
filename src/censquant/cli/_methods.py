"""Methods by the names that the command knows them by."""

from collections.abc import Sequence
from typing import Any

from censquant._validation import look_up

RECOMMENDED = "recommended"
_CLASSES = {
    "cox": "CoxQuantileRegressor",
    "forest": "CensoredQuantileForest",
    "boosted": "BoostedQuantileRegressor",
    "shape": "ShapeNN",
    "lognormal": "LogNormalNN",
    "weibull": "WeibullNN",
    "cqrnn": "CQRNN",
    "linear": "LinearQuantileRegressor",
}
METHOD_NAMES = (RECOMMENDED, *_CLASSES)
"""The recommended estimator, and the methods that it can be made of instead."""


def make_estimator(
    methods: Sequence[str],
    *,
    quantiles: Sequence[float] | None = None,
    censoring: str = "right",
    n_jobs: int = -1,
    seed: int = 0,
    verbose: int = 0,
    calibrate: bool = False,
) -> Any:
    """Return an estimator that takes tables as they are.

    Methods other than the recommended one are its only candidates, so that they get the same
    encoding of categories and missing values, and are scored on held-out rows as well. A
    calibrated one keeps what its intervals and bounds promise.
    """
    from censquant import estimators

    for name in methods:
        look_up("method", name, dict.fromkeys(METHOD_NAMES))
    candidates = None
    if list(methods) != [RECOMMENDED]:
        if RECOMMENDED in methods:
            raise ValueError(
                f"--method {RECOMMENDED} stands alone, got {', '.join(methods)}: name methods "
                "without it to pool them."
            )
        candidates = [
            (name, _candidate(getattr(estimators, _CLASSES[name]), censoring)) for name in methods
        ]
    made = estimators.CensoredQuantileRegressor(
        quantiles,
        candidates=candidates,
        censoring=censoring,
        n_jobs=n_jobs,
        random_state=seed,
        verbose=verbose,
    )
    if not calibrate:
        return made
    return estimators.ConformalSurvivalRegressor(made, n_jobs=n_jobs, random_state=seed)


def _candidate(estimator: Any, censoring: str) -> Any:
    if censoring == "right":
        return estimator()
    made = estimator()
    if "censoring" not in made.get_params():
        raise ValueError(f"--censoring {censoring} is not known to {type(made).__name__}.")
    return made.set_params(censoring=censoring)
