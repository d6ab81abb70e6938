"""``censquant fit``: what it reads, what it asks about, what it writes."""

import gzip

import numpy as np
import pandas as pd
import pytest
from in_process import run

from censquant import load_model
from censquant.estimators import load_notes
from censquant.io import TableError

FAST = ("--method", "cox", "--jobs", 1)
TARGET = ("--time", "days", "--event", "failed")


def fleet(n_rows=60, seed=0):
    """Machines of two sites; those that run hot fail early."""
    rng = np.random.default_rng(seed)
    temp = rng.normal(60, 10, n_rows)
    life = 1000 * np.exp(-(temp - 60) / 15) * rng.weibull(2, n_rows)
    end = rng.uniform(200, 2500, n_rows)
    return pd.DataFrame(
        {
            "unit": [f"U{7 * k + 3}" for k in range(n_rows)],
            "temp": temp.round(2),
            "site": rng.choice(["north", "south"], n_rows),
            "days": np.minimum(life, end).round(1),
            "failed": (life <= end).astype(int),
        }
    )


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fleet().to_csv("fleet.csv", index=False)
    return tmp_path


def fit(*arguments, data="fleet.csv", target=TARGET):
    return run("fit", data, *target, *FAST, "-o", "fleet.model", *arguments)


def test_a_fit_says_what_it_read_and_left_out_and_where_the_model_is(shell):
    done = fit()
    assert done.code == 0, done.err
    for words in (
        "'fleet.csv': 60 rows, 5 columns",
        "Events: ",
        "Features: 1 numbers, 1 categories (site)",
        "Left out: unit (every value is different, as in identifiers)",
        "On rows held out of the fit: concordance ",
        "Model: fleet.model",
    ):
        assert words in done.out
    assert list(load_model("fleet.model").feature_names_in_) == ["temp", "site"]


def test_json_has_the_same_facts_and_nothing_else_is_on_stdout(shell):
    told = fit("--json").json
    assert told["features"] == ["temp", "site"]
    assert told["categories"] == ["site"]
    assert told["rows"] == 60
    assert told["left_out"] == {"unit": "every value is different, as in identifiers"}
    assert told["weights"] == {"cox": 1.0}
    assert told["held_out"]["concordance"] > 0.7


def test_the_model_file_remembers_the_columns_of_the_target(shell):
    assert fit("--unit", "days").code == 0
    target = load_notes("fleet.model")["target"]
    assert (target["time"], target["event"], target["unit"]) == ("days", "failed", "days")


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "parquet", "feather", "txt"])
def test_the_same_table_in_any_format_gives_the_same_model(shell, suffix):
    frame, name = fleet(), f"other.{suffix}"
    if suffix in ("parquet", "feather"):
        getattr(frame, f"to_{suffix}")(name)
    else:
        frame.to_csv(name, index=False, sep="\t" if suffix in ("tsv", "txt") else ",")
    assert fit().code == 0
    first = load_model("fleet.model")
    assert fit("--force", data=name).code == 0
    X = frame[["temp", "site"]]
    np.testing.assert_array_equal(first.predict_curve(X).values,
                                  load_model("fleet.model").predict_curve(X).values)  # fmt: skip


def test_a_table_comes_from_standard_input(shell, monkeypatch):
    import io
    import sys

    content = gzip.compress((shell / "fleet.csv").read_bytes())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert fit("--json", data="-").json["rows"] == 60


def test_nothing_is_overwritten_without_force(shell):
    (shell / "fleet.model").write_text("precious")
    assert fit().error == (
        "'fleet.model' exists already and is not overwritten. Add --force to replace it."
    )
    assert (shell / "fleet.model").read_text() == "precious"
    assert fit("--force").code == 0


def test_the_table_itself_is_never_overwritten(shell):
    before = (shell / "fleet.csv").read_bytes()
    done = run("fit", "fleet.csv", *TARGET, *FAST, "-o", "fleet.csv", "--force")
    assert done.error == "'fleet.csv' is the table itself: name another file."
    assert (shell / "fleet.csv").read_bytes() == before


def test_a_wrong_column_is_told_the_near_one(shell):
    done = fit(target=("--time", "dayz", "--event", "failed"))
    assert done.error == "--time: 'fleet.csv' has no column 'dayz'; did you mean 'days'?"
    done = fit("--drop", "tmp,site")
    assert done.error == "--drop: 'fleet.csv' has no column 'tmp'; did you mean 'temp'?"
    done = fit(target=("--time", "days", "--event", "xyz"))
    assert done.error == (
        "--event: 'fleet.csv' has no column 'xyz'; it has 'unit', 'temp', 'site', 'days', 'failed'."
    )


@pytest.mark.parametrize(
    ("codes", "shown", "option"),
    [
        (("no", "yes"), "'no' (30), 'yes' (30)", "yes"),
        (("False", "True"), "'False' (30), 'True' (30)", "True"),
        (("alive", "dead"), "'alive' (30), 'dead' (30)", "dead"),
        (("1", "2"), "'1' (30), '2' (30)", "2"),
    ],
)
def test_other_codes_than_0_and_1_are_asked_about_with_the_option_to_add(
    shell, codes, shown, option
):
    frame = fleet()
    frame["failed"] = [codes[k % 2] for k in range(60)]
    frame.to_csv("fleet.csv", index=False)
    sentence = fit().error
    assert sentence == (
        f"The event 'failed' must hold 0 and 1, got {shown}: add --event-value {option}, or "
        f"another "
        "value if that one does not mean that the event was observed."
    )
    told = fit("--event-value", option, "--json").json
    assert told["events"] == 30


def test_codes_without_a_likely_meaning_are_listed_as_options(shell):
    frame = fleet()
    frame["failed"] = [("A", "B", "C d")[k % 3] for k in range(60)]
    frame.to_csv("fleet.csv", index=False)
    assert fit().error.endswith(": add --event-value A or --event-value B or --event-value 'C d'.")
    assert "No row of 'fleet.csv' has the value 'a' of 'failed'" in fit("--event-value", "a").error
    assert fit("--event-value", "a").error.endswith(": add --event-value A.")
    assert fit("--event-value", "A", "--event-value", "B", "--json").json["events"] == 40


def test_an_event_whose_name_says_censored_is_asked_about(shell):
    frame = fleet().rename(columns={"failed": "censored"})
    frame.to_csv("fleet.csv", index=False)
    assert fit(target=("--time", "days", "--event", "censored")).error == (
        "The name of the event 'censored' suggests that 1 means no event: add --event-value 0 or "
        "--event-value 1."
    )


def dated(missing_end=True):
    frame = fleet()
    start = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(60), "D")
    end = start + pd.to_timedelta(frame["days"], "D")
    frame["installed"] = start.strftime("%Y-%m-%d")
    frame["stopped"] = end.dt.strftime("%Y-%m-%d") if hasattr(end, "dt") else end
    frame["stopped"] = pd.Series(end).dt.strftime("%Y-%m-%d %H:%M:%S")
    if missing_end:
        frame.loc[frame["failed"] == 0, "stopped"] = ""
    return frame.drop(columns=["days"])


def test_dates_give_durations_in_the_unit_that_is_asked_for(shell):
    dated(missing_end=False).to_csv("dates.csv", index=False)
    dates = ("--start", "installed", "--end", "stopped", "--event", "failed")
    days = fit("--json", data="dates.csv", target=dates)
    assert days.json["left_out"]["unit"]
    summary = fit("--force", "--unit", "weeks", data="dates.csv", target=dates).out
    largest = fleet()["days"].max()
    assert f" to {largest / 7:.6g} weeks".replace(" to ", "") in summary
    X = fleet()[["temp", "site"]]
    weeks = load_model("fleet.model").predict_quantiles(X, [0.5], beyond="extrapolate")
    assert fit("--force", data="dates.csv", target=dates).code == 0
    np.testing.assert_allclose(
        load_model("fleet.model").predict_quantiles(X, [0.5], beyond="extrapolate"),
        7 * weeks,
        rtol=1e-4,
    )


def test_a_missing_last_date_is_asked_about(shell):
    dated().to_csv("dates.csv", index=False)
    dates = ("--start", "installed", "--end", "stopped", "--event", "failed")
    n_missing = int((fleet()["failed"] == 0).sum())
    assert f"The date 'stopped' is missing in {n_missing} of 60 rows: add --until 20" in (
        fit(data="dates.csv", target=dates).error
    )
    told = fit("--until", "2030-01-01", "--json", data="dates.csv",
               target=(*dates[:4], "--drop", "failed")).json  # fmt: skip
    assert told["events"] == 60 - n_missing


def test_dates_that_can_be_read_in_two_ways_are_asked_about(shell):
    frame = dated(missing_end=False)
    frame["installed"] = "03/04/2020"
    frame.to_csv("dates.csv", index=False)
    dates = ("--start", "installed", "--end", "stopped", "--event", "failed")
    assert fit(data="dates.csv", target=dates).error == (
        "The column 'installed' of 'dates.csv' must hold dates such as 2024-01-31, got "
        "'03/04/2020' "
        "in row 1: add --date-format %d/%m/%Y or --date-format %m/%d/%Y."
    )


def test_an_end_before_the_start_is_refused(shell):
    frame = dated(missing_end=False)
    frame.loc[4, "stopped"] = "2001-01-01"
    frame.to_csv("dates.csv", index=False)
    dates = ("--start", "installed", "--end", "stopped", "--event", "failed")
    assert "'installed' lies after 'stopped' in 1 of 60 rows of 'dates.csv', first in row 5" in (
        fit(data="dates.csv", target=dates).error
    )


def test_columns_that_leak_are_named_and_left_out(shell):
    frame = fleet()
    frame["hours"] = 24 * frame["days"]
    frame["cause"] = np.where(frame["failed"] == 1, "bearing", "")
    frame["state"] = np.where(frame["failed"] == 1, "broken", "running")
    frame["number"] = np.arange(60) + 1000
    frame["plant"] = "Ulm"
    frame["nothing"] = ""
    frame["bought"] = "2020-01-01"
    frame["almost"] = frame["days"] + np.random.default_rng(0).normal(0, 5, 60)
    frame.to_csv("fleet.csv", index=False)
    done = fit("--json").json
    assert done["left_out"] == {
        "unit": "every value is different, as in identifiers",
        "hours": "the time itself, or a multiple of it",
        "cause": "missing exactly where no event was observed",
        "state": "the event itself",
        "number": "all values are different whole numbers, as in identifiers",
        "plant": "the same value in all rows",
        "nothing": "no value in any row",
        "bought": "dates",
    }
    assert any("'almost' has nearly the same order as the time" in note for note in done["notes"])
    told = fit("--features", "hours,temp", "--force", "--json").json
    assert told["features"] == ["hours", "temp"]
    assert any("'hours' is used as you said" in note for note in told["notes"])


def test_categories_and_missing_values_are_said(shell):
    frame = fleet()
    frame.loc[[3, 5], "temp"] = np.nan
    frame.to_csv("fleet.csv", index=False)
    assert "Missing values, filled in and marked: temp 2" in fit().out


def test_numbers_that_are_codes_can_be_categories(shell):
    frame = fleet()
    frame["grade"] = np.arange(60) % 3
    frame.to_csv("fleet.csv", index=False)
    assert fit("--categorical", "grade", "--json").json["categories"] == ["site", "grade"]


def test_rows_that_belong_together_are_held_out_together(shell):
    frame = fleet()
    frame["plant"] = [f"P{k // 4}" for k in range(60)]
    frame.to_csv("fleet.csv", index=False)
    assert fit("--groups", "plant", "--json").json["features"] == ["temp", "site"]


def test_left_censored_times_are_fitted_as_such(shell):
    done = fit("--censoring", "left")
    assert done.code == 0, done.err
    assert load_model("fleet.model").censoring == "left"


def test_several_methods_are_pooled(shell):
    done = run("fit", "fleet.csv", *TARGET, "--method", "cox,forest", "--jobs", 1, "-o", "m",
               "--json", "--quantiles", "0.5,0.1")  # fmt: skip
    assert set(done.json["weights"]) == {"cox", "forest"}
    np.testing.assert_array_equal(load_model("m").quantiles_, [0.1, 0.5])


def test_accelerated_failure_times_are_a_method(shell):
    done = run("fit", "fleet.csv", *TARGET, "--method", "aft", "--jobs", 1, "-o", "m", "--json")
    assert done.json["weights"] == {"aft": 1.0}
    (model,) = load_model("m").estimators_["aft"]
    assert model.summary().terms[0] == "intercept"
    assert model.standard_errors_ is None


BROKEN = {
    "empty.csv": (b"", "'empty.csv' is empty."),
    "header.csv": (b"days,failed,temp\n", "'header.csv' has a header but no rows."),
    "ragged.csv": (
        b"days,failed,temp\n1,0,3\n2,1\n",
        "'ragged.csv' has 3 columns in its header but 2 in the row '2,1': fix that row (text with "
        "separators in it needs quotation marks).",
    ),
    "quote.csv": (
        b'days,failed,temp\n1,0,"3\n2,1,4\n',
        "'quote.csv' has a quotation mark (\") that is opened and never closed, so that rows would "
        "be lost: remove it or double it.",
    ),
    "latin.csv": (
        "days,failed,größe\n1,0,3\n".encode("cp1252"),
        "'latin.csv' is not text in utf-8 (near line 1): add --encoding cp1252, or name its "
        "encoding.",
    ),
    "double.csv": (
        b"days,failed,temp,temp\n1,0,3,4\n2,1,3,4\n",
        "'double.csv' has more than one column called 'temp': rename all but one.",
    ),
    "book.xlsx": (
        b"PK\x03\x04....",
        "'book.xlsx' is an Excel or zip file, which is not read: save the table as CSV, TSV, "
        "Parquet or Feather (text may be gzipped).",
    ),
    "cut.csv.gz": (
        gzip.compress(b"days,failed\n" * 100)[:30],
        "'cut.csv.gz' is not a complete gzip",
    ),
    "cut.parquet": (b"PAR1....", "'cut.parquet' cannot be read ("),
    "commas.csv": (
        b"days;failed;temp\n1;0;3,5\n2;1;4,25\n",
        "The column 'temp' of 'commas.csv' holds numbers such as '3,5': add "
        "--decimal ',' "
        "or --categorical temp or --drop temp.",
    ),
    "gap.csv": (
        b"days,failed,temp\n1,0,3\n,1,4\n",
        "The time 'days' is missing in 1 of 2 rows of 'gap.csv', first in row 2: fix or remove "
        "these rows.",
    ),
    "text.csv": (
        b"days,failed,temp\n1,0,3\nlong,1,4\n",
        "The column 'days' of 'text.csv' must hold numbers, got 'long' in row 2: add --missing "
        "long, or fix it.",
    ),
    "unknown.csv": (
        b"days,failed,temp\n1,0,3\n2,,4\n",
        "The event 'failed' is missing in 1 of 2 rows of 'unknown.csv', first in row 2: fix or "
        "remove these rows.",
    ),
    "censored.csv": (
        b"days,failed,temp\n1,0,3\n2,0,4\n",
        "No row of 'censored.csv' has the event, so that no time to it can be learned: "
        "check --event.",
    ),
    "alone.csv": (
        b"days,failed\n1,0\n2,1\n",
        "'alone.csv' has no column left to learn from.",
    ),
    "one.csv": (
        b"days,failed,temp\n1,1,3\n",
        "'one.csv' has no column left to learn from ('temp': the same ",
    ),
    "utf16.csv": (
        "days,failed,temp\n1,0,3\n".encode("utf-16-le"),
        "'utf16.csv' has bytes that are zero, as text in UTF-16 or UTF-32 has: add --encoding "
        "utf-16-le.",
    ),
    "dates.csv": (
        b"days,failed,temp\n2020-01-01,0,3\n2020-01-02,1,4\n",
        "The column 'days' of 'dates.csv' must hold durations, got dates: name two columns "
        "of dates "
        "by --start and --end.",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_kind_of_bad_input_is_one_sentence_and_exit_code_2(shell, name):
    content, sentence = BROKEN[name]
    (shell / name).write_bytes(content)
    assert fit(data=name).error.startswith(sentence)
    assert not (shell / "fleet.model").exists()
    assert sorted(p.name for p in shell.iterdir()) == sorted(["fleet.csv", name])


def test_a_column_of_numbers_and_words_is_asked_about(shell):
    frame = fleet().astype({"temp": object})
    frame.loc[[1, 4], "temp"] = "unknown"
    frame.to_csv("fleet.csv", index=False)
    sentence = fit().error
    assert sentence.startswith("The column 'temp' of 'fleet.csv' holds ")
    assert sentence.endswith(
        " different numbers beside 'unknown': add --missing unknown or --categorical temp "
        "or --drop "
        "temp."
    )
    assert fit("--missing", "unknown", "--json").json["missing"] == {"temp": 2}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("fit",), "Missing argument 'DATA'."),
        (("fit", "fleet.csv"), "Missing option '--output' / '-o'."),
        (("fit", "nope.csv", *TARGET, "-o", "m"), "There is no file 'nope.csv'."),
        (("fit", ".", *TARGET, "-o", "m"), "'.' is a folder, not a table."),
        (("fit", "fleet.csv", *TARGET, "-o", "no/m"), "There is no folder "),
        (("fit", "fleet.csv", *TARGET, "-o", "."), "'.' is a folder: name a file in it."),
        (
            ("fit", "fleet.csv", "--event", "failed", "-o", "m"),
            "The times must be given either by one column (--time) or by two columns of dates "
            "(--start and --end).",
        ),
        (
            ("fit", "fleet.csv", "--time", "days", "-o", "m"),
            "--event must name the column that says whether the event was observed: give --until, ",
        ),
        (
            ("fit", "fleet.csv", "--start", "days", "--event", "failed", "-o", "m"),
            "--start and --end must be given together, got --start alone.",
        ),
        (
            ("fit", "fleet.csv", *TARGET, "-o", "m", "--method", "cocks"),
            "There is no method 'cocks'; ",
        ),
        (
            ("fit", "fleet.csv", *TARGET, "-o", "m", "--quantiles", "10,50"),
            "--quantiles must lie between 0 and 1, got '10,50'.",
        ),
        (
            ("fit", "fleet.csv", *TARGET, "-o", "m", "--quantiles", "a"),
            "--quantiles must be levels such as 0.1,0.5,0.9, got 'a'.",
        ),
        (
            ("fit", "fleet.csv", *TARGET, "-o", "m", "--censoring", "middle"),
            "--censoring must be one of 'right', 'left', got 'middle'.",
        ),
        (
            ("fit", "fleet.csv", *TARGET, "-o", "m", "--separator", "ab"),
            "--separator must be one character such as ';', got 'ab'; write the tab as $'\\t' in a "
            "shell.",
        ),
        (
            ("fit", "fleet.csv", *TARGET, "-o", "m", "--encoding", "klingon"),
            "--encoding must be one that Python knows for text, such as cp1252 or utf-16, got "
            "'klingon'.",
        ),
        (
            ("fit", "fleet.csv", *TARGET, "-o", "m", "--features", "days"),
            "'days' cannot be a feature, since it is a part of the target.",
        ),
        (("predict", "fleet.csv", "fleet.csv", "-o", "x.csv"), "'fleet.csv' is not a complete "),
    ],
)
def test_wrong_options_are_one_sentence_and_exit_code_2(shell, arguments, sentence):
    assert run(*arguments).error.startswith(sentence)


def test_a_traceback_can_be_asked_for_anywhere(shell):
    with pytest.raises(TableError, match="has no column 'dayz'"):
        fit("--traceback", target=("--time", "dayz", "--event", "failed"))


def test_a_seed_makes_a_fit_repeatable(shell):
    X, curves = fleet(5)[["temp", "site"]], []
    for _ in range(2):
        assert run("fit", "fleet.csv", *TARGET, "--method", "forest", "--seed", 3, "--force", "-o",
                   "m").code == 0  # fmt: skip
        curves.append(load_model("m").predict_curve(X).values)
    np.testing.assert_array_equal(*curves)


def test_a_fault_of_the_package_says_so_without_a_traceback(shell, monkeypatch):
    import censquant.cli._study as study

    def broken(*arguments, **options):
        raise AssertionError("two plus two")

    monkeypatch.setattr(study, "read_table", broken)
    done = fit()
    assert done.code == 1
    assert done.err == (
        "Error: this is a fault of censquant (AssertionError: two plus two): run the command again "
        "with --traceback and report what it prints.\n"
    )


def test_events_between_inspections_and_late_rows_are_fitted(shell):
    table = fleet(80)
    visit = np.floor(table["days"] / 200) * 200
    table = table.assign(clear=visit, found=(visit + 200).where(table["failed"] == 1))
    since = 0.3 * table["days"] * (np.arange(80) % 2)
    table.assign(since=since.round(1)).to_csv("seen.csv", index=False)
    aft = ("--method", "aft", "--jobs", 1, "--drop", "unit,days,failed", "-o", "fleet.model")
    done = run("fit", "seen.csv", "--lower", "clear", "--upper", "found", "--drop", "since", *aft)
    assert done.code == 0, done.err
    assert "Events between two times: " in done.out
    notes = load_notes("fleet.model")["target"]
    assert (notes["lower"], notes["upper"], notes["time"]) == ("clear", "found", None)

    aft = ("--method", "aft", "--jobs", 1, "--features", "temp,site", "--force")
    done = run("fit", "seen.csv", *TARGET, "--entry", "since", *aft, "-o", "fleet.model")
    assert done.code == 0, done.err
    assert "Rows that came under observation late: 40" in done.out
    done = run("predict", "fleet.model", "seen.csv", "-o", "times.csv", "--quantiles", "0.25")
    assert done.code == 0, done.err
    assert pd.read_csv("times.csv")["q0.25"].notna().any()


def test_bounds_that_are_exchanged_are_refused(shell):
    fleet().assign(clear=3.0, found=2.0).to_csv("fleet.csv", index=False)
    done = run("fit", "fleet.csv", "--lower", "clear", "--upper", "found", *FAST, "-o", "m")
    assert done.error.startswith("lower must not exceed upper, got 60 of 60 rows that break this")
