"""``censquant demo``."""

from pathlib import Path
from typing import Annotated

import typer

from censquant.cli._arguments import check_folder


def demo(
    output: Annotated[
        Path, typer.Option(help="Folder for tables, model and page; made if it does not exist.")
    ] = Path("demo-output"),
) -> None:
    """Fit the bundled breast-cancer data, judge the model and write a page with the results."""
    check_folder("--output", output)
    from censquant.cli._demonstration import run_demo

    run_demo(output)
