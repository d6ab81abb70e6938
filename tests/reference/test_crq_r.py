"""The linear estimators against R's quantreg::crq; see README.md for what made the numbers."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, identity

from censquant import LinearQuantileRegressor
from censquant.estimators.linear._fits import step_of_crq
from censquant.estimators.linear._methods import peng_huang_path, portnoy_path
from censquant.estimators.linear._powell import powell_loss
from censquant.survival import kaplan_meier

DATA = Path(__file__).parent / "data"


def table(name):
    return np.genfromtxt(DATA / name, delimiter=",", skip_header=1)


ROWS = table("crq_data.csv")
TIME, EVENT, X = ROWS[:, 0], ROWS[:, 1] == 1, ROWS[:, 2:]
DESIGN = np.column_stack((np.ones(len(X)), X))
ONES = np.ones(len(X))


def levels_of_crq(first, labels):
    """Levels that crq visited, from those that it names.

    It fits the first level of the grid and calls it 0. It then goes to the next level at which the
    solution changes, and from there in steps of the grid. At such a level two solutions are equally
    good, and crq takes the upper one: a level just above has no other. The last label is 1, where
    the last solution is repeated.
    """
    assert labels[0] == 0.0
    assert labels[-1] == 1.0
    levels = np.concatenate(([first], labels[1:-1]))
    levels[1] += 1e-9
    return levels


@pytest.fixture(scope="module")
def grid():
    expected = table("crq_portnoy_grid.csv")
    levels = levels_of_crq(0.02, expected[:, 0])
    return expected[:-1, 1:4], portnoy_path(DESIGN, TIME, EVENT, levels, ONES)


def test_portnoys_coefficients_are_those_of_crq_at_every_level_of_a_grid(grid):
    expected, path = grid
    assert path.stopped_at is None
    np.testing.assert_allclose(path.coefficients, expected, rtol=0, atol=1e-8)


def test_censored_rows_are_passed_at_the_levels_of_crq(grid):
    index, level = table("crq_portnoy_grid_split.csv").T
    expected = np.full(len(TIME), np.nan)
    expected[index.astype(int) - 1] = level
    np.testing.assert_allclose(grid[1].crossing_levels, expected, rtol=0, atol=1e-8)


def test_the_estimator_gives_the_coefficients_of_crqs_default_grid():
    expected = table("crq_portnoy_default.csv")
    # The grid of crq begins at one over the number of rows, as does that of the estimator.
    asked = levels_of_crq(1 / len(TIME), expected[:, 0])[1:]
    model = LinearQuantileRegressor(asked, step=0.999).fit(X, (TIME, EVENT))
    np.testing.assert_allclose(model.intercept_, expected[1:-1, 1], rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.coef_, expected[1:-1, 2:4], rtol=0, atol=1e-8)


def test_the_default_levels_land_close_to_the_coefficients_of_crq():
    expected = table("crq_portnoy_default.csv")
    medians = [np.interp(0.5, expected[:, 0], column) for column in expected.T[1:4]]
    model = LinearQuantileRegressor([0.5]).fit(X, (TIME, EVENT))
    fitted = np.append(model.intercept_, model.coef_)
    # crq interpolates between the levels of a coarser grid, the estimator fits the level itself.
    np.testing.assert_allclose(fitted, medians, rtol=0, atol=0.01)


@pytest.mark.filterwarnings("ignore::censquant.exceptions.IdentifiabilityWarning")
def test_an_intercept_alone_is_the_kaplan_meier_quantile_that_crq_pivots_through():
    tau, time = table("crq_intercept_pivot.csv").T
    # Times hold from their level up to the next one. The exact levels of censoring times are those
    # of steps, which a grid knows up to the distance of its levels: in the middle of a step of
    # 0.005 or more, levels 0.0005 apart cannot take one time for another.
    inside = (tau[:-1] + tau[1:]) / 2
    nothing = np.zeros((len(TIME), 1))
    model = LinearQuantileRegressor(inside, step=0.0005).fit(nothing, (TIME, EVENT))
    np.testing.assert_array_equal(model.quantiles_, inside)
    np.testing.assert_allclose(model.intercept_, time[:-1], rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        model.intercept_, kaplan_meier(TIME, EVENT).quantile(inside), rtol=0, atol=1e-10
    )


def hazard(levels):
    return -np.log1p(-levels)


@pytest.fixture(scope="module")
def martingale():
    expected = table("crq_penghuang_grid.csv")
    grid = np.round(np.arange(0.02, 0.981, 0.02), 2)
    # crq gives a solution the label of the level before its own, and counts hazard from the first
    # level of the grid on instead of from 0: these are the levels that its solutions belong to.
    levels = -np.expm1(-(hazard(grid[1:]) - hazard(grid[0])))
    assert len(levels) == len(expected)
    return levels, expected[:, 1:4], peng_huang_path(DESIGN, TIME, EVENT, levels, ONES)


def test_peng_and_huangs_first_coefficients_are_those_of_crq(martingale):
    _, expected, path = martingale
    np.testing.assert_allclose(path.coefficients[:5], expected[:5], rtol=0, atol=1e-4)


def test_peng_and_huangs_later_coefficients_are_close_to_those_of_crq(martingale):
    levels, expected, path = martingale
    # crq's interior point leaves rows that the fit touches on either side of it, by rounding: who
    # is at risk then differs by a row, and so does everything after it.
    difference = np.abs(path.coefficients - expected[: len(path.coefficients)])
    assert np.median(difference[levels[: len(difference)] < 0.7]) < 0.02
    assert difference[levels[: len(difference)] < 0.7].max() < 0.1


def test_peng_and_huangs_coefficients_solve_their_equation_to_within_the_rows_they_touch(
    martingale,
):
    levels, _, path = martingale
    assert len(path.taus) >= 45
    at_risk, expected = np.ones(len(TIME), dtype=bool), np.zeros(3)
    steps = np.diff(hazard(np.concatenate(([0.0], levels))))
    # A fit passes through three rows, whose events count in part.
    allowed = np.sort(np.abs(DESIGN), axis=0)[-3:].sum(axis=0)
    for beta, step in zip(path.coefficients, steps, strict=False):
        expected = expected + step * at_risk @ DESIGN
        residual = TIME - DESIGN @ beta
        counted = (EVENT & (residual <= 1e-10)) @ DESIGN
        touched = EVENT & (np.abs(residual) <= 1e-10)
        assert touched.sum() == 3
        assert (np.abs(counted - expected) <= allowed).all()
        # Shares of the touched rows in [0, 1] solve it exactly.
        missing = expected - (EVENT & (residual < -1e-10)) @ DESIGN
        share = np.linalg.solve(DESIGN[touched].T, missing)
        assert ((share > -1e-8) & (share < 1 + 1e-8)).all()
        at_risk = residual >= -1e-10


TIES = np.genfromtxt(DATA / "crq_ties_data.csv", delimiter=",", names=True)
TIED = (TIES["time"], TIES["event"] == 1)
TIED_X = np.column_stack(
    [TIES[name] for name in ("treat", "earlier", "recent", "age", "site")]
    + [TIES["age"] * TIES["site"]]
)


def of_ties(name, method, step, order="given"):
    """Rows that crq_ties.R wrote for one fit: the level, and the coefficients."""
    rows = np.genfromtxt(DATA / name, delimiter=",", names=True, dtype=None, encoding="utf-8")
    rows = rows[(rows["method"] == method) & (rows["order"] == order)]
    rows = rows[rows["grid"] == ("default" if step is None else f"by {step}")]
    return np.array(rows[list(rows.dtype.names[3:])].tolist())


@pytest.mark.parametrize("step", [None, 0.01])
def test_portnoys_coefficients_of_tied_times_are_those_of_crq(step):
    expected = of_ties("crq_ties.csv", "Portnoy", step)
    first = 1 / len(TIED_X) if step is None else step
    levels = levels_of_crq(first, np.append(expected[:, 0], 1.0))
    # No step is shorter than this one: no level is added to those of crq.
    model = LinearQuantileRegressor(levels, step=0.999, time_transform="log").fit(TIED_X, TIED)
    fitted = np.column_stack((model.intercept_, model.coef_))
    np.testing.assert_allclose(fitted, expected[:, 1:], rtol=0, atol=1e-8)
    # What crq reports at a level between two of its own lies on the line between them.
    for tau, *reported in of_ties("crq_ties_coef.csv", "Portnoy", step):
        between = [np.interp(tau, expected[:, 0], column) for column in fitted.T]
        np.testing.assert_allclose(between, reported, rtol=0, atol=1e-8)


def violation(design, time, event, hazard_steps, coefficients, *, touched_at_risk):
    """How many rows Peng and Huang's equation is off by, summed over levels and terms.

    Of a row that a fit passes through, the part of its event that counts is free in [0, 1], and
    ``touched_at_risk`` bounds the part of the row that is at risk at the next level.
    """
    residual = time - coefficients @ design.T
    touched, above = np.abs(residual) < 1e-7, residual >= 1e-7
    design = design / np.abs(design).max(axis=0)
    n_levels, p = coefficients.shape
    blocks, right = [], np.zeros((n_levels, p))
    bounds = []
    for level, step in enumerate(hazard_steps):
        right[level] += step * (above[level - 1] @ design if level else design.sum(axis=0))
        right[level] -= (event & ~above[level] & ~touched[level]) @ design
        if level:
            right[level] += (event & ~above[level - 1] & ~touched[level - 1]) @ design
        # A touched event counts from this level on, a touched row is at risk up to the next one.
        for row in np.flatnonzero(touched[level]):
            at_risk = np.zeros((n_levels, p))
            if level + 1 < n_levels:
                at_risk[level + 1] = -hazard_steps[level + 1] * design[row]
            blocks.append(at_risk.ravel())
            bounds.append(touched_at_risk)
            if event[row]:
                counted = np.zeros((n_levels, p))
                counted[level] = design[row]
                if level + 1 < n_levels:
                    counted[level + 1] = -design[row]
                blocks.append(counted.ravel())
                bounds.append((0, 1))
    shares, off = csr_array(np.array(blocks).T), identity(n_levels * p)
    result = linprog(
        np.repeat([0.0, 1.0], [shares.shape[1], 2 * n_levels * p]),
        A_eq=hstack((shares, off, -off)),
        b_eq=right.ravel(),
        bounds=bounds + [(0, None)] * (2 * n_levels * p),
        method="highs",
    )
    return result.fun


@pytest.fixture(scope="module", params=["given", "shuffled"])
def tied_martingale(request):
    expected = of_ties("crq_ties.csv", "PengHuang", 0.02, request.param)
    # Where levels are no longer identified, crq writes NA.
    n_levels = np.isfinite(expected).all(axis=1).sum()
    assert n_levels >= 40
    expected, grid = expected[:n_levels], expected[: n_levels + 1, 0]
    design = np.column_stack((np.ones(len(TIED_X)), TIED_X))
    return design, np.log(TIED[0]), TIED[1], np.diff(hazard(grid)), expected[:, 1:]


def test_crqs_peng_huang_coefficients_solve_the_equation_for_some_risk_of_touched_rows(
    tied_martingale,
):
    assert violation(*tied_martingale, touched_at_risk=(0, 1)) < 1e-4


@pytest.mark.parametrize("part", [0, 1], ids=["none", "all"])
def test_crqs_peng_huang_coefficients_count_neither_all_touched_rows_at_risk_nor_none(
    tied_martingale, part
):
    assert violation(*tied_martingale, touched_at_risk=(part, part)) > 5


def test_our_peng_huang_path_solves_the_equation_with_all_touched_rows_at_risk():
    levels = np.round(np.arange(0.02, 0.81, 0.02), 2)
    model = LinearQuantileRegressor(levels, step=0.999, method="peng-huang", time_transform="log")
    model.fit(TIED_X, TIED)
    coefficients = np.column_stack((model.intercept_, model.coef_))
    design = np.column_stack((np.ones(len(TIED_X)), TIED_X))
    # The path begins at one over the number of rows.
    begun = np.concatenate(([0.0, 1 / len(TIED_X)], levels))
    first = peng_huang_path(design, np.log(TIED[0]), TIED[1], begun[1:2], np.ones(len(TIED_X)))
    path = np.vstack((first.coefficients, coefficients))
    off = violation(
        design, np.log(TIED[0]), TIED[1], np.diff(hazard(begun)), path, touched_at_risk=(1, 1)
    )
    assert off < 1e-4


def test_crqs_peng_huang_coefficients_depend_on_the_order_of_the_rows():
    given, shuffled = (
        of_ties("crq_ties_coef.csv", "PengHuang", 0.02, order) for order in ("given", "shuffled")
    )
    assert np.abs(given - shuffled).max() > 0.03


@pytest.mark.parametrize("method", ["portnoy", "peng-huang"])
def test_coefficients_of_tied_times_depend_on_no_order_of_the_rows(method):
    model = LinearQuantileRegressor([0.2, 0.4, 0.6, 0.8], method=method, time_transform="log")
    expected = model.fit(TIED_X, TIED).coef_
    order = np.random.default_rng(0).permutation(len(TIED_X))
    model.fit(TIED_X[order], tuple(column[order] for column in TIED))
    np.testing.assert_array_equal(model.coef_, expected)


@pytest.mark.parametrize("method", ["portnoy", "peng-huang"])
def test_coefficients_of_many_tied_times_hardly_change_where_the_times_are_perturbed(method):
    # Weeks and three features of two values: a fit passes through many rows at once.
    features = np.column_stack([TIES[name] for name in ("treat", "site", "recent")])
    weeks = np.ceil(TIES["time"] / 7)
    model = LinearQuantileRegressor(
        [0.2, 0.4, 0.6, 0.8], method=method, time_transform="log", step=0.001
    )
    expected = model.fit(features, (weeks, TIED[1])).coef_
    for seed in range(3):
        noise = np.random.default_rng(seed).uniform(-1e-9, 1e-9, len(weeks))
        perturbed = model.fit(features, (weeks * (1 + noise), TIED[1])).coef_
        np.testing.assert_allclose(perturbed, expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("method", ["portnoy", "peng-huang"])
def test_a_finer_step_than_the_default_hardly_changes_coefficients_of_tied_times(method):
    model = LinearQuantileRegressor(
        [0.2, 0.4, 0.6, 0.8], method=method, time_transform="log", n_bootstrap=30
    )
    model.set_params(random_state=0).fit(TIED_X, TIED)
    finer = LinearQuantileRegressor(model.quantiles, method=method, time_transform="log", step=1e-4)
    change = np.abs(finer.fit(TIED_X, TIED).coef_ - model.coef_) / model.standard_errors_[:, 1:]
    assert change.max() < 0.1


POWELL = np.genfromtxt(
    DATA / "crq_powell.csv", delimiter=",", names=True, dtype=None, encoding="utf-8"
)


@pytest.mark.parametrize("seed", [0, 1])
def test_powells_loss_is_as_low_as_that_of_crqs_search_over_all_solutions(seed):
    x, y, limit = table("crq_powell_data.csv").T
    best = POWELL[POWELL["search"] == "global"]
    model = LinearQuantileRegressor(
        best["tau"], method="powell", censoring="left", random_state=seed
    )
    model.fit(x[:, None], (y, y > 0), censoring_time=limit)
    for row, intercept, slope in zip(best, model.intercept_, model.coef_[:, 0], strict=True):
        design = np.column_stack((np.ones(len(x)), x))
        beta = -np.array([intercept, slope])
        loss = powell_loss(design, -y, -limit, beta, 1 - row["tau"], np.ones(len(x)))
        assert loss == pytest.approx(row["loss"], rel=1e-10)
        assert loss <= POWELL["loss"][POWELL["tau"] == row["tau"]].min() + 1e-10


SUMMARY = np.genfromtxt(
    DATA / "crq_summary.csv", delimiter=",", names=True, dtype=None, encoding="utf-8"
)


@pytest.mark.parametrize(
    "bootstrap", [("jackknife", "jack"), ("pairs", "xy-pair"), ("weights", "Bose")]
)
@pytest.mark.parametrize("method", [("portnoy", "Portnoy"), ("peng-huang", "PengHuang")])
def test_standard_errors_and_limits_are_about_those_of_crqs_summary(method, bootstrap):
    rows = SUMMARY[(SUMMARY["method"] == method[1]) & (SUMMARY["bootstrap"] == bootstrap[1])]
    model = LinearQuantileRegressor(
        [0.25, 0.5, 0.75],
        method=method[0],
        step=step_of_crq(method[0], len(X)),
        n_bootstrap=500,
        bootstrap=bootstrap[0],
        random_state=0,
    ).fit(X, (TIME, EVENT))
    errors = model.standard_errors_.ravel()
    # Both are random: a quartile of the jackknife's few different fits jumps from one to the next.
    ratio = errors / rows["se"]
    assert abs(np.median(ratio) - 1) < 0.1
    assert ((ratio > 0.7) & (ratio < 1.4)).all()
    coefficients = model.summary().coefficients.ravel()
    np.testing.assert_allclose(coefficients, rows["coefficient"], rtol=0, atol=0.03)
    for side, name in enumerate(("lower", "upper")):
        limits = model.confidence_intervals_[..., side].ravel()
        assert (np.abs(limits - rows[name]) < 0.9 * rows["se"]).all()
