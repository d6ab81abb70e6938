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
from sksurv.linear_model import CoxPHSurvivalAnalysis

from censquant import CQRNN, LinearCQR
from censquant.exceptions import TruncationWarning
from censquant.metrics import concordance_index
from censquant.metrics._absolute_error import mean_absolute_error_censored
from censquant.metrics._brier import integrated_brier_score
from censquant.metrics._concordance import concordance_index_ipcw
from censquant.metrics._pinball import crps_censored, pinball_loss_censored, pinball_loss_ipcw
from censquant.metrics._scorers import SCORERS, brier_times, get_scorer
from censquant.survival import Surv, read_target

NAMES = sorted(SCORERS)
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
    return LinearCQR(LEVELS).fit(X, y), X, y


def test_the_names_are_those_promised():
    assert NAMES == [
        "concordance",
        "concordance_ipcw",
        "neg_censored_pinball",
        "neg_crps",
        "neg_integrated_brier",
        "neg_ipcw_pinball",
        "neg_mean_absolute_error_censored",
    ]


def test_scorers_are_the_metrics_of_the_predictions(fitted):
    model, X, y = fitted
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X))
    rows = model.predict_quantiles(X, beyond="extrapolate")
    median = rows[:, 1]
    option = {"sample_weight": weight}
    target = read_target(y)
    times = brier_times(target, target, weight)
    survival = model.predict_survival_function(X, times, return_array=True)
    expected = {
        "concordance": concordance_index(y, median, **option),
        "concordance_ipcw": concordance_index_ipcw(y, median, **option),
        "neg_censored_pinball": -pinball_loss_censored(y, rows, LEVELS, **option),
        "neg_crps": -crps_censored(y, rows, LEVELS, **option),
        "neg_integrated_brier": -integrated_brier_score(y, survival, times, **option),
        "neg_ipcw_pinball": -pinball_loss_ipcw(y, rows, LEVELS, **option),
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


@pytest.mark.parametrize("name", [name for name in NAMES if name != "concordance"])
@pytest.mark.parametrize("estimator", [LinearCQR(LEVELS), small_network()], ids=["linear", "net"])
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
    model = LinearCQR(LEVELS).fit(X[:90], y[:90])
    assert y["time"].max() > model.follow_up_[1]
    assert get_scorer("concordance")(model, X, y) == model.score(X, y)


def test_a_fold_wholly_past_the_training_range_is_left_to_the_error_score():
    X, y = simulated()
    order = np.argsort(y["time"])
    options = {"cv": KFold(4), "scoring": get_scorer("neg_mean_absolute_error_censored")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = cross_val_score(LinearCQR(LEVELS), X[order], y[order], **options)
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
    median = model.predict_quantiles(X, (0.5,), beyond="extrapolate")[:, 0]
    got = get_scorer("concordance_ipcw")(model, X, tied)
    assert got == concordance_index_ipcw(tied, median, truncation=end)


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
    pipeline = make_pipeline(StandardScaler(), LinearCQR(LEVELS))
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
    inner = LinearCQR(LEVELS).fit(scaler.transform(X), y)
    pipeline = make_pipeline(StandardScaler(), LinearCQR(LEVELS)).fit(X, y)
    by_hand = get_scorer(name)(inner, scaler.transform(X), y)
    assert get_scorer(name)(pipeline, X, y) == pytest.approx(by_hand, rel=1e-12)


def test_risks_of_scikit_survival_are_read_the_right_way_round():
    X, y = simulated()
    cox = CoxPHSurvivalAnalysis().fit(X, y)
    concordance = get_scorer("concordance")(cox, X, y)
    assert concordance == concordance_index(y, -cox.predict(X))
    assert concordance == pytest.approx(cox.score(X, y), abs=1e-6)


def test_step_functions_of_scikit_survival_are_read():
    X, y = simulated()
    cox = CoxPHSurvivalAnalysis().fit(X[:100], y[:100])
    rest = X[100:], y[100:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        score = get_scorer("neg_integrated_brier")(cox, *rest)
    assert -0.25 < score < 0


def test_plain_regressors_are_scored_by_their_predictions():
    X, y = simulated()
    model = LinearRegression().fit(X, y["time"])
    assert get_scorer("concordance")(model, X, y) == concordance_index(y, model.predict(X))


def test_scorers_are_pickled_and_shown_by_name():
    scorer = pickle.loads(pickle.dumps(get_scorer("neg_crps")))
    assert repr(scorer) == "get_scorer('neg_crps')"


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("neg_crps", "predict_quantiles"),
        ("neg_censored_pinball", "predict_quantiles"),
        ("neg_integrated_brier", "predict_survival_function"),
    ],
)
def test_an_estimator_that_cannot_answer_is_refused(name, method):
    X, y = simulated()
    model = LinearRegression().fit(X, y["time"])
    message = (
        f"estimator must have the method {method} for the scorer {name!r}, got LinearRegression."
    )
    with pytest.raises(TypeError, match="^" + re.escape(message) + "$"):
        get_scorer(name)(model, X, y)


@pytest.mark.parametrize("name", NAMES)
def test_left_censored_times_are_refused(name):
    X, y = simulated()
    model = LinearCQR(LEVELS, censoring="left").fit(X, y)
    message = (
        "The estimator must be fitted with censoring='right', since metrics take a censored event "
        "to come after its time, got censoring='left': negate the times."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        get_scorer(name)(model, X, y)


def test_an_unknown_name_is_refused():
    message = f"name must be one of {', '.join(map(repr, SCORERS))}, got 'accuracy'."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        get_scorer("accuracy")
