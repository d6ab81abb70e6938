"""``censquant validate``: its words, its files and its exit code."""

import json

import pytest
from in_process import run

from censquant._qualification import _document
from censquant._qualification._behaviour import INSTALLATION
from censquant._qualification._checks import Section, printed
from censquant._qualification._published import PUBLISHED


@pytest.fixture
def suite(monkeypatch):
    """Few checks; the returned section can be given others."""
    own = Section("own", "Own checks")
    monkeypatch.setattr(_document, "SECTIONS", (INSTALLATION, own))
    own.checks += PUBLISHED.checks[:2]
    return own


def test_a_validation_that_passes_writes_both_files_and_exits_with_0(suite, tmp_path):
    done = run("validate", "--output", tmp_path / "new" / "folder")
    assert done.code == 0, done.err
    assert "Own checks: 2 of 2 checks passed" in done.out
    assert "IN-2 not run: installed in place" in done.out or "IN-2" not in done.out
    page, data = (tmp_path / "new" / "folder" / f"validation.{end}" for end in ("html", "json"))
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert json.loads(data.read_text(encoding="utf-8"))["passed"] is True


def test_a_validation_that_fails_says_which_check_and_exits_with_1(suite, tmp_path):
    suite.check("XX-1", "R1", "Half of one", "Arithmetic", printed(".25"))(lambda: [0.5])
    done = run("validate", "--output", tmp_path)
    assert done.code == 1
    assert "XX-1 failed: Half of one" in done.out
    assert "expected .25; obtained 0.5" in done.out
    assert "checks failed: XX-1." in done.out


def test_json_is_one_object_with_every_check(suite, tmp_path):
    found = run("validate", "--output", tmp_path, "--json").json
    assert found["passed"] is True
    assert [each["check"] for each in found["checks"]][-2:] == ["KM-1", "KM-2"]


def test_a_file_in_place_of_the_folder_is_refused_before_the_checks(tmp_path):
    path = tmp_path / "file"
    path.write_text("")
    assert "--output must be a folder, but" in run("validate", "--output", path).error
