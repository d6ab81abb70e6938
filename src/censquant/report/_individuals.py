"""The individuals that a report was asked for, and no others."""

from dataclasses import dataclass

import numpy as np

from censquant.report._calibration import SHOWN
from censquant.report._coverage import lower_bound
from censquant.report._settings import Settings
from censquant.report._study import Study


@dataclass(frozen=True)
class Individual:
    """One individual.

    Parameters
    ----------
    row : int
    label : str
    features : dict of str to str
    quantiles : tuple of float
        Times at the levels 0.1, 0.25, 0.5, 0.75 and 0.9; NaN where the data cannot speak.
    lower_bound : float
        With the confidence of the settings.
    bound_is_limited : bool
        Whether follow-up ends the bound.
    identified : float
        Highest level that the data can speak for.
    risks : tuple of float
        By each horizon.
    time : float
    event : bool
        What was observed.
    """

    row: int
    label: str
    features: dict[str, str]
    quantiles: tuple[float, ...]
    lower_bound: float
    bound_is_limited: bool
    identified: float
    risks: tuple[float, ...]
    time: float
    event: bool


def individuals_of(study: Study, settings: Settings) -> tuple[Individual, ...]:
    """Return the individuals that were asked for."""
    rows = settings.individuals
    if not rows:
        return ()
    part = study.take(rows)
    quantiles = part.known_quantiles(SHOWN)
    bound, limited = lower_bound(part, settings.confidence)
    risks = np.empty((len(rows), 0))
    if settings.horizons:
        risks = 1.0 - part.curve.survival(settings.horizons)
    texts = [part.table.texts(column) for column in range(part.table.n_columns)]
    return tuple(
        Individual(
            row,
            settings.labels[row],
            {name: texts[column][k] for column, name in enumerate(part.table.names)},
            tuple(quantiles[k].tolist()),
            float(bound[k]),
            bool(limited[k]),
            float(part.curve.reach[k]),
            tuple(risks[k].tolist()),
            float(part.target.time[k]),
            bool(part.target.event[k]),
        )
        for k, row in enumerate(rows)
    )
