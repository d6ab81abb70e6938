"""Stacked incidences: what is drawn is what curves and models say."""

import numpy as np
import pytest

from censquant import CompetingRisksRegressor, CoxQuantileRegressor
from censquant.plotting import plot_incidence
from censquant.survival import aalen_johansen


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (120, 1))
    times = rng.exponential(np.column_stack([np.exp(X), np.exp(-X), np.full((120, 1), 2.0)]))
    names = np.array(["relapse", "death", "censored"])
    return X, (times.min(axis=1), names[times.argmin(axis=1)])


@pytest.fixture(scope="module")
def model(rows):
    return CompetingRisksRegressor(CoxQuantileRegressor()).fit(*rows)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def highest(area):
    return max(path.vertices[:, 1].max() for path in area.get_paths())


def test_areas_are_stacked_shares_of_aalen_and_johansen(rows):
    _, y = rows
    ax = plot_incidence(y, unit="years")
    assert legend(ax) == ["death", "relapse"]
    assert ax.get_xlabel() == "time (years)"
    tops = np.cumsum(aalen_johansen(*y).incidence[:, -1])
    assert [highest(area) for area in ax.collections] == pytest.approx(tops.tolist())


def test_the_curves_of_the_rows_lie_on_the_areas_of_the_model(rows, model):
    X, y = rows
    ax = plot_incidence(y, model=model, X=X, times=[0.0, 0.5, 1.0])
    assert legend(ax) == ["death", "relapse", "Aalen-Johansen"]
    assert len(ax.lines) == 2
    assert ax.get_xlim() == (0.0, 1.0)
    mean = model.predict_cumulative_incidence(X, [1.0]).mean(axis=0)[:, 0]
    assert [highest(area) for area in ax.collections] == pytest.approx(np.cumsum(mean).tolist())


def test_one_individual_is_drawn_up_to_the_end_of_follow_up(model):
    ax = plot_incidence(model=model, X=[[0.5]])
    assert legend(ax) == ["death", "relapse"]
    assert ax.get_xlim()[1] == model.follow_up_[1]


def test_other_arguments_are_refused(rows, model):
    X, y = rows
    with pytest.raises(ValueError, match=r"^model and X must be given together, got no X\."):
        plot_incidence(y, model=model)
    with pytest.raises(ValueError, match=r"^y or a model with X must be given, got neither\."):
        plot_incidence()
    with pytest.raises(
        TypeError, match=r"^model must be a fitted CompetingRisksRegressor, got Cox"
    ):
        plot_incidence(model=CoxQuantileRegressor(), X=X)
    with pytest.raises(ValueError, match=r"^X must have one row for each of y, got 5 and 120\."):
        plot_incidence(y, model=model, X=X[:5])
