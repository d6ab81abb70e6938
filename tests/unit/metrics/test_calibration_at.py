import re

import numpy as np
import pytest
from lifelines import KaplanMeierFitter, WeibullAFTFitter
from numpy.testing import assert_allclose

from censquant import CoxQuantileRegressor
from censquant.datasets import load_gbsg2
from censquant.exceptions import FewEventsWarning, TruncationWarning
from censquant.metrics import calibration_at

TIME, SHAPE = 0.78, 1.5


def risk_of(log_hazard):
    return -np.expm1(-(TIME**SHAPE) * np.exp(log_hazard))


def simulated(n, seed, *, follows="nothing"):
    """Weibull times with a known and an unknown feature, and censoring that may follow them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    hidden = 0.8 * X[:, 1] if follows == "hidden" else 0.0
    event = (rng.exponential(size=n) / np.exp(0.8 * X[:, 0] + hidden)) ** (1 / SHAPE)
    scale = {
        "nothing": 2.0,
        "risk": np.where(X[:, 0] > 0, 0.9, 3.0),
        "hidden": 2.0 * np.exp(-0.8 * X[:, 1]),
    }[follows]
    end = rng.exponential(scale, size=n)
    return X, (np.minimum(event, end), event <= end)


def held(found, truth):
    return bool(((found.lower <= truth) & (truth <= found.upper)).all())


def refused(message, error=ValueError):
    return pytest.raises(error, match="^" + re.escape(message) + "$")


def test_right_risks_are_inside_the_band_and_wrong_ones_are_found():
    X, y = simulated(1_000, 0)
    right = calibration_at(risk_of(0.8 * X[:, 0]), None, y, TIME)
    assert held(right, right.risk)
    assert right.p_value > 0.05
    assert right.ici < 2 * right.ici_by_chance
    assert right.slope_interval[0] < 1 < right.slope_interval[1]
    assert "no sign of miscalibration" in str(right)
    extreme = calibration_at(risk_of(1.6 * X[:, 0]), None, y, TIME)
    assert not held(extreme, extreme.risk)
    assert extreme.p_value < 0.001
    assert extreme.slope_interval[1] < 1
    assert extreme.ici > 3 * extreme.ici_by_chance
    assert "are not calibrated (p < 0.001)" in str(extreme)


def test_the_curve_follows_a_bent_truth():
    X, y = simulated(4_000, 1)
    log_odds = 0.8 * X[:, 0] + np.sin(0.8 * X[:, 0])
    found = calibration_at(1 / (1 + np.exp(-log_odds)), None, y, TIME)
    grid = np.linspace(-6, 6, 4_001)
    truth = np.interp(found.risk, 1 / (1 + np.exp(-0.8 * grid - np.sin(0.8 * grid))), grid)
    truth = risk_of(0.8 * truth)
    assert held(found, truth)
    assert np.abs(found.curve - truth).max() < 0.06 < np.abs(found.risk - truth).max()


def test_without_censoring_the_curve_is_a_logistic_regression_of_the_outcomes():
    """A line in the log odds, which another library fits to the outcomes themselves."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    risk = rng.uniform(0.1, 0.9, size=30)
    time = np.where(rng.random(30) < risk, 0.5, 2.0)
    assert 10 <= (time < 1).sum() < 20  # few enough for a line
    found = calibration_at(risk, None, time, 1.0)
    odds = np.log(risk / (1 - risk))[:, None]
    other = LogisticRegression(C=np.inf, tol=1e-10).fit(odds, time < 1)
    at = np.log(found.risk / (1 - found.risk))[:, None]
    assert_allclose(found.curve, other.predict_proba(at)[:, 1], atol=1e-5)
    assert_allclose(found.slope, other.coef_[0, 0], atol=1e-4)
    assert_allclose(found.observed, (time < 1).mean())


def test_groups_by_risk_are_those_of_kaplan_meier():
    X, y = simulated(500, 2, follows="risk")
    risk = risk_of(0.8 * X[:, 0])
    found = calibration_at(risk, None, y, TIME, n_bins=4)
    assert [one.n_rows for one in found.bins] == [125] * 4
    top = np.argsort(risk)[-125:]
    curve = KaplanMeierFitter().fit(y[0][top], y[1][top])
    limits = curve.confidence_interval_.loc[:TIME].iloc[-1].to_numpy()
    assert_allclose(found.bins[-1].observed, 1 - curve.predict(TIME))
    assert_allclose([found.bins[-1].upper, found.bins[-1].lower], 1 - limits, rtol=1e-6)
    assert_allclose(found.bins[-1].predicted, risk[top].mean())
    assert found.bins[-1].n_events == (y[1][top] & (y[0][top] <= TIME)).sum()


def test_a_weight_counts_equal_rows():
    X, y = simulated(400, 3)
    weight = np.random.default_rng(0).integers(0, 4, size=400)
    rows = np.repeat(np.arange(400), weight)
    risk = risk_of(X[:, 0])
    one = calibration_at(risk, None, y, TIME, sample_weight=weight)
    other = calibration_at(risk[rows], None, (y[0][rows], y[1][rows]), TIME)
    for name in ("curve", "lower", "ici", "e50", "e90", "slope", "p_value", "observed"):
        assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-6, err_msg=name)
    assert [b.upper for b in one.bins] == pytest.approx([b.upper for b in other.bins])


def test_copies_of_rows_add_nothing_where_they_are_a_group():
    X, y = simulated(400, 4)
    rows = np.tile(np.arange(400), 4)
    risk = risk_of(X[:, 0])
    once = calibration_at(risk, None, y, TIME, groups=np.arange(400))
    copied = calibration_at(risk[rows], None, (y[0][rows], y[1][rows]), TIME, groups=rows)
    alone = calibration_at(risk[rows], None, (y[0][rows], y[1][rows]), TIME)
    width = [(found.upper - found.lower).mean() for found in (once, copied, alone)]
    assert width[1] == pytest.approx(width[0], rel=0.02)
    assert width[2] < 0.6 * width[1]
    spans = [found.bins[2].upper - found.bins[2].lower for found in (once, copied, alone)]
    assert spans[1] == pytest.approx(spans[0], rel=0.02)
    assert spans[2] < 0.6 * spans[1]


def test_the_band_for_the_whole_curve_is_wider_than_the_pointwise_one():
    X, y = simulated(300, 5)
    whole, points = (
        calibration_at(risk_of(X[:, 0]), None, y, TIME, simultaneous=choice)
        for choice in (True, False)
    )
    assert (whole.upper > points.upper).all()
    assert (whole.lower < points.lower).all()
    assert_allclose(whole.curve, points.curve)


def test_a_model_of_the_censoring_undoes_what_hidden_features_do():
    X, y = simulated(6_000, 6, follows="hidden")
    nodes, shares = np.polynomial.hermite_e.hermegauss(41)
    true = risk_of(0.8 * X[:, :1] + 0.8 * nodes) @ shares / shares.sum()
    model = CoxQuantileRegressor(penalty=0).fit(X, (y[0], ~y[1]))
    plain = calibration_at(true, X, y, TIME)
    modelled = calibration_at(true, X, y, TIME, censoring_model=model)
    assert plain.censoring_p_value < 0.001
    assert "Censoring depends on the features also among" in plain.verdict
    assert "Censoring depends" not in modelled.verdict
    assert abs(modelled.observed - true.mean()) < 0.015 < abs(plain.observed - true.mean())
    assert modelled.ici < plain.ici
    assert_allclose(modelled.bins[0].observed, modelled.bins[0].predicted, atol=0.04)


def test_models_of_any_library_give_the_risks():
    X, y = load_gbsg2()
    train = X[:400].assign(time=y["time"][:400], event=y["event"][:400])
    ours = CoxQuantileRegressor().fit(X[:400], y[:400])
    theirs = WeibullAFTFitter().fit(train, "time", "event")
    for model, risk in (
        (ours, 1 - ours.predict_curve(X[400:]).survival([900.0])[:, 0]),
        (theirs, 1 - theirs.predict_survival_function(X[400:], [900.0]).to_numpy()[0]),
    ):
        found = calibration_at(model, X[400:], y[400:], 900.0)
        assert found.predicted == pytest.approx(risk.mean())
        assert found.ici == pytest.approx(calibration_at(risk, None, y[400:], 900.0).ici)
        assert found.censoring_p_value is not None
    frame = found.to_frame()
    assert list(frame.columns) == ["predicted", "observed", "lower", "upper", "n_rows", "n_events"]
    assert "<table" in found._repr_html_()


def test_one_risk_for_everybody_has_one_point():
    _, y = simulated(300, 7)
    found = calibration_at(np.full(300, 0.4), None, y, TIME)
    assert found.risk == pytest.approx([0.4])
    assert len(found.bins) == 1
    assert found.lower[0] < found.curve[0] < found.upper[0]
    assert np.isnan(found.slope)
    assert 0 <= found.p_value <= 1


def test_risks_of_zero_and_one_are_taken():
    X, y = simulated(400, 8)
    risk = risk_of(X[:, 0])
    risk[:40], risk[40:50] = 0.0, 1.0
    assert np.isfinite(calibration_at(risk, None, y, TIME).curve).all()


def test_too_few_events_leave_no_curve():
    time = np.append(np.full(9, 0.5), np.full(91, 2.0))
    with pytest.warns(FewEventsWarning, match="^9 rows had the event by time=1 and 91 were"):
        found = calibration_at(np.linspace(0.05, 0.2, 100), None, time, 1.0)
    assert np.isnan([found.ici, found.p_value, found.slope, *found.curve]).all()
    assert found.observed == pytest.approx(0.09)
    assert "There is no curve: 9 rows had the event by then" in str(found)


def test_no_event_at_all_does_not_mean_that_there_is_no_risk():
    time = np.r_[np.full(30, 0.5), np.full(70, 2.0)]
    with pytest.warns(FewEventsWarning):
        found = calibration_at(np.full(100, 0.1), None, (time, np.zeros(100, bool)), 1.0)
    low, high = found.observed_interval
    assert low == found.observed == 0
    assert high == pytest.approx(1 - 0.025 ** (1 / 70)) == pytest.approx(found.bins[0].upper)


def test_a_time_that_hardly_anybody_is_followed_to_is_warned_of():
    rng = np.random.default_rng(0)
    event, end = rng.uniform(0, 2, size=3_000), rng.uniform(0, 1, size=3_000)
    end[:50] = 2.0
    y = np.minimum(event, end), event <= end
    with pytest.warns(TruncationWarning, match="hardly a chance to be followed up to time=1.5"):
        calibration_at(rng.uniform(0.6, 0.8, size=3_000), None, y, 1.5)


def test_what_makes_no_sense_is_refused():
    X, y = simulated(40, 9)
    risk = risk_of(X[:, 0])
    with refused(
        "model must give risks in [0, 1], the chances of an event by time=0.5, got 1.5 in row 2."
    ):
        calibration_at(np.where(np.arange(40) == 2, 1.5, risk), None, y, 0.5)
    with refused("model must have one row for each of the 40 of y, got 39 rows."):
        calibration_at(risk[1:], None, y, 0.5)
    longest = y[0].max()
    with refused(
        f"time must not lie past the longest follow-up of y, {longest:g}, got 99: "
        "nothing was observed there."
    ):
        calibration_at(risk, None, y, 99.0)
    model = CoxQuantileRegressor().fit(X, y)
    with refused("X must be given where model is a fitted model, got None."):
        calibration_at(model, None, y, 0.5)
    with refused(
        "groups must hold two groups or more, since what differs between groups is what "
        "an interval is made of, got 1."
    ):
        calibration_at(risk, None, y, 0.5, groups=[1] * 40)
    with refused("groups must not contain missing labels, got 1 of 40, the first in row 3."):
        calibration_at(risk, None, y, 0.5, groups=[None if k == 3 else k for k in range(40)])
    with refused("censoring_model must have one distribution for each row of y, 40, got 39."):
        calibration_at(risk, None, y, 0.5, censoring_model=model.predict_curve(X[1:]))


@pytest.mark.slow
@pytest.mark.parametrize("follows", ["nothing", "risk", "hidden"])
def test_the_band_holds_the_true_curve_in_95_of_100_samples(follows):
    nodes, shares = np.polynomial.hermite_e.hermegauss(41)
    spread = 0.8 * nodes if follows == "hidden" else 0.0 * nodes
    grid = np.linspace(-6, 6, 2_001)
    true = risk_of(0.8 * grid[:, None] + spread) @ shares / shares.sum()
    n_held, n_runs = 0, 200
    for seed in range(n_runs):
        X, y = simulated(1_000, 100 + seed, follows=follows)
        model = None
        if follows == "hidden":
            fitted = CoxQuantileRegressor(penalty=0).fit(X, (y[0], ~y[1]))
            model = fitted.predict_curve(X)
        risk = risk_of(1.2 * X[:, 0] - 0.3)  # too extreme, and too low
        found = calibration_at(risk, None, y, TIME, censoring_model=model)
        n_held += held(found, np.interp(found.risk, risk_of(1.2 * grid - 0.3), true))
    # 95 % less and more than three standard errors.
    assert 0.905 * n_runs <= n_held <= 0.985 * n_runs
