"""What another value of one feature changes."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter, WeibullAFTFitter
from lifelines.datasets import load_rossi
from sklearn.preprocessing import FunctionTransformer
from sksurv.datasets import load_aids
from sksurv.linear_model import CoxPHSurvivalAnalysis

from censquant import (
    BaseQuantileRegressor,
    ConformalSurvivalRegressor,
    CoxQuantileRegressor,
    LogNormalNN,
    adapt,
    make_quantile_pipeline,
)
from censquant.adapters import survival_of
from censquant.exceptions import (
    ExtrapolationWarning,
    FewEventsWarning,
    IdentifiabilityWarning,
)
from censquant.inspection import contrast
from censquant.inspection._doubly_robust import (
    NuisanceCurves,
    areas_until,
    influence_values,
    time_cells,
)
from censquant.quantiles import QuantileCurve
from censquant.survival import Surv, Target, kaplan_meier

N = 400


class OneFeature(BaseQuantileRegressor):
    """Times are uniform on (0, 2 + x0), with nothing to learn."""

    def __init__(self, seed=None):
        self.seed = seed

    def fit(self, X, y):
        self.follow_up_ = (float(np.min(y[0])), float(np.max(y[0])))
        return self

    def predict_curve(self, X):
        levels = np.linspace(0.01, 0.99, 99)
        ends = 2.0 + np.asarray(X, dtype=float)[:, 0]
        return QuantileCurve(ends[:, None] * levels, levels, lower=0.0)


def trial(n=N, *, seed=0, effect=0.5, prop=0.8, mean_censoring=8.0):
    """A treatment that depends on a feature which also shortens times."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    treated = rng.uniform(size=n) < 1 / (1 + np.exp(-prop * x))
    life = np.exp(1 + effect * treated + 0.5 * x + 0.5 * rng.normal(size=n))
    end = rng.exponential(mean_censoring, size=n)
    X = np.column_stack((treated, x, rng.normal(size=n)))
    return X, (np.minimum(life, end), life <= end)


def frame_of(X):
    return pd.DataFrame({"drug": np.where(X[:, 0] == 1, "yes", "no"), "x": X[:, 1], "z": X[:, 2]})


@pytest.fixture(scope="module")
def data():
    return trial()


@pytest.fixture(scope="module")
def cox(data):
    return CoxQuantileRegressor().fit(*data)


def coded(frame):
    """The columns of `frame_of` as numbers."""
    columns = (np.array(frame["drug"].to_list()) == "yes", frame["x"], frame["z"])
    return np.column_stack([np.asarray(column, dtype=float) for column in columns])


def reads_text():
    return make_quantile_pipeline(FunctionTransformer(coded), CoxQuantileRegressor())


DRUG = {"feature": 0, "to": 1, "from_": 0}
ROBUST = {**DRUG, "method": "doubly_robust"}


# g-computation


def test_means_of_predictions_are_those_of_everybody_with_each_value():
    X = np.array([[0.0, 5.0], [1.0, 6.0]])
    model = OneFeature().fit(X, ([1.0, 3.0], [True, True]))
    (risk,) = contrast(model, X, **DRUG, what="risk", at=1.0).rows
    assert (risk.from_, risk.to) == pytest.approx((1 / 2, 1 / 3))
    assert (risk.difference, risk.ratio) == pytest.approx((-1 / 6, 2 / 3))
    assert np.isnan([risk.low, risk.high]).all()
    (mean,) = contrast(model, X, **DRUG, at=2.0).rows
    assert (mean.from_, mean.to) == pytest.approx((1.0, 4 / 3), abs=1e-3)
    (alive,) = contrast(model, X, **DRUG, what="survival", at=1.0).rows
    assert alive.difference == pytest.approx(-risk.difference)


def test_the_median_is_that_of_the_mean_curve(cox, data):
    X, y = data
    times = np.linspace(0.001, y[0].max(), 5_000)
    ends = []
    for value in (0, 1):
        changed = X.copy()
        changed[:, 0] = value
        mean = survival_of(cox, changed, times).mean(axis=0)
        ends.append(times[np.argmax(mean <= 0.5)])
    (row,) = contrast(cox, X, y, **DRUG, what="median", n_resamples=2).rows
    assert (row.from_, row.to) == pytest.approx(ends, rel=1e-2)
    (same,) = contrast(cox, X, y, **DRUG, what="quantile", at=0.5, n_resamples=2).rows
    assert same[4:] == row[4:]


def test_subgroups_are_means_over_their_rows(cox, data):
    X, _ = data
    found = contrast(cox, X, **DRUG, by="x2", at=4.0)
    parts = found.rows[1:]
    assert found.rows[0].group == "all"
    assert sum(row.n_rows for row in parts) == len(X)
    assert parts[0].group.startswith("x2 <= ")
    assert " < x2 <= " in parts[1].group
    weighted = sum(row.difference * row.n_rows for row in parts) / len(X)
    assert weighted == pytest.approx(found.rows[0].difference)
    labels = np.where(X[:, 1] > 0, "high", "low")
    named = contrast(cox, X, **DRUG, by=labels, at=4.0)
    assert [row.group for row in named.rows] == ["all", "high", "low"]
    own = contrast(cox, X[X[:, 1] > 0], **DRUG, at=4.0).rows[0]
    assert named.rows[1].difference == pytest.approx(own.difference)


def test_intervals_do_not_depend_on_the_order_of_rows_threads_or_the_unit(cox, data):
    X, (time, event) = data
    options = {**DRUG, "what": "restricted_mean", "at": 4.0, "n_resamples": 6}
    first = contrast(cox, X, (time, event), **options)
    turn = np.random.default_rng(3).permutation(len(X))
    second = contrast(cox, X[turn], (time[turn], event[turn]), **options, n_jobs=2)
    assert np.allclose(first.rows[0][4:], second.rows[0][4:])
    days = CoxQuantileRegressor().fit(X, (time * 365, event))
    third = contrast(days, X, (time * 365, event), **{**options, "at": 4.0 * 365})
    assert np.allclose(np.array(first.rows[0][6:9]) * 365, third.rows[0][6:9])


def test_groups_are_drawn_together_and_widen_intervals():
    X, (time, event) = trial(100, seed=2)
    many = np.repeat(np.arange(100), 5)
    y = (time[many], event[many])
    model = CoxQuantileRegressor().fit(X[many], y)
    options = {**DRUG, "at": 4.0, "n_resamples": 30}
    apart = contrast(model, X[many], y, **options).rows[0]
    together = contrast(model, X[many], y, **options, groups=many).rows[0]
    assert together.difference == apart.difference
    assert together.high - together.low > 1.4 * (apart.high - apart.low)


def test_a_checkpoint_continues_and_refuses_other_contrasts(cox, data, tmp_path):
    X, y = data
    file = tmp_path / "refits.contrast"
    options = {**DRUG, "at": 4.0, "checkpoint": file}
    contrast(cox, X, y, **options, n_resamples=10)
    kept = file.read_bytes()
    whole = contrast(cox, X, y, **options, n_resamples=14).rows
    assert whole == contrast(cox, X, y, **DRUG, at=4.0, n_resamples=14).rows
    assert file.read_bytes() != kept
    with pytest.raises(ValueError, match="checkpoint must be a file of the same contrast"):
        contrast(cox, X, y, **{**options, "at": 3.0}, n_resamples=14)
    with pytest.raises(ValueError, match="random_state must be an integer with checkpoint"):
        contrast(cox, X, y, **options, random_state=None)


def test_finished_refits_are_kept_when_one_stops_the_call(cox, data, tmp_path):
    X, y = data
    file, calls = tmp_path / "refits.contrast", []

    def refit(rows, target):
        calls.append(len(rows))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return CoxQuantileRegressor().fit(rows, target)

    options = {**DRUG, "at": 4.0, "checkpoint": file, "n_resamples": 5, "refit": refit}
    with pytest.raises(KeyboardInterrupt):
        contrast(cox, X, y, **options)
    before = len(calls)
    found = contrast(cox, X, y, **options)
    assert 1 <= len(calls) - before <= 2
    assert found.rows == contrast(cox, X, y, **{**options, "checkpoint": None}).rows


def test_a_quantile_that_is_not_reached_is_infinite():
    X, y = trial(mean_censoring=1.0)
    model = CoxQuantileRegressor().fit(X, y)
    with pytest.warns(ExtrapolationWarning, match=r"does not fall to 0.1 as long as follow-up"):
        (row,) = contrast(model, X, y, **DRUG, what="quantile", at=0.9, n_resamples=4).rows
    assert row.to == np.inf
    assert row.high == np.inf


def test_an_interval_from_one_group_is_refused(cox, data):
    X, y = data
    message = (
        "X must have two rows or more, and groups two groups or more, since what differs between "
        "draws of them is what an interval is made of, got 1 group: leave out y for no interval."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        contrast(cox, X, y, **DRUG, at=1.0, groups=np.zeros(len(X)), n_resamples=5)


def test_other_rows_than_those_of_the_fit_are_refused(cox, data):
    X, y = data
    few = np.argsort(y[0])[:300]
    with pytest.raises(ValueError, match="X and y must be the rows that the model was fitted to"):
        contrast(cox, X[few], (y[0][few], y[1][few]), **DRUG, at=1.0)


def test_refits_that_fail_are_left_out_unless_most_do(data):
    X, y = data
    count = iter(range(10_000))

    def sometimes(rows, target):
        if next(count) % 3 == 0:
            raise ValueError("No luck.")
        return OneFeature().fit(rows, (target["time"], target["event"]))

    model = OneFeature().fit(X, y)
    found = contrast(model, X, y, **DRUG, at=1.0, n_resamples=6, refit=sometimes)
    assert found.n_resamples == 4

    def never(rows, target):
        raise ValueError("No luck.")

    with pytest.raises(ValueError, match=r"got no result for 6 of 6 \(No luck\)"):
        contrast(model, X, y, **DRUG, at=1.0, n_resamples=6, refit=never)


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (CoxPHFitter, {}),
        (CoxPHFitter, {"formula": "fin*age + prio", "strata": ["wexp"]}),
        (WeibullAFTFitter, {"formula": "fin + age", "ancillary": True}),
    ],
)
def test_models_of_lifelines_are_fitted_again_as_they_were(make, options):
    table = load_rossi()[::2]
    X = table.drop(columns=["week", "arrest"])
    y = (table["week"].to_numpy(float), table["arrest"].to_numpy(bool))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of lifelines and formulaic
        model = make().fit(table, "week", "arrest", **options)
        again = adapt(model).fit(X, y).model_
        assert np.allclose(survival_of(again, X, [10, 40]), survival_of(model, X, [10, 40]))
        if make is not CoxPHFitter:  # the others are slow
            return
        found = contrast(
            model, X, y, feature="fin", to=1, from_=0, what="risk", at=52, n_resamples=2
        )
    assert found.n_resamples == 2
    assert found.rows[0].low < found.rows[0].high


def test_bounds_are_calibrated_around_a_model_of_lifelines():
    table = load_rossi()
    X = table.drop(columns=["week", "arrest"])
    y = (table["week"].to_numpy(float), table["arrest"].to_numpy(bool))
    cox = CoxPHFitter().fit(table, "week", "arrest")
    bounds = ConformalSurvivalRegressor(adapt(cox), cv=2, random_state=0).fit(X, y)
    lower = bounds.predict_lower_bound(X, 0.9)
    assert 0.8 < (y[0] >= lower).mean() <= 1.0


def test_what_lifelines_cannot_fit_again_is_refused():
    table = load_rossi().assign(w=1.0)
    y = (table["week"].to_numpy(float), table["arrest"].to_numpy(bool))
    model = CoxPHFitter().fit(table, "week", "arrest", weights_col="w")
    with pytest.raises(TypeError, match="must be fitted without weights_col to be fitted again"):
        adapt(model).fit(table.drop(columns=["week", "arrest"]), y)


def test_models_that_no_fit_is_known_of_need_a_function():
    class Table:
        duration_index = np.array([1.0, 2.0])

        def predict_surv_df(self, X):
            return pd.DataFrame(np.ones((2, len(X))) * 0.5, index=self.duration_index)

    with pytest.raises(TypeError, match="that can be fitted again, got Table: pass a function"):
        adapt(Table()).fit(np.ones((3, 1)), ([1.0, 2.0, 3.0], [True] * 3))


# The doubly robust estimate


def test_without_censoring_and_confounding_it_is_the_difference_of_means():
    rng = np.random.default_rng(1)
    treated = np.tile([0.0, 1.0], 150)
    X = np.column_stack((treated, rng.normal(size=300)))
    time = rng.weibull(2, 300) * (2 + treated)
    y = (time, np.ones(300, dtype=bool))
    (row,) = contrast(CoxQuantileRegressor(), X, y, **ROBUST, what="risk", at=1.5).rows
    shares = [(time[treated == arm] <= 1.5).mean() for arm in (0, 1)]
    assert (row.from_, row.to) == pytest.approx(shares, abs=0.02)
    plain = np.sqrt(sum(p * (1 - p) / 150 for p in shares))
    assert (row.high - row.low) / 3.92 == pytest.approx(plain, rel=0.1)


def test_influence_values_of_one_arm_without_features_are_kaplan_meier():
    rng = np.random.default_rng(0)
    life, end = rng.weibull(1.5, 4_000), rng.exponential(2.0, 4_000)
    target = Target(np.minimum(life, end), life <= end)
    grid = time_cells(np.array([0.5, 1.0]))
    for survival, censoring in (
        (np.exp(-(grid**1.5)), np.exp(-grid / 2)),
        (np.exp(-grid), np.exp(-grid / 2)),  # a wrong model of the event
        (np.exp(-(grid**1.5)), np.exp(-grid / 4)),  # a wrong model of censoring
    ):
        curves = NuisanceCurves(
            grid, *(np.tile(curve, (1, len(target), 1)) for curve in (survival, censoring))
        )
        values = influence_values(curves, 0, target, np.ones(len(target)))
        known = kaplan_meier(target.time, target.event)(grid)
        assert np.abs(values.mean(axis=0) - known).max() < 0.012
    areas = areas_until(values, grid, np.array([0.5, 1.0]))
    assert areas.shape == (4_000, 2)


def test_the_influence_integral_equals_a_fine_sum():
    grid = time_cells(np.array([2.0]))
    hazard, rate = 0.7, 0.4
    curves = NuisanceCurves(
        grid, np.exp(-hazard * grid)[None, None, :], np.exp(-rate * grid)[None, None, :]
    )
    for time, event in ((1.234, True), (1.234, False), (5.0, True)):
        target = Target(np.array([time]), np.array([event]))
        value = influence_values(curves, 0, target, np.array([1.7]))[0, -1]
        both, until = hazard + rate, min(time, 2.0)
        integral = -hazard * np.expm1(both * until) / both
        if event and time <= 2.0:
            integral += np.exp(both * time)
        assert value == pytest.approx(np.exp(-hazard * 2.0) * (1 - 1.7 * integral))


def test_a_wrong_model_of_the_event_is_corrected():
    X, y = trial(1_500, seed=4)
    rng = np.random.default_rng(0)
    z, noise = rng.normal(size=(2, 400_000))
    lives = [np.minimum(np.exp(1 + 0.5 * arm + 0.5 * (z + noise)), 6) for arm in (0, 1)]
    truth = float((lives[1] - lives[0]).mean())
    (row,) = contrast(OneFeature(), X, y, **ROBUST, at=6.0).rows
    assert row.low < truth < row.high
    # Uncorrected, the model says something else.
    (own,) = contrast(OneFeature().fit(X, y), X, **DRUG, at=6.0).rows
    assert not row.low < own.difference < row.high


def test_everybody_censored_at_the_end_of_a_trial_leaves_risks_as_counted():
    table = load_rossi()
    X = table.drop(columns=["week", "arrest"])
    y = (table["week"].to_numpy(float), table["arrest"].to_numpy(bool))
    found = contrast(
        CoxQuantileRegressor(), X, y, feature="fin", to=1, from_=0, what="risk", at=[26, 52],
        method="doubly_robust",
    )  # fmt: skip
    for row in found.rows:
        for value, share in ((0, row.from_), (1, row.to)):
            counted = ((y[0] <= row.at) & y[1])[X["fin"] == value].mean()
            assert share == pytest.approx(counted, abs=0.015)
        assert row.supported == 1.0


def test_the_published_answer_of_a_trial_of_indinavir():
    # Hammer et al. (1997), N Engl J Med 337: 6 % with and 11 % without, hazard ratio 0.50
    # (0.33 to 0.76).
    X, target = load_aids()
    X = X.drop(columns="txgrp").astype(float)
    y = (target["time"], target["censor"])
    (row,) = contrast(
        CoxQuantileRegressor(), X, y, feature="tx", to=1, from_=0, what="risk", at=300,
        method="doubly_robust",
    ).rows  # fmt: skip
    assert (row.to, row.from_) == pytest.approx((0.06, 0.12), abs=0.01)
    assert row.ratio == pytest.approx(0.5, abs=0.05)
    assert (row.ratio_low, row.ratio_high) == pytest.approx((0.33, 0.76), abs=0.05)


def test_clusters_widen_the_robust_interval():
    X, (time, event) = trial(200, seed=2)
    many = np.repeat(np.arange(200), 4)
    y = (time[many], event[many])
    options = {**ROBUST, "at": 4.0}
    apart = contrast(CoxQuantileRegressor(), X[many], y, **options).rows[0]
    together = contrast(CoxQuantileRegressor(), X[many], y, **options, groups=many).rows[0]
    assert (together.high - together.low) / (apart.high - apart.low) == pytest.approx(2, abs=0.4)


def test_other_models_of_treatment_and_censoring_can_be_given(data):
    from sklearn.dummy import DummyClassifier

    X, y = data
    options = {**ROBUST, "at": 4.0}
    shares = contrast(
        CoxQuantileRegressor(),
        X,
        y,
        **options,
        treatment_estimator=DummyClassifier(strategy="prior"),
    )
    share = X[:, 0].mean()
    assert shares.overlap[1].chance_with == pytest.approx((share,) * 3, abs=0.05)
    by_curve = contrast(CoxQuantileRegressor(), X, y, **options, censoring_estimator="kaplan-meier")
    by_model = contrast(
        CoxQuantileRegressor(), X, y, **options, censoring_estimator=CoxPHSurvivalAnalysis()
    )
    default = contrast(CoxQuantileRegressor(), X, y, **options)
    for found in (by_curve, by_model):
        assert found.rows[0].difference == pytest.approx(default.rows[0].difference, abs=0.03)
    with pytest.raises(ValueError, match="censoring_estimator must be None, 'kaplan-meier' or"):
        contrast(CoxQuantileRegressor(), X, y, **options, censoring_estimator="cox")


def test_models_of_other_libraries_are_cross_fitted(data):
    X, y = data
    model = CoxPHSurvivalAnalysis().fit(X, Surv.from_arrays(*y[::-1]))
    ours = contrast(CoxQuantileRegressor(penalty=0.0), X, y, **ROBUST, at=4.0).rows[0]
    theirs = contrast(model, X, y, **ROBUST, at=4.0).rows[0]
    assert theirs.difference == pytest.approx(ours.difference, abs=0.02)


def test_text_categories_and_polars_give_the_same_effect(data):
    X, y = data
    polars = pytest.importorskip("polars")
    frame = frame_of(X)
    options = {"to": "yes", "from_": "no", "at": 4.0, "method": "doubly_robust", "by": "drug2"}
    frame["drug2"] = frame["x"] > 0
    first = contrast(reads_text(), frame, y, feature="drug", **options)
    assert [row.group for row in first.rows] == ["all", "drug2 = False", "drug2 = True"]
    second = contrast(reads_text(), polars.DataFrame(frame), y, feature="drug", **options)
    assert np.allclose(first.rows[0][4:], second.rows[0][4:])
    frame["drug"] = frame["drug"].astype("category")
    third = contrast(reads_text(), frame, y, feature="drug", **options)
    assert np.allclose(first.rows[0][4:], third.rows[0][4:])


# What the data cannot say


def test_missing_overlap_is_warned_of():
    rng = np.random.default_rng(0)
    x = rng.normal(size=N)
    treated = x + 0.3 * rng.normal(size=N) > 0
    time = np.exp(x + 0.5 * rng.normal(size=N))
    X, y = np.column_stack((treated, x)), (time, np.ones(N, dtype=bool))
    with pytest.warns(IdentifiabilityWarning, match="hardly anybody like them has it"):
        found = contrast(CoxQuantileRegressor(), X, y, **ROBUST, at=1.0)
    assert found.overlap[0].clipped > 0.2
    assert "below 0.03 for" in " ".join(found.assumptions)


def test_few_events_have_no_robust_interval(data):
    X, (time, event) = data
    hidden = (X[:, 0] == 1) & (np.cumsum(X[:, 0] == 1) > 12)
    with pytest.warns(FewEventsWarning, match="no interval for all, since there are fewer than 5"):
        found = contrast(CoxQuantileRegressor(), X, (time, event & ~hidden), **ROBUST, at=1.0)
    assert np.isnan([found.rows[0].low, found.rows[0].ratio_high]).all()


def test_a_short_follow_up_is_warned_of():
    X, y = trial(2_000, mean_censoring=0.7)
    with pytest.warns(IdentifiabilityWarning, match="Follow-up reaches 3 for"):
        contrast(CoxQuantileRegressor(), X, y, **ROBUST, at=3.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"to": 0}, "to and from_ must be two different values, got 0 twice"),
        ({"to": "b"}, "to must be a number, as the values of 'x0', got 'b'"),
        ({"what": "mean"}, "what must be one of"),
        ({"what": "risk"}, "at must be given for what='risk', got None"),
        ({"what": "risk", "at": -1}, "at must be positive times for what='risk', got -1"),
        ({"what": "median", "at": 0.3}, "at must be left out for what='median', got 0.3"),
        ({"what": "quantile", "at": 2.0}, "at must be levels inside .0, 1. for what='quantile'"),
        ({"method": "ipw"}, "method must be one of"),
        ({"method": "doubly_robust", "what": "median"}, "use method='bootstrap' for quantiles"),
        ({"at": 1e6}, r"at must not lie past the end of follow-up, \d+.*, got 1e\+06: no row was"),
        ({"method": "doubly_robust", "feature": 1}, "feature must have few values, and at least"),
        ({"by": 0}, "by must be another column than feature, got 'x0' for both"),
        ({"by": [1, 2]}, "by must be a column or have one label for each of the 400 rows"),
        ({"by": [str(row) for row in range(N)]}, "by must have at most 50 different values"),
        ({"n_resamples": 1}, "n_resamples must be at least 2"),
        ({"confidence": 1.0}, "confidence must be finite and inside"),
        ({"feature": "age"}, "feature must be one of the columns"),
    ],
)
def test_wrong_arguments_are_refused_by_one_sentence(cox, data, options, message):
    with pytest.raises(ValueError, match=message):
        contrast(cox, *data, **{**DRUG, **options})


def test_the_robust_horizon_ends_with_the_follow_up_of_either_value(data):
    X, (time, event) = data
    last = min(time[X[:, 0] == value].max() for value in (0, 1))
    at = (last + time.max()) / 2
    with pytest.raises(ValueError, match="at must not lie past the follow-up of the rows with x0"):
        contrast(CoxQuantileRegressor(), X, (time, event), **ROBUST, at=at)


def test_unknown_categories_left_censoring_and_missing_targets_are_refused(data):
    X, y = data
    frame = frame_of(X)
    model = reads_text().fit(frame, y)
    with pytest.raises(ValueError, match="to must be one of the values of 'drug', 'no', 'yes'"):
        contrast(model, frame, y, feature="drug", to="maybe", from_="no")
    with pytest.raises(ValueError, match="y must be given for method='doubly_robust'"):
        contrast(model, frame, feature="drug", to="yes", from_="no", method="doubly_robust")
    with pytest.raises(ValueError, match="at must be given for what='restricted_mean' without y"):
        contrast(model, frame, feature="drug", to="yes", from_="no")
    with pytest.raises(ValueError, match="y must have times of 0 or more"):
        contrast(model, frame, (y[0] - 9, y[1]), feature="drug", to="yes", from_="no")
    left = CoxQuantileRegressor(censoring="left").fit(X, y)
    with pytest.raises(ValueError, match="model must be fitted with censoring='right'"):
        contrast(left, X, y, **DRUG)


# What is shown


def test_the_text_says_what_is_compared_how_and_under_which_assumptions(data):
    X, y = data
    found = contrast(
        reads_text(), frame_of(X), y, feature="drug", to="yes", from_="no",
        at=[3.0, 4.0], method="doubly_robust", by=np.where(X[:, 2] > 0, "up", "down"),
    )  # fmt: skip
    text = str(found)
    assert text.startswith("drug: yes instead of no, restricted mean time up to 3 or 4\nDoubly")
    assert all(len(line) <= 100 for line in text.splitlines())
    for word in ("if yes", "drug = no", "No unmeasured confounding", "positivity", "Consistency"):
        assert word in text
    page = found._repr_html_()
    assert page.count("<tr>") == len(found.rows) + 1 + 3
    assert list(found.to_frame().columns[:3]) == ["at", "group", "n_rows"]
    assert len(found.to_frame()) == 6
    plain = contrast(CoxQuantileRegressor().fit(X, y), X, feature=1, to=1, from_=0, at=2)
    assert "without intervals" in str(plain)
    assert "not checked" in str(plain)
    assert plain.overlap == ()


def test_a_bar_counts_refits(cox, data, capsys):
    contrast(cox, *data, **DRUG, at=2.0, n_resamples=3, verbose=1)
    assert "3/3" in capsys.readouterr().err
    contrast(cox, *data, **ROBUST, at=2.0, verbose=1)
    assert "10/10" in capsys.readouterr().err


def test_refits_show_no_bars_of_their_own(cox, data, capsys):
    model = LogNormalNN(max_epochs=1, verbose=1, random_state=0)
    contrast(model, *data, **ROBUST, at=2.0)
    shown = capsys.readouterr().err.splitlines()
    assert not [line for line in shown if "kernels" not in line]  # at the first use of a kernel
