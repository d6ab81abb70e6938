"""Regression models of lifelines, which take tables with the columns that they were fitted to."""

from typing import Any

import numpy as np

from censquant._typing import Floats
from censquant.adapters._libraries import Reader, accepts

# The constant that lifelines adds to the columns of parametric models.
_INTERCEPT = "Intercept"

# Times at which a smooth curve is evaluated, as multiples of the last training time: close near 0,
# even up to 1, and on to 100, since the formula continues past the data.
_GRID = np.unique(
    np.concatenate(
        [np.geomspace(1e-5, 1, 200), np.linspace(0, 1, 401)[1:], np.geomspace(1, 100, 200)]
    )
)


class Lifelines(Reader):
    """Curves as a table with times as index: ``predict_survival_function(df, times=...)``.

    Accelerated failure time models have quantiles in closed form, which are used as they are.
    """

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        # A baseline that is estimated at the event times falls there; all others are smooth.
        baseline = getattr(model, "baseline_estimation_method", None)
        is_step = baseline == "breslow" or hasattr(model, "cumulative_hazards_")
        self.shape = "step" if is_step else "linear"

    @staticmethod
    def recognises(model: Any) -> bool:
        """Whether the model predicts percentiles and survival functions."""
        methods = ("predict_percentile", "predict_survival_function")
        return all(callable(getattr(model, method, None)) for method in methods)

    @property
    def end(self) -> float:
        """Last time that the model was fitted to; an additive model keeps the event times only."""
        hazards = getattr(self.model, "cumulative_hazards_", None)
        return float(np.max(self.model.durations if hazards is None else hazards.index))

    def read_rows(self, X: Any) -> Any:
        """Table with the columns of the fit, numbered from 0; made of an array where names fit."""
        names = self._columns()
        if not hasattr(X, "columns"):
            return _table(X, names, type(self.model).__name__)
        frame = X if hasattr(X, "iloc") else X.to_pandas()
        missing = [name for name in names or () if name not in frame.columns]
        if missing:
            raise ValueError(
                "X must have the columns that the model was fitted to, but lacks "
                f"{', '.join(map(repr, missing))}."
            )
        return frame

    def table(self, rows: Any) -> tuple[Any, Any]:
        """Return the training times, or a grid for a smooth curve, and probabilities."""
        if self.shape == "step":
            return self._predicted(rows, np.unique(np.asarray(self.model.durations, np.float64)))
        return self._predicted(rows, self.end * _GRID)

    def quantiles(self, X: Any, levels: Floats) -> tuple[Floats, Floats]:
        """Quantiles by formula where the model has one, otherwise by inversion."""
        percentile = self.model.predict_percentile
        values, reach = None, None
        if accepts(percentile, "ancillary"):
            rows = self.read_rows(X)
            # lifelines counts levels from the other end: the share still without the event.
            columns = [np.asarray(percentile(rows, p=1.0 - level)) for level in levels]
            values = np.column_stack([np.asarray(c, dtype=np.float64) for c in columns])
        if values is None or not np.isfinite(values).all():
            values, reach = super().quantiles(X, levels)
        if self.shape == "linear":
            reach = 1.0 - self.survival(X, np.array([self.end]))[:, 0]
        return values, np.asarray(reach)

    def survival(self, X: Any, times: Floats) -> Floats:
        """Survival probabilities, at any time where the curve is smooth."""
        if self.shape == "step" or not (times > 0).all():
            return super().survival(X, times)
        return self._predicted(self.read_rows(X), times)[1]

    def _predicted(self, rows: Any, times: Floats) -> tuple[Floats, Floats]:
        """Return times and probabilities of some rows, in the order of the rows."""
        numbered = rows.reset_index(drop=True)
        curves = self.model.predict_survival_function(numbered, times=times)
        # A model with strata returns the columns stratum by stratum.
        survival = np.asarray(curves[numbered.index], dtype=np.float64).T
        # Some models answer at times of their own.
        return np.asarray(curves.index, dtype=np.float64), survival

    def _columns(self) -> list[Any] | None:
        """Names that the model was fitted to; None where a formula decides."""
        mappings = getattr(getattr(self.model, "regressors", None), "mappings", {})
        lists = [names for names in mappings.values() if isinstance(names, list)]
        if not lists or getattr(self.model, "strata", None):
            return None
        distinct = dict.fromkeys(name for names in lists for name in names)
        return [name for name in distinct if name != _INTERCEPT]


def _table(X: Any, names: list[Any] | None, model: str) -> Any:
    """Array of features as a table with the names of the fit."""
    array = np.asarray(X)
    if names is None or array.ndim != 2 or array.shape[1] != len(names):
        known = "" if names is None else f" {', '.join(map(repr, names))}"
        raise ValueError(
            f"X must be a DataFrame with the columns{known} that {model} was fitted to, "
            f"got an array of shape {array.shape}."
        )
    import pandas as pd

    return pd.DataFrame(array, columns=names)
