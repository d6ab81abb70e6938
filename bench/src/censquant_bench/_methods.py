"""A method of the benchmark: a way to make an estimator for a data set and a seed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.model_selection import ShuffleSplit

from censquant.estimators import CQRNN, CensoredQuantileRegressor
from censquant_bench._datasets import BenchmarkDataset
from censquant_bench.peers import PEER_TITLES, make_peer

_RECOMMENDED_OPTIONS = ("quantiles", "candidates", "cv", "n_jobs")
_HELD_OUT, _IMAGE_EPOCHS = 0.1, 10

Build = Callable[[BenchmarkDataset, Mapping[str, Any], int], Any]


@dataclass(frozen=True, eq=False)
class BenchmarkMethod:
    """A way to make an estimator for a data set and a seed.

    Parameters
    ----------
    name : str
        What commands and results call it.
    title : str
        What tables call it.
    build : callable
        Takes a data set, parameters to override, and a seed; returns an estimator with
        ``fit(X, y)`` and ``predict_quantiles(X, quantiles)``. Workers in other processes get it
        pickled.
    note : str, default ""
        What the list of methods adds to the title.
    positive_times : bool, default False
        Whether rows with a time of zero or less are left out of its fit.
    fingerprint : str, default ""
        Hash of a user's own estimator, so that results of another under the same name are
        detected.
    own : bool, default False
        Whether it is a user's: then it gets features with the names that the user's data have.
    threadsafe : bool, default False
        Whether fits may run side by side in one process: they use nothing that exists only once
        per process, such as a global generator of random numbers.
    knows_censoring : bool, default False
        Whether its fit gets the censoring times of all rows as ``censoring_time=``; it runs on data
        sets that have them.
    most_runs : int, optional
        Number of runs that a plan has no more of, for methods that take long.

    Examples
    --------
    >>> from censquant_bench import get_dataset, get_method
    >>> model = get_method("cqrnn").build(get_dataset("gbsg"), {}, 111)
    >>> model.max_epochs, model.dropout
    (20, 0.333)
    """

    name: str
    title: str
    build: Build
    note: str = ""
    positive_times: bool = False
    fingerprint: str = ""
    own: bool = False
    threadsafe: bool = False
    knows_censoring: bool = False
    most_runs: int | None = None


@dataclass(frozen=True)
class _PeerBuild:
    name: str

    def __call__(self, dataset: BenchmarkDataset, options: Mapping[str, Any], seed: int) -> Any:
        return make_peer(self.name, random_state=seed)


@dataclass(frozen=True)
class _RecommendedBuild:
    """Makes the recommended estimator, which nothing is tuned for."""

    def __call__(self, dataset: BenchmarkDataset, options: Mapping[str, Any], seed: int) -> Any:
        known = {key: value for key, value in options.items() if key in _RECOMMENDED_OPTIONS}
        settings: dict[str, Any] = {"random_state": seed, **known}
        # Published comparisons meet it as it comes; of other sets, some targets are below 0.
        if dataset.kind != "field":
            settings = {"quantiles": dataset.taus, "allow_negative": True, **settings}
        network = dataset.settings.get("network")
        if network is not None:  # images: nothing but a network of their own can take them
            only = CQRNN(dataset.taus, **{"max_epochs": _IMAGE_EPOCHS, **dataset.settings})
            settings["candidates"] = [("network", only)]
            settings["cv"] = ShuffleSplit(1, test_size=_HELD_OUT, random_state=seed)
        return CensoredQuantileRegressor(**settings)


RECOMMENDED = BenchmarkMethod(
    "recommended",
    "CensoredQuantileRegressor",
    _RecommendedBuild(),
    note="as it comes, on every set",
    threadsafe=True,
)
"""The estimator to begin with."""

PEER_METHODS = tuple(
    BenchmarkMethod(name, title, _PeerBuild(name)) for name, title in PEER_TITLES.items()
)
"""Methods of other libraries, with their libraries' defaults."""
