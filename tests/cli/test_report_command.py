"""``censquant report`` and ``export``: pages and files from the shell."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from in_process import run
from test_fit_command import FAST, TARGET, fleet

from censquant import load_model
from report_rows import Page

FEW = ("--resamples", 4)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with a calibrated and a plain model, and the rows that they have not seen."""
    folder = tmp_path_factory.mktemp("fleet")
    frame = fleet(220, seed=1)
    frame[:120].to_csv(folder / "old.csv", index=False)
    frame[120:].assign(hours=50.0).to_csv(folder / "new.csv", index=False)
    for name, options in (("calibrated", ["--calibrate"]), ("plain", [])):
        done = run("fit", folder / "old.csv", *TARGET, *FAST, "--unit", "days", *options, "-o",
                   folder / name)  # fmt: skip
        assert done.code == 0, done.err
    return folder


@pytest.fixture
def shell(fitted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in fitted.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def page(name="page.html"):
    return Page(Path(name).read_text(encoding="utf-8"))


def test_a_report_is_written_and_the_command_says_where(shell):
    done = run("report", "calibrated", "new.csv", *FEW, "--individuals", "2,4-5", "-o", "page.html")
    assert done.code == 0, done.err
    assert "'new.csv': 100 rows" in done.out
    assert re.search(r"Written: page.html \(0.\d\d MB\)", done.out)
    found = page()
    assert [row[0] for row in found.tables["individuals"]] == ["row 2", "row 4", "row 5"]
    new = pd.read_csv("new.csv")
    np.testing.assert_allclose(found.column("features", 1), new["temp"][[1, 3, 4]], rtol=1e-3)
    assert "days" in found.headings["cohort"][0]


def test_a_reliability_report_knows_ages_names_risks_costs_and_dates(shell):
    told = run("report", "calibrated", "new.csv", *FEW, "--preset", "reliability", "--age", "hours",
               "--label", "unit", "--risk", 0.2, "--early-cost", 1, "--late-cost", 7, "--as-of",
               "2026-01-31", "--horizons", "100,400", "--ahead", "60,20", "-o", "page.html",
               "--json").json  # fmt: skip
    new, found = pd.read_csv("new.csv"), page()
    assert told["what_if"]
    assert told["units"] == (new["failed"] == 0).sum()
    assert {row[0] for row in found.tables["fleet"]} == set(new["unit"][new["failed"] == 0])
    assert set(found.column("fleet", 1)) == {50.0}
    place = found.headings["fleet"].index("time left, 80\u00a0% confidence")
    bound = load_model("calibrated").predict_lower_bound(
        new[["temp", "site"]], 0.8, elapsed=new["hours"].to_numpy(float)
    )
    expected = dict(zip(new["unit"], np.where(bound > 50.0, bound - 50.0, np.nan), strict=True))
    for row in found.tables["fleet"]:
        value = float(row[place]) if row[place] else np.nan
        np.testing.assert_allclose(value, expected[row[0]], rtol=1e-9)
        assert re.fullmatch(r"20\d\d-\d\d-\d\d|", row[place + 1])
        assert re.fullmatch(r"20\d\d-\d\d-\d\d|due now|at failure|not before", row[-1])
    assert sorted(set(found.column("risks", 0))) == [100.0, 400.0]
    assert len(found.headings["costs"]) == 9
    assert found.column("failures", 0).tolist() == [20.0, 60.0]


def test_rows_of_the_fit_and_uncalibrated_bounds_are_noted_in_page_and_shell(shell):
    told = run("report", "plain", "old.csv", *FEW, "-o", "page.html", "--json").json
    assert any("was fitted to these very rows" in note for note in told["notes"])
    assert any("are not calibrated" in note for note in told["notes"])
    assert "was fitted to these very rows" in page().words
    other = run("report", "plain", "new.csv", *FEW, "-o", "other.html", "--json").json
    assert not any("was fitted to these very rows" in note for note in other["notes"])


WRONG = {
    "preset": (["--preset", "legal"], "--preset must be one of 'clinical', 'reliability', got "),
    "horizons": (
        ["--horizons", "soon"],
        "--horizons must be numbers such as 365,1825, got 'soon'.",
    ),
    "rows": (["--individuals", "101"], "--individuals must lie between 1 and 100, got '101'."),
    "words": (
        ["--individuals", "all"],
        "--individuals must be row numbers such as 3,17,20-25, got",
    ),
    "age": (["--age", "hour"], "--age: 'new.csv' has no column 'hour'; did you mean 'hours'?"),
    "label": (
        ["--label", "units"],
        "--label: 'new.csv' has no column 'units'; did you mean 'unit'?",
    ),
    "costs": (
        ["--late-cost", "1"],
        "--early-cost and --late-cost must be given together, got no --early",
    ),
    "risk": (["--risk", "2"], "--risk must be"),
    "place": (["-o", "nowhere/page.html"], "There is no folder "),
}


@pytest.mark.parametrize(("options", "sentence"), WRONG.values(), ids=list(WRONG))
def test_wrong_input_is_one_sentence_and_leaves_nothing(shell, options, sentence):
    before = sorted(path.name for path in shell.iterdir())
    done = run("report", "plain", "new.csv", *FEW, "-o", "page.html", *options)
    assert done.error.startswith(sentence)
    assert sorted(path.name for path in shell.iterdir()) == before


def test_an_existing_page_is_replaced_only_by_force(shell):
    (shell / "page.html").write_text("kept")
    done = run("report", "plain", "new.csv", *FEW, "-o", "page.html")
    assert done.error.endswith("exists already and is not overwritten. Add --force to replace it.")
    assert (shell / "page.html").read_text() == "kept"
    assert run("report", "plain", "new.csv", *FEW, "-o", "page.html", "--force").code == 0
    assert page().tables
    table = run("report", "plain", "new.csv", *FEW, "-o", "new.csv", "--force")
    assert table.error == "'new.csv' is the table itself: name another file."


def test_the_command_runs_in_a_process_of_its_own(shell):
    command = [sys.executable, "-m", "censquant", "report", "plain", "new.csv", "-o", "page.html",
               "--resamples", "4"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    assert "Written: page.html" in done.stdout
    assert "report" in done.stderr  # the progress bar


def test_an_exported_model_says_what_the_model_says(shell):
    told = run("export", "calibrated", "--onnx", "model.onnx", "--quantiles", "0.1,0.5", "--dtype",
               "float64", "--json").json  # fmt: skip
    assert told["quantiles"] == [0.1, 0.5]
    assert told["bytes"] == (shell / "model.onnx").stat().st_size
    new = pd.read_csv("new.csv")
    session = onnxruntime.InferenceSession("model.onnx")
    inputs = {
        "X": new[["temp"]].to_numpy(np.float64),
        "categories": new[["site"]].to_numpy(object),
    }
    quantiles = session.run(["quantiles"], inputs)[0]
    model = load_model("calibrated")
    expected = model.predict_quantiles(new[["temp", "site"]], [0.1, 0.5], beyond="extrapolate")
    np.testing.assert_allclose(quantiles, expected, rtol=1e-9)


def test_an_export_replaces_nothing_without_force_and_never_the_model(shell):
    assert run("export", "plain", "--onnx", "model.onnx").code == 0
    again = run("export", "plain", "--onnx", "model.onnx")
    assert again.error.endswith("exists already and is not overwritten. Add --force to replace it.")
    assert run("export", "plain", "--onnx", "model.onnx", "--force").code == 0
    itself = run("export", "plain", "--onnx", "plain", "--force")
    assert itself.error == "'plain' is the model itself: name another file."
    wrong = run("export", "plain", "--onnx", "other.onnx", "--dtype", "float16")
    assert wrong.error == "--dtype must be one of 'float32', 'float64', got 'float16'."
