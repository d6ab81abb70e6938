"""Portnoy's reweighted check loss for right-censored rows, the loss of CQRNN."""

import numpy as np

from censquant._compile import fast

NEAREST, LOWER, INTERPOLATE = range(3)

LEVEL_RULES = {"nearest": NEAREST, "lower": LOWER, "interpolate": INTERPOLATE}
"""How F(c given x), the level at which a row was censored, is read off the predictions; see
:func:`portnoy`."""


@fast
def _sorted_into(values, work):
    """Copy ``values`` into ``work`` in increasing order; fast when they nearly are."""
    for k in range(len(values)):
        value = values[k]
        place = k
        while place > 0 and work[place - 1] > value:
            work[place] = work[place - 1]
            place -= 1
        work[place] = value


@fast
def _level_of(time, predicted, taus, rule, work):
    """Estimate the level at which ``time`` lies on one row's predicted quantiles."""
    n_levels = len(taus)
    if rule == NEAREST:
        best = 0
        smallest = abs(predicted[0] - time)
        for k in range(1, n_levels):
            distance = abs(predicted[k] - time)
            if distance < smallest:
                smallest = distance
                best = k
        return taus[best]
    _sorted_into(predicted, work)
    below = 0
    while below < n_levels and work[below] <= time:
        below += 1
    if below == n_levels:
        return taus[n_levels - 1]
    if rule == LOWER or n_levels == 1:
        return taus[below - 1] if below > 0 else taus[0] * 0
    left = max(below - 1, 0)
    gap = work[left + 1] - work[left]
    step = taus[left + 1] - taus[left]
    # Below the first quantile the first segment is continued, but no level is negative. A gap of
    # nearly zero must not divide: the time then lies at the closer end of the segment.
    share = (time - work[left]) / gap if gap > 1e-12 else (time - work[left]) * 1e12
    return min(max(taus[left] + step * share, taus[0] * 0), taus[left + 1])


@fast
def levels_of(time, predicted, taus, rule, out):
    """Write the estimated level of every row's time on its predicted quantiles into ``out``.

    Parameters
    ----------
    time : array of shape (n,)
    predicted : array of shape (n, k)
        Quantiles of each row; they may cross.
    taus : array of shape (k,)
        Their increasing levels.
    rule : int
        A value of ``LEVEL_RULES``.
    out : array of shape (n,)
        Where the levels are written.
    """
    work = np.empty(len(taus), predicted.dtype)
    for i in range(len(time)):
        out[i] = _level_of(time[i], predicted[i], taus, rule, work)


@fast
def portnoy(
    predicted, time, event, weight, level, taus, rule, weight_below, limit, one_sided, gradient
):
    r"""Mean over rows of Portnoy's loss summed over levels; its gradient is written.

    An individual censored at level :math:`q = F(c | x)` tells nothing about the levels above, so
    only the share :math:`w_\tau = (\tau - q) / (1 - q)` of its weight stays at the censoring time
    :math:`c`, and the rest moves to a pseudo-time :math:`y^*` beyond all others:

    .. math:: w_\tau \rho_\tau(c, \hat y) + (1 - w_\tau) \rho_\tau(y^*, \hat y)

    The level is estimated from the predictions that are being trained, and no gradient flows
    through it. With ``one_sided`` the rest moves to infinity instead (a constant is left out of
    the loss), and predictions above ``limit`` are no longer pushed upwards.

    Parameters
    ----------
    predicted : array of shape (n, k)
        Predicted quantiles; rows need not be increasing.
    time : array of shape (n,)
    event : bool array of shape (n,)
        True where the event was observed at ``time``, False where the row is censored there.
    weight : array of shape (n,)
        Row weights; the mean divides by ``n``, not by their sum.
    level : array of shape (n,)
        Levels of the censoring times where they are known, negative where they are estimated.
    taus : array of shape (k,)
        Quantile levels inside (0, 1), increasing.
    rule : int, a value of ``LEVEL_RULES``
        ``nearest``: the level whose prediction is nearest to the time, as in the paper. ``lower``:
        the highest level predicted at or below the time, 0 if none. ``interpolate``: linear
        between the two predictions around the time, continued below the first down to 0.
    weight_below : float
        Weight at levels below the row's own: 1 as in the authors' code, 0 as in their text. It
        matters only where predictions cross.
    limit : float
        :math:`y^*`, or with ``one_sided`` the cap on upward pushes.
    one_sided : bool
    gradient : array of shape (n, k)
        Receives the derivative by ``predicted``.

    Returns
    -------
    loss : float

    References
    ----------
    .. [1] S. Portnoy (2003), Censored regression quantiles, JASA 98.
    .. [2] T. Pearce et al. (2022), Censored quantile regression neural networks for
       distribution-free survival analysis, NeurIPS, Algorithm 2.

    Examples
    --------
    A row censored at 2 lies at level 0.5 of its predictions. The median has weight 0 there and is
    pushed up with the full 0.5; the 0.75-quantile keeps half of the row below itself.

    >>> import numpy as np
    >>> from censquant._engine.losses import LEVEL_RULES, portnoy
    >>> gradient = np.empty((1, 2))
    >>> loss = portnoy(
    ...     predicted=np.array([[2.0, 3.0]]), time=np.array([2.0]), event=np.array([False]),
    ...     weight=np.ones(1), level=np.array([-1.0]), taus=np.array([0.5, 0.75]),
    ...     rule=LEVEL_RULES["nearest"], weight_below=1.0, limit=10.0, one_sided=False,
    ...     gradient=gradient,
    ... )
    >>> gradient
    array([[-0.5 , -0.25]])
    """
    n, n_levels = predicted.shape
    work = np.empty(n_levels, predicted.dtype)
    # In the type of the arrays: a float64 number would widen the inner loops.
    wall = predicted.dtype.type(limit)
    one = predicted.dtype.type(1)
    zero = predicted.dtype.type(0)
    kept_below = predicted.dtype.type(weight_below)
    total = 0.0
    for i in range(n):
        y = time[i]
        scale = weight[i] / n
        row = zero
        if event[i]:
            for k in range(n_levels):
                error = y - predicted[i, k]
                slope = (one if error < zero else zero) - taus[k]
                gradient[i, k] = slope * scale
                row -= error * slope
        else:
            q = level[i]
            if q < zero:
                q = _level_of(y, predicted[i], taus, rule, work)
            rest = one / (one - q)
            for k in range(n_levels):
                tau = taus[k]
                value = predicted[i, k]
                kept = (tau - q) * rest if tau >= q else kept_below
                near = (one if value > y else zero) - tau
                if one_sided:
                    slope = kept * near - (one - kept) * tau
                    row += (value - y) * kept * near - (one - kept) * tau * value
                    slope = zero if value > wall and slope < zero else slope
                else:
                    far = (one if value > wall else zero) - tau
                    slope = kept * near + (one - kept) * far
                    row += (value - y) * kept * near + (value - wall) * (one - kept) * far
                gradient[i, k] = slope * scale
        total += row * scale
    return total
