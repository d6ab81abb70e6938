"""Scores whose weights come from a model of the censoring time of each row."""

import re

import numpy as np
import pytest

from censquant import CoxQuantileRegressor
from censquant.exceptions import TruncationWarning
from censquant.metrics import (
    brier_score,
    crps_censored,
    evaluate,
    integrated_brier_score,
    pinball_loss_censored,
    pinball_loss_ipcw,
)
from censquant.metrics._censoring_model import RowCensoring
from censquant.metrics._counts import counting
from censquant.quantiles import QuantileCurve

TAUS = np.arange(1, 40) / 40
LEVELS = np.concatenate((np.arange(1, 100) / 100, [0.993, 0.996, 0.998, 0.999]))
TIMES = np.linspace(0.1, 1.5, 30)


def simulated(n, seed):
    """Rows of which one half is censored early; their event times are all alike."""
    rng = np.random.default_rng(seed)
    is_early = rng.integers(0, 2, size=n) == 0
    latent, rate = rng.weibull(1.5, n), np.where(is_early, 0.6, 10.0)
    end = rng.exponential(rate)
    return is_early, (np.minimum(latent, end), latent <= end), rate


def exponential(rate):
    """Exact distributions of exponential times."""
    return QuantileCurve(rate[:, None] * -np.log1p(-LEVELS), LEVELS, lower=0.0)


def quantiles(scale):
    return scale[:, None] * (-np.log1p(-TAUS)) ** (1 / 1.5)


def survival(scale):
    return np.exp(-((TIMES / scale[:, None]) ** 1.5))


SCORES = {
    "Brier": lambda y, s, **own: integrated_brier_score(y, survival(s), TIMES, **own),
    "pinball, ipcw": lambda y, s, **own: pinball_loss_ipcw(y, quantiles(s), TAUS, **own),
    "pinball": lambda y, s, **own: pinball_loss_censored(y, quantiles(s), TAUS, **own),
    "CRPS": lambda y, s, **own: crps_censored(y, quantiles(s), TAUS, **own),
}


@pytest.mark.parametrize("name", SCORES)
def test_the_true_law_scores_best_by_the_right_model_and_not_by_kaplan_meier(name):
    is_early, y, rate = simulated(20_000, 0)
    factors = (0.8, 1.0, 1.25)
    laws = [np.where(is_early, factor, 1.0) for factor in factors]
    score = SCORES[name]
    modelled = [score(y, law, censoring_model=exponential(rate)) for law in laws]
    common = [score(y, law) for law in laws]
    assert np.argmin(modelled) == 1
    assert np.argmin(common) == 0


def test_a_fitted_model_of_the_censoring_time_does_as_well():
    is_early, y, _ = simulated(22_000, 1)
    X = np.column_stack((is_early, np.random.default_rng(0).normal(size=22_000)))
    both = slice(0, 2_000), slice(2_000, None)
    parts = [(X[rows], (y[0][rows], y[1][rows])) for rows in both]
    (X_train, (time, event)), (X_test, y_test) = parts
    model = CoxQuantileRegressor(penalty=0).fit(X_train, (time, ~event))
    curve = model.predict_curve(X_test)
    true, wrong = (np.where(X_test[:, 0] == 1, factor, 1.0) for factor in (1.0, 0.8))
    for score in SCORES.values():
        assert score(y_test, true, censoring_model=curve) < score(
            y_test, wrong, censoring_model=curve
        )


@pytest.mark.parametrize("name", SCORES)
def test_a_model_that_is_the_same_for_all_rows_scores_like_the_curve_of_all_rows(name):
    rng = np.random.default_rng(2)
    latent, end = rng.weibull(1.5, 20_000), rng.exponential(2.0, 20_000)
    y, scale = (np.minimum(latent, end), latent <= end), np.full(20_000, 1.1)
    curve = exponential(np.full(20_000, 2.0))
    expected = SCORES[name](y, scale)
    assert SCORES[name](y, scale, censoring_model=curve) == pytest.approx(expected, rel=0.01)


def awkward(n=30, seed=3):
    """Rows with their censoring curves, some of which have jumps."""
    rng = np.random.default_rng(seed)
    time, event = rng.uniform(0.2, 2.0, n), rng.random(n) < 0.6
    values = np.round(np.sort(rng.uniform(0.5, 2.5, (n, 6)), axis=1), 1)
    curve = QuantileCurve(values, [0.05, 0.2, 0.4, 0.6, 0.8, 0.9], lower=0.0)
    return (time, event), curve, np.sort(rng.uniform(0.1, 3.0, (n, 3)), axis=1)


@pytest.mark.filterwarnings("ignore::censquant.exceptions.TruncationWarning")
def test_the_scores_are_those_of_their_formulas_row_by_row():
    (time, event), curve, predicted = awkward()
    taus, grid = [0.2, 0.5, 0.7], np.array([0.4, 0.9, 1.3])
    chances = np.sort(np.random.default_rng(4).random((30, 3)), axis=1)[:, ::-1]

    def followed(row, at):
        return max(1.0 - curve.take([row]).cdf([at])[0], 0.02)

    def before(row, at):
        return followed(row, at - 1e-12)

    brier, pinball, censored = [], [], []
    for row in range(30):
        t, d = time[row], event[row]
        brier.append(
            [
                (1 - s) ** 2 / followed(row, at) if t > at else d * s**2 / before(row, t)
                for at, s in zip(grid, chances[row], strict=True)
            ]
        )
        cut = min(t, 1.2)
        errors = [(cut - min(q, 1.2)) for q in predicted[row]]
        losses = [e * (tau - (e < 0)) for e, tau in zip(errors, taus, strict=True)]
        pinball.append((d or t >= 1.2) * np.mean(losses) / before(row, cut))
        under = [tau * max(t - q, 0.0) for q, tau in zip(predicted[row], taus, strict=True)]
        over = []
        for q, tau in zip(predicted[row], taus, strict=True):
            at = np.linspace(t, max(q, t), 20_001)
            chance = 1.0 - curve.take([row]).cdf(at[None, :])[0]
            over.append(d * (1 - tau) * np.trapezoid(chance, at) / before(row, t))
        censored.append(np.mean(np.add(under, over)))
    own = {"censoring_model": curve}
    y = (time, event)
    found = brier_score(y, chances, grid, **own)
    np.testing.assert_allclose(found, np.mean(brier, axis=0), rtol=1e-9)
    integral = np.trapezoid(np.mean(brier, axis=0), grid) / (grid[-1] - grid[0])
    assert integrated_brier_score(y, chances, grid, **own) == pytest.approx(integral, rel=1e-9)
    found = pinball_loss_ipcw(y, predicted, taus, truncation=1.2, **own)
    assert found == pytest.approx(np.mean(pinball), rel=1e-9)
    found = pinball_loss_censored(y, predicted, taus, **own)
    assert found == pytest.approx(np.mean(censored), rel=1e-4)


def test_areas_are_integrals_of_the_chances_also_outside_of_the_levels():
    _, curve, _ = awkward()
    censoring = RowCensoring(curve)
    ends = np.tile([0.01, 0.3, 1.1, 2.4, 6.0], (30, 1))
    at = np.linspace(-0.5, ends, 40_001)
    chance = np.stack([1.0 - curve.cdf(column.T) for column in at.transpose(2, 0, 1)], axis=2)
    expected = np.trapezoid(chance, at.transpose(1, 0, 2), axis=1)
    found = censoring.area_between(np.full(30, -0.5), ends)
    np.testing.assert_allclose(found, expected, atol=2e-4)


@pytest.mark.filterwarnings("ignore::censquant.exceptions.TruncationWarning")
def test_weights_and_draws_count_rows_as_their_copies():
    y, curve, predicted = awkward()
    chances = np.sort(np.random.default_rng(5).random((30, 2)), axis=1)[:, ::-1]
    copies = np.random.default_rng(6).integers(0, 4, size=30)
    rows = np.repeat(np.arange(30), copies)
    training = awkward(seed=7)[0]
    copied = y[0][rows], y[1][rows]
    for metric, one, *others in (
        (integrated_brier_score, chances, [0.5, 1.0]),
        (pinball_loss_ipcw, predicted, [0.2, 0.5, 0.8]),
        (pinball_loss_censored, predicted, [0.2, 0.5, 0.8]),
        (crps_censored, predicted, [0.2, 0.5, 0.8]),
    ):
        own = {"y_train": training, "censoring_model": curve}
        again = {"y_train": training, "censoring_model": curve.take(rows)}
        expected = metric(copied, one[rows], *others, **again)
        found = metric(y, one, *others, sample_weight=copies, **own)
        assert found == pytest.approx(expected, rel=1e-12)
        draws = counting(metric)(y, one, *others, **own).scores(copies[:, None].astype(float))
        assert draws == pytest.approx([expected], rel=1e-12)


def test_rows_that_are_followed_to_a_common_end_do_not_lose_their_chance_there():
    # All are censored at 1 at the latest: just before, each has a chance of one half.
    rng = np.random.default_rng(8)
    latent, end = rng.uniform(0, 3, 2_000), np.minimum(rng.uniform(0, 2, 2_000), 1.0)
    y = (np.minimum(latent, end), latent <= end)
    levels = np.concatenate((np.arange(1, 51) / 100, [0.6, 0.8, 0.95]))
    curve = QuantileCurve(np.tile(np.minimum(2 * levels, 1.0), (2_000, 1)), levels, lower=0.0)
    predicted = np.tile([0.6, 1.5], (2_000, 1))
    found = pinball_loss_ipcw(y, predicted, [0.2, 0.5], censoring_model=curve)
    assert found == pytest.approx(pinball_loss_ipcw(y, predicted, [0.2, 0.5]), rel=0.05)


def hardly_followed(n, seed):
    """Rows of which one half is censored almost at once."""
    rng = np.random.default_rng(seed)
    rate = np.where(rng.random(n) < 0.5, 0.05, 10.0)
    latent, end = rng.weibull(1.5, n), rng.exponential(rate)
    return (np.minimum(latent, end), latent <= end), exponential(rate)


def test_weights_that_rest_on_few_rows_or_do_not_stand_for_all_are_warned_of():
    y, curve = hardly_followed(1_000, 9)
    survived = survival(np.ones(1_000))
    message = (
        r"^The weights by censoring_model are unreliable: [\d.]+ % of the rows carry half of the "
        r"weight, and all together stand for [56]\d % of the rows; score earlier times only, or "
        r"use log_score, which needs no weights\.$"
    )
    own = {"censoring_model": curve}
    with pytest.warns(TruncationWarning, match=message):
        integrated_brier_score(y, survived, TIMES, **own)
    with pytest.warns(TruncationWarning, match=message):
        brier_score(y, survived, TIMES, **own)
    with pytest.warns(TruncationWarning, match=message):
        pinball_loss_ipcw(y, [[1.0]] * 1_000, [0.5], **own)
    early = np.array([0.02, 0.04, 0.06])
    brier_score(y, np.exp(-(np.tile(early, (1_000, 1)) ** 1.5)), early, **own)
    # Nine in ten are censored, whatever their features are.
    rng = np.random.default_rng(9)
    latent, end = rng.exponential(1.0, 1_000), rng.exponential(0.1, 1_000)
    curve, y = exponential(np.full(1_000, 0.1)), (np.minimum(latent, end), latent <= end)
    message = r"unreliable: [0-2](\.\d)? % of the rows carry half of the weight"
    with pytest.warns(TruncationWarning, match=message):
        pinball_loss_ipcw(y, [[1.0]] * 1_000, [0.5], truncation=0.35, censoring_model=curve)


@pytest.mark.parametrize(
    ("model", "kind", "message"),
    [
        (
            CoxQuantileRegressor(),
            TypeError,
            "censoring_model must be a QuantileCurve of the censoring times with two levels or "
            "more, such as predict_curve(X) of an estimator fitted to (time, ~event), got "
            "CoxQuantileRegressor().",
        ),
        (
            QuantileCurve([[1.0, 2.0]], [0.2, 0.8]),
            ValueError,
            "censoring_model must have one distribution for each row of y, 2, got 1.",
        ),
    ],
)
def test_what_is_no_model_of_the_rows_is_refused(model, kind, message):
    y, own = ([1.0, 2.0], [True, True]), {"censoring_model": model}
    with pytest.raises(kind, match="^" + re.escape(message) + "$"):
        pinball_loss_ipcw(y, [[1.0], [2.0]], [0.5], **own)
    with pytest.raises(kind, match="^" + re.escape(message) + "$"):
        pinball_loss_censored(y, [[1.0], [2.0]], [0.5], **own)
    with pytest.raises(kind, match="^" + re.escape(message) + "$"):
        brier_score(y, [[0.5], [0.5]], [1.5], **own)


class TrueLaw:
    """Of times that do not depend on the feature."""

    def predict_quantiles(self, X, levels):
        return quantiles_at(np.ones(len(X)), levels)


class Censored:
    """Knows how the rows are censored."""

    def predict_quantiles(self, X, levels):
        return X[:, 1:] * -np.log1p(-np.asarray(levels))


def quantiles_at(scale, levels):
    return scale[:, None] * (-np.log1p(-np.asarray(levels))) ** (1 / 1.5)


def test_evaluate_takes_a_fitted_model_of_the_censoring_time():
    is_early, y, rate = simulated(1_000, 10)
    X = np.column_stack((is_early, rate))
    own = {"taus": TAUS, "n_resamples": 10}
    result = evaluate(TrueLaw(), y, X, y, censoring_model=Censored(), **own)
    modelled = [row for row in result.rows if "censoring by censoring_model" in row.note]
    assert [row.metric for row in modelled] == [
        "pinball_loss_censored",
        "pinball_loss_ipcw",
        "crps_censored",
        "integrated_brier_score",
    ]
    assert all(row.lower <= row.value <= row.upper for row in modelled)
    curve = QuantileCurve(Censored().predict_quantiles(X, LEVELS), LEVELS, lower=0.0)
    expected = pinball_loss_ipcw(y, quantiles(np.ones(1_000)), TAUS, censoring_model=curve)
    assert result["pinball_loss_ipcw"].value == pytest.approx(expected, rel=0.02)
    doubted = [row.metric for row in result.rows if "may be biased" in row.note]
    assert doubted == ["concordance_index_ipcw", "mean_absolute_error_censored"]
    assert result.verdict.endswith(
        " Censoring depends on the features (p < 0.001), so the absolute error may prefer a wrong "
        "model, and concordance_index_ipcw is biased: compare by the log score, which needs no "
        "model of censoring, or by the scores that take censoring_model."
    )
    given = evaluate(quantiles(np.ones(1_000)), y, None, y, censoring_model=curve, **own)
    value = given["crps_censored"].value
    assert value == pytest.approx(result["crps_censored"].value, rel=0.01)


def test_left_censored_rows_have_the_scores_of_their_mirror_image():
    is_early, (time, event), rate = simulated(500, 11)
    X, origin = np.column_stack((is_early, rate)), 80.0

    class LeftLaw:
        censoring = "left"

        def predict_quantiles(self, X, levels):
            return origin - quantiles_at(np.ones(len(X)), 1.0 - np.asarray(levels))

    class LeftCensored:
        censoring = "left"

        def predict_quantiles(self, X, levels):
            return origin - Censored().predict_quantiles(X, 1.0 - np.asarray(levels))

    mirrored, own = (origin - time, event), {"taus": TAUS, "n_resamples": 2}
    left = evaluate(LeftLaw(), mirrored, X, mirrored, censoring_model=LeftCensored(), **own)
    right = evaluate(TrueLaw(), (time, event), X, (time, event), censoring_model=Censored(), **own)
    for name in ("pinball_loss_ipcw", "crps_censored", "integrated_brier_score"):
        assert left[name].value == pytest.approx(right[name].value, rel=0.02)


def test_evaluate_says_where_the_weights_do_not_stand_for_all_rows():
    y, curve = hardly_followed(1_000, 12)
    own = {"taus": TAUS, "n_resamples": 2, "censoring_model": curve}
    result = evaluate(quantiles(np.ones(1_000)), y, None, y, **own)
    found = [row.metric for row in result.rows if "by censoring_model are unreliable" in row.note]
    assert found == ["pinball_loss_ipcw", "integrated_brier_score"]


@pytest.mark.parametrize(
    ("model", "kind", "message"),
    [
        (
            "cox",
            TypeError,
            "censoring_model must predict quantiles or survival curves, or be a QuantileCurve of "
            "the censoring times, got str.",
        ),
        (
            Censored(),
            ValueError,
            "X_test must be given where censoring_model is a fitted model, got None: pass the "
            "QuantileCurve that it predicts.",
        ),
    ],
)
def test_evaluate_refuses_what_predicts_no_censoring_times(model, kind, message):
    with pytest.raises(kind, match="^" + re.escape(message) + "$"):
        evaluate(
            [[1.0, 2.0]] * 2, [1.0, 2.0], None, [1.0, 2.0], taus=[0.2, 0.8], censoring_model=model
        )
