"""Calibration of predicted quantiles and survival probabilities under censoring."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant._validation import check_integer, check_number
from censquant.metrics._reading import read_quantile_rows, read_survival
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import check_levels
from censquant.survival import KaplanMeier, Target, censoring_kaplan_meier, kaplan_meier
from censquant.survival._comparisons import normal_deviate

# The level of a time that equals a predicted quantile is that quantile's up to rounding.
ROUNDING = 1e-12

# Below this the chi-squared distribution describes a cell badly; the usual rule for such tests.
_SMALLEST_EXPECTED = 5.0


@dataclass(frozen=True, eq=False)
class ACalibration:
    """Outcome of the test of A-calibration, with the counts behind it.

    Made by `a_calibration`.

    Parameters
    ----------
    statistic : float
        Sum over cells of (observed - expected)² / expected.
    df : int
        Degrees of freedom, the number of cells.
    p_value : float in [0, 1]
        Chance of such a statistic under perfect calibration.
    observed : ndarray of shape (df,)
        Observed events in each cell of levels.
    expected : ndarray of shape (df,)
        Events that the predictions expect there, given how long each row was followed.
    edges : ndarray of shape (df + 1,), in [0, 1)
        Ends of the cells, from 0 to the last level of the grid.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.metrics import a_calibration
    >>> time, taus = np.arange(1, 41) / 40, [0.25, 0.5, 0.75]
    >>> result = a_calibration(time, [taus] * 40, taus)
    >>> result.observed
    array([10., 10., 10.])
    >>> result.ratio.round(2)
    array([0.99, 0.98, 0.97])
    """

    statistic: float
    df: int
    p_value: float
    observed: Floats
    expected: Floats
    edges: Floats

    @property
    def ratio(self) -> Floats:
        """Observed over expected events; below 1 where the model predicts too early."""
        safe = np.where(self.expected > 0, self.expected, 1.0)
        beyond = np.where(self.observed > 0, np.inf, 1.0)
        return np.where(self.expected > 0, self.observed / safe, beyond)


def a_calibration(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> ACalibration:
    r"""Test of calibration that keeps its size under censoring: observed against expected events.

    Each row is at risk for as long as it was followed. In units of its own predicted levels,
    :math:`U_i = \hat F(y_i | x_i)`, a right model expects the increments of
    :math:`H(u) = -\log(1 - u)` as events, censored or not:

    .. math:: O_j = \sum_i \delta_i 1[a_j < U_i \le b_j], \qquad
              E_j = \sum_i H(\min(U_i, b_j)) - H(\min(U_i, a_j)), \qquad
              X^2 = \sum_j \frac{(O_j - E_j)^2}{E_j}

    with as many degrees of freedom as cells (0, τ₁], ..., up to the last level. Neighbouring cells
    are merged until each expects 5 events; where all together expect fewer, one cell is
    left and the p-value is rough. No mass is imputed and nothing is assumed about the tail, and
    censoring may depend on the features.

    A large p-value is no proof: with few events the test has little power, and at 80 % censoring
    almost none. With many rows it rejects models whose errors do not matter: read the ratio
    of observed to expected events. Errors of subgroups that cancel do not show. A coarse grid is
    itself an error, since levels are read linearly between quantiles; five levels are rejected
    with some twenty thousand rows.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    predicted : array-like of shape (n, k)
        Predicted quantiles, one column for each of ``taus``; crossed rows are sorted.
    taus : array-like of shape (k,), inside (0, 1)
        Levels of the columns, increasing, two at least.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a weight of k counts as k equal rows.

    Returns
    -------
    result : ACalibration
        Statistic in [0, inf), about ``df`` for a right model, lower is better; p-value; observed
        and expected events by cell.

    References
    ----------
    .. [1] M. G. Akritas (1988). Pearson-type goodness-of-fit tests: the univariate case. *JASA*
       83(401).

    Examples
    --------
    The model expects the events twice as late as they come.

    >>> import numpy as np
    >>> from censquant.metrics import a_calibration
    >>> time, taus = np.arange(1, 81) / 160, np.array([0.25, 0.5, 0.75])
    >>> result = a_calibration(time, [taus] * 80, taus)
    >>> result.observed
    array([40., 40.])
    >>> result.expected.round(1)
    array([17.1,  7.8])
    >>> result.p_value < 0.001
    True
    """
    level, followed, levels, weight = _read_levels(y, predicted, taus, sample_weight)
    edges = np.concatenate(([0.0], levels))
    cells = np.searchsorted(levels, level[followed] - ROUNDING)
    observed = np.bincount(cells, weight[followed], minlength=levels.size).astype(np.float64)
    hazard = -np.log1p(-np.minimum(level[:, None], edges))
    expected = weight @ np.diff(hazard, axis=1)
    kept = _edges_to_keep(expected)
    starts = kept[:-1]
    observed, expected = np.add.reduceat(observed, starts), np.add.reduceat(expected, starts)
    # A cell that expects nothing is met exactly by no event and missed entirely by any.
    terms = np.where(observed > 0, np.inf, 0.0)
    np.divide((observed - expected) ** 2, expected, out=terms, where=expected > 0)
    statistic, df = float(terms.sum()), starts.size
    return ACalibration(
        statistic, df, chi_squared_tail(df, statistic), observed, expected, edges[kept]
    )


def _edges_to_keep(expected: Floats) -> NDArray[np.intp]:
    """Return the places of the edges to keep so that every cell expects enough events."""
    kept, total = [0], 0.0
    for cell, count in enumerate(expected):
        total += count
        if total >= _SMALLEST_EXPECTED:
            kept.append(cell + 1)
            total = 0.0
    # What is left over at the end joins the cell before it, or is the only one.
    kept[max(len(kept) - 1, 1) :] = [expected.size]
    return np.array(kept, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class DCalibration:
    """Outcome of Haider's test of D-calibration.

    Made by `d_calibration`.

    Parameters
    ----------
    statistic : float
        Pearson's chi-squared statistic.
    df : int
        Degrees of freedom, one less than the bins.
    p_value : float in [0, 1]
        Chance of such a statistic under perfect calibration; too large where rows are censored.
    shares : ndarray of shape (n_bins,), in [0, 1]
        Share of the rows in each bin of levels; they sum to 1.
    edges : ndarray of shape (n_bins + 1,), in [0, 1]
        Ends of the bins.

    Examples
    --------
    >>> from censquant.metrics import d_calibration
    >>> result = d_calibration([0.2, 0.7], [[0.25, 0.75]] * 2, [0.25, 0.75], n_bins=2)
    >>> result.shares
    array([0.5, 0.5])
    """

    statistic: float
    df: int
    p_value: float
    shares: Floats
    edges: Floats


def d_calibration(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    n_bins: int = 10,
    sample_weight: ArrayLike | None = None,
) -> DCalibration:
    r"""Haider's chi-squared test that the levels of the events are uniform.

    The level of each time on its own predicted curve falls in one of B equal bins; a censored row
    is spread over the levels above its own. Under perfect calibration each bin holds n / B rows:

    .. math:: \chi^2 = \sum_b \frac{(N_b - n / B)^2}{n / B}, \qquad B - 1
              \text{ degrees of freedom}

    It is the field's usual test, given for comparison. Censored rows are spread as if the model
    were right, so that the test hardly ever rejects under censoring: a true model about 1 % of the
    time instead of 5 % at 30 % censoring and never at 80 %, but most wrong ones never either. Not
    rejecting is no evidence then; `a_calibration` keeps its size. Bins above the last of ``taus``
    are filled by the exponential tail of the curve.

    Parameters
    ----------
    y, predicted, taus
        As in `a_calibration`.
    n_bins : int, at least 2, default=10
        Number B of bins.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a weight of k counts as k equal rows.

    Returns
    -------
    result : DCalibration
        Statistic in [0, inf), lower is better; p-value; share of each bin.

    References
    ----------
    .. [1] H. Haider, B. Hoehn, S. Davis, R. Greiner (2020). Effective ways to build and evaluate
       individual survival distributions. *JMLR* 21(85).

    Examples
    --------
    >>> from censquant.metrics import d_calibration
    >>> y = ([0.1, 0.3, 0.6, 0.2], [True, True, True, False])
    >>> result = d_calibration(y, [[0.25, 0.5, 0.75]] * 4, [0.25, 0.5, 0.75], n_bins=2)
    >>> result.shares
    array([0.59375, 0.40625])
    >>> round(result.p_value, 3)
    0.708
    """
    target, rows, levels, weight = read_quantile_rows(y, predicted, taus, sample_weight, at_least=2)
    count = check_integer("n_bins", n_bins, minimum=2)
    edges = np.arange(count + 1) / count
    level = QuantileCurve(rows, levels).cdf(target.time)
    bins = np.searchsorted(edges[1:-1], level - ROUNDING)
    shares = spread_shares(level, bins, target.event, edges, weight)
    statistic = float(weight.sum() * count * ((shares - 1 / count) ** 2).sum())
    p_value = chi_squared_tail(count - 1, statistic)
    return DCalibration(statistic, count - 1, p_value, shares, edges)


def spread_shares(
    level: Floats,
    bins: NDArray[np.intp],
    event: NDArray[np.bool_],
    edges: Floats,
    weight: Floats,
) -> Floats:
    """Return the share of rows in each bin; censored rows are spread above their level."""
    n_bins = edges.size - 1
    total = np.bincount(bins[event], weight[event], minlength=n_bins).astype(np.float64)
    # A row censored at level 1 has no level above its own: its mass stays in the last bin.
    certain = ~event & (level >= 1)
    total[-1] += weight[certain].sum()
    spread = ~event & ~certain
    start = level[spread, None]
    part = np.maximum(edges[1:] - np.maximum(edges[:-1], start), 0.0) / (1 - start)
    total += weight[spread] @ part
    shares: Floats = total / weight.sum()
    return shares


def pit_curve(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    levels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Share of events that happened by each predicted quantile, beside the nominal share.

    The level of every row's time on its own predicted curve, :math:`U_i = \hat F(Y_i | x_i)`,
    is uniform where the predictions are right, and censored where the time is. The
    Kaplan-Meier curve of these levels is therefore the observed counterpart of the nominal ones:
    below the diagonal the events come later than predicted, above it sooner.

    Levels are read linearly between quantiles, and below the first one along the prolonged first
    segment. A time past the last quantile counts as followed up to there, so no assumption about
    the tail enters. Censoring must not depend on the event time given the features: only then
    do the levels of censored rows say as little as this curve assumes. Good calibration
    on average can hide errors of subgroups that cancel.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    predicted : array-like of shape (n, n_quantiles)
        Predicted quantiles, one column for each of ``taus``; crossed rows are sorted.
    taus : array-like of shape (n_quantiles,), inside (0, 1)
        Levels of the columns, increasing, two at least.
    levels : array-like of shape (k,), in (0, max(taus)], optional
        Nominal levels to look at; ``taus`` by default.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a weight of k counts as k equal rows.

    Returns
    -------
    levels : ndarray of shape (k,)
        The nominal levels.
    observed : ndarray of shape (k,), in [0, 1]
        Estimated share of events by the quantile of each level; NaN above the last level that
        follow-up reached for any row.

    Examples
    --------
    >>> from censquant.metrics import pit_curve
    >>> time, event = [0.5, 1.5, 2.5, 3.5], [True, True, False, True]
    >>> pit_curve((time, event), [[1.0, 2.0, 3.0]] * 4, taus=[0.25, 0.5, 0.75])
    (array([0.25, 0.5 , 0.75]), array([0.25, 0.5 , 0.5 ]))
    """
    nominal, share = _share_of_levels(y, predicted, taus, levels, sample_weight)
    return nominal, _where_known(nominal, share, 1 - share(nominal + ROUNDING))


def pit_band(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    levels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
) -> tuple[Floats, Floats]:
    """Pointwise confidence limits of the shares of `pit_curve`.

    By Greenwood's standard error of the Kaplan-Meier curve of the levels. Each limit holds for its
    own level: among nineteen levels of a calibrated model one lies outside on average.

    Parameters
    ----------
    y, predicted, taus, levels, sample_weight
        As in `pit_curve`.
    confidence : float inside (0, 1), default=0.95
        Level of the limits.

    Returns
    -------
    low, high : ndarray of shape (k,), in [0, 1]
        NaN where `pit_curve` is.

    Examples
    --------
    >>> from censquant.metrics import pit_band
    >>> time, event = [0.5, 1.5, 2.5, 3.5], [True, True, False, True]
    >>> low, high = pit_band((time, event), [[1.0, 2.0, 3.0]] * 4, taus=[0.25, 0.5, 0.75])
    >>> low.round(2), high.round(2)
    (array([0.  , 0.01, 0.01]), array([0.67, 0.99, 0.99]))
    """
    level = check_number("confidence", confidence, minimum=0, below=1, exclude_minimum=True)
    nominal, share = _share_of_levels(y, predicted, taus, levels, sample_weight)
    observed = 1 - share(nominal + ROUNDING)
    margin = normal_deviate(level) * share.standard_error(nominal + ROUNDING)
    low, high = np.clip(observed - margin, 0, 1), np.clip(observed + margin, 0, 1)
    return _where_known(nominal, share, low), _where_known(nominal, share, high)


def _share_of_levels(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    levels: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> tuple[Floats, KaplanMeier]:
    """Return the nominal levels, and the Kaplan-Meier curve of the levels of all times."""
    reached, followed, grid, weight = _read_levels(y, predicted, taus, sample_weight)
    nominal = grid if levels is None else check_levels(levels)
    if nominal.max() > grid[-1]:
        raise ValueError(
            f"levels must not exceed {grid[-1]:g}, the highest of taus, got {nominal.max():g}."
        )
    return nominal, kaplan_meier(reached, followed, weight)


def _where_known(nominal: Floats, share: KaplanMeier, values: Floats) -> Floats:
    """Replace values by NaN at levels that follow-up did not reach for any row."""
    unknown = (nominal > share.time[-1] + ROUNDING) & (share.survival[-1] > 0)
    return np.where(unknown, np.nan, values)


def pit_deviation(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    levels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Largest distance between the nominal and the observed share of events; lower is better.

    The worst of all levels of `pit_curve`: 0.1 says that some predicted quantile is off by ten
    percentage points. Levels that follow-up did not reach are left out.

    .. math:: \max_j |\hat P(T \le \hat q_{\tau_j}) - \tau_j|

    Zero is perfect, but n events leave about :math:`0.8 / \sqrt n` to the true model as well, and
    twice that at 80 % censoring. Being a maximum it grows with noise, most at the levels that few
    rows reach. Errors of subgroups that cancel do not show.

    Parameters
    ----------
    y, predicted, taus, levels, sample_weight
        As in `pit_curve`.

    Returns
    -------
    deviation : float in [0, 1]

    Examples
    --------
    >>> from censquant.metrics import pit_deviation
    >>> time, event = [0.5, 1.5, 2.5, 3.5], [True, True, False, True]
    >>> pit_deviation((time, event), [[1.0, 2.0, 3.0]] * 4, taus=[0.25, 0.5, 0.75])
    0.25
    """
    nominal, observed = pit_curve(y, predicted, taus, levels=levels, sample_weight=sample_weight)
    known = ~np.isnan(observed)
    if not known.any():
        raise ValueError(
            "levels must hold one that follow-up reached for some row, got "
            f"{nominal.min():g} as the lowest: every row of y is censored before."
        )
    return float(np.abs(observed - nominal)[known].max())


def km_calibration(
    y: object,
    survival: ArrayLike,
    times: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Squared distance of the mean predicted survival from Kaplan-Meier; lower is better.

    A model that is right about the population as a whole predicts, on average, the survival curve
    that the rows show:

    .. math:: \frac{1}{t_K - t_1} \int_{t_1}^{t_K}
              \Big\{\frac{1}{n} \sum_i \hat S(t | x_i) - \hat S_{KM}(t)\Big\}^2 dt

    by the trapezoidal rule over ``times``. Those past the last time of ``y`` are left out, since
    Kaplan-Meier says nothing there. Its root is a typical distance between the curves.

    It is the weakest check of calibration: a model that predicts the Kaplan-Meier curve for
    everybody scores 0. It also needs censoring that does not depend on the features, or
    Kaplan-Meier itself is off.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    survival : array-like of shape (n, n_times), in [0, 1]
        Predicted P(T > t), one column for each of ``times``.
    times : array-like of shape (n_times,)
        Finite and increasing, two at least up to the last time of ``y``.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a weight of k counts as k equal rows.

    Returns
    -------
    distance : float in [0, 1]

    Examples
    --------
    >>> from censquant.metrics import km_calibration
    >>> y = ([1.0, 2.0, 3.0, 4.0], [True, True, False, True])
    >>> km_calibration(y, [[0.75, 0.5, 0.5]] * 4, times=[1.0, 2.0, 3.0])
    0.0
    """
    target, rows, grid, weight = read_survival(y, survival, times, sample_weight)
    curve = kaplan_meier(target.time, target.event, weight)
    known = grid <= curve.time[-1]
    grid = grid[known]
    if grid.size < 2:
        raise ValueError(
            "times must hold two times or more up to the last time of y, "
            f"{curve.time[-1]:g}, got {grid.size}."
        )
    gap = weight @ rows[:, known] / weight.sum() - curve(grid)
    return float(np.trapezoid(gap**2, grid) / (grid[-1] - grid[0]))


@dataclass(frozen=True, eq=False)
class PitHistogram:
    """Density of the levels of event times, which is 1 where the predictions are right.

    Made by `pit_histogram`.

    Parameters
    ----------
    edges : ndarray of shape (n_bins + 1,), in [0, 1)
        Ends of the bins, from 0 to the last level of the grid.
    density : ndarray of shape (n_bins,)
        Share of the events in each bin over the width of the bin; NaN above the last level that
        follow-up reached.
    lower, upper : ndarray of shape (n_bins,)
        Ends of the band in which the density of a right model lies with the stated confidence, bin
        by bin.
    confidence : float in (0, 1)

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.metrics import pit_histogram
    >>> taus = np.array([0.25, 0.5, 0.75])
    >>> found = pit_histogram(np.arange(1, 81) / 160, [taus] * 80, taus, n_bins=4)
    >>> found.density
    array([2., 2., 0.])
    """

    edges: Floats
    density: Floats
    lower: Floats
    upper: Floats
    confidence: float


def pit_histogram(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    n_bins: int = 10,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> PitHistogram:
    r"""Histogram of the levels that event times have on their own predicted curves.

    The increments of `pit_curve` over bins of equal width. A right model gives the density 1; high
    bars at both ends say that its distributions are too narrow, in the middle too wide, on the left
    that events come sooner than predicted. If the model is right, the share of n rows in a bin
    (a, b] has the variance

    .. math:: (b - a)^2 G(a) + (1 - b)^2 \{G(b) - G(a)\}, \qquad
              G(u) = \int_0^u \frac{dv}{n (1 - v)^2 S_C(v)}

    with the Kaplan-Meier curve :math:`S_C` of the levels at which rows were censored; without
    censoring it is that of a binomial share. The band is for each bin by itself: one of twenty
    lies outside of it by chance.

    Parameters
    ----------
    y, predicted, taus
        As in `pit_curve`.
    n_bins : int, at least 2, default=10
        Number of bins that [0, 1] is cut into. They end at the last of ``taus``, since nothing is
        assumed about the tail.
    confidence : float in (0, 1), default=0.95
        Level of the band.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a weight of k counts as k equal rows.

    Returns
    -------
    histogram : PitHistogram

    Examples
    --------
    Events come twice as early as the model says.

    >>> import numpy as np
    >>> from censquant.metrics import pit_histogram
    >>> taus = np.array([0.25, 0.5, 0.75])
    >>> found = pit_histogram(np.arange(1, 81) / 160, [taus] * 80, taus, n_bins=4)
    >>> found.density > found.upper
    array([ True,  True, False])
    """
    reached, followed, grid, weight = _read_levels(y, predicted, taus, sample_weight)
    count = check_integer("n_bins", n_bins, minimum=2)
    level = check_number("confidence", confidence, minimum=0, below=1, exclude_minimum=True)
    even = np.linspace(0.0, 1.0, count + 1)
    edges = np.append(even[even < grid[-1] - ROUNDING], grid[-1])
    share = kaplan_meier(reached, followed, weight)
    observed = 1 - share(edges + ROUNDING)
    observed[0] = 0.0
    width = np.diff(edges)
    density = np.diff(observed) / width

    growth = _greenwood(censoring_kaplan_meier(reached, followed, weight), edges) / weight.sum()
    variance = width**2 * growth[:-1] + (1 - edges[1:]) ** 2 * np.diff(growth)
    margin = normal_deviate(level) * np.sqrt(variance) / width
    density, lower, upper = (
        _where_known(edges[1:], share, values)
        for values in (density, np.maximum(1 - margin, 0.0), 1 + margin)
    )
    return PitHistogram(edges, density, lower, upper, level)


def _greenwood(censoring: KaplanMeier, edges: Floats) -> Floats:
    """Integrate 1 / ((1 - v)^2 S_C(v)) up to each edge; where S_C is 0 it does not grow."""
    inside = censoring.time[(censoring.time > 0) & (censoring.time < edges[-1])]
    ends = np.unique(np.concatenate((edges, inside)))
    # Constant between two times of the curve, so that its value after the first of them holds.
    followed = censoring(ends[:-1])
    steps = np.zeros(len(ends) - 1)
    np.divide(np.diff(1 / (1 - ends)), followed, out=steps, where=followed > 0)
    total = np.append(0.0, np.cumsum(steps))
    return total[np.searchsorted(ends, edges)]


def followed_levels(target: Target, curve: QuantileCurve) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the level of each time up to the last of the grid, and if its event came by then.

    A time past the last quantile counts as followed up to there, so that no assumption about the
    tail enters.
    """
    level = np.minimum(curve.cdf(target.time), curve.taus[-1])
    return level, target.event & (target.time <= curve.values[:, -1])


def _read_levels(
    y: object, predicted: ArrayLike, taus: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Floats, NDArray[np.bool_], Floats, Floats]:
    """Read the rows; return `followed_levels` of their times, the grid, and the weights."""
    target, rows, grid, weight = read_quantile_rows(y, predicted, taus, sample_weight, at_least=2)
    level, followed = followed_levels(target, QuantileCurve(rows, grid))
    return level, followed, grid, weight


def chi_squared_tail(df: int, statistic: float) -> float:
    """Return the probability of a larger chi-squared statistic."""
    from scipy.special import chdtrc

    return float(chdtrc(df, statistic))
