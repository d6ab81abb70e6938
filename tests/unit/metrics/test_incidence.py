"""Scores and calibration of incidences: against the scores of a single kind, and known truth."""

import re

import numpy as np
import pytest

from censquant.exceptions import TruncationWarning
from censquant.metrics import (
    brier_score,
    brier_score_incidence,
    calibration_incidence,
    integrated_brier_score,
    integrated_brier_score_incidence,
    log_score_incidence,
)
from censquant.survival import aalen_johansen

TIMES = np.array([0.2, 0.5, 1.0, 1.5])
Y = ([1.0, 2.0, 3.0], [1, 2, 0])


def exponential(rates, times):
    """Incidences of kinds with constant hazards, of shape (n, K, T)."""
    total = rates.sum(axis=1)[:, None, None]
    return rates[:, :, None] / total * -np.expm1(-total * times)


def drawn(n=400, seed=0, censoring=1.5):
    rng = np.random.default_rng(seed)
    rates = np.exp(rng.uniform(-1, 1, (n, 2)))
    times = rng.exponential(1 / rates)
    end = rng.exponential(censoring, n)
    first = times.min(axis=1)
    return rates, (np.minimum(first, end), np.where(first <= end, times.argmin(axis=1) + 1, 0))


def test_of_one_kind_it_is_the_brier_score_of_survival():
    rates, (time, kind) = drawn()
    incidence = exponential(rates[:, :1], TIMES)
    y, plain = (time, (kind == 1).astype(int)), (time, kind == 1)
    expected = brier_score(plain, 1 - incidence[:, 0], TIMES)
    np.testing.assert_allclose(brier_score_incidence(y, incidence, TIMES)[0], expected)
    weight = np.random.default_rng(1).integers(0, 3, len(time))
    expected = integrated_brier_score(plain, 1 - incidence[:, 0], TIMES, sample_weight=weight)
    found = integrated_brier_score_incidence(y, incidence, TIMES, sample_weight=weight)
    np.testing.assert_allclose(found, [expected])
    other = (time[:200], (kind[:200] == 1).astype(int))
    expected = brier_score(plain, 1 - incidence[:, 0], TIMES, y_train=(other[0], other[1] == 1))
    found = brier_score_incidence(y, incidence, TIMES, y_train=other)
    np.testing.assert_allclose(found[0], expected)


def test_without_censoring_the_brier_score_is_a_mean_of_squares():
    rates, (time, kind) = drawn(censoring=1e9)
    incidence = exponential(rates, TIMES)
    had = (time[:, None, None] <= TIMES) & (kind[:, None, None] == np.array([1, 2])[:, None])
    expected = ((incidence - had) ** 2).mean(axis=0)
    np.testing.assert_allclose(brier_score_incidence((time, kind), incidence, TIMES), expected)


@pytest.mark.parametrize("score", ["brier", "log"])
def test_true_incidences_score_better_than_wrong_ones(score):
    rates, y = drawn(4_000)
    true = exponential(rates, TIMES)
    curve = aalen_johansen(*y)
    others = [
        exponential(rates[:, ::-1], TIMES),
        exponential(rates * 1.3, TIMES),
        np.broadcast_to(curve(TIMES), true.shape),
    ]

    def of(incidence):
        if score == "log":
            return log_score_incidence(y, incidence, TIMES)
        return integrated_brier_score_incidence(y, incidence, TIMES).sum()

    assert all(of(true) < of(other) for other in others)


def test_the_log_score_is_that_of_the_cell_and_the_kind():
    incidence = [[[0.1, 0.4], [0.2, 0.3]]] * 4
    y = ([0.5, 2.0, 5.0, 2.0], [1, 2, 2, 0])
    chances = [0.1, 0.3 - 0.2, 1 - 0.4 - 0.3, 1 - (0.3 + 0.7) / 2]
    found = log_score_incidence(y, incidence, [1.0, 3.0])
    assert found == pytest.approx(-np.log(chances).mean())
    weighted = log_score_incidence(y, incidence, [1.0, 3.0], sample_weight=[0, 0, 0, 2])
    assert weighted == pytest.approx(-np.log(chances[3]))


def test_no_row_costs_more_than_a_chance_of_one_in_ten_thousand():
    assert log_score_incidence(([1.0], [1]), [[[0.0], [0.5]]], [2.0]) == pytest.approx(np.log(1e4))


def test_times_after_the_last_censored_row_are_left_out_with_a_warning():
    incidence = np.full((3, 2, 3), 0.2)
    with pytest.warns(TruncationWarning, match=r"^1 of 3 times are left without a Brier score"):
        score = brier_score_incidence(Y, incidence, [1.0, 2.0, 4.0])
    assert np.isnan(score).sum(axis=1).tolist() == [1, 1]
    with pytest.warns(TruncationWarning):
        integrated = integrated_brier_score_incidence(Y, incidence, [1.0, 2.0, 4.0])
    np.testing.assert_allclose(integrated, score[:, :2].mean(axis=1))
    with (
        pytest.warns(TruncationWarning),
        pytest.raises(ValueError, match=r"^times must hold two times or more .* got 1 of 2"),
    ):
        integrated_brier_score_incidence(Y, incidence[:, :, :2], [1.0, 4.0])


def test_a_right_model_lies_within_its_errors_and_a_wrong_one_does_not():
    rates, y = drawn(4_000)
    chance = exponential(rates, np.array([1.0]))[:, :, 0]
    predicted, observed, error = calibration_incidence(y, chance, 1.0)
    assert predicted.shape == (2, 5)
    assert (np.abs(predicted - observed) < 3.5 * error).all()
    naive = -np.expm1(-rates)  # as if the other kind did not exist
    predicted, observed, error = calibration_incidence(y, np.minimum(naive, 0.5), 1.0)
    assert (predicted - observed > 3.5 * error).any()


def test_groups_that_were_not_followed_to_the_horizon_have_no_observed_share():
    y = ([1.0, 1.5, 2.0, 5.0], [1, 0, 2, 0])
    chance = np.column_stack([[0.1, 0.1, 0.2, 0.2], np.full(4, 0.2)])
    _, observed, error = calibration_incidence(y, chance, 3.0, n_groups=2)
    assert np.isnan(observed[0]).tolist() == [True, False] == np.isnan(error[0]).tolist()


def test_rows_of_equal_predictions_are_in_one_group_whatever_their_order():
    rates, y = drawn(300)
    chance = exponential(rates, np.array([1.0]))[:, :, 0].round(1)
    order = np.random.default_rng(0).permutation(300)
    found = calibration_incidence(y, chance, 1.0)
    again = calibration_incidence((y[0][order], y[1][order]), chance[order], 1.0)
    np.testing.assert_allclose(found, again, rtol=1e-9)
    predicted, observed, _ = calibration_incidence(y, np.full((300, 2), 0.3), 1.0, n_groups=3)
    whole = aalen_johansen(*y)(1.0)
    np.testing.assert_allclose(observed, np.outer(whole, [np.nan, 1.0, np.nan]), rtol=1e-9)
    assert np.isnan(predicted[:, [0, 2]]).all()


def test_events_without_a_kind_are_refused():
    incidence = np.full((3, 2, 1), 0.2)
    message = (
        "event must hold the kind of each event, 0 or one of 1, 2, got True and False, which do "
        "not tell kinds apart."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        log_score_incidence(([1.0, 2.0, 3.0], [True, False, True]), incidence, [1.5])


def test_names_of_kinds_are_matched():
    y = ([1.0, 2.0, 3.0], ["relapse", "death", "censored"])
    incidence = [[[0.5], [0.2]], [[0.0], [0.5]], [[0.0], [0.0]]]
    expected = brier_score_incidence(Y, incidence, [2.5])
    found = brier_score_incidence(y, incidence, [2.5], kinds=["relapse", "death"])
    assert found.tolist() == expected.tolist()
    with pytest.raises(ValueError, match=r"Pass kinds=model\.kinds_\.$"):
        brier_score_incidence(y, incidence, [2.5])


@pytest.mark.parametrize(
    ("incidence", "times", "message"),
    [
        (np.zeros((3, 2)), [1.0], "^incidence must be numbers of shape"),
        (np.zeros((2, 2, 1)), [1.0], r"shape \(3, 2, 1\), got shape \(2, 2, 1\)"),
        (np.full((3, 2, 1), np.nan), [1.0], "beyond='extrapolate'"),
        (np.full((3, 2, 1), 0.7), [1.0], "sum to 1 at most over kinds"),
        (np.tile([0.3, 0.1], (3, 2, 1)), [1.0, 2.0], "^incidence must not fall with time"),
        (np.zeros((3, 2, 2)), [2.0, 1.0], "in increasing order"),
        (np.zeros((3, 1, 1)), [1.0], "^event must be 0 or one of the kinds 1, got 2"),
    ],
)
def test_other_incidences_are_refused(incidence, times, message):
    with pytest.raises(ValueError, match=message):
        brier_score_incidence(Y, incidence, times)


def test_other_arguments_are_refused():
    with pytest.raises(ValueError, match=r"^kinds must name the 2 kinds of incidence, got 1"):
        brier_score_incidence(Y, np.zeros((3, 2, 1)), [1.0], kinds=[1])
    with pytest.raises(ValueError, match=r"^probability must have shape \(n, n_kinds\)"):
        calibration_incidence(Y, np.zeros(3), 1.0)
    with pytest.raises(ValueError, match=r"^n_groups must be at most the 3 rows of y, got 5"):
        calibration_incidence(Y, np.zeros((3, 2)), 1.0)


def test_evaluation_of_competing_risks_scores_any_event_and_each_kind():
    from censquant import AFTRegressor, CompetingRisksRegressor
    from censquant.metrics import evaluate

    rates, (time, code) = drawn(400)
    X, names = np.log(rates), np.array(["censored", "relapse", "death"])
    y = (time, names[code])
    train, test = slice(0, 200), slice(200, 400)
    model = CompetingRisksRegressor(AFTRegressor())
    model.fit(X[train], (time[train], y[1][train]))
    held = (time[test], y[1][test])
    found = evaluate(model, (time[train], y[1][train]), X[test], held, n_resamples=20)
    rows = {row.metric: row for row in found.rows}
    of_kinds = [name for name in rows if "incidence" in name]
    assert of_kinds == [
        "log_score_incidence",
        "integrated_brier_score_incidence[death]",
        "integrated_brier_score_incidence[relapse]",
    ]
    for name in of_kinds:
        row = rows[name]
        assert row.lower < row.value < row.upper
        assert row.value < float(row.note.rsplit(" ", 1)[1]), name
    assert found.n_events == int((code[test] > 0).sum())
