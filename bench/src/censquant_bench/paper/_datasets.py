"""The paper's data sets, drawn and prepared as for the published numbers."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant import datasets as data
from censquant._typing import Floats
from censquant.survival import Surv
from censquant_bench._datasets import NINE_LEVELS, SPLITS, BenchmarkDataset, TrainTestData, divided
from censquant_bench.paper._image_network import cnn_as_run

_FIVE_LEVELS = (0.1, 0.333, 0.5, 0.667, 0.9)
_NINETEEN_LEVELS = tuple(round(0.05 * k, 2) for k in range(1, 20))

_TEST_ROWS = 1000
_SMALLEST_TIME = 0.1
_NO_SPREAD = 1e-10


# Synthetic sets


@dataclass(frozen=True)
class SyntheticDraw:
    """The published samples of a synthetic set."""

    name: str
    n_train: int
    burn: int = 0
    """Rows of a sample whose 95th percentile was looked at and not used."""

    def __call__(self, seed: int, split: str, n_train: int | None) -> TrainTestData:
        # numpy's old generator, in the order of the authors' program: the published samples.
        rng = np.random.RandomState(seed)
        make = functools.partial(data.load, self.name, random_state=rng)
        if self.burn:
            make(n_samples=self.burn, censored=False)
        train = make(n_samples=n_train or self.n_train)
        moved = {"offset": train.offset} if train.offset else {}
        known = make(n_samples=_TEST_ROWS, censored=False, **moved)
        test = make(n_samples=_TEST_ROWS, **moved)
        return TrainTestData(
            train.X,
            train.y,
            test.X,
            test.y,
            known.X,
            known.target_time,
            known.true_quantiles,
            known.censoring_quantiles,
        )


def _synthetic(
    name: str,
    taus: tuple[float, ...],
    settings: Mapping[str, Any],
    *,
    title: str | None = None,
    burn: int = 0,
) -> BenchmarkDataset:
    info = data.describe(name)
    draw = SyntheticDraw(name, info.n_samples, burn)
    return BenchmarkDataset(name, title or info.title, "synthetic", taus, draw, settings=settings)


def _one_feature(name: str, title: str | None = None) -> BenchmarkDataset:
    settings = {"max_epochs": 100, "activation": "gelu"}
    return _synthetic(name, NINE_LEVELS, settings, title=title)


def _four_features(censoring: str, title: str | None = None) -> BenchmarkDataset:
    return _synthetic(f"norm_{censoring}", _NINETEEN_LEVELS, {"max_epochs": 20}, title=title)


def _eight_features(censoring: str, title: str | None = None) -> BenchmarkDataset:
    name, settings = f"lognorm_{censoring}", {"max_epochs": 10}
    return _synthetic(name, _NINETEEN_LEVELS, settings, title=title, burn=1000)


# Real sets


@functools.cache
def read_once(name: str) -> data.RealData:
    """Return a real set; each process reads its files once and keeps them."""
    found: data.RealData = data.load(name, return_X_y=False, as_frame=False)
    return found


def standardized(values: NDArray[Any], limit: float | None = None) -> Floats:
    """Return columns with mean 0 and variance 1 over the whole set, cut at ``limit``."""
    values = np.asarray(values, dtype=np.float64)
    center, spread = values.mean(axis=0), values.std(axis=0)
    # A sensor that never moves is centred only; its spread may be a rounding error.
    spread = np.where(spread <= _NO_SPREAD * np.abs(center), 1.0, spread)
    scaled: Floats = (values - center) / spread
    return scaled if limit is None else np.clip(scaled, -limit, limit)


@functools.cache
def _scaled_survival(
    name: str, limit: float | None, time_limit: float | None
) -> tuple[Floats, NDArray[np.void], NDArray[Any] | None]:
    found = read_once(name)
    time = standardized(found.target["time"])
    time = time - time.min() + _SMALLEST_TIME
    if time_limit is not None:
        time = np.minimum(time, time_limit)
    y = Surv.from_arrays(event=found.target["event"], time=time)
    return standardized(found.data, limit), y, found.groups


@dataclass(frozen=True)
class SurvivalDraw:
    """Real times under real censoring: scaled on the whole set, as published."""

    name: str
    limit: float | None = None
    time_limit: float | None = None

    def __call__(self, seed: int, split: str, n_train: int | None) -> TrainTestData:
        X, y, groups = _scaled_survival(self.name, self.limit, self.time_limit)
        parts = groups if split == "grouped" else None
        train, test = divided(len(X), seed, parts)
        known = None if parts is None else parts[train]
        return TrainTestData(X[train], y[train], X[test], y[test], groups=known)


@functools.cache
def _scaled_table(name: str) -> tuple[Floats, Floats, NDArray[Any] | None]:
    found = read_once(name)
    time = standardized(found.target["time"], 5.0)
    return standardized(found.data, 5.0), time - time.min() + _SMALLEST_TIME, found.groups


@dataclass(frozen=True)
class OverlayDraw:
    """Real features and targets; censoring uniform up to the 90th percentile is drawn."""

    name: str

    def __call__(self, seed: int, split: str, n_train: int | None) -> TrainTestData:
        rng = np.random.RandomState(seed)
        X, time, groups = self.read(rng)
        parts = groups if split == "grouped" else None
        train, test = divided(len(X), seed, parts)
        span = time.min(), np.quantile(time, 0.9)
        y, y_test = (
            data.censor_uniform(time[rows], *span, random_state=rng) for rows in (train, test)
        )
        X_test = X[test]
        known = None if parts is None else parts[train]
        return TrainTestData(X[train], y, X_test, y_test, X_test, time[test], groups=known)

    def read(self, rng: np.random.RandomState) -> tuple[NDArray[Any], Floats, NDArray[Any] | None]:
        """Return features, target and groups of all rows."""
        return _scaled_table(self.name)


class DigitsDraw(OverlayDraw):
    """Images whose target is drawn too."""

    def read(self, rng: np.random.RandomState) -> tuple[NDArray[Any], Floats, NDArray[Any] | None]:
        """Return images, drawn times and no groups."""
        images, y = data.load(self.name, random_state=rng, as_frame=False)
        return images.astype(np.float32) / np.float32(255), y["time"], None


def _splits(grouped: bool) -> tuple[str, ...]:
    return SPLITS if grouped else ("random",)


def _survival(
    name: str,
    *,
    limit: float | None = None,
    time_limit: float | None = None,
    grouped: bool = False,
) -> BenchmarkDataset:
    draw = SurvivalDraw(name, limit, time_limit)
    title = data.describe(name).title
    return BenchmarkDataset(name, title, "survival", _FIVE_LEVELS, draw, splits=_splits(grouped))


def _overlay(name: str, *, grouped: bool = False) -> BenchmarkDataset:
    title, draw = data.describe(name).title, OverlayDraw(name)
    return BenchmarkDataset(name, title, "overlay", _NINETEEN_LEVELS, draw, splits=_splits(grouped))


def _images(name: str) -> BenchmarkDataset:
    return BenchmarkDataset(
        name,
        data.describe(name).title,
        "overlay",
        _NINETEEN_LEVELS,
        DigitsDraw(name),
        settings={"network": cnn_as_run, "learning_rate": 0.001},
        heavy=True,
    )


# In the order of the paper's table, and under its titles. ``grouped``: rows belong together, as
# copies of a row, samples of a patient or cycles of an engine.
_PAPER = (
    _one_feature("norm_linear"),
    _one_feature("norm_nonlinear", "Norm non-lin"),
    _one_feature("exponential"),
    _one_feature("weibull"),
    _one_feature("lognorm"),
    _one_feature("norm_uniform"),
    _four_features("heavy"),
    _four_features("medium", "Norm med."),
    _four_features("light"),
    _four_features("same"),
    _eight_features("heavy"),
    _eight_features("medium", "LogNorm med."),
    _eight_features("light"),
    _eight_features("same"),
    _overlay("housing"),
    _overlay("protein", grouped=True),
    _overlay("wine", grouped=True),
    _overlay("phm2008", grouped=True),
    _images("survmnist"),
    _survival("metabric"),
    _survival("whas", grouped=True),
    _survival("support"),
    _survival("gbsg", limit=5.0, time_limit=5.0),
    _survival("tmb_immuno", limit=5.0, time_limit=5.0),
    _survival("breast_msk", limit=5.0, time_limit=5.0, grouped=True),
    _survival("lgggbm", limit=3.0),
)

PAPER_DATASETS = (*_PAPER, _overlay("cmapss", grouped=True))
"""The paper's 26 sets in the order of its table, and one that stands in for none of them."""


def _names(*kinds: str) -> tuple[str, ...]:
    return tuple(one.name for one in _PAPER if one.kind in kinds)


ONE_FEATURE = _names("synthetic")[:6]
"""Names of the synthetic sets with one feature."""

PAPER_DATASET_GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "synthetic": _names("synthetic"),
        "overlay": _names("overlay"),
        "survival": _names("survival"),
        "small": _names("synthetic") + _names("survival"),
    }
)
"""Names of the paper's sets of a kind, and of the small ones."""
