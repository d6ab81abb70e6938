"""Survival curves of models of other libraries.

Nothing is imported from these libraries: a model is known by its methods, and only the object that
the user fitted is called.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from censquant._typing import Floats
from censquant.adapters._curves import Shape, SurvivalCurves
from censquant.survival import Target

# Rows of the first block, which reveals the number of times, and entries of the later ones: 32 MB.
_FIRST_ROWS = 64
_BLOCK_ENTRIES = 1 << 22

# Losses of scikit-survival's boosters that leave them without a baseline.
_LOSSES_WITHOUT_CURVES = ("squared", "ipcwls")

# The constant that lifelines adds to the columns of parametric models.
_INTERCEPT = "Intercept"

# Times at which a smooth curve is evaluated, as multiples of the last training time: close near 0,
# even up to 1, and on to 100, since the formula continues past the data.
_GRID = np.unique(
    np.concatenate(
        [np.geomspace(1e-5, 1, 200), np.linspace(0, 1, 401)[1:], np.geomspace(1, 100, 200)]
    )
)


class Reader(ABC):
    """A fitted model of another library, whose survival curves are predicted block by block."""

    shape: Shape
    """The curve between two times."""

    def __init__(self, model: Any) -> None:
        self.model = model

    @staticmethod
    @abstractmethod
    def recognises(model: Any) -> bool:
        """Whether the model has the methods of this library's models."""

    @property
    @abstractmethod
    def end(self) -> float | None:
        """Last time that the model knows, if it says so without a prediction."""

    @abstractmethod
    def read_rows(self, X: Any) -> Any:
        """Features in the form that the library takes, with a shape."""

    @abstractmethod
    def table(self, rows: Any) -> tuple[Any, Any]:
        """Increasing times and P(T > t) of some rows, shape (n, n_times)."""

    def refitted(self, X: Any, target: Target) -> Any:
        """Fit a new model of the same settings to other rows."""
        raise TypeError(
            f"model must be one that can be fitted again, got {type(self.model).__name__}: pass a "
            "function of X and y as refit, where there is that parameter."
        )

    def quantiles(self, X: Any, levels: Floats) -> tuple[Floats, Floats]:
        """Quantiles ``(n, k)``, and the reach of each row."""
        parts = [(curves.quantiles(levels), curves.reach) for curves in self._curves(X)]
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def survival(self, X: Any, times: Floats) -> Floats:
        """Survival probabilities at common times, shape (n, n_times)."""
        return np.concatenate([curves.at(times) for curves in self._curves(X)])

    def restricted_mean(self, X: Any, horizon: float) -> Floats:
        """Mean time of each row up to a horizon."""
        return np.concatenate([curves.restricted_mean(horizon) for curves in self._curves(X)])

    def _curves(self, X: Any) -> Iterator[SurvivalCurves]:
        """Curves of all rows, in blocks that fit into memory."""
        rows = self.read_rows(X)
        start, step = 0, _FIRST_ROWS
        while start == 0 or start < rows.shape[0]:
            curves = SurvivalCurves.read(*self.table(_slice(rows, start, start + step)), self.shape)
            yield curves
            start, step = start + step, max(1, _BLOCK_ENTRIES // curves.times.size)


class ScikitSurvival(Reader):
    """Curves as step functions: ``predict_survival_function(X)`` with attributes x and y."""

    shape: Shape = "step"

    @staticmethod
    def recognises(model: Any) -> bool:
        keeps_curves = (
            getattr(model, "fit_baseline_model", True)
            and not getattr(model, "low_memory", False)
            and getattr(model, "loss", None) not in _LOSSES_WITHOUT_CURVES
        )
        return bool(keeps_curves) and callable(getattr(model, "predict_survival_function", None))

    @property
    def end(self) -> float | None:
        times = self._times_of_curves()
        return None if times is None else float(times[-1])

    def read_rows(self, X: Any) -> Any:
        return X if hasattr(X, "shape") else np.asarray(X)

    def table(self, rows: Any) -> tuple[Any, Any]:
        predict, times = self.model.predict_survival_function, self._times_of_curves()
        if times is not None and accepts(predict, "return_array"):
            return times, predict(rows, return_array=True)
        return _of_functions(predict(rows), type(self.model).__name__)

    def _times_of_curves(self) -> Any:
        """Return the times of the curves; earlier versions of the library call them event times."""
        for name in ("unique_times_", "event_times_"):
            if hasattr(self.model, name):
                return getattr(self.model, name)
        return None


class Hazardous(Reader):
    """Curves of a booster at the times of its grid: ``predict_survival_function(X, times)``."""

    shape: Shape = "linear"

    @staticmethod
    def recognises(model: Any) -> bool:
        return callable(getattr(model, "predict_cumulative_incidence", None)) and callable(
            getattr(model, "predict_survival_function", None)
        )

    @property
    def end(self) -> float | None:
        return float(np.max(self.model.time_grid_))

    def read_rows(self, X: Any) -> Any:
        kinds = np.size(getattr(self.model, "event_ids_", (0, 1))) - 1
        if kinds > 1:
            raise ValueError(
                f"model must be fitted to one kind of event, got {type(self.model).__name__} with "
                f"{kinds} competing kinds, for which the time to an event has no quantiles."
            )
        return X if hasattr(X, "shape") else np.asarray(X)

    def table(self, rows: Any) -> tuple[Any, Any]:
        times = np.unique(self.model.time_grid_)  # tied events repeat in the grid
        return times, self.model.predict_survival_function(rows, times=times)


class Pycox(Reader):
    """Curves of a network as a table: ``predict_surv_df(X)``, with one column per row of X."""

    shape: Shape = "linear"

    @staticmethod
    def recognises(model: Any) -> bool:
        return callable(getattr(model, "predict_surv_df", None))

    @property
    def end(self) -> float | None:
        grid = getattr(self.model, "duration_index", None)
        return None if grid is None else float(np.max(grid))

    def read_rows(self, X: Any) -> Any:
        if getattr(self.model, "duration_index", self) is None:
            raise ValueError(
                f"model must know its times, got {type(self.model).__name__} with "
                "duration_index=None, whose curves are numbered by bin: set "
                "model.duration_index = labtrans.cuts."
            )
        return np.ascontiguousarray(X, dtype=np.float32)  # as the networks compute

    def table(self, rows: Any) -> tuple[Any, Any]:
        curves = self.model.predict_surv_df(rows)
        return np.asarray(curves.index, dtype=np.float64), np.asarray(curves).T


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

    def refitted(self, X: Any, target: Target) -> Any:
        """Fit a new model of the same settings, formula and strata to other rows."""
        model = self.model
        for role in ("weights_col", "cluster_col", "entry_col"):
            if getattr(model, role, None) is not None:
                raise TypeError(
                    f"model must be fitted without {role} to be fitted again, got a "
                    f"{type(model).__name__} with {role}={getattr(model, role)!r}."
                )
        settings = inspect.signature(type(model)).parameters
        fresh = type(model)(**{name: vars(model)[name] for name in settings if name in vars(model)})
        rows = self.read_rows(X).reset_index(drop=True)
        duration, event = model.duration_col, model.event_col or "event"
        rows = rows.assign(**{duration: target.time, event: target.event})
        known = self._formulas() | {"strata": getattr(model, "strata", None)}
        options = {name: value for name, value in known.items() if accepts(fresh.fit, name)}
        return fresh.fit(rows, duration, event, **options)

    def _formulas(self) -> dict[str, Any]:
        """Return formulas of the fit, or True for an ancillary parameter with all columns."""
        mappings = getattr(getattr(self.model, "regressors", None), "mappings", {})
        if not hasattr(self.model, "_primary_parameter_name"):
            return {"formula": getattr(self.model, "formula", None)}
        own, other = self.model._primary_parameter_name, self.model._ancillary_parameter_name
        texts = [
            None if isinstance(spec, list) else str(spec.formula)
            for spec in (mappings[own], mappings[other])
        ]
        return {"formula": texts[0], "ancillary": True if texts[1] is None else texts[1]}

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
        # Some models predict at times of their own.
        return np.asarray(curves.index, dtype=np.float64), survival

    def _columns(self) -> list[Any] | None:
        """Names that the model was fitted to; None where a formula decides."""
        mappings = getattr(getattr(self.model, "regressors", None), "mappings", {})
        lists = [names for names in mappings.values() if isinstance(names, list)]
        if not lists or getattr(self.model, "strata", None):
            return None
        distinct = dict.fromkeys(name for names in lists for name in names)
        return [name for name in distinct if name != _INTERCEPT]


def _of_functions(functions: Any, name: str) -> tuple[Floats, Floats]:
    """Return times and probabilities of step functions, which need not share their times."""
    if not all(callable(step) and hasattr(step, "x") for step in functions):
        raise TypeError(
            "predict_survival_function must return functions with the attribute x, or the model "
            f"must have unique_times_, got {name}."
        )
    grids = [np.asarray(step.x, dtype=np.float64) for step in functions]
    rows = [np.asarray(step(grid)) for step, grid in zip(functions, grids, strict=True)]
    times = grids[0]
    if any(not np.array_equal(grid, times) for grid in grids):
        times = np.unique(np.concatenate(grids))
        places = [np.searchsorted(grid, times, side="right") for grid in grids]
        rows = [
            np.concatenate(([1.0], row))[place] for row, place in zip(rows, places, strict=True)
        ]
    return times, np.array(rows)


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


def _slice(rows: Any, start: int, stop: int) -> Any:
    """Rows of an array or table by position."""
    return rows.iloc[start:stop] if hasattr(rows, "iloc") else rows[start:stop]


def accepts(function: Callable[..., Any], parameter: str) -> bool:
    """Whether a function names a parameter in its signature."""
    try:
        return parameter in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
