"""The document of a validation: what was run where, what came out, and where results may differ."""

import hashlib
import json
import math
import os
import platform
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import Any

from censquant._files import write_whole
from censquant._qualification._behaviour import INSTALLATION, REPRODUCIBILITY, STATISTICAL, STRESS
from censquant._qualification._checks import Check, Result, Section, run_check
from censquant._qualification._published import DATA, PUBLISHED
from censquant._version import __version__
from censquant.report._tables import Cell, PageTable
from censquant.report._write import filled

SECTIONS = (INSTALLATION, PUBLISHED, STATISTICAL, REPRODUCIBILITY, STRESS)
HTML_NAME, JSON_NAME = "validation.html", "validation.json"

SCOPE = (
    "The document shows that censquant, as it is installed here, computes what publications and "
    "other programs print, that its limits and bounds hold as often as stated on data of known "
    "truth, that results are reproducible, and that difficult data are answered or refused.",
    "It is meant for users who must show that their installation works: in research and in "
    "engineering, and as one part of the validation that a regulated process asks for. It does "
    "not show that a model suits your data: for that evaluate the model on rows that it has not "
    "seen. It is no statement on the use as a medical device.",
)
REQUIREMENTS = {
    "R1": "The installation is complete, unchanged, and its compiled code computes correctly.",
    "R2": "Survival curves, their limits, quantiles and limits of quantiles are those of R and "
    "SAS, also with delayed entry.",
    "R3": "Groups are compared by the log-rank test and by restricted means as in R and SAS.",
    "R4": "Cox's regression gives the estimates, standard errors and tests of R with both rules "
    "for ties.",
    "R5": "Accelerated failure times give the estimates, standard errors, likelihoods and "
    "quantiles of R and SAS.",
    "R6": "Quantile regression gives published coefficients, and Kaplan-Meier quantiles where "
    "both are the same.",
    "R7": "Scores of predictions are those of R.",
    "R8": "Events in intervals and events of several kinds are estimated as in R.",
    "R9": "Stated probabilities hold on data of known truth.",
    "R10": "Results are reproducible: the same data and seed give the same bits.",
    "R11": "Difficult data are answered in order, or refused in one sentence.",
}
DIFFERENCES = (
    (
        "Portnoy's and Peng and Huang's quantile regression by default",
        "quantreg's crq: a coarser grid of levels, and rows counted differently at the first level",
        "A finer grid. On equal grids the coefficients are equal up to these conventions.",
    ),
    (
        "Turnbull's estimate",
        "R: stops earlier, so that its seventh digit is not final",
        "Iterated until the likelihood is flat.",
    ),
    (
        "Median where the curve equals 0.5 exactly",
        "R and SAS: middle of the times at which it does",
        "The first of these times, as in lifelines: the smallest time by which half had the event.",
    ),
    (
        "Limits of a Kaplan-Meier curve by default",
        "R: log; SAS and lifelines: log-log",
        'Log-log, which cover best with few rows. conf_type="log" gives those of R.',
    ),
    (
        "Limits where the curve is exactly 1 or 0",
        "R: no width, or none",
        "Exact binomial limits of the rows at risk: no event among few rows is no certainty.",
    ),
    (
        "Variance of a restricted mean",
        "SAS multiplies it by m / (m - 1) for m events",
        "Greenwood's, as in R.",
    ),
    (
        "Ties in Cox's regression by default",
        "R and lifelines: Efron; SAS: Breslow",
        'Efron, which shrinks less where there are many ties. ties="breslow" gives that of SAS.',
    ),
    (
        "Penalty of Cox's regression by default",
        "R, SAS and lifelines: none",
        "0.1, since predictions of new rows are better with it. penalty=0 gives their estimates.",
    ),
    (
        "Sign of Weibull and other accelerated regressions",
        "SAS and R: logarithm of time, as here; Stata by default: hazards",
        "A positive coefficient means later events. The scale is 1 over Weibull's shape.",
    ),
    (
        "Quantile regression with ties between events and censored rows",
        "quantreg's crq: results depend on the order of the rows",
        "All rows on the hyperplane count as at risk, so that the order changes nothing.",
    ),
    (
        "Predictions after the last observed time",
        "R, SAS and lifelines extrapolate without a word",
        "A warning, a limited tail, and beyond= to say what is returned there.",
    ),
)
# Packages that results may depend on.
_PACKAGES = (
    *("numpy", "scipy", "scikit-learn", "numba", "llvmlite", "safetensors", "threadpoolctl"),
    *("pandas", "onnx", "onnxruntime"),
)

Progress = Callable[[int, int | None, str], None]


@dataclass(frozen=True, eq=False)
class Document:
    """Results of all checks, and where they were computed."""

    identity: dict[str, str]
    results: tuple[Result, ...]
    begun: datetime
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether no check failed; some may not apply."""
        return all(result.passed for result in self.results if result.is_applicable)

    @property
    def verdict(self) -> str:
        """One sentence."""
        applied = [result for result in self.results if result.is_applicable]
        failed = [result.check.key for result in applied if not result.passed]
        rest = len(self.results) - len(applied)
        beside = f" {rest} did not apply here." if rest else ""
        n_values = sum(len(result.check.expected) for result in applied)
        if failed:
            return f"{len(failed)} of {len(applied)} checks failed: {', '.join(failed)}.{beside}"
        return f"All {len(applied)} checks passed, with {n_values} numbers.{beside}"

    def of(self, section: Section) -> list[Result]:
        """Return the results of a section."""
        own = {check.key for check in section.checks}
        return [result for result in self.results if result.check.key in own]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON has it; numbers that are not finite are text."""
        return {
            "passed": self.passed,
            "verdict": self.verdict,
            "begun": self.begun.isoformat(timespec="seconds"),
            "seconds": round(self.seconds, 1),
            "identity": self.identity,
            "requirements": REQUIREMENTS,
            "checks": [
                _described(section, result) for section in SECTIONS for result in self.of(section)
            ],
            "known_differences": [
                dict(zip(("what", "elsewhere", "here"), row, strict=True)) for row in DIFFERENCES
            ],
            "data": DATA,
        }

    def as_html(self) -> str:
        """Return a page that needs nothing else."""
        headings = [
            ("scope", "Scope"),
            ("requirements", "Requirements"),
            *((section.key, section.title) for section in SECTIONS),
            ("differences", "Known differences"),
            ("data", "Data"),
            ("approval", "Approval"),
        ]
        return filled(
            "document.html",
            package="censquant._qualification",
            title=f"Validation of censquant {__version__}",
            version=__version__,
            today=self.begun.date().isoformat(),
            seconds=f"{self.seconds:.0f}",
            passed=self.passed,
            verdict=self.verdict,
            headings=headings,
            scope=SCOPE,
            identity=_page_table(
                "identity", "Environment", ("part", "version"), self.identity.items()
            ),
            requirements=self._requirements(),
            sections=[(section.key, section.title, self._table(section)) for section in SECTIONS],
            differences=_page_table(
                "differences",
                "Where results differ from those of other programs, and why",
                ("what", "elsewhere", "here"),
                DIFFERENCES,
            ),
            data=_page_table(
                "data", "Rows that are computed again", ("data", "source"), DATA.items()
            ),
            json_name=JSON_NAME,
        )

    def _requirements(self) -> PageTable:
        rows = []
        for key, text in REQUIREMENTS.items():
            own = [r for r in self.results if r.check.requirement == key and r.is_applicable]
            n_passed = sum(result.passed for result in own)
            rows.append((key, text, f"{n_passed} of {len(own)} passed"))
        columns = ("requirement", "what users rely on", "checks")
        return _page_table("requirements", "What was checked", columns, rows)

    def _table(self, section: Section) -> PageTable:
        columns = ("check", "result", "what", "expected", "obtained", "digits", "source", "for")
        rows = [_cells(result) for result in self.of(section)]
        caption = "What was expected and what was obtained; digits that agree, and the requirement"
        return PageTable(section.key, caption, columns, tuple(rows))


def checks() -> list[Check]:
    """Return all checks in the order of the document."""
    return [check for section in SECTIONS for check in section.checks]


def validate(progress: Progress | None = None) -> Document:
    """Run all checks here."""
    begun, wanted, results = datetime.now(UTC), checks(), []
    for done, check in enumerate(wanted):
        if progress is not None:
            progress(done, len(wanted), "checks")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # difficult data warn, as they should
            results.append(run_check(check))
    if progress is not None:
        progress(len(wanted), len(wanted), "checks")
    seconds = (datetime.now(UTC) - begun).total_seconds()
    return Document(identity(), tuple(results), begun, seconds)


def write(document: Document, folder: Path) -> tuple[Path, Path]:
    """Write the page and the JSON into a folder that exists; return where."""
    page, data = folder / HTML_NAME, folder / JSON_NAME
    write_whole(page, document.as_html().encode())
    text = json.dumps(document.as_dict(), indent=1, ensure_ascii=False, allow_nan=False)
    write_whole(data, (text + "\n").encode())
    return page, data


def identity() -> dict[str, str]:
    """Return what results may depend on: versions, checksum of the sources, processor."""
    from llvmlite.binding import get_host_cpu_name

    versions = []
    for package in _PACKAGES:
        try:
            versions.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            continue
    return {
        "censquant": __version__,
        "SHA-256 of its sources": _checksum(),
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
        "packages": ", ".join(versions),
        "operating system": platform.platform(),
        "processor": f"{platform.machine()}, {get_host_cpu_name()}, {os.cpu_count()} threads",
    }


def _checksum() -> str:
    """Return a checksum of all source files, by name and content."""
    root, digest = Path(str(files("censquant"))), hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()


def _described(section: Section, result: Result) -> dict[str, Any]:
    check = result.check
    return {
        "check": check.key,
        "section": section.key,
        "requirement": check.requirement,
        "what": check.title,
        "source": check.source,
        "expected": [limits.text for limits in check.expected],
        "limits": [[_number(limits.low), _number(limits.high)] for limits in check.expected],
        "obtained": [_number(value) for value in result.obtained],
        "digits": None if math.isnan(result.digits) else round(result.digits, 1),
        "result": result.verdict,
        "reason": result.reason,
        "seconds": round(result.seconds, 2),
    }


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def expected_text(check: Check) -> str:
    """Return what must come out."""
    return ", ".join(limits.text for limits in check.expected)


def obtained_text(result: Result) -> str:
    """Return what came out, with the digits of what was expected."""
    pairs = zip(result.check.expected, result.obtained, strict=bool(result.obtained))
    text = ", ".join(limits.shown(value) for limits, value in pairs)
    return result.reason or re.sub(r"(?<![\d.])0\.(?=\d)", ".", text) if _bare(result) else text


def _bare(result: Result) -> bool:
    """Whether the source leaves out the zero before the point."""
    return bool(result.reason) or any(
        limits.text.lstrip("-").startswith(".") for limits in result.check.expected
    )


def _cells(result: Result) -> tuple[Cell, ...]:
    check, digits = result.check, result.digits
    shown = "" if math.isnan(digits) else f"{math.floor(digits)}"
    before = (check.key, result.verdict, check.title, expected_text(check), obtained_text(result))
    return (
        *(Cell(text, text) for text in before),
        Cell(shown, digits),
        *(Cell(text, text) for text in (check.source, check.requirement)),
    )


def _page_table(key: str, caption: str, columns: tuple[str, ...], rows: Any) -> PageTable:
    cells = tuple(tuple(Cell(text, text) for text in row) for row in rows)
    return PageTable(key, caption, columns, cells)
