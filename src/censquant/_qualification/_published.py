"""Values that others have published, computed again: each with its source, as it is printed there.

The rows are those of the publications, a file each in ``data/``.
"""

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from censquant._qualification._checks import Section, printed
from censquant._typing import Floats
from censquant.estimators import AFTRegressor, CoxQuantileRegressor, LinearQuantileRegressor
from censquant.metrics import concordance_index
from censquant.survival import (
    AalenJohansen,
    KaplanMeier,
    Surv,
    aalen_johansen,
    kaplan_meier,
    log_rank_test,
    turnbull,
)

PUBLISHED = Section("published", "Published values")

R = "R 4.2.2, survival 3.5-3"
KM = "Klein and Moeschberger (2003)"
CAMIS = "CAMIS (PSI and PHUSE), where SAS and R agree"
DATA = {
    "aml": "Maintained remission of acute myelogenous leukaemia: Miller (1997), Survival "
    "Analysis, page 49; weeks",
    "breast": "Breast retraction after radiotherapy, seen at visits: Beadle et al. (1984), in "
    "Klein and Moeschberger (2003), section 1.18; months",
    "channing": "Residents of a retirement home, months of age at entry and exit: Hyde (1980), "
    "in Klein and Moeschberger (2003), section 1.16",
    "larynx": "Death from cancer of the larynx: Kardaun (1983), in Klein and Moeschberger (2003), "
    "section 1.8; years",
    "leukemia": "Remission of leukaemia with 6-MP or placebo: Freireich et al. (1963), Blood 21; "
    "weeks, in pairs",
    "lung": "Advanced lung cancer: Loprinzi et al. (1994), Journal of Clinical Oncology 12; days",
    "marrow": "Bone marrow transplants: Copelan et al. (1991), in Klein and Moeschberger (2003), "
    "section 1.3; days, 1 relapse, 2 death before it",
    "motorettes": "Insulation of motorettes at four temperatures: Nelson and Hahn (1972), "
    "Technometrics 14; hours",
    "ovarian": "Trial of ovarian cancer: Edmonson et al. (1979), Cancer Treatment Reports 63; days",
    "stackloss": "Oxidation of ammonia: Brownlee (1965), Statistical Theory and Methodology",
}
"""What the rows are, by the name of the file."""


@cache
def rows(name: str) -> dict[str, Floats]:
    """Return the columns of a data set; a cell that is empty is NaN."""
    text = (files("censquant._qualification") / "data" / f"{name}.csv").read_text(encoding="utf-8")
    header, *lines = text.splitlines()
    cells = [[float(cell) if cell else np.nan for cell in line.split(",")] for line in lines]
    return dict(zip(header.split(","), np.array(cells).T, strict=True))


def table(name: str, *features: str) -> tuple[Floats, tuple[Floats, Floats]]:
    """Return features, and time and event, of the rows that have all of them."""
    columns = rows(name)
    time, event = list(columns)[:2]
    x = np.column_stack([columns[feature] for feature in features])
    whole = ~np.isnan(x).any(axis=1)
    return x[whole], (columns[time][whole], columns[event][whole] == 1)


def curve(name: str, **where: float) -> KaplanMeier:
    """Return the Kaplan-Meier curve of some of the rows."""
    columns = rows(name)
    time, event = list(columns)[:2]
    kept = np.logical_and.reduce([columns[key] == value for key, value in where.items()])
    kept = np.broadcast_to(kept, columns[time].shape)
    return kaplan_meier(columns[time][kept], columns[event][kept] == 1)


# Kaplan-Meier curves

check: Callable[..., Any] = PUBLISHED.check
WEEKS = [6.0, 7.0, 10.0, 13.0, 16.0, 22.0, 23.0]


@check(
    "KM-1",
    "R2",
    "6-MP: share still in remission after 6, 7, 10, 13, 16, 22 and 23 weeks",
    f"{KM}, example 4.1, to three decimals; {R}: survfit",
    printed(".857143 .806723 .752941 .690196 .627451 .537815 .448179"),
)
def _() -> Any:
    return curve("leukemia", placebo=0)(WEEKS)


@check(
    "KM-2",
    "R2",
    "6-MP: Greenwood's standard errors of these shares",
    f"{KM}, example 4.1, to three decimals; {R}: survfit",
    printed(".076360 .086935 .096350 .106815 .114054 .128234 .134591"),
)
def _() -> Any:
    return curve("leukemia", placebo=0).standard_error(WEEKS)


@check(
    "KM-3",
    "R2",
    "Weeks of remission, 6-MP: lower quartile, median and upper quartile, which is not reached; "
    "placebo: median",
    f"{KM}, example 4.1; {R}: quantile(survfit)",
    printed("13 23 inf 8"),
)
def _() -> Any:
    placebo = curve("leukemia", placebo=1).quantile([0.5])
    return [*curve("leukemia", placebo=0).quantile([0.25, 0.5, 0.75]), *placebo]


@check(
    "KM-4",
    "R2",
    "6-MP: 95 % limits of lower quartile and median, plain limits of the curve",
    f'{R}: quantile(survfit(conf.type = "plain"))',
    printed("6 23 13 inf"),
)
def _() -> Any:
    low, high = curve("leukemia", placebo=0).quantile_limits([0.25, 0.5], conf_type="plain")
    return [low[0], high[0], low[1], high[1]]


def _limits_of_aml(conf_type: str) -> list[float]:
    low, high = curve("aml", maintained=1).limits([9.0, 23.0, 31.0], conf_type=conf_type)
    return [*low, *high]


@check(
    "KM-5",
    "R2",
    "Maintained remission: 95 % log limits after 9, 23 and 31 weeks, all lower ones first",
    f"{R}: survfit, its default limits",
    printed(".7541338 .3768671 .2548600 1.0000000 .9991576 .9455850"),
)
def _() -> Any:
    return _limits_of_aml("log")


@check(
    "KM-6",
    "R2",
    "The same by log-log limits, which are the default here and in SAS",
    f'{R}: survfit(conf.type = "log-log")',
    printed(".5080802 .2657520 .1673309 .9866738 .8352992 .7533998"),
)
def _() -> Any:
    return _limits_of_aml("log-log")


@check(
    "KM-7",
    "R2",
    "The same by plain limits",
    f'{R}: survfit(conf.type = "plain")',
    printed(".7392043 .3144825 .1690962 1.0000000 .9127902 .8127220"),
)
def _() -> Any:
    return _limits_of_aml("plain")


@check(
    "KM-8",
    "R2",
    "Medians of both groups in weeks, and their lower log limits",
    f"{R}: survfit, its default limits",
    printed("31 18 23 8"),
)
def _() -> Any:
    found = []
    for group in (1, 0):
        own = curve("aml", maintained=group)
        low, _ = own.quantile_limits([0.5], conf_type="log")
        found += [*own.quantile([0.5]), *low]
    return found


@check(
    "KM-9",
    "R2",
    "Ten rows, the last five censored: quartiles, of which the upper one is not reached, and the "
    "share at the last time with its log-log limits",
    f"{CAMIS}; {R}: survfit",
    printed("77 inf .5000 .183606 .753174"),
)
def _() -> Any:
    time = [54, 75, 77, 84, 87, 92, 103, 105, 112, 118]
    own = kaplan_meier(time, np.arange(10) < 5)
    low, high = own.limits([118.0])
    return [*own.quantile([0.25, 0.75]), *own([118.0]), *low, *high]


def _of_channing(woman: int) -> KaplanMeier:
    columns = rows("channing")
    kept = (columns["exit"] > columns["entry"]) & (columns["woman"] == woman)
    return kaplan_meier(
        columns["exit"][kept],
        columns["death"][kept] == 1,
        entry=columns["entry"][kept],
        start_time=68.0 * 12.0,
    )


@check(
    "KM-10",
    "R2",
    "Residents who enter at different ages and reached 68: median age in months, and shares alive "
    "at 75, men and then women",
    f"{R}: survfit(start.time = 816)",
    printed("1009 .8045311 1021 .8649333"),
)
def _() -> Any:
    men, women = _of_channing(0), _of_channing(1)
    return [men.quantile(0.5), men(900.0), women.quantile(0.5), women(900.0)]


# Comparisons of groups


@check(
    "GR-1",
    "R3",
    "6-MP and placebo: log-rank statistic, expected relapses of both",
    f"{R}: survdiff",
    printed("16.79294 19.25050 10.74950"),
)
def _() -> Any:
    data = rows("leukemia")
    test = log_rank_test(data["weeks"], data["relapse"] == 1, data["placebo"])
    return [test.statistic, *test.expected]


@check(
    "GR-2",
    "R3",
    "Maintained and non-maintained: log-rank statistic and p-value",
    f"{R}: survdiff",
    printed("3.396389 .06533932"),
)
def _() -> Any:
    data = rows("aml")
    test = log_rank_test(data["weeks"], data["relapse"] == 1, data["maintained"])
    return [test.statistic, test.p_value]


@check(
    "GR-3",
    "R3",
    "Lung cancer, men and women: log-rank statistic and p-value; the statistic stratified by "
    "performance score 0, 1, 2",
    f"{R}: survdiff, survdiff(... + strata(ph.ecog))",
    printed("10.32674 .001311165 10.79506"),
)
def _() -> Any:
    data = rows("lung")
    event = data["death"] == 1
    test = log_rank_test(data["days"], event, data["sex"])
    kept = data["ecog"] < 3
    strata = log_rank_test(
        data["days"][kept], event[kept], data["sex"][kept], strata=data["ecog"][kept]
    )
    return [test.statistic, test.p_value, strata.statistic]


@check(
    "GR-4",
    "R3",
    "Lung cancer: mean days up to 365 of men and women, each with its standard error",
    f"{R}: print(survfit, rmean = 365)",
    printed("241.49509 10.35823 297.46541 10.79132"),
)
def _() -> Any:
    means = [curve("lung", sex=sex).restricted_mean(365.0) for sex in (1, 2)]
    return [number for mean in means for number in (mean.value, mean.standard_error)]


@check(
    "GR-5",
    "R3",
    "Lung cancer: difference of the mean days up to 965 with 95 % limits and p-value",
    "survRM2, as printed in an issue of survminer",
    printed("131.86 53.93 209.78 .00091"),
)
def _() -> Any:
    men, women = (curve("lung", sex=sex).restricted_mean(965.0) for sex in (1, 2))
    difference = women - men
    return [difference.value, *difference.limits(), difference.p_value]


# Cox's regression

EXACT = "Therneau and Grambsch (2000), appendix E.1: closed form"


def cox(x: Any, y: Any, ties: str) -> Any:
    """Return Cox's regression without a penalty."""
    return CoxQuantileRegressor(penalty=0.0, ties=ties).fit(x, y)


def _six_rows() -> tuple[Any, Any]:
    x = np.array([[0.0], [1.0], [1.0], [1.0], [0.0], [0.0]])
    return x, ([9.0, 1.0, 1.0, 6.0, 6.0, 8.0], [1, 1, 0, 1, 1, 0])


@check(
    "COX-1",
    "R4",
    "Six rows with ties, Breslow's rule: coefficient log((3 + sqrt(33)) / 2)",
    EXACT,
    printed("1.4752849"),
)
def _() -> Any:
    return cox(*_six_rows(), "breslow").coef_


@check(
    "COX-2",
    "R4",
    "The same, Efron's rule",
    EXACT,
    printed("1.6768575"),
)
def _() -> Any:
    return cox(*_six_rows(), "efron").coef_


def _placebo(ties: str) -> Any:
    return cox(*table("leukemia", "placebo"), ties)


@check(
    "COX-3",
    "R4",
    "Placebo against 6-MP: coefficient by Breslow's and by Efron's rule",
    f"{R}: coxph",
    printed("1.509191 1.572125"),
)
def _() -> Any:
    return [*_placebo("breslow").coef_, *_placebo("efron").coef_]


@check(
    "COX-4",
    "R4",
    "Maintained remission: coefficient by Breslow's and by Efron's rule",
    f"{R}: coxph",
    printed("-.9042197 -.9155326"),
)
def _() -> Any:
    x, y = table("aml", "maintained")
    return [*cox(x, y, "breslow").coef_, *cox(x, y, "efron").coef_]


def _larynx() -> tuple[Any, Any]:
    x, y = table("larynx", "stage", "age")
    return np.column_stack([*(x[:, 0] == stage for stage in (2, 3, 4)), x[:, 1]]), y


@check(
    "COX-5",
    "R4",
    "Cancer of the larynx, Breslow's rule: stages II, III and IV against I, and age",
    f"{KM}, example 8.3; {R}: coxph",
    printed(".1385639 .6383497 1.6930564 .0189018"),
)
def _() -> Any:
    return cox(*_larynx(), "breslow").coef_


@check(
    "COX-6",
    "R4",
    "Lung cancer, Efron's rule: age, sex and performance score of 227 patients",
    f"{R}: coxph, its default",
    printed(".01106676 -.5526124 .4637285"),
)
def _() -> Any:
    return cox(*table("lung", "age", "sex", "ecog"), "efron").coef_


@check(
    "COX-7",
    "R4",
    "Ovarian cancer, Efron's rule: age, residual disease, treatment and performance",
    f"{R}: coxph",
    printed(".1248131 .8261864 -.9144999 .3362117"),
)
def _() -> Any:
    return cox(*table("ovarian", "age", "residual", "treatment", "performance"), "efron").coef_


@check(
    "COX-8",
    "R4",
    "Cancer of the larynx, Breslow's rule: standard errors of stages II, III, IV and age",
    f"{KM}, example 8.3; {R}: coxph",
    printed(".4623055 .3560804 .4222080 .0142510"),
)
def _() -> Any:
    return cox(*_larynx(), "breslow").standard_errors_


@check(
    "COX-9",
    "R4",
    "Lung cancer, Efron's rule: standard errors of age, sex and performance score",
    f"{R}: coxph, its default",
    printed(".009267411 .1677391 .1135773"),
)
def _() -> Any:
    return cox(*table("lung", "age", "sex", "ecog"), "efron").standard_errors_


@check(
    "COX-10",
    "R4",
    "Pairs of a placebo and a 6-MP patient: robust standard error of the coefficient, Breslow's "
    "and Efron's rule",
    f"{R}: coxph(... + cluster(pair))",
    printed(".3759767 .3911362"),
)
def _() -> Any:
    x, y = table("leukemia", "placebo")
    models: Any = (CoxQuantileRegressor(penalty=0.0, ties=ties) for ties in ("breslow", "efron"))
    return [m.fit(x, y, groups=rows("leukemia")["pair"]).standard_errors_[0] for m in models]


@check(
    "COX-11",
    "R4",
    "Lung cancer: chi-squared statistics of the tests of proportional hazards of age, sex, "
    "performance score, and of all together",
    f"{R}: cox.zph",
    printed(".1879877 2.305437 2.054249 4.463658"),
)
def _() -> Any:
    x, y = table("lung", "age", "sex", "ecog")
    return cox(x, y, "efron").test_proportional_hazards(x, y).statistics


# Accelerated failure times


def aft(x: Any, y: Any, distribution: str) -> Any:
    """Return a regression by maximum likelihood."""
    return AFTRegressor(distribution=distribution).fit(x, y)


def terms(model: AFTRegressor) -> list[float]:
    """Return intercept, coefficients and scale."""
    return [model.intercept_, *model.coef_.tolist(), model.scale_]


@check(
    "AFT-1",
    "R5",
    "Cancer of the larynx, Weibull: intercept, stages II to IV, age, scale, log-likelihood",
    f"{KM}, chapter 12; {R}: survreg",
    printed("3.528760 -.147704 -.586558 -1.544076 -.017464 .884843 -141.42338"),
)
def _() -> Any:
    model = aft(*_larynx(), "weibull")
    return [*terms(model), model.log_likelihood_]


@check(
    "AFT-2",
    "R5",
    "The same: standard errors of intercept, stages, age and the logarithm of the scale",
    f"{R}: survreg",
    printed(".904123 .407568 .319950 .363266 .0127784 .122505"),
)
def _() -> Any:
    return aft(*_larynx(), "weibull").standard_errors_


@check(
    "AFT-3",
    "R5",
    "The same: years by which 10 and 50 % have died at age 60, stage I and stage IV",
    f'{R}: predict(survreg, type = "quantile")',
    printed("1.631855 8.641993 .3484158 1.845144"),
)
def _() -> Any:
    model = aft(*_larynx(), "weibull")
    wanted = np.array([[0.0, 0.0, 0.0, 60.0], [0.0, 0.0, 1.0, 60.0]])
    return model.predict_quantiles(wanted, [0.1, 0.5], beyond="extrapolate").ravel()


def _motorettes() -> Any:
    data = rows("motorettes")
    kept = data["celsius"] > 150
    x = 1000.0 / (273.2 + data["celsius"][kept])
    return aft(x[:, None], (data["hours"][kept], data["failure"][kept] == 1), "lognormal")


@check(
    "AFT-4",
    "R5",
    "Motorettes above 150 degrees, log-normal: intercept, 1000 / kelvin, scale",
    f"SAS, PROC LIFEREG, example 1; {R}: survreg",
    printed("-10.470562 8.322083 .6040346"),
)
def _() -> Any:
    return terms(_motorettes())


@check(
    "AFT-5",
    "R5",
    "The same: hours by which 10 % have failed at 150 degrees",
    "SAS, PROC LIFEREG, example 1",
    printed("4536.88"),
)
def _() -> Any:
    x = [[1000.0 / (273.2 + 150.0)]]
    return _motorettes().predict_quantiles(x, [0.1], beyond="extrapolate").ravel()


@check(
    "AFT-6",
    "R5",
    "Ovarian cancer, Weibull: acceleration factors of age, residual disease and treatment, scale, "
    "log-likelihood",
    CAMIS,
    printed(".9360 .606391 1.6739 .518052 -87.8686"),
)
def _() -> Any:
    model = aft(*table("ovarian", "age", "residual", "treatment"), "weibull")
    return [*np.exp(model.coef_), model.scale_, model.log_likelihood_]


@check(
    "AFT-7",
    "R5",
    "Lung cancer, log-normal: age, sex, performance score, scale, log-likelihood of 227 patients",
    CAMIS,
    printed("-.019182 .521953 -.355567 1.02863 -1146.88"),
)
def _() -> Any:
    model = aft(*table("lung", "age", "sex", "ecog"), "lognormal")
    return [*terms(model)[1:], model.log_likelihood_]


@check(
    "AFT-8",
    "R5",
    "The same, log-logistic: intercept, coefficients, scale, log-likelihood",
    f"{R}: survreg",
    printed("5.936687 -.008079919 .4866236 -.4046155 .5361415 -1137.4896"),
)
def _() -> Any:
    model = aft(*table("lung", "age", "sex", "ecog"), "loglogistic")
    return [*terms(model), model.log_likelihood_]


@check(
    "AFT-9",
    "R5",
    "6-MP and placebo, exponential: intercept, placebo, log-likelihood, and the closed form of the "
    "standard errors, 1 / sqrt(9) and sqrt(1 / 9 + 1 / 21)",
    f"{R}: survreg",
    printed("3.686098 -1.526614 -108.52405 .3333333 .3984095"),
)
def _() -> Any:
    model = aft(*table("leukemia", "placebo"), "exponential")
    fitted = [model.intercept_, *model.coef_, model.log_likelihood_]
    return [*fitted, *model.standard_errors_]


# Events in intervals, and of several kinds


def _visits() -> Any:
    columns = rows("breast")  # an empty end is a retraction that was never seen
    return columns["chemotherapy"], columns["low"], columns["high"]


@check(
    "IV-1",
    "R8",
    "Turnbull's rows, exact, left- and right-censored: shares after 1, 2, 3 and 4",
    "Turnbull (1974), JASA 69, to three decimals; R 4.2.2, survival 3.5-3: survfit",
    printed(".53757 .29459 .20976 .09485"),
)
def _() -> Any:
    time = np.repeat([1.0, 2.0, 3.0, 4.0], 3)
    kind = np.tile([0, 1, 2], 4)  # exact, right-censored, left-censored
    count = [12, 3, 2, 6, 2, 4, 2, 0, 2, 3, 3, 5]
    lower, upper = np.where(kind == 2, 0.0, time), np.where(kind == 1, np.inf, time)
    return turnbull(Surv.from_intervals(lower, upper), sample_weight=count)([1.0, 2.0, 3.0, 4.0])


@check(
    "IV-2",
    "R8",
    "Breast retraction between visits: months of the interval that holds the median, without "
    "and with chemotherapy",
    f"{KM}, section 1.18, the data; {R}: survfit prints the middles, 39 and 19.5",
    printed("38 40 19 20"),
)
def _() -> Any:
    chemotherapy, low, high = _visits()
    arms = (chemotherapy == 0, chemotherapy == 1)
    curves = (turnbull(Surv.from_intervals(low[own], high[own])) for own in arms)
    return np.concatenate([curve.quantile(0.5) for curve in curves])


@check(
    "IV-3",
    "R8",
    "The same, Weibull regression: intercept, chemotherapy, logarithm of the scale, "
    "log-likelihood, and the standard error of chemotherapy",
    f'{R}: survreg(Surv(type = "interval2"))',
    printed("3.887232 -.5664019 -.5175874 -149.75697 .1677915"),
)
def _() -> Any:
    chemotherapy, low, high = _visits()
    model = aft(chemotherapy[:, None], Surv.from_intervals(low, high), "weibull")
    found = [model.intercept_, *model.coef_, np.log(model.scale_), model.log_likelihood_]
    return [*found, model.standard_errors_[1]]


DAYS = [100.0, 365.0, 1000.0]


def _of_marrow() -> AalenJohansen:
    columns = rows("marrow")
    return aalen_johansen(columns["days"], columns["kind"].astype(int))


@check(
    "IV-4",
    "R8",
    "Bone marrow transplants: shares with a relapse, and with death before it, after 100, 365 and "
    "1,000 days",
    f"{KM}, section 1.3, the data; {R}: survfit with states",
    printed(".08029197 .2121655 .3086960 .09489051 .2047851 .2789403"),
)
def _() -> Any:
    columns = rows("marrow")
    return aalen_johansen(columns["days"], columns["kind"].astype(int))(
        [100.0, 365.0, 1000.0]
    ).ravel()


@check(
    "IV-5",
    "R8",
    "The same: standard errors after 100, 365 and 1,000 days",
    f"{R}: survfit with states",
    printed(".02321671 .03497763 .03963240 .02503812 .03451810 .03844648"),
)
def _() -> Any:
    return _of_marrow().standard_error(DAYS).ravel()


# Quantile regression and scores


@check(
    "QR-1",
    "R6",
    "Stack loss, nothing censored: median regression on air, water and acid",
    "quantreg, help page of rq: rq(stack.loss ~ stack.x, .5)",
    printed("-39.68985507 .83188406 .57391304 -.06086957"),
)
def _() -> Any:
    data = rows("stackloss")
    x = np.column_stack([data[name] for name in ("air", "water", "acid")])
    model = LinearQuantileRegressor([0.5]).fit(x, data["loss"])
    return [*np.ravel(model.intercept_), *np.ravel(model.coef_)]


@check(
    "QR-2",
    "R6",
    "Lung cancer, one feature that is the sex: quartile and median of both are those of the "
    "Kaplan-Meier curves",
    f"Portnoy (2003), JASA 98, who proves it; {R}: quantile(survfit)",
    printed("144 270 226 426"),
)
def _() -> Any:
    x, y = table("lung", "sex")
    model = LinearQuantileRegressor([0.25, 0.5]).fit(x, y)
    return model.predict_quantiles([[1.0], [2.0]], [0.25, 0.5]).ravel()


@check(
    "SC-1",
    "R7",
    "Lung cancer: concordance of age, and of Cox's regression on age, sex and performance score",
    f"{R}: concordance",
    printed(".5511447 .6371355"),
)
def _() -> Any:
    x, y = table("lung", "age", "sex", "ecog")
    risk = x @ cox(x, y, "breslow").coef_
    return [concordance_index(y, -x[:, 0]), concordance_index(y, -risk)]
