"""The benchmark and the data sets from the shell; a run that is killed has its own process."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from unittest.mock import patch

import in_process
import pandas as pd
import pytest

import censquant

SMALL = ("--datasets", "norm_linear,weibull", "--methods", "cqrnn,excl_censor", "--seeds", "2")


def run(*arguments, cwd=".", **environment):
    with patch.dict(os.environ, environment), contextlib.chdir(cwd):
        return in_process.run(*arguments)


def run_apart(*arguments, cwd):
    """Run the command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "censquant", *arguments],
        capture_output=True,
        text=True,
        timeout=1800,
        cwd=cwd,
    )
    return in_process.Done(done.returncode, done.stdout, done.stderr)


def rows_of(folder):
    lines = (folder / "bench-results" / "main" / "rows.jsonl").read_bytes().split(b"\n")
    return [json.loads(line) for line in lines[1:] if line]


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    return run("bench", *SMALL, "--jobs", "1", cwd=folder), folder


def test_a_run_prints_its_table_and_says_where_the_files_are(bench):
    result, folder = bench
    assert result.code == 0, result.err
    for text in ("CQRNN beside the paper", "Norm linear", "Weibull", "Training time"):
        assert text in result.out
    for name in ("rows.jsonl", "results.parquet", "table.md", "table.tex", "speed.md", "main.png"):
        path = folder / "bench-results" / "main" / name
        assert path.is_file()
        assert str(path) in result.out


def test_the_tables_fit_a_terminal_of_80_columns_with_nothing_cut(bench):
    result, _ = bench
    assert "…" not in result.out
    tables = result.out.partition("Written, with all tables in full:")[0]
    assert max(len(line) for line in tables.splitlines()) <= 80


def test_the_files_say_the_command_and_the_versions(bench):
    _, folder = bench
    table = (folder / "bench-results" / "main" / "table.md").read_text(encoding="utf-8")
    assert f"censquant bench {' '.join(SMALL)} --jobs 1" in table
    assert f"censquant {censquant.__version__}" in table


def test_rows_are_tidy(bench):
    _, folder = bench
    frame = pd.read_parquet(folder / "bench-results" / "main" / "results.parquet")
    assert len(frame) == 8
    assert not frame.duplicated(["suite", "dataset", "method", "split", "variant", "seed"]).any()
    assert (frame["error"] == "").all()


def test_progress_goes_to_stderr_alone(bench):
    result, _ = bench
    assert "runs" in result.err
    assert "left" not in result.out


def test_a_finished_run_is_not_made_again(bench):
    _, folder = bench
    before = rows_of(folder)
    result = run("bench", *SMALL, "--jobs", "1", cwd=folder)
    assert result.code == 0
    assert rows_of(folder) == before


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_killed_run_goes_on_with_no_row_lost_and_none_doubled(tmp_path, jobs):
    command = [sys.executable, "-m", "censquant", "bench", *SMALL, "--jobs", jobs]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    file = tmp_path / "bench-results" / "main" / "rows.jsonl"
    deadline = time.monotonic() + 1800
    while process.poll() is None and time.monotonic() < deadline:
        if file.exists() and file.read_bytes().count(b"\n") > 2:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = rows_of(tmp_path)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # workers that wait for more to do
    assert 2 <= len(before) < 8
    with file.open("ab") as rows:  # as if the kill had come in the middle of a line
        rows.write(b'{"suite": "main", "datas')

    result = run_apart("bench", *SMALL, "--jobs", jobs, cwd=tmp_path)
    assert result.code == 0, result.err
    after = rows_of(tmp_path)
    assert after[: len(before)] == before
    keys = [(row["dataset"], row["method"], row["seed"]) for row in after]
    assert sorted(keys) == sorted(
        (dataset, method, seed)
        for dataset in ("norm_linear", "weibull")
        for method in ("cqrnn", "excl_censor")
        for seed in (111, 112)
    )


def test_results_of_another_version_are_not_overwritten(tmp_path):
    folder = tmp_path / "bench-results" / "main"
    folder.mkdir(parents=True)
    content = '{"format": 1, "censquant": "0.0.1"}\n'
    (folder / "rows.jsonl").write_text(content)
    result = run("bench", *SMALL, cwd=tmp_path)
    assert result.code == 2
    assert "holds results of censquant 0.0.1" in result.err
    assert (folder / "rows.jsonl").read_text() == content
    assert [path.name for path in folder.iterdir()] == ["rows.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--suite", "mian"), "Error: There is no suite 'mian'; did you mean main?\n"),
        (("--datasets", "gbgs"), "Error: There is no dataset 'gbgs'; did you mean gbsg?\n"),
        (("--methods", "cqrn"), "Error: There is no method 'cqrn'; did you mean cqrnn"),
        (("--splits", "groupd"), "Error: There is no split 'groupd'; did you mean grouped?\n"),
        (("--suite", "figures", "--datasets", "gbsg2"), "Error: There is no dataset 'gbsg2'"),
    ],
)
def test_wrong_words_are_one_sentence_and_exit_code_2(tmp_path, arguments, sentence):
    result = run("bench", *arguments, cwd=tmp_path)
    assert result.code == 2
    assert result.err.startswith(sentence)
    assert result.err.count("\n") == 1
    assert not (tmp_path / "bench-results").exists()


def test_a_file_in_place_of_the_folder_is_kept(tmp_path):
    (tmp_path / "note.txt").write_text("kept")
    result = run("bench", "--out", "note.txt", cwd=tmp_path)
    assert result.code == 2
    assert result.err == "Error: --out must be a folder, but 'note.txt' is a file.\n"
    assert (tmp_path / "note.txt").read_text() == "kept"


def test_data_that_cannot_be_had_are_named_and_the_rest_is_run(tmp_path):
    nowhere = {"CENSQUANT_DATA": "", "CENSQUANT_CACHE": str(tmp_path / "cache")}
    # A port that refuses at once, so that the test needs no network and waits for none.
    proxy = {"https_proxy": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}
    result = run(
        "bench", "--datasets", "gbsg,weibull", "--methods", "excl_censor", "--seeds", "1",
        "--jobs", "1", cwd=tmp_path, **nowhere, **proxy,
    )  # fmt: skip
    assert result.code == 0, result.err
    text = " ".join(result.out.split())
    assert "GBSG was left out: 'gbsg/gbsg_cancer_train_test.h5' could not be downloaded" in text
    assert [row["dataset"] for row in rows_of(tmp_path)] == ["weibull"]


@pytest.mark.parametrize("text", ["0", "-2", "6-4", "4-", "many", ""])
def test_runs_are_a_number_or_a_range(text, tmp_path):
    result = run("bench", *SMALL[:4], f"--seeds={text}", cwd=tmp_path)
    assert result.code == 2
    message = (
        "must be a number of runs, at least 1, or the first and the last run as in 4-6, got "
        f"{text!r}."
    )
    assert message in " ".join(result.err.replace("│", " ").split())


def test_a_range_of_runs_is_run(tmp_path):
    result = run(
        "bench", "--datasets", "weibull", "--methods", "excl_censor", "--seeds", "113-114",
        "--jobs", "1", cwd=tmp_path,
    )  # fmt: skip
    assert result.code == 0, result.err
    assert [row["seed"] for row in rows_of(tmp_path)] == [113, 114]


def test_the_list_names_suites_sets_and_methods():
    result = run("bench", "--list")
    assert result.code == 0
    for name in ("sequential", "partial_full", "figures", "survmnist", "lognorm_as_run", "cmapss"):
        assert name in result.out


def test_pictures_over_one_feature(tmp_path):
    result = run(
        "bench", "--suite", "figures", "--datasets", "norm_uniform", "--methods", "excl_censor",
        cwd=tmp_path,
    )  # fmt: skip
    assert result.code == 0, result.err
    names = sorted(path.name for path in (tmp_path / "bench-results" / "figures").iterdir())
    assert names == ["quantiles_1d.png", "quantiles_1d.svg"]


def test_pictures_of_sets_with_more_features_are_refused(tmp_path):
    result = run("bench", "--suite", "figures", "--datasets", "norm_heavy", cwd=tmp_path)
    assert result.code == 2
    assert "draws synthetic sets with one feature, got 'norm_heavy'" in result.err


class TestDatasets:
    def test_all_are_listed_with_their_censoring(self):
        result = run("datasets", "list", COLUMNS="120")
        assert result.code == 0
        for text in ("gbsg2", "metabric", "42 %", "norm_uniform", "survmnist"):
            assert text in result.out

    def test_a_description_says_source_licence_and_traps(self):
        result = run("datasets", "describe", "whas")
        assert result.code == 0
        for text in ("903 of the 1638 rows", "Groups: exact copies", "Licence:", "Source:"):
            assert text in result.out

    def test_bundled_data_need_no_fetching(self):
        assert "nothing to fetch" in run("datasets", "fetch", "gbsg2").out

    def test_a_file_that_cannot_be_had_is_named(self, tmp_path):
        result = run(
            "datasets", "fetch", "wine", CENSQUANT_DATA="", CENSQUANT_CACHE=str(tmp_path),
            https_proxy="http://127.0.0.1:9", HTTPS_PROXY="http://127.0.0.1:9",
        )  # fmt: skip
        assert result.code == 2
        assert "'wine/winequality-red.csv' could not be downloaded" in result.err

    @pytest.mark.parametrize("command", ["describe", "fetch"])
    def test_unknown_names_are_told_the_near_ones(self, command):
        result = run("datasets", command, "metabrik")
        assert result.code == 2
        assert result.err == (
            "Error: There is no data set 'metabrik'; did you mean metabric or field_metabric?\n"
        )
