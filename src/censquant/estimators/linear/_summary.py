"""Coefficients with their precision as a table."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._frames import pandas_for

_COLUMNS = ("coefficient", "standard_error", "lower", "upper")
_HEADINGS = ("coefficient", "std. error", "lower 95 %", "upper 95 %")


@dataclass(frozen=True, eq=False)
class CoefficientSummary:
    """Coefficients of every level, with standard errors and 95 % limits where there are any.

    Made by :meth:`LinearQuantileRegressor.summary`; ``str()`` of it is one table per level.

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
    quantiles: NDArray[np.float64]  # shape (n_levels,)
    terms: tuple[str, ...]  # the intercept, if any, and the features
    coefficients: NDArray[np.float64]  # shape (n_levels, n_terms)
    standard_errors: NDArray[np.float64] | None = None  # shape (n_levels, n_terms)
    limits: NDArray[np.float64] | None = None  # shape (n_levels, n_terms, 2); lower and upper

    def _values(self) -> NDArray[np.float64]:
        """Return the numbers of the table, of shape (n_levels, n_terms, n_columns)."""
        parts = [self.coefficients[..., None]]
        if self.standard_errors is not None and self.limits is not None:
            parts += [self.standard_errors[..., None], self.limits]
        return np.concatenate(parts, axis=-1)

    def __str__(self) -> str:
        values = self._values()
        left = max(len(term) for term in self.terms)
        lines = [self.title]
        for tau, table in zip(self.quantiles.tolist(), values, strict=True):
            headings = "".join(f"{word:>13}" for word in _HEADINGS[: values.shape[-1]])
            lines += ["", f"quantile {tau:g}", f"{'':{left}}{headings}"]
            for term, row in zip(self.terms, table.tolist(), strict=True):
                lines.append(f"{term:{left}}" + "".join(f"{number:>13.5g}" for number in row))
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """Return a DataFrame with one row per level and term.

        Returns
        -------
        frame : DataFrame
            Indexed by ``quantile`` and ``term``, with the columns ``coefficient`` and, where there
            are replications, ``standard_error``, ``lower`` and ``upper``.

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
        index = pd.MultiIndex.from_product(
            [self.quantiles.tolist(), self.terms], names=["quantile", "term"]
        )
        return pd.DataFrame(
            values.reshape(-1, values.shape[-1]),
            index=index,
            columns=list(_COLUMNS[: values.shape[-1]]),
        )
