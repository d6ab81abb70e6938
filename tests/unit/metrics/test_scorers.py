import pickle
import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sksurv.ensemble import RandomSurvivalForest
from sksurv.linear_model import CoxnetSurvivalAnalysis, CoxPHSurvivalAnalysis
from sksurv.svm import FastSurvivalSVM, HingeLossSurvivalSVM

from censquant import CQRNN, LinearQuantileRegressor
from censquant.exceptions import TruncationWarning
from censquant.metrics import concordance_index
from censquant.metrics._absolute_error import mean_absolute_error_censored
from censquant.metrics._brier import default_brier_times, integrated_brier_score
from censquant.metrics._concordance import concordance_index_ipcw
from censquant.metrics._log_score import log_score
from censquant.metrics._pinball import crps_censored, pinball_loss_censored, pinball_loss_ipcw
from censquant.metrics._scorers import SCORERS, get_scorer
from censquant.quantiles import QuantileCurve
from censquant.survival import Surv, read_target
from censquant.survival._kaplan_meier import default_horizon

NAMES = sorted(SCORERS)
ORDER = ("concordance", "concordance_median")
LEVELS = (0.25, 0.5, 0.75)


def simulated(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    latent = 1 + 3 * X[:, 0] + rng.exponential(size=n)
    censoring = rng.uniform(2, 8, size=n)
    return X, Surv.from_arrays(latent <= censoring, np.minimum(latent, censoring))


def growing(n=120, seed=0):
    """Rows of which the last of four folds holds the ten longest times."""
    X, y = simulated(n, seed)
    longest = np.argsort(y["time"])[-10:]
    order = np.concatenate((np.setdiff1d(np.arange(n), longest), longest))
    y["event"][longest[::2]] = True
    return X[order], y[order]


def small_network():
    return CQRNN(LEVELS, hidden_layer_sizes=(4,), max_epochs=3, random_state=0)


@pytest.fixture(scope="module")
def fitted():
    X, y = simulated()
    return LinearQuantileRegressor(LEVELS).fit(X, y), X, y


def test_the_names_are_those_promised():
    assert NAMES == [
        "concordance",
        "concordance_ipcw",
        "concordance_median",
        "neg_censored_pinball",
        "neg_crps",
        "neg_integrated_brier",
        "neg_ipcw_pinball",
        "neg_log_score",
        "neg_mean_absolute_error_censored",
    ]


def test_scorers_are_the_metrics_of_the_predictions(fitted):
    model, X, y = fitted
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X))
    rows = model.predict_quantiles(X, beyond="extrapolate")
    median = rows[:, 1]
    mean = QuantileCurve(rows, LEVELS, 0.0).restricted_mean(default_horizon(y["time"], weight))
    option = {"sample_weight": weight}
    target = read_target(y)
    times = default_brier_times(target, target, weight)
    survival = model.predict_survival_function(X, times, return_array=True)
    expected = {
        "concordance": concordance_index(y, mean, **option),
        "concordance_ipcw": concordance_index_ipcw(y, mean, **option),
        "concordance_median": concordance_index(y, median, **option),
        "neg_censored_pinball": -pinball_loss_censored(y, rows, LEVELS, **option),
        "neg_crps": -crps_censored(y, rows, LEVELS, **option),
        "neg_integrated_brier": -integrated_brier_score(y, survival, times, **option),
        "neg_ipcw_pinball": -pinball_loss_ipcw(y, rows, LEVELS, **option),
        "neg_log_score": -log_score(y, rows, LEVELS, **option),
        "neg_mean_absolute_error_censored": -mean_absolute_error_censored(y, median, **option),
    }
    got = {name: get_scorer(name)(model, X, y, sample_weight=weight) for name in NAMES}
    assert got == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_good_model_scores_higher_than_one_that_knows_nothing(fitted, name):
    model, X, y = fitted
    noise = np.random.default_rng(2).uniform(size=X.shape)
    ignorant = clone(model).fit(noise, y)
    assert get_scorer(name)(model, X, y) > get_scorer(name)(ignorant, noise[::-1], y)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ORDER])
@pytest.mark.parametrize(
    "estimator", [LinearQuantileRegressor(LEVELS), small_network()], ids=["linear", "net"]
)
def test_folds_that_leave_the_training_range_are_scored_with_one_warning(name, estimator):
    X, y = growing()
    scorer = get_scorer(name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scores = cross_val_score(estimator, X, y, cv=KFold(4), scoring=scorer, error_score="raise")
        again = scorer(clone(estimator).fit(X[:90], y[:90]), X, y)
    assert np.isfinite([*scores, again]).all()
    truncations = [w for w in caught if issubclass(w.category, TruncationWarning)]
    assert [str(w.message) for w in truncations] == [
        "Some times of y lie past the follow-up of the estimator's training rows, where "
        "predictions cannot be judged: these rows are scored as censored there."
    ]


def test_the_order_alone_is_judged_on_all_times():
    X, y = growing()
    model = LinearQuantileRegressor(LEVELS).fit(X[:90], y[:90])
    assert y["time"].max() > model.follow_up_[1]
    rows = model.predict_quantiles(X, beyond="extrapolate")
    mean = QuantileCurve(rows, LEVELS, 0.0).restricted_mean(default_horizon(y["time"]))
    assert get_scorer("concordance")(model, X, y) == concordance_index(y, mean)
    assert get_scorer("concordance_median")(model, X, y) == concordance_index(y, rows[:, 1])


def test_a_fold_wholly_past_the_training_range_is_left_to_the_error_score():
    X, y = simulated()
    order = np.argsort(y["time"])
    options = {"cv": KFold(4), "scoring": get_scorer("neg_mean_absolute_error_censored")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = cross_val_score(LinearQuantileRegressor(LEVELS), X[order], y[order], **options)
    assert np.isnan(scores).tolist() == [False, False, False, True]


def test_rows_past_the_training_follow_up_count_as_censored_at_its_end(fitted):
    model, X, y = fitted
    end = model.follow_up_[1]
    longer = y.copy()
    longer["time"][:7] = end + np.arange(1, 8)
    longer["event"][:7] = True
    cut = longer.copy()
    cut["time"][:7], cut["event"][:7] = end, False
    with pytest.warns(TruncationWarning):
        got = get_scorer("neg_crps")(model, X, longer)
    assert got == get_scorer("neg_crps")(model, X, cut)


def test_an_event_at_the_end_of_follow_up_does_not_stop_the_weighted_index(fitted):
    model, X, y = fitted
    tied = y.copy()
    tied["time"][:2], tied["event"][:2] = model.follow_up_[1], [True, False]
    end = float(model.follow_up_[1])
    rows = model.predict_quantiles(X, beyond="extrapolate")
    mean = QuantileCurve(rows, LEVELS, 0.0).restricted_mean(default_horizon(tied["time"]))
    got = get_scorer("concordance_ipcw")(model, X, tied)
    assert got == concordance_index_ipcw(tied, mean, truncation=end)


@pytest.mark.parametrize("name", ["neg_censored_pinball", "neg_crps"])
def test_a_grid_search_chooses_by_the_scorer(name):
    X, y = simulated()
    search = GridSearchCV(
        CQRNN(LEVELS, hidden_layer_sizes=(8,), random_state=0, learning_rate=0.02),
        {"max_epochs": [1, 60]},
        scoring=get_scorer(name),
        cv=KFold(3, shuffle=True, random_state=0),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        search.fit(X, y)
        assert search.best_params_ == {"max_epochs": 60}
        inner = search.best_estimator_
        assert get_scorer(name)(search, X, y) == get_scorer(name)(inner, X, y)


def test_all_scorers_work_at_once_inside_a_pipeline():
    X, y = simulated()
    pipeline = make_pipeline(StandardScaler(), LinearQuantileRegressor(LEVELS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        result = cross_validate(pipeline, X, y, cv=3, scoring=dict(SCORERS), error_score="raise")
    assert all(np.isfinite(result[f"test_{name}"]).all() for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_pipeline_scores_as_its_steps_by_hand(fitted, name):
    model, X, y = fitted
    alone = make_pipeline(model)
    assert get_scorer(name)(alone, X, y) == get_scorer(name)(model, X, y)
    scaler = StandardScaler().fit(X)
    inner = LinearQuantileRegressor(LEVELS).fit(scaler.transform(X), y)
    pipeline = make_pipeline(StandardScaler(), LinearQuantileRegressor(LEVELS)).fit(X, y)
    by_hand = get_scorer(name)(inner, scaler.transform(X), y)
    assert get_scorer(name)(pipeline, X, y) == pytest.approx(by_hand, rel=1e-12)


def test_restricted_means_of_a_proportional_hazards_model_rank_as_its_risks():
    X, y = simulated()
    cox = CoxPHSurvivalAnalysis().fit(X, y)
    concordance = get_scorer("concordance")(cox, X, y)
    assert concordance == concordance_index(y, -cox.predict(X))
    assert concordance == pytest.approx(cox.score(X, y), abs=1e-6)


@pytest.mark.parametrize(
    "model", [CoxnetSurvivalAnalysis(), FastSurvivalSVM(random_state=0), HingeLossSurvivalSVM()]
)
@pytest.mark.parametrize("name", ORDER)
def test_risks_of_scikit_survival_are_read_the_right_way_round(model, name):
    X, y = simulated(30)
    fitted = clone(model).fit(X, y)
    assert get_scorer(name)(fitted, X, y) == concordance_index(y, -fitted.predict(X)) > 0.7


@pytest.mark.parametrize("name", NAMES)
def test_models_of_scikit_survival_are_scored(name):
    X, y = simulated()
    forest = RandomSurvivalForest(n_estimators=20, min_samples_leaf=5, random_state=0)
    noise = np.random.default_rng(2).uniform(size=X.shape)
    good, bad = clone(forest).fit(X[:80], y[:80]), clone(forest).fit(noise[:80], y[:80])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        assert get_scorer(name)(good, X[80:], y[80:]) > get_scorer(name)(bad, noise[80:], y[80:])


@pytest.mark.parametrize("name", NAMES)
def test_an_object_with_quantiles_needs_nothing_else(fitted, name):
    model, X, y = fitted

    class Plain:
        def predict_quantiles(self, X, quantiles):
            return model.predict_quantiles(X, quantiles, beyond="extrapolate")

    assert np.isfinite(get_scorer(name)(Plain(), X, y))


def test_one_level_is_ranked_by_itself(fitted):
    _, X, y = fitted
    model = LinearQuantileRegressor([0.3]).fit(X, y)
    quantile = model.predict_quantiles(X, [0.3], beyond="extrapolate")[:, 0]
    assert get_scorer("concordance")(model, X, y) == concordance_index(y, quantile)


def test_an_own_restricted_mean_of_the_model_is_used(fitted):
    model, X, y = fitted

    class Ranked:
        quantiles_ = model.quantiles_
        predict_quantiles = model.predict_quantiles

        def predict_restricted_mean(self, X):
            return X[:, 1]

    assert get_scorer("concordance")(Ranked(), X, y) == concordance_index(y, X[:, 1])


@pytest.mark.parametrize("name", [*ORDER, "concordance_ipcw"])
def test_plain_regressors_are_ranked_by_their_predictions(name):
    X, y = simulated()
    model = LinearRegression().fit(X, y["time"])
    metric = concordance_index_ipcw if name == "concordance_ipcw" else concordance_index
    assert get_scorer(name)(model, X, y) == metric(y, model.predict(X))


def test_scorers_are_pickled_and_shown_by_name():
    scorer = pickle.loads(pickle.dumps(get_scorer("neg_crps")))
    assert repr(scorer) == "get_scorer('neg_crps')"


@pytest.mark.parametrize("name", ["neg_crps", "neg_censored_pinball", "neg_integrated_brier"])
def test_an_estimator_that_predicts_no_distribution_is_refused(name):
    X, y = simulated()
    model = LinearRegression().fit(X, y["time"])
    message = (
        f"estimator must predict quantiles or survival curves for the scorer {name!r}, "
        "got LinearRegression."
    )
    with pytest.raises(TypeError, match="^" + re.escape(message) + "$"):
        get_scorer(name)(model, X, y)


def test_an_estimator_that_predicts_nothing_is_refused():
    X, y = simulated()
    message = (
        "estimator must predict quantiles, survival curves or times for the scorer 'concordance', "
        "got StandardScaler."
    )
    with pytest.raises(TypeError, match="^" + re.escape(message) + "$"):
        get_scorer("concordance")(StandardScaler(), X, y)


def left_censored(n, seed=0):
    """Times of which those before a limit of detection are known only to lie before it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 1))
    time = 1 + 3 * X[:, 0] + rng.uniform(size=n)
    limit = rng.uniform(0, 4, size=n)
    return X, Surv.from_arrays(time >= limit, np.maximum(time, limit)), time


class Knowing:
    """Predicts distributions around the event times themselves."""

    censoring = "left"

    def __init__(self, time):
        self.time = dict(enumerate(time))

    def predict_quantiles(self, X, quantiles):
        centre = np.array([self.time[int(row)] for row in X[:, 0]])
        return centre[:, None] + 2 * (np.asarray(quantiles) - 0.5)


@pytest.mark.parametrize("name", [*ORDER, "concordance_ipcw"])
def test_a_perfect_model_of_left_censored_times_has_a_perfect_order(name):
    _, y, time = left_censored(150)
    assert 0.2 < 1 - y["event"].mean() < 0.5
    rows = np.arange(150.0)[:, None]
    assert get_scorer(name)(Knowing(time), rows, y) == 1.0


@pytest.mark.parametrize("name", NAMES)
def test_left_censored_times_are_scored_as_their_mirror_image(name):
    X, y, _ = left_censored(150)
    X_new, y_new, _ = left_censored(80, 1)
    origin = y_new["time"].max()
    left = LinearQuantileRegressor(LEVELS, censoring="left").fit(X, y)
    mirrored = LinearQuantileRegressor(LEVELS).fit(
        X, Surv.from_arrays(y["event"], origin - y["time"])
    )
    y_mirrored = Surv.from_arrays(y_new["event"], origin - y_new["time"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        found = get_scorer(name)(left, X_new, y_new)
        expected = get_scorer(name)(mirrored, X_new, y_mirrored)
    assert found == pytest.approx(expected, rel=1e-6)


def test_an_unknown_name_is_refused():
    message = f"name must be one of {', '.join(map(repr, NAMES))}, got 'accuracy'."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        get_scorer("accuracy")
