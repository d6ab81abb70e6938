"""The estimators behave as scikit-learn, scikit-survival and their users expect."""

import copy
import io
import pickle
import random
import re

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator
from sksurv.base import SurvivalAnalysisMixin
from sksurv.metrics import (
    as_integrated_brier_score_scorer,
    concordance_index_censored,
    integrated_brier_score,
)
from sksurv.util import Surv as SksurvSurv

from censquant import (
    CQRNN,
    AFTRegressor,
    AsymmetricLaplaceNN,
    BoostedQuantileRegressor,
    CensoredQuantileForest,
    CensoredQuantileRegressor,
    ConformalSurvivalRegressor,
    CoxQuantileRegressor,
    DeepQuantReg,
    LinearQuantileRegressor,
    LogNormalNN,
    PooledQuantileRegressor,
    SequentialGridNN,
    ShapeNN,
    UncensoredOnlyNN,
    WeibullNN,
    make_quantile_pipeline,
)
from censquant.datasets import make_norm_linear

DATA = make_norm_linear(120, random_state=0)
X, Y = np.hstack([DATA.X, np.cos(5 * DATA.X)]), DATA.y


def small(**parameters):
    """Estimator that trains in a moment."""
    return CQRNN(**{"max_epochs": 3, "hidden_layer_sizes": (8,), "random_state": 0, **parameters})


def quantiles(model, rows=X):
    return model.predict_quantiles(rows, beyond="extrapolate")


ESTIMATORS = [
    CQRNN(),
    CQRNN(n_members=2),
    CQRNN(head="increasing"),
    CQRNN(level_rule="interpolate", y_star=None),
    CQRNN(early_stopping=True, validation_fraction=0.3),
    CQRNN(em_epochs=5, crossing_penalty=1.0),
    SequentialGridNN([0.25, 0.5, 0.75]),
    UncensoredOnlyNN(),
    DeepQuantReg(),
    LogNormalNN(),
    LogNormalNN(loss="crps", calibration_penalty=1.0),
    WeibullNN(),
    WeibullNN(loss="crps"),
    AsymmetricLaplaceNN(),
    ShapeNN(),
    ShapeNN(family="weibull", tail="bounded", n_members=2),
    LinearQuantileRegressor(),
    LinearQuantileRegressor(method="peng-huang"),
    LinearQuantileRegressor(method="powell"),
    LinearQuantileRegressor(method="wang-wang"),
    LinearQuantileRegressor(method="data-augmentation"),
    LinearQuantileRegressor(method="fitzenberger"),
    CoxQuantileRegressor(),
    CoxQuantileRegressor(ties="breslow", censoring="left"),
    AFTRegressor(),
    AFTRegressor(distribution="loglogistic", censoring="left", penalty=0.1),
    BoostedQuantileRegressor(),
    BoostedQuantileRegressor(max_depth=5, fit_scale=False, cv=2, subsample=1.0, n_jobs=2),
    CensoredQuantileForest(),
    CensoredQuantileForest(n_estimators=20, max_samples=20, max_features=2, n_jobs=2),
    PooledQuantileRegressor(
        [
            ("cox", CoxQuantileRegressor()),
            ("network", ShapeNN(max_steps=20, hidden_layer_sizes=(8,))),
        ],
        cv=2,
    ),
    CensoredQuantileRegressor(cv=2, n_jobs=2),
    ConformalSurvivalRegressor(CoxQuantileRegressor(), cv=2),
]
# Each of them fits the recommended estimator many times, or to many columns. Those of a pool of two
# candidates, which has the same code, are always run.
LONG_CHECKS = {
    "check_array_api_input",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimators_dtypes",
    "check_regressor_data_not_an_array",
    "check_regressors_train",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
}
# What the checks look at is code that all settings of a class share: of most classes the first
# entry is always run, and the others are among the slow tests.
ALWAYS = ("CQRNN(n_members=2)", "LinearQuantileRegressor(method='peng-huang')")


def checked():
    """Estimators with the names of the checks to leave out; those that take long are slow tests."""
    seen = set()
    for estimator in ESTIMATORS:
        is_variant = type(estimator) in seen and repr(estimator) not in ALWAYS
        seen.add(type(estimator))
        is_recommended = isinstance(estimator, CensoredQuantileRegressor)
        marks = [pytest.mark.slow] if is_variant else []
        left_out = LONG_CHECKS if is_recommended else set()
        yield pytest.param(estimator, left_out, marks=marks, id=repr(estimator))
        if is_recommended:
            yield pytest.param(estimator, set(), marks=[pytest.mark.slow], id="recommended, all")


@pytest.mark.parametrize(("estimator", "left_out"), list(checked()))
# One check has more features than rows, which a linear fit cannot tell apart and says so.
@pytest.mark.filterwarnings("ignore::censquant.exceptions.IdentifiabilityWarning")
# Some have a handful of rows, or targets that do not depend on the features as pools expect.
@pytest.mark.filterwarnings("ignore::censquant.exceptions.CalibrationWarning")
@pytest.mark.filterwarnings("ignore::censquant.exceptions.FewEventsWarning")
# Some have as many features as rows, where maximum likelihood has no maximum and says so.
@pytest.mark.filterwarnings("ignore:The likelihood has no maximum")
# Some have targets that are one of the features.
@pytest.mark.filterwarnings("ignore::censquant.exceptions.LeakageWarning")
def test_scikit_learn_finds_nothing_to_object_to(estimator, left_out):
    objections = {}
    n_checks = 0
    for each, check in estimator_checks_generator(estimator):
        name = check.func.__name__
        if name in left_out:
            continue
        n_checks += 1
        try:
            check(each)
        except Exception as error:
            objections[name] = repr(error)
    assert objections == {}
    assert n_checks > 40


def test_grid_search_over_a_pipeline_takes_a_structured_y():
    pipeline = make_pipeline(StandardScaler(), small())
    search = GridSearchCV(pipeline, {"cqrnn__hidden_layer_sizes": [(4,), (8, 8)]}, cv=2).fit(X, Y)
    assert search.best_params_["cqrnn__hidden_layer_sizes"] in [(4,), (8, 8)]
    assert quantiles(search.best_estimator_[-1], X).shape == (120, 19)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()


def test_cross_validation_scores_by_concordance():
    folds = list(KFold(3).split(X))
    scores = cross_val_score(small(max_epochs=20), X, Y, cv=folds)
    by_hand = []
    for train, test in folds:
        model = small(max_epochs=20).fit(X[train], Y[train])
        mean = model.predict_restricted_mean(X[test])
        by_hand.append(concordance_index_censored(Y["event"][test], Y["time"][test], -mean)[0])
    np.testing.assert_allclose(scores, by_hand, rtol=0, atol=1e-12)
    assert scores.mean() > 0.5


PARAMETERS = {
    "quantiles": [0.2, 0.5, 0.8],
    "hidden_layer_sizes": [7],
    "activation": "tanh",
    "dropout": 0.1,
    "head": "increasing",
    "network": None,
    "level_rule": "interpolate",
    "y_star": None,
    "crossing_penalty": 0.5,
    "crossing_margin": 0.01,
    "em_epochs": 2,
    "known_censoring_loss": "tobit",
    "standardize": False,
    "time_transform": "log",
    "learning_rate": 0.02,
    "weight_decay": 0.0,
    "batch_size": 16,
    "max_epochs": 2,
    "early_stopping": True,
    "validation_fraction": 0.3,
    "n_iter_no_change": 2,
    "n_members": 2,
    "n_jobs": 2,
    "censoring": "right",
    "random_state": 3,
    "device": "cpu",
    "verbose": 0,
}


def test_every_parameter_is_returned_as_it_was_given():
    model = CQRNN(**PARAMETERS)
    assert set(model.get_params()) == set(PARAMETERS)
    for name, value in model.get_params().items():
        assert value is PARAMETERS[name]


def test_parameters_make_the_round_trip_through_set_params():
    assert CQRNN().set_params(**PARAMETERS).get_params() == PARAMETERS


def test_a_clone_has_the_parameters_and_is_not_fitted():
    twin = clone(CQRNN(**PARAMETERS).fit(X, Y))
    assert twin.get_params() == PARAMETERS
    assert not hasattr(twin, "quantiles_")


def test_fit_changes_no_constructor_parameter():
    grid = np.array([0.25, 0.5, 0.75])
    model = CQRNN(**{**PARAMETERS, "quantiles": grid})
    before = copy.deepcopy(model.get_params())
    model.fit(X, Y)
    assert model.get_params()["quantiles"] is grid
    np.testing.assert_array_equal(grid, before.pop("quantiles"))
    assert {k: v for k, v in model.get_params().items() if k != "quantiles"} == before


@pytest.mark.parametrize("seed", [None, 0])
def test_no_global_generator_is_touched(seed):
    legacy, plain, of_torch = np.random.get_state(), random.getstate(), torch.get_rng_state()  # noqa: NPY002
    quantiles(small(dropout=0.5, n_members=2, random_state=seed, early_stopping=True).fit(X, Y))
    after = np.random.get_state()  # noqa: NPY002
    assert all(np.array_equal(a, b) for a, b in zip(legacy, after, strict=True))
    assert random.getstate() == plain
    assert torch.equal(torch.get_rng_state(), of_torch)


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_the_same_random_state_gives_the_same_bits_for_any_number_of_threads(n_jobs):
    settings = {"n_members": 3, "dropout": 0.3}
    expected = small(**settings).fit(X, Y)
    model = small(n_jobs=n_jobs, **settings).fit(X, Y)
    np.testing.assert_array_equal(quantiles(model), quantiles(expected))
    np.testing.assert_array_equal(model.identified_level(X), expected.identified_level(X))
    assert model.history_ == expected.history_


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_generator_in_the_same_state_gives_the_same_bits_and_is_advanced(make):
    generator = make(4)
    first = quantiles(small(random_state=generator).fit(X, Y))
    np.testing.assert_array_equal(first, quantiles(small(random_state=make(4)).fit(X, Y)))
    assert (first != quantiles(small(random_state=generator).fit(X, Y))).any()


def test_another_seed_or_none_gives_another_fit():
    fits = [quantiles(small(random_state=seed).fit(X, Y)) for seed in (0, 1, None, None)]
    assert len({fit.tobytes() for fit in fits}) == 4


def test_predictions_leave_the_model_as_it_was():
    model = small(dropout=0.5).fit(X, Y)
    first = quantiles(model)
    model.predict_survival_function(X)
    np.testing.assert_array_equal(quantiles(model), first)


@pytest.fixture(scope="module")
def frame():
    return pd.DataFrame(X, columns=["age", "dose"])


def test_column_names_are_kept_and_change_no_bit(frame):
    model = small().fit(frame, Y)
    assert model.feature_names_in_.tolist() == ["age", "dose"]
    assert model.n_features_in_ == 2
    np.testing.assert_array_equal(quantiles(model, frame), quantiles(small().fit(X, Y)))


@pytest.mark.parametrize(
    "change",
    [lambda f: f.rename(columns={"dose": "mass"}), lambda f: f[["age"]]],
    ids=["renamed", "missing"],
)
@pytest.mark.parametrize("method", ["predict", "predict_quantiles", "identified_level"])
def test_a_column_of_the_fit_that_is_missing_is_refused_by_name(frame, change, method):
    model = small().fit(frame, Y)
    message = r"^X must have the columns of the fit, got no column 'dose'\.$"
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(change(frame))


@pytest.mark.parametrize("method", ["predict", "predict_quantiles", "identified_level"])
def test_columns_are_found_by_name(frame, method):
    model = small().fit(frame, Y)
    expected = getattr(model, method)(frame)
    other = frame.assign(more="text")[["more", "dose", "age"]]
    np.testing.assert_array_equal(getattr(model, method)(other), expected)


@pytest.mark.parametrize(
    "model",
    [
        small(),
        LinearQuantileRegressor(),
        CoxQuantileRegressor(),
        AFTRegressor(),
        CensoredQuantileForest(),
        CensoredQuantileRegressor(),
        PooledQuantileRegressor([("cox", CoxQuantileRegressor())]),
        ConformalSurvivalRegressor(CoxQuantileRegressor()),
        make_quantile_pipeline(StandardScaler(), CoxQuantileRegressor()),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize(
    "target",
    [Y, Y["time"], (Y["time"], Y["event"]), {"time": Y["time"], "event": Y["event"]}],
    ids=["structured", "times", "tuple", "dict"],
)
def test_swapped_arguments_are_refused_in_one_sentence(model, target, frame):
    message = (
        "fit takes the features X first and the target y second, got times as X and a table of "
        "shape (120, 2) as y: swap the two arguments."
    )
    for features in (X, frame):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            model.fit(target, features)


def test_the_order_of_rows_does_not_matter_to_a_single_bit():
    order = np.random.default_rng(1).permutation(len(X))
    expected, model = small().fit(X, Y), small().fit(X[order], Y[order])
    np.testing.assert_array_equal(quantiles(model), quantiles(expected))
    np.testing.assert_array_equal(model.identified_level(X), expected.identified_level(X))
    assert model.history_ == expected.history_


def test_the_order_of_weighted_rows_does_not_matter_to_a_single_bit():
    rng = np.random.default_rng(1)
    order, weight = rng.permutation(len(X)), rng.uniform(0.1, 2.0, len(X))
    expected = small().fit(X, Y, weight)
    model = small().fit(X[order], Y[order], weight[order])
    np.testing.assert_array_equal(quantiles(model), quantiles(expected))


def test_whole_weights_are_repeated_rows_to_the_bit():
    weight = np.random.default_rng(2).integers(0, 4, len(X))
    expected = small().fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    model = small().fit(X, Y, sample_weight=weight)
    np.testing.assert_array_equal(quantiles(model), quantiles(expected))
    assert model.history_ == expected.history_


@pytest.mark.parametrize("unit", [1.0, 0.3])
def test_a_row_of_zero_weight_is_a_row_left_out(unit):
    weight = np.where(np.arange(len(X)) % 3 == 0, 0.0, unit)
    # Fractional weights are kept unequal, so that they are not counts after scaling.
    weight[1] *= 0.5
    used = weight > 0
    expected = small().fit(X[used], Y[used], weight[used])
    model = small().fit(X, Y, weight)
    np.testing.assert_array_equal(quantiles(model), quantiles(expected))
    assert model.follow_up_ == expected.follow_up_


@pytest.mark.parametrize("constant", [1 / 8, 3.3, 1e-6])
def test_only_the_ratios_of_fractional_weights_count(constant):
    weight = np.random.default_rng(3).uniform(0.1, 1.0, len(X))
    model, expected = small().fit(X, Y, constant * weight), small().fit(X, Y, weight)
    np.testing.assert_array_equal(quantiles(model), quantiles(expected))
    assert model.history_ == expected.history_


def test_weights_matter():
    late = np.where(Y["time"] > np.median(Y["time"]), 5.5, 0.5)
    even, weighted = (
        quantiles(small(max_epochs=30).fit(X, Y, sample_weight=weight))[:, 9].mean()
        for weight in (None, late)
    )
    assert weighted > even + 0.5


def test_arrays_of_scikit_survival_are_a_target_with_the_same_bits():
    theirs = SksurvSurv.from_arrays(Y["event"], Y["time"], name_event="died", name_time="days")
    model = small().fit(X, theirs)
    np.testing.assert_array_equal(quantiles(model), quantiles(small().fit(X, Y)))
    assert model.score(X, theirs) == model.score(X, Y)


@pytest.mark.parametrize(
    "form",
    [
        lambda time, event: (time, event),
        lambda time, event: {"duration": time, "event": event.astype(int)},
        lambda time, event: pd.DataFrame({"event": event, "time": time}),
        lambda time, event: np.rec.fromarrays([time, event], names="t,e"),
    ],
    ids=["tuple", "dict", "frame", "record"],
)
def test_every_form_of_the_target_gives_the_same_bits(form):
    model = small().fit(X, form(Y["time"], Y["event"]))
    np.testing.assert_array_equal(quantiles(model), quantiles(small().fit(X, Y)))


def test_the_score_is_scikit_survivals_concordance_of_late_restricted_means():
    model = small(max_epochs=20).fit(X, Y)
    mean = model.predict_restricted_mean(X)
    expected = concordance_index_censored(Y["event"], Y["time"], -mean)[0]
    assert model.score(X, Y) == pytest.approx(expected, abs=1e-12)
    assert expected > 0.5


@pytest.mark.filterwarnings("ignore::censquant.exceptions.ExtrapolationWarning")
def test_scikit_survival_scores_the_median_as_a_time_and_not_as_a_risk():
    model = small(max_epochs=60).fit(X, Y)
    assert model._predict_risk_score is False
    expected = concordance_index_censored(Y["event"], Y["time"], -model.predict(X))[0]
    assert SurvivalAnalysisMixin.score(model, X, Y) == pytest.approx(expected, abs=1e-12)


def test_scikit_survival_scores_the_survival_functions():
    times = np.quantile(Y["time"], [0.2, 0.4, 0.6])
    scorer = as_integrated_brier_score_scorer(small(max_epochs=60), times=times).fit(X, Y)
    survival = scorer.estimator_.predict_survival_function(X, times, return_array=True)
    assert -scorer.score(X, Y) == pytest.approx(integrated_brier_score(Y, Y, survival, times))
    assert -scorer.score(X, Y) < 0.25


def through_joblib(model):
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    return joblib.load(buffer)


@pytest.mark.parametrize(
    "round_trip",
    [through_joblib, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))],
    ids=["joblib", "deepcopy", "pickle"],
)
@pytest.mark.parametrize("head", ["free", "increasing"])
def test_a_copy_of_a_fitted_model_predicts_the_same_bits(round_trip, head):
    model = small(head=head, n_members=2, dropout=0.2).fit(X, Y)
    twin = round_trip(model)
    np.testing.assert_array_equal(quantiles(twin), quantiles(model))
    np.testing.assert_array_equal(twin.identified_level(X), model.identified_level(X))
    assert twin.get_params() == model.get_params()


def test_a_pickle_holds_no_work_space():
    model = small(hidden_layer_sizes=(8,), batch_size=100).fit(X, Y)
    n_parameters = 2 * 8 + 8 + 8 * 19 + 19
    # Weights, their gradient, the follow-up network twice, times, names; no batch of activations.
    assert len(pickle.dumps(model)) < 4 * 2 * (n_parameters + 2 * 32 + 32 + 32 * 13 + 13) + 20_000
