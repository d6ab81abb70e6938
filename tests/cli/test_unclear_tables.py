"""Tables with more than one meaning: the command asks, and the model remembers the answer."""

from datetime import date

import numpy as np
import pandas as pd
import pytest
from in_process import run
from test_fit_command import FAST, TARGET, fleet

from censquant import load_model
from censquant.estimators import load_notes


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fit(*arguments, data="table.csv", target=TARGET):
    return run("fit", data, *target, *FAST, "-o", "model", "--force", *arguments)


def times(seed=0, n_rows=60):
    """Whole times, some below 1000 and most above."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.integers(100, 999, 15), rng.integers(1_000, 40_000, n_rows - 15)])


def grouped(numbers, mark):
    return [f"{number:,}".replace(",", mark) for number in numbers]


def write(days, name="table.csv", **columns):
    """A table with a semicolon between columns."""
    frame = fleet(len(days))
    whole = frame["temp"].round().astype(int)
    frame.assign(**{"temp": whole, "days": days, **columns}).to_csv(name, sep=";", index=False)


def largest_time(done):
    line = next(line for line in done.out.splitlines() if line.startswith("Times: "))
    return float(line.split(" to ")[1].split()[0].rstrip(","))


# Thousands


def test_points_that_may_separate_thousands_are_asked_about(shell):
    days = times()
    write(grouped(days, "."))
    first = grouped(days, ".")[15]
    assert fit().error == (
        f"The column 'days' of 'table.csv' holds '{first}', and it is not clear whether that is "
        f"{first.replace('.', '')} or {first}: add --thousands '.' or --decimal '.'."
    )
    assert largest_time(fit("--thousands", ".")) == days.max()
    assert largest_time(fit("--decimal", ".")) == days[:15].max()


def test_three_values_with_a_final_zero_are_enough_to_ask(shell):
    write([620, "1.070", "28.810", *range(100, 157)])
    assert "holds '1.070', and it is not clear whether that is 1070 or 1.070" in fit().error
    write(["620.0", "1.07", "28.81", *range(100, 157)])
    assert fit().code == 0


def test_commas_that_may_separate_thousands_are_asked_about(shell):
    days = times()
    write(grouped(days, ","))
    assert fit().error.endswith(": add --thousands ',' or --decimal ',', or fix it.")
    assert fit("--decimal", ",").error.endswith(
        f" or {grouped(days, '.')[15]}: add --thousands ',' or --thousands '.'."
    )
    assert largest_time(fit("--thousands", ",")) == days.max()
    assert largest_time(fit("--decimal", ",", "--thousands", ".")) < 1_000


@pytest.mark.parametrize(
    ("temp", "unclear"),
    [
        ([f"{k / 7 + 1:.3f}" for k in range(60)], False),
        ([f"{k / 7 + 1:.3f}".rstrip("0") for k in range(60)], False),
        ([*(f"0.{k:03d}" for k in range(57)), "3", "4", "5"], False),
        ([*(f"{k}.125" for k in range(1, 58)), "3", "4", "5000"], False),
        ([*(f"{k}.125" for k in range(1, 58)), "3", "4", "5"], True),
    ],
    ids=["all have three decimals", "few digits", "below one", "a plain thousand", "thousands"],
)
def test_only_numbers_that_may_be_thousands_are_asked_about(shell, temp, unclear):
    write(range(100, 160), temp=temp)
    done = fit()
    assert done.code == (2 if unclear else 0), done.err
    assert ("it is not clear whether" in done.err) == unclear


def test_times_that_are_all_above_a_thousand_get_a_note(shell):
    days = times() + 1_000
    write(grouped(days, "."))
    note = (
        f"All values of 'days' have three decimals, such as {grouped(days, '.')[0]}: if the point "
        "separates thousands, read the table again with --thousands '.'."
    )
    assert note in fit("--json").json["notes"]
    assert note not in fit("--json", "--decimal", ".").json["notes"]
    done = fit("--thousands", ".")
    assert largest_time(done) == days.max()
    assert "three decimals" not in done.err
    fleet().assign(temp=[f"{k / 7 + 1:.3f}" for k in range(60)]).to_csv("other.csv", index=False)
    assert "three decimals" not in fit(data="other.csv").err


@pytest.mark.parametrize("mark", [".", ",", " ", "'", "\u202f"])
def test_thousands_are_read_as_they_are_written(shell, mark):
    days = times()
    write(grouped(days, mark), temp=["3"] * 30 + ["4"] * 30)
    done = fit("--thousands", {"\u202f": " "}.get(mark, mark))
    assert largest_time(done) == days.max()


def test_marks_that_are_in_the_wrong_place_are_refused(shell):
    write(range(100, 160), temp=[f"{k}.5" for k in range(60)])
    assert fit("--thousands", ".").error == (
        "The column 'temp' of 'table.csv' holds numbers such as '0.5', in which '.' separates no "
        "thousands: add --categorical temp or --drop temp, or write all numbers in the same way."
    )
    assert fit("--thousands", ".", "--decimal", ".").error == (
        "--thousands and --decimal must differ, got '.' for both."
    )
    assert fit("--thousands", "x").error == (
        "--thousands must be one of '.', ',', ' ', \"'\", got 'x'."
    )


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ("1,234.5", "add --thousands ',', or fix it."),
        ("1.234,5", "add --thousands '.', or fix it."),
        ("1 234", "add --thousands ' ', or fix it."),
        ("1'234", 'add --thousands "\'", or fix it.'),
        ("5 days", "write plain numbers, without units, currencies and other signs."),
        ("$5", "write plain numbers, without units, currencies and other signs."),
        ("unknown", "add --missing unknown, or fix it."),
    ],
)
def test_a_quantity_is_never_advised_to_be_counted_as_missing(shell, given, advice):
    write([given, *range(100, 159)])
    assert fit().error == (
        f"The column 'days' of 'table.csv' must hold numbers, got {given!r} in row 1: {advice}"
    )


@pytest.mark.parametrize("form", ["{} kg", "${}", "{}%", "€ {}"])
def test_features_with_a_unit_are_asked_about(shell, form):
    write(range(100, 160), temp=[form.format(k) for k in range(60)])
    assert fit().error == (
        f"The column 'temp' of 'table.csv' holds numbers such as {form.format(0)!r}: write plain "
        "numbers, without units, currencies and other signs, or name the column by --categorical "
        "or --drop."
    )
    assert fit("--drop", "temp").code == 0


def test_the_model_remembers_how_numbers_and_missing_values_are_written(shell):
    days, temp = times(), [f"{k / 8:.3f}".replace(".", ",") for k in range(60)]
    temp[3] = "unknown"
    write(grouped(days, "."), temp=temp)
    done = fit("--thousands", ".", "--decimal", ",", "--missing", "unknown")
    assert done.code == 0, done.err
    assert load_notes("model")["text"] == {
        "decimal": ",",
        "thousands": ".",
        "missing": ["unknown"],
    }
    assert run("predict", "model", "table.csv", "-o", "out.csv", "--keep", "none").code == 0
    number = [np.nan if cell == "unknown" else float(cell.replace(",", ".")) for cell in temp]
    X = fleet().assign(temp=number)[["temp", "site"]]
    expected = load_model("model").predict_quantiles(X, [0.25], beyond="nan")[:, 0]
    np.testing.assert_allclose(pd.read_csv("out.csv")["q0.25"], expected)
    assert run("evaluate", "model", "table.csv", "--resamples", 2, "--json").json["rows"] == 60


def test_options_that_are_given_come_before_those_of_the_model(shell):
    write(times(), temp=[f"{k},5" for k in range(60)])
    assert fit("--decimal", ",").code == 0
    write(times(), "points.csv", temp=[f"{k}.5" for k in range(60)])
    assert run("predict", "model", "points.csv", "-o", "points.out.csv").error == (
        "The column 'temp' of 'points.csv' must hold numbers, got '0.5' in row 1: add --decimal "
        "'.', or fix it."
    )
    assert run("predict", "model", "points.csv", "-o", "a.csv", "--decimal", ".").code == 0
    assert run("predict", "model", "table.csv", "-o", "b.csv").code == 0
    pd.testing.assert_frame_equal(pd.read_csv("a.csv"), pd.read_csv("b.csv"))


def test_decimals_of_the_fit_are_not_asked_about_in_a_few_new_rows(shell):
    write(times(), temp=[f"{k / 8:g}" for k in range(60)])
    assert fit().code == 0
    pd.DataFrame({"temp": ["1.125", "2.250", "3"], "site": "north"}).to_csv("new.csv", index=False)
    done = run("predict", "model", "new.csv", "-o", "-", "--quantiles", "0.25", "--beyond", "inf")
    assert done.code == 0, done.err
    assert len(done.out.splitlines()) == 4


# Dates

DATES = ("--start", "first", "--end", "last", "--event", "failed")


def dated(first, last, name="table.csv"):
    frame = fleet().drop(columns="days").assign(first=first, last=last)
    getattr(frame, "to_parquet" if name.endswith("parquet") else "to_csv")(name, index=False)


def days_apart(zone="", other=""):
    first = pd.date_range("2024-03-01", periods=60, freq="h")
    last = first + pd.to_timedelta(np.arange(60) + 1.5, "D")
    return first.strftime("%Y-%m-%dT%H:%M:%S") + zone, last.strftime("%Y-%m-%dT%H:%M:%S") + other


def test_a_zone_in_one_of_two_columns_is_refused_in_text(shell):
    sentence = (
        "The dates '{}' have a time zone and '{}' have none, so that the time between them is not "
        "known: write both with their zone or both without."
    )
    dated(*days_apart("+02:00", ""))
    assert fit(target=DATES).error == sentence.format("first", "last")
    dated(*days_apart("", "Z"))
    assert fit(target=DATES).error == sentence.format("last", "first")


def test_a_zone_in_one_of_two_columns_is_refused_in_parquet(shell):
    first, last = (pd.to_datetime(pd.Series(column)) for column in days_apart())
    dated(first.dt.tz_localize("Europe/Berlin"), last, "table.parquet")
    assert "The dates 'first' have a time zone and 'last' have none" in (
        fit(target=DATES, data="table.parquet").error
    )
    dated(first, last.dt.tz_localize("UTC"), "table.parquet")
    assert "The dates 'last' have a time zone and 'first' have none" in (
        fit(target=DATES, data="table.parquet").error
    )


def test_zones_of_both_columns_are_subtracted(shell):
    dated(*days_apart("+05:00", "-03:00"))
    assert largest_time(fit(target=DATES)) == pytest.approx(60.5 + 8 / 24, abs=1e-4)
    first, last = (pd.to_datetime(pd.Series(column)) for column in days_apart())
    dated(
        first.dt.tz_localize("Asia/Karachi"),
        last.dt.tz_localize("Etc/GMT+3"),
        "table.parquet",
    )
    done = fit(target=DATES, data="table.parquet")
    assert largest_time(done) == pytest.approx(60.5 + 8 / 24, abs=1e-4)


def test_a_column_with_and_without_zones_is_refused(shell):
    first, last = days_apart("Z", "Z")
    dated(first, [last[0].removesuffix("Z"), *last[1:]])
    assert fit(target=DATES).error == (
        "The column 'last' of 'table.csv' holds dates with a time zone such as "
        f"{last[1]!r} and without one such as {last[0].removesuffix('Z')!r}: write all of them in "
        "the same way."
    )


def test_the_end_of_follow_up_has_a_zone_where_dates_have(shell):
    first, last = days_apart("+01:00", "+01:00")
    dated(first, np.where(fleet()["failed"] == 1, last, ""))
    until = ("--until", "2024-06-30")
    assert fit(*until, target=DATES).error == (
        "--until must be a date with a time zone such as 2024-06-30T00:00+00:00, since the table's "
        "dates have a zone, got '2024-06-30'."
    )
    assert "--until 2024-" in fit(target=DATES).error
    assert "T00:00+00:00" in fit(target=DATES).error
    done = fit("--until", "2024-06-30T01:00+01:00", target=DATES)
    assert largest_time(done) == pytest.approx(120.9, abs=1.5)


def test_one_form_of_dates_holds_for_options_too(shell):
    first, last = (pd.to_datetime(pd.Series(column)) for column in days_apart())
    shown = last.dt.strftime("%d.%m.%Y").where(fleet()["failed"] == 1, "")
    dated(first.dt.strftime("%d.%m.%Y"), shown)
    form = ("--date-format", "%d.%m.%Y")
    assert "add --until " in fit(*form, target=DATES).error
    done = fit(*form, "--until", "30.06.2024", target=DATES)
    assert done.code == 0, done.err
    assert largest_time(done) == largest_time(fit(*form, "--until", "2024-06-30", target=DATES))
    assert fit(*form, "--until", "06/30/24", target=DATES).error == (
        "--until must be a date such as 2024-06-30 or of the form %d.%m.%Y, got '06/30/24'."
    )


def test_a_report_takes_its_day_in_the_form_of_the_dates(shell):
    first, last = (pd.to_datetime(pd.Series(column)) for column in days_apart())
    dated(first.dt.strftime("%d.%m.%Y"), last.dt.strftime("%d.%m.%Y"))
    assert fit("--date-format", "%d.%m.%Y", target=DATES).code == 0
    page = ("report", "model", "table.csv", "--preset", "reliability", "--resamples", 2)
    for day, name in (("30.06.2024", "a.html"), ("2024-06-30", "b.html")):
        done = run(*page, "--as-of", day, "-o", name)
        assert done.code == 0, done.err
    assert (shell / "a.html").read_bytes() == (shell / "b.html").read_bytes()
    assert run(*page, "--as-of", "soon", "-o", "c.html").error == (
        "--as-of must be a date such as 2024-06-30 or of the form %d.%m.%Y, got 'soon'."
    )


@pytest.mark.parametrize("name", ["table.csv", "table.parquet"])
def test_a_date_that_stands_for_none_is_asked_about(shell, name):
    first, last = days_apart()
    ends = [None if k == 3 else day for k, day in enumerate(last)]
    ends[3] = "9999-12-31"
    if name == "table.csv":
        dated(first, ends)
    else:
        days = [date.fromisoformat(day[:10]) for day in ends]
        dated([date(2024, 1, 1)] * 60, days, name)
    advice = "add --missing 9999-12-31, or leave such dates empty."
    assert fit(target=DATES, data=name).error == (
        f"The column 'last' of '{name}' holds the date 9999-12-31 in row 4, which stands for no "
        f"date: {advice if name == 'table.csv' else 'leave such dates empty.'}"
    )


def test_a_day_that_no_calendar_has_is_named_by_its_row(shell):
    first, last = days_apart()
    dated(first, [*last[:7], "2024-02-30T10:00:00", *last[8:]])
    assert fit(target=DATES).error == (
        "The column 'last' of 'table.csv' must hold dates of the calendar, got "
        "'2024-02-30T10:00:00' in row 8: fix it."
    )


# Small and complete tables


def test_a_table_without_censoring_is_fitted_and_compared(shell):
    write(times(), failed=1)
    done = fit("--json")
    assert done.json["features"] == ["temp", "site"]
    done = run("compare", "table.csv", *TARGET, "--methods", "cox,kaplan_meier", "--folds", 2,
               "--resamples", 2, "--json")  # fmt: skip
    assert done.json["features"] == ["temp", "site"]


@pytest.mark.parametrize("n_rows", [2, 3])
def test_a_handful_of_rows_is_one_sentence(shell, n_rows):
    rows = ["3;1;8;a", "5;0;2;b", "4;1;9;a"][:n_rows]
    (shell / "table.csv").write_text("\n".join(["days;failed;temp;site", *rows, ""]))
    assert fit("--features", "temp,site").error == (
        f"'table.csv' must have at least 4 rows, so that some can be held out, got {n_rows}."
    )


def test_huge_numbers_leave_no_warning_with_lines_of_source(shell):
    write(times(), temp=[f"{(-1) ** k * (1 + k / 100):.2f}e308" for k in range(60)])
    done = fit()
    assert done.code == 0, done.err
    assert "Warning" not in done.err
