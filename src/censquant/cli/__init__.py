"""The command ``censquant``: the only part of the package that prints."""

import os
import re
import sys
from collections.abc import Callable
from typing import Any

_INTERRUPTED = 130
# Control characters, of which escape sequences consist, and those that reorder what is shown.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# What a wrong input raises; the rest is a fault of the package.
_OF_USERS = (ImportError, ValueError, TypeError, ArithmeticError, OSError)
# Arguments of the library by the options that set them: those that are no words of English...
_ARGUMENTS = {
    "as_of": "--as-of",
    "early_cost": "--early-cost",
    "from_": "--from",
    "late_cost": "--late-cost",
    "n_jobs": "--jobs",
    "n_resamples": "--resamples",
    "random_state": "--seed",
    "service_level": "--service-level",
    "y_train": "--train",
}
# ... and those that are meant only where a sentence begins with them.
_AT_START = {
    **{
        name: name
        for name in (
            "age",
            "at",
            "beyond",
            "by",
            "checkpoint",
            "confidence",
            "feature",
            "horizons",
            "interval",
            "method",
            "risk",
            "title",
            "to",
            "unit",
            "what",
        )
    },
    "cv": "folds",
    "elapsed": "age",
}


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
    # Accepted anywhere, since it is added to a command that has just failed.
    arguments = [argument for argument in sys.argv[1:] if argument != "--traceback"]
    try:
        code = app(arguments, prog_name="censquant", standalone_mode=False)
    except BaseException as error:
        if len(arguments) < len(sys.argv) - 1 and not isinstance(error, SystemExit):
            raise
        code = _explained(error)
    if code == _INTERRUPTED:
        print("Interrupted: nothing was written.", file=sys.stderr)
    raise SystemExit(code or 0)


def _explained(error: BaseException) -> Any:
    """Print what is wrong in one sentence, and return the exit code."""
    if isinstance(error, SystemExit):
        return error.code
    if isinstance(error, BrokenPipeError):  # whoever read the output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "Abort":
        return _INTERRUPTED
    if hasattr(error, "format_message"):  # typer's, about options
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message())
        else:
            print(f"Error: {_one_line(error.format_message())}", file=sys.stderr)
        return 2
    if isinstance(error, _OF_USERS):
        print(f"Error: {_sentence(error)}", file=sys.stderr)
        return 2
    reason = f"{type(error).__name__}: {_one_line(str(error))}"
    print(
        f"Error: this is a fault of censquant ({reason}): run the command again with --traceback "
        "and report what it prints.",
        file=sys.stderr,
    )
    return 1


def _sentence(error: BaseException) -> str:
    if hasattr(error, "for_shell"):
        return _one_line(error.for_shell())
    text = _with_options(_one_line(str(error))) or type(error).__name__
    return f"{text} Add --force to replace it." if isinstance(error, FileExistsError) else text


def _with_options(text: str) -> str:
    """Return a sentence of the library with its arguments as they are typed in a shell."""
    first = re.match(r"([a-z_]+)(?= must | needs | and )", text)
    if first and first[1] in _AT_START:
        text = f"--{_AT_START[first[1]]}{text[first.end() :]}"
    return (
        re.sub(
            r"(?<![\w'\"-])(" + "|".join(_ARGUMENTS) + r")(?![\w'\"])",
            lambda found: _ARGUMENTS[found[1]],
            text,
        )
        .replace("unit=", "--unit ")
        .replace("method=", "--method ")
    )


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def _python_escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode()


def json_escape(letter: str) -> str:
    """Return a character as JSON may write any."""
    return f"\\u{ord(letter):04x}"


def printable(text: str, *, written: Callable[[str], str] = _python_escape) -> str:
    """Return a text with escape sequences shown instead of sent; line breaks and tabs stay."""
    return _UNSAFE.sub(lambda found: written(found[0]), text)


__all__ = ["main"]
