"""Habits of the published runs: the y* of the first run, and a plain loop to time against."""

import functools
import importlib.util
import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant import metrics
from censquant.estimators import CQRNN, NeuralRegressor, ParametricRegressor, SequentialGridNN
from censquant.estimators.neural._cqrnn import y_star_factor
from censquant_bench._cells import FIRST_SEED, BenchmarkCell
from censquant_bench._conventions import RunConventions
from censquant_bench._datasets import BenchmarkDataset, TrainTestData

_PAST_LATEST = 1e-6


class PaperConventions(RunConventions):
    """What was done around the published fits.

    Examples
    --------
    >>> from censquant_bench import BenchmarkCell, get_dataset, get_method
    >>> from censquant_bench.paper import PaperConventions
    >>> dataset, method = get_dataset("norm_linear"), get_method("cqrnn")
    >>> model, y = method.build(dataset, {}, 112), dataset.train_test(112).y
    >>> PaperConventions().prepare(model, BenchmarkCell("main", dataset, method), y)
    >>> round(float(model.y_star / dataset.train_test(111).y["time"].max()), 6)
    1.2
    """

    def prepare(self, model: Any, cell: BenchmarkCell, y: NDArray[np.void]) -> None:
        """Replace a y* that is a factor by that multiple of the latest time of the *first* run.

        Other data have no published runs of the paper: there each run keeps its own.

        Parameters
        ----------
        model : estimator
            As its method built it.
        cell : BenchmarkCell
            What it belongs to.
        y : structured array of shape (n,)
            Times and events that it will be fitted to.
        """
        factor = getattr(model, "y_star", None)
        if not isinstance(factor, str) or not cell.dataset.prepared:
            return
        latest = _latest_of_first_run(cell.dataset, cell.split, cell.n_train)
        far = y_star_factor(factor) * latest
        # No row of this run may lie past it.
        model.set_params(y_star=max(far, (1.0 + _PAST_LATEST) * float(y["time"].max())))

    def more_scores(self, model: Any, X_test: Any, data: TrainTestData) -> dict[str, float]:
        """Return the concordance of restricted means, beside that of medians.

        Parameters
        ----------
        model : estimator
            Fitted.
        X_test : ndarray or DataFrame of shape (m, n_features)
            Features to score on, in the form that the model was fitted to.
        data : TrainTestData
            What it was fitted to and is scored on.

        Returns
        -------
        scores : dict of str to float
            Empty for images, and for models that do not predict such means.
        """
        if getattr(X_test, "ndim", 2) > 2 or not hasattr(model, "predict_restricted_mean"):
            return {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a score of the usual predictions warned already
            mean = model.predict_restricted_mean(X_test)
        return {"cindex_restricted_mean": metrics.concordance_index(data.y_test, mean)}

    def plain_step_seconds(self, model: Any, data: TrainTestData) -> float:
        """Return the time per step of a plain torch loop.

        Parameters
        ----------
        model : estimator
            Fitted, unless its fit failed.
        data : TrainTestData
            What it was fitted to.

        Returns
        -------
        seconds : float
            Not a number where torch is not installed or the model is not the paper's network.
        """
        return plain_step_seconds(model, data)


@functools.lru_cache(maxsize=8)  # the runs of a cell follow each other
def _latest_of_first_run(dataset: BenchmarkDataset, split: str, n_train: int | None) -> float:
    return float(dataset.train_test(FIRST_SEED, split, n_train).y["time"].max())


def plain_step_seconds(model: Any, data: TrainTestData) -> float:
    """Return the seconds per step that a plain torch loop takes for this fit on one core.

    Measured beside the fits themselves, so that a busy machine slows both. Not a number where
    torch is not installed or the model is not the paper's dense network.
    """
    if not _is_the_papers(model) or importlib.util.find_spec("torch") is None:
        return math.nan
    from censquant_bench import _plain_torch as plain

    taus = [float(tau) for tau in model.quantiles]
    far = 1.2 * float(data.y["time"].max())
    if isinstance(model, ParametricRegressor):
        n_outputs, loss = 2, plain.plain_lognormal()
    elif isinstance(model, SequentialGridNN):
        n_outputs, loss = 1, plain.plain_portnoy([0.5], far)
    elif isinstance(model, CQRNN):
        n_outputs, loss = len(taus), plain.plain_portnoy(taus, far)
    else:
        n_outputs, loss = len(taus), plain.plain_pinball(taus)
    numbers = data.X.astype(np.float32), data.y["time"].astype(np.float32)
    rows = (*numbers, np.ascontiguousarray(data.y["event"]))
    return plain.plain_step_seconds(rows, n_outputs, loss, activation=model.activation)


def _is_the_papers(model: Any) -> bool:
    return (
        isinstance(model, NeuralRegressor)
        and model.network is None
        and model.quantiles is not None
        and tuple(np.atleast_1d(model.hidden_layer_sizes)) == (100, 100)
        and model.activation in ("relu", "gelu")
        and model.batch_size == 128
    )
