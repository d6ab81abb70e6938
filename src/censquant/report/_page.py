"""The page: facts, figures and the panel put into templates."""

import base64
import hashlib
import re
from datetime import date
from typing import Any

from censquant.report._facts import ReportFacts
from censquant.report._numbers import UNKNOWN, percent
from censquant.report._settings import CLINICAL, RELIABILITY
from censquant.report._tables import tables_of
from censquant.report._what_if import WhatIf
from censquant.report._words import words_of

_POLICY = "policy of the page"  # replaced when all scripts are known
_REST = "base-uri 'none'; form-action 'none'"
_SECTIONS = {
    CLINICAL: (
        ("cohort", "Cohort"),
        ("model", "Model"),
        ("discrimination", "Discrimination"),
        ("calibration", "Calibration"),
        ("coverage", "Coverage of bounds and intervals"),
        ("identified", "What the data can say"),
        ("risks", "Risk by chosen times"),
        ("importance", "Which features matter"),
        ("individuals", "Individuals"),
        ("what-if", "What if?"),
        ("citing", "How to cite"),
    ),
    RELIABILITY: (
        ("failures", "Failures to expect"),
        ("fleet", "Units at risk"),
        ("costs", "When to replace"),
        ("new_life", "Life of new units"),
        ("coverage", "Coverage of bounds, and past failures"),
        ("what-if", "What if?"),
        ("cohort", "Observed lives"),
        ("risks", "Risk by chosen times"),
        ("model", "Model"),
        ("discrimination", "Discrimination"),
        ("calibration", "Calibration"),
        ("identified", "What the data can say"),
        ("citing", "How to cite"),
    ),
}


def check_installed() -> None:
    """Refuse to begin where a page could not be finished."""
    try:
        import jinja2  # noqa: F401
        import matplotlib as mpl  # noqa: F401
    except ImportError:
        raise ImportError(
            "A report needs jinja2 and matplotlib; install them with: "
            'pip install "censquant[report]"'
        ) from None


def rendered(
    facts: ReportFacts, figures: dict[str, str], panel: WhatIf | None, panel_reason: str = ""
) -> str:
    """Return the page as text; without a panel it says why."""
    environment = _environment()
    source, preset = environment.loader, facts.settings.preset

    def text(name: str) -> Any:
        from markupsafe import Markup

        return Markup(source.get_source(environment, name)[0])

    page = str(
        environment.get_template("page.html").render(
            policy=_POLICY,
            facts=facts,
            figures=figures,
            tables=tables_of(facts),
            words=words_of(facts),
            sections=_SECTIONS[preset],
            who=facts.settings.who,
            unknown=UNKNOWN,
            percent=percent,
            today=date.today().isoformat(),
            panel=panel,
            panel_reason=panel_reason,
            style=text("style.css"),
            script=text("page.js"),
            panel_script=text("what_if.js"),
        )
    )
    hashes = {name: " ".join(_hashes(page, name)) for name in ("script", "style")}
    allowed = f"script-src {hashes['script']}; style-src {hashes['style']}"
    return page.replace(_POLICY, f"default-src 'none'; {allowed}; {_REST}", 1)


def _hashes(page: str, element: str) -> list[str]:
    """Return the hashes of scripts or styles, which are the only ones that a browser then takes."""
    found = re.findall(rf"<{element}>(.*?)</{element}>", page, flags=re.DOTALL)
    digests = (hashlib.sha256(text.encode()).digest() for text in found)
    return [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]


def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("censquant.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
