"""The forest with Kaplan-Meier leaves."""

import threading

import numpy as np
import pytest
from scipy.stats import norm

from censquant import CensoredQuantileForest
from censquant._engine.training._parallel import StoppedError
from censquant._trees._forest import ForestGrowth, TimeBins
from censquant.exceptions import ConstantFeatureWarning, LeakageWarning
from censquant.survival import kaplan_meier

LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


def censored(n=300, seed=0, n_features=3, unit=1.0, longest=np.inf):
    """Features, observed times and events; the time depends on the first feature."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, n_features))
    event_time = np.exp(x[:, 0] + 0.4 * rng.normal(size=n))
    end = np.minimum(rng.exponential(3.0, n), longest)
    return x, (unit * np.minimum(event_time, end), event_time <= end)


def small(**parameters):
    return CensoredQuantileForest(LEVELS, **{"n_estimators": 20, "random_state": 0, **parameters})


def quantiles(model, x):
    return model.predict_quantiles(x, beyond="extrapolate")


def by_definition(model, x, time, event, weight):
    """Weighted Kaplan-Meier curves of neighbours, row by row, with events at their bin's time."""
    bins, codes = TimeBins.fit(time, event, weight)
    binned = np.where(event, bins.times[np.maximum(codes // 2, 1) - 1], time)
    seen, asked = (model._leaves.leaves_of(model._units(rows)) for rows in (model._x, x))
    expected = np.full((len(x), len(LEVELS)), np.nan)
    level = np.empty(len(x))
    for row in range(len(x)):
        shares = np.zeros(len(time))
        for tree in range(len(seen)):
            same = seen[tree] == asked[tree, row]
            shares[same] += weight[same] / weight[same].sum()
        curve = kaplan_meier(binned, event, shares)
        found = curve.quantile(LEVELS)
        expected[row] = np.where(np.isfinite(found), found, np.nan)
        level[row] = 1.0 - curve.survival[-1]
    return expected, level


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("most_bins", [100, 512])
def test_a_prediction_is_the_kaplan_meier_curve_of_weighted_neighbours(
    most_bins, weighted, monkeypatch
):
    monkeypatch.setattr("censquant._trees._forest.MOST_BINS", most_bins)
    x, (time, event) = censored(longest=2.0)
    weight = np.random.default_rng(1).uniform(0.2, 2.0, 300) if weighted else np.ones(300)
    model, kept = small(), {}
    original = CensoredQuantileForest._fit_rows

    def fit_rows(self, rows, rng):
        kept.update(x=rows.x, **vars(rows.timeline), weight=rows.weight)
        original(self, rows, rng)

    monkeypatch.setattr(CensoredQuantileForest, "_fit_rows", fit_rows)
    model.fit(x, (time, event), weight)
    assert (len(model._bins.times) <= 100) == (most_bins == 100)
    model._x = kept.pop("x")
    asked = censored(25, seed=5)[0]
    expected, level = by_definition(model, asked, **kept)
    found = quantiles(model, asked)
    known = ~np.isnan(expected)
    assert 0.5 < known.mean() < 1.0
    np.testing.assert_array_equal(found[known], expected[known])
    end_time, end_level = model._quantiles_and_end(asked, LEVELS)[1]
    np.testing.assert_allclose(end_level, level, atol=1e-6 if weighted else 1e-12)
    # Above its end the curve goes on, later than anything it knows.
    assert (found > end_time[:, None])[~known].all()
    assert (found <= end_time[:, None])[known].all()


def test_one_leaf_is_the_kaplan_meier_curve_of_all_rows():
    x, (time, event) = censored(200)
    model = small(min_samples_leaf=200, n_estimators=3).fit(x, (time, event))
    curve = kaplan_meier(time, event)
    expected = curve.quantile(LEVELS)
    known = np.isfinite(expected)
    assert known.sum() >= 3
    assert (quantiles(model, x[:4])[:, known] == expected[known]).all()
    _, level = model._quantiles_and_end(x[:4], LEVELS)[1]
    np.testing.assert_allclose(level, 1.0 - curve.survival[-1], atol=1e-12)


def test_the_tail_is_exponential_with_the_rate_of_the_end_of_the_curve():
    rng = np.random.default_rng(0)
    event_time, x = rng.exponential(2.0, 4_000), np.zeros((4_000, 1))
    y = (np.minimum(event_time, 1.5), event_time <= 1.5)
    model = CensoredQuantileForest([0.3, 0.7, 0.9, 0.99], n_estimators=2, random_state=0)
    with pytest.warns(ConstantFeatureWarning):
        model.fit(x, y)
    found = model._model_curve(x[:1]).at(model.quantiles_)[0]
    np.testing.assert_allclose(found, -2.0 * np.log1p(-model.quantiles_), rtol=0.1)
    # No memory: equal cumulative hazards take equal times.
    steps = np.diff(found[1:]) / np.diff(-np.log1p(-model.quantiles_[1:]))
    assert steps[0] == pytest.approx(steps[1], rel=1e-9)


def test_rows_without_similar_events_have_a_curve_that_starts_at_their_last_censoring():
    rng = np.random.default_rng(1)
    x = np.repeat([[0.0], [1.0]], 100, axis=0)
    time = np.concatenate([rng.uniform(1, 2, 100), rng.uniform(1, 3, 100)])
    event = np.arange(200) < 100
    with pytest.warns(LeakageWarning, match=r"'x0' \(the event itself\)"):
        model = small(n_estimators=5).fit(x, (time, event))
    end, level = model._quantiles_and_end(np.array([[1.0]]), LEVELS)[1]
    assert level[0] == 0.0
    assert end[0] == time[:100].max()
    found = quantiles(model, [[1.0]])[0]
    assert (np.diff(found) > 0).all()
    assert np.isfinite(found).all()
    assert found[0] > end[0]


def test_the_forest_finds_the_quantiles_of_a_known_law():
    x, y = censored(6_000, seed=3)
    model = CensoredQuantileForest([0.1, 0.5, 0.9], min_samples_leaf=20, random_state=0).fit(x, y)
    grid = np.zeros((9, 3))
    grid[:, 0] = np.linspace(-0.8, 0.8, 9)
    truth = np.exp(grid[:, :1] + 0.4 * norm.ppf([0.1, 0.5, 0.9]))
    error = np.abs(quantiles(model, grid) / truth - 1.0)
    assert error.mean() < 0.08


def test_the_number_of_threads_changes_no_bit():
    x, y = censored()
    expected = quantiles(small(n_jobs=1).fit(x, y), x)
    np.testing.assert_array_equal(quantiles(small(n_jobs=2).fit(x, y), x), expected)


@pytest.mark.parametrize("max_samples", ["auto", 60])
def test_whole_weights_are_repeated_rows_and_rows_have_no_order(max_samples):
    x, (time, event) = censored(150)
    rng = np.random.default_rng(4)
    weight, order = rng.integers(0, 4, 150), rng.permutation(150)
    repeated = np.repeat(np.arange(150), weight)
    expected = quantiles(small(max_samples=max_samples).fit(x, (time, event), weight), x)
    twin = small(max_samples=max_samples).fit(x[repeated], (time[repeated], event[repeated]))
    np.testing.assert_array_equal(quantiles(twin, x), expected)
    shuffled = (time[order], event[order])
    twin = small(max_samples=max_samples).fit(x[order], shuffled, weight[order])
    np.testing.assert_array_equal(quantiles(twin, x), expected)


def test_weights_move_the_curve():
    x, (time, event) = censored()
    late = np.where(time > np.median(time), 5.5, 0.5)
    plain, moved = (quantiles(small().fit(x, (time, event), w), x) for w in (None, late))
    assert (moved - plain)[:, 2].mean() > 0.1


@pytest.mark.parametrize("unit", [1e-9, 0.25, 1e12])
def test_the_unit_of_time_is_the_unit_of_predictions(unit):
    x, y = censored()
    expected = unit * quantiles(small().fit(x, y), x)
    found = quantiles(small().fit(x, censored(unit=unit)[1]), x)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize(("scale", "shift"), [(1e-30, 0.0), (1e30, 0.0), (8.0, 2.0**30)])
def test_the_unit_of_a_feature_does_not_matter(scale, shift):
    x, y = censored()
    x = x.round(3)
    moved = x * scale + shift
    np.testing.assert_allclose(
        quantiles(small().fit(moved, y), moved), quantiles(small().fit(x, y), x), rtol=0.2
    )


def test_left_censored_times_are_mirrored_right_censored_ones():
    x, (time, event) = censored()
    right = small().fit(x, (time, event))
    left = CensoredQuantileForest(
        np.sort(1.0 - LEVELS), n_estimators=20, random_state=0, censoring="left"
    ).fit(x, (-time, event))
    _, level = right._quantiles_and_end(x, LEVELS)[1]
    known = level.min() > LEVELS
    assert known.sum() >= 2
    mirrored = -quantiles(left, x)[:, ::-1]
    # Where levels differ by rounding, so may the step at which they are reached.
    assert (mirrored == quantiles(right, x))[:, known].mean() > 0.98


def test_discrete_times_stay_discrete():
    x, (time, event) = censored(500)
    time = np.ceil(4 * time)
    model = small().fit(x, (time, event))
    found = quantiles(model, x)
    known = model._quantiles_and_end(x, LEVELS)[1][1][:, None] > LEVELS
    assert np.isin(found[known], time[event]).all()


def test_rows_of_a_tree_are_capped():
    x, y = censored(400)
    model = small(max_samples=50, n_estimators=4).fit(x, y)
    assert len(model._leaves.codes) == 4 * 50
    assert len(small(max_samples=None, n_estimators=4).fit(x, y)._leaves.codes) == 4 * 400


def test_by_default_a_tree_has_at_most_50_000_rows():
    model = CensoredQuantileForest()
    model.n_features_in_ = 2
    assert model._growth(60_000, 100) == ForestGrowth(100, 5, 1.0, 50_000)
    assert model._growth(600, 100) == ForestGrowth(100, 5, 1.0, 600)
    model.set_params(max_features=5, max_samples=None)
    assert model._growth(60_000, 100) == ForestGrowth(100, 5, 2, 60_000)


AWKWARD = {
    "constant target": (lambda x, t, e: (x, np.full_like(t, 5.0), e)),
    "constant negative target": (lambda x, t, e: (x, np.full_like(t, -5.0), e)),
    "two events": (lambda x, t, e: (x, t, np.arange(len(t)) < 2)),
    "one event": (lambda x, t, e: (x, t, np.arange(len(t)) < 1)),
    "20 rows": (lambda x, t, e: (x[:20], t[:20], e[:20])),
    "3 rows": (lambda x, t, e: (x[:3], t[:3], np.ones(3, bool))),
    "duplicated columns": (lambda x, t, e: (np.hstack([x, x]), t, e)),
    "times at 0": (lambda x, t, e: (x, np.where(t < 0.5, 0.0, t), e)),
    "all times 0": (lambda x, t, e: (x, 0.0 * t, e)),
    "negative times": (lambda x, t, e: (x, t - 2.0, e)),
    "huge spread": (lambda x, t, e: (x, np.exp(30 * np.log(t)), e)),
}


@pytest.mark.parametrize("censoring", ["right", "left"])
@pytest.mark.parametrize("awkward", AWKWARD.values(), ids=AWKWARD)
def test_awkward_data_give_finite_increasing_quantiles(awkward, censoring):
    x, (time, event) = censored(100)
    x, time, event = awkward(x, time, event)
    model = small(censoring=censoring).fit(x, (time, event))
    found = quantiles(model, x)
    assert np.isfinite(found).all()
    assert (np.diff(found) >= 0).all()
    assert np.isfinite(model.identified_level(x)).all()


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_estimators": 0}, ValueError, "n_estimators must be at least 1, got 0."),
        ({"min_samples_leaf": 0.5}, TypeError, "min_samples_leaf must be an integer, got 0.5."),
        ({"max_features": 1.5}, ValueError, r"max_features must be inside \(0, 1\], got"),
        ({"max_features": 0.0}, ValueError, r"max_features must be inside \(0, 1\], got"),
        ({"max_features": 0}, ValueError, "max_features must be at least 1, got 0."),
        ({"max_features": "all"}, TypeError, "max_features must be an integer, got 'all'."),
        ({"max_samples": "all"}, ValueError, "max_samples must be one of 'auto', got 'all'."),
        ({"max_samples": 0}, ValueError, "max_samples must be at least 1, got 0."),
        ({"n_jobs": 0}, ValueError, "n_jobs must be None or an integer other than 0, got 0."),
        ({"censoring": "both"}, ValueError, "censoring must be one of 'right', 'left'"),
    ],
    ids=str,
)
def test_wrong_parameters_are_refused(parameters, error, message):
    x, y = censored(30)
    with pytest.raises(error, match=f"^{message}"):
        CensoredQuantileForest(**parameters).fit(x, y)


def test_a_fit_ends_with_the_tree_during_which_it_is_asked_to(monkeypatch):
    stopping, trees = threading.Event(), []
    original = ForestGrowth._tree

    def counted(self, *arguments):
        trees.append(1)
        if len(trees) == 3:
            stopping.set()
        return original(self, *arguments)

    monkeypatch.setattr(ForestGrowth, "_tree", counted)
    model = small(n_estimators=1000)
    model._stopping = stopping
    with pytest.raises(StoppedError):
        model.fit(*censored())
    assert len(trees) == 3
