"""Ensembles that are fitted to intervals and to rows with delayed entry."""

import re

import numpy as np
import pytest

from censquant import (
    CQRNN,
    AFTRegressor,
    BoostedQuantileRegressor,
    CensoredQuantileForest,
    CensoredQuantileRegressor,
    CoxQuantileRegressor,
    PooledQuantileRegressor,
    Surv,
    load_model,
)
from censquant._rows._fit_data import FitData
from censquant.estimators.ensemble._imputation import StandIns
from censquant.estimators.ensemble._mixture import LEVELS
from censquant.estimators.ensemble._weights import HeldOutScore
from censquant.survival import read_target
from censquant.survival._target import GeneralTarget

INF = np.inf
SHAPE = 1.6


def scales(x):
    return np.exp(1.5 + 0.5 * x[:, 0] - 0.4 * x[:, 1])


def made(n, seed, *, late=False, width=0.0):
    """Features and target of Weibull times, perhaps seen late or in intervals."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.5, 1.5, (8 * n, 2))
    time = scales(x) * rng.weibull(SHAPE, 8 * n)
    entry = rng.exponential(4.0, 8 * n) if late else np.zeros(8 * n)
    seen = np.flatnonzero(time > entry)[:n]
    x, time, entry = x[seen], time[seen], entry[seen]
    end = entry + rng.exponential(12.0, n)
    lower, upper = np.minimum(time, end), np.where(time <= end, time, INF)
    if width:
        known = time <= end
        lower = np.where(known, np.maximum(np.floor(time / width) * width, entry), lower)
        upper = np.where(known, (np.floor(time / width) + 1) * width, upper)
    return x, Surv.from_intervals(lower, upper, entry=entry if late else None)


def level_error(model, seed=99):
    x = np.random.default_rng(seed).uniform(-1.5, 1.5, (400, 2))
    levels = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
    times = model.predict_quantiles(x, levels, beyond="extrapolate")
    return np.abs(-np.expm1(-((times / scales(x)[:, None]) ** SHAPE)) - levels).mean()


def quick(**options):
    members = [
        ("hazards", CoxQuantileRegressor()),
        ("weibull", AFTRegressor()),
        ("boosting", BoostedQuantileRegressor(max_iter=60)),
        ("forest", CensoredQuantileForest(n_estimators=8)),
    ]
    return PooledQuantileRegressor(members, random_state=0, **options)


def predicted(model, x):
    return model.predict_quantiles(x, [0.1, 0.5, 0.9], beyond="extrapolate")


def test_the_recommended_estimator_uses_entries():
    x, y = made(300, seed=1, late=True)
    model = CensoredQuantileRegressor(random_state=0)
    used = level_error(model.fit(x, y))
    ignored = level_error(model.fit(x, Surv.from_intervals(y["lower"], y["upper"])))
    assert used < 0.06
    assert used < 0.5 * ignored


def test_the_recommended_estimator_uses_intervals_and_imputes_for_those_that_cannot():
    x, y = made(300, seed=2, width=2.0)
    model = CensoredQuantileRegressor(random_state=0).fit(x, y)
    assert level_error(model) < 0.06
    assert not any(row.note for row in model.candidates_)
    assert all(np.isfinite(row.log_score) for row in model.candidates_)
    assert all(np.isnan(row.brier) for row in model.candidates_)
    assert model.calibration_p_value_ is None
    assert "other scores are not known of rows with intervals" in str(model.summary())


@pytest.mark.parametrize("late", [False, True])
def test_what_is_held_out_was_not_seen_and_covers_all_rows(late):
    x, y = made(200, seed=3, late=late, width=1.5)
    model = quick(cv=3).fit(x, y)
    assert sorted(model.oof_rows_) == list(range(200))
    assert np.isfinite(model.oof_curve_.values).all()
    assert sum(model.weights_.values()) == pytest.approx(1.0)


def test_neither_order_nor_weights_by_repetition_matter(tmp_path):
    x, y = made(120, seed=4, late=True, width=1.5)
    model = quick(cv=2)
    first = predicted(model.fit(x, y), x)
    model.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(predicted(load_model(tmp_path / "model.safetensors"), x), first)
    order = np.random.default_rng(0).permutation(120)
    np.testing.assert_array_equal(predicted(model.fit(x[order], y[order]), x), first)
    weight = np.arange(120) % 3
    weighted = predicted(model.fit(x, y, weight), x)
    repeated = np.repeat(np.arange(120), weight)
    np.testing.assert_array_equal(predicted(model.fit(x[repeated], y[repeated]), x), weighted)


def test_plain_rows_in_bounds_are_pooled_as_times():
    x, y = made(120, seed=5)
    model = quick(cv=2)
    bounds = predicted(model.fit(x, y), x)
    times = predicted(model.fit(x, (y["lower"], np.isfinite(y["upper"]))), x)
    np.testing.assert_array_equal(bounds, times)


def test_imputed_times_are_quantiles_of_the_law_in_each_interval():
    lower, upper = np.array([1.0, 0.0, 2.0, 5.0, 3.0]), np.array([4.0, 2.0, 2.0, INF, 3.5])
    target = GeneralTarget.of(read_target(Surv.from_intervals(lower, upper), accepts=("interval",)))
    rows = FitData(np.arange(5.0)[:, None], target, np.ones(5), np.arange(5))
    # An exponential distribution of mean 2; the last row's law finds its interval impossible.
    values = np.tile(-2.0 * np.log1p(-LEVELS), (5, 1))
    values[4] = 10.0 + LEVELS
    made_rows = StandIns.of(rows, values, 0.0)
    time, source = made_rows.rows.target.time, made_rows.source
    np.testing.assert_array_equal(np.bincount(source), [5, 5, 1, 1, 5])
    np.testing.assert_allclose(np.bincount(source, made_rows.rows.weight), 1.0)
    np.testing.assert_array_equal(time[source == 2], 2.0)
    assert not made_rows.rows.target.event[source == 3].any()
    cdf = 1 - np.exp(-0.5 * np.array([1.0, 4.0]))
    wanted = cdf[0] + (cdf[1] - cdf[0]) * (np.arange(5) + 0.5) / 5
    np.testing.assert_allclose(time[source == 0], -2.0 * np.log1p(-wanted), rtol=0.01)
    np.testing.assert_allclose(time[source == 4], 3.0 + 0.5 * (np.arange(5) + 0.5) / 5)


def test_the_law_behind_late_rows_has_the_best_score_of_all():
    rng = np.random.default_rng(6)
    time, entry = rng.exponential(2.0, 30_000), rng.uniform(0, 3, 30_000)
    time, entry = time[time > entry], entry[time > entry]
    rows = Surv.from_arrays(np.ones(len(time), bool), time, entry=entry)
    target = read_target(rows, accepts=("delayed_entry",))
    score = HeldOutScore.of("log", target, np.ones(len(target)))
    means = {
        mean: score.weight
        @ score.log.rows(np.tile(-mean * np.log1p(-LEVELS), (len(target), 1)), LEVELS, 0.0)
        for mean in (1.4, 1.8, 2.0, 2.2, 2.8)
    }
    assert min(means, key=means.get) == 2.0


@pytest.mark.parametrize(
    ("members", "options", "message"),
    [
        (
            [("cox", CoxQuantileRegressor()), ("net", CQRNN())],
            {"late": True},
            "The candidate 'net' must take delayed entry, which",
        ),
        (
            [("cox", CoxQuantileRegressor())],
            {"width": 2.0},
            "One candidate at least must take intervals, which",
        ),
    ],
)
def test_pools_refuse_rows_that_their_members_cannot_use(members, options, message):
    x, y = made(60, seed=7, **options)
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        PooledQuantileRegressor(members).fit(x, y)


def test_pools_have_no_brier_score_of_such_rows():
    x, y = made(60, seed=8, width=2.0)
    message = (
        "scoring must be 'log' where rows have intervals or entries, got 'both': these rows have "
        "no Brier score."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        quick(scoring="both").fit(x, y)
