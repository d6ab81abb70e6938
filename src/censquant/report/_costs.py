"""Replacement at several risks: how many units fail before, how long they serve, what it costs."""

import warnings
from dataclasses import dataclass

import numpy as np

from censquant.exceptions import TruncationWarning
from censquant.metrics import coverage
from censquant.report._settings import Settings
from censquant.report._study import Study

RISKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
"""Accepted risks that are compared."""

_N_POINTS = 50  # of the integral over levels


@dataclass(frozen=True)
class CostRow:
    """A rule: each unit is replaced when its own risk of having failed reaches a level.

    Parameters
    ----------
    risk : float
        Share of units that fail before their replacement, as the model says.
    late, late_low, late_high : float
        The same share of past units, estimated under censoring, with its 95 % limits.
    service : float
        Mean time that a unit serves from now until it is replaced or fails.
    identified : float
        Share of units whose time of replacement the data can speak for.
    cost : float
        Mean cost per unit; NaN without costs.
    rate : float
        Cost per unit of time in service; NaN without costs.
    """

    risk: float
    late: float
    late_low: float
    late_high: float
    service: float
    identified: float
    cost: float
    rate: float


def cost_rows(study: Study, settings: Settings) -> tuple[CostRow, ...]:
    """Return the rules for the units without an event; for all where there is none."""
    rows = np.flatnonzero(~study.target.event)
    rows = rows if len(rows) else np.arange(len(study))
    part, age = study.curve.take(rows), settings.age[rows]
    found = []
    for risk in sorted({*RISKS, settings.risk}):
        level = np.array([risk])
        planned = part.remaining(age, level)[:, 0]
        # E min(T, d) is the integral of the quantiles up to the risk, and d for all the others.
        points = risk * (np.arange(_N_POINTS) + 0.5) / _N_POINTS
        until = risk * part.remaining(age, points).mean(axis=1) + (1.0 - risk) * planned
        known = part.is_identified(part.conditional_levels(age, level))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TruncationWarning)  # identified says it
            late = coverage(study.y, -np.inf, study.curve.at(level)[:, 0], y_train=study.y_train)
        cost = np.nan
        if settings.early_cost is not None and settings.late_cost is not None:
            cost = (1.0 - risk) * settings.early_cost + risk * settings.late_cost
        service = float(until.mean())
        found.append(
            CostRow(
                risk,
                late.estimate,
                late.confidence_low,
                late.confidence_high,
                service,
                float(known.mean()),
                cost,
                cost / service if service > 0 else np.nan,
            )
        )
    return tuple(found)


def cheapest(rows: tuple[CostRow, ...]) -> CostRow | None:
    """Return the rule with the lowest cost per unit of time; None without costs."""
    priced = [row for row in rows if row.rate == row.rate]
    return min(priced, key=lambda row: row.rate) if priced else None
