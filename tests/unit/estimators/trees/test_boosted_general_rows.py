"""Boosted trees that are fitted to intervals and to rows with delayed entry."""

import numpy as np
from scipy.stats import norm

from censquant import BoostedQuantileRegressor, Surv, load_model

INF = np.inf
LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


def rows(n, seed, *, late=False, width=0.0):
    """Features and target of log-normal times, perhaps seen late or in intervals."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.5, 1.5, (6 * n, 2))
    time = np.exp(1 + 0.8 * np.sin(2 * x[:, 0]) + 0.4 * rng.normal(size=6 * n))
    entry = rng.uniform(0, 8, 6 * n) if late else np.zeros(6 * n)
    seen = np.flatnonzero(time > entry)[:n]
    x, time, entry = x[seen], time[seen], entry[seen]
    end = entry + rng.exponential(8.0, n)
    lower, upper = np.minimum(time, end), np.where(time <= end, time, INF)
    if width:
        known = time <= end
        lower = np.where(known, np.maximum(np.floor(time / width) * width, entry), lower)
        upper = np.where(known, (np.floor(time / width) + 1) * width, upper)
    return x, Surv.from_intervals(lower, upper, entry=entry if late else None)


def level_error(model):
    x = np.random.default_rng(99).uniform(-1.5, 1.5, (400, 2))
    z = np.log(model.predict_quantiles(x, LEVELS, beyond="extrapolate"))
    true = norm.cdf((z - 1 - 0.8 * np.sin(2 * x[:, :1])) / 0.4)
    return np.abs(true - LEVELS).mean()


def test_entries_are_used_and_not_ignored():
    x, y = rows(800, seed=1, late=True)
    model = BoostedQuantileRegressor(random_state=0)
    used = level_error(model.fit(x, y))
    ignored = level_error(model.fit(x, Surv.from_intervals(y["lower"], y["upper"])))
    assert used < 0.09
    assert used < 0.6 * ignored


def test_inspections_tell_about_as_much_as_times():
    x, y = rows(800, seed=2, width=1.5)
    assert level_error(BoostedQuantileRegressor(random_state=0).fit(x, y)) < 0.09


def test_neither_order_nor_unit_nor_the_form_of_weights_matters(tmp_path):
    x, y = rows(150, seed=3, late=True, width=1.0)
    model = BoostedQuantileRegressor(max_iter=20, cv=2, random_state=0)
    first = model.fit(x, y).predict_quantiles(x, [0.3, 0.6], beyond="extrapolate")
    model.save(tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(
        again.predict_quantiles(x, [0.3, 0.6], beyond="extrapolate"), first
    )
    order = np.random.default_rng(0).permutation(150)
    model.fit(x[order], y[order])
    np.testing.assert_array_equal(
        model.predict_quantiles(x, [0.3, 0.6], beyond="extrapolate"), first
    )
    days = Surv.from_intervals(y["lower"] * 365, y["upper"] * 365, entry=y["entry"] * 365)
    in_days = model.fit(x, days).predict_quantiles(x, [0.3, 0.6], beyond="extrapolate")
    np.testing.assert_allclose(in_days / 365, first, rtol=1e-3)
    weight = np.arange(150) % 3
    weighted = model.fit(x, y, weight).predict_quantiles(x, [0.3], beyond="extrapolate")
    repeated = np.repeat(np.arange(150), weight)
    model.fit(x[repeated], y[repeated])
    np.testing.assert_array_equal(model.predict_quantiles(x, [0.3], beyond="extrapolate"), weighted)


def test_plain_rows_in_bounds_are_fitted_as_times():
    x, y = rows(150, seed=4)
    model = BoostedQuantileRegressor(max_iter=20, random_state=0)
    bounds = model.fit(x, y).predict_quantiles(x, [0.5], beyond="extrapolate")
    model.fit(x, (y["lower"], np.isfinite(y["upper"])))
    np.testing.assert_array_equal(model.predict_quantiles(x, [0.5], beyond="extrapolate"), bounds)


def test_exact_rows_among_intervals_are_boosted_nearly_as_plain_ones():
    # One wide interval makes the target general; the other rows say what they said before.
    x, y = rows(400, seed=5)
    times = y["lower"], np.isfinite(y["upper"])
    model = BoostedQuantileRegressor(random_state=0)
    plain = model.fit(x, times).predict_quantiles(x, [0.5], beyond="extrapolate")
    lower = y["lower"].copy()
    place = np.flatnonzero(np.isfinite(y["upper"]))[0]
    lower[place] = 0.0
    general = Surv.from_intervals(lower, y["upper"])
    near = model.fit(x, general).predict_quantiles(x, [0.5], beyond="extrapolate")
    assert np.median(np.abs(near / plain - 1)) < 0.05
