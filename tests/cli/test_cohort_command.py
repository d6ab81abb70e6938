"""``censquant cohort``: the table of Python, in the terminal and in files."""

from pathlib import Path

import pandas as pd
import pytest
from in_process import run

from censquant.datasets import load_gbsg2
from censquant.inspection import cohort_table

ASK = ("--time", "days", "--event", "recurred", "--unit", "days")


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    X, y = load_gbsg2(as_frame=True)
    frame = X[["horTh", "age", "tgrade"]].assign(days=y["time"], recurred=y["event"].astype(int))
    frame["site"] = ["north", "south", None] * 228 + ["north", "south"]
    frame["seen"] = "2024-06-30"
    frame.to_csv("women.csv", index=False)
    return frame


def test_the_table_is_that_of_python(shell):
    y = shell["days"], shell["recurred"] == 1
    expected = cohort_table(shell[["age", "tgrade", "site"]], y, by=shell["horTh"], unit="days")
    told = run("cohort", "women.csv", *ASK, "--by", "horTh", "--drop", "seen", "--json").json
    assert told["table"] == [row._asdict() | plain(row) for row in expected.rows]
    assert list(told["groups"].values()) == [686, 440, 246]


def plain(row):
    """Tuples are lists in JSON, and what is not a finite number is null."""
    numbers = [[None if n != n or abs(n) == float("inf") else n for n in one]
               for one in row.numbers]  # fmt: skip
    smd = None if row.smd != row.smd else row.smd
    return {"texts": list(row.texts), "numbers": numbers, "smd": smd}


def test_the_terminal_names_the_variable_of_each_line(shell):
    done = run("cohort", "women.csv", *ASK, "--by", "horTh")
    assert done.code == 0, done.err
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert "'women.csv': 686 rows" in lines
    assert any(line.startswith("events, n (%) 299 (44 %) 205 (47 %) 94 (38 %)") for line in lines)
    assert any(line.startswith("tgrade: 1 81 (12 %)") for line in lines)
    assert any(line.startswith("site: north") and "228 (33 %)" in line for line in lines)
    assert lines[-1] == "SMD: largest standardised difference between two groups. NR: not reached."
    assert "Dates are left out: 'seen'." in done.err


def test_groups_by_the_event_come_with_a_warning(shell):
    done = run("cohort", "women.csv", *ASK, "--by", "recurred")
    assert "event (n = 299)" in done.out
    assert "the table shows no effects" in " ".join(done.out.split())


def test_a_table_without_times_is_described_too(shell):
    done = run("cohort", "women.csv", "--columns", "age,site")
    assert done.code == 0, done.err
    assert "age, median (IQR)" in done.out
    assert "events" not in done.out
    assert "tgrade" not in done.out


def test_files_are_a_page_or_one_row_per_level(shell):
    for name in ("table.html", "table.csv"):
        done = run("cohort", "women.csv", *ASK, "--by", "horTh", "-o", name)
        assert done.code == 0, done.err
        again = run("cohort", "women.csv", *ASK, "-o", name)
        assert again.error.startswith(f"'{name}' exists already and is not overwritten")
    page = Path("table.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "<td>81 (12 %)</td>" in page
    rows = pd.read_csv("table.csv")
    assert list(rows.columns[:3]) == ["variable", "statistic", "level"]
    assert rows["variable"].tolist()[:4] == [
        "events", "follow-up (days)", "time to event (days)", "age",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--by", "age"), "--by must have at most 10 groups, got 54: name a column with few"),
        (("--by", "ages"), "--by: 'women.csv' has no column 'ages'; did you mean 'age'?"),
        (("--columns", "seen"), "'women.csv' has no column to describe."),
        (("--drop", "grade"), "--columns: 'women.csv' has no column 'grade'; did you mean 'tgra"),
        (("-o", "-"), "--output must name a file, got '-'."),
        (("-o", "women.csv", "--force"), "'women.csv' is the table itself: name another file."),
        (("--time", "days"), "--event must name the column that says whether the event was"),
    ],
)
def test_wrong_input_is_one_sentence(shell, options, sentence):
    assert run("cohort", "women.csv", *options).error.startswith(sentence)
