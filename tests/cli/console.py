"""Console blocks of pages: commands, what the page shows below them, and what they print."""

import re
import shlex
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from in_process import run

from printed_output import words

DOCS = Path(__file__).parents[2] / "docs"
LEFT_OUT = "..."  # a line that stands for any number of others
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Shown:
    """A command of a page, the lines below it, and where these begin in the page."""

    command: str
    lines: tuple[str, ...]
    start: int

    @property
    def fails(self):
        return any(line.startswith("Error: ") for line in self.lines)

    def spans(self):
        """Yield where each line begins and ends in the page."""
        place = self.start
        for line in self.lines:
            yield place, place + len(line)
            place += len(line) + 1


def shown_on(name):
    """Commands of a page, in their order."""
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    found = []
    for block in BLOCK.finditer(page):
        for part in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block[1], re.MULTILINE):
            start = block.start(1) + part.start(2)
            found.append(Shown(part[1], tuple(part[2].splitlines()), start))
    return found


def printed_by(command, *, code=0):
    """Lines that a command prints to the terminal: notes and errors first, then results."""
    whole, _, shortened = command.partition(" | ")
    name, *arguments = shlex.split(whole)
    if name == "head":
        count, path = arguments
        with Path(path).open(encoding="utf-8") as file:
            return [line.rstrip("\n") for line in islice(file, -int(count))]
    assert name == "censquant", command
    done = run(*arguments)
    assert done.code == code, done.err
    lines = done.out.splitlines()
    if shortened:
        return lines[: int(re.fullmatch(r"head -(\d+)", shortened)[1])]
    # A progress bar writes over its own line, and kernels are compiled once per installation.
    left_out = re.compile(r"\r|━|^\d+ kernels? compiled in ")
    notes = [line for line in done.err.splitlines() if not left_out.search(line)]
    return [*notes, *lines]


def paired(shown, printed):
    """Yield each line of a page with its place there and the line that was printed."""
    text, place, free = "\n".join(printed), 0, False
    for line, span in zip(shown.lines, shown.spans(), strict=True):
        if line.strip() == LEFT_OUT:
            free = True
            continue
        while free and place < len(printed) and words(printed[place]) != words(line):
            place += 1
        assert place < len(printed), f"{line!r} is not printed:\n{text}"
        assert words(printed[place]) == words(line), f"{line!r} is not printed there:\n{text}"
        yield *span, line, printed[place]
        place, free = place + 1, False
    assert free or place == len(printed), f"more is printed than shown:\n{text}"


def compared(shown, printed, *, rewrite):
    """Return what a command's part of a page shows with what was printed, for `check_page`."""
    if rewrite and LEFT_OUT not in map(str.strip, shown.lines):
        end = max((end for _, end in shown.spans()), default=shown.start)
        return [(shown.start, end, "\n".join(shown.lines), "\n".join(printed))]
    return list(paired(shown, printed))
