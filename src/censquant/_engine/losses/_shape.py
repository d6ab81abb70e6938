"""Likelihood and check loss, in one gradient, of quantiles that bend a standard distribution."""

import math
from typing import Any, NamedTuple

from numpy.typing import NDArray

from censquant._compile import exact, exact_part, fast_part
from censquant._engine._families import standard_interval_loss, standard_loss
from censquant._typing import Floats

# Exact and not fast, as the likelihoods of two or three outputs: extreme rows must give exact
# limits.

_LARGEST_EXPONENT = 5.0  # of Gumbel distributions: beyond it a single row would rule the batch
_HIGHEST_LEVEL = 0.999  # at which a row is taken to be censored
_NARROWEST_LEVELS = 1e-9  # between the ends of an interval
_SMALLEST_GAP = 1e-3  # of the base's own: heads give more, but rounding of huge quantiles less


@exact_part
def _gap(values, knots, k):
    """Return the distance between neighbouring quantiles, and that of the base."""
    step = knots[k + 1] - knots[k]
    return max(float(values[k + 1]) - float(values[k]), _SMALLEST_GAP * step), step


@exact_part
def _place(values, y, knots):
    """Return the segment that a time lies in, its width and the base's, and the place in it."""
    n_gaps = len(knots) - 1
    below = 0
    for k in range(n_gaps + 1):
        if values[k] < y:
            below += 1
    segment = min(max(below - 1, 0), n_gaps - 1)
    gap, step = _gap(values, knots, segment)
    return segment, gap, step, (float(y) - float(values[segment])) / gap


@exact_part
def _row(values, y, event, knots, family):
    """Return one row's loss with what its gradient is made of.

    These are the segment and the place in it, the derivative by the place, and the neighbour whose
    slope counts too, with its share.
    """
    n_gaps = len(knots) - 1
    segment, gap, step, place = _place(values, y, knots)
    loss, by_u = standard_loss(knots[segment] + place * step, event, family, _LARGEST_EXPONENT)
    by_place = by_u * step
    neighbour = segment
    share = 0.0
    if event:
        # The log slope of the curve is linear between the middles of segments: that of a step
        # would jump where a quantile passes the row, and its gradient would not know.
        off = min(max(place, 0.0), 1.0) - 0.5
        side = -1 if off < 0 else 1
        share = abs(off)
        neighbour = min(max(segment + side, 0), n_gaps - 1)
        other_gap, other_step = _gap(values, knots, neighbour)
        own, other = math.log(gap / step), math.log(other_gap / other_step)
        loss += (1.0 - share) * own + share * other
        if 0.0 < place < 1.0:
            by_place += side * (other - own)
    return loss, segment, place, by_place, neighbour, share


@fast_part
def _check_row(values, y, event, level, terms, scale, gradient):
    """Write the gradient of one row's check losses, and return their sum."""
    # In the type of the arrays: a float64 number would widen the loop.
    zero = values.dtype.type(0)
    one = values.dtype.type(1)
    wall = values.dtype.type(terms.limit)
    share = values.dtype.type(scale)
    start = values.dtype.type(level)
    rest = one / (one - start)
    total = zero
    for k in range(len(values)):
        tau = terms.taus[k]
        value = values[k]
        kept = one if event else max((tau - start) * rest, zero)
        if terms.bounded:
            near = (one if value > y else zero) - tau
            far = (one if value > wall else zero) - tau
            slope = kept * near + (one - kept) * far
            total += kept * near * (value - y) + (one - kept) * far * (value - wall)
        else:
            cut = min(value, wall)
            near = (one if cut > y else zero) - tau
            slope = zero if value > wall else kept * near - (one - kept) * tau
            total += kept * near * (cut - y) - (one - kept) * tau * cut
        gradient[k] = slope * share
    return total


class ShapeTerms(NamedTuple):
    """What ``shape_loss`` compares predictions with, and how the two losses are weighted."""

    taus: NDArray[Any]  # increasing levels, in the type of the predictions
    knots: Floats  # quantiles of the standard distribution at these levels
    family: int  # its code
    likelihood_weight: float
    check_weight: float
    limit: float
    bounded: bool


@exact
def shape_log_likelihood(values, time, event, knots, family, out):
    """Write the log-density of events and the log-survival of censored rows into ``out``."""
    for i in range(len(time)):
        out[i] = -_row(values[i], time[i], event[i], knots, family)[0]


@exact
def shape_loss(predicted, time, event, weight, terms, gradient):
    r"""Mean over rows of a censored likelihood plus Portnoy's loss; its gradient is written.

    Predicted quantiles :math:`Q_k`, increasing and at least two, bend a standard distribution with
    quantiles :math:`b_k`: a time between :math:`Q_j` and :math:`Q_{j+1}` lies at :math:`u`, as far
    between :math:`b_j` and :math:`b_{j+1}`, and the end segments are prolonged. An event counts
    :math:`-\log f_0(u) - \ell`, where the log slope :math:`\ell` is interpolated between the
    middles of segments; a censored row counts :math:`-\log S_0(u)`. Exponentials of Gumbel
    distributions are continued as lines above 5. Portnoy's loss, summed over levels, takes
    :math:`F_0(u)`, at most 0.999, for the level of a censored row, and no gradient flows through
    it.

    What lies beyond the last time is not known. Without ``bounded`` the rest of a censored row
    moves to infinity, and predictions above ``limit`` have no check loss: the likelihood alone
    holds them. With ``bounded`` the rest moves to ``limit``. Arrays are those of ``_grid.py``.
    """
    n = len(time)
    total = 0.0
    for i in range(n):
        scale = weight[i] / n
        values = predicted[i]
        loss, segment, place, by_place, neighbour, share = _row(
            values, time[i], event[i], terms.knots, terms.family
        )
        level = 0.0 if event[i] else min(-math.expm1(-loss), _HIGHEST_LEVEL)
        check = _check_row(
            values, time[i], event[i], level, terms, terms.check_weight * scale, gradient[i]
        )
        total += (terms.check_weight * check + terms.likelihood_weight * loss) * scale
        if terms.likelihood_weight > 0:
            factor = terms.likelihood_weight * scale
            gap, _ = _gap(values, terms.knots, segment)
            by_gap = -by_place * place / gap
            if event[i]:
                by_gap += (1.0 - share) / gap
                other_gap, _ = _gap(values, terms.knots, neighbour)
                gradient[i, neighbour] -= factor * share / other_gap
                gradient[i, neighbour + 1] += factor * share / other_gap
            gradient[i, segment] -= factor * (by_place / gap + by_gap)
            gradient[i, segment + 1] += factor * by_gap
    return total


class ShapeRows(NamedTuple):
    """Rows whose events lie in (lower, time], or after time if censored, given T > entry.

    Nothing is possible before ``floor``, which may be -inf: where rows are seen because they have
    no event until their entry, no likelihood would keep a distribution from lying before it.
    """

    time: Any
    event: Any
    lower: Any
    entry: Any
    floor: float


@exact_part
def _add_at(segment, gap, place, by_place, gradient):
    """Add the gradient of a loss that has a derivative by the place of a time."""
    gradient[segment] -= by_place * (1.0 - place) / gap
    gradient[segment + 1] -= by_place * place / gap


@exact_part
def _general_row(values, rows, i, terms, factor, gradient):
    """Return loss and levels of entry and of both ends; add ``factor`` times the gradient."""
    knots, family = terms.knots, terms.family
    high = float(rows.time[i]) if rows.event[i] else math.inf
    low = max(float(rows.lower[i]), rows.floor)
    start = max(float(rows.entry[i]), rows.floor)
    at_low, at_high, at_start = 0.0, 1.0, 0.0
    if low == high:
        loss, segment, place, by_place, neighbour, share = _row(values, high, True, knots, family)
        gap, _ = _gap(values, knots, segment)
        _add_at(segment, gap, place, factor * by_place, gradient)
        for own, part in ((segment, 1.0 - share), (neighbour, share)):
            gap, _ = _gap(values, knots, own)
            gradient[own] -= factor * part / gap
            gradient[own + 1] += factor * part / gap
    else:
        lower, upper = -math.inf, math.inf
        segment, gap, step, place = 0, 1.0, 1.0, 0.0
        other, other_gap, other_step, other_place = 0, 1.0, 1.0, 0.0
        if low > -math.inf:
            segment, gap, step, place = _place(values, low, knots)
            lower = knots[segment] + place * step
            at_low = -math.expm1(-standard_loss(lower, False, family, _LARGEST_EXPONENT)[0])
        if high < math.inf:
            other, other_gap, other_step, other_place = _place(values, high, knots)
            upper = knots[other] + other_place * other_step
            at_high = -math.expm1(-standard_loss(upper, False, family, _LARGEST_EXPONENT)[0])
        loss, by_low, by_high = standard_interval_loss(lower, upper, family, _LARGEST_EXPONENT)
        _add_at(segment, gap, place, factor * by_low * step, gradient)
        _add_at(other, other_gap, other_place, factor * by_high * other_step, gradient)
    if start > -math.inf:
        segment, gap, step, place = _place(values, start, knots)
        before, hazard = standard_loss(
            knots[segment] + place * step, False, family, _LARGEST_EXPONENT
        )
        loss -= before
        at_start = -math.expm1(-before)
        _add_at(segment, gap, place, -factor * hazard * step, gradient)
    return loss, at_start, at_low, at_high


@exact_part
def _general_check_row(values, low, high, start, at_low, at_high, terms, scale, gradient):
    """Add the gradient of one row's check losses, and return their sum.

    Levels are those given the entry, and below it a quantile has no loss. What is not known of the
    event lies at both ends of its interval, by the share of each level.
    """
    wall, total = terms.limit, 0.0
    start, at_low = min(start, _HIGHEST_LEVEL), min(at_low, _HIGHEST_LEVEL)
    if high == math.inf and terms.bounded:
        high = wall
    for k in range(len(values)):
        if terms.taus[k] <= start:
            continue
        tau = (terms.taus[k] - start) / (1.0 - start)
        kept = 1.0
        if low < high:
            kept = (terms.taus[k] - at_low) / max(at_high - at_low, _NARROWEST_LEVELS)
            kept = min(max(kept, 0.0), 1.0)
        value = float(values[k])
        cut = value if terms.bounded else min(value, wall)
        near = (1.0 if cut > low else 0.0) - tau
        far = (1.0 if cut > high else 0.0) - tau
        # Distances from infinite ends are without a constant that no quantile changes.
        total += kept * near * (cut - (low if low > -math.inf else 0.0))
        total += (1.0 - kept) * far * (cut - (high if high < math.inf else 0.0))
        if cut == value:
            gradient[k] += scale * (kept * near + (1.0 - kept) * far)
    return total


@exact
def shape_rows_loss(predicted, rows, weight, terms, gradient):
    """Mean loss of rows of any kind, as `shape_loss` of plain ones; its gradient is written."""
    n = len(weight)
    total = 0.0
    for i in range(n):
        scale = weight[i] / n
        values = predicted[i]
        for k in range(len(values)):
            gradient[i, k] = 0.0
        loss, start, at_low, at_high = _general_row(
            values, rows, i, terms, terms.likelihood_weight * scale, gradient[i]
        )
        check = 0.0
        if terms.check_weight > 0:
            check = _general_check_row(
                values,
                max(float(rows.lower[i]), rows.floor),
                float(rows.time[i]) if rows.event[i] else math.inf,
                start,
                at_low,
                at_high,
                terms,
                terms.check_weight * scale,
                gradient[i],
            )
        total += (terms.check_weight * check + terms.likelihood_weight * loss) * scale
    return total


@exact
def shape_rows_log_likelihood(values, rows, terms, unused, out):
    """Write each row's log-likelihood into ``out``; ``unused`` is work space of a row's size."""
    for i in range(len(out)):
        out[i] = -_general_row(values[i], rows, i, terms, 0.0, unused)[0]
