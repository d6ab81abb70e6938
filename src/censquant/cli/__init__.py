"""The command ``censquant``: the only part of the package that prints."""

import sys


def main() -> None:
    """Run the command; without typer say in one sentence how to get it."""
    try:
        from censquant.cli._app import app
    except ImportError as error:
        if error.name not in ("typer", "rich"):
            raise
        print(
            'The censquant command needs typer. Install it with: pip install "censquant[cli]"',
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    app()


__all__ = ["main"]
