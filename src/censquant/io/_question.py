"""What is asked about each row of a table, and the columns of the answer."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._validation import check_choice, check_number
from censquant.exceptions import IdentifiabilityWarning
from censquant.io._error import TableError
from censquant.io._model_columns import feature_names
from censquant.quantiles import QuantileCurve

Floats = NDArray[np.float64]

_BEYOND = ("nan", "inf", "extrapolate")
_IDENTIFIED = "identified"
LIMITED = "limited"
"""The column that says whether follow-up ends before the bound would: true or false."""


class Question:
    """Quantiles, an interval and a bound for each row, from the start or from now on.

    Parameters
    ----------
    model : fitted estimator
    levels : ndarray of levels in (0, 1)
    interval, lower_bound : float in (0, 1) or None
    remaining : str or None
        Column with the time that has passed.
    beyond : {"nan", "inf", "extrapolate"}
    """

    def __init__(
        self,
        model: Any,
        levels: Floats,
        *,
        interval: float | None,
        lower_bound: float | None,
        remaining: str | None,
        beyond: str,
    ) -> None:
        self.model, self.remaining = model, remaining
        self.features = feature_names(model)
        self._beyond = check_choice("beyond", beyond, _BEYOND)
        self._share = None if interval is None else _inside("interval", interval)
        self._bound = None if lower_bound is None else _inside("lower_bound", lower_bound)
        self._promises = hasattr(model, "predict_lower_bound")
        if self._bound is not None and not self._promises:
            raise TableError(
                f"lower_bound needs a calibrated model, got {type(model).__name__}",
                remedy="fit it with --calibrate, in Python as ConformalSurvivalRegressor",
            )
        prefix = "" if remaining is None else "remaining_"
        self.columns = [f"{prefix}q{level:.12g}" for level in levels]
        self.levels = levels
        if self._share is not None:
            self.columns += [f"{prefix}lower", f"{prefix}upper"]
            if not self._promises:
                low = round((1.0 - self._share) / 2.0, 12)
                self.levels = np.concatenate([levels, [low, 1.0 - low]])
        if self._bound is not None:
            self.columns += [f"{prefix}bound{self._bound:.12g}", LIMITED]
        self.columns.append(_IDENTIFIED)

    def answer(self, frame: Any, elapsed: Floats | None) -> tuple[Floats, int]:
        """Return one column per answer, and how many of the quantiles are identified."""
        curve: QuantileCurve = self.model.predict_curve(frame)
        if elapsed is None:
            values, levels, reach = curve.at(self.levels), self.levels[None, :], curve.reach
        else:
            values = curve.remaining(elapsed, self.levels)
            levels = curve.conditional_levels(elapsed, self.levels)
            reach = _conditional_reach(curve, elapsed)
        known = np.broadcast_to(curve.is_identified(levels), values.shape)
        if self._beyond != "extrapolate":
            far = -np.inf if curve.reach_is_lowest else np.inf
            values = np.where(known, values, np.nan if self._beyond == "nan" else far)
        return np.column_stack([values, *self._promised(frame, elapsed), reach]), int(known.sum())

    def _promised(self, frame: Any, elapsed: Floats | None) -> list[Floats]:
        """Return the interval and the bound of a calibrated model, counted from now on."""
        now = 0.0 if elapsed is None else elapsed
        found = list[Floats]()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IdentifiabilityWarning)  # said by the column LIMITED
            if self._promises and self._share is not None:
                beyond = "nan" if self._beyond == "nan" else "inf"
                ends = self.model.predict_interval(
                    frame, self._share, elapsed=elapsed, beyond=beyond
                )
                found += [end - now for end in ends.T]
            if self._bound is not None:
                bounds = self.model.predict_lower_bound(
                    frame, self._bound, elapsed=elapsed, output="frame"
                )
                found += [bounds["bound"].to_numpy() - now, bounds["limited"].to_numpy()]
        return found


def _inside(name: str, value: float) -> float:
    return check_number(name, value, minimum=0.0, below=1.0, exclude_minimum=True)


def _conditional_reach(curve: QuantileCurve, elapsed: Floats) -> Floats:
    """Return the highest identified level among those who have lasted as long."""
    passed = curve.cdf(elapsed)
    with np.errstate(divide="ignore", invalid="ignore"):
        level = (curve.reach - passed) / (1.0 - passed)
    return np.clip(np.nan_to_num(level, nan=0.0, posinf=0.0, neginf=0.0), 0.0, 1.0)
