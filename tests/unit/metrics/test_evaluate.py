import builtins
import re

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sksurv.ensemble import RandomSurvivalForest
from sksurv.linear_model import CoxPHSurvivalAnalysis

from censquant import CQRNN, LinearQuantileRegressor
from censquant.adapters import predict_quantiles_of
from censquant.exceptions import IdentifiabilityWarning
from censquant.metrics._absolute_error import mean_absolute_error_censored
from censquant.metrics._calibration import a_calibration
from censquant.metrics._calibration_at import calibration_at
from censquant.metrics._concordance import concordance_index, concordance_index_ipcw
from censquant.metrics._distortion import Gap
from censquant.metrics._evaluate import evaluate
from censquant.metrics._evaluation import Evaluation, EvaluationRow
from censquant.metrics._intervals import bootstrap_interval
from censquant.metrics._pinball import crps_censored, pinball_loss_censored, pinball_loss_ipcw
from censquant.metrics._verdict import verdict_of
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import DEFAULT_QUANTILES
from censquant.survival import Surv
from censquant.survival._kaplan_meier import default_horizon

TAUS = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
METRICS = [
    "log_score",
    "concordance_index",
    "concordance_index_ipcw",
    "concordance_restricted_mean",
    "pinball_loss_censored",
    "pinball_loss_ipcw",
    "crps_censored",
    "integrated_brier_score",
    "mean_absolute_error_censored",
    "pit_deviation",
    "a_calibration_p_value",
]


def simulated(n, seed):
    """Uniform times on [x, x + 1] with their true quantiles."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=n)
    latent, censoring = x + rng.uniform(size=n), rng.uniform(0, 3, size=n)
    y = Surv.from_arrays(latent <= censoring, np.minimum(latent, censoring))
    return x[:, None], y, x[:, None] + TAUS


@pytest.fixture(scope="module")
def judged():
    X, y, _ = simulated(300, 0)
    X_test, y_test, _ = simulated(200, 1)
    model = LinearQuantileRegressor(TAUS).fit(X, y)
    result = evaluate(model, y, X_test, y_test, n_resamples=40, random_state=0)
    return model, y, X_test, y_test, result


def test_the_table_holds_all_metrics_with_intervals(judged):
    result = judged[-1]
    assert [row.metric for row in result.rows] == METRICS
    for row in result.rows[:-2]:
        assert row.lower <= row.value <= row.upper
        assert row.direction == ("higher" if "concordance" in row.metric else "lower")
    assert np.isnan([result[name].lower for name in METRICS[-2:]]).all()


@pytest.mark.filterwarnings("ignore::censquant.exceptions.TruncationWarning")
def test_the_scores_are_the_metrics_of_the_predictions(judged):
    model, y, X_test, y_test, result = judged
    rows = model.predict_quantiles(X_test, beyond="extrapolate")
    median, own = rows[:, 2], {"y_train": y}
    mean = QuantileCurve(rows, TAUS, 0.0).restricted_mean(default_horizon(y["time"]))
    expected = {
        "concordance_restricted_mean": concordance_index(y_test, mean),
        "concordance_index": concordance_index(y_test, median),
        "concordance_index_ipcw": concordance_index_ipcw(y_test, median, **own),
        "pinball_loss_censored": pinball_loss_censored(y_test, rows, TAUS, **own),
        "pinball_loss_ipcw": pinball_loss_ipcw(y_test, rows, TAUS, **own),
        "crps_censored": crps_censored(y_test, rows, TAUS, **own),
        "mean_absolute_error_censored": mean_absolute_error_censored(y_test, median, **own),
        "a_calibration_p_value": a_calibration(y_test, rows, TAUS).p_value,
    }
    assert {name: result[name].value for name in expected} == pytest.approx(expected, rel=1e-12)
    assert 0 < result["integrated_brier_score"].value < 0.25
    assert result.n_rows == 200
    assert result.n_events == y_test["event"].sum()


def test_all_scores_are_judged_on_the_same_draws(judged):
    model, _, X_test, y_test, result = judged
    median = model.predict_quantiles(X_test, [0.5], beyond="extrapolate")[:, 0]
    seed = int(np.random.SeedSequence(0).generate_state(1)[0])
    interval = bootstrap_interval(
        concordance_index, y_test, median, n_resamples=40, random_state=seed
    )
    row = result["concordance_index"]
    assert (row.lower, row.upper) == (interval.lower, interval.upper)


def test_a_model_predicts_its_curves_once(judged, monkeypatch):
    model, y, X_test, y_test, result = judged
    calls, curve_of = [], LinearQuantileRegressor._curve_of

    def counted(self, x):
        calls.append(len(x))
        return curve_of(self, x)

    monkeypatch.setattr(LinearQuantileRegressor, "_curve_of", counted)
    again = evaluate(model, y, X_test, y_test, n_resamples=40, random_state=0)
    assert calls == [len(X_test)]
    assert str(again) == str(result)


def test_the_identified_share_is_the_models_own(judged):
    model, _, X_test, _, result = judged
    level = model.identified_level(X_test)
    assert result.identified == (level[:, None] + 1e-12 >= TAUS).mean()


def test_quantiles_of_any_model_are_judged_as_those_of_an_estimator(judged):
    model, y, X_test, y_test, result = judged
    rows = model.predict_quantiles(X_test, beyond="extrapolate")
    options = {"taus": TAUS, "n_resamples": 40, "random_state": 0}
    again = evaluate(rows, y, None, y_test, **options)
    assert str(again).splitlines()[:-1] == str(result).splitlines()[:-1]


def test_other_levels_may_be_asked_for(judged):
    model, y, X_test, y_test, _ = judged
    result = evaluate(model, y, X_test, y_test, taus=[0.25, 0.75], n_resamples=2, random_state=0)
    rows = model.predict_quantiles(X_test, [0.25, 0.75], beyond="extrapolate")
    expected = pinball_loss_censored(y_test, rows, [0.25, 0.75], y_train=y)
    assert result["pinball_loss_censored"].value == pytest.approx(expected, rel=1e-12)


def test_a_pipeline_is_judged_as_its_last_step(judged):
    _, y, X_test, y_test, _ = judged
    X, _, _ = simulated(300, 0)
    pipeline = make_pipeline(StandardScaler(), LinearQuantileRegressor(TAUS)).fit(X, y)
    result = evaluate(pipeline, y, X_test, y_test, n_resamples=2, random_state=0)
    scaled = pipeline[0].transform(X_test)
    expected = evaluate(pipeline[1], y, scaled, y_test, n_resamples=2, random_state=0)
    assert str(result) == str(expected)


def test_verbose_shows_a_bar_on_stderr_alone(capsys):
    _, y, quantiles = simulated(60, seed=1)
    evaluate(quantiles, y, None, y, taus=TAUS, n_resamples=2)
    assert capsys.readouterr() == ("", "")
    evaluate(quantiles, y, None, y, taus=TAUS, n_resamples=2, verbose=1)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.search(r"evaluation.*(\d+)/\1 draws", " ".join(captured.err.split()))


def test_the_same_seed_gives_the_same_table():
    X, y, rows = simulated(80, 3)
    options = {"taus": TAUS, "n_resamples": 10, "random_state": 5}
    first, second = (evaluate(rows, y, X, y, **options) for _ in range(2))
    assert str(first) == str(second)


def test_without_a_model_the_share_is_read_from_the_training_follow_up():
    # Half of the rows are censored at 1, all others but one by 2: G is 1/2 and then 0.
    y = (np.array([0.5, 1.0, 1.0, 1.5, 2.0]), np.array([1, 0, 0, 1, 0]))
    rows = np.tile([0.5, 1.0, 1.5, 2.0], (5, 1))
    taus = [0.2, 0.4, 0.6, 0.8]
    assert evaluate(rows, y, None, y, taus=taus, n_resamples=20).identified == 1.0
    assert evaluate(rows + 1, y, None, y, taus=taus, n_resamples=20).identified == 0.5


def test_a_true_model_gets_a_good_verdict():
    _, y_train, _ = simulated(1000, 4)
    X, y, rows = simulated(500, 5)
    verdict = evaluate(rows, y_train, X, y, taus=TAUS, n_resamples=30, random_state=0).verdict
    assert re.fullmatch(
        r"The individuals are ranked better than chance \(concordance 0\.\d\d, 95 % "
        r"interval 0\.\d\d to 0\.\d\d\), and the predicted quantiles show no sign of "
        r"miscalibration \(p = 0\.\d+\)\. \d+ % of the predicted quantiles lie within the "
        r"follow-up of the training data\.",
        verdict,
    )


@pytest.mark.parametrize(("shift", "way"), [(-0.2, "early"), (0.2, "late")])
def test_a_miscalibrated_model_is_detected(shift, way):
    _, y_train, _ = simulated(300, 6)
    X, y, rows = simulated(300, 7)
    verdict = evaluate(
        rows + shift, y_train, X, y, taus=TAUS, n_resamples=10, random_state=0
    ).verdict
    text = (
        "but the predicted quantiles are not calibrated (p < 0.001): they are too "
        rf"{way}; by the \d+ % quantile, where they are furthest off, [\d.]+ % had the event\. "
    )
    assert re.search(text.replace("(p < 0.001)", r"\(p < 0\.001\)"), verdict)


def test_with_very_many_rows_the_size_of_the_gap_decides_and_not_the_p_value():
    # Quantiles that are shifted by two percentage points, which 40,000 rows detect.
    rng = np.random.default_rng(0)
    time, levels = rng.uniform(size=40_000), np.array(TAUS)
    off = np.tile(levels - 0.02 * 4 * levels * (1 - levels), (len(time), 1))
    result = evaluate(off, time, None, time, taus=levels, n_resamples=2)
    assert result["a_calibration_p_value"].value < 1e-6
    assert result.is_calibrated
    assert 0.01 < result["pit_deviation"].value < 0.03
    assert "and the predicted quantiles are close to calibrated: by the " in result.verdict
    assert "not calibrated" not in result.verdict
    wrong = np.tile(levels - 0.1 * 4 * levels * (1 - levels), (len(time), 1))
    result = evaluate(wrong, time, None, time, taus=levels, n_resamples=2)
    assert not result.is_calibrated
    assert "but the predicted quantiles are not calibrated (p < 0.001): " in result.verdict
    assert re.search(r"by the 50 % quantile, where they are furthest off, 39\.\d %", result.verdict)


def test_the_ranking_of_the_verdict_is_that_of_the_restricted_means():
    # The medians are in order, the means up to the horizon are not.
    share = np.random.default_rng(0).uniform(size=200)
    time, taus = 10 + share, [0.2, 0.5, 0.8]
    rows = np.column_stack([10 - 5 * share, time, time + 0.1])
    result = evaluate(rows, time, None, time, taus=taus, n_resamples=10, random_state=0)
    assert result["concordance_index"].value == 1.0
    assert result["concordance_restricted_mean"].value < 0.5
    assert result.verdict.startswith("The individuals are ranked worse than chance (concordance 0.")


WIDE = Gap(0.5, 0.6)


def line(value, lower, upper):
    return EvaluationRow("concordance_restricted_mean", value, lower, upper, "higher", "")


def test_the_verdict_on_an_order_that_may_be_chance():
    verdict = verdict_of(line(0.6, 0.4, 0.7), 0.3, WIDE, (), 60, 0.5)["verdict"]
    assert verdict == (
        "The ranking of the individuals cannot be distinguished from chance (concordance 0.60, "
        "95 % interval 0.40 to 0.70), and the predicted quantiles show no sign of miscalibration "
        "(p = 0.3). 50 % of the predicted quantiles lie within the follow-up of the training data."
    )


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (line(np.nan, np.nan, np.nan), "The ranking of the individuals could not be judged, and"),
        (line(0.3, 0.2, 0.4), "The individuals are ranked worse than chance (concordance"),
        (line(0.7, 0.6, 0.8), "The individuals are ranked better than chance (concordance"),
    ],
)
def test_the_verdict_on_the_order_follows_the_interval(row, words):
    assert verdict_of(row, 1.0, WIDE, (), 60, 1.0)["verdict"].startswith(words)


@pytest.mark.parametrize(
    ("p_value", "error", "n_events", "words"),
    [
        (0.3, (), 10, "(p = 0.3), although the test has little power with 10 events. "),
        (0.01, (), 101, "(p = 0.01): the shape of their distribution is wrong; by the 50 % "),
        (0.0, ("too early",), 50, "(p < 0.001): they are too early; by the 50 % quantile, "),
        (0.0, ("too wide", "too late"), 50, "(p < 0.001): they are too wide and too late; by "),
    ],
)
def test_the_verdict_on_calibration_follows_the_test(p_value, error, n_events, words):
    assert words in verdict_of(line(0.7, 0.6, 0.8), p_value, WIDE, error, n_events, 1.0)["verdict"]


def test_a_score_without_a_value_says_why():
    y = (np.array([1.0, 2.0, 3.0]), np.array([0, 0, 0]))
    rows = np.tile([4.0, 5.0, 6.0], (3, 1))
    train = ([1.0, 2.0, 9.0], [1, 1, 0])
    result = evaluate(rows, train, None, y, taus=[0.2, 0.5, 0.8], n_resamples=5, random_state=0)
    row = result["concordance_index"]
    assert np.isnan([row.value, row.lower, row.upper]).all()
    assert row.note == (
        "y must hold a comparable pair, an event and a row known to outlive it, got none among "
        "3 rows with 0 events."
    )
    assert result["pit_deviation"].note == (
        "every row is censored before the lowest of the predicted quantiles"
    )
    assert result.verdict.startswith("The ranking of the individuals could not be judged")


def test_what_is_truncated_stands_in_the_note():
    _, y_train, _ = simulated(200, 8)
    X, y, rows = simulated(100, 9)
    short = y_train.copy()
    late = short["time"] > 0.8
    short["time"][late], short["event"][late] = 0.8, False
    result = evaluate(rows, short, X, y, taus=TAUS, n_resamples=5, random_state=0)
    assert result["concordance_index_ipcw"].note.endswith(
        "are left out of the concordance index: the censoring curve of y_train is zero or unknown "
        "there."
    )
    assert result.identified < 0.6


def test_it_reads_as_a_table_and_a_verdict():
    rows = (
        EvaluationRow("concordance_index", 0.71234, 0.65, 0.78, "higher", "order"),
        EvaluationRow("p", 0.3, np.nan, np.nan, "higher", "calibrated"),
    )
    text = str(Evaluation(rows, 0.8, "All is well.", 200, 120))
    assert text == (
        "200 rows, 120 events\n"
        "\n"
        "metric                value         95 % interval  better  note\n"
        "concordance_index    0.7123          0.65 to 0.78  higher  order\n"
        "p                       0.3                        higher  calibrated\n"
        "\n"
        "All is well."
    )


def test_the_table_is_a_frame(judged):
    frame = judged[-1].to_frame()
    assert frame.columns.tolist() == ["metric", "value", "lower", "upper", "direction", "note"]
    assert frame["metric"].tolist() == METRICS


def test_a_frame_needs_pandas(judged, monkeypatch):
    real = builtins.__import__

    def without_pandas(name, *arguments, **options):
        if name == "pandas":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    message = 'to_frame needs pandas: install it with pip install "censquant[pandas]".'
    with pytest.raises(ImportError, match="^" + re.escape(message) + "$"):
        judged[-1].to_frame()


def test_an_unknown_metric_is_a_key_error(judged):
    names = ", ".join(map(repr, METRICS))
    with pytest.raises(KeyError, match=re.escape(f"metric must be one of {names}, got 'auc'.")):
        judged[-1]["auc"]


@pytest.mark.parametrize(
    ("model", "options", "kind", "message"),
    [
        (
            LinearRegression(),
            {},
            TypeError,
            "model_or_quantiles must predict quantiles or survival curves, or be an array of "
            "quantiles, got LinearRegression.",
        ),
        (
            [[1.0, 2.0]] * 2,
            {},
            ValueError,
            "taus must be given where model_or_quantiles is an array, one level for each column, "
            "got None.",
        ),
        (
            [[1.0, 2.0]] * 3,
            {"taus": [0.2, 0.8]},
            ValueError,
            "predicted must have one row for each row of y and one column for each of taus, "
            "shape (2, 2), got shape (3, 2).",
        ),
        (
            [[1.0], [2.0]],
            {"taus": [0.5]},
            ValueError,
            "taus must hold two levels or more, since the level of a time is read between "
            "quantiles, got 1.",
        ),
        (
            [[1.0, 2.0]] * 2,
            {"taus": [0.2, 0.8], "n_resamples": 0},
            ValueError,
            "n_resamples must be at least 2, got 0.",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(model, options, kind, message):
    with pytest.raises(kind, match="^" + re.escape(message) + "$"):
        evaluate(model, [1.0, 2.0], None, [1.0, 2.0], **options)


def foreign_models(X, y):
    """Fitted models of other libraries, each of which knows that times grow with x."""
    table = pd.DataFrame({"x": X[:, 0], "time": y["time"] + 1e-3, "event": y["event"]})
    forest = RandomSurvivalForest(n_estimators=20, min_samples_leaf=15, random_state=0)
    return {
        "scikit-survival": forest.fit(X, y),
        "pipeline": make_pipeline(StandardScaler(), clone(forest)).fit(X, y),
        "lifelines": CoxPHFitter().fit(table, "time", "event"),
    }


@pytest.mark.parametrize("name", ["scikit-survival", "pipeline", "lifelines"])
def test_models_of_other_libraries_are_judged(name):
    X, y, _ = simulated(300, 0)
    X_test, y_test, _ = simulated(200, 1)
    model = foreign_models(X, y)[name]
    result = evaluate(model, y, X_test, y_test, n_resamples=10, random_state=0)
    assert [row.metric for row in result.rows] == METRICS
    assert np.isfinite([row.value for row in result.rows]).all()
    assert result["concordance_restricted_mean"].lower > 0.6
    values = predict_quantiles_of(model, X_test, DEFAULT_QUANTILES)
    expected = pinball_loss_censored(y_test, values, DEFAULT_QUANTILES, y_train=y)
    assert result["pinball_loss_censored"].value == pytest.approx(expected, rel=1e-12)


def test_an_object_with_quantiles_needs_nothing_else():
    _, y, _ = simulated(300, 0)
    X_test, y_test, rows = simulated(200, 1)

    class Exact:
        def predict_quantiles(self, X, quantiles):
            return X + np.asarray(quantiles)

    options = {"taus": TAUS, "n_resamples": 10, "random_state": 0}
    found = evaluate(Exact(), y, X_test, y_test, **options)
    assert str(found) == str(evaluate(rows, y, None, y_test, **options))


def test_administrative_censoring_does_not_make_a_right_model_look_wrong():
    # All are censored at 1: the curves of the model end there, half of the events are unknown.
    rng = np.random.default_rng(0)
    n = 2000
    x = rng.uniform(size=(n, 1))
    latent = rng.exponential(size=n) * np.exp(x[:, 0])
    y = Surv.from_arrays(latent <= 1.0, np.minimum(latent, 1.0))
    cox = CoxPHSurvivalAnalysis().fit(x[:1000], y[:1000])
    result = evaluate(cox, y[:1000], x[1000:], y[1000:], n_resamples=5, random_state=0)
    assert result["a_calibration_p_value"].value > 0.05
    reach = 1 - np.exp(-np.exp(-x[1000:, 0]))
    expected = (np.array(DEFAULT_QUANTILES) <= reach[:, None]).mean()
    assert result.identified == pytest.approx(expected, abs=0.03)


def test_a_model_that_cannot_say_its_reach_is_judged_by_the_training_follow_up():
    y = (np.array([0.5, 1.0, 1.0, 1.5, 2.0]), np.array([1, 0, 0, 1, 0]))

    class Late:
        def predict_quantiles(self, X, quantiles):
            return np.tile(np.asarray(quantiles) * 4.0, (5, 1))

    taus = [0.2, 0.4, 0.6, 0.8]
    result = evaluate(Late(), y, np.zeros((5, 1)), y, taus=taus, n_resamples=20)
    assert result.identified == 0.5


def mirrored(y, origin):
    return Surv.from_arrays(y["event"], origin - y["time"])


def test_left_censored_times_are_judged_as_their_mirror_image():
    X, y, _ = simulated(300, 0)
    X_test, y_test, _ = simulated(200, 1)
    origin = 3.0
    left = LinearQuantileRegressor(TAUS, censoring="left").fit(X, mirrored(y, origin))
    right = LinearQuantileRegressor(TAUS).fit(X, y)
    options = {"n_resamples": 10, "random_state": 0}
    found = evaluate(left, mirrored(y, origin), X_test, mirrored(y_test, origin), **options)
    expected = evaluate(right, y, X_test, y_test, **options)
    for row, other in zip(found.rows, expected.rows, strict=True):
        assert row.value == pytest.approx(other.value, rel=1e-3)
    assert found.identified == pytest.approx(expected.identified, abs=0.01)


@pytest.mark.parametrize(("shift", "way"), [(-0.2, "early"), (0.2, "late")])
def test_the_verdict_on_left_censored_times_keeps_its_direction(shift, way):
    _, y, _ = simulated(400, 0)
    X_test, y_test, _ = simulated(400, 1)

    class Shifted:
        censoring = "left"

        def predict_quantiles(self, X, quantiles):
            return 3.0 - X - 1.0 + np.asarray(quantiles) + shift

    result = evaluate(
        Shifted(), mirrored(y, 3.0), X_test, mirrored(y_test, 3.0), n_resamples=5, random_state=0
    )
    assert f"(p < 0.001): they are too {way}; by the " in result.verdict
    observed = re.search(r"by the ([\d.]+) % quantile, where they are furthest off, ([\d.]+) %",
                         result.verdict)  # fmt: skip
    assert (float(observed[2]) < float(observed[1])) == (way == "early")


def test_a_notebook_shows_every_row_and_the_verdict_without_markup_of_their_own():
    time, taus = np.random.default_rng(0).uniform(size=100), np.array([0.25, 0.5, 0.75])
    result = evaluate([taus] * 100, time, None, time, taus=taus)
    page = result._repr_html_()
    assert page.count("<tr>") == len(result.rows) + 1
    assert all(f"<td>{row.metric}</td>" in page for row in result.rows)
    assert result.verdict.split(",")[0] in page


def test_the_same_rows_have_the_same_intervals_by_default():
    time, taus = np.random.default_rng(0).uniform(size=100), np.array([0.25, 0.5, 0.75])
    first, second = (evaluate([taus] * 100, time, None, time, taus=taus) for _ in range(2))
    assert str(first) == str(second)


def mostly_censored(n=300):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 1))
    time, end = 1 + X[:, 0] + 3 * rng.exponential(size=n), rng.uniform(0.5, 1.5, size=n)
    return X, (np.minimum(time, end), time <= end), end


def test_a_linear_model_with_one_identified_level_is_judged_by_its_whole_path():
    X, y, _ = mostly_censored()
    with pytest.warns(IdentifiabilityWarning):
        model = LinearQuantileRegressor(step=0.01).fit(
            X, y
        )  # a path of so few levels is not thinned
    assert model.quantiles_.tolist() == [0.05]
    result = evaluate(model, y, X, y, n_resamples=5, random_state=0)
    levels = model.predict_curve(X).taus
    again = evaluate(model, y, X, y, taus=levels, n_resamples=5, random_state=0)
    assert str(result) == str(again)
    assert np.isfinite(result["concordance_restricted_mean"].value)
    assert np.isfinite(result["pinball_loss_censored"].value)


def test_a_long_path_is_thinned_to_as_many_levels_as_usual():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 1))
    time, end = 1 + X[:, 0] + rng.uniform(size=200), rng.uniform(1, 5, size=200)
    y = (np.minimum(time, end), time <= end)
    model = LinearQuantileRegressor([0.8], step=0.02).fit(X, y)
    levels = model.predict_curve(X).taus
    assert len(levels) > 19
    result = evaluate(model, y, X, y, n_resamples=5, random_state=0)
    chosen = levels[np.linspace(0, len(levels) - 1, 19).round().astype(int)]
    again = evaluate(model, y, X, y, taus=chosen, n_resamples=5, random_state=0)
    assert str(result) == str(again)


@pytest.mark.parametrize("kind", ["powell", "network"])
def test_one_quantile_and_nothing_else_is_refused_with_a_remedy(kind):
    X, y, end = mostly_censored()
    if kind == "powell":
        model = LinearQuantileRegressor([0.05], method="powell").fit(X, y, censoring_time=end)
    else:
        model = CQRNN([0.05], max_epochs=1, random_state=0).fit(X, y)
    message = (
        f"evaluate needs a model with two or more levels, got {type(model).__name__} with the "
        "level 0.05 only, from which no distribution can be read: fit it with more quantiles that "
        "the data identify."
    )
    with pytest.raises(ValueError, match=rf"^{re.escape(message)}$"):
        evaluate(model, y, X, y, n_resamples=5)


@pytest.fixture(scope="module")
def by_level():
    X, y, _ = simulated(300, 0)
    X_test, y_test, _ = simulated(200, 1)
    model = LinearQuantileRegressor(TAUS).fit(X, y)
    level = np.where(np.arange(200) < 120, "north", "south").astype(object)
    level[:5] = None
    whole = evaluate(
        model, y, X_test, y_test, by=level, at=[1.0, 0.7], n_resamples=30, random_state=0
    )
    return model, y, X_test, y_test, level, whole


def test_scores_of_a_level_are_those_of_its_rows(by_level):
    model, y, X_test, y_test, level, whole = by_level
    assert list(whole.by) == ["missing", "north", "south"]
    south = level == "south"
    alone = evaluate(
        model, y, X_test[south], y_test[south], at=[1.0, 0.7], n_resamples=30, random_state=0
    )
    assert [row[:4] for row in whole.by["south"].rows] == [
        pytest.approx(row[:4], nan_ok=True) for row in alone.rows
    ]
    assert whole.by["south"].verdict == alone.verdict
    plain = evaluate(model, y, X_test, y_test, n_resamples=30, random_state=0)
    assert [row[:4] for row in whole.rows[: len(plain.rows)]] == [
        pytest.approx(row[:4], nan_ok=True) for row in plain.rows
    ]


def test_levels_with_too_few_rows_have_no_scores(by_level):
    few = by_level[-1].by["missing"]
    assert (few.n_rows, np.isnan(few["log_score"].value)) == (5, True)
    assert few.verdict.startswith("Too few rows or events to judge (5 rows, ")


def test_levels_are_printed_and_framed(by_level):
    whole = by_level[-1]
    *_, header, missing, north, south = str(whole).splitlines()
    assert header.split()[:3] == ["level", "rows", "events"]
    assert [line.split()[:2] for line in (missing, north, south)] == [
        ["missing", "5"], ["north", "115"], ["south", "80"]
    ]  # fmt: skip
    frame = whole.to_frame()
    assert frame["level"].isna().sum() == len(whole.rows)
    assert set(frame["level"].dropna()) == {"missing", "north", "south"}
    assert "<td>south</td>" in whole._repr_html_()


def test_risks_at_times_are_judged_as_by_calibration_at(by_level):
    model, _, X_test, y_test, _, whole = by_level
    assert [row.metric for row in whole.rows[-2:]] == ["ici_at_0.7", "ici_at_1"]
    found = calibration_at(model, X_test, y_test, 1.0)
    assert whole["ici_at_1"].value == pytest.approx(found.ici)
    assert "where all risks are right (p = " in whole["ici_at_1"].note


def test_wrong_risks_are_named_in_the_verdict():
    _, y, true = simulated(600, 0)
    early = evaluate(0.6 * true, y, None, y, taus=TAUS, at=1.0, n_resamples=2)
    assert "Predicted risks by 1 are not calibrated (p < 0.001): they are off by " in early.verdict


def test_columns_functions_and_labels_name_the_same_levels():
    X, y, true = simulated(100, 0)
    frame = pd.DataFrame({"x": X[:, 0], "late": X[:, 0] > 0.5})
    options = {"taus": TAUS, "n_resamples": 2, "random_state": 0}
    found = [
        evaluate(true, y, frame, y, by=by, **options)
        for by in ("late", 1, lambda X: X["late"], frame["late"], (X[:, 0] > 0.5).tolist())
    ]
    scores = {tuple(one[row].value for one in r.by.values()) for r in found for row in METRICS[:1]}
    assert len(scores) == 1
    assert [one.by_name for one in found] == ["late", "level", "level", "late", "level"]


def test_a_weight_counts_as_equal_rows_in_every_score():
    X, y, true = simulated(150, 0)
    weight = np.random.default_rng(0).integers(1, 4, size=150)
    rows = np.repeat(np.arange(150), weight)
    options = {"taus": TAUS, "n_resamples": 2, "at": 1.0}
    one = evaluate(true, y, X, y, sample_weight=weight, **options)
    other = evaluate(true[rows], y, X[rows], y[rows], **options)
    for row in one.rows:
        # The Brier score looks at times that are quantiles of the rows.
        tolerance = 0.02 if row.metric == "integrated_brier_score" else 1e-6
        assert row.value == pytest.approx(other[row.metric].value, rel=tolerance), row.metric
    assert one.calibration == other.calibration
    assert one.identified == pytest.approx(other.identified)


def test_intervals_are_as_wide_as_without_the_copies_of_rows_that_are_groups():
    X, y, true = simulated(100, 0)
    rows = np.tile(np.arange(100), 4)
    options = {"taus": TAUS, "n_resamples": 100, "random_state": 0}
    once = evaluate(true, y, X, y, **options)["log_score"]
    alone, together = (
        evaluate(true[rows], y, X[rows], y[rows], groups=groups, **options)["log_score"]
        for groups in (None, rows)
    )
    width = [row.upper - row.lower for row in (once, alone, together)]
    assert width[2] == pytest.approx(width[0], rel=1e-6)
    assert width[1] < 0.7 * width[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": np.arange(100)}, "by must have at most 20 levels, got 100: put numbers into a few "
         "classes first, as pandas.cut does."),
        ({"by": [1, 2]}, "by must have one row for each of the 100 of y, got 2 rows."),
        ({"by": "sex"}, "X_test must be given where by names a column, got None and by='sex': "
         "pass one label for each row."),
        ({"at": [np.inf]}, "at must be one or more finite times, got [inf]."),
        ({"groups": [1] * 100}, "groups must hold two groups or more, since what differs between "
         "groups is what an interval is made of, got 1."),
    ],
)  # fmt: skip
def test_levels_groups_and_times_that_make_no_sense_are_refused(options, message):
    _, y, true = simulated(100, 0)
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        evaluate(true, y, None, y, taus=TAUS, n_resamples=2, **options)


def test_risks_of_left_censored_models_are_not_judged():
    X, y, _ = simulated(60, 0)
    model = LinearQuantileRegressor(TAUS, censoring="left").fit(X, y)
    with pytest.raises(ValueError, match=r"^at must be None where the model has censoring='left'"):
        evaluate(model, y, X, y, at=1.0, n_resamples=2)
