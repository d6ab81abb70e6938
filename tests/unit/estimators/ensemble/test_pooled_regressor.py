"""PooledQuantileRegressor: what it does with candidates, whatever they are."""

import pickle
import re
import sys
import threading
import time
from copy import copy
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, PredefinedSplit, ShuffleSplit
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted
from sksurv.ensemble import RandomSurvivalForest
from sksurv.linear_model import CoxPHSurvivalAnalysis

import censquant
from censquant import (
    BaseQuantileRegressor,
    BoostedQuantileRegressor,
    CensoredQuantileForest,
    CoxQuantileRegressor,
    LogNormalNN,
    PooledQuantileRegressor,
    make_quantile_pipeline,
)
from censquant.datasets import make_lognorm, make_norm_linear
from censquant.estimators.ensemble._candidates import CrossFit
from censquant.exceptions import CalibrationWarning, FewEventsWarning, TrainingDivergedError
from censquant.metrics import concordance_index, pinball_loss_censored
from censquant.quantiles import QuantileCurve

DATA = make_lognorm(150, random_state=0)
X, Y = np.hstack([DATA.X, np.cos(7 * DATA.X[:, :1])]), DATA.y
LEVELS = [0.1, 0.5, 0.9]


def network(**parameters):
    return LogNormalNN(**{"hidden_layer_sizes": (4,), "max_epochs": 3, **parameters})


def forest(**parameters):
    return CensoredQuantileForest(**{"n_estimators": 5, **parameters})


def three():
    return [("cox", CoxQuantileRegressor()), ("network", network()), ("forest", forest())]


def pool(candidates=None, **parameters):
    return PooledQuantileRegressor(candidates or three(), **{"random_state": 0, **parameters})


def quantiles(model, rows=X):
    return model.predict_quantiles(rows, LEVELS, beyond="extrapolate")


@pytest.fixture(scope="module")
def fitted():
    return pool().fit(X, Y)


class Constant(BaseQuantileRegressor):
    """The same exponential law for everybody."""

    def __init__(self, mean=1.0):
        self.mean = mean

    def fit(self, X, y, sample_weight=None):
        self.n_rows_ = len(X)
        return self

    def predict_curve(self, X):
        levels = np.linspace(0.01, 0.99, 99)
        return QuantileCurve(np.tile(-self.mean * np.log1p(-levels), (len(X), 1)), levels, 0.0)


class Memory(BaseQuantileRegressor):
    """Knows the times of the rows it was fitted to, and says the mean of all of others."""

    def fit(self, X, y, sample_weight=None):
        self.known_ = {row.tobytes(): time for row, time in zip(X, y[0], strict=True)}
        return self

    def predict_curve(self, X):
        mean = float(np.mean(list(self.known_.values())))
        middle = np.array([self.known_.get(row.tobytes(), mean) for row in X])
        levels = np.linspace(0.01, 0.99, 99)
        return QuantileCurve(middle[:, None] * (1 + 0.01 * (levels - 0.5)), levels, 0.0)


# Weights


def test_weights_lie_on_the_simplex_and_name_every_candidate(fitted):
    assert list(fitted.weights_) == ["cox", "network", "forest"]
    assert sum(fitted.weights_.values()) == pytest.approx(1.0)
    assert min(fitted.weights_.values()) >= 0.0


def test_the_better_candidate_has_the_larger_weight():
    rng = np.random.default_rng(0)
    time = rng.exponential(2.0, size=400)
    model = pool([("right", Constant(2.0)), ("wrong", Constant(6.0))])
    model.fit(np.zeros((400, 1)) + rng.normal(size=(400, 1)), time)
    assert model.weights_["right"] > 0.9


@pytest.mark.filterwarnings("ignore::censquant.exceptions.CalibrationWarning")
def test_a_prior_that_is_given_decides_where_scores_do_not():
    same = [("a", Constant(1.0)), ("b", Constant(1.0))]
    model = pool(same, prior={"a": 3.0, "b": 1.0}).fit(X, Y)
    assert model.weights_ == pytest.approx({"a": 0.75, "b": 0.25})


def test_a_candidate_that_remembers_rows_has_no_advantage():
    rng = np.random.default_rng(1)
    time = rng.exponential(1.0, size=200)
    noise = rng.normal(size=(200, 3))
    model = pool([("honest", Constant(1.0)), ("memory", Memory())]).fit(noise, time)
    assert model.weights_["honest"] > 0.9
    best = pinball_loss_censored(time, np.tile(-np.log1p(-np.array(LEVELS)), (200, 1)), LEVELS)
    held_out = pinball_loss_censored(time, model.oof_curve_.at(LEVELS), LEVELS)
    assert held_out == pytest.approx(best, rel=0.1)


@pytest.mark.filterwarnings("ignore::censquant.exceptions.CalibrationWarning")
def test_rows_of_a_group_are_not_remembered_either():
    rng = np.random.default_rng(2)
    time = np.repeat(rng.exponential(1.0, size=60), 3)
    rows = np.repeat(rng.normal(size=(60, 2)), 3, axis=0) + 1e-9 * rng.normal(size=(180, 2))
    deep = CensoredQuantileForest(n_estimators=20, min_samples_leaf=1)
    candidates = [("honest", Constant(1.0)), ("deep", deep)]
    alone = pool(candidates, scoring="brier").fit(rows, time)
    groups = np.repeat(np.arange(60), 3)
    together = pool(candidates, scoring="brier").fit(rows, time, groups=groups)
    assert alone.weights_["deep"] > 0.8
    assert together.weights_["deep"] < 0.3


def test_groups_must_name_every_row():
    with pytest.raises(ValueError, match=r"^groups must have one label for each of the 150 rows"):
        pool().fit(X, Y, groups=[1, 2])


# What rows, weights and threads change


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_the_number_of_threads_changes_no_bit(fitted, n_jobs):
    model = pool(n_jobs=n_jobs).fit(X, Y)
    np.testing.assert_array_equal(quantiles(model), quantiles(fitted))
    np.testing.assert_array_equal(model.identified_level(X), fitted.identified_level(X))
    assert model.weights_ == fitted.weights_


def test_the_order_of_rows_changes_no_bit(fitted):
    order = np.random.default_rng(1).permutation(len(X))
    model = pool().fit(X[order], Y[order])
    np.testing.assert_array_equal(quantiles(model), quantiles(fitted))
    np.testing.assert_array_equal(
        model.oof_curve_.at(LEVELS)[np.argsort(order)], fitted.oof_curve_.at(LEVELS)
    )


@pytest.mark.parametrize("grouped", [False, True])
def test_whole_weights_are_repeated_rows_to_the_bit(grouped):
    weight = np.random.default_rng(2).integers(0, 4, len(X))
    groups = np.arange(len(X)) // 5 if grouped else None
    model = pool().fit(X, Y, weight, groups=groups)
    expected = pool().fit(
        np.repeat(X, weight, axis=0),
        np.repeat(Y, weight),
        groups=np.repeat(groups, weight) if grouped else None,
    )
    np.testing.assert_array_equal(quantiles(model), quantiles(expected))
    np.testing.assert_array_equal(model.identified_level(X), expected.identified_level(X))
    assert model.weights_ == expected.weights_
    np.testing.assert_array_equal(model.oof_rows_, np.flatnonzero(weight))


def test_only_the_ratios_of_fractional_weights_count():
    weight = np.random.default_rng(3).uniform(0.1, 1.0, len(X))
    model, expected = pool().fit(X, Y, 3.3 * weight), pool().fit(X, Y, weight)
    np.testing.assert_array_equal(quantiles(model), quantiles(expected))


def test_another_seed_gives_another_fit(fitted):
    assert (quantiles(pool(random_state=1).fit(X, Y)) != quantiles(fitted)).any()


def test_left_censored_times_are_mirrored_times():
    def two(censoring):
        strengths = {"strong": 1.0, "weak": 0.01}
        candidates = [
            (name, CoxQuantileRegressor(penalty=penalty, censoring=censoring))
            for name, penalty in strengths.items()
        ]
        return pool(candidates, censoring=censoring, cv=KFold(3))

    later = Y["time"] - 100.0  # negative, so that nothing ends at 0 on either side
    right = two("right").fit(X, (later, Y["event"]))
    left = two("left").fit(X, (-later, Y["event"]))
    assert left.weights_ == pytest.approx(right.weights_, abs=1e-4)
    np.testing.assert_allclose(quantiles(left), -quantiles(right)[:, ::-1], rtol=1e-6)
    np.testing.assert_allclose(left.identified_level(X), 1 - right.identified_level(X), atol=0.02)


def test_candidates_with_another_side_of_censoring_are_refused():
    with pytest.raises(
        ValueError, match=r"^censoring of the estimator 'cox' must be that of the pool, 'left', got"
    ):
        pool(censoring="left").fit(X, Y)


# Held-out rows


def test_held_out_curves_are_those_of_models_that_had_not_seen_the_row():
    splitter = KFold(3, shuffle=True, random_state=5)
    model = pool([("cox", CoxQuantileRegressor())], cv=splitter).fit(X, Y)
    expected = np.empty((len(X), len(LEVELS)))
    for train, test in splitter.split(X):
        cox = CoxQuantileRegressor().fit(X[train], Y[train])
        expected[test] = quantiles(cox, X[test])
    np.testing.assert_array_equal(model.oof_rows_, np.arange(len(X)))
    # Pools keep answers in float32, and read them off straight segments between 23 levels.
    np.testing.assert_allclose(model.oof_curve_.at(LEVELS), expected, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::censquant.exceptions.CalibrationWarning")
def test_trees_of_the_folds_are_one_model_that_is_fitted_once():
    splitter = KFold(3, shuffle=True, random_state=5)
    trees = [("forest", forest(n_estimators=8)), ("boosting", BoostedQuantileRegressor())]
    model = pool(trees, cv=splitter, quantiles=LEVELS, scoring="brier").fit(X, Y)
    (grown,), (boosted,) = (model.estimators_[name] for name in ("forest", "boosting"))
    assert len(grown._leaves.root) == 8
    assert len(boosted._boosters.value) == 3
    # The same models, fitted to the folds by themselves, say the same of all rows.
    alone = PooledQuantileRegressor(trees[1:], cv=splitter, random_state=0).fit(X, Y)
    assert len(alone.estimators_["boosting"][0]._boosters.value) == 3
    np.testing.assert_array_equal(model.oof_rows_, np.arange(len(X)))
    # Two folds leave a tree each even to a forest of one.
    single = pool([("forest", forest(n_estimators=1))], cv=2).fit(X, Y)
    assert len(single.estimators_["forest"][0]._leaves.root) == 2


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize(
    "candidate",
    [forest(n_estimators=40, min_samples_leaf=1), BoostedQuantileRegressor(max_samples=40)],
)
@pytest.mark.filterwarnings("ignore::censquant.exceptions.CalibrationWarning")
def test_parts_that_held_a_row_out_know_nothing_of_it(candidate, left):
    # A column that gives the time of each row away, by a code that means nothing on other rows.
    rng = np.random.default_rng(3)
    time = rng.exponential(size=300)
    code = rng.permutation(300).astype(float)
    side = "left" if left else "right"
    model = pool([("trees", clone(candidate).set_params(censoring=side))], censoring=side)
    if left:
        time = -time
    model.fit(code[:, None], time)
    held_out = model.oof_curve_.at([0.5])[:, 0]
    assert abs(concordance_index(time, held_out) - 0.5) < 0.08
    seen = quantiles(model, code[:, None])[:, 1]
    if isinstance(candidate, CensoredQuantileForest):  # which would have known
        assert concordance_index(time, seen) > 0.7


def test_a_model_of_hazards_in_an_ensemble_does_not_grow_with_the_rows():
    data = make_norm_linear(3_000, random_state=0)
    model = pool([("cox", CoxQuantileRegressor())]).fit(data.X, data.y)
    (member,) = model.estimators_["cox"]
    alone = CoxQuantileRegressor().fit(data.X, data.y)
    assert len(member._baseline.time) == 1_001
    assert len(alone._baseline.time) > 2_000
    assert len(member.unique_times_) == 100
    found, expected = (quantiles(each, data.X[:500])[:, :2] for each in (model, alone))
    np.testing.assert_allclose(found, expected, rtol=2e-3)


@pytest.mark.filterwarnings("ignore::censquant.exceptions.FewEventsWarning")
def test_folds_without_an_event_leave_boosters_without_a_round():
    rng = np.random.default_rng(0)
    time, event = rng.exponential(size=60), np.arange(60) >= 20
    splits = [(np.arange(10, 60), np.arange(10)), (np.arange(20, 60), np.arange(10, 20))]
    model = pool([("boosting", BoostedQuantileRegressor())], cv=splits)
    model.fit(rng.normal(size=(60, 2)), (time, event))
    assert model.estimators_["boosting"][0].n_iter_ == 0
    assert np.isfinite(model.oof_curve_.values).all()


@pytest.mark.parametrize(
    "cv",
    [
        PredefinedSplit(np.where(np.arange(len(X)) < 50, 0, -1)),
        [(np.arange(50, len(X)), np.arange(50))],
    ],
    ids=["splitter", "pairs"],
)
def test_given_folds_go_by_the_places_of_the_users_rows(cv):
    model = pool(cv=cv).fit(X, Y)
    np.testing.assert_array_equal(model.oof_rows_, np.arange(50))
    assert len(model.oof_curve_) == 50


def test_one_hold_out_is_enough():
    model = pool(cv=ShuffleSplit(1, test_size=0.3, random_state=0)).fit(X, Y)
    assert len(model.oof_rows_) == 45
    assert sum(model.weights_.values()) == pytest.approx(1.0)
    assert len(model.estimators_["network"]) == 1


def test_splitters_whose_test_rows_overlap_are_refused():
    with pytest.raises(ValueError, match=r"^cv must hold out each row at most once"):
        pool(cv=ShuffleSplit(4, test_size=0.5, random_state=0)).fit(X, Y)


def test_one_event_leaves_the_weights_expected_beforehand():
    event = np.arange(len(X)) == 7
    with pytest.warns(FewEventsWarning, match=r"^Candidates cannot be compared, since fewer than"):
        model = pool(prior={"cox": 2.0, "network": 1.0, "forest": 1.0}).fit(X, (Y["time"], event))
    assert model.weights_ == pytest.approx({"cox": 0.5, "network": 0.25, "forest": 0.25})
    assert model.oof_curve_ is None
    assert np.isfinite(quantiles(model)).all()
    assert "held-out" not in str(model.summary()).lower()


# Racing, failures


def test_a_hopeless_candidate_is_dropped_after_the_first_fold():
    data = make_lognorm(600, random_state=0)
    Counting.fits.clear()
    candidates = [("cox", CoxQuantileRegressor()), ("smooth", network())]
    model = pool([*candidates, ("hopeless", Counting(1e6))]).fit(data.X, data.y)
    assert len(Counting.fits) == 1
    assert model.weights_["hopeless"] == 0.0
    assert model.candidates_["hopeless"].note == (
        "dropped: clearly worse than the best on the first fold"
    )
    assert np.isnan(model.candidates_["hopeless"].brier)
    assert "hopeless" not in model.estimators_


class Counting(Constant):
    fits: ClassVar = []

    def fit(self, X, y, sample_weight=None):
        self.fits.append(len(X))
        return super().fit(X, y)


class Diverging(Constant):
    def fit(self, X, y, sample_weight=None):
        raise TrainingDivergedError("The loss became NaN in epoch 3.")


def test_a_candidate_that_diverges_is_dropped_with_a_note():
    model = pool([("cox", CoxQuantileRegressor()), ("wild", Diverging())]).fit(X, Y)
    assert model.weights_ == {"cox": 1.0, "wild": 0.0}
    assert model.candidates_["wild"].note == "dropped: The loss became NaN in epoch 3."
    assert list(model.estimators_) == ["cox"]


def test_if_all_candidates_fail_one_sentence_says_why():
    with pytest.raises(
        ArithmeticError,
        match=r"^No candidate could be fitted: The loss became NaN in epoch 3\. \(wild\)\.$",
    ):
        pool([("wild", Diverging()), ("wilder", Diverging())]).fit(X, Y)


class DivergesOnAllRows(Constant):
    def fit(self, X, y, sample_weight=None):
        if len(X) == 150:
            raise TrainingDivergedError("The loss became NaN in epoch 3.")
        return super().fit(X, y)


@pytest.mark.filterwarnings("ignore::censquant.exceptions.CalibrationWarning")
def test_a_candidate_that_fails_on_all_rows_keeps_the_models_of_the_folds():
    model = pool([("late", DivergesOnAllRows(2.0))], cv=3).fit(X, Y)
    assert [each.n_rows_ for each in model.estimators_["late"]] == [100] * 3
    assert np.isfinite(quantiles(model)).all()


class Wrong(Constant):
    def fit(self, X, y, sample_weight=None):
        raise ValueError("alpha must be positive, got -1.")


def test_a_wrong_argument_of_a_candidate_is_an_error():
    with pytest.raises(ValueError, match=r"^alpha must be positive, got -1\.$"):
        pool([("cox", CoxQuantileRegressor()), ("wrong", Wrong())]).fit(X, Y)


# Other kinds of candidates


@pytest.mark.parametrize("weighted", [False, True])
def test_models_of_other_libraries_are_candidates(weighted):
    weight = np.random.default_rng(0).uniform(0.5, 1.0, len(X)) if weighted else None
    rival = RandomSurvivalForest(n_estimators=10, min_samples_leaf=10)
    candidates = [("cox", CoxQuantileRegressor()), ("sksurv", rival)]
    model, twin = (pool(candidates).fit(X, Y, weight) for _ in range(2))
    assert set(model.weights_) == {"cox", "sksurv"}
    assert np.isfinite(quantiles(model)).all()
    # Its random_state of None is that of the pool.
    np.testing.assert_array_equal(quantiles(twin), quantiles(model))


def test_a_pool_with_a_model_of_another_library_cannot_be_saved(tmp_path):
    model = pool([("sksurv", CoxPHSurvivalAnalysis(alpha=1.0))]).fit(X, Y)
    with pytest.raises(TypeError, match=r"cannot be saved"):
        model.save(tmp_path / "model")


@pytest.mark.parametrize("weighted", [False, True])
def test_pipelines_are_candidates(weighted):
    weight = np.random.default_rng(0).uniform(0.5, 1.0, len(X)) if weighted else None
    inside = pool([("cox", make_quantile_pipeline(StandardScaler(), CoxQuantileRegressor()))])
    plain = pool([("cox", CoxQuantileRegressor())])
    np.testing.assert_allclose(
        quantiles(inside.fit(X, Y, weight)), quantiles(plain.fit(X, Y, weight)), rtol=1e-6
    )


@pytest.mark.parametrize(
    ("candidates", "error", "message"),
    [
        ([], ValueError, "estimators must be one or more with different names, got []."),
        (
            [("a", network()), ("a", forest())],
            ValueError,
            "estimators must be one or more with different names, got ['a', 'a'].",
        ),
        ([("a/b", network())], ValueError, "Names of estimators must have no slash, got 'a/b'."),
        (
            [("pool", network())],
            ValueError,
            "Names of estimators must not be 'pool', the name of all together.",
        ),
        (
            [("a", LogNormalNN)],
            TypeError,
            "estimators must be unfitted estimators, got <class",
        ),
        ([network()], TypeError, "estimators must be a list of (name, estimator), got ["),
        (7, TypeError, "estimators must be a list of (name, estimator), got 7."),
    ],
)
def test_what_is_no_list_of_named_estimators_is_refused(candidates, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        PooledQuantileRegressor(candidates).fit(X, Y)


# What it says of itself


def test_the_table_of_candidates_prints(fitted):
    text = str(fitted.candidates_)
    assert [line.split()[0] for line in text.splitlines()] == [
        "name",
        "cox",
        "network",
        "forest",
        "pool",
    ]
    assert f"{fitted.weights_['cox']:.2f}" in text
    html = fitted.candidates_._repr_html_()
    assert html.count("<tr>") == 5
    frame = fitted.candidates_.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.loc["cox", "weight"] == fitted.weights_["cox"]
    assert (frame["seconds"] > 0).all()


def test_names_of_candidates_are_escaped_in_html():
    model = pool([("<script>", CoxQuantileRegressor())]).fit(X, Y)
    assert "<script>" not in model.candidates_._repr_html_()
    assert "<script>" not in model.summary()._repr_html_()


def test_scores_of_the_table_are_those_of_held_out_curves(fitted):
    row = fitted.candidates_["pool"]
    curve, y = fitted.oof_curve_, (Y["time"], Y["event"])
    default = np.arange(1, 20) / 20
    assert row.pinball == pytest.approx(pinball_loss_censored(y, curve.at(default), default))
    mean = curve.restricted_mean(fitted.horizon_)
    assert row.concordance == pytest.approx(concordance_index(y, mean), abs=0.002)


def test_the_summary_is_text_and_html(fitted):
    text = str(fitted.summary())
    assert text.startswith("PooledQuantileRegressor pools 3 candidates: ")
    low, high = fitted.follow_up_
    assert f"Times from {low:g} to {high:g} were observed" in text
    assert "On held-out rows the pool has a log score of " in text
    assert fitted.tail_rule_ in text
    assert str(fitted.candidates_) in text
    html = fitted.summary()._repr_html_()
    assert html.startswith("<p>PooledQuantileRegressor")
    assert "<table>" in html


def test_the_summary_of_what_was_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        pool().summary()


def test_a_calibration_that_held_out_rows_reject_is_a_warning_at_the_line_of_the_fit():
    with pytest.warns(
        CalibrationWarning,
        match=r"^Cross-validation shows miscalibrated quantiles: by the predicted [\d.]+ % q",
    ) as caught:
        model = pool([("wrong", Constant(9.0))]).fit(X, Y)
    assert caught[0].filename == __file__
    assert model.calibration_p_value_ < 0.01
    level, observed = model.calibration_gap_
    assert abs(observed - level) > 0.05
    assert "Its quantiles are not calibrated: by the predicted " in str(model.summary())


def test_a_small_gap_is_called_small_whatever_the_p_value_says(fitted):
    model = copy(fitted)
    model.calibration_p_value_, model.calibration_gap_ = 2e-10, (0.4, 0.421)
    said = "Its quantiles are close to calibrated: by the predicted 40 % quantile"
    assert said in str(model.summary())
    assert "42.1 % of held-out rows had the event (p = 2e-10)." in str(model.summary())


@pytest.mark.parametrize("rich", [True, False])
def test_verbose_shows_a_bar_on_stderr_alone(rich, capsys, monkeypatch):
    if not rich:
        monkeypatch.setitem(sys.modules, "rich", None)
    pool(verbose=1, n_jobs=2, cv=3).fit(X, Y)
    captured = capsys.readouterr()
    assert captured.out == ""
    line = " ".join(captured.err.split())
    assert line.startswith("candidates")
    assert "fits" in line
    done, total = re.findall(r"(\d+)/(\d+) fits", line)[-1]
    assert done == total  # those of the folds, and those of all rows


def test_the_time_left_is_that_of_the_fits_so_far():
    def task(estimator, began=None, ended=None):
        return SimpleNamespace(estimator=estimator, began=began, ended=ended, n_rows=75)

    slow, fast = "slow", "fast"
    fitting = CrossFit(range(100), np.arange(4), None, 0.0, n_jobs=2, bar=None)
    begun = [task(slow, 0.0, 15.0), task(fast)]
    assert fitting._seconds_left(begun, []) is None  # the fast one may be a slow one
    known = [task(slow, 0.0, 15.0), task(fast, 15.0, 18.0), task(slow), task(fast)]
    # 15 and 3 seconds, and a slow fit to all 100 rows, in two threads.
    assert fitting._seconds_left(known, [slow]) == pytest.approx((15 + 3 + 20) / 2)
    running = [*known[:3], task(fast, began=time.perf_counter() - 2.0)]
    assert 15.5 / 2 < fitting._seconds_left(running, []) <= 16.0 / 2


def test_nothing_is_shown_by_default(fitted, capsys):
    pool([("cox", CoxQuantileRegressor())]).fit(X, Y)
    assert capsys.readouterr() == ("", "")


# Ctrl-C

SENT = threading.Event()


class Interrupted(Constant):
    """Sends Ctrl-C during its fit, as a terminal would, and waits to be asked to stop."""

    def fit(self, X, y, sample_weight=None):
        if not SENT.is_set():
            SENT.set()
            import _thread

            _thread.interrupt_main()
        assert self._stopping.wait(30)
        return self


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("refit", [False, True])
def test_ctrl_c_is_raised_and_leaves_nothing_half_fitted(n_jobs, refit):
    model = pool([("cox", CoxQuantileRegressor()), ("slow", Interrupted())], n_jobs=n_jobs)
    if refit:
        model.set_params(estimators=[("cox", CoxQuantileRegressor())]).fit(X, Y)
        model.set_params(estimators=[("cox", CoxQuantileRegressor()), ("slow", Interrupted())])
    SENT.clear()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    with pytest.raises(NotFittedError):
        model.predict(X)


# Copies and searches


def test_a_pickle_predicts_the_same_bits(fitted):
    twin = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(quantiles(twin), quantiles(fitted))
    np.testing.assert_array_equal(twin.oof_curve_.values, fitted.oof_curve_.values)


def test_a_file_predicts_the_same_bits(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    twin = censquant.load_model(tmp_path / "model")
    np.testing.assert_array_equal(quantiles(twin), quantiles(fitted))
    np.testing.assert_array_equal(twin.identified_level(X), fitted.identified_level(X))
    assert twin.candidates_ == fitted.candidates_
    assert list(twin.weights_.items()) == list(fitted.weights_.items())
    assert str(twin.summary()) == str(fitted.summary())
    assert twin.oof_curve_ is None
    assert twin.oof_rows_ is None
    assert [type(estimator) for _, estimator in twin.estimators] == [
        type(estimator) for _, estimator in fitted.estimators
    ]


def test_a_loaded_pool_can_be_fitted_again(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    twin = censquant.load_model(tmp_path / "model").fit(X, Y)
    np.testing.assert_array_equal(quantiles(twin), quantiles(fitted))


def test_a_grid_search_goes_over_its_parameters():
    cheap = pool([("cox", CoxQuantileRegressor())])
    search = GridSearchCV(cheap, {"cv": [2, 3]}, cv=2).fit(X, Y)
    assert search.best_params_["cv"] in (2, 3)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_a_fit_touches_neither_parameters_nor_estimators():
    candidates = three()
    model = pool(candidates).fit(X, Y)
    assert model.estimators is candidates
    for _, estimator in candidates:
        with pytest.raises(NotFittedError):
            check_is_fitted(estimator)


def test_negative_times_are_pooled_too():
    data = make_norm_linear(120, random_state=0)
    candidates = [("cox", CoxQuantileRegressor()), ("forest", forest())]
    y = (data.y["time"] - 20.0, data.y["event"])
    model = pool(candidates).fit(data.X, y)
    expected = pool(candidates).fit(data.X, data.y)
    np.testing.assert_allclose(quantiles(model, data.X), quantiles(expected, data.X) - 20.0, atol=1)
