"""Boosted trees for location and scale."""

import threading

import numpy as np
import pytest
from scipy.stats import gumbel_l, norm

import censquant
from censquant import BoostedQuantileRegressor
from censquant._engine.training._parallel import StoppedError
from censquant._files import read_arrays
from censquant._trees import _boosting
from model_files import refused, rewrite

LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


def censored(n=300, seed=0, unit=1.0, law=norm, mean_end=8.0):
    """Features, times and events; location and scale of the log-time depend on features."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 3))
    event_time = np.exp(x[:, 0] + scale(x) * law.rvs(size=n, random_state=rng))
    end = rng.exponential(mean_end, n)
    return x, (unit * np.minimum(event_time, end), event_time <= end)


def scale(x):
    return 0.4 + 0.2 * x[:, 1]


def small(**parameters):
    return BoostedQuantileRegressor(LEVELS, **{"max_iter": 60, "random_state": 0, **parameters})


def quantiles(model, x):
    return model.predict_quantiles(x, beyond="extrapolate")


@pytest.mark.parametrize("law", [norm, gumbel_l], ids=["normal", "Gumbel"])
def test_quantiles_of_a_moved_and_stretched_law_are_found(law):
    x, y = censored(5_000, seed=3, law=law)
    model = BoostedQuantileRegressor(LEVELS, random_state=0).fit(x, y)
    asked = np.random.default_rng(5).uniform(-0.9, 0.9, (300, 3))
    truth = np.exp(asked[:, :1] + scale(asked)[:, None] * law.ppf(LEVELS))
    error = np.abs(np.log(quantiles(model, asked) / truth)).mean(axis=0)
    assert (error < [0.16, 0.12, 0.1, 0.1, 0.12]).all()
    # The two ends move with the scale, and the median does not.
    wide, narrow = ([[0.0, side, 0.0]] for side in (0.8, -0.8))
    spread = [
        np.log(quantiles(model, rows)[0, -1] / quantiles(model, rows)[0, 0])
        for rows in (wide, narrow)
    ]
    assert spread[0] > 1.5 * spread[1]


def test_residuals_are_honest_so_intervals_cover_new_rows():
    # With noise features and few rows, residuals of the fit itself would be far too small.
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 20))
    time = np.exp(0.3 * x[:, 0] + rng.normal(size=400))
    model = BoostedQuantileRegressor(LEVELS, random_state=0).fit(x[:200], time[:200])
    interval = model.predict_interval(x[200:], 0.8)
    inside = (interval[:, 0] <= time[200:]) & (time[200:] <= interval[:, 1])
    assert 0.7 < inside.mean() < 0.9


def test_the_number_of_threads_changes_no_bit():
    x, y = censored()
    expected = quantiles(small(n_jobs=1).fit(x, y), x)
    for n_jobs in (2, 3, -1):
        np.testing.assert_array_equal(quantiles(small(n_jobs=n_jobs).fit(x, y), x), expected)


def test_whole_weights_are_repeated_rows_and_rows_have_no_order():
    x, (time, event) = censored(150)
    rng = np.random.default_rng(4)
    weight, order = rng.integers(0, 4, 150), rng.permutation(150)
    repeated = np.repeat(np.arange(150), weight)
    expected = quantiles(small().fit(x, (time, event), weight), x)
    twin = small().fit(x[repeated], (time[repeated], event[repeated]))
    np.testing.assert_array_equal(quantiles(twin, x), expected)
    twin = small().fit(x[order], (time[order], event[order]), weight[order])
    np.testing.assert_array_equal(quantiles(twin, x), expected)


def test_weights_move_the_quantiles():
    x, (time, event) = censored()
    late = np.where(time > np.median(time), 5.5, 0.5)
    plain, moved = (quantiles(small().fit(x, (time, event), w), x) for w in (None, late))
    assert (moved[:, 2] > plain[:, 2]).mean() > 0.7
    assert np.log(moved / plain)[:, 2].mean() > 0.1


def thirds(n):
    """Folds by row number."""
    place = np.arange(n)
    return [(place[place % 3 != k], place[place % 3 == k]) for k in range(3)]


@pytest.fixture
def given_order(monkeypatch):
    """Rows stay in the order of the data: the usual one is a hash, which other units change.

    For the same reason such tests have folds by row number.
    """
    monkeypatch.setattr(
        "censquant._rows._fit_data.arrangement",
        lambda weight, *columns: (np.arange(len(weight)), weight),
    )


@pytest.mark.usefixtures("given_order")
@pytest.mark.parametrize("unit", [1e-9, 0.25, 1e12])
def test_the_unit_of_time_is_the_unit_of_predictions(unit):
    x, y = censored()
    expected = unit * quantiles(small(cv=thirds(300)).fit(x, y), x)
    found = quantiles(small(cv=thirds(300)).fit(x, censored(unit=unit)[1]), x)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.usefixtures("given_order")
def test_times_without_a_logarithm_may_be_shifted():
    x, (time, event) = censored()
    fits = [
        quantiles(small(cv=thirds(300)).fit(x, (time + shift, event)), x)
        for shift in (-3.0, -100.0)
    ]
    np.testing.assert_allclose(fits[1] + 97.0, fits[0], rtol=1e-6, atol=1e-6)


@pytest.mark.usefixtures("given_order")
@pytest.mark.parametrize(("factor", "shift"), [(1e-30, 0.0), (1e30, 0.0), (1.0, 2.0**20)])
def test_the_unit_of_a_feature_does_not_matter(factor, shift):
    x, y = censored()
    x = x.round(3)
    moved = x * factor + shift
    found, expected = (
        quantiles(small(cv=thirds(300)).fit(moved, y), moved),
        quantiles(small(cv=thirds(300)).fit(x, y), x),
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("given_order")
@pytest.mark.parametrize("mirror", [np.reciprocal, np.negative], ids=["logarithm", "plain"])
def test_left_censored_times_are_those_of_a_mirrored_fit(mirror):
    # On the scale of the logarithm it is 1 / time that is mirrored.
    x, (time, event) = censored()
    # Censored times far outside those of events are moved before a logarithm, on one side only.
    kept = (time >= time[event].min()) & (time <= time[event].max())
    x, time, event = x[kept], time[kept], event[kept]
    time = time if mirror is np.reciprocal else time - 5.0
    cv = thirds(len(x))
    right = small(cv=cv).fit(x, (time, event))
    left = BoostedQuantileRegressor(
        np.sort(1.0 - LEVELS), max_iter=60, cv=cv, random_state=0, censoring="left"
    ).fit(x, (mirror(time), event))
    np.testing.assert_allclose(mirror(quantiles(left, x))[:, ::-1], quantiles(right, x), rtol=1e-6)


def test_given_folds_hold_out_the_rows_that_they_name():
    x, (time, event) = censored(120)
    order = np.random.default_rng(0).permutation(120)
    place = np.argsort(order)
    expected = small(cv=thirds(120)).fit(x, (time, event))
    moved = [(place[train], place[test]) for train, test in thirds(120)]
    model = small(cv=moved).fit(x[order], (time[order], event[order]))
    np.testing.assert_array_equal(quantiles(model, x), quantiles(expected, x))
    # Weights that repeat rows leave them in their folds.
    weight = np.random.default_rng(1).integers(0, 3, 120)
    repeated = np.repeat(np.arange(120), weight)
    splits = [tuple(np.flatnonzero(np.isin(repeated, side)) for side in s) for s in thirds(120)]
    expected = small(cv=splits).fit(x[repeated], (time[repeated], event[repeated]))
    model = small(cv=thirds(120)).fit(x, (time, event), weight)
    np.testing.assert_array_equal(quantiles(model, x), quantiles(expected, x))


def test_rows_that_no_fold_holds_out_have_no_residual():
    x, (time, event) = censored(200)
    time = np.where(np.arange(200) < 100, time, 1e6 * time)
    only = [(np.arange(50, 200), np.arange(50)), (np.arange(50), np.arange(50, 100))]
    model = small(cv=only, max_iter=1, learning_rate=1e-9).fit(x, (time, event))
    shape = small(cv=thirds(200), max_iter=1, learning_rate=1e-9).fit(x, (time, event))
    assert np.ptp(model._residual_quantiles) < 0.5 * np.ptp(shape._residual_quantiles)


def test_copies_of_rows_are_not_memorised():
    rng = np.random.default_rng(0)
    x, time = rng.normal(size=(150, 3)), np.exp(rng.normal(size=150))
    model = BoostedQuantileRegressor(min_samples_leaf=1, max_depth=6, random_state=0)
    model.fit(np.repeat(x, 4, axis=0), np.repeat(time, 4))
    assert model.n_iter_ <= 30


def test_one_event_teaches_nothing():
    x, (time, _) = censored(50)
    model = small().fit(x, (time, np.arange(50) == 7))
    assert model.n_iter_ == 0
    assert (np.ptp(quantiles(model, x), axis=0) == 0).all()


def test_rounds_stop_where_nothing_is_gained():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 3)), np.exp(rng.normal(size=200))
    assert BoostedQuantileRegressor(random_state=0).fit(x, y).n_iter_ <= 30
    assert BoostedQuantileRegressor(max_iter=7, random_state=0).fit(*censored()).n_iter_ == 7


def test_predictions_stay_near_the_times_of_the_fit():
    x, (time, event) = censored(200, mean_end=0.3)
    assert event.mean() < 0.4
    model = BoostedQuantileRegressor([0.001, 0.5, 0.9999], random_state=0).fit(x, (time, event))
    found = quantiles(model, 100.0 * x)
    spread = model._transform.scale
    assert (found <= time.max() * np.exp(3.0 * spread) * 1.001).all()
    assert (found >= time.min() * np.exp(-3.0 * spread) / 1.001).all()


AWKWARD = {
    "constant target": (lambda x, t, e: (x, np.full_like(t, 5.0), e)),
    "constant negative target": (lambda x, t, e: (x, np.full_like(t, -5.0), e)),
    "two events": (lambda x, t, e: (x, t, np.arange(len(t)) < 2)),
    "one event": (lambda x, t, e: (x, t, np.arange(len(t)) < 1)),
    "20 rows": (lambda x, t, e: (x[:20], t[:20], e[:20])),
    "2 rows": (lambda x, t, e: (x[:2], t[:2], np.ones(2, bool))),
    "duplicated columns": (lambda x, t, e: (np.hstack([x, x]), t, e)),
    "times at 0": (lambda x, t, e: (x, np.where(t < 0.5, 0.0, t), e)),
    "all times 0": (lambda x, t, e: (x, 0.0 * t, e)),
    "negative times": (lambda x, t, e: (x, t - 2.0, e)),
    "tiny times": (lambda x, t, e: (x, 1e-9 * t, e)),
    "huge times": (lambda x, t, e: (x, 1e12 * t, e)),
    "huge spread": (lambda x, t, e: (x, np.exp(30 * np.log(t)), e)),
    "an outlier": (lambda x, t, e: (x, np.where(np.arange(len(t)) == 3, -1e15, t), e)),
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
    if time.min() >= 0:
        assert (found >= 0).all()


def test_a_constant_target_is_predicted():
    x, _ = censored(100)
    found = quantiles(small().fit(x, (np.full(100, 5.0), np.ones(100, bool))), x)
    np.testing.assert_allclose(found, 5.0, rtol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"max_depth": 0}, ValueError, "max_depth must be at least 1, got 0."),
        ({"max_depth": 11}, ValueError, "max_depth must be at most 10, got 11."),
        ({"min_samples_leaf": 0}, ValueError, "min_samples_leaf must be at least 1, got 0."),
        ({"fit_scale": "no"}, TypeError, "fit_scale must be True or False, got 'no'."),
        ({"learning_rate": 0.0}, ValueError, "learning_rate must be finite and inside"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1, got 0."),
        ({"subsample": 0.0}, ValueError, r"subsample must be inside \(0, 1\], got 0.0."),
        ({"subsample": 1.2}, ValueError, r"subsample must be inside \(0, 1\], got 1.2."),
        ({"subsample": "all"}, TypeError, "subsample must be a number, got 'all'."),
        ({"l2_regularization": -1.0}, ValueError, "l2_regularization must be finite and inside"),
        ({"cv": 1}, ValueError, "cv must be at least 2, got 1."),
        ({"n_jobs": 0}, ValueError, "n_jobs must be None or an integer other than 0, got 0."),
        ({"censoring": "both"}, ValueError, "censoring must be one of 'right', 'left'"),
    ],
    ids=str,
)
def test_wrong_parameters_are_refused(parameters, error, message):
    x, y = censored(30)
    with pytest.raises(error, match=f"^{message}"):
        BoostedQuantileRegressor(**parameters).fit(x, y)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


@pytest.mark.parametrize(
    "parameters",
    [{}, {"censoring": "left"}, {"fit_scale": False, "max_depth": 1, "cv": 2, "max_iter": 9}],
    ids=str,
)
def test_a_loaded_model_predicts_the_same_bits(path, parameters):
    x, y = censored(120)
    model = small(**parameters).fit(x, y)
    model.save(path)
    content, loaded = path.read_bytes(), censquant.load_model(path)
    np.testing.assert_array_equal(loaded.predict_curve(x).values, model.predict_curve(x).values)
    np.testing.assert_array_equal(loaded.identified_level(x), model.identified_level(x))
    assert loaded.n_iter_ == model.n_iter_
    loaded.save(path)
    assert path.read_bytes() == content


def test_given_folds_are_stored_too(path):
    x, y = censored(60)
    model = small(cv=thirds(60)).fit(x, y)
    model.save(path)
    loaded = censquant.load_model(path)
    np.testing.assert_array_equal(quantiles(loaded, x), quantiles(model, x))
    np.testing.assert_array_equal(quantiles(loaded.fit(x, y), x), quantiles(model, x))


def test_a_model_without_any_round_comes_back_too(path):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(60, 2)), np.exp(rng.normal(size=60))
    model = small(learning_rate=30.0, l2_regularization=0.0).fit(x, y)
    assert model.n_iter_ == 0
    model.save(path)
    np.testing.assert_array_equal(quantiles(censquant.load_model(path), x), quantiles(model, x))


def changed(name, place, value):
    def change(arrays):
        array = arrays[name].copy()
        array[place] = value
        return {name: array}

    return change


FORGED = {
    "an unknown feature": (changed("feature", (0, 0, 0, 0), 3), "does not hold splits by known"),
    "a negative feature": (changed("feature", (0, 0, 0, 0), -1), "does not hold splits by known"),
    "edges out of order": (changed("edges", (0, 0), np.inf), "does not hold edges of bins that"),
    "edges that are no numbers": (
        changed("edges", (0, 5), np.nan),
        "does not hold edges of bins that",
    ),
    "residuals out of order": (
        changed("residual_quantiles", 0, 99.0),
        "does not hold residuals that do not decrease",
    ),
    "an infinite leaf": (changed("value", (0, 0, 0, 0), np.inf), "holds numbers in 'value' that"),
    "no booster": (
        lambda arrays: {name: arrays[name][:0] for name in ("feature", "cut", "value")},
        "does not hold at least one booster",
    ),
    "trees of another depth": (
        lambda arrays: {"value": arrays["value"][..., :4]},
        "does not hold the arrays that its model needs",
    ),
}


@pytest.mark.parametrize(("forge", "message"), FORGED.values(), ids=FORGED)
def test_forged_boosters_are_refused(path, forge, message):
    small().fit(*censored(120)).save(path)
    _, arrays = read_arrays(path, "model")
    rewrite(path, arrays=forge(arrays))
    refused(path, message)


@pytest.mark.parametrize(
    "change", [{"bounds": [0.0]}, {"own_transform": {}}, {"bounds": ...}], ids=str
)
def test_a_forged_description_is_refused(path, change):
    small().fit(*censored(120)).save(path)
    rewrite(path, part={"description": change})
    refused(path, "is not a consistent model file")


def test_a_fit_ends_with_the_round_in_which_it_is_asked_to(monkeypatch):
    stopping, rounds = threading.Event(), []
    original = _boosting.run_round

    def counted(*arguments):
        rounds.append(arguments)
        if len(rounds) == 3:
            stopping.set()
        original(*arguments)

    monkeypatch.setattr(_boosting, "run_round", counted)
    model = small(max_iter=1000)
    model._stopping = stopping
    with pytest.raises(StoppedError):
        model.fit(*censored())
    assert len(rounds) == 3
