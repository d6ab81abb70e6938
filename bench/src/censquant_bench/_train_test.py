"""What one run of the benchmark sees: rows to fit, rows to score, and the truth where known."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats


@dataclass(frozen=True, eq=False)
class TrainTestData:
    """Training and test rows of one data set under one seed.

    Parameters
    ----------
    X : ndarray of shape (n, ...)
        Features to fit.
    y : structured array of shape (n,)
        ``event`` and ``time`` to fit.
    X_test : ndarray of shape (m, ...)
        Features to score on.
    y_test : structured array of shape (m,)
        Their times, censored like those of `y`.
    X_known : ndarray of shape (k, ...), optional
        Features of rows whose time of the event is known without censoring, where there are any.
    time_known : ndarray of shape (k,), optional
        Those times.
    true_quantiles : callable, optional
        Takes levels, and features if not those of `X_known`, and returns the true quantiles, in
        synthetic data.
    censoring_quantiles : callable, optional
        The same of the censoring time.
    feature_names : tuple of str, optional
        Names of the columns, where the user gave any.
    frames : tuple of two DataFrames, optional
        `X` and `X_test` with categories instead of indicators, for estimators that take them.
    groups : ndarray of shape (n,), optional
        Which rows of `X` belong together, where rows are divided by groups; handed to the fit of
        methods that take it.
    censoring_time : ndarray of shape (n,), optional
        End of follow-up of all rows of `X`, those with an event included, where it is known; handed
        to the fit of methods that need it.
    true_survival : callable, optional
        Takes one time per row of `X_known` and returns the true probability that the event comes
        then or later, in synthetic data.

    Examples
    --------
    >>> from censquant_bench import get_dataset
    >>> data = get_dataset("norm_linear").train_test(seed=111)
    >>> data.X.shape, data.X_test.shape, data.true_quantiles([0.5]).shape
    ((500, 1), (1000, 1), (1000, 1))
    """

    X: NDArray[Any]
    y: NDArray[np.void]
    X_test: NDArray[Any]
    y_test: NDArray[np.void]
    X_known: NDArray[Any] | None = None
    time_known: Floats | None = None
    true_quantiles: Callable[..., Floats] | None = None
    censoring_quantiles: Callable[..., Floats] | None = None
    feature_names: tuple[str, ...] | None = None
    frames: tuple[Any, Any] | None = None
    groups: NDArray[Any] | None = None
    censoring_time: Floats | None = None
    true_survival: Callable[[Floats], Floats] | None = None

    def named(self, X: NDArray[Any]) -> Any:
        """Return features as the data frame that the user gave; an array where it was one."""
        if self.feature_names is None:
            return X
        import pandas as pd

        return pd.DataFrame(X, columns=list(self.feature_names))

    @property
    def censored_share(self) -> float:
        """Share of training rows whose event was not observed."""
        return float(1.0 - self.y["event"].mean())
