"""The paper's pictures: what every method learns of data with one feature."""

import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from censquant._files import write_whole
from censquant.benchmark._cells import FIRST_SEED, training_rows
from censquant.benchmark._datasets import BenchmarkDataset
from censquant.benchmark._methods import BenchmarkMethod
from censquant.benchmark._suites import (
    PAPER_METHODS,
    chosen_datasets,
    chosen_methods,
    get_suite,
)
from censquant.benchmark.reporting import (
    Labels,
    OneDimensional,
    one_dimensional_figure,
    render,
)

FIGURES_SUITE = "figures"

FIGURES_TITLE = "Pictures: all methods on the sets with one feature, beside the true quantiles."
"""What the suite of pictures shows, in a sentence."""

_TAUS = (0.1, 0.3, 0.5, 0.7, 0.9)
_PLACES = np.linspace(0.0, 2.0, 101)


def draw_one_feature_sets(
    folder: Path,
    labels: Labels,
    *,
    datasets: Iterable[str | BenchmarkDataset] | None = None,
    methods: Iterable[str | BenchmarkMethod] | None = None,
) -> list[Path]:
    """Fit all methods on the first sample of each set, draw them, and return the files.

    Parameters
    ----------
    folder : Path
        Where the picture goes, as PNG and as SVG.
    labels : Labels
        Titles of rows and columns.
    datasets : iterable of str or BenchmarkDataset, optional
        Synthetic sets with one feature; the paper's six by default.
    methods : iterable of str or BenchmarkMethod, optional
        The paper's five by default.
    """
    sets = chosen_datasets(get_suite("grid").datasets if datasets is None else datasets)
    ways = chosen_methods(PAPER_METHODS if methods is None else methods)
    if not sets or not ways:
        raise ValueError("There is nothing to draw: datasets and methods must name at least one.")
    drawn = {dataset.name: _learned(dataset, ways) for dataset in sets}
    figure = one_dimensional_figure(drawn, _TAUS, labels)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for kind, content in render(figure).items():
        files.append(folder / f"quantiles_1d.{kind}")
        write_whole(files[-1], content)
    return files


def _learned(dataset: BenchmarkDataset, methods: list[BenchmarkMethod]) -> OneDimensional:
    problem = dataset.problem(FIRST_SEED)
    true_quantiles = problem.true_quantiles
    if true_quantiles is None or problem.X.shape[1] != 1:
        raise ValueError(
            f"The suite {FIGURES_SUITE!r} draws synthetic sets with one feature, got "
            f"{dataset.name!r}; choose among {', '.join(get_suite('grid').datasets)}."
        )
    X = _PLACES[:, None]
    options = {"quantiles": _TAUS}
    predicted = {}
    for method in methods:
        model = method.build(dataset, options, FIRST_SEED)
        model.fit(*training_rows(method, problem))
        with warnings.catch_warnings():
            # What a method says past the last follow-up is part of the picture.
            warnings.simplefilter("ignore")
            predicted[method.name] = model.predict_quantiles(X, _TAUS)
    return OneDimensional(
        _PLACES,
        true_quantiles(_TAUS, X),
        predicted,
        problem.X[:, 0],
        problem.y["time"],
        problem.y["event"],
    )
