"""Forests of rows that came under observation late."""

import numpy as np
import pytest

from censquant import CensoredQuantileForest, Surv, load_model
from censquant._trees._forest import TimeBins, log_rank_scores
from censquant.survival import kaplan_meier
from exported_models import onnx_answers


def late_rows(n=400, seed=0):
    """Two groups of Weibull times, of which those who had the event early were never seen."""
    rng = np.random.default_rng(seed)
    x = (np.arange(5 * n) % 2).astype(float)
    time = (3.0 + 3.0 * x) * rng.weibull(1.5, 5 * n)
    entry = rng.uniform(0, 4, 5 * n)
    here = np.flatnonzero(time > entry)[:n]
    x, time, entry = x[here], time[here], entry[here]
    end = entry + rng.exponential(6, n)
    noise = rng.normal(size=n)
    return np.column_stack((x, noise)), Surv.from_arrays(
        time <= end, np.minimum(time, end), entry=entry
    )


def test_scores_are_observed_minus_expected_events_since_the_entry():
    _, y = late_rows(60)
    time, event, entry = (np.round(y[name] + 0.05, 1) for name in ("time", "event", "entry"))
    event, weight = event > 0.5, np.random.default_rng(1).uniform(0.5, 2, 60)
    entry = np.maximum(entry - 0.05, 0.0)
    scores = log_rank_scores(time, event, weight, entry)
    sizes = {t: weight[(entry < t) & (t <= time)].sum() for t in np.unique(time)}
    largest = max(sizes, key=sizes.get)
    expected = event.astype(float)
    for i in range(60):
        for t in np.unique(time[event & (time <= time[i]) & (time > entry[i])]):
            died = weight[(time == t) & event].sum()
            size = max(sizes[t], 0.01 * sizes[largest] if t <= largest else 0.0, died)
            expected[i] -= died / size
    np.testing.assert_allclose(scores, expected, atol=1e-9)
    assert weight @ scores == pytest.approx(0.0, abs=1e-8)


def test_late_rows_are_not_at_risk_in_the_slots_up_to_their_entry():
    _, y = late_rows(200)
    bins, codes = TimeBins.fit(y["time"], y["event"], np.ones(200))
    slots = bins.entry_slots(y["entry"], codes)
    here = y["entry"][:, None] < bins.times
    np.testing.assert_array_equal(np.arange(1, len(bins.times) + 1) > slots[:, None], here)


def test_one_leaf_is_the_product_limit_curve_of_all_rows():
    x, y = late_rows(150)
    forest = CensoredQuantileForest(n_estimators=3, min_samples_leaf=150, random_state=0)
    levels = np.array([0.2, 0.5, 0.7])
    found = forest.fit(x, y).predict_quantiles(x[:2], levels, beyond="extrapolate")
    curve = kaplan_meier(y["time"], y["event"], entry=y["entry"])
    np.testing.assert_array_equal(found, np.tile(curve.quantile(levels), (2, 1)))


def test_groups_have_the_curves_of_their_own_rows():
    x, y = late_rows(2000)
    forest = CensoredQuantileForest(min_samples_leaf=40, n_estimators=30, random_state=0).fit(x, y)
    groups = np.array([[0.0, 0.0], [1.0, 0.0]])
    true = np.array([[3.0], [6.0]]) * (-np.log(1 - np.array([0.25, 0.5, 0.75]))) ** (1 / 1.5)
    found = forest.predict_quantiles(groups, [0.25, 0.5, 0.75], beyond="extrapolate")
    np.testing.assert_allclose(found, true, rtol=0.25)
    ignored = CensoredQuantileForest(min_samples_leaf=40, n_estimators=30, random_state=0)
    ignored.fit(x, (y["time"], y["event"]))
    missed = ignored.predict_quantiles(groups, [0.25, 0.5, 0.75], beyond="extrapolate")
    assert np.abs(missed / true - 1).mean() > 1.5 * np.abs(found / true - 1).mean()


def test_order_weights_and_rows_from_the_start():
    x, y = late_rows(100)
    forest = CensoredQuantileForest(n_estimators=5, random_state=0)
    curves = forest.fit(x, y).predict_curve(x[:9]).values
    shuffled = np.random.default_rng(1).permutation(len(x))
    forest.fit(x[shuffled], y[shuffled])
    np.testing.assert_array_equal(forest.predict_curve(x[:9]).values, curves)
    weight = 1 + np.arange(len(x)) % 2
    rows = np.repeat(np.arange(len(x)), weight)
    weighted = forest.fit(x, y, sample_weight=weight).predict_curve(x[:9]).values
    repeated = forest.fit(x[rows], y[rows]).predict_curve(x[:9]).values
    np.testing.assert_array_equal(weighted, repeated)
    none = Surv.from_arrays(y["event"], y["time"], entry=np.zeros(len(x)))
    plain = forest.fit(x, (y["time"], y["event"])).predict_curve(x[:9]).values
    np.testing.assert_array_equal(forest.fit(x, none).predict_curve(x[:9]).values, plain)


@pytest.fixture(scope="module")
def forest():
    x, y = late_rows(200)
    model = CensoredQuantileForest(n_estimators=8, random_state=0)
    weight = np.random.default_rng(3).uniform(0.5, 2.0, len(x))
    return model.fit(x, y, sample_weight=weight), x


def test_a_stored_forest_answers_as_before(forest, tmp_path):
    model, x = forest
    model.save(tmp_path / "model.cq")
    other = load_model(tmp_path / "model.cq")
    np.testing.assert_array_equal(other.predict_curve(x).values, model.predict_curve(x).values)


def test_an_exported_forest_answers_as_before(forest, tmp_path):
    model, x = forest
    model.to_onnx(tmp_path / "model.onnx", dtype="float64")
    answers = onnx_answers(tmp_path / "model.onnx", X=x[:50])
    expected = model.predict_quantiles(x[:50], beyond="extrapolate")
    np.testing.assert_allclose(answers["quantiles"], expected, rtol=1e-8)
