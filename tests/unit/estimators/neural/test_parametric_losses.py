"""Parametric networks trained by the survival CRPS, and with a calibration penalty."""

import re

import numpy as np
import pytest

from censquant import AsymmetricLaplaceNN, LogNormalNN, WeibullNN, load_model
from censquant._engine.losses._likelihoods import calibration_penalty
from censquant._engine.objectives._likelihoods import LogNormalCRPS, NormalLikelihood, WeibullCRPS
from censquant._engine.training._rows import Rows
from censquant.datasets import make_weibull

DATA = make_weibull(120, random_state=0)
X, Y = DATA.X, DATA.y
ALL = (LogNormalNN, WeibullNN, AsymmetricLaplaceNN)


def small(estimator, **parameters):
    return estimator(
        **{"max_epochs": 4, "hidden_layer_sizes": (8,), "random_state": 0, **parameters}
    )


def quantiles(model, rows=X, levels=None):
    return model.predict_quantiles(rows, levels, beyond="extrapolate")


@pytest.mark.parametrize("estimator", [LogNormalNN, WeibullNN])
def test_without_censoring_the_crps_recovers_the_true_quantiles(estimator):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, 2000)
    noise = (
        rng.normal(size=2000) if estimator is LogNormalNN else np.log(rng.exponential(size=2000))
    )
    time = np.exp(1 + np.sin(3 * x) + (0.2 + 0.3 * x) * noise)
    model = estimator(
        loss="crps", dropout=0.0, weight_decay=0.0, max_epochs=40, hidden_layer_sizes=(32, 32),
        random_state=0,
    ).fit(x[:, None], time)  # fmt: skip
    places, levels = np.linspace(0.05, 0.95, 19), np.array([0.1, 0.5, 0.9])
    if estimator is LogNormalNN:
        base = np.array([-1.2816, 0.0, 1.2816])
    else:
        base = np.log(-np.log1p(-levels))
    truth = 1 + np.sin(3 * places)[:, None] + (0.2 + 0.3 * places)[:, None] * base
    error = np.log(quantiles(model, places[:, None], levels)) - truth
    assert np.abs(error).mean() < 0.06


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("censoring", ["right", "left"])
def test_both_sides_of_censoring_are_trained_and_stored(estimator, censoring, tmp_path):
    model = small(estimator, loss="crps", calibration_penalty=2.0, censoring=censoring).fit(X, Y)
    model.save(tmp_path / "model.censquant")
    again = load_model(tmp_path / "model.censquant")
    assert again.loss == "crps"
    np.testing.assert_array_equal(quantiles(again), quantiles(model))


def test_the_score_is_in_the_unit_of_time_of_the_fit():
    model = small(LogNormalNN, loss="crps", censoring="left").fit(X, Y)
    (objective,) = {trained.objective for trained in model.models_}
    assert isinstance(objective, LogNormalCRPS)
    assert objective.unit == model.time_transform_.scale
    assert objective.mirrored
    weibull = small(WeibullNN, loss="crps").fit(X, Y).models_[0].objective
    assert isinstance(weibull, WeibullCRPS)
    assert not weibull.mirrored


def test_another_unit_of_time_gives_the_same_model():
    one = quantiles(small(LogNormalNN, loss="crps").fit(X, Y))
    other = quantiles(small(LogNormalNN, loss="crps").fit(X, (24 * Y["time"], Y["event"])))
    np.testing.assert_allclose(other, 24 * one, rtol=1e-4)


@pytest.mark.parametrize("estimator", ALL)
def test_the_penalty_makes_the_levels_of_a_wrong_family_more_uniform(estimator):
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, 1000)
    late = rng.random(1000) < 0.5
    time = np.where(late, 9.0 + x, 1.0 + x) + 0.2 * rng.random(1000)  # two peaks, no such family
    found = []
    for strength in (0.0, 3.0):
        model = estimator(
            calibration_penalty=strength, dropout=0.0, hidden_layer_sizes=(16,), random_state=0,
            max_epochs=40,
        ).fit(x[:, None], time)  # fmt: skip
        levels = model.predict_curve(x[:, None]).cdf(time)
        slopes, everybody = np.empty(1000), np.ones(1000, dtype=bool)
        found.append(calibration_penalty(levels, everybody, np.ones(1000), 20, 1e6, slopes))
    assert found[1] < 0.8 * found[0]


def test_the_penalty_is_part_of_loss_and_gradient():
    rng = np.random.default_rng(2)
    rows = Rows.from_arrays(np.zeros((60, 1)), time=rng.normal(size=60), event=rng.random(60) < 0.6)
    output = rng.normal(size=(60, 2))
    plain, penalized = NormalLikelihood(), NormalLikelihood(calibration=5.0)
    gradient, shift = np.empty((60, 2)), np.zeros((60, 2))
    loss = penalized.gradient(output, rows, gradient)
    assert loss > plain.gradient(output, rows, np.empty((60, 2)))
    for cell in ((0, 0), (3, 1), (17, 0), (40, 1)):
        shift[:] = 0.0
        shift[cell] = 1e-6
        ends = [penalized.gradient(output + s * shift, rows, np.empty((60, 2))) for s in (-1, 1)]
        # Times are stored in single precision: the penalty's bins are sharp.
        assert gradient[cell] == pytest.approx((ends[1] - ends[0]) / 2e-6, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize(
    ("option", "error", "message"),
    [
        (
            {"loss": "brier"},
            ValueError,
            "loss must be one of 'likelihood', 'crps', got 'brier'.",
        ),
        (
            {"calibration_penalty": -1.0},
            ValueError,
            "calibration_penalty must be finite and inside [0, inf), got -1.0.",
        ),
    ],
)
def test_a_wrong_loss_or_strength_is_refused(option, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        LogNormalNN(**option).fit(X, Y)
