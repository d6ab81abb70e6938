"""``censquant validate``."""

from pathlib import Path
from typing import Annotated

import typer

from censquant.cli import _options as options


def validate(
    output: Annotated[
        Path,
        typer.Option(
            help="Folder for validation.html and validation.json; made if it does not exist. A "
            "former document is replaced."
        ),
    ] = Path("censquant-validation"),
    as_json: options.Json = False,
) -> None:
    """Check this installation against published values and known truth, and write a document.

    It takes a minute or two. The exit code is 1 if a check fails. The document names each
    requirement, the checks behind it, the source of each value, what was expected and what was
    obtained, and the environment.
    """
    options.check_folder("--output", output)
    from censquant.report._write import check_installed

    check_installed()  # before the checks, which would be in vain
    from censquant._qualification import _document
    from censquant.cli._console import Reporter, bar

    reporter = Reporter(as_json=as_json)
    with bar("validation") as progress:
        document = _document.validate(progress)
    output.mkdir(parents=True, exist_ok=True)
    page, data = _document.write(document, output)
    for section in _document.SECTIONS:
        results = document.of(section)
        applied = [result for result in results if result.is_applicable]
        n_passed = sum(result.passed for result in applied)
        reporter.line(f"{section.title}: {n_passed} of {len(applied)} checks passed")
        for result in results:
            if not result.is_applicable:
                reporter.line(f"  {result.check.key} not run: {result.reason}")
            elif not result.passed:
                found = ", ".join(f"{value:.8g}" for value in result.obtained) or result.reason
                expected = ", ".join(limits.text for limits in result.check.expected)
                reporter.line(f"  {result.check.key} failed: {result.check.title}")
                reporter.line(f"    expected {expected}; obtained {found}")
    reporter.line(document.verdict)
    reporter.line(f"Written: {page} and {data.name}")
    reporter.result({**document.as_dict(), "html": str(page), "json": str(data)})
    if not document.passed:
        raise typer.Exit(1)
