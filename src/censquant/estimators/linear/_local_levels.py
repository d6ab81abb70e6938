"""F(c given x) of censored rows by a Kaplan-Meier estimate among similar rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._compile import compiled
from censquant._typing import Floats


def local_levels(
    features: Floats, y: Floats, event: NDArray[np.bool_], weight: Floats, bandwidth: float
) -> Floats:
    r"""Return the level of each censoring time in the distribution of times around its features.

    The estimate of Beran (1981) with the biquadratic kernel of Wang and Wang (2009), Locally
    weighted censored quantile regression: row :math:`k` counts for row :math:`i` as

    .. math:: B_k = w_k \prod_j \max\Big(0, 1 - \Big(\frac{x_{ij} - x_{kj}}{h}\Big)^2\Big)^2
    """
    order = np.argsort(y, kind="stable")
    levels = np.full(len(y), np.nan)
    inner = np.full(len(y), np.nan)
    _fill(
        np.ascontiguousarray(features[order]),
        y[order],
        event[order],
        weight[order],
        float(bandwidth),
        inner,
    )
    levels[order] = inner
    return levels


@compiled
def _fill(features: Any, y: Any, event: Any, weight: Any, bandwidth: float, levels: Any) -> None:
    """Write the levels of censored rows; rows are in the order of their times."""
    n, p = features.shape
    for i in range(n):
        if event[i]:
            continue
        survival, at_risk, events = 1.0, 0.0, 0.0
        for k in range(n - 1, -1, -1):
            share = weight[k]
            for j in range(p):
                distance = (features[i, j] - features[k, j]) / bandwidth
                inside = max(0.0, 1.0 - distance * distance)
                share *= inside * inside
            at_risk += share
            if event[k]:
                events += share
            # Rows of the same time are at risk together.
            if k == 0 or y[k - 1] < y[k]:
                if events > 0.0 and y[k] <= y[i]:
                    survival *= 1.0 - events / at_risk
                events = 0.0
        levels[i] = 1.0 - survival
