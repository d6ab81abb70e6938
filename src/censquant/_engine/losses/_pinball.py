"""The check loss of quantile regression, for observed events."""

from censquant._compile import fast


@fast
def pinball(predicted, time, weight, taus, gradient):
    r"""Mean over rows of the weighted check loss summed over levels; its gradient is written.

    .. math:: \rho_\tau(y, q) = (y - q)(\tau - 1[q > y])

    Parameters
    ----------
    predicted : array of shape (n, k)
        Predicted quantiles; rows need not be increasing.
    time : array of shape (n,)
        Times, all taken as observed events.
    weight : array of shape (n,)
        Row weights; the mean divides by ``n``, not by their sum.
    taus : array of shape (k,)
        Quantile levels inside (0, 1).
    gradient : array of shape (n, k)
        Receives the derivative by ``predicted``.

    Returns
    -------
    loss : float

    Examples
    --------
    >>> import numpy as np
    >>> from censquant._engine.losses import pinball
    >>> gradient = np.empty((1, 1))
    >>> pinball(np.array([[3.0]]), np.array([5.0]), np.ones(1), np.array([0.9]), gradient)
    1.8
    >>> gradient
    array([[-0.9]])
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
            error = time[i] - predicted[i, k]
            slope = (one if error < zero else zero) - taus[k]
            gradient[i, k] = slope * scale
            row -= error * slope
        total += row * scale
    return total
