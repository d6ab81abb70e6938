"""LinearQuantileRegressor behaves as scikit-learn and scikit-survival expect."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator
from sksurv.metrics import concordance_index_censored

from censquant import LinearQuantileRegressor, Surv
from censquant.datasets import load_gbsg2


# One check has more features than rows, another a constant column.
@pytest.mark.filterwarnings("ignore::censquant.exceptions.IdentifiabilityWarning")
# The default and the other methods are in tests/contract/test_sklearn.py.
@pytest.mark.parametrize(
    "estimator",
    [
        LinearQuantileRegressor(censoring="left", fit_intercept=False),
        LinearQuantileRegressor(n_bootstrap=3, bootstrap="weights"),
    ],
    ids=str,
)
def test_scikit_learn_finds_nothing_to_object_to(estimator):
    for each, check in estimator_checks_generator(estimator):
        check(each)


def test_a_grid_search_over_a_pipeline_takes_a_structured_y():
    X, y = load_gbsg2()
    pipeline = make_pipeline(StandardScaler(), LinearQuantileRegressor([0.1, 0.3, 0.5]))
    grid = {"linearquantileregressor__time_transform": [None, "log"]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.6


def test_the_score_is_scikit_survivals_concordance_of_late_medians():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 1))
    y = Surv.from_arrays(event=rng.random(60) < 0.7, time=1 + X[:, 0] + rng.random(60))
    model = LinearQuantileRegressor([0.3, 0.5]).fit(X, y)
    median = model.predict_quantiles(X, [0.5], beyond="extrapolate")[:, 0]
    expected = concordance_index_censored(y["event"], y["time"], -median)[0]
    assert model.score(X, y) == pytest.approx(expected, abs=1e-12)
