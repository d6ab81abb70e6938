"""Parametric models stay near the times that they were fitted to, whatever the features."""

import numpy as np
import pytest

from censquant import AsymmetricLaplaceNN, LogNormalNN, WeibullNN
from censquant._engine.objectives._likelihoods import (
    AsymmetricLaplaceLikelihood,
    GumbelLikelihood,
    NormalLikelihood,
)
from censquant.datasets import load_gbsg2, make_lognorm_8d, make_norm_4d
from censquant.survival._transform import TimeTransform

ALL = (LogNormalNN, WeibullNN, AsymmetricLaplaceNN)


def gbsg2(n):
    X, y = load_gbsg2()
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X.to_numpy()[order], y[order]
    return X[:n], y[:n], X[n:]


def synthetic(make, **options):
    def draw(n):
        data = make(2 * n, random_state=0, **options)
        return data.X[:n], data.y[:n], data.X[n:]

    return draw


SETS = {
    "gbsg2": gbsg2,
    "norm_heavy": synthetic(make_norm_4d, censoring="heavy"),
    "lognorm_heavy": synthetic(make_lognorm_8d, censoring="heavy"),
}


@pytest.mark.parametrize("draw", SETS.values(), ids=SETS)
@pytest.mark.parametrize("method", ALL)
def test_early_quantiles_of_new_individuals_stay_near_the_times_of_500_rows(method, draw):
    X, y, new = draw(500)
    model = method(random_state=0).fit(X, y)
    early = model.predict_quantiles(new, [0.05], beyond="extrapolate")
    assert early.max() < 2 * y["time"].max()


@pytest.mark.parametrize("method", ALL)
def test_no_features_lead_to_boundless_quantiles(method):
    X, y, _ = gbsg2(500)
    model = method(max_epochs=10, random_state=0).fit(X, y)
    far = np.random.default_rng(0).normal(scale=1e9, size=(200, X.shape[1]))
    predicted = model.predict_quantiles(far, [0.05, 0.5, 0.95], beyond="extrapolate")
    assert np.isfinite(predicted).all()
    # The location has its largest value there, and the scale as well.
    assert (predicted.max(axis=0) < y["time"].max() * np.array([5.0, 15.0, 100.0])).all()


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(
    "likelihood", [NormalLikelihood, GumbelLikelihood, AsymmetricLaplaceLikelihood]
)
def test_locations_lie_within_three_times_the_times(likelihood, log):
    time = np.array([2.0, 5.0, 20.0])
    transform = TimeTransform.fit(time, np.ones(3, bool), "log" if log else "standardize")
    bounded = likelihood().within(2.0, 20.0, transform)
    output = np.zeros((2, bounded.n_outputs))
    output[:, 0] = -1e9, 1e9
    limits = bounded.bounds.apply(output)[0][:, 0]
    low, high = transform.inverse(limits)
    lowest, highest = (2.0 / 3, 60.0) if log else (2.0 - 36.0, 20.0 + 36.0)
    np.testing.assert_allclose((low, high), (lowest, highest), rtol=1e-6)
    inside = np.zeros((1, bounded.n_outputs))
    np.testing.assert_array_equal(bounded.bounds.apply(inside)[0][:, 0], [0.0])
