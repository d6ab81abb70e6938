"""Coefficients with their precision as a table."""

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from censquant._frames import pandas_for

_COLUMNS = ("coefficient", "standard_error", "lower", "upper", "z", "p", "exp_coefficient")
_HEADINGS = ("coefficient", "std. error", "lower 95 %", "upper 95 %", "z", "p", "exp(coef)")
_WIDTHS = (13, 13, 13, 13, 11, 11, 11)
_DIGITS = (5, 5, 5, 5, 4, 4, 4)


@dataclass(frozen=True, eq=False)
class CoefficientSummary:
    """Coefficients of every level, with standard errors and 95 % limits where there are any.

    Made by :meth:`LinearQuantileRegressor.summary` and :meth:`AFTRegressor.summary`, whose
    coefficients are the same for all levels. ``str()`` of it is one table per level; a notebook
    shows it as HTML.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.estimators.linear import CoefficientSummary
    >>> print(CoefficientSummary("Example", np.array([0.5]), ("age",), np.array([[2.0]])))
    Example
    <BLANKLINE>
    quantile 0.5
         coefficient
    age            2
    """

    title: str  # how the coefficients and their precision were estimated
    quantiles: NDArray[np.float64] | None  # shape (n_levels,); None for one table for all levels
    terms: tuple[str, ...]  # the intercept, if any, and the features
    coefficients: NDArray[np.float64]  # shape (n_levels, n_terms)
    standard_errors: NDArray[np.float64] | None = None  # shape (n_levels, n_terms)
    limits: NDArray[np.float64] | None = None  # shape (n_levels, n_terms, 2); lower and upper
    has_tests: bool = False  # whether Wald's tests and exponentials of coefficients are shown

    def _values(self) -> NDArray[np.float64]:
        """Return the numbers of the table, of shape (n_levels, n_terms, n_columns)."""
        parts = [self.coefficients[..., None]]
        if self.standard_errors is not None and self.limits is not None:
            parts += [self.standard_errors[..., None], self.limits]
            if self.has_tests:
                with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                    z = self.coefficients / self.standard_errors
                    factor = np.exp(self.coefficients)
                parts += [part[..., None] for part in (z, 2.0 * ndtr(-np.abs(z)), factor)]
        return np.concatenate(parts, axis=-1)

    def _titles(self) -> list[str]:
        """Return what stands above each table."""
        if self.quantiles is None:
            return [""]
        return [f"quantile {tau:g}" for tau in self.quantiles.tolist()]

    def __str__(self) -> str:
        values = self._values()
        left = max(len(term) for term in self.terms)
        headings = "".join(map(str.rjust, _HEADINGS[: values.shape[-1]], _WIDTHS))
        lines = [self.title]
        for title, table in zip(self._titles(), values, strict=True):
            lines += ["", *([title] if title else []), f"{'':{left}}{headings}"]
            for term, row in zip(self.terms, table.tolist(), strict=True):
                lines.append(f"{term:{left}}" + "".join(map(str.rjust, _cells(row), _WIDTHS)))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        values = self._values()
        cells = "".join(f"<th>{word}</th>" for word in ("", *_HEADINGS[: values.shape[-1]]))
        parts = [f"<p>{escape(self.title)}</p>".replace("\n", "<br>")]
        for title, table in zip(self._titles(), values, strict=True):
            parts.append(f"<table><caption>{title}</caption><thead><tr>{cells}</tr></thead><tbody>")
            for term, row in zip(self.terms, table.tolist(), strict=True):
                numbers = "".join(f"<td>{cell}</td>" for cell in _cells(row))
                parts.append(f"<tr><th>{escape(term)}</th>{numbers}</tr>")
            parts.append("</tbody></table>")
        return "".join(parts)

    def to_frame(self) -> Any:
        """Return a DataFrame with one row per level and term.

        Returns
        -------
        frame : DataFrame
            Indexed by ``quantile``, if there are levels, and ``term``, with the columns
            ``coefficient`` and, where they are known, ``standard_error``, ``lower`` and ``upper``,
            of :class:`AFTRegressor` also ``z``, ``p`` and ``exp_coefficient``.

        Examples
        --------
        >>> import numpy as np
        >>> from censquant.estimators.linear import CoefficientSummary
        >>> summary = CoefficientSummary("", np.array([0.5]), ("age",), np.array([[2.0]]))
        >>> float(summary.to_frame().loc[(0.5, "age"), "coefficient"])
        2.0
        """
        pd = pandas_for("to_frame")
        values = self._values()
        index = pd.Index(self.terms, name="term")
        if self.quantiles is not None:
            levels = self.quantiles.tolist()
            index = pd.MultiIndex.from_product([levels, self.terms], names=["quantile", "term"])
        return pd.DataFrame(
            values.reshape(-1, values.shape[-1]),
            index=index,
            columns=list(_COLUMNS[: values.shape[-1]]),
        )


def _cells(row: list[float]) -> list[str]:
    """Return the numbers of a row as text."""
    return [f"{number:.{digits}g}" for number, digits in zip(row, _DIGITS, strict=False)]
