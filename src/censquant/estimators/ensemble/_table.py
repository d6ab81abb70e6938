"""What a pool says of itself: its candidates as a table, and a summary in words."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from censquant._frames import html_table, pandas_for
from censquant._rows._fit_data import spread
from censquant._typing import Floats
from censquant.estimators.ensemble._mixture import LEVELS
from censquant.metrics import concordance_index, pinball_loss_censored
from censquant.metrics._verdict import SMALL_GAP
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import DEFAULT_QUANTILES
from censquant.survival import Target

if TYPE_CHECKING:
    from censquant.estimators.ensemble._candidates import Candidate
    from censquant.estimators.ensemble._pool import Pool
    from censquant.estimators.ensemble._weights import HeldOutScore

POOL = "pool"
"""Name of the row that has the scores of all candidates together."""

REJECTED, WIDE_GAP = 0.01, 0.05
"""A fit warns of its calibration where a test rejects it and the largest gap is wide."""

_MOST_ROWS = 10_000
_DIGITS = {
    "weight": 2,
    "log_score": 4,
    "brier": 4,
    "pinball": 4,
    "concordance": 3,
    "seconds": 1,
}


@dataclass(frozen=True)
class CandidateRow:
    """One candidate of a pool, or the pool itself."""

    name: str
    weight: float  # in the pool
    # Scores of held-out rows: log score in 40 cells, integrated Brier score and censored check loss
    # over the levels 0.05 to 0.95 (lower is better), Harrell's C of the restricted mean (higher is
    # better). NaN for candidates that were dropped early.
    log_score: float
    brier: float
    pinball: float
    concordance: float
    seconds: float  # of all its fits
    note: str = ""  # why it was dropped, if it was


@dataclass(frozen=True)
class CandidateTable:
    """The candidates of a pool with weights and scores of held-out rows; the last row is the pool.

    Examples
    --------
    >>> from censquant.estimators.ensemble._table import CandidateRow, CandidateTable
    >>> table = CandidateTable((CandidateRow("cox", 0.7, 1.62, 0.18, 0.21, 0.66, 0.1),))
    >>> table["cox"].weight
    0.7
    >>> print(table)
    name  weight  log_score   brier  pinball  concordance  seconds  note
    cox     0.70     1.6200  0.1800   0.2100        0.660      0.1
    """

    rows: tuple[CandidateRow, ...]

    def __iter__(self) -> Iterator[CandidateRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> CandidateRow:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(name)

    def _cells(self) -> list[list[str]]:
        heading = [field.name for field in fields(CandidateRow)]
        return [heading] + [
            [
                f"{value:.{_DIGITS[name]}f}" if name in _DIGITS else str(value)
                for name, value in asdict(row).items()
            ]
            for row in self.rows
        ]

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(len(line[place]) for line in cells) for place in range(len(cells[0]))]
        ends = (0, len(widths) - 1)  # name and note are text
        return "\n".join(
            "  ".join(
                cell.ljust(width) if place in ends else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in cells
        )

    def _repr_html_(self) -> str:
        heading, *lines = self._cells()
        return html_table(heading, lines)

    def to_frame(self) -> Any:
        """Return a DataFrame with one row per candidate, indexed by name."""
        pd = pandas_for("to_frame")
        return pd.DataFrame([asdict(row) for row in self.rows]).set_index("name")


def scored_among(rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the places of the held-out rows by which the table compares candidates."""
    return spread(len(rows), _MOST_ROWS)


def table_of(
    candidates: Sequence["Candidate"],
    weights: dict[str, float],
    pooled: Floats | None,
    score: "HeldOutScore",
    horizon: float,
    lower: float,
) -> CandidateTable:
    """Return the table of all candidates and of the pool, scored on the rows of ``score``.

    Candidates have predictions for these rows only, and ``pooled`` holds the pool's quantiles of
    them at ``LEVELS``, None if no row was held out; everything is in the units of right-censored
    times.
    """

    def scored(name: str, weight: float, values: Floats | None, seconds: float, note: str) -> Any:
        numbers = (np.nan,) * 4
        if values is not None:
            numbers = _scores(values, score, horizon, lower)
        return CandidateRow(name, weight, *numbers, seconds, note)

    table = []
    for each in candidates:
        values = None if each.values is None else each.held_out(slice(None)).values
        note = f"dropped: {each.dropped}" if each.dropped else ""
        table.append(scored(each.name, weights[each.name], values, each.seconds, note))
    total = sum(each.seconds for each in candidates)
    table.append(scored(POOL, 1.0, pooled, total, ""))
    return CandidateTable(tuple(table))


def _scores(
    values: Floats, score: "HeldOutScore", horizon: float, lower: float
) -> tuple[float, float, float, float]:
    """Return log score, Brier score, check loss and concordance of quantiles at ``LEVELS``."""
    log_score = float(score.weight @ score.log.rows(values, LEVELS, lower)) * score.log.event_share
    if score.brier is None:  # nor are the others known of such rows
        return log_score, np.nan, np.nan, np.nan
    y = (score.target.time, score.target.event)
    columns = np.flatnonzero(np.isin(LEVELS, DEFAULT_QUANTILES))
    pinball = pinball_loss_censored(
        y, values[:, columns], LEVELS[columns], sample_weight=score.weight
    )
    brier = float(score.weight @ score.brier.rows(values, LEVELS, lower))
    curve = QuantileCurve.from_predictions(values, LEVELS, lower)
    concordance = np.nan
    if _is_comparable(score.target):
        concordance = concordance_index(
            y, curve.restricted_mean(horizon), sample_weight=score.weight
        )
    return log_score, brier, float(pinball), float(concordance)


def _is_comparable(target: Target) -> bool:
    """Whether any event has an individual that was followed for longer."""
    return bool(target.event.any() and target.time[target.event].min() < target.time.max())


@dataclass(frozen=True)
class PoolSummary:
    """A pool in words.

    Made by ``summary()`` of a fitted pool; ``str()`` of it is text, notebooks show the table.

    Examples
    --------
    >>> from censquant.estimators.ensemble._table import CandidateTable, PoolSummary
    >>> print(PoolSummary(("Two candidates were pooled.",), CandidateTable(())))
    Two candidates were pooled.
    <BLANKLINE>
    name  weight  log_score  brier  pinball  concordance  seconds  note
    """

    sentences: tuple[str, ...]
    table: CandidateTable

    @classmethod
    def of(cls, pool: "Pool") -> "PoolSummary":
        """Return the summary of a fitted pool."""
        used = sorted(pool.weights_.items(), key=lambda item: -item[1])
        listed = ", ".join(f"{name} {weight:.0%}" for name, weight in used if weight > 0)
        low, high = pool.follow_up_
        sentences = [
            f"{type(pool).__name__} pools {len(pool.weights_)} candidates: {listed}.",
            f"Times from {low:g} to {high:g} were observed; restricted means end at "
            f"{pool.horizon_:g}.",
        ]
        whole = pool.candidates_[POOL]
        if np.isfinite(whole.pinball):
            sentences.append(
                f"On held-out rows the pool has a log score of {whole.log_score:.3f}, an "
                f"integrated Brier score of {whole.brier:.4f}, a censored check loss of "
                f"{whole.pinball:.4g} and a concordance of {whole.concordance:.3f}."
            )
        elif np.isfinite(whole.log_score):
            sentences.append(
                f"On held-out rows the pool has a log score of {whole.log_score:.3f}; other scores "
                "are not known of rows with intervals or entries."
            )
        if pool.calibration_p_value_ is not None:
            sentences.append(_calibration(pool.calibration_p_value_, pool.calibration_gap_))
        sentences.append(f"{pool.tail_rule_}")
        return cls(tuple(sentences), pool.candidates_)

    def __str__(self) -> str:
        return "\n".join((*self.sentences, "", str(self.table)))

    def _repr_html_(self) -> str:
        words = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences)
        return words + self.table._repr_html_()


def _calibration(p_value: float, gap: tuple[float, float] | None) -> str:
    """Return what held-out rows say of the calibration; the size of the gap decides."""
    if p_value >= REJECTED or gap is None:
        verdict = "reject" if p_value < REJECTED else "do not reject"
        return f"Held-out rows {verdict} its calibration (p = {p_value:.2g})."
    level, observed = gap
    said = (
        f"by the predicted {100 * level:.3g} % quantile, where they are furthest off, "
        f"{100 * observed:.3g} % of held-out rows had the event (p = {p_value:.2g})."
    )
    if abs(observed - level) <= SMALL_GAP:
        return f"Its quantiles are close to calibrated: {said}"
    return f"Its quantiles are not calibrated: {said}"
