"""A penalty on predicted quantiles that cross or are too close to each other."""

from censquant._compile import fast


@fast
def add_crossing_penalty(predicted, weight, margin, strength, gradient):
    r"""Mean over rows of the crossing penalty; its gradient is added to ``gradient``.

    .. math:: \lambda \sum_k \max(0, m - (\hat y_{k+1} - \hat y_k))

    Parameters
    ----------
    predicted : array of shape (n, k)
        Predicted quantiles at increasing levels.
    weight : array of shape (n,)
        Row weights; the mean divides by ``n``, not by their sum.
    margin : float
        The smallest accepted distance :math:`m` of neighbours, in the units of ``predicted``.
    strength : float
        The factor :math:`\lambda`.
    gradient : array of shape (n, k)
        The derivative by ``predicted`` is added to it.
    """
    n, n_levels = predicted.shape
    smallest = predicted.dtype.type(margin)
    factor = predicted.dtype.type(strength)
    total = 0.0
    for i in range(n):
        push = factor * weight[i] / n
        for k in range(n_levels - 1):
            lack = smallest - (predicted[i, k + 1] - predicted[i, k])
            if lack > 0:
                gradient[i, k] += push
                gradient[i, k + 1] -= push
                total += lack * push
    return total
