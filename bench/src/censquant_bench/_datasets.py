"""A data set of the benchmark, and how its rows are divided."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant._validation import check_choice


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


NINE_LEVELS = tuple(round(0.1 * k, 1) for k in range(1, 10))
SPLITS = ("random", "grouped")
TEST_SHARE = 0.2

# Runs that are fitted together and saved together; large sets save each.
_SEEDS_TOGETHER = 10

Draw = Callable[[int, str, int | None], TrainTestData]


@dataclass(frozen=True, eq=False)
class BenchmarkDataset:
    """A data set with the settings under which methods meet in it.

    Parameters
    ----------
    name : str
        What commands and results call it.
    title : str
        What tables call it; for the paper's sets the paper's name.
    kind : {"synthetic", "overlay", "survival", "field", "bounds", "own"}
        True quantiles known; real target under drawn censoring; real censoring; real censoring and
        divisions that are given; true quantiles and all censoring times known; a user's own data.
    taus : tuple of float
        Levels that methods are asked for.
    draw : callable
        Takes a seed, a split and a number of training rows (None for the usual) and returns
        `TrainTestData`. Workers in other processes get it pickled.
    splits : tuple of str, default ("random",)
        ``"grouped"`` is available where rows repeat: no group is in both training and test.
    settings : mapping, optional
        Parameters that estimators of this package get on this set, if they have them.
    heavy : bool, default False
        Whether its samples are images, which a torch network takes many minutes to learn.
    fingerprint : str, default ""
        Hash of a user's own data, so that results of other data under the same name are detected.
    most_runs : int, optional
        Number of divisions, where they are given: a plan has no more runs than that.

    Examples
    --------
    >>> from censquant_bench import get_dataset
    >>> get_dataset("gbsg").title, get_dataset("whas").splits
    ('GBSG', ('random', 'grouped'))
    """

    name: str
    title: str
    kind: str
    taus: tuple[float, ...]
    draw: Draw
    splits: tuple[str, ...] = ("random",)
    settings: Mapping[str, Any] = field(default_factory=dict)
    heavy: bool = False
    fingerprint: str = ""
    most_runs: int | None = None

    @property
    def prepared(self) -> bool:
        """Whether features and times have been scaled, as for the paper's numbers."""
        return self.kind in ("synthetic", "overlay", "survival")

    @property
    def seeds_together(self) -> int:
        """Number of runs that share a task, and are lost together if it is killed."""
        return _SEEDS_TOGETHER if self.kind in ("synthetic", "survival") else 1

    def train_test(
        self, seed: int, split: str = "random", n_train: int | None = None
    ) -> TrainTestData:
        """Return what a run with this seed sees.

        Parameters
        ----------
        seed : int
            The paper's runs have 111 to 120.
        split : {"random", "grouped"}
            How rows are divided.
        n_train : int, optional
            Number of training rows, in synthetic data.

        Returns
        -------
        data : TrainTestData
        """
        check_choice("split", split, self.splits)
        return self.draw(seed, split, n_train)


def divided(
    n_rows: int, seed: int, groups: NDArray[Any] | None, test_share: float = TEST_SHARE
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return training and test rows; scikit-learn's split is that of the published runs."""
    from sklearn.model_selection import GroupShuffleSplit, train_test_split

    if groups is None:
        train, test = train_test_split(np.arange(n_rows), test_size=test_share, random_state=seed)
        return train, test
    splitter = GroupShuffleSplit(n_splits=1, test_size=test_share, random_state=seed)
    train, test = next(splitter.split(np.zeros(n_rows), groups=groups))
    return train, test
