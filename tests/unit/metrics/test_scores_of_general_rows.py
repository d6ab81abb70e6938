"""Scores of predictions for intervals and rows with delayed entry."""

import re

import numpy as np
import pytest
from scipy.stats import norm

from censquant import AFTRegressor, Surv
from censquant.metrics import (
    bootstrap_interval,
    concordance_index,
    evaluate,
    log_score,
    pinball_loss_ipcw,
)
from censquant.metrics._distortion import fit_general_distortion
from censquant.quantiles import QuantileCurve
from censquant.survival import read_target

INF = np.inf
TAUS = np.arange(1, 40) / 40


def made(n, seed, *, late=False, width=0.0):
    """Feature, target and true locations of log-normal times, perhaps seen late or in intervals."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=6 * n)
    time = np.exp(1 + 0.8 * x + 0.5 * rng.normal(size=6 * n))
    entry = rng.exponential(2.0, 6 * n) if late else np.zeros(6 * n)
    seen = np.flatnonzero(time > entry)[:n]
    x, time, entry = x[seen], time[seen], entry[seen]
    end = entry + rng.exponential(10.0, n)
    lower, upper = np.minimum(time, end), np.where(time <= end, time, INF)
    if width:
        known = time <= end
        lower = np.where(known, np.maximum(np.floor(time / width) * width, entry), lower)
        upper = np.where(known, (np.floor(time / width) + 1) * width, upper)
    return x, Surv.from_intervals(lower, upper, entry=entry if late else None)


def quantiles(x, shift=0.0, spread=1.0):
    return np.exp(1 + shift + 0.8 * x[:, None] + 0.5 * spread * norm.ppf(TAUS))


@pytest.mark.parametrize("options", [{"late": True}, {"width": 2.0}, {"late": True, "width": 1.0}])
def test_the_true_distribution_has_the_best_log_score(options):
    x, y = made(4_000, seed=0, **options)
    scores = {
        change: log_score(y, quantiles(x, *change), TAUS, lower=0.0)
        for change in ((0.0, 1.0), (0.25, 1.0), (-0.25, 1.0), (0.0, 1.6), (0.0, 0.6))
    }
    assert min(scores, key=scores.get) == (0.0, 1.0)


def test_the_log_score_is_that_of_intervals_given_the_entry():
    y = Surv.from_intervals([1.0, 0.0, 3.0], [2.0, 1.0, INF], entry=[0.5, 0.0, 1.0])
    predicted = np.tile([1.0, 2.0, 4.0], (3, 1))
    curve = QuantileCurve(predicted, [0.25, 0.5, 0.75], 0.0)
    at = lambda t: curve.cdf(np.full(3, t))[0]  # noqa: E731
    chances = [(at(2) - at(1)) / (1 - at(0.5)), at(1), (1 - at(3)) / (1 - at(1))]
    found = log_score(y, predicted, [0.25, 0.5, 0.75], lower=0.0)
    assert found == pytest.approx(-np.log(chances).mean())


def test_rows_that_are_plain_in_fact_score_as_plain_rows():
    x, y = made(200, seed=1)
    plain = (y["lower"], np.isfinite(y["upper"]))
    values = quantiles(x)
    assert log_score(y, values, TAUS) == log_score(plain, values, TAUS)
    assert concordance_index(y, x) == concordance_index(plain, x)


@pytest.mark.parametrize("options", [{"late": True}, {"width": 1.5}, {"late": True, "width": 1.5}])
def test_pairs_are_those_of_which_one_is_known_to_outlive_the_other(options):
    x, y = made(80, seed=2, **options)
    x = x.round(1)  # with ties
    weight = np.arange(80) % 3 + 1.0
    entry = y["entry"] if "late" in options else np.zeros(80)
    in_order = comparable = 0.0
    for i in np.flatnonzero(np.isfinite(y["upper"])):
        for j in range(80):
            at, exact = y["upper"][i], y["lower"][j] == y["upper"][j]
            outlived = y["lower"][j] > at or (y["lower"][j] == at and not exact)
            if outlived and entry[j] < at:
                comparable += weight[i] * weight[j]
                in_order += weight[i] * weight[j] * ((x[j] > x[i]) + 0.5 * (x[j] == x[i]))
    found = concordance_index(y, x, sample_weight=weight)
    assert found == pytest.approx(in_order / comparable)


def test_one_entry_at_the_start_changes_no_pair():
    # The pairs of the general count are those of the count for plain rows.
    x, y = made(150, seed=3)
    lower, upper = y["lower"].copy(), y["upper"].copy()
    first = np.flatnonzero(np.isfinite(upper))[np.argmin(upper[np.isfinite(upper)])]
    late = np.zeros(150)
    late[first] = 1e-9
    general = Surv.from_intervals(lower, upper, entry=late)
    assert concordance_index(general, x) == pytest.approx(
        concordance_index((lower, np.isfinite(upper)), x)
    )


@pytest.mark.parametrize("options", [{"late": True}, {"width": 2.0}])
def test_evaluate_shows_what_is_known_of_such_rows(options):
    x, y = made(500, seed=4, **options)
    X = x[:, None]
    model = AFTRegressor(distribution="lognormal").fit(X[:250], y[:250])
    result = evaluate(model, y[:250], X[250:], y[250:], n_resamples=20)
    names = [row.metric for row in result.rows]
    assert names[0] == "log_score"
    assert {"concordance_index", "concordance_restricted_mean", "pit_deviation"} <= set(names)
    assert not any("brier" in name or "pinball" in name or "crps" in name for name in names)
    assert result["log_score"].lower < result["log_score"].value < result["log_score"].upper
    assert result["pit_deviation"].value < 0.12
    assert result["calibration_p_value"].value > 0.001
    assert result.verdict.startswith("The individuals are ranked better than chance")
    assert model.score(X[250:], y[250:]) == pytest.approx(
        result["concordance_restricted_mean"].value, abs=0.02
    )


@pytest.mark.parametrize("options", [{"late": True}, {"width": 2.0}, {"late": True, "width": 1.5}])
def test_the_verdict_knows_which_way_predictions_are_wrong(options):
    x, y = made(1_000, seed=5, **options)

    def said(*change):
        return evaluate(quantiles(x, *change), y, None, y, taus=TAUS, n_resamples=2)

    right, late, narrow = said(), said(0.3), said(0.0, 0.5)
    assert right["pit_deviation"].value < 0.04
    assert "they are too late" in late.verdict
    assert late["pit_deviation"].value > 0.1
    assert "they are too narrow" in narrow.verdict
    assert not narrow.is_calibrated


def test_the_test_of_calibration_keeps_its_size():
    values = []
    for seed in range(60):
        x, y = made(150, seed=100 + seed, late=True, width=1.0 if seed % 2 else 0.0)
        target = read_target(y, accepts=("interval", "delayed_entry"))
        curve = QuantileCurve.from_predictions(quantiles(x), TAUS, 0.0)
        values.append(fit_general_distortion(target, curve)[1])
    assert np.mean(np.array(values) < 0.05) < 0.15
    assert 0.35 < np.mean(values) < 0.65


def test_intervals_of_scores_are_those_of_draws_of_such_rows():
    x, y = made(60, seed=7, late=True, width=1.5)
    found = bootstrap_interval(log_score, y, quantiles(x), TAUS, n_resamples=30, random_state=0)
    assert found.lower < found.value < found.upper
    drawn = np.random.default_rng(1).integers(60, size=60)
    counts = np.bincount(drawn, minlength=60).astype(float)
    assert concordance_index(y, x, sample_weight=counts) == pytest.approx(
        concordance_index(y[drawn], x[drawn])
    )
    with pytest.raises(ValueError, match="got one with interval censoring in"):
        bootstrap_interval(lambda y, p: 0.0, y, x)


def test_scores_that_need_weights_refuse_such_rows():
    x, y = made(50, seed=6, width=2.0)
    with pytest.raises(ValueError, match="got one with interval censoring in"):
        pinball_loss_ipcw(y, quantiles(x), TAUS)
    message = (
        "y_test must have one time in each row for a model of censoring='left' or with "
        "censoring_model, got intervals or entries in 50 rows: these are scored without a model "
        "of the censoring, and as right-censored."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        evaluate(quantiles(x), y, None, y, taus=TAUS, censoring_model=object())
    message = (
        "censoring must be 'right' where rows have intervals or entries, got 'left': give "
        "left-censored rows as intervals with lower=0."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        concordance_index(y, x, censoring="left")


def test_levels_times_and_weights_are_for_plain_rows_and_groups_for_all():
    x, y = made(200, seed=1, late=True)
    options = {"taus": TAUS, "n_resamples": 20, "random_state": 0}
    with pytest.raises(ValueError, match=r"^at, by and sample_weight must be None for rows"):
        evaluate(quantiles(x), y, None, y, at=2.0, **options)
    row, together = (
        evaluate(quantiles(x), y, None, y, groups=groups, **options)["log_score"]
        for groups in (None, np.arange(200) // 20)
    )
    assert together.value == row.value
    assert (together.lower, together.upper) != (row.lower, row.upper)
