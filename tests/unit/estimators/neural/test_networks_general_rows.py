"""Networks that are fitted to intervals and to rows with delayed entry."""

import re

import numpy as np
import pytest

from censquant import (
    CQRNN,
    AsymmetricLaplaceNN,
    LogNormalNN,
    ShapeNN,
    Surv,
    WeibullNN,
    load_model,
)
from exported_models import onnx_answers

INF = np.inf


def weibull_rows(n, seed, *, late=False, visits=False):
    """Features, target and the true quantile function of Weibull times of shape 1.6."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.5, 1.5, (8 * n, 2))
    scale = np.exp(1.5 + 0.5 * x[:, 0] - 0.4 * x[:, 1])
    time = scale * rng.weibull(1.6, 8 * n)
    entry = rng.exponential(4.0, 8 * n) if late else np.zeros(8 * n)
    seen = np.flatnonzero(time > entry)[:n]
    x, time, entry = x[seen], time[seen], entry[seen]
    end = entry + rng.exponential(12.0, n)
    lower, upper = np.minimum(time, end), np.where(time <= end, time, INF)
    if visits:
        inside = time <= end
        lower = np.where(inside, np.floor(time / 2) * 2, lower)
        upper = np.where(inside, np.floor(time / 2) * 2 + 2, upper)
    y = Surv.from_intervals(lower, upper, entry=entry if late else None)
    return x, y


def level_error(model, seed=99):
    x = np.random.default_rng(seed).uniform(-1.5, 1.5, (400, 2))
    scale = np.exp(1.5 + 0.5 * x[:, 0] - 0.4 * x[:, 1])
    levels = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
    times = model.predict_quantiles(x, levels, beyond="extrapolate")
    true = -np.expm1(-((times / scale[:, None]) ** 1.6))
    return np.abs(true - levels).mean()


def without_entry(y):
    """The same rows without their entries."""
    return Surv.from_intervals(y["lower"], y["upper"])


@pytest.mark.parametrize("model", [ShapeNN(), ShapeNN(family="weibull"), WeibullNN(dropout=0.0)])
def test_entries_are_used_and_not_ignored(model):
    x, y = weibull_rows(600, seed=1, late=True)
    model.set_params(random_state=0)
    assert level_error(model.fit(x, y)) < 0.085
    assert level_error(model.fit(x, without_entry(y))) > 0.1


@pytest.mark.parametrize("model", [ShapeNN(), ShapeNN(tail="bounded"), LogNormalNN(), WeibullNN()])
def test_inspections_tell_about_as_much_as_times(model):
    x, y = weibull_rows(500, seed=2, visits=True)
    assert level_error(model.set_params(random_state=0).fit(x, y)) < 0.08


def test_nobody_has_the_event_before_the_origin():
    # S(t) / S(entry) has no term that keeps a law of linear time from lying below 0.
    x, y = weibull_rows(500, seed=3, late=True)
    model = ShapeNN(random_state=0).fit(x, y)
    assert (model.predict_quantiles(x, [0.001], beyond="extrapolate") > 0).all()
    curve = model.predict_curve(x)
    assert curve.cdf(np.zeros(500)).max() == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(curve.cdf(curve.at([0.01, 0.4]))[0], [0.01, 0.4], atol=1e-9)


def test_plain_rows_in_bounds_are_fitted_as_times():
    x, y = weibull_rows(150, seed=4)
    for model in (ShapeNN(max_steps=30, random_state=0), WeibullNN(max_epochs=2, random_state=0)):
        bounds = model.fit(x, y).predict_quantiles(x, [0.2, 0.7], beyond="extrapolate")
        model.fit(x, (y["lower"], np.isfinite(y["upper"])))
        np.testing.assert_array_equal(
            model.predict_quantiles(x, [0.2, 0.7], beyond="extrapolate"), bounds
        )


@pytest.mark.parametrize("model", [ShapeNN(max_steps=40), LogNormalNN(max_epochs=2)])
def test_neither_order_nor_unit_nor_the_form_of_weights_matters(model):
    x, y = weibull_rows(120, seed=5, late=True, visits=True)
    model.set_params(random_state=0)
    first = model.fit(x, y).predict_quantiles(x, [0.3, 0.6], beyond="extrapolate")
    order = np.random.default_rng(0).permutation(120)
    again = model.fit(x[order], y[order]).predict_quantiles(x, [0.3, 0.6], beyond="extrapolate")
    np.testing.assert_array_equal(again, first)
    days = Surv.from_intervals(y["lower"] * 365, y["upper"] * 365, entry=y["entry"] * 365)
    in_days = model.fit(x, days).predict_quantiles(x, [0.3, 0.6], beyond="extrapolate")
    np.testing.assert_allclose(in_days / 365, first, rtol=1e-4)
    weight = np.arange(120) % 3
    weighted = model.fit(x, y, weight).predict_quantiles(x, [0.3], beyond="extrapolate")
    repeated = np.repeat(np.arange(120), weight)
    model.fit(x[repeated], y[repeated])
    np.testing.assert_array_equal(model.predict_quantiles(x, [0.3], beyond="extrapolate"), weighted)


def test_a_file_and_an_export_say_the_same(tmp_path):
    x, y = weibull_rows(150, seed=6, late=True)
    model = ShapeNN(max_steps=60, random_state=0, n_members=2).fit(x, y)
    levels = [0.01, 0.1, 0.5, 0.9]
    times = model.predict_quantiles(x, levels, beyond="extrapolate")
    model.save(tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict_quantiles(x, levels, beyond="extrapolate"), times)
    model.to_onnx(tmp_path / "model.onnx", levels, dtype="float64")
    exported = onnx_answers(tmp_path / "model.onnx", X=x)["quantiles"]
    np.testing.assert_allclose(exported, times, rtol=1e-7)


def test_log_likelihoods_of_rows_are_those_of_the_curve():
    x, y = weibull_rows(200, seed=7, late=True, visits=True)
    for model in (ShapeNN(max_steps=60), ShapeNN(family="weibull", max_steps=60)):
        model.set_params(random_state=0).fit(x, y)
        curve = model.predict_curve(x)
        before, low = curve.cdf(y["entry"]), curve.cdf(np.maximum(y["lower"], 0.0))
        high = np.where(np.isinf(y["upper"]), 1.0, curve.cdf(np.minimum(y["upper"], 1e9)))
        expected = np.log((high - low) / (1 - before))
        inside = curve.at([0.9])[:, 0] < model.follow_up_[1]  # without the law of tails
        own = model.log_likelihood(x, y)
        np.testing.assert_allclose(own[inside], expected[inside], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            WeibullNN(loss="crps"),
            "loss must be 'likelihood' where rows have intervals or entries, got 'crps': these "
            "rows have a likelihood only.",
        ),
        (
            LogNormalNN(calibration_penalty=1.0),
            "calibration_penalty must be 0.0 where rows have intervals or entries, got 1.0: these "
            "rows have a likelihood only.",
        ),
    ],
)
def test_losses_without_a_likelihood_are_refused(model, message):
    x, y = weibull_rows(60, seed=8, visits=True)
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        model.fit(x, y)


@pytest.mark.parametrize("model", [CQRNN(), AsymmetricLaplaceNN()])
def test_networks_of_other_losses_refuse_such_rows_and_name_who_takes_them(model):
    x, y = weibull_rows(60, seed=9, visits=True)
    with pytest.raises(ValueError, match=r"interval censoring in \d+ of 60 rows: only .*ShapeNN"):
        model.fit(x, y)
