"""The section of a report on competing kinds of events."""

import numpy as np
import pytest

from censquant import CompetingRisksRegressor, CoxQuantileRegressor
from censquant.report import report_facts, write_report
from censquant.survival import aalen_johansen
from report_rows import Page


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 2))
    times = rng.exponential(np.exp(np.column_stack([X[:, 0], -X[:, 0], np.full(300, 0.5)])))
    kind = np.array(["relapse", "death", "censored"])[times.argmin(axis=1)]
    return X, (times.min(axis=1), kind)


@pytest.fixture(scope="module")
def model(rows):
    X, (time, kind) = rows
    return CompetingRisksRegressor(CoxQuantileRegressor()).fit(X[:200], (time[:200], kind[:200]))


def test_a_page_has_incidences_beside_observed_shares(rows, model, tmp_path):
    X, (time, kind) = rows
    held = X[200:], (time[200:], kind[200:])
    path = tmp_path / "report.html"
    written = write_report(model, *held, path, horizons=[0.5], n_resamples=4, panel_limit=1)
    found = written.facts.kinds
    assert [(row.kind, row.horizon) for row in found] == [("death", 0.5), ("relapse", 0.5)]
    observed = aalen_johansen(*held[1])(0.5)
    assert [row.observed for row in found] == observed.tolist()
    mean = model.predict_kind(held[0], 0.5).mean(axis=0)
    assert [row.predicted for row in found] == pytest.approx(mean.tolist())
    assert all(row.low < row.observed < row.high for row in found)
    text = path.read_text(encoding="utf-8")
    assert "Kinds of events" in text
    assert 'id="kinds-' in text  # the figure
    page = Page(text)
    assert [row[1] for row in page.tables["kinds"]] == ["death", "relapse"]
    assert "knows no incidences" in written.panel_reason


def test_targets_without_kinds_have_no_section(rows, model):
    X, (time, kind) = rows
    y = time[200:], kind[200:] != "censored"
    facts = report_facts(model, X[200:], y, n_resamples=4)
    assert facts.kinds == ()
    assert facts.cohort.n_events == int(y[1].sum())
