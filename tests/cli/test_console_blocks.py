"""Commands that pages show run as they stand there, and print what stands below them."""

import re
from pathlib import Path

import pytest
from console import DOCS, compared, printed_by, shown_on

import censquant.datasets
from data_folder import empty_folder
from engine_records import add_engines
from printed_output import check_page, words

# The width of the terminal in which a page was made.
WIDTHS = {"cli": 80, "walk-fleet": 120}
WITH_COMMANDS = {
    path.stem for path in DOCS.glob("*.md") if "```console" in path.read_text(encoding="utf-8")
}


# It fits five methods five times.
LONG = "censquant compare"


def walked(name, folder, monkeypatch):
    """Run the commands of a page in a folder; return each with its lines."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", str(WIDTHS[name]))
    return [
        (each, printed_by(each.command, code=2 * each.fails))
        for each in shown_on(name)
        if not each.command.startswith(LONG)
    ]


@pytest.fixture(scope="module")
def patched():
    with pytest.MonkeyPatch.context() as context:
        yield context


@pytest.fixture(scope="module")
def women(tmp_path_factory, patched):
    """The walk of the page on the command, whose data are in the package."""
    folder = tmp_path_factory.mktemp("women")
    bundled = Path(censquant.datasets.__file__).parent / "data" / "gbsg2.csv"
    header, *rows = bundled.read_text(encoding="utf-8").splitlines(keepends=True)
    parts = {"women.csv": rows, "old.csv": rows[:500], "new.csv": rows[500:]}
    for name, some in parts.items():
        (folder / name).write_text("".join([header, *some]), encoding="utf-8")
    return folder, walked("cli", folder, patched)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory, patched):
    """The walk with a fleet, on made-up engines of the same form with shorter lives."""
    folder = tmp_path_factory.mktemp("fleet")
    add_engines(empty_folder(folder, patched), 40, 80)
    patched.chdir(folder)
    page = (DOCS / "walk-fleet.md").read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, {})
    return folder, walked("walk-fleet", folder, patched)


def test_every_page_with_commands_is_run_here():
    assert {*WIDTHS, "report"} == WITH_COMMANDS


def check_cli_page(results, rewrite):
    found = [
        each for shown, printed in results for each in compared(shown, printed, rewrite=rewrite)
    ]
    check_page(DOCS / "cli.md", found, rewrite=rewrite)


def test_the_page_on_the_command_shows_what_its_commands_print(women, rewrite_pages):
    check_cli_page(women[1], rewrite_pages)


def test_the_page_on_the_command_names_days_that_it_shows():
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    days = re.search(r"10 % after (\d+) days and with 50 % after (\d+)\.", page).groups()
    _, first_woman, _ = next(s.lines for s in shown_on("cli") if s.command == "head -3 times.csv")
    assert [f"{float(cell):.0f}" for cell in first_woman.split(",")[2:4]] == [*days]


@pytest.mark.slow
def test_the_page_on_the_command_shows_what_its_comparison_prints(women, patched, rewrite_pages):
    patched.chdir(women[0])
    patched.setenv("COLUMNS", str(WIDTHS["cli"]))
    (shown,) = (each for each in shown_on("cli") if each.command.startswith(LONG))
    check_cli_page([(shown, printed_by(shown.command))], rewrite_pages)


def test_the_walk_with_a_fleet_runs_on_engines_of_the_same_form(fleet):
    folder, commands = fleet
    for shown, printed in commands:
        if shown.fails:
            assert [words(line) for line in printed] == [words(line) for line in shown.lines]
        elif shown.command.startswith("head"):
            assert printed[0] == shown.lines[0]
            assert len(printed) == len(shown.lines)
    assert (folder / "engines.html").stat().st_size > 50_000


def test_commands_of_the_page_on_reports_run(women, fleet, patched):
    already, about_fleet = (each.command for each in shown_on("report"))
    assert already in [shown.command for shown, _ in women[1]]
    patched.chdir(fleet[0])
    (fleet[0] / "engines.model").rename("fleet.model")
    (fleet[0] / "later.csv").replace("fleet.csv")
    printed_by(about_fleet)
    assert (fleet[0] / "fleet.html").stat().st_size > 50_000
