"""Standard errors, limits and the tables that show them."""

import math
import re
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from censquant import LinearQuantileRegressor, load_model
from censquant.estimators.linear import CoefficientSummary, _fits
from censquant.estimators.linear._fits import (
    covariance_of,
    n_deleted,
    row_factors,
    scale_of,
    spread_of,
)
from censquant.exceptions import IdentifiabilityWarning


def sample(seed, n=120):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 2, n)
    time = 1 + 2 * x + (1 + 0.5 * x) * rng.normal(size=n)
    limit = rng.uniform(1, 9, n)
    return x[:, None], (np.minimum(time, limit), time <= limit), limit


X, Y, LIMIT = sample(0)
METHODS = ("portnoy", "peng-huang", "powell")
BOOTSTRAPS = ("jackknife", "pairs", "weights")


def fitted(method="portnoy", data=(X, Y, LIMIT), **parameters):
    settings = {"quantiles": (0.3, 0.5), "random_state": 0, **parameters}
    known = {"censoring_time": data[2]} if method == "powell" else {}
    return LinearQuantileRegressor(method=method, **settings).fit(data[0], data[1], **known)


def test_the_jackknife_deletes_twice_the_root_of_the_rows():
    assert [n_deleted(n) for n in (100, 101, 2)] == [20, 22, 4]
    assert scale_of("jackknife", 100, 3) == math.sqrt((100 - 20 - 3 + 1) / 20)
    factor = row_factors("jackknife", 100, np.random.default_rng(0))
    assert sorted(set(factor)) == [0.0, 1.0]
    assert factor.sum() == 80


def test_pairs_draw_as_many_rows_as_there_are():
    factor = row_factors("pairs", 50, np.random.default_rng(0))
    assert factor.sum() == 50
    assert (factor == np.round(factor)).all()
    assert factor.max() > 1
    assert scale_of("pairs", 50, 3) == 1.0


def test_exponential_weights_have_mean_and_variance_one():
    factor = row_factors("weights", 100_000, np.random.default_rng(0))
    assert factor.mean() == pytest.approx(1.0, abs=0.02)
    assert factor.var() == pytest.approx(1.0, abs=0.05)
    assert scale_of("weights", 50, 3) == 1.0


def test_limits_lie_at_multiples_of_the_quartile_distances_by_hand():
    # Quartiles 1, 2, 4 of the replications around an estimate of 10, with z.975 / z.75 = 2.9059.
    replications = np.array([0.0, 1.0, 2.0, 4.0, 9.0])[:, None, None]
    errors, limits = spread_of(np.array([[10.0]]), replications, 2.0)
    np.testing.assert_allclose(limits[0, 0], [10 - 2 * 2.9058, 10 + 2 * 2 * 2.9058], rtol=1e-4)
    assert errors[0, 0] == pytest.approx((limits[0, 0, 1] - limits[0, 0, 0]) / (2 * 1.959964))


def test_the_standard_error_of_normal_replications_is_their_standard_deviation():
    replications = np.random.default_rng(0).normal(3.0, 0.7, (40_000, 1, 1))
    errors, limits = spread_of(np.array([[3.0]]), replications, 1.0)
    assert errors[0, 0] == pytest.approx(0.7, abs=0.02)
    np.testing.assert_allclose(limits[0, 0], [3 - 1.96 * 0.7, 3 + 1.96 * 0.7], atol=0.04)


@pytest.mark.parametrize(("n_missing", "known"), [(2, True), (3, False), (4, False)])
def test_levels_that_half_of_the_replications_miss_have_no_precision(n_missing, known):
    replications = np.arange(4.0)[:, None, None] * np.ones((4, 1, 2))
    replications[:n_missing] = np.nan
    errors, limits = spread_of(np.zeros((1, 2)), replications, 1.0)
    assert np.isfinite(errors).all() == known
    assert np.isfinite(limits).all() == known


@pytest.fixture(scope="module")
def spreads():
    """Standard deviation of the coefficients over repeated samples, for each method."""
    found = {}
    for method in METHODS[:2]:
        fits = [fitted(method, sample(seed)) for seed in range(200)]
        found[method] = np.std([model.summary().coefficients for model in fits], axis=0)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "bootstrap"), [*(("portnoy", b) for b in BOOTSTRAPS), ("peng-huang", "weights")]
)
def test_standard_errors_are_the_spread_over_repeated_samples(spreads, method, bootstrap):
    settings = {"n_bootstrap": 30, "bootstrap": bootstrap}
    fits = [fitted(method, sample(1000 + seed), **settings) for seed in range(40)]
    errors = np.mean([model.standard_errors_ for model in fits], axis=0)
    np.testing.assert_allclose(errors / spreads[method], 1.0, rtol=0, atol=0.25)


def test_powells_standard_errors_are_about_those_of_portnoys():
    errors = [fitted(m, n_bootstrap=60, bootstrap="weights").standard_errors_ for m in METHODS]
    np.testing.assert_allclose(errors[2] / errors[0], 1.0, rtol=0, atol=0.4)


@pytest.mark.parametrize("method", METHODS)
def test_the_precision_does_not_depend_on_the_number_of_threads(method, monkeypatch):
    monkeypatch.setattr(_fits, "_ROWS_FOR_THREADS", 1)
    results = [fitted(method, n_bootstrap=6, n_jobs=n_jobs) for n_jobs in (1, 2, None)]
    for model in results[1:]:
        np.testing.assert_array_equal(model.standard_errors_, results[0].standard_errors_)
        np.testing.assert_array_equal(model.confidence_intervals_, results[0].confidence_intervals_)


@pytest.mark.parametrize("make", [int, np.random.RandomState, np.random.default_rng])
def test_the_same_random_state_gives_the_same_bits(make):
    first, second = (fitted(n_bootstrap=5, random_state=make(3)) for _ in range(2))
    np.testing.assert_array_equal(first.standard_errors_, second.standard_errors_)
    other = fitted(n_bootstrap=5, random_state=make(4))
    assert (first.standard_errors_ != other.standard_errors_).any()


def test_few_rows_use_one_thread(monkeypatch):
    asked = []
    original = _fits.side_by_side
    monkeypatch.setattr(
        _fits,
        "side_by_side",
        lambda tasks, n, **options: (asked.append(n), original(tasks, n, **options))[1],
    )
    fitted(n_bootstrap=2, n_jobs=2)
    monkeypatch.setattr(_fits, "_ROWS_FOR_THREADS", 1)
    fitted(n_bootstrap=2, n_jobs=2)
    assert asked == [1, 2]


def test_replications_that_are_asked_to_stop_know_nothing(monkeypatch):
    stopped = threading.Event()
    stopped.set()
    monkeypatch.setattr(
        _fits, "side_by_side", lambda tasks, n_jobs, **_: [task(stopped) for task in tasks]
    )
    model = fitted(n_bootstrap=3)
    assert np.isnan(model.standard_errors_).all()
    assert np.isfinite(model.coef_).all()


def test_a_replication_that_cannot_tell_the_columns_apart_knows_nothing():
    # One row alone differs from the others: about 37 % of the draws of pairs leave it out.
    x = np.zeros((40, 1))
    x[7] = 1.0
    estimator = LinearQuantileRegressor([0.5], n_bootstrap=200, bootstrap="pairs", random_state=0)
    missing = []
    original = _fits._Replication.__call__

    def spied(self, stopping):
        table = original(self, stopping)
        missing.append(np.isnan(table).all())
        return table

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_fits._Replication, "__call__", spied)
        message = (
            "X has columns that are the same in all but 1 rows or fewer ('x0'): their coefficients "
            "have no standard errors; merge levels, or drop these columns."
        )
        with pytest.warns(IdentifiabilityWarning, match="^" + re.escape(message) + "$"):
            model = estimator.fit(x, np.arange(40.0))
    assert np.mean(missing) == pytest.approx(np.exp(-1), abs=0.1)
    assert np.isfinite(model.standard_errors_).tolist() == [[True, False]]


def test_replications_that_mostly_agree_are_judged_by_the_outer_ones():
    rng = np.random.default_rng(0)
    replications = np.where(rng.uniform(size=4_000) < 0.7, 0.0, rng.normal(size=4_000))
    errors, _ = spread_of(np.zeros((1, 1)), replications[:, None, None], 1.0)
    assert errors[0, 0] == pytest.approx(replications.std(), rel=0.2)


def test_replications_without_an_event_know_nothing():
    x, time = np.tile([0.0, 1.0], 20)[:, None], np.arange(40.0)
    model = LinearQuantileRegressor([0.01], n_bootstrap=20, bootstrap="pairs", fit_intercept=False)
    model.set_params(random_state=0).fit(1 + x, (time, time == 0))
    assert model.standard_errors_.shape == (1, 1)


def test_precision_has_a_place_for_each_term():
    model = fitted(n_bootstrap=5)
    assert model.standard_errors_.shape == (2, 2)
    assert model.confidence_intervals_.shape == (2, 2, 2)
    bare = fitted(n_bootstrap=5, fit_intercept=False)
    assert bare.standard_errors_.shape == (2, 1)
    assert fitted().standard_errors_ is None
    assert fitted().confidence_intervals_ is None


def test_limits_of_left_censoring_are_mirrored():
    right = fitted(n_bootstrap=9)
    left = fitted(
        data=(X, (-Y[0], Y[1]), None), n_bootstrap=9, censoring="left", quantiles=(0.5, 0.7)
    )
    np.testing.assert_allclose(left.standard_errors_, right.standard_errors_[::-1], atol=1e-9)
    np.testing.assert_allclose(
        left.confidence_intervals_, -right.confidence_intervals_[::-1, :, ::-1], atol=1e-9
    )


# Tables


def test_the_summary_reads_as_a_table_a_level():
    summary = CoefficientSummary(
        "Title",
        np.array([0.25, 0.5]),
        ("intercept", "age"),
        np.array([[1.0, 2.0], [3.0, 4.5]]),
        np.array([[0.1, 0.2], [0.3, np.nan]]),
        np.array([[[0.8, 1.2], [1.6, 2.4]], [[2.4, 3.6], [np.nan, np.nan]]]),
    )
    assert str(summary) == "\n".join(
        [
            "Title",
            "",
            "quantile 0.25",
            "           coefficient   std. error   lower 95 %   upper 95 %      z         p",
            "intercept            1          0.1          0.8          1.2  10.00  1.52e-23",
            "age                  2          0.2          1.6          2.4  10.00  1.52e-23",
            "",
            "quantile 0.5",
            "           coefficient   std. error   lower 95 %   upper 95 %      z         p",
            "intercept            3          0.3          2.4          3.6  10.00  1.52e-23",
            "age                4.5          nan          nan          nan    nan       nan",
        ]
    )


def test_the_summary_says_how_it_was_made():
    assert fitted("peng-huang").summary().title == "LinearQuantileRegressor, method peng-huang"
    summary = fitted(n_bootstrap=5, bootstrap="pairs").summary()
    assert (
        summary.title == "LinearQuantileRegressor, method portnoy; limits from 5 pairs replications"
    )
    assert str(summary).count("\nquantile ") == 2


def test_the_summary_as_a_frame_holds_the_same_numbers():
    frame_of = pd.DataFrame(X, columns=["age"])
    model = fitted(data=(frame_of, Y, LIMIT), n_bootstrap=5)
    frame = model.summary().to_frame()
    assert frame.columns.tolist() == [
        "coefficient",
        "standard_error",
        "lower",
        "upper",
        "z",
        "p",
    ]
    assert frame.index.names == ["quantile", "term"]
    assert frame.loc[(0.5, "age"), "coefficient"] == model.coef_[1, 0]
    assert frame.loc[(0.3, "intercept"), "coefficient"] == model.intercept_[0]
    assert frame.loc[(0.5, "age"), "standard_error"] == model.standard_errors_[1, 1]
    assert frame.loc[(0.5, "age"), "upper"] == model.confidence_intervals_[1, 1, 1]
    assert fitted().summary().to_frame().columns.tolist() == ["coefficient"]


def test_the_table_of_coefficients_has_a_row_a_level_and_a_column_a_term():
    model = fitted()
    table = model.coef_table()
    assert table.index.tolist() == [0.3, 0.5]
    assert table.index.name == "quantile"
    assert table.columns.tolist() == ["intercept", "x0"]
    np.testing.assert_array_equal(table["x0"], model.coef_[:, 0])
    assert fitted(fit_intercept=False).coef_table().columns.tolist() == ["x0"]


@pytest.mark.parametrize(
    ("ask", "name"),
    [
        (lambda model: model.coef_table(), "coef_table"),
        (lambda model: model.summary().to_frame(), "to_frame"),
    ],
)
def test_frames_without_pandas_say_how_to_install_it(ask, name, monkeypatch):
    model = fitted()
    monkeypatch.setitem(sys.modules, "pandas", None)
    message = f'{name} needs pandas: install it with pip install "censquant[pandas]".'
    with pytest.raises(ImportError, match=f"^{re.escape(message)}$"):
        ask(model)


# Covariances, joint tests and groups


def test_the_covariance_of_normal_replications_is_theirs():
    truth = np.array([[1.0, 0.6], [0.6, 4.0]])
    replications = np.random.default_rng(0).multivariate_normal([0, 0], truth, 40_000)[:, None]
    errors, _ = spread_of(np.zeros((1, 2)), replications, 1.0)
    found = covariance_of(replications, errors)
    np.testing.assert_allclose(found[0], truth, atol=0.08)
    # One replication in a hundred that went astray changes little.
    replications[::100] = 1e6
    errors, _ = spread_of(np.zeros((1, 2)), replications, 1.0)
    np.testing.assert_allclose(covariance_of(replications, errors)[0], truth, atol=0.25)


def test_levels_without_precision_have_no_covariance():
    replications = np.full((4, 1, 2), np.nan)
    errors, _ = spread_of(np.zeros((1, 2)), replications, 1.0)
    assert np.isnan(covariance_of(replications, errors)).all()


def test_the_diagonal_of_the_covariance_holds_the_squared_errors():
    for settings in ({}, {"fit_intercept": False}, {"method": "peng-huang"}):
        model = fitted(n_bootstrap=4, **settings)
        diagonal = np.diagonal(model.covariance_, axis1=1, axis2=2)
        np.testing.assert_allclose(diagonal, model.standard_errors_**2)
    assert fitted().covariance_ is None


def test_p_values_are_those_of_the_normal_law():
    frame = fitted(n_bootstrap=6).summary().to_frame()
    z = frame["coefficient"] / frame["standard_error"]
    np.testing.assert_allclose(frame["z"], z)
    np.testing.assert_allclose(frame["p"], 2 * norm.sf(np.abs(z)))


def test_the_joint_test_has_a_row_a_level_and_is_the_square_of_z_for_one_term():
    summary = fitted(n_bootstrap=6).summary()
    test = summary.joint_test("x0")
    np.testing.assert_allclose(test.statistics, summary.z[:, 1] ** 2)
    np.testing.assert_allclose(test.p_values, summary.p_values[:, 1])
    assert test.names == ("0.3", "0.5")
    assert str(test).splitlines()[:2] == [
        "Joint test of x0",
        "quantile  chi-squared  df         p",
    ]
    assert test.to_frame().index.name == "quantile"
    assert "<caption>Joint test of x0</caption>" in test._repr_html_()
    both = summary.joint_test(["intercept", "x0"])
    assert both.degrees_of_freedom.tolist() == [2, 2]
    message = "joint_test needs the covariance of the coefficients, got a summary without: fit "
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        fitted().summary().joint_test("x0")


def of_clusters(seed, n_clusters=30, size=4):
    """Rows of clusters that share their feature and a part of their residual."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(n_clusters), size)
    x = rng.normal(size=n_clusters)[cluster]
    time = 5 + x + rng.normal(size=n_clusters)[cluster] + 0.4 * rng.normal(size=len(cluster))
    end = rng.uniform(3, 12, len(cluster))
    return x[:, None], (np.minimum(time, end), time <= end), cluster


@pytest.mark.parametrize(
    "bootstrap",
    [
        "weights",
        pytest.param("jackknife", marks=pytest.mark.slow),
        pytest.param("pairs", marks=pytest.mark.slow),
    ],
)
def test_errors_of_groups_are_the_spread_over_repeated_clusters(bootstrap):
    def fit(seed, groups, n_bootstrap):
        X, y, cluster = of_clusters(seed)
        model = LinearQuantileRegressor(
            [0.5], n_bootstrap=n_bootstrap, bootstrap=bootstrap, step=0.05, random_state=0
        )
        return model.fit(X, y, groups=cluster if groups else None)

    spread = np.std([fit(seed, False, 0).coef_[0, 0] for seed in range(40)])
    by_group, by_row = (
        np.mean([fit(seed, groups, 30).standard_errors_[0, 1] for seed in range(100, 104)])
        for groups in (True, False)
    )
    assert 0.6 < by_group / spread < 1.6
    assert by_row < 0.8 * by_group


def test_groups_change_no_coefficient():
    X, y, _ = of_clusters(0)
    model = LinearQuantileRegressor([0.3, 0.5], n_bootstrap=10, random_state=0)
    plain = model.fit(X, y)
    expected = plain.standard_errors_, plain.coef_
    model.fit(X, y, groups=np.arange(len(X)))
    assert model.standard_errors_.shape == expected[0].shape
    np.testing.assert_array_equal(model.coef_, expected[1])
    assert model.summary().title.endswith("; limits from 10 jackknife replications of 120 groups")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {},
            "groups must be None without replications, which alone depend on them: set "
            "n_bootstrap=200, or leave groups out.",
        ),
        (
            {"method": "data-augmentation", "n_bootstrap": 9},
            "groups must be None for method='data-augmentation', whose limits come from drawn "
            "times: use another method.",
        ),
    ],
)
def test_groups_that_would_change_nothing_are_refused(settings, message):
    X, y, cluster = of_clusters(0)
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        LinearQuantileRegressor([0.5], **settings).fit(X, y, groups=cluster)


def test_too_few_groups_for_the_jackknife_are_refused():
    X, y, cluster = of_clusters(0)
    message = (
        "bootstrap='jackknife' leaves out 6 groups per replication and must keep at least 2, one "
        "per coefficient, got 6 groups: use bootstrap='weights'."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        LinearQuantileRegressor([0.5], n_bootstrap=9).fit(X, y, groups=cluster % 6)


def test_a_file_holds_covariances(tmp_path):
    model = fitted(n_bootstrap=4)
    model.save(tmp_path / "model")
    twin = load_model(tmp_path / "model")
    np.testing.assert_array_equal(twin.covariance_, model.covariance_)
    assert str(twin.summary().joint_test("x0")) == str(model.summary().joint_test("x0"))
