import re

import numpy as np
import pytest
from lifelines import WeibullAFTFitter

from censquant import CoxQuantileRegressor
from censquant.datasets import load_gbsg2
from censquant.metrics import bootstrap_interval, compare, compare_models, log_score

LEVELS = np.round(np.arange(0.1, 1.0, 0.1), 1)
FEW = ["age", "estrec"]
X, Y = load_gbsg2()
X_TRAIN, Y_TRAIN, X_TEST, Y_TEST = X[:400], Y[:400], X[400:], Y[400:]


@pytest.fixture(scope="module")
def models():
    table = X_TRAIN.assign(time=Y_TRAIN["time"], event=Y_TRAIN["event"])
    return {
        "all": CoxQuantileRegressor().fit(X_TRAIN, Y_TRAIN),
        "few": CoxQuantileRegressor().fit(X_TRAIN[FEW], Y_TRAIN),
        "weibull": WeibullAFTFitter().fit(table, "time", "event"),
    }


@pytest.fixture(scope="module")
def found(models):
    return compare_models(models, X_TEST, Y_TEST, n_resamples=100)


def test_fitted_models_of_other_columns_and_libraries_are_scored_on_the_same_rows(models, found):
    assert [row.method for row in found.rows] == ["all", "few", "weibull"]
    assert (found.n_folds, found.n_rows, found.reference) == (0, 286, "all")
    few = models["few"].predict_quantiles(X_TEST[FEW], LEVELS, beyond="extrapolate")
    score = found["few"]["log_score"]
    assert score.value == pytest.approx(
        log_score(Y_TEST, few, LEVELS, y_train=Y_TEST, lower=0.0), rel=1e-9
    )
    assert score.difference == pytest.approx(score.value - found["all"]["log_score"].value)


def test_a_model_that_lacks_what_matters_is_worse_and_a_similar_one_is_not(found):
    few, weibull = found["few"]["log_score"], found["weibull"]["log_score"]
    assert few.difference_lower > 0
    assert few.p_value < 0.05
    assert weibull.difference_lower < 0 < weibull.difference_upper
    assert weibull.p_value > 0.05


def test_predicted_quantiles_are_compared_too(models):
    values = models["all"].predict_quantiles(X_TEST, LEVELS, beyond="extrapolate")
    same = compare_models({"model": models["all"], "array": values}, X_TEST, Y_TEST, n_resamples=9)
    assert same["array"]["log_score"].difference == pytest.approx(0.0, abs=1e-12)
    alone = compare_models({"array": values}, None, Y_TEST, n_resamples=9)
    assert alone["array"]["log_score"].value == pytest.approx(same["array"]["log_score"].value)


def test_rows_of_a_group_are_drawn_together(models):
    rows, options = np.tile(np.arange(286), 3), {"n_resamples": 60}
    both = {name: models[name] for name in ("all", "few")}
    once = compare_models(both, X_TEST, Y_TEST, **options)
    copies = X_TEST.iloc[rows].reset_index(drop=True), Y_TEST[rows]
    alone = compare_models(both, *copies, **options)
    together = compare_models(both, *copies, groups=rows, **options)

    def width(one):
        score = one["few"]["concordance_restricted_mean"]
        return score.difference_upper - score.difference_lower

    assert width(together) == pytest.approx(width(once), rel=0.05)
    assert width(alone) < 0.8 * width(once)


def test_weights_count_as_rows(models):
    weight = np.random.default_rng(0).integers(1, 3, size=286)
    rows = np.repeat(np.arange(286), weight)
    one = compare_models(models, X_TEST, Y_TEST, sample_weight=weight, y_train=Y_TRAIN)
    other = compare_models(
        models, X_TEST.iloc[rows].reset_index(drop=True), Y_TEST[rows], y_train=Y_TRAIN
    )
    for metric in ("log_score", "pinball_loss_censored", "a_calibration_p_value"):
        assert one["few"][metric].value == pytest.approx(other["few"][metric].value, rel=1e-6)


def test_columns_can_be_given_with_a_model_and_with_folds(models):
    numbers = X.to_numpy()
    places = [X.columns.get_loc(name) for name in FEW]
    plain = CoxQuantileRegressor().fit(numbers[:400][:, places], Y_TRAIN)
    found = compare_models({"few": (plain, places)}, numbers[400:], Y_TEST, n_resamples=9)
    named = compare_models({"few": models["few"]}, X_TEST, Y_TEST, n_resamples=9)
    assert found["few"]["log_score"].value == pytest.approx(named["few"]["log_score"].value)
    folds = {"cv": 3, "n_resamples": 9}
    pair = compare_models({"few": (CoxQuantileRegressor(), FEW)}, X, Y, **folds)
    chosen = compare({"few": CoxQuantileRegressor()}, X[FEW], Y, **folds)
    assert pair["few"]["log_score"] == chosen["few"]["log_score"]
    assert pair.n_folds == 3


def test_a_model_that_fails_says_why_and_stops_no_other(models):
    found = compare_models(
        {"all": models["all"], "unfitted": CoxQuantileRegressor(), "flat": np.ones((286, 3))},
        X_TEST,
        Y_TEST,
        n_resamples=9,
    )
    assert found["all"].scores
    assert found["unfitted"].error.startswith("NotFittedError")
    assert found["flat"].error == (
        "ValueError: quantiles must have one column for each level, shape (286, 9), got (286, 3)."
    )
    assert "unfitted failed: NotFittedError" in str(found)


def test_it_prints_as_a_table_and_gives_a_frame(found):
    text = str(found)
    assert text.startswith("286 rows, 110 events, fitted models\n\nlog_score (lower is better)\n")
    assert "Differences are from all, p-values by Holm's rule." in text
    frame = found.to_frame()
    assert len(frame) == 3 * 4
    assert frame["difference"].isna().sum() == 4 + 2  # of the first, and of tests of calibration


def test_what_makes_no_sense_is_refused(models):
    for options, message in (
        ({"models": {}}, "models must name at least one model, got none."),
        ({"X": X_TEST[1:]}, "X must have one row for each of the 286 rows of y, got 285."),
        ({"cv": 1}, "cv must be at least 2, got 1."),
        (
            {"models": [models["all"]]},
            "models must be a dict of names and models, got a list: pass {'first': model, "
            "'second': other}.",
        ),
    ):
        given = {"models": models, "X": X_TEST, "y": Y_TEST, **options}
        with pytest.raises(ValueError, match="^" + re.escape(message)):
            compare_models(given.pop("models"), given.pop("X"), given.pop("y"), **given)


def test_the_difference_is_that_of_the_paired_bootstrap(models):
    found = compare_models(
        {name: models[name] for name in ("all", "few")}, X_TEST, Y_TEST, n_resamples=50
    )
    few, full = (
        models[name].predict_quantiles(X_TEST[columns], LEVELS, beyond="extrapolate")
        for name, columns in (("few", FEW), ("all", list(X.columns)))
    )
    paired = bootstrap_interval(
        log_score, Y_TEST, few, LEVELS, other=full, y_train=Y_TEST, lower=0.0, n_resamples=50,
        random_state=0,
    )  # fmt: skip
    score = found["few"]["log_score"]
    assert score.difference_lower == pytest.approx(paired.lower)
    assert score.difference_upper == pytest.approx(paired.upper)
