import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from censquant.metrics import bootstrap_interval, integrated_brier_score, log_score
from censquant.metrics._counts import counting
from censquant.quantiles import QuantileCurve
from censquant.survival import kaplan_meier, read_target
from censquant.survival._cells import cells_of_events

TAUS = np.arange(1, 40) / 40
TIMES = np.linspace(0.1, 1.5, 30)
CENSORING = {
    "independent": lambda rng, x: rng.exponential(1.5, len(x)),
    "by calendar year": lambda rng, x: 2.2 * x + 0.2 * rng.exponential(size=len(x)),
    "healthier leave earlier": lambda rng, x: rng.exponential(3.0 * np.exp(-2.0 * x)),
    "one half early": lambda rng, x: rng.exponential(np.where(x < 0.5, 0.6, 10.0)),
}


def simulated(n, seed, censoring="independent"):
    """Rows whose event times grow with x; censoring depends on x alone."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=n)
    latent, end = np.exp(0.5 * x) * rng.weibull(1.5, n), CENSORING[censoring](rng, x)
    return x, (np.minimum(latent, end), latent <= end)


def quantiles(scale, shape=1.5):
    return scale[:, None] * (-np.log1p(-TAUS)) ** (1 / shape)


def survival(scale, shape=1.5):
    return np.exp(-((TIMES / scale[:, None]) ** shape))


def wrong_laws(x):
    """Scales and shapes that differ from the true ones, for all rows or for some."""
    scale = np.exp(0.5 * x)
    return {
        "too early": (0.85 * scale, 1.5),
        "too late": (1.18 * scale, 1.5),
        "too early for some": (scale * np.where(x < 0.5, 0.8, 1.0), 1.5),
        "too late for some": (scale * np.where(x < 0.5, 1.25, 1.0), 1.5),
        "too narrow": (scale, 1.9),
        "too wide": (scale, 1.2),
        "blind": (np.full_like(x, np.exp(0.25)), 1.5),
    }


@pytest.mark.parametrize("censoring", CENSORING)
def test_the_true_law_scores_best_whatever_censoring_depends_on(censoring):
    x, y = simulated(20_000, 0, censoring)
    best = log_score(y, quantiles(np.exp(0.5 * x)), TAUS)
    scores = {name: log_score(y, quantiles(*law), TAUS) for name, law in wrong_laws(x).items()}
    assert min(scores.values()) > best + 0.002, scores


def test_the_brier_score_by_kaplan_meier_weights_prefers_a_wrong_law_where_the_log_score_does_not():
    x, y = simulated(20_000, 0, "one half early")
    true, wrong = np.exp(0.5 * x), wrong_laws(x)["too early for some"][0]
    brier = [integrated_brier_score(y, survival(scale), TIMES) for scale in (true, wrong)]
    assert brier[1] < 0.99 * brier[0]
    assert log_score(y, quantiles(true), TAUS) < log_score(y, quantiles(wrong), TAUS)


def by_hand(y, predicted, lower=-np.inf, y_train=None, n_cells=40):
    """The score row by row, slowly."""
    target = read_target(y)
    ends = cells_of_events(target if y_train is None else read_target(y_train), n_cells=n_cells)
    curve = QuantileCurve(predicted, TAUS, lower)
    losses = []
    for row, (time, event) in enumerate(zip(target.time, target.event, strict=True)):
        above, below = ends[ends >= time], ends[ends < time]
        high = curve.take([row]).cdf([above[0]])[0] if len(above) else 1.0
        low = curve.take([row]).cdf([below[-1]])[0] if len(below) else 0.0
        chance = high - low if event else 1.0 - curve.take([row]).cdf([time])[0]
        losses.append(-np.log(max(chance, 1e-4)))
    return np.mean(losses)


@pytest.mark.parametrize("n_cells", [1, 5, 40])
def test_an_event_scores_by_its_cell_and_a_censored_row_by_its_survival(n_cells):
    x, y = simulated(60, 1)
    _, train = simulated(50, 2)
    predicted = quantiles(np.exp(0.5 * x))
    score = log_score(y, predicted, TAUS, n_cells=n_cells, lower=0.0)
    assert score == pytest.approx(by_hand(y, predicted, 0.0, n_cells=n_cells), rel=1e-12)
    score = log_score(y, predicted, TAUS, n_cells=n_cells, y_train=train)
    expected = by_hand(y, predicted, y_train=train, n_cells=n_cells)
    assert score == pytest.approx(expected, rel=1e-12)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_weight_of_k_counts_as_k_equal_rows(seed):
    x, (time, event) = simulated(40, seed)
    predicted = quantiles(np.exp(0.5 * x))
    copies = np.random.default_rng(seed).integers(0, 4, size=40)
    if not event[copies > 0].any():
        return
    score = log_score((time, event), predicted, TAUS, sample_weight=copies)
    rows = np.repeat(np.arange(40), copies)
    copied = log_score((time[rows], event[rows]), predicted[rows], TAUS)
    assert score == pytest.approx(copied, rel=1e-12)


@pytest.mark.parametrize("unit", [1 / 365.25, 3.0, 86_400.0])
def test_the_unit_of_time_does_not_matter(unit):
    x, (time, event) = simulated(200, 3)
    predicted = quantiles(np.exp(0.5 * x))
    score = log_score((time, event), predicted, TAUS)
    assert log_score((unit * time, event), unit * predicted, TAUS) == pytest.approx(score, rel=1e-9)


@pytest.mark.parametrize("training", [True, False])
def test_draws_by_counts_have_the_scores_of_the_drawn_rows(training):
    x, (time, event) = simulated(80, 4)
    predicted = quantiles(np.exp(0.4 * x))
    options = {"y_train": simulated(50, 5)[1]} if training else {}
    counted = counting(log_score)((time, event), predicted, TAUS, **options)
    counts = np.random.default_rng(0).poisson(1.0, size=(80, 6)).astype(float)
    for score, column in zip(counted.scores(counts), counts.T, strict=True):
        rows = np.repeat(np.arange(80), column.astype(int))
        expected = log_score((time[rows], event[rows]), predicted[rows], TAUS, **options)
        assert score == pytest.approx(expected, rel=1e-12)


def test_no_row_costs_more_than_the_smallest_chance():
    y = ([1.0, 2.0, 3.0], [True, True, False])
    impossible = [[7.0, 8.0], [7.0, 8.0], [0.1, 0.2]]
    score = log_score(y, impossible, [0.25, 0.75], lower=0.0)
    assert score <= -np.log(1e-4)
    assert score > 5.0


def test_one_curve_for_all_scores_about_the_logarithm_of_the_number_of_cells():
    _, y = simulated(5_000, 6)
    events = y[0], np.ones(5_000, bool)
    curve = kaplan_meier(*events)
    predicted = np.tile(curve.quantile(TAUS), (5_000, 1))
    # The last of forty cells is halved a few times, which costs a little more.
    assert log_score(events, predicted, TAUS) == pytest.approx(np.log(40), abs=0.06)


def test_a_paired_interval_finds_the_better_law():
    x, y = simulated(2_000, 7, "healthier leave earlier")
    true, blind = quantiles(np.exp(0.5 * x)), quantiles(np.full(2_000, np.exp(0.25)))
    found = bootstrap_interval(log_score, y, true, TAUS, other=blind, y_train=y, random_state=0)
    assert found.upper < 0
    assert found.p_value < 0.02


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_cells": 0}, "n_cells must be at least 1, got 0."),
        ({"lower": np.nan}, "lower must be finite and inside (-inf, inf), got nan."),
        (
            {"taus": [0.5]},
            "taus must hold two levels or more, since the level of a time is read between "
            "quantiles, got 1.",
        ),
    ],
)
def test_what_has_no_score_is_refused(options, message):
    options = {"taus": [0.25, 0.75], **options}
    taus = options.pop("taus")
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        log_score([1.0, 2.0], [[1.0, 2.0][: len(taus)]] * 2, taus, **options)
