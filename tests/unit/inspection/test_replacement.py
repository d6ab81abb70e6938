"""The cheapest age of replacement: published optima, closed forms, and what is said without one."""

import re

import numpy as np
import pytest
from scipy.special import gamma, gammainc

from censquant import CoxQuantileRegressor
from censquant.inspection import ReplacementPolicy, replacement_policy
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import CURVE_QUANTILES

# Optimal age and cost per time of a Weibull law of scale 1000 and costs 1 : ratio, by
# relife 3.0.0 (AgeReplacementPolicy.compute_optimal_ar and
# asymptotic_expected_equivalent_annual_cost, without discounting).
RELIFE = {
    (1.2, 5.0): (1597.894, 0.005268627),
    (1.2, 20.0): (346.713, 0.018440880),
    (1.8, 2.0): (1293.142, 0.002210966),
    (1.8, 8.0): (390.957, 0.005943858),
    (2.5, 2.0): (883.601, 0.002076466),
    (2.5, 20.0): (262.382, 0.006384013),
    (4.0, 2.0): (766.113, 0.001798618),
    (4.0, 20.0): (364.101, 0.003668416),
}


def weibull_rate(age, shape, ratio, scale=1000.0):
    """Cost per time of replacement at an age over whole cycles, by the closed form."""
    z = (np.minimum(age, 1e6) / scale) ** shape
    service = scale * gamma(1 + 1 / shape) * gammainc(1 / shape, z)
    return (np.exp(-z) + ratio * -np.expm1(-z)) / service


def weibull_curve(shape, reach=0.99):
    """The true quantiles of one unit."""
    levels = np.array(CURVE_QUANTILES)
    values = 1000.0 * (-np.log1p(-levels)) ** (1 / shape)
    return QuantileCurve([values], levels, 0.0).with_reach([reach])


@pytest.mark.parametrize(("shape", "ratio"), RELIFE)
def test_the_cheapest_age_of_a_known_law_is_that_of_relife_and_of_the_closed_form(shape, ratio):
    age, rate = RELIFE[shape, ratio]
    assert weibull_rate(age, shape, ratio) == pytest.approx(rate, rel=1e-5)
    found = ReplacementPolicy.of(weibull_curve(shape), 1.0, ratio)
    assert found.age[0] == pytest.approx(age, rel=0.04)
    assert weibull_rate(found.age[0], shape, ratio) == pytest.approx(rate, rel=1e-3)
    service = found.service[0]
    assert (1 - found.level[0] + ratio * found.level[0]) / service == pytest.approx(rate, rel=0.01)


@pytest.mark.parametrize("shape", [0.7, 1.0])
@pytest.mark.parametrize("ratio", [2.0, 8.0, 20.0])
def test_replacing_before_failure_does_not_pay_where_the_hazard_does_not_rise(shape, ratio):
    found = ReplacementPolicy.of(weibull_curve(shape), 1.0, ratio)
    assert np.isinf(found.age).all()
    assert not found.is_rising.any()


def test_a_cheapest_age_beyond_follow_up_is_not_extrapolated():
    found = ReplacementPolicy.of(weibull_curve(1.8, reach=0.3), 1.0, 2.0)
    assert np.isinf(found.age[0])
    assert found.is_rising[0]
    assert found.supported[0] == pytest.approx(1000 * (-np.log(0.7)) ** (1 / 1.8), rel=0.02)


def test_steps_of_an_ensemble_do_not_move_the_cheapest_age_far():
    levels, rng = np.array(CURVE_QUANTILES), np.random.default_rng(0)
    true = 1000.0 * (-np.log1p(-levels)) ** (1 / 2.5)
    # Neighbouring levels share their time, as in a curve of few event times.
    steps = np.sort(true * np.exp(rng.normal(0.0, 0.06, (200, len(levels)))), axis=1)
    found = ReplacementPolicy.of(
        QuantileCurve(steps, levels, 0.0).with_reach(np.full(200, 0.9)), 1.0, 8.0
    )
    rate = weibull_rate(found.age, 2.5, 8.0)
    assert np.mean(rate) < 1.01 * RELIFE_OPTIMUM


RELIFE_OPTIMUM = 0.004304038  # shape 2.5, costs 1 : 8


@pytest.mark.parametrize(("shape", "ratio"), [(1.2, 20.0), (1.8, 8.0), (4.0, 3.0)])
def test_the_recommended_policy_costs_at_most_three_per_cent_more_than_the_best(shape, ratio):
    excess = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1000, 2))
        scale = 1000.0 * np.exp(0.3 * X[:, 0] - 0.2 * X[:, 1])
        life, end = scale * rng.weibull(shape, 1000), rng.uniform(0.0, 1.0, 1000)
        end *= np.quantile(life / end, 0.5)  # half of the units are censored
        y = np.minimum(life, end), life <= end
        curve = CoxQuantileRegressor().fit(X, y).predict_curve(X)
        age = ReplacementPolicy.of(curve, 1.0, ratio).age
        best = min(weibull_rate(np.geomspace(50.0, 20_000.0, 4000), shape, ratio))
        excess.append(
            np.mean(weibull_rate(age, shape, ratio, scale)) / np.mean(best * 1000 / scale)
        )
    assert np.median(excess) < 1.03


@pytest.mark.parametrize(("shape", "ratio"), [(1.8, 8.0), (4.0, 3.0)])
def test_costs_by_age_are_those_of_the_closed_form(shape, ratio):
    policy = ReplacementPolicy.of(weibull_curve(shape), 1.0, ratio)
    ages = np.array([100.0, 300.0, 500.0, 900.0, 1500.0])
    known = ages <= policy.supported[0]
    found = policy.cost_rate(ages)[0]
    np.testing.assert_allclose(found[known], weibull_rate(ages[known], shape, ratio), rtol=0.01)
    assert np.isnan(found[~known]).all()
    best = policy.cost_rate(policy.age[0])[0, 0]
    assert best == pytest.approx(policy.rate[0])
    assert best <= np.nanmin(found)


def test_a_policy_is_a_text_and_a_frame():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    life, end = 1000 * np.exp(-X[:, 0] / 4) * rng.weibull(3.0, 400), rng.uniform(0, 2000, 400)
    model = CoxQuantileRegressor().fit(X, (np.minimum(life, end), life <= end))
    policy = replacement_policy(model, X, 1.0, 10.0)
    frame = policy.to_frame()
    assert len(frame) == len(policy) == 400
    assert (frame["cost_rate"] <= frame["cost_rate_at_failure"] * 1.001).all()
    pays = frame["advice"] == "replace"
    assert (np.isfinite(frame["replace_at"]) == pays).all()
    assert pays.all()
    assert str(policy).splitlines()[0] == "400 units; a replacement costs 1, a failure 10"
    assert "Replacing before failure pays for 400 and saves" in str(policy)
    assert max(map(len, str(policy).splitlines())) < 80
    assert "<table>" in policy._repr_html_()
    part = policy.take([3, 5])
    np.testing.assert_array_equal(part.cost_rate(200.0), policy.cost_rate(200.0)[[3, 5]])
    never = replacement_policy(model, X, 1.0, 1.0)
    assert set(never.advice) <= {"at failure", "not before"}
    assert np.isinf(never.age).all()
    assert (never.level == 1).all()
    np.testing.assert_allclose(never.rate, never.rate_at_failure)


@pytest.mark.parametrize(
    ("costs", "ages", "message"),
    [
        ((0.0, 1.0), 1.0, "early_cost must be finite and inside (0, inf), got 0.0."),
        ((1.0, -2.0), 1.0, "late_cost must be finite and inside (0, inf), got -2.0."),
        ((1.0, 2.0), [5.0, 0.0], "ages must be positive, got 0."),
    ],
)
def test_wrong_costs_and_ages_are_one_sentence(costs, ages, message):
    X = np.random.default_rng(0).normal(size=(50, 1))
    model = CoxQuantileRegressor().fit(X, (np.arange(1.0, 51.0), np.ones(50, dtype=bool)))
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        replacement_policy(model, X, *costs).cost_rate(ages)


def test_a_model_of_left_censored_times_has_no_age_of_replacement():
    X = np.random.default_rng(0).normal(size=(50, 1))
    y = np.arange(1.0, 51.0), np.ones(50, dtype=bool)
    model = CoxQuantileRegressor(censoring="left").fit(X, y)
    with pytest.raises(ValueError, match=r"^model must be fitted with censoring='right', got"):
        replacement_policy(model, X, 1.0, 2.0)
