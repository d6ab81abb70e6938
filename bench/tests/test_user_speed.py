"""The command that shows how long users wait: what it keeps, and what it writes from it."""

import importlib
import signal
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAST = {"fit": 2.0, "one": 0.001, "loss": 1.05, "peak": 5e6}
SLOW = {"fit": 8.0, "one": 0.012, "loss": 1.21, "why": {"evaluate": "more than 120 s"}}


@pytest.fixture
def script(monkeypatch):
    """The module of a command, which finds its neighbours as when it is run."""
    monkeypatch.syspath_prepend(str(ROOT / "bench" / "scripts"))
    return importlib.import_module


@pytest.fixture
def speed(script):
    return script("user_speed")


@pytest.fixture
def cells():
    return {
        "recommended": {"warm": [{"import": 1.0, "first": 3.0, "again": 2.0}], "500": [FAST]},
        "sksurv_forest": {"500": [SLOW]},
    }


def test_a_measurement_that_ended_early_keeps_what_came_before(speed):
    lines = [{"stage": "fit"}, {"fit": 1.5, "peak": 3.0}, {"stage": "evaluate"}]
    found = speed.outcome(lines, "more than 120 s")
    assert found == {"fit": 1.5, "peak": 3.0, "why": {"evaluate": "more than 120 s"}}
    assert "why" not in speed.outcome(lines, "")


@pytest.mark.parametrize(
    ("code", "errors", "expected"),
    [
        (0, "a warning", ""),
        (-signal.SIGXCPU, "", "more than 90 s"),
        (-signal.SIGKILL, "", "out of memory"),
        (1, "Traceback\nMemoryError: Unable to allocate", "out of memory"),
        (1, "Traceback\nValueError: no", "ValueError: no"),
        (-signal.SIGSEGV, "", "ended by signal 11"),
    ],
)
def test_the_end_of_a_process_has_a_reason(script, code, errors, expected):
    assert script("peer_speed").reason(code, errors, 90.0) == expected


def test_larger_fits_are_not_tried_after_one_that_failed(speed):
    cells = {"shape": {"500": [{"fit": 1.0}], "5000": [{"why": {"fit": "out of memory"}}]}}
    assert speed.is_done(cells, "shape", "500", 1)
    assert not speed.is_done(cells, "shape", "500", 2)
    assert not speed.is_done(cells, "shape", "warm", 1)
    assert not speed.is_done(cells, "shape", "50", 1)
    assert speed.is_done(cells, "shape", "50000", 1)
    slow_to_evaluate = {"shape": {"500": [SLOW]}}
    assert not speed.is_done(slow_to_evaluate, "shape", "5000", 1)


def test_rounds_are_shown_by_their_medians_and_failures(speed):
    rounds = [
        {"fit": 1.0, "one": 5.0},
        {"fit": 9.0, "one": 6.0},
        {"fit": 2.0, "why": {"one": "no"}},
    ]
    assert speed.middle(rounds) == {"fit": 2.0, "why": {"one": "no"}}
    assert speed.middle([]) == {}


def test_tables_have_numbers_ratios_and_failures(speed, cells):
    keys = ["fit", "evaluate", "one", "peak", "loss"]
    forest = "Random survival forest (scikit-survival)"
    lines = speed.by_method(cells, "500", keys).splitlines()
    assert lines[0] == "| method | fit s | evaluate s | 1 row ms | memory MB | loss / truth |"
    assert lines[2] == "| CensoredQuantileRegressor | 2.00 |  | 1.00 | 5.00 | 1.0500 |"
    assert lines[3] == f"| {forest} | 8.00 | more than 120 s | 12.0 |  | 1.2100 |"
    ratios = speed.by_method(cells, "500", keys, ratios=True).splitlines()
    assert ratios[3] == f"| {forest} | 4.00 | more than 120 s | 12.0 |  | 1.15 |"
    by_rows = speed.by_rows(cells, "recommended", ["fit"]).splitlines()
    assert by_rows[-1] == "| 500 | 2.00 |"
    first_use = speed.first_use(cells).splitlines()
    assert first_use[2:] == ["| CensoredQuantileRegressor | 1.00 | 3.00 | 2.00 |  |  |"]


def test_a_comparison_has_the_ratio_of_this_installation_to_the_other(speed, cells):
    other = {"recommended": {"warm": [{"first": 30.0}], "500": [{"fit": 8.0, "peak": 5e6}]}}
    lines = speed.compare({"recommended": cells["recommended"]}, other).splitlines()
    assert "| CensoredQuantileRegressor, warm start, first fit s | 30.0 | 3.00 | 0.10 |" in lines
    assert "| CensoredQuantileRegressor, 500 rows, fit s | 8.00 | 2.00 | 0.25 |" in lines


def test_results_of_other_versions_are_not_mixed(speed, tmp_path):
    path = tmp_path / "user_speed.json"
    assert speed.kept(path, "numpy 1")["cells"] == {}
    path.write_text('{"made_with": "numpy 1", "cells": {"cox": {}}}')
    assert speed.kept(path, "numpy 1")["cells"] == {"cox": {}}
    with pytest.raises(SystemExit, match=r"made with numpy 1, and this is numpy 2: delete it"):
        speed.kept(path, "numpy 2")


def test_only_marked_blocks_of_a_page_are_rewritten(speed):
    page = "a\n<!-- user_speed: x -->\n\nold\n\n<!-- end of user_speed -->\nb\n"
    once = speed.rewritten(page, {"x": "new"})
    assert once == page.replace("old", "new")
    assert speed.rewritten(once, {"x": "new"}) == once
    with pytest.raises(ValueError, match=r"must have <!-- user_speed: y --> and below it"):
        speed.rewritten(page, {"y": "new"})


def test_the_page_has_a_place_for_every_table(speed, cells):
    found = {"cells": cells, "date": "2000-01-01", "made_with": "numpy 1"}
    page = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    text = speed.rewritten(page, speed.page_blocks(found))
    assert "2000-01-01; numpy 1." in text
    assert text.count("<!-- user_speed") == len(speed.page_blocks(found))
    assert not any(word in speed.results_page(found | {"limit": 120.0}) for word in ("None", "nan"))


def test_the_picture_has_a_panel_per_measure(speed, cells, tmp_path):
    speed.draw_picture(cells, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000
