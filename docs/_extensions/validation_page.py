"""The page on validation, made of the checks that ``censquant validate`` runs."""

from censquant._qualification._checks import run_check
from censquant._qualification._document import (
    DIFFERENCES,
    REQUIREMENTS,
    SCOPE,
    SECTIONS,
    expected_text,
    obtained_text,
)
from censquant._qualification._published import DATA, PUBLISHED

ABOUT = """\
# Validation

```sh
censquant validate
```

`censquant validate` runs the checks of this page in your own environment. It writes one HTML page
for people, with room for signatures, and the same as JSON for machines. It takes a minute or two,
and the exit code is 1 if a check fails. Every number of the document comes from that run. Versions,
processor and a checksum of the sources are part of it.

"""
LIMITS = (
    "Expected are limits: obtained numbers must lie within them. A run prints what it obtained."
)


def page():
    """Return the page; of published values it has the numbers that were computed here."""
    parts = [ABOUT, *(f"{paragraph}\n\n" for paragraph in SCOPE)]
    rows = [
        (
            key,
            text,
            ", ".join(f"{c.key}" for s in SECTIONS for c in s.checks if c.requirement == key),
        )
        for key, text in REQUIREMENTS.items()
    ]
    parts += ["## Requirements\n\n", _table(("requirement", "what users rely on", "checks"), rows)]
    for section in SECTIONS:
        parts.append(f"\n## {section.title}\n\n")
        parts.append(_published() if section is PUBLISHED else _others(section))
    parts += [
        "\n## Known differences\n\nWhere results differ from those of other programs, and why.\n\n",
        _table(("what", "elsewhere", "here"), DIFFERENCES),
        "\n## Data\n\nThe rows are in the package, each set as it was published.\n\n",
        _table(("data", "source"), DATA.items()),
        "\n## What is not covered\n\n",
        "Networks, forests and boosted trees have no published values. They are checked by "
        "simulation, and by the [benchmarks](benchmark.md).\nThe tests of the repository cover "
        "more than this page. The page is no statement on the suitability of a model for your "
        "data.\n",
    ]
    return "".join(parts)


def _published():
    """Return what was computed now, with the digits of the sources alone: they hold anywhere."""
    rows = []
    for result in map(run_check, PUBLISHED.checks):
        check = result.check
        digits = f"{result.digits:.0f}"
        row = (check.key, check.requirement, check.title, check.source, expected_text(check))
        rows.append((*row, obtained_text(result), digits))
    columns = ("check", "requirement", "what", "source", "expected", "obtained", "digits")
    before = (
        "Obtained numbers have the digits of their source. *Digits* are the fewest that agree: a "
        "source with few digits allows no more.\n\n"
    )
    return before + _table(columns, rows)


def _others(section):
    rows = [
        (check.key, check.requirement, check.title, check.source, expected_text(check))
        for check in section.checks
    ]
    columns = ("check", "requirement", "what", "source", "expected")
    return f"{LIMITS}\n\n" + _table(columns, rows)


def _table(columns, rows):
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
