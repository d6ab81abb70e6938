"""A data set of the benchmark, and how its rows are divided."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._validation import check_choice
from censquant_bench._train_test import TrainTestData

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
