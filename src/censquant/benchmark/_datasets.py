"""The data sets of the benchmark, prepared as for the published numbers."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant import datasets as data
from censquant._validation import check_choice, look_up
from censquant.benchmark._problem import Problem
from censquant.survival import Surv

FIVE = (0.1, 0.333, 0.5, 0.667, 0.9)
NINE = tuple(round(0.1 * k, 1) for k in range(1, 10))
NINETEEN = tuple(round(0.05 * k, 2) for k in range(1, 20))
SPLITS = ("random", "grouped")

_TEST_ROWS = 1000
TEST_SHARE = 0.2
_SMALLEST_TIME = 0.1
_NO_SPREAD = 1e-10


@dataclass(frozen=True, eq=False)
class BenchmarkDataset:
    """A data set with the settings under which methods meet in it.

    Parameters
    ----------
    name : str
        What commands and results call it.
    title : str
        What tables call it; for the paper's sets the paper's name.
    kind : {"synthetic", "overlay", "survival", "own"}
        True quantiles known; real target under drawn censoring; real censoring; a user's own data.
    taus : tuple of float
        Levels that methods are asked for.
    draw : callable
        Takes a seed, a split and a number of training rows (None for the usual) and returns a
        `Problem`.
    splits : tuple of str, default ("random",)
        ``"grouped"`` is there where rows repeat: no group is in both training and test.
    settings : mapping, optional
        Parameters that estimators of this package get on this set, if they have them.
    heavy : bool, default False
        Whether its rows are images, which a torch network takes many minutes to learn.
    fingerprint : str, default ""
        What a user's own data are, so that results of other data under the same name are told.

    Examples
    --------
    >>> from censquant.benchmark import get_dataset
    >>> get_dataset("gbsg").title, get_dataset("whas").splits
    ('GBSG', ('random', 'grouped'))
    """

    name: str
    title: str
    kind: str
    taus: tuple[float, ...]
    draw: Callable[[int, str, int | None], Problem]
    splits: tuple[str, ...] = ("random",)
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    heavy: bool = False
    fingerprint: str = ""

    @property
    def seeds_together(self) -> int:
        """Runs that are fitted one after another and saved together; large sets save each."""
        return 10 if self.kind in ("synthetic", "survival") else 1

    def __reduce__(self) -> tuple[Any, ...]:
        # Sets of the table go to workers by name: each process reads its files once and keeps them.
        if DATASETS.get(self.name) is self:
            return get_dataset, (self.name,)
        return super().__reduce__()  # type: ignore[return-value]

    def problem(self, seed: int, split: str = "random", n_train: int | None = None) -> Problem:
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
        problem : Problem
        """
        check_choice("split", split, self.splits)
        return self.draw(seed, split, n_train)


def get_dataset(name: str) -> BenchmarkDataset:
    """Return a set of the benchmark by name.

    Parameters
    ----------
    name : str
        One of `DATASETS`.

    Returns
    -------
    dataset : BenchmarkDataset

    Examples
    --------
    >>> from censquant.benchmark import get_dataset
    >>> get_dataset("weibull").taus[:3]
    (0.1, 0.2, 0.3)
    """
    return look_up("dataset", name, DATASETS)


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


# Synthetic sets


def _synthetic(
    name: str,
    title: str,
    make: Callable[..., data.SyntheticData],
    n_train: int,
    taus: tuple[float, ...],
    settings: Mapping[str, Any],
    *,
    burn: int = 0,
) -> BenchmarkDataset:
    def draw(seed: int, split: str, n_rows: int | None) -> Problem:
        # numpy's old generator, in the order of the authors' program: the published samples.
        rng = np.random.RandomState(seed)
        if burn:  # a sample whose 95th percentile was looked at and not used
            make(burn, random_state=rng, censored=False)
        train = make(n_rows or n_train, random_state=rng)
        moved = {"offset": train.offset} if train.offset else {}
        known = make(_TEST_ROWS, random_state=rng, censored=False, **moved)
        test = make(_TEST_ROWS, random_state=rng, **moved)
        return Problem(
            train.X,
            train.y,
            test.X,
            test.y,
            known.X,
            known.target_time,
            known.true_quantiles,
        )

    return BenchmarkDataset(name, title, "synthetic", taus, draw, settings=settings)


def _one_dimensional(name: str, title: str, make: Callable[..., Any]) -> BenchmarkDataset:
    settings = {"max_epochs": 100, "activation": "gelu"}
    return _synthetic(name, title, make, 500, NINE, settings)


def _four_dimensional(kind: str, title: str) -> BenchmarkDataset:
    make = functools.partial(data.make_norm_4d, censoring=kind)
    return _synthetic(f"norm_{kind}", title, make, 2000, NINETEEN, {"max_epochs": 20})


def _eight_dimensional(kind: str, title: str) -> BenchmarkDataset:
    make = functools.partial(data.make_lognorm_8d, censoring=kind)
    name, settings = f"lognorm_{kind}", {"max_epochs": 10}
    return _synthetic(name, title, make, 4000, NINETEEN, settings, burn=1000)


# Real sets


def _standardized(values: NDArray[Any], limit: float | None = None) -> NDArray[np.float64]:
    """Return columns with mean 0 and variance 1 over the whole set, cut at ``limit``."""
    values = np.asarray(values, dtype=np.float64)
    center, spread = values.mean(axis=0), values.std(axis=0)
    # A sensor that never moves is centred only; its spread may be a rounding error.
    spread = np.where(spread <= _NO_SPREAD * np.abs(center), 1.0, spread)
    scaled: NDArray[np.float64] = (values - center) / spread
    return scaled if limit is None else np.clip(scaled, -limit, limit)


def _survival(
    name: str,
    title: str,
    fetch: Callable[..., Any],
    *,
    limit: float | None = None,
    time_limit: float | None = None,
) -> BenchmarkDataset:
    """Real times under real censoring: scaled on the whole set, as published."""

    @functools.cache
    def load() -> tuple[NDArray[Any], NDArray[np.void], NDArray[Any] | None]:
        found = fetch(return_X_y=False, as_frame=False)
        time = _standardized(found.target["time"])
        time = time - time.min() + _SMALLEST_TIME
        if time_limit is not None:
            time = np.minimum(time, time_limit)
        y = Surv.from_arrays(event=found.target["event"], time=time)
        return _standardized(found.data, limit), y, found.groups

    def draw(seed: int, split: str, n_train: int | None) -> Problem:
        X, y, groups = load()
        train, test = divided(len(X), seed, groups if split == "grouped" else None)
        return Problem(X[train], y[train], X[test], y[test])

    splits = SPLITS if name in _GROUPED else ("random",)
    return BenchmarkDataset(name, title, "survival", FIVE, draw, splits=splits)


def _overlay(
    name: str, title: str, load: Callable[[int], tuple[Any, ...]], *, heavy: bool = False
) -> BenchmarkDataset:
    """Real features and targets; censoring uniform up to the 90th percentile is drawn."""

    def draw(seed: int, split: str, n_train: int | None) -> Problem:
        X, time, groups, rng = load(seed)
        train, test = divided(len(X), seed, groups if split == "grouped" else None)
        span = time.min(), np.quantile(time, 0.9)
        y, y_test = (
            data.censor_uniform(time[rows], *span, random_state=rng) for rows in (train, test)
        )
        X_test = X[test]
        return Problem(X[train], y, X_test, y_test, X_test, time[test])

    splits = SPLITS if name in _GROUPED else ("random",)
    settings = {"network": cnn_as_run, "learning_rate": 0.001} if heavy else {}
    return BenchmarkDataset(
        name, title, "overlay", NINETEEN, draw, splits=splits, settings=settings, heavy=heavy
    )


def _tabular(fetch: Callable[..., Any]) -> Callable[[int], tuple[Any, ...]]:
    @functools.cache
    def load() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
        found = fetch(return_X_y=False, as_frame=False)
        time = _standardized(found.target["time"], 5.0)
        return _standardized(found.data, 5.0), time - time.min() + _SMALLEST_TIME, found.groups

    return lambda seed: (*load(), np.random.RandomState(seed))


def _digits(seed: int) -> tuple[Any, ...]:
    rng = np.random.RandomState(seed)
    images, y = data.fetch_survmnist(random_state=rng, as_frame=False)
    return images.astype(np.float32) / np.float32(255), y["time"], None, rng


def trained_cnn(input_shape: tuple[int, ...], n_outputs: int) -> Any:
    """Return the paper's network for images as it is meant."""
    from censquant.torch import image_cnn

    return image_cnn(input_shape, n_outputs)


def cnn_as_run(input_shape: tuple[int, ...], n_outputs: int) -> Any:
    """Return it as it was run: its last layer was made after the optimiser and never trained."""
    network = trained_cnn(input_shape, n_outputs)
    for parameter in network[-1].parameters():
        parameter.requires_grad_(False)
    return network


# Rows that belong together: copies of a row, samples of a patient, cycles of an engine.
_GROUPED = {"whas", "breast_msk", "phm2008", "cmapss", "wine", "protein"}

_ALL = (
    _one_dimensional("norm_linear", "Norm linear", data.make_norm_linear),
    _one_dimensional("norm_nonlinear", "Norm non-lin", data.make_norm_nonlinear),
    _one_dimensional("exponential", "Exponential", data.make_exponential),
    _one_dimensional("weibull", "Weibull", data.make_weibull),
    _one_dimensional("lognorm", "LogNorm", data.make_lognorm),
    _one_dimensional("norm_uniform", "Norm uniform", data.make_norm_uniform),
    _four_dimensional("heavy", "Norm heavy"),
    _four_dimensional("medium", "Norm med."),
    _four_dimensional("light", "Norm light"),
    _four_dimensional("same", "Norm same"),
    _eight_dimensional("heavy", "LogNorm heavy"),
    _eight_dimensional("medium", "LogNorm med."),
    _eight_dimensional("light", "LogNorm light"),
    _eight_dimensional("same", "LogNorm same"),
    _overlay("housing", "Housing", _tabular(data.fetch_housing)),
    _overlay("protein", "Protein", _tabular(data.fetch_protein)),
    _overlay("wine", "Wine", _tabular(data.fetch_wine)),
    _overlay("phm2008", "PHM", _tabular(data.fetch_phm2008)),
    _overlay("survmnist", "SurvMNIST", _digits, heavy=True),
    _survival("metabric", "METABRIC", data.fetch_metabric),
    _survival("whas", "WHAS", data.fetch_whas),
    _survival("support", "SUPPORT", data.fetch_support),
    _survival("gbsg", "GBSG", data.fetch_gbsg, limit=5.0, time_limit=5.0),
    _survival("tmb_immuno", "TMBImmuno", data.fetch_tmb_immuno, limit=5.0, time_limit=5.0),
    _survival("breast_msk", "BreastMSK", data.fetch_breast_msk, limit=5.0, time_limit=5.0),
    _survival("lgggbm", "LGGGBM", data.fetch_lgggbm, limit=3.0),
    _overlay("cmapss", "C-MAPSS FD001", _tabular(data.fetch_cmapss)),
)

DATASETS: Mapping[str, BenchmarkDataset] = MappingProxyType({one.name: one for one in _ALL})
"""The paper's 26 sets in the order of its table, and one of our own, by name."""
