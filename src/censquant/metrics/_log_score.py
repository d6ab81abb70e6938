"""The log score of predicted distributions in cells, which needs no model of the censoring."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant._validation import check_integer, check_number
from censquant.metrics._counts import Counted, counted_by, mean_of_rows, ratio
from censquant.metrics._reading import read_quantile_rows, read_training
from censquant.quantiles import QuantileCurve
from censquant.survival import Target
from censquant.survival._cells import (
    N_CELLS,
    SMALLEST_CELL_CHANCE,
    ObservedSets,
    cells_of_events,
)
from censquant.survival._kinds_of_rows import OF_ONE_KIND


def log_losses(target: Target, ends: Floats, cdf: Callable[[Floats], Floats]) -> Floats:
    """Return what each row costs, for cells between some ends.

    ``cdf`` takes times of shape (n, k), of each row its own, and returns levels of that shape.
    """
    chances = ObservedSets.of(target, ends).chances(cdf)
    return np.asarray(-np.log(np.maximum(chances, SMALLEST_CELL_CHANCE)))


def _log(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
    lower: float = -np.inf,
    n_cells: int = N_CELLS,
) -> Counted:
    """Read the arguments of `log_score`."""
    target, rows, levels, own = read_quantile_rows(
        y, predicted, taus, sample_weight, at_least=2, accepts=OF_ONE_KIND
    )
    start = lower if lower == -np.inf else check_number("lower", lower)
    count = check_integer("n_cells", n_cells, minimum=1)
    curve = QuantileCurve.from_predictions(rows, levels, start)
    if y_train is not None:
        ends = cells_of_events(read_training(y_train, OF_ONE_KIND), n_cells=count)
        return mean_of_rows(log_losses(target, ends, curve.cdf), own)

    def scores(counts: Floats) -> Floats:
        weights = own[:, None] * counts
        sums = np.zeros(counts.shape[1])
        for draw, weight in enumerate(weights.T):
            drawn = np.flatnonzero(weight)
            part = target.take(drawn)
            ends = cells_of_events(part, weight[drawn], count)
            sums[draw] = weight[drawn] @ log_losses(part, ends, curve.take(drawn, reach=False).cdf)
        return ratio(sums, weights.sum(axis=0))

    return Counted(len(target), scores)


@counted_by(_log)
def log_score(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
    lower: float = -np.inf,
    n_cells: int = N_CELLS,
) -> float:
    r"""Minus the mean log probability of what was observed in each row; lower is better.

    A row with an event is scored by the probability of the cell that its event lies in, a censored
    row by the probability to outlive its time:

    .. math:: -\frac{1}{n} \sum_i \delta_i \log\{\hat F(u_i | x_i) - \hat F(l_i | x_i)\}
              + (1 - \delta_i) \log \hat S(y_i | x_i), \qquad l_i < y_i \le u_i

    Cells :math:`(l, u]` end at quantiles of the event times at the levels 1/40, ..., 39/40; the
    first one begins and the last one ends at infinity. Their ends are times of events.

    An event that is known to lie between two times has these for its cell, and a row with a delayed
    entry :math:`e` is scored given no event until then: its probability is divided by
    :math:`\hat S(e | x)`. Of such rows it is the score to compare models by.

    Nothing about the censoring has to be estimated: of all predictions the true distribution has
    the best score on average, whether or not censoring depends on the features. Only if censoring
    depends on the event time itself, given the features, is it wrong. The weights of other scores
    are right only if censoring does not depend on the features, or if a model of it is right.

    A probability counts for 0.0001 at least, so that no row costs more than 9.21. Unlike a density,
    the probability of a cell is safe from quantiles that nearly coincide. The score has no absolute
    meaning, and a model that is the same for all rows scores about the logarithm of the number of
    cells where few rows are censored: compare models on the same rows and cells.

    Parameters
    ----------
    y, predicted, taus
        As in `pinball_loss_ipcw`, with two levels at least. Between the levels the distribution is
        that of `censquant.quantiles.QuantileCurve`.
    y_train : as ``y``, optional
        Rows whose event times make the cells; ``y`` by default. Give them where scores are
        compared between samples or draws of a bootstrap, so that all have the same cells.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf). They count in the cells too where these come from ``y``.
    lower : float, default=-inf
        Smallest possible time, 0 for durations; smaller predictions are moved up to it.
    n_cells : int, at least 1, default=40
        Number of cells; there are fewer where events are few or tied.

    Returns
    -------
    score : float in [0, 9.22)

    References
    ----------
    .. [1] I. J. Good (1952). Rational decisions. *Journal of the Royal Statistical Society B* 14.
    .. [2] D. Rindt, R. Hu, D. Steinsaltz, D. Sejdinovic (2022). Survival regression with proper
       scoring rules and monotonic neural networks. *AISTATS*.

    Examples
    --------
    Two cells end and begin at 1.5. The first has half of the probability, and the second row, of
    which 2 is outlived, a quarter.

    >>> import numpy as np
    >>> from censquant.metrics import log_score
    >>> y = ([1.5, 2.0], [True, False])
    >>> score = log_score(y, [[1.0, 1.5, 2.0]] * 2, taus=[0.25, 0.5, 0.75], n_cells=2)
    >>> np.exp(-2 * score).round(6)
    np.float64(0.125)
    """
    return _log(
        y,
        predicted,
        taus,
        y_train=y_train,
        sample_weight=sample_weight,
        lower=lower,
        n_cells=n_cells,
    ).score()
