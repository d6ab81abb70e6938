"""CensoredQuantileRegressor: nothing to tune, data frames as they are, few events said."""

import pickle
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ShuffleSplit

import censquant
from censquant import (
    AFTRegressor,
    BoostedQuantileRegressor,
    CensoredQuantileForest,
    CensoredQuantileRegressor,
    ConformalSurvivalRegressor,
    CoxQuantileRegressor,
    ShapeNN,
)
from censquant.datasets import load_gbsg2, make_norm_linear
from censquant.estimators.ensemble._recommended import bounded_network, default_candidates
from censquant.exceptions import ExtrapolationWarning, FeatureWarning, FewEventsWarning
from censquant.survival import Target

X, Y = (part[:200] for part in load_gbsg2())
LEVELS = [0.1, 0.25, 0.5]
CHEAP = [("hazards", CoxQuantileRegressor()), ("forest", CensoredQuantileForest(n_estimators=5))]


def cheap(**parameters):
    return CensoredQuantileRegressor(**{"candidates": CHEAP, "random_state": 0, **parameters})


def quantiles(model, rows=X):
    return model.predict_quantiles(rows, LEVELS, beyond="extrapolate")


@pytest.fixture(scope="module")
def by_default():
    return CensoredQuantileRegressor(random_state=0, n_jobs=2, cv=2).fit(X, Y)


def messy_rows(n=150, seed=0):
    rng = np.random.default_rng(seed)
    stage = rng.choice(["I", "II", "III"], size=n)
    age = np.where(rng.random(n) < 0.2, np.nan, rng.normal(60, 10, n))
    time = np.exp(rng.normal(size=n)) * np.where(stage == "III", 0.2, 1.0)
    limit = rng.exponential(4.0, n)
    frame = pd.DataFrame(
        {
            "age": age,
            "stage": pd.Categorical(stage),
            "smoker": rng.random(n) < 0.4,
            "town": rng.choice(["A", "B", None], size=n),
        }
    )
    return frame, (np.minimum(time, limit), time <= limit)


# Candidates


def kinds(target, censoring="right"):
    return {name: type(model) for name, model in default_candidates(target, 3, censoring)}


def test_the_default_candidates_are_of_different_kinds(by_default):
    few = {
        "hazards": CoxQuantileRegressor,
        "linear weibull": AFTRegressor,
        "linear log-normal": AFTRegressor,
        "linear log-logistic": AFTRegressor,
        "boosting": BoostedQuantileRegressor,
        "deep boosting": BoostedQuantileRegressor,
        "forest": CensoredQuantileForest,
    }
    networks = dict.fromkeys(("normal", "log-normal", "weibull", "bounded"), ShapeNN)
    time, event = np.arange(1.0, 501.0), np.arange(500) % 5 == 0
    assert kinds(Target(time, event)) == few | networks
    assert kinds(Target(time[1:], event[1:])) == few
    assert kinds(Target(time, event & (time > 1))) == few  # 99 events
    linear = {name for name in few if name.startswith("linear")}
    many = kinds(Target(np.tile(time, 6), np.tile(event, 6)))
    assert many == {name: kind for name, kind in (few | networks).items() if name not in linear}
    assert set(by_default.weights_) == set(few)
    assert by_default.score(X, Y) > 0.6


def test_networks_of_many_rows_are_used_kept_and_exported_to_files(tmp_path):
    x, y = make_norm_linear(500, random_state=0)
    model = CensoredQuantileRegressor(random_state=0, allow_negative=True).fit(x, y)
    assert model.weights_["normal"] > 0.1
    model.save(tmp_path / "model")
    twin = censquant.load_model(tmp_path / "model")
    np.testing.assert_array_equal(quantiles(twin, x), quantiles(model, x))


def test_few_rows_are_cross_fitted_with_several_partitions(by_default):
    # Each repeat leaves its own boosters; a linear model is fitted once to all rows.
    assert len(by_default.estimators_["boosting"]) == 3
    assert len(by_default.estimators_["linear log-normal"]) == 1
    fixed = CensoredQuantileRegressor(random_state=0, cv=ShuffleSplit(1, random_state=0))
    assert all(len(models) == 1 for models in fixed.fit(X, Y).estimators_.values())


def test_the_ensemble_depends_little_on_the_seed():
    # Per cent of the 25 % quantile, for the typical row; single partitions with networks: 5 %.
    found = [CensoredQuantileRegressor(random_state=seed).fit(X, Y) for seed in range(4)]
    spread = np.std([np.log(quantiles(model)[:, 1]) for model in found], axis=0, ddof=1)
    assert np.median(spread) < 0.025


@pytest.mark.parametrize(
    ("time", "censoring"), [(0.0, "right"), (-1.0, "right"), (1.0, "left")], ids=str
)
def test_a_family_of_positive_times_is_no_candidate_for_others(time, censoring):
    target = Target(np.append(np.arange(1.0, 30.0), time), np.ones(30, dtype=bool))
    assert not {"log-normal", "weibull"} & set(kinds(target, censoring))
    assert {model.censoring for _, model in default_candidates(target, 3, censoring)} == {censoring}


def test_the_capacity_of_the_bounded_network_grows_with_the_rows():
    networks = [bounded_network(n, "right") for n in (500, 5_000, 20_000, 50_000)]
    assert [each.max_steps for each in networks] == [800, 1600, 3200, 6400]
    assert all(np.diff([each.weight_decay for each in networks]) < 0)


def test_forests_keep_fewer_trees_where_they_have_little_weight_and_many_rows():
    rng = np.random.default_rng(0)
    time = rng.exponential(size=4_000)
    x, y = rng.normal(size=(4_000, 2)), (time, np.ones(4_000, bool))
    kept = {}
    for weight in (0.01, 0.1, 1.0):
        forest = CensoredQuantileForest(n_estimators=32, random_state=0).fit(x, y)
        before = quantiles(forest, x[:50])
        forest._hold_back(weight)
        kept[weight] = len(forest._leaves.root)
        assert np.abs(quantiles(forest, x[:50]) - before).mean() < 0.1
    assert kept == {0.01: 8, 0.1: 10, 1.0: 32}
    small = CensoredQuantileForest(n_estimators=32, random_state=0).fit(x[:1_000], time[:1_000])
    small._hold_back(0.01)
    assert len(small._leaves.root) == 32


def test_own_candidates_replace_the_default_ones():
    model = cheap().fit(X, Y)
    assert list(model.weights_) == ["hazards", "forest"]
    assert model.candidates is CHEAP


def test_one_candidate_alone_is_the_whole_pool():
    model = cheap(candidates=CHEAP[:1]).fit(X, Y)
    assert model.weights_ == {"hazards": 1.0}
    alone = CoxQuantileRegressor().fit(X, Y)
    # Straight segments between 26 levels stand for the curve that enters the last observed time.
    observed = quantiles(alone) <= alone.follow_up_[1]
    assert observed.mean() > 0.9
    np.testing.assert_allclose(quantiles(model)[observed], quantiles(alone)[observed], rtol=1e-6)


# Few events


@pytest.mark.parametrize("n_events", [1, 2, 9])
@pytest.mark.parametrize("n_features", [3, 200])
def test_few_events_give_about_the_curve_of_kaplan_and_meier(n_events, n_features):
    rng = np.random.default_rng(n_events)
    x, time = rng.normal(size=(150, n_features)), rng.exponential(size=150)
    event = np.zeros(150, dtype=bool)
    event[rng.choice(150, n_events, replace=False)] = True
    with pytest.warns(
        FewEventsWarning,
        match=rf"^y has {n_events} rows with an event, too few to compare candidates, which begins "
        r"at 10: only the hazards model is fitted, with a penalty that keeps",
    ) as caught:
        model = CensoredQuantileRegressor(random_state=0).fit(x, (time, event))
    assert caught[0].filename == __file__
    assert model.weights_ == {"hazards": 1.0}
    at = np.sort(time[event])
    survival = model.predict_survival_function(x, at, True, beyond="extrapolate")
    # By Nelson and Aalen's estimate of the hazard, which does not jump to 0 at a last event.
    hazard = np.cumsum([1.0 / (time >= t).sum() for t in at])
    np.testing.assert_allclose(survival.mean(axis=0), np.exp(-hazard), atol=0.03)
    assert survival.std(axis=0).max() < 0.08


def test_ten_events_are_compared_without_a_warning():
    time = np.arange(1.0, 41.0)
    model = CensoredQuantileRegressor(random_state=0, cv=2)
    model.fit(np.sin(time)[:, None], (time, time % 4 == 0))
    assert len(model.weights_) == 7


@pytest.mark.filterwarnings("ignore::censquant.exceptions.CalibrationWarning")
def test_whole_weights_count_as_events():
    time = np.arange(1.0, 31.0)
    event = time % 6 == 0
    x = np.sin(time)[:, None]
    with pytest.warns(FewEventsWarning):
        cheap(candidates=None).fit(x, (time, event))
    model = cheap(candidates=None, cv=2).fit(x, (time, event), np.full(30, 2))
    twice = cheap(candidates=None, cv=2).fit(
        np.tile(x, (2, 1)), (np.tile(time, 2), np.tile(event, 2))
    )
    np.testing.assert_array_equal(quantiles(model, x), quantiles(twice, x))
    assert len(model.weights_) == 7


# Frames


def test_frames_are_taken_as_they_are(tmp_path):
    frame, y = messy_rows()
    model = cheap().fit(frame, y)
    assert model.feature_names_in_.tolist() == ["age", "stage", "smoker", "town"]
    assert model.n_features_in_ == 4
    assert model.score(frame, y) > 0.6
    new = frame.head(3).copy()
    new["town"] = ["nowhere", "A", None]
    with pytest.warns(ExtrapolationWarning, match="'town'"):
        assert np.isfinite(quantiles(model, new)).all()
    new["town"] = "A"
    model.save(tmp_path / "model")
    twin = censquant.load_model(tmp_path / "model")
    np.testing.assert_array_equal(quantiles(twin, new), quantiles(model, new))
    np.testing.assert_array_equal(twin.identified_level(new), model.identified_level(new))


def test_categorical_features_may_be_named():
    frame, y = messy_rows()
    frame["code"] = np.arange(len(frame)) % 4
    named = cheap(categorical_features=["stage", "smoker", "town", "code"]).fit(frame, y)
    as_they_are = cheap().fit(frame, y)
    assert len(named._column_names()) == len(as_they_are._column_names()) + 3


def test_identifiers_and_constants_are_named_in_one_warning():
    frame, y = messy_rows()
    frame["id"] = [f"p{i}" for i in range(len(frame))]
    frame["same"] = 1.0
    with pytest.warns(FeatureWarning, match=r"'same'.*'id'") as caught:
        cheap().fit(frame, y)
    assert len(caught) == 1


def test_other_columns_than_those_of_the_fit_are_refused():
    frame, y = messy_rows()
    model = cheap().fit(frame, y)
    with pytest.raises(
        ValueError, match=r"^X must have the columns of the fit, got no column 'age'"
    ):
        model.predict(frame.rename(columns={"age": "aged"}))


def hidden_rows():
    """Rows with missing values, and the same with a mask over values that must not be seen."""
    rows = X.to_numpy(copy=True)
    hidden = np.zeros(rows.shape, dtype=bool)
    hidden[::7, 2] = True
    return np.where(hidden, np.nan, rows), np.ma.array(np.where(hidden, 1e9, rows), mask=hidden)


@pytest.mark.parametrize(
    "make", [cheap, lambda: ConformalSurvivalRegressor(cheap(), cv=2, random_state=0)]
)
@pytest.mark.filterwarnings("ignore::censquant.exceptions.CalibrationWarning")
def test_what_a_mask_hides_is_missing(make):
    plain, masked = hidden_rows()
    expected, model = make().fit(plain, Y), make().fit(masked, Y)
    np.testing.assert_array_equal(quantiles(model, masked), quantiles(expected, plain))


def test_text_that_a_mask_hides_is_missing_too():
    frame, y = messy_rows()
    rows = frame[["stage", "town"]].astype(object).to_numpy()
    hidden = frame["town"].isna().to_numpy()[:, None] & [False, True]
    masked = np.ma.array(np.where(hidden, "B", rows), mask=hidden)
    expected, model = cheap().fit(rows, y), cheap().fit(masked, y)
    np.testing.assert_array_equal(quantiles(model, masked), quantiles(expected, rows))


def test_arrays_may_hold_nan():
    rows = X.to_numpy(copy=True)
    rows[::7, 2] = np.nan
    model = cheap().fit(rows, Y)
    assert np.isfinite(quantiles(model, rows)).all()


def test_no_column_worth_keeping_leaves_one_curve_for_all():
    with pytest.warns(FeatureWarning):
        model = cheap().fit(np.ones((200, 2)), Y)
    assert (np.ptp(quantiles(model, np.ones((5, 2))), axis=0) == 0).all()


def test_negative_durations_are_refused_with_their_number_and_the_smallest():
    time = Y["time"].copy()
    time[[3, 50]] = -7.0, -1.0
    message = (
        "y must hold durations, none of them negative, got 2 of 200 times below 0, the smallest "
        "-7: check whether start and end are swapped, or pass allow_negative=True to the estimator "
        "if these values are meant."
    )
    for y in ((time, Y["event"]), time, pd.DataFrame({"time": time, "event": Y["event"]})):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            cheap().fit(X, y)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        ConformalSurvivalRegressor(cheap(), cv=2).fit(X, (time, Y["event"]))


def test_a_negative_duration_of_weight_zero_does_not_matter():
    time = Y["time"].copy()
    time[3] = -7.0
    weight = np.ones(len(time))
    weight[3] = 0.0
    assert cheap().fit(X, (time, Y["event"]), weight).follow_up_[0] >= 0


def test_values_below_zero_are_fitted_where_they_are_meant():
    y = np.log(Y["time"]) - 7.0, Y["event"]
    model = cheap(allow_negative=True).fit(X, y)
    assert (quantiles(model)[:, 0] < 0).any()
    with pytest.raises(TypeError, match=r"^allow_negative must be True or False, got 'yes'\.$"):
        cheap(allow_negative="yes").fit(X, y)
    measured = CHEAP[0][0], CoxQuantileRegressor(censoring="left")
    cheap(candidates=[measured], censoring="left").fit(X, y)


def test_a_negative_age_is_refused_unless_times_are_no_durations():
    age = np.ones(len(X))
    age[[2, 5, 7]] = -4.0
    message = (
        "elapsed must not be negative, got 3 of 200 values below 0, the smallest -4: pass the time "
        "since the start of follow-up."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        cheap().fit(X, Y).predict_remaining(X, age)
    moved = cheap(allow_negative=True).fit(X, (Y["time"] - 500.0, Y["event"]))
    assert (moved.predict_remaining(X, age, beyond="extrapolate") >= 0).all()


# The whole interface


def test_left_censoring():
    data = make_norm_linear(150, random_state=0)
    event, time = data.y["event"], data.y["time"].max() + 1 - data.y["time"]
    model = CensoredQuantileRegressor(censoring="left", cv=2, random_state=0, n_jobs=2)
    model.fit(data.X, (time, event))
    assert "log-normal" not in model.weights_
    assert model.score(data.X, (time, event)) > 0.6
    assert (np.diff(quantiles(model, data.X), axis=1) >= 0).all()


def test_a_splitter_may_hold_out_one_part():
    model = cheap(cv=ShuffleSplit(1, test_size=0.25, random_state=0)).fit(X, Y)
    assert len(model.oof_rows_) == 50


def test_groups_are_held_out_together():
    groups = np.arange(200) // 4
    model, twin = (cheap(cv=cv).fit(X, Y, groups=groups) for cv in (4, 4))
    np.testing.assert_array_equal(quantiles(model), quantiles(twin))
    other = cheap().fit(X, Y)
    assert (model.oof_curve_.values != other.oof_curve_.values).any()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_default_has_the_same_bits_for_any_number_of_threads(by_default, n_jobs):
    model = CensoredQuantileRegressor(random_state=0, n_jobs=n_jobs, cv=2).fit(X, Y)
    np.testing.assert_array_equal(quantiles(model), quantiles(by_default))
    assert model.weights_ == by_default.weights_


def test_files_and_pickles_predict_the_same_bits(by_default, tmp_path):
    by_default.save(tmp_path / "model")
    twins = censquant.load_model(tmp_path / "model"), pickle.loads(pickle.dumps(by_default))
    for twin in twins:
        np.testing.assert_array_equal(quantiles(twin), quantiles(by_default))
        np.testing.assert_array_equal(twin.identified_level(X), by_default.identified_level(X))
        assert list(twin.weights_.items()) == list(by_default.weights_.items())
        assert str(twin.summary()) == str(by_default.summary())
    assert twins[0].get_params() == by_default.get_params()


def test_the_summary_names_all_candidates(by_default):
    text = str(by_default.summary())
    assert text.startswith("CensoredQuantileRegressor pools 7 candidates: ")
    for name in by_default.weights_:
        assert f"\n{name} " in text


def test_parameters_are_few_and_survive_a_clone():
    model = cheap(cv=3, verbose=0)
    assert len(model.get_params(deep=False)) <= 10
    twin = clone(model)
    assert twin.get_params()["cv"] == 3
    assert not hasattr(twin, "weights_")


@pytest.mark.filterwarnings("ignore::censquant.exceptions.CalibrationWarning")
def test_a_grid_search_goes_over_the_number_of_folds():
    search = GridSearchCV(cheap(), {"cv": [2, 3]}, cv=2).fit(X, Y)
    assert search.best_params_["cv"] in (2, 3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cv": 1}, r"^cv must be at least 2, got 1\."),
        ({"censoring": "interval"}, r"^censoring must be one of 'right', 'left', got 'interval'\."),
        ({"n_jobs": 0}, r"^n_jobs must be None or an integer other than 0, got 0\."),
        ({"quantiles": [0.0, 0.5]}, r"^quantiles must be"),
        ({"candidates": []}, r"^candidates must be one or more with different names, got \[\]\."),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        cheap(**parameters).fit(X, Y)


SCRIPT = """
import sys, threading, os, signal
import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from censquant import CensoredQuantileRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 10))
y = rng.exponential(size=20_000), rng.random(20_000) < 0.5
small = CensoredQuantileRegressor(random_state=0, cv=2).fit(X[:60], (y[0][:60], y[1][:60]))
threading.Timer(float(sys.argv[2]), lambda: os.kill(os.getpid(), signal.SIGINT)).start()
model = CensoredQuantileRegressor(n_jobs=int(sys.argv[1]))
try:
    model.fit(X, y)
except KeyboardInterrupt:
    print("interrupted")
try:
    check_is_fitted(model)
except NotFittedError:
    print("not fitted")
"""


@pytest.mark.parametrize(("n_jobs", "moment"), [(1, 0.3), (2, 1.5)])
def test_ctrl_c_ends_a_long_fit_and_leaves_nothing_half_fitted(n_jobs, moment):
    search_path = f"import sys; sys.path[:0] = {sys.path!r}"
    done = subprocess.run(
        [sys.executable, "-c", search_path + SCRIPT, str(n_jobs), str(moment)],
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.stderr in ("", "Stopping ...\n")  # nothing where no fit had begun
    assert done.stdout == "interrupted\nnot fitted\n"
