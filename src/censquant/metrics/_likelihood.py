"""Log-likelihood of censored times under predicted quantiles."""

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant._validation import check_number
from censquant.metrics._read import read_quantile_rows, read_train
from censquant.quantiles import QuantileCurve

# Smallest survival probability, and smallest and largest density over the range of the training
# times. They bound what one row can cost, and what a needle put on one row can win.
_FLOOR = 1e-2
_CEILING = 1e6


def right_censored_log_likelihood(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
    lower: float = -np.inf,
) -> float:
    r"""Mean log-likelihood of the rows under their predicted distributions; higher is better.

    An event is judged by the density at its time, a censored row by the chance to outlive its
    time:

    .. math:: \frac{1}{n} \sum_i \delta_i \log \hat f(y_i | x_i)
              + (1 - \delta_i) \log \hat S(y_i | x_i)

    Nothing about the censoring has to be estimated, so the score holds also where censoring
    depends on the features. The distribution is that of `censquant.quantiles.QuantileCurve`:
    between two quantiles the density is constant, above the last one it decays exponentially.

    The score is harsh on single rows: a time that the grid misses altogether pays the floor, a
    density of one hundredth over the range of the training times, however near it was; a survival
    probability counts for one hundredth at least. So much depends on the outer pieces of the curve,
    which are assumptions. Predictions that nearly coincide give densities that no data support;
    they are cut at :math:`10^6` over that range. A change of the unit of time moves the score by
    its logarithm: compare models on the same rows only.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    predicted : array-like of shape (n, k)
        Predicted quantiles, one column for each of ``taus``; crossed rows are sorted.
    taus : array-like of shape (k,), inside (0, 1)
        Levels of the columns, increasing, two at least.
    y_train : as ``y``, optional
        Rows whose range of times sets the floor; ``y`` by default.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf).
    lower : float, default=-inf
        Smallest possible time, 0 for durations; smaller predictions are moved up to it.

    Returns
    -------
    score : float

    References
    ----------
    .. [1] D. Rindt, R. Hu, D. Steinsaltz, D. Sejdinovic (2022). Survival regression with proper
       scoring rules and monotonic neural networks. *AISTATS*.

    Examples
    --------
    The density between the quantiles is 0.5, and half of the mass lies past 2.

    >>> from censquant.metrics import right_censored_log_likelihood
    >>> y = ([1.5, 2.0], [True, False])
    >>> right_censored_log_likelihood(y, [[1.0, 2.0, 3.0]] * 2, taus=[0.25, 0.5, 0.75])
    -1.0397...
    """
    target, rows, levels, weight = read_quantile_rows(y, predicted, taus, sample_weight, at_least=2)
    start = lower if lower == -np.inf else check_number("lower", lower)
    curve = QuantileCurve.from_predictions(rows, levels, start)
    times = read_train(y_train, target).time
    # Times that are all equal have no range; any unit does then.
    unit = float(np.ptp(times)) or 1.0
    survival = 1.0 - curve.cdf(target.time)
    density = _density(curve, target.time, survival) * unit
    likelihood = np.where(
        target.event, np.clip(density, _FLOOR, _CEILING) / unit, np.maximum(survival, _FLOOR)
    )
    return float(weight @ np.log(likelihood) / weight.sum())


def _density(curve: QuantileCurve, time: Floats, survival: Floats) -> Floats:
    """Density of each row at its time; infinite on a point mass."""
    values, taus = curve.values, curve.taus
    at = time[:, None]
    reached = (values <= at).sum(axis=1)
    right = np.clip(reached, 1, taus.size - 1)
    rows = np.arange(time.size)
    left_value, right_value = values[rows, right - 1], values[rows, right]
    gap = right_value - left_value
    # The first segment is prolonged down to level 0, unless the smallest possible time stops it.
    reach = np.minimum(gap * (taus[0] / (taus[1] - taus[0])), left_value - curve.lower)
    rate = np.log((1.0 - taus[-2]) / (1.0 - taus[-1]))
    mass = np.where(
        reached == 0,
        np.where(time >= left_value - reach, taus[0], 0.0),
        np.where(reached == taus.size, rate * survival, taus[right] - taus[right - 1]),
    )
    width = np.where(reached == 0, reach, gap)
    density = np.divide(mass, width, out=np.zeros_like(mass), where=width > 0)
    return np.where((values == at).sum(axis=1) > 1, np.inf, density)
