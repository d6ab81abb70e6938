"""Intervals and delayed entry: the model by rows that are not plain."""

import re

import numpy as np
import pandas as pd
import pytest
from lifelines import LogNormalAFTFitter, WeibullAFTFitter

from censquant import AFTRegressor, Surv, load_model
from censquant.metrics import pinball_loss_censored

INF = np.inf


def late_rows(n=400, seed=0, *, wide=False):
    """Features, and times of those who came late, perhaps known between two visits only."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(4 * n, 2))
    time = np.exp(1.0 + x @ [0.5, -0.3] - 0.4 * rng.gumbel(size=4 * n))
    entry = rng.uniform(0, 4, 4 * n)
    here = np.flatnonzero(time > entry)[:n]
    x, time, entry = x[here], time[here], entry[here]
    end = entry + rng.exponential(5, n)
    seen = time <= end
    if not wide:
        return x, Surv.from_arrays(seen, np.minimum(time, end), entry=entry)
    visit = entry + np.floor(time - entry)
    lower = np.where(seen, visit, end)
    return x, Surv.from_intervals(lower, np.where(seen, visit + 1.0, INF), entry=entry)


@pytest.mark.parametrize(
    ("distribution", "theirs"), [("weibull", WeibullAFTFitter), ("lognormal", LogNormalAFTFitter)]
)
def test_late_rows_have_the_estimates_of_lifelines(distribution, theirs):
    x, y = late_rows()
    model = AFTRegressor(distribution=distribution).fit(x, y)
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1]}).assign(
        time=y["time"], event=y["event"], entry=y["entry"]
    )
    other = theirs().fit(frame, "time", "event", entry_col="entry")
    np.testing.assert_allclose(model.coef_, other.params_.to_numpy()[:2], atol=1e-5)
    np.testing.assert_allclose(model.intercept_, other.params_.to_numpy()[2], atol=1e-5)
    np.testing.assert_allclose(
        model.standard_errors_[1:3], other.standard_errors_.to_numpy()[:2], rtol=1e-3
    )
    assert model.log_likelihood_ == pytest.approx(other.log_likelihood_, rel=1e-7)
    assert model.log_likelihood(x, y).sum() == pytest.approx(model.log_likelihood_)


@pytest.mark.parametrize("wide", [False, True])
def test_the_truth_is_recovered_where_ignoring_the_entry_misses_it(wide):
    x, y = late_rows(3000, wide=wide)
    model = AFTRegressor().fit(x, y)
    np.testing.assert_allclose(model.coef_, [0.5, -0.3], atol=0.06)
    assert model.intercept_ == pytest.approx(1.0, abs=0.06)
    assert model.scale_ == pytest.approx(0.4, abs=0.04)
    ignored = y.copy()
    ignored["entry"] = 0.0
    assert AFTRegressor().fit(x, ignored).intercept_ > 1.12


def test_rows_that_are_plain_give_the_same_bits_however_they_are_spelled():
    x, y = late_rows()
    time, event = y["time"], y["event"]
    plain = AFTRegressor().fit(x, (time, event))
    spelled = AFTRegressor().fit(x, Surv.from_intervals(time, np.where(event, time, INF)))
    zero = AFTRegressor().fit(x, Surv.from_arrays(event, time, entry=np.zeros(len(x))))
    for other in (spelled, zero):
        np.testing.assert_array_equal(other.coef_, plain.coef_)
        assert other.log_likelihood_ == plain.log_likelihood_
        np.testing.assert_array_equal(other.predict_curve(x).values, plain.predict_curve(x).values)


def test_narrow_intervals_are_times():
    x, y = late_rows()
    time, event = y["time"], y["event"]
    exact = AFTRegressor().fit(x, y)
    narrow = Surv.from_intervals(
        np.where(event, time - 1e-5, time), np.where(event, time, INF), entry=y["entry"]
    )
    np.testing.assert_allclose(AFTRegressor().fit(x, narrow).coef_, exact.coef_, atol=1e-4)


@pytest.mark.parametrize("wide", [False, True])
def test_order_weights_and_unit_do_not_matter(wide):
    x, y = late_rows(120, wide=wide)
    model = AFTRegressor().fit(x, y)
    shuffled = np.random.default_rng(1).permutation(len(x))
    np.testing.assert_array_equal(AFTRegressor().fit(x[shuffled], y[shuffled]).coef_, model.coef_)
    weight = np.arange(len(x)) % 3
    rows = np.repeat(np.arange(len(x)), weight)
    np.testing.assert_array_equal(
        AFTRegressor().fit(x, y, sample_weight=weight).coef_,
        AFTRegressor().fit(x[rows], y[rows]).coef_,
    )
    scaled = y.copy()
    for name in set(y.dtype.names) - {"event"}:
        scaled[name] *= 365.25
    other = AFTRegressor().fit(x, scaled)
    np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-9)
    assert other.intercept_ == pytest.approx(model.intercept_ + np.log(365.25), rel=1e-9)


def test_left_censored_rows_are_intervals_from_the_start():
    x, y = late_rows()
    known = np.maximum(y["time"], 3.0)
    left = AFTRegressor(censoring="left").fit(x, (known, y["time"] > 3.0))
    spelled = Surv.from_intervals(np.where(y["time"] > 3.0, known, 0.0), known)
    np.testing.assert_allclose(AFTRegressor().fit(x, spelled).coef_, left.coef_, rtol=1e-8)


def test_a_stored_model_answers_as_before(tmp_path):
    x, y = late_rows(120, wide=True)
    model = AFTRegressor(random_state=0).fit(x, y)
    model.save(tmp_path / "model.cq")
    other = load_model(tmp_path / "model.cq")
    np.testing.assert_array_equal(other.predict_curve(x).values, model.predict_curve(x).values)


def test_scores_refuse_what_they_would_misread():
    x, y = late_rows(120)
    model = AFTRegressor().fit(x, y)
    message = (
        "y must be a target of kind 'right', got one with delayed entry in 120 of 120 rows: only "
    )
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        pinball_loss_censored(y, model.predict_quantiles(x, [0.5]), [0.5])
