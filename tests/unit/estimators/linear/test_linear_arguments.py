"""Messages about wrong arguments of LinearQuantileRegressor."""

import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from censquant import LinearQuantileRegressor
from censquant.exceptions import NoEventsError

X = np.arange(12.0)[:, None] % 5
TIME = np.arange(1.0, 13.0)
EVENT = np.arange(12) % 3 > 0


def refused(error, message, fit=None, **parameters):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        LinearQuantileRegressor(**parameters).fit(**{"X": X, "y": (TIME, EVENT), **(fit or {})})


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (
            {"method": "cox"},
            ValueError,
            "method must be one of 'portnoy', 'peng-huang', 'wang-wang', 'data-augmentation', "
            "'powell', 'fitzenberger', got 'cox'.",
        ),
        ({"fit_intercept": 1}, TypeError, "fit_intercept must be True or False, got 1."),
        (
            {"time_transform": "standardize"},
            ValueError,
            "time_transform must be one of None, 'log', got 'standardize'.",
        ),
        ({"step": 0.0}, ValueError, "step must be finite and inside (0, 1), got 0.0."),
        ({"step": "R"}, TypeError, "step must be a number, got 'R'."),
        (
            {"censoring": "interval"},
            ValueError,
            "censoring must be one of 'right', 'left', got 'interval'.",
        ),
        ({"n_bootstrap": -1}, ValueError, "n_bootstrap must be at least 0, got -1."),
        ({"n_bootstrap": 1.5}, TypeError, "n_bootstrap must be an integer, got 1.5."),
        (
            {"bootstrap": "xy"},
            ValueError,
            "bootstrap must be one of 'jackknife', 'pairs', 'weights', got 'xy'.",
        ),
        ({"n_jobs": 0}, ValueError, "n_jobs must be None or an integer other than 0, got 0."),
        ({"n_jobs": "all"}, TypeError, "n_jobs must be an integer, got 'all'."),
        ({"random_state": "x"}, TypeError, "random_state must be an integer, got 'x'."),
        (
            {"quantiles": [0.5, 0.25]},
            ValueError,
            "quantiles must be strictly increasing and inside (0, 1), got (0.5, 0.25).",
        ),
        (
            {"n_bootstrap": 10},
            ValueError,
            "bootstrap='jackknife' leaves out 8 rows per replication and must keep at least 5, one "
            "per coefficient, got 12 rows: use bootstrap='weights'.",
        ),
    ],
    ids=str,
)
def test_a_wrong_parameter_is_refused_in_one_sentence(parameters, error, message):
    fit = {"X": np.vander(np.linspace(0, 1, 12), 5)[:, :4]} if "n_bootstrap" in parameters else {}
    refused(error, message, fit, **{"quantiles": [0.2, 0.3], **parameters})


@pytest.mark.parametrize("n_jobs", [None, 1, -1])
def test_any_other_number_of_jobs_is_taken(n_jobs):
    LinearQuantileRegressor([0.3], n_jobs=n_jobs).fit(X, (TIME, EVENT))


def test_censoring_times_are_refused_by_other_methods():
    refused(
        ValueError,
        "censoring_time must be None unless method='powell' or 'fitzenberger', got censoring times "
        "with method='portnoy': leave it out.",
        {"censoring_time": TIME},
    )


def test_powell_without_censoring_times_is_refused_where_a_row_is_censored():
    refused(
        ValueError,
        "censoring_time must be given for method='powell' where rows are censored, got None with "
        "4 of 12 rows censored: pass every row's censoring time, also of rows with an event, or "
        "use method='portnoy'.",
        method="powell",
    )


def test_too_few_censoring_times_are_refused():
    refused(
        ValueError,
        "censoring_time must have one value for each row, got 2 values for 12 rows.",
        {"censoring_time": [1.0, 2.0]},
        method="powell",
    )


@pytest.mark.parametrize(
    ("row", "value", "side", "message"),
    [
        (1, 0.5, "right", "before the time of an event, got 0.5 in row 1 with an event at 2."),
        (1, np.nan, "right", "before the time of an event, got nan in row 1 with an event at 2."),
        (3, 9.0, "right", "before the time of an event, got 9 in row 3 with censoring at 4."),
        (3, np.inf, "right", "before the time of an event, got inf in row 3 with censoring at 4."),
        (1, 3.0, "left", "after the time of an event, got 3 in row 1 with an event at 2."),
    ],
)
def test_censoring_times_that_contradict_the_times_are_refused(row, value, side, message):
    limit = TIME.copy()
    limit[row] = value
    refused(
        ValueError,
        f"censoring_time must be the time of a censored row and not {message}",
        {"censoring_time": limit},
        method="powell",
        censoring=side,
    )


def test_text_is_no_censoring_time():
    refused(
        TypeError,
        "censoring_time must hold numbers, got dtype <U1: convert the column to float.",
        {"censoring_time": list("abcdefghijkl")},
        method="powell",
    )


def test_negative_times_have_no_logarithm():
    refused(
        ValueError,
        "time must not be negative for time_transform='log', got a minimum of -1: use "
        "time_transform=None.",
        {"y": (TIME - 2, EVENT)},
        time_transform="log",
    )


def test_a_negative_time_of_weight_zero_does_not_matter_to_the_logarithm():
    weight = np.where(TIME < 2, 0.0, 1.0)
    LinearQuantileRegressor([0.3], time_transform="log").fit(X, (TIME - 2, EVENT), weight)


def test_rows_without_an_event_are_refused():
    refused(
        NoEventsError,
        "y has no event: 12 of 12 rows are censored, so no quantile can be fitted.",
        {"y": (TIME, np.zeros(12, dtype=bool))},
    )


def test_events_of_weight_zero_are_no_events():
    refused(
        NoEventsError,
        "y has no event: 4 of 4 rows are censored, so no quantile can be fitted.",
        {"sample_weight": ~EVENT * 1.0},
    )


def test_another_number_of_times_than_rows_is_refused():
    refused(
        ValueError,
        "y must have one row for each row of X, got 3 rows in y and 12 in X.",
        {"y": TIME[:3]},
    )


@pytest.mark.parametrize("method", ["summary", "coef_table", "predict", "identified_level"])
def test_nothing_can_be_asked_before_the_fit(method):
    arguments = [X] if method in ("predict", "identified_level") else []
    with pytest.raises(
        NotFittedError, match="This LinearQuantileRegressor instance is not fitted yet"
    ):
        getattr(LinearQuantileRegressor(), method)(*arguments)


def test_fit_changes_no_parameter():
    grid = np.array([0.2, 0.3])
    model = LinearQuantileRegressor(grid, n_bootstrap=2, bootstrap="pairs", random_state=1)
    before = model.get_params()
    model.fit(X, (TIME, EVENT))
    assert model.get_params()["quantiles"] is grid
    assert model.get_params() == before
