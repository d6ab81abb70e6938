"""The one bar: with rich, and the line that stands in for it."""

import sys

import pytest

from censquant import _progress
from censquant._progress import Bar, say


@pytest.fixture
def plain(monkeypatch):
    """No rich."""
    monkeypatch.setitem(sys.modules, "rich", None)


def test_without_rich_a_line_is_rewritten(plain, capsys):
    with Bar("work", 3, unit="steps") as bar:
        bar.advance(1, note="slow")
        bar.advance(2)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "\rwork 1/3 steps  slow\rwork 3/3 steps  slow\n"


def test_a_shorter_line_covers_the_longer_one(plain, capsys):
    with Bar("a long description", 2, unit="steps") as bar:
        bar.advance(1)
        bar.advance(1, description="short")
    first, second = capsys.readouterr().err.rstrip("\n").split("\r")[1:]
    assert second.rstrip() == "short 2/2 steps"
    assert len(second) == len(first)


def test_an_end_that_is_unknown_is_not_shown(plain, capsys):
    bar = Bar("file", None, unit="bytes")
    bar.advance(5)
    bar.restart(8)
    bar.advance(8)
    assert capsys.readouterr().err == "\rfile 5 bytes\rfile 8/8 bytes"
    assert bar.total == 8


@pytest.mark.parametrize(("unit", "shown"), [("runs", "4/4 runs"), ("bytes", "4/4 bytes")])
def test_with_rich_the_last_state_is_on_stderr_alone(unit, shown, capsys):
    with Bar("work", 4, unit=unit) as bar:
        bar.advance(1)
        bar.advance(3, description="last part", note="done")
    captured = capsys.readouterr()
    assert captured.out == ""
    line = " ".join(captured.err.split())
    assert line.startswith("last part")
    assert shown in line
    assert "done" in line


def test_a_bar_fits_a_terminal_of_80_columns(capsys):
    with Bar("LogNorm medium", 1234, unit="epochs") as bar:
        bar.advance(1234, note="loss 0.1234")
    (line,) = capsys.readouterr().err.splitlines()
    assert "1234/1234 epochs  loss 0.1234" in line
    assert len(line) <= 80


def test_what_is_said_is_in_the_bar_and_else_on_a_line(plain, capsys):
    say("Stopping ...")
    assert capsys.readouterr().err == "Stopping ...\n"
    with Bar("work", 3, unit="steps") as bar:
        bar.advance(1)
        say("Stopping ...")
    assert capsys.readouterr().err == "\rwork 1/3 steps\rStopping ... 1/3 steps\n"


def test_the_time_left_runs_down_between_two_units_of_work(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now[0])
    bar = Bar("work", 3, unit="fits")
    try:
        column = _progress._remaining_column()

        def shown():
            return str(column.render(bar._display._bar.tasks[0]))

        bar.expect(None)
        assert shown() == "-:--:--"
        bar.expect(3700.0)
        assert shown() == "1:01:40"
        now[0] += 30.5
        assert shown() == "1:01:10"
        now[0] += 4000.0  # longer than expected: nothing is known
        assert shown() == "-:--:--"
        bar.advance(3)
        assert shown() == "0:00:00"
    finally:
        bar.close()
