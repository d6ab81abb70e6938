"""Models that other libraries fitted, asked for quantiles, survival and restricted means."""

import re
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torchtuples
from hazardous import SurvivalBoost
from lifelines import (
    AalenAdditiveFitter,
    CoxPHFitter,
    LogNormalAFTFitter,
    WeibullAFTFitter,
)
from pycox.models import CoxPH, LogisticHazard
from scipy.integrate import quad
from scipy.special import ndtri
from scipy.stats import spearmanr
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sksurv.ensemble import GradientBoostingSurvivalAnalysis, RandomSurvivalForest
from sksurv.linear_model import CoxnetSurvivalAnalysis, CoxPHSurvivalAnalysis

from censquant.adapters import _libraries as libraries
from censquant.adapters import predict_quantiles_of, survival_of
from censquant.adapters._predictions import (
    adapted_curve,
    follow_up_end,
    is_supported,
    restricted_mean_of,
    survival_curves_of,
)
from censquant.survival import Surv

LEVELS = np.array([0.05, 0.2, 0.5, 0.8, 0.95])
SPREAD = 0.5


def sample(n, seed):
    """Features, log-normal times of which a third is censored, and the true quantiles."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    location = 1 + X[:, 0] - 0.5 * X[:, 1]
    time = np.exp(location + SPREAD * rng.normal(size=n))
    end = rng.uniform(1, 8, size=n)
    y = Surv.from_arrays(time <= end, np.minimum(time, end))
    return X, y, np.exp(location[:, None] + SPREAD * ndtri(LEVELS))


X, Y, _ = sample(300, 0)
X_NEW, Y_NEW, TRUE = sample(100, 1)
FRAME, FRAME_NEW = (pd.DataFrame(rows, columns=["a", "b"]) for rows in (X, X_NEW))
TABLE = FRAME.assign(time=Y["time"], event=Y["event"])


def forest():
    return RandomSurvivalForest(n_estimators=30, min_samples_leaf=10, random_state=0).fit(X, Y)


def search():
    pipeline = make_pipeline(StandardScaler(), CoxPHSurvivalAnalysis())
    grid = {"coxphsurvivalanalysis__alpha": [0.1, 1.0]}
    return GridSearchCV(pipeline, grid, cv=2).fit(X, Y)


def cox(**settings):
    return CoxPHFitter(**settings).fit(TABLE, "time", "event")


def network(kind, labels, outputs, **settings):
    """Network of pycox after some epochs on one thread."""
    import torch

    torch.manual_seed(0)
    net = torchtuples.practical.MLPVanilla(
        2, [8], outputs, batch_norm=False, output_bias=outputs > 1
    )
    model = kind(net, torchtuples.optim.Adam(0.02), device="cpu", **settings)
    model.fit(X.astype(np.float32), labels, batch_size=64, epochs=40, verbose=False)
    return model


def logistic_hazard():
    transform = LogisticHazard.label_transform(20, scheme="quantiles")
    labels = transform.fit_transform(Y["time"].astype(np.float32), Y["event"])
    return network(LogisticHazard, labels, 20, duration_index=transform.cuts)


def cox_network():
    labels = Y["time"].astype(np.float32), Y["event"].astype(np.float32)
    model = network(CoxPH, labels, 1)
    model.compute_baseline_hazards()
    return model


def booster():
    y = {"event": Y["event"].astype(int), "duration": Y["time"]}
    model = SurvivalBoost(
        n_iter=20, learning_rate=0.2, show_progressbar=False, random_state=0, n_time_grid_steps=40
    )
    return model.fit(X, y)


# Constructors, the table that the model takes, and whether its curve is a step function.
MODELS = {
    "forest": (forest, X_NEW, True),
    "sksurv cox": (lambda: CoxPHSurvivalAnalysis().fit(X, Y), X_NEW, True),
    "coxnet": (lambda: CoxnetSurvivalAnalysis(fit_baseline_model=True).fit(X, Y), X_NEW, True),
    "boosted cox": (
        lambda: GradientBoostingSurvivalAnalysis(n_estimators=20, random_state=0).fit(X, Y),
        X_NEW,
        True,
    ),
    "search": (search, X_NEW, True),
    "lifelines cox": (cox, FRAME_NEW, True),
    "lifelines spline": (
        lambda: cox(baseline_estimation_method="spline", n_baseline_knots=3),
        FRAME_NEW,
        False,
    ),
    "aalen": (
        lambda: AalenAdditiveFitter(coef_penalizer=1.0).fit(TABLE, "time", "event"),
        FRAME_NEW,
        True,
    ),
    "weibull": (lambda: WeibullAFTFitter().fit(TABLE, "time", "event"), FRAME_NEW, False),
    "lognormal": (lambda: LogNormalAFTFitter().fit(TABLE, "time", "event"), FRAME_NEW, False),
    "logistic hazard": (logistic_hazard, X_NEW, False),
    "interpolated": (lambda: logistic_hazard().interpolate(10), X_NEW, False),
    "cox network": (cox_network, X_NEW, False),
    "booster": (booster, X_NEW, False),
}
CLOSED_FORM = ("weibull", "lognormal")
SMOOTH = (*CLOSED_FORM, "lifelines spline")
STEPS = [name for name, (*_, is_step) in MODELS.items() if is_step]
FITTED = {}


def fitted(name):
    """Model of a name, fitted once, and the features to predict for."""
    if name not in FITTED:
        with warnings.catch_warnings():
            # Warnings of the other libraries about themselves.
            warnings.simplefilter("ignore")
            FITTED[name] = MODELS[name][0]()
    return FITTED[name], MODELS[name][1]


@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_finite_increasing_near_the_truth_and_in_the_order_of_levels(name):
    model, rows = fitted(name)
    assert is_supported(model)
    values = predict_quantiles_of(model, rows, LEVELS)
    assert values.shape == (100, 5)
    assert values.dtype == np.float64
    assert np.isfinite(values).all()
    assert (np.diff(values, axis=1) >= 0).all()
    assert spearmanr(values[:, 2], TRUE[:, 2]).statistic > 0.75
    assert abs(np.median(np.log(values[:, 2] / TRUE[:, 2]))) < 0.25
    # Levels come in the order in which they are given.
    np.testing.assert_array_equal(predict_quantiles_of(model, rows, LEVELS[::-1]), values[:, ::-1])


@pytest.mark.parametrize("name", STEPS)
def test_a_quantile_of_a_step_function_is_the_first_time_at_which_it_is_low_enough(name):
    model, rows = fitted(name)
    times, survival = survival_curves_of(model, rows)
    falling = -np.sort(-np.clip(survival, 0, 1), axis=1)
    values = predict_quantiles_of(model, rows, LEVELS)
    for curve, found in zip(falling, values, strict=True):
        for level, value in zip(LEVELS, found, strict=True):
            low = np.flatnonzero(curve <= 1 - level + 1e-10)
            if low.size:
                assert value == times[low[0]]
            else:
                assert value > times[-1]


@pytest.mark.parametrize("name", CLOSED_FORM)
def test_models_with_a_formula_answer_by_it(name):
    model, rows = fitted(name)
    values = predict_quantiles_of(model, rows, LEVELS)
    for level, column in zip(LEVELS, values.T, strict=True):
        np.testing.assert_allclose(column, model.predict_percentile(rows, p=1 - level), rtol=1e-12)
    times = np.array([0.5, 2.0, 40.0])
    expected = model.predict_survival_function(rows, times=times).to_numpy().T
    np.testing.assert_allclose(survival_of(model, rows, times), expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["logistic hazard", "booster", "cox network"])
def test_a_curve_on_a_grid_is_inverted_along_straight_lines(name):
    model, rows = fitted(name)
    times, survival = survival_curves_of(model, rows)
    falling = -np.sort(-np.clip(survival, 0, 1), axis=1)
    medians = predict_quantiles_of(model, rows, 0.5)[:, 0]
    for curve, median in zip(falling, medians, strict=True):
        if curve[-1] <= 0.5 < curve[0]:
            assert np.interp(median, times, curve) == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_the_reach_is_what_the_curve_comes_down_to_by_its_last_time(name):
    model, rows = fitted(name)
    curve, reach = adapted_curve(model, rows, LEVELS)
    np.testing.assert_array_equal(curve.values, predict_quantiles_of(model, rows, LEVELS))
    end = follow_up_end(model) or survival_curves_of(model, rows)[0][-1]
    np.testing.assert_allclose(reach, 1 - survival_of(model, rows, [end])[:, 0], atol=1e-12)
    beyond = reach[:, None] + 1e-9 < LEVELS
    assert (curve.values[beyond] > end).all()
    assert (curve.values[~beyond] <= end * (1 + 1e-9)).all()


@pytest.mark.parametrize("name", [name for name in MODELS if name not in SMOOTH])
def test_beyond_the_last_time_the_mean_hazard_continues(name):
    model, rows = fitted(name)
    end = survival_curves_of(model, rows)[0][-1]
    last, later = survival_of(model, rows, [end, 2 * end]).T
    expected = last * np.minimum(last, 1 - 1e-3)
    np.testing.assert_allclose(later, expected, atol=1e-12)
    longest = int(np.argmax(last))
    assert last[longest] > 0.05
    value = predict_quantiles_of(model, rows, [0.99])[longest, 0]
    assert survival_of(model, rows, [value])[longest, 0] == pytest.approx(0.01, rel=1e-9)


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_curves_continue_by_their_formula(name):
    model, rows = fitted(name)
    value = predict_quantiles_of(model, rows, [0.02, 0.999])
    assert value.max() > 2 * follow_up_end(model)
    for row in range(0, 100, 9):
        survival = survival_of(model, rows[row : row + 1], value[row])[0]
        np.testing.assert_allclose(survival, [0.98, 0.001], atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_survival_is_that_of_the_model_and_falls(name):
    model, rows = fitted(name)
    times = np.linspace(0.01, 12.0, 60)
    survival = survival_of(model, rows, times)
    assert survival.shape == (100, 60)
    assert ((survival >= 0) & (survival <= 1)).all()
    assert (np.diff(survival, axis=1) <= 1e-12).all()


@pytest.mark.parametrize("name", STEPS)
def test_survival_of_a_step_function_keeps_its_value_until_the_next_time(name):
    model, rows = fitted(name)
    times, survival = survival_curves_of(model, rows)
    between = (times[:-1] + times[1:]) / 2
    found = survival_of(model, rows, between)
    falling = -np.sort(-np.clip(survival, 0, 1), axis=1)
    np.testing.assert_allclose(found, falling[:, :-1], atol=1e-12)
    assert (survival_of(model, rows, [times[0] / 2]) == 1).all()


@pytest.mark.parametrize("name", MODELS)
def test_the_restricted_mean_is_the_area_under_the_curve(name):
    model, rows = fitted(name)
    times = survival_curves_of(model, rows[:1])[0]
    for horizon in (0.9, 5.0, 9.5):
        found = restricted_mean_of(model, rows[:2], horizon)
        knots = np.unique(np.concatenate(([0.0], times[times < horizon], [horizon])))
        fine = np.unique(np.concatenate([np.linspace(*ends, 9) for ends in pairwise(knots)]))
        middle = (fine[1:] + fine[:-1]) / 2
        area = survival_of(model, rows[:2], middle) @ np.diff(fine)
        np.testing.assert_allclose(found, area, rtol=1e-4)


def test_rows_are_asked_for_in_blocks(monkeypatch):
    model, rows = fitted("forest")
    whole = predict_quantiles_of(model, rows, LEVELS)
    monkeypatch.setattr(libraries, "_FIRST_ROWS", 3)
    monkeypatch.setattr(libraries, "_BLOCK_ENTRIES", 7 * len(model.unique_times_))
    sizes = []
    predict = model.predict_survival_function

    def counted(X, return_array=False):
        sizes.append(len(X))
        return predict(X, return_array=return_array)

    monkeypatch.setattr(model, "predict_survival_function", counted)
    np.testing.assert_array_equal(predict_quantiles_of(model, rows, LEVELS), whole)
    assert sizes == [3, *[7] * 13, 6]


class Functions:
    """A model that gives step functions and says nothing else of its times."""

    def __init__(self, model):
        self.model = model

    def predict_survival_function(self, X):
        return self.model.predict_survival_function(X)


def test_step_functions_are_read_where_no_array_is_to_be_had():
    model, rows = fitted("forest")
    expected = predict_quantiles_of(model, rows, LEVELS)
    np.testing.assert_array_equal(predict_quantiles_of(Functions(model), rows, LEVELS), expected)
    assert follow_up_end(Functions(model)) is None


class Step:
    def __init__(self, x, y):
        self.x, self.y = np.array(x), np.array(y)

    def __call__(self, times):
        return self.y[np.searchsorted(self.x, times, side="right") - 1]


def test_step_functions_need_not_share_their_times():
    class Own:
        def predict_survival_function(self, X):
            return [Step([1.0, 3.0], [0.5, 0.0]), Step([2.0, 4.0, 5.0], [0.9, 0.4, 0.0])][: len(X)]

    values = predict_quantiles_of(Own(), np.zeros((2, 1)), [0.05, 0.5, 0.9])
    np.testing.assert_array_equal(values, [[1.0, 1.0, 3.0], [2.0, 4.0, 5.0]])


def test_a_curve_that_does_not_fall_is_extrapolated_far_beyond_its_last_time():
    class Immortal:
        unique_times_ = np.array([1.0, 2.0])

        def predict_survival_function(self, X, return_array=False):
            return np.array([[1.0, 1.0], [1.0, 0.5]])

    values = predict_quantiles_of(Immortal(), np.zeros((2, 1)), [0.25, 0.75])
    # A thousandth is assumed to have its event by the last time.
    first = 2 + 2 * np.log([0.75, 0.25]) / np.log(0.999)
    np.testing.assert_allclose(values, [first, [2.0, 4.0]])
    curve, reach = adapted_curve(Immortal(), np.zeros((2, 1)), [0.25, 0.75])
    np.testing.assert_array_equal(reach, [0.0, 0.5])
    assert curve.cdf([2.0, 2.0])[0] < 1e-3


def test_negative_times_are_extrapolated_from_the_first_of_them():
    class Shifted:
        unique_times_ = np.array([-3.0, -1.0])

        def predict_survival_function(self, X, return_array=False):
            return np.array([[1.0, 0.5]])

    np.testing.assert_allclose(predict_quantiles_of(Shifted(), np.zeros((1, 1)), 0.75), [[1.0]])
    # 1 up to -1, then 0.5 at its half-life of 2 from there on, less 3 for the start.
    found = restricted_mean_of(Shifted(), np.zeros((1, 1)), 0.0)[0]
    tail = quad(lambda t: 0.5 * 0.5 ** ((t + 1) / 2), -1, 0)[0]
    assert found == pytest.approx(-3 + 2 + tail)
    assert restricted_mean_of(Shifted(), np.zeros((1, 1)), -4.0)[0] == -4.0


def test_a_model_that_gives_neither_array_nor_functions_is_refused():
    class Odd:
        def predict_survival_function(self, X):
            return np.ones((len(X), 3))

    message = (
        "predict_survival_function must return functions with the attribute x, or the model must "
        "have unique_times_, got Odd."
    )
    with pytest.raises(TypeError, match="^" + re.escape(message) + "$"):
        predict_quantiles_of(Odd(), np.zeros((2, 1)), 0.5)


@pytest.mark.parametrize(
    "model",
    [
        CoxnetSurvivalAnalysis(),
        RandomSurvivalForest(low_memory=True),
        GradientBoostingSurvivalAnalysis(loss="ipcwls"),
    ],
)
def test_models_of_scikit_survival_that_keep_no_curves_are_not_supported(model):
    assert not is_supported(model)
    message = (
        "model must have the method predict_quantiles or be a fitted model of scikit-survival, "
        "lifelines, pycox or hazardous that predicts survival curves, "
        f"got {type(model).__name__}."
    )
    with pytest.raises(TypeError, match="^" + re.escape(message) + "$"):
        predict_quantiles_of(model, X_NEW, LEVELS)


@pytest.mark.parametrize("name", ["lifelines cox", "weibull", "lifelines spline"])
def test_an_array_is_given_the_names_that_a_model_of_lifelines_was_fitted_to(name):
    model, rows = fitted(name)
    expected = predict_quantiles_of(model, rows, LEVELS)
    np.testing.assert_array_equal(predict_quantiles_of(model, rows.to_numpy(), LEVELS), expected)
    np.testing.assert_array_equal(
        predict_quantiles_of(model, rows[["b", "a"]].assign(more=1.0), LEVELS), expected
    )


def test_the_rows_keep_their_order_whatever_their_index_and_strata():
    table = TABLE.assign(group=np.arange(300) % 2)
    model = CoxPHFitter(strata=["group"]).fit(table, "time", "event")
    rows = table.iloc[:6].set_index(pd.Index([9, 9, 4, 4, 1, 0]))
    found = predict_quantiles_of(model, rows, LEVELS)
    alone = [predict_quantiles_of(model, rows.iloc[[row]], LEVELS)[0] for row in range(6)]
    np.testing.assert_array_equal(found, alone)


@pytest.mark.parametrize(
    ("make", "rows", "message"),
    [
        (
            cox,
            X_NEW[:, :1],
            "X must be a DataFrame with the columns 'a', 'b' that CoxPHFitter was fitted to, "
            "got an array of shape (100, 1).",
        ),
        (
            lambda: CoxPHFitter().fit(TABLE, "time", "event", formula="a * b"),
            X_NEW,
            "X must be a DataFrame with the columns that CoxPHFitter was fitted to, "
            "got an array of shape (100, 2).",
        ),
        (
            cox,
            FRAME_NEW[["b"]],
            "X must have the columns that the model was fitted to, but lacks 'a'.",
        ),
    ],
)
def test_rows_that_a_model_of_lifelines_cannot_read_are_refused(make, rows, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        predict_quantiles_of(make(), rows, LEVELS)


def test_a_formula_of_lifelines_reads_the_columns_of_a_table():
    model = CoxPHFitter().fit(TABLE, "time", "event", formula="a * b")
    found = predict_quantiles_of(model, FRAME_NEW, 0.5)[:, 0]
    expected = model.predict_median(FRAME_NEW).to_numpy()
    known = np.isfinite(expected)
    np.testing.assert_array_equal(found[known], expected[known])


def test_other_tables_than_those_of_pandas_are_converted():
    model, rows = fitted("lifelines cox")
    np.testing.assert_array_equal(
        predict_quantiles_of(model, pa.Table.from_pandas(rows), LEVELS),
        predict_quantiles_of(model, rows, LEVELS),
    )


def test_percentiles_that_lifelines_cannot_give_are_read_from_the_curve():
    model, rows = fitted("weibull")

    class Approximate:
        durations, regressors = model.durations, model.regressors
        predict_survival_function = model.predict_survival_function

        def predict_percentile(self, df, *, ancillary=None, p=0.5):
            return np.full(len(df), np.inf)

    np.testing.assert_allclose(
        predict_quantiles_of(Approximate(), rows, LEVELS),
        predict_quantiles_of(model, rows, LEVELS),
        rtol=1e-3,
    )


def test_a_network_that_does_not_know_its_times_is_refused():
    model, rows = fitted("logistic hazard")
    unaware = LogisticHazard(model.net, device="cpu")
    message = (
        "model must know its times, got LogisticHazard with duration_index=None, whose curves are "
        "numbered by bin: set model.duration_index = labtrans.cuts."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        predict_quantiles_of(unaware, rows, LEVELS)


def test_competing_events_are_refused():
    kinds = np.where(Y["event"], 1 + np.arange(300) % 2, 0)
    y = {"event": kinds, "duration": Y["time"]}
    model = SurvivalBoost(n_iter=2, show_progressbar=False, random_state=0).fit(X, y)
    message = (
        "model must be fitted to one kind of event, got SurvivalBoost with 2 competing kinds, for "
        "which the time to an event has no quantiles."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        predict_quantiles_of(model, X_NEW, LEVELS)


@pytest.mark.parametrize("name", MODELS)
def test_the_end_of_follow_up_is_the_last_time_of_the_model(name):
    model, _ = fitted(name)
    end = follow_up_end(model)
    if name == "cox network":
        assert end is None
    else:
        assert end == pytest.approx(
            Y["time"].max(), rel=0.2 if name in ("booster", "aalen") else 1e-6
        )


def test_lists_are_read_where_a_library_takes_arrays():
    for name in ("sksurv cox", "booster", "logistic hazard"):
        model, rows = fitted(name)
        np.testing.assert_array_equal(
            predict_quantiles_of(model, rows[:4].tolist(), LEVELS),
            predict_quantiles_of(model, rows[:4], LEVELS),
        )
