"""Powell's check loss for rows whose censoring time is known, event or not."""

from censquant._compile import fast


@fast
def powell(predicted, time, limit, weight, taus, gradient):
    r"""Mean over rows of Powell's loss summed over levels; its gradient is written.

    The prediction is cut at the censoring time :math:`c` as the data were:
    :math:`\rho_\tau(y, \min(c, \hat y))`. Where it lies beyond :math:`c` it has no effect and so no
    gradient: training should start from low predictions.

    Parameters
    ----------
    predicted : array of shape (n, k)
        Predicted quantiles; rows need not be increasing.
    time : array of shape (n,)
        The smaller of event and censoring time.
    limit : array of shape (n,)
        Censoring times, of events too.
    weight : array of shape (n,)
        Row weights; the mean divides by ``n``, not by their sum.
    taus : array of shape (k,)
        Quantile levels inside (0, 1).
    gradient : array of shape (n, k)
        Receives the derivative by ``predicted``.

    References
    ----------
    .. [1] J. L. Powell (1986), Censored regression quantiles, Journal of Econometrics 32.
    """
    n, n_levels = predicted.shape
    # In the type of the arrays: a float64 number would widen the inner loop.
    one = predicted.dtype.type(1)
    zero = predicted.dtype.type(0)
    total = 0.0
    for i in range(n):
        scale = weight[i] / n
        row = zero
        for k in range(n_levels):
            free = predicted[i, k] < limit[i]
            error = time[i] - (predicted[i, k] if free else limit[i])
            slope = (one if error < zero else zero) - taus[k]
            gradient[i, k] = slope * scale if free else zero
            row -= error * slope
        total += row * scale
    return total
