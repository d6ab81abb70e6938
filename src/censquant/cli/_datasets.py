"""The data sets from the shell."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from censquant import datasets


def list_datasets() -> None:
    """Print one line a data set."""
    table = Table()
    for heading in ("name", "what", "kind", "rows", "features", "censored"):
        table.add_column(heading, justify="right" if heading in ("rows", "features") else "left")
    for info in datasets.catalogue():
        share = "drawn" if info.censored_share is None else f"{100 * info.censored_share:.0f} %"
        table.add_row(
            info.name,
            escape(info.title),
            info.kind,
            str(info.n_samples),
            str(info.n_features),
            share,
        )
    Console().print(table)


def describe_dataset(name: str) -> None:
    """Print what is known about a data set."""
    info = datasets.describe(name)
    console = Console(soft_wrap=True)
    console.print(f"[bold]{escape(info.title)}[/] ({info.name}, {info.kind})")
    console.print(escape(info.description))
    console.print(f"Rows: {info.n_samples}, features: {info.n_features}")
    if info.censored_share is not None:
        console.print(f"Censored: {100 * info.censored_share:.1f} %")
    for heading, text in (
        ("Groups", info.groups),
        ("Source", info.source),
        ("Licence", info.licence),
    ):
        if text:
            console.print(f"{heading}: {escape(text)}")
    for file in info.files:
        console.print(f"File: {escape(file.path)} from {escape(file.url)}")


def fetch_dataset(name: str) -> None:
    """Download the files of a data set and say where they are."""
    console = Console(soft_wrap=True)
    paths = datasets.fetch_files(name)
    if not paths:
        console.print(f"{datasets.describe(name).title} comes with the package: nothing to fetch.")
    for path in paths:
        console.print(str(path))
