"""Risk of the event by chosen times: predicted for individuals, observed in groups of them."""

from dataclasses import dataclass

import numpy as np

from censquant._calibration_gap import SMALL_GAP
from censquant.report._cohort import FEWEST
from censquant.report._settings import Settings
from censquant.report._study import Study
from censquant.survival import KaplanMeier, kaplan_meier

_N_GROUPS = 3
_SIGNIFICANT = 0.05
_N_HALVINGS = 40


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
    p_value : float
        Smallest level at which the limits of the observed risk leave out the predicted one.
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
    p_value: float

    @property
    def gap(self) -> float:
        """How far predicted and observed risk are apart."""
        return abs(self.observed - self.predicted)


@dataclass(frozen=True)
class RiskCheck:
    """What the table of risks says of the calibration.

    Parameters
    ----------
    n_cells, n_outside : int
        Predicted risks, and those outside of the 95 % limits of the observed one.
    n_rejected : int
        Those that remain after correction for the number of cells (Holm).
    worst : RiskRow or None
        Of these the one with the largest gap, if that reaches 3 percentage points.
    p_value : float
        Smallest p-value, corrected for the number of cells; NaN without cells.
    """

    n_cells: int
    n_outside: int
    n_rejected: int
    worst: RiskRow | None
    p_value: float


def risk_check(rows: tuple[RiskRow, ...]) -> RiskCheck:
    """Return the verdict of a table of risks."""
    p_values = np.array([row.p_value for row in rows])
    order = np.argsort(p_values, kind="stable")
    corrected = np.empty(len(rows))
    steps = p_values[order] * (len(rows) - np.arange(len(rows)))
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    rejected = [row for row, p in zip(rows, corrected, strict=True) if p < _SIGNIFICANT]
    wide = [row for row in rejected if row.gap >= SMALL_GAP]
    return RiskCheck(
        len(rows),
        int((p_values < _SIGNIFICANT).sum()),
        len(rejected),
        max(wide, key=lambda row: row.gap) if wide else None,
        float(corrected.min()) if rows else float("nan"),
    )


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
                    _p_value(curve, horizon, float(own.mean())),
                )
            )
    return tuple(found)


def _p_value(curve: KaplanMeier, horizon: float, risk: float) -> float:
    """Return the smallest level at which the limits of the observed risk leave out a risk."""
    smallest, largest = 0.0, 1.0
    for _ in range(_N_HALVINGS):
        level = 0.5 * (smallest + largest)
        low, high = curve.limits(horizon, 1.0 - level)
        if low <= 1.0 - risk <= high:
            smallest = level
        else:
            largest = level
    return largest


def _groups(risk: np.ndarray) -> dict[str, np.ndarray]:
    """Return rows by the rank of their predicted risk."""
    groups = {"all": np.arange(len(risk))}
    if len(risk) >= _N_GROUPS * FEWEST:
        parts = np.array_split(np.argsort(risk, kind="stable"), _N_GROUPS)
        groups |= dict(zip(("lowest third", "middle third", "highest third"), parts, strict=True))
    return groups
