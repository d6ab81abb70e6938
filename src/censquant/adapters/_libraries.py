"""How models of other libraries are recognised and asked for survival curves.

Nothing is imported from these libraries: a model is known by its methods, and only the object that
the user fitted is called.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from censquant._typing import Floats
from censquant.adapters._inversion import Shape
from censquant.adapters._survival_curves import SurvivalCurves

# Rows of the first block, which reveals the number of times, and entries of the later ones: 32 MB.
_FIRST_ROWS = 64
_BLOCK_ENTRIES = 1 << 22

# Losses of scikit-survival's boosters that leave them without a baseline.
_LOSSES_WITHOUT_CURVES = ("squared", "ipcwls")


class Reader(ABC):
    """A fitted model of another library, asked for survival curves block by block."""

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
        """Whether the model predicts survival functions, with the settings that it has."""
        keeps_curves = (
            getattr(model, "fit_baseline_model", True)
            and not getattr(model, "low_memory", False)
            and getattr(model, "loss", None) not in _LOSSES_WITHOUT_CURVES
        )
        return bool(keeps_curves) and callable(getattr(model, "predict_survival_function", None))

    @property
    def end(self) -> float | None:
        """Last of the times that the model was fitted to."""
        times = self._times_of_curves()
        return None if times is None else float(times[-1])

    def read_rows(self, X: Any) -> Any:
        """Features as an array, unless they are one or a table already."""
        return X if hasattr(X, "shape") else np.asarray(X)

    def table(self, rows: Any) -> tuple[Any, Any]:
        """Return times and probabilities, as an array where the model can give one."""
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
        """Whether the model predicts incidence on a grid of times."""
        return callable(getattr(model, "predict_cumulative_incidence", None)) and callable(
            getattr(model, "predict_survival_function", None)
        )

    @property
    def end(self) -> float | None:
        """Last time of the grid."""
        return float(np.max(self.model.time_grid_))

    def read_rows(self, X: Any) -> Any:
        """Features as an array, unless they are one or a table already."""
        kinds = np.size(getattr(self.model, "event_ids_", (0, 1))) - 1
        if kinds > 1:
            raise ValueError(
                f"model must be fitted to one kind of event, got {type(self.model).__name__} with "
                f"{kinds} competing kinds, for which the time to an event has no quantiles."
            )
        return X if hasattr(X, "shape") else np.asarray(X)

    def table(self, rows: Any) -> tuple[Any, Any]:
        """Return the times of the grid, in which tied events repeat, and probabilities at them."""
        times = np.unique(self.model.time_grid_)
        return times, self.model.predict_survival_function(rows, times=times)


class Pycox(Reader):
    """Curves of a network as a table: ``predict_surv_df(X)``, with one column per row of X."""

    shape: Shape = "linear"

    @staticmethod
    def recognises(model: Any) -> bool:
        """Whether the model predicts tables of survival curves."""
        return callable(getattr(model, "predict_surv_df", None))

    @property
    def end(self) -> float | None:
        """Last time of the discrete grid, if there is one."""
        grid = getattr(self.model, "duration_index", None)
        return None if grid is None else float(np.max(grid))

    def read_rows(self, X: Any) -> Any:
        """Features in single precision, which the networks compute in."""
        if getattr(self.model, "duration_index", self) is None:
            raise ValueError(
                f"model must know its times, got {type(self.model).__name__} with "
                "duration_index=None, whose curves are numbered by bin: set "
                "model.duration_index = labtrans.cuts."
            )
        return np.ascontiguousarray(X, dtype=np.float32)

    def table(self, rows: Any) -> tuple[Any, Any]:
        """Return times and probabilities."""
        curves = self.model.predict_surv_df(rows)
        return np.asarray(curves.index, dtype=np.float64), np.asarray(curves).T


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


def _slice(rows: Any, start: int, stop: int) -> Any:
    """Rows of an array or table by position."""
    return rows.iloc[start:stop] if hasattr(rows, "iloc") else rows[start:stop]


def accepts(function: Callable[..., Any], parameter: str) -> bool:
    """Whether a function names a parameter in its signature."""
    try:
        return parameter in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
