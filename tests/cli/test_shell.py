"""The commands as a shell runs them: in processes of their own, ended in the middle, in pipes."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from test_fit_command import TARGET, fleet

COMMAND = (sys.executable, "-m", "censquant")
# A prediction that waits after its first piece, so that it can be ended there.
WAITING = """
import sys, time
from censquant.io import _predict
original = _predict.RowPredictor.predict
def slow(*arguments):
    answer = original(*arguments)
    print("predicted a piece", flush=True)
    time.sleep(120)
    return answer
_predict.RowPredictor.predict = slow
sys.argv = ["censquant", "predict", "model", "fleet.csv", "-o", "out.csv", "--chunk-rows", "20"]
from censquant.cli import main
main()
"""


def run(*arguments, cwd, **options):
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, timeout=1800, cwd=cwd, **options
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A fit from a pipe, and its model."""
    place = tmp_path_factory.mktemp("shell")
    fleet(60).to_csv(place / "fleet.csv", index=False)
    done = run("fit", "-", *TARGET, "--method", "cox", "-o", "model", "--json", cwd=place,
               input=(place / "fleet.csv").read_bytes())  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["features"] == ["temp", "site"]
    return place


def test_predictions_pass_through_a_pipe_whose_reader_leaves_early(folder):
    command = f"{sys.executable} -m censquant predict model fleet.csv -o - --chunk-rows 1 | head -2"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, timeout=1800, cwd=folder
    )
    assert done.stdout.splitlines()[0].startswith("unit,days,failed,q0.1")
    assert len(done.stdout.splitlines()) == 2
    assert "Traceback" not in done.stderr


def test_evaluate_and_compare_run_in_a_shell(folder):
    done = run("evaluate", "model", "fleet.csv", "--resamples", 2, "--json", cwd=folder)
    assert json.loads(done.stdout)["rows"] == 60
    done = run("compare", "fleet.csv", *TARGET, "--methods", "kaplan_meier", "--folds", 2,
               "--resamples", 2, "--json", cwd=folder)  # fmt: skip
    assert json.loads(done.stdout)["rows"][0]["method"] == "kaplan_meier"


def test_bad_input_is_one_sentence_and_exit_code_2(folder):
    wrong = ("fit", "fleet.csv", "--time", "dayz", "--event", "failed", "-o", "other")
    short = run(*wrong, cwd=folder)
    assert short.returncode == 2
    assert short.stdout == b""
    assert short.stderr.decode() == (
        "Error: --time: 'fleet.csv' has no column 'dayz'; did you mean 'days'?\n"
    )


def listed(place):
    return sorted(path.name for path in place.iterdir())


def interrupted(folder, sign):
    """End a prediction after its first piece; return the process's code and messages."""
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.readline() == b"predicted a piece\n"
    process.send_signal(sign)
    _, messages = process.communicate(timeout=1800)
    return process.returncode, messages.decode()


def test_ctrl_c_leaves_nothing_half_written(folder):
    before = listed(folder)
    code, messages = interrupted(folder, signal.SIGINT)
    assert code == 130
    assert messages.endswith("Interrupted: nothing was written.\n")
    assert "Traceback" not in messages
    assert listed(folder) == before


def test_a_killed_prediction_leaves_no_result_and_the_next_one_cleans_up(folder):
    code, _ = interrupted(folder, signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert not (folder / "out.csv").exists()
    assert run("predict", "model", "fleet.csv", "-o", "out.csv", cwd=folder).returncode == 0
    assert not [name for name in listed(folder) if name.startswith(".out.csv.")]
    (folder / "out.csv").unlink()


def test_ctrl_c_ends_a_fit_and_leaves_no_model(tmp_path):
    fleet(2000).to_csv(tmp_path / "fleet.csv", index=False)
    process = subprocess.Popen(
        [*COMMAND, "fit", "fleet.csv", *TARGET, "-o", "model"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    while b"Left out" not in process.stdout.readline():
        pass
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, messages = process.communicate(timeout=1800)
    assert process.returncode == 130
    assert b"Interrupted: nothing was written." in messages
    assert b"Traceback" not in messages
    assert listed(tmp_path) == ["fleet.csv"]


def test_completion_is_offered_for_shells(folder):
    done = run(cwd=folder, env={**os.environ, "_CENSQUANT_COMPLETE": "complete_bash",
                                "COMP_WORDS": "censquant ev", "COMP_CWORD": "1"})  # fmt: skip
    assert done.stdout.split() == [b"evaluate"]


NAMES = ("\x1b[31mred\x1b[0m", "\x9b2Jgone", "bell\x07", "turned\u202egnp.exe")


def test_escape_sequences_of_a_table_are_shown_and_never_sent_to_the_terminal(folder, tmp_path):
    frame = fleet(60)
    levels = np.where(frame["site"] == "north", "\x1b]0;title\x07", "\x9b31m")
    for place, name in enumerate(NAMES):
        frame[name] = levels if place % 2 else np.roll(frame["temp"], place + 1)
    frame["\x1b[5mstate"] = np.where(frame["failed"] == 1, "\x1b[1mbroken", "runs")
    frame.loc[3, NAMES[0]] = np.nan
    frame.to_csv(tmp_path / "table.csv", index=False)
    fit = ("fit", "table.csv", *TARGET, "--method", "cox", "-o", "model", "--force")
    frame.assign(site="else\x1b[2J").to_csv(tmp_path / "other.csv", index=False)
    for command in (
        fit,
        (*fit, "--json"),
        (*fit, "--features", "\x1b[31mread"),
        ("fit", "table.csv", "--time", "days", "--event", "\x1b[5mstate", "-o", "m"),
        ("predict", "model", "other.csv", "-o", "out.csv", "--force"),
        ("evaluate", "model", "other.csv", "--resamples", 2),
    ):
        done = run(*command, cwd=tmp_path)
        said = (done.stdout + done.stderr).decode()
        assert said
        unsafe = [letter for letter in "\x1b\x07\x9b\u202e" if letter in said]
        assert unsafe == [], said
    done = run(*fit, "--json", cwd=tmp_path)
    assert set(NAMES) <= set(json.loads(done.stdout)["features"])
    assert "\\x1b[31mred" in run(*fit, cwd=tmp_path).stdout.decode()


@pytest.mark.parametrize(
    "command",
    [
        ("fit", "fleet.csv", *TARGET, "-o", "-"),
        ("report", "model", "fleet.csv", "-o", "-"),
        ("compare", "fleet.csv", *TARGET, "-o", "-"),
        ("export", "model", "--onnx", "-"),
        ("demo", "--output", "-"),
        ("bench", "--out", "-"),
    ],
    ids=lambda command: command[0],
)
def test_only_predictions_are_written_to_standard_output(folder, command):
    done = run(*command, cwd=folder)
    assert done.returncode == 2
    name = {"-o": "--output"}.get(command[-2], command[-2])
    assert done.stderr.decode() == (
        f"Error: {name} must name a file or folder, got '-': only the table of predict can be "
        "written to standard output.\n"
    )
    assert not (folder / "-").exists()
