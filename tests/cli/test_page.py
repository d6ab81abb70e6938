"""The page on the command names commands and options that exist."""

import re
from pathlib import Path

import pytest
import typer

from censquant.cli._app import app

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
COMMANDS = typer.main.get_command(app).commands


def options(name):
    return {text for one in COMMANDS[name].params for text in getattr(one, "opts", [])}


def test_commands_of_the_page_have_the_options_it_uses():
    used = re.findall(r"^\$ censquant (\w+) (.*?)(?: \||$)", PAGE, re.MULTILINE)
    assert {name for name, _ in used} == {
        "fit", "predict", "evaluate", "report", "export", "compare"
    }  # fmt: skip
    for name, arguments in used:
        assert set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", arguments)) <= options(name), name


def test_options_that_the_page_explains_exist():
    known = set().union(*(options(name) for name in COMMANDS if name != "datasets"))
    known |= {"--help", "--install-completion", "--traceback"}
    assert set(re.findall(r"`(--[a-z-]+)", PAGE)) <= known


def test_the_page_explains_every_option_of_fit_and_predict():
    left = {"--output", "--jobs", "--data", "--model"}
    for name in ("fit", "predict"):
        words = {text for text in options(name) if text.startswith("--")} - left
        assert {text for text in words if text not in PAGE} == set()


@pytest.mark.parametrize("name", sorted({*COMMANDS} - {"datasets", "bench"}))
def test_the_help_of_a_command_ends_with_an_example_of_its_own_options(name):
    example = COMMANDS[name].epilog.removeprefix("For example: censquant ").split()
    assert example[0] == name
    assert {word for word in example if word.startswith("-")} <= options(name)
