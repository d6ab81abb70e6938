"""The command with and without the distributions that add to it."""

import subprocess
import sys
from types import SimpleNamespace

import pytest
import typer
from in_process import run
from test_fit_command import TARGET, fleet
from typer.testing import CliRunner

import censquant
from censquant import _plugins, inspection, plotting
from censquant.cli._app import add_plugins


@pytest.fixture
def alone(monkeypatch):
    """Nothing else is installed."""
    monkeypatch.setattr("censquant.cli._compare.load_plugins", lambda group: {})


def test_without_the_benchmark_one_sentence_says_how_to_get_it():
    code = (
        "import importlib.metadata as m, sys; m.entry_points = lambda **_: ();"
        "sys.argv = ['censquant', 'bench', '--suite', 'main'];"
        "from censquant.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "Error: censquant bench is installed apart, by: pip install censquant-bench\n"
    )


def test_a_command_of_another_distribution_is_added():
    def bench(suite: str = "main") -> None:
        typer.echo(f"ran {suite}")

    app = typer.Typer()
    app.command("fit")(lambda: None)
    add_plugins(app, {"bench": bench})
    assert CliRunner().invoke(app, ["bench", "--suite", "own"]).output == "ran own\n"


def test_a_missing_command_is_not_listed():
    app = typer.Typer()
    app.command("fit")(lambda: None)
    add_plugins(app, {})
    assert "bench" not in CliRunner().invoke(app, ["--help"]).output


def test_plugins_are_loaded_from_entry_points(monkeypatch):
    entry = SimpleNamespace(name="own", load=lambda: "loaded")
    monkeypatch.setattr(_plugins, "entry_points", lambda group: [entry])
    assert _plugins.load_plugins.__wrapped__("censquant.peers") == {"own": "loaded"}


def test_own_methods_are_compared_without_the_benchmark(alone, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fleet(120, seed=2).to_csv("fleet.csv", index=False)
    quick = ("--folds", 2, "--resamples", 5, "--jobs", 1)
    done = run("compare", "fleet.csv", *TARGET, "--methods", "cox,kaplan_meier", *quick)
    assert done.code == 0, done.err
    refused = run("compare", "fleet.csv", *TARGET, "--methods", "cox,peers", *quick)
    assert refused.error == "--methods peers needs the benchmark: pip install censquant-bench"
    unknown = run("compare", "fleet.csv", *TARGET, "--methods", "sksurv_cox", *quick)
    assert unknown.error.startswith("There is no method 'sksurv_cox'")


@pytest.mark.parametrize(
    ("module", "name", "home"),
    [
        (censquant, "benchmark", "censquant_bench"),
        (inspection, "rank_methods", "censquant_bench.rank_methods"),
        (inspection, "MethodRanks", "censquant_bench.MethodRanks"),
        (plotting, "plot_critical_differences", "censquant_bench.plot_critical_differences"),
    ],
)
def test_names_that_moved_say_where_to(module, name, home):
    with pytest.raises(AttributeError) as error:
        getattr(module, name)
    assert str(error.value) == (
        f"{module.__name__}.{name} is now {home}, which is installed by: "
        "pip install censquant-bench"
    )
    with pytest.raises(AttributeError, match=r"^module '[\w.]+' has no attribute 'nothing'$"):
        module.nothing  # noqa: B018
