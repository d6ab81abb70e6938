"""Write a report: the page of facts, words, tables, figures and the model."""

import base64
import hashlib
import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from censquant._files import check_place, replacing
from censquant._validation import check_number
from censquant.inspection import Contrast
from censquant.report._facts import ReportFacts, check_contrast, facts_of
from censquant.report._figures import figures_of
from censquant.report._numbers import UNKNOWN, percent
from censquant.report._study import (
    CLINICAL,
    RELIABILITY,
    Settings,
    Study,
    any_event,
    read_settings,
)
from censquant.report._tables import tables_of
from censquant.report._what_if import WhatIf, what_ifs_of
from censquant.report._words import words_of
from censquant.survival import read_target

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
        ("kinds", "Kinds of events"),
        ("effect", "Effect of one feature"),
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
        ("kinds", "Kinds of events"),
        ("effect", "Effect of one feature"),
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
    return filled(
        "page.html",
        facts=facts,
        figures=figures,
        tables=tables_of(facts),
        words=words_of(facts),
        sections=_sections_of(facts),
        who=facts.settings.who,
        unknown=UNKNOWN,
        percent=percent,
        today=date.today().isoformat(),
        panel=panel,
        panel_reason=panel_reason,
    )


def filled(template: str, *, package: str = "censquant.report", **content: Any) -> str:
    """Return a page of a template, whose browser takes no scripts and styles but its own."""
    environment = _environment(package)
    source = environment.loader

    def text(name: str) -> Any:
        from markupsafe import Markup

        return Markup(source.get_source(environment, name)[0])

    page = str(
        environment.get_template(template).render(
            policy=_POLICY,
            style=text("style.css"),
            script=text("page.js"),
            panel_script=text("what_if.js"),
            **content,
        )
    )
    hashes = {name: " ".join(_hashes(page, name)) for name in ("script", "style")}
    allowed = f"script-src {hashes['script']}; style-src {hashes['style']}"
    return page.replace(_POLICY, f"default-src 'none'; {allowed}; {_REST}", 1)


def _sections_of(facts: ReportFacts) -> list[tuple[str, str]]:
    """Return the sections of a page; of an effect and of kinds of events where there are any."""
    given = _SECTIONS[facts.settings.preset]
    lacking = {"effect"} if facts.contrast is None else set()
    lacking |= set() if facts.kinds else {"kinds"}
    return [(key, name) for key, name in given if key not in lacking]


def _hashes(page: str, element: str) -> list[str]:
    """Return the hashes of scripts or styles, which are the only ones that a browser then takes."""
    found = re.findall(rf"<{element}>(.*?)</{element}>", page, flags=re.DOTALL)
    digests = (hashlib.sha256(text.encode()).digest() for text in found)
    return [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]


def _environment(package: str) -> Any:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    places = dict.fromkeys([package, "censquant.report"])
    return Environment(
        loader=ChoiceLoader([PackageLoader(place) for place in places]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


@dataclass(frozen=True, eq=False)
class WrittenReport:
    """A report that was written; made by `write_report`.

    Parameters
    ----------
    path : Path
    n_bytes : int
    facts : ReportFacts
        The numbers of the page.
    has_panel : bool
        Whether the model runs in the page.
    panel_reason : str
        Why it does not; empty if it does.

    Examples
    --------
    >>> from pathlib import Path
    >>> from censquant.report import WrittenReport
    >>> WrittenReport(Path("report.html"), 200_000, None, True, "").has_panel
    True
    """

    path: Path
    n_bytes: int
    facts: ReportFacts
    has_panel: bool
    panel_reason: str


def write_report(
    model: Any,
    X: Any,
    y: object,
    path: str | os.PathLike[str],
    *,
    preset: str = "clinical",
    title: str | None = None,
    unit: str = "",
    horizons: ArrayLike | None = None,
    ahead: ArrayLike | None = None,
    individuals: Sequence[int] | str | None = None,
    labels: Sequence[object] | None = None,
    age: ArrayLike | None = None,
    risk: float = 0.1,
    early_cost: float | None = None,
    late_cost: float | None = None,
    as_of: str | date | None = None,
    y_train: object = None,
    are_training_rows: bool = False,
    by: Any = None,
    groups: ArrayLike | None = None,
    n_resamples: int = 100,
    random_state: int = 0,
    panel_limit: float = 2.0,
    contrast: Contrast | None = None,
    overwrite: bool = True,
    progress: Callable[[int, int | None, str], None] | None = None,
) -> WrittenReport:
    """Write a report on a model and some rows as one HTML file that needs nothing else.

    It holds aggregates, and only those individuals that were asked for. The fitted model runs in
    the page where it can be exported and the file stays below ``panel_limit``.

    Parameters
    ----------
    model : fitted model
        Any quantile regressor, or a model that `censquant.adapt` knows. Bounds are calibrated if it
        is a :class:`~censquant.ConformalSurvivalRegressor`; else the page says that they are not.
    X : array-like or DataFrame of shape (n, n_features)
        Rows that the model was not fitted to, as it takes them.
    y : target in any form, of n rows
        Their times and events, right-censored.
    path : str or path
    preset : {"clinical", "reliability"}, default "clinical"
    title : str, optional
    unit : str
        Unit of time.
    horizons : array-like of times, optional
        Times at which risks are told; by default round ones up to the last at which one in twenty
        is under observation.
    ahead : array-like of times, optional
        Times from now within which failures of running units are counted in a reliability report;
        the fleet is ordered by the risk within the first. By default 30, 90, 180 and 365 days, or
        round times where the unit is no unit of calendar time.
    individuals : sequence of int, or "running", optional
        Numbers of the rows, from 0, that are shown one by one. A reliability report lists in the
        table of its fleet, without their features, all units that have no event (``"running"``)
        unless others are asked for; an empty sequence leaves them out.
    labels : sequence of n names, optional
        Of the rows; by default their numbers.
    age : float or array-like of shape (n,), optional
        Time that each unit has lasted; by default the time up to which it was observed.
    risk : float in (0, 1), default 0.1
        Accepted chance of a failure before replacement. Lower bounds of the fleet have the
        confidence 1 - risk.
    early_cost, late_cost : float, optional
        Of a replacement before a failure and of a failure; given together.
    as_of : str or date, optional
        Day to which the ages belong, for dates of replacement; needs a unit of calendar time.
    y_train : target in any form, optional
        Rows of the fit, which say how individuals are censored; by default ``y`` says it.
    are_training_rows : bool, default False
        Whether the rows are those of the fit: the page then warns that its scores are too good.
    by : str, int, callable or array-like of shape (n,), optional
        Scores also for each level of a column, as in `censquant.metrics.evaluate`. Levels with
        fewer than 10 rows are left out.
    groups : array-like of shape (n,), optional
        Labels of rows that belong together, so that intervals of scores and the band of the risks
        allow for what they share.
    n_resamples : int, at least 2, default 100
        Draws of the bootstrap behind intervals of scores.
    random_state : int, default 0
        Of resampling and shuffling.
    panel_limit : float, default 2
        Megabytes that a page may have with the model in it; a larger one is written without the
        model and says so. A page of two megabytes opens on a phone and passes through mail.
    contrast : Contrast, optional
        Result of `censquant.inspection.contrast`, which gets a section of its own.
    overwrite : bool, default True
        Whether an existing file may be replaced.
    progress : callable, optional
        Called with the steps done, the number of all, and the unit "steps".

    Returns
    -------
    written : WrittenReport

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from censquant import CoxQuantileRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> from censquant.report import write_report
    >>> X, y = load_gbsg2()
    >>> model = CoxQuantileRegressor().fit(X[:500], y[:500])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "report.html"
    ...     written = write_report(model, X[500:], y[500:], path, unit="days", n_resamples=20)
    >>> written.has_panel, written.n_bytes < 2_000_000
    (True, True)
    """
    check_installed()
    check_contrast(contrast)
    place = Path(path)
    check_place(place, overwrite=overwrite)
    limit = check_number("panel_limit", panel_limit, minimum=0.0)
    steps = _Steps(progress)
    settings = read_settings(
        read_target(any_event(y, model)),
        preset=preset,
        title=title,
        unit=unit,
        horizons=horizons,
        ahead=ahead,
        individuals=individuals,
        labels=labels,
        age=age,
        risk=risk,
        early_cost=early_cost,
        late_cost=late_cost,
        as_of=as_of,
        n_resamples=n_resamples,
        random_state=random_state,
        by=by,
        groups=groups,
        X=X,
    )
    study = Study.of(model, X, y, y_train)
    facts = facts_of(study, settings, are_training_rows=are_training_rows, step=steps)
    facts = replace(facts, contrast=contrast)
    steps("figures")
    figures = figures_of(study, facts)
    steps("page")
    content, reason = _within_limit(study, settings, facts, figures, limit)
    with replacing(place, overwrite=overwrite) as file:
        file.write(content)
    steps.end()
    return WrittenReport(place, len(content), facts, not reason, reason)


def _within_limit(
    study: Study, settings: Settings, facts: ReportFacts, figures: dict[str, str], limit: float
) -> tuple[bytes, str]:
    """Return the page, and why it is without its panel if it is; the limit is in megabytes."""
    reason = ""
    try:
        for panel in what_ifs_of(study, settings):
            content = rendered(facts, figures, panel).encode()
            if len(content) <= 1e6 * limit:
                return content, ""
            # Rounded up, so that the number that is named is enough.
            size = math.ceil(len(content) / 1e5) / 10
            reason = (
                f"with its model the page would have {size:.1f} MB, more than the panel_limit of "
                f"{limit:g} MB. For a page with the panel pass panel_limit={size:.1f} (in the "
                f"shell: --panel-limit {size:.1f}), or leave out columns: each level of a category "
                "and each number adds to a model, and a forest fitted by itself holds its training "
                "rows."
            )
    except TypeError as error:
        reason = str(error)
    return rendered(facts, figures, None, reason).encode(), reason


class _Steps:
    """Counts the steps of a report."""

    _ALL = 6

    def __init__(self, progress: Callable[[int, int | None, str], None] | None) -> None:
        self._progress, self._done = progress, 0

    def __call__(self, name: str) -> None:
        if self._progress is not None:
            self._progress(self._done, self._ALL, "steps")
        self._done += 1

    def end(self) -> None:
        if self._progress is not None:
            self._progress(self._ALL, self._ALL, "steps")
