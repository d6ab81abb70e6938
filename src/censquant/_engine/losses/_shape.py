"""Likelihood and check loss, in one gradient, of quantiles that bend a standard distribution."""

import math
from typing import Any, NamedTuple

from numpy.typing import NDArray

from censquant._compile import exact, exact_part, fast_part
from censquant._engine._families import standard_loss
from censquant._typing import Floats

# Exact and not fast, as the likelihoods of two or three outputs: extreme rows must give exact
# limits.

_LARGEST_EXPONENT = 5.0  # of Gumbel distributions: beyond it a single row would rule the batch
_HIGHEST_LEVEL = 0.999  # at which a row is taken to be censored
_SMALLEST_GAP = 1e-3  # of the base's own: heads give more, but rounding of huge quantiles less


@exact_part
def _gap(values, knots, k):
    """Return the distance between neighbouring quantiles, and that of the base."""
    step = knots[k + 1] - knots[k]
    return max(float(values[k + 1]) - float(values[k]), _SMALLEST_GAP * step), step


@exact_part
def _row(values, y, event, knots, family):
    """Return one row's loss with what its gradient is made of.

    These are the segment and the place in it, the derivative by the place, and the neighbour whose
    slope counts too, with its share.
    """
    n_gaps = len(knots) - 1
    below = 0
    for k in range(n_gaps + 1):
        if values[k] < y:
            below += 1
    segment = min(max(below - 1, 0), n_gaps - 1)
    gap, step = _gap(values, knots, segment)
    place = (float(y) - float(values[segment])) / gap
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
