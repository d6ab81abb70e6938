"""Coefficients with their precision, and tests, as tables: text, frames and HTML."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, ndtr

from censquant._frames import pandas_for
from censquant._typing import Floats
from censquant.survival._comparisons import normal_deviate

# Heading and width in text, format, and the name in frames.
_Shown = tuple[str, int, str, str]
_COEFFICIENT: _Shown = ("coefficient", 13, ".5g", "coefficient")
_ERROR: _Shown = ("std. error", 13, ".5g", "standard_error")
_LIMITS: tuple[_Shown, ...] = (
    ("lower 95 %", 13, ".5g", "lower"),
    ("upper 95 %", 13, ".5g", "upper"),
)
_TESTS: tuple[_Shown, ...] = (("z", 7, ".2f", "z"), ("p", 10, ".3g", "p"))
_SHORT: tuple[_Shown, ...] = (
    ("coef", 11, ".4g", "coefficient"),
    ("std. error", 11, ".4g", "standard_error"),
)
_FACTORS: tuple[_Shown, ...] = (
    ("exp(coef)", 10, ".4g", "exp_coefficient"),
    ("lower", 10, ".4g", "exp_lower"),
    ("upper", 10, ".4g", "exp_upper"),
)
_CHI_SQUARED = ("chi-squared", "df", "p")
# Directions of a covariance below this share of the largest are rounding.
_NO_VARIANCE = 1e-12


@dataclass(frozen=True, eq=False)
class ChiSquaredTests:
    """Tests by chi-squared statistics, one in each row.

    Made by :meth:`CoefficientSummary.joint_test` and by
    :meth:`CoxQuantileRegressor.test_proportional_hazards`. ``str()`` of it is a table; a notebook
    shows it as HTML.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.estimators._summary import ChiSquaredTests
    >>> print(ChiSquaredTests("Example", "term", ("stage",), np.array([7.38]), np.array([2])))
    Example
    term    chi-squared  df         p
    stage          7.38   2     0.025
    """

    title: str
    of: str  # what rows are
    names: tuple[str, ...]
    statistics: Floats
    degrees_of_freedom: NDArray[np.int64]

    @property
    def p_values(self) -> Floats:
        """Chances of statistics as large as these where the hypotheses hold; NaN without any."""
        known = self.degrees_of_freedom > 0
        found = chdtrc(
            np.maximum(self.degrees_of_freedom, 1), np.where(known, self.statistics, 0.0)
        )
        return np.where(known, found, np.nan)

    def _cells(self) -> list[list[str]]:
        rows = zip(self.statistics, self.degrees_of_freedom, self.p_values, strict=True)
        return [[f"{value:.4g}", str(df), f"{p:.3g}"] for value, df, p in rows]

    def lines(self) -> list[str]:
        """Return the table as lines of text, without the title."""
        left = max(len(self.of), *(len(name) for name in self.names))
        heading = f"{self.of:{left}}" + "".join(map(str.rjust, _CHI_SQUARED, (13, 4, 10)))
        rows = zip(self.names, self._cells(), strict=True)
        return [
            heading,
            *(f"{name:{left}}" + "".join(map(str.rjust, row, (13, 4, 10))) for name, row in rows),
        ]

    def __str__(self) -> str:
        return "\n".join([self.title, *self.lines()])

    def _repr_html_(self) -> str:
        rows = zip(self.names, self._cells(), strict=True)
        return html_table(self.title, (self.of, *_CHI_SQUARED), rows)

    def to_frame(self) -> Any:
        """Return a DataFrame with one row per test.

        Returns
        -------
        frame : DataFrame
            With the columns ``statistic``, ``degrees_of_freedom`` and ``p``.
        """
        pd = pandas_for("to_frame")
        columns = {
            "statistic": self.statistics,
            "degrees_of_freedom": self.degrees_of_freedom,
            "p": self.p_values,
        }
        return pd.DataFrame(columns, index=pd.Index(self.names, name=self.of))


@dataclass(frozen=True, eq=False)
class CoefficientSummary:
    """Coefficients of every level, with standard errors, limits and tests where there are any.

    Made by the ``summary`` of :class:`LinearQuantileRegressor`, and of :class:`AFTRegressor` and
    :class:`CoxQuantileRegressor`, whose coefficients are the same for all levels. ``str()`` of it
    is one table per level; a notebook shows it as HTML.

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
    covariance: NDArray[np.float64] | None = None  # shape (n_levels, n_terms, n_terms)
    has_factors: bool = False  # whether exponentials of coefficients and of their limits are shown
    columns: tuple[str, ...] = ()  # the column of X that each term belongs to, if not its own

    @classmethod
    def of_estimates(
        cls,
        title: str,
        terms: Sequence[str],
        coefficients: Floats,
        covariance: Floats | None,
        columns: Sequence[str] = (),
    ) -> "CoefficientSummary":
        """Return the table of maximum likelihood estimates, with limits of the normal law."""
        table = np.asarray(coefficients)[None]
        if covariance is None:
            return cls(title, None, tuple(terms), table, columns=tuple(columns), has_factors=True)
        errors = np.sqrt(np.diagonal(covariance))[None]
        half = normal_deviate(0.95) * errors
        limits = np.stack([table - half, table + half], axis=-1)
        return cls(
            title, None, tuple(terms), table, errors, limits, covariance[None], True, tuple(columns)
        )

    @property
    def z(self) -> NDArray[np.float64] | None:
        """Coefficients over their standard errors, of shape (n_levels, n_terms)."""
        if self.standard_errors is None:
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.coefficients / self.standard_errors)

    @property
    def p_values(self) -> NDArray[np.float64] | None:
        """P-values of Wald's two-sided tests that coefficients are 0, by the normal law."""
        z = self.z
        return None if z is None else np.asarray(2.0 * ndtr(-np.abs(z)))

    def joint_test(self, terms: str | Sequence[str]) -> ChiSquaredTests:
        """Test that several coefficients are 0 together, such as all those of one column of text.

        Parameters
        ----------
        terms : str or sequence of str
            Terms, or names of columns that have several.

        Returns
        -------
        tests : ChiSquaredTests
            Wald's test, of each level where there are several.

        Examples
        --------
        >>> from censquant import AFTRegressor
        >>> from censquant.datasets import load_gbsg2
        >>> X, y = load_gbsg2(as_frame=True)
        >>> summary = AFTRegressor().fit(X[["horTh", "age", "pnodes"]], y).summary()
        >>> tests = summary.joint_test(["horTh", "age"])
        >>> tests.degrees_of_freedom, float(tests.statistics[0].round(1))
        (array([2]), 9.4)
        """
        if self.covariance is None:
            raise ValueError(
                "joint_test needs the covariance of the coefficients, got a summary without: fit "
                "LinearQuantileRegressor with n_bootstrap=200, the others with penalty=0."
            )
        wanted = [terms] if isinstance(terms, str) else [str(term) for term in terms]
        columns = self.columns or self.terms
        places: list[int] = []
        for name in wanted:
            found = [
                place
                for place, (term, column) in enumerate(zip(self.terms, columns, strict=True))
                if name in (term, column)
            ]
            if not found:
                known = ", ".join(repr(term) for term in self.terms[:10])
                raise ValueError(f"terms must be among {known}, got {name!r}.")
            places += found
        if not places:
            raise ValueError("terms must name at least one, got none.")
        tests = [
            wald_test(beta[places], covariance[np.ix_(places, places)])
            for beta, covariance in zip(self.coefficients, self.covariance, strict=True)
        ]
        of, names = "terms", [", ".join(wanted)]
        if self.quantiles is not None:
            of, names = "quantile", [f"{tau:g}" for tau in self.quantiles.tolist()]
        return ChiSquaredTests(
            f"Joint test of {', '.join(wanted)}",
            of,
            tuple(names),
            np.array([value for value, _ in tests]),
            np.array([df for _, df in tests]),
        )

    def _columns_with_terms(self) -> list[str]:
        """Return the columns of X that have several terms, in their order."""
        names = [name for name in self.columns if name]
        return [name for name in dict.fromkeys(names) if names.count(name) > 1]

    def _table(self) -> tuple[list[_Shown], NDArray[np.float64]]:
        """Return what the columns of text are, and their numbers, (n_levels, n_terms, k)."""
        beta, z, p = self.coefficients, self.z, self.p_values
        if self.standard_errors is None or self.limits is None or z is None or p is None:
            with np.errstate(over="ignore"):
                parts = [beta, *([np.exp(beta)] if self.has_factors else [])]
            return [_COEFFICIENT, *_FACTORS[:1]][: len(parts)], np.stack(parts, axis=-1)
        if not self.has_factors:
            low, high = self.limits[..., 0], self.limits[..., 1]
            parts = [beta, self.standard_errors, low, high, z, p]
            return [_COEFFICIENT, _ERROR, *_LIMITS, *_TESTS], np.stack(parts, axis=-1)
        with np.errstate(over="ignore"):
            factors = [np.exp(beta), np.exp(self.limits[..., 0]), np.exp(self.limits[..., 1])]
        parts = [beta, self.standard_errors, z, p, *factors]
        return [*_SHORT, *_TESTS, *_FACTORS], np.stack(parts, axis=-1)

    def _titles(self) -> list[str]:
        """Return what stands above each table."""
        if self.quantiles is None:
            return [""]
        return [f"quantile {tau:g}" for tau in self.quantiles.tolist()]

    def _joint_tests(self) -> list[ChiSquaredTests]:
        """Return the tests of the columns that have several terms."""
        if self.covariance is None:
            return []
        return [self.joint_test(name) for name in self._columns_with_terms()]

    def __str__(self) -> str:
        shown, values = self._table()
        left = max(len(term) for term in self.terms)
        widths = [width for _, width, _, _ in shown]
        headings = "".join(name.rjust(width) for name, width, _, _ in shown)
        lines = [self.title]
        for title, table in zip(self._titles(), values, strict=True):
            lines += ["", *([title] if title else []), f"{'':{left}}{headings}"]
            for term, row in zip(self.terms, table.tolist(), strict=True):
                cells = _cells(row, shown)
                # A number that is too long for its column still stands apart from the one before.
                padded = (
                    f" {cell:>{width - 1}}" for cell, width in zip(cells, widths, strict=True)
                )
                lines.append(f"{term:{left}}" + "".join(padded))
        for test in self._joint_tests():
            lines += ["", str(test)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        shown, values = self._table()
        headings = ("", *(name for name, *_ in shown))
        parts = [f"<p>{escape(self.title)}</p>".replace("\n", "<br>")]
        for title, table in zip(self._titles(), values, strict=True):
            rows = zip(self.terms, (_cells(row, shown) for row in table.tolist()), strict=True)
            parts.append(html_table(title, headings, rows))
        parts += [test._repr_html_() for test in self._joint_tests()]
        return "".join(parts)

    def to_frame(self) -> Any:
        """Return a DataFrame with one row per level and term.

        Returns
        -------
        frame : DataFrame
            Indexed by ``quantile``, if there are levels, and ``term``, with the column
            ``coefficient`` and, where they are known, ``standard_error``, ``lower``, ``upper``,
            ``z`` and ``p``; of :class:`AFTRegressor` and :class:`CoxQuantileRegressor` also
            ``exp_coefficient`` with the limits ``exp_lower`` and ``exp_upper``.

        Examples
        --------
        >>> import numpy as np
        >>> from censquant.estimators.linear import CoefficientSummary
        >>> summary = CoefficientSummary("", np.array([0.5]), ("age",), np.array([[2.0]]))
        >>> float(summary.to_frame().loc[(0.5, "age"), "coefficient"])
        2.0
        """
        pd = pandas_for("to_frame")
        shown, values = self._table()
        numbers = dict(zip([name for *_, name in shown], np.moveaxis(values, -1, 0), strict=True))
        if "standard_error" in numbers and self.limits is not None:
            numbers |= {"lower": self.limits[..., 0], "upper": self.limits[..., 1]}
        order = [name for *_, name in (_COEFFICIENT, _ERROR, *_LIMITS, *_TESTS, *_FACTORS)]
        index = pd.Index(self.terms, name="term")
        if self.quantiles is not None:
            levels = self.quantiles.tolist()
            index = pd.MultiIndex.from_product([levels, self.terms], names=["quantile", "term"])
        return pd.DataFrame(
            {name: numbers[name].ravel() for name in order if name in numbers}, index=index
        )


def chi_squared_tail(statistic: ArrayLike, df: ArrayLike) -> Floats:
    """Return the chance of a larger statistic; NaN without degrees of freedom."""
    known = np.asarray(df) > 0
    found = chdtrc(np.where(known, df, 1), np.where(known, statistic, 0.0))
    return np.where(known, found, np.nan)


def wald_test(coefficients: Floats, covariance: Floats) -> tuple[float, int]:
    """Return the chi-squared statistic that coefficients are 0, and its degrees of freedom.

    Coefficients without a variance, such as those of constant columns, are left out.
    """
    known = np.isfinite(np.diagonal(covariance)) & (np.diagonal(covariance) > 0)
    if not known.any():
        return float("nan"), 0
    spread = np.sqrt(np.diagonal(covariance)[known])
    inner = covariance[np.ix_(known, known)] / np.outer(spread, spread)
    sizes, axes = np.linalg.eigh(inner)
    kept = sizes > _NO_VARIANCE * max(sizes[-1], 1e-300)
    along = (coefficients[known] / spread) @ axes[:, kept]
    return float(along**2 @ (1.0 / sizes[kept])), int(kept.sum())


def html_table(title: str, headings: Sequence[str], rows: Any) -> str:
    """Return a table of texts, each row a name and its cells."""
    head = "".join(f"<th>{escape(word)}</th>" for word in headings)
    body = "".join(
        f"<tr><th>{escape(name)}</th>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
        for name, cells in rows
    )
    caption = f"<caption>{escape(title)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cells(row: list[float], shown: list[_Shown]) -> list[str]:
    """Return the numbers of a row as text."""
    return [f"{number:{how}}" for number, (*_, how, _) in zip(row, shown, strict=True)]
