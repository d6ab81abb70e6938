"""What predictions are read off curves, block by block, and what is warned of."""

from collections.abc import Callable, Sequence
from threading import Event
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from censquant._engine.training._parallel import side_by_side
from censquant._rows._features import dense
from censquant._typing import Floats
from censquant._warn import warn_once
from censquant.exceptions import ExtrapolationWarning
from censquant.quantiles import QuantileCurve, SurvivalFunction
from censquant.quantiles._survival_function import cumulative_hazard
from censquant.survival._columns import read_numbers

CurveReader = Callable[[QuantileCurve, slice], NDArray[Any]]
"""What is read off the curves of some rows; the slice says which rows of ``X`` they are."""

Beyond = Literal["warn", "extrapolate", "limit", "inf", "nan"]
"""What is returned at levels past follow-up."""
AtTimes = Literal["warn", "extrapolate", "nan"]
"""The same of probabilities, which are never infinite."""

BEYOND, AT_TIMES = get_args(Beyond), get_args(AtTimes)
EXTRAPOLATES = (
    "Some predictions lie beyond what the data can speak for, where the model extrapolates: see "
    "identified_level, or choose what to return there by beyond=."
)
_LATE = "Some predictions count from the start, of which the data say nothing: "
_FAR_LEVEL = 0.5  # of the first fitted level
# A block's values stay in the processor's cache, and its temporary arrays together stay below what
# malloc gives back to the system when they are freed: fetching that memory again for every block
# cost half as much as the matrix products.
_BLOCK_ROWS = 1_024
# Products of so few rows are too small for threads of BLAS, which need not be held back then.
_FEW_ROWS = 16


Ends = tuple[Floats, Floats] | None
"""Time and level per row past which a model rests on no data of its own; None if it has a rule."""
Answers = tuple[Floats, Ends]
"""Quantiles of rows, and where the data behind them end."""
MeanReader = Callable[[NDArray[Any]], Answers]
"""Answers about checked rows, by what was computed once of models and levels."""


def mean_answers(parts: Sequence[Answers]) -> Answers:
    """Return the mean of several models' quantiles, and of the ends of those that have one."""
    if len(parts) == 1:
        return parts[0]
    ends = [end for _, end in parts if end is not None]
    mean = _mean([values for values, _ in parts])
    if not ends:
        return mean, None
    times, levels = zip(*ends, strict=True)
    return mean, (_mean(times), _mean(levels))


def mean_reader(models: Sequence[Any], levels: Floats) -> MeanReader:
    """Return the reader of the mean of several fitted models."""

    def read(x: NDArray[Any]) -> Answers:
        return mean_answers([model._predict_checked(x, levels) for model in models])

    return read


def _mean(arrays: Sequence[Floats]) -> Floats:
    """Return the mean of arrays, added one after the other as numpy's mean does."""
    total: Floats = arrays[0] + arrays[1] if len(arrays) > 1 else arrays[0].copy()
    for array in arrays[2:]:
        total += array
    total /= len(arrays)
    return total


def map_blocks(
    curve_of: Callable[[NDArray[Any]], QuantileCurve],
    features: Any,
    read: CurveReader,
    n_jobs: int | None,
) -> NDArray[Any]:
    """Return what is read off the curves of all rows, computed a block of rows at a time."""

    def block(start: int, out: NDArray[Any] | None = None) -> Callable[[Event], Any]:
        rows = slice(start, start + _BLOCK_ROWS)

        def compute(stopping: Event) -> NDArray[Any] | None:
            values = read(curve_of(dense(features[rows])), rows)
            if out is None:
                return values
            out[rows] = values  # blocks of a large result are not kept besides
            return None

        return compute

    n_rows = features.shape[0]
    if n_rows <= _FEW_ROWS:
        return np.asarray(read(curve_of(dense(features)), slice(0, n_rows)))
    (first,) = side_by_side([block(0)])
    if n_rows <= _BLOCK_ROWS:
        return np.asarray(first)
    out = np.empty((n_rows, *first.shape[1:]), dtype=first.dtype)
    out[:_BLOCK_ROWS] = first
    others = [block(start, out) for start in range(_BLOCK_ROWS, n_rows, _BLOCK_ROWS)]
    side_by_side(others, n_jobs, on_interrupt="raise")
    return out


def quantiles_with_reach(model: Any, X: Any, levels: Floats | None = None) -> tuple[Floats, Floats]:
    """Return extrapolated quantiles, of no level by default, and the reach of the same curves."""
    check_is_fitted(model)
    notes: list[str] = []

    def read(curve: QuantileCurve, rows: slice) -> Floats:
        reach = curve.reach[:, None]
        return reach if levels is None else np.hstack((curve.at(levels), reach))

    table = model._map_curves(X, read, notes)
    warn_of(notes, stacklevel=3)
    return table[:, :-1], table[:, -1]


def identified(
    values: CurveReader,
    levels: CurveReader,
    limits: CurveReader,
    beyond: str,
    note: str,
    notes: list[str],
    elapsed: Callable[[slice], ArrayLike] | None = None,
) -> CurveReader:
    """Return a reader of values that treats those at levels that are not identified as wanted.

    ``levels`` reads the levels of the values, in common or for each row; ``limits`` the values at
    the limit of support. ``note`` joins ``notes`` where ``beyond`` is ``"warn"``. All is asked
    given no event until an ``elapsed`` time of the rows, by default from the start on.
    """

    def read(curve: QuantileCurve, rows: slice) -> NDArray[Any]:
        if elapsed is not None:
            curve = curve.given(elapsed(rows))
        found = values(curve, rows)
        if beyond == "extrapolate":
            return found
        if beyond == "warn":
            late = curve.starts_late
            if late.any():
                add_note_of_start(curve, notes)
                on_time = np.flatnonzero(~late)
                asked = np.broadcast_to(levels(curve, rows), found.shape)
                if len(on_time) and not curve.take(on_time).identifies_all(asked[on_time]):
                    notes.append(note)
            # One individual is enough, and a reach costs as much as half a prediction.
            elif note not in notes and not curve.identifies_all(levels(curve, rows)):
                notes.append(note)
            return found
        replacement: Any = np.nan
        if beyond == "inf":
            replacement = -np.inf if curve.reach_is_lowest else np.inf
        elif beyond == "limit":
            replacement = limits(curve, rows)
        return np.where(curve.is_identified(levels(curve, rows)), found, replacement)

    return read


def add_note_of_start(curve: QuantileCurve, notes: list[str]) -> None:
    """Say from when on the data speak for rows that they do not know from the start, if any."""
    late = curve.starts_late
    if not late.any() or any(each.startswith(_LATE) for each in notes):
        return
    known, share = curve.known_from[late].max(), curve.unseen_share[late].max()
    notes.append(
        f"{_LATE}rows like these came under observation late, and by the model up to "
        f"{100.0 * share:.0f} % of the events come before that. Ask given no event until "
        f"{known:.3g}, as predict_remaining(X, elapsed={known:.3g}) does, or choose what to "
        "return by beyond=."
    )


def functions_of_time(
    kind: type[SurvivalFunction], times: Floats, *, return_array: bool, masked: bool
) -> CurveReader:
    """Return a reader of one function of time per row, or of their values at times."""

    def read(curve: QuantileCurve, rows: slice) -> NDArray[Any]:
        if return_array:
            survival = curve.survival(times)
            return survival if kind is SurvivalFunction else cumulative_hazard(survival)
        functions = np.empty(len(curve), dtype=object)
        for row in range(len(curve)):
            functions[row] = kind(curve, row, times, masked=masked)
        return functions

    return read


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
