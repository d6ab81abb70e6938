"""Whether censoring depends on the features of the rows that are scored, and what follows."""

from typing import Any

import numpy as np

from censquant._calibration._dependence import DEPENDENT
from censquant._frames import is_frame
from censquant.survival import Target

MAY_BE_BIASED = "may be biased: censoring depends on the features"
"""Note of a score that rests on one Kaplan-Meier curve."""


def dependence_p_value(
    model: Any, X: Any, target: Target, mirrored: Target | None = None
) -> float | None:
    """Return the p-value of the test that censoring does not depend on the features of a model.

    None where nothing is tested: there are no features or no table of them, or too few censored.
    Left-censored times are tested ``mirrored``.
    """
    if X is None:
        return None
    # Loads scikit-learn, which the other metrics do without.
    from censquant._rows._censoring import censoring_p_value
    from censquant._rows._features import columns_of_fit

    table = _features(columns_of_fit(model, X, may_lack=True), target)
    n_rows = getattr(table, "shape", None) or (len(table),)
    if n_rows[0] != len(target):
        raise ValueError(
            f"X_test must have one row for each of the {len(target)} rows of y_test, got "
            f"{n_rows[0]}."
        )
    return censoring_p_value(table, target if mirrored is None else mirrored)


def _features(X: Any, target: Target) -> Any:
    """Return a frame without times and events, which some libraries keep beside the features."""
    if not is_frame(X):
        return X
    own = target.time, target.event, ~target.event
    names = [
        name
        for name in X.columns
        if not any(np.array_equal(np.asarray(X[name]), values) for values in own)
    ]
    return X if len(names) == len(X.columns) else X[names]


def is_dependent(p_value: float | None) -> bool:
    """Whether the test finds that censoring depends on the features."""
    return p_value is not None and p_value < DEPENDENT


def dependence_words(p_value: float | None, effect: str, remedy: str = "") -> str:
    """Return that censoring depends on the features, with the effect and what to do.

    Nothing if the test does not find it. There may be a remedy beside the log score.
    """
    if p_value is None or p_value >= DEPENDENT:
        return ""
    shown = f"p = {p_value:.2g}" if p_value >= 0.001 else "p < 0.001"
    return (
        f"Censoring depends on the features ({shown}), so {effect}: compare by the log "
        f"score, which needs no model of censoring{remedy}"
    )
