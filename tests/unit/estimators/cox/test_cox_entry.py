"""Proportional hazards where rows came under observation late."""

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter

from censquant import CoxQuantileRegressor, Surv
from censquant.estimators import _cox_likelihood
from censquant.estimators._cox import PiecewiseHazard
from censquant.estimators._cox_likelihood import PartialLikelihood

TIES = ("efron", "breslow")


def late_rows(n=300, seed=0, *, tied=False):
    """Features, and times of those who came late; hazard ratios exp(0.8 x) and exp(-0.5 x)."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(4 * n, 2))
    time = 4.0 * (rng.exponential(size=4 * n) * np.exp(-x @ [0.8, -0.5])) ** 0.6
    entry = rng.uniform(0, 4, 4 * n)
    here = np.flatnonzero(time > entry)[:n]
    x, time, entry = x[here], time[here], entry[here]
    end = entry + rng.exponential(6, n)
    event, time = time <= end, np.minimum(time, end)
    if tied:
        time, entry = np.ceil(time * 4) / 4, np.floor(entry * 4) / 4
    return x, Surv.from_arrays(event, time, entry=entry)


def likelihood_of(x, y, weight, ties):
    order = np.argsort(-y["time"], kind="stable")
    entry = np.where(y["entry"] > 0, y["entry"], -np.inf)
    return PartialLikelihood(
        x[order], y["time"][order], y["event"][order], weight[order], ties, entry[order]
    )


def by_definition(x, y, weight, ties, coefficients):
    """Sum over events of the log share of their hazard among those who have entered."""
    eta, total = x @ coefficients, 0.0
    risk, event = weight * np.exp(eta), y["event"]
    for now in np.unique(y["time"][event]):
        tied = event & (y["time"] == now)
        at_risk = (y["entry"] < now) & (now <= y["time"])
        total += weight[tied] @ eta[tied]
        for place in range(tied.sum()):
            share = place / tied.sum() if ties == "efron" else 0.0
            denominator = risk[at_risk].sum() - share * risk[tied].sum()
            total -= weight[tied].mean() * np.log(denominator)
    return total


@pytest.mark.parametrize("block", [7, 1024])
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("tied", [True, False])
def test_value_and_derivatives_are_those_of_the_definition(ties, tied, block, monkeypatch):
    monkeypatch.setattr(_cox_likelihood, "_BLOCK", block)
    x, y = late_rows(80, tied=tied)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, 80)
    likelihood = likelihood_of(x, y, weight, ties)
    place, step = np.array([0.7, -0.3]), 1e-5
    assert likelihood.value(place) == pytest.approx(
        by_definition(x, y, weight, ties, place), rel=1e-12
    )
    gradient, hessian = likelihood.derivatives(place)
    for axis, unit in enumerate(step * np.eye(2)):
        up, down = place + unit, place - unit
        difference = (likelihood.value(up) - likelihood.value(down)) / (2 * step)
        assert gradient[axis] == pytest.approx(difference, rel=1e-6)
        difference = (likelihood.derivatives(up)[0] - likelihood.derivatives(down)[0]) / (2 * step)
        np.testing.assert_allclose(hessian[axis], difference, rtol=1e-5)


@pytest.mark.parametrize("tied", [True, False])
def test_coefficients_are_those_of_lifelines(tied):
    x, y = late_rows(tied=tied)
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1]}).assign(
        time=y["time"], event=y["event"], entry=y["entry"]
    )
    precise = {"precision": 1e-10, "r_precision": 1e-12}
    theirs = CoxPHFitter().fit(frame, "time", "event", entry_col="entry", fit_options=precise)
    ours = CoxQuantileRegressor(penalty=0).fit(x, y)
    np.testing.assert_allclose(ours.coef_, theirs.params_.to_numpy(), atol=1e-6)


def test_the_baseline_is_breslows_among_those_who_have_entered():
    # lifelines leaves entries out of its baseline.
    x, y = late_rows(tied=True)
    model = CoxQuantileRegressor(penalty=0, ties="breslow").fit(x, y)
    risk, steps = np.exp((x - x.mean(axis=0)) @ model.coef_), []
    for now in model.baseline_times_:
        at_risk = (y["entry"] < now) & (now <= y["time"])
        steps.append((y["event"] & (y["time"] == now)).sum() / risk[at_risk].sum())
    np.testing.assert_allclose(model.baseline_cumulative_hazard_, np.cumsum(steps), rtol=1e-10)


def test_few_rows_at_risk_early_do_not_decide_the_curve_of_all():
    x, y = late_rows()
    here = y["entry"] > 0.05
    first = Surv.from_arrays([True, False], [0.02, 0.03], entry=[0.0, 0.0])
    x, y = np.vstack(([[-2, 2], [-2, 2]], x[here])), np.concatenate((first, y[here]))
    model = CoxQuantileRegressor(penalty=0, ties="breslow").fit(x, y)
    risk = np.exp((x - x.mean(axis=0)) @ model.coef_)
    most = max(risk[(y["entry"] < t) & (t <= y["time"])].sum() for t in model.baseline_times_)
    assert risk[:2].sum() < 0.01 * most
    np.testing.assert_allclose(model.baseline_cumulative_hazard_[0], 1.0 / (0.01 * most))


def test_the_truth_is_recovered_where_ignoring_the_entry_misses_it():
    x, y = late_rows(3000)
    model = CoxQuantileRegressor(penalty=0).fit(x, y)
    np.testing.assert_allclose(model.coef_, [0.8, -0.5], atol=0.08)
    # Survival of the mean individual, given no event until 1, when hardly anybody is missing.
    at = np.array([1.0, 2.0, 4.0, 6.0])
    center = x.mean(axis=0)

    def given_one(model):
        survival = model.predict_survival_function(center[None], at, return_array=True)[0]
        return survival[1:] / survival[0]

    hazard = (at / 4.0) ** (1 / 0.6) * np.exp(center @ [0.8, -0.5])
    true = np.exp(hazard[0] - hazard[1:])
    np.testing.assert_allclose(given_one(model), true, atol=0.03)
    ignored = CoxQuantileRegressor(penalty=0).fit(x, (y["time"], y["event"]))
    assert (given_one(ignored)[1:] > true[1:] + 0.05).all()


def test_rates_are_events_over_the_time_under_observation():
    rng = np.random.default_rng(0)
    time, entry = rng.exponential(size=20_000), rng.uniform(0, 1, 20_000)
    here = time > entry
    time, entry, n = time[here], entry[here], int(here.sum())
    one = np.ones(n)
    hazard = PiecewiseHazard.fit(0.0, time, one.astype(bool), one, one, entry)
    np.testing.assert_allclose(hazard.rate, 1.0, rtol=0.2)


def test_a_row_counts_given_no_event_until_its_entry():
    x, y = late_rows()
    model = CoxQuantileRegressor(penalty=0).fit(x, y)
    end = y.copy()
    end["event"], end["time"] = False, y["entry"]
    until = model.log_likelihood(x, (end["time"], end["event"]))
    whole = model.log_likelihood(x, (y["time"], y["event"]))
    np.testing.assert_allclose(model.log_likelihood(x, y), whole - until, rtol=1e-10)


def test_order_weights_and_the_start_do_not_matter():
    x, y = late_rows(120, tied=True)
    model = CoxQuantileRegressor().fit(x, y)
    shuffled = np.random.default_rng(1).permutation(len(x))
    other = CoxQuantileRegressor().fit(x[shuffled], y[shuffled])
    np.testing.assert_array_equal(other.coef_, model.coef_)
    weight = np.arange(len(x)) % 3
    rows = np.repeat(np.arange(len(x)), weight)
    weighted = CoxQuantileRegressor().fit(x, y, sample_weight=weight)
    np.testing.assert_array_equal(
        weighted.coef_, CoxQuantileRegressor().fit(x[rows], y[rows]).coef_
    )
    plain = CoxQuantileRegressor().fit(x, (y["time"], y["event"]))
    none = Surv.from_arrays(y["event"], y["time"], entry=np.zeros(len(x)))
    np.testing.assert_array_equal(CoxQuantileRegressor().fit(x, none).coef_, plain.coef_)


def test_more_features_than_rows_have_the_coefficients_of_the_rows():
    x, y = late_rows(30)
    wide = np.hstack([x, 0.01 * np.random.default_rng(2).normal(size=(30, 40))])
    model = CoxQuantileRegressor(penalty=0.1).fit(wide, y)
    assert np.isfinite(model.coef_).all()
    assert model.coef_[0] > 0 > model.coef_[1]


def test_intervals_are_refused_by_naming_who_takes_them():
    x = np.arange(40.0)[:, None]
    message = "got one with interval censoring in 40 of 40 rows: only .*AFTRegressor.* take"
    with pytest.raises(ValueError, match=message):
        CoxQuantileRegressor().fit(x, Surv.from_intervals(np.arange(40.0), np.arange(40.0) + 2))
