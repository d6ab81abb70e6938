"""The command ``censquant``: the only part of the package that prints."""

import sys


def main() -> None:
    """Run the command; what a user can fix is one sentence on stderr and exit code 2.

    The same kinds of error may be a fault of this package: ``--traceback`` shows which it is.
    """
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
    try:
        app()
    except (ImportError, ValueError, OSError) as error:
        if "--traceback" in sys.argv:
            raise
        print(f"Error: {error}", file=sys.stderr)
        raise SystemExit(2) from None


__all__ = ["main"]
