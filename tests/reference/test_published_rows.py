"""Values that books and other programs print for rows with intervals or delayed entry."""

import numpy as np
import pytest

from censquant import AFTRegressor, Surv
from censquant.exceptions import ConstantFeatureWarning
from censquant.survival import turnbull

INF = np.inf

# Months until a cosmetic deterioration after radiotherapy, without and with chemotherapy: between
# two visits (Klein and Moeschberger 2003, Survival analysis, section 1.18).
RADIOTHERAPY = """
    0-5 0-7 0-8 4-11 5-11 5-12 6-10 7-14 7-16 11-15 11-18 15- 17-25 17-25 17- 18-26 18- 19-35 22-
    24- 24- 25-37 26-40 27-34 32- 33- 34- 36-44 36-48 36- 36- 37-44 37- 37- 37- 38- 40- 45- 46- 46-
    46- 46- 46- 46- 46- 46-
"""
WITH_CHEMOTHERAPY = """
    0-5 0-22 4-8 4-9 5-8 8-12 8-21 10-17 10-35 11-13 11-17 11-20 11- 11- 12-20 13-39 13- 13- 13-
    14-17 14-19 15-22 16-20 16-24 16-24 16-60 17-23 17-26 17-27 18-24 18-25 19-32 21- 22-32 23-
    24-30 24-31 30-34 30-36 31- 32- 33-40 34-34 34- 34- 35-39 35- 44-48 48-48
"""
# Months of age at which men of 68 years or more entered the home Channing House and died there, or
# (+) were last seen (the same book, section 1.16).
CHANNING_MEN = """
    1020-1128 856-969 915-957 863-983 906-1012 955-1055 943-1025 943-1043 837-945 966-1009 936-971
    919-1033 852-869 1073-1139 925-1036 967-1085 969-1001+ 923-1060+ 865-1002+ 953-1031+ 871-945+
    982-1006+ 883-959+ 817-843+ 875-1012+ 821-956+ 936-1073+ 971-1107+ 830-940+ 885-911+ 894-1031+
    893-996+ 866-895+ 878-1015+ 820-957+ 1007-1043+ 879-1016+ 956-1093+ 854-989 890-1027+
    1041-1044+ 978-1005+ 836-973+ 938-1064+ 886-1023+ 876-1013+ 955-977+ 823-960+ 960-1047+
    843-943+ 856-951+ 847-984+ 1027-1058+ 988-1045+ 978-1018+ 981-1118+ 926-970+ 1036-1070+
    1016-1153+ 969-1106+ 900-936+ 898-906+ 846-866+ 964-1029 984-1053 1046-1080 871-872 847-893
    962-966+ 853-894 967-985 1063-1094 856-927 865-948 1051-1059 1010-1012 878-911 1021-1094
    959-972+ 921-993 836-876 919-993 906-966 835-907 946-1031 909-914+ 962-998 984-1022 891-932
    835-898 1039-1060 1010-1044
"""


def intervals(text):
    bounds = [word.split("-") for word in text.split()]
    return Surv.from_intervals(
        [float(low) for low, _ in bounds], [float(high or INF) for _, high in bounds]
    )


def channing():
    ages = [word.removesuffix("+").split("-") for word in CHANNING_MEN.split()]
    entry, age = np.array(ages, dtype=float).T
    died = [not word.endswith("+") for word in CHANNING_MEN.split()]
    return Surv.from_arrays(died, age, entry=entry)


def test_turnbulls_own_example():
    # JASA 1974, pages 169 to 173; digits of R's survival, tests/turnbull.R
    time, status = np.repeat([1.0, 2.0, 3.0, 4.0], 3), np.tile([1, 0, 2], 4)
    count = [12, 3, 2, 6, 2, 4, 2, 0, 2, 3, 3, 5]
    y = Surv.from_intervals(np.where(status == 2, 0, time), np.where(status == 0, INF, time))
    curve = turnbull(y, count)
    np.testing.assert_allclose(
        curve([1.0, 2.0, 3.0, 4.0]), [0.5375677, 0.2945940, 0.2097602, 0.0948458], atol=2e-7
    )


@pytest.mark.parametrize(
    ("text", "median", "times", "shares"),
    [
        # R 4.2.2, survival 3.5-3, survfit of an interval2: the middle of an interval is its time,
        # 39.0 and 19.5 are the printed medians, and its search ends at a change of 1e-4.
        (
            RADIOTHERAPY,
            39.0,
            [5, 7, 8, 12, 25, 34, 40],
            [0.95366, 0.92027, 0.83162, 0.76088, 0.66823, 0.58642, 0.46586],
        ),
        (
            WITH_CHEMOTHERAPY,
            19.5,
            [5, 8, 12, 17, 19, 20, 25, 34, 36],
            [0.95758, 0.91516, 0.84781, 0.70275, 0.58754, 0.45998, 0.33021, 0.22916, 0.10762],
        ),
    ],
)
def test_cosmetic_deterioration_of_breasts(text, median, times, shares):
    curve = turnbull(intervals(text))
    assert curve.quantile([0.5]).mean() == median
    np.testing.assert_allclose(curve(times), shares, atol=2e-3)


def test_residents_of_channing_house():
    # R 4.2.2, survival 3.5-3, survfit(Surv(ageentry, age, death) ~ 1)
    curve = turnbull(channing())
    np.testing.assert_array_equal(curve.quantile([0.25, 0.5, 0.75])[:, 1], [911, 1009, 1060])
    shares = [1, 0.7906461645, 0.6618482609, 0.5052982019, 0.3208435673, 0.1516715045]
    np.testing.assert_allclose(curve([850, 900, 950, 1000, 1050, 1100]), shares, atol=1e-9)


# R 4.2.2, survival 3.5-3, survreg(Surv(lower, upper, type="interval2") ~ treat): intercept, effect,
# logarithm of the scale, log-likelihood; and standard errors of the first three.
SURVREG = {
    "weibull": (
        [4.4536339666, -0.5664019216, -0.5175873743, -149.7569738719],
        [0.2876206519, 0.1677914808, 0.1172473818],
    ),
    "lognormal": (
        [3.9524383961, -0.4157675392, -0.1518109470, -154.2809687657],
        [0.3235621217, 0.1967720446, 0.1068225183],
    ),
    "loglogistic": (
        [4.0796127559, -0.4767338807, -0.7208340108, -153.1824556566],
        [0.3174938873, 0.1895419070, 0.1181567668],
    ),
}


@pytest.mark.parametrize("distribution", SURVREG)
def test_cosmetic_deterioration_by_accelerated_failure_times(distribution):
    groups = [intervals(RADIOTHERAPY), intervals(WITH_CHEMOTHERAPY)]
    treatment = np.repeat([1.0, 2.0], [len(group) for group in groups])
    model = AFTRegressor(distribution=distribution)
    model.fit(treatment[:, None], np.concatenate(groups))
    estimates, errors = SURVREG[distribution]
    found = [model.intercept_, *model.coef_, np.log(model.scale_), model.log_likelihood_]
    np.testing.assert_allclose(found, estimates, rtol=1e-7)
    np.testing.assert_allclose(model.standard_errors_, errors, rtol=1e-5)


def test_cracks_of_turbines():
    # An example of SAS RELIABILITY from Nelson 1982, Applied life data analysis; the digits are of
    # R 4.2.2, survival 3.5-3, survreg
    days = [186, 606, 902, 1077, 1209, 1377, 1592, 1932]
    count = [5, 16, 12, 18, 18, 2, 6, 17, 73]
    y = Surv.from_intervals([0, *days], [*days, INF])
    nothing = np.ones((9, 1))
    with pytest.warns(ConstantFeatureWarning):
        model = AFTRegressor().fit(nothing, y, sample_weight=count)
    assert np.exp(model.intercept_) == pytest.approx(2182.004139965, rel=1e-7)
    assert 1.0 / model.scale_ == pytest.approx(1.484767544, rel=1e-7)
    shares = [0.01, 0.05, 0.1, 0.2, 0.5, 0.8]
    printed = [98.4718276, 295.1708797, 479.3173666, 794.5535076, 1704.7101505, 3006.4357249]
    found = model.predict_quantiles(nothing[:1], shares, beyond="extrapolate")
    np.testing.assert_allclose(found[0, :5], printed[:5], rtol=1e-6)
