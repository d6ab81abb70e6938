"""Risk of the event by chosen times: predicted for individuals, observed in groups of them."""

from dataclasses import dataclass

import numpy as np

from censquant.report._settings import Settings
from censquant.report._study import Study
from censquant.survival import kaplan_meier

_N_GROUPS = 3
_FEWEST = 10
"""Rows of a group; smaller ones would tell of individuals."""


@dataclass(frozen=True)
class RiskRow:
    """Risk by one time, of everybody or of one of the groups by predicted risk.

    Parameters
    ----------
    horizon : float
    group : str
        "all", or which part of the individuals by their predicted risk.
    n_rows : int
    predicted : float
        Mean predicted risk.
    lowest, highest : float
        Predicted risk that one in ten individuals are below, and above.
    observed, low, high : float
        By Kaplan-Meier, with its 95 % limits.
    identified : float
        Share of individuals who were followed so long that the data can speak for the risk.
    """

    horizon: float
    group: str
    n_rows: int
    predicted: float
    lowest: float
    highest: float
    observed: float
    low: float
    high: float
    identified: float


def risk_rows(study: Study, settings: Settings) -> tuple[RiskRow, ...]:
    """Return predicted and observed risks by each horizon."""
    if not settings.horizons:
        return ()
    risk = 1.0 - study.curve.survival(settings.horizons)
    known = study.curve.is_identified(risk)
    found = []
    for place, horizon in enumerate(settings.horizons):
        for name, rows in _groups(risk[:, place]).items():
            part = study.target.take(rows)
            curve = kaplan_meier(part.time, part.event)
            low, high = curve.limits(horizon)
            own = risk[rows, place]
            found.append(
                RiskRow(
                    horizon,
                    name,
                    len(rows),
                    float(own.mean()),
                    float(np.quantile(own, 0.1)),
                    float(np.quantile(own, 0.9)),
                    float(1.0 - curve(horizon)),
                    float(1.0 - high),
                    float(1.0 - low),
                    float(known[rows, place].mean()),
                )
            )
    return tuple(found)


def _groups(risk: np.ndarray) -> dict[str, np.ndarray]:
    """Return rows by the rank of their predicted risk."""
    groups = {"all": np.arange(len(risk))}
    if len(risk) >= _N_GROUPS * _FEWEST:
        parts = np.array_split(np.argsort(risk, kind="stable"), _N_GROUPS)
        groups |= dict(zip(("lowest third", "middle third", "highest third"), parts, strict=True))
    return groups
