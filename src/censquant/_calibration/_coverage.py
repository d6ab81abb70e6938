"""The coverage of bounds that calibration rows show, before and after the correction."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from censquant._frames import html_table, pandas_for

_HEADING = (
    "side",
    "confidence",
    "coverage",
    "error",
    "uncalibrated",
    "finite",
    "limited",
    "unlimited",
    "group",
)


@dataclass(frozen=True)
class CoverageRow:
    """Estimated coverage of the bounds of one confidence, by the calibration rows."""

    side: str
    confidence: float  # coverage to reach
    estimate: float  # share of events on the right side of the bounds; NaN if none is finite
    standard_error: float
    uncalibrated: float  # the estimate for the quantiles of the model as it is
    finite: float  # share of rows whose bound is neither trivial nor infinite
    group: str = ""  # empty for all rows
    limited: float = math.nan  # share of rows whose bound follow-up cuts; NaN in older files
    unlimited: float = math.nan  # the estimate among the other rows; NaN if there are none


@dataclass(frozen=True)
class CoverageTable:
    """Estimated coverage of calibrated bounds, row by row.

    Examples
    --------
    >>> from censquant._calibration._coverage import CoverageRow, CoverageTable
    >>> row = CoverageRow("lower", 0.9, 0.914, 0.007, 0.83, 1.0, limited=0.2, unlimited=0.902)
    >>> table = CoverageTable((row,))
    >>> print(table)
    side   confidence  coverage  error  uncalibrated  finite  limited  unlimited  group
    lower        0.90     0.914  0.007         0.830    1.00     0.20      0.902
    >>> table.at(0.9).estimate
    0.914
    """

    rows: tuple[CoverageRow, ...]

    def __iter__(self) -> Iterator[CoverageRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def at(self, confidence: float, side: str = "lower", group: str = "") -> CoverageRow:
        """Return the row of a confidence, side and subgroup.

        Parameters
        ----------
        confidence : float
        side : {"lower", "upper"}
        group : str

        Returns
        -------
        row : CoverageRow
        """
        for row in self.rows:
            if (row.side, row.group) == (side, group) and abs(row.confidence - confidence) < 1e-9:
                return row
        raise KeyError((confidence, side, group))

    def _repr_html_(self) -> str:
        lines = (line.split(maxsplit=len(_HEADING) - 1) for line in str(self).splitlines()[1:])
        return html_table(_HEADING, lines)

    def __str__(self) -> str:
        lines = ["  ".join((f"{_HEADING[0]:<5}", *_HEADING[1:]))]
        lines += [
            f"{row.side:<5}  {row.confidence:>10.2f}  {row.estimate:>8.3f}  "
            f"{row.standard_error:>5.3f}  {row.uncalibrated:>12.3f}  {row.finite:>6.2f}  "
            f"{row.limited:>7.2f}  {row.unlimited:>9.3f}  {row.group}"
            for row in self.rows
        ]
        return "\n".join(line.rstrip() for line in lines)

    def to_frame(self) -> Any:
        """Return a DataFrame with one row per side, confidence and subgroup."""
        pd = pandas_for("to_frame")
        return pd.DataFrame([asdict(row) for row in self.rows])
