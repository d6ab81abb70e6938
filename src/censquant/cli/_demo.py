"""``censquant demo``: fit, evaluate and report on data inside the package."""

import shlex
import time
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from censquant.cli._options import check_folder

_N_OLD = 500
_TARGET = ("--time", "time", "--event", "cens", "--event-value", "1", "--unit", "days")


def demo(
    output: Annotated[
        Path, typer.Option(help="Folder for tables, model and page; made if it does not exist.")
    ] = Path("demo-output"),
) -> None:
    """Fit the bundled breast-cancer data, evaluate the model and write a report."""
    check_folder("--output", output)
    # Before the fit, which would be in vain.
    try:
        import jinja2  # noqa: F401
        import matplotlib as mpl  # noqa: F401
    except ImportError:
        raise ImportError(
            "The demo needs jinja2 and matplotlib; install them with: "
            'pip install "censquant[report]"'
        ) from None
    console, start = Console(highlight=False, soft_wrap=True), time.perf_counter()
    output.mkdir(parents=True, exist_ok=True)
    old, new = _write_tables(output)
    model, page = output / "women.model", output / "report.html"
    console.print(
        "German Breast Cancer Study Group 2: 686 women, by when has the cancer come back?\n"
        f"{_N_OLD} of them are in {old}, the others in {new}.\n"
    )
    fit = ("fit", old, *_TARGET, "--calibrate", "--force", "-o", model)
    _run(console, *fit)
    _run(console, "evaluate", model, new)
    women = ("--individuals", "1-6", "--horizons", "365,1095,1825")
    _run(console, "report", model, new, *women, "--force", "-o", page)
    seconds = time.perf_counter() - start
    console.print(f"[bold]Open the page in a browser[/] ({seconds:.0f} s in all):")
    console.print(f"  {page.resolve()}")
    console.print(
        "\nWhat to try next:\n"
        f"  censquant predict {shlex.quote(str(model))} {shlex.quote(str(new))} -o predicted.csv\n"
        "  censquant fit --help       # a table of your own\n"
        "  censquant report --help    # the page, also for fleets of machines"
    )


def _write_tables(output: Path) -> tuple[Path, Path]:
    """Write the women to learn from and those to predict; return where."""
    import numpy as np

    source = files("censquant.datasets") / "data" / "gbsg2.csv"
    header, *rows = source.read_text(encoding="utf-8").splitlines()
    order = np.random.default_rng(2).permutation(len(rows))
    places = output / "old.csv", output / "new.csv"
    for place, part in zip(places, (order[:_N_OLD], order[_N_OLD:]), strict=True):
        lines = [header, *(rows[row] for row in part)]
        place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return places


def _run(console: Console, *arguments: object) -> None:
    """Show a command and run it."""
    from censquant.cli._app import app

    typed = [str(argument) for argument in arguments]
    console.print(f"[bold]$ censquant {shlex.join(typed)}[/]", markup=True)
    app(typed, prog_name="censquant", standalone_mode=False)
    console.print()
