"""Weights of a pool: both scores as functions of the weights, the prior, the shrinkage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from censquant.estimators.ensemble._candidates import Candidate
from censquant.estimators.ensemble._mixture import LEVELS, Prediction
from censquant.estimators.ensemble._weights import (
    SCORES,
    BrierScore,
    HeldOutScore,
    LikelihoodPrior,
    LogScore,
    Quadratic,
    read_prior,
    shrunk_weights,
)
from censquant.metrics import brier_score
from censquant.metrics._log_score import log_losses
from censquant.quantiles import QuantileCurve
from censquant.survival import Target
from censquant.survival._cells import SMALLEST_CELL_CHANCE


def sample(n=300, seed=0, rate=1.0):
    rng = np.random.default_rng(seed)
    event_time, censoring = rng.exponential(1 / rate, size=n), rng.exponential(2.0, size=n)
    return Target(np.minimum(event_time, censoring), event_time <= censoring)


def exponential_rows(n, rate):
    return np.tile(-np.log1p(-LEVELS) / rate, (n, 1))


def test_the_score_of_rows_is_the_integrated_brier_score():
    target = sample()
    score = BrierScore.of(target, np.ones(len(target)))
    values = exponential_rows(len(target), 1.3)
    survival = QuantileCurve(values, LEVELS, 0.0).survival(score.grid)
    y = (target.time, target.event)
    expected = brier_score(y, survival, score.grid, y_train=y)
    own = score.weight @ score.rows(values, LEVELS, 0.0)
    assert own == pytest.approx(float(score.width @ expected), rel=1e-6)


@given(share=st.floats(0.0, 1.0), seed=st.integers(0, 20))
@settings(max_examples=20, deadline=None)
def test_the_quadratic_form_is_the_score_of_the_mean_curve(share, seed):
    target = sample(seed=seed)
    score = BrierScore.of(target, np.ones(len(target)))
    first, second = (exponential_rows(len(target), rate) for rate in (0.5, 2.0))
    form = score.quadratic(lambda rows: np.stack((first[rows], second[rows])), LEVELS, 0.0)
    weights = np.array([share, 1 - share])
    survival = sum(
        w * QuantileCurve(values, LEVELS, 0.0).survival(score.grid)
        for w, values in zip(weights, (first, second), strict=True)
    )
    known, alive = score._known(slice(None))
    direct = score.weight @ (known * (survival - alive) ** 2).sum(axis=1)
    assert form(weights) == pytest.approx(direct, rel=1e-9)
    step = 1e-6
    slope = [
        (form(weights + step * unit) - form(weights - step * unit)) / (2 * step)
        for unit in np.eye(2)
    ]
    np.testing.assert_allclose(form.gradient(weights), slope, rtol=1e-5, atol=1e-8)


def weights_of(kind, target, prior, *values):
    """Return the weights of candidates that predict some quantiles."""
    score = HeldOutScore.of(kind, target, np.ones(len(target)))
    values_of = lambda rows: np.stack([own[rows] for own in values])  # noqa: E731
    return score.weights(values_of, LEVELS, 0.0, np.array(prior))


def test_the_log_score_of_rows_is_that_of_their_curves_per_event():
    target = sample()
    score = LogScore.of(target, np.ones(len(target)))
    values = exponential_rows(len(target), 1.3)
    curve = QuantileCurve(values, LEVELS, 0.0)
    ends = np.unique(np.concatenate((score.sets.lower, score.sets.upper))[np.tile(target.event, 2)])
    expected = log_losses(target, ends[np.isfinite(ends)], curve.cdf)
    own = score.rows(values, LEVELS, 0.0) * score.event_share
    np.testing.assert_allclose(own, expected, rtol=1e-9)


@given(share=st.floats(0.01, 0.99), seed=st.integers(0, 20))
@settings(max_examples=20, deadline=None)
def test_the_log_score_of_a_mean_is_that_of_the_mean_of_chances(share, seed):
    target = sample(1_200, seed=seed)  # of more than one block
    score = LogScore.of(target, np.ones(len(target)))
    values = [exponential_rows(len(target), rate) for rate in (0.5, 2.0)]
    form = score.of_mean(lambda rows: np.stack([own[rows] for own in values]), LEVELS, 0.0)
    weights = np.array([share, 1 - share])
    chances = [score.sets.chances(QuantileCurve(own, LEVELS, 0.0).cdf) for own in values]
    chance = np.maximum(weights @ np.stack(chances), SMALLEST_CELL_CHANCE)
    direct = -np.log(chance).mean() * len(target) / target.n_events
    assert form(weights) == pytest.approx(direct, rel=1e-9)
    step = 1e-6
    slope = [
        (form(weights + step * unit) - form(weights - step * unit)) / (2 * step)
        for unit in np.eye(2)
    ]
    np.testing.assert_allclose(form.gradient(weights), slope, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("unit", [1.0, 0.3, 365.25])
def test_a_jump_counts_at_the_tied_time_of_events_although_predictions_are_rounded(unit):
    time = np.repeat([1.1, 2.3, 3.7, 4.1, 5.9], 4)
    target, weight = Target(time, np.ones(20, bool)), np.ones(20)
    candidate = Candidate("certain", None, np.random.SeedSequence(0), unit)
    certain = np.repeat(time[:, None], len(LEVELS), axis=1)
    candidate._keep_prediction(20, (0, np.arange(20)), Prediction(certain, None))
    kept = candidate.held_out(slice(None)).values
    np.testing.assert_allclose(kept, certain, rtol=1e-6)
    assert (LogScore.of(target, weight).rows(kept, LEVELS, 0.0) < 1e-9).all()
    assert (BrierScore.of(target, weight).rows(kept, LEVELS, 0.0) < 1e-9).all()


def test_with_many_events_the_better_candidate_wins():
    target = sample(4000)
    right, wrong = (exponential_rows(len(target), rate) for rate in (1.0, 4.0))
    for kind in SCORES:
        assert weights_of(kind, target, [0.2, 0.8], right, wrong)[0] > 0.95, kind


def test_the_log_score_finds_the_law_where_follow_up_depends_on_the_features():
    # Half of the rows are followed for a short time only, and these live long: of one censoring
    # curve for all, the Brier score takes a law for right that is too early for them.
    rng = np.random.default_rng(0)
    n = 6_000
    is_long = np.arange(n) % 2 == 0
    rate = np.where(is_long, 0.3, 1.5)
    event_time = rng.exponential(1.0 / rate)
    followed = np.where(is_long, rng.uniform(0.0, 1.0, n), rng.uniform(1.0, 4.0, n))
    target = Target(np.minimum(event_time, followed), event_time <= followed)
    truth = -np.log1p(-LEVELS) / rate[:, None]
    wrong = -np.log1p(-LEVELS) / np.where(is_long, 0.5, 1.5)[:, None]
    found = {kind: weights_of(kind, target, [0.5, 0.5], truth, wrong)[0] for kind in SCORES}
    assert found["log"] > 0.8
    assert found["brier"] < 0.2


def test_without_events_the_prior_stands():
    form = Quadratic(np.diag([1.0, 1.0]), np.zeros(2), 1.0)
    weights = shrunk_weights(form, np.array([0.3, 0.7]), 0)
    np.testing.assert_allclose(weights, [0.3, 0.7], atol=0.06)


@given(seed=st.integers(0, 200), k=st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_weights_lie_on_the_simplex_and_small_ones_are_zero(seed, k):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(k, k))
    form = Quadratic(root @ root.T, rng.normal(size=k), 10.0)
    weights = shrunk_weights(form, rng.dirichlet(np.ones(k)), 100)
    assert weights.sum() == pytest.approx(1.0)
    assert ((weights == 0) | (weights >= 0.01)).all()


def test_the_likelihood_decides_between_families_and_others_keep_a_small_share():
    rng = np.random.default_rng(0)
    base = rng.normal(size=400)
    likelihood = {"good": base, "bad": base - 0.1, "trees": None}
    prior = LikelihoodPrior()(["good", "bad", "trees"], likelihood)
    assert prior[0] > 0.9
    assert prior[1] < prior[2] * 2
    assert prior[2] == pytest.approx(0.07 / 3.07)


def test_one_impossible_row_does_not_decide_the_prior():
    likelihood = {"a": np.zeros(50), "b": np.zeros(50)}
    likelihood["b"] = likelihood["b"].copy()
    likelihood["b"][0] = -1e6
    prior = LikelihoodPrior()(["a", "b"], likelihood)
    assert prior[1] > 0.15


def test_a_follower_has_the_weight_of_its_leader_and_a_bonus():
    rule = LikelihoodPrior(follows={"close": "smooth"})
    prior = rule(["smooth", "close"], {"smooth": np.zeros(9), "close": np.full(9, 99.0)})
    assert prior[1] / prior[0] == pytest.approx(3.1 / 3.0)


def test_a_fixed_prior_needs_a_weight_for_each_candidate():
    with pytest.raises(ValueError, match=r"^prior must have a weight for each of \['a', 'b'\]"):
        read_prior({"a": 1.0}, ["a", "b"])
    with pytest.raises(ValueError, match=r"^prior\['a'\] must be"):
        read_prior({"a": 0.0, "b": 1.0}, ["a", "b"])
    assert read_prior({"a": 1.0, "b": 3.0}, ["a", "b"])(["a", "b"], {}).tolist() == [
        0.25,
        0.75,
    ]
