"""Every adapter on small samples of which the truth is known."""

import logging
import random
import warnings
from functools import cache

import numpy as np
import pytest
import torch
from scipy.special import ndtri
from scipy.stats import spearmanr

from censquant.survival import Surv
from censquant_bench.peers import PEER_TITLES, _pycox, make_peer

NAMES = list(PEER_TITLES)
NAIVE = ["quantile_forest_naive", "mapie_naive"]
CENSORED = [name for name in NAMES if name not in NAIVE]
# Ranks of times or differences between them are all that these methods use.
SHIFTED = ["sksurv_cox", "sksurv_forest", "sksurv_boosting", "lifelines_cox", *NAIVE]
# These move times to the same place wherever they start, once they have to be moved.
MOVED = ["lifelines_lognormal", "lifelines_weibull", "xgboost_aft", "ngboost_lognormal"]
NETWORKS = ["pycox_deepsurv", "pycox_deephit", "pycox_coxtime"]

LEVELS = [0.1, 0.5, 0.9]
SPREAD = 0.4


def sample(n, seed, *, censoring=1.5, columns=2):
    """Features, target, event times and true quantiles of log-normal times."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, columns))
    location = 1 + 0.8 * X[:, 0] - 0.5 * X[:, 1]
    event_time = np.exp(location + SPREAD * rng.normal(size=n))
    follow_up = np.exp(censoring + 0.5 * rng.normal(size=n))
    y = Surv.from_arrays(event_time <= follow_up, np.minimum(event_time, follow_up))
    return X, y, event_time, np.exp(location[:, None] + SPREAD * ndtri(LEVELS))


TEST = sample(400, 1)
X_SMALL, Y_SMALL, *_ = sample(120, 2)


def moved(y, shift):
    return Surv.from_arrays(y["event"], y["time"] + shift)


def predicted(name, X, y, X_new=X_SMALL):
    return make_peer(name, random_state=0).fit(X, y).predict_quantiles(X_new, LEVELS)


@cache
def of_large_sample(name):
    X, y, *_ = sample(500, 0)
    return predicted(name, X, y, TEST[0])


@cache
def of_small_sample(name):
    return predicted(name, X_SMALL, Y_SMALL)


def test_a_quarter_of_the_sample_is_censored():
    assert 0.15 < 1 - sample(500, 0)[1]["event"].mean() < 0.35


@pytest.mark.parametrize("name", NAMES)
def test_predictions_have_the_shape_and_are_finite_and_increasing(name):
    values = of_large_sample(name)
    assert values.shape == (400, 3)
    assert values.dtype == np.float64
    assert np.isfinite(values).all()
    assert (np.diff(values, axis=1) >= 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_medians_are_in_the_order_of_the_true_ones(name):
    correlation = spearmanr(of_large_sample(name)[:, 1], TEST[3][:, 1]).statistic
    assert correlation > 0.8


@pytest.mark.parametrize("name", CENSORED)
def test_intervals_cover_about_as_often_as_they_say(name):
    low, _, high = of_large_sample(name).T
    # Eight in ten are nominal; a curve cannot say more than its last time at the upper end.
    assert 0.65 < np.mean((low <= TEST[2]) & (TEST[2] <= high)) < 0.95


# DeepHit is left out: it is trained for the order of rows more than for probabilities.
@pytest.mark.parametrize("name", [name for name in CENSORED if name != "pycox_deephit"])
def test_medians_of_methods_that_read_censoring_are_not_biased(name):
    error = np.log(of_large_sample(name)[:, 1]) - np.log(TEST[3][:, 1])
    assert abs(error.mean()) < 0.15


@pytest.mark.parametrize("name", NAIVE)
def test_methods_that_ignore_censoring_are_too_low_where_most_is_censored(name):
    X, y, *_ = sample(400, 4, censoring=0.6)
    assert y["event"].mean() < 0.45
    values = predicted(name, X, y, TEST[0])
    error = np.log(values) - np.log(TEST[3])
    assert error[:, 1].mean() < -0.3
    assert error[:, 2].mean() < -0.3
    assert np.mean(TEST[2] > values[:, 1]) > 0.7
    # A method that reads it is nearer by far, on the very same rows.
    reads = np.log(predicted("lifelines_lognormal", X, y, TEST[0])) - np.log(TEST[3])
    assert abs(reads[:, 1].mean()) < 0.15


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_predictions(name):
    np.testing.assert_array_equal(predicted(name, X_SMALL, Y_SMALL), of_small_sample(name))


@pytest.mark.parametrize("name", ["sksurv_forest", "pycox_deephit", "hazardous_boosting"])
def test_another_seed_gives_other_predictions(name):
    other = make_peer(name, random_state=1).fit(X_SMALL, Y_SMALL)
    assert (other.predict_quantiles(X_SMALL, LEVELS) != of_small_sample(name)).any()


@pytest.mark.parametrize("name", SHIFTED)
def test_times_later_by_a_constant_are_predicted_later_by_it(name):
    later = predicted(name, X_SMALL, moved(Y_SMALL, 64.0))
    np.testing.assert_allclose(later - 64.0, of_small_sample(name), atol=1e-8)


@pytest.mark.parametrize("name", NETWORKS)
def test_times_later_by_a_constant_move_a_network_by_its_rounding(name):
    later = predicted(name, X_SMALL, moved(Y_SMALL, 64.0))
    np.testing.assert_allclose(later - 64.0, of_small_sample(name), rtol=0.05)


@pytest.mark.parametrize("name", MOVED)
def test_where_times_must_be_moved_it_does_not_matter_where_they_start(name):
    one, other = (predicted(name, X_SMALL, moved(Y_SMALL, -shift)) for shift in (20.0, 52.0))
    assert Y_SMALL["time"].min() < 20.0
    np.testing.assert_allclose(one + 20.0, other + 52.0, rtol=1e-2)


@pytest.mark.parametrize("name", NAMES)
def test_times_of_zero_a_constant_column_and_a_repeated_one_are_no_obstacle(name):
    time = Y_SMALL["time"].copy()
    time[:2] = 0.0
    X = np.column_stack([X_SMALL, np.full(120, 7.0), X_SMALL[:, 0]])
    values = predicted(name, X, Surv.from_arrays(Y_SMALL["event"], time), X)
    assert np.isfinite(values).all()
    assert spearmanr(values[:, 1], X_SMALL[:, 0]).statistic > 0.4


def states():
    return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_the_callers_is_touched(name, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    before, threads = states(), torch.get_num_threads()
    handlers = list(logging.getLogger().handlers)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        predicted(name, X_SMALL, Y_SMALL)
    assert [str(warning.message) for warning in caught] == []
    assert states() == before
    assert torch.get_num_threads() == threads
    assert list(tmp_path.iterdir()) == []
    assert logging.getLogger().handlers == handlers
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", NETWORKS)
def test_a_last_batch_of_one_case_is_avoided(name, monkeypatch):
    X, y, *_ = sample(60, 5)
    y["event"] = True
    # 48 rows are trained on: batches of 47 would leave one over.
    monkeypatch.setattr(_pycox, "_BATCH_SIZE", 47)
    assert np.isfinite(predicted(name, X, y, X)).all()


def test_levels_off_the_grid_of_pairs_lie_between_its_levels():
    X, y, *_ = sample(200, 3)
    peer = make_peer("mapie_naive", random_state=0).fit(X, y)
    low, off, high = peer.predict_quantiles(X, [0.3, 0.33, 0.35]).T
    assert ((low <= off) & (off <= high)).all()


def test_the_note_on_crossed_bounds_stays_out_of_the_callers_log(caplog):
    X, y, *_ = sample(200, 3)
    peer = make_peer("mapie_naive", random_state=0).fit(X, y)
    with caplog.at_level(logging.INFO):
        peer.predict_quantiles(X, LEVELS)
        logging.getLogger().info("own")
    assert caplog.messages == ["own"]
