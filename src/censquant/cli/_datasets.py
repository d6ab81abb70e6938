"""``censquant datasets list``, ``describe`` and ``fetch``."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from censquant.datasets._info import DatasetInfo

_ALL = "all"

datasets = typer.Typer(help="List, describe and download data sets.", no_args_is_help=True)


@datasets.command("list")
def list_datasets() -> None:
    """List the data sets."""
    from censquant.datasets import catalogue

    table = Table()
    for heading in ("name", "what", "kind", "rows", "features", "censored"):
        table.add_column(heading, justify="right" if heading in ("rows", "features") else "left")
    for info in catalogue():
        table.add_row(
            info.name,
            escape(info.title),
            info.kind,
            str(info.n_samples),
            str(info.n_features),
            _share(info, digits=0),
        )
    Console().print(table)


@datasets.command("describe")
def describe_dataset(name: Annotated[str, typer.Argument(help="A name of the list.")]) -> None:
    """Describe a data set: content, source, terms and traps."""
    from censquant.datasets import describe

    info = describe(name)
    console = Console(soft_wrap=True)
    console.print(f"[bold]{escape(info.title)}[/] ({info.name}, {info.kind})")
    console.print(escape(info.description))
    console.print(f"Rows: {info.n_samples}, features: {info.n_features}")
    console.print(f"Censored: {_share(info, digits=1)}")
    for heading, text in (
        ("Groups", info.groups),
        ("Source", info.source),
        ("Licence", info.licence),
    ):
        if text:
            console.print(f"{heading}: {escape(text)}")
    for file in info.files:
        console.print(f"File: {escape(file.path)} from {escape(file.url)}")


@datasets.command("fetch")
def fetch_datasets(
    names: Annotated[list[str], typer.Argument(help="Names of the list, or all for every one.")],
) -> None:
    """Download the files of data sets, check them, and print where they are."""
    from censquant.datasets import catalogue, describe

    # A wrong name is reported before the first download, which may be long.
    for name in names:
        if name != _ALL:
            describe(name)
    if _ALL in names:
        names = [info.name for info in catalogue() if info.files]
    names = list(dict.fromkeys(names))
    # What is not available is named at the end, so that it keeps back nothing else.
    failed: dict[str, Exception] = {}
    for name in names:
        try:
            _fetch(name)
        except (ImportError, ValueError, OSError) as error:
            failed[name] = error
    if not failed:
        return
    first = next(iter(failed.values()))
    if len(names) == 1:
        raise first
    raise OSError(
        f"{len(failed)} of {len(names)} data sets could not be fetched ({', '.join(failed)}); "
        f"the reason of the first: {first}"
    ) from first


def _fetch(name: str) -> None:
    from censquant.datasets import describe, fetch_files

    console = Console(soft_wrap=True)
    info = describe(name)
    if info.kind == "synthetic":
        console.print(f"{info.title} is drawn: nothing to fetch.")
    elif info.kind == "bundled":
        console.print(f"{info.title} comes with the package: nothing to fetch.")
    for path in fetch_files(name):
        console.print(escape(str(path)))


def _share(info: "DatasetInfo", *, digits: int) -> str:
    """Share censored, which is only roughly that of a sample yet to be drawn."""
    if info.kind == "synthetic":
        return f"about {100 * info.censored_share:.0f} %"
    return f"{100 * info.censored_share:.{digits}f} %"
