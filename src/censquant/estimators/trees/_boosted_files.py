"""What a model file holds of boosters, checked before anything is done with it."""

from typing import Any

import numpy as np

from censquant._storage._parts import Arrays, check_arrays
from censquant._trees._boosting import Boosters, BoostingRule
from censquant._trees._boosting_kernels import N_BINS
from censquant._typing import Floats
from censquant.exceptions import ModelFileError


def restored_boosters(
    arrays: Arrays, rule: BoostingRule, n_features: int, n_levels: int
) -> tuple[Floats, Boosters]:
    """Return residual quantiles and boosters; ModelFileError unless the arrays fit together."""
    feature, edges = arrays["feature"], arrays["edges"]
    n_leaves, n_parts = 2**rule.depth, len(rule.rates)
    counts = feature.shape[:2] if feature.ndim == 4 else (0, 0)
    check_arrays(
        arrays,
        {
            "edges": ("f8", (n_features, N_BINS - 1)),
            "feature": ("i4", (*counts, n_parts, n_leaves - 1)),
            "cut": ("u1", (*counts, n_parts, n_leaves - 1)),
            "value": ("f8", (*counts, n_parts, n_leaves)),
            "residual_quantiles": ("f8", (n_levels,)),
        },
        may_be_nan=("edges",),  # infinite where a feature has fewer values
    )
    _require(counts[0] > 0, "at least one booster")
    _require((edges[:, 1:] >= edges[:, :-1]).all(), "edges of bins that do not decrease")
    _require(((feature >= 0) & (feature < n_features)).all(), "splits by known features")
    _require((np.diff(arrays["residual_quantiles"]) >= 0).all(), "residuals that do not decrease")
    boosters = Boosters(edges, feature, arrays["cut"], arrays["value"])
    return arrays["residual_quantiles"], boosters


def _require(holds: Any, what: str) -> None:
    if not holds:
        raise ModelFileError(f"does not hold {what}.")
