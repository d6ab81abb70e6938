"""The censored likelihood of asymmetric Laplace distributions that have the quantiles as modes."""

import math

from censquant._compile import exact


@exact
def tobit_laplace(predicted, time, event, weight, taus, scale, gradient):
    r"""Mean over rows of the loss summed over levels; its gradient is written.

    For each level there is an asymmetric Laplace distribution whose :math:`\tau`-quantile is the
    prediction :math:`q`. An event counts minus its log-density up to a constant, the check loss
    divided by the scale; a censored row minus the logarithm of the probability beyond its time,

    .. math:: -\log\big(1 - \tau e^{-(1 - \tau)(q - c) / \sigma}\big) \text{ for } q > c,
              \qquad \tau (c - q) / \sigma - \log(1 - \tau) \text{ otherwise}

    Unlike Powell's loss it has a slope beyond censoring times, where it keeps pushing upwards, the
    less the further a prediction lies beyond. The minimum is the quantile only
    if times do follow such a distribution.

    Parameters
    ----------
    predicted : array of shape (n, k)
        Predicted quantiles; rows need not be increasing.
    time : array of shape (n,)
        The smaller of event and censoring time.
    event : bool array of shape (n,)
        True where the event was seen.
    weight : array of shape (n,)
        Row weights; the mean divides by ``n``, not by their sum.
    taus : array of shape (k,)
        Quantile levels inside (0, 1).
    scale : float
        :math:`\sigma`.
    gradient : array of shape (n, k)
        Receives the derivative by ``predicted``.

    References
    ----------
    .. [1] F. B. Hüttel, I. Peled, F. Rodrigues, F. C. Pereira (2022), Modeling censored mobility
       demand through censored quantile regression neural networks, IEEE T-ITS 23.
    """
    n, n_levels = predicted.shape
    total = 0.0
    for i in range(n):
        share = weight[i] / n
        row = 0.0
        for k in range(n_levels):
            tau = float(taus[k])
            error = (float(time[i]) - float(predicted[i, k])) / scale
            if event[i]:
                slope = (1.0 if error < 0.0 else 0.0) - tau
                row -= error * slope
            elif error >= 0.0:
                slope = -tau
                row += tau * error - math.log1p(-tau)
            else:
                inside = tau * math.exp((1.0 - tau) * error)
                slope = -(1.0 - tau) * inside / (1.0 - inside)
                row -= math.log1p(-inside)
            gradient[i, k] = slope / scale * share
        total += row * share
    return total
