"""Coefficients and hazards: against lifelines and scikit-survival, and where truth is known."""

import warnings

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter
from sklearn.exceptions import ConvergenceWarning
from sksurv.linear_model import CoxPHSurvivalAnalysis

from censquant import CoxQuantileRegressor
from censquant.exceptions import (
    ConstantFeatureWarning,
    IdentifiabilityWarning,
    LeakageWarning,
)

TRUTH = np.array([0.5, 0.05, -3.0, 0.0])


def made(n=300, seed=0, *, tied=False):
    """Exponential times whose hazard depends on features of very different units."""
    rng = np.random.default_rng(seed)
    X = 3.0 + rng.normal(size=(n, 4)) * [1.0, 10.0, 0.1, 1.0]
    event_time = rng.exponential(np.exp(-(X - 3.0) @ TRUTH))
    end = rng.exponential(2.0, size=n)
    time = np.minimum(event_time, end)
    return X, np.ceil(4 * time) / 4 if tied else time, event_time <= end


def of_lifelines(X, time, event, weight, penalty):
    """Their fit of the same objective: they penalise units of their own standard deviation."""
    center = np.average(X, axis=0, weights=weight)
    variance = np.average((X - center) ** 2, axis=0, weights=weight)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(time=time, event=event, weight=weight)
    penalizer = penalty * variance / X.var(axis=0, ddof=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they recommend robust errors for fractional weights
        return CoxPHFitter(penalizer=penalizer).fit(
            frame, "time", "event", weights_col="weight", fit_options={"precision": 1e-13}
        )


def fitted(X, time, event, weight=None, **parameters):
    return CoxQuantileRegressor(**parameters).fit(X, (time, event), weight)


@pytest.mark.parametrize("penalty", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_coefficients_are_those_of_lifelines(penalty, tied, weighted):
    X, time, event = made(tied=tied)
    weight = np.random.default_rng(1).uniform(0.3, 3.0, len(X)) if weighted else np.ones(len(X))
    weight /= weight.mean()
    model = fitted(X, time, event, weight, penalty=penalty)
    theirs = of_lifelines(X, time, event, weight, penalty)
    # Their search ends earlier, and ours rounds weights to 24 bits.
    np.testing.assert_allclose(model.coef_, theirs.params_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("tied", [False, True])
def test_the_log_likelihood_is_that_of_lifelines(tied):
    from censquant.estimators._cox_likelihood import PartialLikelihood

    X, time, event = made(tied=tied)
    theirs = of_lifelines(X, time, event, np.ones(len(X)), 0.0)
    order = np.argsort(-time)
    likelihood = PartialLikelihood(X[order], time[order], event[order], np.ones(len(X)), "efron")
    model = fitted(X, time, event, penalty=0)
    assert likelihood.value(model.coef_) == pytest.approx(theirs.log_likelihood_, rel=1e-9)


def test_breslows_coefficients_are_those_of_scikit_survival():
    X, time, event = made(tied=True)
    y = np.array(list(zip(event, time, strict=True)), dtype=[("event", bool), ("time", float)])
    theirs = CoxPHSurvivalAnalysis(ties="breslow", tol=1e-12).fit(X, y)
    model = fitted(X, time, event, penalty=0, ties="breslow")
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-6)
    efron = fitted(X, time, event, penalty=0)
    assert np.abs(efron.coef_[:3]).sum() > np.abs(model.coef_[:3]).sum()


def test_the_baseline_is_that_of_lifelines():
    X, time, event = made()
    model = fitted(X, time, event, penalty=0.1)
    theirs = of_lifelines(X, time, event, np.ones(len(X)), 0.1).baseline_cumulative_hazard_
    np.testing.assert_array_equal(model.baseline_times_, np.unique(time[event]))
    np.testing.assert_allclose(
        model.baseline_cumulative_hazard_,
        theirs.loc[model.baseline_times_].to_numpy()[:, 0],
        rtol=1e-5,
    )


def test_survival_functions_are_those_of_lifelines_at_event_times():
    X, time, event = made()
    model = fitted(X, time, event, penalty=0.1)
    at = model.baseline_times_[::7]
    theirs = of_lifelines(X, time, event, np.ones(len(X)), 0.1)
    expected = theirs.predict_survival_function(pd.DataFrame(X, columns=list("abcd")), at)
    np.testing.assert_allclose(model.predict_curve(X).survival(at), expected.T, atol=1e-5)


def test_the_truth_is_recovered():
    X, time, event = made(20_000, seed=3)
    model = fitted(X, time, event, penalty=0)
    # Three standard errors: 1 over the root of the number of events, per unit of each feature.
    error = 3.5 / np.sqrt(event.sum()) / X.std(axis=0)
    assert (np.abs(model.coef_ - TRUTH) < error).all()
    rows = X[:200]
    rate = np.exp((rows - 3.0) @ TRUTH)
    levels = np.array([0.1, 0.5, 0.9])
    predicted = model.predict_quantiles(rows, levels, beyond="nan")
    truth = -np.log1p(-levels) / rate[:, None]
    assert np.isfinite(predicted[:, 0]).mean() > 0.9
    error = np.abs(np.log(predicted / truth))
    assert np.nanmedian(error) < 0.05
    assert np.nanmax(error) < 0.5


def test_a_baseline_of_any_shape_is_recovered():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(20_000, 1))
    # A hazard that falls, then rises: the cumulative one is v, its inverse the time.
    v = rng.exponential(size=20_000) / np.exp(0.7 * x[:, 0])
    time = np.where(v < 0.5, v**2, 0.25 + np.sqrt(np.maximum(v - 0.5, 0.0)))
    model = CoxQuantileRegressor(penalty=0, random_state=0).fit(x, time)
    assert model.coef_[0] == pytest.approx(0.7, abs=0.03)
    levels = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    hazard = -np.log1p(-levels)
    truth = np.where(hazard < 0.5, hazard**2, 0.25 + np.sqrt(np.maximum(hazard - 0.5, 0.0)))
    found = -np.log(model.predict_curve([[0.0]]).survival(truth)[0])
    # Four standard errors: a hazard is known as well as the number of events behind it.
    n_before = (time <= truth[:, None]).sum(axis=1)
    assert (np.abs(found / hazard - 1.0) < 4.0 / np.sqrt(n_before)).all()


def test_efrons_hazard_of_rounded_times_is_nearer_to_the_truth_than_breslows():
    rng = np.random.default_rng(6)
    x, time = rng.normal(size=(5000, 1)), np.ceil(2.0 * rng.exponential(size=5000)) / 2.0
    survival = {
        ties: np.exp(-fitted(x, time, np.ones(5000, bool), ties=ties).baseline_cumulative_hazard_)
        for ties in ("efron", "breslow")
    }
    truth = np.exp(-np.unique(time))
    near, far = (np.abs(survival[ties] - truth)[:6].max() for ties in ("efron", "breslow"))
    assert near < 0.02 < 0.04 < far


@pytest.mark.parametrize("penalty", [0.0, 0.1])
def test_the_gradient_of_the_penalised_likelihood_vanishes(penalty):
    from censquant.estimators._cox_likelihood import PartialLikelihood

    X, time, event = made(tied=True)
    model = fitted(X, time, event, penalty=penalty)
    order, scale = np.argsort(-time), X.std(axis=0)
    z = ((X - X.mean(axis=0)) / scale)[order]
    likelihood = PartialLikelihood(z, time[order], event[order], np.ones(len(X)), "efron")
    b = model.coef_ * scale
    gradient = likelihood.derivatives(b)[0] / len(X) - penalty * b
    assert np.abs(gradient).max() < 1e-8


def test_a_large_penalty_leaves_the_kaplan_meier_curve():
    X, time, event = made()
    model = fitted(X, time, event, penalty=1e9)
    assert np.abs(model.coef_ * X.std(axis=0)).max() < 1e-8
    values = model.predict_quantiles(X, [0.1, 0.3], beyond="extrapolate")
    np.testing.assert_allclose(values, np.tile(values[0], (len(X), 1)), rtol=1e-6)


def test_more_features_than_rows_have_the_ridge_of_the_full_problem():
    X, time, event = made(40)
    wide = np.hstack([X, np.random.default_rng(2).normal(size=(40, 60))])
    expected = fitted(wide, time, event, penalty=0.05)
    # Rows of next to no weight make it a problem of more rows than features.
    tall = fitted(
        np.vstack([wide, np.repeat(wide.mean(axis=0, keepdims=True), 80, axis=0)]),
        np.append(time, np.full(80, time.min() / 2)),
        np.append(event, np.zeros(80, bool)),
        np.append(np.ones(40), np.full(80, 1e-9)),
        penalty=0.05,
    )
    np.testing.assert_allclose(tall.coef_, expected.coef_, rtol=1e-4, atol=1e-5)


def test_collinear_features_share_their_effect_without_a_penalty():
    X, time, event = made()
    doubled = np.column_stack([X, X[:, 0]])
    message = (
        r"^X has 1 collinear columns or combinations of columns that the data say nothing about: "
        r"with penalty=0 the coefficients of the smallest norm are taken; set penalty > 0 or drop "
        r"columns\.$"
    )
    with pytest.warns(IdentifiabilityWarning, match=message) as caught:
        model = fitted(doubled, time, event, penalty=0)
    assert caught[0].filename == __file__
    alone = fitted(X, time, event, penalty=0)
    np.testing.assert_allclose(model.coef_[[0, 4]], alone.coef_[0] / 2, rtol=1e-6)
    np.testing.assert_allclose(model.coef_[1:4], alone.coef_[1:], rtol=1e-5, atol=1e-8)
    small = fitted(doubled, time, event, penalty=1e-7)
    np.testing.assert_allclose(model.coef_, small.coef_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("penalty", [0.0, 0.1])
def test_constant_features_have_the_coefficient_zero_and_change_nothing_else(penalty):
    X, time, event = made()
    with pytest.warns(ConstantFeatureWarning):
        model = fitted(np.column_stack([X, np.full(300, 0.1)]), time, event, penalty=penalty)
    assert model.coef_[4] == 0.0
    expected = fitted(X, time, event, penalty=penalty).coef_
    np.testing.assert_allclose(model.coef_[:4], expected, rtol=1e-9, atol=1e-12)


def test_constant_features_alone_leave_one_curve_for_all():
    _, time, event = made()
    with pytest.warns(ConstantFeatureWarning):
        model = fitted(np.ones((300, 2)), time, event, penalty=0)
    np.testing.assert_array_equal(model.coef_, [0.0, 0.0])
    assert model.n_iter_ == 0


SEPARATED = (
    r"^The partial likelihood has no maximum with penalty=0, since the features order the events "
    r"perfectly in some direction: coefficients are where it had become flat; set penalty > 0\.$"
)


def test_a_feature_that_separates_events_is_reported_and_predictions_stay_finite():
    _, time, event = made()
    early = (time <= np.median(time)).astype(float)[:, None]
    with pytest.warns(ConvergenceWarning, match=SEPARATED) as caught:
        model = fitted(early, time, event, penalty=0)
    assert caught[0].filename == __file__
    assert np.isfinite(model.predict_quantiles(early, beyond="extrapolate")).all()
    fitted(early, time, event, penalty=1e-3)  # without a warning


def test_a_feature_that_is_the_time_itself_is_reported():
    _, time, event = made()
    leak = r"'x0' \(the time itself, or a multiple of it\)"
    with (
        pytest.warns(LeakageWarning, match=leak),
        pytest.warns(ConvergenceWarning, match=SEPARATED),
    ):
        model = fitted(time[:, None], time, event, penalty=0)
    assert np.isfinite(model.predict_quantiles(time[:, None], beyond="extrapolate")).all()
    message = (
        r"^Newton's method stopped after \d+ steps before it converged, since the hazards of some "
        r"rows differ beyond all measure: set a larger penalty, got 1e-09, or look for extreme "
        r"values in X\.$"
    )
    with (
        pytest.warns(LeakageWarning, match=leak),
        pytest.warns(ConvergenceWarning, match=message),
    ):
        fitted(time[:, None], time, event, penalty=1e-9)


def test_strong_effects_are_not_taken_for_separation():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(400, 1))
    model = CoxQuantileRegressor(penalty=0).fit(x, rng.exponential(np.exp(-4.0 * x[:, 0])))
    assert model.coef_[0] == pytest.approx(4.0, abs=0.6)
