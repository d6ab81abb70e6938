"""What ``censquant validate`` checks, and how results are judged and written down."""

import base64
import hashlib
import json
import math
import re
from dataclasses import replace
from importlib.metadata import PathDistribution

import numpy as np
import pytest

from censquant._qualification import _behaviour, _document
from censquant._qualification._checks import (
    Check,
    NotApplicableError,
    Section,
    at_most,
    between,
    printed,
    run_check,
)
from censquant._qualification._document import REQUIREMENTS, SECTIONS, checks, validate, write
from censquant._qualification._published import DATA, PUBLISHED, rows
from censquant.survival import KaplanMeier

ALL = checks()
MAY_BE_EMPTY = ("ecog", "high")  # unknown, and never seen


def check(compute, *expected):
    limits = tuple(limit for part in expected for limit in part)
    return Check("XX-1", "R1", "what", "where", limits, compute)


def test_a_printed_value_allows_half_a_unit_of_its_last_digit():
    (limit,) = printed("-1.476")
    assert limit.holds(-1.4764999)
    assert limit.holds(-1.4755001)
    assert not limit.holds(-1.4766)
    assert limit.shown(-1.4762) == "-1.476"
    assert not limit.holds(math.nan)


def test_infinity_is_printed_and_met_by_infinity_alone():
    (limit,) = printed("inf")
    assert limit.holds(math.inf)
    assert not limit.holds(1e308)


@pytest.mark.parametrize(
    ("text", "value", "digits"),
    [("13", 13.0, 2), (".857143", 0.8571428, 6), (".857143", 0.8570, 3), ("1009", 3.0, 0)],
)
def test_digits_are_those_that_agree_and_at_most_those_that_are_printed(text, value, digits):
    assert math.floor(printed(text)[0].digits(value)) == digits


def test_a_number_off_by_one_in_the_last_printed_digit_fails():
    result = run_check(check(lambda: [0.8072], printed(".8067")))
    assert (result.passed, result.verdict) == (False, "failed")
    assert run_check(check(lambda: [0.80672], printed(".8067"))).passed


def test_an_error_in_a_check_is_a_failure_that_says_what_happened():
    def compute():
        raise ZeroDivisionError("nobody at risk")

    result = run_check(check(compute, between(0, 1)))
    assert (result.verdict, result.reason) == ("failed", "ZeroDivisionError: nobody at risk")
    assert math.isnan(result.digits)


def test_too_few_numbers_are_a_failure():
    result = run_check(check(lambda: [1.0], printed("1 2")))
    assert (result.verdict, result.reason) == (
        "failed",
        "1 numbers were computed for 2 expected",
    )


def test_what_does_not_apply_is_not_run_and_no_failure():
    def compute():
        raise NotApplicableError("no such package")

    result = run_check(check(compute, at_most(0)))
    assert (result.verdict, result.reason) == ("not run", "no such package")


def test_checks_have_keys_of_their_own_and_every_requirement_has_one():
    assert len({each.key for each in ALL}) == len(ALL)
    assert {each.requirement for each in ALL} == set(REQUIREMENTS)
    assert all(each.expected and each.source and each.title for each in ALL)


def test_there_are_at_least_forty_published_values_each_with_a_source():
    assert sum(len(each.expected) for each in PUBLISHED.checks) >= 40


@pytest.mark.parametrize("each", PUBLISHED.checks, ids=lambda each: each.key)
def test_published_values_are_reproduced(each):
    result = run_check(each)
    assert result.passed, (result.reason, result.obtained)


def test_a_standard_error_that_is_off_by_a_percent_is_found(monkeypatch):
    right = KaplanMeier.standard_error
    monkeypatch.setattr(KaplanMeier, "standard_error", lambda self, t: 1.01 * right(self, t))
    failed = [each.key for each in PUBLISHED.checks if not run_check(each).passed]
    assert {"KM-2", "KM-5", "KM-6", "KM-7"} <= set(failed)
    assert "KM-1" not in failed


@pytest.mark.parametrize("name", DATA)
def test_rows_of_publications_are_whole(name):
    columns = rows(name)
    assert len({len(column) for column in columns.values()}) == 1
    assert all(
        np.isfinite(column).all() for key, column in columns.items() if key not in MAY_BE_EMPTY
    )


def test_installed_files_that_were_changed_or_deleted_are_counted(tmp_path, monkeypatch):
    (tmp_path / "censquant").mkdir()
    info = tmp_path / "censquant-9.dist-info"
    info.mkdir()
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"a = 1").digest()).rstrip(b"=").decode()
    names = ("same.py", "changed.py", "gone.py")
    (info / "RECORD").write_text("".join(f"censquant/{n},sha256={digest},5\n" for n in names))
    (tmp_path / "censquant" / "same.py").write_text("a = 1")
    (tmp_path / "censquant" / "changed.py").write_text("a = 2")
    installed = PathDistribution(info).files
    monkeypatch.setattr(_behaviour.metadata, "files", lambda name: installed)
    (files,) = (each for each in ALL if each.key == "IN-2")
    assert run_check(files).obtained == (2.0,)


@pytest.mark.parametrize(
    ("requirement", "is_met"),
    [("numpy>=2.0", True), ("numpy>=1000", False), ("no-such-package>=1", False)],
)
def test_missing_and_old_packages_are_found(requirement, is_met):
    assert _behaviour._is_met(requirement) is is_met


@pytest.fixture
def few(monkeypatch):
    """A suite of two checks, the second of which fails."""
    first = Section("published", "Published values", [PUBLISHED.checks[0]])
    bad = check(lambda: [0.5], printed(".25"))
    second = Section("stress", "Difficult <data>", [replace(bad, title="a <b> & c")])
    monkeypatch.setattr(_document, "SECTIONS", (first, second))
    return validate()


def test_a_document_fails_with_one_check(few):
    assert not few.passed
    assert few.verdict == "1 of 2 checks failed: XX-1."


def test_the_json_has_limits_numbers_and_verdicts(few, tmp_path):
    _, path = write(few, tmp_path)
    read = json.loads(path.read_text(encoding="utf-8"))
    first, second = read["checks"]
    assert (first["result"], second["result"]) == ("passed", "failed")
    assert second["limits"][0][0] < 0.25 < second["limits"][0][1]
    assert second["obtained"] == [0.5]
    assert first["digits"] == 6
    assert re.fullmatch("[0-9a-f]{64}", read["identity"]["SHA-256 of its sources"])


def test_the_page_has_every_check_and_escapes_what_it_shows(few, tmp_path):
    path, _ = write(few, tmp_path)
    page = path.read_text(encoding="utf-8")
    for text in ("KM-1", ".857143", "XX-1", "a &lt;b&gt; &amp; c", "1 of 2 checks failed"):
        assert text in page
    assert "http" not in re.sub(r"http-equiv", "", page)
    assert page.count("<section") == 5 + 2


@pytest.mark.slow
def test_the_whole_suite_passes_here():
    document = validate()
    assert document.passed, document.verdict
    assert len(document.results) == sum(len(section.checks) for section in SECTIONS)
