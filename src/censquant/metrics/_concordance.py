"""Concordance indices: whether predictions are in the right order."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant._validation import check_choice, check_number
from censquant.metrics._counts import Censoring, Counted, counted_by, ratio
from censquant.metrics._reading import (
    known_censoring,
    read_quantile_rows,
    read_times,
    warn_truncated,
)
from censquant.quantiles import QuantileCurve
from censquant.survival import Target
from censquant.survival._kinds_of_rows import OF_ONE_KIND
from censquant.survival._target import GeneralTarget

# Survival probabilities that are held at once, in blocks of pairs: 16 MB.
_BLOCK_ENTRIES = 1 << 21
# Draws that a pass over the rows counts side by side: enough for the registers of a processor, few
# enough for the sums of some thousand rows to stay in its cache.
_DRAWS_TOGETHER = 32


def _harrell(
    y: object,
    predicted: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    censoring: Literal["right", "left"] = "right",
) -> Counted:
    """Read the arguments of `concordance_index`."""
    target, times, own = read_times(y, predicted, sample_weight, infinite=True, accepts=OF_ONE_KIND)
    check_choice("censoring", censoring, ("right", "left"))
    if isinstance(target, GeneralTarget):
        if censoring == "left":
            raise ValueError(
                "censoring must be 'right' where rows have intervals or entries, got 'left': give "
                "left-censored rows as intervals with lower=0."
            )
        return _share_of_general_pairs(target, times, own)
    if censoring == "left":
        target, times = Target(-target.time, target.event), -times
    return _share_in_order(target, times, own, lambda weight: weight)


@counted_by(_harrell)
def concordance_index(
    y: object,
    predicted: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    censoring: Literal["right", "left"] = "right",
) -> float:
    """Share of comparable pairs whose predicted times are in the right order; higher is better.

    A pair is comparable if one row has an event and the other is known to outlive it: its time
    is later, or it is censored at the same time. A tie between predictions counts one half; they
    tie only if they are equal to the last bit. 0.5 is chance level, 1 a perfect order.

    Of an event that lies between two times the later one counts, and a row is known to outlive it
    if its own event comes after that; the value then depends on the schedule of the visits. A row
    with a delayed entry is a partner of the events after its entry alone.

    The index judges the order alone: predictions ten times too long score the same. It also
    depends on the censoring of the sample, since late pairs are rarely comparable: the value of
    one study cannot be set against that of another. `concordance_index_ipcw` corrects for this.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    predicted : array-like of shape (n,)
        Predicted times, such as restricted means or medians: higher means a later event. This is
        the opposite of a risk score. Infinity is allowed.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a pair weighs the product of its rows' weights.
    censoring : {"right", "left"}, default="right"
        On which side of its time a censored event lies. With ``"left"`` a pair is comparable if
        one row has an event and the event of the other is known to come before it.

    Returns
    -------
    index : float in [0, 1]

    References
    ----------
    .. [1] F. E. Harrell, R. M. Califf, D. B. Pryor, K. L. Lee, R. A. Rosati (1982). Evaluating
       the yield of medical tests. *JAMA* 247(18).

    Examples
    --------
    >>> from censquant.metrics import concordance_index
    >>> time, event = [1.0, 2.0, 3.0], [True, False, True]
    >>> concordance_index((time, event), [1.0, 5.0, 4.0])
    1.0
    >>> concordance_index((time, event), [4.5, 5.0, 4.0])
    0.5
    >>> concordance_index((time, event), [1.0, 0.5, 4.0], censoring="left")
    1.0
    """
    return _harrell(y, predicted, sample_weight=sample_weight, censoring=censoring).score()


def _uno(
    y: object,
    predicted: ArrayLike,
    *,
    y_train: object = None,
    truncation: float | None = None,
    sample_weight: ArrayLike | None = None,
) -> Counted:
    """Read the arguments of `concordance_index_ipcw`."""
    target, times, own = read_times(y, predicted, sample_weight, infinite=True)
    censoring = Censoring(y_train, target)
    leads = target.event & (own > 0)
    if truncation is not None:
        leads &= target.time < check_number("truncation", truncation)
    unknown = leads & (censoring(own[:, None]).known_at(target.time)[:, 0] == 0)
    if unknown.any():
        warn_truncated(
            f"{int(unknown.sum())} of {target.n_events} events, from time "
            f"{target.time[unknown].min():g} on, are left out of the concordance index: the "
            "censoring curve of y_train is zero or unknown there."
        )

    def lead(weight: Floats) -> Floats:
        chance = censoring(weight).known_at(target.time)
        known = leads[:, None] & (chance > 0)
        inverse = np.zeros_like(chance)
        np.divide(1.0, chance, out=inverse, where=known)
        return weight * inverse**2

    return _share_in_order(target, times, own, lead)


@counted_by(_uno)
def concordance_index_ipcw(
    y: object,
    predicted: ArrayLike,
    *,
    y_train: object = None,
    truncation: float | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Uno's concordance index, corrected for the censoring of the sample; higher is better.

    Harrell's index counts the pairs that censoring left over, mostly early ones. Here every pair
    stands for those that censoring hid: with :math:`G` the Kaplan-Meier curve of the censoring
    time, a pair whose earlier event is at :math:`y_i` weighs :math:`1 / G(y_i)^2`,

    .. math:: C = \frac{\sum_{i,j} \delta_i 1\{y_i < y_j,\ y_i < \tau\}\,
              (1\{p_i < p_j\} + \tfrac12 1\{p_i = p_j\}) / G(y_i)^2}
              {\sum_{i,j} \delta_i 1\{y_i < y_j,\ y_i < \tau\} / G(y_i)^2}.

    0.5 is chance level, 1 a perfect order. It rests on censoring that depends neither on
    features nor on event times, and a few late events can carry most of the weight: truncate
    where :math:`G` is small, and at the same time for all models that are compared. Like every
    concordance it says nothing about calibration.

    Parameters
    ----------
    y, predicted
        As in `concordance_index`.
    y_train : target in any form, optional
        Rows that the censoring curve is estimated from; ``y`` by default.
    truncation : float, optional
        Only events before this time start a pair. By default all of them do up to the largest
        time at which the censoring curve is known and positive; later ones are left out, with a
        `censquant.exceptions.TruncationWarning`.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a pair weighs the product of its rows' weights. They weight the
        censoring curve too where it is estimated from ``y``.

    Returns
    -------
    index : float in [0, 1]

    References
    ----------
    .. [1] H. Uno, T. Cai, M. J. Pencina, R. B. D'Agostino, L. J. Wei (2011). On the C-statistics
       for evaluating overall adequacy of risk prediction procedures. *Statistics in Medicine*
       30(10).

    Examples
    --------
    The pair of the later event weighs 9/4: a third of the rows that came so far were censored.

    >>> from censquant.metrics import concordance_index, concordance_index_ipcw
    >>> y = [1.0, 2.0, 3.0, 4.0], [True, False, True, True]
    >>> concordance_index(y, [2.0, 1.0, 3.0, 4.0])
    0.75
    >>> round(concordance_index_ipcw(y, [2.0, 1.0, 3.0, 4.0]), 4)
    0.8095
    """
    return _uno(
        y, predicted, y_train=y_train, truncation=truncation, sample_weight=sample_weight
    ).score()


def concordance_index_ipcw_known(
    y: object, predicted: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return `concordance_index_ipcw` of events before the censoring curve is zero or unknown."""
    target, _, weights = read_times(y, predicted, sample_weight, infinite=True)
    chance = known_censoring(None, target, weights)(target.time)
    end = target.time[chance == 0].min(initial=np.inf)
    truncation = float(end) if np.isfinite(end) else None
    return concordance_index_ipcw(y, predicted, truncation=truncation, sample_weight=sample_weight)


def concordance_index_td(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Antolini's time-dependent concordance index of predicted curves; higher is better.

    Where predicted survival curves cross, no single time orders two rows. This index asks at
    every event whether the row that had it was then given the smaller chance to survive: a
    comparable pair, in which the event of row i comes before that of row j, is in order if

    .. math:: \hat S(y_i | x_i) < \hat S(y_i | x_j),

    and a tie counts one half. 0.5 is chance level; 1 is a perfect order. Where curves do not
    cross it is `concordance_index` of the medians. Survival is read off the quantiles linearly,
    and past the last of ``taus`` on an exponential tail, which is an assumption. A model that is
    wrong by a common factor in time scores as well as the right one. The cost grows with the
    square of the number of rows.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    predicted : array-like of shape (n, n_quantiles)
        Predicted quantiles, one column for each of ``taus``; crossed rows are sorted.
    taus : array-like of shape (n_quantiles,), inside (0, 1)
        Levels of the columns, increasing, two at least.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a pair weighs the product of its rows' weights.

    Returns
    -------
    index : float in [0, 1]

    References
    ----------
    .. [1] L. Antolini, P. Boracchi, E. Biganzoli (2005). A time-dependent discrimination index
       for survival data. *Statistics in Medicine* 24(24).

    Examples
    --------
    >>> from censquant.metrics import concordance_index_td
    >>> time, event = [1.0, 2.0, 3.0], [True, True, False]
    >>> predicted = [[0.5, 1.5], [1.5, 2.5], [2.5, 3.5]]
    >>> concordance_index_td((time, event), predicted, taus=[0.25, 0.75])
    1.0
    """
    target, values, levels, weights = read_quantile_rows(
        y, predicted, taus, sample_weight, at_least=2
    )
    # By falling time, censored before events at a tie: the partners of an event stand before it.
    order = np.lexsort((target.event, -target.time))
    rows, values, weights = target.take(order), values[order], weights[order]
    leads = np.flatnonzero(rows.event & (weights > 0))
    n_partners = np.searchsorted(-rows.time, -rows.time[leads], side="left")
    n_partners += _censored_at_tie(rows, leads)
    in_order = comparable = 0.0
    step = max(1, _BLOCK_ENTRIES // len(rows))
    for start in range(0, leads.size, step):
        block, ends = leads[start : start + step], n_partners[start : start + step]
        last = int(block[-1]) + 1
        chance = QuantileCurve(values[:last], levels).survival(rows.time[block])
        own = chance[block, np.arange(block.size)]
        above = (chance > own) + 0.5 * (chance == own)
        pair = weights[:last, None] * (np.arange(last)[:, None] < ends)
        in_order += float((weights[block] * (pair * above).sum(axis=0)).sum())
        comparable += float((weights[block] * pair.sum(axis=0)).sum())
    if not comparable > 0:
        raise ValueError(_no_pair(rows))
    return min(1.0, float(in_order / comparable))


def _censored_at_tie(rows: Target, leads: NDArray[np.intp]) -> NDArray[np.intp]:
    """Count the rows that are censored at the time of each of these events."""
    censored = np.sort(rows.time[~rows.event])
    at = rows.time[leads]
    return np.searchsorted(censored, at, side="right") - np.searchsorted(censored, at, side="left")


def _share_in_order(
    target: Target, times: Floats, own: Floats, lead: Callable[[Floats], Floats]
) -> Counted:
    """Return the weighted share of comparable pairs that are in order; ties count one half.

    ``lead`` makes the weight of the row with the earlier event of the weights of rows and draws.
    """
    # numba takes a moment to load, and most of this package does not need it.
    from censquant.metrics._concordance_kernel import pair_weights

    distinct, rank = np.unique(times, return_inverse=True)
    order = np.lexsort((target.event, -target.time))
    in_order = order, rank[order], target.time[order], target.event[order]
    n_tied = distinct.size if distinct.size < times.size else 0
    weighs_alike = bool((own == 1.0).all())

    def scores(counts: Floats) -> Floats:
        weight = np.ascontiguousarray(counts if weighs_alike else own[:, None] * counts)
        n_together = min(_DRAWS_TOGETHER, counts.shape[1])
        tree, at_rank = (np.empty((n, n_together)) for n in (distinct.size + 1, n_tied))
        found = np.empty((2, counts.shape[1]))
        pair_weights(*in_order, lead(weight), weight, tree, at_rank, found)
        # Fractional weights can push the ratio of two long sums past 1 in its last bit.
        return np.asarray(np.minimum(1.0, ratio(*found)))

    return Counted(len(target), scores, _no_pair(target))


def _share_of_general_pairs(target: GeneralTarget, times: Floats, own: Floats) -> Counted:
    """Return the share of comparable pairs in order, of rows with intervals or entries.

    The cost grows with the square of the number of rows.
    """
    # The last time until which a partner of an event is known to have none; an event at a known
    # time is no partner of one at the same time.
    until = np.where(target.exact, np.nextafter(target.lower, -np.inf), target.lower)
    leads = np.flatnonzero(target.event)
    step = max(1, _BLOCK_ENTRIES // len(target))

    def scores(counts: Floats) -> Floats:
        weight = own[:, None] * counts
        found = np.zeros((2, counts.shape[1]))
        for start in range(0, leads.size, step):
            block = leads[start : start + step]
            at, predicted = target.time[block, None], times[block, None]
            pairs = ((until >= at) & (target.entry < at)).astype(np.float64)
            above = pairs * ((times > predicted) + 0.5 * (times == predicted))
            for place, each in enumerate((above, pairs)):
                found[place] += (weight[block] * (each @ weight)).sum(axis=0)
        return np.asarray(np.minimum(1.0, ratio(*found)))

    return Counted(len(target), scores, _no_pair(target))


def _no_pair(target: Target) -> str:
    """Return the error where no pair is comparable."""
    return (
        "y must hold a comparable pair, an event and a row known to outlive it, "
        f"got none among {len(target)} rows with {target.n_events} events."
    )
