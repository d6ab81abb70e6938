"""ConformalSurvivalRegressor: promises that hold around any model, and refusals."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, cross_val_score

import censquant
from censquant import (
    BaseQuantileRegressor,
    BoostedQuantileRegressor,
    ConformalSurvivalRegressor,
    CoxQuantileRegressor,
    PooledQuantileRegressor,
    load_model,
)
from censquant._files import read_arrays
from censquant._storage._codec import from_part, to_part
from censquant.exceptions import CalibrationWarning, FewEventsWarning
from conformal_rows import Simulation, lognormal_curve


class LogNormal(BaseQuantileRegressor):
    """Knows the family, and errs by a shift, and by a factor of the spread, for all or some."""

    def __init__(self, shift=0.0, deviation=1.0, group_shift=0.0):
        self.shift = shift
        self.deviation = deviation
        self.group_shift = group_shift

    def fit(self, X, y):
        self.n_features_in_ = np.shape(X)[1]
        return self

    def predict_curve(self, X):
        table = np.asarray(X, dtype=float)
        shift = self.shift + (self.group_shift * table[:, 1] if table.shape[1] > 1 else 0.0)
        return lognormal_curve(table[:, 0] + shift, self.deviation)


def features(simulation):
    return simulation.x[:, None]


def y_of(simulation):
    return simulation.target.time, simulation.target.event


def conformal(*args, **options):
    """Around a known model, with one censoring curve for all rows."""
    options = {"censoring_estimator": "kaplan-meier", "random_state": 0, "cv": 2, **options}
    return ConformalSurvivalRegressor(*args, **options)


TRAIN, TEST = Simulation(n=3000, seed=1), Simulation(n=5000, seed=2)
X, Y = features(TRAIN), y_of(TRAIN)
WRONG = conformal(LogNormal(shift=0.5, deviation=0.6)).fit(X, Y)


def covered(model, confidence=0.9, simulation=TEST):
    return 1 - simulation.miscoverage(model.predict_lower_bound(features(simulation), confidence))


@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.95])
def test_lower_bounds_of_a_wrong_model_cover(confidence):
    assert confidence - 0.015 < covered(WRONG, confidence) < confidence + 0.025


def test_the_model_itself_did_not():
    assert (
        1 - TEST.miscoverage(LogNormal(0.5, 0.6).predict_curve(features(TEST)).at([0.1])[:, 0])
        < 0.8
    )


def test_coverage_says_what_was_wrong_and_what_is_left():
    row = WRONG.coverage_.at(0.9)
    assert row.estimate == pytest.approx(0.9, abs=0.02)
    assert row.uncalibrated < 0.8
    assert 0 < row.standard_error < 0.02
    assert len(WRONG.coverage_.to_frame()) == len(WRONG.coverage_) == 12
    assert WRONG.coverage_._repr_html_().count("<tr>") == 13


def test_recalibrated_quantiles_have_their_levels():
    levels = np.array([0.1, 0.3, 0.5])
    times = WRONG.predict_quantiles(features(TEST), levels, beyond="extrapolate")
    for level, column in zip(levels, times.T, strict=True):
        assert TEST.miscoverage(column) == pytest.approx(level, abs=0.02)


def test_intervals_cover_where_they_end():
    quiet = Simulation(n=4000, seed=3, rate=0.02)
    model = conformal(LogNormal(-0.3, 1.5)).fit(features(quiet), y_of(quiet))
    interval = model.predict_interval(features(TEST), 0.8)
    finite = np.isfinite(interval).all(axis=1)
    inside = (TEST.time >= interval[:, 0]) & (TEST.time <= interval[:, 1])
    assert finite.mean() > 0.7
    assert inside[finite].mean() == pytest.approx(0.8, abs=0.03)
    lower, upper = (
        model.predict_lower_bound(features(TEST)),
        model.predict_upper_bound(features(TEST)),
    )
    np.testing.assert_array_equal(interval, np.column_stack((lower, upper)))


def test_upper_bounds_without_support_are_infinite():
    heavy = Simulation(n=2000, seed=4, rate=1.5)
    model = conformal(LogNormal()).fit(features(heavy), y_of(heavy))
    with pytest.warns(FewEventsWarning, match="do not support upper bounds with confidence 0.95"):
        bound = model.predict_upper_bound(features(TEST), 0.95)
    assert np.isinf(bound).all()
    with pytest.warns(FewEventsWarning, match="do not support upper bounds"):
        assert np.isnan(model.predict_interval(features(TEST), 0.9, beyond="nan")[:, 1]).all()


@pytest.mark.parametrize("age", [0.5, 1.5])
def test_survivors_are_covered(age):
    bound = WRONG.predict_lower_bound(features(TEST), elapsed=age)
    alive = TEST.time > age
    assert (bound >= age).all()
    # Given the features, a survivor's chance to die before the bound.
    at_age, at_bound = (ndtr(np.log(t) - TEST.x) for t in (age, bound))
    missed = ((at_bound - at_age) / (1 - at_age))[alive].mean()
    assert 0.06 < missed < 0.115


def test_each_may_have_an_age_of_its_own():
    ages = np.linspace(0.1, 1.5, len(TEST.x))
    bound = WRONG.predict_lower_bound(features(TEST), elapsed=ages)
    assert (bound >= ages).all()
    same = WRONG.predict_lower_bound(features(TEST)[:2], elapsed=[0.5, 1.5])
    alone = [
        WRONG.predict_lower_bound(features(TEST)[[row]], elapsed=age)[0]
        for row, age in ((0, 0.5), (1, 1.5))
    ]
    np.testing.assert_allclose(same, alone, rtol=1e-12)


def test_subgroups_are_calibrated_each_by_itself():
    rng = np.random.default_rng(5)
    data, new = Simulation(n=6000, seed=6), Simulation(n=6000, seed=7)
    sex, sex_of_new = (rng.integers(0, 2, 6000) for _ in range(2))
    frame = pd.DataFrame({"x": data.x, "sex": sex})
    other = pd.DataFrame({"x": new.x, "sex": sex_of_new})
    base = LogNormal(shift=-0.4, group_shift=0.9)
    for by, expected in ((None, False), ("sex", True), (lambda X: X["sex"] == 1, True), (1, True)):
        model = conformal(base, by=by).fit(frame, y_of(data))
        bound = model.predict_lower_bound(other)
        missed = ndtr(np.log(bound) - new.x)
        shares = [missed[sex_of_new == value].mean() for value in (0, 1)]
        assert (max(abs(share - 0.1) for share in shares) < 0.02) == expected
    assert {row.group for row in conformal(base, by="sex").fit(frame, y_of(data)).coverage_} == {
        "0",
        "1",
    }
    assert model.predict_quantiles(other[:4], [0.2], beyond="extrapolate").shape == (4, 1)


def test_a_fitted_model_is_conformalized():
    model = conformal(LogNormal(0.5, 0.6), cv="prefit").conformalize(X, Y)
    assert covered(model) == pytest.approx(0.9, abs=0.02)
    again = conformal(LogNormal(0.5, 0.6), cv="prefit").fit(X, Y)
    np.testing.assert_array_equal(
        again.predict_lower_bound(X[:5]), model.predict_lower_bound(X[:5])
    )


def test_other_libraries_models_are_covered():
    from lifelines import LogNormalAFTFitter

    table = pd.DataFrame({"x": TRAIN.x, "time": Y[0], "event": Y[1]})
    fitter = LogNormalAFTFitter().fit(table[:500], "time", "event")
    model = conformal(fitter, cv="prefit").conformalize(
        table[["x"]][500:], (Y[0][500:], Y[1][500:])
    )
    bound = model.predict_lower_bound(pd.DataFrame({"x": TEST.x}))
    assert 1 - TEST.miscoverage(bound) == pytest.approx(0.9, abs=0.02)


def test_a_pool_is_fitted_once_and_its_own_held_out_curves_calibrate():
    pool = PooledQuantileRegressor([("cox", CoxQuantileRegressor())], cv=2)
    model = conformal(pool).fit(X[:800], (Y[0][:800], Y[1][:800]))
    assert covered(model) == pytest.approx(0.9, abs=0.04)
    assert len(model._calibration.rows) == 800


def test_dependent_censoring_is_found_and_modelled():
    data = Simulation(n=1500, seed=8, slope=2.0)
    model = ConformalSurvivalRegressor(LogNormal(0.3), cv=2, random_state=0)
    model.fit(features(data), y_of(data))
    assert "modelled censoring, since it depends on the features" in model.method_
    assert model.censoring_estimator_ is not None
    assert covered(model) == pytest.approx(0.9, abs=0.03)


def test_the_method_says_why():
    assert WRONG.method_.startswith("aipcw, since ")
    assert "Kaplan-Meier censoring curve as given" in WRONG.method_
    observed = conformal(LogNormal()).fit(X, TRAIN.time)
    assert observed.method_ == "split, since every event was observed"
    assert conformal(LogNormal(), method="km-pit").fit(X, Y).method_ == "km-pit, as asked for"


@pytest.mark.parametrize("method", ["aipcw", "ipcw", "km-pit", "drcosarc", "candes", "gui"])
def test_every_method_can_be_chosen(method):
    model = conformal(LogNormal(0.5, 0.6), method).fit(X, Y, censoring_time=TRAIN.censoring_time)
    # Shifted quantiles are above the recalibrated ones of some rows, and are cut there.
    cautious = 0.03 if method == "candes" else 0.0
    assert covered(model) == pytest.approx(0.9 + cautious, abs=0.03)
    assert (model.predict_upper_bound(X[:3], 0.3) > 0).all()


def test_left_censored_times_are_mirrored():
    data = Simulation(n=3000, seed=9)

    class Negative(LogNormal):
        censoring = "left"

        def predict_curve(self, X):
            curve = super().predict_curve(X)
            from censquant.quantiles import QuantileCurve

            return QuantileCurve(-curve.values[:, ::-1], (1 - curve.taus[::-1]).round(12))

    model = conformal(Negative(0.5, 0.6)).fit(
        features(data), (-data.target.time, data.target.event)
    )
    right = conformal(LogNormal(0.5, 0.6)).fit(features(data), y_of(data))
    upper = model.predict_upper_bound(features(TEST))
    assert TEST.miscoverage(-upper) == pytest.approx(0.1, abs=0.02)
    np.testing.assert_allclose(-upper, right.predict_lower_bound(features(TEST)), rtol=0.05)
    with pytest.raises(ValueError, match=r"^elapsed must be None for left-censored times"):
        model.predict_lower_bound(features(TEST), elapsed=1.0)


def test_few_events_leave_trivial_bounds_and_a_warning():
    data = Simulation(n=80, seed=10, rate=2.0)
    with pytest.warns(
        FewEventsWarning, match=r"^Bounds need 30 calibration rows with an event, got"
    ):
        model = conformal(LogNormal()).fit(features(data), y_of(data))
    with pytest.warns(FewEventsWarning, match="do not support lower bounds"):
        np.testing.assert_array_equal(model.predict_lower_bound(X[:3]), 0.0)
    with pytest.warns(FewEventsWarning, match="do not support upper bounds"):
        np.testing.assert_array_equal(model.predict_upper_bound(X[:3]), np.inf)


def test_rows_of_a_group_are_held_out_together():
    groups = np.repeat(np.arange(300), 10)
    seen = []

    class Watching(LogNormal):
        def fit(self, X, y):
            seen.append(np.asarray(X)[:, 1])
            return super().fit(X, y)

    table = np.column_stack((TRAIN.x, groups))
    conformal(Watching(0.5), cv=3).fit(table, Y, groups=groups)
    *folds, everything = sorted(seen, key=len)
    assert len(everything) == 3000
    for kept in folds:
        sizes = np.bincount(kept.astype(int), minlength=300)
        assert set(sizes) == {0, 10}


def test_a_split_through_a_group_is_refused():
    groups = np.repeat(np.arange(300), 10)
    through = list(KFold(3, shuffle=True, random_state=0).split(X))
    with pytest.raises(ValueError, match=r"^cv must hold out all rows of a group together, got a"):
        conformal(LogNormal(), cv=through).fit(X, Y, groups=groups)
    conformal(LogNormal(), cv=GroupKFold(3)).fit(X, Y, groups=groups)


def test_a_shift_between_training_and_calibration_rows_is_reported():
    moved = Simulation(n=500, seed=11)
    with pytest.warns(CalibrationWarning, match=r"^Calibration rows differ from training rows in"):
        model = clone(WRONG).fit(X, Y).conformalize(features(moved) + 0.5, y_of(moved))
    assert model.shift_.p_value < 0.001
    assert model.shift_.feature == "x0"
    split = conformal(LogNormal(), cv=ShuffleSplit(1, test_size=0.3, random_state=0)).fit(X, Y)
    assert split.shift_.p_value > 0.001
    assert WRONG.shift_ is None


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "magic"}, ValueError, "^method must be one of 'auto', 'aipcw'"),
        ({"cv": "fit"}, ValueError, "^cv must be one of 'prefit', got 'fit'."),
        ({"method": "gui"}, ValueError, "^censoring_time must be given for method='gui', got None"),
        ({"method": "split"}, ValueError, "^method must not be 'split' where rows are censored"),
        (
            {"censoring_estimator": "km"},
            ValueError,
            "^censoring_estimator must be None, 'kaplan-me",
        ),
        ({"by": "sex"}, ValueError, "^by must be a column of X, a place or a callable, got 'sex'"),
        ({"by": 1.5}, TypeError, "^by must be a column of X, its place or a callable, got 1.5."),
        ({"by": lambda X: X[:2]}, ValueError, "^by must give one label for each of the 3000 rows"),
        (
            {"by": lambda X: np.arange(len(X)) < 20},
            ValueError,
            "^by must give groups of at least 30 rows with an event, got",
        ),
    ],
)
def test_wrong_arguments_are_refused_with_one_sentence(options, error, message):
    with pytest.raises(error, match=message):
        conformal(LogNormal(), **options).fit(X, Y)


def test_wrong_estimators_are_refused_with_one_sentence():
    class Lost(LogNormal):
        def predict_curve(self, X):
            curve = super().predict_curve(X)
            curve.values[0] = np.nan
            return curve

    with pytest.raises(
        ValueError, match=r"^estimator must predict finite times, got NaN or infinity"
    ):
        conformal(Lost()).fit(X, Y)
    with pytest.raises(
        ValueError, match=r"^estimator must be a fitted model for cv='prefit', got No"
    ):
        conformal(cv="prefit").fit(X, Y)
    with pytest.raises(TypeError, match=r"^estimator must be an unfitted estimator, got <class"):
        conformal(LogNormal).fit(X, Y)
    with pytest.raises(NotFittedError):
        conformal(LogNormal()).conformalize(X, Y)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.1, np.nan])
def test_a_confidence_outside_of_0_and_1_is_refused(confidence):
    with pytest.raises(ValueError, match=r"^confidence must be finite and inside \(0, 1\), got"):
        WRONG.predict_lower_bound(X, confidence)


def test_an_unknown_subgroup_is_refused():
    frame = pd.DataFrame({"x": TRAIN.x, "site": np.where(np.arange(3000) % 2, "a", "b")})
    with pytest.raises(ValueError, match="X must hold numbers"):
        conformal(BoostedQuantileRegressor(), by="site").fit(frame, Y)
    model = conformal(LogNormal(), by=lambda X: np.asarray(X)[:, 0] > 2).fit(X, Y)
    with pytest.raises(ValueError, match=r"^by must give labels that were calibrated, got True"):
        model.predict_lower_bound(X + 5.0)


def test_the_result_does_not_depend_on_the_number_of_threads():
    some = X[:400], (Y[0][:400], Y[1][:400])
    one, two = (
        ConformalSurvivalRegressor(CoxQuantileRegressor(), cv=3, n_jobs=n, random_state=0).fit(
            *some
        )
        for n in (1, 2)
    )
    assert one.predict_lower_bound(X).tobytes() == two.predict_lower_bound(X).tobytes()


def test_cross_validation_scores_it():
    some = X[:300], censquant.Surv.from_arrays(event=Y[1][:300], time=Y[0][:300])
    model = conformal(CoxQuantileRegressor())
    assert cross_val_score(model, *some, cv=2).mean() > 0.55


@pytest.mark.parametrize("censoring", ["kaplan-meier", CoxQuantileRegressor()])
def test_a_saved_model_makes_the_same_bounds(tmp_path, censoring):
    model = conformal(CoxQuantileRegressor(), censoring_estimator=censoring, by=None)
    model.fit(X[:600], (Y[0][:600], Y[1][:600]))
    path = tmp_path / "model.safetensors"
    model.save(path)
    for copy in (load_model(path), pickle.loads(pickle.dumps(model))):
        for elapsed in (None, 0.5):
            np.testing.assert_array_equal(
                copy.predict_lower_bound(X, elapsed=elapsed),
                model.predict_lower_bound(X, elapsed=elapsed),
            )
        np.testing.assert_array_equal(
            copy.predict_quantiles(X, beyond="extrapolate"),
            model.predict_quantiles(X, beyond="extrapolate"),
        )
        assert copy.method_ == model.method_
        assert copy.coverage_ == model.coverage_


@pytest.mark.parametrize("censoring", ["kaplan-meier", CoxQuantileRegressor()])
@pytest.mark.parametrize("by", [None, 1])
def test_a_file_without_calibration_rows_makes_the_same_bounds(tmp_path, censoring, by):
    rows = np.column_stack([X[:900], np.arange(900) % 2])
    target = Y[0][:900], Y[1][:900]
    model = conformal(CoxQuantileRegressor(), censoring_estimator=censoring, by=by)
    model.fit(rows, target)
    path = tmp_path / "model.safetensors"
    model.save(path, calibration_rows=False, notes={"unit": "days"})
    again = load_model(path)
    for confidence in (0.5, 0.8, 0.95):
        for method in ("predict_lower_bound", "predict_upper_bound"):
            np.testing.assert_array_equal(
                getattr(again, method)(rows, confidence), getattr(model, method)(rows, confidence)
            )
    np.testing.assert_array_equal(
        again.predict_quantiles(rows, beyond="extrapolate"),
        model.predict_quantiles(rows, beyond="extrapolate"),
    )
    np.testing.assert_array_equal(again.follow_up_of(rows), model.follow_up_of(rows))
    assert again.coverage_ == model.coverage_
    again.save(path)  # what is not there is not saved either
    with pytest.raises(ValueError, match=r"^elapsed must be None for a model that was saved with"):
        load_model(path).predict_lower_bound(rows, elapsed=0.5)


def test_a_file_without_calibration_rows_holds_no_time_of_a_row(tmp_path):
    time, event = np.random.default_rng(0).exponential(size=900) + 1 / 3, Y[1][:900]
    model = conformal(LogNormal()).fit(X[:900], (time, event))
    model.estimator_ = model.estimator = CoxQuantileRegressor()  # itself without a fit
    model.cv = "prefit"
    model.unique_times_ = np.array([1.0])
    held = {}
    for rows in (True, False):
        path = tmp_path / f"{rows}.safetensors"
        model.save(path, calibration_rows=rows)
        values = [np.ravel(array) for array in read_arrays(path, "model")[1].values()]
        held[rows] = int(np.isin(time, np.concatenate(values)).sum())
    assert held[True] == 900
    assert held[False] <= 3  # the end of follow-up, and the first and last time


def test_rows_that_a_method_needs_are_not_left_out(tmp_path):
    model = conformal(LogNormal(), method="drcosarc").fit(X[:300], (Y[0][:300], Y[1][:300]))
    message = r"^calibration_rows must be True for the methods 'split', 'drcosarc' and 'candes'"
    with pytest.raises(ValueError, match=message):
        model.save(tmp_path / "model", calibration_rows=False)


def test_a_model_file_of_an_earlier_version_has_no_shares_of_limited_bounds():
    part = to_part(conformal(CoxQuantileRegressor()).fit(X[:600], (Y[0][:600], Y[1][:600])))
    for row in part.description["coverage"]:
        del row["limited"], row["unlimited"]
    table = from_part(part).coverage_
    assert np.isnan([table.at(0.9).limited, table.at(0.9).unlimited]).all()
    assert "nan" in str(table)


def test_columns_of_a_frame_are_found_by_name():
    frame = pd.DataFrame({"x": X[:900, 0], "site": np.arange(900) % 2})
    model = conformal(CoxQuantileRegressor(), by="site").fit(frame, (Y[0][:900], Y[1][:900]))
    other = frame.assign(more="text")[["more", "site", "x"]]
    np.testing.assert_array_equal(
        model.predict_lower_bound(other), model.predict_lower_bound(frame)
    )
