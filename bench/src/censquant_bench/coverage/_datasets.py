"""The published settings as data sets of the benchmark."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant_bench._datasets import NINE_LEVELS, BenchmarkDataset, TrainTestData
from censquant_bench.coverage._settings import BOUND_SETTINGS, BoundSetting


@dataclass(frozen=True)
class SettingDraw:
    """Fresh training and test rows of a setting, as many as published."""

    name: str

    def __call__(self, seed: int, split: str, n_train: int | None) -> TrainTestData:
        setting = BOUND_SETTINGS[self.name]
        # Each setting has a stream of its own, so that no two share their noise.
        rng = np.random.default_rng([seed, *self.name.encode()])
        train = setting.sample(n_train or setting.n_train, random_state=rng)
        test = setting.sample(setting.n_test, random_state=rng)
        return TrainTestData(
            train.X,
            train.y,
            test.X,
            test.y,
            X_known=test.X,
            time_known=test.event_time,
            true_quantiles=partial(_quantiles, setting, test.X),
            censoring_time=train.censoring_time,
            true_survival=partial(setting.survival, X=test.X),
        )


def _quantiles(
    setting: BoundSetting, X_known: Floats, levels: ArrayLike, X: ArrayLike | None = None
) -> Floats:
    return setting.true_quantiles(levels, X_known if X is None else X)


COVERAGE_DATASETS = tuple(
    BenchmarkDataset(one.name, one.title, "bounds", NINE_LEVELS, SettingDraw(one.name))
    for one in BOUND_SETTINGS.values()
)
"""The published settings."""
