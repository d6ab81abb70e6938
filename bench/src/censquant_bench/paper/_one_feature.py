"""The paper's pictures: what every method learns from data with one feature."""

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from censquant._files import write_whole
from censquant_bench._cells import FIRST_SEED, training_rows
from censquant_bench._datasets import BenchmarkDataset
from censquant_bench._methods import BenchmarkMethod
from censquant_bench.paper._datasets import ONE_FEATURE
from censquant_bench.paper.reporting import OneDimensional, one_dimensional_figure
from censquant_bench.reporting import Labels, render

_TAUS = (0.1, 0.3, 0.5, 0.7, 0.9)
_PLACES = np.linspace(0.0, 2.0, 101)


def draw_one_feature_sets(
    folder: Path,
    datasets: Sequence[BenchmarkDataset],
    methods: Sequence[BenchmarkMethod],
    labels: Labels,
) -> list[Path]:
    """Fit all methods on the first sample of each set, draw them, and return the files.

    Parameters
    ----------
    folder : Path
        Where the picture goes, as PNG and as SVG.
    datasets : sequence of BenchmarkDataset
        Synthetic sets with one feature.
    methods : sequence of BenchmarkMethod
        One column of panels each.
    labels : Labels
        Titles of rows and columns.
    """
    drawn = {dataset.name: _learned(dataset, methods) for dataset in datasets}
    figure = one_dimensional_figure(drawn, _TAUS, labels)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for kind, content in render(figure).items():
        files.append(folder / f"quantiles_1d.{kind}")
        write_whole(files[-1], content)
    return files


def _learned(dataset: BenchmarkDataset, methods: Sequence[BenchmarkMethod]) -> OneDimensional:
    data = dataset.train_test(FIRST_SEED)
    true_quantiles = data.true_quantiles
    if true_quantiles is None or data.X.shape[1] != 1:
        raise ValueError(
            f"The suite 'figures' draws synthetic sets with one feature, got {dataset.name!r}; "
            f"choose among {', '.join(ONE_FEATURE)}."
        )
    X = _PLACES[:, None]
    options = {"quantiles": _TAUS}
    predicted = {}
    for method in methods:
        model = method.build(dataset, options, FIRST_SEED)
        model.fit(*training_rows(method, data))
        with warnings.catch_warnings():
            # Predictions past the last follow-up are part of the picture.
            warnings.simplefilter("ignore")
            predicted[method.name] = model.predict_quantiles(X, _TAUS)
    return OneDimensional(
        _PLACES,
        true_quantiles(_TAUS, X),
        predicted,
        data.X[:, 0],
        data.y["time"],
        data.y["event"],
    )
