"""Distance of predicted times from event times that are partly unknown."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant._validation import check_choice
from censquant.metrics._known_censoring import warn_truncated
from censquant.metrics._mean_life import MeanLife
from censquant.metrics._read import censoring_curve, read_times, read_train
from censquant.survival import KaplanMeier, Target
from censquant.survival._kaplan_meier import inverse_censoring_weights

_METHODS = ("pseudo-observation", "margin", "hinge", "uncensored", "ipcw")


def mean_absolute_error_censored(
    y: object,
    predicted: ArrayLike,
    *,
    method: Literal[
        "pseudo-observation", "margin", "hinge", "uncensored", "ipcw"
    ] = "pseudo-observation",
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
    target, times, weight = read_times(y, predicted, sample_weight)
    check_choice("method", method, _METHODS)
    if method == "hinge":
        error, share = _hinge(target, times), np.ones(len(target))
    elif method in ("uncensored", "ipcw"):
        error, share = np.abs(target.time - times), target.event.astype(np.float64)
        if method == "ipcw":
            curve = censoring_curve(y_train, target, weight)
            share = inverse_censoring_weights(target.time, target.event, curve=curve)
            _leave_out_unknown(share, target, curve, weight)
    else:
        surrogate, share = _surrogates(method, target, y_train, weight)
        error = np.abs(surrogate - times)
    total = weight @ share
    if not total > 0:
        counted = target.take(weight > 0)
        raise ValueError(
            f"y must hold a row with information on its event time for method={method!r}, got "
            f"{len(counted)} rows with {counted.n_events} events: use method='hinge'."
        )
    return float((weight * share) @ error / total)


def _hinge(target: Target, times: Floats) -> Floats:
    """Error that is sure: none where a censored row was predicted past its time."""
    error = target.time - times
    return np.where(target.event, np.abs(error), np.maximum(error, 0.0))


def _leave_out_unknown(share: Floats, target: Target, curve: KaplanMeier, weight: Floats) -> None:
    """Take the weight from events past the training rows, if these are censored at all."""
    late = target.event & (weight > 0) & (target.time > curve.time[-1])
    if curve.n_events.any() and late.any():
        share[late] = 0.0
        warn_truncated(
            f"{int(late.sum())} of {target.n_events} events, from time "
            f"{target.time[late].min():g} on, are left out of the absolute error: the censoring "
            "curve of y_train is unknown there.",
            stacklevel=4,
        )


def _surrogates(
    method: str, target: Target, y_train: object, weight: Floats
) -> tuple[Floats, Floats]:
    """Return times that stand for the events, and how much each row counts."""
    if target.time.min() < 0:
        raise ValueError(
            f"y must hold durations, none of them negative, for method={method!r}, got a minimum "
            f"of {target.time.min():g}."
        )
    life = MeanLife(read_train(y_train, target), weight if y_train is None else None)
    censored = ~target.event
    ends = target.time[censored]
    times, share = target.time.copy(), np.ones(len(target))
    times[censored] = life.margin(ends) if method == "margin" else life.pseudo_observation(ends)
    share[censored] = 1.0 - life.survival(ends)
    return times, share
