"""From when on the data speak for individuals, where rows came under observation late."""

import pickle
import re

import numpy as np
import pytest

from censquant import (
    AFTRegressor,
    BoostedQuantileRegressor,
    CensoredQuantileForest,
    CoxQuantileRegressor,
    PooledQuantileRegressor,
    ShapeNN,
    Surv,
    load_model,
)
from censquant.exceptions import ExtrapolationWarning
from censquant.quantiles import QuantileCurve
from exported_models import onnx_answers


def late_rows(first, n=600, seed=0, *, on_time=0.0):
    """Rows that entered between ``first`` and ``first`` + 3, but a share from the start."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(6 * n, 2))
    time = 4.0 * np.exp(x @ [0.3, -0.2]) * rng.weibull(1.5, 6 * n)
    entry = np.where(rng.uniform(size=6 * n) < on_time, 0.0, rng.uniform(first, first + 3, 6 * n))
    here = np.flatnonzero(time > entry)[:n]
    x, time, entry = x[here], time[here], entry[here]
    end = entry + rng.exponential(8, n)
    return x, Surv.from_arrays(time <= end, np.minimum(time, end), entry=entry)


MODELS = [
    AFTRegressor(random_state=0),
    CoxQuantileRegressor(random_state=0),
    CensoredQuantileForest(n_estimators=10, random_state=0),
    BoostedQuantileRegressor(random_state=0),
    ShapeNN(hidden_layer_sizes=(8,), random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_levels_from_the_start_are_not_identified_where_nobody_was_seen_early(model):
    x, y = late_rows(2.0)
    model.fit(x, y)
    curve = model.predict_curve(x[:50])
    assert ((curve.known_from >= 2.0) & (curve.known_from < 2.6)).all()
    late = curve.starts_late
    np.testing.assert_array_equal(late, curve.unseen_share > 0.02)
    assert late.mean() > 0.9
    assert (model.identified_level(x[:50])[late] == 0.0).all()
    found = model.predict_quantiles(x[:50], [0.1, 0.5], beyond="nan")
    assert np.isnan(found[late]).all()
    survival = model.predict_survival_function(x[:50], [1.0, 3.0], True, beyond="nan")
    assert np.isnan(survival[late]).all()


def test_the_warning_says_what_to_ask_instead():
    x, y = late_rows(2.0)
    model = AFTRegressor(random_state=0).fit(x, y)
    says = (
        r"Some predictions count from the start, of which the data say nothing: rows like these "
        r"came under observation late, and by the model up to \d+ % of the events come before "
        r"that. "
        r"Ask given no event until 2\.\d+, as predict_remaining\(X, elapsed=2\.\d+\) does, or "
        r"choose what to return by beyond=\."
    )
    with pytest.warns(ExtrapolationWarning, match=f"^{says}$") as caught:
        model.predict(x[:20])
    with pytest.warns(ExtrapolationWarning, match="count from the start"):
        model.predict_restricted_mean(x[:20], 5.0)
    elapsed = float(re.search(r"until ([\d.]+),", str(caught[0].message)).group(1)) + 0.01
    model.predict_remaining(x[:20], elapsed, [0.25])
    with pytest.warns(ExtrapolationWarning, match="count from the start"):
        model.predict_remaining(x[:20], 0.5, [0.25])


def test_what_is_asked_given_survival_is_identified_and_right():
    x, y = late_rows(2.0, n=3000)
    model = AFTRegressor(random_state=0).fit(x, y)
    levels = np.array([0.25, 0.5])
    found = model.predict_remaining(x[:200], 2.5, levels, beyond="nan")
    scale = 4.0 * np.exp(x[:200] @ [0.3, -0.2])
    true = scale[:, None] * ((2.5 / scale[:, None]) ** 1.5 - np.log(1 - levels)) ** (1 / 1.5) - 2.5
    assert np.isfinite(found).mean() > 0.95
    np.testing.assert_allclose(np.nanmean(found / true, axis=0), 1.0, atol=0.1)


def test_rows_from_the_start_identify_it():
    x, y = late_rows(2.0, on_time=0.2)
    model = AFTRegressor(random_state=0).fit(x, y)
    curve = model.predict_curve(x[:50])
    np.testing.assert_array_equal(curve.known_from, 0.0)
    assert (curve.reach > 0).all()
    assert not curve.starts_late.any()


def test_a_law_that_knows_of_no_events_where_none_were_seen_does_not_vouch_for_itself():
    x, y = late_rows(2.0)
    curve = CensoredQuantileForest(n_estimators=10, random_state=0).fit(x, y).predict_curve(x[:50])
    assert (curve.cdf(curve.known_from) < 0.05).mean() > 0.5  # of some 30 % that came before
    assert curve.unseen_share.mean() > 0.15


def test_plain_rows_have_no_such_time():
    x, y = late_rows(2.0)
    curve = AFTRegressor(random_state=0).fit(x, (y["time"], y["event"])).predict_curve(x[:5])
    np.testing.assert_array_equal(curve.known_from, 0.0)
    assert "_known_from" not in vars(curve)


POOL = PooledQuantileRegressor(
    [("cox", CoxQuantileRegressor()), ("aft", AFTRegressor())], cv=2, random_state=0
)
STORED = [CoxQuantileRegressor(random_state=0), MODELS[-1], POOL]


@pytest.mark.parametrize("model", STORED, ids=lambda model: type(model).__name__)
def test_files_and_exports_know_it(model, tmp_path):
    x, y = late_rows(1.0)
    level = model.fit(x, y).identified_level(x)
    assert (level == 0).any()
    model.save(tmp_path / "model.cq")
    other = load_model(tmp_path / "model.cq")
    np.testing.assert_array_equal(
        other.predict_curve(x).known_from, model.predict_curve(x).known_from
    )
    np.testing.assert_array_equal(other.identified_level(x), level)
    model.to_onnx(tmp_path / "model.onnx", dtype="float64")
    answers = onnx_answers(tmp_path / "model.onnx", X=x)
    np.testing.assert_allclose(answers["identified"], level, atol=1e-8)


def test_parts_of_a_curve_and_copies_keep_it():
    curve = QuantileCurve([[1.0, 3.0], [2.0, 4.0]], taus=[0.25, 0.75], lower=0.0)
    late = curve.with_reach([0.7, 0.8]).with_start(lambda _: [1.5, 0.1])
    np.testing.assert_array_equal(late.starts_late, [True, False])
    np.testing.assert_array_equal(late.reach, [0.0, 0.8])
    np.testing.assert_array_equal(late.take([1, 0]).reach, [0.8, 0.0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(late)).known_from, [1.5, 0.1])
    np.testing.assert_array_equal(late.given([1.5, 0.0]).reach, [0.7, 0.8])
    np.testing.assert_array_equal(late.given(1.0).reach, [0.0, 0.8])
    assert curve.given(1.0) is curve
    with pytest.raises(ValueError, match=re.escape("reach must have shape (2,), got (1,).")):
        curve.with_start([1.0])
