"""Targets with events of several kinds: by codes, by names, in every form."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from censquant.survival._causes import read_causes

TIME, CODE = [4.0, 2.0, 3.0, 5.0], [1, 0, 2, 1]
NAMES = ["death", "censored", "relapse", "death"]


def structured(event, event_name="event", time_name="time"):
    event = np.asarray(event)
    y = np.empty(len(event), [(event_name, event.dtype), (time_name, float)])
    y[event_name], y[time_name] = event, TIME
    return y


@pytest.mark.parametrize(
    "y",
    [
        (TIME, CODE),
        (TIME, np.array(CODE, float)),
        {"time": TIME, "event": CODE},
        pd.DataFrame({"duration": TIME, "event": CODE}),
        structured(CODE),
        structured(CODE, "status", "ftime"),
        structured(CODE, "e", "t"),
    ],
)
def test_codes_are_read_in_every_form(y):
    causes = read_causes(y)
    assert causes.code.tolist() == CODE
    assert causes.target.time.tolist() == TIME
    assert causes.target.event.tolist() == [True, False, True, True]
    assert causes.kinds.tolist() == [1, 2]


@pytest.mark.parametrize(
    "event",
    [
        NAMES,
        np.array(NAMES),
        pd.Series(NAMES, dtype="category"),
        ["death", None, "relapse", "death"],
        ["death", float("nan"), "relapse", "death"],
        ["death", "", "relapse", "death"],
        [" death", "Censored", "relapse ", "death"],
    ],
)
def test_names_are_sorted_and_missing_ones_are_no_event(event):
    causes = read_causes((TIME, event))
    assert causes.kinds.tolist() == ["death", "relapse"]
    assert causes.code.tolist() == CODE


def test_categories_keep_their_order_and_those_that_do_not_occur_are_no_kind():
    event = pd.Categorical(NAMES, categories=["censored", "transplant", "relapse", "death"])
    causes = read_causes((TIME, event))
    assert causes.kinds.tolist() == ["relapse", "death"]
    assert causes.code.tolist() == [2, 0, 1, 2]


def test_a_kind_alone_has_the_others_as_censored():
    part = read_causes((TIME, CODE)).target.of_kind(2)
    assert part.event.tolist() == [False, False, True, False]
    assert part.time.tolist() == TIME


def test_rows_to_score_may_lack_a_known_kind():
    assert read_causes((TIME, [2, 0, 2, 0]), [1, 2, 3]).code.tolist() == [2, 0, 2, 0]
    causes = read_causes((TIME, NAMES), ["transplant", "relapse", "death"])
    assert causes.code.tolist() == [3, 0, 2, 3]


@pytest.mark.parametrize(
    ("y", "kinds", "error", "message"),
    [
        (None, None, ValueError, "requires y to be passed"),
        ([1.0, 2.0], None, ValueError, "^y must say for each row when and of which kind"),
        ((TIME, [1, 0, 3, 1]), None, ValueError, "without a gap, got the values 0, 1, 3: number"),
        ((TIME, [1, 0, 2, -1]), None, ValueError, "without a gap, got the values -1, 0, 1, 2"),
        ((TIME, [1, 0, 1.5, 2]), None, ValueError, "got the values 0, 1, 1.5, 2: number the kinds"),
        ((TIME, [1, 0, np.nan, 1]), None, ValueError, "^event contains missing values: 1 of 4"),
        ((TIME, [[1], [0], [1], [2]]), None, ValueError, "^event must be one-dimensional"),
        ((TIME, [object(), 0, 1, 2]), None, ValueError, "^event must be boolean or 0 and 1, got"),
        ((TIME, [object(), 0, 1, 2]), [1, 2], ValueError, "^event must be boolean or 0 and 1, got"),
        ((TIME, ["alive", "a", "b", "a"]), None, ValueError, "replace it by 'censored'"),
        ((TIME, [1, 2]), None, ValueError, "must have the same length, got 4 times and 2 events"),
        ((TIME, CODE), ["a", "b"], ValueError, "^event must hold the names 'a', 'b' of the kinds"),
        (
            (TIME, [1, 0, 3, 1]),
            [1, 2],
            ValueError,
            "^event must be 0 or one of the kinds 1, 2, got 3",
        ),
        ((TIME, NAMES), ["death"], ValueError, "one of the kinds 'death', got 'relapse'"),
        (([-np.inf, 1, 2, 3], CODE), None, ValueError, "contains infinity"),
    ],
)
def test_other_targets_are_refused_with_the_remedy(y, kinds, error, message):
    with pytest.raises(error, match=message):
        read_causes(y, kinds)


ODD = st.one_of(
    st.integers(-2, 4),
    st.floats(allow_nan=True, allow_infinity=True),
    st.booleans(),
    st.none(),
    st.text(max_size=3),
    st.sampled_from(["death", "relapse", "censored"]),
)


@given(st.lists(st.tuples(st.one_of(st.floats(), st.integers(0, 9)), ODD), max_size=6), ODD)
def test_whatever_is_given_is_read_or_refused_in_our_words(rows, kind):
    time, event = [row[0] for row in rows], [row[1] for row in rows]
    for y in ((time, event), {"time": time, "event": event}, event, kind):
        refusal = ""
        try:
            causes = read_causes(y)
        except (ValueError, TypeError) as error:
            refusal = str(error)
        if refusal:
            assert re.search("event|^y |y to be passed|time", refusal), refusal
        else:
            assert causes.code.max(initial=0) <= len(causes.kinds)
            assert (causes.target.event == (causes.code > 0)).all()


def test_a_structured_array_without_a_field_of_kinds_is_refused():
    y = np.array([(1.0, 2.0)], [("a", float), ("b", float)])
    with pytest.raises(ValueError, match=r"^y must say for each row when and of which kind"):
        read_causes(y)
