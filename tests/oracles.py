"""Slow and obvious versions of what the library computes fast."""

import numpy as np


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
