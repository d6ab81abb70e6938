"""Draws that are scored by counts of rows have the values that the metric has on these rows."""

import numpy as np
import pytest

from censquant._engine.losses._grid import MarginalPinball
from censquant.metrics import (
    bootstrap_interval,
    compare,
    concordance_index,
    concordance_index_ipcw,
    crps_censored,
    evaluate,
    integrated_brier_score,
    log_score,
    mean_absolute_error_censored,
    pinball_loss_censored,
    pinball_loss_ipcw,
    right_censored_log_likelihood,
)
from censquant.metrics._counts import Censoring, counting
from censquant.metrics._scorers import METRICS
from censquant.survival import Target, censoring_kaplan_meier

TAUS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


def simulated(n, seed, *, tied=False, mean_end=2.0):
    """Rows with their quantiles and survival probabilities, all of them a little wrong."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    latent, end = np.exp(0.5 * x + 0.5 * rng.normal(size=n)), rng.exponential(mean_end, size=n)
    time, event = np.minimum(latent, end), latent <= end
    quantiles = np.exp(0.5 * x)[:, None] * np.array([0.6, 0.8, 1.1, 1.5, 2.1])
    if tied:
        time, quantiles = np.ceil(6 * time) / 6, np.round(quantiles, 1) + 0.01 * TAUS
    times = np.unique(np.quantile(time, [0.1, 0.3, 0.5, 0.7, 0.9]))
    survival = 1 / (1 + (times / np.exp(0.5 * x)[:, None]) ** 3)
    return (time, event), quantiles, survival, times


ROWS = {
    "plain": simulated(120, 0),
    "tied": simulated(120, 1, tied=True),
    "few events": simulated(40, 2, tied=True, mean_end=0.4),
}
LATER = simulated(90, 3)[0]
# Ends before the rows to score do, so that some of them have no known weight.
SHORTER = np.minimum(LATER[0], 0.9), LATER[1] & (LATER[0] < 0.9)
TRAINING = {"own": None, "other": LATER, "shorter": SHORTER}
OF_TIMES = {
    "concordance": (concordance_index, {}),
    "concordance, left": (concordance_index, {"censoring": "left"}),
    "Uno": (concordance_index_ipcw, {}),
    "Uno, cut": (concordance_index_ipcw, {"truncation": 1.0}),
    **{
        f"absolute error, {method}": (mean_absolute_error_censored, {"method": method})
        for method in ("pseudo-observation", "margin", "hinge", "uncensored", "ipcw")
    },
}
OF_QUANTILES = {
    "pinball": (pinball_loss_censored, {}),
    "pinball, ipcw": (pinball_loss_ipcw, {}),
    "pinball, cut": (pinball_loss_ipcw, {"truncation": 0.5}),
    "CRPS": (crps_censored, {}),
    "CRPS of few levels": (crps_censored, {"n_levels": 7}),
    "log score": (log_score, {}),
    "log score of few cells": (log_score, {"n_cells": 4, "lower": 0.0}),
    "likelihood": (right_censored_log_likelihood, {}),
    "likelihood of durations": (right_censored_log_likelihood, {"lower": 0.0}),
}


def on_each_draw(metric):
    """The same metric as one that knows nothing of counts: it is called on each draw."""

    def called(*args, **kwargs):
        return metric(*args, **kwargs)

    return called


def arguments_of(name, rows):
    """A metric with its predictions and options."""
    _, quantiles, survival, times = rows
    if name in OF_TIMES:
        return OF_TIMES[name][0], (quantiles[:, 2],), OF_TIMES[name][1]
    if name in OF_QUANTILES:
        return OF_QUANTILES[name][0], (quantiles, TAUS), OF_QUANTILES[name][1]
    return integrated_brier_score, (survival, times), {}


@pytest.mark.filterwarnings("ignore::censquant.exceptions.TruncationWarning")
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("training", TRAINING)
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("name", [*OF_TIMES, *OF_QUANTILES, "Brier"])
def test_counts_give_the_values_of_the_drawn_rows(name, rows, training, weighted):
    y = ROWS[rows][0]
    metric, predictions, options = arguments_of(name, ROWS[rows])
    if metric is concordance_index and training != "own":
        training = "own"
    options = {**options, "n_resamples": 20, "random_state": 4}
    if TRAINING[training] is not None:
        options["y_train"] = TRAINING[training]
    if weighted:
        weight = np.random.default_rng(5).uniform(0.1, 2.0, size=len(y[0]))
        weight[::7] = 0.0
        options["sample_weight"] = weight
    options["other"] = predictions[0][::-1]
    try:
        expected = bootstrap_interval(on_each_draw(metric), y, *predictions, **options)
    except ValueError as error:
        with pytest.raises(ValueError, match="^" + str(error).partition(",")[0]):
            bootstrap_interval(metric, y, *predictions, **options)
        return
    found = bootstrap_interval(metric, y, *predictions, **options)
    assert found.scores == expected.scores
    assert found.n_undefined == expected.n_undefined
    scale = np.abs(expected.scores).max()
    np.testing.assert_allclose(
        found.distribution, expected.distribution, rtol=0, atol=1e-12 * scale
    )


def test_every_metric_of_the_table_scores_counts():
    assert [m.function.__name__ for m in METRICS if m.note and counting(m.function) is None] == []


@pytest.mark.parametrize("training", [None, LATER], ids=["own", "other"])
def test_more_draws_than_are_counted_side_by_side_change_nothing(training):
    y, quantiles, *_ = ROWS["tied"]
    counted = counting(concordance_index_ipcw)(y, quantiles[:, 2], y_train=training)
    counts = np.random.default_rng(0).poisson(1.0, size=(len(y[0]), 75)).astype(float)
    alone = [counted.scores(counts[:, [draw]])[0] for draw in range(75)]
    np.testing.assert_array_equal(counted.scores(counts), alone)
    np.testing.assert_array_equal(counted.scores(np.asfortranarray(counts)), alone)


def test_groups_are_drawn_as_counts_of_their_rows():
    y, quantiles, *_ = ROWS["plain"]
    group = np.arange(120) // 4
    counts = np.random.default_rng(1).poisson(1.0, size=(30, 6)).astype(float)[group]
    counted = counting(pinball_loss_censored)(y, quantiles, TAUS)
    for draw, score in enumerate(counted.scores(counts)):
        rows = np.repeat(np.arange(120), counts[:, draw].astype(int))
        part = y[0][rows], y[1][rows]
        expected = pinball_loss_censored(part, quantiles[rows], TAUS)
        assert score == pytest.approx(expected, rel=1e-12)


def test_a_draw_of_nothing_has_no_score():
    y = ROWS["plain"][0]
    nothing = np.zeros((120, 1))
    for name in [*OF_TIMES, *OF_QUANTILES, "Brier"]:
        for training in (None, LATER):
            metric, predictions, options = arguments_of(name, ROWS["plain"])
            if metric is not concordance_index:
                options = {**options, "y_train": training}
            scores = counting(metric)(y, *predictions, **options).scores(nothing)
            assert np.isnan(scores).all(), name


@pytest.mark.parametrize("training", [None, LATER], ids=["own", "other"])
def test_the_loss_is_that_of_training_on_rows_and_levels(training):
    (time, event), quantiles, *_ = ROWS["tied"]
    train = (time, event) if training is None else training
    last = train[0].max()
    cut = np.minimum(time, last), event & (time <= last)
    expected = MarginalPinball.fit(*train)(quantiles, *cut, TAUS).mean()
    found = pinball_loss_censored((time, event), quantiles, TAUS, y_train=training)
    assert found == pytest.approx(expected, rel=1e-12)


def test_curves_of_draws_are_the_kaplan_meier_curves_of_their_rows():
    (time, event), *_ = ROWS["tied"]
    counts = np.random.default_rng(2).poisson(0.3, size=(120, 9)).astype(float)
    curves = Censoring(None, Target(time, event))(counts)
    at = np.linspace(0.0, time.max() + 1, 50)
    for draw, column in enumerate(counts.T):
        expected = censoring_kaplan_meier(time, event, column)
        for side in ("left", "right"):
            np.testing.assert_allclose(
                curves.at(at, side)[:, draw], expected(at, side), rtol=1e-14, atol=0
            )


def test_a_comparison_has_the_intervals_of_paired_draws(capsys):
    X = np.random.default_rng(6).normal(size=(90, 2))
    time, event = np.exp(X[:, 0]), np.arange(90) % 3 > 0
    methods = {"first": OfOneFeature(0), "second": OfOneFeature(1)}
    options = {"n_resamples": 30, "random_state": 3}
    found = compare(methods, X, (time, event), quantiles=TAUS, cv=2, **options)
    values = [method.predict_quantiles(X, TAUS) for method in methods.values()]
    expected = bootstrap_interval(
        on_each_draw(pinball_loss_censored),
        (time, event),
        values[1],
        TAUS,
        other=values[0],
        y_train=(time, event),
        **options,
    )
    score = found["second"]["pinball_loss_censored"]
    assert score.value == expected.scores[0]
    ends = score.difference_lower, score.difference_upper
    assert ends == pytest.approx((expected.lower, expected.upper), rel=1e-12)
    assert score.p_value == expected.p_value
    assert capsys.readouterr() == ("", "")


class OfOneFeature:
    """Predicts by one feature and learns nothing."""

    def __init__(self, place):
        self.place = place

    def fit(self, X, y):
        return self

    def predict_quantiles(self, X, quantiles):
        return np.exp(0.5 * X[:, [self.place]]) * (0.5 + np.asarray(quantiles))


def test_bars_are_shown_on_stderr_where_asked_for(capsys):
    y, quantiles, *_ = ROWS["few events"]
    options = {"n_resamples": 9, "random_state": 0}
    quiet = bootstrap_interval(concordance_index, y, quantiles[:, 2], **options)
    assert capsys.readouterr() == ("", "")
    told = bootstrap_interval(concordance_index, y, quantiles[:, 2], verbose=1, **options)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "bootstrap" in captured.err
    assert "9/9 draws" in " ".join(captured.err.split())
    np.testing.assert_array_equal(quiet.distribution, told.distribution)
    methods = {"first": OfOneFeature(0), "second": OfOneFeature(1)}
    X = np.random.default_rng(6).normal(size=(40, 2))
    compare(methods, X, y, quantiles=TAUS, cv=2, n_resamples=2, verbose=1)
    assert "4/4 fits" in " ".join(capsys.readouterr().err.split())


def test_left_censored_rows_have_the_intervals_of_mirrored_draws():
    (time, event), quantiles, *_ = ROWS["tied"]

    class Left:
        censoring = "left"

        def predict_quantiles(self, X, levels):
            return quantiles

    result = evaluate(Left(), LATER, None, (time, event), taus=TAUS, n_resamples=25, random_state=0)
    origin = max(time.max(), LATER[0].max())
    expected = bootstrap_interval(
        on_each_draw(crps_censored),
        (origin - time, event),
        origin - quantiles[:, ::-1],
        1 - TAUS[::-1],
        y_train=(origin - LATER[0], LATER[1]),
        n_resamples=25,
        random_state=int(np.random.SeedSequence(0).generate_state(1)[0]),
    )
    row = result["crps_censored"]
    ends = expected.value, expected.lower, expected.upper
    assert (row.value, row.lower, row.upper) == pytest.approx(ends, rel=1e-12)
