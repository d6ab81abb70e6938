"""Data sets fetched and described from the shell, with no network."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from censquant.datasets import catalogue, describe

DATA = os.environ.get("CENSQUANT_DATA", "")
DOWNLOADS = [info.name for info in catalogue() if info.kind == "download"]
# A port that refuses at once, so that no test waits for a network.
NO_NETWORK = {"https_proxy": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}
# Makes small files of the data folder count as the published ones, then runs the command.
PROGRAM = """
import hashlib, os, pathlib
from censquant.datasets import catalogue
for file in (file for info in catalogue() for file in info.files):
    place = pathlib.Path(os.environ["CENSQUANT_DATA"], file.path)
    if place.is_file():
        vars(file)["checksum"] = f"sha256:{hashlib.sha256(place.read_bytes()).hexdigest()}"
from censquant.cli import main
main()
"""


def run(*arguments, start=("-m", "censquant"), **environment):
    return subprocess.run(
        [sys.executable, *start, *arguments],
        capture_output=True,
        text=True,
        timeout=1800,
        env={**os.environ, **NO_NETWORK, **environment},
    )


class Shell:
    """The command over a data folder of small files and an empty cache."""

    def __init__(self, root):
        self.folder, self.cache = root / "data", root / "cache"
        self.folder.mkdir()

    def add(self, name):
        """Put small files of a set there and return their places."""
        places = [self.folder / file.path for file in describe(name).files]
        for place in places:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"small file of {name}\n")
        return [str(place) for place in places]

    def fetch(self, *names):
        places = {"CENSQUANT_DATA": str(self.folder), "CENSQUANT_CACHE": str(self.cache)}
        return run("datasets", "fetch", *names, start=("-c", PROGRAM), **places)


@pytest.fixture
def shell(tmp_path):
    return Shell(tmp_path)


def test_places_of_files_are_printed(shell):
    places = shell.add("cmapss")
    result = shell.fetch("cmapss")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == places


def test_the_place_of_a_published_file_is_printed(tmp_path):
    """Compared where CENSQUANT_DATA has the file; without it, it is asked for in vain."""
    (file,) = describe("whas").files
    place = tmp_path / file.path
    place.parent.mkdir()
    is_here = bool(DATA) and (Path(DATA) / file.path).is_file()
    if is_here:
        shutil.copy(Path(DATA) / file.path, place)
    result = run(
        "datasets", "fetch", "whas",
        CENSQUANT_DATA=str(tmp_path), CENSQUANT_CACHE=str(tmp_path / "cache"),
    )  # fmt: skip
    assert result.returncode == (0 if is_here else 2), result.stderr
    assert result.stdout == (f"{place}\n" if is_here else "")


def test_a_set_that_cannot_be_had_keeps_back_no_other(shell):
    places = shell.add("whas") + shell.add("cmapss")
    result = shell.fetch("gbsg", "whas", "support", "cmapss", "whas")
    assert result.returncode == 2
    assert result.stdout.splitlines() == places
    assert result.stderr.startswith(
        "Error: 2 of 4 data sets could not be fetched (gbsg, support); the reason of the first: "
        "'gbsg/gbsg_cancer_train_test.h5' could not be downloaded from https://"
    )
    assert result.stderr.count("\n") == 1


def test_all_means_every_set_with_files(shell):
    places = [place for name in DOWNLOADS for place in shell.add(name)]
    (shell.folder / "phm2008" / "train.txt").unlink()
    result = shell.fetch("all")
    assert result.returncode == 2
    expected = [place for place in places if "phm2008" not in place]
    assert result.stdout.splitlines() == expected
    assert result.stderr.startswith(
        f"Error: 1 of {len(DOWNLOADS)} data sets could not be fetched (phm2008); the reason"
    )


def test_all_with_everything_there_is_no_error(shell):
    for name in DOWNLOADS:
        shell.add(name)
    result = shell.fetch("all")
    assert (result.returncode, result.stderr) == (0, "")


def test_a_wrong_name_is_told_before_anything_is_fetched(shell):
    shell.add("whas")
    result = shell.fetch("whas", "metabrik")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: There is no data set 'metabrik'; did you mean metabric")


def test_drawn_and_bundled_sets_need_no_fetching(shell):
    result = shell.fetch("norm_heavy", "gbsg2")
    assert result.returncode == 0
    assert result.stdout.splitlines() == [
        "Norm heavy is drawn: nothing to fetch.",
        "GBSG2 comes with the package: nothing to fetch.",
    ]


def test_a_data_folder_that_does_not_exist_is_told(tmp_path):
    nowhere = str(tmp_path / "nowhere")
    result = run(
        "datasets", "fetch", "whas", CENSQUANT_DATA=nowhere, CENSQUANT_CACHE=str(tmp_path / "cache")
    )
    assert result.returncode == 2
    assert result.stderr.startswith(
        f"Error: CENSQUANT_DATA names {nowhere!r}, which does not exist; 'whas/whas_train_test.h5' "
        "could not be downloaded"
    )


def test_the_share_of_drawn_rows_is_said_to_be_a_rough_one():
    result = run("datasets", "describe", "lognorm_medium")
    assert result.returncode == 0
    assert "Censored: about 53 %\n" in result.stdout
    listed = run("datasets", "list", COLUMNS="120").stdout
    line = next(line for line in listed.splitlines() if " lognorm_medium " in line)
    assert "about 53 %" in line
    assert listed.count("about") == 14
    assert "Censored: 57.9 %\n" in run("datasets", "describe", "whas").stdout


def test_a_name_like_no_other_is_told_the_list_and_no_silly_guess():
    result = run("datasets", "describe", "nope")
    assert result.returncode == 2
    assert result.stderr.startswith("Error: There is no data set 'nope'; there are norm_linear, ")
