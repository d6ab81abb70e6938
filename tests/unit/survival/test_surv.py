import re

import numpy as np
import pandas as pd
import pytest
from sksurv.metrics import concordance_index_censored
from sksurv.util import Surv as SksurvSurv
from sksurv.util import check_array_survival

from censquant.survival import Surv, read_target


def test_arrays_become_an_event_and_a_time_field():
    y = Surv.from_arrays(event=[1, 0], time=[5, 2])
    assert y.dtype == np.dtype([("event", bool), ("time", float)])
    np.testing.assert_array_equal(y["event"], [True, False])
    np.testing.assert_array_equal(y["time"], [5.0, 2.0])


def test_fields_take_the_given_names():
    y = Surv.from_arrays([1, 0], [5, 2], name_event="died", name_time="days")
    assert y.dtype.names == ("died", "days")


@pytest.mark.parametrize("table", [pd.DataFrame, dict])
def test_a_table_gives_its_column_names_to_the_fields(table):
    y = Surv.from_dataframe("died", "days", table({"days": [5, 2], "died": [1, 0]}))
    assert y.dtype.names == ("died", "days")
    np.testing.assert_array_equal(y["days"], [5.0, 2.0])


def test_the_result_is_that_of_scikit_survival():
    event, time = np.array([True, False, True]), np.array([5.0, 2.0, 9.0])
    ours, theirs = Surv.from_arrays(event, time), SksurvSurv.from_arrays(event, time)
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)


def test_scikit_survival_reads_it():
    y = Surv.from_arrays([True, False, True], [5.0, 2.0, 9.0])
    event, time = check_array_survival(np.zeros((3, 1)), y)
    assert concordance_index_censored(event, time, -time)[0] == 1.0


def test_the_reader_reads_it():
    target = read_target(Surv.from_arrays([True, False], [5.0, 2.0], name_time="event_time"))
    np.testing.assert_array_equal(target.event, [True, False])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"event": [1, 2], "time": [1, 2]},
            "event must be boolean or 0 and 1, got the values 1, 2: "
            "2 usually means the event, write event == 2; competing risks are not supported.",
        ),
        (
            {"event": [1], "time": [1, 2]},
            "time and event must have the same length, got 2 times and 1 events.",
        ),
        (
            {"event": [1, 1], "time": [1, np.nan]},
            "time contains NaN: 1 of 2 times are missing, the first in row 1.",
        ),
        (
            {"event": [1], "time": [1], "name_event": "time"},
            "name_event and name_time must differ, got 'time' for both.",
        ),
    ],
)
def test_arrays_are_checked_as_targets_are(arguments, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        Surv.from_arrays(**arguments)


@pytest.mark.parametrize(
    ("event", "time", "message"),
    [
        (
            "dead",
            "days",
            "event must name a column of data, got 'dead' where the columns are 'days', 'died'.",
        ),
        (
            "died",
            "time",
            "time must name a column of data, got 'time' where the columns are 'days', 'died'.",
        ),
    ],
)
def test_a_missing_column_is_named_beside_those_that_are_there(event, time, message):
    table = pd.DataFrame({"days": [5, 2], "died": [1, 0]})
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        Surv.from_dataframe(event, time, table)
