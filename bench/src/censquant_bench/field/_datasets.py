"""The study's data sets, divided as it divided them."""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant import datasets as data
from censquant_bench._datasets import NINE_LEVELS, BenchmarkDataset
from censquant_bench._train_test import TrainTestData
from censquant_bench.datasets import FIELD_DATASETS, fetch_field, field_folds

_FEW = {"colrec": 3, "support": 3}
_LARGE = ("aids2", "cat_adoption", "gbsg", "metabric", "nafld1", "rdata", "wa_churn")


@dataclass(frozen=True)
class FieldDraw:
    """Training and test rows of one of the study's iterations, which stands in a seed's place."""

    name: str

    def __call__(self, seed: int, split: str, n_train: int | None) -> TrainTestData:
        frame, X, y, feature_names = _rows(self.name, data.fetch_files(f"field_{self.name}"))
        folds = field_folds(self.name)
        folds = folds[folds["iteration"] == seed]
        if folds.empty:
            raise ValueError(
                f"The data set field_{self.name} has no iteration {seed}; run it in the suite "
                "'field', whose runs are the study's iterations."
            )
        train, test = (_row_numbers(folds, part) for part in ("train", "test"))
        return TrainTestData(
            X[train],
            y[train],
            X[test],
            y[test],
            feature_names=feature_names,
            frames=(frame.iloc[train], frame.iloc[test]),
        )


def _row_numbers(folds: Any, part: str) -> NDArray[np.intp]:
    rows: NDArray[np.intp] = folds.loc[folds["set"] == part, "row_id"].to_numpy(np.intp) - 1
    return rows


@functools.lru_cache(maxsize=4)
def _rows(
    name: str, files: tuple[Path, ...]
) -> tuple[Any, NDArray[np.float64], NDArray[np.void], tuple[str, ...]]:
    """Return a set as a frame and as numbers; the files say when it must be read anew."""
    frame, y = fetch_field(name)
    plain = fetch_field(name, return_X_y=False, as_frame=False)
    return frame, plain.data, y, plain.feature_names


def _field(name: str) -> BenchmarkDataset:
    info = data.describe(f"field_{name}")
    most_runs = _FEW.get(name, 15 if name in _LARGE else 30)
    return BenchmarkDataset(
        info.name, info.title, "field", NINE_LEVELS, FieldDraw(name), most_runs=most_runs
    )


FIELD_BENCHMARK_DATASETS = tuple(_field(name) for name in FIELD_DATASETS)
"""The study's sets; their runs are its iterations."""
