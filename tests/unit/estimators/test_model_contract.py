"""What every quantile regressor does with the features it is given, and what it answers."""

import signal
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.integrate import trapezoid

from censquant import (
    CQRNN,
    AFTRegressor,
    BaseQuantileRegressor,
    BoostedQuantileRegressor,
    CensoredQuantileForest,
    CoxQuantileRegressor,
    LinearQuantileRegressor,
    LogNormalNN,
)
from censquant.datasets import make_norm_linear
from censquant.quantiles import QuantileCurve

DATA = make_norm_linear(150, random_state=0)
X, Y = np.column_stack([DATA.X, DATA.X[::-1]]), DATA.y
TABLE = pd.DataFrame(X, columns=["age", "dose"], index=[f"p{row}" for row in range(150)])

MODELS = {
    "cqrnn": CQRNN(max_epochs=5, hidden_layer_sizes=(8,), random_state=0),
    "linear": LinearQuantileRegressor([0.1, 0.3, 0.5]),
    "cox": CoxQuantileRegressor(random_state=0),
    "aft": AFTRegressor(random_state=0),
    "forest": CensoredQuantileForest(n_estimators=10, random_state=0),
    "boosted": BoostedQuantileRegressor(max_iter=30, random_state=0),
    "lognormal": LogNormalNN(max_epochs=5, hidden_layer_sizes=(8,), random_state=0),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def quantiles(model, rows, **options):
    return model.predict_quantiles(rows, [0.1, 0.3], beyond="extrapolate", **options)


@every_model
def test_every_answer_comes_from_one_curve(model):
    model = model.fit(X, Y)
    curve = model.predict_curve(X)
    np.testing.assert_array_equal(quantiles(model, X), curve.at([0.1, 0.3]))
    np.testing.assert_array_equal(model.identified_level(X), curve.reach)
    survival = model.predict_survival_function(X, [9.0], return_array=True, beyond="extrapolate")
    np.testing.assert_array_equal(survival, curve.survival([9.0]))
    np.testing.assert_array_equal(model.predict_restricted_mean(X, 9.0), curve.restricted_mean(9.0))


@every_model
def test_one_prediction_runs_every_network_once(model, monkeypatch):
    model = model.fit(X, Y)
    calls = []
    original = type(model)._curve_of

    def counted(self, features):
        calls.append(len(features))
        return original(self, features)

    monkeypatch.setattr(type(model), "_curve_of", counted)
    model.predict_quantiles(X, [0.1, 0.3], beyond="inf")
    assert calls == [150]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_a_prediction(n_jobs, monkeypatch):
    model = CensoredQuantileForest(n_estimators=10, n_jobs=n_jobs, random_state=0).fit(X, Y)
    monkeypatch.setattr("censquant.estimators._reading._BLOCK_ROWS", 7)
    blocks, original = [], type(model)._curve_of

    def interrupted(self, features):
        blocks.append(len(features))
        if len(blocks) == 3:
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.5)  # until the thread that waits has noticed
        return original(self, features)

    monkeypatch.setattr(type(model), "_curve_of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.predict(np.repeat(X, 30, axis=0))


@every_model
def test_a_frame_in_gives_a_frame_out_with_its_index(model):
    model = model.fit(TABLE, Y)
    frame = quantiles(model, TABLE, output="frame")
    assert frame.columns.tolist() == ["q0.1", "q0.3"]
    assert frame.index.tolist() == TABLE.index.tolist()
    np.testing.assert_array_equal(frame.to_numpy(), quantiles(model, TABLE))
    interval = model.predict_interval(TABLE, beyond="extrapolate", output="frame")
    assert interval.columns.tolist() == ["q0.1", "q0.9"]
    left = model.predict_remaining(TABLE, 1.0, 0.5, beyond="extrapolate", output="frame")
    assert left.columns.tolist() == ["q0.5"]


def test_an_array_in_gives_a_frame_with_numbered_rows():
    frame = quantiles(MODELS["linear"].fit(X, Y), X, output="frame")
    assert frame.index.tolist() == list(range(150))


def test_an_unknown_output_is_refused():
    with pytest.raises(ValueError, match=r"^output must be one of 'array', 'frame', got 'list'.$"):
        quantiles(MODELS["linear"].fit(X, Y), X, output="list")


@every_model
def test_sparse_features_give_the_fit_of_dense_ones(model, monkeypatch):
    rows = np.where(np.abs(X) < 0.5, 0.0, X)
    sparse = scipy.sparse.csr_matrix(rows)
    expected = quantiles(model.fit(rows, Y), rows)
    model.fit(sparse, Y)
    np.testing.assert_array_equal(quantiles(model, rows), expected)
    monkeypatch.setattr("censquant.estimators._reading._BLOCK_ROWS", 7)
    np.testing.assert_allclose(quantiles(model, sparse), expected, rtol=1e-12)


WRONG = {
    "text": (
        TABLE.assign(dose="high"),
        "X must hold numbers, got other values in the columns 'dose': encode them",
    ),
    "categories": (
        TABLE.assign(dose=pd.Categorical(["high"] * 150)),
        "X must hold numbers, got other values in the columns 'dose': encode them",
    ),
    "dates": (
        TABLE.assign(age=pd.Timestamp("2020-01-01")),
        "X must hold numbers, got other values in the columns 'age': encode them",
    ),
    "text in an array of objects": (
        np.column_stack([X[:, :1].astype(object), ["high"] * 150]),
        "X must hold numbers, got other values in the columns 'x1': encode them",
    ),
    "an array of text": (
        np.full((150, 2), "high"),
        "X must hold numbers, got other values in the columns 'x0', 'x1': encode them",
    ),
    "text in lists": (
        [[age, "1.5"] for age in X[:, 0].tolist()],
        "X must hold numbers, got other values in the columns 'x1': encode them",
    ),
    "missing": (
        TABLE.assign(dose=[np.nan] * 3 + [1.0] * 147),
        "Input X contains NaN: X must be finite, got NaN in the columns 'dose'; impute",
    ),
    "infinite": (
        TABLE.assign(age=np.inf),
        "Input X contains infinity: X must be finite, got infinity in the columns 'age'; replace",
    ),
    "missing in an array": (
        np.where(np.arange(300).reshape(150, 2) == 7, np.nan, X),
        "Input X contains NaN: X must be finite, got NaN in the columns 'x1'; impute",
    ),
    "missing among sparse": (
        scipy.sparse.csr_matrix(np.where(np.arange(300).reshape(150, 2) == 7, np.nan, X)),
        "Input X contains NaN: X must be finite, got NaN in the columns 'x1'; impute",
    ),
    "hidden by a mask": (
        np.ma.array(X, mask=np.arange(300).reshape(150, 2) == 7),
        "X must be without missing values, got a masked array that hides 1 values in the columns "
        "'x1': impute them or drop the rows.$",
    ),
}


@every_model
def test_what_cannot_be_used_is_refused_by_the_name_of_its_column(model):
    for rows, message in WRONG.values():
        with pytest.raises(ValueError, match=f"^{message}"):
            model.fit(rows, Y)
        known = TABLE if isinstance(rows, pd.DataFrame) else X
        with pytest.raises(ValueError, match=f"^{message}"):
            model.fit(known, Y).predict(rows)


@every_model
def test_a_mask_that_hides_nothing_changes_nothing(model):
    expected = quantiles(model.fit(X, Y), X)
    masked = np.ma.array(X, mask=False)
    np.testing.assert_array_equal(quantiles(model.fit(masked, Y), masked), expected)


@every_model
def test_columns_of_a_frame_are_found_by_name(model):
    model = model.fit(TABLE, Y)
    expected = quantiles(model, TABLE)
    for other in (TABLE[["dose", "age"]], TABLE.assign(site="north")[["site", "dose", "age"]]):
        np.testing.assert_array_equal(quantiles(model, other), expected)
    with pytest.raises(
        ValueError, match=r"^X must have the columns of the fit, got no column 'dose' \(is it 'Dose"
    ):
        model.predict(TABLE.rename(columns={"dose": "Dose"}))


@every_model
def test_numbers_in_an_array_of_objects_are_numbers(model):
    expected = quantiles(model.fit(X, Y), X)
    np.testing.assert_array_equal(quantiles(model.fit(X.astype(object), Y), X.tolist()), expected)


@every_model
def test_the_restricted_mean_is_the_area_under_the_survival_function(model):
    model = model.fit(X, Y)
    times = np.linspace(0.0, model.horizon_, 20_001)
    survival = model.predict_survival_function(X, times, return_array=True, beyond="extrapolate")
    np.testing.assert_allclose(
        model.predict_restricted_mean(X), trapezoid(survival, times, axis=1), rtol=1e-4
    )


def test_the_horizon_is_a_number():
    with pytest.raises(TypeError, match=r"^horizon must be a number, got 'long'.$"):
        MODELS["linear"].fit(X, Y).predict_restricted_mean(X, "long")


class Known(BaseQuantileRegressor):
    """A model that knows the quantiles of its rows: the feature is the median."""

    def __init__(self, censoring="right"):
        self.censoring = censoring

    def fit(self, X, y):
        self.is_fitted_ = True
        return self

    def predict_curve(self, X):
        values = np.asarray(X)[:, :1] + np.array([-1.0, 0.0, 1.0])
        return QuantileCurve(values, [0.25, 0.5, 0.75]).with_reach(np.full(len(X), 0.6))


def test_one_method_makes_a_model():
    model = Known().fit(None, None)
    rows = np.array([[3.0], [5.0]])
    np.testing.assert_array_equal(model.predict(rows), [3.0, 5.0])
    np.testing.assert_array_equal(
        model.predict_quantiles(rows, [0.5, 0.75], beyond="inf"), [[3.0, np.inf], [5.0, np.inf]]
    )
    np.testing.assert_array_equal(model.identified_level(rows), [0.6, 0.6])
    assert model.predict_restricted_mean(rows, 4.0)[0] < 4.0


def test_what_a_model_does_not_know_of_its_fit_must_be_given():
    model, rows = Known().fit(None, None), np.array([[3.0]])
    with pytest.raises(ValueError, match=r"^times must be given, since Known has no unique_times_"):
        model.predict_survival_function(rows)
    with pytest.raises(ValueError, match=r"^horizon must be given, since Known has no horizon_"):
        model.predict_restricted_mean(rows)


@pytest.mark.parametrize("censoring", ["right", "left"])
def test_a_perfect_model_scores_one_on_either_side_of_censoring(censoring):
    rng = np.random.default_rng(0)
    time = rng.normal(10, 3, size=200)
    limit = rng.normal(10, 3, size=200)
    event = time <= limit if censoring == "right" else time >= limit
    seen = np.minimum(time, limit) if censoring == "right" else np.maximum(time, limit)
    assert Known(censoring).fit(None, None).score(time[:, None], (seen, event)) == 1.0


def test_a_single_level_ranks_and_says_what_it_cannot_answer():
    model = CQRNN([0.1], max_epochs=60, hidden_layer_sizes=(8,), random_state=0).fit(X, Y)
    assert model.score(X, Y) > 0.6
    message = (
        "^Only the level 0.1 was fitted, so the level 0.5 is unknown: fit two or more levels to "
        "ask for others.$"
    )
    with pytest.raises(ValueError, match=message):
        model.predict(X)
    survival = model.predict_survival_function(X, [5.0], return_array=True, beyond="nan")
    assert np.isnan(survival).all()
