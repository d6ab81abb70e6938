"""Standard errors, hazard ratios and tests of Cox models, beside R's coxph and cox.zph (3.5-3)."""

import re
import warnings

import numpy as np
import pytest
from lifelines.datasets import load_larynx, load_lung
from scipy.stats import norm

import censquant
from censquant import CoxQuantileRegressor, Surv
from censquant.estimators._cox_likelihood import PartialLikelihood
from censquant.estimators._cox_precision import RiskSets
from censquant.exceptions import IdentifiabilityWarning

LUNG = load_lung()[["time", "status", "age", "sex", "ph.ecog", "inst"]].dropna()
X, Y = LUNG[["age", "sex", "ph.ecog"]], (LUNG["time"], LUNG["status"])
WEIGHT = 0.5 + (np.arange(1, len(X) + 1) % 5) / 4
TIES = ("efron", "breslow")

# coxph(Surv(time, status) ~ age + sex + ph.ecog, lung, ties = ...): se, with cluster(inst), with
# robust = TRUE, with weights = .5 + (1:226 %% 5) / 4 and robust = TRUE; loglik; zph by transform.
R = {
    "efron": {
        "errors": [0.0092621054052136, 0.1680710308754, 0.1142904021600],
        "clusters": [0.0068887270586607, 0.1122866799254, 0.1176159532549],
        "rows": [0.0098577313423512, 0.1657602176372, 0.1261923883096],
        "weights": [0.01059989946886, 0.1756193803177, 0.1261879457496],
        "log_likelihoods": [-739.37498368516, -724.11925311848],
        "km": [0.24360931355698, 2.47547956720629, 2.35304562031947, 4.97474438217380],
        "identity": [0.19025714116388, 2.65506186829206, 1.82581031971648, 4.55336802764188],
        "log": [3.5253572410630, 2.1748663111984, 0.4835418908496, 5.7573215225386],
        "rank": [0.16505447194965, 2.23129475543287, 2.94391997104541, 5.34167070517547],
    },
    "breslow": {
        "errors": [0.0092615200544059, 0.1680742576968, 0.1142860181228],
        "clusters": [0.0068675111646007, 0.1119982011606, 0.1171232688920],
        "rows": [0.0098375934245287, 0.1654885851084, 0.1259851541742],
        "weights": [0.010579652188887, 0.1752975473300, 0.1259369098485],
        "log_likelihoods": [-739.58825790222, -724.38086075725],
        "km": [0.24368458227831, 2.46653647965913, 2.34986435923973, 4.96036792396724],
        "identity": [0.18998592350325, 2.64714183506608, 1.82424076876526, 4.54225987477899],
        "log": [3.51039153538162, 2.16432516510848, 0.48281048929938, 5.72629492655079],
        "rank": [0.1655177721448, 2.2222088318028, 2.9397066044637, 5.3260198162776],
    },
}


def fitted(ties="efron", X=X, y=Y, sample_weight=None, groups=None, **parameters):
    model = CoxQuantileRegressor(**{"penalty": 0, "ties": ties, "random_state": 0, **parameters})
    return model.fit(X, y, sample_weight, groups)


@pytest.mark.parametrize("ties", TIES)
def test_errors_are_those_of_coxph(ties):
    for name, sample_weight, groups in (
        ("errors", None, None),
        ("clusters", None, LUNG["inst"]),
        ("rows", None, np.arange(len(X))),
        ("weights", WEIGHT, None),
    ):
        model = fitted(ties, sample_weight=sample_weight, groups=groups)
        np.testing.assert_allclose(model.standard_errors_, R[ties][name], rtol=1e-6, err_msg=name)


def test_published_errors_of_the_larynx_data():
    """Klein and Moeschberger (2003), example 8.3, by Breslow's ties."""
    data = load_larynx()
    X = data[["Stage_II", "Stage_III", "Stage_IV", "age"]]
    model = fitted("breslow", X, (data["time"], data["death"]))
    expected = [0.462306, 0.356080, 0.422208, 0.014251]
    np.testing.assert_allclose(model.standard_errors_, expected, atol=6e-7)
    test = model.summary().joint_test(["Stage_II", "Stage_III", "Stage_IV"])
    assert test.degrees_of_freedom.tolist() == [3]


def test_published_errors_of_the_leukaemia_trial_of_maintenance():
    """Miller (1997), as in R's survival::aml: .90422 with the error .51225."""
    time = [9, 13, 13, 18, 23, 28, 31, 34, 45, 48, 161, 5, 5, 8, 8, 12, 16, 23, 27, 30, 33, 43, 45]
    event = [1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1]
    model = fitted("breslow", np.repeat([[0.0], [1.0]], [11, 12], axis=0), (time, event))
    np.testing.assert_allclose(model.coef_, [0.90422], atol=6e-6)
    np.testing.assert_allclose(model.standard_errors_, [0.51225], atol=6e-6)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("time_scale", ["km", "identity", "log", "rank"])
def test_tests_of_proportional_hazards_are_those_of_cox_zph(ties, time_scale):
    tests = fitted(ties).test_proportional_hazards(X, Y, time_scale=time_scale)
    np.testing.assert_allclose(tests.statistics, R[ties][time_scale], rtol=1e-6)
    assert tests.names == ("age", "sex", "ph.ecog", "all")
    assert tests.degrees_of_freedom.tolist() == [1, 1, 1, 3]


def test_hazards_that_cross_are_found_and_proportional_ones_are_not():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 800).astype(float)
    for shape, found in ((np.where(x == 1, 2.0, 0.7), True), (1.3, False)):
        life, end = rng.weibull(shape), rng.uniform(0.5, 3.0, 800)
        y = np.minimum(life, end), life <= end
        tests = fitted(X=x[:, None], y=y).test_proportional_hazards(x[:, None], y)
        assert (tests.p_values[0] < 1e-4) == found


@pytest.mark.parametrize("ties", TIES)
def test_sums_over_risk_sets_are_the_derivatives_of_the_likelihood(ties):
    rng = np.random.default_rng(1)
    z, weight = rng.normal(size=(60, 3)), rng.uniform(0.5, 2.0, 60)
    time, event = np.sort(rng.integers(1, 12, 60))[::-1].astype(float), rng.uniform(size=60) < 0.7
    beta = np.array([0.4, -0.2, 0.1])
    likelihood = PartialLikelihood(z, time, event, weight, ties)
    sets = RiskSets(z, time, None, event, weight, z @ beta, ties == "efron")
    assert sets.log_likelihood() == pytest.approx(likelihood.value(beta))
    gradient, hessian = likelihood.derivatives(beta)
    np.testing.assert_allclose(sets.score(), gradient, atol=1e-9)
    np.testing.assert_allclose(sets.information(), -hessian, rtol=1e-9)
    np.testing.assert_allclose(sets.residuals().sum(axis=0), gradient, atol=1e-9)


@pytest.mark.parametrize("ties", TIES)
def test_entries_leave_rows_out_of_the_risk_sets_before(ties):
    rng = np.random.default_rng(2)
    z, time = rng.normal(size=(40, 2)), rng.integers(2, 9, 40).astype(float)
    event, entry = rng.uniform(size=40) < 0.8, np.floor(time * rng.uniform(0, 0.9, 40))
    eta, efron = z @ [0.5, -0.3], ties == "efron"
    sets = RiskSets(z, time, entry, event, np.ones(40), eta, efron)
    value, score, information = 0.0, np.zeros(2), np.zeros((2, 2))
    for now in np.unique(time[event]):
        own = event & (time == now)
        there = (entry < now) & (time >= now)
        for part in range(own.sum()):
            risk = np.exp(eta) * (there - (part / own.sum() * own if efron else 0.0))
            mean = risk @ z / risk.sum()
            value -= np.log(risk.sum())
            score -= mean
            information += (z - mean).T @ ((z - mean) * risk[:, None]) / risk.sum()
        value, score = value + eta[own].sum(), score + z[own].sum(axis=0)
    n = event.sum()
    assert sets.log_likelihood() == pytest.approx(value)
    np.testing.assert_allclose(sets.score(), score, atol=1e-9)
    np.testing.assert_allclose(sets.information(), information, rtol=1e-9)
    np.testing.assert_allclose(sets.residuals().sum(axis=0), score, atol=1e-9)
    assert n > 20


def test_errors_are_the_spread_over_repeated_samples():
    rng, found, errors = np.random.default_rng(3), [], []
    for _ in range(150):
        x = rng.normal(size=(200, 2))
        life, end = rng.exponential(np.exp(-x @ [0.6, 0.0])), rng.exponential(2.0, 200)
        model = fitted(X=x, y=(np.minimum(life, end), life <= end))
        found.append(model.coef_)
        errors.append(model.standard_errors_)
    np.testing.assert_allclose(np.mean(errors, axis=0) / np.std(found, axis=0), 1.0, atol=0.15)


def test_the_summary_has_hazard_ratios_with_limits_and_tests():
    model = fitted()
    frame = model.summary().to_frame()
    row = frame.loc["sex"]
    # summary(coxph)$coef and $conf.int
    expected = {
        "coefficient": -0.556593413976612,
        "standard_error": 0.1680710308754017,
        "z": -3.3116558581070,
        "p": 9.2745561014801e-04,
        "exp_coefficient": 0.57315825482051,
        "exp_lower": 0.41229895190685,
        "exp_upper": 0.79677715296041,
    }
    np.testing.assert_allclose(row[list(expected)], list(expected.values()), rtol=1e-6)
    assert row["p"] == pytest.approx(2 * norm.sf(abs(row["z"])))
    text = str(model.summary()).splitlines()
    assert text[:3] == [
        "CoxQuantileRegressor, ties efron: 226 rows, 163 events, partial log-likelihood -724.1193",
        "likelihood-ratio test: chi-squared 30.51, df 3, p = 1.08e-06",
        "exp(coef) is the factor by which one unit multiplies the hazard, with 95 % limits",
    ]
    assert "<th>sex</th>" in model.summary()._repr_html_()
    for ties in TIES:
        np.testing.assert_allclose(fitted(ties)._log_likelihoods, R[ties]["log_likelihoods"])


def test_robust_errors_are_named_and_have_wald_s_test():
    text = str(fitted(groups=LUNG["inst"]).summary()).splitlines()
    assert text[1].startswith("Wald test: chi-squared ")
    assert text[3] == "standard errors are robust, of 18 independent groups"
    text = str(fitted(sample_weight=WEIGHT).summary()).splitlines()
    assert text[3] == "standard errors are robust, of 226 independent rows"


def test_weights_that_count_rows_have_the_errors_of_repeated_rows():
    counts = 1 + np.arange(len(X)) % 3
    weighted = fitted(sample_weight=counts)
    repeated = fitted(X=X.loc[X.index.repeat(counts)], y=tuple(np.repeat(y, counts) for y in Y))
    np.testing.assert_array_equal(weighted.standard_errors_, repeated.standard_errors_)
    # Copies of a row in one group say nothing new.
    groups = np.arange(len(X))
    doubled = fitted(sample_weight=np.full(len(X), 2), groups=groups, ties="breslow")
    single = fitted(groups=groups, ties="breslow")
    np.testing.assert_allclose(doubled.standard_errors_, single.standard_errors_, rtol=1e-7)


def test_a_penalty_leaves_no_errors_and_no_tests():
    model = fitted(penalty=0.1)
    assert model.covariance_ is None
    assert model.standard_errors_ is None
    assert "drawn to 0: fit with penalty=0 for errors and tests" in str(model.summary())
    assert model.summary().to_frame().columns.tolist() == ["coefficient", "exp_coefficient"]
    message = (
        "penalty must be 0 for a test of proportional hazards, since a penalty draws coefficients "
        "to 0, got 0.1: fit again with penalty=0."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        model.test_proportional_hazards(X, Y)
    message = "joint_test needs the covariance of the coefficients, got a summary without: fit "
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        model.summary().joint_test("age")


def test_groups_change_no_prediction():
    plain, grouped = fitted(), fitted(groups=LUNG["inst"])
    np.testing.assert_array_equal(plain.coef_, grouped.coef_)
    np.testing.assert_array_equal(plain.predict(X[:9]), grouped.predict(X[:9]))


def test_constant_and_collinear_features_have_no_errors():
    wide = X.assign(one=1.0, double=2.0 * X["age"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fitted(X=wide)
    unknown = np.isnan(model.standard_errors_)
    assert unknown.tolist() == [True, False, False, True, True]
    np.testing.assert_allclose(model.standard_errors_[1:3], R["efron"]["errors"][1:], rtol=1e-6)
    with pytest.warns(IdentifiabilityWarning):
        tests = fitted(X=X.assign(double=2.0 * X["age"])).test_proportional_hazards(
            X.assign(double=2.0 * X["age"]), Y
        )
    assert tests.degrees_of_freedom.tolist() == [0, 1, 1, 0, 2]


def test_a_test_of_other_rows_is_refused():
    message = (
        "X, y and sample_weight must be the rows of the fit, whose coefficients are the most "
        "likely ones, got others."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        fitted().test_proportional_hazards(X[:100], tuple(y[:100] for y in Y))
    message = "time_scale must be one of 'km', 'identity', 'log', 'rank', got 'sqrt'."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        fitted().test_proportional_hazards(X, Y, time_scale="sqrt")
    shifted = (Y[0] - Y[0].min(), Y[1])
    message = "time_scale='log' needs positive times of events, got a minimum of 0: use 'km'."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        fitted(y=shifted).test_proportional_hazards(X, shifted, time_scale="log")


def test_a_term_that_does_not_exist_is_refused():
    message = "terms must be among 'age', 'sex', 'ph.ecog', got 'weight'."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        fitted().summary().joint_test(["age", "weight"])
    with pytest.raises(ValueError, match=re.escape("terms must name at least one, got none.")):
        fitted().summary().joint_test([])


def test_a_file_holds_the_summary(tmp_path):
    for model in (fitted(groups=LUNG["inst"]), fitted(penalty=0.1)):
        model.save(tmp_path / "model")
        twin = censquant.load_model(tmp_path / "model")
        assert str(twin.summary()) == str(model.summary())


def test_members_of_an_ensemble_keep_nothing_of_it():
    model = CoxQuantileRegressor(penalty=0)
    model._stands_alone = False
    assert "std. error" not in str(model.fit(X, Y).summary())
    assert model.covariance_ is None


def test_late_entries_have_the_errors_and_tests_of_coxph():
    # coxph(Surv(entry, time, status) ~ sex), entry = (1:228 * 37) %% 150: by Breslow's ties with
    # cox.zph, and by Efron's with robust = TRUE
    lung = load_lung()
    lung = lung.assign(entry=np.arange(1, 229) * 37 % 150)
    lung = lung[lung["time"] > lung["entry"]]
    X, y = lung[["sex"]], Surv.from_arrays(lung["status"] == 1, lung["time"], entry=lung["entry"])
    model = fitted("breslow", X, y)
    np.testing.assert_allclose(model.coef_, [-0.501731610179], rtol=1e-6)
    np.testing.assert_allclose(model.standard_errors_, [0.179200063289], rtol=1e-6)
    tests = model.test_proportional_hazards(X, y)
    np.testing.assert_allclose(tests.statistics, 2.86207053464, rtol=1e-6)
    robust = fitted("efron", X, y, groups=np.arange(len(X)))
    np.testing.assert_allclose(robust.standard_errors_, [0.172025169398], rtol=1e-6)
