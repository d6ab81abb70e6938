"""What a fitted Cox model predicts, and what its fit does not depend on."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import trapezoid

from censquant import CoxQuantileRegressor
from censquant.datasets import load_gbsg2

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
TIME = RNG.weibull(1.5, 200) * np.exp(-X @ [0.5, -0.3, 0.0])
LIMIT = RNG.uniform(0.2, 2.5, 200)
Y = (np.minimum(TIME, LIMIT), TIME <= LIMIT)
LEVELS = np.array([0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99])


def fitted(x=X, y=Y, weight=None, **parameters):
    return CoxQuantileRegressor(**{"random_state": 0, **parameters}).fit(x, y, weight)


def quantiles(model, rows=X, levels=LEVELS):
    return model.predict_quantiles(rows, levels, beyond="extrapolate")


def last_event(model, rows=X):
    """The time, in model units, past which the curves rest on no data."""
    time, _ = model._quantiles_and_end(rows, LEVELS)[1]
    assert (time == time[0]).all()
    return float(time[0])


def test_survival_is_the_formula_at_any_time():
    model = fitted()
    times = np.linspace(0.0, last_event(model), 50)
    baseline = np.interp(
        times,
        np.append(0.0, model.baseline_times_),
        np.append(0.0, model.baseline_cumulative_hazard_),
    )
    risk = np.exp((X - X.mean(axis=0)) @ model.coef_)
    expected = np.exp(-risk[:, None] * baseline)
    np.testing.assert_allclose(model.predict_curve(X).survival(times), expected, atol=1e-12)


def test_hazards_are_proportional():
    hazard = fitted().predict_cumulative_hazard_function(
        X[:3], [0.2, 0.5, 1.0], return_array=True, beyond="extrapolate"
    )
    ratio = hazard[1:] / hazard[0]
    np.testing.assert_allclose(ratio, np.tile(ratio[:, :1], (1, 3)), rtol=1e-9)


@pytest.mark.parametrize("censoring", ["right", "left"])
def test_quantiles_and_levels_are_inverse_to_each_other(censoring):
    curve = fitted(censoring=censoring).predict_curve(X)
    levels = LEVELS[1:-1]
    found = np.column_stack([curve.cdf(column) for column in curve.at(levels).T])
    np.testing.assert_allclose(found, np.tile(levels, (len(X), 1)), atol=1e-9)


def test_any_level_is_answered_by_the_formula():
    curve = fitted().predict_curve(X)
    tiny = curve.at([1e-7])
    np.testing.assert_allclose(curve.cdf(tiny), 1e-7, rtol=1e-6)


def test_the_tail_has_the_hazard_of_the_last_piece():
    model = fitted()
    end = last_event(model)
    risk = np.exp((X - X.mean(axis=0)) @ model.coef_)
    slow = risk < 1.0  # whose survival is not yet rounding
    hazard = -np.log(model._model_curve(X[slow]).survival([end, end + 0.5, end + 1.0]))
    expected = np.tile(0.5 * risk[slow, None] * model._pieces.rate[-1], (1, 2))
    np.testing.assert_allclose(np.diff(hazard, axis=1), expected, rtol=1e-8)


def test_the_data_end_at_the_last_event_of_right_censored_times():
    assert last_event(fitted()) == Y[0][Y[1]].max()
    assert last_event(fitted(censoring="left")) == -Y[0][Y[1]].min()


def test_the_reach_ends_before_the_tail():
    curve = fitted().predict_curve(X)
    at_the_end = curve.cdf(np.full(len(X), Y[0].max()))
    assert (curve.reach <= at_the_end + 1e-12).all()


@pytest.mark.parametrize("horizon", [-1.0, 0.0, 0.4, 2.0, 5.0])
def test_the_restricted_mean_is_the_area_under_the_survival_function(horizon):
    curve = fitted().predict_curve(X[:5])
    times = np.linspace(min(horizon, 0.0), horizon, 200_001)
    expected = min(horizon, 0.0) + trapezoid(curve.survival(times), times, axis=1)
    np.testing.assert_allclose(curve.restricted_mean(horizon), expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("log_ratio", [-30.0, 30.0])
def test_restricted_means_of_extreme_hazards_are_the_ends_of_the_range(log_ratio):
    model = fitted()
    model.coef_ = np.array([log_ratio * 1e3, 0.0, 0.0])
    mean = model.predict_restricted_mean([[1.0, 0.0, 0.0]], 2.0)[0]
    assert mean == pytest.approx(2.0 if log_ratio < 0 else 0.0, abs=1e-6)


def test_the_mean_includes_the_tail():
    curve = fitted().predict_curve(X)
    np.testing.assert_allclose(curve.restricted_mean(np.inf), curve.restricted_mean(1e5), rtol=1e-9)


def test_restricted_means_are_in_the_order_of_the_hazards(monkeypatch):
    model, rows = fitted(), np.column_stack([np.linspace(-2.0, 2.0, 5000), np.zeros((5000, 2))])
    exact = model.predict_restricted_mean(rows)
    assert (np.diff(exact) < 0).all()
    monkeypatch.setattr("censquant.estimators._cox._MOST_NODES", 40)
    thinned = model.predict_restricted_mean(rows)
    assert (np.diff(thinned) < 0).all()
    np.testing.assert_allclose(thinned, exact, rtol=5e-3)


def test_restricted_means_of_thousands_of_events_are_exact_to_four_digits(monkeypatch):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(5000, 1))
    model = fitted(x, rng.exponential(np.exp(-x[:, 0])))
    thinned = model.predict_restricted_mean(x[:300])
    monkeypatch.setattr("censquant.estimators._cox._MOST_NODES", 10_000)
    np.testing.assert_allclose(thinned, model.predict_restricted_mean(x[:300]), rtol=1e-4)


def test_the_mean_of_times_with_a_point_mass_at_the_start():
    x, time = np.repeat([[0.0], [1.0]], 50, axis=0), np.tile(np.repeat([-2.0, 1.0], 25), 2)
    curve = fitted(x, time, ties="breslow", penalty=0.0).predict_curve(x[:1])
    # Half of the rows are gone at once; the hazard of the others is spread over three units.
    np.testing.assert_allclose(curve.survival([-2.0, 1.0]), np.exp([[-0.5, -1.5]]), rtol=1e-9)
    area = 3.0 * (np.exp(-0.5) - np.exp(-1.5))
    np.testing.assert_allclose(curve.restricted_mean(1.0), [-2.0 + area], rtol=1e-9)


def test_no_prediction_is_negative_where_no_time_was():
    assert quantiles(fitted(), X, np.array([1e-12, 0.5])).min() >= 0.0


def test_negative_times_are_welcome():
    model = fitted(y=(Y[0] - 5.0, Y[1]))
    moved, expected = quantiles(model) + 5.0, quantiles(fitted())
    # Before the first event durations begin at 0, other times with the first row.
    events = Y[0][Y[1]]
    inside = (expected > events.min()) & (expected < events.max())
    assert inside.mean() > 0.7
    np.testing.assert_allclose(moved[inside], expected[inside], rtol=1e-9)
    assert quantiles(model, X, np.array([1e-9])).min() >= Y[0].min() - 5.0 - 1e-12


def test_a_feature_acts_up_to_its_limits_only():
    rng = np.random.default_rng(3)
    x = np.column_stack([rng.normal(size=500), np.arange(500) % 100 == 0])
    time = rng.exponential(np.exp(-0.5 * x[:, 0] - 2.0 * x[:, 1]))
    model = fitted(x, time, penalty=0.0)
    six = x[:, 0].mean() + 6.0 * x[:, 0].std()
    far = quantiles(model, np.array([[six, 0.0], [1e9, 0.0]]))
    np.testing.assert_array_equal(far[0], far[1])
    # A rare group lies ten standard deviations out: its effect must not be cut.
    ratio = model._log_ratio(np.array([[0.0, 1.0], [0.0, 0.0]]))
    assert ratio[0] - ratio[1] == pytest.approx(model.coef_[1], rel=1e-12)
    assert model.coef_[1] > 1.0


def test_left_censoring_is_right_censoring_of_time_that_runs_backwards():
    observed = np.maximum(TIME, 0.4 * LIMIT), TIME >= 0.4 * LIMIT
    left = fitted(y=observed, censoring="left")
    right = fitted(y=(-observed[0], observed[1]))
    np.testing.assert_allclose(left.coef_, right.coef_, rtol=1e-9)
    np.testing.assert_array_equal(left.baseline_times_, -right.baseline_times_[::-1])
    np.testing.assert_allclose(
        left.baseline_cumulative_hazard_, right.baseline_cumulative_hazard_[::-1], rtol=1e-9
    )
    inner = np.array([0.25, 0.5, 0.75])
    mirrored = -quantiles(right, X, inner)[:, ::-1]
    # No left-censored time was negative, so none is predicted.
    np.testing.assert_allclose(quantiles(left, X, inner), np.maximum(mirrored, 0.0), atol=1e-9)
    np.testing.assert_allclose(
        left.log_likelihood(X, observed), right.log_likelihood(X, (-observed[0], observed[1])), 1e-9
    )


def test_the_reversed_hazard_is_proportional_under_left_censoring():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(8000, 1))
    # F(t) = F0(t) ** exp(0.8 x) with F0(t) = t on (0, 1).
    time = rng.uniform(size=8000) ** np.exp(-0.8 * x[:, 0])
    limit = rng.uniform(0.0, 0.5, 8000)
    model = fitted(x, (np.maximum(time, limit), time >= limit), censoring="left", penalty=0.0)
    assert model.coef_[0] == pytest.approx(0.8, abs=0.05)
    assert (np.diff(model.baseline_cumulative_hazard_) < 0).all()
    rows = np.array([[-1.0], [0.0], [1.0]])
    truth = np.array([0.6, 0.8]) ** np.exp(-0.8 * rows)
    np.testing.assert_allclose(quantiles(model, rows, np.array([0.6, 0.8])), truth, atol=0.03)


def test_the_order_of_rows_does_not_matter_to_a_single_bit():
    order = np.random.default_rng(1).permutation(len(X))
    shuffled = fitted(X[order], (Y[0][order], Y[1][order]))
    np.testing.assert_array_equal(shuffled.coef_, fitted().coef_)
    np.testing.assert_array_equal(quantiles(shuffled), quantiles(fitted()))


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_whole_weights_are_repeated_rows_to_the_bit(ties):
    weight = np.random.default_rng(2).integers(0, 4, len(X))
    copies = np.repeat(np.arange(len(X)), weight)
    expected = fitted(X[copies], (Y[0][copies], Y[1][copies]), ties=ties)
    model = fitted(weight=weight, ties=ties)
    np.testing.assert_array_equal(quantiles(model), quantiles(expected))
    np.testing.assert_array_equal(model.log_likelihood(X, Y), expected.log_likelihood(X, Y))


def test_fractional_weights_with_breslows_ties_are_shares_of_rows():
    weight = np.random.default_rng(2).integers(1, 4, len(X)).astype(float)
    expected = fitted(weight=weight, ties="breslow")
    # A row of next to no weight makes the same weights no counts.
    rows = np.vstack([X, X[:1]])
    y = (np.append(Y[0], Y[0][0]), np.append(Y[1], Y[1][0]))
    model = fitted(rows, y, np.append(weight, 1e-12), ties="breslow")
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-6)
    np.testing.assert_allclose(
        model.baseline_cumulative_hazard_, expected.baseline_cumulative_hazard_, rtol=1e-6
    )


def test_units_of_features_do_not_matter():
    units = np.array([1e-6, 3.3, 1e9])
    model, moved = fitted(), fitted(X * units + 7.0 * units)
    np.testing.assert_allclose(moved.coef_ * units, model.coef_, rtol=1e-8)
    np.testing.assert_allclose(quantiles(moved, X * units + 7.0 * units), quantiles(model), 1e-8)


@pytest.mark.parametrize("unit", [1e-12, 365.25, 1e100])
def test_the_unit_of_time_does_not_matter(unit):
    model, scaled = fitted(), fitted(y=(unit * Y[0], Y[1]))
    np.testing.assert_allclose(scaled.coef_, model.coef_, rtol=1e-9)
    np.testing.assert_allclose(quantiles(scaled), unit * quantiles(model), rtol=1e-9)
    np.testing.assert_allclose(
        scaled.log_likelihood(X, (unit * Y[0], Y[1])),
        model.log_likelihood(X, Y) - np.log(unit) * Y[1],
        rtol=1e-7,
        atol=1e-7,
    )


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e150, 1e300])
def test_features_of_extreme_size_are_as_good_as_others(size):
    units = np.array([1.0, size, 1.0])
    np.testing.assert_allclose(quantiles(fitted(X * units), X * units), quantiles(fitted()), 1e-8)


EXTREME = {
    "equal times": (np.full(200, 5.0), Y[1]),
    "times of zero": (np.zeros(200), Y[1]),
    "equal negative times": (np.full(200, -3.0), Y[1]),
    "one event, the first": (TIME, np.arange(200) == TIME.argmin()),
    "one event, the last": (TIME, np.arange(200) == TIME.argmax()),
    "nothing censored": (TIME, np.ones(200, bool)),
    "heavy tails": (np.exp(30.0 * RNG.normal(size=200)), Y[1]),
    "huge times": (1e300 * TIME, Y[1]),
    "tiny times": (1e-300 * TIME, Y[1]),
}


@pytest.mark.parametrize("censoring", ["right", "left"])
@pytest.mark.parametrize("y", EXTREME.values(), ids=EXTREME)
def test_predictions_are_finite_and_in_order_whatever_the_times(y, censoring):
    model = fitted(y=y, censoring=censoring)
    values = quantiles(model)
    assert np.isfinite(values).all()
    assert (np.diff(values, axis=1) >= 0).all()
    assert np.isfinite(model.log_likelihood(X, y)).all()
    assert np.isfinite(model.predict_restricted_mean(X)).all()


def test_the_log_likelihood_is_that_of_the_formula():
    model = fitted()
    eta = (X - X.mean(axis=0)) @ model.coef_
    hazard = model._pieces.cumulative(Y[0]) * np.exp(eta)
    expected = np.where(Y[1], np.log(model._pieces.rate_at(Y[0])) + eta, 0.0) - hazard
    np.testing.assert_allclose(model.log_likelihood(X, Y), expected, rtol=1e-10)


def test_the_density_of_the_log_likelihood_is_the_slope_of_its_survival():
    model = fitted()
    row, middle = X[:1], 0.5 * (model._pieces.edge[1] + model._pieces.edge[2])

    def log_of(time, event):
        return float(model.log_likelihood(row, ([time], [event]))[0])

    step = 1e-6
    slope = np.exp(log_of(middle - step, False)) - np.exp(log_of(middle + step, False))
    assert np.exp(log_of(middle, True)) == pytest.approx(slope / (2 * step), rel=1e-6)


def test_the_true_model_has_the_higher_likelihood_on_new_rows():
    rng = np.random.default_rng(9)
    x = rng.normal(size=(2000, 1))
    time = rng.exponential(np.exp(-x[:, 0]))
    half = slice(0, 1000), slice(1000, 2000)
    found = {
        penalty: fitted(x[half[0]], time[half[0]], penalty=penalty)
        .log_likelihood(x[half[1]], time[half[1]])
        .mean()
        for penalty in (0.01, 1e6)
    }
    assert found[0.01] > found[1e6] + 0.1
    truth = np.mean(x[half[1], 0] - time[half[1]] * np.exp(x[half[1], 0]))
    assert found[0.01] == pytest.approx(truth, abs=0.03)


def test_frames_and_real_data():
    frame, y = load_gbsg2(as_frame=True)
    model = fitted(frame, y, penalty=0.01)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    assert model.score(frame, y) > 0.67
    effects = pd.Series(model.coef_, frame.columns)
    assert effects["pnodes"] > 0 > effects["progrec"]


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"penalty": -0.1}, ValueError, r"penalty must be finite and inside \[0, inf\), got -0.1"),
        ({"penalty": np.inf}, ValueError, r"penalty must be finite and inside \[0, inf\), got inf"),
        ({"penalty": "l2"}, TypeError, "penalty must be a number, got 'l2'"),
        ({"ties": "exact"}, ValueError, "ties must be one of 'efron', 'breslow', got 'exact'"),
        ({"censoring": "both"}, ValueError, "censoring must be one of 'right', 'left', got 'both'"),
    ],
    ids=str,
)
def test_wrong_parameters_are_refused(parameters, error, message):
    with pytest.raises(error, match=f"^{message}.$"):
        fitted(**parameters)
