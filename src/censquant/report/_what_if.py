"""The panel in which a reader moves the features of an individual: its controls and its model."""

import base64
import json
import math
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from censquant.estimators import ConformalSurvivalRegressor
from censquant.export._javascript import PageModel
from censquant.report._accuracy import SHOWN
from censquant.report._facts import private_end
from censquant.report._numbers import rounded
from censquant.report._study import Settings, Study

COVERAGE = 0.8
"""Of the interval of the panel."""

MISSING, OTHER = "", "(another)"
_N_TIMES = 61
_N_STEPS = 100
# Quantiles of a feature between which its slider moves: extremes would tell of individuals.
_ENDS = (0.01, 0.99)
_DIGITS = 6


@dataclass(frozen=True)
class Control:
    """One feature that can be moved."""

    name: str
    kind: str  # {"number", "category"}
    start: float | str | None  # of a typical individual: the median or the most frequent level
    # Of the slider of a number
    low: float = 0.0
    high: float = 0.0
    step: float = 0.0
    may_miss: bool = False  # whether a number may be left empty
    # Of a category that the model distinguishes; empty text for a missing value
    levels: tuple[str, ...] = ()


@dataclass(frozen=True)
class LiveBounds:
    """Promises that the panel shows for the individual of its controls."""

    confidence: float  # of the lower bound, the first one that the model in the page returns
    coverage: float = COVERAGE  # of the interval, whose ends are the second bounds

    @property
    def exported(self) -> tuple[float, float]:
        """Confidences of the bounds that the model in the page returns."""
        return self.confidence, round((1.0 + self.coverage) / 2.0, 12)


@dataclass(frozen=True, eq=False)
class WhatIf:
    """A model for the page, its controls, and the individuals to start from."""

    model: PageModel
    controls: tuple[Control, ...]
    # Names of individuals with the values of their features: a typical one, then those that were
    # asked for
    starts: tuple[tuple[str, dict[str, Any]], ...]
    # What individuals are called, and the unit of time
    who: str
    unit: str
    bounds: LiveBounds | None  # what is promised for each; None for a model that is not calibrated
    # Why the bounds of a calibrated model are missing; empty if they are not
    without_bounds: str = ""

    @property
    def packed_model(self) -> str:
        """The model as the page holds it: its JSON, compressed, in letters."""
        return base64.b64encode(zlib.compress(self.model.json.encode(), 9)).decode()

    @property
    def described(self) -> str:
        """The panel as JSON; it has no characters that end a script element."""
        content = {
            "controls": [asdict(control) for control in self.controls],
            "starts": [{"name": name, "values": values} for name, values in self.starts],
            "who": self.who,
            "unit": self.unit,
            "bounds": None if self.bounds is None else asdict(self.bounds),
        }
        return json.dumps(content, allow_nan=False).replace("<", "\\u003c")


def what_ifs_of(study: Study, settings: Settings) -> Iterator[WhatIf]:
    """Return the panels of a study, the largest first; TypeError says why there is none.

    The censoring model that bounds need may be large, or may be one that cannot be exported: then a
    panel without bounds is left.
    """
    # Neither the last observed time nor those of the training rows are in the page.
    end = private_end(study.target.time) or float(study.target.time.max())
    times = np.linspace(0.0, end, _N_TIMES)
    reason = ""
    if isinstance(study.model, ConformalSurvivalRegressor):
        bounds = LiveBounds(settings.confidence)
        try:
            model = study.model.to_javascript(
                SHOWN, times, coarse_times=True, confidence=bounds.exported
            )
        except TypeError as error:
            reason = str(error)
        else:
            yield _what_if(study, settings, model, bounds)
            reason = "the page would be too large with the model of the censoring times."
    model = study.model.to_javascript(SHOWN, times, coarse_times=True)
    yield _what_if(study, settings, model, None, reason)


def _what_if(
    study: Study,
    settings: Settings,
    model: PageModel,
    bounds: LiveBounds | None,
    without_bounds: str = "",
) -> WhatIf:
    described = json.loads(model.json)
    names = {name: entry["columns"] for name, entry in described["inputs"].items()}
    levels = _levels(described["nodes"])
    may_miss = bool(get_tags(study.model).input_tags.allow_nan)
    controls = [_number(study, name, may_miss=may_miss) for name in names.get("X", ())]
    controls += [
        _category(study, name, levels[column])
        for column, name in enumerate(names.get("categories", ()))
    ]
    order = {name: place for place, name in enumerate(study.table.names)}
    controls.sort(key=lambda control: order[control.name])
    starts: list[tuple[str, dict[str, Any]]] = [
        (
            f"a typical {settings.who.removesuffix('s')}",
            {control.name: control.start for control in controls},
        )
    ]
    for row in settings.individuals:
        values = {control.name: _value(study, control, row) for control in controls}
        starts.append((settings.labels[row], values))
    return WhatIf(
        model,
        tuple(controls),
        tuple(starts),
        settings.who,
        settings.unit,
        bounds,
        without_bounds,
    )


def _levels(nodes: list[dict[str, Any]]) -> dict[int, list[str]]:
    """Return the levels that a model distinguishes, by the number of the category."""
    return {
        node["options"]["column"]: node["options"]["levels"]
        for node in nodes
        if node["op"] == "position"
    }


def _number(study: Study, name: str, *, may_miss: bool) -> Control:
    values = _numbers(study, name)
    known = values[np.isfinite(values)]
    if not known.size:
        known = np.zeros(1)
    low, high = (rounded(float(end)) for end in np.quantile(known, _ENDS))
    is_whole = bool((known == np.round(known)).all())
    if is_whole:
        low, high, step = math.floor(low), math.ceil(high), 1.0
    else:
        step = 10.0 ** math.floor(math.log10((high - low) / _N_STEPS)) if high > low else 1.0
    if not high > low:
        high = low + step
    # Unlike a mean, a median of flags is a flag.
    middle = float(np.quantile(known, 0.5, method="lower" if is_whole else "linear"))
    start = rounded(middle, _DIGITS)
    return Control(name, "number", start, low, high, step, may_miss=may_miss)


def _numbers(study: Study, name: str) -> Any:
    place = study.table.place(name)
    found = study.table.numbers(place)
    if found is None:  # flags count as numbers
        found = np.array([_flag(text) for text in study.table.texts(place)])
    return found


def _flag(text: str) -> float:
    return {"True": 1.0, "False": 0.0}.get(text, math.nan)


def _category(study: Study, name: str, levels: list[str]) -> Control:
    texts = [_level(text) for text in study.table.texts(study.table.place(name))]
    counts = Counter(texts)
    known = [level for level in levels if level != MISSING]
    offered = (*known, OTHER, MISSING)
    start = max(known, key=lambda level: counts[level]) if known else OTHER
    return Control(name, "category", start, levels=offered)


def _value(study: Study, control: Control, row: int) -> float | str | None:
    """Return a feature of one row as the page has it."""
    if control.kind == "number":
        value = float(_numbers(study, control.name)[row])
        return value if math.isfinite(value) else None
    text = _level(study.table.texts(study.table.place(control.name))[row])
    return text if text in control.levels else OTHER


def _level(text: str) -> str:
    """Return the text of a level as a model knows it: whole numbers without a decimal point."""
    if text == "missing":
        return MISSING
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if math.isfinite(number) and number.is_integer() else text
