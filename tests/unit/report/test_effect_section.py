"""The section of a report on the effect of one feature."""

import re

import pytest

from censquant import CoxQuantileRegressor
from censquant.inspection import contrast
from censquant.report import report_facts, write_report
from report_rows import Page, new_rows


@pytest.fixture(scope="module")
def rows():
    X, y = new_rows()
    return X[[name for name in X.columns if X[name].dtype.kind in "if"]], y


@pytest.fixture(scope="module")
def effect(rows):
    X, y = rows
    column = X.columns[0]
    low, high = X[column].quantile([0.25, 0.75])
    model = CoxQuantileRegressor().fit(X, y)
    return model, contrast(model, X, y, feature=column, to=high, from_=low, at=100.0, n_resamples=4)


def test_a_page_has_the_section_only_if_it_is_given(rows, effect, tmp_path):
    model, found = effect
    pages = {}
    for name, given in (("with", found), ("without", None)):
        path = tmp_path / f"{name}.html"
        write_report(model, *rows, path, n_resamples=4, unit="days", contrast=given, panel_limit=0)
        pages[name] = Page(path.read_text(encoding="utf-8"))
    text = re.sub(r"\s+", " ", (tmp_path / "with.html").read_text(encoding="utf-8"))
    assert "Effect of one feature" in text
    assert "No unmeasured confounding" in text
    assert 'id="effect-' in text  # the figure
    assert "Effect of one feature" not in (tmp_path / "without.html").read_text(encoding="utf-8")
    (row,) = pages["with"].tables["effect"]
    assert row[0] == "all"
    assert float(row[5].replace(",", "").replace("\N{MINUS SIGN}", "-")) == pytest.approx(
        found.rows[0].difference, rel=0.01
    )


def test_facts_keep_the_contrast_and_refuse_anything_else(rows, effect):
    model, found = effect
    assert report_facts(model, *rows, n_resamples=4, contrast=found).contrast is found
    with pytest.raises(TypeError, match="contrast must be a result of censquant"):
        report_facts(model, *rows, n_resamples=4, contrast="horTh")
