"""Harrell's concordance index of predicted times."""

import numpy as np
from numpy.typing import ArrayLike

from censquant.survival import read_numbers, read_target, read_weights
from censquant.survival._columns import refuse_nan


def concordance_index(
    y: object, predicted: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Share of comparable pairs whose predicted times are in the right order; higher is better.

    A pair is comparable if one row has an event and the other is known to outlive it: its time
    is later, or it is censored at the same time. A tie between predictions counts one half; they
    tie only if they are equal to the last bit. 0.5 is what a coin gives, 1 a perfect order.

    The index judges the order alone: predictions ten times too long score the same. It also
    depends on the censoring of the sample, since late pairs are rarely comparable.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    predicted : array-like of shape (n,)
        Predicted times, such as medians: higher means a later event. This is the opposite of a
        risk score. Infinity is allowed.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a pair weighs the product of its rows' weights.

    Returns
    -------
    index : float in [0, 1]

    References
    ----------
    .. [1] F. E. Harrell, R. M. Califf, D. B. Pryor, K. L. Lee, R. A. Rosati (1982). Evaluating
       the yield of medical tests. *JAMA* 247(18).

    Examples
    --------
    >>> from censquant.metrics import concordance_index
    >>> time, event = [1.0, 2.0, 3.0], [True, False, True]
    >>> concordance_index((time, event), [1.0, 5.0, 4.0])
    1.0
    >>> concordance_index((time, event), [4.5, 5.0, 4.0])
    0.5
    """
    target = read_target(y)
    times = read_numbers(predicted, name="predicted")
    if times.size != len(target):
        raise ValueError(
            "predicted must have one time for each row of y, "
            f"got {times.size} times for {len(target)} rows."
        )
    refuse_nan(times, name="predicted", noun="times")
    weights = read_weights(sample_weight, len(target))

    # numba takes a moment to load, and most of this package does not need it.
    from censquant.metrics._concordance_kernel import pair_weights

    distinct, rank = np.unique(times, return_inverse=True)
    order = np.lexsort((target.event, -target.time))
    concordant, tied, comparable = pair_weights(
        rank[order], target.time[order], target.event[order], weights[order], distinct.size
    )
    if not comparable > 0:
        raise ValueError(
            "y must hold a comparable pair, an event and a row known to outlive it, "
            f"got none among {len(target)} rows with {target.n_events} events."
        )
    # Fractional weights can push the ratio of two long sums past 1 in its last bit.
    return min(1.0, float((concordant + tied / 2) / comparable))
