"""Distance of predicted times from event times that are partly unknown."""

from dataclasses import replace
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant._validation import check_choice
from censquant.exceptions import NoEventsError
from censquant.metrics._counts import Counted, counted_by, mean_of_rows
from censquant.metrics._reading import read_times, read_training, warn_truncated
from censquant.survival import Target, censoring_kaplan_meier, kaplan_meier
from censquant.survival._kaplan_meier import inverse_censoring_weights

_Method = Literal["pseudo-observation", "margin", "hinge", "uncensored", "ipcw"]


class _Rows(NamedTuple):
    """What the score rests on: distances, how much each counts, and events that are left out."""

    error: Floats
    share: Floats
    left_out: NDArray[np.bool_] | None = None


def _rows(
    method: str, target: Target, times: Floats, weight: Floats, train: Target | None
) -> _Rows:
    """Return the distances of some rows, which are the training rows too where none are given."""
    if method == "hinge":
        # No error where a censored row was predicted past its time.
        late = target.time - times
        error = np.where(target.event, np.abs(late), np.maximum(late, 0.0))
        return _Rows(error, np.ones(len(target)))
    own = weight if train is None else None
    known = target if train is None else train
    if method in ("margin", "pseudo-observation"):
        surrogate, share = _surrogates(method, target, _MeanLife(known, own))
        return _Rows(np.abs(surrogate - times), share)
    error, share = np.abs(target.time - times), target.event.astype(np.float64)
    if method == "uncensored":
        return _Rows(error, share)
    curve = censoring_kaplan_meier(known.time, known.event, own)
    share = inverse_censoring_weights(target.time, target.event, curve=curve)
    # Past the training rows the curve is not known, if any of these is censored.
    late = target.event & (weight > 0) & (target.time > curve.time[-1])
    if curve.n_events.any():
        share[late] = 0.0
        return _Rows(error, share, late)
    return _Rows(error, share)


def _absolute_error(
    y: object,
    predicted: ArrayLike,
    *,
    method: _Method = "pseudo-observation",
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
) -> Counted:
    """Read the arguments of `mean_absolute_error_censored`."""
    target, times, weight = read_times(y, predicted, sample_weight)
    check_choice("method", method, get_args(_Method))
    if method in ("margin", "pseudo-observation") and target.time.min() < 0:
        raise ValueError(
            f"y must hold durations, none of them negative, for method={method!r}, got a minimum "
            f"of {target.time.min():g}."
        )
    train = None if y_train is None else read_training(y_train)
    rows = _rows(method, target, times, weight, train)
    if rows.left_out is not None and rows.left_out.any():
        warn_truncated(
            f"{int(rows.left_out.sum())} of {target.n_events} events, from time "
            f"{target.time[rows.left_out].min():g} on, are left out of the absolute error: the "
            "censoring curve of y_train is unknown there."
        )
    kept = target.take(weight > 0)
    no_value = (
        f"y must hold a row with information on its event time for method={method!r}, got "
        f"{len(kept)} rows with {kept.n_events} events: use method='hinge'."
    )
    fixed = mean_of_rows(rows.error, weight, rows.share)
    if train is not None or method in ("hinge", "uncensored"):
        return replace(fixed, no_value=no_value)

    def score(counts: Floats) -> float:
        drawn = counts > 0
        own = (weight * counts)[drawn]
        try:
            found = _rows(method, target.take(drawn), times[drawn], own, None)
        except ValueError:  # no event or no weight was drawn, and no curve is known
            return np.nan
        total = own @ found.share
        return float((own * found.share) @ found.error / total) if total > 0 else np.nan

    def scores(counts: Floats) -> Floats:
        return np.array([score(column) for column in counts.T])

    return Counted(len(target), scores, no_value)


def _surrogates(method: str, target: Target, life: "_MeanLife") -> tuple[Floats, Floats]:
    """Return times that stand for the events, and how much each row counts."""
    censored = ~target.event
    ends = target.time[censored]
    times, share = target.time.copy(), np.ones(len(target))
    times[censored] = life.margin(ends) if method == "margin" else life.pseudo_observation(ends)
    share[censored] = 1.0 - life.survival(ends)
    return times, share


@counted_by(_absolute_error)
def mean_absolute_error_censored(
    y: object,
    predicted: ArrayLike,
    *,
    method: _Method = "pseudo-observation",
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Mean absolute distance of predicted times from the event times; lower is better.

    The one score that a lay reader understands at once, since it is in the unit of time: "off by
    40 days on average". For censored rows the event time is unknown, and the methods differ in
    what stands for it:

    - ``"pseudo-observation"``: what the row adds to the mean of the training rows. With
      :math:`\hat\mu_n` the area under their Kaplan-Meier curve,
      :math:`e_i = (n + 1)\hat\mu_{n + i} - n \hat\mu_n`. Weight :math:`1 - S(c_i)`. A row that
      was followed for longer than any training row joins them as censored at the last of their
      times, and :math:`e_i` is :math:`c_i` at least;
    - ``"margin"``: the mean of the event times later than the censoring time,
      :math:`e_i = c_i + \int_{c_i}^\infty S(t) dt / S(c_i)`, with the same weight;
    - ``"hinge"``: the censoring time itself, and no error where the prediction is later;
    - ``"uncensored"``: nothing, censored rows are left out;
    - ``"ipcw"``: nothing, but every event stands for the censored rows with the weight
      :math:`1 / G(y_i-)`, at most 50, where :math:`G` is the curve of the censoring time. Events
      past the last training time, where :math:`G` is not known, are left out, with a
      `censquant.exceptions.TruncationWarning`.

    The areas are those under the steps of the Kaplan-Meier curve, as the definitions have them.
    Programs that join the steps by straight lines find shorter lives, the more so the fewer the
    training rows. In each method the score is :math:`\sum_i w_i |e_i - \hat y_i| / \sum_i w_i` with
    :math:`e_i = y_i` and, except for ``"ipcw"``, :math:`w_i = 1` for events.

    How it misleads: ``"uncensored"`` rewards predictions that are too early, ``"hinge"`` such
    that are too late. The surrogates of ``"margin"`` and ``"pseudo-observation"`` know nothing of
    the features, so a model that distinguishes long-lived from short-lived individuals is
    penalised for it, and where many rows outlive the study they rest on a straight line that
    continues the Kaplan-Meier curve to zero. The score judges one time per row: its best answer
    is the median, and it is blind to the rest of the distribution.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    predicted : array-like of shape (n,)
        Predicted times, such as medians; finite.
    method : {"pseudo-observation", "margin", "hinge", "uncensored", "ipcw"}
        What stands for the event times of censored rows. The first two need durations, none of
        them negative.
    y_train : target in any form, optional
        Rows that the Kaplan-Meier curves are estimated from; ``y`` by default.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf). They weight the curves too where these are estimated from ``y``.

    Returns
    -------
    error : float in [0, inf)

    References
    ----------
    .. [1] S. Qi, N. Kumar, M. Farrokh, W. Sun, L. Kuan, R. Ranganath, R. Henao, R. Greiner (2023).
       An effective meaningful way to evaluate survival models. *ICML*.

    Examples
    --------
    The row censored at 2 counts for a third of a row, as if its event had come at 3.

    >>> from censquant.metrics import mean_absolute_error_censored
    >>> y = [1.0, 2.0, 3.0], [True, False, True]
    >>> mean_absolute_error_censored(y, [1.0, 2.0, 3.0], method="uncensored")
    0.0
    >>> round(mean_absolute_error_censored(y, [1.0, 2.0, 3.0], method="margin"), 6)
    0.142857
    """
    return _absolute_error(
        y, predicted, method=method, y_train=y_train, sample_weight=sample_weight
    ).score()


class _MeanLife:
    """Area under the Kaplan-Meier curve of some rows, as a whole, from a time on, or changed.

    The curve is a step function up to the last time T. If it has not come down to zero by then, it
    continues along the straight line from (0, 1) through (T, S(T)): the mean needs some such
    assumption, and the larger S(T) the more of the mean is made of it.
    """

    def __init__(self, train: Target, weight: Floats | None) -> None:
        low, high = train.time.min(), train.time.max()
        if low < 0 or high <= 0:
            raise ValueError(
                "y_train must hold durations, none negative and one positive at least, where "
                f"their mean is needed, got times from {low:g} to {high:g}."
            )
        curve = kaplan_meier(train.time, train.event, weight)
        if not curve.n_events.any():
            n_rows = len(train) if weight is None else np.count_nonzero(weight)
            raise NoEventsError(
                f"y_train has no event: {n_rows} of {n_rows} rows are censored, so their mean is "
                "unknown."
            )
        self._n_rows = len(train) if weight is None else weight.sum()
        self._last = float(curve.time[-1])
        self._knots = np.concatenate(([0.0], curve.time))
        self._steps = np.concatenate(([1.0], curve.survival))
        self._area = _areas(self._knots, self._steps)
        # The curve as if one more row were at risk throughout.
        stay = 1.0 - curve.n_events / (curve.n_at_risk + 1.0)
        self._other_steps = np.concatenate(([1.0], np.cumprod(stay)))
        self._other_area = _areas(self._knots, self._other_steps)
        self._end = _end(self._last, self._steps[-1])

    def survival(self, times: Floats) -> Floats:
        """Return the share that is event-free after each time, on the line past the last one."""
        share = self._steps[self._place(times)]
        return np.where(times > self._last, np.maximum(1.0 - times / self._end, 0.0), share)

    def margin(self, times: Floats) -> Floats:
        r"""Return the mean of the event times after each time, :math:`c + \int_c S / S(c)`."""
        share = self.survival(times)
        inside = np.minimum(times, self._last)
        rest = self._area[-1] - np.interp(inside, self._knots, self._area)
        # The triangle under the line, from the last time or from a later one on.
        left = self._end - np.maximum(times, self._last)
        rest += np.where(times > self._last, share, self._steps[-1]) * np.maximum(left, 0.0) / 2
        further: Floats = np.divide(rest, share, out=np.zeros_like(rest), where=share > 0)
        return times + further

    def pseudo_observation(self, times: Floats) -> Floats:
        """Return what each censored time adds to the mean of the training rows.

        The row joins every risk set up to its time, so that the curve falls more slowly there;
        after it the curve falls by the old shares, from its new height. A time past the last one
        counts as that one: alone at risk, the row would hold the whole curve up, and as many times
        over as there are rows. Its share is its own time at least.
        """
        inside = np.minimum(times, self._last)
        place = self._place(inside)
        height = self._other_steps[place]
        ratio = np.divide(
            height, self._steps[place], out=np.ones_like(height), where=inside < self._last
        )
        area = np.interp(inside, self._knots, self._other_area)
        area += ratio * (self._area[-1] - np.interp(inside, self._knots, self._area))
        lowest = np.where(inside < self._last, ratio * self._steps[-1], height)
        area += lowest * (_end(self._last, lowest) - self._last) / 2
        whole = self._area[-1] + self._steps[-1] * (self._end - self._last) / 2
        added: Floats = (self._n_rows + 1.0) * area - self._n_rows * whole
        return np.where(times > self._last, np.maximum(added, times), added)

    def _place(self, times: Floats) -> NDArray[np.intp]:
        """Return the index of the step that holds at each time."""
        return np.searchsorted(self._knots[1:], times, side="right")


def _areas(knots: Floats, steps: Floats) -> Floats:
    """Return the area under a step function up to each of its knots."""
    return np.concatenate(([0.0], np.cumsum(steps[:-1] * np.diff(knots))))


def _end(last: Floats | float, share: Floats | float) -> Floats:
    """Return the time at which the line from (0, 1) through (last, share) reaches zero."""
    return np.asarray(last / (1.0 - np.asarray(share)))
