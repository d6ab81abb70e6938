"""Regression models of lifelines, which take tables with the columns that they were fitted to."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant.adapters._libraries import Reader, accepts

Floats = NDArray[np.float64]

# The constant that lifelines adds to the columns of parametric models.
_INTERCEPT = "Intercept"


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
    def end(self) -> float | None:
        """Last time that the model was fitted to."""
        return float(np.max(self.model.durations))

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
        """Return the times of the training rows and probabilities at them."""
        times = np.unique(np.asarray(self.model.durations, dtype=np.float64))
        return times, self._at(rows, times)

    def quantiles(self, X: Any, levels: Floats) -> tuple[Floats, Floats]:
        """Quantiles by formula where the model has one, otherwise by inversion."""
        percentile = self.model.predict_percentile
        if not accepts(percentile, "ancillary"):
            return super().quantiles(X, levels)
        rows = self.read_rows(X)
        # lifelines counts levels from the other end: the share that is still without the event.
        columns = [np.asarray(percentile(rows, p=1.0 - level)) for level in levels]
        values = np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])
        if not np.isfinite(values).all():
            return super().quantiles(X, levels)
        return values, 1.0 - self._at(rows, np.array([self.end]))[:, 0]

    def survival(self, X: Any, times: Floats) -> Floats:
        """Survival probabilities, by formula where the model has one."""
        if self.shape == "step" or not (times > 0).all():
            return super().survival(X, times)
        return self._at(self.read_rows(X), times)

    def _at(self, rows: Any, times: Floats) -> Floats:
        """Probabilities of some rows at increasing times, in the order of the rows."""
        numbered = rows.reset_index(drop=True)
        curves = self.model.predict_survival_function(numbered, times=times)
        # A model with strata returns the columns stratum by stratum.
        return np.asarray(curves[numbered.index], dtype=np.float64).T

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
