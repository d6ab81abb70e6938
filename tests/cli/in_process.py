"""The command inside this process: as in one of its own, without the seconds that a start takes."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest.mock import patch

from censquant.cli import main


class Output(io.TextIOWrapper):
    """Text that can also be written to as bytes, as standard output can."""

    def __init__(self):
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    @property
    def text(self):
        self.flush()
        return self.buffer.getvalue().decode()


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self):
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def error(self):
        """The one sentence about a wrong input."""
        assert self.code == 2, self.out + self.err
        lines = [line for line in self.err.splitlines() if line.startswith("Error: ")]
        assert len(lines) == 1, self.err
        assert "Traceback" not in self.err
        return lines[0].removeprefix("Error: ")


def run(*arguments):
    """Return what the command printed and its exit code."""
    out, err = Output(), Output()
    with (
        patch.object(sys, "argv", ["censquant", *map(str, arguments)]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as ended:
            return Done(ended.code, out.text, err.text)
    raise AssertionError("the command must end with an exit code")
