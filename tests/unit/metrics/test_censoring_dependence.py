"""What `evaluate` and `compare` say of censoring that depends on the features."""

import re

import numpy as np
import pandas as pd
import pytest

from censquant.metrics import compare, evaluate
from censquant.metrics._compare import KaplanMeierBaseline

TAUS = np.arange(1, 10) / 10
DOUBTED = [
    "concordance_index_ipcw",
    "pinball_loss_censored",
    "pinball_loss_ipcw",
    "crps_censored",
    "integrated_brier_score",
    "mean_absolute_error_censored",
]
NOTE = "; may be biased: censoring depends on the features"
SENTENCE = (
    " Censoring depends on the features (p < 0.001), so the pinball losses, the CRPS, the Brier "
    "score and the absolute error may prefer a wrong model, and concordance_index_ipcw is biased: "
    "compare by the log score, which needs no model of censoring."
)


class TrueLaw:
    """Knows that times grow with the first feature."""

    def predict_quantiles(self, X, quantiles):
        first = np.asarray(X)[:, :1].astype(float)
        return np.exp(0.5 * first) * -np.log1p(-np.asarray(quantiles))


def simulated(n=400, seed=0, *, dependent=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    latent = np.exp(0.5 * X[:, 0]) * rng.exponential(size=n)
    end = rng.exponential(np.exp(dependent * X[:, 1]))
    return X, (np.minimum(latent, end), latent <= end)


def test_notes_and_verdict_say_which_scores_may_be_biased():
    X, y = simulated()
    result = evaluate(TrueLaw(), y, X, y, taus=TAUS, n_resamples=2)
    assert result.censoring_p_value < 0.001
    assert [row.metric for row in result.rows if row.note.endswith(NOTE)] == DOUBTED
    assert result.verdict.endswith(SENTENCE)
    assert result.rows[0].metric == "log_score"


def test_nothing_is_said_of_censoring_that_does_not_depend_on_the_features():
    X, y = simulated(dependent=False)
    result = evaluate(TrueLaw(), y, X, y, taus=TAUS, n_resamples=2)
    assert result.censoring_p_value > 0.05
    predicted = TrueLaw().predict_quantiles(X, TAUS)
    untested = evaluate(predicted, y, None, y, taus=TAUS, n_resamples=2)
    assert untested.censoring_p_value is None
    assert str(result) == str(untested)


def test_quantiles_without_features_and_few_censored_rows_are_not_tested():
    X, (time, event) = simulated()
    event[np.flatnonzero(~event)[19:]] = True
    few = evaluate(TrueLaw(), (time, event), X, (time, event), taus=TAUS, n_resamples=2)
    assert few.censoring_p_value is None
    images = np.zeros((400, 2, 2))
    predicted = TrueLaw().predict_quantiles(X, TAUS)
    X, y = simulated()
    assert evaluate(predicted, y, images, y, taus=TAUS, n_resamples=2).censoring_p_value is None


def test_times_and_events_beside_the_features_are_not_tested():
    X, (time, event) = simulated(dependent=False)
    frame = pd.DataFrame(X, columns=list("abc"))
    result = evaluate(TrueLaw(), (time, event), frame, (time, event), taus=TAUS, n_resamples=2)
    beside = frame.assign(time=time, event=event, censored=1 - event)
    again = evaluate(TrueLaw(), (time, event), beside, (time, event), taus=TAUS, n_resamples=2)
    assert again.censoring_p_value == result.censoring_p_value > 0.05


def test_columns_that_the_model_does_not_use_are_not_tested():
    X, y = simulated()
    frame = pd.DataFrame(X, columns=list("abc"))

    class Named(TrueLaw):
        feature_names_in_ = np.array(["a", "c"], dtype=object)

    assert evaluate(TrueLaw(), y, frame, y, taus=TAUS, n_resamples=2).censoring_p_value < 0.001
    assert evaluate(Named(), y, frame, y, taus=TAUS, n_resamples=2).censoring_p_value > 0.05


def test_left_censored_rows_are_tested_in_mirrored_time():
    X, (time, event) = simulated()

    class Left:
        censoring = "left"

        def predict_quantiles(self, X, quantiles):
            return 50.0 - TrueLaw().predict_quantiles(X, 1.0 - np.asarray(quantiles))

    mirrored = 50.0 - time, event
    left = evaluate(Left(), mirrored, X, mirrored, taus=TAUS, n_resamples=2)
    right = evaluate(TrueLaw(), (time, event), X, (time, event), taus=TAUS, n_resamples=2)
    assert left.censoring_p_value == pytest.approx(right.censoring_p_value, rel=1e-6)
    assert left.verdict.endswith(SENTENCE)
    assert left["log_score"].value == pytest.approx(right["log_score"].value, abs=0.01)


def test_the_note_of_the_log_score_has_that_of_kaplan_meier():
    X, y = simulated(2_000)
    curve = KaplanMeierBaseline().fit(None, y)
    levels = np.arange(1, 200) / 200
    rows = curve.predict_quantiles(X, levels)
    _, other = simulated(1_000, seed=1)
    row = evaluate(rows[:1_000], y, None, other, taus=levels, n_resamples=2)["log_score"]
    known = float(re.search(r"; Kaplan-Meier scores ([\d.]+)$", row.note)[1])
    assert known == pytest.approx(row.value, abs=0.02)
    own = evaluate(rows, y, None, y, taus=levels, n_resamples=2)["log_score"]
    assert own.note == "whole distribution, needs no model of censoring"


def test_features_of_other_rows_are_refused():
    X, y = simulated()
    predicted = TrueLaw().predict_quantiles(X, TAUS)
    message = "X_test must have one row for each of the 400 rows of y_test, got 399."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        evaluate(predicted, y, X[1:], y, taus=TAUS)


@pytest.mark.parametrize("dependent", [True, False])
def test_a_comparison_tests_it_once_and_shows_the_log_score_first(dependent):
    X, y = simulated(dependent=dependent)
    methods = {"first": KaplanMeierBaseline(), "second": KaplanMeierBaseline()}
    found = compare(methods, X, y, cv=2, n_resamples=2)
    assert (found.censoring_p_value < 0.05) == dependent
    assert [score.metric for score in found["first"].scores] == [
        "log_score",
        "pinball_loss_censored",
        "concordance_restricted_mean",
        "a_calibration_p_value",
    ]
    assert found["second"]["log_score"].difference == 0.0
    assert found.to_dict()["censoring_p_value"] == found.censoring_p_value
