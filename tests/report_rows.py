"""Small models and rows for tests of reports, and pages as their readers see them."""

from functools import cache
from html.parser import HTMLParser

import numpy as np
import pandas as pd

from censquant import CensoredQuantileRegressor, ConformalSurvivalRegressor, CoxQuantileRegressor

N_TRAIN = 200


@cache
def machines(n_rows=300, seed=0):
    """Frame of two numbers, a category with missing values, and times and events."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "temp": rng.normal(60.0, 10.0, n_rows).round(3),
            "load": rng.integers(1, 9, n_rows),
            "site": rng.choice(["north", "south", "west"], n_rows),
        }
    )
    slope = (frame["temp"] - 60.0) / 20.0 + 0.4 * (frame["site"] == "west")
    life = 900.0 * np.exp(-slope.to_numpy()) * rng.weibull(2.0, n_rows)
    end = rng.uniform(200.0, 2500.0, n_rows)
    frame.loc[::17, "site"] = None
    return frame, np.minimum(life, end).round(2), life <= end


def new_rows(n_rows=None):
    """Rows that the models have not seen."""
    frame, time, event = machines()
    part = slice(N_TRAIN, None if n_rows is None else N_TRAIN + n_rows)
    return frame[part].reset_index(drop=True), (time[part], event[part])


@cache
def calibrated():
    """A model with calibrated bounds around one that takes frames as they are."""
    frame, time, event = machines()
    model = ConformalSurvivalRegressor(_pool(), random_state=0)
    return model.fit(frame[:N_TRAIN], (time[:N_TRAIN], event[:N_TRAIN]))


@cache
def calibrated_fleet():
    """A calibrated model of numbers whose censoring depends on the features."""
    frame, time, event = machines()
    cox = CoxQuantileRegressor()
    model = ConformalSurvivalRegressor(cox, cv=2, censoring_estimator=cox, random_state=0)
    return model.fit(frame[["temp", "load"]][:N_TRAIN], (time[:N_TRAIN], event[:N_TRAIN]))


@cache
def calibrated_early():
    """A calibrated model of numbers, of machines that were followed for some hundred days."""
    frame, time, event = machines()
    end = np.linspace(250.0, 400.0, N_TRAIN)
    y = np.minimum(time[:N_TRAIN], end), event[:N_TRAIN] & (time[:N_TRAIN] <= end)
    model = ConformalSurvivalRegressor(CoxQuantileRegressor(), cv=2, random_state=0)
    return model.fit(frame[["temp", "load"]][:N_TRAIN], y)


@cache
def calibrated_by_load():
    """A model whose bounds are calibrated in two subgroups, which cannot run in a page."""
    frame, time, event = machines()
    model = ConformalSurvivalRegressor(_pool(), by=_is_heavy, random_state=0)
    return model.fit(frame[:N_TRAIN], (time[:N_TRAIN], event[:N_TRAIN]))


def _is_heavy(frame):
    return frame["load"] > 4


def _pool():
    return CensoredQuantileRegressor(candidates=[("cox", CoxQuantileRegressor())], cv=2)


@cache
def plain():
    """A model of numbers alone, without bounds."""
    frame, time, event = machines()
    numbers = frame[["temp", "load"]]
    return CoxQuantileRegressor().fit(numbers[:N_TRAIN], (time[:N_TRAIN], event[:N_TRAIN]))


class Page(HTMLParser):
    """Tables by their key, as text and as values, and the words around them."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.headings, self.texts, self.tags = {}, {}, [], []
        self._key = self._cell = None
        self._is_script = False
        self.feed(text)

    @property
    def words(self):
        return " ".join(" ".join(self.texts).replace("\u00a0", " ").split())

    def handle_starttag(self, tag, attributes):
        entries = dict(attributes)
        self.tags.append((tag, entries))
        self._is_script = tag in ("script", "style")
        if (entries.get("id") or "").startswith("table-"):
            self._key = entries["id"].removeprefix("table-")
            self.tables[self._key], self.headings[self._key] = [], []
        if tag == "tr" and self._key is not None and self.headings[self._key]:
            self.tables[self._key].append([])
        if tag in ("th", "td") and self._key is not None:
            if "data-value" in entries:
                self.tables[self._key][-1].append(entries["data-value"])
            else:
                self.headings[self._key].append("")
                self._cell = self.headings[self._key]

    def handle_endtag(self, tag):
        if tag == "th":
            self._cell = None
        if tag == "table":
            self._key = None
        if tag in ("script", "style"):
            self._is_script = False

    def handle_data(self, data):
        if self._cell is not None:
            self._cell[-1] += data
        if not self._is_script:
            self.texts.append(data)

    def column(self, key, place):
        """Values of a column as numbers, NaN for none."""
        return np.array([float(row[place]) if row[place] else np.nan for row in self.tables[key]])
