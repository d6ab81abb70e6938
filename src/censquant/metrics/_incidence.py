"""Scores and calibration of predicted incidences of competing kinds of events."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant._validation import check_integer, check_number
from censquant.metrics._counts import Counted, counted_by, mean_of_rows
from censquant.metrics._reading import known_censoring, warn_truncated
from censquant.survival._aalen_johansen import aalen_johansen_of
from censquant.survival._causes import Causes, read_causes
from censquant.survival._cells import SMALLEST_CELL_CHANCE
from censquant.survival._columns import as_array, read_numbers, read_weights

_ROUNDING = 1e-9
"""By how much computed incidences may leave [0, 1], or fall, by rounding."""


@dataclass(frozen=True, eq=False)
class _Scored:
    """Rows with incidences of shape (n, K, T) at increasing times."""

    causes: Causes
    incidence: Floats
    times: Floats
    weight: Floats

    @classmethod
    def read(
        cls,
        y: object,
        incidence: ArrayLike,
        times: ArrayLike,
        kinds: ArrayLike | None,
        sample_weight: ArrayLike | None,
    ) -> "_Scored":
        array = as_array(incidence, "incidence")
        if array.ndim != 3 or array.dtype.kind not in "iuf":
            raise ValueError(
                "incidence must be numbers of shape (n, n_kinds, n_times), got dtype "
                f"{array.dtype} and shape {array.shape}: pass what predict_cumulative_incidence "
                "returns for all kinds."
            )
        names = np.arange(1, array.shape[1] + 1) if kinds is None else np.asarray(kinds)
        grid = read_numbers(times, name="times")
        if not (grid.size and np.isfinite(grid).all() and (np.diff(grid) > 0).all()):
            raise ValueError("times must be one or more finite numbers in increasing order.")
        causes = _read(y, names, array.shape[1])
        shape = (len(causes), len(names), grid.size)
        if array.shape != shape:
            raise ValueError(
                "incidence must have one row for each row of y, one column for each kind and one "
                f"entry for each of times, shape {shape}, got shape {array.shape}."
            )
        values = np.asarray(array, dtype=np.float64)
        if not np.isfinite(values).all():
            rows = np.flatnonzero(~np.isfinite(values).all(axis=(1, 2)))
            raise ValueError(
                f"incidence must be finite, got NaN or infinity in {rows.size} of {len(values)} "
                f"rows, the first in row {rows[0]}: predict with beyond='extrapolate', or score "
                "earlier times."
            )
        total = values.sum(axis=1)
        if values.min() < -_ROUNDING or total.max() > 1 + _ROUNDING:
            raise ValueError(
                "incidence must hold probabilities that sum to 1 at most over kinds, got values "
                f"from {values.min():g} and sums up to {total.max():g}: events of one kind must "
                "not count as censored for another."
            )
        if (np.diff(values, axis=2) < -_ROUNDING).any():
            raise ValueError(
                "incidence must not fall with time, but that of some row and kind does: pass "
                "P(T <= t, kind), not a survival function."
            )
        return cls(
            causes, np.clip(values, 0.0, 1.0), grid, read_weights(sample_weight, len(causes))
        )


def _read(y: object, names: NDArray[np.generic], n_kinds: int) -> Causes:
    if len(names) != n_kinds:
        raise ValueError(
            f"kinds must name the {n_kinds} kinds of incidence, got {len(names)} names."
        )
    try:
        return read_causes(y, names)
    except ValueError as error:
        if "must hold the names" in str(error) or "or one of the kinds '1'" in str(error):
            raise ValueError(f"{error} Pass kinds=model.kinds_.") from None
        raise


def brier_score_incidence(
    y: object,
    incidence: ArrayLike,
    times: ArrayLike,
    *,
    kinds: ArrayLike | None = None,
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
) -> Floats:
    r"""Squared error of the predicted incidence of each kind at each time; lower is better.

    At a time t each row had an event of kind k by then or not. Rows censored before t are unknown;
    those that are left stand for them with the inverse of :math:`G`, the chance of not being
    censored yet, by the Kaplan-Meier curve of the censoring times:

    .. math:: BS_k(t) = \frac1n \sum_i \{\hat F_k(t|x_i) - 1[y_i \le t, k_i = k]\}^2
              \left[\frac{1\{y_i \le t, k_i > 0\}}{G(y_i)} + \frac{1\{y_i > t\}}{G(t)}\right]

    With a single kind it is `brier_score`, whose cautions hold: it is right only where censoring
    does not depend on the features. Its level depends on how common the kind is: compare with the
    score of the shares by `censquant.survival.aalen_johansen`.

    Parameters
    ----------
    y : structured array, (time, event) tuple, DataFrame or mapping of n rows
        Times, and of which kind each event was; 0, or ``"censored"``, where none was seen.
    incidence : array-like of shape (n, n_kinds, n_times), in [0, 1]
        Predicted P(T <= t, kind), such as ``predict_cumulative_incidence(X, times)`` returns.
    times : array-like of shape (n_times,)
        Strictly increasing times.
    kinds : array-like of shape (n_kinds,), optional
        Names of the kinds in the order of ``incidence``, ``model.kinds_``; by default 1, 2, ...
    y_train : as ``y``, optional
        Rows that the censoring curve is estimated from; ``y`` by default.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf).

    Returns
    -------
    score : ndarray of shape (n_kinds, n_times)
        NaN at times past the training follow-up, with a
        `censquant.exceptions.TruncationWarning`.

    References
    ----------
    .. [1] R. Schoop, J. Beyersmann, M. Schumacher, H. Binder (2011). Quantifying the predictive
       accuracy of time-to-event models in the presence of competing risks. *Biometrical Journal*
       53.

    Examples
    --------
    >>> from censquant.metrics import brier_score_incidence
    >>> y = [1.0, 2.0, 3.0], [1, 2, 0]
    >>> incidence = [[[0.5], [0.2]], [[0.0], [0.5]], [[0.0], [0.0]]]
    >>> brier_score_incidence(y, incidence, times=[2.5]).round(3)
    array([[0.083],
           [0.097]])
    """
    scored = _Scored.read(y, incidence, times, kinds, sample_weight)
    return _brier(scored, y_train)


def _brier(scored: _Scored, y_train: object) -> Floats:
    counts, known = _counts(scored, y_train)
    if not known.all():
        warn_truncated(
            f"{int((~known).sum())} of {known.size} times are left without a Brier score: the "
            "censoring curve of y_train is zero or unknown there."
        )
    counts *= scored.weight[:, None] / scored.weight.sum()
    squares = [_squares(scored, place) for place in range(len(scored.causes.kinds))]
    return np.where(known, [(counts * each).sum(axis=0) for each in squares], np.nan)


def _counts(scored: _Scored, y_train: object) -> tuple[Floats, NDArray[np.bool_]]:
    """Return for how many rows each stands at each time, and at which times that is known."""
    causes, times = scored.causes, scored.times
    plain = None
    if y_train is not None:
        train = read_causes(y_train, causes.kinds).target
        plain = (train.time, train.event)
    target = causes.target
    chance = known_censoring(plain, target, scored.weight)
    at_times, at_own = chance(times), chance(target.time)
    early = np.divide(1.0, at_own, out=np.zeros_like(at_own), where=target.event & (at_own > 0))
    late = np.divide(1.0, at_times, out=np.zeros_like(at_times), where=at_times > 0)
    return np.where(target.time[:, None] <= times, early[:, None], late), at_times > 0


def _squares(scored: _Scored, place: int) -> Floats:
    """Return squared errors (n, T) of the incidence of a kind."""
    target = scored.causes.target
    had = (target.time[:, None] <= scored.times) & (target.kind == place + 1)[:, None]
    return np.asarray((scored.incidence[:, place] - had) ** 2)


def _of_kind(
    y: object,
    incidence: ArrayLike,
    times: ArrayLike,
    *,
    kinds: ArrayLike,
    place: int,
    y_train: object,
    sample_weight: ArrayLike | None = None,
) -> Counted:
    """Read the arguments of `brier_score_of_kind`."""
    scored = _Scored.read(y, incidence, times, kinds, sample_weight)
    counts, known = _counts(scored, y_train)
    grid = scored.times[known]
    if grid.size < 2:
        raise ValueError("times must hold two times or more at which the censoring is known.")
    losses = np.trapezoid((counts * _squares(scored, place))[:, known], grid, axis=1)
    return mean_of_rows(losses / (grid[-1] - grid[0]), scored.weight)


@counted_by(_of_kind)
def brier_score_of_kind(
    y: object,
    incidence: ArrayLike,
    times: ArrayLike,
    *,
    kinds: ArrayLike,
    place: int,
    y_train: object,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Integrated Brier score of the incidence of one kind, a line of `evaluate`."""
    options: dict[str, Any] = {"kinds": kinds, "place": place, "y_train": y_train}
    return _of_kind(y, incidence, times, sample_weight=sample_weight, **options).score()


def integrated_brier_score_incidence(
    y: object,
    incidence: ArrayLike,
    times: ArrayLike,
    *,
    kinds: ArrayLike | None = None,
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
) -> Floats:
    r"""Mean of the Brier score of each incidence over a span of time; lower is better.

    The trapezoidal integral of `brier_score_incidence` over the given times, divided by their span.
    Two models are comparable only on the same times and rows.

    Parameters
    ----------
    y, incidence, times, kinds, y_train, sample_weight
        As in `brier_score_incidence`, with two times at least. Times past the training follow-up
        are left out, with a `censquant.exceptions.TruncationWarning`.

    Returns
    -------
    score : ndarray of shape (n_kinds,)

    Examples
    --------
    >>> from censquant.metrics import integrated_brier_score_incidence
    >>> y = [1.0, 2.0, 3.0], [1, 2, 0]
    >>> incidence = [[[0.5, 0.5], [0.2, 0.2]], [[0.0, 0.0], [0.5, 0.5]], [[0.0, 0.0], [0.0, 0.0]]]
    >>> integrated_brier_score_incidence(y, incidence, times=[2.0, 2.5]).round(3)
    array([0.083, 0.097])
    """
    scored = _Scored.read(y, incidence, times, kinds, sample_weight)
    score = _brier(scored, y_train)
    known = ~np.isnan(score[0])
    if np.count_nonzero(known) < 2:
        raise ValueError(
            "times must hold two times or more at which the censoring curve of y_train is known "
            f"and positive, got {np.count_nonzero(known)} of {known.size}."
        )
    grid = scored.times[known]
    area: Floats = np.trapezoid(score[:, known], grid, axis=1)
    return np.asarray(area / (grid[-1] - grid[0]))


def _log(
    y: object,
    incidence: ArrayLike,
    times: ArrayLike,
    *,
    kinds: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Counted:
    """Read the arguments of `log_score_incidence`."""
    scored = _Scored.read(y, incidence, times, kinds, sample_weight)
    causes, grid = scored.causes, scored.times
    time, code = causes.target.time, causes.code
    rows, n_kinds = np.arange(len(time)), len(causes.kinds)
    start = min(0.0, float(time.min()), float(grid[0]))
    edges = np.concatenate(([start], grid))
    values = np.concatenate((np.zeros((len(time), n_kinds, 1)), scored.incidence), axis=2)
    # An event at the start of time lies in the first cell, which begins before it.
    cell = np.clip(np.searchsorted(edges, time) - 1, 0, grid.size)
    seen = (code > 0) & (cell < grid.size)
    inside = np.minimum(cell, grid.size - 1)
    own = np.maximum(code - 1, 0)
    chance_of_event = values[rows, own, inside + 1] - values[rows, own, inside]
    total = values.sum(axis=1)
    width = edges[inside + 1] - edges[inside]
    way = np.divide(time - edges[inside], width, out=np.ones_like(time), where=width > 0)
    way = np.clip(way, 0.0, 1.0)
    lived = 1.0 - (total[rows, inside] * (1.0 - way) + total[rows, inside + 1] * way)
    chance = np.maximum(np.where(seen, chance_of_event, lived), SMALLEST_CELL_CHANCE)
    return mean_of_rows(-np.log(np.minimum(chance, 1.0)), scored.weight)


@counted_by(_log)
def log_score_incidence(
    y: object,
    incidence: ArrayLike,
    times: ArrayLike,
    *,
    kinds: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Minus the mean log probability of what was observed in each row; lower is better.

    A row with an event of kind k is scored by the probability of that kind in the cell between two
    neighbours of ``times`` that its event lies in, and any other row by the probability to outlive
    its time, or the last of ``times`` if that is earlier:

    .. math:: -\frac{1}{n} \sum_i \log\{\hat F_{k_i}(u_i | x_i) - \hat F_{k_i}(l_i | x_i)\}
              \text{ or } \log \hat S(\min(y_i, t_K) | x_i), \qquad l_i < y_i \le u_i

    It scores when events come and of which kind they are at once, and nothing about the censoring
    has to be estimated: of all predictions the true incidences have the best score on average,
    whether or not censoring depends on the features. Between the times incidences are read
    linearly, which matters for censored rows alone. A probability counts for 0.0001 at least, so
    that no row costs more than 9.21. Compare models on the same rows and times only.

    Parameters
    ----------
    y, incidence, times, kinds
        As in `brier_score_incidence`. Quantiles of the event times are good ``times``.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf).

    Returns
    -------
    score : float in [0, 9.22)

    Examples
    --------
    The first row has an event to which the model gives a half, the second outlives 2 with a
    quarter.

    >>> import numpy as np
    >>> from censquant.metrics import log_score_incidence
    >>> y = [1.0, 2.0], [1, 0]
    >>> incidence = [[[0.5, 0.5], [0.25, 0.25]]] * 2
    >>> round(float(np.exp(-2 * log_score_incidence(y, incidence, times=[1.0, 3.0]))), 3)
    0.125
    """
    return _log(y, incidence, times, kinds=kinds, sample_weight=sample_weight).score()


def calibration_incidence(
    y: object,
    probability: ArrayLike,
    horizon: float,
    *,
    kinds: ArrayLike | None = None,
    n_groups: int = 5,
    sample_weight: ArrayLike | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Predicted and observed shares of each kind within a horizon, in groups of predicted ones.

    For each kind rows are put into groups of nearly equal size by its predicted probability, with
    equal ones together. The
    observed share of a group is the Aalen-Johansen estimate, since one minus Kaplan-Meier is too
    high where other kinds come first. Where the model is right, most observed shares lie within two
    standard errors of the predicted ones.

    Parameters
    ----------
    y : as in `brier_score_incidence`
    probability : array-like of shape (n, n_kinds), in [0, 1]
        Predicted P(T <= horizon, kind), such as ``predict_kind(X, horizon)`` returns.
    horizon : float
        Time up to which events count. Some row of each group must be followed up to it.
    kinds : array-like of shape (n_kinds,), optional
        Names of the kinds in the order of ``probability``, ``model.kinds_``; by default 1, 2, ...
    n_groups : int, at least 1, default=5
        Number of groups for each kind.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a weight of k counts as k equal rows.

    Returns
    -------
    predicted, observed, standard_error : ndarray of shape (n_kinds, n_groups)
        Mean prediction of each group, its observed share and the standard error of that. The last
        two are NaN where the follow-up of a group ends before the horizon.

    Examples
    --------
    >>> from censquant.metrics import calibration_incidence
    >>> y = [1.0, 2.0, 3.0, 4.0], [1, 2, 1, 0]
    >>> probability = [[0.5, 0.25]] * 4
    >>> predicted, observed, _ = calibration_incidence(y, probability, 3.5, n_groups=1)
    >>> predicted.tolist(), observed.tolist()
    ([[0.5], [0.25]], [[0.5], [0.25]])
    """
    values = as_array(probability, "probability")
    if values.ndim != 2:
        raise ValueError(
            "probability must have shape (n, n_kinds), got shape "
            f"{values.shape}: pass what predict_kind returns."
        )
    end = check_number("horizon", horizon)
    scored = _Scored.read(y, values[:, :, None], [end], kinds, sample_weight)
    causes, weight = scored.causes, scored.weight
    count = check_integer("n_groups", n_groups, minimum=1)
    if count > len(causes):
        raise ValueError(f"n_groups must be at most the {len(causes)} rows of y, got {count}.")
    table = np.full((3, len(causes.kinds), count), np.nan)
    for place in range(len(causes.kinds)):
        share = scored.incidence[:, place, 0]
        for group, rows in enumerate(_groups_of(share, count)):
            if not weight[rows].any():
                continue
            part = causes.take(rows)
            table[0, place, group] = np.average(share[rows], weights=weight[rows])
            curve = aalen_johansen_of(part, weight[rows])
            # Where everybody had an event, nothing can follow.
            if end <= curve.time[-1] or curve.survival[-1] == 0:
                table[1, place, group] = curve(end)[place]
                table[2, place, group] = curve.standard_error(end)[place]
    predicted, observed, error = table
    return predicted, observed, error


def _groups_of(share: Floats, count: int) -> list[NDArray[np.intp]]:
    """Rows of each group by size of a prediction; those with equal ones stay together."""
    order = np.argsort(share, kind="stable")
    parts = np.array_split(order, count)
    label = np.repeat(np.arange(count), [len(part) for part in parts])
    _, place, size = np.unique(share, return_inverse=True, return_counts=True)
    end = np.cumsum(size)
    # All equal predictions go where the middle one of them is.
    of_row = label[(end - size + (size - 1) // 2)[place]]
    return [np.flatnonzero(of_row == group) for group in range(count)]
