"""A fitted linear model: what it predicts, tells and writes."""

import os
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from censquant.estimators._base import QuantileRegressor
from censquant.estimators._parts import Part
from censquant.estimators._persistence import save_estimator
from censquant.estimators.linear._files import linear_part, restored_linear
from censquant.estimators.linear._observed import ObservedTime
from censquant.estimators.linear._program import Floats
from censquant.estimators.linear._summary import CoefficientSummary, pandas_for
from censquant.quantiles import QuantileCurve, identified_levels
from censquant.survival import TimeTransform


class LinearModel(QuantileRegressor):
    """Predictions from coefficients, one set a level; a subclass fits them.

    ``_follow_up`` knows how long rows were followed, or is None if nothing was censored.
    """

    n_features_in_: int
    coef_: Floats
    intercept_: Floats
    stopped_at_: float | None
    crossing_levels_: Floats | None
    standard_errors_: Floats | None
    confidence_intervals_: Floats | None
    time_transform_: TimeTransform
    _follow_up: ObservedTime | None
    _has_intercept: bool
    _note: str

    def _check_features(self, X: Any, *, reset: bool) -> Floats:
        features: Floats = validate_data(
            self, X, reset=reset, dtype=np.float64, ensure_min_samples=2 if reset else 1
        )
        return features

    # Predicting

    def _read_features(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self, "quantiles_")
        return self._check_features(X, reset=False)

    def _inner_values(self, features: NDArray[Any]) -> Floats:
        """Return quantiles on the scale of the fit, one column a level asked for."""
        values = features @ self.coef_.T + self.intercept_
        return -values if self._left_censored else values

    def _curve_of(self, features: NDArray[Any]) -> QuantileCurve:
        times = self.time_transform_.inverse(self._inner_values(features))
        # Where no time was negative, none is predicted.
        lower = 0.0 if self.follow_up_[0] >= 0 else -np.inf
        return QuantileCurve.from_own(times, self.quantiles_, lower)

    def _identified_of(self, features: NDArray[Any]) -> NDArray[np.float64]:
        taus = self.time_transform_.levels(self.quantiles_)
        if self._follow_up is None:
            level = np.full(len(features), taus[-1])
        else:
            values = self._inner_values(features)
            values = np.ascontiguousarray(values[:, ::-1] if self._left_censored else values)
            level = identified_levels(
                QuantileCurve.from_own(values, taus), self._follow_up.curve(features)
            )
        if not self._left_censored:
            return level
        # Looked up, since 1 - (1 - tau) is not quite tau.
        outer = np.concatenate(([1.0], self.quantiles_[::-1]))
        return outer[np.searchsorted(taus, level, side="right")]

    @property
    def _left_censored(self) -> bool:
        return self.time_transform_.mirror

    @property
    def _any_censored(self) -> bool:
        return self._follow_up is not None

    # Telling

    def _feature_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"x{column}" for column in range(self.n_features_in_)]
        return [str(name) for name in names]

    def coef_table(self) -> Any:
        """Return the coefficients as a DataFrame, one row a level and one column a term.

        Returns
        -------
        table : DataFrame
            Indexed by ``quantile``; the columns are ``intercept``, if there is one, and the
            features.

        Examples
        --------
        >>> from censquant import LinearCQR
        >>> table = LinearCQR([0.5]).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).coef_table()
        >>> table.columns.tolist()
        ['intercept', 'x0']
        """
        summary = self.summary()
        pd = pandas_for("coef_table")
        index = pd.Index(summary.quantiles, name="quantile")
        return pd.DataFrame(summary.coefficients, index=index, columns=list(summary.terms))

    def summary(self) -> CoefficientSummary:
        """Return coefficients, standard errors and limits of every level, to print or as a frame.

        Precision is there if the fit had replications, ``n_bootstrap``. The limits treat levels
        and terms one by one.

        Returns
        -------
        summary : CoefficientSummary

        Examples
        --------
        >>> from censquant import LinearCQR
        >>> print(LinearCQR([0.5]).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).summary())
        LinearCQR, method portnoy
        <BLANKLINE>
        quantile 0.5
                     coefficient
        intercept              1
        x0                     2
        """
        check_is_fitted(self, "quantiles_")
        terms, coefficients = self._feature_names(), self.coef_
        if self._has_intercept:
            terms = ["intercept", *terms]
            coefficients = np.column_stack((self.intercept_, coefficients))
        return CoefficientSummary(
            self._note,
            self.quantiles_,
            tuple(terms),
            coefficients,
            self.standard_errors_,
            self.confidence_intervals_,
        )

    # Saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to one file that executes nothing when it is opened.

        Parameters
        ----------
        path : str or path
            An existing file is replaced only once the new one is complete. Read it again with
            :func:`censquant.load`. ``crossing_levels_``, which has one value per training row, is
            not stored: it is None after loading.
        """
        check_is_fitted(self, "quantiles_")
        save_estimator(self, path)

    def _to_part(self) -> Part:
        return linear_part(self)

    @classmethod
    def _from_part(cls, part: Part, network: Callable[..., Any] | None) -> Self:
        return restored_linear(cls, part, network)
