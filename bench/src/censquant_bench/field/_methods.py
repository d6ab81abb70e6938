"""Methods of the field's comparison: estimators as they come, with nothing tuned."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from censquant import estimators
from censquant_bench._datasets import BenchmarkDataset
from censquant_bench._kaplan_meier import KaplanMeierBaseline
from censquant_bench._methods import BenchmarkMethod

_README = {
    "dropout": 0.33,
    "max_epochs": 20,
    "level_rule": "interpolate",
    "y_star": None,
    "n_members": 5,
}


@dataclass(frozen=True)
class DefaultBuild:
    """Makes an estimator with its own defaults, whatever the data set."""

    estimator: type
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, dataset: BenchmarkDataset, options: Mapping[str, Any], seed: int) -> Any:
        known = inspect.signature(self.estimator).parameters
        settings = {**self.fixed, "random_state": seed, **options}
        return self.estimator(**{key: value for key, value in settings.items() if key in known})


def _method(name: str, title: str, build: DefaultBuild, **options: Any) -> BenchmarkMethod:
    return BenchmarkMethod(name, title, build, threadsafe=True, **options)


FIELD_METHODS = (
    _method("kaplan_meier", "Kaplan-Meier", DefaultBuild(KaplanMeierBaseline), note="no features"),
    _method("cqrnn_default", "CQRNN()", DefaultBuild(estimators.CQRNN)),
    _method(
        "cqrnn_readme",
        "CQRNN, README's settings",
        DefaultBuild(estimators.CQRNN, _README),
        note="dropout 0.33, 20 epochs, interpolated levels, no y*, 5 members",
    ),
    _method(
        "lognormal_default",
        "LogNormalNN()",
        DefaultBuild(estimators.LogNormalNN),
        positive_times=True,
    ),
    _method(
        "weibull_default", "WeibullNN()", DefaultBuild(estimators.WeibullNN), positive_times=True
    ),
)
"""Estimators as they come, and the Kaplan-Meier curve."""
