"""Cells and estimators that the benchmark's tests run."""

import time

import numpy as np
from sklearn.base import BaseEstimator

from censquant_bench import BenchmarkCell, get_dataset, get_method
from censquant_bench.paper import PaperConventions

QUICK = {"max_epochs": 2}


def cell(method="cqrnn", dataset="norm_linear", seeds=(111, 112), **options):
    """A cell of the paper's table with two epochs."""
    return BenchmarkCell(
        "main",
        get_dataset(dataset),
        get_method(method),
        options=QUICK | options,
        seeds=seeds,
        conventions=PaperConventions(),
    )


class Median(BaseEstimator):
    """Predicts multiples of the median time, and can be made to fail in fit or prediction."""

    def __init__(self, fails="", random_state=None):
        self.fails = fails
        self.random_state = random_state

    def fit(self, X, y):
        if self.fails == "fit":
            raise RuntimeError("no luck\n and much more about it")
        self.median_ = float(np.median(y["time"]))
        return self

    def predict_quantiles(self, X, quantiles):
        if self.fails == "prediction":
            raise RuntimeError("no luck")
        return self.median_ * (0.5 + np.tile(np.asarray(quantiles), (len(X), 1)))


class Sleepy(Median):
    """Takes a while to fit, as far as the clock can tell."""

    def fit(self, X, y):
        time.sleep(0.1)
        return super().fit(X, y)


class Global(Median):
    """Draws from the generator of the whole process."""

    def fit(self, X, y):
        np.random.seed(self.random_state)  # noqa: NPY002
        time.sleep(0.01)
        self.median_ = 1.0 + np.random.random()  # noqa: NPY002
        return self
