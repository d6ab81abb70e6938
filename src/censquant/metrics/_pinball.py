"""Scores of predicted quantiles: check losses, CRPS and likelihood, under censoring."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant._validation import check_integer, check_number
from censquant.metrics._censoring_model import RowCensoring, warn_of_few_rows
from censquant.metrics._counts import (
    Censoring,
    CensoringCurves,
    Counted,
    counted_by,
    mean_of_rows,
    ratio,
)
from censquant.metrics._reading import censored_at, read_quantile_rows, read_training
from censquant.quantiles import QuantileCurve
from censquant.survival import Target
from censquant.survival._kaplan_meier import SMALLEST_CENSORING_CHANCE, SMALLEST_FOLLOWED_SHARE

# Numbers that are held at once, in blocks of rows, while losses are summed over levels.
_BLOCK_ENTRIES = 1 << 18

# Smallest survival probability, and smallest and largest density over the range of the training
# times. They bound what one row can cost, and what a needle put on one row can win.
_FLOOR = 1e-2
_CEILING = 1e6


def _ipcw(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
    truncation: float | None = None,
    censoring_model: QuantileCurve | None = None,
) -> Counted:
    """Read the arguments of `pinball_loss_ipcw`."""
    target, rows, levels, own = read_quantile_rows(y, predicted, taus, sample_weight)
    censoring = Censoring(y_train, target)
    curves = censoring(own[:, None])
    given = None
    if truncation is not None:
        given = np.inf if truncation == np.inf else check_number("truncation", truncation)

    def ends(curves: CensoringCurves) -> Floats:
        if given is not None:
            return np.full(curves.has_censored.size, given)
        return curves.followed_until(SMALLEST_FOLLOWED_SHARE)

    def losses(curves: CensoringCurves, end: float) -> tuple[Floats, NDArray[np.bool_]]:
        """Return losses of curves with a common truncation time, and rows without a chance."""
        cut = np.minimum(target.time, end)
        known = (target.event | (target.time >= end))[:, None]
        chance = curves.at(cut, side="left")
        loss = _check(cut[:, None], np.minimum(rows, end), levels).mean(axis=1)
        inverse = np.divide(1.0, chance, out=np.zeros_like(chance), where=known & (chance > 0))
        return inverse * loss[:, None], known & (chance == 0)

    (end,) = ends(curves)
    modelled = RowCensoring.read(censoring_model, len(target))
    if modelled is not None:
        cut = np.minimum(target.time, end)
        counts = (target.event | (target.time >= end)) / modelled.before(cut)
        warn_of_few_rows(counts, own)
        loss = _check(cut[:, None], np.minimum(rows, end), levels).mean(axis=1)
        return mean_of_rows(counts * loss, own)
    loss, is_lost = losses(curves, end)
    lost = np.flatnonzero(is_lost)
    if lost.size:
        raise ValueError(
            "truncation must be a time until which some training row escapes censoring, "
            f"got {end:g}, but all are censored before the time of row {lost[0]}."
        )
    if not censoring.is_redrawn:
        return mean_of_rows(loss[:, 0], own)

    def scores(counts: Floats) -> Floats:
        weight = own[:, None] * counts
        curves = censoring(weight)
        cut_at = ends(curves)
        found = np.empty(counts.shape[1])
        for end in np.unique(cut_at):
            drawn = np.flatnonzero(cut_at == end)
            loss, is_lost = losses(curves.take(drawn), end)
            part = weight[:, drawn]
            found[drawn] = ratio((part * loss).sum(axis=0), part.sum(axis=0))
            found[drawn[(is_lost & (counts[:, drawn] > 0)).any(axis=0)]] = np.nan
        return found

    return Counted(len(target), scores)


@counted_by(_ipcw)
def pinball_loss_ipcw(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
    truncation: float | None = None,
    censoring_model: QuantileCurve | None = None,
) -> float:
    r"""Check loss of the rows with an event, weighted to stand for all rows; lower is better.

    Times and predictions are cut at the truncation time :math:`t^*`, up to which the data can
    judge. A row whose cut time is known had the chance :math:`S_C` of being followed that
    long, so it counts for the inverse of it:

    .. math:: \frac{1}{n k} \sum_{i, j} \frac{1[\delta_i = 1 \text{ or } y_i \ge t^*]}
              {S_C(\min(y_i, t^*)-)}
              \rho_{\tau_j}\{\min(y_i, t^*), \min(\hat q_{ij}, t^*)\}

    Without censoring, and without a truncation time, it is the plain check loss. By default the
    curve :math:`S_C` is the same for all rows. If censoring depends on the features, then the
    weights are wrong. If the dependence is mild, grossly wrong models still lose; but where one
    half of the rows is censored early and the other hardly ever, a model that is 20 % too early for
    the first half beats the truth. Use `log_score`, or a model of the censoring. Errors past the
    truncation time cost nothing. A few late events can carry much of the sum.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    predicted : array-like of shape (n, k)
        Predicted quantiles, one column for each of ``taus``; crossed rows are sorted.
    taus : array-like of shape (k,), inside (0, 1)
        Levels of the columns, increasing.
    y_train : as ``y``, optional
        Rows that the censoring curve is estimated from; ``y`` by default.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf) of the rows of ``y``.
    truncation : float, optional
        The time :math:`t^*`; infinity for none. By default the last time of the training rows
        until which a twentieth of the rows or more escape censoring, and infinity where
        no training row is censored.
    censoring_model : QuantileCurve of n rows, optional
        Distribution of the censoring time of each row, such as ``predict_curve(X)`` of an estimator
        fitted to ``(time, ~event)`` of training rows. No chance counts for less than 0.02; where
        few rows carry most of the weight, a `censquant.exceptions.TruncationWarning` says so.

    Returns
    -------
    loss : float in [0, inf)
        In units of time, a mean over rows and levels.

    Examples
    --------
    >>> from censquant.metrics import pinball_loss_ipcw
    >>> time, event = [1.0, 2.0, 3.0], [True, False, True]
    >>> pinball_loss_ipcw((time, event), [[2.0], [2.0], [2.0]], taus=[0.5])
    0.5
    """
    return _ipcw(
        y,
        predicted,
        taus,
        y_train=y_train,
        sample_weight=sample_weight,
        truncation=truncation,
        censoring_model=censoring_model,
    ).score()


class _CensoredLoss:
    """Loss of `pinball_loss_censored` of rows, a mean over levels, for any censoring curves.

    ``quantiles`` returns those of the levels ``taus`` for a slice of the rows.
    """

    def __init__(
        self,
        y_train: object,
        target: Target,
        quantiles: Callable[[slice], Floats],
        taus: Floats,
        weight: Floats,
        censoring_model: QuantileCurve | None,
    ) -> None:
        self._modelled = RowCensoring.read(censoring_model, len(target))
        if y_train is not None:
            train = read_training(y_train)
            if not train.event.all():
                # Past the last training row the curve is not known, and an event there could only
                # ever charge quantiles that are too early: it is censored where the curve ends.
                target = censored_at(target, float(train.time.max()))
        self._target, self._quantiles, self._taus, self._weight = target, quantiles, taus, weight
        self._censoring = Censoring(y_train, target)

    def counted(self, factor: float = 1.0) -> Counted:
        """Return the mean of the losses, times a factor."""
        own = self._weight
        if self._modelled is not None:
            return mean_of_rows(factor * self._of_modelled(self._modelled), own)
        if not self._censoring.is_redrawn:
            return mean_of_rows(factor * self._of(self._censoring(own[:, None]))[:, 0], own)

        def scores(counts: Floats) -> Floats:
            weight = own[:, None] * counts
            loss = self._of(self._censoring(weight))
            return factor * ratio((weight * loss).sum(axis=0), weight.sum(axis=0))

        return Counted(len(own), scores)

    def _of(self, curves: CensoringCurves) -> Floats:
        """Return the loss of each row for each curve."""
        step = max(1, _BLOCK_ENTRIES // max(self._taus.size, curves.has_censored.size))
        steps, areas = curves.steps, curves.areas
        parts = [
            self._block(curves.time, steps, areas, slice(start, start + step))
            for start in range(0, len(self._target), step)
        ]
        return np.concatenate(parts)

    def _of_modelled(self, modelled: RowCensoring) -> Floats:
        """Return the loss of each row where each has a censoring curve of its own."""
        step, parts = max(1, _BLOCK_ENTRIES // self._taus.size), []
        for start in range(0, len(self._target), step):
            rows = slice(start, start + step)
            time, event = self._target.time[rows], self._target.event[rows]
            values = self._quantiles(rows)
            loss = np.maximum(time[:, None] - values, 0.0) @ self._taus
            censoring = modelled.take(rows)
            up_to = censoring.area_between(time, np.maximum(values, time[:, None]))
            price = (up_to @ (1.0 - self._taus)) / censoring.before(time)
            parts.append((loss + event * price) / self._taus.size)
        return np.concatenate(parts)

    def _block(self, knots: Floats, steps: Floats, areas: Floats, rows: slice) -> Floats:
        """Return the loss of a block of rows.

        The area under a curve up to a quantile is a number of its last knot and another for the
        way from there, and the sums over levels are products of sparse matrices with these.
        """
        from scipy.sparse import csr_array

        time, event = self._target.time[rows], self._target.event[rows]
        values, taus = self._quantiles(rows), self._taus
        under = np.maximum(time[:, None] - values, 0.0) @ taus
        loss = np.repeat(under[:, None], steps.shape[1], axis=1)
        at = time[event]
        is_later = values[event] > at[:, None]
        # From the knot before a time; before the first one, from that, where the curve is 1.
        origin = np.concatenate((knots[:1], knots))

        def area(times: Floats) -> tuple[NDArray[np.intp], Floats]:
            place = np.searchsorted(knots, times, side="right")
            return place, times - origin[place]

        place, rest = area(values[event][is_later])
        price = np.broadcast_to(1.0 - taus, is_later.shape)[is_later]
        ends = np.append(0, np.cumsum(np.count_nonzero(is_later, axis=1)))
        shape = (len(at), len(steps))
        up_to = csr_array((price, place, ends), shape=shape) @ areas
        up_to += csr_array((price * rest, place, ends), shape=shape) @ steps
        place, rest = area(at)
        up_to -= (is_later @ (1.0 - taus))[:, None] * (areas[place] + rest[:, None] * steps[place])
        chance = steps[np.searchsorted(knots, at)]
        loss[event] += np.maximum(up_to, 0.0) / np.maximum(chance, SMALLEST_CENSORING_CHANCE)
        return loss / taus.size


def _censored(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
    censoring_model: QuantileCurve | None = None,
) -> Counted:
    """Read the arguments of `pinball_loss_censored`."""
    target, rows, levels, weight = read_quantile_rows(y, predicted, taus, sample_weight)
    loss = _CensoredLoss(y_train, target, lambda part: rows[part], levels, weight, censoring_model)
    return loss.counted()


@counted_by(_censored)
def pinball_loss_censored(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
    censoring_model: QuantileCurve | None = None,
) -> float:
    r"""Check loss that censors the forecast as the data were and then scores it; lower is better.

    Every row counts, the censored ones for as long as they were followed. For an event at t and
    for a row censored at c the loss of the quantile q is

    .. math:: \tau (t - q)_+ + (1 - \tau) \int_t^{\max(q, t)} \frac{S_C(s)}{S_C(t-)} ds,
              \qquad \tau (c - q)_+

    with the Kaplan-Meier curve :math:`S_C` of the censoring time. Its mean is smallest at the true
    quantile wherever follow-up reaches it, and needs no truncation time: rows that were followed
    for longer than any training row, where these are censored, count as censored at the last of
    their times. Its weights do not come from the model, unlike those of a training loss such as
    Portnoy's, so that models can be compared.

    By default the curve is the same for all rows. If censoring depends a little on the features,
    grossly wrong models still lose; but where one half of the rows is censored early and the other
    hardly ever, a model that is 20 % too early for the first half beats the truth, if narrowly. Use
    `log_score`, or a model of the censoring. A quantile past the end of follow-up
    costs nothing more the later it is. The score is in units of time and has no absolute meaning:
    compare models on the same rows only.

    Parameters
    ----------
    y, predicted, taus, y_train, sample_weight
        As in `pinball_loss_ipcw`.
    censoring_model : QuantileCurve of n rows, optional
        Distribution of the censoring time of each row, in place of one curve for all.

    Returns
    -------
    loss : float in [0, inf)
        A mean over rows and levels.

    Examples
    --------
    >>> from censquant.metrics import pinball_loss_censored
    >>> time, event = [1.0, 2.0, 3.0], [True, False, True]
    >>> pinball_loss_censored((time, event), [[2.0], [2.0], [2.0]], taus=[0.5])
    0.333...
    """
    return _censored(
        y,
        predicted,
        taus,
        y_train=y_train,
        sample_weight=sample_weight,
        censoring_model=censoring_model,
    ).score()


def _crps(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
    n_levels: int = 100,
    censoring_model: QuantileCurve | None = None,
) -> Counted:
    """Read the arguments of `crps_censored`."""
    target, rows, levels, weight = read_quantile_rows(y, predicted, taus, sample_weight, at_least=2)
    count = check_integer("n_levels", n_levels, minimum=1)
    even = (np.arange(count) + 0.5) / count

    def quantiles(part: slice) -> Floats:
        return QuantileCurve(rows[part], levels).at(even)

    loss = _CensoredLoss(y_train, target, quantiles, even, weight, censoring_model)
    return loss.counted(factor=2.0)


@counted_by(_crps)
def crps_censored(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
    n_levels: int = 100,
    censoring_model: QuantileCurve | None = None,
) -> float:
    r"""Continuous ranked probability score under censoring; lower is better.

    The score of the whole predicted distribution: twice the check loss of `pinball_loss_censored`,
    averaged over the even levels :math:`(j - 1/2) / m`. Without censoring it is the CRPS, the area
    between the predicted distribution function and the step at the time that came true.

    Quantiles off the grid are read from `censquant.quantiles.QuantileCurve`, so that models
    with different grids compare. Beyond the outer levels that is an extrapolation: a grid that ends
    at 0.9 leaves a tenth of the score to its exponential tail. All cautions of
    `pinball_loss_censored` hold here as well.

    Parameters
    ----------
    y, predicted, taus, y_train, sample_weight
        As in `pinball_loss_ipcw`, with two levels at least.
    n_levels : int, at least 1, default=100
        Number m of even levels.
    censoring_model : QuantileCurve of n rows, optional
        As in `pinball_loss_censored`.

    Returns
    -------
    score : float in [0, inf)
        In units of time.

    Examples
    --------
    A prediction that is sure of 2 scores its distance from the time that came true.

    >>> from censquant.metrics import crps_censored
    >>> crps_censored([3.0], [[2.0, 2.0]], taus=[0.25, 0.75])
    1.0
    """
    return _crps(
        y,
        predicted,
        taus,
        y_train=y_train,
        sample_weight=sample_weight,
        n_levels=n_levels,
        censoring_model=censoring_model,
    ).score()


def _check(time: Floats, predicted: Floats, taus: Floats) -> Floats:
    """Return the check loss of every row and level."""
    error = time - predicted
    return error * (taus - (error < 0))


def _log_likelihood(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
    lower: float = -np.inf,
) -> Counted:
    """Read the arguments of `right_censored_log_likelihood`."""
    target, rows, levels, own = read_quantile_rows(y, predicted, taus, sample_weight, at_least=2)
    start = lower if lower == -np.inf else check_number("lower", lower)
    curve = QuantileCurve.from_predictions(rows, levels, start)
    survival = 1.0 - curve.cdf(target.time)
    density = _density(curve, target.time, survival)

    def losses(span: float) -> Floats:
        # Times that are all equal have no range; any unit does then.
        unit = span or 1.0
        likelihood = np.where(
            target.event,
            np.clip(density * unit, _FLOOR, _CEILING) / unit,
            np.maximum(survival, _FLOOR),
        )
        return np.asarray(np.log(likelihood))

    if y_train is not None:
        return mean_of_rows(losses(float(np.ptp(read_training(y_train).time))), own)

    def scores(counts: Floats) -> Floats:
        time, drawn = target.time[:, None], counts > 0
        last = np.max(np.where(drawn, time, -np.inf), axis=0)
        spans = last - np.min(np.where(drawn, time, np.inf), axis=0)
        found = np.full(counts.shape[1], np.nan)
        for span in np.unique(spans[np.isfinite(spans)]):
            same = spans == span
            weight = own[:, None] * counts[:, same]
            found[same] = ratio(losses(float(span)) @ weight, weight.sum(axis=0))
        return found

    return Counted(len(target), scores)


@counted_by(_log_likelihood)
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

    An event is scored by the density at its time, a censored row by the chance to outlive its
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
    y, predicted, taus
        As in `pinball_loss_ipcw`, with two levels at least.
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
    return _log_likelihood(
        y, predicted, taus, y_train=y_train, sample_weight=sample_weight, lower=lower
    ).score()


def _density(curve: QuantileCurve, time: Floats, survival: Floats) -> Floats:
    """Return the density of each row at its time; infinite on a point mass."""
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
