"""The command and its parts, each in a file of its own."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from censquant._plugins import BENCH_COMMAND, load_plugins
from censquant._version import __version__
from censquant.cli._cohort import cohort
from censquant.cli._compare import compare
from censquant.cli._contrast import contrast
from censquant.cli._datasets import datasets
from censquant.cli._demo import demo
from censquant.cli._evaluate import evaluate
from censquant.cli._export import export
from censquant.cli._failures import failures
from censquant.cli._fit import fit
from censquant.cli._predict import predict
from censquant.cli._report import report
from censquant.cli._validate import validate
from censquant.cli._warm_up import warm_up

app = typer.Typer(
    help="Censored quantile regression: survival-time quantiles for every individual.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"censquant {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
    traceback: Annotated[
        bool,
        typer.Option(
            "--traceback",
            help="Show where an error arose, not only what it says; for bug reports. Anywhere in "
            "the command.",
        ),
    ] = False,
) -> None:
    """Censored quantile regression: survival-time quantiles for every individual."""


# Each with the example that ends its help.
COMMANDS: dict[Callable[..., None], str] = {
    cohort: "cohort women.csv --time time --event cens --event-value 1 --by horTh",
    fit: "fit fleet.csv --time days --event failed -o fleet.model",
    predict: "predict fleet.model running.csv --quantiles 0.1,0.5 -o predicted.csv",
    failures: "failures fleet.model running.csv --start installed --as-of 2024-06-30 "
    "--horizons 30,90 --by site --train history.csv -o units.csv",
    contrast: "contrast women.model women.csv --feature horTh --to yes --from no --at 1825 "
    "--method doubly_robust",
    evaluate: "evaluate fleet.model new.csv",
    report: "report fleet.model new.csv --preset reliability -o fleet.html",
    compare: "compare fleet.csv --time days --event failed --methods recommended,cox",
    export: "export fleet.model --onnx fleet.onnx --quantiles 0.1,0.5,0.9",
    demo: "demo --output demo-output",
    warm_up: "warm-up",
    validate: "validate --output qualification",
}
for command, example in COMMANDS.items():
    app.command(epilog=f"For example: censquant {example}")(command)


def add_plugins(target: typer.Typer, commands: dict[str, Any]) -> None:
    """Add the commands of other distributions; without the benchmark, say how to get it."""
    for name, command in commands.items():
        target.command(name)(command)
    if "bench" not in commands:
        anything = {"allow_extra_args": True, "ignore_unknown_options": True}
        target.command("bench", hidden=True, context_settings=anything)(_bench_is_missing)


def _bench_is_missing() -> None:
    """Run the benchmark, which is a distribution of its own."""
    raise ImportError(f"censquant bench is installed apart, by: {BENCH_COMMAND}")


add_plugins(app, load_plugins("censquant.commands"))
app.add_typer(datasets, name="datasets")
