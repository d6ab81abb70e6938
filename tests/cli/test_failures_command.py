"""``censquant failures``: counts, groups, dates and units are those of Python."""

import numpy as np
import pandas as pd
import pytest
from in_process import run
from test_fit_command import FAST

from censquant import load_model
from censquant.inspection import expected_failures, fleet_table, replacement_policy

TODAY = "2024-06-30"
HORIZONS = [30, 120]
ASK = ("--horizons", "120,30")


def pumps(n_rows=240):
    """Pumps with the dates of their installation and failure, and the contract of each."""
    rng = np.random.default_rng(0)
    load = rng.normal(60.0, 15.0, n_rows).round(1)
    life = np.ceil(900.0 * np.exp(-(load - 60.0) / 40.0) * rng.weibull(2.0, n_rows))
    begin = np.datetime64(TODAY) - rng.integers(1, 1500, n_rows).astype("timedelta64[D]")
    end = begin + life.astype("timedelta64[D]")
    has_failed = end <= np.datetime64(TODAY)
    return pd.DataFrame(
        {
            "pump": [f"P{k:03d}" for k in range(n_rows)],
            "installed": begin.astype(str),
            "failed": np.where(has_failed, end.astype(str), ""),
            "load": load,
            "contract": rng.choice(["A", "B"], n_rows),
        }
    )


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pumps")
    frame = pumps()
    frame.to_csv(folder / "pumps.csv", index=False)
    frame[frame["failed"] == ""].to_csv(folder / "running.csv", index=False)
    dates = ("--start", "installed", "--end", "failed", "--until", TODAY, "--features", "load")
    done = run("fit", folder / "pumps.csv", *dates, *FAST, "-o", folder / "pumps.model")
    assert done.code == 0, done.err
    return folder


@pytest.fixture
def shell(fitted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for path in fitted.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def asked(frame):
    """What Python is asked for the same units."""
    begin = frame["installed"].to_numpy(dtype="datetime64[D]")
    return frame[["load"]], (np.datetime64(TODAY) - begin).astype(float)


def test_counts_from_dates_by_group_and_with_the_history_are_those_of_python(shell):
    frame, model = pd.read_csv("pumps.csv", keep_default_na=False), load_model("pumps.model")
    X, age = asked(frame)
    event = (frame["failed"] != "").to_numpy()
    end = np.where(event, frame["failed"], TODAY).astype("datetime64[D]")
    y = (end - frame["installed"].to_numpy(dtype="datetime64[D]")).astype(float), event
    expected = expected_failures(
        model, X[~event], age[~event], HORIZONS, by=frame["contract"][~event], y_train=y,
        by_train=frame["contract"],
    )  # fmt: skip
    ask = ("failures", "pumps.model", "pumps.csv", "--as-of", TODAY, *ASK, "--by", "contract")
    told = run(*ask, "--train", "pumps.csv", "--json").json
    assert [tuple(row.values()) for row in told["failures"]] == [tuple(r) for r in expected.rows]
    assert told["learned_from"] == event.sum()
    assert f"{event.sum()} units had failed and are left out." in told["notes"]
    alone = run("failures", "pumps.model", "running.csv", "--as-of", TODAY, *ASK, "--json").json
    chance = expected_failures(model, X[~event], age[~event], HORIZONS)
    assert [tuple(row.values()) for row in alone["failures"]] == [tuple(r) for r in chance.rows]
    assert alone["learned_from"] is None


def test_the_terminal_shows_dates_of_horizons_and_the_most_urgent_units(shell):
    ask = ("failures", "pumps.model", "running.csv", "--as-of", TODAY, "--label", "pump", *ASK)
    done = run(*ask, "--early-cost", 1, "--late-cost", 8, "--train", "pumps.csv")
    assert done.code == 0, done.err
    n_running = len(pd.read_csv("running.csv"))
    assert f"Failures among {n_running} running units" in done.out
    assert "2024-07-30" in done.out
    assert f"Units with the highest risk, 5 of {n_running}" in done.out
    assert "The limits contain chance and the uncertainty of a risk that was learned" in done.out
    assert f"of {n_running} units have reached their cheapest age." in done.out
    chance = run(*ask, "--confidence", 0.5)
    assert "50 %" in chance.out
    assert "The limits contain chance alone, not the error of the model: see --train." in chance.out


def test_the_file_of_units_is_the_table_of_python_with_the_columns_that_are_no_features(shell):
    frame, model = pd.read_csv("running.csv"), load_model("pumps.model")
    X, age = asked(frame)
    options = ("--risk", 0.2, "--early-cost", 1, "--late-cost", 8, "-o", "units.csv")
    done = run("failures", "pumps.model", "running.csv", "--as-of", TODAY, *ASK, *options)
    assert done.code == 0, done.err
    units = pd.read_csv("units.csv")
    assert list(units.columns[:4]) == ["pump", "installed", "failed", "contract"]
    expected = fleet_table(model, X, age, HORIZONS, risk=0.2, as_of=TODAY)
    policy = replacement_policy(model, X, 1.0, 8.0)
    for name in ("age", "supported", "risk_30", "risk_120", "remaining"):
        np.testing.assert_allclose(units[name], expected[name])
    np.testing.assert_array_equal(units["limited"], expected["limited"])
    assert units["date"].tolist() == expected["date"].dt.strftime("%Y-%m-%d").tolist()
    np.testing.assert_allclose(units["replace_at"], policy.age)
    np.testing.assert_allclose(units["replace_in"], np.maximum(policy.age - age, 0.0))
    assert units["advice"].tolist() == policy.advice


def test_ages_may_be_a_column_with_and_without_a_date(shell):
    frame = pd.read_csv("running.csv")
    X, age = asked(frame)
    frame.assign(days=age).drop(columns="failed").to_csv("aged.csv", index=False)
    ask = ("failures", "pumps.model", "aged.csv", "--age", "days", *ASK)
    told = run(*ask, "--json").json
    expected = expected_failures(load_model("pumps.model"), X, age, HORIZONS)
    assert [tuple(row.values()) for row in told["failures"]] == [tuple(r) for r in expected.rows]
    assert "2024-07-30" not in run(*ask).out
    assert "2024-07-30" in run(*ask, "--as-of", TODAY).out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "The time that each unit has lasted must be given by --age COLUMN, or by --start CO"),
        (
            ("--age", "load", "--start", "installed"),
            "--age and --start must not be given together: name one of them.",
        ),
        (("--age", "loads"), "--age: 'running.csv' has no column 'loads'; did you mean 'load'?"),
        (("--as-of", "soon"), "--as-of must be a date such as 2024-06-30, got 'soon'."),
        (
            ("--as-of", "2019-01-01"),
            "The column 'installed' of 'running.csv' must hold first dates up to --as-of (2019-01",
        ),
        (("--as-of", TODAY, "--horizons", "0"), "--horizons must be positive times, got [0.0]."),
        (("--as-of", TODAY, "--by", "pump"), "--by must have at most 100 groups, got 1"),
        (("--as-of", TODAY, "--by", "site"), "--by: 'running.csv' has no column 'site'; it has "),
        (
            ("--as-of", TODAY, "--early-cost", 1),
            "--early-cost and --late-cost must be given together.",
        ),
        (("--as-of", TODAY, "-o", "-"), "--output must name a file, got '-'."),
        (("--as-of", TODAY, "-o", "running.csv", "--force"), "'running.csv' is the table itself"),
        (("--as-of", TODAY, "--confidence", 1), "--confidence must be finite and inside (0, 1)"),
        (("--as-of", TODAY, "--service-level", 0), "--service-level must be finite and inside"),
        (("--as-of", TODAY, "--risk", 0), "--risk must be finite and inside (0, 1), got 0.0."),
    ],
)
def test_wrong_input_is_one_sentence(shell, options, sentence):
    done = run("failures", "pumps.model", "running.csv", *options)
    assert done.error.startswith(sentence)
