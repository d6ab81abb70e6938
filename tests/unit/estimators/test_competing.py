"""Competing risks: incidences that sum to 1, quantiles that may never come, files, refusals."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from censquant import (
    AFTRegressor,
    BaseQuantileRegressor,
    BoostedQuantileRegressor,
    CensoredQuantileRegressor,
    CompetingRisksRegressor,
    CoxQuantileRegressor,
    LinearQuantileRegressor,
    Surv,
    load_model,
    make_quantile_pipeline,
)
from censquant.exceptions import ExtrapolationWarning, NoEventsError
from censquant.quantiles import QuantileCurve
from censquant.survival import aalen_johansen

TIMES = np.array([0.1, 0.4, 1.0, 2.0, 5.0, 40.0])
KINDS = np.array(["censored", "relapse", "death"])


def rows_of(n=300, seed=0, censoring=1.5, shape=1.0):
    """Two kinds with proportional Weibull hazards, which features decide in opposite ways."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    rates = np.exp(np.column_stack([X[:, 0], -X[:, 0]]))
    times = (rng.exponential(1 / rates)) ** (1 / shape)
    end = rng.exponential(censoring, n)
    first = times.min(axis=1)
    code = np.where(first <= end, times.argmin(axis=1) + 1, 0)
    return X, np.minimum(first, end), code


def truth(X, times, shape=1.0):
    rates = np.exp(np.column_stack([X[:, 0], -X[:, 0]]))
    total = rates.sum(axis=1)[:, None, None]
    return rates[:, :, None] / total * -np.expm1(-total * times**shape)


@pytest.fixture(scope="module")
def fitted():
    X, time, code = rows_of()
    return CompetingRisksRegressor(CoxQuantileRegressor()).fit(X, (time, KINDS[code]))


@pytest.fixture(scope="module")
def unseen():
    return np.random.default_rng(9).uniform(-1, 1, (40, 2))


@pytest.mark.parametrize(
    "estimator",
    [
        CoxQuantileRegressor(),
        AFTRegressor(),
        BoostedQuantileRegressor(max_iter=20, random_state=0),
        LinearQuantileRegressor([0.1, 0.5, 0.9]),
    ],
)
def test_incidences_and_survival_sum_to_one(estimator, unseen):
    X, time, code = rows_of()
    model = CompetingRisksRegressor(estimator).fit(X, (time, code))
    incidence = model.predict_cumulative_incidence(unseen, TIMES, beyond="extrapolate")
    survival = model.predict_survival_function(unseen, TIMES, True, beyond="extrapolate")
    assert incidence.shape == (40, 2, 6)
    np.testing.assert_allclose(incidence.sum(axis=1) + survival, 1.0, atol=1e-12)
    assert (incidence >= 0).all()
    assert (np.diff(incidence, axis=2) >= -1e-15).all()
    lost = model.predict_time_lost(unseen, 2.0).sum(axis=1)
    np.testing.assert_allclose(lost + model.predict_restricted_mean(unseen, 2.0), 2.0, atol=1e-12)


def test_an_incidence_does_not_depend_on_the_other_times(fitted, unseen):
    ask = {"kind": "death", "beyond": "extrapolate"}
    together = fitted.predict_cumulative_incidence(unseen, TIMES, **ask)
    alone = [fitted.predict_cumulative_incidence(unseen, [time], **ask) for time in TIMES]
    assert (together == np.hstack(alone)).all()
    backwards = fitted.predict_cumulative_incidence(unseen, TIMES[::-1], **ask)
    assert (together == backwards[:, ::-1]).all()


def test_rows_do_not_depend_on_each_other(fitted):
    many = np.tile(np.random.default_rng(1).uniform(-1, 1, (300, 2)), (2, 1))
    found = fitted.predict_cumulative_incidence(many, TIMES, beyond="extrapolate")
    np.testing.assert_allclose(found[:300], found[300:], rtol=1e-12)
    frame = pd.DataFrame(many, columns=["a", "b"])
    X, time, code = rows_of()
    named = CompetingRisksRegressor(CoxQuantileRegressor())
    named.fit(pd.DataFrame(X, columns=["a", "b"]), (time, KINDS[code]))
    other = named.predict_cumulative_incidence(frame[["b", "a"]], TIMES, beyond="extrapolate")
    np.testing.assert_allclose(other, found, rtol=1e-9)


def test_a_known_truth_is_recovered(unseen):
    X, time, code = rows_of(3_000, censoring=2.5, shape=1.5)
    exact = CoxQuantileRegressor(penalty=1e-6)
    model = CompetingRisksRegressor(exact).fit(X, (time, code))
    times = np.array([0.2, 0.5, 1.0, 1.5])
    found = model.predict_cumulative_incidence(unseen, times)
    assert np.abs(found - truth(unseen, times, 1.5)).mean() < 0.015
    # A quarter has an event of a kind by a time that solves the true incidence.
    quantile = model.predict_quantiles(unseen, [0.25], kind=1, beyond="extrapolate")[:, 0]
    reached = np.isfinite(quantile)
    at = np.array(
        [truth(x[None], np.array([t]), 1.5)[0, 0, 0] for x, t in zip(unseen, quantile, strict=True)]
    )
    assert np.abs(at[reached] - 0.25).mean() < 0.02
    final = truth(unseen, np.array([1e9]), 1.5)[:, 0, 0]
    assert ((final > 0.25) == reached).mean() > 0.95


def test_without_features_incidences_are_those_of_aalen_and_johansen():
    _, time, code = rows_of(1_000)
    model = CompetingRisksRegressor(CoxQuantileRegressor())
    with pytest.warns(UserWarning, match="the same in all rows"):
        model.fit(np.zeros((1_000, 1)), (time, code))
    times = np.quantile(time, [0.1, 0.3, 0.5, 0.7, 0.9])
    found = model.predict_cumulative_incidence([[0.0]], times)[0]
    np.testing.assert_allclose(found, aalen_johansen(time, code)(times), atol=0.01)


def test_quantiles_of_a_kind_invert_its_incidence(fitted, unseen):
    levels = np.array([0.02, 0.2, 0.4])
    quantiles = fitted.predict_quantiles(unseen, levels, kind="relapse", beyond="extrapolate")
    ask = {"kind": "relapse", "beyond": "extrapolate"}
    for row, times in zip(unseen, quantiles, strict=True):
        known = np.isfinite(times)
        found = fitted.predict_cumulative_incidence(row[None], times[known], **ask)[0]
        np.testing.assert_allclose(found, levels[known], atol=1e-9)
        final = fitted.predict_cumulative_incidence(row[None], [1e9], **ask)[0, 0]
        assert (final < levels[~known]).all()


def test_a_kind_that_cannot_come_first_often_enough_never_does(fitted):
    # exp(-2) / (exp(2) + exp(-2)) is below 2 %.
    late, often = [[-1.0, 0.0]], [[1.0, 0.0]]
    for beyond in ("nan", "inf", "limit", "warn", "extrapolate"):
        quantile = fitted.predict_quantiles(late, [0.6], kind="relapse", beyond=beyond)
        assert quantile.tolist() == [[np.inf]], beyond
    quantile = fitted.predict_quantiles(often, [0.3], kind="relapse", beyond="nan")
    assert np.isfinite(quantile).all()


def test_what_follow_up_cannot_tell_is_treated_as_asked_for():
    # Follow-up ends when a third has had an event: either kind could still reach one half.
    X, time, code = rows_of(600)
    end = 0.25
    cut = (np.minimum(time, end), np.where(time <= end, code, 0))
    model = CompetingRisksRegressor(CoxQuantileRegressor()).fit(X, cut)
    ask = {"quantiles": [0.45], "kind": 1}
    middle = [[0.0, 0.0]]
    assert np.isnan(model.predict_quantiles(middle, **ask, beyond="nan")).all()
    assert np.isinf(model.predict_quantiles(middle, **ask, beyond="inf")).all()
    limit = model.predict_quantiles(middle, **ask, beyond="limit")
    np.testing.assert_allclose(limit, cut[0][cut[1] == 1].max(), rtol=1e-9)
    with pytest.warns(ExtrapolationWarning, match=r"beyond what the data can speak for"):
        model.predict_quantiles(middle, **ask)
    with pytest.warns(ExtrapolationWarning, match=r"beyond what the data can speak for"):
        model.predict_kind(middle, 1.0)
    hidden = model.predict_cumulative_incidence(middle, [0.1, 1.0], beyond="nan")
    assert np.isnan(hidden).tolist() == [[[False, True], [False, True]]]
    early = model.predict_quantiles(middle, [0.1], kind=1, beyond="nan")
    assert np.isfinite(early).all()


@pytest.mark.parametrize("estimator", [CoxQuantileRegressor(), AFTRegressor()])
def test_a_kind_that_ends_early_stays_where_it_was(estimator):
    # Kind 1 comes to three in ten in the first year, kind 2 at any time, follow-up takes 3 to 6.
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 1))
    first = np.where(rng.uniform(size=400) < 0.3, rng.uniform(0, 1, 400), np.inf)
    second = rng.exponential(8.0, 400)
    end = rng.uniform(3, 6, 400)
    time = np.minimum(np.minimum(first, second), end)
    code = np.where(time == end, 0, np.where(time == first, 1, 2))
    model = CompetingRisksRegressor(estimator).fit(X, (time, code))
    found = model.predict_cumulative_incidence(X, [1.0, 4.0], 1).mean(axis=0)
    assert found[1] - found[0] < 0.01
    assert found[1] == pytest.approx(aalen_johansen(time, code)(4.0)[0], abs=0.02)
    incidence = model.predict_cumulative_incidence(X, [1.0, 40.0], beyond="extrapolate")
    survival = model.predict_survival_function(X, [1.0, 40.0], True, beyond="extrapolate")
    np.testing.assert_allclose(incidence.sum(axis=1) + survival, 1.0, atol=1e-12)
    levels = np.array([0.1, 0.5, 0.9])
    curve = model.predict_curve(X)
    np.testing.assert_allclose(curve.cdf(curve.at(levels)), np.tile(levels, (400, 1)), atol=1e-9)
    # That it is reached after the last event of its kind, no event says.
    beyond_last = float(found.max()) + 0.02
    quantile = model.predict_quantiles([[0.0]], [beyond_last], kind=1, beyond="nan")
    assert not np.isfinite(quantile).any()


def test_other_predictions_are_those_of_any_event(fitted, unseen):
    curve = fitted.predict_curve(unseen)
    levels = np.array([0.05, 0.3, 0.5, 0.8])
    quantiles = fitted.predict_quantiles(unseen, levels, beyond="extrapolate")
    assert (np.diff(quantiles, axis=1) > 0).all()
    np.testing.assert_allclose(curve.cdf(quantiles), np.tile(levels, (40, 1)), atol=1e-9)
    assert fitted.predict(unseen).tolist() == curve.at([0.5])[:, 0].tolist()
    alone = np.min(
        [
            m.predict_quantiles(unseen, levels, beyond="extrapolate")
            for m in fitted.estimators_.values()
        ],
        axis=0,
    )
    assert (quantiles <= alone * (1 + 1e-12)).all()
    remaining = fitted.predict_remaining(unseen, 0.0, levels, beyond="extrapolate")
    np.testing.assert_allclose(remaining, quantiles, rtol=1e-9)
    taken = curve.take([3, 5])
    assert (taken.incidence(TIMES) == curve.incidence(TIMES)[[3, 5]]).all()
    assert (taken.ends == curve.ends[[3, 5]]).all()


def test_names_of_kinds_permute_columns_only(unseen):
    X, time, code = rows_of()
    numbered = CompetingRisksRegressor(CoxQuantileRegressor()).fit(X, (time, code))
    named = CompetingRisksRegressor(CoxQuantileRegressor()).fit(X, (time, KINDS[code]))
    assert numbered.kinds_.tolist() == [1, 2]
    assert named.kinds_.tolist() == ["death", "relapse"]
    assert list(named.estimators_) == ["death", "relapse"]
    expected = numbered.predict_cumulative_incidence(unseen, TIMES, beyond="extrapolate")
    found = named.predict_cumulative_incidence(unseen, TIMES, beyond="extrapolate")
    np.testing.assert_allclose(found, expected[:, ::-1], rtol=1e-12)
    structured = CompetingRisksRegressor(CoxQuantileRegressor())
    structured.fit(X, Surv.from_arrays(event=code, time=time))
    again = structured.predict_cumulative_incidence(unseen, TIMES, beyond="extrapolate")
    assert (again == expected).all()


def test_frames_have_a_column_for_each_kind(fitted):
    X = pd.DataFrame([[0.0, 0.0], [1.0, 1.0]], index=["Ann", "Bob"])
    model = clone(fitted)
    data, time, code = rows_of()
    model.fit(pd.DataFrame(data), (time, KINDS[code]))
    chance = model.predict_kind(X, 1.0, output="frame")
    assert list(chance.columns) == ["death", "relapse"]
    assert list(chance.index) == ["Ann", "Bob"]
    assert (chance.to_numpy() == model.predict_kind(X, 1.0)).all()
    lost = model.predict_time_lost(X, output="frame")
    assert list(lost.columns) == ["death", "relapse"]
    assert (lost.sum(axis=1) < model.horizon_).all()
    quantiles = model.predict_quantiles(X, [0.1], kind="death", beyond="nan", output="frame")
    assert list(quantiles.columns) == ["q0.1"]


def test_a_right_model_scores_better_than_a_wrong_one():
    X, time, code = rows_of(500)
    model = CompetingRisksRegressor(CoxQuantileRegressor()).fit(X[:300], (time[:300], code[:300]))
    held = X[300:], (time[300:], code[300:])
    assert model.score(*held) > model.score(-held[0], held[1]) + 0.1
    # Rows to score may lack a kind.
    only = code[300:] != 2
    assert np.isfinite(model.score(held[0][only], (time[300:][only], code[300:][only])))


def test_rows_that_enter_late_are_at_risk_after_their_entry_only(unseen):
    X, time, code = rows_of(6_000, censoring=3.0, shape=1.5)
    entry = np.random.default_rng(5).uniform(0.0, 0.8, len(X))
    seen = time > entry
    y = Surv.from_arrays(event=code[seen], time=time[seen], entry=entry[seen])
    model = CompetingRisksRegressor(AFTRegressor()).fit(X[seen], y)
    times = np.array([0.3, 0.6, 1.0])
    true = truth(unseen, times, 1.5)
    found = model.predict_cumulative_incidence(unseen, times, beyond="extrapolate")
    assert np.abs(found - true).mean() < 0.02
    ignored = CompetingRisksRegressor(AFTRegressor()).fit(X[seen], (time[seen], code[seen]))
    late = ignored.predict_cumulative_incidence(unseen, times, beyond="extrapolate")
    assert np.abs(late - true).mean() > 0.05
    with pytest.raises(ValueError, match="got one with delayed entry"):
        CompetingRisksRegressor(LinearQuantileRegressor()).fit(X[seen], y)


@pytest.mark.parametrize("names", [True, False])
def test_files_hold_everything(names, tmp_path, unseen):
    X, time, code = rows_of()
    y = (time, KINDS[code] if names else code)
    model = CompetingRisksRegressor(AFTRegressor()).fit(X, y)
    model.save(tmp_path / "model.cq")
    again = load_model(tmp_path / "model.cq")
    assert again.kinds_.tolist() == model.kinds_.tolist()
    kind = model.kinds_[1]
    for each in (None, kind):
        ask = {"kind": each, "beyond": "nan"}
        expected = model.predict_quantiles(unseen, **ask)
        np.testing.assert_array_equal(again.predict_quantiles(unseen, **ask), expected)
    expected = model.predict_time_lost(unseen)
    assert (again.predict_time_lost(unseen) == expected).all()


def test_text_and_missing_values_are_read_by_the_recommended_estimator(tmp_path):
    X, time, code = rows_of(150)
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "yes", "no")})
    frame.loc[::20, "a"] = np.nan
    recommended = CensoredQuantileRegressor(candidates=[("cox", CoxQuantileRegressor())], cv=2)
    model = CompetingRisksRegressor(recommended, random_state=0)
    model.fit(frame, (time, KINDS[code]), groups=np.arange(150) // 2)
    chance = model.predict_kind(frame, 0.5)
    assert chance.shape == (150, 2)
    model.save(tmp_path / "model.cq")
    assert (load_model(tmp_path / "model.cq").predict_kind(frame, 0.5) == chance).all()


def test_a_weight_is_so_many_rows(unseen):
    X, time, code = rows_of(200)
    weight = np.random.default_rng(3).integers(0, 3, 200)
    model = CompetingRisksRegressor(CoxQuantileRegressor(), random_state=0)
    weighted = clone(model).fit(X, (time, code), weight)
    places = np.repeat(np.arange(200), weight)
    repeated = clone(model).fit(X[places], (time[places], code[places]))
    expected = repeated.predict_cumulative_incidence(unseen, TIMES, beyond="extrapolate")
    found = weighted.predict_cumulative_incidence(unseen, TIMES, beyond="extrapolate")
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_pipelines_are_wrapped():
    from sklearn.preprocessing import StandardScaler

    X, time, code = rows_of(120)
    pipeline = make_quantile_pipeline(StandardScaler(), CoxQuantileRegressor())
    model = CompetingRisksRegressor(pipeline).fit(X, (time, code), np.ones(120))
    plain = CompetingRisksRegressor(CoxQuantileRegressor()).fit(X, (time, code))
    ask = {"times": [0.5], "beyond": "extrapolate"}
    found = model.predict_cumulative_incidence(X, **ask)
    assert np.abs(found - plain.predict_cumulative_incidence(X, **ask)).max() < 0.02


class MedianOnly(BaseQuantileRegressor):
    def fit(self, X, y):
        self.median_ = 1.0
        return self

    def predict_curve(self, X):
        return QuantileCurve(np.full((len(X), 1), self.median_), [0.5])


def y_of(event):
    return np.arange(1.0, len(event) + 1), event


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (y_of([0, 1] * 10), ValueError, "two kinds or more, got the kind 1 alone: fit Censored"),
        (y_of([True, False] * 10), ValueError, "^y must have events of two kinds or more"),
        (y_of([0, 0] * 10), NoEventsError, "^y has no event"),
        (y_of([0, 2] * 10), ValueError, "without a gap, got the values 0, 2"),
        ((-np.arange(1.0, 21.0), [1, 2] * 10), ValueError, "^y must hold durations"),
        (y_of([1, 2] * 8), ValueError, "must have one row for each row of X, got 16 rows in y"),
    ],
)
def test_targets_that_cannot_be_used_are_refused(y, error, message):
    model = CompetingRisksRegressor(CoxQuantileRegressor())
    with pytest.raises(error, match=message):
        model.fit(np.arange(20.0)[:, None], y)
    with pytest.raises(NotFittedError):
        model.predict([[1.0]])


def test_other_arguments_are_refused(fitted):
    X, time, code = rows_of(60)
    with pytest.raises(ValueError, match=r"^kind must be one of 'death', 'relapse', got 1"):
        fitted.predict_quantiles(X, kind=1)
    with pytest.raises(ValueError, match=r"^beyond must be"):
        fitted.predict_kind(X, beyond="limit")
    with pytest.raises(ValueError, match=r"^horizon must be"):
        fitted.predict_time_lost(X, 0.0)
    with pytest.raises(TypeError, match="cannot be exported, since the export knows no incidences"):
        fitted.to_onnx("model.onnx")
    left = CompetingRisksRegressor(CoxQuantileRegressor(censoring="left"))
    with pytest.raises(ValueError, match=r"^estimator must be one of right-censored times"):
        left.fit(X, (time, code))
    with pytest.raises(TypeError, match=r"^estimator must be an unfitted estimator"):
        CompetingRisksRegressor("cox").fit(X, (time, code))
    with pytest.raises(
        ValueError, match=r"^sample_weight must leave events of every kind, got none"
    ):
        CompetingRisksRegressor(CoxQuantileRegressor()).fit(X, (time, code), 1.0 * (code != 2))
    single = CompetingRisksRegressor(MedianOnly()).fit(X, (time, code))
    with pytest.raises(ValueError, match=r"^estimator must predict at least two quantiles"):
        single.predict(X)


def test_other_estimators_name_this_one():
    X, time, code = rows_of(60)
    with pytest.raises(ValueError, match="CompetingRisksRegressor"):
        CoxQuantileRegressor().fit(X, (time, code))
    with pytest.raises(ValueError, match="which CompetingRisksRegressor takes; write"):
        CoxQuantileRegressor().fit(X, Surv.from_arrays(event=code, time=time))
