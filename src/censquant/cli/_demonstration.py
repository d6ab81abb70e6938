"""The command's own flow on data inside the package: fit, evaluate, report."""

import shlex
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
from rich.console import Console

_N_OLD = 500
_TARGET = ("--time", "time", "--event", "cens", "--event-value", "1", "--unit", "days")


def run_demo(output: Path) -> None:
    """Fit GBSG2, judge the model on women that it has not seen, and write a page about them."""
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
    # Two candidates instead of all, and no other choice: a fresh machine compiles their kernels.
    fit = ("fit", old, *_TARGET, "--method", "cox,boosted", "--calibrate", "--force", "-o", model)
    _run(console, *fit)
    _run(console, "evaluate", model, new)
    women = ("--individuals", "1-6", "--horizons", "365,1095,1825")
    _run(console, "report", model, new, *women, "--force", "-o", page)
    seconds = time.perf_counter() - start
    console.print(f"[bold]Open the page in a browser[/] ({seconds:.0f} s in all):")
    console.print(f"  {page.resolve()}")


def _write_tables(output: Path) -> tuple[Path, Path]:
    """Write the women to learn from and those to predict; return where."""
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
