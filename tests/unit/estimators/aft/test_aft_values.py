"""Published estimates, lifelines' on real data, and tests by simulation of standard errors."""

import re

import numpy as np
import pytest
from lifelines import LogLogisticAFTFitter, LogNormalAFTFitter, WeibullAFTFitter
from lifelines.datasets import load_gbsg2 as lifelines_gbsg2
from lifelines.datasets import load_larynx, load_lung
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning

from censquant import AFTRegressor


def fitted(X, y, **parameters):
    return AFTRegressor(**{"random_state": 0, **parameters}).fit(X, y)


def test_larynx_cancer_by_klein_and_moeschberger():
    """Klein and Moeschberger (2003), example 12.2; digits by R 4.2.2, survival 3.5-3."""
    data = load_larynx()
    X = data[["Stage_II", "Stage_III", "Stage_IV", "age"]]
    model = fitted(X, (data["time"], data["death"]))
    expected = [-0.147704, -0.586558, -1.544076, -0.017464]
    np.testing.assert_allclose(model.coef_, expected, atol=6e-7)
    assert model.intercept_ == pytest.approx(3.528760, abs=6e-7)
    assert model.scale_ == pytest.approx(0.884843, abs=6e-7)
    assert model.log_likelihood_ == pytest.approx(-141.42338, abs=6e-6)
    rows = X.iloc[:2].assign(Stage_II=0, Stage_III=0, Stage_IV=[0, 1], age=60)
    quantiles = model.predict_quantiles(rows, [0.1, 0.5, 0.9], beyond="extrapolate")
    np.testing.assert_allclose(quantiles[1], [0.34842, 1.8451, 5.3380], rtol=3e-5)
    # The last one is beyond follow-up, where the limit of tails would be later.
    np.testing.assert_allclose(quantiles[0], [1.6319, 8.6420, 25.001], rtol=3e-5)


# Edmonson et al. (1979), as in R's survival: time, event, age, residual disease, treatment.
# fmt: off
OVARIAN = np.array(
    [
        [59, 1, 72.3315, 2, 1], [115, 1, 74.4932, 2, 1], [156, 1, 66.4658, 2, 1],
        [421, 0, 53.3644, 2, 2], [431, 1, 50.3397, 2, 1], [448, 0, 56.4301, 1, 1],
        [464, 1, 56.937, 2, 2], [475, 1, 59.8548, 2, 2], [477, 0, 64.1753, 2, 1],
        [563, 1, 55.1781, 1, 2], [638, 1, 56.7562, 1, 1], [744, 0, 50.1096, 1, 2],
        [769, 0, 59.6301, 2, 2], [770, 0, 57.0521, 2, 2], [803, 0, 39.2712, 1, 1],
        [855, 0, 43.1233, 1, 1], [1040, 0, 38.8932, 2, 1], [1106, 0, 44.6, 1, 1],
        [1129, 0, 53.9068, 1, 2], [1206, 0, 44.2055, 2, 2], [1227, 0, 59.589, 1, 2],
        [268, 1, 74.5041, 2, 1], [329, 1, 43.137, 2, 1], [353, 1, 63.2192, 1, 2],
        [365, 1, 64.4247, 2, 2], [377, 0, 58.3096, 1, 2],
    ]
)
# fmt: on


def test_ovarian_cancer_by_sas_and_r():
    """CAMIS, https://psiaims.github.io/CAMIS/: accelerated failure time, Weibull, SAS equals R."""
    time, event, *features = OVARIAN.T
    model = fitted(np.column_stack(features), (time, event == 1))
    factors = np.exp(model.coef_)
    np.testing.assert_allclose(factors, [0.9360, 0.606391, 1.6739], atol=6e-5)
    assert model.scale_ == pytest.approx(0.518052, abs=6e-7)
    assert model.log_likelihood_ == pytest.approx(-87.8686, abs=6e-5)


def test_lung_cancer_by_sas_and_r():
    """CAMIS: log-normal, with men (1) as the reference."""
    data = load_lung()[["time", "status", "age", "sex", "ph.ecog"]].dropna()
    X = data[["age", "sex", "ph.ecog"]].assign(sex=data["sex"] - 1)
    model = fitted(X, (data["time"], data["status"] == 1), distribution="lognormal")
    np.testing.assert_allclose(model.coef_, [-0.019182, 0.521953, -0.355567], atol=6e-7)
    assert model.intercept_ == pytest.approx(7.016740, abs=6e-7)
    assert model.scale_ == pytest.approx(1.02863, abs=6e-6)
    assert model.log_likelihood_ == pytest.approx(-1146.88, abs=6e-3)


def test_motorettes_by_sas():
    """SAS/STAT, LIFEREG, example 1: quantiles and their standard errors by the delta method."""
    # Nelson and Hahn (1972), hours to failure at 170, 190 and 220 degrees Celsius.
    failed = [1764, 2772, 3444, 3542, 3780, 4860, 5196], [408, 408, 1344, 1344, 1440]
    failed = *failed, [408, 408, 504, 504, 504]
    ended = (5448, 1680, 528)
    time = np.concatenate(
        [[*own, *[end] * (10 - len(own))] for own, end in zip(failed, ended, strict=True)]
    )
    event = np.concatenate([np.arange(10) < len(own) for own in failed])
    x = 1000.0 / (273.2 + np.repeat([170, 190, 220], 10)[:, None])
    model = fitted(x, (time.astype(float), event), distribution="lognormal")
    expected = {
        130: ([12033.18, 26095.68, 56592.20], [5482.34, 11359.45, 26036.92]),
        150: ([4536.88, 9838.86, 21336.98], [1443.07, 2901.15, 7172.34]),
    }
    for temperature, (quantiles, errors) in expected.items():
        place = 1000.0 / (273.2 + temperature)
        residual = norm.ppf([0.1, 0.5, 0.9])
        # The design in intercept, coefficient and logarithm of the scale.
        change = np.stack([np.ones(3), np.full(3, place), model.scale_ * residual], axis=1)
        found = np.exp(model.intercept_ + model.coef_[0] * place + model.scale_ * residual)
        error = found * np.sqrt(np.diagonal(change @ model.covariance_ @ change.T))
        np.testing.assert_allclose(found, quantiles, rtol=1e-6)
        np.testing.assert_allclose(error, errors, rtol=2e-6)


FITTERS = {
    "weibull": (WeibullAFTFitter, "lambda_", "rho_", -1.0, {"gtol": 1e-9}),
    "lognormal": (LogNormalAFTFitter, "mu_", "sigma_", 1.0, {"gtol": 1e-9}),
    "loglogistic": (LogLogisticAFTFitter, "alpha_", "beta_", -1.0, {"ftol": 1e-14}),
}


@pytest.mark.parametrize("distribution", FITTERS)
def test_breast_cancer_as_lifelines(distribution):
    data = lifelines_gbsg2()
    table = data[["age", "pnodes", "tsize", "progrec"]].assign(
        horTh=data["horTh"] == "yes", time=data["time"], cens=data["cens"]
    )
    table = table.astype(float)
    X = table.drop(columns=["time", "cens"])
    # Their search ends sooner; with units of about 1 it comes nearer.
    X = (X - X.mean()) / X.std()
    fitter, location, scale, sign, options = FITTERS[distribution]
    theirs = fitter().fit(
        X.assign(time=table["time"] / 1000, cens=table["cens"]), "time", "cens", fit_options=options
    )
    model = fitted(X, (data["time"] / 1000, data["cens"]), distribution=distribution)
    columns = ["Intercept", *X.columns]
    place = theirs.params_[location][columns]
    ours = [model.intercept_, *model.coef_, np.log(model.scale_)]
    expected = [*place, sign * theirs.params_[scale]["Intercept"]]
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)
    assert model.log_likelihood_ == pytest.approx(theirs.log_likelihood_, rel=1e-10)
    errors = theirs.standard_errors_
    theirs_errors = [*errors[location][columns], errors[scale]["Intercept"]]
    np.testing.assert_allclose(model.standard_errors_, theirs_errors, rtol=1e-5)


def test_exponential_times_have_the_rate_of_events_over_exposure():
    rng = np.random.default_rng(0)
    group = np.repeat([0.0, 1.0], 150)[:, None]
    time, event = rng.exponential(3.0 + 5.0 * group[:, 0]), rng.uniform(size=300) < 0.7
    model = fitted(group, (time, event), distribution="exponential")
    mean = [time[group[:, 0] == g].sum() / event[group[:, 0] == g].sum() for g in (0, 1)]
    assert model.scale_ == 1.0
    assert np.exp(model.intercept_) == pytest.approx(mean[0], rel=1e-9)
    assert np.exp(model.coef_[0]) == pytest.approx(mean[1] / mean[0], rel=1e-9)
    n = [event[group[:, 0] == g].sum() for g in (0, 1)]
    expected = [np.sqrt(1 / n[0]), np.sqrt(1 / n[0] + 1 / n[1])]
    np.testing.assert_allclose(model.standard_errors_, expected, rtol=1e-9)


def test_without_censoring_log_normal_coefficients_are_those_of_least_squares():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3)) * [1.0, 100.0, 0.01]
    time = np.exp(2.0 + X @ [0.5, 0.003, 20.0] + rng.normal(size=80))
    model = fitted(X, time, distribution="lognormal")
    design = np.column_stack([np.ones(80), X])
    expected, (squares,), *_ = np.linalg.lstsq(design, np.log(time), rcond=None)
    np.testing.assert_allclose([model.intercept_, *model.coef_], expected, rtol=1e-9)
    assert model.scale_ == pytest.approx(np.sqrt(squares / 80), rel=1e-9)
    covariance = squares / 80 * np.linalg.inv(design.T @ design)
    np.testing.assert_allclose(model.covariance_[:4, :4], covariance, rtol=1e-8, atol=1e-14)
    assert model.covariance_[4, 4] == pytest.approx(1 / 160, rel=1e-8)


@pytest.mark.parametrize("distribution", FITTERS)
def test_limits_cover_as_often_as_they_say(distribution):
    rng = np.random.default_rng(2)
    truth, covered = np.array([1.0, 0.6, np.log(0.8)]), np.zeros(3)
    for _ in range(300):
        x = rng.normal(size=(120, 1))
        residual = {
            "weibull": np.log(rng.exponential(size=120)),
            "lognormal": rng.normal(size=120),
            "loglogistic": rng.logistic(size=120),
        }[distribution]
        time = np.exp(truth[0] + truth[1] * x[:, 0] + np.exp(truth[2]) * residual)
        end = rng.exponential(6.0, 120)
        model = fitted(x, (np.minimum(time, end), time <= end), distribution=distribution)
        low, high = model.summary().limits[0].T
        covered += (low <= truth) & (truth <= high)
    # 95 %, within what 300 samples tell and the error of the normal approximation.
    assert (np.abs(covered / 300 - 0.95) < 0.045).all()


def test_a_penalised_fit_has_no_tests():
    rng = np.random.default_rng(0)
    X, time = rng.normal(size=(50, 1)), rng.exponential(size=50)
    found = AFTRegressor(penalty=1.0).fit(X, (time, time > 0)).summary()
    assert "coefficients are drawn to 0: fit with penalty=0 for errors and tests" in str(found)
    assert found.to_frame().columns.tolist() == ["coefficient", "exp_coefficient"]
    few = np.arange(50) < 5  # whose events are never seen
    with pytest.warns(ConvergenceWarning):
        apart = AFTRegressor().fit(few[:, None] * 1.0, (time, (X[:, 0] < 0.5) & ~few)).summary()
    assert "the likelihood has no maximum: there are no errors and tests" in str(apart)
    assert "p" not in apart.to_frame()


def test_the_summary_is_a_table_of_tests():
    data = load_larynx()
    model = fitted(data[["age"]], (data["time"], data["death"]))
    frame = model.summary().to_frame()
    assert frame.index.tolist() == ["intercept", "age", "log(scale)"]
    assert frame.columns.tolist() == [
        "coefficient",
        "standard_error",
        "lower",
        "upper",
        "z",
        "p",
        "exp_coefficient",
        "exp_lower",
        "exp_upper",
    ]
    row = frame.loc["age"]
    assert row["coefficient"] == model.coef_[0]
    assert row["standard_error"] == model.standard_errors_[1]
    assert row["z"] == pytest.approx(row["coefficient"] / row["standard_error"])
    assert row["p"] == pytest.approx(2 * norm.sf(abs(row["z"])))
    assert row["upper"] - row["coefficient"] == pytest.approx(1.959964 * row["standard_error"])
    assert frame.loc["log(scale)", "exp_coefficient"] == pytest.approx(model.scale_)
    assert row["exp_upper"] == pytest.approx(np.exp(row["upper"]))
    text = str(model.summary()).splitlines()
    assert text[0] == (
        "AFTRegressor, distribution weibull: 90 rows, 50 events, log-likelihood "
        f"{model.log_likelihood_:.7g}"
    )
    assert text[1] == (
        "exp(coef) is the factor by which one unit multiplies times, with 95 % limits"
    )
    headings = ["coef", "std. error", "z", "p", "exp(coef)", "lower", "upper"]
    assert re.split(r"(?<!std\.)\s+", text[3].strip()) == headings
    shown = model.summary()._repr_html_()
    cells = re.findall(r"<td>(.*?)</td>", shown)
    numbers = frame.drop(columns=["lower", "upper"])
    np.testing.assert_allclose(
        np.reshape(np.array(cells, float), (3, 7)), numbers, rtol=5e-3, atol=5e-3
    )


# survreg(Surv(time, status) ~ age + sex + ph.ecog, lung), with cluster(inst), with robust = TRUE
R_ERRORS = {
    "weibull": (
        [0.4549329854495, 0.0067879787743, 0.1245136147932, 0.0843644448954, 0.0614796940402],
        [0.3908230058400, 0.0052057048070, 0.0964827066644, 0.0886784226427, 0.0566869328445],
        [0.4724501302729, 0.0073592798864, 0.1207283286810, 0.0884170761275, 0.0664624513436],
    ),
    "lognormal": (
        [0.5835460726302, 0.0083419262857, 0.1531856707748, 0.1039219456025, 0.0561353454810],
        [0.5498262151334, 0.0082805124682, 0.1037672217467, 0.1126133958061, 0.0794353643528],
        [0.5449758884700, 0.0088245708401, 0.1491782948443, 0.1106571855500, 0.0831150531480],
    ),
    "exponential": (
        [0.6200877075559, 0.0091725181269, 0.1674680542087, 0.1133760814098],
        [0.4738256896356, 0.0062587751284, 0.1110996233917, 0.0850896510470],
        [0.5303600867359, 0.0081392648333, 0.1377462691707, 0.0966338047931],
    ),
}


@pytest.mark.parametrize("distribution", R_ERRORS)
def test_robust_errors_are_those_of_survreg(distribution):
    data = load_lung()[["time", "status", "age", "sex", "ph.ecog", "inst"]].dropna()
    X, y = data[["age", "sex", "ph.ecog"]], (data["time"], data["status"])
    for groups, expected in zip(
        (None, data["inst"], np.arange(len(X))), R_ERRORS[distribution], strict=True
    ):
        model = AFTRegressor(distribution=distribution).fit(X, y, groups=groups)
        np.testing.assert_allclose(model.standard_errors_, expected, rtol=1e-6)
        robust = [line for line in str(model.summary()).splitlines() if "robust" in line]
        assert len(robust) == (groups is not None)


def test_the_joint_test_is_wald_s():
    # b %*% solve(V, b) of factor(ph.ecog) in survreg(..., dist = "lognormal")
    data = load_lung()[["time", "status", "age", "sex", "ph.ecog", "inst"]].dropna()
    X = data[["age", "sex"]].assign(**{f"e{k}": data["ph.ecog"] == k for k in (1, 2, 3)})
    model = fitted(X.astype(float), (data["time"], data["status"]), distribution="lognormal")
    test = model.summary().joint_test(["e1", "e2", "e3"])
    np.testing.assert_allclose(test.statistics, 13.927403118315, rtol=1e-5)
    assert test.degrees_of_freedom.tolist() == [3]
    np.testing.assert_allclose(test.p_values, [0.0030], atol=5e-5)


def test_names_of_features_are_escaped_in_html():
    data = load_larynx()
    X = data[["age"]].rename(columns={"age": "age<60>"})
    shown = fitted(X, (data["time"], data["death"])).summary()._repr_html_()
    assert "age&lt;60&gt;" in shown
    assert "<60>" not in shown


def test_the_exponential_has_no_row_for_the_scale_and_a_penalty_is_named():
    data = load_larynx()
    model = fitted(
        data[["age"]], (data["time"], data["death"]), distribution="exponential", penalty=0.25
    )
    summary = model.summary()
    assert summary.terms == ("intercept", "age")
    assert summary.title.startswith("AFTRegressor, distribution exponential, penalty 0.25: 90 rows")
