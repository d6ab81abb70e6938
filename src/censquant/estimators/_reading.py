"""How answers are read off predicted curves, and what happens where the data cannot speak."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from censquant._typing import Floats
from censquant._validation import check_choice
from censquant._warn import warn_once
from censquant.exceptions import ExtrapolationWarning
from censquant.quantiles import QuantileCurve, SurvivalFunction
from censquant.quantiles._grid import DEFAULT_QUANTILES, check_levels
from censquant.quantiles._survival_function import cumulative_hazard
from censquant.survival._columns import read_numbers

Ask = Callable[[QuantileCurve, slice], NDArray[Any]]
"""What is read off the curves of some rows; the slice says which rows of ``X`` they are."""

Beyond = Literal["warn", "extrapolate", "limit", "inf", "nan"]
"""What is returned at levels past follow-up."""
BeyondOfFunctions = Literal["warn", "extrapolate", "nan"]
"""The same of probabilities, which are never infinite."""

BEYOND = get_args(Beyond)
_BEYOND_OF_FUNCTIONS = get_args(BeyondOfFunctions)
_EXTRAPOLATES = (
    "Some predictions lie beyond what the data can speak for, where the model extrapolates: see "
    "identified_level, or choose what to return there by beyond=."
)
_FAR_LEVEL = 0.5  # of the first fitted level


class ReadsCurves:
    """The private half of :class:`BaseQuantileRegressor`: from curves to arrays."""

    def predict_curve(self, X: Any) -> QuantileCurve:
        """Return the predictive distribution of each row, with its reach."""
        raise NotImplementedError

    @property
    def _left_censored(self) -> bool:
        """Whether censored events lie before their times."""
        return getattr(self, "censoring", "right") == "left"

    def _map_curves(self, X: Any, ask: Ask, notes: list[str]) -> NDArray[Any]:
        """Return ``ask(curve, rows)`` for all rows; add to ``notes`` what is odd about ``X``."""
        return ask(self.predict_curve(X), slice(None))

    def _levels(self, quantiles: ArrayLike | None) -> Floats:
        """Return the levels asked for, by default the fitted ones."""
        check_is_fitted(self)
        if quantiles is None:
            return np.asarray(getattr(self, "quantiles_", DEFAULT_QUANTILES), dtype=np.float64)
        return check_levels(quantiles, name="quantiles")

    def _quantiles_at(self, X: Any, levels: Floats, beyond: str) -> Floats:
        """Return quantiles for a public method."""
        check_is_fitted(self)
        return self._read(
            X,
            lambda curve, rows: curve.at(levels),
            lambda curve, rows: levels,
            check_choice("beyond", beyond, BEYOND),
            notes=note_of_levels(levels, getattr(self, "quantiles_", None)),
            stacklevel=4,
        )

    def _functions(
        self,
        X: Any,
        times: ArrayLike | None,
        return_array: bool,
        beyond: str,
        kind: type[SurvivalFunction],
    ) -> NDArray[Any]:
        """Return functions of time, or their values, for a public method."""
        check_is_fitted(self)
        check_choice("beyond", beyond, _BEYOND_OF_FUNCTIONS)
        if times is None and not hasattr(self, "unique_times_"):
            raise ValueError(
                f"times must be given, since {type(self).__name__} has no unique_times_, got None."
            )
        given = getattr(self, "unique_times_", None) if times is None else times
        at = read_numbers(given, name="times")

        def values(curve: QuantileCurve, rows: slice) -> NDArray[Any]:
            if return_array:
                survival = curve.survival(at)
                return survival if kind is SurvivalFunction else cumulative_hazard(survival)
            functions = np.empty(len(curve), dtype=object)
            for row in range(len(curve)):
                functions[row] = kind(curve, row, at, masked=beyond == "nan")
            return functions

        def levels(curve: QuantileCurve, rows: slice) -> Floats:
            return 1.0 - curve.survival(at)

        # Functions hide what is not identified themselves.
        seen = "extrapolate" if beyond == "nan" and not return_array else beyond
        return self._read(X, values, levels, seen, stacklevel=4)

    def _restricted_mean(self, X: Any, horizon: float, notes: list[str]) -> Floats:
        """Return means up to a horizon; add to ``notes`` what is odd about ``X``."""

        def ask(curve: QuantileCurve, rows: slice) -> Floats:
            if not curve.is_whole:  # one quantile is all there is to rank by
                return curve.values[:, 0]
            mean = curve.restricted_mean(horizon)
            # E max(T, h) = E T + h - E min(T, h)
            return curve.restricted_mean(np.inf) + horizon - mean if self._left_censored else mean

        return self._map_curves(X, ask, notes)

    def _read(
        self,
        X: Any,
        values: Ask,
        levels: Ask,
        beyond: str,
        *,
        limits: Ask = lambda curve, rows: curve.limit()[:, None],
        notes: list[str] | None = None,
        stacklevel: int = 3,
    ) -> NDArray[Any]:
        """Return values read off the curves, with what is not identified treated as asked for.

        ``levels`` returns the levels of the values, in common or for each row; ``limits`` the
        values at the limit of support.
        """
        notes = [] if notes is None else notes
        note = f"{_EXTRAPOLATES} {getattr(self, 'tail_rule_', '')}".rstrip()

        def ask(curve: QuantileCurve, rows: slice) -> NDArray[Any]:
            answer = values(curve, rows)
            if beyond == "extrapolate":
                return answer
            if beyond == "warn":
                # One individual is enough, and a reach costs as much as half a prediction.
                if note not in notes and not curve.identifies_all(levels(curve, rows)):
                    notes.append(note)
                return answer
            replacement: Any = np.nan
            if beyond == "inf":
                replacement = -np.inf if curve.reach_is_lowest else np.inf
            elif beyond == "limit":
                replacement = limits(curve, rows)
            return np.where(curve.is_identified(levels(curve, rows)), answer, replacement)

        answer = self._map_curves(X, ask, notes)
        if beyond != "extrapolate":
            warn_of(notes, stacklevel=stacklevel)
        return answer


def warn_of(notes: list[str], *, stacklevel: int) -> None:
    """Warn of each note once; ``stacklevel`` as if the caller warned."""
    for note in dict.fromkeys(notes):
        warn_once(note, ExtrapolationWarning, stacklevel=stacklevel + 1)


def note_of_levels(levels: Floats, fitted: Floats | None) -> list[str]:
    """Say that levels lie far below the fitted ones; those above are never identified."""
    if fitted is None or levels.min() >= _FAR_LEVEL * fitted[0]:
        return []
    return [
        f"Some quantiles lie far below the lowest fitted level, {fitted[0]:g}: the predictions "
        "there rest on an assumed tail, not on data."
    ]


def read_elapsed(elapsed: ArrayLike, n_rows: int, model: Any) -> Floats:
    """Return the times survived so far, one number or one per row."""
    spent = np.asarray(elapsed)
    if spent.ndim == 0:
        spent = read_numbers(spent[None], name="elapsed")[0]
    else:
        spent = read_numbers(elapsed, name="elapsed")
        if spent.shape != (n_rows,):
            raise ValueError(
                f"elapsed must be a number or have one value for each of the {n_rows} rows of X, "
                f"got shape {spent.shape}."
            )
    if not np.isfinite(spent).all():
        raise ValueError("elapsed must be finite, got NaN or infinity.")
    n_negative = int(np.count_nonzero(spent < 0))
    # Where times of the fit were negative, they are no durations.
    if n_negative and getattr(model, "follow_up_", (0.0,))[0] >= 0:
        raise ValueError(
            f"elapsed must not be negative, got {n_negative} of {spent.size} values below 0, the "
            f"smallest {spent.min():g}: pass the time since the start of follow-up."
        )
    return np.asarray(spent, dtype=np.float64)
