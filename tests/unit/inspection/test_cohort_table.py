"""Table 1: medians, counts, follow-up and differences, each against an independent computation."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from lifelines import KaplanMeierFitter

from censquant.datasets import load_gbsg2
from censquant.inspection import cohort_table
from censquant.inspection._cohort import describe_cohort, flat_lines
from censquant.inspection._table import FeatureTable
from censquant.survival import read_target


@pytest.fixture(scope="module")
def women():
    X, y = load_gbsg2(as_frame=True)
    X = X.assign(
        grade=X["tgrade"].map({1: "I", 2: "II", 3: "III"}),
        flag=X["age"] > 50,
        site=[f"site {k % 12:02d}" if k % 7 else None for k in range(len(X))],
        woman=[f"W{k}" for k in range(len(X))],
    )
    X.loc[X.index[::5], "pnodes"] = np.nan
    return X, y


def row_of(table, variable, level=""):
    (found,) = [row for row in table.rows if (row.variable, row.level) == (variable, level)]
    return found


def test_numbers_have_quartiles_and_levels_counts_of_known_values(women):
    X, _ = women
    table = cohort_table(X, by="horTh")
    groups = [X, X[X["horTh"] == 0], X[X["horTh"] == 1]]
    assert table.groups == ("all", "horTh = 0", "horTh = 1")
    assert table.sizes == tuple(map(len, groups))
    nodes = row_of(table, "pnodes")
    for numbers, group in zip(nodes.numbers, groups, strict=True):
        np.testing.assert_allclose(numbers, group["pnodes"].quantile([0.25, 0.5, 0.75]))
    assert nodes.missing == X["pnodes"].isna().sum()
    for level in ("I", "II", "III"):
        for numbers, group in zip(row_of(table, "grade", level).numbers, groups, strict=True):
            assert numbers == ((group["grade"] == level).sum(), (group["grade"] == level).mean())
    flag = row_of(table, "flag")
    assert flag.numbers[0] == (X["flag"].sum(), X["flag"].mean())
    assert flag.texts[0] == f"{X['flag'].sum()} ({100 * X['flag'].mean():.0f} %)"
    site = row_of(table, "site", "site 00")
    assert site.numbers[0][1] == pytest.approx((X["site"].dropna() == "site 00").mean())
    assert site.missing == X["site"].isna().sum()
    listed = [row for row in table.rows if row.variable == "site"]
    assert listed[-1].level == "4 other levels"
    assert sum(row.numbers[0][0] for row in listed) == X["site"].notna().sum()
    assert [row.statistic for row in table.rows if row.variable == "woman"] == [
        "686 different values"
    ]
    assert "horTh" not in {row.variable for row in table.rows}


def test_follow_up_and_time_to_the_event_are_those_of_lifelines(women):
    X, y = women
    table = cohort_table(X[["age"]], y, by=X["horTh"], unit="days")
    for place, group in enumerate([np.ones(len(X), dtype=bool), X["horTh"] == 0, X["horTh"] == 1]):
        time, event = y["time"][group], y["event"][group]
        for name, ends in (("time to event (days)", event), ("follow-up (days)", ~event)):
            steps = KaplanMeierFitter().fit(time, ends).survival_function_["KM_estimate"]
            reached = [steps.index[steps <= left + 1e-12] for left in (0.75, 0.5, 0.25)]
            expected = [times.min() if len(times) else np.inf for times in reached]
            np.testing.assert_allclose(row_of(table, name).numbers[place], expected)
        assert row_of(table, "events").numbers[place][0] == event.sum()
    assert row_of(table, "time to event (days)").texts[0].endswith("to NR)")


def test_standardised_differences_are_those_of_their_formulas(women):
    X, _ = women
    table = cohort_table(X, by="horTh")
    first, second = X[X["horTh"] == 0], X[X["horTh"] == 1]
    spread = np.sqrt((first["age"].var() + second["age"].var()) / 2)
    expected = abs(first["age"].mean() - second["age"].mean()) / spread
    assert row_of(table, "age").smd == pytest.approx(expected)
    p, q = first["flag"].mean(), second["flag"].mean()
    expected = abs(p - q) / np.sqrt((p * (1 - p) + q * (1 - q)) / 2)
    assert row_of(table, "flag").smd == pytest.approx(expected)
    three = cohort_table(X, by="grade")
    pairs = [("I", "II"), ("I", "III"), ("II", "III")]
    expected = max(
        cohort_table(part, by="grade").rows[1].smd
        for part in (X.loc[X["grade"].isin(pair), ["horTh", "age", "grade"]] for pair in pairs)
    )
    assert row_of(three, "age").smd == pytest.approx(expected)


def test_a_difference_of_levels_does_not_depend_on_which_is_left_out():
    rng = np.random.default_rng(0)
    levels, group = rng.choice(list("abc"), 300, p=[0.5, 0.3, 0.2]), rng.integers(0, 2, 300)
    other = np.array(levels, dtype=object)
    other[levels == "a"] = "z"
    found = [
        cohort_table(pd.DataFrame({"x": column}), by=group).rows[0].smd
        for column in (levels, other)
    ]
    assert found[0] == pytest.approx(found[1])
    assert cohort_table(pd.DataFrame({"x": levels}), by=levels).rows[0].smd != 0


def test_ordered_categories_keep_their_order_and_numbers_that_of_numbers():
    order = ["low", "mid", "high"]
    stage = pd.Categorical(["mid", "low", "high", "low"] * 5, categories=order, ordered=True)
    room = pd.Series(["10", "9", "100", None] * 5)
    table = cohort_table(pd.DataFrame({"stage": stage, "room": room}))
    assert [row.level for row in table.rows] == ["low", "mid", "high", "9", "10", "100"]


def test_infinite_numbers_count_as_missing():
    row = cohort_table(pd.DataFrame({"x": [np.inf, 1.0, 2.5, np.nan]})).rows[0]
    assert row.numbers == ((1.375, 1.75, 2.125),)
    assert row.missing == 2


def test_groups_by_the_event_have_observed_times_and_no_curves(women):
    X, y = women
    table = cohort_table(X[["age"]], y, by="event")
    assert table.groups == ("all", "event", "no event")
    assert [row.variable for row in table.rows] == ["observed time", "age"]
    np.testing.assert_allclose(
        table.rows[0].numbers[1], np.quantile(y["time"][y["event"]], [0.25, 0.5, 0.75])
    )


def test_arrays_and_frames_of_polars_give_the_same_table(women):
    X, y = women
    numbers = X[["age", "tsize", "pnodes"]]
    expected = cohort_table(numbers, y).rows
    assert cohort_table(pl.from_pandas(numbers), y).rows == expected
    array = cohort_table(numbers.to_numpy(), y)
    assert [row.texts for row in array.rows] == [row.texts for row in expected]
    assert array.rows[-1].variable == "x2"


def test_it_is_a_text_a_page_and_a_frame(women):
    X, y = women
    table = cohort_table(X[["age", "grade", "pnodes"]], y, by=X["horTh"])
    lines = str(table).splitlines()
    assert lines[0].split()[-2:] == ["missing", "SMD"]
    assert [line.split()[0] for line in lines[1:] if line.startswith("  ")] == ["I", "II", "III"]
    assert max(map(len, lines)) < 120
    assert "\u2003I" in table._repr_html_()
    frame = table.to_frame()
    assert frame["level"].tolist().count("II") == 1
    assert list(cohort_table(X[["age"]]).to_frame().columns) == [
        "variable", "statistic", "level", "all", "missing",
    ]  # fmt: skip
    flat = list(flat_lines(table))
    assert [line[0] for line in flat[-4:-1]] == ["grade: I", "grade: II", "grade: III"]
    assert flat[-1][-2] == f"{X['pnodes'].isna().sum()} (20 %)"


def test_names_of_users_are_never_markup():
    frame = pd.DataFrame({"<b>": ["<i>", "x", "y"] * 4})
    assert "<i>" not in cohort_table(frame)._repr_html_()
    assert "<b>" not in cohort_table(frame)._repr_html_()


def test_nothing_is_said_of_few_rows_where_these_would_tell_of_individuals():
    X = pd.DataFrame(
        {
            "ward": ["a"] * 40 + ["b"] * 30 + ["c"] * 4,
            "rare": [1] * 3 + [0] * 71,
            "lab": [1.5, 2.5, 3.75] + [np.nan] * 71,
            "age": np.linspace(20.25, 80.5, 74),
        }
    )
    y = read_target((np.arange(1.0, 75.0), np.arange(74) % 2 == 0))
    table = describe_cohort(FeatureTable.read(X), y, fewest=10)
    ward = {row.level: row.texts[0] for row in table.rows if row.variable == "ward"}
    assert ward == {"a": "40 (54 %)", "b": "–", "1 other level": "–"}
    assert row_of(table, "rare").texts == ("–",)
    assert row_of(table, "lab").texts == ("–",)
    assert row_of(table, "age").texts[0].startswith("50.4 (")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"by": "event"}, "by='event' needs y, the times and events, got none."),
        ({"by": "weight"}, "feature must be one of the columns 'horTh', 'age', 'menostat', 'ts"),
        ({"by": "age"}, "by must have at most 10 groups, got 54: name a column with few values"),
        ({"by": [1, 2]}, "by must be a column or have one group for each of 686 rows, got shape"),
    ],
)
def test_wrong_arguments_are_one_sentence(women, arguments, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        cohort_table(women[0], **arguments)
