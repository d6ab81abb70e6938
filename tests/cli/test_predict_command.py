"""``censquant predict`` and ``evaluate``: the answers are those of the library, in any format."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from in_process import run
from sklearn.preprocessing import StandardScaler
from test_fit_command import FAST, TARGET, fleet

from censquant import CQRNN, CoxQuantileRegressor, load_model, make_quantile_pipeline
from censquant.datasets import make_norm_linear
from censquant.exceptions import FewEventsWarning, IdentifiabilityWarning

LEVELS = [0.1, 0.25, 0.5, 0.75, 0.9]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with a model, and the rows it has not seen."""
    folder = tmp_path_factory.mktemp("fleet")
    frame = fleet(160, seed=1)
    frame[:100].to_csv(folder / "old.csv", index=False)
    done = run("fit", folder / "old.csv", *TARGET, *FAST, "-o", folder / "model")
    assert done.code == 0, done.err
    return folder, frame[100:].reset_index(drop=True)


@pytest.fixture
def shell(fitted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder, new = fitted
    (tmp_path / "model").write_bytes((folder / "model").read_bytes())
    (tmp_path / "old.csv").write_bytes((folder / "old.csv").read_bytes())
    new.to_csv("new.csv", index=False)
    return new


def test_predictions_are_those_of_the_model_beside_the_columns_it_does_not_use(shell):
    done = run("predict", "model", "new.csv", "-o", "out.csv")
    assert done.code == 0, done.err
    found, model = pd.read_csv("out.csv"), load_model("model")
    assert list(found) == ["unit", "days", "failed", *(f"q{t:g}" for t in LEVELS), "identified"]
    X = shell[["temp", "site"]]
    expected = model.predict_quantiles(X, LEVELS, beyond="nan")
    np.testing.assert_allclose(found.iloc[:, 3:8], expected, rtol=1e-12)
    np.testing.assert_allclose(found["identified"], model.identified_level(X), rtol=1e-12)
    assert list(found["unit"]) == list(shell["unit"])
    share = np.isnan(expected).mean()
    assert 0 < share < 1
    assert f"{share:.0%} of the times are empty" in done.out


class TestFolder:
    @pytest.fixture
    def parts(self, shell):
        """The new rows in two files."""
        Path("parts").mkdir()
        shell[:25].to_parquet("parts/a.parquet", index=False)
        shell[25:].to_parquet("parts/b.parquet", index=False)
        return shell

    def test_a_folder_of_tables_is_predicted_into_a_folder_and_resumed(self, parts):
        for _ in range(2):
            done = run("predict", "model", "parts", "-o", "times", "--quantiles", "0.1,0.5")
            assert done.code == 0, done.err
            assert "Predicted 60 rows: q0.1, q0.5, identified" in done.out
        found = pd.read_parquet(sorted(Path("times").glob("*.parquet")))
        X = parts[["temp", "site"]]
        expected = load_model("model").predict_quantiles(X, [0.1, 0.5], beyond="nan")
        np.testing.assert_allclose(found[["q0.1", "q0.5"]], expected, rtol=1e-12)
        assert list(found["unit"]) == list(parts["unit"])

    @pytest.mark.parametrize("wrong", [("-o", "times", "--force"), ("-o", "-")])
    def test_a_folder_is_neither_replaced_nor_printed(self, parts, wrong):
        said = run("predict", "model", "parts", *wrong).error
        assert said == (
            f"{'--force' if '--force' in wrong else '-o -'} must not be given with a folder of "
            "tables: its predictions are a folder that the same command resumes; name one that "
            "is new."
        )


@pytest.mark.parametrize("suffix", ["tsv", "csv.gz", "parquet", "feather"])
def test_every_format_holds_the_same_predictions(shell, suffix):
    name = f"out.{suffix}"
    assert run("predict", "model", "new.csv", "-o", "out.csv", "--keep", "all").code == 0
    assert run("predict", "model", "new.csv", "-o", name, "--keep", "all").code == 0
    expected = pd.read_csv("out.csv", dtype=str)
    if suffix in ("parquet", "feather"):
        found = getattr(pd, f"read_{suffix}")(name)
    else:
        found = pd.read_csv(name, sep="\t" if suffix == "tsv" else ",", dtype=str)
    assert list(found) == list(expected)
    for column in expected:
        if column.startswith("q"):
            np.testing.assert_allclose(found[column].astype(float), expected[column].astype(float))
        else:
            assert list(found[column].astype(str)) == list(expected[column])


@pytest.mark.parametrize("chunk_rows", [1, 7, 60])
def test_pieces_do_not_change_a_prediction(shell, chunk_rows):
    assert run("predict", "model", "new.csv", "-o", "whole.csv").code == 0
    done = run("predict", "model", "new.csv", "-o", "out.csv", "--chunk-rows", chunk_rows)
    assert done.code == 0
    whole, pieces = pd.read_csv("whole.csv"), pd.read_csv("out.csv")
    pd.testing.assert_frame_equal(pieces, whole, rtol=1e-12)


def test_intervals_and_other_levels_are_columns(shell):
    done = run("predict", "model", "new.csv", "-o", "out.csv", "--quantiles", "0.2", "--interval",
               0.8, "--keep", "unit", "--beyond", "inf", "--json").json  # fmt: skip
    assert done["columns"] == ["q0.2", "lower", "upper", "identified"]
    found = pd.read_csv("out.csv")
    expected = load_model("model").predict_interval(shell[["temp", "site"]], 0.8, beyond="inf")
    np.testing.assert_allclose(found[["lower", "upper"]], expected)
    assert np.isinf(found["upper"]).any()


def test_remaining_life_is_that_of_the_model(shell):
    done = run("predict", "model", "new.csv", "-o", "out.csv", "--remaining", "days", "--beyond",
               "extrapolate", "--interval", 0.5)  # fmt: skip
    assert done.code == 0, done.err
    found = pd.read_csv("out.csv")
    X, model = shell[["temp", "site"]], load_model("model")
    for name, level in [("q0.1", 0.1), ("q0.9", 0.9), ("lower", 0.25), ("upper", 0.75)]:
        expected = model.predict_remaining(X, shell["days"], [level], beyond="extrapolate")
        np.testing.assert_allclose(found[f"remaining_{name}"], expected[:, 0], rtol=1e-9)


@pytest.mark.parametrize("age", [-0.5, np.nan, np.inf])
def test_ages_that_nobody_can_have_are_refused(shell, age):
    shell.assign(days=[*shell["days"][:7], age, *shell["days"][8:]]).to_csv("new.csv", index=False)
    shown = f"{age:g}" if np.isfinite(age) else "none"
    assert run("predict", "model", "new.csv", "-o", "out.csv", "--remaining", "days").error == (
        "The column 'days' of 'new.csv' must hold the time that each individual has lasted, got "
        f"{shown} in row 8: write 0 for those that begin."
    )


class TestAgesFromDates:
    """Times that are left, from the first dates of units that are still running."""

    @pytest.fixture
    def dates(self, shell):
        """First dates in the form of the fit, which the model knows."""
        for name, frame in (("old.csv", pd.read_csv("old.csv")), ("new.csv", shell)):
            first = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(len(frame)), "D")
            last = first + pd.to_timedelta(frame["days"].round() + 1, "D")
            frame.drop(columns="days").assign(
                first=first.strftime("%d.%m.%Y"), last=pd.Series(last).dt.strftime("%d.%m.%Y")
            ).to_csv(name, index=False)
        done = run("fit", "old.csv", "--start", "first", "--end", "last", "--event", "failed",
                   "--date-format", "%d.%m.%Y", *FAST, "-o", "model", "--force")  # fmt: skip
        assert done.code == 0, done.err
        return (pd.Timestamp("2020-12-31") - pd.Timestamp("2020-01-01")).days - np.arange(60)

    @pytest.mark.parametrize("as_of", ["31.12.2020", "2020-12-31"])
    def test_ages_are_counted_up_to_a_day_and_times_end_on_days(self, shell, dates, as_of):
        done = run("predict", "model", "new.csv", "-o", "out.csv", "--as-of", as_of, "--quantiles",
                   "0.1,0.5", "--beyond", "extrapolate")  # fmt: skip
        assert done.code == 0, done.err
        found, model = pd.read_csv("out.csv"), load_model("model")
        expected = model.predict_remaining(
            shell[["temp", "site"]], dates, [0.1, 0.5], beyond="extrapolate"
        )
        np.testing.assert_allclose(found[["remaining_q0.1", "remaining_q0.5"]], expected, rtol=1e-9)
        days = pd.Timestamp("2020-12-31") + pd.to_timedelta(np.floor(expected[:, 1]), "D")
        assert list(found["date_q0.5"]) == list(days.strftime("%Y-%m-%d"))

    def test_a_time_that_is_not_known_has_no_day(self, dates):
        asked = ("--as-of", "2020-12-31", "--quantiles", "0.1,0.99")
        assert run("predict", "model", "new.csv", "-o", "out.csv", *asked).code == 0
        found = pd.read_csv("out.csv")
        assert found["remaining_q0.99"].isna().all()
        assert found["date_q0.99"].isna().all()
        assert (found["date_q0.1"].notna() == found["remaining_q0.1"].notna()).all()

    def test_the_same_days_are_written_for_a_folder(self, dates):
        Path("parts").mkdir()
        Path("parts/new.csv").write_bytes(Path("new.csv").read_bytes())
        asked = ("--as-of", "2020-12-31", "--quantiles", "0.1")
        assert run("predict", "model", "new.csv", "-o", "out.parquet", *asked).code == 0
        assert run("predict", "model", "parts", "-o", "out", *asked).code == 0
        pd.testing.assert_frame_equal(pd.read_parquet("out"), pd.read_parquet("out.parquet"))

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            (
                ("--start", "first"),
                "--start, a column of first dates, and --as-of, the date up to ",
            ),
            (
                ("--as-of", "2020-01-10"),
                "The column 'first' of 'new.csv' must hold first dates up to --as-of (2020-01-10), "
                "got one that is later in row 11.",
            ),
            (
                ("--as-of", "2020-12-31", "--remaining", "temp", "--start", "first"),
                "The time that each individual has lasted must be given either by --remaining or ",
            ),
            (("--as-of", "soon"), "--as-of must be a date such as 2024-06-30 or of the form %d.%"),
            (
                ("--as-of", "2020-12-31", "--unit", "moons"),
                "--unit must be one of seconds, minutes, hours, days, weeks, months, years where ",
            ),
        ],
    )
    def test_wrong_dates_are_one_sentence(self, dates, options, sentence):
        done = run("predict", "model", "new.csv", "-o", "out.csv", *options)
        assert done.error.startswith(sentence)

    def test_a_model_of_durations_needs_its_unit(self, shell):
        shell.assign(first="2020-01-01").to_csv("new.csv", index=False)
        asked = ("--start", "first", "--as-of", "2020-03-01")
        done = run("predict", "model", "new.csv", "-o", "out.csv", *asked)
        assert done.error.startswith("--unit must be one of seconds, minutes, hours, days, ")
        done = run("predict", "model", "new.csv", "-o", "out.csv", *asked, "--unit", "days")
        assert done.code == 0, done.err


def test_a_remaining_time_is_written_up_to_its_own_identified_level(shell):
    done = run("predict", "model", "new.csv", "-o", "out.csv", "--remaining", "days")
    assert done.code == 0, done.err
    found = pd.read_csv("out.csv")
    for level in LEVELS:
        told = found[f"remaining_q{level:g}"].notna()
        inside = found["identified"] - level
        assert told[inside > 1e-6].all()
        assert not told[inside < -1e-6].any()


def test_predictions_go_to_standard_output(shell):
    done = run("predict", "model", "new.csv", "-o", "-", "--keep", "unit")
    assert done.out.splitlines()[0] == "unit,q0.1,q0.25,q0.5,q0.75,q0.9,identified"
    assert len(done.out.splitlines()) == 61
    assert "Predicted 60 rows" in done.err


def test_kept_text_survives_separators_and_quotation_marks(shell):
    new = shell.assign(unit='a "b", c\nd')
    new.to_csv("new.csv", index=False)
    assert run("predict", "model", "new.csv", "-o", "out.csv").code == 0
    assert set(pd.read_csv("out.csv")["unit"]) == {'a "b", c\nd'}


def test_a_code_in_an_unknown_level_or_a_missing_value_is_noted(shell):
    shell.assign(site="east", temp="").to_csv("new.csv", index=False)
    notes = run("predict", "model", "new.csv", "-o", "out.csv", "--json").json["notes"]
    assert any("levels in the columns 'site' that the fit did not have" in note for note in notes)
    assert any("missing values in the columns 'temp'" in note for note in notes)


PREDICTIONS = {
    "lost.csv": (
        b"unit,tmp,site\n1,2,north\n",
        "'lost.csv' has no column 'temp', which the model was fitted to; did you mean 'tmp'?",
    ),
    "text.csv": (
        b"temp,site\n50,north\nhot,north\n",
        "The column 'temp' of 'text.csv' must hold numbers, got 'hot' in row 2: add --missing hot, "
        "or fix it.",
    ),
    "comma.csv": (
        b"temp;site\n50,5;north\n",
        "The column 'temp' of 'comma.csv' must hold numbers, got '50,5' in row 1: add "
        "--decimal ',', or fix it.",
    ),
    "none.csv": (b"temp,site\n", "'none.csv' has a header but no rows."),
    "twice.csv": (
        b"temp,site,temp\n1,north,2\n",
        "'twice.csv' has more than one column called 'temp': rename all but one.",
    ),
    "named.csv": (
        b"temp,site,q0.5\n1,north,2\n",
        "'named.csv' has columns called as the predictions: 'q0.5': rename them, or keep other "
        "columns.",
    ),
    "infinite.csv": (b"temp,site\ninf,north\n", "Input X contains infinity"),
}


@pytest.mark.parametrize("name", PREDICTIONS)
def test_rows_that_cannot_be_predicted_are_one_sentence_and_leave_no_file(shell, tmp_path, name):
    content, sentence = PREDICTIONS[name]
    (tmp_path / name).write_bytes(content)
    assert run("predict", "model", name, "-o", "out.csv").error.startswith(sentence)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        ["model", "new.csv", "old.csv", name]
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("-o", "out.xls"), "The name of a table must end with one of .csv, .tsv, "),
        (("-o", "new.csv", "--force"), "'new.csv' is the table itself: name another file."),
        (("-o", "new.csv"), "'new.csv' exists already and is not overwritten. Add --force"),
        (("-o", "out.csv", "--beyond", "far"), "--beyond must be one of 'nan', 'inf', "),
        (
            ("-o", "out.csv", "--interval", "1.5"),
            "--interval must be finite and inside (0, 1), got",
        ),
        (
            ("-o", "out.csv", "--remaining", "dys"),
            "--remaining: 'new.csv' has no column 'dys'; did",
        ),
        (("-o", "out.csv", "--remaining", "unit"), "The column 'unit' of 'new.csv' must hold num"),
        (("-o", "out.csv", "--keep", "unt"), "--keep: 'new.csv' has no column 'unt'; did you mean"),
        (("-o", "-", "--json"), "--json and -o - both write to standard output: name a file."),
    ],
)
def test_wrong_options_of_predict_are_one_sentence(shell, options, sentence):
    assert run("predict", "model", "new.csv", *options).error.startswith(sentence)


def test_a_row_that_fails_late_leaves_what_was_there(shell, tmp_path):
    text = (tmp_path / "new.csv").read_text()
    (tmp_path / "new.csv").write_text(f"{text}U1,hot,north,1,1\n")
    (tmp_path / "out.csv").write_text("precious")
    done = run("predict", "model", "new.csv", "-o", "out.csv", "--force", "--chunk-rows", 10)
    assert "got 'hot' in row 61" in done.error
    assert (tmp_path / "out.csv").read_text() == "precious"
    assert len(list(tmp_path.iterdir())) == 4


def test_models_of_python_predict_files_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = make_norm_linear(100, random_state=0)
    frame = pd.DataFrame(data.X, columns=[f"x{k}" for k in range(data.X.shape[1])])
    frame.to_csv("rows.csv", index=False)
    pipeline = make_quantile_pipeline(StandardScaler(), CoxQuantileRegressor()).fit(frame, data.y)
    pipeline.save("pipeline")
    assert run("predict", "pipeline", "rows.csv", "-o", "out.csv").code == 0
    expected = pipeline.predict_quantiles(frame, [0.5], beyond="extrapolate")[:, 0]
    found = pd.read_csv("out.csv")["q0.5"]
    np.testing.assert_allclose(found[found.notna()], expected[found.notna()])
    CQRNN(max_epochs=1, hidden_layer_sizes=(2,)).fit(data.X, data.y).save("nameless")
    assert run("predict", "nameless", "rows.csv", "-o", "out2.csv").error == (
        "model must have been fitted to a data frame, whose columns can be found in a table; this "
        "CQRNN was fitted to an array."
    )


# Calibrated models


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibrated")
    frame = fleet(300, seed=3)
    frame.to_csv(folder / "fleet.csv", index=False)
    done = run("fit", folder / "fleet.csv", *TARGET, *FAST, "--calibrate", "-o", folder / "model")
    assert done.code == 0, done.err
    return folder, frame, done


def test_a_calibrated_fit_says_how_often_its_bounds_hold(calibrated):
    _, _, done = calibrated
    assert "Calibrated by aipcw, since " in done.out
    assert "side   confidence  coverage" in done.out


def test_bounds_and_intervals_are_those_of_the_calibrated_model(calibrated, tmp_path):
    folder, frame, _ = calibrated
    out, model = tmp_path / "out.csv", load_model(folder / "model")
    asked = ("--lower-bound", 0.9, "--interval", 0.8, "--quantiles", "0.5")
    done = run("predict", folder / "model", folder / "fleet.csv", "-o", out, *asked)
    assert done.code == 0, done.err
    found, X = pd.read_csv(out), frame[["temp", "site"]]
    expected = model.predict_lower_bound(X, 0.9, output="frame")
    np.testing.assert_allclose(found["bound0.9"], expected["bound"], rtol=1e-9)
    np.testing.assert_array_equal(found["limited"], expected["limited"])
    expected = model.predict_interval(X, 0.8, beyond="nan")
    np.testing.assert_allclose(found[["lower", "upper"]], expected, rtol=1e-9)
    done = run("predict", folder / "model", folder / "fleet.csv", "-o", out, *asked, "--remaining",
               "days", "--force")  # fmt: skip
    assert done.code == 0, done.err
    with pytest.warns(FewEventsWarning, match="do not support lower bounds"):
        bound = model.predict_lower_bound(X, 0.9, elapsed=frame["days"]) - frame["days"]
    assert "do not support lower bounds" in done.err
    np.testing.assert_allclose(pd.read_csv(out)["remaining_bound0.9"], bound, rtol=1e-6, atol=1e-9)


def test_bounds_that_end_with_follow_up_are_marked_and_counted(calibrated, tmp_path):
    folder, frame, _ = calibrated
    out, model = tmp_path / "out.parquet", load_model(folder / "model")
    cold = frame[frame["temp"] < 58]
    cold.to_csv(tmp_path / "cold.csv", index=False)
    asked = ("-o", out, "--lower-bound", 0.05, "--chunk-rows", 50)
    done = run("predict", folder / "model", tmp_path / "cold.csv", *asked)
    assert done.code == 0, done.err
    with pytest.warns(IdentifiabilityWarning, match="end where follow-up does"):
        expected = model.predict_lower_bound(cold[["temp", "site"]], 0.05, output="frame")
    found = pd.read_parquet(out)["limited"]
    assert found.dtype == bool
    np.testing.assert_array_equal(found, expected["limited"])
    assert "follow-up" not in done.err  # not once for each piece
    assert (
        f"{found.mean():.0%} of the bounds end where follow-up does: they hold with more than "
        "0.05; the column limited has true."
    ) in done.out


def test_a_bound_of_a_model_that_promises_nothing_is_refused(shell):
    assert run("predict", "model", "new.csv", "-o", "out.csv", "--lower-bound", 0.9).error == (
        "--lower-bound needs a calibrated model, got CensoredQuantileRegressor: fit it with "
        "--calibrate, in Python as ConformalSurvivalRegressor."
    )


# Evaluation


def test_evaluate_takes_the_columns_from_the_model_and_prints_scores_and_a_verdict(shell):
    done = run("evaluate", "model", "new.csv", "--resamples", 20)
    assert done.code == 0, done.err
    assert "60 rows, " in done.out
    assert "concordance_restricted" in done.out
    assert "ranked better than chance" in done.out


def test_evaluate_gives_machines_what_the_library_says(shell, tmp_path):
    from censquant.metrics import evaluate

    told = run(
        "evaluate", "model", "new.csv", "--train", "old.csv", "--resamples", 20, "--json"
    ).json
    old = pd.read_csv("old.csv")
    expected = evaluate(
        load_model("model"),
        (old["days"], old["failed"]),
        shell[["temp", "site"]],
        (shell["days"], shell["failed"]),
        n_resamples=20,
        random_state=0,
    )
    assert told["verdict"] == expected.verdict
    scores = {row["metric"]: row["value"] for row in told["scores"]}
    assert scores["concordance_index"] == expected["concordance_index"].value
    assert told["scores"][0]["metric"] == "log_score"
    assert told["censoring_p_value"] == expected.censoring_p_value
    assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_scores_are_told_by_level_with_groups_and_times(shell):
    from censquant.metrics import evaluate

    frame = shell.assign(clinic=np.arange(len(shell)) % 9)
    frame.to_csv("new.csv", index=False)
    time = float(shell["days"].median())
    ask = ("--by", "site", "--groups", "clinic", "--at", f"{time:g}", "--resamples", 10)
    told = run("evaluate", "model", "new.csv", *ask, "--json").json
    y = frame["days"], frame["failed"]
    expected = evaluate(
        load_model("model"), y, frame[["temp", "site"]], y, by=frame["site"],
        groups=frame["clinic"], at=time, n_resamples=10, random_state=0,
    )  # fmt: skip
    assert told["by"]["column"] == "site"
    assert [one["level"] for one in told["by"]["levels"]] == list(expected.by)
    for one in told["by"]["levels"]:
        same = expected.by[one["level"]]
        assert (one["rows"], one["verdict"]) == (same.n_rows, same.verdict)
    last = told["scores"][-1]
    assert (last["metric"], last["value"]) == (f"ici_at_{time:g}", expected.rows[-1].value)
    assert told["scores"][0]["lower"] == expected.rows[0].lower
    assert "Scores by site" in run("evaluate", "model", "new.csv", *ask).out
    assert run("evaluate", "model", "new.csv", "--by", "sight").error == (
        "--by: 'new.csv' has no column 'sight'; did you mean 'site'?"
    )


def test_evaluating_the_rows_of_the_fit_is_noted(shell):
    done = run("evaluate", "model", "old.csv", "--resamples", 2)
    assert "These are the rows that the model was fitted to" in done.err
    assert "These are the rows" not in run("evaluate", "model", "new.csv", "--resamples", 2).err


def test_other_columns_can_be_evaluated(shell):
    shell.rename(columns={"days": "age"}).to_csv("new.csv", index=False)
    assert run("evaluate", "model", "new.csv").error == (
        "--time: 'new.csv' has no column 'days'; it has 'unit', 'temp', 'site', 'age', 'failed'."
    )
    again = ("--time", "age", "--event", "failed", "--resamples", 2)
    assert run("evaluate", "model", "new.csv", *again).code == 0


def test_a_model_of_python_must_be_told_its_columns(shell):
    X = shell[["temp"]]
    CoxQuantileRegressor().fit(X, (shell["days"], shell["failed"])).save("own")
    assert run("evaluate", "own", "new.csv").error == (
        "The model does not say which columns have times and events, since it was not written by "
        "this command: name them by --time and --event."
    )
    assert run("evaluate", "own", "new.csv", *TARGET, "--resamples", 2).code == 0
