"""Console blocks of pages: commands, what the page shows below them, and what they print."""

import re
import shlex
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from in_process import run

DOCS = Path(__file__).parents[2] / "docs"
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
LEFT_OUT = "..."  # a line that stands for any number of others
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Shown:
    """A command of a page and the lines below it."""

    command: str
    lines: tuple[str, ...]

    @property
    def fails(self):
        return any(line.startswith("Error: ") for line in self.lines)


def shown_on(name):
    """Commands of a page, in their order."""
    found = []
    for block in BLOCK.findall((DOCS / f"{name}.md").read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.rstrip().splitlines()
            found.append(Shown(command, tuple(lines)))
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
    # A progress bar writes over its own line.
    notes = [line for line in done.err.splitlines() if "\r" not in line and "━" not in line]
    return [*notes, *lines]


# Seconds and sizes depend on the machine, and so does which candidates have a weight of a percent.
OF_THE_MACHINE = ("Fitted in ", "Written: ")


def words(line):
    """A line without its numbers, of which there may be more digits or fewer."""
    own = [start for start in OF_THE_MACHINE if line.startswith(start)]
    return own or NUMBER.sub("#", line).split()


def numbers(line):
    """Numbers of a line that should be the same everywhere."""
    return [] if line.startswith(OF_THE_MACHINE) else [float(n) for n in NUMBER.findall(line)]


def paired(shown, printed):
    """Yield the lines of a page with those that were printed; fail where they do not match."""
    text, place, free = "\n".join(printed), 0, False
    for line in shown:
        if line.strip() == LEFT_OUT:
            free = True
            continue
        while free and place < len(printed) and words(printed[place]) != words(line):
            place += 1
        assert place < len(printed), f"{line!r} is not printed:\n{text}"
        assert words(printed[place]) == words(line), f"{line!r} is not printed there:\n{text}"
        yield line, printed[place]
        place, free = place + 1, False
    assert free or place == len(printed), f"more is printed than shown:\n{text}"
