"""``censquant datasets list``, ``describe`` and ``fetch``."""

from typing import Annotated

import typer

datasets = typer.Typer(help="List, describe and download data sets.", no_args_is_help=True)


@datasets.command("list")
def list_datasets() -> None:
    """List the data sets."""
    from censquant.cli._datasets import list_datasets as show

    show()


@datasets.command()
def describe(name: Annotated[str, typer.Argument(help="A name of the list.")]) -> None:
    """Describe a data set: content, source, terms and traps."""
    from censquant.cli._datasets import describe_dataset

    describe_dataset(name)


@datasets.command()
def fetch(
    names: Annotated[list[str], typer.Argument(help="Names of the list, or all for every one.")],
) -> None:
    """Download the files of data sets, check them, and print where they are."""
    from censquant.cli._datasets import fetch_datasets

    fetch_datasets(names)
