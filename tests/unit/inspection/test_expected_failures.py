"""Numbers of failures to expect: the Poisson-binomial distribution of the predicted risks."""

import re

import numpy as np
import pytest
from scipy.stats import binom

from censquant import CoxQuantileRegressor
from censquant.inspection import ExpectedFailures, expected_failures
from censquant.quantiles import QuantileCurve


def exponential(means):
    """Curves of units that do not age, whose risk is known whatever their age."""
    levels = np.linspace(0.001, 0.999, 999)
    return QuantileCurve(np.outer(means, -np.log1p(-levels)), levels, 0.0)


@pytest.mark.parametrize("n_units", [5, 64, 65, 700])
def test_limits_for_equal_units_are_those_of_the_binomial_distribution(n_units):
    found = ExpectedFailures.of(exponential(np.full(n_units, 100.0)), 0.0, [10.0, 70.0])
    for row in found.rows:
        risk = 1 - np.exp(-row.horizon / 100)
        assert row.expected == pytest.approx(n_units * risk, rel=1e-4)
        assert (row.low, row.high) == tuple(binom.ppf([0.05, 0.95], n_units, risk))
        assert row.supported == 1.0


def test_limits_for_unequal_units_are_those_of_simulated_failures():
    rng = np.random.default_rng(0)
    means, age = rng.uniform(20.0, 2000.0, 300), rng.uniform(0.0, 100.0, 300)
    row = ExpectedFailures.of(exponential(means), age, [50.0], confidence=0.8).rows[0]
    counts = (rng.exponential(means, (20_000, 300)) < 50.0).sum(axis=1)
    assert row.expected == pytest.approx(counts.mean(), rel=0.01)
    assert np.abs(np.quantile(counts, [0.1, 0.9]) - [row.low, row.high]).max() <= 1


def test_most_of_the_simulated_fleets_fail_as_often_as_said():
    inside = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(900, 1))
        life = 1000.0 * np.exp(-0.5 * X[:, 0]) * rng.weibull(2.0, 900)
        end = rng.uniform(0.0, 2500.0, 900)
        y = np.minimum(life, end), life <= end
        running = np.flatnonzero(~y[1])[:60]  # few, so that chance outweighs the error of the model
        row = expected_failures(CoxQuantileRegressor().fit(X, y), X[running], y[0][running], 200.0)
        failed = int((life[running] < y[0][running] + 200.0).sum())
        inside.append(row.rows[0].low <= failed <= row.rows[0].high)
    assert np.mean(inside) > 0.8


def test_units_past_follow_up_are_told():
    curve = exponential(np.full(4, 100.0)).with_reach([0.9, 0.9, 0.2, 0.2])
    found = ExpectedFailures.of(curve, 10.0, [1.0, 50.0, 500.0])
    assert [row.supported for row in found.rows] == [1.0, 0.5, 0.0]


def test_a_fleet_without_units_expects_nothing():
    row = ExpectedFailures.of(exponential(np.empty(0)), 0.0, [10.0]).rows[0]
    assert (row.expected, row.low, row.high, row.supported) == (0.0, 0, 0, 1.0)


def test_it_is_a_table_and_a_frame():
    found = ExpectedFailures.of(exponential(np.full(20, 100.0)), 0.0, [10.0, 70.0])
    assert str(found).splitlines()[0] == "20 units"
    assert len(str(found).splitlines()) == 4
    frame = found.to_frame()
    assert frame.columns.tolist() == ["horizon", "expected", "low", "high", "supported"]
    assert found._repr_html_().count("<tr>") == 3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"horizons": [0.0]}, "horizons must be positive times, got [0.0]."),
        ({"horizons": [np.inf]}, "horizons must be positive times, got [inf]."),
        ({"elapsed": -1.0}, "elapsed must be a time of 0 or more, got -1 in row 0."),
        ({"elapsed": [1.0, 2.0]}, "elapsed must be a number or have shape (50,), got (2,)."),
        ({"confidence": 1.0}, "confidence must be"),
    ],
)
def test_wrong_arguments_are_one_sentence(changed, message):
    X = np.random.default_rng(0).normal(size=(50, 1))
    model = CoxQuantileRegressor().fit(X, (np.arange(1.0, 51.0), np.ones(50, dtype=bool)))
    options = {"elapsed": 0.0, "horizons": [5.0], **changed}
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        expected_failures(model, X, **options)


def test_a_model_of_left_censored_times_is_refused():
    X = np.random.default_rng(0).normal(size=(50, 1))
    y = np.arange(1.0, 51.0), np.ones(50, dtype=bool)
    model = CoxQuantileRegressor(censoring="left").fit(X, y)
    with pytest.raises(ValueError, match=r"^model must be fitted with censoring='right', got"):
        expected_failures(model, X, 0.0, [5.0])
