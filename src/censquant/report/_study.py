"""A model with the rows that a report is about, and its predictions of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.adapters._predictions import is_left_censored
from censquant.estimators import BaseQuantileRegressor, ConformalSurvivalRegressor, adapt
from censquant.inspection import FeatureTable
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import CURVE_QUANTILES, DEFAULT_QUANTILES
from censquant.survival import Target, read_target
from censquant.survival._target import require_events

LEVELS: Floats = np.array(CURVE_QUANTILES)


@dataclass(frozen=True, eq=False)
class Study:
    """What all numbers of a report are computed from; every row is predicted once.

    Parameters
    ----------
    model : BaseQuantileRegressor
    table : FeatureTable of n rows
    target : Target of n rows
    train : Target
        Rows that say how individuals are censored.
    curve : QuantileCurve of n rows
        As the model predicts them.
    """

    model: BaseQuantileRegressor
    table: FeatureTable
    target: Target
    train: Target
    curve: QuantileCurve

    @classmethod
    def of(cls, model: Any, X: Any, y: object, y_train: object) -> "Study":
        """Return a study; refuse what no report can be made of."""
        regressor = adapt(model)
        if is_left_censored(regressor):
            raise ValueError(
                "model must be fitted with censoring='right', got censoring='left': a report knows "
                "events that come after their censored times."
            )
        table = FeatureTable.read(X, regressor)
        target = read_target(y, n_samples=len(table))
        require_events(target)
        train = target if y_train is None else read_target(y_train)
        curve = regressor.predict_curve(table.X)
        if not curve.is_whole:
            raise ValueError(
                "model must predict at least two quantiles, got a "
                f"{type(regressor).__name__} with the level {curve.taus[0]:g} alone."
            )
        return cls(regressor, table, target, train, curve)

    def __len__(self) -> int:
        return len(self.target)

    def take(self, rows: Any) -> "Study":
        """Return some of the rows; what says how individuals are censored stays."""
        if len(rows) == len(self) and (np.asarray(rows) == np.arange(len(self))).all():
            return self
        places = np.asarray(rows, dtype=np.intp)
        return Study(
            self.model,
            self.table.take(places),
            self.target.take(places),
            self.train,
            self.curve.take(places),
        )

    @property
    def y(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Times and events."""
        return self.target.time, self.target.event

    @property
    def y_train(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Times and events of the rows that say how individuals are censored."""
        return self.train.time, self.train.event

    @property
    def judged_levels(self) -> Floats:
        """Levels that scores and tests look at: those of the fit if there are several."""
        levels = np.atleast_1d(getattr(self.model, "quantiles_", DEFAULT_QUANTILES))
        return levels if len(levels) > 1 else np.array(DEFAULT_QUANTILES)

    @property
    def is_calibrated(self) -> bool:
        """Whether the model makes bounds that keep what they promise."""
        return isinstance(self.model, ConformalSurvivalRegressor)

    def known_quantiles(self, levels: Floats) -> Floats:
        """Return quantiles, NaN where the data cannot speak."""
        found = self.curve.at(levels)
        return np.where(self.curve.is_identified(levels), found, np.nan)

    def known_remaining(self, age: Floats, levels: Floats) -> Floats:
        """Return quantiles of the time that is left at an age, NaN where the data cannot speak."""
        found = self.curve.remaining(age, levels)
        conditional = self.curve.conditional_levels(age, levels)
        return np.where(self.curve.is_identified(conditional), found, np.nan)

    def supported_until(self) -> Floats:
        """Return the time up to which follow-up supports the curve of each row."""
        smallest = np.finfo(np.float64).tiny
        reach = np.clip(self.curve.reach, smallest, np.nextafter(1.0, 0.0))
        return self.curve.at_each(reach[:, None])[:, 0]
