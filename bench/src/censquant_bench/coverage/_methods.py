"""Ways to a lower bound: none, the naive one, and the methods of this package."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from censquant import estimators
from censquant_bench._datasets import BenchmarkDataset
from censquant_bench._methods import BenchmarkMethod
from censquant_bench.coverage._baselines import EventsOnlyBound, UncalibratedBound

_RECOMMENDED_RUNS = 20


def _boosted(seed: int) -> Any:
    return estimators.BoostedQuantileRegressor(random_state=seed)


def _recommended(seed: int) -> Any:
    return estimators.CensoredQuantileRegressor(random_state=seed)


def _uncalibrated(base: Any, seed: int) -> Any:
    return UncalibratedBound(base)


def _events_only(base: Any, seed: int) -> Any:
    return EventsOnlyBound(base, random_state=seed)


@dataclass(frozen=True)
class _Conformal:
    """Makes the calibrated estimator with one of its methods, otherwise as it comes."""

    method: str

    def __call__(self, base: Any, seed: int) -> Any:
        return estimators.ConformalSurvivalRegressor(base, method=self.method, random_state=seed)


@dataclass(frozen=True)
class BoundBuild:
    """Makes an estimator with ``predict_lower_bound`` around a base model."""

    base: Callable[[int], Any]
    around: Callable[[Any, int], Any]

    def __call__(self, dataset: BenchmarkDataset, options: Mapping[str, Any], seed: int) -> Any:
        return self.around(self.base(seed), seed)


_WAYS: tuple[tuple[str, str, Callable[[Any, int], Any], bool], ...] = (
    ("uncalibrated", "uncalibrated", _uncalibrated, False),
    ("events", "split conformal on events", _events_only, False),
    ("auto", "default", _Conformal("auto"), False),
    ("ipcw", "IPCW", _Conformal("ipcw"), False),
    ("km_pit", "KM-PIT", _Conformal("km-pit"), False),
    ("drcosarc", "DR-COSARC", _Conformal("drcosarc"), False),
    ("candes", "Candès et al., C known", _Conformal("candes"), True),
    ("gui", "Gui et al., C known", _Conformal("gui"), True),
)


def _methods(
    suffix: str, note: str, base: Callable[[int], Any], most_runs: int | None
) -> tuple[BenchmarkMethod, ...]:
    return tuple(
        BenchmarkMethod(
            f"bound_{name}{suffix}",
            f"{title}{', recommended' if suffix else ''}",
            BoundBuild(base, around),
            note=note,
            threadsafe=True,
            knows_censoring=knows_censoring,
            most_runs=most_runs,
        )
        for name, title, around, knows_censoring in _WAYS
    )


_CHEAP = _methods("", "lower bound, boosted trees below", _boosted, None)
_LONG = _methods(
    "_recommended",
    "lower bound, recommended estimator below",
    _recommended,
    _RECOMMENDED_RUNS,
)

COVERAGE_METHODS = (*_CHEAP, *_LONG)
"""Lower bounds around boosted trees, which are fast, and around the recommended estimator."""

# The recommended estimator is fitted once per fold: the others are run by name.
SUITE_METHODS = (
    *(one.name for one in _CHEAP),
    "bound_uncalibrated_recommended",
    "bound_auto_recommended",
)
"""What the suite runs by default."""
