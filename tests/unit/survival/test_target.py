import re

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning
from sksurv.metrics import concordance_index_censored
from sksurv.util import Surv as SksurvSurv
from sksurv.util import check_array_survival

from censquant.exceptions import (
    ExtrapolationWarning,
    ModelFileError,
    NoEventsError,
    TrainingDivergedError,
)
from censquant.survival import Surv, Target, read_target
from censquant.survival._target import read_columns, require_events

TIME = np.array([5.0, 2.0, 9.0])
EVENT = np.array([True, False, True])


class PolarsLike:
    """A table that shares with a pandas DataFrame only what the reader may rely on."""

    def __init__(self, columns):
        self._data = columns

    @property
    def columns(self):
        return list(self._data)

    def __getitem__(self, name):
        return self._data[name]


class NotAnArray:
    """Something that is no sequence and yet converts to an array."""

    def __array__(self, dtype=None, copy=None):
        return TIME.astype(dtype)


def structured(names=("event", "time"), kinds=(bool, float), columns=(EVENT, TIME)):
    y = np.empty(3, dtype=list(zip(names, kinds, strict=True)))
    for name, column in zip(names, columns, strict=True):
        y[name] = column
    return y


@pytest.mark.parametrize(
    "y",
    [
        structured(),
        structured(("t", "status"), (float, bool), (TIME, EVENT)),
        structured(("x", "y"), (bool, np.int32)),
        structured().view(np.recarray),
        structured(("columns", "t")).view(np.recarray),
        np.ma.array(structured()),
        Surv.from_arrays(EVENT, TIME),
        (TIME, EVENT),
        ([5, 2, 9], [1, 0, 1]),
        (pd.Series(TIME, index=[4, 5, 6]), pd.Series([1.0, 0.0, 1.0])),
        pd.DataFrame({"time": TIME, "event": EVENT, "other": "text"}, index=[9, 8, 7]),
        pd.DataFrame({"event": EVENT, "duration": TIME}),
        PolarsLike({"time": TIME, "event": EVENT}),
        {"time": [5, 2, 9], "event": [1, 0, 1]},
        {"duration": TIME, "event": EVENT},
    ],
    ids=lambda y: type(y).__name__,
)
def test_every_usual_form_gives_the_same_target(y):
    target = read_target(y, n_samples=3)
    assert target.time.dtype == np.float64
    assert target.event.dtype == np.bool_
    np.testing.assert_array_equal(target.time, TIME)
    np.testing.assert_array_equal(target.event, EVENT)


@pytest.mark.parametrize(
    "y",
    [[5, 2, 9], TIME, TIME.astype(np.float32), pd.Series(TIME), TIME.astype(object), NotAnArray()],
    ids=lambda y: type(y).__name__,
)
def test_a_plain_vector_means_that_every_event_was_observed(y):
    target = read_target(y)
    np.testing.assert_array_equal(target.time, TIME)
    assert target.event.all()


@pytest.mark.parametrize("y", [TIME[:, None], [[5.0], [2.0], [9.0]]])
def test_a_column_is_ravelled_with_the_warning_of_scikit_learn(y):
    message = (
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y "
        "to (n_samples, ), for example using ravel()."
    )
    with pytest.warns(DataConversionWarning, match="^" + re.escape(message) + "$") as caught:
        target = read_target(y)
    np.testing.assert_array_equal(target.time, TIME)
    assert caught[0].filename == __file__


def test_a_structured_column_keeps_its_events():
    with pytest.warns(DataConversionWarning):
        target = read_target(structured()[:, None])
    np.testing.assert_array_equal(target.event, EVENT)


_REMEDY = "pass Surv.from_arrays(event=..., time=...) or a (time, event) tuple."


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (
            None,
            "Censored regression requires y to be passed, but the target y is None: "
            "pass times and events.",
        ),
        (
            np.column_stack([TIME, EVENT]),
            "y must not be a two-column array, since the order of its columns cannot be known, "
            f"got shape (3, 2): {_REMEDY}",
        ),
        (
            [[5.0, 2.0], [True, False]],
            "y must not be a two-column array, since the order of its columns cannot be known, "
            f"got shape (2, 2): {_REMEDY}",
        ),
        (
            [[5.0, 2.0, 9.0], [1, 0, 1]],
            f"y must be one-dimensional, got shape (2, 3): {_REMEDY}",
        ),
        ("time", f"y must be one-dimensional, got shape (): {_REMEDY}"),
        (
            structured(("a", "b"), (int, float)),
            "y must be a structured array with exactly one boolean and one numeric field, "
            f"got 'a' (int64), 'b' (float64): {_REMEDY}",
        ),
        (
            structured(("a", "b"), (bool, bool)),
            "y must be a structured array with exactly one boolean and one numeric field, "
            f"got 'a' (bool), 'b' (bool): {_REMEDY}",
        ),
        (
            structured(("a", "b", "c"), (bool, float, "U1"), (EVENT, TIME, "x")),
            "y must be a structured array with exactly one boolean and one numeric field, "
            f"got 'a' (bool), 'b' (float64), 'c' (<U1): {_REMEDY}",
        ),
        (
            np.empty(3, dtype=[]),
            "y must be a structured array with exactly one boolean and one numeric field, "
            f"got no field: {_REMEDY}",
        ),
        (
            structured(("event", "time"), (bool, complex)),
            "Complex data not supported: y must hold real numbers, got dtype complex128.",
        ),
        (
            pd.DataFrame({"days": TIME, "status": EVENT}),
            "y must have the columns 'event' and 'time' (or 'duration'), got 'days', 'status': "
            "rename them or pass Surv.from_dataframe(event, time, data).",
        ),
        (
            {"time": TIME},
            "y must have the columns 'event' and 'time' (or 'duration'), got 'time': "
            "rename them or pass Surv.from_dataframe(event, time, data).",
        ),
        (
            {},
            "y must have the columns 'event' and 'time' (or 'duration'), got none: "
            "rename them or pass Surv.from_dataframe(event, time, data).",
        ),
        (
            {"time": TIME, "duration": TIME, "event": EVENT},
            "y must have one of the columns 'time' and 'duration', got both: drop one of them.",
        ),
        (
            (TIME, EVENT, EVENT),
            "y must be a (time, event) tuple of two arrays, got a tuple of 3 items: for delayed "
            "entry pass Surv.from_arrays(event, time, entry=...), for intervals "
            "Surv.from_intervals(lower, upper).",
        ),
        (
            (TIME, EVENT[:2]),
            "time and event must have the same length, got 3 times and 2 events.",
        ),
        (
            ([1.0, np.nan], [1, 1]),
            "y contains NaN: 1 of 2 times are missing, the first in row 1.",
        ),
        (
            np.ma.array(structured(), mask=[(False, False), (False, True), (False, False)]),
            "y contains NaN: 1 of 3 times are missing, the first in row 1.",
        ),
        (
            {"time": TIME, "event": EVENT, "upper": TIME},
            "y must have either a time or two bounds in each row, got the columns 'time', 'upper': "
            "drop one of both.",
        ),
        (
            structured(("event", "duration"), (int, float), ([0, 1, 2], TIME)),
            "event must be boolean or 0 and 1, got the values 0, 1, 2: codes above 1 usually mean "
            "competing risks, which CompetingRisksRegressor takes; write event == 1 "
            "for the first cause, and "
            "rows with another cause count as censored, so that the predictions are those for that "
            "cause alone, as if the others did not occur.",
        ),
        (  # bmt, as scikit-survival ships it
            structured(("status", "ftime"), (int, float), ([0, 1, 2], TIME)),
            "status must be boolean or 0 and 1, got the values 0, 1, 2: codes above 1 usually mean "
            "competing risks, which CompetingRisksRegressor takes; write status == 1 "
            "for the first cause, and "
            "rows with another cause count as censored, so that the predictions are those for that "
            "cause alone, as if the others did not occur.",
        ),
        (
            structured(("event", "duration"), (int, float), ([0, 1, 1], TIME)),
            "y must be a structured array with exactly one boolean and one numeric field, got "
            f"'event' (int64), 'duration' (float64): {_REMEDY}",
        ),
        ([], "y must hold at least one row, got none."),
        (([], []), "y must hold at least one row, got none."),
    ],
)
def test_any_other_target_is_refused_in_one_sentence(y, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        read_target(y)


@pytest.mark.parametrize("kind", ["intervals", "left", 1])
def test_only_kinds_that_can_be_read_can_be_accepted(kind):
    message = (
        "Every entry of accepts must be one of 'right', 'interval', 'delayed_entry', 'competing', "
        f"got {kind!r}."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        read_target((TIME, EVENT), accepts=("right", kind))


def test_two_fields_are_a_time_and_an_event_whatever_their_names():
    target = read_target(structured(("right", "start")), accepts=("right",))
    np.testing.assert_array_equal(target.time, TIME)


def test_a_tuple_in_the_wrong_order_is_refused():
    message = "y must hold numbers, got booleans, which are the values of an event column."
    with pytest.raises(TypeError, match="^" + re.escape(message) + "$"):
        read_target((EVENT, TIME))


def test_rows_of_y_must_match_those_of_x():
    message = "y must have one row for each row of X, got 3 rows in y and 4 in X."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        read_target(TIME, n_samples=4)


def test_separate_columns_are_named_time_in_the_messages():
    message = "time contains NaN: 1 of 1 times are missing, the first in row 0."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        read_columns([np.nan], [True])


def test_a_target_knows_its_size_and_its_events():
    target = Target(TIME, EVENT)
    assert len(target) == 3
    assert target.n_events == 2


@pytest.mark.parametrize("index", [[2, 0], np.array([2, 0]), slice(2, None, -2)])
def test_rows_are_taken_in_the_given_order(index):
    taken = Target(TIME, EVENT).take(index)
    np.testing.assert_array_equal(taken.time, [9.0, 5.0])
    np.testing.assert_array_equal(taken.event, [True, True])


def test_rows_are_taken_by_a_mask():
    np.testing.assert_array_equal(Target(TIME, EVENT).take(~EVENT).time, [2.0])


def test_a_target_cannot_be_changed():
    with pytest.raises(AttributeError):
        Target(TIME, EVENT).time = EVENT


def test_one_event_is_enough():
    require_events(read_target(([1.0, 2.0], [False, True])))


def test_a_target_without_an_event_is_refused_for_fitting():
    target = read_target((np.ones(200), np.zeros(200)))
    message = "y has no event: 200 of 200 rows are censored, so no quantile can be fitted."
    with pytest.raises(NoEventsError, match="^" + re.escape(message) + "$"):
        require_events(target)


@pytest.mark.parametrize(
    ("own", "builtin"),
    [
        (NoEventsError, ValueError),
        (ModelFileError, ValueError),
        (TrainingDivergedError, ArithmeticError),
        (ExtrapolationWarning, UserWarning),
    ],
)
def test_own_errors_are_caught_by_their_built_in_class(own, builtin):
    assert issubclass(own, builtin)


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
            "2 usually means the event, write event == 2; "
            "kinds of events are 0, 1 and 2 for CompetingRisksRegressor, "
            "with 0 where none was seen.",
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
