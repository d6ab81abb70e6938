"""The outcome of a comparison: scores of methods, with their differences from the first."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from censquant.metrics import BootstrapInterval


@dataclass(frozen=True)
class ComparisonScore:
    """A score of one method on rows that it was not fitted to.

    Parameters
    ----------
    metric : str
    direction : {"higher", "lower"}
        Which is better.
    value : float
    lower, upper : float
        Ends of the 95 % interval; NaN where there is none.
    difference : float
        From the first method; NaN for that one itself.
    difference_lower, difference_upper : float
        Ends of its 95 % interval.
    p_value : float
        Of the hypothesis that both score the same, two-sided, corrected by Holm for the number of
        methods.

    Examples
    --------
    >>> from censquant.benchmark import ComparisonScore
    >>> ComparisonScore("pinball_loss_censored", "lower", 12.5).value
    12.5
    """

    metric: str
    direction: str
    value: float
    lower: float = math.nan
    upper: float = math.nan
    difference: float = math.nan
    difference_lower: float = math.nan
    difference_upper: float = math.nan
    p_value: float = math.nan

    @classmethod
    def of(
        cls, metric: str, direction: str, alone: BootstrapInterval, paired: BootstrapInterval | None
    ) -> "ComparisonScore":
        """Return the score of bootstrap intervals, alone and paired with the first method."""
        score = cls(metric, direction, alone.value, alone.lower, alone.upper)
        if paired is None or paired.p_value is None:
            return score
        return replace(
            score,
            difference=paired.value,
            difference_lower=paired.lower,
            difference_upper=paired.upper,
            p_value=paired.p_value,
        )


@dataclass(frozen=True)
class ComparisonRow:
    """One method of a comparison.

    Parameters
    ----------
    method : str
    seconds : float
        Of all its fits and predictions.
    error : str
        Why it has no scores; empty if it has.
    scores : tuple of ComparisonScore

    Examples
    --------
    >>> from censquant.benchmark import ComparisonRow
    >>> ComparisonRow("cox", 0.1, "", ()).method
    'cox'
    """

    method: str
    seconds: float
    error: str
    scores: tuple[ComparisonScore, ...]

    def __getitem__(self, metric: str) -> ComparisonScore:
        for score in self.scores:
            if score.metric == metric:
                return score
        raise KeyError(metric)


@dataclass(frozen=True)
class Comparison:
    """Methods with their cross-validated scores; made by :func:`compare`.

    Parameters
    ----------
    rows : tuple of ComparisonRow
    reference : str
        The method that the others are compared with.
    n_rows, n_events : int
    n_folds : int

    Examples
    --------
    >>> from censquant.benchmark import Comparison, ComparisonRow
    >>> Comparison((ComparisonRow("cox", 0.1, "", ()),), "cox", 100, 40, 5)["cox"].seconds
    0.1
    """

    rows: tuple[ComparisonRow, ...]
    reference: str
    n_rows: int
    n_events: int
    n_folds: int

    def __getitem__(self, method: str) -> ComparisonRow:
        for row in self.rows:
            if row.method == method:
                return row
        raise KeyError(method)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain lists, numbers and text."""
        return asdict(self)


def holm(scores: Mapping[str, ComparisonScore]) -> dict[str, ComparisonScore]:
    """Return scores with p-values corrected for their number by Holm's method."""
    tested = sorted(
        (name for name, score in scores.items() if not math.isnan(score.p_value)),
        key=lambda name: scores[name].p_value,
    )
    corrected, highest = dict(scores), 0.0
    for place, name in enumerate(tested):
        highest = max(highest, min(1.0, (len(tested) - place) * scores[name].p_value))
        corrected[name] = replace(scores[name], p_value=highest)
    return corrected
