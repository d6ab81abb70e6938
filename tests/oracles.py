"""Slow and obvious versions of what the library computes fast."""

from decimal import Decimal, localcontext
from itertools import pairwise

import numpy as np
import torch
from scipy.stats import gumbel_l, gumbel_r, norm


def loop_kaplan_meier(time, event, weight=None):
    """Distinct times and the survival after each; events leave before censorings at a tie."""
    weight = np.ones(len(time)) if weight is None else weight
    rows = list(zip(time, event, weight, strict=True))
    survival, curve = 1.0, []
    for now in sorted({t for t, _, w in rows if w > 0}):
        at_risk = sum(w for t, _, w in rows if t >= now)
        ended = sum(w for t, e, w in rows if t == now and e)
        survival *= 1 - ended / at_risk
        curve.append((now, survival))
    return tuple(np.array(column) for column in zip(*curve, strict=True))


def loop_censoring_kaplan_meier(time, event, weight=None):
    """Distinct times and the share not censored by each; events have left at a tie."""
    weight = np.ones(len(time)) if weight is None else weight
    rows = list(zip(time, event, weight, strict=True))
    survival, curve = 1.0, []
    for now in sorted({t for t, _, w in rows if w > 0}):
        at_risk = sum(w for t, e, w in rows if t > now or (t == now and not e))
        ended = sum(w for t, e, w in rows if t == now and not e)
        survival *= 1 - ended / at_risk if at_risk else 1
        curve.append((now, survival))
    return tuple(np.array(column) for column in zip(*curve, strict=True))


def step_value(times, values, t, *, before=False):
    """Value of a step curve that starts at 1, after time t or just before it."""
    current = 1.0
    for step, value in zip(times, values, strict=True):
        if step < t or (step == t and not before):
            current = value
    return current


def comparable_pairs(time, event):
    """Pairs (i, j) in which the event of row i is known to come before that of row j."""
    n = len(time)
    return [
        (i, j)
        for i in range(n)
        for j in range(n)
        if event[i] and (time[j] > time[i] or (time[j] == time[i] and not event[j]))
    ]


def brute_force_concordance(time, event, predicted, weight=None):
    """Harrell's C over all pairs, or None if no pair of positive weight is comparable."""
    weight = np.ones(len(time)) if weight is None else weight
    right = total = 0.0
    for i, j in comparable_pairs(time, event):
        pair = weight[i] * weight[j]
        total += pair
        if predicted[i] < predicted[j]:
            right += pair
        elif predicted[i] == predicted[j]:
            right += pair / 2
    return right / total if total > 0 else None


def slow_level(time, predicted, taus, rule):
    """Level of one time on one row of predicted quantiles, by the rule's definition."""
    if rule == "nearest":
        distances = [abs(value - time) for value in predicted]
        return taus[distances.index(min(distances))]
    ordered = sorted(predicted)
    below = sum(value <= time for value in ordered)
    if below == len(taus):
        return taus[-1]
    if rule == "lower" or len(taus) == 1:
        return taus[below - 1] if below else 0.0
    left = max(below - 1, 0)
    gap = max(ordered[left + 1] - ordered[left], 1e-12)
    level = taus[left] + (taus[left + 1] - taus[left]) * (time - ordered[left]) / gap
    return min(max(level, 0.0), taus[left + 1])


def check_loss(y, value, tau):
    """Check loss as a torch expression whose derivative by ``value`` is 1[value > y] - tau."""
    return (y - value) * (tau - (value > y).double())


def slow_pinball(predicted, time, weight, taus):
    """Mean over rows of the check loss summed over levels, with its gradient by autograd."""
    leaf = _leaf(predicted)
    total = 0.0
    for i, y in enumerate(time.tolist()):
        for k, tau in enumerate(taus.tolist()):
            total = total + weight.tolist()[i] * check_loss(y, leaf[i, k], tau)
    return _value_and_gradient(total / len(time), leaf)


def slow_portnoy(
    predicted, time, event, weight, level, taus, *, rule, weight_below, limit, one_sided
):
    """Portnoy's loss by its definition, with its gradient by autograd."""
    leaf = _leaf(predicted)
    levels = taus.tolist()
    total = 0.0
    for i, y in enumerate(time.tolist()):
        q = level.tolist()[i]
        if q < 0:
            q = slow_level(y, predicted[i].tolist(), levels, rule)
        for k, tau in enumerate(levels):
            value = leaf[i, k]
            if event[i]:
                term = check_loss(y, value, tau)
            else:
                kept = (tau - q) / (1 - q) if tau >= q else weight_below
                term = kept * check_loss(y, value, tau)
                if one_sided:
                    term = term - (1 - kept) * tau * value
                    slope = kept * float(value > y) - tau
                    # The cap takes the push away, not the value.
                    term = term.detach() if value > limit and slope < 0 else term
                else:
                    term = term + (1 - kept) * check_loss(limit, value, tau)
            total = total + weight.tolist()[i] * term
    return _value_and_gradient(total / len(time), leaf)


def slow_crossing_penalty(predicted, weight, margin, strength):
    """Crossing penalty with its gradient by autograd."""
    leaf = _leaf(predicted)
    lack = torch.relu(margin - (leaf[:, 1:] - leaf[:, :-1]))
    total = strength * (torch.from_numpy(weight).double()[:, None] * lack).sum() / len(leaf)
    return _value_and_gradient(total, leaf)


def slow_powell(predicted, time, limit, weight, taus):
    """Check loss of predictions cut at their row's censoring time, gradient by autograd."""
    leaf = _leaf(predicted)
    total = 0.0
    for i, y in enumerate(time.tolist()):
        for k, tau in enumerate(taus.tolist()):
            end = limit.tolist()[i]
            # Beyond the end and at it the prediction does not count.
            value = leaf[i, k] if leaf[i, k] < end else torch.tensor(end).double()
            total = total + weight.tolist()[i] * check_loss(y, value, tau)
    return _value_and_gradient(total / len(time), leaf)


LAWS = {"normal": norm, "gumbel": gumbel_l, "mirrored gumbel": gumbel_r}
"""Standard distributions of ``censquant._engine._families`` as scipy has them."""


def standard_logs(family, u, largest=np.inf):
    """Log-density and log-survival of a standard distribution as torch expressions.

    Exponentials of Gumbel distributions go on as lines above ``largest``.
    """

    def exp(v):
        return torch.exp(v) if v <= largest else np.exp(largest) * (1 + v - largest)

    if family == "normal":
        return -0.5 * u**2 - 0.5 * np.log(2 * np.pi), torch.special.log_ndtr(-u)
    if family == "gumbel":
        return u - exp(u), -exp(u)
    return -u - exp(-u), torch.log(-torch.expm1(-torch.exp(-u)))


def slow_location_scale(output, time, event, weight, family):
    """Censored negative log-likelihood by the family's name, gradient by autograd."""
    leaf = _leaf(output)
    rows = []
    for i, y in enumerate(time.tolist()):
        scale = torch.nn.functional.softplus(leaf[i, 1]) + 1e-6
        density, survival = standard_logs(family, (y - leaf[i, 0]) / scale)
        log_likelihood = density - torch.log(scale) if event[i] else survival
        rows.append(-weight.tolist()[i] * log_likelihood)
    return _value_and_gradient(sum(rows) / len(time), leaf)


def slow_shape_loss(
    predicted, time, event, weight, taus, knots, family, *, likelihood, check, limit, bounded
):
    """Likelihood and check loss of bent quantiles by their definition, gradient by autograd."""
    leaf = _leaf(predicted)
    last = len(knots) - 2
    total = 0.0
    for i, y in enumerate(time.tolist()):
        row = leaf[i]
        gaps, steps = torch.diff(row), np.diff(knots)
        j = min(max(sum(value < y for value in predicted[i].tolist()) - 1, 0), last)
        place = (y - row[j]) / gaps[j]
        density, survival = standard_logs(family, knots[j] + place * steps[j], 5.0)
        slopes = [torch.log(step / gap) for step, gap in zip(steps, gaps, strict=True)]
        off = torch.clamp(place, 0, 1) - 0.5
        other = min(max(j + (-1 if off < 0 else 1), 0), last)
        slope = (1 - abs(off)) * slopes[j] + abs(off) * slopes[other]
        loss = -likelihood * (density + slope if event[i] else survival)
        q = min(-np.expm1(survival.item()), 0.999)
        for k, tau in enumerate(taus.tolist()):
            kept = 1.0 if event[i] else max((tau - q) / (1 - q), 0.0)
            value = row[k] if bounded or row[k] <= limit else torch.tensor(limit, dtype=row.dtype)
            term = kept * check_loss(y, value, tau)
            if bounded:
                term = term + (1 - kept) * check_loss(limit, value, tau)
            else:
                term = term - (1 - kept) * tau * value
            loss = loss + check * term
        total = total + weight.tolist()[i] * loss
    return _value_and_gradient(total / len(time), leaf)


def slow_asymmetric_laplace(output, time, event, weight):
    """Censored negative log-likelihood, written side by side, gradient by autograd."""
    leaf = _leaf(output)
    rows = []
    for i, y in enumerate(time.tolist()):
        theta, sigma, kappa = leaf[i, 0], torch.exp(leaf[i, 1]), torch.exp(leaf[i, 2])
        rate = np.sqrt(2) / sigma
        if y > theta:
            tail = torch.exp(-rate * kappa * (y - theta))
            survival = tail / (1 + kappa**2)
        else:
            tail = torch.exp(-rate / kappa * (theta - y))
            survival = 1 - tail * kappa**2 / (1 + kappa**2)
        density = rate * kappa / (1 + kappa**2) * tail
        rows.append(-weight.tolist()[i] * torch.log(density if event[i] else survival))
    return _value_and_gradient(sum(rows) / len(time), leaf)


def precise_asymmetric_laplace(parameters, time, event):
    """Censored negative log-likelihood of one row and its gradient, with 80 digits."""
    with localcontext() as context:
        context.prec = 80

        def loss(theta, log_scale, log_kappa):
            kappa = log_kappa.exp()
            rate, y = Decimal(2).sqrt() / log_scale.exp(), Decimal(time)
            depth = rate * kappa * (y - theta) if y > theta else rate / kappa * (theta - y)
            if event:
                return depth - (rate * kappa / (1 + kappa**2)).ln()
            if y > theta:
                return depth + (1 + kappa**2).ln()
            return -(1 - (-depth).exp() * kappa**2 / (1 + kappa**2)).ln()

        at, step = [Decimal(value) for value in parameters], Decimal("1e-25")
        gradient = []
        for k in range(3):
            sides = [[*at[:k], at[k] + sign * step, *at[k + 1 :]] for sign in (1, -1)]
            gradient.append(float((loss(*sides[0]) - loss(*sides[1])) / (2 * step)))
        return float(loss(*at)), np.array(gradient)


def slow_marginal_pinball(predicted, time, event, tau, curve_times, curve_values):
    """Marginal check loss of one row at one level, given the censoring curve's steps."""
    loss = tau * max(time - predicted, 0.0)
    if not event:
        return loss
    edges = sorted({time, max(predicted, time), *curve_times})
    area = sum(
        (right - left) * step_value(curve_times, curve_values, left)
        for left, right in pairwise(edges)
        if time <= left and right <= predicted
    )
    share = step_value(curve_times, curve_values, time, before=True)
    return loss + (1 - tau) * area / max(share, 0.02)


def _leaf(values):
    return torch.tensor(np.asarray(values, dtype=np.float64), requires_grad=True)


def _value_and_gradient(total, leaf):
    if not torch.is_tensor(total) or not total.requires_grad:
        return float(total), np.zeros(leaf.shape)
    (gradient,) = torch.autograd.grad(total, leaf)
    return total.item(), gradient.numpy()
