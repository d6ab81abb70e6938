"""Trainings that ended nowhere near their data say so, and others do not."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from censquant import (
    CQRNN,
    AsymmetricLaplaceNN,
    DeepQuantReg,
    LogNormalNN,
    SequentialGridNN,
    UncensoredOnlyNN,
    WeibullNN,
)
from censquant.datasets import load_gbsg2, make_norm_linear

X, Y = load_gbsg2()
METHODS = (CQRNN, DeepQuantReg, UncensoredOnlyNN, LogNormalNN, WeibullNN, AsymmetricLaplaceNN)
FAR = (
    r"\d+% of the training rows have a predicted quantile at the level 0\.\d+ that lies more than "
    r"10 times the range of the times outside it"
)
CONSTANT = (
    r"its loss rose to \S+ and ended at \S+, where that of the same prediction for everybody is \S+"
)
MESSAGE = (
    rf"^The training of \w+ did not converge: ({FAR}|{CONSTANT}); try a smaller learning_rate "
    r"or a larger max_epochs\.$"
)


def small(**parameters):
    return CQRNN(**{"max_epochs": 20, "hidden_layer_sizes": (8,), "random_state": 0, **parameters})


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("method", METHODS)
def test_a_training_at_an_absurd_rate_says_so(method, seed):
    with pytest.warns(ConvergenceWarning, match=MESSAGE) as caught:
        method(learning_rate=1000.0, max_epochs=30, random_state=seed).fit(X, Y)
    (warning,) = (one for one in caught if one.category is ConvergenceWarning)
    assert warning.filename == __file__


def test_a_sequential_training_at_an_absurd_rate_says_so():
    with pytest.warns(ConvergenceWarning, match=MESSAGE):
        SequentialGridNN([0.2, 0.4], learning_rate=1000.0, max_epochs=5, random_state=0).fit(X, Y)


@pytest.mark.parametrize("method", [*METHODS, SequentialGridNN])
@pytest.mark.parametrize("options", [{"max_epochs": 1}, {"max_epochs": 10}], ids=str)
def test_a_training_at_the_usual_rate_does_not(method, options):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        method([0.1, 0.5, 0.9], **options, random_state=0).fit(X, Y)


def test_quantiles_far_outside_the_times_are_reported():
    data = make_norm_linear(150, random_state=0)
    with pytest.warns(ConvergenceWarning, match=f"converge: {FAR};"):
        small(learning_rate=1000.0, max_epochs=3, y_star=None).fit(data.X, data.y)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
@pytest.mark.parametrize("start", [0.0, 1e4])
def test_a_training_that_ends_at_a_constant_is_reported_in_any_unit(unit, start):
    y = (unit * (start + Y["time"]), Y["event"])
    with pytest.warns(ConvergenceWarning, match=f"converge: {CONSTANT};"):
        CQRNN(learning_rate=30.0, max_epochs=10, random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        small().fit(X, y)


@pytest.mark.parametrize("method", METHODS)
def test_the_same_prediction_for_all_is_right_where_no_feature_has_an_effect(method):
    rng = np.random.default_rng(0)
    features, time, end = rng.uniform(-1, 1, (1000, 2)), rng.exponential(size=1000), 2.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        method(weight_decay=0.1, max_epochs=20, random_state=0).fit(
            features, (np.minimum(time, end), time <= end)
        )


def test_one_failed_member_is_enough():
    class OneFails(CQRNN):
        def _train_member(self, objective, rows, config, rng, **options):
            network, history = super()._train_member(objective, rows, config, rng, **options)
            if options["member"] == 1:
                network.parameters[:] = 0.3 * rng.normal(size=network.n_parameters)
                history[0]["loss"] = 1e6
            return network, history

    with pytest.warns(ConvergenceWarning, match=f"converge: {CONSTANT};"):
        OneFails(max_epochs=3, n_members=5, random_state=0, y_star=None).fit(X, Y)
