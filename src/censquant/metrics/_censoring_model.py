"""Chances to be followed by a model of the censoring time, in place of one curve for all rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from censquant._typing import Floats
from censquant.adapters._predictions import is_supported, predicted_curve
from censquant.metrics._reading import Mirror, warn_truncated
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import CURVE_QUANTILES
from censquant.survival._kaplan_meier import SMALLEST_CENSORING_CHANCE

# Weights are unreliable if a smaller share of the rows than this carries half of them, or if they
# stand for fewer rows than this: by a right model for all, unless some had hardly a chance to be
# followed to the times that are scored. That must be more than two standard errors.
_FEWEST_ROWS, _FEWEST_STOOD_FOR, _CRITICAL = 0.03, 0.9, 2.0


def censoring_curve_of(
    model: Any, X: Any, n_rows: int, mirror: Mirror | None = None, *, name: str = "X"
) -> QuantileCurve:
    """Return the distributions of the censoring times of rows, given or predicted."""
    if isinstance(model, QuantileCurve):
        curve = model
    elif not is_supported(model):
        raise TypeError(
            "censoring_model must predict quantiles or survival curves, or be a QuantileCurve of "
            f"the censoring times, got {type(model).__name__}."
        )
    elif X is None:
        raise ValueError(
            f"{name} must be given where censoring_model is a fitted model, got None: pass the "
            "QuantileCurve that it predicts."
        )
    else:
        curve = predicted_curve(model, X, CURVE_QUANTILES)
    if len(curve) != n_rows:
        raise ValueError(
            f"censoring_model must have one distribution for each row of y, {n_rows}, got "
            f"{len(curve)}."
        )
    if mirror is None:
        return curve
    return QuantileCurve(*mirror.quantiles(curve.values, curve.taus))


@dataclass(frozen=True, eq=False)
class RowCensoring:
    """Chances of rows to be followed up to some times, by the distribution of each."""

    curve: QuantileCurve

    @classmethod
    def read(cls, censoring_model: object, n_rows: int) -> "RowCensoring | None":
        """Read the argument of a metric; None where it is not given."""
        if censoring_model is None:
            return None
        if not isinstance(censoring_model, QuantileCurve) or not censoring_model.is_whole:
            raise TypeError(
                "censoring_model must be a QuantileCurve of the censoring times with two levels or "
                "more, such as predict_curve(X) of an estimator fitted to (time, ~event), got "
                f"{censoring_model!r:.60}."
            )
        if len(censoring_model) != n_rows:
            raise ValueError(
                "censoring_model must have one distribution for each row of y, "
                f"{n_rows}, got {len(censoring_model)}."
            )
        if type(censoring_model) is not QuantileCurve:  # a step function, or a tail of its own
            values, lower = censoring_model.at(CURVE_QUANTILES), censoring_model.lower
            return cls(QuantileCurve.from_predictions(values, CURVE_QUANTILES, lower))
        return cls(censoring_model)

    def take(self, rows: slice) -> "RowCensoring":
        """Return some of the rows."""
        return RowCensoring(self.curve.take(np.arange(len(self.curve))[rows], reach=False))

    def before(self, times: Floats) -> Floats:
        """Return the chance of each row to be followed up to its own times, not below the floor."""
        return self._chance(self.curve.cdf(np.nextafter(times, -np.inf)))

    def after(self, times: Floats) -> Floats:
        """Return the chance of each row to be followed for longer than each of common times."""
        return self._chance(1.0 - self.curve.survival(times))

    def _chance(self, levels: Floats) -> Floats:
        return np.maximum(1.0 - levels, SMALLEST_CENSORING_CHANCE)

    def area_between(self, start: Floats, end: Floats) -> Floats:
        """Return the areas under the chances of rows, from one time of each to later ones."""
        return self._area(end) - self._area(start[:, None])

    def _area(self, times: Floats) -> Floats:
        """Return areas under the curves from their first quantiles; shape of the times, (n, k)."""
        values, taus = self.curve.values, self.curve.taus
        widths = np.diff(values, axis=1) * (1.0 - (taus[1:] + taus[:-1]) / 2.0)
        areas = np.concatenate((np.zeros((len(values), 1)), np.cumsum(widths, axis=1)), axis=1)
        levels = self.curve.cdf(times)
        place = np.maximum(np.searchsorted(taus, levels) - 1, 0)
        rows = np.arange(len(values))[:, None]
        way, chance = times - values[rows, place], 1.0 - levels
        known = 1.0 - taus[place]
        # Between the quantiles the chance is a line, and past the last one it decays exponentially.
        mean_life = (values[:, -1:] - values[:, -2:-1]) / np.log((1 - taus[-2]) / (1 - taus[-1]))
        inside = np.where(
            levels > taus[-1], mean_life * (known - chance), way * (known + chance) / 2.0
        )
        # Before the first possible time the chance is 1.
        reach = (values[:, 1] - values[:, 0]) * taus[0] / (taus[1] - taus[0])
        start = np.maximum(values[:, 0] - reach, self.curve.lower)[:, None]
        before = (start - values[:, :1]) * (1.0 - taus[0] / 2.0) + (times - start)
        return np.asarray(np.where(times < start, before, areas[rows, place] + inside))


def warn_of_few_rows(counts: Floats, weight: Floats) -> None:
    """Warn where few rows carry most of the weight, or where rows are not stood for.

    ``counts`` is for how many rows each stands, ``weight`` its sample weight.
    """
    total = weight.sum()
    if not (counts @ weight > 0.0 and total > 0.0):
        return
    order = np.argsort(-counts, kind="stable")
    carried = np.cumsum((counts * weight)[order])
    half = int(np.searchsorted(carried, carried[-1] / 2.0))
    few = float(weight[order][: half + 1].sum() / total)
    mean = float(carried[-1] / total)
    error = np.sqrt(weight**2 @ (counts - mean) ** 2) / total
    if few >= _FEWEST_ROWS and (mean >= _FEWEST_STOOD_FOR or 1.0 - mean <= _CRITICAL * error):
        return
    warn_truncated(
        f"The weights by censoring_model are unreliable: {100 * few:.2g} % of the rows carry half "
        f"of the weight, and all together stand for {100 * mean:.0f} % of the rows; score earlier "
        "times only, or use log_score, which needs no weights."
    )
