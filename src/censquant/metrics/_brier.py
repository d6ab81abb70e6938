"""Brier scores of predicted survival probabilities."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant.metrics._censoring_model import RowCensoring, warn_of_few_rows
from censquant.metrics._counts import (
    Censoring,
    CensoringCurves,
    Counted,
    counted_by,
    mean_of_rows,
)
from censquant.metrics._reading import known_censoring, read_survival, warn_truncated
from censquant.quantiles import QuantileCurve
from censquant.survival import Target

# Rows scored at a time, which bounds the memory beyond the predictions themselves.
_BLOCK_ROWS = 8_192
# Default times of the integrated score, between these quantiles of the times that are scored.
_N_TIMES, _SPAN = 50, (0.05, 0.95)


def brier_score(
    y: object,
    survival: ArrayLike,
    times: ArrayLike,
    *,
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
    censoring_model: QuantileCurve | None = None,
) -> Floats:
    r"""Squared error of the predicted survival probability at each time; lower is better.

    At a time t every row either had its event or not, and a good prediction gave that outcome a
    high probability. Rows censored before t are unknown; those that are left stand for them with
    the inverse of :math:`G`, the chance of not being censored yet:

    .. math:: BS(t) = \frac1n \sum_i \left[ \hat S(t|x_i)^2
              \frac{\delta_i 1\{y_i \le t\}}{G(y_i)}
              + \{1 - \hat S(t|x_i)\}^2 \frac{1\{y_i > t\}}{G(t)} \right]

    0 is a perfect foresight, 0.25 what a constant probability of one half gives. The score mixes
    calibration with sharpness, so it cannot tell which of the two is at fault, and its level
    depends on how common the event is: set it against the score of the Kaplan-Meier curve. It can
    exceed 1 in small samples.

    By default :math:`G` is one Kaplan-Meier curve for all rows. Where censoring depends on the
    features, that is wrong, and a wrong model can score better than the true one. With
    ``censoring_model`` each row has its own :math:`G(t | x_i)`, and the true model scores best if
    that is right and leaves no row with hardly a chance of being followed. `log_score` needs
    neither.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    survival : array-like of shape (n, n_times), in [0, 1]
        Predicted probabilities that the event comes later than each time, P(T > t).
    times : array-like of shape (n_times,)
        Strictly increasing times.
    y_train : target in any form, optional
        Rows that the censoring curve is estimated from; ``y`` by default.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf). They weight the censoring curve too where it is estimated from ``y``.
    censoring_model : QuantileCurve of n rows, optional
        Distribution of the censoring time of each row, such as ``predict_curve(X)`` of an estimator
        fitted to ``(time, ~event)`` of training rows. No chance counts for less than 0.02; where
        few rows carry most of the weight, a `censquant.exceptions.TruncationWarning` says so.

    Returns
    -------
    score : ndarray of shape (n_times,)
        NaN at times past the training follow-up, where the censoring curve is zero or unknown:
        a `censquant.exceptions.TruncationWarning` says so.

    References
    ----------
    .. [1] E. Graf, C. Schmoor, W. Sauerbrei, M. Schumacher (1999). Assessment and comparison of
       prognostic classification schemes for survival data. *Statistics in Medicine* 18.

    Examples
    --------
    >>> from censquant.metrics import brier_score
    >>> time, event = [1.0, 2.0, 3.0], [True, False, True]
    >>> brier_score((time, event), [[0.5, 0.0], [0.5, 0.5], [1.0, 0.7]], times=[1.5, 2.5])
    array([0.16666667, 0.06      ])
    """
    brier = _Brier(y, survival, times, y_train, sample_weight, censoring_model)
    known = brier.known()
    if not known.all():
        warn_truncated(_left_out(known, "are left without a Brier score"))
    if brier.modelled is not None:
        return brier.modelled_scores(known)
    return brier.scores(np.ones((len(brier.target), 1)))[:, 0]


def _integrated(
    y: object,
    survival: ArrayLike,
    times: ArrayLike,
    *,
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
    censoring_model: QuantileCurve | None = None,
) -> Counted:
    """Read the arguments of `integrated_brier_score`."""
    brier = _Brier(y, survival, times, y_train, sample_weight, censoring_model)
    known = brier.known()
    if np.count_nonzero(known) < 2:
        raise ValueError(
            "times must hold two times or more at which the censoring curve of y_train is known "
            f"and positive, got {np.count_nonzero(known)} of {known.size}."
        )
    if not known.all():
        warn_truncated(_left_out(known, "are left out of the integrated Brier score"))

    if brier.modelled is not None or not brier.censoring.is_redrawn:
        # The integral is a mean of the known times, each of which has half the way to both sides.
        grid = brier.grid[known]
        shares = np.zeros(known.size)
        shares[known] = np.diff(np.concatenate((grid[:1], (grid[1:] + grid[:-1]) / 2, grid[-1:])))
        return mean_of_rows(brier.losses(shares / (grid[-1] - grid[0])), brier.weight)

    def scores(counts: Floats) -> Floats:
        score = brier.scores(counts)
        # Times are known up to some time, which may differ between draws.
        n_known = np.count_nonzero(~np.isnan(score), axis=0)
        found = np.full(counts.shape[1], np.nan)
        for size in np.unique(n_known[n_known > 1]):
            kept, grid = n_known == size, brier.grid[:size]
            area = np.trapezoid(score[:size, kept], grid, axis=0)
            found[kept] = area / (grid[-1] - grid[0])
        return found

    return Counted(len(brier.target), scores)


@counted_by(_integrated)
def integrated_brier_score(
    y: object,
    survival: ArrayLike,
    times: ArrayLike,
    *,
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
    censoring_model: QuantileCurve | None = None,
) -> float:
    r"""Mean of the Brier score over a span of time, one number for a whole curve; lower is better.

    The trapezoidal integral of `brier_score` over the given times, divided by their span:

    .. math:: IBS = \frac{1}{t_K - t_1} \int_{t_1}^{t_K} BS(t) \, dt

    0 is a perfect foresight, 0.25 what a constant probability of one half gives. It depends on
    the times that are chosen: late ones, where few rows are left, are noisy and count as much as
    early ones, so two models are comparable only on the same times and rows. The cautions of
    `brier_score` hold as well.

    Parameters
    ----------
    y, survival, times, y_train, sample_weight, censoring_model
        As in `brier_score`, with two times at least. Times past the training follow-up are left
        out, with a `censquant.exceptions.TruncationWarning`.

    Returns
    -------
    score : float in [0, inf)

    Examples
    --------
    >>> from censquant.metrics import integrated_brier_score
    >>> time, event = [1.0, 2.0, 3.0], [True, False, True]
    >>> survival = [[0.5, 0.0], [0.5, 0.5], [1.0, 0.7]]
    >>> round(integrated_brier_score((time, event), survival, times=[1.5, 2.5]), 6)
    0.113333
    """
    return _integrated(
        y,
        survival,
        times,
        y_train=y_train,
        sample_weight=sample_weight,
        censoring_model=censoring_model,
    ).score()


class _Brier:
    """Predicted probabilities that score draws of their rows at each time."""

    def __init__(
        self,
        y: object,
        survival: ArrayLike,
        times: ArrayLike,
        y_train: object,
        sample_weight: ArrayLike | None,
        censoring_model: QuantileCurve | None,
    ) -> None:
        self.target, self.chance, self.grid, self.weight = read_survival(
            y, survival, times, sample_weight
        )
        self.censoring = Censoring(y_train, self.target)
        self.modelled = RowCensoring.read(censoring_model, len(self.target))

    def known(self) -> NDArray[np.bool_]:
        """Return at which times all rows have a score."""
        return self.censoring(self.weight[:, None]).known_at(self.grid)[:, 0] > 0

    def scores(self, counts: Floats) -> Floats:
        """Return the score of each time and draw, NaN where it is unknown."""
        weight = self.weight[:, None] * counts
        early, late = self._inverse(self.censoring(weight))
        early, total = weight * early, np.zeros((self.grid.size, counts.shape[1]))
        for rows, dead, alive in self._squares():
            total += dead.T @ early[rows] + late * (alive.T @ weight[rows])
        sums = np.broadcast_to(weight.sum(axis=0), total.shape)
        score = np.full(total.shape, np.nan)
        np.divide(total, sums, out=score, where=(late > 0) & (sums > 0))
        return score

    def losses(self, shares: Floats) -> Floats:
        """Return what each row adds to the score, as its times have shares of it."""
        if self.modelled is not None:
            return self._modelled_losses(shares[:, None])[:, 0]
        early, late = self._inverse(self.censoring(self.weight[:, None]))
        parts = [
            early[rows, 0] * (dead @ shares) + alive @ (shares * late[:, 0])
            for rows, dead, alive in self._squares()
        ]
        return np.concatenate(parts)

    def modelled_scores(self, known: NDArray[np.bool_]) -> Floats:
        """Return the score of each time by modelled censoring, NaN where it is unknown."""
        score = self.weight @ self._modelled_losses(np.diag(known * 1.0)) / self.weight.sum()
        return np.where(known, score, np.nan)

    def _modelled_losses(self, shares: Floats) -> Floats:
        """Return what each row adds to some scores, each of which has a column of shares of times.

        Warns where few rows carry most of the weight.
        """
        assert self.modelled is not None
        time, event, n_rows = self.target.time, self.target.event, len(self.target)
        losses, stood_for = np.empty((n_rows, shares.shape[1])), np.empty(n_rows)
        of_times = shares.sum(axis=1) / max(shares.sum(), 1.0)
        for start in range(0, n_rows, _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            modelled, alive = self.modelled.take(rows), time[rows, None] > self.grid
            chance = np.where(
                alive, modelled.after(self.grid), modelled.before(time[rows])[:, None]
            )
            counts = (alive | event[rows, None]) / chance
            losses[rows] = (counts * (alive - self.chance[rows]) ** 2) @ shares
            stood_for[rows] = counts @ of_times
        warn_of_few_rows(stood_for, self.weight)
        return losses

    def _inverse(self, curves: CensoringCurves) -> tuple[Floats, Floats]:
        """Return how much events count at their time and survivors at each time; 0 if unknown."""
        # An event by a known time has a known chance itself; the others are never used.
        chances = curves.known_at(self.target.time), curves.known_at(self.grid)
        early, late = (
            np.divide(1.0, chance, out=np.zeros_like(chance), where=chance > 0)
            for chance in chances
        )
        return early, late

    def _squares(self) -> Iterator[tuple[slice, Floats, Floats]]:
        """Yield squared errors of blocks of rows, after their event and while they are alive."""
        for start in range(0, len(self.target), _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            alive, share = self.target.time[rows, None] > self.grid, self.chance[rows]
            dead = ~alive & self.target.event[rows, None]
            yield rows, share**2 * dead, (1.0 - share) ** 2 * alive


def _left_out(known: NDArray[np.bool_], fate: str) -> str:
    """Return the warning about times past the training follow-up."""
    return (
        f"{int((~known).sum())} of {known.size} times {fate}: the censoring curve of y_train is "
        "zero or unknown there."
    )


def default_brier_times(target: Target, train: Target, weight: Floats | None = None) -> Floats:
    """Return times over the bulk of those scored, where the censoring curve is positive."""
    low, high = np.quantile(target.time, _SPAN)
    times = np.unique(np.linspace(low, high, _N_TIMES))
    own = np.ones(len(train)) if weight is None else weight
    return times[known_censoring(None, train, own)(times) > 0]
