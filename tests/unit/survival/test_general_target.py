import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import censquant
from censquant import CoxQuantileRegressor, Surv
from censquant._rows._cross_fit import make_folds
from censquant._rows._fit_data import FitData
from censquant.exceptions import NoEventsError
from censquant.metrics import concordance_index_ipcw
from censquant.survival import Target, read_target
from censquant.survival._kinds_of_rows import READABLE, TAKEN_BY
from censquant.survival._target import GeneralTarget

INF = np.inf
LOWER = np.array([2.0, 0.0, 7.0, 4.0, np.nan])
UPPER = np.array([5.0, 1.0, INF, 4.0, 3.0])


def structured(**columns):
    fields = {name: np.asarray(column) for name, column in columns.items()}
    y = np.empty(len(next(iter(fields.values()))), [(n, c.dtype) for n, c in fields.items()])
    for name, column in fields.items():
        y[name] = column
    return y


def assert_same(one, other):
    for left, right in zip(one.columns, other.columns, strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize(
    "y",
    [
        Surv.from_intervals(LOWER, UPPER),
        Surv.from_dataframe(data=pd.DataFrame({"l": LOWER, "u": UPPER}), lower="l", upper="u"),
        {"lower": LOWER, "upper": UPPER},
        pd.DataFrame({"time_lower": LOWER, "time_upper": np.where(UPPER < INF, UPPER, np.nan)}),
        {"label_lower_bound": LOWER, "label_upper_bound": UPPER},
        {"left": LOWER, "right": UPPER, "event": [1, 1, 0, 1, 1]},
        structured(t_left=LOWER, t_right=UPPER, seen=np.array([1, 1, 0, 1, 1], bool)),
    ],
)
def test_every_spelling_of_intervals_is_read_alike(y):
    target = read_target(y, accepts=("right", "interval"))
    np.testing.assert_array_equal(target.lower, [2.0, -INF, 7.0, 4.0, -INF])
    np.testing.assert_array_equal(target.upper, [5.0, 1.0, INF, 4.0, 3.0])
    np.testing.assert_array_equal(target.event, [True, True, False, True, True])
    np.testing.assert_array_equal(target.time, [5.0, 1.0, 7.0, 4.0, 3.0])
    np.testing.assert_array_equal(target.interval, [True, True, False, False, True])
    np.testing.assert_array_equal(target.exact, [False, False, False, True, False])
    np.testing.assert_array_equal(target.right, [False, False, True, False, False])
    assert target.n_events == 4
    assert target.needs == {"interval": 3}


TIME, EVENT, ENTRY = np.array([5.0, 2.0, 9.0]), np.array([True, False, True]), [0.0, 1.0, 8.5]


@pytest.mark.parametrize(
    "y",
    [
        Surv.from_arrays(EVENT, TIME, entry=ENTRY),
        Surv.from_arrays(EVENT, TIME, "died", "days", entry=ENTRY),
        Surv.from_dataframe("d", "t", {"d": EVENT, "t": TIME, "e": ENTRY}, entry="e"),
        {"time": TIME, "event": EVENT, "entry": ENTRY},
        pd.DataFrame({"duration": TIME, "event": EVENT, "Start": ENTRY}),
        structured(tstart=ENTRY, stop=TIME, event=EVENT),
        structured(tstart=ENTRY, stop=TIME, event=EVENT.astype(int)),
        Surv.from_intervals(TIME, np.where(EVENT, TIME, INF), entry=ENTRY),
    ],
)
def test_every_spelling_of_delayed_entry_is_read_alike(y):
    target = read_target(y, accepts=("right", "delayed_entry"))
    np.testing.assert_array_equal(target.time, TIME)
    np.testing.assert_array_equal(target.event, EVENT)
    np.testing.assert_array_equal(target.lower, TIME)
    np.testing.assert_array_equal(target.entry, [-INF, 1.0, 8.5])
    np.testing.assert_array_equal(target.late, [False, True, True])
    assert target.needs == {"delayed_entry": 2}


@pytest.mark.parametrize(
    "y",
    [
        Surv.from_arrays([1, 0, 2], TIME),
        Surv.from_arrays([1, 0, 2], TIME, "cause", "days"),
        ([5, 2, 9], [1, 0, 2]),
        {"time": TIME, "event": [1.0, 0.0, 2.0]},
        {"time": TIME, "event": np.array([True, 0, 2], dtype=object)},
        Surv.from_intervals(TIME, [5, INF, 9], event=[1, 0, 2]),
    ],
)
def test_codes_above_1_are_kinds_of_events(y):
    target = read_target(y, accepts=READABLE)
    np.testing.assert_array_equal(target.kind, [1, 0, 2])
    np.testing.assert_array_equal(target.event, EVENT)
    np.testing.assert_array_equal(target.time, TIME)
    assert target.needs == {"competing": 1}


@pytest.mark.parametrize(
    "y",
    [
        (TIME, EVENT),
        Surv.from_arrays(EVENT, TIME, entry=np.zeros(3)),
        Surv.from_arrays(EVENT, TIME, entry=[-1.0, 0.0, -INF]),
        Surv.from_intervals(TIME, np.where(EVENT, TIME, INF)),
        Surv.from_intervals(TIME, np.where(EVENT, TIME, np.nan), entry=np.zeros(3), event=EVENT),
    ],
)
@pytest.mark.parametrize("accepts", [("right",), READABLE])
def test_rows_that_are_plain_are_a_plain_target_however_they_are_spelled(y, accepts):
    target = read_target(y, accepts=accepts)
    assert type(target) is Target
    assert_same(target, Target(TIME, EVENT))


def test_an_interval_begins_at_its_entry():
    y = Surv.from_intervals([0, 2, 4], [5, 6, 6], entry=[3, 1, 5])
    target = read_target(y, accepts=READABLE)
    np.testing.assert_array_equal(target.lower, [3.0, 2.0, 5.0])


def test_each_kind_of_event_ends_the_follow_up_for_the_others():
    target = read_target(Surv.from_arrays([1, 0, 2], TIME, entry=ENTRY), accepts=READABLE)
    second = target.of_kind(2)
    np.testing.assert_array_equal(second.event, [False, False, True])
    np.testing.assert_array_equal(second.upper, [INF, INF, 9.0])
    assert second.needs == {"delayed_entry": 2}
    plain = read_target(Surv.from_arrays([1, 0, 2], TIME), accepts=READABLE).of_kind(1)
    assert_same(plain, Target(TIME, np.array([True, False, False])))


def test_a_competing_event_inside_an_interval_ends_no_follow_up():
    y = Surv.from_intervals([1, 2, 3], [1, 4, INF], event=[1, 2, 0])
    message = (
        "y must not have events of several kinds inside intervals, got 1 of 3 rows of another kind "
        "than 1 whose times are not known, the first in row 1: give the time at which a competing "
        "event ended the follow-up."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        read_target(y, accepts=READABLE).of_kind(1)


def test_rows_keep_their_open_ends_in_other_units():
    target = read_target(Surv.from_intervals(LOWER, UPPER, entry=[1, 0, 0, 2, 0]), accepts=READABLE)
    mapped = target.mapped(np.log)
    np.testing.assert_array_equal(mapped.upper, [np.log(5.0), 0.0, INF, np.log(4.0), np.log(3.0)])
    np.testing.assert_array_equal(mapped.lower, [np.log(2.0), -INF, np.log(7.0), np.log(4.0), -INF])
    np.testing.assert_array_equal(mapped.entry, [0.0, -INF, -INF, np.log(2.0), -INF])


_MORE = "check whether entry and end are exchanged, and drop rows that were never observed."


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (
            lambda: Surv.from_intervals([1, 5], [2, 4]),
            "lower must not exceed upper, got 1 of 2 rows that break this, the first of them row 1 "
            "with 5 and 4: check whether the columns are exchanged.",
        ),
        (
            lambda: Surv.from_intervals([1, np.nan], [2, np.nan]),
            "lower or upper must be known in each row, got 1 of 2 rows that break this, the first "
            "of them row 1 with -inf and inf: drop rows that say nothing, or give the last time "
            "without an event as lower.",
        ),
        (
            lambda: Surv.from_intervals([INF], [INF]),
            "lower or upper must be known in each row, got 1 of 1 rows that break this, the first "
            "of them row 0 with inf and inf: drop rows that say nothing, or give the last time "
            "without an event as lower.",
        ),
        (
            lambda: Surv.from_intervals([-3, 1], [2, 4]),
            "lower must not be negative, got 1 of 2 rows that break this, the first of them row 0 "
            "with -3: pass durations, with 0 or -inf where nothing is known before upper.",
        ),
        (
            lambda: Surv.from_intervals([0, 1], [0, 4]),
            "upper must be positive, got 1 of 2 rows that break this, the first of them row 0 with "
            "0: the event has to come after the start: add what the unit of time rounded off.",
        ),
        (
            lambda: Surv.from_intervals([1, 2], [2, INF], event=[0, 0]),
            "upper must be inf or missing where event is 0, got 1 of 2 rows that break this, the "
            "first of them row 0 with 2: an event is known to lie before a finite upper bound.",
        ),
        (
            lambda: Surv.from_intervals([1, 2], [2, INF], event=[1, 1]),
            "upper must be finite where there is an event, got 1 of 2 rows that break this, the "
            "first of them row 1 with event 1: set event to 0 where none was seen.",
        ),
        (
            lambda: Surv.from_intervals([1, 2], [2]),
            "lower and upper must have the same length, got 2 lower and 1 upper bounds.",
        ),
        (
            lambda: Surv.from_intervals([1, 2], [2, 3], event=[1]),
            "event must have one value for each row, got 1 events for 2 rows.",
        ),
        (lambda: Surv.from_intervals([], []), "lower must hold at least one row, got none."),
        (
            lambda: Surv.from_intervals([1, 2], [3, 4], entry=[0, 4]),
            "entry must lie before the end of follow-up, got 1 of 2 rows that break this, the "
            f"first of them row 1 with 4 and 4: {_MORE}",
        ),
        (
            lambda: Surv.from_arrays([1, 0], [3, 4], entry=[0, 5]),
            "entry must lie before time, got 1 of 2 rows that break this, the first of them row 1 "
            f"with 5 and 4: {_MORE}",
        ),
        (
            lambda: Surv.from_arrays([1, 0], [3, 4], entry=[0]),
            "entry must have one time for each row, got 1 entries for 2 rows.",
        ),
        (
            lambda: Surv.from_arrays([1, 0], [3, 4], entry=[0, np.nan]),
            "entry contains NaN: 1 of 2 entries are missing, the first in row 1: give 0 to rows "
            "that were under observation from the start.",
        ),
        (
            lambda: Surv.from_arrays([1, 0], [0, 4], entry=[0, 1]),
            "time must be positive where rows have an entry and an event, got 1 of 2 rows that "
            "break this, the first of them row 0 with 0: add what the unit of time rounded off.",
        ),
        (
            lambda: Surv.from_arrays([1, 0], [3, -4], entry=[0, 1]),
            "time must not be negative where rows have an entry, got 1 of 2 rows that break this, "
            "the first of them row 1 with -4: pass durations since the same start as the entries.",
        ),
        (
            lambda: Surv.from_arrays([1, 0], [3, 4], name_time="start", entry=[0, 1]),
            "name_time must not be the name of a bound or an entry where entry is given, got "
            "'start': choose another name.",
        ),
        (
            lambda: Surv.from_arrays([1, 0, 3], [3, 4, 5]),
            "event must be codes 0, 1, ..., K without a gap, got the values 0, 1, 3: number the "
            "kinds of events from 1, with 0 where none was seen.",
        ),
        (
            lambda: Surv.from_arrays([1, 0, 2], [3, 4]),
            "time and event must have the same length, got 2 times and 3 events.",
        ),
        (
            lambda: Surv.from_dataframe("e", "t"),
            "data must be a table, got None: pass it as data=table.",
        ),
        (
            lambda: Surv.from_dataframe("e", data={"e": [1], "l": [1]}, lower="l"),
            "from_dataframe must be given either event and time, or lower and upper, got 'event', "
            "'lower'.",
        ),
        (
            lambda: read_target({"lower": [1.0], "left": [1.0], "upper": [2.0]}),
            "y must have one column of lower bounds, got 'lower', 'left': drop or rename the "
            "others.",
        ),
        (
            lambda: read_target({"event": [1], "upper": [2.0]}),
            "y must have both bounds of each row, got 'upper': add a column 'lower', with missing "
            "values where it is open.",
        ),
    ],
)
def test_wrong_rows_are_refused_with_the_remedy(read, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        read()


LATE = Surv.from_arrays([1, 0] * 20, np.arange(1.0, 41.0), entry=np.arange(40) / 2.0)
WIDE = Surv.from_intervals(np.arange(40.0), np.arange(40.0) + 2.0)


@pytest.mark.parametrize("kind", ["interval", "delayed_entry"])
def test_rows_that_an_estimator_cannot_use_are_refused_by_naming_those_who_can(kind, monkeypatch):
    y, words, otherwise = {
        "interval": (WIDE, "interval censoring in 40", "give one time and one event for each row"),
        "delayed_entry": (
            LATE,
            "delayed entry in 39",
            "take the time since entry, with the entry as a feature",
        ),
    }[kind]
    monkeypatch.setitem(TAKEN_BY, kind, ("A", "B"))
    message = (
        f"y must be a target of kind 'right', got one with {words} of 40 rows: only A and B take "
        f"such rows; otherwise {otherwise}."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        read_target(y)
    monkeypatch.setitem(TAKEN_BY, kind, ())
    message = message.replace("only A and B take such rows; otherwise ", "")
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        read_target(y)


def test_metrics_refuse_rows_that_they_would_misread():
    with pytest.raises(ValueError, match="got one with delayed entry"):
        concordance_index_ipcw(LATE, np.ones(40))


def test_what_estimators_declare_is_what_messages_say():
    declared = {kind: set() for kind in TAKEN_BY}
    for name in censquant.__all__:
        for kind in getattr(getattr(censquant, name), "_accepts", ()):
            assert kind in READABLE
            if kind != "right":
                declared[kind].add(name)
    assert declared == {kind: set(names) for kind, names in TAKEN_BY.items()}


def read_rows(y, weight=None, **keywords):
    x = np.arange(40.0)[:, None] % 7
    return FitData.read(x, y, weight, accepts=READABLE, **keywords)


@pytest.mark.parametrize("y", [LATE, WIDE])
def test_order_weights_and_units_do_not_change_general_rows(y):
    rows = read_rows(y).arranged()
    assert_same(rows.target, read_target(y, accepts=READABLE).take(rows.source))

    shuffle = np.random.default_rng(0).permutation(40)
    mixed = read_rows(y)
    mixed = FitData.read(mixed.x[shuffle], y[shuffle], accepts=READABLE).arranged()
    assert_same(mixed.target, rows.target)
    np.testing.assert_array_equal(mixed.x, rows.x)

    weight = np.arange(40) % 3
    kept = np.repeat(np.arange(40), weight)
    weighted = read_rows(y, weight).arranged()
    repeated = FitData.read(rows.x[np.argsort(rows.source)][kept], y[kept], accepts=READABLE)
    assert_same(weighted.target, repeated.arranged().target)

    scaled = y.copy()
    for name in set(y.dtype.names) - {"event"}:
        scaled[name] *= 365.25
    np.testing.assert_array_equal(read_rows(scaled).arranged().source, rows.source)


def test_rows_that_differ_in_their_entries_alone_are_not_held_out_together():
    target = read_target(
        Surv.from_arrays([1] * 30, [5.0] * 30, entry=np.repeat([1.0, 2.0, 3.0], 10)),
        accepts=READABLE,
    )
    folds = make_folds(3, np.zeros((30, 1)), target, None, np.random.default_rng(0))
    assert sorted(folds[::10]) == [0, 1, 2]
    assert all(len(set(folds[place : place + 10])) == 1 for place in (0, 10, 20))


@pytest.mark.parametrize(
    ("y", "left", "message"),
    [
        (
            LATE,
            True,
            "censoring must be 'right' where rows have intervals, entries or kinds of events, got "
            "'left': give left-censored rows as intervals with lower=0.",
        ),
        (
            Surv.from_intervals(np.ones(40), np.where(np.arange(40) < 4, 2, INF)),
            False,
            "y must have a finite upper bound in at least 10 rows where any is interval-censored, "
            "got 4 of 40 rows: collect more rows.",
        ),
        (
            Surv.from_arrays(np.ones(40), np.arange(40) + 1.0, entry=np.arange(40) + 0.5),
            False,
            "y must have a time of an event at which 10 rows or more are under observation, got at "
            "most 1 of 40 rows: nothing is comparable; check whether entries and times are on the "
            "same clock.",
        ),
        (
            Surv.from_intervals(np.zeros(40), np.arange(40) + 1.0),
            False,
            "lower must be above 0 in some row, or some row be censored, got intervals from 0 in "
            "all 40 rows: events may then have come as early as one likes; add rows that were seen "
            "without an event.",
        ),
    ],
)
def test_rows_that_say_too_little_are_refused_by_every_fit(y, left, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        read_rows(y, left=left)


def test_late_rows_without_an_event_have_the_error_of_others():
    y = Surv.from_arrays(np.zeros(40, bool), np.arange(40) + 1.0, entry=np.full(40, 0.5))
    with pytest.raises(NoEventsError, match=r"^y has no event: 40 of 40 rows are censored"):
        CoxQuantileRegressor().fit(np.arange(40.0)[:, None], y)


numbers = st.one_of(
    st.floats(width=32),
    st.integers(-3, 9),
    st.sampled_from([0.0, np.nan, INF, -INF, 1e300, None, True, "3", 10**400]),
)


@st.composite
def anything(draw):
    """Columns of about the same length, under names and in forms that users may choose."""
    size = draw(st.integers(0, 6))

    def column():
        kind = draw(st.sampled_from(["float", "code", "bool", "mixed"]))
        length = size + draw(st.sampled_from([0, 0, 0, 0, 0, 1]))
        each = {
            "float": st.floats(0.5, 20, width=32),
            "code": st.integers(0, 3),
            "bool": st.booleans(),
            "mixed": numbers,
        }[kind]
        values = draw(st.lists(each, min_size=length, max_size=length))
        if kind == "mixed":
            return np.array(values, dtype=object)
        return draw(st.sampled_from([np.asarray, list, pd.Series]))(values)

    def or_none():
        return draw(st.sampled_from([None, column()]))

    names = ["time", "event", "entry", "lower", "upper", "duration", "start", "kind", "right"]
    form = draw(st.sampled_from(["dict", "frame", "structured", "tuple", "arrays", "intervals"]))
    if form == "arrays":
        return partial(Surv.from_arrays, column(), column(), entry=or_none())
    if form == "intervals":
        return partial(Surv.from_intervals, column(), column(), entry=or_none(), event=or_none())
    if form == "tuple":
        return column(), column()
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True))
    table = {name: column() for name in chosen}
    if form == "dict":
        return table
    shortest = min(len(c) for c in table.values())
    table = {name: np.asarray(list(c)[:shortest]) for name, c in table.items()}
    return pd.DataFrame(table) if form == "frame" else structured(**table)


def read_or_refused(y, accepts):
    try:
        return read_target(y() if callable(y) else y, accepts=accepts), None
    except (TypeError, ValueError) as error:
        return None, str(error)


@settings(max_examples=150, deadline=None)
@given(anything(), st.sampled_from([("right",), READABLE, ("right", "interval")]))
def test_whatever_is_given_is_read_or_refused_in_our_words(y, accepts):
    target, refusal = read_or_refused(y, accepts)
    if refusal is not None:
        assert re.fullmatch(r"\w.* (must|contains|not supported).*\.", refusal, re.DOTALL)
        return
    rows = GeneralTarget.of(target)
    assert set(rows.needs) <= set(accepts)
    assert (rows.lower <= rows.upper).all()
    assert (rows.entry < rows.time).all()
    assert np.isfinite(rows.time).all()
    assert ((rows.kind > 0) == rows.event).all()
